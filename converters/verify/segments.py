"""Models compared segment by segment: each between two tensors that both have, on the source's own values.

A deep model enlarges last bits, until outputs of two runtimes, or of one runtime in two ways, are far apart, and no
bound can be derived. One segment of a few layers enlarges little. So the result gets the source's values wherever both
have a tensor, and its values at the next such tensor may differ as outputs of any model may; or as the source's own do
if its values are off by as much as float32 sums are. The last part finds where two models begin to differ.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import VerificationError
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array

from ..reports import Compared, Verification
from . import tolerances
from .graphs import Graph, ResizeTensors, Step, resizes_with_tensors
from .model_outputs import SegmentError, compare_aligned, moved, moved_inputs, noise
from .processes import Runner
from .run_request import Named
from .tolerances import all_pass, allowing_noise, compare, compare_all, coordinate_error

Values = dict[str, Array]

# More tensors make shorter segments, in which last bits grow less. But each is an output of the model, held in memory,
# and keeps a runtime from fusing the layers around it, so that another graph would be verified than the one in use.
_COUNTS = (128, 32, 8, 0)
"""Numbers of tensors at which segments begin; the next one if so many take too much memory."""

# In these a last bit decides about an order, or an integer: a layer behind would differ by any amount.
_DECIDES = re.compile(
    r"topk|nonmaxsuppression|arg(max|min)|greater(orequal|equal)?|less(orequal|equal)?|(not)?equal"
    r"|floor|ceil(ing)?|round|cast|convert|sign|nonzero|bucketize"
)


def common(first: Graph, second: Graph) -> list[str]:
    """Return the tensors that steps of both models produce, as far as names show, in the order of the first."""
    inputs = {tensor.name for tensor in first.inputs}
    outputs = [name for step in first.steps for name in step.outputs if name and name not in inputs]
    return [name for name in dict.fromkeys(outputs) if name in second.names]


def verified(run: Runner, source: Path, result: Path) -> Verification:
    """Compare two models segment by segment. Raises SegmentError that names the first segment that differs."""
    graph = run.models.read(source)
    names, decisive = common(graph, run.models.read(result)), _decisive(graph)
    decisive |= {name for step in _long_sums(graph) for name in (step.inputs[0], *step.outputs)}
    for count in _COUNTS:
        try:
            return _Segments.between(run, source, result, _spaced(names, count, decisive)).verified()
        except _TooMuchError:
            continue
    raise VerificationError(f"{result.name} does not run again")


# Sums without weights, such as means of images. Their n terms may be alike, as in the flat area that a letterbox pads:
# then float32 rounds each partial sum in the same direction, and is off by far more than the root of n last bits.

_MEANS = frozenset(("globalaveragepool", "reducemean", "reducesum"))
_FEW_TERMS = 2**10  # even if all roundings of so many add up, they are less than the tolerance of outputs


def _long_sums(graph: Graph) -> Iterator[Step]:
    """Yield the steps of a model that add many elements, or a number that its shapes do not show."""
    for step in graph.steps:
        if step.type in _MEANS:
            sizes = graph.shape(step.inputs[0]) or ()
            if not sizes or None in sizes or math.prod(size or 1 for size in sizes) >= _FEW_TERMS:
                yield step


def _sum_error(graph: Graph, step: Step, x: Array, end: Array) -> float:
    """Return how far right sums of ``x`` in float32 may be from ``end``, the source's own.

    Both are off from the sum in float64: ``end`` as it is, another runtime's as the terms are if added sequentially.
    """
    axes = _summed(graph, step, x.ndim)
    if axes is None or x.dtype != np.float32:
        return 0.0
    terms = np.moveaxis(x, axes, range(-len(axes), 0)).reshape(-1, math.prod(x.shape[axis] for axis in axes))
    count = 1 if step.type == "reducesum" else terms.shape[1]
    exact = terms.sum(axis=1, dtype=np.float64) / count
    if exact.size != end.size:
        return 0.0
    sequential = np.array([np.cumsum(row)[-1] for row in terms], np.float64) / count
    own = float(np.abs(end.ravel() - exact).max(initial=0.0))
    return own + float(np.abs(sequential - exact).max(initial=0.0))


def _summed(graph: Graph, step: Step, rank: int) -> tuple[int, ...] | None:
    """Return the axes that a step adds; None if they are unknown, or none."""
    if step.type == "globalaveragepool":
        return tuple(range(2, rank)) or None
    given = step.attributes.get("axes")
    if given is None and len(step.inputs) > 1 and step.inputs[1]:
        given = graph.value(step.inputs[1])
        if given is None:
            return None
    axes = range(rank) if given is None else np.ravel(given).tolist()
    return tuple(sorted({int(axis) % rank for axis in axes})) or None if rank else None


class _TooMuchError(Exception):
    """One of the models does not run with so many tensors shown or replaced."""


def _decisive(graph: Graph) -> frozenset[str]:
    """Return the tensors in whose values a last bit may decide about an order, a choice or an integer."""
    return frozenset(name for step in graph.steps if _DECIDES.fullmatch(step.type) for name in step.inputs)


def _spaced(names: Sequence[str], count: int, decisive: Container[str]) -> Sequence[str]:
    """Return names at equal distances, ``count`` at most, and all decisive ones; none if ``count`` is 0."""
    if not count:
        return []
    distance = math.ceil(len(names) / count)
    return [name for place, name in enumerate(names) if not place % distance or name in decisive]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """How both models compare where segments end: at tensors inside, by name, and at their outputs."""

    inside: dict[str, Compared]
    outputs: tuple[Compared, ...]

    @property
    def passes(self) -> bool:
        return all_pass((*self.inside.values(), *self.outputs))

    def widened(self, moves: _Ends) -> _Ends:
        """Return the comparisons with the limits that follow from the moved values of the source."""
        return _Ends(
            inside={name: _widened(array, moves.inside[name]) for name, array in self.inside.items()},
            outputs=tuple(_widened(*pair) for pair in zip(self.outputs, moves.outputs, strict=True)),
        )

    def with_sums(self, errors: Mapping[str, float], names: Sequence[str]) -> _Ends:
        """Return the comparisons with the limits that follow from the errors of long sums; outputs have ``names``."""
        return _Ends(
            inside={name: _allowed(array, errors.get(name, 0.0)) for name, array in self.inside.items()},
            outputs=tuple(_allowed(end, errors.get(name, 0.0)) for end, name in zip(self.outputs, names, strict=True)),
        )

    def with_noise(self, moves: _Ends) -> _Ends:
        """Return the comparisons that also allow the noise of values that cancel in the source."""
        return _Ends(
            inside={name: _with_noise(array, moves.inside[name]) for name, array in self.inside.items()},
            outputs=tuple(_with_noise(*pair) for pair in zip(self.outputs, moves.outputs, strict=True)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segments:
    """The source's outputs, and its ``values`` of the tensors at which segments begin and end, in order."""

    run: Runner
    source: Path
    result: Path
    graph: Graph
    expected: Named
    values: Values

    @classmethod
    def between(cls, run: Runner, source: Path, result: Path, names: Sequence[str]) -> _Segments:
        """Return the segments between ``names``, as far as the result has tensors of these shapes, too."""
        (expected, values), (_, others) = _run(run, source, names), _run(run, result, names)
        values = {name: values[name] for name in names if name in values and name in others}
        # A name with another shape means another tensor.
        values = {
            name: value
            for name, value in values.items()
            if value.dtype.kind == "f" and value.shape == others[name].shape
        }
        return cls(
            run=run, source=source, result=result, graph=run.models.read(source), expected=expected, values=values
        )

    def verified(self) -> Verification:
        """Compare every segment, then those between tensors that did not differ.

        A name may be that of another tensor in the result, before a layer that was merged; then the segment behind it
        passes. An error of the result differs once more, at the next tensor that both have.
        """
        ends = self._compared(self.values)
        left_out = {name: compared for name, compared in ends.inside.items() if not compared.passes}
        if left_out:
            ends = self._compared({name: array for name, array in self.values.items() if name not in left_out})
        inside = [(name in left_out, left_out.get(name) or ends.inside[name]) for name in self.values]
        _check([*inside, *((False, output) for output in ends.outputs)])
        worst = max((comparison.relative for comparison in ends.inside.values()), default=0.0)
        return Verification(
            outputs=ends.outputs,
            note=f"{len(ends.inside) + 1} segments, each on the source's own values, differ by up to {worst:.2g}",
        )

    def _compared(self, values: Values) -> _Ends:
        """Return how the result's ends compare, given the source's values; limits follow the source's own moves."""
        ends = self._ends(self.result, values, values).with_sums(self._sum_errors(values), self.graph.outputs)
        if ends.passes:
            return ends
        values_moved = moved(values, self.graph)
        ends = ends.widened(self._ends(self.source, values, values_moved))
        if ends.passes:
            return ends
        moving = replace(self.run, arrays=moved_inputs(self.run.arrays, self.graph))
        share = noise(self.graph)
        return ends.with_noise(self._ends(self.source, values, values_moved, moving, noise=share))

    def _sum_errors(self, values: Values) -> dict[str, float]:
        """Return how far long sums may be off, by the names of their results, of which all terms are known."""
        inputs = values | dict(self.run.arrays)
        results = dict(zip(self.graph.outputs, (array for _, array in self.expected), strict=True)) | values
        return {
            name: _sum_error(self.graph, step, inputs[step.inputs[0]], results[name])
            for step in _long_sums(self.graph)
            for name in step.outputs[:1]
            if step.inputs[0] in inputs and name in results
        }

    def _ends(
        self, model: Path, values: Values, replacements: Values, run: Runner | None = None, **options: Any
    ) -> _Ends:
        """Return how the ends of a model's segments compare with the source's values, given replacements of these."""
        outputs, others = _run(run or self.run, model, list(values), replacements=replacements, **options)
        inside = {name: _inside(name, array, others[name]) for name, array in values.items()}
        return _Ends(inside=inside, outputs=compare_aligned(self.expected, outputs, self.graph))


