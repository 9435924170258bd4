"""Axis of the channels of images whose colours are multiplied by alpha."""

from __future__ import annotations

from dataclasses import replace

from ir_interp.errors import ShapeError
from ir_interp.plan.axes.geometry import Plan, plan
from ir_interp.plan.pieces import Piece
from ir_interp.shapes import resolve_axes


def axis_of_channels(bound: Plan) -> int:
    """Return the axis whose last entry is alpha: the last one, or the one before the resized axes if these are last.

    Raises ShapeError if there is neither.
    """
    rank = len(bound.in_shape)
    axes = resolve_axes(bound.spec.axes, rank)
    if rank - 1 not in axes:
        return rank - 1
    if not min(axes):
        raise ShapeError(f"an image of shape {list(bound.in_shape)} has no axis of channels, the last of them alpha")
    return min(axes) - 1


def channels_last(bound: Plan, piece: Piece) -> tuple[Plan, Piece]:
    """Return a plan and a piece of it for the same image with its channels last."""
    channels, rank = axis_of_channels(bound), len(bound.in_shape)
    order = [axis for axis in range(rank) if axis != channels] + [channels]
    axes = tuple(order.index(axis) for axis in resolve_axes(bound.spec.axes, rank))
    pads = tuple(replace(pad, axis=order.index(pad.axis % rank)) for pad in bound.spec.pads)
    moved = plan(replace(bound.spec, axes=axes, pads=pads), tuple(bound.in_shape[axis] for axis in order))
    outputs, inputs = (tuple(edges[axis] for axis in order) for edges in (piece.outputs, piece.inputs))
    return moved, Piece(outputs, inputs)
