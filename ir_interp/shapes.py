"""Types of arrays, shapes of tensors, static or dynamic, and axes that count from the last."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeVar

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


class Term(Protocol):
    """A number of a formula: an array, a tensor of a graph, or a sum of such tensors."""

    def __add__(self, other: Self | float, /) -> Self: ...
    def __sub__(self, other: Self | float, /) -> Self: ...
    def __rsub__(self, other: Self | float, /) -> Self: ...
    def __mul__(self, other: Self | float, /) -> Self: ...
    def __rmul__(self, other: Self | float, /) -> Self: ...
    def __lt__(self, other: Self | float, /) -> object: ...
    def __le__(self, other: Self | float, /) -> object: ...


Number = TypeVar("Number", bound=Term)


class Functions(Protocol[Number]):
    """The functions of formulas for one kind of numbers, under NumPy's names; NumPy itself has them for arrays."""

    def abs(self, x: Number, /) -> Number:
        """Return absolute values."""

    def maximum(self, x: Number, y: Number | float, /) -> Number:
        """Return the elementwise maximum."""

    def where(self, condition: Any, yes: Number | float, no: Number | float, /) -> Number:
        """Return ``yes`` where the condition holds, else ``no``."""


Weighted = tuple[Array, Array]
"""The taps of an axis: indices and weights [out, taps]."""