def _run(run: Runner, model: Path, names: Sequence[str], **options: Any) -> tuple[Named, Values]:
    try:
        return run(model, names, **options)
    except VerificationError as problem:
        raise _TooMuchError from problem


def _check(ends: Sequence[tuple[bool, Compared]]) -> None:
    """Raise SegmentError if a segment differs: from the end of the one before to its own.

    Each pair begins with a flag for tensors that were left out; these end no segment. But if the next tensor differs
    too, the first of them is where the difference began.
    """
    start, began = "the inputs", None
    for was_left_out, compared in ends:
        if was_left_out:
            began = began or compared
        elif compared.passes:
            start, began = repr(compared.name), None
        else:
            begin = began or compared
            problem = f"the segment from {start} to {begin.name!r} is the first that differs on the source's own values"
            raise SegmentError(f"{problem}: it {begin.difference}")


def _inside(name: str, expected: Array, actual: Array) -> Compared:
    """Return how an inner tensor compares, however small its values are: a later layer may enlarge them."""
    return compare(name, expected, actual, least=coordinate_error(expected))


def _allowed(comparison: Compared, error: float) -> Compared:
    return replace(comparison, limit=max(comparison.limit, error)) if math.isfinite(error) else comparison


def _widened(comparison: Compared, moves: Compared) -> Compared:
    """Return a comparison that allows as much as the source's own value moves, if that is still conclusive."""
    if not moves.absolute >= 0 or moves.shapes:  # NaN
        return comparison
    most = tolerances.HALF_OUTPUT * comparison.largest
    return replace(comparison, limit=max(comparison.limit, min(moves.absolute, most)))


