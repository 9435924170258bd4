"""The result of an audit for one resize: a verdict for every runtime, and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ir_interp.diagnostic_codes import RULES, Rule, Severity
from ir_interp.options.finding_codes import UNREAD
from ir_interp.resize_op import ResizeOp

from ..runtimes.outcome import Kind
from .verdicts import Verdict

_CODE_OF_KIND = {Kind.CRASHES: "IRI021", Kind.REFUSED: "IRI022", Kind.DIFFERS: "IRI023", Kind.UNKNOWN: "IRI025"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that a resize breaks, and where; a verdict has a ``runtime``. ``severity`` defaults to the rule's.

    ``trained`` is the preprocessing that the model was trained with, where that is what differs.
    """

    code: str
    message: str
    file: str
    where: str
    runtime: str | None = None
    severity: Severity
    trained: str = ""

    @property
    def rule(self) -> Rule:
        """The meaning of the code."""
        return RULES[self.code]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """A resize with its verdict for each runtime: predicted, and observed if the installed runtime was run.

    ``ran`` is the shape on which it ran, or why it did not; empty if no run was requested.
    """

    file: str
    op: ResizeOp
    predictions: Mapping[str, Verdict]
    seen: Mapping[str, Verdict] = field(default_factory=dict)
    mistakes: tuple[tuple[str, str], ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    label: str = ""
    ran: str = ""

    @property
    def name(self) -> str:
        """The name of its file, and its own name, or else its place in the file."""
        return f"{self.label or Path(self.file).name}: {self.op.name or self.op.where}"

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """The observed verdict, else the predicted one; a correct rule knows the reason better than the runtime."""
        agreeing = {name: verdict for name, verdict in self.seen.items() if verdict.kind is self.predictions[name].kind}
        reasons = {name: self.predictions[name].reason or verdict.reason for name, verdict in agreeing.items()}
        return {
            **self.predictions,
            **self.seen,
            **{name: replace(verdict, reason=reasons[name]) for name, verdict in agreeing.items()},
        }

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings that are reported without being asked for."""
        diagnostics = ((diagnostic.code, diagnostic.message) for diagnostic in self.op.diagnostics)
        findings = (self._finding(*diagnostic) for diagnostic in (*diagnostics, *self.mistakes))
        return (*findings, *self._bad_verdicts(), *self._wrong_predictions())

    def _bad_verdicts(self) -> Iterator[Finding]:
        for name, verdict in self.verdicts.items():
            if verdict.kind in _CODE_OF_KIND:
                yield self._finding(_CODE_OF_KIND[verdict.kind], f"{self.titles.get(name, name)}: {verdict}", name)

    def _wrong_predictions(self) -> Iterator[Finding]:
        for name, verdict in self.seen.items():
            if self.predictions[name].kind not in (Kind.UNKNOWN, verdict.kind):
                text = f"{self.titles.get(name, name)}: predicted {self.predictions[name]}; observed {verdict}"
                yield self._finding("IRI024", text, name)

    @property
    def on_request(self) -> tuple[Finding, ...]:
        """Findings that matter to few users: reasons why it cannot run on TensorRT's DLA."""
        return tuple(self._finding(*remark) for remark in self.remarks)

    def _finding(self, code: str, message: str, runtime: str | None = None) -> Finding:
        severity, where = RULES[code].severity, self.op.where
        return Finding(code=code, message=message, file=self.file, where=where, runtime=runtime, severity=severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadResize:
    """A resize that cannot be read, and why: a row of an audit whose verdicts are unknown."""

    file: str
    resize: str
    where: str
    problem: str
    titles: Mapping[str, str] = field(default_factory=dict)
    label: str = ""

    @property
    def name(self) -> str:
        """The name of its file, and its own name, or else its place in the file."""
        return f"{self.label or Path(self.file).name}: {self.resize or self.where}"

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """An unknown verdict for each runtime."""
        return dict.fromkeys(self.titles, Verdict(kind=Kind.UNKNOWN, reason=f"it cannot be read: {self.problem}"))

    @property
    def finding(self) -> Finding:
        """The one finding about it."""
        rule = RULES[UNREAD]
        return Finding(
            code=rule.code,
            message=f"the resize cannot be read: {self.problem}",
            file=self.file,
            where=self.where,
            severity=rule.severity,
        )


def by_runtimes(rows: Sequence[Audited]) -> Iterator[list[Audited]]:
    """Yield the resizes that share their set of runtimes: those of ONNX models, those of IRs."""
    for titles in dict.fromkeys(tuple(row.titles.items()) for row in rows):
        yield [row for row in rows if tuple(row.titles.items()) == titles]
