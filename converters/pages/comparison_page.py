"""A comparison of two models as a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ir_interp.errors import IrInterpError
from ir_interp.resize_op import ResizeOp
from ir_interp.text.names import labels
from ir_interp.views.describe import count
from ir_interp.views.marks import OF_VERDICT

from ..audit.verdicts import differs
from ..reports.verification import differing, fed_lines
from ..runtimes.outcome import computes
from ..sources.readers import load
from ..verify.comparison import ModelComparison
from ..verify.output_comparison import HistogramBin, OutputComparison
from .frame import E, Element, details, grouped, mark, marked, note, page, prose, section, table
from .gallery import MOST, Other, configuration, pictures_of
from .provenance import Provenance, examples, making


def comparison_page(comparison: ModelComparison, provenance: Provenance) -> Element:
    """Return a page of every output of both models, with a histogram of the differences, and of the resizes."""
    called = labels((comparison.first, comparison.second))
    first, second = called[str(comparison.first)], called[str(comparison.second)]
    verdicts = {output.compared.verdict for output in comparison.outputs}
    verdicts |= {"DIFFERS"} if comparison.first_resize or differing(comparison.calls) else set()
    worst = next((name for name in ("DIFFERS", "INCONCLUSIVE") if name in verdicts), "equal")
    return page(
        f"{first} against {second}",
        [
            mark({"DIFFERS": "differ"}.get(worst, worst), OF_VERDICT[worst]),
            f": {comparison.summary} ({first}, {second})",
        ],
        *_remedies(comparison),
        *examples(provenance),
        *map(note, (*fed_lines(comparison.images), *comparison.notes)),
        *(_output(comparison, output) for output in comparison.outputs),
        *(marked(call.agreement.value, OF_VERDICT[call.agreement.value], call.text) for call in comparison.calls),
        *_resizes(comparison),
        *_differences(comparison, second, provenance.image),
        making(provenance),
    )


def _remedies(comparison: ModelComparison) -> Iterator[Element]:
    """Yield what to try where outputs differ, or may differ."""
    steps: list[str] = []
    tolerances = [output.least_tolerance for output in comparison.outputs if not output.compared.passes]
    if tolerances:
        steps += _where_to_look(comparison)
        known = [tolerance for tolerance in tolerances if tolerance is not None]
        if len(known) == len(tolerances):
            steps.append(f"If this difference is acceptable, allow it: `--tolerance {max(known):.3g}`.")
    if any(not output.compared.is_conclusive for output in comparison.outputs):
        steps.append("Outputs without different values prove nothing: run on real inputs, `--input NAME=FILE`.")
    if steps:
        yield section("What to do", E.ul(*(E.li(*prose(step)) for step in steps)))


def _where_to_look(comparison: ModelComparison) -> Iterator[str]:
    """Yield how to find what makes outputs differ."""
    first, layer = comparison.first_resize, comparison.first_layer
    if layer is not None:
        yield f"Start here: {layer.text}."
    elif comparison.resizes is None:
        yield "Find the first resize that differs: `ir-interp compare --per-resize`."
    elif first is not None and not first.is_fed_otherwise:
        yield f"The resize {first.name!r} is the first that differs; `ir-interp explain` shows what it computes."
    else:
        yield "The resizes are not the cause. Find the first layer that differs: `ir-interp compare --per-layer`."


def _differences(comparison: ModelComparison, second: str, image: Path | None) -> Iterator[Element]:
    """Yield pictures of the resizes that differ by themselves: each configuration once, and of many only some."""
    groups = grouped(_changed(comparison, second), lambda pair: configuration(pair[0]))
    parts = [
        details([op.name or op.where], *pictures_of(comparison.first, op, other, image), is_open=True)
        for (op, other), *_ in groups[:MOST]
    ]
    if parts:
        yield section("Where resizes differ", *parts)


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
        table(
            columns,
            ((name, *statistics.text) for name, statistics in models),
            numbers=columns[2:],
            caption="Its values",
        ),
        *_histogram(output.histogram),
    )


def _histogram(bins: tuple[HistogramBin, ...]) -> Iterator[Element]:
    """Yield how many elements differ by how much, if any does."""
    most = max((bucket.count for bucket in bins), default=0)
    if any(bucket.count for bucket in bins if bucket.upper):
        yield table(
            ("difference", "elements", "share"),
            ((bucket.label, str(bucket.count), _bar(bucket.count / most)) for bucket in bins),
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
        table(("resize", "where", "its data", "its output"), rows, sorts=True),
    )
