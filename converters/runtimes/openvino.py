"""OpenVINO: what its CPU plugin takes of an Interpolate, and what it computes otherwise (2026.4)."""

from __future__ import annotations

from ir_interp.op import ResizeOp
from ir_interp.shapes import resolve_axes
from ir_interp.spec import (
    Cubic,
    Linear,
    Nearest,
)

from .outcome import Forecast, Kind, differs, refused

OPENVINO_TYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64")


def plugin_problem(op: ResizeOp, axes: set[int], *, full: bool) -> Forecast | None:
    """Return what OpenVINO's CPU plugin does to axes that it has no kernel for.

    ``axes`` are those that are resized, ``full`` says that there is a target for every axis.
    """
    kernel, rank = op.spec.kernel, len(op.shape) if op.shape is not None else 0
    listed = axes if full else set(resolve_axes(op.spec.axes, rank))
    if isinstance(kernel, Linear) and rank > 5:
        return Forecast(kind=Kind.CRASHES, reason=f"a linear Interpolate of rank {rank} corrupts memory")
    if (rank == 4 or not isinstance(kernel, Cubic)) and _is_not_spatial(rank, axes, listed, full):
        return refused("the plugin resizes spatial dimensions only")
    if isinstance(kernel, Cubic) and _cubic_overruns(rank, listed, full):
        return Forecast(kind=Kind.CRASHES, reason=f"a cubic Interpolate of axes {sorted(listed)} corrupts memory")
    if isinstance(kernel, Cubic) and rank > 4 and op.dtype in ("int8", "uint8"):
        return differs(f"the plugin wraps {op.dtype} around in a cubic Interpolate of rank {rank}")
    if rank > (4 if isinstance(kernel, Cubic) else 5) and op.dtype in ("int32", "int64"):
        return refused(f"the plugin has no Interpolate of rank {rank} for {op.dtype}")
    return None


def _cubic_overruns(rank: int, axes: set[int], full: bool) -> bool:
    if rank == 3:
        return 0 in axes and (full or len(axes) > 1)
    return rank == 4 and (len(axes) > 2 or (full and min(axes, default=2) < 2))


def _is_not_spatial(rank: int, axes: set[int], listed: set[int], full: bool) -> bool:
    """Say whether batch, or channels of volumes, are resized with more axes listed than a picture or volume has."""
    counted = full or len(listed) > {4: 2, 5: 3}.get(rank, rank)
    return counted and min(axes, default=rank) < {4: 1, 5: 2}.get(rank, 0)


def precision_note(op: ResizeOp) -> str:
    """Return what OpenVINO's CPU plugin loses of an element type."""
    averaged = op.dtype == "uint32" and not isinstance(op.spec.kernel, Nearest)
    if op.dtype in ("int64", "uint64") or averaged:
        return f"OpenVINO's CPU plugin holds {op.dtype} in 32 bits, with a sign"
    if op.dtype == "float64":
        return "OpenVINO's CPU plugin computes in float32"
    return ""
