"""The report of a conversion: a row for each resize, and how far the result differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
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
class Compared:
    """The largest difference of an output, absolute and relative to its largest value if that is not 0, and the limit.

    ``span`` is the range of its values over all inputs tried: 0 if they are all equal, or there are none. ``shapes``
    are both shapes if these differ. ``remark`` is the reason why a difference was allowed. ``kind`` is "output" for a
    model, or "resize" if only that was compared.
    """

    kind: str = "output"
    name: str
    largest: float
    absolute: float
    relative: float = field(init=False)
    limit: float
    span: float
    shapes: tuple[tuple[int, ...], ...] = ()
    remark: str = ""

    def __post_init__(self) -> None:
        relative = self.absolute / self.largest if self.largest else self.absolute
        object.__setattr__(self, "relative", relative)  # the dataclass is frozen

    @property
    def passes(self) -> bool:
        """Whether the difference is within the limit; NaN is not."""
        return self.absolute <= self.limit

    @property
    def is_conclusive(self) -> bool:
        """Whether another output would have differed: not if the range of its values is within the limit."""
        return self.span > self.limit

    @property
    def verdict(self) -> str:
        """The verdict in a word: ``equal``, ``INCONCLUSIVE`` or ``DIFFERS``."""
        return ("equal" if self.is_conclusive else "INCONCLUSIVE") if self.passes else "DIFFERS"

    @property
    def apart(self) -> str:
        """The difference of both, as in ``differs by 0.3``."""
        if self.shapes:
            return f"has shape {list(self.shapes[1])}, not {list(self.shapes[0])}"
        return f"differs by {self.absolute:.3g}"

    @property
    def difference(self) -> str:
        """The difference as text, as in ``differs by 0.3 (tolerance 0.0001)``."""
        return self.apart if self.shapes else f"{self.apart} (tolerance {self.limit:.3g})"

    @property
    def doubt(self) -> str:
        """Remarks: why a difference was allowed, and that these inputs prove nothing if they do not."""
        nothing = f"INCONCLUSIVE: its values span {self.span:.3g}, try other inputs"
        return "; ".join(filter(None, (self.remark, "" if self.is_conclusive else nothing)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """A likely mistake in the source of a conversion, which its result keeps; ``command`` repairs or explains it."""

    code: str
    severity: str
    where: str
    message: str
    command: str

    def record(self) -> dict[str, str]:
        """Return it as plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class FedImage:
    """An image that a model ran on; ``size`` is the height and width of the input, ``file_size`` that of the file."""

    input: str
    file: str
    size: tuple[int, int]
    file_size: tuple[int, int]

    @property
    def text(self) -> str:
        """The sizes as text: those that differ mean that Pillow resized the image."""
        own, fed = (f"{height}x{width}" for height, width in (self.file_size, self.size))
        return f"at its own size, {own}" if own == fed else f"resized by Pillow (bilinear) from {own} to {fed}"


def fed_lines(images: Sequence[FedImage]) -> list[str]:
    """Return a line for each input and size of images; it names one of them and counts the others."""
    groups: dict[tuple[str, str], list[FedImage]] = {}
    for image in images:
        groups.setdefault((image.input, image.text), []).append(image)
    lines = []
    for (name, sizes), alike in groups.items():
        more = f" and {describe.count(len(alike) - 1, 'more image')}" if len(alike) > 1 else ""
        lines.append(f"input {name!r}: {alike[0].file}{more}, {sizes}")
    return lines


