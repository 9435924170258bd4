"""``ir-interp audit``, ``fix`` and ``reproduce``: how every runtime computes every resize; mistakes and faults.

Settings of audits stand in a project file: the table ``tool.ir-interp`` of pyproject.toml, as ruff has its own. The
file that counts is the nearest one above a model that has this table. The command line wins: ``--select`` replaces
``select`` and ``ignore`` of the file, ``--ignore`` adds to them, ``--severity`` replaces that of a runtime, and
``--fail-on`` replaces ``fail-on``; ``--runtime`` or ``--deploy`` replaces ``runtime`` and ``deploy``. Other options
are for the command line alone.
"""

from __future__ import annotations

import glob
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import ir_interp
from ir_interp.cli import printed_results
from ir_interp.cli.command_line import with_options
from ir_interp.cli.commands import called_command
from ir_interp.cli.printed_results import check_image, folded_cells, print_findings, print_result, printed_form
from ir_interp.diagnostic_codes import ON_REQUEST, Severity, check_codes, codes_of
from ir_interp.errors import IrInterpError, ReadError, closest
from ir_interp.files.kinds import FOREIGN, IN_FOLDERS, FileKind, bytes_of, listed
from ir_interp.files.writing import check_outputs, exists, is_file, real
from ir_interp.options.declaration import check_place, flagged, keywords
from ir_interp.options.model_options import FAULT, KIT, REPORT, RESULTS, AuditOptions, FixOptions, ReproduceOptions
from ir_interp.plain_text import printable, quote_shell
from ir_interp.resize_op import count
from ir_interp.version import processor

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Console, TableCell
    from ir_interp.converters.audit.audit_report import Audit
    from ir_interp.converters.audit.audited_resizes import Audited, Finding, UnreadResize
    from ir_interp.converters.fix import Fixed
    from ir_interp.converters.verify.tolerances import OutputComparison

_NAME, _TABLE = "pyproject.toml", "ir-interp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The settings of a project file; ``per_file_ignores`` are codes by pattern: of names, or of absolute paths."""

    path: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: tuple[str, ...] = ()
    runtime: tuple[str, ...] | None = None
    deploy: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def settings(self, options: AuditOptions) -> AuditOptions:
        """Return options in which this file stands for what the command line leaves open."""
        # --runtime and --deploy answer one question, so that either replaces both of the file.
        names_runtimes = options.runtimes is not None or options.deploy
        return replace(
            options,
            select=options.select or self.select,
            # --select starts anew, so exceptions of the file would be unexpected.
            ignore=options.ignore if options.select else (*self.ignore, *options.ignore),
            fail_on=options.fail_on or self.fail_on,
            runtimes=options.runtimes if names_runtimes else self.runtime,
            deploy=options.deploy if names_runtimes else self.deploy,
            severities={**self.severity, **options.severities},
            per_file_ignores=self.per_file_ignores,
        )


def project_of(models: Iterable[Path]) -> Project:
    """Return the settings of the project that models belong to; empty ones where there is no project file.

    Raises IrInterpError where they belong to several projects, ReadError for a file that cannot be read, or a key that
    is unknown.
    """
    of_folder: dict[Path, Path | None] = {}
    for model in models:
        folder = real(model).parent
        of_folder[folder] = of_folder[folder] if folder in of_folder else _nearest(folder)
    files = list(dict.fromkeys(of_folder.values()))
    # One run has one set of settings.
    if len(files) > 1:
        names = " and ".join("no project file" if path is None else str(path) for path in files[:2])
        raise IrInterpError(f"the models belong to {names}; audit them one by one, or with --isolated")
    return _read(files[0]) if files and files[0] is not None else Project()


def _nearest(folder: Path) -> Path | None:
    candidates = (parent / _NAME for parent in (folder, *folder.parents))
    return next((path for path in candidates if is_file(path) and _table(path) is not None), None)


def _table(path: Path) -> object:
    """Return the table of a project file, None where it has none. Raises ReadError where it is no TOML."""
    try:
        tools = tomllib.loads(bytes_of(path).decode()).get("tool", {})
    except (OSError, ValueError) as error:  # of TOML, and of UTF-8
        raise ReadError(f"cannot be read: {error}", str(path)) from None
    return tools.get(_TABLE) if isinstance(tools, dict) else None


