"""The quantisations of a model, and the ends of the segments between them.

Quantisations are by scales in the file, or computed at run time. A level may flip within the distance by which the
source's own executions differ before it rounds. Ends of segments are compared in groups.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import VerificationError
from ir_interp.shapes import Array, Shape

from ..onnx import low_precision as in_levels
from ..reports import Compared
from . import model_outputs, tolerances
from .graphs import Graph, Step, Value
from .model_outputs import SegmentError, moved, moved_inputs, noise
from .processes import Runner
from .run_request import Named
from .tolerances import absolute_differences, all_pass, allowing_noise, coordinate_error, largest_difference, pieces

Values = Mapping[str, Array]

_STEPS = 255  # between the levels of the smallest and the largest value, if run time computes the scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantisation:
    """A tensor that is rounded to levels: before, after, and the edges between levels at start + (n + 1/2) step.

    ``level`` is the distance of two levels afterwards, and ``low`` the lowest. ``integers`` is the tensor of level
    numbers, if there is one, and ``last`` the number of the last level, counted from ``start``.
    """

    before: str
    after: str
    integers: str = ""
    start: Array
    step: Array
    level: Array
    low: Array
    last: float = np.inf

    def part(self, shape: Shape, piece: tuple[slice, ...]) -> Quantisation:
        """Return the same for a piece of a tensor of ``shape``."""
        start, step, level, low = (
            np.broadcast_to(array, shape)[piece] for array in (self.start, self.step, self.level, self.low)
        )
        return replace(self, start=start, step=step, level=level, low=low)

    @property
    def has_channels(self) -> bool:
        """Whether its scale differs by channel."""
        return self.level.size > 1

    def names_of_integers(self) -> dict[str, Array]:
        """Return names of integers that a result may have in place of the rounded tensor, and the value of 0."""
        return {in_levels.levels_name(self.after): np.zeros(()), in_levels.counted_name(self.after): self.low}

    def numbers(self, values: Array) -> Array:
        """Return the numbers of the levels to which values are rounded, counted from ``start``."""
        return np.clip(np.rint(self._places(values)), 0, self.last)

    def count_apart(self, values: Array, others: Array) -> int:
        """Return how many values are rounded to another level than ``others``."""
        parts = ((self.part(values.shape, piece), piece) for piece in pieces(values.shape))
        return sum(int((end.numbers(values[piece]) != end.numbers(others[piece])).sum()) for end, piece in parts)

    def on_levels(self, rounded: Array) -> Array:
        """Return values before rounding that lie on the levels of rounded ones, furthest from any edge."""
        values = np.empty(rounded.shape, np.float32)
        for piece in pieces(rounded.shape):
            end = self.part(rounded.shape, piece)
            numbers = np.rint((rounded[piece].astype(np.float64) - end.low) / end.level)
            values[piece] = end.start + numbers * end.step
        return values

    def distance(self, values: Array) -> NDArray[np.float64]:
        """Return the distance of values from the nearest edge between two levels."""
        places = self._places(values) - 0.5
        return np.asarray(np.abs(places - np.round(places)) * np.abs(self.step))

    def rounding(self, values: Array) -> NDArray[np.float64]:
        """Return how far two runtimes' float32 arithmetic may misplace values among the levels."""
        return np.asarray(tolerances.QUANTISING * (np.abs(values.astype(np.float64)) + np.abs(self.start)))

    def _places(self, values: Array) -> Array:
        return (values.astype(np.float64) - self.start) / self.step


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicQuantisation:
    """A DynamicQuantizeLinear, which computes its own scale, by its tensors: before, levels, their scale, and zero.

    An IR has the same tensors, computed by about twenty layers.
    """

    before: str
    levels: str
    scale: str
    zero: str

    @property
    def outputs(self) -> tuple[str, str]:
        """The tensors by which a result is compared; an IR in half precision has another scale."""
        return self.levels, self.zero

    def fixed(self, source: Values) -> Quantisation:
        """Return the quantisation of the source's own values, its levels as in ``numbers``."""
        step, zero = np.asarray(self._step(source)), np.zeros(())
        return Quantisation(before=self.before, after=self.levels, start=zero, step=step, level=step, low=zero)

    def _step(self, source: Values) -> float:
        """Return the distance of two levels of the source: zero is one, as are the smallest and the largest."""
        x = source[self.before].astype(np.float64)
        return float((x.max(initial=0) - x.min(initial=0)) / _STEPS) or 1.0

    def rescaling(self, source: Values) -> float:
        """Return how far a scale misplaces the last level that is the range times 1/255 in half precision."""
        return _STEPS * self._step(source) * abs(float(np.float16(1 / _STEPS)) * _STEPS - 1)

    def scale_apart(self, source: Values, result: Values) -> float:
        """Return the difference between the scales that both models compute; 0 if one hides it, or all values are 0."""
        if self.scale not in source.keys() & result.keys() or not source[self.before].any():
            return 0.0
        return abs(float(result[self.scale]) - float(source[self.scale]))

    def has_other_scale(self, source: Values, result: Values) -> bool:
        """Return whether the scales differ by more than outputs may, so that the values must explain it."""
        apart = self.scale_apart(source, result)
        return not apart <= tolerances.OUTPUT * abs(float(source[self.scale]) if apart else 0.0)

    def numbers(self, values: Values, source: Values) -> Array:
        """Return the values of levels at the source's scale, less the zero point, since it may tie as well."""
        integers = values[self.levels].astype(np.float64) - values[self.zero].astype(np.float64)
        return np.asarray(integers * self._step(source), np.float32)


