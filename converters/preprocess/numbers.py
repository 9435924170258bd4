"""Numbers of a graph that are written as in Python: operators become nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..onnx import operators
from ..onnx.graph import Graph


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A tensor of a graph, of an element type by its NumPy name."""

    graph: Graph
    name: str
    dtype: str

    def __add__(self, other: Any) -> Number:
        return self._with("Add", other)

    def __sub__(self, other: Any) -> Number:
        return self._with("Sub", other)

    def __mul__(self, other: Any) -> Number:
        return self._with("Mul", other)

    def __truediv__(self, other: Any) -> Number:
        return self._with("Div", other)

    def __radd__(self, other: Any) -> Number:
        return self.of(other)._with("Add", self)

    def __rsub__(self, other: Any) -> Number:
        return self.of(other)._with("Sub", self)

    def __rmul__(self, other: Any) -> Number:
        return self.of(other)._with("Mul", self)

    def __rtruediv__(self, other: Any) -> Number:
        return self.of(other)._with("Div", self)

    def __lt__(self, other: Any) -> Number:
        return self._to("bool", "Less", self.of(other))

    def __gt__(self, other: Any) -> Number:
        return self.of(other) < self

    def __eq__(self, other: Any) -> Number:  # type: ignore[override]
        return self._to("bool", "Equal", self.of(other))

    def __and__(self, other: Number) -> Number:
        return self._with("And", other)

    def __invert__(self) -> Number:
        return self._with("Not")

    def of(self, value: Any) -> Number:
        """Return a constant of the same type; a number stays."""
        if isinstance(value, Number):
            return value
        return Number(self.graph, self.graph.constant(np.asarray(value, self.dtype)), self.dtype)

    def least(self, other: Any) -> Number:
        """Return the smaller of two."""
        return self._with("Min", other)

    def most(self, other: Any) -> Number:
        """Return the larger of two."""
        return self._with("Max", other)

    def floor(self) -> Number:
        """Return it rounded down."""
        return self._with("Floor")

    def nearest(self) -> Number:
        """Return it rounded half to even."""
        return self._with("Round")

    def size(self) -> Number:
        """Return it without its sign."""
        return self._with("Abs")

    def where(self, yes: Any, no: Any) -> Number:
        """Return ``yes`` where this holds, else ``no``; one of them is a number."""
        kind = yes if isinstance(yes, Number) else no
        name = self.graph.node("Where", self.name, kind.of(yes).name, kind.of(no).name)
        return Number(self.graph, name, kind.dtype)

    def cast(self, dtype: str) -> Number:
        """Return it in another type."""
        return Number(self.graph, operators.cast(self.graph, self.name, dtype), dtype)

    def up_to(self) -> Number:
        """Return the float64 numbers from 0 to below this, a whole number of one entry."""
        scalar, zero, one = self.graph.node("Squeeze", self.name), self.of(0), self.of(1)
        return Number(self.graph, self.graph.node("Range", zero.name, scalar, one.name), self.dtype).cast("float64")

    def column(self) -> Number:
        """Return a vector as a column."""
        return Number(self.graph, operators.unsqueeze(self.graph, self.name, (1,)), self.dtype)

    def take(self, indices: Any, axis: int) -> Number:
        """Return the entries of an axis at ``indices``, whole numbers or a number of the graph."""
        at = indices.name if isinstance(indices, Number) else self.graph.constant(np.asarray(indices, np.int64))
        return Number(self.graph, self.graph.node("Gather", self.name, at, axis=axis), self.dtype)

    def total(self, axis: int) -> Number:
        """Return the sum along an axis, added from the first to the last, kept as one entry."""
        sums = self.graph.node("CumSum", self.name, self.graph.constant(np.int64(axis)))
        return Number(self.graph, sums, self.dtype).take([-1], axis)

    def times(self, other: Number) -> Number:
        """Return the matrix product."""
        return self._with("MatMul", other)

    def transposed(self, *order: int) -> Number:
        """Return it with its axes in another order."""
        return Number(self.graph, operators.transposed(self.graph, self.name, order), self.dtype)

    def _with(self, kind: str, *others: Any) -> Number:
        return self._to(self.dtype, kind, *map(self.of, others))

    def _to(self, dtype: str, kind: str, *others: Number) -> Number:
        return Number(self.graph, self.graph.node(kind, self.name, *(each.name for each in others)), dtype)
