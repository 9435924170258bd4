"""Summary of all models: counts, whose size does not grow with the number of models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict

from ir_interp.diagnostic_codes import Severity
from ir_interp.options.finding_codes import fails


class SummaryRecord(TypedDict):
    """The results of many models in JSON: numbers of models, resizes and errors, and counts by name."""

    models: int
    resizes: int
    errors: int
    verdicts: dict[str, dict[str, int]]
    findings: dict[str, int]
    exporters: dict[str, int]
    grades: dict[str, int]


@dataclass(slots=True)
class Summary:
    """Counts over the records of models: by runtime and verdict, by the code of findings, by exporter, by grade.

    ``severities`` are those of the findings by code.
    """

    models: int = 0
    resizes: int = 0
    errors: int = 0
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    findings: Counter[str] = field(default_factory=Counter)
    exporters: Counter[str] = field(default_factory=Counter)
    grades: Counter[str] = field(default_factory=Counter)
    severities: dict[str, set[Severity]] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one model."""
        self.models += 1
        self.errors += bool(record["errors"])
        self.exporters[record["exporter"]] += 1
        self.resizes += len(record["resizes"])
        for resize in record["resizes"]:
            for runtime, verdict in resize.get("verdicts", {}).items():
                self.verdicts.setdefault(runtime, Counter())[verdict["verdict"]] += 1
            if "grade" in resize:
                self.grades[resize["grade"]] += 1
        for finding in record.get("findings", ()):
            self.findings[finding["code"]] += 1
            self.severities.setdefault(finding["code"], set()).add(Severity(finding["severity"]))

    def fails(self, *on: str) -> bool:
        """Return whether there is a finding that matters; ``on`` is that of ``Audit.fails``."""
        return any(fails(code, severity, on) for code, severities in self.severities.items() for severity in severities)

    def record(self) -> SummaryRecord:
        """Return all of it as plain values, for JSON."""
        return {
            "models": self.models,
            "resizes": self.resizes,
            "errors": self.errors,
            "verdicts": {name: dict(counts) for name, counts in sorted(self.verdicts.items())},
            "findings": dict(sorted(self.findings.items())),
            "exporters": dict(self.exporters.most_common()),
            "grades": dict(self.grades.most_common()),
        }

    def tables(self) -> Iterable[tuple[str, list[tuple[str, str]]]]:
        """Yield each kind of count as a title and rows."""
        yield "runtimes", [(name, _counted(counts)) for name, counts in sorted(self.verdicts.items())]
        yield "findings", [(code, str(count)) for code, count in sorted(self.findings.items())]
        yield "exporters", [(name, str(count)) for name, count in self.exporters.most_common(20)]
        yield "grades", [(name, str(count)) for name, count in self.grades.most_common()]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())