def dynamic_quantisations(source: Graph, result: Graph) -> list[DynamicQuantisation]:
    """Return the quantisations by a scale of run time, as the one of two models that is ONNX has them."""
    nodes = [step for graph in (source, result) for step in graph.steps if step.type == "dynamicquantizelinear"]
    quantisations = {}
    for node in nodes:
        levels, scale, zero = node.outputs
        quantisations[levels] = DynamicQuantisation(before=node.inputs[0], levels=levels, scale=scale, zero=zero)
    return list(quantisations.values())


def stored_quantisations(graph: Graph) -> list[Quantisation]:
    """Return the quantisations of a model by scales in its file, in file order; weights are not among them."""
    variable = {tensor.name for tensor in graph.inputs}
    makers: dict[str, Step] = {}
    known = []
    for step in graph.steps:
        if variable & set(step.inputs):
            variable |= set(step.outputs)
            makers |= dict.fromkeys(step.outputs, step)
            if step.type == "fakequantize":
                known.append(_fake(graph, step))
            if step.type == "dequantizelinear" and step.inputs[0] in makers:
                known.append(_pair(graph, makers[step.inputs[0]], step))
    return [quantisation for quantisation in known if quantisation is not None]


def _pair(graph: Graph, first: Step, second: Step) -> Quantisation | None:
    """Return the joint effect of QuantizeLinear and DequantizeLinear."""
    if first.type != "quantizelinear":
        return None
    steps = [_along(graph, step) for step in (first, second)]
    if steps[0] is None or steps[1] is None:
        return None
    return Quantisation(
        before=first.inputs[0],
        integers=first.outputs[0],
        after=second.outputs[0],
        start=np.zeros(()),
        step=steps[0],
        level=steps[1],
        low=np.zeros(()),
    )


def _along(graph: Graph, step: Step) -> Value:
    """Return the scale of a quantisation as it lies along its data; None if unknown, or in blocks."""
    scale, shape = graph.value(step.inputs[1]), graph.shape(step.inputs[0])
    if scale is None or scale.size == 1:
        return None if scale is None else scale.reshape(()).astype(np.float64)
    if shape is None or scale.ndim != 1:
        return None
    axis = int(step.attributes.get("axis", 1)) % len(shape)
    return scale.astype(np.float64).reshape([-1 if place == axis else 1 for place in range(len(shape))])


def _fake(graph: Graph, step: Step) -> Quantisation | None:
    """Return the effect of a FakeQuantize."""
    bounds = [graph.value(name) for name in step.inputs[1:5]]
    low, high, out_low, out_high = (None if bound is None else bound.astype(np.float64) for bound in bounds)
    if low is None or high is None or out_low is None or out_high is None:
        return None
    count = int(step.attributes["levels"]) - 1
    return Quantisation(
        before=step.inputs[0],
        after=step.outputs[0],
        start=low,
        step=(high - low) / count,
        level=(out_high - out_low) / count,
        low=out_low,
        last=count,
    )


