"""A comparison of two models as a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ir_interp.errors import IrInterpError
from ir_interp.resize_op import ResizeOp
from ir_interp.text.names import labels
from ir_interp.views.describe import count
from ir_interp.views.marks import OF_VERDICT

from ..audit.verdicts import differs
from ..runtimes.outcome import computes
from ..sources.readers import load
from ..verify.comparison import HistogramBin, ModelComparison, OutputComparison
from .frame import E, Element, mark, page, section, table
from .gallery import Other, damage
from .provenance import Made, making


def comparison_page(comparison: ModelComparison, made: Made) -> Element:
    """Return a page of every output of both models, with a histogram of the differences, and of the resizes."""
    called = labels((comparison.first, comparison.second))
    first, second = called[str(comparison.first)], called[str(comparison.second)]
    verdicts = {output.compared.verdict for output in comparison.outputs}
    worst = next((each for each in ("DIFFERS", "INCONCLUSIVE") if each in verdicts), "equal")
    return page(
        f"{first} against {second}",
        [
            mark({"DIFFERS": "differ"}.get(worst, worst), OF_VERDICT[worst]),
            f": {comparison.summary} ({first}, {second})",
        ],
        *(_output(comparison, output) for output in comparison.outputs),
        *_resizes(comparison),
        *damage(_changed(comparison, second), made.image),
        making(made),
    )


def _changed(comparison: ModelComparison, second: str) -> Iterator[tuple[ResizeOp, Other]]:
    """Yield the resizes of the first model of which the second has another in the same place."""
    with suppress(IrInterpError):
        mine, theirs = load(comparison.first), load(comparison.second)
        for op, other in zip(mine, theirs, strict=False) if len(mine) == len(theirs) else ():
            if differs(op, computes(other.spec)):
                yield op, (second, other.spec)


def _output(comparison: ModelComparison, output: OutputComparison) -> Element:
    called = labels((comparison.first, comparison.second))
    models = ((called[str(comparison.first)], output.first), (called[str(comparison.second)], output.second))
    columns = ("model", "shape", "min", "mean", "max")
    return section(
        f"Output {output.name}",
        E.p(mark(output.verdict, OF_VERDICT[output.compared.verdict])),
        table(columns, ((name, *each.text) for name, each in models), numbers=columns[2:], caption="Its values"),
        *_histogram(output.histogram),
    )


def _histogram(bins: tuple[HistogramBin, ...]) -> Iterator[Element]:
    """Yield how many elements differ by how much, if that could be counted."""
    most = max((each.count for each in bins), default=0)
    if most:
        yield table(
            ("difference", "elements", "of the most"),
            ((each.label, str(each.count), _bar(each.count / most)) for each in bins),
            numbers=("difference", "elements"),
            stacks=False,
            caption="How many elements differ by how much",
        )


def _bar(share: float) -> Element:
    return E.div({"class": "lane"}, E.div({"class": "bar", "style": f"width: {100 * share:.2f}%"}) if share else "")


def _resizes(comparison: ModelComparison) -> Iterator[Element]:
    if comparison.resizes is None:
        return
    rows = ((resize.name, resize.where, *resize.text) for resize in comparison.resizes)
    yield section(
        f"{count(len(comparison.resizes), 'resize')}, in order",
        E.p(comparison.first_difference),
        table(("resize", "where", "its data", "its output"), rows),
    )
