"""Primitive operations in ONNX that OpenVINO's CPU plugin computes as exactly as onnxruntime does.

What the plugin does otherwise, and why these nodes keep it from that, stands in ``openvino_ops``, which builds the
same in OpenVINO's own operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from converters.ir_to_onnx.primitives import Primitives


@dataclass(frozen=True, slots=True)
class PrimitivesForOpenVINO(Primitives):
    """Adds nodes to a graph that OpenVINO's frontend is to read."""

    def elementwise(self, name: str, *values: str) -> str:
        """Return an operation on each element; no divisor is a constant, and Abs is not used."""
        if name == "abs":
            return self.graph.node("Max", values[0], self.graph.node("Neg", values[0]))
        if name == "divide":
            dividend, divisor = values
            values = dividend, self.graph.node("Add", divisor, self.convert(self._nothing(dividend), "float32"))
        return Primitives.elementwise(self, name, *values)

    def gather(self, x: str, indices: str, axis: int) -> str:
        """Return the entries of an axis at ``indices``, which may be none."""
        known = self.graph.initialisers.get(indices)
        if known is not None and not known.size:
            return self.graph.node("Slice", x, *(self.graph.ints([number]) for number in (0, 0, axis)))
        return Primitives.gather(self, x, indices, axis)

    def precisely(self, vector: str) -> str:
        """Return the same vector, each quotient that it was made of rounded as IEEE 754 says."""
        shape = self.graph.node("Add", self.lengths(vector), self._nothing(vector))
        return self.graph.node("Expand", vector, shape)

    def _nothing(self, x: str) -> str:
        """Return a 0 that only running the model shows, made of a number or a vector: half of one, cut off."""
        largest = self.graph.node("ReduceMax", x, keepdims=0)
        positive = self.graph.node("Less", self.constant(np.float32(0)), largest)
        return self.graph.node("Div", self.convert(positive, "int64"), self.constant(np.int64(2)))
