"""An audit as data, and as what code hosts take: GitHub's workflow commands, and SARIF."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from ir_interp.names import shown
from ir_interp.rules import RULES, Severity
from ir_interp.version import VERSION
from ir_interp.views import describe

from .audit import Audited, Finding

_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def to_json(rows: Sequence[Audited], findings: Sequence[Finding]) -> str:
    """Return every resize with its verdicts, and the findings."""
    record = {"resizes": [_resize(row) for row in rows], "findings": [_finding(each) for each in findings]}
    return json.dumps(record, indent=2)


def _resize(row: Audited) -> dict[str, Any]:
    return {
        "file": row.file,
        "name": row.op.name,
        "where": row.op.where,
        "target": row.op.spec.resized_to,
        "formula": describe.formula(row.op.spec),
        "verdicts": {
            name: {
                "verdict": each.kind.value,
                "reason": each.reason,
                "difference": each.difference,
                "forecast": row.forecast[name].kind.value,
                "run": name in row.seen,
            }
            for name, each in row.verdicts.items()
        },
    }


def _finding(finding: Finding) -> dict[str, str]:
    return {
        "code": finding.code,
        "severity": finding.rule.severity.value,
        "file": finding.file,
        "where": finding.where,
        "message": finding.message,
    }


def to_github(rows: Sequence[Audited], findings: Sequence[Finding]) -> str:
    """Return a workflow command for each finding: GitHub shows these beside the file."""
    levels = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
    return "\n".join(
        f"::{levels[each.rule.severity]} file={_property(each.file)},title={each.code}::"
        + _escaped(f"{each.where}: {each.message}")
        for each in findings
    )


def _escaped(text: str) -> str:
    return shown(text).replace("%", "%25")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def to_sarif(rows: Sequence[Audited], findings: Sequence[Finding]) -> str:
    """Return the findings as SARIF 2.1.0."""
    codes = sorted({each.code for each in findings})
    driver = {
        "name": "ir-interp",
        "version": VERSION,
        "rules": [
            {
                "id": code,
                "shortDescription": {"text": RULES[code].summary},
                "fullDescription": {"text": RULES[code].story},
                "defaultConfiguration": {"level": RULES[code].severity.value},
            }
            for code in codes
        ],
    }
    results = [
        {
            "ruleId": each.code,
            "ruleIndex": codes.index(each.code),
            "level": each.rule.severity.value,
            "message": {"text": each.message},
            "locations": [
                {
                    "physicalLocation": {"artifactLocation": {"uri": PurePath(each.file).as_posix()}},
                    "logicalLocations": [{"fullyQualifiedName": each.where}],
                }
            ],
        }
        for each in findings
    ]
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2)


FORMATS: dict[str, Callable[[Sequence[Audited], Sequence[Finding]], str]] = {
    "json": to_json,
    "github": to_github,
    "sarif": to_sarif,
}
