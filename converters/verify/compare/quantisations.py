"""The quantisations of a model: by scales in its file, or computed at run time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.shapes import Shape

from ...onnx import levels as in_levels
from ..graphs import Graph, Step, Value
from . import tolerances
from .array_differences import pieces

Values = Mapping[str, Array]


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
        return {in_levels.of(self.after): np.zeros(()), in_levels.counted(self.after): self.low}

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
        return float((x.max(initial=0) - x.min(initial=0)) / 255) or 1.0

    def rescaling(self, source: Values) -> float:
        """Return how far a scale misplaces the last level that is the range times 1/255 in half precision."""
        return 255 * self._step(source) * abs(float(np.float16(1 / 255)) * 255 - 1)

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


def quantisations(graph: Graph) -> list[Quantisation]:
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