# How far a source's own executions differ before it rounds to levels: within that distance, a level may flip.
#
# All executions begin each segment with the same values. One is the source on values moved by as much as float32 sums
# are off, another the same IR in float32 if the file is in half precision. Integer kernels are a third, which is only
# counted: where no level is zero, OpenVINO's are off by more than any correct result.

_RESIZES = frozenset(("resize", "upsample", "interpolate", "gridsample"))  # they find coordinates at run time


@dataclass(frozen=True, slots=True, kw_only=True)
class Folding:
    """How far a source in half precision and the same in float32 differ on the same values.

    ``apart`` is by the name of the tensor before it is rounded, in its own units; ``outputs`` by place.
    """

    apart: Mapping[str, float] = field(default_factory=dict)
    outputs: tuple[float, ...] = ()


def folding(run: Runner, source: Path, befores: Sequence[str], starts: Values) -> Folding:
    """Return the difference between a source in half precision and the same IR in float32, segment by segment.

    ``befores`` are tensors before they are rounded, ``starts`` the values with which segments begin.
    """
    if not model_outputs.is_in_half(source):
        return Folding()
    expected, plain = run(source, befores, replacements=starts, optimised=False)
    actual, others = run(model_outputs.ir_in_float32(source, run.folder), befores, replacements=starts, optimised=False)
    apart = {name: largest_difference(plain[name], others[name]) for name in plain.keys() & others.keys()}
    pairs = zip(expected, actual, strict=True)
    return Folding(apart=apart, outputs=tuple(largest_difference(mine, theirs) for (_, mine), (_, theirs) in pairs))


def flipped_by_kernels(
    run: Runner, source: Path, ends: Sequence[Quantisation], starts: Sequence[Quantisation], values: Values
) -> int | None:
    """Return how many levels differ between the integer and the float kernels of the source's runtime.

    Values enter before they are rounded, since layers multiply in integers only behind a quantisation. None if
    the runtime cannot run in both ways.
    """
    in_openvino = run.models.in_openvino(source)
    # onnxruntime multiplies integers only if no float between them is shown
    names = [end.before if in_openvino else end.integers for end in ends]
    on_levels = {end.after: end.on_levels(values[end.after]) for end in starts}
    try:
        _, plain = run(source, names, replacements=on_levels, rounds_given=True, optimised=False)
        _, others = run(source, names, replacements=on_levels, rounds_given=True, by_default=True)
    except VerificationError:
        return None
    flipped = 0
    for end, name in zip(ends, names, strict=True):
        if name in plain.keys() & others.keys():
            apart = end.count_apart if in_openvino else _count_different
            flipped += apart(plain[name], others[name])
    return flipped


def _count_different(values: Array, others: Array) -> int:
    return int(np.count_nonzero(values != others))


def sums(run: Runner, model: Path, befores: Sequence[str], values: Values, starts: Values) -> dict[str, float]:
    """Return how far float32 sums may move tensors of a model before they are rounded.

    ``starts`` are the values with which segments begin, ``values`` the results of the model.
    """
    graph = run.models.read(model)
    others_run = replace(run, arrays=moved_inputs(run.arrays, graph))
    _, others = others_run(model, befores, replacements=moved(starts, graph), optimised=False)
    resizes = any(step.type in _RESIZES for step in graph.steps)
    return {
        name: largest_difference(values[name], others[name]) + _last_bits(values[name], resizes=resizes)
        for name in befores
        if name in others.keys() & values.keys()
    }


