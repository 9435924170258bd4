"""An audit as plain data, as GitHub workflow commands, and as SARIF."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypedDict, cast

from ir_interp.diagnostic_codes import RULES, Severity
from ir_interp.text.quoting import uri, workflow_message, workflow_property
from ir_interp.version import VERSION
from ir_interp.views import describe
from ir_interp.views.marks import Tone

from ..runtimes.outcome import Kind
from .audit_report import Audit
from .findings import Audited, Finding, UnreadResize
from .preprocessing import Cost

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


TONES: dict[Kind, Tone] = {
    Kind.SAME: "good",
    Kind.DIFFERS: "doubt",
    Kind.UNKNOWN: "doubt",
    Kind.REFUSED: "bad",
    Kind.CRASHES: "bad",
}
"""The marks of verdicts in pages and terminals."""


class VerdictRecord(TypedDict):
    """A verdict of an audit in JSON: as seen where ``run``, else as predicted."""

    verdict: str
    reason: str
    difference: float | None
    prediction: str
    run: bool


class ResizeRecord(TypedDict):
    """A resize of an audit in JSON; verdicts by runtime. One that cannot be read has an error instead of a formula."""

    file: str
    name: str
    where: str
    target: str
    formula: str
    error: str
    verdicts: dict[str, VerdictRecord]


class FindingRecord(TypedDict):
    """A finding of an audit in JSON."""

    code: str
    severity: str
    runtime: str | None
    file: str
    where: str
    message: str


class ErrorRecord(TypedDict):
    """A file that could not be read, in JSON."""

    where: str
    message: str


class AuditRecord(TypedDict):
    """An audit in JSON."""

    resizes: list[ResizeRecord]
    findings: list[FindingRecord]
    preprocessing: list[Cost]
    errors: list[ErrorRecord]
    skipped: list[str]
    empty: list[str]


def record(audit: Audit) -> AuditRecord:
    """Return every resize with its verdicts, the findings, and the files that could not be read."""
    return {
        "resizes": [*map(_resize, audit.rows), *map(_unread, audit.unread)],
        "findings": [_finding(finding) for finding in audit.findings],
        "preprocessing": [cast(Cost, cost.record()) for cost in audit.preprocessing],
        "errors": [{"where": error.where, "message": error.problem} for error in audit.errors],
        "skipped": list(audit.skipped),
        "empty": list(audit.empty),
    }


def _resize(row: Audited) -> ResizeRecord:
    return {
        "file": row.file,
        "name": row.op.name,
        "where": row.op.where,
        "target": row.op.spec.resized_to,
        "formula": describe.formula(row.op.spec),
        "error": "",
        "verdicts": {
            name: {
                "verdict": verdict.kind.value,
                "reason": verdict.reason,
                "difference": verdict.difference,
                "prediction": row.predictions[name].kind.value,
                "run": name in row.seen,
            }
            for name, verdict in row.verdicts.items()
        },
    }


def _unread(row: UnreadResize) -> ResizeRecord:
    return {
        "file": row.file,
        "name": row.resize,
        "where": row.where,
        "target": "",
        "formula": "",
        "error": row.problem,
        "verdicts": {
            name: {
                "verdict": verdict.kind.value,
                "reason": verdict.reason,
                "difference": None,
                "prediction": verdict.kind.value,
                "run": False,
            }
            for name, verdict in row.verdicts.items()
        },
    }


def _finding(finding: Finding) -> FindingRecord:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "runtime": finding.runtime,
        "file": finding.file,
        "where": finding.where,
        "message": finding.message,
    }


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
    codes = sorted({finding.code for finding in audit.findings})
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
        {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": finding.severity.value,
            "message": {"text": finding.message},
            "locations": [
                {
                    "physicalLocation": {"artifactLocation": {"uri": uri(finding.file)}},
                    "logicalLocations": [{"fullyQualifiedName": finding.where}],
                }
            ],
        }
        for finding in audit.findings
    ]
    notes = [{"level": "error", "message": {"text": str(error)}} for error in audit.errors]
    invocation = {"executionSuccessful": not audit.errors, "toolExecutionNotifications": notes}
    run = {"tool": {"driver": driver}, "results": results, "invocations": [invocation]}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2)


FORMATS: dict[str, Callable[[Audit], str]] = {
    "github": to_github,
    "sarif": to_sarif,
}
