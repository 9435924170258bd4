"""Lengths of tensors, known or not, and axes that count from the last."""

from __future__ import annotations

from ir_interp.errors import ShapeError

PartialShape = tuple[int | None, ...]
"""Lengths of an input, None where unknown."""


Shape = tuple[int, ...]


def resolve_axes(axes: tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return ``axes`` counted from the first; every axis for ``None``. Raises ShapeError where they do not fit."""
    if axes is None:
        return tuple(range(rank))
    for axis in axes:
        if not -rank <= axis < rank:
            raise ShapeError(f"axis {axis} is out of range for an input of rank {rank}")
    resolved = tuple(axis % rank for axis in axes)
    if len(set(resolved)) != len(resolved):
        raise ShapeError(f"axes {list(axes)} name an axis of an input of rank {rank} twice")
    return resolved
