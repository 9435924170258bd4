"""Formulas written for NumPy, as nodes of a graph: numbers that remember, and the functions they are used with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ir_interp.plan.axes.coordinates import Numbers

from ..runtimes.openvino_sizes import LargestGather
from .exact import Double

Value = Any
"""A tensor of the graph that is being built, in whatever type its builder has for one."""


class Ops(Protocol):
    """The primitive operations that a resize is made of; one class for each kind of graph.

    ``elementwise`` takes the names of ``ELEMENTWISE``, of which ``positive`` is the number itself: a product that is
    rounded before anything is added to it. Axes count from the first.
    """

    def constant(self, array: Any) -> Value:
        """Return a constant tensor."""

    def elementwise(self, name: str, *values: Value) -> Value:
        """Return an operation on each element, operands broadcast as in NumPy."""

    def convert(self, x: Value, dtype: str) -> Value:
        """Return ``x`` in another element type, by its NumPy name."""

    def gather(self, x: Value, indices: Value, axis: int) -> Value:
        """Return the entries of ``axis`` at ``indices`` (int64, any rank)."""

    def matmul(self, left: Value, right: Value) -> Value:
        """Return the matrix product over the last two axes."""

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """Return ``x`` with its axes in another order."""

    def unsqueeze(self, x: Value, axes: Sequence[int]) -> Value:
        """Return ``x`` with axes of length 1 at ``axes`` of the result."""

    def total(self, x: Value, axis: int, *, keep: bool) -> Value:
        """Return the sum along an axis."""

    def running_total(self, x: Value) -> Value:
        """Return the sum of each row, its float32 numbers added one after the other, as a column."""

    def range(self, start: Value, stop: Value) -> Value:
        """Return the whole numbers from ``start`` up to ``stop``, which is left out; float32 scalars both."""

    def lengths(self, x: Value) -> Value:
        """Return the shape of ``x``, int64."""

    def pad(self, x: Value, begin: Sequence[int], end: Sequence[int]) -> Value:
        """Return ``x`` with zeros around it."""

    def precisely(self, vector: Value) -> Value:
        """Return the same vector, each quotient that it was made of rounded as IEEE 754 says."""

    def cut(self, x: Value, at: Value) -> tuple[Value, Value]:
        """Return the entries of the first axis before ``at`` (int64, shape [1]), and the others."""

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Return tensors joined along an axis."""

    def reshape(self, x: Value, lengths: Value) -> Value:
        """Return ``x`` in another shape, of which -1 stands for what is left."""

    def broadcast(self, x: Value, lengths: Value) -> Value:
        """Return ``x`` repeated where its lengths are 1, as in NumPy."""

    def gather_elements(self, x: Value, indices: Value, axis: int) -> Value:
        """Return for each of ``indices`` (int64, of the rank of ``x``) the entry of ``axis`` at it."""

    @property
    def largest_gather(self) -> LargestGather:
        """Return how many elements ``gather`` may take from, or give."""


