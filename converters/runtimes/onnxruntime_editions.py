"""onnxruntime, release by release: how its earlier CPU providers computed nodes that today's computes.

Each rule was found by running the same 1,200 random nodes in 1.16, 1.20, 1.26, 1.28, 1.31 and 1.32, and selected
nodes in the releases between (docs/runtimes.md). From 1.31 to 1.32 nothing changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from ir_interp.plan.axes.coordinates import positions
from ir_interp.plan.axes.geometry import plan
from ir_interp.plan.axes.kernels import radius
from ir_interp.plan.axes.taps import axis_taps
from ir_interp.plan.runtimes.integer_steps import ONNXRUNTIME_INTEGERS
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes, static_shape
from ir_interp.spec import Crop, Cubic, Linear, Nearest, Rounding

from . import onnxruntime
from .image_runtimes import to_pixels
from .node_geometry import geometry
from .outcome import Edition, Kind, Outcome, computes, crashes, differs, refused

_AT_HALVES = (Rounding.ROUND_PREFER_FLOOR, Rounding.ROUND_PREFER_CEIL)
_IMAGE, _MATRIX = 4, 2


def _counts_no_axes_from_the_end(op: ResizeOp) -> Outcome | None:
    if min(op.spec.axes or (0,)) >= 0:
        return None
    return crashes("it uses negative axes as memory offsets: it crashes, refuses, or returns another shape")


def _knows_no_ties(op: ResizeOp) -> Outcome | None:
    shape, kernel = static_shape(op.shape), op.spec.kernel
    if not isinstance(kernel, Nearest) or kernel.rounding not in _AT_HALVES or shape is None or op.spec.waits:
        return None
    if onnxruntime.outcome(op).spec is None:
        return None
    bound = plan(op.spec, shape)
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        sources = positions(axis)
        pixels = to_pixels(np.asarray(sources.floor + sources.fraction, np.float32), kernel.rounding)
        if (np.clip(pixels, 0, axis.in_size - 1) != taps.indices[:, 0]).any():
            return differs("it rounds down a half that float32 just misses")
    return None


def _no_cubic_of_channels_last(op: ResizeOp) -> Outcome | None:
    at, kernel = geometry(op), op.spec.kernel
    if at is None or not isinstance(kernel, Cubic) or kernel.is_antialiased:
        return None
    if onnxruntime.are_channels_last(at.in_sizes, at.scaled):
        return refused(f"no cubic Resize of axes {sorted(at.scaled)} at rank {_IMAGE}")
    return None


def _overruns_matrices(op: ResizeOp) -> Outcome | None:
    kernel = op.spec.kernel
    if isinstance(kernel, Cubic) and kernel.is_antialiased and len(op.shape or ()) == _MATRIX:
        return crashes("an antialiased cubic Resize at rank 2 reads beyond its scales")
    return None


def _narrows_what_is_negative(op: ResizeOp) -> Outcome | None:
    """Refuse an antialiased resize with an output that reaches only beyond the last pixel."""
    shape, kernel = static_shape(op.shape), op.spec.kernel
    if not isinstance(kernel, Linear | Cubic) or not kernel.is_antialiased or kernel.exclude_outside:
        return None
    if shape is None or op.spec.waits or onnxruntime.outcome(op).kind is Kind.REFUSED:
        return None
    for axis in plan(op.spec, shape).axes:
        sources = positions(axis)
        reach = radius(kernel) * max(1.0, 1 / float(axis.scale))
        if np.floor(sources.floor + sources.fraction + 1 - reach).max(initial=0) >= axis.in_size:
            return refused("an antialiased output lies wholly behind the last pixel")
    return None


def _takes_windows_of_other_axes(op: ResizeOp) -> Outcome | None:
    kernel, crop, at = op.spec.kernel, op.spec.coordinates, geometry(op)
    if at is None or not isinstance(kernel, Cubic) or not kernel.is_antialiased or len(at.in_sizes) != _IMAGE:
        return None
    if not isinstance(crop, Crop) or crop.roi is None or onnxruntime.outcome(op).spec is None:
        return None
    axes = resolve_axes(op.spec.axes, _IMAGE)
    windows = dict(zip(axes, crop.roi, strict=True))
    taken = tuple(windows.get(axis - 1, (0.0, 1.0)) if axis in at.scaled else windows[axis] for axis in axes)
    spec = replace(op.spec, coordinates=replace(crop, roi=taken))
    return computes(spec, "an antialiased cubic crop uses the windows of axes 1 and 2 for height and width")


DROP_QUANTISATION = ("1.16", "1.20", "1.26")
"""Editions whose optimiser drops a DequantizeLinear and a QuantizeLinear with the same levels around a Resize."""


def in_levels(edition: Edition, op: ResizeOp, dtype: str) -> Outcome | None:
    """Return the outcome of a node in levels of a type instead of floats; None for copies, which are the same."""
    if isinstance(op.spec.kernel, Nearest) or dtype not in ONNXRUNTIME_INTEGERS:
        return None
    dropped = "its optimiser drops the DequantizeLinear and QuantizeLinear around it"
    outcome = edition.outcome(replace(op, dtype=dtype))
    if outcome.kind is Kind.REFUSED:
        return replace(outcome, reason=f"{dropped}: {outcome.reason}")
    return differs(f"{dropped}, and sums in {dtype}" + (f": {outcome.reason}" if outcome.reason else ""))


_UNTIL_1_26 = (_counts_no_axes_from_the_end, _knows_no_ties)
_edition = partial(Edition, today=onnxruntime.outcome)
EDITIONS: Mapping[str, Edition] = MappingProxyType(
    {
        "1.16": _edition(
            version="1.16",
            rules=(*_UNTIL_1_26, _no_cubic_of_channels_last, _overruns_matrices, _takes_windows_of_other_axes),
        ),
        "1.20": _edition(version="1.18 to 1.20", rules=(*_UNTIL_1_26, _no_cubic_of_channels_last)),
        "1.26": _edition(version="1.22 to 1.26", rules=_UNTIL_1_26),
        "1.30": _edition(version="1.27 to 1.30", rules=(_narrows_what_is_negative,)),
        "1.31": _edition(version="1.31 and 1.32", rules=()),
    }
)
"""By the last release that each applies to."""
