"""Tensors of a graph under construction, with Python's operators and NumPy's functions, each of which adds nodes.

First, float32 arithmetic that rounds as IEEE 754 specifies in a runtime that does not: its errors are found and added
back. It is written for any kind of number that has operators: arrays, or tensors of a graph; ``xp`` holds their
functions. A product that is part of a sum may be fused into it, or not, without changing the result.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NoReturn, Protocol, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike

from ir_interp.plan.formulas import Numbers, centred
from ir_interp.shapes import Number, Operations, Values

from ..runtimes.execution import LargestGather

_HALF_THE_BITS = 4097.0  # 2**12 + 1: half of the 24 bits of a float32


@dataclass(frozen=True, slots=True)
class Double(Generic[Values]):
    """A number as the sum of two float32 numbers, as exact as onnxruntime's float64 (T. J. Dekker, 1971)."""

    high: Values
    low: Values
    xp: Operations[Values]

    def __add__(self, other: Double[Values]) -> Double[Values]:
        # D. E. Knuth's sum: its error is exact, whichever number is larger.
        total = self.high + other.high
        part = total - self.high
        rest = (self.high - (total - part)) + (other.high - part)
        return Double(total, rest + (self.low + other.low), self.xp)

    def __sub__(self, other: Double[Values]) -> Double[Values]:
        return self + Double(other.high * -1.0, other.low * -1.0, self.xp)

    def __truediv__(self, other: Double[Values]) -> Double[Values]:
        """Return the quotient by a number whose low part is 0."""
        quotient = self.high / other.high
        rest = _remainder(self.high, quotient, halves(other.high, self.xp.positive), self.xp)
        # The rest of the division is a second, smaller quotient.
        return Double(quotient, (rest + self.low) / other.high, self.xp)


def quotient(dividend: Values, divisor: Values, inverse: Values, xp: Operations[Values]) -> Values:
    """Return the float32 nearest to a quotient by a positive number, given 1 / divisor to a few last places.

    One correction gives the quotient, or its neighbour where a half lies closer than the error of the correction. The
    remainder, which is exact, decides which of the two is nearer.
    """
    parts = halves(divisor, xp.positive)
    quotient = dividend * inverse
    near = quotient + _remainder(dividend, quotient, parts, xp) * inverse
    left = _remainder(dividend, near, parts, xp)
    other = near + left * (inverse * 2.0)
    half_way = xp.abs((other - near) * 0.5) * divisor  # both exact: neighbours differ by a power of 2
    return xp.where(half_way < xp.abs(left), other, near)


def _remainder(dividend: Values, quotient: Values, divisor: tuple[Values, Values], xp: Operations[Values]) -> Values:
    """Return dividend - quotient * divisor, exact if the quotient is off by less than a last place."""
    (a, b), (c, d) = halves(quotient, xp.positive), divisor
    # From the largest product to the smallest: only in this order is each difference exact.
    return (((dividend - a * c) - a * d) - b * c) - b * d


def halves(x: Number, positive: Callable[[Number], Number]) -> tuple[Number, Number]:
    """Return two numbers of 12 bits each whose sum is ``x``, so that products of them are exact."""
    shifted = positive(x * _HALF_THE_BITS)  # fused into the difference, the product would not be rounded
    high = shifted - (shifted - x)
    return high, x - high


Value = Any
"""A tensor of the graph under construction, in the type of its builder."""


