"""Two models as a page: a conversion, or a comparison.

A conversion shows what each resize became, and how far it was seen to differ; or what stands in its way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice, zip_longest
from pathlib import Path

from ir_interp import resize_op
from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import InexactError, IrInterpError, leaves
from ir_interp.files.kinds import FileKind, is_image
from ir_interp.plain_text import labels
from ir_interp.resize_op import ResizeOp, count
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.translate import OF_GRADE, OF_VERDICT
from ir_interp.views import figures

from ..audit.verdicts import deviations, differs
from ..reports import Compared, ConversionReport, Row, Verification, differing, fed_lines
from ..runtimes.outcome import computes
from ..sources.readers import load
from ..verify.model_pairs import ModelComparison
from ..verify.task_metrics import WORST
from ..verify.tolerances import HistogramBin, OutputComparison
from .frame import (
    E,
    Element,
    Provenance,
    code,
    details,
    examples,
    folded,
    grouped,
    making,
    mark,
    marked,
    note,
    page,
    prose,
    section,
    table,
)
from .gallery import MOST, Other, configuration, damage, pictures_of, thumbnail

_FEW = 8  # resizes that need no summary


def conversion_page(report: ConversionReport, provenance: Provenance) -> Element:
    """Return a page of a conversion that was done."""
    return page(
        f"{report.source.name} to {report.destination.name}",
        [mark("written", "doubt" if report.differs_by_default else "good"), f": {report.summary}"],
        *_mistakes(report),
        *_summary(report),
        *_rows(report),
        *(note(text) for text in report.notes),
        _verification(report.verification, provenance),
        *_operations(report),
        *_elsewhere(_resizes_of(report.source), report.destination, provenance.image),
        making(provenance),
    )


def _resizes_of(source: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return the resizes that a file holds; none of what cannot be read."""
    with suppress(IrInterpError):
        return load(source, semantics=semantics)
    return []


_FRONTEND = "OpenVINO reading .onnx"


def _elsewhere(resizes: Sequence[ResizeOp], destination: Path, image: Path | None) -> Iterator[Element]:
    """Yield, of ONNX that becomes an IR, what OpenVINO's own frontend would compute instead, where that differs."""
    groups = grouped((op for op in resizes if op.dialect == "onnx"), configuration)
    firsts = [group[0] for group in groups] if FileKind.of(destination) is FileKind.IR else []
    others = ((op, other) for op in firsts for other in deviations(op) if other[0] == _FRONTEND)
    parts = [damage(op, other, image) for op, other in islice(others, MOST)] if figures.are_possible() else []
    if parts:
        remark = "Not by this conversion: OpenVINO's ONNX frontend, which reads .onnx files directly, computes these."
        yield section("What OpenVINO's own frontend would change", note(remark), *parts)


def _mistakes(report: ConversionReport) -> Iterator[Element]:
    """Yield the likely mistakes of the source, each with the command that repairs it, and readings of one release."""
    notes = [mistake for mistake in report.mistakes if mistake.severity == Severity.NOTE.value]
    others = [mistake for mistake in report.mistakes if mistake not in notes]
    for title, column, listed in (
        ("Likely mistakes that the result keeps", "mistake", others),
        ("Readings that depend on the release", "reading", notes),
    ):
        rows = [(mistake.where, f"{mistake.code} {mistake.message}", code(mistake.command)) for mistake in listed]
        if rows:
            yield section(title, table(("resize", column, "command"), rows))


def _summary(report: ConversionReport) -> Iterator[Element]:
    """Yield how many resizes became what, where they are many."""
    if len(report.rows) > _FEW:
        counts = Counter((row.grade, row.form.split(":")[0]) for row in report.rows)
        rows = ((mark(grade.value, OF_GRADE[grade]), form, str(times)) for (grade, form), times in counts.most_common())
        columns = ("grade", "form", "resizes")
        yield section("Summary", table(columns, rows, numbers=("resizes",), stacks=False, caption="Resizes by grade"))


def _rows(report: ConversionReport) -> Iterator[Element]:
    if report.rows:
        groups = grouped(report.rows, lambda row: (row.configuration, row.form, row.exactness, row.note))
        cells = [
            (E.div(*folded([row.name for row in group])), group[0].configuration, group[0].form, _grade(group[0]))
            for group in groups
        ]
        caption = "Before and after; identical resizes share a row"
        verdicts = [group[0].exactness for group in groups]
        columns = ("resize", "was", "became", "grade")
        yield section("Resizes", table(columns, cells, sorts=True, caption=caption, verdicts=verdicts))


def _grade(row: Row) -> Element:
    return E.div(mark(row.exactness, OF_GRADE[row.grade]), *([E.small(row.note)] if row.note else []))