def within_noise(
    run: Runner,
    model: Path,
    expected: Named,
    actual: Sequence[Array],
    comparisons: Sequence[Compared],
    starts: Values | None = None,
) -> tuple[Compared, ...]:
    """Return comparisons that allow as much as ``model`` is unsure of its own outputs, if one differs without that.

    ``expected`` are the outputs of ``model`` on the inputs of ``run``, in the order of the comparisons, and ``actual``
    those that they were compared with; ``starts`` the values of inner tensors with which they were computed.
    """
    if all_pass(comparisons):
        return tuple(comparisons)
    graph = run.models.read(model)
    others_run = replace(run, arrays=moved_inputs(run.arrays, graph))
    try:
        others, _ = others_run(model, replacements=moved(starts or {}, graph), noise=noise(graph))
    except VerificationError:
        return tuple(comparisons)
    outputs = zip(comparisons, expected, actual, others, strict=True)
    return tuple(_allowing(end, mine, theirs, other) for end, (_, mine), theirs, (_, other) in outputs)


def _allowing(comparison: Compared, mine: Array, theirs: Array, moved_ones: Array) -> Compared:
    """Return a comparison that allows what a model's own output moves to on moved values."""
    if comparison.shapes or mine.shape != moved_ones.shape:
        return comparison
    moves = largest_difference(mine, moved_ones)
    if mine.dtype.kind not in "iu" or theirs.dtype.kind not in "iu":
        return allowing_noise(comparison, moves)
    # Floats were rounded to integers: last bits decide at few of them, and by as much as in the source.
    count, own_count = (int(np.count_nonzero(mine != other)) for other in (theirs, moved_ones))
    if comparison.passes or comparison.absolute > moves or count > tolerances.NOISE * own_count:
        return comparison
    remark = f"last bits decide {count} of {mine.size} integers, in the source itself {own_count}"
    return replace(comparison, limit=comparison.absolute, remark="; ".join(filter(None, (comparison.remark, remark))))


def _last_bits(values: Array, *, resizes: bool) -> float:
    """Return the effect of the last bit of the largest value, and of coordinates if a model resizes."""
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    coordinates = coordinate_error(values) if resizes else 0.0
    return largest * float(np.finfo(np.float32).eps) + coordinates