class Ops(Protocol):
    """The primitive operations that make up a resize; one class for each kind of graph.

    ``elementwise`` takes the names of ``ELEMENTWISE``, of which ``positive`` is the number itself: a product that is
    rounded before anything is added to it. Axes count from the first.
    """

    def constant(self, array: Any) -> Value:
        """Return a constant tensor."""

    def elementwise(self, name: str, *values: Value) -> Value:
        """Return an elementwise operation; operands broadcast as in NumPy."""

    def convert(self, x: Value, dtype: str) -> Value:
        """Return ``x`` in another element type, by its NumPy name."""

    def shifted(self, x: Value, bits: int) -> Value:
        """Return numbers of int32, of less than 30 bits, divided by 2**bits and rounded down."""

    def gather(self, x: Value, indices: Value, axis: int) -> Value:
        """Return the entries of ``axis`` at ``indices`` (int64, any rank)."""

    def matmul(self, left: Value, right: Value) -> Value:
        """Return the matrix product over the last two axes."""

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """Return ``x`` with its axes in another order."""

    def unsqueeze(self, x: Value, axes: Sequence[int]) -> Value:
        """Return ``x`` with axes of size 1 at ``axes`` of the result."""

    def total(self, x: Value, axis: int, *, keep: bool) -> Value:
        """Return the sum along an axis."""

    def running_total(self, x: Value) -> Value:
        """Return the sum of each row, its float32 numbers added sequentially, as a column."""

    def range(self, start: Value, stop: Value) -> Value:
        """Return the integers from ``start`` up to, but not including, ``stop``; float32 scalars both."""

    def lengths(self, x: Value) -> Value:
        """Return the shape of ``x``, int64."""

    def pad(self, x: Value, begin: Sequence[int], end: Sequence[int]) -> Value:
        """Return ``x`` with zeros around it."""

    def precisely(self, vector: Value) -> Value:
        """Return the same vector, each quotient in it rounded as IEEE 754 specifies."""

    def cut(self, x: Value, at: Value) -> tuple[Value, Value]:
        """Return the entries of the first axis before ``at`` (int64, shape [1]), and the others."""

    def flag(self, condition: Value) -> Value:
        """Return 1 if a condition (a scalar) holds, else 0, as int64 of shape [1] that only running reveals.

        OpenVINO evaluates whatever a size is computed from in each of its passes: half of the time to compile a model.
        """

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Return tensors joined along an axis."""

    def reshape(self, x: Value, lengths: Value) -> Value:
        """Return ``x`` in another shape, in which -1 stands for the remaining size."""

    def broadcast(self, x: Value, lengths: Value) -> Value:
        """Return ``x`` repeated along axes of size 1, as in NumPy."""

    def gather_elements(self, x: Value, indices: Value, axis: int) -> Value:
        """Return for each of ``indices`` (int64, of the rank of ``x``) the entry of ``axis`` at it."""

    @property
    def largest_gather(self) -> LargestGather:
        """Return how many elements ``gather`` may take from, or return."""


ELEMENTWISE = (
    *("add", "subtract", "multiply", "divide", "minimum", "maximum", "floor", "ceil", "abs", "round"),
    *("negative", "less", "less_equal", "greater", "equal", "and", "or", "not", "select", "positive"),
)

Builder = TypeVar("Builder", bound=Ops, covariant=True)


Operand = Union["Tensor[Any]", ArrayLike, Fraction]
"""What an operator takes beside a tensor: a tensor, or what becomes a constant."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor(Generic[Builder]):
    """A tensor of the graph that ``ops`` builds, of an element type by its NumPy name; conditions are bool.

    Operators and methods add nodes. If one operand is a number or an array, it becomes a constant of the type of
    the other operand; in arithmetic a condition counts as 0 or 1, as in NumPy.
    """

    ops: Builder
    value: Value
    dtype: str = "float32"

    def __add__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("add", self, other)

    def __radd__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("add", other, self)

    def __sub__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("subtract", self, other)

    def __rsub__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("subtract", other, self)

    def __mul__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("multiply", self, other)

    def __rmul__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("multiply", other, self)

    def __truediv__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("divide", other, self)

    def __matmul__(self, other: Tensor[Ops]) -> Tensor[Builder]:
        return self.like(self.ops.matmul(self.value, other.value))

    def __lt__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("less", self, other, "bool")

    def __le__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("less_equal", self, other, "bool")

    def __gt__(self, other: Operand) -> Tensor[Builder]:
        return self._joined("greater", self, other, "bool")

    def __ge__(self, other: Operand) -> Tensor[Builder]:
        # ONNX has GreaterOrEqual since operator set 12 only, as LessOrEqual; one of them is enough.
        return self._joined("less_equal", other, self, "bool")

    def __eq__(self, other: object) -> Tensor[Builder]:  # type: ignore[override]
        return self._joined("equal", self, other, "bool")

    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other: Tensor[Ops] | bool) -> Tensor[Builder]:
        return self._each("and", self.of(other).value)

    def __or__(self, other: Tensor[Ops]) -> Tensor[Builder]:
        return self._each("or", other.value)

    def __invert__(self) -> Tensor[Builder]:
        return self._each("not")

    def __neg__(self) -> Tensor[Builder]:
        return self._each("negative")

    def __abs__(self) -> Tensor[Builder]:
        return self._each("abs")

    def like(self, value: Value, dtype: str = "") -> Tensor[Builder]:
        """Return another tensor of the same graph, of the same element type unless ``dtype`` names one."""
        return type(self)(self.ops, value, dtype or self.dtype)

    def of(self, value: object, dtype: str = "") -> Tensor[Builder]:
        """Return a constant, of the same element type unless ``dtype`` names one; a tensor stays as it is."""
        if isinstance(value, Tensor):
            return value
        return self.like(self.ops.constant(np.asarray(value).astype(dtype or self.dtype)), dtype)

    def minimum(self, other: Operand) -> Tensor[Builder]:
        """Return the elementwise minimum."""
        return self._each("minimum", self.of(other).value)

    def maximum(self, other: Operand) -> Tensor[Builder]:
        """Return the elementwise maximum."""
        return self._each("maximum", self.of(other).value)

    def floor(self) -> Tensor[Builder]:
        """Return the floor."""
        return self._each("floor")

    def ceil(self) -> Tensor[Builder]:
        """Return the ceiling."""
        return self._each("ceil")

    def round(self) -> Tensor[Builder]:
        """Return it rounded half to even."""
        return self._each("round")

    def where(self, yes: Operand, no: Operand) -> Tensor[Builder]:
        """Return ``yes`` where this condition holds, else ``no``; float32 if neither is a tensor."""
        tensors = [choice for choice in (yes, no) if isinstance(choice, Tensor)]
        # Two numbers have no type, and a condition is no type for them.
        kind = tensors[0] if tensors else self.like(None, "float32")
        return kind.like(self.ops.elementwise("select", self.value, kind.of(yes).value, kind.of(no).value))

    def cast(self, dtype: str) -> Tensor[Builder]:
        """Return it in another element type."""
        return self.like(self.ops.convert(self.value, dtype), dtype)

    def take(self, indices: object, axis: int) -> Tensor[Builder]:
        """Return the entries of an axis at ``indices``: int64, an array or a tensor of any rank."""
        return self.like(self.ops.gather(self.value, self.of(indices, "int64").value, axis))

    def transposed(self, *order: int) -> Tensor[Builder]:
        """Return it with its axes in another order."""
        return self.like(self.ops.transpose(self.value, order))

    def unsqueeze(self, *axes: int) -> Tensor[Builder]:
        """Return it with axes of size 1 at ``axes`` of the result."""
        return self.like(self.ops.unsqueeze(self.value, axes))

    def running_total(self) -> Tensor[Builder]:
        """Return the sum of each row, added from the first to the last, as a column."""
        return self.like(self.ops.running_total(self.value))

    def _each(self, name: str, *others: Value) -> Tensor[Builder]:
        return self.like(self.ops.elementwise(name, self.value, *others))

    def _joined(self, name: str, left: object, right: object, dtype: str = "") -> Tensor[Builder]:
        # The first tensor decides: numbers and conditions adapt to it.
        kinds = [operand.dtype for operand in (left, right) if isinstance(operand, Tensor) and operand.dtype != "bool"]
        kind = kinds[0] if kinds else "float32"
        values = [self._number(operand, kind) for operand in (left, right)]
        return self.like(self.ops.elementwise(name, *values), dtype or kind)

    def _number(self, operand: object, dtype: str) -> Value:
        """Return the tensor of an operand of arithmetic."""
        number = self.of(operand, dtype)
        return self.ops.convert(number.value, dtype) if number.dtype == "bool" else number.value