class LevelsRecord(TypedDict):
    """Counts of levels in JSON."""

    grade: str
    count: int
    flipped: int
    flipped_by_source: int | None
    runtime: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """How many values of a quantised model lie one level from those of its source, each segment on the same values.

    ``flipped_by_source`` is that count between the integer and float kernels of the source's own ``runtime``; None if
    it cannot run in both ways.
    """

    count: int
    flipped: int
    flipped_by_source: int | None
    runtime: str

    @property
    def grade(self) -> str:
        """The accuracy of the levels as text."""
        return "exact but for flipped levels" if self.flipped else "exact levels"

    @property
    def text(self) -> str:
        """The counts as text, as in ``61 of 180,000 values one level apart, OpenVINO itself 74``."""
        own = "" if self.flipped_by_source is None else f", {self.runtime} itself {self.flipped_by_source:,}"
        return f"{self.flipped:,} of {self.count:,} values one level apart{own}"

    @property
    def verdict(self) -> str:
        """The grade and the counts, in one line."""
        return f"{self.grade}: {self.text}"

    def record(self) -> LevelsRecord:
        """Return it as plain values, for JSON."""
        return {
            "grade": self.grade,
            "count": self.count,
            "flipped": self.flipped,
            "flipped_by_source": self.flipped_by_source,
            "runtime": self.runtime,
        }

    def __add__(self, other: Levels) -> Levels:
        """Return the sum of both counts, on other inputs."""
        both = (self.flipped_by_source, other.flipped_by_source)
        flipped = None if None in both else sum(filter(None, both))
        count = self.count + other.count
        return replace(self, count=count, flipped=self.flipped + other.flipped, flipped_by_source=flipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The comparisons and their remarks; ``alone`` are resizes that were also run on large tensors.

    ``levels`` counts those of a quantised model. ``shapes`` are the shapes of the inputs that both models ran on, by
    name; ``more_shapes`` those at other extents. ``images`` are those among the inputs.
    """

    images: tuple[FedImage, ...] = ()
    outputs: tuple[Compared, ...] = ()
    alone: tuple[Compared, ...] = ()
    levels: Levels | None = None
    note: str = ""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    more_shapes: tuple[Mapping[str, tuple[int, ...]], ...] = ()

    @property
    def summary(self) -> str:
        """How many outputs are within the tolerance, and how many of these prove nothing, in one line."""
        doubtful = sum(not output.is_conclusive for output in self.outputs)
        more = f", {doubtful} of them INCONCLUSIVE" if doubtful else ""
        return f"{describe.count(len(self.outputs), 'output')} compared and within the tolerance{more}"

    @property
    def is_conclusive(self) -> bool:
        """Whether every output would have shown a difference."""
        return all(output.is_conclusive for output in self.outputs)


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
        shape = ", ".join("?" if length is None else str(length) for length in self.initial_shape)
        kept = f"output {self.output!r}" if self.output else "nothing changes it"
        if self.initial is None:
            at_first = f"at first computed, where {self.first!r} is true"
            return f"state {self.variable!r}: input {self.input!r}, {kept}; {at_first}"
        values = "zeros" if not any(self.initial) else self.initial[0] if len(self.initial) == 1 else "its own values"
        return f"state {self.variable!r}: input {self.input!r}, {kept}; at first [{shape}] of {values}"


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


class VerificationRecord(TypedDict):
    """A verification in JSON; shapes by input."""

    images: list[FedImage]
    outputs: list[Compared]
    alone: list[Compared]
    levels: LevelsRecord | None
    note: str
    shapes: dict[str, list[int]]
    more_shapes: list[dict[str, list[int]]]


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
    likely ones of the source, which the result keeps. ``notes`` are on parts of the source without an effect.
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
        grades = ", ".join(f"{times} {grade}" for grade, times in Counter(row.exactness for row in self.rows).items())
        proof = self.verification.summary if self.verification else "not verified"
        return f"{describe.count(len(self.rows), 'resize')}{grades and f', {grades}'}; {proof}"

    def __repr__(self) -> str:
        return notebook.line("ConversionReport", f"{self.source.name} to {self.destination.name}, {self.summary}")

    def _repr_html_(self) -> str:
        """Return tables for notebooks: a row for each resize, and one for each output that was compared."""
        rows = ((row.name, row.configuration, row.form, row.exactness) for row in self.rows)
        title = f"{self.source.name} to {self.destination.name}: {self.summary}"
        resizes = notebook.columns(title, ("resize", "was", "became", "grade"), rows)
        if self.verification is None:
            return resizes
        compared = ((each.name, each.verdict, each.difference) for each in self.verification.outputs)
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
            "findings": [cast(Mistake, each.record()) for each in self.mistakes],
            "notes": list(self.notes),
            "states": [cast(State, each.record()) for each in self.states],
            "operations": {"before": self.before, "after": self.after},
            "verification": _verification_record(self.verification),
        }


def _verification_record(verification: Verification | None) -> VerificationRecord | None:
    if verification is None:
        return None
    plain = asdict(verification) | {"levels": verification.levels.record() if verification.levels else None}
    return cast(VerificationRecord, plain)


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
