"""The next step after a finding: one command that repairs it, works around it or explains it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.files.kinds import FileKind
from ir_interp.text.quoting import shell

if TYPE_CHECKING:
    from ir_interp.converters.audit.findings import Finding

_FIXED = ("IRI011", "IRI012", "IRI013", "IRI014", "IRI015", "IRI016")
_VERDICTS = ("IRI021", "IRI022", "IRI023")
_UNKNOWN, _PREPROCESSING = "IRI025", "IRI041"


def mistaken(findings: Iterable[Finding]) -> frozenset[str]:
    """Return the files with mistakes that ``fix`` repairs."""
    return frozenset(finding.file for finding in findings if _is_fixed(finding))


def _is_fixed(finding: Finding) -> bool:
    return FileKind.of(finding.file) is FileKind.ONNX and finding.code in _FIXED


def next_step(finding: Finding, mistaken: Collection[str] = ()) -> str:
    """Return a command line for the file of a finding; of ``mistaken`` files it takes the repaired one."""
    kind, fixed = FileKind.of(finding.file), Path(finding.file).with_suffix(".fixed.onnx")
    if _is_fixed(finding):
        return shell("ir-interp", "fix", finding.file, str(fixed))
    if kind is FileKind.ONNX and finding.code in _VERDICTS and finding.runtime and finding.runtime in _targets():
        return _rewritten(str(fixed) if finding.file in mistaken else finding.file, finding.runtime)
    if finding.code == _UNKNOWN:
        return shell("ir-interp", "audit", finding.file, "--run")
    if finding.code == _PREPROCESSING:
        return "ir-interp preprocess --help"
    return shell("ir-interp", "explain", finding.code)


def _targets() -> list[str]:
    """Return the runtimes that models can be rewritten for; for others no command is known to help."""
    from ir_interp.converters.portable.targets import names

    return names()


def _rewritten(file: str, runtime: str) -> str:
    """Return the command that writes a model which a runtime computes exactly."""
    if runtime == "openvino":
        return shell("ir-interp", "convert", file, str(Path(file).with_suffix(".xml")))
    return shell("ir-interp", "convert", file, str(Path(file).with_suffix(".portable.onnx")), "--target", runtime)
