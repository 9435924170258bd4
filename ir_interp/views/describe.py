"""The computation of a resize, as text."""

from __future__ import annotations

from ir_interp.shapes import PartialShape
from ir_interp.spec import ResizeSpec


def count(number: int, thing: str) -> str:
    """Return how many there are of a thing: "1 resize", "2 resizes"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def summary(spec: ResizeSpec) -> str:
    """Return what is resized to what, and how, in one line."""
    return f"{spec.resized_to}: {formula(spec)}"


def formula(spec: ResizeSpec) -> str:
    """Return kernel and source coordinate of output index ``i``, as in ``linear at (i + 1/2) * step - 1/2``."""
    sums = f"; integers: {spec.sums_of_integers}" if spec.sums_of_integers else ""
    return f"{spec.kernel} at {spec.formula}{sums}"


def shape_text(shape: PartialShape | None) -> str:
    """Return a shape as ``1x3x?x?``."""
    return "?" if shape is None else "x".join("?" if size is None else str(size) for size in shape)
