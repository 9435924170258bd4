"""The resize of an image library as ONNX nodes, for images of dynamic size: byte for byte as the library.

The formulas are those of ``library_weights`` and ``passes`` of ``plan.libraries``, in float64 nodes, the products in
any order: integers below 2**53 are summed exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ir_interp.errors import InexactError
from ir_interp.plan.axes.coordinates import of_lengths
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import (
    Alpha,
    Arithmetic,
    Between,
    Box,
    Coordinates,
    Cubic,
    FixedPoint,
    Linear,
    Nearest,
    Passes,
    ResizeSpec,
)

from ..onnx.onnx_primitives import NodeTensor, node
from . import neighbour_sums
from .any_size_weights import Size, axis_taps, inverse, neighbours, rounded, windows
from .windowed_products import Picture, clipped


def resized(op: ResizeOp, x: NodeTensor, sizes: tuple[Size, Size]) -> NodeTensor:
    """Return ``x``, uint8 [height, width, channels], resized as a call does: integers as float32.

    A call that converts integers to floats, so that its ``dtype`` is float32, gives its values except for the last
    bits, as float64. Raises InexactError for a call without such a form.
    """
    spec, lengths = op.spec, lengths_of(x)
    if spec.box is not None or spec.before is not None:
        raise InexactError(
            op.name, "an ONNX subgraph", reason="a box, or block averages before the resize, need a static image size"
        )
    if isinstance(spec.kernel, Nearest):
        known_sizes = sizes_known(op, sizes)
        for axis in (0, 1):
            x = x.take(_nearest(op, known_sizes, lengths[axis], sizes[axis]), axis)
        return x
    rounds = spec.rounds
    if op.dtype == "float32" and _is_plain(spec):
        return _in_floats(x, spec, lengths, sizes)
    if spec.alpha is Alpha.SEPARATE and isinstance(rounds, FixedPoint) and rounds.lanes is None:
        if rounds.between is Between.SHORTENED:
            rows, columns = map(neighbours, lengths, sizes, [rounds.bits] * 2)
            return neighbour_sums.shortened(x, rows, columns, columns_first=True)
        if rounds.between is Between.KEPT and isinstance(spec.kernel, Linear):
            rows, columns = (neighbours(*axis, rounds.bits, "float64") for axis in zip(lengths, sizes, strict=True))
            return neighbour_sums.kept(x, rows, columns, rounds.bits)
        if rounds.between is Between.ROUNDED and isinstance(spec.kernel, Box | Linear | Cubic):
            return _in_passes(x, spec, rounds, lengths, sizes)
    raise InexactError(
        op.name,
        "an ONNX subgraph",
        reason=f"{spec.kernel} has no form in nodes for images of any size; add their size, as in --image-size 240,320",
    )


def _is_plain(spec: ResizeSpec) -> bool:
    """Return whether ``axis_weights`` are those of a resize of floats."""
    kernel, tabled = spec.kernel, spec.arithmetic is Arithmetic.TENSORFLOW and isinstance(spec.kernel, Cubic)
    if not isinstance(kernel, Box | Linear | Cubic) or spec.coordinates not in _COORDINATES:
        return False
    return kernel.is_antialiased or not (kernel.exclude_outside or tabled)


_PLACES = (0, 1)
"""The axes of outputs and of pixels in tables of weights."""
_COORDINATES = (Coordinates.HALF_PIXEL, Coordinates.ALIGN_CORNERS)


def _in_floats(
    x: NodeTensor, spec: ResizeSpec, lengths: tuple[NodeTensor, NodeTensor], sizes: tuple[Size, Size]
) -> NodeTensor:
    kernel, picture = spec.kernel, Picture.of(x, in_rows=True)
    assert isinstance(kernel, Box | Linear | Cubic)
    for axis in (1, 0):
        of_axis = lengths[axis], sizes[axis]
        weights = axis_taps(spec, *of_axis)[0].spread(*of_axis)
        picture = picture.summed(windows(kernel, *of_axis, [weights], _PLACES), axis)
    return picture.image


def lengths_of(x: NodeTensor) -> tuple[NodeTensor, NodeTensor]:
    """Return height and width of an image, each an int64 of one entry."""
    shape = node("Shape", x, dtype="int64")
    height, width = (shape.take([axis], 0) for axis in (0, 1))
    return height, width


def sizes_known(op: ResizeOp, sizes: tuple[Size, Size]) -> ResizeSpec:
    """Return a spec as it is for outputs of these sizes. Raises InexactError if it depends on run time."""
    known = [size.known for size in sizes if size.known is not None]
    if len(known) == len(sizes):
        return of_lengths(op.spec, known)
    small, large = (of_lengths(op.spec, lengths) for lengths in ((1, 1), (_MANY, _MANY)))
    if small != large:
        reason = "its pixels depend on sizes known only at run time; use --image-size 240,320"
        raise InexactError(op.name, "an ONNX subgraph", reason=reason)
    return small


_MANY = 2**20  # a spec that is equal for sizes of 1 and of this does not depend on the size
_RUNNING_TOTALS = (
    (Arithmetic.PILLOW, Coordinates.TF_HALF_PIXEL_FOR_NN),
    (Arithmetic.OPENCV_ADDED, Coordinates.TF_HALF_PIXEL_FOR_NN),
)


def _nearest(op: ResizeOp, spec: ResizeSpec, length: NodeTensor, size: Size) -> NodeTensor:
    """Return which pixels a nearest resize takes along an axis."""
    n, index = length.cast("float64"), size.index
    place = (spec.arithmetic, spec.coordinates)
    if place in _RUNNING_TOTALS:  # half a step, and steps added up
        steps = n / size.count * (index == 0.0).where(n.of(0.5), 1.0)
        at = node("CumSum", steps, n.of(0, "int64"))
    elif place == (Arithmetic.OPENCV_EXACT, Coordinates.ASYMMETRIC):
        at = inverse(size.count / n) * index
    elif place == (Arithmetic.OPENCV_EXACT, Coordinates.TF_HALF_PIXEL_FOR_NN):  # integers over 2**16
        step = ((n * 65536.0 + (size.count * 0.5).floor()) / size.count).floor()
        odd = n - (n * 0.5).floor() * 2.0
        at = (step * index + (step * 0.5).floor() - odd) / 65536.0
    elif place == (Arithmetic.TORCH_FUSED, Coordinates.TF_HALF_PIXEL_FOR_NN):  # from the middles of pixels, and back
        step = (n / size.count).cast("float32").cast("float64")
        at = (((index + 0.5) * step - 0.5).cast("float32") + 0.5).cast("float64")
    elif spec.arithmetic in (Arithmetic.TENSORFLOW, Arithmetic.TORCH, Arithmetic.TORCH_FUSED):
        centre = index + (0.5 if spec.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN else 0.0)
        at = (centre.cast("float32") * (n / size.count).cast("float32")).cast("float64")
    else:
        raise InexactError(op.name, "an ONNX subgraph", reason=f"{op.spec.arithmetic} has no form in nodes")
    return at.floor().maximum(0.0).minimum(n - 1.0).cast("int64")


def _in_passes(
    x: NodeTensor,
    spec: ResizeSpec,
    rounds: FixedPoint,
    lengths: tuple[NodeTensor, NodeTensor],
    sizes: tuple[Size, Size],
) -> NodeTensor:
    """Return sums that are rounded and cut after each axis."""
    kernel, axes = spec.kernel, list(zip(lengths, sizes, strict=True))
    assert isinstance(kernel, Box | Linear | Cubic)
    pieces = [windows(kernel, *of_axis, [_table(spec, *of_axis, rounds)], _PLACES) for of_axis in axes]

    def along(y: Picture, axis: int) -> Picture:
        return y.summed(pieces[axis], axis, lambda sums, _: clipped((sums + 0.5).floor().cast("float32")))

    picture = Picture.of(x, in_rows=True)
    rows_first = starts_with_rows(rounds, lengths, sizes)

    def columns_first() -> NodeTensor:
        return along(along(picture, 1), 0).image

    if rows_first is None:
        return columns_first()
    return _either(rows_first, lambda: along(along(picture, 0), 1).image, columns_first)


def _table(spec: ResizeSpec, length: NodeTensor, size: Size, rounds: FixedPoint) -> NodeTensor:
    taps, peak = axis_taps(spec, length, size)
    return replace(taps, weights=rounded(taps.weights, peak, rounds)).spread(length, size)


def starts_with_rows(
    rounds: FixedPoint, lengths: tuple[NodeTensor, NodeTensor], sizes: tuple[Size, Size]
) -> NodeTensor | None:
    """Return whether the library resizes the height first, of one entry; None if it never does."""
    if rounds.passes is Passes.LAST_FIRST:
        return None
    lost = [length - size.length for length, size in zip(lengths, sizes, strict=True)]
    is_tall = (lengths[0] > lengths[1] * 100) if rounds.passes is Passes.UNLESS_TALL else lost[0] > lost[1] * 2
    return (lost[0] > 0) & is_tall


def _either(condition: NodeTensor, yes: Callable[[], NodeTensor], no: Callable[[], NodeTensor]) -> NodeTensor:
    """Return the result of one of two functions; only that one runs."""
    from onnx import helper

    branches = {}
    outer = condition.ops.graph
    for name, make in (("then_branch", yes), ("else_branch", no)):
        start = len(outer.nodes)
        weights = make()
        inner, outer.nodes[start:] = outer.nodes[start:], []
        element = helper.np_dtype_to_tensor_dtype(np.dtype(weights.dtype))
        output = helper.make_tensor_value_info(weights.value, element, None)
        branches[name] = helper.make_graph(inner, name, [], [output])
    scalar = outer.node("Squeeze", condition.value)
    return condition.like(outer.node("If", scalar, **branches), weights.dtype)
