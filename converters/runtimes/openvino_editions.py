"""OpenVINO, release by release: how earlier ONNX frontends and CPU plugins computed nodes that today's compute.

Each rule was found by running the same 700 random nodes in 2023.3, 2024.6, 2025.4 and 2026.4 (docs/runtimes.md);
2023.3 and 2024.6 gave the same results for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from ir_interp.resize_op import ResizeOp

from . import openvino
from .outcome import Edition, Outcome, refused

# Behind the batch and the channels.
_FIRST_SPATIAL = 2
_OF_IMAGES = (3, 4)  # ranks


def takes_no_float64(op: ResizeOp) -> Outcome | None:
    """Refuse float64."""
    return refused("Interpolate does not take float64") if op.dtype == "float64" else None


def _reads_no_axes(op: ResizeOp) -> Outcome | None:
    axes, rank = op.spec.axes, len(op.shape or ())
    if axes is None or not rank:
        return None
    if len(axes) != rank:
        return refused("the frontend ignores axes, and needs sizes and scales for every axis")
    rest = {name: value for name, value in op.attributes.items() if name != "axes"}
    plain = replace(op, spec=replace(op.spec, axes=None), attributes=rest)
    outcome = _resizes_spatial_axes(plain) or openvino.frontend(plain)
    return replace(outcome, reason=outcome.reason or "axes dropped") if axes != tuple(range(rank)) else outcome


def _resizes_spatial_axes(op: ResizeOp) -> Outcome | None:
    rank = len(op.shape or ())
    if rank in _OF_IMAGES and min(openvino.resized_axes(op), default=rank) < _FIRST_SPATIAL:
        return refused(openvino.SPATIAL_ONLY)
    return None


_edition = partial(Edition, today=openvino.frontend)
EDITIONS: Mapping[str, Edition] = MappingProxyType(
    {
        "2024.6": _edition(version="2023.3 to 2024.6", rules=(takes_no_float64, _reads_no_axes, _resizes_spatial_axes)),
        "2025.4": _edition(version="2025.4", rules=(takes_no_float64,)),
        "2026.4": _edition(version="2026.4", rules=()),
    }
)
"""By the last release that each applies to."""
