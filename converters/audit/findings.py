"""What an audit says of a resize: a verdict for every runtime, and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ir_interp.diagnostic_codes import RULES, Rule, Severity
from ir_interp.resize_op import ResizeOp

from ..runtimes.outcome import Kind
from .verdicts import Verdict

_CODE_OF_KIND = {Kind.CRASHES: "IRI021", Kind.REFUSED: "IRI022", Kind.DIFFERS: "IRI023", Kind.UNKNOWN: "IRI025"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that a resize breaks, and where; a verdict has a ``runtime``. ``severity`` is the rule's by default."""

    code: str
    message: str
    file: str
    where: str
    runtime: str | None = None
    severity: Severity

    @property
    def rule(self) -> Rule:
        """What the code means."""
        return RULES[self.code]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A resize with its verdict for each runtime: as forecast, and as seen where the installed one was run.

    ``ran`` says on which shape, or why it was not; nothing where that was not asked for.
    """

    file: str
    op: ResizeOp
    forecast: Mapping[str, Verdict]
    seen: Mapping[str, Verdict] = field(default_factory=dict)
    mistakes: tuple[tuple[str, str], ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    ran: str = ""

    @property
    def name(self) -> str:
        """What its file is called, and its name, or else its place there."""
        return f"{self.label or Path(self.file).name}: {self.op.name or self.op.where}"

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """What was seen, else what was forecast; a rule that was right knows the reason better than the runtime."""
        agreeing = {name: each for name, each in self.seen.items() if each.kind is self.forecast[name].kind}
        reasons = {name: self.forecast[name].reason or each.reason for name, each in agreeing.items()}
        return {
            **self.forecast,
            **self.seen,
            **{name: replace(each, reason=reasons[name]) for name, each in agreeing.items()},
        }

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything to tell about it that nobody has to ask for."""
        diagnostics = ((each.code, each.message) for each in self.op.diagnostics)
        found = (self._finding(*each) for each in (*diagnostics, *self.mistakes))
        return (*found, *self._bad_verdicts(), *self._wrong_forecasts())

    def _bad_verdicts(self) -> Iterator[Finding]:
        for name, each in self.verdicts.items():
            if each.kind in _CODE_OF_KIND:
                yield self._finding(_CODE_OF_KIND[each.kind], f"{self.titles.get(name, name)}: {each}", name)

    def _wrong_forecasts(self) -> Iterator[Finding]:
        for name, each in self.seen.items():
            if self.forecast[name].kind not in (Kind.UNKNOWN, each.kind):
                text = f"{self.titles.get(name, name)}: forecast {self.forecast[name]}; seen {each}"
                yield self._finding("IRI024", text, name)

    @property
    def on_request(self) -> tuple[Finding, ...]:
        """What matters to few: what keeps it off TensorRT's DLA."""
        return tuple(self._finding(*each) for each in self.remarks)

    def _finding(self, code: str, message: str, runtime: str | None = None) -> Finding:
        severity, where = RULES[code].severity, self.op.where
        return Finding(code=code, message=message, file=self.file, where=where, runtime=runtime, severity=severity)


def by_runtimes(rows: Sequence[Audited]) -> Iterator[list[Audited]]:
    """Yield the resizes that the same runtimes were asked about: those of ONNX models, those of IRs."""
    for titles in dict.fromkeys(tuple(row.titles.items()) for row in rows):
        yield [row for row in rows if tuple(row.titles.items()) == titles]
