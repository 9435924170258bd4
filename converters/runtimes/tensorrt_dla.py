"""Limits of TensorRT's deep learning accelerator (DLA) for an ``IResizeLayer``; the rest runs on the GPU, if allowed.

Source: the class ``IResizeLayer`` of the Python API and the page "DLA Supported Layers and Restrictions" of TensorRT
10; TensorRT itself was not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ir_interp.shapes import PartialShape
from ir_interp.translation.dialect import Attributes, Context

COMBINATIONS = {
    "NEAREST": (
        ("ASYMMETRIC", "FORMULA", "FLOOR"),
        ("HALF_PIXEL", "FORMULA", "HALF_DOWN"),
        ("HALF_PIXEL", "FORMULA", "HALF_UP"),
    ),
    "LINEAR": (("HALF_PIXEL", "FORMULA"), ("HALF_PIXEL", "UPPER")),
}
"""Coordinates, selector and, for NEAREST, rounding of each mode; CUBIC is not supported."""

LARGEST_SCALES = {"NEAREST": 32, "LINEAR": 4}
"""The largest integral scale of height and width."""

LARGEST_BATCH, LARGEST_LENGTH = 4096, 8192
_SETTINGS = ("coordinate_transformation", "selector_for_single_pixel", "nearest_rounding")


def remarks(attributes: Attributes, context: Context) -> tuple[tuple[str, str], ...]:
    """Return IRI031 with every reason why a layer cannot run on DLA, as far as its settings and shapes show."""
    obstacles = "; ".join(_obstacles(attributes, context))
    return (("IRI031", f"would not run on DLA: {obstacles}"),) if obstacles else ()


def _obstacles(attributes: Attributes, context: Context) -> Iterator[str]:
    mode = attributes["resize_mode"]
    if mode not in COMBINATIONS:
        yield f"it takes no {mode}"
        return
    combinations = COMBINATIONS[mode]
    chosen = tuple(attributes[setting] for setting in _SETTINGS[: len(combinations[0])])
    if chosen not in combinations:
        yield f"{mode} with {', '.join(chosen)}"
    target = attributes.get("scales") or attributes.get("shape")
    if target is None:
        yield "its output sizes are an input at run time"
    elif len(target) != 4:
        yield f"rank {len(target)}; it takes 4"
    else:
        scales = _scales(attributes, context)
        if any(scale not in (1, None) for scale in scales[:2]):
            yield "batch or channels are resized"
        largest = LARGEST_SCALES[mode]
        wrong = [
            scale for scale in scales[2:] if scale is not None and not (scale.denominator == 1 <= scale <= largest)
        ]
        if wrong:
            listed = ", ".join(f"{float(scale):.6g}" for scale in wrong)
            yield f"height or width by {listed}; {mode} takes integers from 1 to {largest}"
    yield from _length_obstacles(context.shape, "input")
    yield from _length_obstacles(attributes.get("shape"), "output")


def _scales(attributes: Attributes, context: Context) -> list[Fraction | None]:
    """Return output / input of every axis; None if a size is unknown."""
    if "scales" in attributes:
        return [Fraction(scale) for scale in attributes["scales"]]
    shape = context.shape or (None,) * 4
    return [
        Fraction(out, in_size) if in_size else None for out, in_size in zip(attributes["shape"], shape, strict=True)
    ]


def _length_obstacles(shape: PartialShape | None, what: str) -> Iterator[str]:
    for axis, size in enumerate(shape or ()):
        largest = LARGEST_LENGTH if axis else LARGEST_BATCH
        if size is not None and size > largest:
            yield f"axis {axis} of the {what} has size {size}; it takes up to {largest}"