def _read(path: Path) -> Project:
    table = _table(path)
    try:
        if not isinstance(table, dict):
            raise ReadError("is no table")
        for key in table:
            if key not in _KEYS:
                raise ReadError(_unknown(key))
        values = {key.replace("-", "_"): _KEYS[key](value, key) for key, value in table.items()}
    except IrInterpError as error:
        raise ReadError(getattr(error, "problem", str(error)), f"{path}: [tool.{_TABLE}]") from None
    ignores = values.pop("per_file_ignores", {})
    if "runtime" in values and "deploy" in values:
        raise ReadError("runtime and deploy exclude each other", f"{path}: [tool.{_TABLE}]")
    absolute = {_pattern(path.parent, pattern): codes for pattern, codes in ignores.items()}
    return Project(path=path, per_file_ignores=absolute, **values)


def _unknown(key: str) -> str:
    flags = {flag for option in flagged(AuditOptions) for flag in option.flags}
    if f"--{key}" in flags:
        return f"{key} is set on the command line only: --{key}"
    return f"unknown key {key!r}; {closest(key, _KEYS)}"


def _codes(value: object, key: str, check: Callable[[tuple[str, ...]], object] = check_codes) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
        raise ReadError(f'{key} is {value!r}; expected a list of codes, as in ["IRI022"]')
    check(tuple(value))
    return tuple(value)


def _runtimes(value: object, key: str) -> tuple[str, ...]:
    from ir_interp.converters.audit.audit_report import check_deploy, check_runtime

    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise ReadError(f'{key} is {value!r}; expected a list of runtimes, as in ["openvino"]')
    for name in value:
        check_runtime(name)
    if key == "deploy":
        check_deploy(value)
    return tuple(value)


def _severities(value: Any, key: str) -> dict[str, Severity]:
    levels = {level.value: level for level in Severity}
    for level in _entries(value, key).values():
        if level not in levels:
            raise ReadError(f"{key} is {level!r}; {closest(str(level), levels)}")
    return {runtime: levels[level] for runtime, level in value.items()}


def _per_file(value: Any, key: str) -> dict[str, tuple[str, ...]]:
    for pattern in _entries(value, key):
        if pattern.startswith("!"):
            raise ReadError(f"{key} {pattern!r}: negated patterns are not supported")
    return {pattern: _codes(codes, f"{key} {pattern!r}") for pattern, codes in value.items()}


