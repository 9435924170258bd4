"""Primitive operations in ONNX for OpenVINO, whose CPU plugin needs the workarounds of ``openvino_primitives`` too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Aspect, Crop, Nearest

from ..decompose.exact import quotient
from ..decompose.tensor import Functions, Tensor
from ..onnx.graph import Graph
from ..onnx.onnx_primitives import Primitives
from ..runtimes.openvino_sizes import LARGEST_GATHER, LargestGather


@dataclass(frozen=True, slots=True)
class PrimitivesForOpenVINO(Primitives):
    """Adds nodes to a graph that OpenVINO's own frontend is to read."""

    def elementwise(self, name: str, *values: str) -> str:
        """Return an elementwise operation; an Abs would be dropped if it is taken for part of a shape."""
        if name == "abs":
            return self.graph.node("Max", values[0], self.graph.node("Neg", values[0]))
        if name == "positive":  # otherwise a sum is fused with the products that it is made of
            return self.graph.node("Min", values[0], self.graph.constant(np.finfo(np.float32).max))
        return Primitives.elementwise(self, name, *values)

    def gather(self, x: str, indices: str, axis: int) -> str:
        """Return the entries of an axis at ``indices``; a Gather of none would divide by their number."""
        known = self.graph.initialisers.get(indices)
        if known is not None and not known.size:
            return self.graph.node("Slice", x, *(self.graph.ints([number]) for number in (0, 0, axis)))
        return Primitives.gather(self, x, indices, axis)

    @property
    def largest_gather(self) -> LargestGather:
        """Return how many elements a Gather of OpenVINO's CPU plugin may take from, or return."""
        return LARGEST_GATHER


@dataclass(frozen=True, slots=True)
class ExactPrimitivesForOpenVINO(PrimitivesForOpenVINO):
    """The same with quotients that are the nearest float32 numbers, each in about forty nodes."""

    def elementwise(self, name: str, *values: str) -> str:
        """Return an elementwise operation."""
        if name == "divide":
            return self._quotient(*values)
        return PrimitivesForOpenVINO.elementwise(self, name, *values)

    def _quotient(self, dividend: str, divisor: str) -> str:
        """Return a quotient; the CPU plugin multiplies by the divisor's reciprocal, which may round otherwise."""
        known = self.graph.initialisers.get(divisor)
        if known is not None and (np.frexp(known)[0] == 0.5).all():  # the reciprocals of powers of 2 are exact
            return Primitives.elementwise(self, "divide", dividend, divisor)
        one = self.graph.constant(np.float32(1))
        inverse = Tensor(self, Primitives.elementwise(self, "divide", one, divisor))
        return str(quotient(Tensor(self, dividend), Tensor(self, divisor), inverse, Functions(self)).value)


def for_openvino(graph: Graph, op: ResizeOp) -> Primitives:
    """Return the operations for a resize: with exact quotients if one may decide which pixel is taken, or a size.

    Weights of a continuous kernel move by no more than their rounding.
    """
    spec = op.spec
    decides = (
        isinstance(spec.kernel, Nearest) or isinstance(spec.coordinates, Crop) or spec.aspect is not Aspect.STRETCH
    )
    if decides or "int" in (op.dtype or ""):
        return ExactPrimitivesForOpenVINO(graph)
    return PrimitivesForOpenVINO(graph)
