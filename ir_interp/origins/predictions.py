"""The predicted result of a call in a layout, to be compared with the actual one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ir_interp.errors import SpecError
from ir_interp.origins.layouts import Array, Layout, Piece
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import ResizeSpec
from ir_interp.views.likeness import resized


def predicted(spec: ResizeSpec, layout: Layout, piece: Piece) -> Array | None:
    """Return a piece of the result of a call, relative to the position of the image; None if the call refuses."""
    op = operation(spec if layout.box is None else replace(spec, box=layout.box))
    with suppress(SpecError):
        if layout.scales is None:
            return resized(op, layout.x, layout.sizes, None, layout.shown(piece))
        y = resized(op, layout.x, None, layout.scales)
        return y[piece] if y.shape[:2] == layout.sizes else None
    return None


def operation(spec: ResizeSpec, name: str = "call") -> ResizeOp:
    """Return a spec as an operation that runs."""
    return ResizeOp(name=name, where=name, spec=spec, dialect=name, version=0)