ELEMENTWISE = (
    *("add", "subtract", "multiply", "divide", "minimum", "maximum", "floor", "ceil", "abs", "round"),
    *("less", "less_equal", "equal", "and", "or", "select", "positive"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Symbol:
    """A float32 number or array of a graph; ``truth`` marks a condition."""

    ops: Ops
    value: Value
    truth: bool = False

    def __add__(self, other: Any) -> Symbol:
        return self._join("add", self, other)

    def __radd__(self, other: Any) -> Symbol:
        return self._join("add", other, self)

    def __sub__(self, other: Any) -> Symbol:
        return self._join("subtract", self, other)

    def __rsub__(self, other: Any) -> Symbol:
        return self._join("subtract", other, self)

    def __mul__(self, other: Any) -> Symbol:
        return self._join("multiply", self, other)

    def __rmul__(self, other: Any) -> Symbol:
        return self._join("multiply", other, self)

    def __truediv__(self, other: Any) -> Symbol:
        return self._join("divide", self, other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._join("divide", other, self)

    def __lt__(self, other: Any) -> Symbol:
        return self._ask("less", self, other)

    def __le__(self, other: Any) -> Symbol:
        return self._ask("less_equal", self, other)

    def __gt__(self, other: Any) -> Symbol:
        return self._ask("less", other, self)

    def __ge__(self, other: Any) -> Symbol:
        return self._ask("less_equal", other, self)

    def __eq__(self, other: object) -> Symbol:  # type: ignore[override]
        return self._ask("equal", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Symbol) -> Symbol:
        return Symbol(self.ops, self.ops.elementwise("and", self.value, other.value), truth=True)

    def __or__(self, other: Symbol) -> Symbol:
        return Symbol(self.ops, self.ops.elementwise("or", self.value, other.value), truth=True)

    def _join(self, name: str, left: Any, right: Any) -> Symbol:
        return Symbol(self.ops, self.ops.elementwise(name, self._number(left), self._number(right)))

    def _ask(self, name: str, left: Any, right: Any) -> Symbol:
        return Symbol(self.ops, self.ops.elementwise(name, self._number(left), self._number(right)), truth=True)

    def _number(self, other: Any) -> Value:
        """Return the float32 tensor of an operand; a condition counts as 0 or 1, as in NumPy."""
        if not isinstance(other, Symbol):
            return self.ops.constant(np.float32(other))
        return self.ops.convert(other.value, "float32") if other.truth else other.value


@dataclass(frozen=True, slots=True)
class Functions:
    """Those of NumPy's functions that the formulas of a resize call, on symbols."""

    ops: Ops

    def symbol(self, number: Any) -> Symbol:
        """Return a number as a symbol; a symbol as it is."""
        return number if isinstance(number, Symbol) else Symbol(self.ops, self.ops.constant(np.float32(number)))

    def floor(self, x: Symbol) -> Symbol:
        """Return the largest whole numbers that are not above ``x``."""
        return Symbol(self.ops, self.ops.elementwise("floor", x.value))

    def ceil(self, x: Symbol) -> Symbol:
        """Return the smallest whole numbers that are not below ``x``."""
        return Symbol(self.ops, self.ops.elementwise("ceil", x.value))

    def abs(self, x: Symbol) -> Symbol:
        """Return absolute values."""
        return Symbol(self.ops, self.ops.elementwise("abs", x.value))

    def maximum(self, x: Any, y: Any) -> Symbol:
        """Return the larger of two."""
        return Symbol(self.ops, self.ops.elementwise("maximum", self.symbol(x).value, self.symbol(y).value))

    def minimum(self, x: Any, y: Any) -> Symbol:
        """Return the smaller of two."""
        return Symbol(self.ops, self.ops.elementwise("minimum", self.symbol(x).value, self.symbol(y).value))

    def clip(self, x: Symbol, low: Any, high: Any) -> Symbol:
        """Return ``x`` inside of two bounds."""
        return self.minimum(self.maximum(x, low), high)

    def where(self, condition: Symbol, yes: Any, no: Any) -> Symbol:
        """Return ``yes`` where the condition holds, else ``no``."""
        values = (condition.value, self.symbol(yes).value, self.symbol(no).value)
        return Symbol(self.ops, self.ops.elementwise("select", *values))

    def arange(self, start: Any, stop: Any) -> Symbol:
        """Return whole numbers from ``start`` up to ``stop``, which is left out."""
        return Symbol(self.ops, self.ops.range(self.symbol(start).value, self.symbol(stop).value))

    def expand_dims(self, x: Symbol, axis: int) -> Symbol:
        """Return ``x`` with one more axis, of length 1."""
        return Symbol(self.ops, self.ops.unsqueeze(x.value, (axis,)), truth=x.truth)

    def sum(self, x: Symbol, *, axis: int, keepdims: bool) -> Symbol:
        """Return sums along an axis."""
        return Symbol(self.ops, self.ops.total(x.value, axis, keep=keepdims))

    def positive(self, x: Symbol) -> Symbol:
        """Return the same numbers: products, rounded before anything is added to them."""
        return Symbol(self.ops, self.ops.elementwise("positive", x.value))

    def running_total(self, x: Symbol) -> Symbol:
        """Return the sum of each row, added from the first to the last, as a column."""
        return Symbol(self.ops, self.ops.running_total(x.value))

    def precise(self, vector: Symbol) -> Symbol:
        """Return the same vector, each quotient that it was made of rounded as IEEE 754 says."""
        return Symbol(self.ops, self.ops.precisely(vector.value))

    def widened(self, number: Any) -> Double:
        """Return a number with room for as many digits again."""
        return Double(self.symbol(number), self.symbol(0.0), self)

    def single(self, number: Symbol | Double) -> Symbol:
        """Return the float32 nearest to a number."""
        return number.high + number.low if isinstance(number, Double) else number

    def numbers(self) -> Numbers:
        """Return what the formula of coordinates is computed in: float32, both branches of every choice."""
        return Numbers(
            number=self.symbol,
            wide=self.widened,
            choose=lambda condition, yes, no: self.where(condition, yes(), no()),
        )
