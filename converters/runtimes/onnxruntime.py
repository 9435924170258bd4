"""onnxruntime: which Resize and Upsample nodes its CPU provider accepts, and which it computes otherwise (1.31, 1.32).

Each rule was found by running nodes; docs/semantics.md names the tests. Writers call ``refusal`` and ``deviation``
before they emit a node, predictions call ``outcome`` for an existing node. Earlier releases come last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Set
from dataclasses import replace
from functools import partial

import numpy as np

from ir_interp.plan import integer_sums
from ir_interp.plan.formulas import positions, radius
from ir_interp.plan.integer_sums import CHANNELS_LAST_AXES, ONNXRUNTIME_INTEGERS, SPATIAL_AXES
from ir_interp.plan.taps import axis_taps, plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, PartialShape, resolve_axes, static_shape
from ir_interp.specs import (
    Antialias,
    Aspect,
    AtRunTime,
    Coordinates,
    Crop,
    Cubic,
    Kernel,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
)

from .image_runtimes import to_pixels
from .outcome import (
    Geometry,
    Kind,
    Outcome,
    changing_axes,
    computes,
    copying,
    crashes,
    differs,
    geometry,
    refused,
    resized,
    settled,
    sure_axes,
    unknown,
)
from .runtime import Release, Runner, Runtime

TYPES = ("float32", "float16", "uint8", "int8", "int32")
"""The element types that it resizes."""

_IMAGE, _LAST = 4, 3  # axes of a batch of images, and the last of them
_WHOLE = (0.0, 1.0)  # the window of a crop that keeps an axis as it is
_MIXED_UP = "it mixes up the axes of channels-last crops and cubics"
_OUTSIDE = "an output lies outside the image"
_KEPT = "it keeps the size of a negative axis under an aspect policy"
MAY_SHRINK = "a cubic Resize of channels-last images that may shrink"
"""The nodes that it computes unless they shrink."""
_BEYOND = "outputs beyond int32, at which antialias stops, or crashes with several threads"
_LEAST_OF_TWO = 1.5  # a lower scale may keep a size of 2 or more; of a single pixel every output is a copy


def outcome(op: ResizeOp, may_change: Set[int] | None = None) -> Outcome:
    """Return the outcome of a node. ``op.attributes`` are those of the node.

    ``may_change`` are the axes that are not known to keep their size, if a graph reveals more than the node.
    """
    listed = _without_negative_axes(op)
    taken = settled(listed)
    may_change = resized(taken) if may_change is None else may_change
    sure = changing_axes(taken, may_change)
    # A refused node computes nothing, so that no deviation matters.
    reason = refusal(taken, sure)
    if reason:
        return refused(reason, condition_of_refusal(taken, sure))
    if may_lack_a_kernel(taken, sure):
        return unknown(MAY_SHRINK)
    other, condition = deviation(taken, sure), _condition(taken, sure, may_change)
    if other is not None:
        return other if other.spec is None else replace(other, provided=condition)
    # A spec read from ONNX has this runtime's arithmetic, so no pixels need to be compared, as for others.
    return replace(computes(taken.spec, "" if listed is op else _KEPT, condition), but_for=_overflow(taken))


def _overflow(op: ResizeOp) -> str:
    """Return the images whose outputs int32 does not hold: each thread that meets one raises an exception."""
    at = geometry(op)
    may_change = at is None or bool(at.changing)
    return _BEYOND if op.dtype == "int32" and op.spec.kernel.is_antialiased and may_change else ""


def may_lack_a_kernel(op: ResizeOp, scaled: Set[int]) -> bool:
    """Return whether sizes of run time decide if there is a kernel for these axes."""
    return _has_a_kernel(op, scaled) is None


def condition_of_refusal(op: ResizeOp, sure: Set[int]) -> str:
    """Return the condition on dynamic dimensions under which a node is refused."""
    assumed = sorted(sure - sure_axes(op))
    if assumed and not refusal(op, sure_axes(op)):
        return f"axes {assumed} change"
    is_cubic_of_integers = is_plain_cubic(op) and op.dtype in ONNXRUNTIME_INTEGERS
    may_grow = is_cubic_of_integers and are_channels_last(op.shape, sure) and shrinks(op) is None
    if may_grow:
        return "a size shrinks"
    return "a size changes" if is_cubic_of_integers and geometry(op) is None and _may_keep_every_size(op) else ""


def _may_keep_every_size(op: ResizeOp) -> bool:
    """Return whether scales may leave every size as it is."""
    target = op.spec.target
    return isinstance(target, Scales) and all(1 <= scale < _LEAST_OF_TWO for scale in target.values)


def _condition(op: ResizeOp, sure: Set[int], may_change: Set[int]) -> str:
    """Return the condition on dynamic dimensions under which a node is computed as meant."""
    if not sure and may_change and is_plain_cubic(op) and op.dtype in ONNXRUNTIME_INTEGERS:
        return "no size changes"
    has_a_kernel = _has_a_kernel(op, sure | may_change)
    if not has_a_kernel:
        return "only height and width are resized" if has_a_kernel is False else "no size shrinks"
    if geometry(op) is not None:
        return ""
    if isinstance(op.spec.coordinates, Crop):
        return "no scale of a crop is 1"
    if not isinstance(op.spec.target, Scales):
        return "a size changes" if op.spec.target is AtRunTime.SCALES else ""
    scales = [scale for scale in op.spec.target.values if scale != 1]
    keeping = [scale for scale in scales if 1 < scale < _LEAST_OF_TWO]
    shows = op.spec.kernel.is_antialiased or isinstance(op.spec.kernel, Cubic) or len(keeping) == len(scales)
    return "no axis keeps its size" if keeping and shows else ""


def _without_negative_axes(op: ResizeOp) -> ResizeOp:
    """Return a node without the negative axes under an aspect policy, which are not found in its list."""
    spec, axes = op.spec, op.spec.axes or ()
    if spec.aspect is Aspect.STRETCH or min(axes, default=0) >= 0 or not isinstance(spec.target, Sizes):
        return op
    return replace(op, spec=spec.only([place for place, axis in enumerate(axes) if axis >= 0]))


# Refusals


def refusal(op: ResizeOp, scaled: Set[int] | None) -> str:
    """Return why a node is refused; empty if it is accepted.

    ``scaled`` are the axes whose scale is not 1, or may not be; None if unknown, and then no axes are
    refused.
    """
    return next(_refusals(op, scaled), "")


def _refusals(op: ResizeOp, scaled: Set[int] | None) -> Iterator[str]:
    kernel, target, dtype = op.spec.kernel, op.spec.target, op.dtype or "float32"
    at = geometry(op)
    if dtype not in TYPES:
        yield f"no Resize of {dtype}"
    if op.attributes.get("exclude_outside") and not isinstance(kernel, Cubic) and not kernel.is_antialiased:
        yield "exclude_outside needs cubic, or antialias"
    grows_last = scaled is not None and _grows_channels_last(op, scaled)
    if (
        is_plain_cubic(op)
        and dtype in ONNXRUNTIME_INTEGERS
        and not grows_last
        and (at.changing if at else scaled != set())
    ):
        yield f"no cubic Resize of {dtype}"
    # Upsample's kernels check that every scale is at least 1; Resize-10 replaced them.
    if op.version < 10 and isinstance(target, Scales) and min(target.values, default=1) < 1:
        yield "Upsample shrinks nothing"
    if isinstance(target, Sizes) and 0 in target.values:
        yield "sizes of 0"
    if scaled is not None and op.shape is not None and _has_a_kernel(op, scaled) is False:
        yield f"no {kernel.word} Resize of axes {sorted(scaled)} at rank {len(op.shape)}"


def is_plain_cubic(op: ResizeOp) -> bool:
    """Return whether a node is cubic without antialias, the mode with the fewest kernels."""
    return isinstance(op.spec.kernel, Cubic) and not op.spec.kernel.is_antialiased


def _has_a_kernel(op: ResizeOp, scaled: Set[int]) -> bool | None:
    """Return whether there is a kernel for these axes; None if that depends on sizes of run time."""
    # Whether an axis grows or shrinks chooses the kernel, so sizes of run time count only if both have one, or neither.
    rank, is_smaller = len(op.shape or ()), shrinks(op)
    grown, shrunk = (_has_kernel(op.spec.kernel, rank, scaled, grows=grows) for grows in (True, False))
    return grown if grown == shrunk or is_smaller is False else shrunk if is_smaller else None


def _grows_channels_last(op: ResizeOp, scaled: Set[int]) -> bool:
    """Return whether a cubic node takes the kernel of antialias, which grows images whose channels come last."""
    return are_channels_last(op.shape, scaled) and shrinks(op) is False


def are_channels_last(shape: PartialShape | None, scaled: Set[int]) -> bool:
    """Return whether a node resizes images whose channels come last, their height among the axes."""
    return len(shape or ()) == _IMAGE and 1 in scaled and scaled <= CHANNELS_LAST_AXES


def _has_kernel(kernel: Kernel, rank: int, scaled: Set[int], *, grows: bool) -> bool:
    """Return whether there is a kernel for these axes: of images, of volumes, of images whose channels come last."""
    # A kernel is chosen by the axes whose scale is not 1, as sizes or scales state it, whatever the layout is called.
    channels_last = rank == _IMAGE and scaled <= CHANNELS_LAST_AXES
    if isinstance(kernel, Nearest) or not rank:
        return True
    if isinstance(kernel, Cubic):
        images = rank in (2, _IMAGE) and scaled <= SPATIAL_AXES[rank]
        return images or (channels_last and (kernel.is_antialiased or grows))
    return (rank in SPATIAL_AXES and scaled <= SPATIAL_AXES[rank]) or channels_last


# Deviations


def deviation(op: ResizeOp, scaled: Set[int] | None = None) -> Outcome | None:
    """Return the deviation of an accepted node from its meaning; None if there is none.

    Deviations that depend on unknown sizes are not reported. ``scaled`` are the axes that are resized, if a graph
    reveals more than the node.
    """
    listed = _without_negative_axes(op)
    if listed is not op:
        return computes(settled(listed).spec, _KEPT)
    at, scaled = geometry(settled(op)), sure_axes(op) if scaled is None else scaled
    by_lengths = (rule(op, at) for rule in _DEVIATIONS) if at is not None else ()
    # A type that loses its sign is wrong under every size, so it is reported first.
    at_run_time = (_may_wrap_outside(op, at), _may_mix_up_axes(op, scaled, at))
    deviations = (_without_signs(op, scaled, at), *by_lengths, *at_run_time, _rounds_twice(op, scaled))
    return next((deviation for deviation in deviations if deviation is not None), None)


def _may_wrap_outside(op: ResizeOp, at: Geometry | None) -> Outcome | None:
    return differs(wrapping(op), _OUTSIDE) if at is None and wraps_extrapolation(op) else None


def _may_mix_up_axes(op: ResizeOp, scaled: Set[int], at: Geometry | None) -> Outcome | None:
    kernel, shape = op.spec.kernel, op.shape or ()
    is_exposed = isinstance(op.spec.coordinates, Crop) and (isinstance(kernel, Cubic) or kernel.is_antialiased)
    if at is not None or not is_exposed or not are_channels_last(shape, scaled) or shape[_LAST] == 1:
        return None
    return differs(_MIXED_UP, _OUTSIDE)


def _without_signs(op: ResizeOp, scaled: Set[int], at: Geometry | None) -> Outcome | None:
    if op.dtype != "int8" or (at is not None and not at.changing):  # it copies if no size changes
        return None
    if op.spec.kernel.is_antialiased:
        return differs("it turns negative int8 into zero under antialias")
    is_last = isinstance(op.spec.kernel, Cubic) and _grows_channels_last(op, scaled)
    return differs("its cubic turns negative int8 into zero if channels are last") if is_last else None


def _rounds_twice(op: ResizeOp, scaled: Set[int]) -> Outcome | None:
    """Return the cubic of integers whose channels come last, which is that of antialias without shrinking."""
    kernel = op.spec.kernel
    if not isinstance(kernel, Cubic) or not is_plain_cubic(op) or op.dtype not in ONNXRUNTIME_INTEGERS:
        return None
    if not _grows_channels_last(op, scaled):
        return None
    # That kernel serves growing axes as well, on which it widens nothing.
    spec = replace(op.spec, kernel=replace(kernel, antialias=Antialias.SHRINKING))
    return computes(spec, "its cubic rounds and clips integers after each axis if channels are last")


def _copies_all(op: ResizeOp, at: Geometry) -> Outcome | None:
    if at.changing or not at.keeping:
        return None
    return computes(copying(op.spec), "it copies if no size changes")


def _mixes_up_axes(op: ResizeOp, at: Geometry) -> Outcome | None:
    if not are_channels_last(at.in_sizes, at.scaled) or _extrapolates_all(op, at):
        return None
    cubic = isinstance(op.spec.kernel, Cubic)
    extrapolates = (cubic or op.spec.kernel.is_antialiased) and _extrapolates_other_outputs(op, at)
    moves = cubic and _moves_kept_axes(op, at)
    return differs(_MIXED_UP) if moves or extrapolates else None


def _moves_kept_axes(op: ResizeOp, at: Geometry) -> bool:
    """Return whether a node is to move an axis that keeps its size though its scale is not 1."""
    kept, coordinates = [axis for axis in at.keeping if at.in_sizes[axis] > 1], op.spec.coordinates
    if not isinstance(coordinates, Crop):
        return bool(kept) and coordinates is not Coordinates.ALIGN_CORNERS
    windows = dict(zip(resolve_axes(op.spec.axes, len(at.in_sizes)), coordinates.roi or (), strict=False))
    return any(windows.get(axis, _WHOLE) != _WHOLE for axis in kept)


def _extrapolates_all(op: ResizeOp, at: Geometry) -> bool:
    """Return whether every output of a crop takes the extrapolation value."""
    return any(all_outside for _, all_outside in _outside(op, at))


def _extrapolates_other_outputs(op: ResizeOp, at: Geometry) -> bool:
    """Return whether the extrapolation value reaches other outputs of channels-last images than it should.

    Their kernel writes it as if the channels came first. That is right for one channel, and if no output lies outside
    the image; any other pattern becomes another.
    """
    return at.in_sizes[_LAST] > 1 and any(any_outside for any_outside, _ in _outside(op, at))


def _copies_kept_axes(op: ResizeOp, at: Geometry) -> Outcome | None:
    if not op.spec.kernel.is_antialiased or not at.keeping:
        return None
    if isinstance(op.spec.coordinates, Crop):
        is_cropped = _moves_kept_axes(op, at) and not _extrapolates_all(op, at)
        return differs("it does not crop an axis that keeps its size under antialias") if is_cropped else None
    return computes(_without(op.spec, at.keeping, len(at.in_sizes)), "it copies an axis that keeps its size")


def _without(spec: ResizeSpec, axes: Set[int], rank: int) -> ResizeSpec:
    """Return a resize that keeps some of its axes."""
    listed = resolve_axes(spec.axes, rank)
    return replace(spec, axes=listed).only([place for place, axis in enumerate(listed) if axis not in axes])


def _ignores_crops(op: ResizeOp, at: Geometry) -> Outcome | None:
    cropped = _cropped(op, at)
    return None if cropped is op.spec else computes(cropped, "it ignores the crop of an axis whose scale is 1")


def _cropped(op: ResizeOp, at: Geometry) -> ResizeSpec:
    """Return a resize with the crops that are not ignored; the resize itself if none is."""
    crop = op.spec.coordinates
    windows = (crop.roi or ()) if isinstance(crop, Crop) else ()
    pairs = zip(resolve_axes(op.spec.axes, len(at.in_sizes)), windows, strict=False)
    taken = tuple(_WHOLE if at.scales[axis] == 1 and at.in_sizes[axis] > 1 else window for axis, window in pairs)
    if not isinstance(crop, Crop) or taken == windows:
        return op.spec
    return replace(op.spec, coordinates=replace(crop, roi=taken))


def _wraps_outside(op: ResizeOp, at: Geometry) -> Outcome | None:
    """Return that an extrapolation value beyond an integer type is wrapped, if an output takes it."""
    if not wraps_extrapolation(op) or not any(any_outside for any_outside, _ in _outside(op, at)):
        return None
    return differs(wrapping(op))


def wraps_extrapolation(op: ResizeOp) -> bool:
    """Return whether the extrapolation value of a crop of integers lies beyond their type."""
    crop, dtype = op.spec.coordinates, np.dtype(op.dtype if op.dtype in ONNXRUNTIME_INTEGERS else "float32")
    if not isinstance(crop, Crop) or dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return not limits.min <= math.trunc(float(np.float32(crop.extrapolation))) <= limits.max


def extrapolation_fault(op: ResizeOp) -> str:
    """Return the words for a crop with outputs that may take a wrapped extrapolation value; empty if none does."""
    at = geometry(settled(op)) if wraps_extrapolation(op) else None
    may_wrap = wraps_extrapolation(op) and (at is None or _wraps_outside(op, at) is not None)
    return wrapping(op) if may_wrap else ""


def wrapping(op: ResizeOp) -> str:
    """Return the words for a crop whose extrapolation value is wrapped."""
    crop = op.spec.coordinates
    value = f"{crop.extrapolation:g}" if isinstance(crop, Crop) else ""
    return f"it wraps the extrapolation value {value} around in {op.dtype}, on some processors"


def _outside(op: ResizeOp, at: Geometry) -> list[tuple[bool, bool]]:
    """Return for each axis whether any, and whether all, outputs take the extrapolation value of a crop."""
    outside = (taps.outside for taps in axis_taps(plan(_cropped(op, at), at.in_sizes)))
    return [(False, False) if each is None else (bool(each.any()), bool(each.all())) for each in outside]


# The first that applies decides: a node that changes no size is copied before any kernel is chosen.
_DEVIATIONS: tuple[Callable[[ResizeOp, Geometry], Outcome | None], ...] = (
    _copies_all,
    _mixes_up_axes,
    _copies_kept_axes,
    _wraps_outside,
    _ignores_crops,
)


def shrinks(op: ResizeOp) -> bool | None:
    """Return whether any scale is below 1; None if known only at run time."""
    target, at = op.spec.target, geometry(op)
    if isinstance(target, Scales):
        return min(target.values, default=1) < 1
    if at is not None:
        return at.shrinks
    if op.shape is None or not isinstance(target, Sizes):
        return None
    in_sizes = (op.shape[axis] or 0 for axis in resolve_axes(op.spec.axes, len(op.shape)))
    return True if any(n > size for n, size in zip(in_sizes, target.values, strict=True)) else None


# Rounding of integers


def cuts_off(op: ResizeOp) -> bool:
    """Return whether a linear resize in its way truncates integers."""
    return integer_sums.cuts_off(op.spec, op.dtype or "")


def rounds_each_axis(op: ResizeOp) -> bool:
    """Return whether integers are rounded, and clipped, after each axis rather than once."""
    return op.spec.kernel.is_antialiased and op.dtype in ONNXRUNTIME_INTEGERS


# onnxruntime, release by release: how its earlier CPU providers computed nodes that today's computes.
#
# Each rule was found by running the same 1,200 random nodes in 1.16, 1.20, 1.26, 1.28, 1.31 and 1.32, and selected
# nodes in the releases between (docs/runtimes.md). From 1.31 to 1.32 nothing changed.

_AT_HALVES = (Rounding.ROUND_PREFER_FLOOR, Rounding.ROUND_PREFER_CEIL)
_MATRIX = 2


def _counts_no_axes_from_the_end(op: ResizeOp) -> Outcome | None:
    if min(op.spec.axes or (0,)) >= 0:
        return None
    return crashes("it uses negative axes as memory offsets: it crashes, refuses, or returns another shape")


def _knows_no_ties(op: ResizeOp) -> Outcome | None:
    shape, kernel = static_shape(op.shape), op.spec.kernel
    if not isinstance(kernel, Nearest) or kernel.rounding not in _AT_HALVES or shape is None or op.spec.waits:
        return None
    if outcome(op).spec is None:
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
    if are_channels_last(at.in_sizes, at.scaled):
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
    if shape is None or op.spec.waits or outcome(op).kind is Kind.REFUSED:
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
    if not isinstance(crop, Crop) or crop.roi is None or outcome(op).spec is None:
        return None
    axes = resolve_axes(op.spec.axes, _IMAGE)
    windows = dict(zip(axes, crop.roi, strict=True))
    taken = tuple(windows.get(axis - 1, (0.0, 1.0)) if axis in at.scaled else windows[axis] for axis in axes)
    spec = replace(op.spec, coordinates=replace(crop, roi=taken))
    return computes(spec, "an antialiased cubic crop uses the windows of axes 1 and 2 for height and width")


_UNTIL_1_26 = (_counts_no_axes_from_the_end, _knows_no_ties)
_release = partial(Release, otherwise=outcome, takes_functions=True)
_RELEASES = {
    "1.16": _release(
        version="1.16",
        rules=(*_UNTIL_1_26, _no_cubic_of_channels_last, _overruns_matrices, _takes_windows_of_other_axes),
    ),
    "1.20": _release(version="1.18 to 1.20", rules=(*_UNTIL_1_26, _no_cubic_of_channels_last)),
    "1.26": _release(version="1.22 to 1.26", rules=_UNTIL_1_26),
    "1.30": _release(version="1.27 to 1.30", rules=(_narrows_what_is_negative,)),
    "1.31": _release(version="1.31 and 1.32"),
}


def _of_node(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    return outcome(op, may_change)


def _run(model: str, x: Array) -> Array:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # fatal errors only: scripts print results
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {session.get_inputs()[0].name: x})[0])


RUNTIME = Runtime(
    name="onnxruntime",
    title="onnxruntime",
    version="1.32",
    is_asked=True,
    of_node=_of_node,
    alone=outcome,
    takes_functions=True,
    runner=Runner(package="onnxruntime", distribution="onnxruntime", run=_run),
    releases=_RELEASES,
)