@dataclass(frozen=True, slots=True)
class Functions(Generic[Builder]):
    """The NumPy functions that the formulas of a resize call, on tensors."""

    ops: Builder
    floor = staticmethod(Tensor.floor)
    ceil = staticmethod(Tensor.ceil)
    rint = staticmethod(Tensor.round)
    abs = staticmethod(Tensor.__abs__)
    where = staticmethod(Tensor.where)
    equal = staticmethod(Tensor.__eq__)
    expand_dims = staticmethod(Tensor.unsqueeze)
    running_total = staticmethod(Tensor.running_total)

    def tensor(self, number: object) -> Tensor[Builder]:
        """Return a number as a float32 tensor; a tensor as it is."""
        return (
            number
            if isinstance(number, Tensor)
            else Tensor(self.ops, self.ops.constant(np.asarray(number).astype(np.float32)))
        )

    def maximum(self, x: Operand, y: Operand) -> Tensor[Builder]:
        """Return the elementwise maximum."""
        return x.maximum(y) if isinstance(x, Tensor) else self.tensor(y).maximum(x)

    def minimum(self, x: Operand, y: Operand) -> Tensor[Builder]:
        """Return the elementwise minimum."""
        return x.minimum(y) if isinstance(x, Tensor) else self.tensor(y).minimum(x)

    def clip(self, x: Tensor[Builder], low: Operand, high: Operand) -> Tensor[Builder]:
        """Return ``x`` clipped to two bounds."""
        return x.maximum(low).minimum(high)

    def arange(self, start: Operand, stop: Operand) -> Tensor[Builder]:
        """Return the integers from ``start`` up to, but not including, ``stop``, as float32."""
        return Tensor(self.ops, self.ops.range(self.tensor(start).value, self.tensor(stop).value))

    def sum(self, x: Tensor[Builder], *, axis: int, keepdims: bool) -> Tensor[Builder]:
        """Return sums along an axis."""
        return x.like(self.ops.total(x.value, axis, keep=keepdims))

    def positive(self, x: Tensor[Builder]) -> Tensor[Builder]:
        """Return the same numbers: products, rounded before anything is added to them."""
        return x.like(self.ops.elementwise("positive", x.value))

    def precise(self, vector: Tensor[Builder]) -> Tensor[Builder]:
        """Return the same vector, each quotient in it rounded as IEEE 754 specifies."""
        return vector.like(self.ops.precisely(vector.value))

    def widened(self, number: Operand) -> Double[Tensor[Builder]]:
        """Return a number with twice as many digits."""
        return Double(self.tensor(number), self.tensor(0.0), self)

    def numbers(self) -> Numbers[Tensor[Builder]]:
        """Return the arithmetic of the coordinate formula: float32, with both branches of every choice."""
        return Numbers(
            number=self.tensor,
            over=operator.truediv,
            centred=self._centred,
            choose=lambda condition, yes, no: self.where(self.tensor(condition), yes(), no()),
        )

    def _centred(self, shift: Operand, i: Operand, scale: Operand) -> Tensor[Builder]:
        sums = centred(self.widened(shift), self.widened(i), self.widened(scale), self.widened(0.5))
        return sums.high + sums.low

    def applied(self, function: object, x: Operand) -> NoReturn:
        """Refuse a function that only arrays have: taps of static sizes call it."""
        raise NotImplementedError(function)