def _entries(value: object, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReadError(f"{key} is {value!r}; expected a table")
    return value


def _pattern(folder: Path, pattern: str) -> str:
    """Return a pattern of names as it is, one of paths below the folder of its file as absolute."""
    return f"{glob.escape(folder.as_posix())}/{pattern}" if "/" in pattern else pattern


_KEYS: dict[str, Callable[[Any, str], Any]] = {
    "select": _codes,
    "ignore": _codes,
    "fail-on": partial(_codes, check=codes_of),
    "runtime": _runtimes,
    "deploy": _runtimes,
    "severity": _severities,
    "per-file-ignores": _per_file,
}


_NAMED = 5  # files that a note names


def show_audit(report: Audit, on: Sequence[str]) -> None:
    """Print a table for each file, then the findings, each with the next step; ``on`` are those that count."""
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.audit.audited_resizes import by_runtimes
    from ir_interp.converters.audit.preprocessing import by_input
    from ir_interp.converters.conversion.next_steps import models_to_act

    console = Console()
    for those in by_runtimes(report.rows):
        _show_files(console, those)
    _show_unread(console, report.unread)
    for costs in by_input(report.preprocessing):
        if costs.finding is None:
            console.say(f"{costs.where}: {costs.text}")
    _show_findings(console, report.findings)
    for line in _notes(report):
        console.say(line)
    files = {*report.files, *report.empty}
    if len(files) > 1:
        models = list(models_to_act(report.findings, on))
        printed_results.print_models(console, models, len(models), len(files))
    unread = f", {count(len(report.errors), 'file')} not read" if report.errors else ""
    more = "; `ir-interp explain CODE` explains a finding" if report.findings else ""
    if report.options.deploy:
        console.say(f"deployed to {', '.join(report.options.deploy)}; findings about other runtimes are notes")
    for entry in report.gone:
        console.say(f"no longer found, so remove it from the baseline: {entry.text}")
    total = count(len(report.rows) + len(report.unread), "resize")
    notes = sum(finding.severity is Severity.NOTE for finding in report.findings)
    noted = f", {count(notes, 'note')}" if notes else ""
    accepted = f", {len(report.accepted)} accepted" if report.accepted else ""
    console.say(f"{total}, {count(len(report.findings) - notes, 'finding')}{noted}{accepted}{unread}{more}")


def _notes(report: Audit) -> Iterator[str]:
    """Yield the models without resizes, what an audit of an IR cannot see, and the name of another deployment."""
    if report.empty:
        more = f" and {count(len(report.empty) - _NAMED, 'more file')}" if len(report.empty) > _NAMED else ""
        yield f"no resize in {', '.join(report.empty[:_NAMED])}{more}"
    files = report.files
    converted = next((file for file in files if FileKind.of(file) is FileKind.IR), "")
    if converted:
        step = quote_shell("ir-interp", "compare", "SOURCE.onnx", converted)
        yield f"note: what a converter lost is invisible in its IR; `{step}` finds it"
    if any(_is_read_as_onnx(finding) for finding in report.findings if finding.runtime in report.options.deploy):
        yield "note: --deploy openvino is the .onnx file; --deploy openvino-converted is the IR that `convert` writes"


def _is_read_as_onnx(finding: Finding) -> bool:
    """Return whether a finding is about OpenVINO's own ONNX frontend."""
    return finding.runtime == "openvino" and FileKind.of(finding.file) is FileKind.ONNX


def _show_findings(console: Console, findings: Sequence[Finding]) -> None:
    """Print findings of one kind in a file as one, with the command that comes next."""
    from ir_interp.converters.conversion.next_steps import mistaken, next_step

    files = mistaken(findings)
    print_findings(
        console,
        (
            (finding.where, (finding.file, finding.code, finding.message, finding.severity, next_step(finding, files)))
            for finding in findings
        ),
    )


def _show_files(console: Console, rows: Sequence[Audited]) -> None:
    """Print a table for each file; the file is named above it."""
    ran = ["run"] if any(row.ran for row in rows) else []
    columns = ("resize", *rows[0].titles.values(), *ran)
    for label, those in groupby(rows, key=lambda row: row.label):
        cells = ((row.op.name or row.op.where, (*_verdicts(row), *([row.ran] if ran else []))) for row in those)
        console.table(columns, folded_cells(cells), title=label)
    seen = {name for row in rows for name in row.seen}
    idle = [title for name, title in rows[0].titles.items() if name not in seen]
    if seen:
        console.say(f"run on this processor: {processor().value}")
    if seen and idle:
        console.say(f"predicted, not run: {', '.join(idle)}")


def _show_unread(console: Console, rows: Sequence[UnreadResize]) -> None:
    """Print a table for each file of the resizes that cannot be read, with what runtimes do that were run."""
    for label, those in groupby(rows, key=lambda row: row.label):
        listed = list(those)
        if any(row.seen for row in listed):
            columns = ("resize", *listed[0].titles.values(), "cannot be read")
            cells = ((row.resize or row.where, (*_verdicts(row), row.problem)) for row in listed)
        else:
            columns = ("resize", "every runtime", "cannot be read")
            cells = ((row.resize or row.where, ("unknown", row.problem)) for row in listed)
        console.table(columns, folded_cells(cells), title=label)


def _verdicts(row: Audited | UnreadResize) -> tuple[TableCell, ...]:
    from ir_interp.cli.terminal import Marked
    from ir_interp.converters.audit.audit_report import TONES

    return tuple(Marked(row.verdicts[name].short, TONES[row.verdicts[name].kind]) for name in row.titles)


AUDIT_EXAMPLES = """
ir-interp audit model.onnx
ir-interp audit models/ --jobs 2 --fail-on differs,mistake
ir-interp audit models/ --deploy onnxruntime,openvino-converted --baseline audit-baseline.json --format sarif
ir-interp audit zoo/ @more.txt --jobs 8 --results zoo.jsonl
ir-interp audit model.onnx --run --shape x:1,3,640,640 --runtime openvino --html report.html --image photo.png
ir-interp audit model.onnx --preprocess opencv:linear --trained pillow:bilinear --image photo.png
"""
_BY_NAME = [kind for kind in FOREIGN if kind not in IN_FOLDERS]


@with_options(AuditOptions)
def audit(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL",
            help=f"Files ({listed(IN_FOLDERS)}), folders of them, @list.txt; {listed(_BY_NAME)} by name.",
        ),
    ],
    options: AuditOptions,
) -> int:
    """Predict how each runtime computes each resize; find mistakes.

    Exit code 1 if there are findings; notes do not count. `ir-interp explain CODE` explains a finding.
    """
    from ir_interp.converters.audit.audit_report import check_severities
    from ir_interp.converters.audit.auditing import models as expanded

    form = printed_form(options)
    if not options.isolated:
        # The project file counts before any check, which must see the options that apply.
        options = project_of(expanded(models)).settings(options)
    check_severities(options)
    if ON_REQUEST in options.fail_on and not any(map(ON_REQUEST.startswith, options.select)):
        raise IrInterpError(f"--fail-on {ON_REQUEST} has no effect without --select {ON_REQUEST}")
    if options.results is not None:
        check_place(options, RESULTS, "with --results")
    if options.preprocess is None and not options.html:
        check_image(options.image, options.html)
    if options.results is not None:
        return _audit_fleet(models, options.results, options, form)
    check_place(options, REPORT, "without --results")
    html, image = options.html, options.image
    if html or options.preprocess is None:
        check_image(image, html)
    written = [path for path in (html, options.write_baseline) if path]
    check_outputs(written, [*expanded(models), *([image] if image else [])])
    if options.baseline and options.write_baseline:
        raise IrInterpError("--baseline and --write-baseline exclude each other; the file is written anew")
    if options.baseline and not exists(options.baseline):
        raise ReadError(f"does not exist; to create it: --write-baseline {options.baseline}", str(options.baseline))
    with printed_results.progress_bar(options.quiet) as report_progress:
        # Without --preprocess, the image is for the pictures of the page.
        compared = image if options.preprocess else None
        complete = replace(options, image=compared, progress=report_progress)
        report = ir_interp.audit(models, **keywords(complete)).with_severities(options.severities)
        report = report.without(options.per_file_ignores)
    if options.write_baseline:
        report.write_baseline(options.write_baseline, *options.fail_on)
    baseline = options.write_baseline or options.baseline
    if baseline:
        report = report.accepting(baseline)
    if html:
        from ir_interp.converters.pages import audit_page, frame
        from ir_interp.converters.pages.frame import Provenance

        provenance = Provenance(command=called_command(), models=expanded(models), image=image)
        frame.save(audit_page.audit_page(report, provenance, options.fail_on), html)
    _print(report, form, options.fail_on)
    if form == "text":
        if options.write_baseline:
            print(printable(f"wrote {options.write_baseline}: {count(len(report.accepted), 'accepted finding')}"))
        printed_results.print_skipped(report.skipped)
    for error in report.errors:
        print(f"error: {printable(str(error))}", file=sys.stderr)
    return 2 if report.errors else int(report.fails(*options.fail_on))


