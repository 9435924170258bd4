"""The next step after a finding: one command that repairs it, works around it or explains it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ir_interp.diagnostic_codes import RULES, fails
from ir_interp.files.kinds import IN_FOLDERS, FileKind
from ir_interp.libraries import is_call
from ir_interp.pipelines.pipeline_source import with_backend
from ir_interp.plain_text import quote_shell
from ir_interp.records import Record

from ..audit.audited_resizes import Finding, of_file
from ..portable.targets import names
from ..reports import Mistake, Row
from ..sources.readers import Source, is_in_memory

_FIXED = ("IRI011", "IRI012", "IRI013", "IRI014", "IRI015", "IRI016", "IRI018", "IRI019")
_VERDICTS = ("IRI021", "IRI022", "IRI023")
_RELEASES = "IRI017"
_WRONG, _UNKNOWN, _PREPROCESSING = "IRI024", "IRI025", "IRI041"


def mistaken(findings: Iterable[Finding]) -> frozenset[str]:
    """Return the files with mistakes that ``fix`` repairs."""
    return frozenset(
        finding.file for finding in findings if finding.is_repairable or _is_fixed(finding.file, finding.code)
    )


def _is_fixed(file: str, code: str) -> bool:
    return FileKind.of(file) is FileKind.ONNX and code in _FIXED


def of_source(source: Source, path: Path) -> tuple[Mistake, ...]:
    """Return the likely mistakes of a source, which is read from ``path``, each with the command that repairs it."""
    if FileKind.of(path) not in IN_FOLDERS:
        return ()
    return tuple(
        Mistake(
            code=code,
            severity=RULES[code].severity.value,
            where=node.op.where,
            message=message,
            command=_repair(source, path, code),
        )
        for node in of_file(path, {}).resizes
        for code, message in node.mistakes
    )


def of_releases(rows: Iterable[Row]) -> tuple[Mistake, ...]:
    """Return a note for each resize that releases of its runtime read differently: the reading chosen, and the others.

    No verification shows it, since the runtime of the source is today's release.
    """
    return tuple(
        Mistake(
            code=diagnostic.code,
            severity=RULES[diagnostic.code].severity.value,
            where=row.source.where,
            message=diagnostic.message,
            command=quote_shell("ir-interp", "explain", diagnostic.code),
        )
        for row in rows
        for diagnostic in row.source.diagnostics
        if diagnostic.code == _RELEASES
    )


def _repair(source: Source, path: Path, code: str) -> str:
    """Return the command that repairs a mistake, else the one that explains it, as for a model in memory."""
    if is_in_memory(source) or not _is_fixed(str(path), code):
        return quote_shell("ir-interp", "explain", code)
    return _fix(str(path))


def _fix(file: str) -> str:
    return quote_shell("ir-interp", "fix", file, _repaired(file))


def _repaired(file: str) -> str:
    return str(Path(file).with_suffix(".fixed.onnx"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToAct(Record):
    """A model to act on: its first problem, how many more there are, and the command that comes next, if there is one.

    ``is_error`` is whether the problem is no finding: the model cannot be read, or not be converted.
    """

    file: str
    problem: str
    more: int
    command: str
    is_error: bool = False

    @property
    def text(self) -> str:
        """The model and its problems, in one line."""
        return f"{self.file}: {self.problem}" + (f"; {self.more} more" if self.more else "")


def models_to_act(findings: Sequence[Finding], on: Sequence[str]) -> Iterator[ToAct]:
    """Yield the models with findings that count by ``on``, each once, in order."""
    files = mistaken(findings)
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        if fails(finding.code, finding.severity, on):
            by_file.setdefault(finding.file, []).append(finding)
    for file, (first, *others) in by_file.items():
        problem = f"{first.code} {first.message}"
        yield ToAct(file=file, problem=problem, more=len(others), command=next_step(first, files))


def alone(source: Path, destination: Path) -> str:
    """Return the command that converts one model of a folder, and describes a refusal on a page."""
    page = source.with_suffix(".html").name
    return quote_shell("ir-interp", "convert", str(source), str(destination), "--html", page)


def next_step(finding: Finding, mistaken: Collection[str] = ()) -> str:
    """Return a command line for the file of a finding; of ``mistaken`` files it takes the repaired one."""
    file, kind = finding.file, FileKind.of(finding.file)
    if finding.is_repairable or _is_fixed(file, finding.code):
        return _fix(file)
    if kind is FileKind.ONNX and finding.code in _VERDICTS and finding.runtime in names():
        return _rewritten(_repaired(file) if file in mistaken else file, str(finding.runtime))
    if finding.code == _WRONG:
        return quote_shell("ir-interp", "audit", finding.file, "--run", "--runtime", str(finding.runtime), "--json")
    if finding.code == _UNKNOWN:
        return quote_shell("ir-interp", "audit", finding.file, "--run")
    if finding.code == _PREPROCESSING:
        name, backend = with_backend(finding.trained)
        if is_call(name) or not Path(name).suffix:
            return quote_shell("ir-interp", "preprocess", "--help")
        path = Path(finding.file)
        ready = str(path.with_suffix(f".ready{path.suffix}"))
        words = ("--backend", backend.value) if backend else ()
        return quote_shell("ir-interp", "preprocess", finding.file, ready, "--config", name, *words)
    return quote_shell("ir-interp", "explain", finding.code)


def _rewritten(file: str, runtime: str) -> str:
    """Return the command that writes a model which a runtime computes exactly."""
    if runtime == "openvino":
        return quote_shell("ir-interp", "convert", file, str(Path(file).with_suffix(".xml")))
    return quote_shell("ir-interp", "convert", file, str(Path(file).with_suffix(".portable.onnx")), "--target", runtime)