def _verification(verification: Verification | None, provenance: Provenance) -> Element:
    if verification is None:
        return section("Verification", E.p(mark("not verified", "doubt")))
    every = (*verification.outputs, *verification.alone)
    doubts = ["what to know"] if any(item.doubt for item in every) else []
    columns = ("compared", "verdict", "largest difference", "relative", "allowed", *doubts)
    rows = (_compared(item)[: len(columns)] for item in every)
    compared = table(columns, rows, numbers=columns[2:5], caption="Both files on the same inputs")
    levels = f"levels: {verification.levels.verdict}" if verification.levels else ""
    notes = map(note, filter(None, (*fed_lines(verification.images), verification.note, levels)))
    return section("Verification", *examples(provenance), *notes, compared, *_calls(verification))


def _calls(verification: Verification) -> Iterator[Element]:
    """Yield the verdict on each quantised model as users call it."""
    for call in verification.calls:
        yield marked(call.agreement.value, OF_VERDICT[call.agreement.value], call.text)


def _compared(result: Compared) -> tuple[str | Element, ...]:
    numbers = (f"{number:.3g}" for number in (result.absolute, result.relative, result.limit))
    return f"{result.kind} {result.name}", mark(result.verdict, OF_VERDICT[result.verdict]), *numbers, result.doubt


def _operations(report: ConversionReport) -> Iterator[Element]:
    if report.operations.before and report.operations.after:
        counts = [
            {"all": sum(counter.values()), **counter}.items()
            for counter in (report.operations.before, report.operations.after)
        ]
        pairs = zip_longest(*counts, fillvalue=("", ""))
        rows = ((mine, str(many), theirs, str(more)) for (mine, many), (theirs, more) in pairs)
        columns = ("before", "times", "after", "times")
        yield section(
            "Operations",
            table(columns, rows, numbers=("times",), stacks=False, caption="By type, the most frequent first"),
        )


def _remedies(problems: Sequence[BaseException]) -> Iterator[Element]:
    """Yield which options matter where a resize has no exact form."""
    if any(isinstance(problem, InexactError) for problem in problems):
        yield E.p(
            E.b("What to do: "),
            *prose("Allow every form: `--only` and `--strict` rule some out. "),
            *prose("`ir-interp explain FILE --layer NAME` shows what a resize computes."),
        )


def refusal_page(
    source: Path, destination: Path, semantics: Semantics, error: BaseException, provenance: Provenance
) -> Element:
    """Return a page of a conversion that was refused: why, and which resizes the source holds."""
    problems = list(leaves(error))
    resizes = _resizes_of(source, semantics)
    refused = {problem.name for problem in problems if isinstance(problem, InexactError)}
    resizes.sort(key=lambda op: (op.name or op.where) not in refused)
    rows = [(op.name, op.where, resize_op.summary(op.spec)) for op in resizes]
    return page(
        f"{source.name} to {destination.name}",
        [mark("refused", "bad"), f": nothing was written ({source.name} to {destination.name}): {problems[0]}"],
        section("What stands in the way", E.ul(*(E.li(str(problem)) for problem in problems)), *_remedies(problems)),
        *([section("Resizes of the source", table(("resize", "where", "what"), rows, sorts=True))] if rows else []),
        *_elsewhere(resizes, destination, provenance.image),
        making(provenance),
    )


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
        *_differences_and_remedies(comparison),
        *examples(provenance),
        *map(note, (*fed_lines(comparison.images), *comparison.notes)),
        *(_output(comparison, output) for output in comparison.outputs),
        *_worst_inputs(comparison),
        *(marked(call.agreement.value, OF_VERDICT[call.agreement.value], call.text) for call in comparison.calls),
        *_resizes(comparison),
        *_differences(comparison, second, provenance.image),
        making(provenance),
    )


def _differences_and_remedies(comparison: ModelComparison) -> Iterator[Element]:
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
        *(E.p(metric.text) for metric in output.metrics),
        table(
            columns,
            ((name, *statistics.text) for name, statistics in models),
            numbers=columns[2:],
            caption="Its values",
        ),
        *_histogram(output.histogram),
    )


def _worst_inputs(comparison: ModelComparison) -> Iterator[Element]:
    """Yield the inputs on which both models differ most, images as pictures."""
    rows = [
        (
            E.div(*(part for file in each.files for part in _shown_input(Path(file)))),
            f"{each.relative:.3g}",
            E.div(*(E.div(metric.text) for metric in each.metrics)),
        )
        for each in comparison.inputs[:WORST]
    ]
    if rows:
        columns = ("input", "relative difference", "what changed")
        title = f"The worst of {len(comparison.inputs)} inputs"
        yield section(title, table(columns, rows, numbers=("relative difference",)))


def _shown_input(path: Path) -> Iterator[Element]:
    yield E.div(path.name)
    if is_image(path):
        yield thumbnail(path)


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
