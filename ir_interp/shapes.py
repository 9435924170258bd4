"""Types of arrays, shapes of tensors, static or dynamic, and axes that count from the last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError

PartialShape = tuple[int | None, ...]
"""Shape of an input, with None for dynamic dimensions."""


Shape = tuple[int, ...]


def static_shape(shape: PartialShape | None) -> Shape | None:
    """Return a shape if it is static; None if a dimension or the rank is unknown."""
    known = tuple(size for size in shape or () if size is not None)
    return known if shape is not None and len(known) == len(shape) else None


def with_ones(shape: PartialShape) -> Shape:
    """Return a shape with 1 in place of every dynamic dimension."""
    return tuple(1 if size is None else size for size in shape)


def resolve_axes(axes: tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return ``axes`` counted from the first; all axes for ``None``. Raises ShapeError for wrong or repeated axes."""
    if axes is None:
        return tuple(range(rank))
    for axis in axes:
        if not -rank <= axis < rank:
            raise ShapeError(f"axis {axis} is out of range for an input of rank {rank}")
    resolved = tuple(axis % rank for axis in axes)
    if len(set(resolved)) != len(resolved):
        raise ShapeError(f"axes {list(axes)} name an axis of an input of rank {rank} twice")
    return resolved


Array = NDArray[Any]
"""An array of any element type and shape."""


class Divided(Protocol):
    """A number of onnxruntime's wider formula: a rational, a float64 array, or a sum of float32 tensors."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __truediv__(self, other: Self, /) -> Self: ...


class Quantity(Divided, Protocol):
    """A number of the formula of coordinates: a rational, an array, or a tensor of a graph."""

    def __add__(self, other: Self | int, /) -> Self: ...
    def __sub__(self, other: Self | int, /) -> Self: ...
    def __rsub__(self, other: Self | int, /) -> Self: ...
    def __mul__(self, other: Self | int, /) -> Self: ...
    def __truediv__(self, other: Self | int, /) -> Self: ...


class Term(Protocol):
    """A number of a kernel: an array, a tensor of a graph, or a sum of such tensors."""

    def __add__(self, other: Self | float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __rsub__(self, other: Self | float, /) -> Self: ...
    def __mul__(self, other: Self | float, /) -> Self: ...
    def __rmul__(self, other: Self | float, /) -> Self: ...
    def __lt__(self, other: Self | float, /) -> object: ...
    def __le__(self, other: Self | float, /) -> object: ...


class Elements(Term, Protocol):
    """Numbers of taps: an array or a tensor of a graph, whose comparisons are of its kind."""

    def __radd__(self, other: Self | float, /) -> Self: ...
    def __truediv__(self, other: Self | float, /) -> Self: ...
    def __rtruediv__(self, other: Self | float, /) -> Self: ...
    def __lt__(self, other: Self | float, /) -> Self: ...
    def __le__(self, other: Self | float, /) -> Self: ...
    def __gt__(self, other: Self | float, /) -> Self: ...
    def __ge__(self, other: Self | float, /) -> Self: ...
    def __and__(self, other: Self | bool, /) -> Self: ...
    def __or__(self, other: Self, /) -> Self: ...


Wide = TypeVar("Wide", bound=Divided)
Exact = TypeVar("Exact", bound=Quantity)
Number = TypeVar("Number", bound=Term)
Values = TypeVar("Values", bound=Elements)


class Functions(Protocol[Number]):
    """The functions of kernels for one kind of numbers, under NumPy's names."""

    def abs(self, x: Number, /) -> Number:
        """Return absolute values."""

    def maximum(self, x: Number, y: Number | float, /) -> Number:
        """Return the elementwise maximum."""

    def where(self, condition: Any, yes: Number | float, no: Number | float, /) -> Number:
        """Return ``yes`` where the condition holds, else ``no``."""


class Operations(Functions[Values], Protocol[Values]):
    """The functions of taps, under NumPy's names: ``Arrays`` has them, and ``decompose.tensor.Functions``."""

    def applied(self, function: Callable[[Array], Array], x: Values, /) -> Values:
        """Return a function that only arrays have."""

    def tensor(self, number: Array | float, /) -> Values:
        """Return an array or a number as one of these numbers."""

    def floor(self, x: Values, /) -> Values:
        """Return the floor."""

    def ceil(self, x: Values, /) -> Values:
        """Return the ceiling."""

    def rint(self, x: Values, /) -> Values:
        """Return integers, rounded half to even."""

    def positive(self, x: Values, /) -> Values:
        """Return the same numbers; no product of them is fused into a sum."""

    def precise(self, x: Values, /) -> Values:
        """Return the same numbers, every quotient among them rounded as IEEE 754 specifies."""

    def maximum(self, x: Values | float, y: Values | float, /) -> Values:
        """Return the elementwise maximum."""

    def minimum(self, x: Values, y: Values | float, /) -> Values:
        """Return the elementwise minimum."""

    def clip(self, x: Values, low: Values | float, high: Values | float, /) -> Values:
        """Return numbers clipped to two bounds."""

    def equal(self, x: Values, y: Values | float, /) -> Values:
        """Return where numbers are equal."""

    def expand_dims(self, x: Values, axis: int, /) -> Values:
        """Return numbers with an axis of size 1 at ``axis``."""

    def arange(self, start: Values | float, stop: Values | float, /) -> Values:
        """Return the integers from ``start`` up to, but not including, ``stop``."""

    def sum(self, x: Values, /, *, axis: int, keepdims: bool) -> Values:
        """Return sums along an axis."""

    def running_total(self, x: Values, /) -> Values:
        """Return the sum of each row, added from the first to the last, as a column."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """NumPy's functions, with integers and running totals of a type; of the operands' if it is None."""

    dtype: str | None = None
    abs, floor, ceil, rint, positive = np.abs, np.floor, np.ceil, np.rint, np.positive
    maximum, minimum, equal = np.maximum, np.minimum, np.equal

    def applied(self, function: Callable[[Array], Array], x: Array, /) -> Array:
        """Return a function of an array."""
        return function(x)

    def tensor(self, number: Array | float, /) -> Array:
        """Return a number as an array."""
        return np.asarray(number, self.dtype)

    def where(self, condition: Array, yes: Array | float, no: Array | float, /) -> Array:
        """Return ``yes`` where the condition holds, else ``no``."""
        return np.where(condition, yes, no)

    def clip(self, x: Array, low: Array | float, high: Array | float, /) -> Array:
        """Return an array clipped to two bounds."""
        return np.asarray(np.clip(x, low, high))

    def expand_dims(self, x: Array, axis: int, /) -> Array:
        """Return an array with an axis of size 1 at ``axis``."""
        return np.expand_dims(x, axis)

    def sum(self, x: Array, /, *, axis: int, keepdims: bool) -> Array:
        """Return sums along an axis."""
        return np.asarray(x.sum(axis=axis, keepdims=keepdims))

    def precise(self, x: Array, /) -> Array:
        """Return an array as it is."""
        return x

    def arange(self, start: Array | float, stop: Array | float, /) -> Array:
        """Return the integers from ``start`` up to, but not including, ``stop``."""
        return np.arange(int(start), int(stop), dtype=self.dtype)

    def running_total(self, x: Array, /) -> Array:
        """Return the sum of each row, added from the first to the last, as a column."""
        return np.cumsum(x, axis=1, dtype=self.dtype)[:, -1:]


ARRAYS: Operations[Array] = Arrays()
SINGLES: Operations[Array] = Arrays("float32")

Weighted = tuple[Array, Array]
"""The taps of an axis: indices and weights [out, taps]."""