def _with_noise(output: Compared, moves: Compared) -> Compared:
    return output if moves.shapes else allowing_noise(output, moves.absolute)


_PROBES = 16  # tensors that are compared in one run
_MOST_INNOCENT = 8  # differing tensors that change no output, before the search is given up


@dataclass(frozen=True, slots=True, kw_only=True)
class Located(Record):
    """A resize, and how its data and its output compare between two models; None if they are unavailable in one."""

    KEYS = ("name", "where", "data.absolute as data", "output.absolute as output", "output.passes as equal")

    name: str
    where: str
    data: Compared | None
    output: Compared | None

    @property
    def differs(self) -> bool:
        """Whether both models show its output, and the outputs differ."""
        return self.output is not None and not self.output.passes

    @property
    def is_fed_otherwise(self) -> bool:
        """Whether its data differ already."""
        return self.data is not None and not self.data.passes

    @property
    def text(self) -> tuple[str, str]:
        """How its data and its output compare, as text."""
        return _text(self.data), _text(self.output)


def _text(compared: Compared | None) -> str:
    if compared is None:
        return "not visible in both"
    return compared.difference if not compared.passes else f"equal within {compared.absolute:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLayer:
    """The first common tensor of both models that differs and matters to the outputs; see ``first_layer``."""

    name: str
    compared: Compared
    resize: str = ""

    @property
    def text(self) -> str:
        """The tensor in one line, with the resize that computes it, if one does."""
        is_named = self.resize in ("", self.name)
        name = repr(self.name) if is_named else f"{self.name!r}, the output of the resize {self.resize!r}"
        return f"the first layer that differs is {name}: it {self.compared.difference}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """A resize, and the names of its data and its output in either model."""

    op: ResizeOp
    data: tuple[str, str]
    output: tuple[str, str]


def resizes(run: Runner, first: Path, second: Path, tolerance: float | None = None) -> list[Located]:
    """Return how each resize compares between two models: its data and its output, as far as either model has them."""
    pairs = _pairs(resizes_with_tensors(first), resizes_with_tensors(second))
    mine, theirs = _shown(run, first, pairs, 0), _shown(run, second, pairs, 1)
    return _located(pairs, mine, theirs, tolerance)


def resizes_on_the_same_data(run: Runner, first: Path, second: Path, tolerance: float | None = None) -> list[Located]:
    """Return how each resize compares if the second model's gets the first's data, as far as both show these.

    Raises VerificationError if the second model does not run so, such as for data of another shape.
    """
    pairs = _pairs(resizes_with_tensors(first), resizes_with_tensors(second))
    mine, inputs = _shown(run, first, pairs, 0), {tensor.name for tensor in run.models.read(second).inputs}
    fed = {
        theirs: mine[name] for name, theirs in (pair.data for pair in pairs) if theirs not in inputs and name in mine
    }
    theirs = _shown(run, second, pairs, 1, fed) | fed
    return _located(pairs, mine, theirs, tolerance)


def _shown(run: Runner, model: Path, pairs: Sequence[_Pair], side: int, replacements: Values | None = None) -> Values:
    """Return the data and outputs of resizes that a model shows."""
    names = (name for pair in pairs for name in (pair.data[side], pair.output[side]) if name)
    return run(model, list(dict.fromkeys(names)), replacements=replacements)[1]


def _located(pairs: Sequence[_Pair], mine: Values, theirs: Values, tolerance: float | None) -> list[Located]:
    """Return how resizes compare; where values cancel, an output may be off by the last bits of the data."""

    def compared(first: str, second: str, least: float) -> Compared | None:
        is_shown = first in mine and second in theirs
        return compare(first, mine[first], theirs[second], tolerance, least=least) if is_shown else None

    located = []
    for pair in pairs:
        least = coordinate_error(mine[pair.data[0]]) if pair.data[0] in mine else 0.0
        data, output = compared(*pair.data, 0.0), compared(*pair.output, least)
        located.append(Located(name=pair.op.name, where=pair.op.where, data=data, output=output))
    return located


def _pairs(mine: Sequence[ResizeTensors], theirs: Sequence[ResizeTensors]) -> list[_Pair]:
    """Return one resize with its partner: of the same output, else at the same place if both have as many.

    Without a partner, because it became other operations, its tensors' names are searched in the other model.
    """
    # A conversion keeps the names of outputs, but it may write a resize as other operations.
    by_output = {resize.output: resize for resize in theirs}
    in_order = list(theirs) if len(mine) == len(theirs) else []
    pairs = []
    for place, one in enumerate(mine or theirs):
        other = by_output.get(one.output) or (in_order[place] if in_order else one)
        data = one.inputs.get("data", ""), other.inputs.get("data", "")
        pairs.append(_Pair(op=one.op, data=data, output=(one.output, other.output)))
    return pairs


def cause(run: Runner, source: Path, result: Path, *, layers: bool = True) -> str:
    """Return where a result begins to differ: a resize with the same data, else with ``layers`` any layer."""
    first = next((located for located in resizes(run, source, result) if located.differs), None)
    if first is not None and first.output is not None and not first.is_fed_otherwise:
        return f"; the first resize that differs is {first.name!r}: it {first.output.difference}"
    layer = first_layer(run, source, result) if layers else None
    if layer is not None:
        return f"; {layer.text}"
    nothing = "; no resize or layer visible in both models differs, so the difference arises elsewhere"
    return nothing if layers else ""


def first_layer(run: Runner, first: Path, second: Path, tolerance: float | None = None) -> FirstLayer | None:
    """Return the first tensor that differs between two models, in the order in which the first produces them.

    A name may mean another tensor in the other model, for example if a following operation was merged. So a tensor
    counts only if the second model's outputs change when it gets the first's values instead.
    """
    names = common(run.models.read(first), run.models.read(second))
    outputs = run(second)[0]
    for _ in range(_MOST_INNOCENT):
        difference = _first(run, names, first, second, tolerance)
        if difference is None:
            break
        comparison, values = difference
        if _matters(run, second, outputs, comparison.name, values):
            resize_of = {resize.output: resize.op.name for resize in resizes_with_tensors(first)}
            return FirstLayer(name=comparison.name, compared=comparison, resize=resize_of.get(comparison.name) or "")
        names = names[names.index(comparison.name) + 1 :]
    return None


def _first(
    run: Runner, names: Sequence[str], first: Path, second: Path, tolerance: float | None
) -> tuple[Compared, Array] | None:
    """Return how the first differing tensor compares, with the first model's values of it; None if none differs.

    It narrows an interval: each run compares tensors at equal distances, and the next run those between the first
    that differs and the one before.
    """
    start, end = 0, len(names)
    difference = None
    while start < end:
        step = -(-(end - start) // _PROBES)  # rounded up
        places = [min(place, end) - 1 for place in range(start + step, end + step, step)]
        probes = [names[place] for place in places]
        (_, mine), (_, theirs) = run(first, probes), run(second, probes)
        compared = {
            place: compare(name, mine[name], theirs[name], tolerance)
            for place, name in zip(places, probes, strict=True)
            if name in mine and name in theirs and mine[name].dtype.kind == theirs[name].dtype.kind
        }
        differing = next((place for place, compared in compared.items() if not compared.passes), None)
        if differing is None:
            break
        difference = compared[differing], mine[names[differing]]
        start, end = max([start, *(place + 1 for place in places if place < differing)]), differing
    return difference


def _matters(run: Runner, second: Path, outputs: Named, name: str, values: Array) -> bool:
    try:
        corrected = run(second, replacements={name: values})[0]
    except VerificationError:  # of another shape: later nodes cannot take it
        return True
    return name in dict(outputs) or not all_pass(compare_all(outputs, corrected))