# Ends of the segments of a model that rounds to levels, in groups, and how both models compare there.


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The quantisations at which segments end.

    ``fixed`` are those of the source whose scales are in its file, ``dynamic`` those with scales computed at run
    time, and ``elsewhere`` those of the result alone.
    """

    fixed: Sequence[Quantisation] = ()
    dynamic: Sequence[DynamicQuantisation] = ()
    elsewhere: Sequence[Quantisation] = ()

    @classmethod
    def of(cls, source: Graph, result: Graph) -> Ends:
        """Return all ends of a source and its result."""
        fixed = stored_quantisations(source)
        names = {end.after for end in fixed}
        elsewhere = [end for end in stored_quantisations(result) if end.after not in names]
        return cls(fixed=fixed, dynamic=dynamic_quantisations(source, result), elsewhere=elsewhere)

    @property
    def tensors(self) -> list[str]:
        """The tensors that the source is to show."""
        names = [*(end.after for end in self.fixed), *(end.before for end in self.fixed)]
        names += [end.after for end in self.elsewhere]
        return names + [name for end in self.dynamic for name in (end.before, end.scale, *end.outputs)]

    @property
    def befores(self) -> list[str]:
        """The tensors before the source rounds them."""
        return [*(end.before for end in self.fixed), *(end.before for end in self.dynamic)]

    def shown_in(self, values: Values) -> Ends:
        """Return the ends without those that depend on a tensor that is hidden in the source."""
        return Ends(
            fixed=self.fixed,
            dynamic=[end for end in self.dynamic if values.keys() >= {end.before, *end.outputs}],
            elsewhere=[end for end in self.elsewhere if end.after in values],
        )

    @property
    def _afters(self) -> list[str]:
        names = [quantisation.after for quantisation in (*self.fixed, *self.elsewhere)]
        return names + [name for end in self.dynamic for name in (end.scale, *end.outputs)]

    def _integers(self, values: Values) -> Iterator[tuple[str, Quantisation, Array]]:
        """Yield names of integers that the result may have if scales differ by channel, and the value of 0."""
        for end in self.fixed:
            if end.has_channels and end.after in values:
                yield from ((name, end, zero) for name, zero in end.names_of_integers().items())

    def tensors_of_result(self, values: Values) -> list[str]:
        """Return the tensors that the result is to show."""
        names = [name for name, _, _ in self._integers(values)]
        return [*self._afters, *names, *(end.before for end in self.elsewhere)]

    def starts_in_source(self, graph: Graph, ends: Iterable[str], values: Values) -> list[Quantisation]:
        """Return the quantisations with whose ``values`` the segments begin that lead to ``ends`` in the source."""
        known = {end.after: end for end in self.fixed if end.after in values}
        return [known[name] for name in graph.starts(ends, known.keys())]

    def levels_in_source(self, graph: Graph, ends: Iterable[str], values: Values) -> dict[str, Array]:
        """Return the ``values`` of levels, and the scales of run time, from which the source computes ``ends``."""
        known = {end.after for end in self.fixed}
        known |= {name for end in self.dynamic for name in (end.scale, *end.outputs)}
        return {name: values[name] for name in graph.starts(ends, known & values.keys())}

    def replacements(self, graph: Graph, ends: Iterable[str], values: Values) -> dict[str, Array]:
        """Return the source's values with which the segments begin that lead to ``ends`` in the result."""
        integers = {name: (end, zero) for name, end, zero in self._integers(values)}
        names = graph.starts(ends, {name for name in self._afters if name in values} | integers.keys())
        replacements = {name: values[name] for name in names if name not in integers}
        for name in names & integers.keys():
            end, zero = integers[name]
            replacements[name] = np.rint((values[end.after] - zero) / end.level).astype(np.float32)
        return replacements

    def __add__(self, others: Ends) -> Ends:
        return Ends(
            fixed=[*self.fixed, *others.fixed],
            dynamic=[*self.dynamic, *others.dynamic],
            elsewhere=[*self.elsewhere, *others.elsewhere],
        )

    def groups(self, graph: Graph, sizes: Mapping[str, int], most: float) -> Iterator[Ends]:
        """Yield the ends in groups, in the order of the source's ``graph``; model outputs end in the last.

        The tensors of a group have ``most`` elements together, by ``sizes``, unless a single segment has more.
        """
        names = {end.after for end in (*self.fixed, *self.elsewhere)} | {end.levels for end in self.dynamic}
        group, size, between = set[str](), 0, 0
        for step in graph.steps:
            between += sum(sizes.get(name, 0) for name in step.outputs)
            ended = names.intersection(step.outputs)
            if ended:
                if group and size + between > most:
                    yield self._among(group)
                    names, group, size = names - group, set(), 0
                group, size, between = group | ended, size + between, 0
        if group and size + between > most:
            yield self._among(group)
            names = names - group
        yield self._among(names)

    def _among(self, names: Container[str]) -> Ends:
        return Ends(
            fixed=[end for end in self.fixed if end.after in names],
            dynamic=[end for end in self.dynamic if end.levels in names],
            elsewhere=[end for end in self.elsewhere if end.after in names],
        )

    def segments(self, values: Values, others: Values, reach: Mapping[str, float]) -> Iterator[Segment]:
        """Yield the segments whose ends both models show: ``values`` in the source, ``others`` in the result."""
        integers = [entry for entry in self._integers(values) if entry[0] in others]
        others = {end.after: others[name] * end.level + zero for name, end, zero in integers} | dict(others)
        yield from _segments(self.fixed, values, others, before=values, reach=reach)
        for dynamic in self.dynamic:
            if others.keys() >= {*dynamic.outputs}:
                check_scale(dynamic, values, others, reach.get(dynamic.before, 0.0))
                expected, actual = ({dynamic.levels: dynamic.numbers(tensors, values)} for tensors in (values, others))
                # By another scale, the level of the largest value lies elsewhere by this much.
                shift = _STEPS * dynamic.scale_apart(values, others)
                scaled = {dynamic.before: reach.get(dynamic.before, 0.0) + shift}
                yield from _segments([dynamic.fixed(values)], expected, actual, before=values, reach=scaled)
        yield from _segments(self.elsewhere, values, others, before=others, reach=reach)