def _audit_fleet(models: list[Path], results: Path, options: AuditOptions, form: str) -> int:
    """Write the result of each model to a file, and print what they come to."""
    from ir_interp.converters.fleet import Auditing

    if form not in ("text", "json", "none"):
        raise IrInterpError(f"--format {form} has no effect with --results")
    check_outputs([path for path in (results, options.table) if path])
    summary, code = printed_results.run_fleet(models, Auditing(options=options), options, results, form)
    return code or int(summary.fails(*options.fail_on))


def _print(report: Audit, form: str, on: Sequence[str]) -> None:
    from ir_interp.converters.audit.audit_report import FORMATS

    if form == "json":
        print(printed_results.printed_json(report))
    elif form in FORMATS:
        print(FORMATS[form](report))
    elif form == "text":
        show_audit(report, on)


FIX_EXAMPLES = """
ir-interp fix model.onnx fixed.onnx
ir-interp fix model.onnx fixed.onnx --select IRI012 --layer shrink
ir-interp fix model.onnx fixed.onnx --input photo.png --std 255
"""


@with_options(FixOptions)
def fix(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="An .onnx model.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The .onnx file to write.")],
    options: FixOptions,
) -> None:
    """Repair likely exporter mistakes in an ONNX model.

    These are the findings IRI011 to IRI016, IRI018 and IRI019 of `ir-interp audit`, and IRI027 if the resize has one
    possible meaning. Nothing else in the model changes.
    """
    form = printed_form(options)
    with printed_results.progress_bar(options.quiet) as report_progress:
        done = ir_interp.fix(model, output, **keywords(replace(options, progress=report_progress)))
    print_result(form, done, lambda: _show(done))


