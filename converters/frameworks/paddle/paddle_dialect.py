"""Paddle's ``nearest_interp_v2``, ``linear_``, ``bilinear_``, ``trilinear_`` and ``bicubic_interp_v2`` on CPU.

Source: ``phi/kernels/cpu/interpolate_kernel.cc``, run as Paddle 3.3. Copies take float32 positions, the product of an
index and a step, as PyTorch's do. The step is 0 where an output of two axes has a size of 1: linear takes the
first pixel there, and cubic samples at -1/2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ir_interp.errors import SpecError
from ir_interp.spec import (
    Arithmetic,
    AtRunTime,
    Coordinates,
    Cubic,
    Kernel,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)
from ir_interp.spec.parts import FLOATS
from ir_interp.translation.dialect import Attributes, Context, Dialect, since

_NEAREST, _BILINEAR, _CUBIC = "nearest_interp_v2", "bilinear_interp_v2", "bicubic_interp_v2"
_RESIZED = {"linear_interp_v2": 1, _BILINEAR: 2, "trilinear_interp_v2": 3, _CUBIC: 2}
OPERATIONS = (_NEAREST, *_RESIZED)
"""The operations that resize."""
_CERTAIN = 1.5  # a scale from which on only an axis of one pixel keeps its size, and all its outputs are that pixel


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of an operation's attributes, and of its size or scale for each resized axis."""
    kind, corners = attributes["op"], attributes["align_corners"]
    if kind != _NEAREST and context.dtype is not None and context.dtype not in FLOATS:
        raise SpecError(f"{kind} takes tensors of {', '.join(FLOATS)}, not of {context.dtype}")
    target = _target(attributes)
    axes = _axes(kind, attributes["data_layout"], _rank(kind, target, context))
    lengths = [None] * len(axes) if context.shape is None else [context.shape[axis] for axis in axes]
    if kind == _CUBIC and not corners:
        _check_cubic(target, lengths)
    return ResizeSpec(
        kernel=_kernel(kind, corners=corners),
        coordinates=_coordinates(kind, corners=corners, mode=attributes["align_mode"]),
        axes=axes,
        target=target,
        step=_step(target, lengths) if isinstance(target, Scales) and not corners else Step.GIVEN,
        arithmetic=Arithmetic.TORCH,
    )


def _target(attributes: Attributes) -> Sizes | Scales | AtRunTime:
    sizes, scales = attributes.get("size"), attributes.get("scale")
    if sizes is not None:
        return Sizes(tuple(sizes))
    if scales is not None:
        return Scales(tuple(scales))
    return AtRunTime.SCALES if "scale" in attributes else AtRunTime.SIZES


def _rank(kind: str, target: Sizes | Scales | AtRunTime, context: Context) -> int:
    if kind in _RESIZED:
        rank = _RESIZED[kind] + 2
    elif context.shape is not None:
        rank = len(context.shape)
    elif isinstance(target, Sizes | Scales):
        rank = len(target) + 2
    else:
        raise SpecError(f"{kind} of an unknown rank")
    if (context.shape is not None and len(context.shape) != rank) or (kind == _NEAREST and rank not in (4, 5)):
        expected = "4 or 5" if kind == _NEAREST else rank
        raise SpecError(f"{kind} takes {expected} axes, not {rank if context.shape is None else len(context.shape)}")
    return rank


def _axes(kind: str, layout: str, rank: int) -> tuple[int, ...]:
    return tuple(range(2, rank) if layout == "NCHW" else range(1, rank - 1))


def _check_cubic(target: Sizes | Scales | AtRunTime, lengths: Sequence[int | None]) -> None:
    """Raise SpecError for a cubic whose output may have a size of 1, where Paddle samples at -1/2."""
    if isinstance(target, Sizes):
        is_single = any(out == 1 != length for out, length in zip(target.values, lengths, strict=False))
    elif isinstance(target, Scales):
        is_single = any(
            scale < 1 and (length is None or math.floor(length * scale) == 1)
            for scale, length in zip(target.values, lengths, strict=False)
        )
    else:
        is_single = True
    if is_single:
        raise SpecError(f"{_CUBIC} whose output may have a size of 1, where Paddle samples at -1/2")


def _kernel(kind: str, *, corners: bool) -> Kernel:
    if kind == _NEAREST:
        return Nearest(rounding=Rounding.ROUND_PREFER_CEIL if corners else Rounding.FLOOR)
    return Cubic(a=-0.75) if kind == _CUBIC else Linear()


def _coordinates(kind: str, *, corners: bool, mode: int) -> Coordinates:
    if corners:
        return Coordinates.ALIGN_CORNERS
    if kind == _NEAREST or (kind != _CUBIC and mode == 1):
        return Coordinates.ASYMMETRIC
    return Coordinates.PYTORCH_HALF_PIXEL if kind == _BILINEAR else Coordinates.HALF_PIXEL


def _step(target: Scales, lengths: Sequence[int | None]) -> Step:
    """Return the step of scales, by which no image is resized whose axes all keep their sizes.

    Raises SpecError if a dynamic size decides that.
    """
    if any(scale < 1 for scale in target.values) or all(scale == 1 or scale >= _CERTAIN for scale in target.values):
        return Step.GIVEN
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths) or len(lengths) != len(target):
        raise SpecError(f"scale {list(target.values)} of dynamic sizes, which Paddle may keep; expected static ones")
    pairs = zip(known, target.values, strict=True)
    return Step.RATIO if all(math.floor(length * scale) == length for length, scale in pairs) else Step.GIVEN


DIALECT = Dialect(
    name="paddle",
    versions=(2,),
    vocabulary={
        "op": dict.fromkeys(OPERATIONS, since(2)),
        "align_corners": {False: since(2), True: since(2)},
        "align_mode": {0: since(2), 1: since(2)},
        "data_layout": {"NCHW": since(2), "NHWC": since(2)},
    },
    numbers={"sizes": ("size", since(2)), "scales": ("scale", since(2))},
    defaults={
        "align_corners": (False, since(2)),
        "align_mode": (0, since(2)),
        "data_layout": ("NCHW", since(2)),
    },
    omitted={},
    read=read,
)
