"""An audit as a whole: the models, their resizes, and the selected findings.

It is written as JSON, as GitHub workflow commands, and as SARIF.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from ir_interp import plain_text
from ir_interp.diagnostic_codes import BYTE_PRODUCTS, ON_RUN, RULES, Severity, check_codes, codes_of, fails, is_chosen
from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.files.writing import real
from ir_interp.options.model_options import AuditOptions
from ir_interp.plain_text import Tone, labels, quote_uri, workflow_message, workflow_property
from ir_interp.records import Json, Record
from ir_interp.resize_op import count
from ir_interp.version import VERSION

from ..predictions import INSTALLED, NAMES, USUAL, named
from ..runtimes.outcome import Kind
from ..sources.readers import Source, as_file, shown_path
from .audited_resizes import Audited, Finding, UnreadResize, by_runtimes, check
from .auditing import Setting, expanded, in_processes
from .baseline import Accepted, gone, matched, read, write
from .preprocessing import CODE, Cost, Preprocessing, by_input, measured


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Audit(Record):
    """Every resize of some models with its verdicts, the selected findings, and the files that could not be read.

    ``unread`` are the resizes of readable files that cannot be read themselves.

    ``preprocessing`` is the cost of another resize before a model, if requested. ``skipped`` are .xml files of other
    programs in folders, ``empty`` are models without a resize. ``options`` are those of the
    audit. ``accepted`` are findings that a baseline accepts, ``gone`` its entries that no finding matches any more.
    """

    KEYS = (
        "resizes",
        "findings",
        "preprocessing",
        "errors",
        "skipped",
        "empty",
        "options.deploy",
        "accepted",
        "gone",
    )

    rows: tuple[Audited, ...]
    findings: tuple[Finding, ...]
    errors: tuple[ReadError, ...] = ()
    preprocessing: tuple[Cost, ...] = ()
    skipped: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    unread: tuple[UnreadResize, ...] = ()
    options: AuditOptions = field(default_factory=AuditOptions)
    accepted: tuple[Finding, ...] = ()
    gone: tuple[Accepted, ...] = ()

    @property
    def resizes(self) -> tuple[Audited | UnreadResize, ...]:
        """Every resize, last those that cannot be read."""
        return (*self.rows, *self.unread)

    @property
    def files(self) -> tuple[str, ...]:
        """The file of each resize, also of those that cannot be read."""
        return tuple(row.file for row in self.resizes)

    @property
    def summary(self) -> str:
        """How much was audited and found, in one line."""
        files = len(set(self.files))
        codes = ", ".join(sorted({finding.code for finding in self.findings}))
        findings = count(len(self.findings), "finding") + (f" ({codes})" if codes else "")
        findings += f", {len(self.accepted)} accepted" if self.accepted else ""
        unread = f"; {count(len(self.errors), 'file')} could not be read" if self.errors else ""
        return f"{count(len(self.rows) + len(self.unread), 'resize')} in {count(files, 'file')}, {findings}{unread}"

    def __repr__(self) -> str:
        return plain_text.notebook_line("Audit", self.summary)

    def _repr_html_(self) -> str:
        """Return tables for notebooks: a row for each resize, and one for each finding."""
        tables = [
            plain_text.notebook_columns(
                self.summary,
                ("resize", *group[0].titles.values()),
                ((row.name, *(verdict.short for verdict in row.verdicts.values())) for row in group),
            )
            for group in by_runtimes(self.rows)
        ]
        if self.unread:
            unread = ((row.name, row.problem) for row in self.unread)
            tables.append(plain_text.notebook_columns("Not read", ("resize", "why"), unread))
        findings = ((finding.code, finding.where, finding.message) for finding in self.findings)
        return "".join([*tables, plain_text.notebook_columns("Findings", ("code", "where", "what"), findings)])

    def with_severities(self, severities: Mapping[str, Severity]) -> Audit:
        """Return the same audit with another severity for findings about some runtimes.

        A runtime without a release stands for all its releases that ``severities`` do not name. Raises SpecError for an
        unknown runtime.
        """
        for name in severities:
            check_runtime(name)

        def graded(finding: Finding) -> Finding:
            runtime = finding.runtime or ""
            of_any_release = severities.get(runtime.partition(":")[0], finding.severity)
            return replace(finding, severity=severities.get(runtime, of_any_release))

        return replace(self, findings=tuple(map(graded, self.findings)))

    def without(self, ignores: Mapping[str, Sequence[str]]) -> Audit:
        """Return the same audit without the findings whose codes are ignored in their files.

        ``ignores`` are beginnings of codes by pattern: of the name of a file, or, with a slash, of its absolute path.
        """
        return replace(self, findings=tuple(finding for finding in self.findings if not _is_ignored(finding, ignores)))

    def accepting(self, baseline: str | os.PathLike[str]) -> Audit:
        """Return the same audit without the findings that a baseline accepts, which become ``accepted``.

        Raises ReadError for a file that is no baseline.

        Examples:
            >>> report = ir_interp.audit("model.onnx", runtimes=["openvino"])
            >>> report.write_baseline("audit-baseline.json")
            >>> report.accepting("audit-baseline.json").fails()
            False

        """
        path = Path(baseline)
        new, known, left = matched(self.findings, read(path), path.parent)
        # A file with an error has no rows; what became of its findings is unknown.
        read_files = (*self.files, *self.empty)
        unmatched = gone(left, read_files, path.parent, self._is_asked)
        return replace(self, findings=tuple(new), accepted=(*self.accepted, *known), gone=unmatched)

    def write_baseline(self, path: str | os.PathLike[str], *on: str) -> None:
        """Write the findings for which ``fails(*on)`` is true to a baseline, which accepts them.

        Raises OutputError if a file that is no baseline has this name.
        """
        write(Path(path), (finding for finding in self.findings if fails(finding.code, finding.severity, on)))

    def _is_asked(self, entry: Accepted) -> bool:
        """Return whether this audit would report a finding, if it was still true."""
        options = self.options
        is_run = options.run or entry.code not in ON_RUN
        is_measured = options.preprocess is not None or entry.code != CODE
        runtimes = asked_runtimes(options)
        # Exporters are asked unless runtimes are chosen.
        usual = entry.runtime not in NAMES or entry.runtime in (*USUAL, *options.deploy)
        is_predicted = not entry.runtime or (usual if runtimes is None else entry.runtime in runtimes)
        return is_run and is_measured and is_predicted and _is_wanted(entry.code, options)

    def fails(self, *on: str) -> bool:
        """Return whether there is a finding that is not a note, of any kind or of the kinds ``on``.

        Kinds are "differs", "refused" (or crashes), "unknown", "mistake", or codes and their prefixes. A note counts
        if its code is among them in full. Raises SpecError for others.
        """
        codes_of(on)
        return any(fails(finding.code, finding.severity, on) for finding in self.findings)


def _is_ignored(finding: Finding, ignores: Mapping[str, Sequence[str]]) -> bool:
    path = real(Path(finding.file))
    codes = (
        code
        for pattern, those in ignores.items()
        if fnmatchcase(path.as_posix() if "/" in pattern else path.name, pattern)
        for code in those
    )
    return any(map(finding.code.startswith, codes))


def check_options(options: AuditOptions) -> None:
    """Raise SpecError for an unknown runtime, code or call, and for an option without an effect."""
    for name in options.runtimes or ():
        check_runtime(name)
    check_deploy(options.deploy)
    if options.deploy and options.runtimes is not None:
        raise SpecError("--runtime and --deploy exclude each other: --runtime leaves all other runtimes out")
    check_codes((*options.select, *options.ignore))
    check_severities(options)
    _preprocessing(options)


def check_severities(options: AuditOptions) -> None:
    """Raise SpecError where an option about severities names an unknown runtime or kind of finding."""
    for name in options.severities:
        check_runtime(name)
    codes_of(options.fail_on)


def check_deploy(names: Sequence[str]) -> None:
    """Raise SpecError for an unknown runtime, and for the word for several."""
    for name in names:
        if name == INSTALLED:
            raise SpecError(f"--deploy {name} depends on the machine of the audit; expected the names of runtimes")
        check_runtime(name)


def check_runtime(name: str) -> None:
    """Raise SpecError for an unknown runtime."""
    if name not in NAMES:
        raise SpecError(f"unknown runtime {name!r}; {closest(name, NAMES)}")


def _preprocessing(options: AuditOptions) -> Preprocessing | None:
    """Return the resizes before the models; None if the options name none."""
    calls = {"preprocess": options.preprocess, "trained": options.trained}
    missing = [name for name, call in calls.items() if call is None]
    if len(missing) == 1:
        raise SpecError(f"--{missing[0]} is missing; the cost of a resize is measured against another")
    if options.preprocess is None or options.trained is None:
        if options.image is not None:
            raise SpecError("--image has no effect without --preprocess and --trained")
        return None
    return Preprocessing.of(options.preprocess, options.trained, options.image)


def audited(sources: Sequence[Source], options: AuditOptions) -> Audit:
    """Return the audit of models and of those in folders; see ``ir_interp.audit``."""
    check_options(options)
    preprocessing, runtimes = _preprocessing(options), asked_runtimes(options)
    with ExitStack() as stack:
        paths = [stack.enter_context(as_file(source, "models")) for source in sources]
        names = {str(path): str(shown_path(source, path)) for source, path in zip(sources, paths, strict=True)}
        inside = expanded(paths)
        files, closed = inside.files, inside.closed
        if options.shapes:
            check(files, options.shapes)
        setting = Setting(run=options.run, runtimes=runtimes, more=options.deploy, shapes=options.shapes)
        result = in_processes(files, options.jobs, setting, options.progress)
        rows, unread, errors = result.rows, result.unread, [*closed, *result.errors]
        costs: list[Cost] = []
        if preprocessing is not None and _is_wanted(CODE, options):
            # The errors of these files are known already; measuring would add them again.
            closed_files = {error.where for error in errors}
            of_paths = labels(names.get(str(path), str(path)) for path in files)
            readable = {
                path: of_paths[names.get(str(path), str(path))] for path in files if path.name not in closed_files
            }
            costs, more = measured(readable, preprocessing, options.shapes)
            costs = [replace(cost, file=names.get(cost.file, cost.file)) for cost in costs]
            errors += more
    rows = [replace(row, file=names.get(row.file, row.file)) for row in rows]
    unread = [replace(row, file=names.get(row.file, row.file)) for row in unread]
    called = labels((*(row.file for row in rows), *(row.file for row in unread)))
    rows = [_under(row, called[row.file]) for row in rows]
    unread = [_unread_under(row, called[row.file]) for row in unread]
    selected = ((*row.findings, *(row.on_request if options.select else ())) for row in rows)
    candidates = (*(row.finding for row in unread), *(finding for row in selected for finding in row))
    findings = tuple(finding for finding in candidates if _is_wanted(finding.code, options))
    before = tuple(cost.finding for cost in by_input(costs) if cost.finding)
    of_files = _named(result.findings, files, names) if _is_wanted(BYTE_PRODUCTS, options) else ()
    return Audit(
        rows=tuple(rows),
        findings=tuple(_deployed((*before, *of_files, *findings), (*rows, *unread), options.deploy)),
        errors=tuple(errors),
        preprocessing=tuple(costs),
        skipped=tuple(map(str, inside.skipped)),
        empty=tuple(_without_resizes(files, (*rows, *unread), errors, names)),
        unread=tuple(unread),
        options=options,
    )


def _deployed(
    findings: Iterable[Finding], resizes: Iterable[Audited | UnreadResize], deploy: Sequence[str]
) -> Iterator[Finding]:
    """Yield findings, as notes if they concern a runtime that is not among ``deploy``, unless that is empty.

    A runtime without a release stands for all its releases. A file that is no ONNX model is always converted for a
    runtime that does not read it, so has no verdict of its own on converted files: there, the name without
    "-converted" stands for it.
    """
    runtimes = {resize.file: frozenset(resize.titles) for resize in resizes}

    def is_meant(place: str, finding: Finding, runtime: str) -> bool:
        known = runtimes.get(finding.file, frozenset())
        name = place if place in known else place.removesuffix(_CONVERTED)
        return name in (runtime, runtime.partition(":")[0])

    for finding in findings:
        runtime = finding.runtime
        is_other = runtime in NAMES and not any(is_meant(place, finding, str(runtime)) for place in deploy)
        yield replace(finding, severity=Severity.NOTE) if deploy and is_other else finding


_CONVERTED = "-converted"


def _named(findings: Sequence[Finding], files: Sequence[Path], names: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return findings about whole files under labels that are unique to these."""
    called = labels(names.get(str(path), str(path)) for path in files)
    own = (replace(finding, file=names.get(finding.file, finding.file)) for finding in findings)
    return tuple(replace(finding, where=called[finding.file]) for finding in own)


