"""The report of a conversion: a row for each resize, its mistakes, states and verification."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

from ir_interp.options.convert_options import Form as Form
from ir_interp.options.convert_options import StateForm as StateForm
from ir_interp.options.shared_options import Progress as Progress
from ir_interp.options.shared_options import silent as silent
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape
from ir_interp.translation.grades import Grade, Translation
from ir_interp.views import describe, notebook

from .verification import Verification, VerificationRecord, differing, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One translated resize: before, after, its grade, and notes; see ``Translation``."""

    name: str
    source: ResizeOp
    form: str
    grade: Grade
    note: str = ""
    within: int = 0

    @property
    def exactness(self) -> str:
        """The grade as text."""
        return self.grade.worded(self.within)

    @property
    def configuration(self) -> str:
        """The resize as it was, in one line."""
        return describe.summary(self.source.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The rows of the written resizes, and notes on parts of the source without an effect."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A likely mistake in the source of a conversion, which its result keeps; ``command`` repairs or explains it.

    Of severity ``note`` it is no mistake, but a resize that releases of its runtime read differently.
    """

    code: str
    severity: str
    where: str
    message: str
    command: str

    def record(self) -> dict[str, str]:
        """Return it as plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A state that a model keeps between inferences, which its translation takes and returns.

    ``initial`` are its elements before the first inference: one if all are equal, none if it is empty then.
    If they are computed from inputs it is None, and ``first`` names the input that is true in the first inference
    only. ``output`` is None if nothing changes the state.
    """

    variable: str
    input: str
    output: str | None
    dtype: str
    shape: PartialShape
    initial_shape: PartialShape
    initial: tuple[Any, ...] | None
    first: str | None = None

    def record(self) -> dict[str, Any]:
        """Return it as plain values, for JSON."""
        return asdict(self)

    @property
    def text(self) -> str:
        """The state after the conversion, in one line."""
        shape = ", ".join("?" if size is None else str(size) for size in self.initial_shape)
        end = f"output {self.output!r}" if self.output else "nothing changes it"
        if self.initial is None:
            at_first = f"at first computed, where {self.first!r} is true"
            return f"state {self.variable!r}: input {self.input!r}, {end}; {at_first}"
        # A state of many equal values is stored as one of them.
        values = "zeros" if not any(self.initial) else self.initial[0] if len(self.initial) == 1 else "its own values"
        return f"state {self.variable!r}: input {self.input!r}, {end}; at first [{shape}] of {values}"


class RowRecord(TypedDict):
    """A resize of a conversion in JSON."""

    name: str
    where: str
    configuration: str
    form: str
    grade: str
    note: str


class OperationsRecord(TypedDict):
    """Operations of both models in JSON, by type; None for files without a model."""

    before: dict[str, int] | None
    after: dict[str, int] | None


class ConversionRecord(TypedDict):
    """A conversion in JSON."""

    source: str
    destination: str
    resizes: list[RowRecord]
    findings: list[Mistake]
    notes: list[str]
    states: list[State]
    operations: OperationsRecord
    verification: VerificationRecord | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConversionReport:
    """The files of a conversion, its resizes, and how far its outputs differ, if that was verified.

    ``before`` and ``after`` count the operations of both models by type, the most frequent first. ``mistakes`` are
    likely ones of the source, which the result keeps, and readings that depend on the release. ``notes`` are on parts
    of the source without an effect.
    """

    source: Path
    destination: Path
    rows: tuple[Row, ...]
    mistakes: tuple[Mistake, ...] = ()
    verification: Verification | None = None
    before: dict[str, int] | None = None
    after: dict[str, int] | None = None
    states: tuple[State, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The resizes by grade, and the verification, in one line."""
        # Equal grades are counted: a detector has dozens of resizes of one kind.
        grades = ", ".join(f"{times} {grade}" for grade, times in Counter(row.exactness for row in self.rows).items())
        proof = self.verification.summary if self.verification else "not verified"
        return f"{describe.count(len(self.rows), 'resize')}{grades and f', {grades}'}; {proof}"

    @property
    def differs_by_default(self) -> bool:
        """Whether a quantised model differs by the default settings of its runtime."""
        return self.verification is not None and bool(differing(self.verification.calls))

    def __repr__(self) -> str:
        return notebook.line("ConversionReport", f"{self.source.name} to {self.destination.name}, {self.summary}")

    def _repr_html_(self) -> str:
        """Return tables for notebooks: a row for each resize, and one for each output that was compared."""
        rows = ((row.name, row.configuration, row.form, row.exactness) for row in self.rows)
        title = f"{self.source.name} to {self.destination.name}: {self.summary}"
        resizes = notebook.columns(title, ("resize", "was", "became", "grade"), rows)
        if self.verification is None:
            return resizes
        compared = ((output.name, output.verdict, output.difference) for output in self.verification.outputs)
        return resizes + notebook.columns("Verification", ("output", "verdict", "difference"), compared)

    def record(self) -> ConversionRecord:
        """Return the report as plain values, for JSON."""
        return {
            "source": str(self.source),
            "destination": str(self.destination),
            "resizes": [
                {
                    "name": row.name,
                    "where": row.source.where,
                    "configuration": row.configuration,
                    "form": row.form,
                    "grade": row.exactness,
                    "note": row.note,
                }
                for row in self.rows
            ],
            "findings": [cast(Mistake, mistake.record()) for mistake in self.mistakes],
            "notes": list(self.notes),
            "states": [cast(State, state.record()) for state in self.states],
            "operations": {"before": self.before, "after": self.after},
            "verification": plain(self.verification),
        }


def expressed(translation: Translation | ResizeOp) -> str:
    """Return a translation, or a resize as its file has it, in one line: its version and its attributes."""
    attributes = ", ".join(f"{name}={text(value)}" for name, value in translation.attributes.items())
    return f"{translation.dialect} {translation.version}: {attributes}"


def text(value: object) -> str:
    """Return a number, string or list as tables show it."""
    if value is None:
        return "at run time"
    return str(list(value)) if isinstance(value, tuple | list) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPolicy:
    """Requirements on the nodes of a resize; ``strict`` accepts only nodes that are exact for every shape.

    ``interpolate`` is the version of Interpolate, if they are Interpolate nodes.
    """

    form: Form = Form.ANY
    strict: bool = False
    interpolate: int = 11
