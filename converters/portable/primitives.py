"""Primitive operations in ONNX for OpenVINO, whose CPU plugin does not take all that ``openvino_ops`` knows about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..decompose.symbols import Symbol
from ..onnx.primitives import Primitives
from ..runtimes.openvino_sizes import LARGEST_STATIC_GATHER


@dataclass(frozen=True, slots=True)
class PrimitivesForOpenVINO(Primitives):
    """Adds nodes to a graph that OpenVINO's own frontend is to read."""

    def elementwise(self, name: str, *values: str) -> str:
        """Return an operation on each element; an Abs would be dropped where it is taken for part of a shape."""
        if name == "abs":
            return self.graph.node("Max", values[0], self.graph.node("Neg", values[0]))
        if name == "positive":  # else a sum is fused with the products that it is made of
            return self.graph.node("Min", values[0], self.graph.constant(np.finfo(np.float32).max))
        return Primitives.elementwise(self, name, *values)

    def gather(self, x: str, indices: str, axis: int) -> str:
        """Return the entries of an axis at ``indices``; a Gather of none would divide by their number."""
        known = self.graph.initialisers.get(indices)
        if known is not None and not known.size:
            return self.graph.node("Slice", x, *(self.graph.ints([number]) for number in (0, 0, axis)))
        return Primitives.gather(self, x, indices, axis)

    def at_any_size(
        self, given: Sequence[str], elements: float | Symbol, build: Callable[[Primitives], str], rank: int
    ) -> str:
        """Return what ``build`` makes: without a Gather where lengths are dynamic, or too large for one."""
        static = not isinstance(elements, Symbol) and elements <= LARGEST_STATIC_GATHER
        return build(self if static else _PrimitivesOfAnySize(self.graph, rank))


@dataclass(frozen=True, slots=True)
class _PrimitivesOfAnySize(PrimitivesForOpenVINO):
    """Gathers by GatherElements from tensors of ``rank``: half as fast as a Gather, and wrong at no size."""

    rank: int

    def gather(self, x: str, indices: str, axis: int) -> str:
        known, node = self.graph.initialisers.get(indices), self.graph.node
        if known is not None and not known.ndim:
            return PrimitivesForOpenVINO.gather(self, x, indices, axis)
        flat = node("Reshape", indices, self.graph.ints([-1] + [1] * (self.rank - axis - 1)))
        around = node("Shape", x)
        before, after = (self._slice(around, *ends) for ends in ((0, axis), (axis + 1, self.rank)))
        places = node("Expand", flat, node("Concat", before, self._slice(node("Shape", flat), 0, 1), after, axis=0))
        taken = node("GatherElements", x, places, axis=axis)
        return node("Reshape", taken, node("Concat", before, node("Shape", indices), after, axis=0))

    def _slice(self, vector: str, start: int, end: int) -> str:
        return self.graph.node("Slice", vector, self.graph.ints([start]), self.graph.ints([end]))