def _without_resizes(
    files: Sequence[Path], rows: Sequence[Audited | UnreadResize], errors: Sequence[ReadError], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield the names of the models that could be read and hold no resize."""
    with_resizes = {row.file for row in rows}
    for path in files:
        name = names.get(str(path), str(path))
        if name not in with_resizes and not any(error.where.startswith(path.name) for error in errors):
            yield name


def asked_runtimes(options: AuditOptions) -> frozenset[str] | None:
    """Return the names of the runtimes to predict; None for those that every audit covers."""
    return None if options.runtimes is None else named(options.runtimes)


def _is_wanted(code: str, options: AuditOptions) -> bool:
    return is_chosen(code, options.select, options.ignore)


def _under(row: Audited, label: str) -> Audited:
    """Return a resize whose place begins with the label of its file."""
    return replace(row, label=label, op=replace(row.op, where=_place(row.file, row.op.where, label)))


def _unread_under(row: UnreadResize, label: str) -> UnreadResize:
    return replace(row, label=label, where=_place(row.file, row.where, label))


def _place(file: str, where: str, label: str) -> str:
    """Return a place that begins with a label, unique to the file, instead of the file's name."""
    return label + where.removeprefix(Path(file).name)


_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


TONES: dict[Kind, Tone] = {
    Kind.SAME: "good",
    Kind.DIFFERS: "doubt",
    Kind.UNKNOWN: "doubt",
    Kind.REFUSED: "bad",
    Kind.CRASHES: "bad",
}
"""The marks of verdicts in pages and terminals."""


def to_github(audit: Audit) -> str:
    """Return a workflow command for each finding and each unreadable file: GitHub shows these beside the file."""
    levels = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
    commands = [
        f"::{levels[finding.severity]} file={workflow_property(finding.file)},title={finding.code}::"
        + workflow_message(f"{finding.where}: {finding.message}")
        for finding in audit.findings
    ]
    return "\n".join(
        [*commands, *(f"::error title=not read::{workflow_message(str(error))}" for error in audit.errors)]
    )


def to_sarif(audit: Audit) -> str:
    """Return the findings as SARIF 2.1.0, with a notification for each unreadable file."""
    codes = sorted({finding.code for finding in (*audit.findings, *audit.accepted)})
    driver = {
        "name": "ir-interp",
        "version": VERSION,
        "rules": [
            {
                "id": code,
                "shortDescription": {"text": RULES[code].summary},
                "fullDescription": {"text": RULES[code].story},
                "help": {"text": RULES[code].remedy},
                "defaultConfiguration": {"level": RULES[code].severity.value},
            }
            for code in codes
        ],
    }
    results = [
        *(_sarif_result(finding, codes) for finding in audit.findings),
        *({**_sarif_result(finding, codes), "suppressions": _SUPPRESSIONS} for finding in audit.accepted),
    ]
    notes = [{"level": "error", "message": {"text": str(error)}} for error in audit.errors]
    invocation = {"executionSuccessful": not audit.errors, "toolExecutionNotifications": notes}
    run = {"tool": {"driver": driver}, "results": results, "invocations": [invocation]}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2)


_SUPPRESSIONS: Json = [{"kind": "external", "status": "accepted"}]
"""What SARIF calls the acceptance of a finding in another file."""


def _sarif_result(finding: Finding, codes: Sequence[str]) -> dict[str, Json]:
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity.value,
        "message": {"text": finding.message},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": quote_uri(finding.file)}},
                "logicalLocations": [{"fullyQualifiedName": finding.where}],
            }
        ],
    }


FORMATS: dict[str, Callable[[Audit], str]] = {
    "github": to_github,
    "sarif": to_sarif,
}
