"""Records of a conversion and its verification, which a program reads.

First a result against its source: differences of outputs, levels of quantised models, and the images that both ran on.
Then the report of a conversion: a row for each resize, its mistakes, states and verification.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from ir_interp import plain_text, resize_op
from ir_interp.options.model_options import Form as Form, StateForm as StateForm
from ir_interp.options.shared_options import Progress as Progress, silent as silent
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape
from ir_interp.translation.translate import Grade, Translation


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Record):
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
        # Outputs of zeros have no relative difference, so the absolute one stands for it.
        relative = self.absolute / self.largest if self.largest else self.absolute
        object.__setattr__(self, "relative", relative)  # the dataclass is frozen

    @property
    def passes(self) -> bool:
        """Whether the difference is within the limit; NaN is not."""
        return self.absolute <= self.limit

    @property
    def is_conclusive(self) -> bool:
        """Whether another output would have differed: not if the range of its values is within the limit."""
        # If all values lie within the limit of each other, any wrong one would pass, too.
        return self.span > self.limit

    @property
    def verdict(self) -> str:
        """The verdict in a word: ``equal``, ``INCONCLUSIVE`` or ``DIFFERS``."""
        return ("equal" if self.is_conclusive else "INCONCLUSIVE") if self.passes else "DIFFERS"

    def undecided(self, reason: str) -> Compared:
        """Return it as INCONCLUSIVE for a reason; unchanged if there is none."""
        # An infinite limit passes, and no span exceeds it: the output is INCONCLUSIVE.
        return replace(self, limit=math.inf, remark=reason) if reason else self

    @property
    def apart(self) -> str:
        """The difference of both, as in ``differs by 0.3``."""
        if self.shapes:
            return f"has shape {list(self.shapes[1])}, not {list(self.shapes[0])}"
        if math.isnan(self.absolute):
            return "is NaN in one model only"
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
class FedImage(Record):
    """An image that a model ran on; ``size`` is the height and width of the input, ``file_size`` that of the file."""

    input: str
    file: str
    size: tuple[int, int]
    file_size: tuple[int, int]

    @property
    def text(self) -> str:
        """The sizes as text: those that differ mean that Pillow resized the image."""
        file_size, fed = (f"{height}x{width}" for height, width in (self.file_size, self.size))
        return (
            f"at its own size, {file_size}"
            if file_size == fed
            else f"resized by Pillow (bilinear) from {file_size} to {fed}"
        )


def fed_lines(images: Sequence[FedImage]) -> list[str]:
    """Return a line for each input and size of images; it names one of them and counts the others."""
    groups: dict[tuple[str, str], list[FedImage]] = {}
    for image in images:
        groups.setdefault((image.input, image.text), []).append(image)
    lines = []
    for (name, sizes), alike in groups.items():
        more = f" and {resize_op.count(len(alike) - 1, 'more image')}" if len(alike) > 1 else ""
        lines.append(f"input {name!r}: {alike[0].file}{more}, {sizes}")
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels(Record):
    """How many values of a quantised model lie one level from those of its source, each segment on the same values.

    ``flipped_by_source`` is that count between the integer and float kernels of the source's own ``runtime``; None if
    it cannot run in both ways.
    """

    KEYS = ("grade", "count", "flipped", "flipped_by_source", "runtime")

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
        by_source = "" if self.flipped_by_source is None else f", {self.runtime} itself {self.flipped_by_source:,}"
        return f"{self.flipped:,} of {self.count:,} values one level apart{by_source}"

    @property
    def verdict(self) -> str:
        """The grade and the counts, in one line."""
        return f"{self.grade}: {self.text}"

    def __add__(self, other: Levels) -> Levels:
        """Return the sum of both counts, on other inputs."""
        both = (self.flipped_by_source, other.flipped_by_source)
        # A count that one of the runs lacks makes the sum unknown, not smaller.
        flipped = None if None in both else sum(filter(None, both))
        count = self.count + other.count
        return replace(self, count=count, flipped=self.flipped + other.flipped, flipped_by_source=flipped)


class Agreement(Enum):
    """How the outputs of a plain call compare with those of the source, on all inputs tried."""

    EQUAL = "equal"
    HERE = "equal on this processor"
    DIFFERS = "DIFFERS"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainOutput(Record):
    """An output of a plain call; ``level`` is the distance of two of its levels, None if it has none."""

    KEYS = (
        "compared.name",
        "compared.passes as equal",
        "compared.absolute",
        "compared.relative",
        "levels",
        "compared.limit",
    )

    compared: Compared
    level: float | None = None

    @property
    def levels(self) -> float | None:
        """The difference in levels."""
        return self.compared.absolute / self.level if self.level and not self.compared.shapes else None

    @property
    def rank(self) -> tuple[bool, float]:
        """A number that grows with the difference; outputs that do not pass come last."""
        return not self.compared.passes, math.inf if math.isnan(self.compared.relative) else self.compared.relative

    @property
    def text(self) -> str:
        """The difference as text, as in ``output 'y' differs by 8, 32 levels``."""
        levels = "" if self.levels is None else f", {self.levels:.3g} levels"
        limit = "" if self.compared.shapes else f" (last bits explain {self.compared.limit:.3g})"
        return f"output {self.compared.name!r} {self.compared.apart}{levels}{limit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCall(Record):
    """A quantised model as users call it, by the default settings of its runtime, against the source of the proof.

    The proof sums 8-bit products exactly. By default, sums may saturate, depending on the ``processor``, and OpenVINO
    rounds more often. Without ``outputs``, the model does not run, and ``problem`` is the reason. ``elsewhere`` bounds
    the difference on other processors, and is empty if sums cannot saturate. With the ``setting``, the call computes
    what the proof did.
    """

    KEYS = ("model", "runtime", "processor", "agreement as verdict", "outputs", "elsewhere", "setting", "problem")

    model: str
    runtime: str
    processor: str
    outputs: tuple[PlainOutput, ...] = ()
    elsewhere: str = ""
    setting: str
    problem: str = ""

    @property
    def agreement(self) -> Agreement:
        """How its outputs compare with those of the source."""
        compared = [output.compared for output in self.outputs]
        if not all(output.passes for output in compared):
            return Agreement.DIFFERS
        if self.problem or not all(output.is_conclusive for output in compared):
            return Agreement.UNKNOWN
        return Agreement.HERE if self.elsewhere else Agreement.EQUAL

    @property
    def text(self) -> str:
        """The verdict in one line."""
        worst = max(self.outputs, key=lambda output: output.rank, default=None)
        found = self.problem or (worst.text if worst else "it has no outputs")
        elsewhere = f"on other processors it may differ {self.elsewhere}" if self.elsewhere else ""
        is_equal = self.agreement is Agreement.EQUAL
        advice = "" if is_equal else f"to compute what was proven, {self.setting}"
        call = f"{self.model} by the default settings of {self.runtime} on this processor ({self.processor})"
        return "; ".join(filter(None, (f"{call}: {self.agreement.value}: {found}", elsewhere, advice)))


def differing(calls: Iterable[PlainCall]) -> str:
    """Return that plain calls differ, as the end of a summary; empty if none does."""
    names = [f"{call.model} DIFFERS by default settings" for call in calls if call.agreement is Agreement.DIFFERS]
    return f", but {', '.join(names)}" if names else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Record):
    """The comparisons and their remarks; ``alone`` are resizes that were also run on large tensors.

    ``levels`` counts those of a quantised model. ``shapes`` are the shapes of the inputs that both models ran on, by
    name; ``more_shapes`` those at other extents. ``images`` are those among the inputs, and ``extremes`` the patterns
    of extreme inputs of a quantised model, of which ``calls`` are the plain calls.
    """

    images: tuple[FedImage, ...] = ()
    outputs: tuple[Compared, ...] = ()
    alone: tuple[Compared, ...] = ()
    levels: Levels | None = None
    note: str = ""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    more_shapes: tuple[Mapping[str, tuple[int, ...]], ...] = ()
    extremes: tuple[str, ...] = ()
    calls: tuple[PlainCall, ...] = ()

    @property
    def summary(self) -> str:
        """How many outputs are within the tolerance, and how many of these prove nothing, in one line."""
        doubtful = sum(not output.is_conclusive for output in self.outputs)
        more = f", {doubtful} of them INCONCLUSIVE" if doubtful else ""
        compared = f"{resize_op.count(len(self.outputs), 'output')} compared and within the tolerance{more}"
        return compared + differing(self.calls)

    @property
    def is_conclusive(self) -> bool:
        """Whether every output would have shown a difference."""
        return all(output.is_conclusive for output in self.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Record):
    """One translated resize: before, after, its grade, and notes; see ``Translation``."""

    KEYS = ("name", "source.where", "configuration", "form", "exactness as grade", "note")

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
        return resize_op.summary(self.source.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The rows of the written resizes, and notes on parts of the source without an effect."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake(Record):
    """A likely mistake in the source of a conversion, which its result keeps; ``command`` repairs or explains it.

    Of severity ``note`` it is no mistake, but a resize that releases of its runtime read differently.
    """

    code: str
    severity: str
    where: str
    message: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Record):
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
    initial: tuple[bool | int | float, ...] | None
    first: str | None = None

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations(Record):
    """Operations of both models by type, the most frequent first; None for files without a model."""

    before: dict[str, int] | None = None
    after: dict[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConversionReport(Record):
    """The files of a conversion, its resizes, and how far its outputs differ, if that was verified.

    ``mistakes`` are likely ones of the source, which the result keeps, and readings that depend on the release.
    ``notes`` are on parts of the source without an effect.
    """

    KEYS = (
        "source",
        "destination",
        "rows as resizes",
        "mistakes as findings",
        "notes",
        "states",
        "operations",
        "verification",
    )

    source: Path
    destination: Path
    rows: tuple[Row, ...]
    mistakes: tuple[Mistake, ...] = ()
    verification: Verification | None = None
    operations: Operations = Operations()
    states: tuple[State, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The resizes by grade, and the verification, in one line."""
        # Equal grades are counted: a detector has dozens of resizes of one kind.
        grades = ", ".join(f"{times} {grade}" for grade, times in Counter(row.exactness for row in self.rows).items())
        proof = self.verification.summary if self.verification else "not verified"
        return f"{resize_op.count(len(self.rows), 'resize')}{grades and f', {grades}'}; {proof}"

    @property
    def differs_by_default(self) -> bool:
        """Whether a quantised model differs by the default settings of its runtime."""
        return self.verification is not None and bool(differing(self.verification.calls))

    def __repr__(self) -> str:
        return plain_text.notebook_line(
            "ConversionReport", f"{self.source.name} to {self.destination.name}, {self.summary}"
        )

    def _repr_html_(self) -> str:
        """Return tables for notebooks: a row for each resize, and one for each output that was compared."""
        rows = ((row.name, row.configuration, row.form, row.exactness) for row in self.rows)
        title = f"{self.source.name} to {self.destination.name}: {self.summary}"
        resizes = plain_text.notebook_columns(title, ("resize", "was", "became", "grade"), rows)
        if self.verification is None:
            return resizes
        compared = ((output.name, output.verdict, output.difference) for output in self.verification.outputs)
        return resizes + plain_text.notebook_columns("Verification", ("output", "verdict", "difference"), compared)


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