def _segments(
    ends: Sequence[Quantisation], values: Values, others: Values, *, before: Values, reach: Mapping[str, float]
) -> Iterator[Segment]:
    for end in ends:
        if end.after in values.keys() & others.keys() and end.before in before:
            arrays = {"expected": values[end.after], "actual": others[end.after], "before": before[end.before]}
            yield Segment(end=end, **arrays, reach=reach.get(end.before, 0.0))


def check_scale(dynamic: DynamicQuantisation, values: Values, others: Values, reach: float = 0.0) -> None:
    """Raise SegmentError if a result computes a scale that the values before it do not explain.

    In the source itself, both ends of their range may be off by ``reach``, which explains no more than any segment may
    differ. If all are 0, any scale is right.
    """
    if not dynamic.has_other_scale(values, others):
        return
    limit = min(2 * reach / _STEPS, tolerances.HALF_OUTPUT * abs(float(values[dynamic.scale])))
    if not dynamic.scale_apart(values, others) <= limit:
        expected, actual = float(values[dynamic.scale]), float(others[dynamic.scale])
        where = f"the segment that ends with the quantisation {dynamic.levels!r} is the first that differs"
        sure = f", of which the source is sure to within {limit:.2g}" if limit else ""
        raise SegmentError(f"{where}: its scale is {actual:.6g}, in the source {expected:.6g}{sure}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Values in both models where a segment ends with a quantisation, and those ``before`` they are rounded.

    ``reach`` is the distance from an edge between two levels within which the source's own executions differ.
    """

    end: Quantisation
    expected: Array
    actual: Array
    before: Array
    reach: float

    def compared(self) -> ComparedEnd:
        """Return how many values differ by a level. Raises SegmentError if one does without reason.

        Levels may lie so close that float32 rounding of the values before is worth several.
        """
        where = f"the segment that ends with the quantisation {self.end.after!r}"
        if self.expected.shape != self.actual.shape:
            raise SegmentError(
                f"{where} has shape {list(self.actual.shape)}, in the source {list(self.expected.shape)}"
            )
        flips = [self._part(piece)._flips() for piece in pieces(self.expected.shape)]
        wrong = sum(flip.wrong for flip in flips)
        if wrong:
            apart, nearest = (max(getattr(flip, name) for flip in flips) for name in ("apart", "nearest"))
            reach = float(self.reach / np.abs(self.end.step).min())
            counts = f"{wrong} of {self.expected.size} values, by up to {apart:.3g} levels"
            edge = f"up to {nearest:.2g} levels from an edge, where the source is sure to within {reach:.2g}"
            raise SegmentError(f"{where} is the first that differs: {counts}, {edge}")
        return ComparedEnd(
            name=self.end.after,
            level=float(np.abs(self.end.level).max()),
            size=self.expected.size,
            flipped=sum(flip.count for flip in flips),
        )

    def _part(self, piece: tuple[slice, ...]) -> Segment:
        arrays = {name: getattr(self, name)[piece] for name in ("expected", "actual", "before")}
        return replace(self, end=self.end.part(self.expected.shape, piece), **arrays)

    def _flips(self) -> _Flips:
        if np.array_equal(self.expected, self.actual):
            return _Flips()
        apart, level = absolute_differences(self.expected, self.actual), np.abs(self.end.level)
        off = ~(apart <= level * tolerances.LEVEL)
        if not off.any():
            return _Flips()
        reach = self.reach + self.end.rounding(self.before)
        is_one_level = apart <= level * (1 + tolerances.LEVEL + reach / np.abs(self.end.step))
        distance = self.end.distance(self.before)
        wrong = off & ~(is_one_level & (distance <= reach))
        return _Flips(
            count=int(off.sum()),
            wrong=int(wrong.sum()),
            apart=float((apart / level)[wrong].max(initial=0.0)),
            nearest=float((distance / np.abs(self.end.step))[wrong].max(initial=0.0)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedEnd:
    """The tensor where a segment ends, its largest level, the number of its values and that of its flipped levels."""

    name: str
    level: float
    size: int
    flipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flips:
    """The number of values that differ by a level, and of those that differ without reason.

    The latter are up to ``apart`` levels apart, and up to ``nearest`` levels from an edge.
    """

    count: int = 0
    wrong: int = 0
    apart: float = 0.0
    nearest: float = 0.0