def _show(done: Fixed) -> None:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.reports import fed_lines

    console = Console()
    rows = [
        (repair.op.name, remedy.code, remedy.text, done.changed(repair))
        for repair in done.repaired
        for remedy in repair.remedies
    ]
    if rows:
        title = f"{count(len(rows), 'mistake')} of {done.source.name} repaired"
        console.table(("resize", "mistake", "change", "its output"), rows, title=title)
    else:
        console.say(f"no exporter mistakes found in {done.source.name}", "bold")
    for error in done.unread:
        console.say(f"not read, left as it is: {error}")
    if done.note:
        console.say(done.note)
    if done.comparison:
        for line in fed_lines(done.comparison.images):
            console.say(line)
        for output in done.comparison.outputs:
            _show_output(console, output)
    if done.unsigned_products:
        console.say(f"weights of {count(done.unsigned_products, '8-bit product')} made unsigned: no sum saturates")
    if rows or done.unsigned_products:
        console.say("every other node, constant and name is as it was, byte for byte")
    console.say(f"wrote {done.destination}" + ("" if rows or done.unsigned_products else ", an unchanged copy"))


def _show_output(console: Console, output: OutputComparison) -> None:
    rows = [("before", *output.first.text), ("after", *output.second.text)]
    console.table(("", "shape", "min", "mean", "max"), rows, title=f"output {output.name}, which {output.seen.apart}")


REPRODUCE_EXAMPLES = """
ir-interp reproduce model.onnx fault --runtime openvino
ir-interp reproduce model.onnx fault --runtime mnn --layer up2 --shape x:1,3,64,64
ir-interp reproduce openvino:antialias fault
ir-interp reproduce --kit resizes
"""


@with_options(ReproduceOptions)
def reproduce(
    source: Annotated[
        str | None,
        typer.Argument(metavar="SOURCE", help="A model (.onnx, .xml), or a known fault: openvino:antialias."),
    ] = None,
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="The folder to write; new or empty.")] = None,
    *,
    options: ReproduceOptions,
) -> None:
    """Write a minimal reproduction of a runtime's fault.

    FOLDER gets the smallest model that shows the fault, and a script that needs only NumPy and the runtime.

    With --kit, no model is needed: the kit has a few hundred small models with expected outputs.
    """
    form = printed_form(options)
    if options.kit is not None:
        _write_kit(options.kit, source, options, form)
        return
    check_place(options, FAULT, "without --kit")
    if source is None or folder is None:
        missing = "SOURCE and FOLDER are" if source is None else "FOLDER is"
        raise IrInterpError(f"{missing} missing, as in ir-interp reproduce model.onnx fault; or --kit FOLDER")
    with printed_results.progress_bar(options.quiet) as report_progress:
        done = ir_interp.reproduce(source, folder, **keywords(replace(options, progress=report_progress)))
    if form == "json":
        print(printed_results.printed_json(done))
    elif form == "text":
        print(printable(f"{done.runtime}: {done.verdict}"))
        print(printable(f"{done.op.spec}; input {list(done.op.shape or ())}"))
        print(printable(f"wrote {folder}: model, input, expected, README.md; run reproduce.py there"))


def _write_kit(folder: Path, source: str | None, options: ReproduceOptions, form: str) -> None:
    """Write the conformance kit: models with expected outputs, and a runner."""
    if source is not None:
        raise IrInterpError(f"{source!r} has no effect with --kit, whose models are its own")
    check_place(options, KIT, "with --kit")
    with printed_results.progress_bar(options.quiet, "writing"):
        written = ir_interp.kit(folder)
    if form == "json":
        print(printed_results.printed_json(written))
    elif form == "text":
        print(", ".join(f"{count} {group}" for group, count in written.groups.items()))
        print(printable(f"wrote {folder}: {written.count} cases; python {folder / 'run.py'} onnxruntime runs them"))


COMMANDS = {
    "audit": (audit, AUDIT_EXAMPLES),
    "fix": (fix, FIX_EXAMPLES),
    "reproduce": (reproduce, REPRODUCE_EXAMPLES),
}
"""The functions of the commands and their examples, by name."""
