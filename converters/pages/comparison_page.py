"""A comparison of two models as a page."""

from __future__ import annotations

from collections.abc import Iterator

from ir_interp.views.describe import count

from ..verify.models import HistogramBin, ModelComparison, OutputComparison
from .frame import E, Element, mark, page, section, table


def comparison_page(found: ModelComparison) -> Element:
    """Return a page of every output of both models, with a histogram of the differences, and of the resizes."""
    return page(
        f"{found.first.name} against {found.second.name}",
        E.p(mark("equal" if found.passes else "differ", "good" if found.passes else "bad"), f": {found.summary}"),
        *(_output(found, each) for each in found.outputs),
        *_resizes(found),
    )


def _output(found: ModelComparison, output: OutputComparison) -> Element:
    models = ((found.first, output.first), (found.second, output.second))
    columns = ("model", "shape", "min", "mean", "max")
    return section(
        f"Output {output.name}",
        E.p(mark(output.verdict, "good" if output.compared.passes else "bad")),
        table(columns, ((path.name, *each.text) for path, each in models), numbers=columns[2:]),
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
        )


def _bar(share: float) -> Element:
    return E.div({"class": "lane"}, E.div({"class": "bar", "style": f"width: {100 * share:.2f}%"}) if share else "")


def _resizes(found: ModelComparison) -> Iterator[Element]:
    if found.resizes is None:
        return
    rows = ((each.name, each.where, *each.text) for each in found.resizes)
    yield section(
        f"{count(len(found.resizes), 'resize')}, in order",
        E.p(found.first_difference),
        table(("resize", "where", "its data", "its output"), rows),
    )
