"""A resize as a few primitive operations, where no attributes say it: one place for every kind of graph.

Along an axis of known lengths the executor's own taps become constants; along others the same formulas become nodes
that compute indices and weights at run time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.symbols import Functions, Ops, Symbol, Value
from ir_interp import kernels
from ir_interp.coordinates import source, split
from ir_interp.errors import InexactError
from ir_interp.execute import stored
from ir_interp.geometry import plan, resolve_axes
from ir_interp.meaning import PartialShape, listed
from ir_interp.op import ResizeOp
from ir_interp.spec import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    Coordinates,
    Crop,
    Length,
    Linear,
    Nearest,
    ResizeSpec,
    Scales,
    Sizes,
    Step,
)
from ir_interp.taps import axis_taps, chosen_pixel, outside, spread
from ir_interp.translate import Grade

_DENSE = 256  # up to this length a product by a matrix is faster than gathered copies
_FEW = 4  # taps: so many copies are faster than a sum over a further axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposed:
    """The output of the operations, how they are called in one line, and how exact they are."""

    output: Value
    form: str
    grade: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """The taps of one axis, as arrays or as symbols: a copy where ``weights`` is None.

    ``in_size`` and the number of taps are None where only run time knows them.
    """

    axis: int
    in_size: int | None
    count: int | None
    indices: Any
    weights: Any
    beyond: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunTimeAxis:
    """The fields of an AxisPlan that its formula needs, as symbols."""

    in_size: Symbol
    out_size: Symbol
    scale: Symbol
    coordinates: Coordinates | Crop
    window: tuple[Symbol, Symbol]
    length: Length
    arithmetic: Arithmetic


def decompose(ops: Ops, x: Value, op: ResizeOp, *, target: Value = None, roi: Value = None) -> Decomposed:
    """Return ``x`` (of the shape of ``op``, None where open) resized as ``op`` says, by primitive operations.

    ``target`` is the tensor of sizes or scales, and ``roi`` that of the crop's windows, where they are inputs at run
    time. Floats are computed in float32; integers too, rounded half to even and saturated, or cut off where the
    source's runtime does so (``cuts_off``).
    """
    assert op.shape is not None
    spec = listed(op.spec, op.shape)
    x, shape = _padded(ops, x, spec, op.shape)
    known, rest = _parts(spec, shape)
    if rest and isinstance(spec.kernel, Area):
        raise InexactError(op.name, "primitive operations", reason="mode area needs lengths that are known")
    axes = [*_constant_axes(known, shape), *_run_time_axes(ops, x, rest, len(shape), target, roi)]
    dtype = op.dtype or "float32"
    copies = isinstance(spec.kernel, Nearest)
    y = x if copies or dtype == "float32" else ops.convert(x, "float32")
    for axis in axes:
        y = _resized(ops, y, axis, len(shape))
    if not copies:
        y = _stored(ops, y, dtype, cut=cuts_off(op))
    if isinstance(spec.coordinates, Crop):
        y = _extrapolated(ops, y, axes, len(shape), stored(spec.coordinates.extrapolation, dtype))
    return Decomposed(output=y, form=_form(axes, rest), grade=_grade(spec, axes, rest))


def _padded(ops: Ops, x: Value, spec: ResizeSpec, shape: PartialShape) -> tuple[Value, PartialShape]:
    """Lay the spec's zeros around ``x``."""
    if not spec.pads:
        return x, shape
    begin, end = [0] * len(shape), [0] * len(shape)
    for pad in spec.pads:
        begin[pad.axis], end[pad.axis] = pad.begin, pad.end
    sums = zip(shape, begin, end, strict=True)
    return ops.pad(x, begin, end), tuple(None if n is None else n + before + after for n, before, after in sums)


def _parts(spec: ResizeSpec, shape: PartialShape) -> tuple[ResizeSpec | None, ResizeSpec | None]:
    """Return the resize of the axes whose lengths are all known, and that of the others: None where there is none."""
    bare = replace(spec, pads=())
    axes = resolve_axes(spec.axes, len(shape))
    crop = spec.coordinates if isinstance(spec.coordinates, Crop) else None
    open_target = not isinstance(spec.target, Sizes | Scales) or (crop is not None and crop.roi is None)
    places = [place for place, axis in enumerate(axes) if open_target or shape[axis] is None]
    joined = spec.aspect is not Aspect.STRETCH or _antialias(spec) is Antialias.ANY_SHRINKING
    if not places:
        return bare, None
    if len(places) == len(axes) or joined:
        return None, bare
    others = [place for place in range(len(axes)) if place not in places]
    return _only(bare, axes, others), _only(bare, axes, places)


def _only(spec: ResizeSpec, axes: tuple[int, ...], places: list[int]) -> ResizeSpec:
    """Return the resize of some of the axes."""
    assert isinstance(spec.target, Sizes | Scales)
    values: Any = tuple(spec.target.values[place] for place in places)
    coordinates = spec.coordinates
    if isinstance(coordinates, Crop) and coordinates.roi is not None:
        coordinates = replace(coordinates, roi=tuple(coordinates.roi[place] for place in places))
    return replace(
        spec, axes=tuple(axes[place] for place in places), target=type(spec.target)(values), coordinates=coordinates
    )


def _antialias(spec: ResizeSpec) -> Antialias:
    return Antialias.OFF if isinstance(spec.kernel, Nearest | Area) else spec.kernel.antialias


def _constant_axes(spec: ResizeSpec | None, shape: PartialShape) -> Iterator[_Axis]:
    """Yield the executor's taps, the axis that shrinks most first, but those without outputs last.

    OpenVINO's CPU plugin dies of a Gather from an empty tensor.
    """
    if spec is None:
        return
    bound = plan(spec, tuple(1 if length is None else length for length in shape))
    pairs = sorted(
        zip(bound.axes, axis_taps(bound), strict=True),
        key=lambda pair: (pair[0].out_size == 0, pair[0].out_size / pair[0].in_size),
    )
    for axis, taps in pairs:
        copies = taps.weights is None or axis.out_size == 0
        yield _Axis(
            axis=axis.axis,
            in_size=axis.in_size,
            count=taps.indices.shape[1],
            indices=taps.indices[:, 0] if copies else taps.indices,
            weights=None if copies else taps.weights,
            beyond=taps.outside,
        )


def _run_time_axes(
    ops: Ops, x: Value, spec: ResizeSpec | None, rank: int, target: Value, roi: Value
) -> Iterator[_Axis]:
    """Yield taps computed by nodes: the executor's formulas, on symbols."""
    if spec is None:
        return
    xp = Functions(ops)
    axes = resolve_axes(spec.axes, rank)
    lengths = ops.convert(ops.lengths(x), "float32")
    in_sizes = [_entry(ops, lengths, axis) for axis in axes]
    out_sizes, scales = _lengths(xp, spec, in_sizes, _targets(ops, spec, len(axes), target))
    windows = _windows(ops, spec, len(axes), roi)
    for axis, n, m, s, window in zip(axes, in_sizes, out_sizes, scales, windows, strict=True):
        bound = _RunTimeAxis(
            in_size=n,
            out_size=m,
            scale=s,
            coordinates=spec.coordinates,
            window=window,
            length=spec.length,
            arithmetic=spec.arithmetic,
        )
        yield _taps(xp, spec, axis, bound, scales)


def _entry(ops: Ops, vector: Value, place: int) -> Symbol:
    return Symbol(ops, ops.gather(vector, ops.constant(np.int64(place)), 0))


def _targets(ops: Ops, spec: ResizeSpec, count: int, target: Value) -> list[Symbol]:
    if isinstance(spec.target, Sizes | Scales):
        return [Symbol(ops, ops.constant(np.float32(value))) for value in spec.target.values]
    values = target if spec.gives_scales else ops.convert(target, "float32")
    return [_entry(ops, values, place) for place in range(count)]


def _lengths(
    xp: Functions, spec: ResizeSpec, in_sizes: list[Symbol], targets: list[Symbol]
) -> tuple[list[Symbol], list[Symbol]]:
    """Return output lengths and scales, as ``geometry`` finds them, in float32."""
    if spec.gives_scales:
        slack = [scale + 1e-6 if spec.arithmetic is Arithmetic.OPENVINO else scale for scale in targets]
        out_sizes = [xp.floor(n * scale) for n, scale in zip(in_sizes, slack, strict=True)]
        return out_sizes, [_step(xp, spec, *each) for each in zip(in_sizes, out_sizes, targets, strict=True)]
    ratios = [m / n for n, m in zip(in_sizes, targets, strict=True)]
    if spec.aspect is Aspect.STRETCH:
        return targets, ratios
    scale = functools.reduce(xp.minimum if spec.aspect is Aspect.NOT_LARGER else xp.maximum, ratios)
    products = [split(scale * n, Arithmetic.EXACT, xp) for n in in_sizes]
    return [product.floor + (product.half >= 0) for product in products], [scale] * len(in_sizes)


def _step(xp: Functions, spec: ResizeSpec, n: Symbol, m: Symbol, scale: Symbol) -> Symbol:
    """Return the scale that coordinates use."""
    match spec.step:
        case Step.GIVEN:
            return scale
        case Step.GIVEN_UNLESS_EQUAL:
            return xp.where(m == n, 1.0, scale)
        case Step.RATIO:
            return m / n


def _windows(ops: Ops, spec: ResizeSpec, count: int, roi: Value) -> list[tuple[Any, Any]]:
    if not isinstance(spec.coordinates, Crop):
        return [(0.0, 1.0)] * count
    if spec.coordinates.roi is not None:
        return list(spec.coordinates.roi)
    edges = ops.convert(roi, "float32")
    return [(_entry(ops, edges, place), _entry(ops, edges, place + count)) for place in range(count)]


def _taps(xp: Functions, spec: ResizeSpec, axis: int, bound: _RunTimeAxis, scales: list[Symbol]) -> _Axis:
    """Return the taps of one axis as ``taps`` makes them of a plan."""
    coordinate = xp.single(source(bound, xp.arange(0, bound.out_size), xp.numbers()))
    at = split(xp.precise(coordinate), bound.arithmetic, xp)
    last = bound.in_size - 1
    beyond = outside(at, bound.in_size) if isinstance(bound.coordinates, Crop) else None
    kernel = spec.kernel
    if isinstance(kernel, Nearest):
        chosen = xp.clip(chosen_pixel(at, kernel.rounding, shrinks=bound.scale < 1), 0, last)
        return _Axis(axis=axis, in_size=None, count=1, indices=chosen, weights=None, beyond=beyond)
    assert not isinstance(kernel, Area)
    widening = _widening(xp, kernel.antialias, bound.scale, scales)
    reach = xp.ceil(kernels.radius(kernel) / widening) if isinstance(widening, Symbol) else kernels.radius(kernel)
    indices, weights = spread(kernel, at, bound.in_size, widening=widening, reach=reach, xp=xp)
    count = None if isinstance(reach, Symbol) else 2 * reach
    return _Axis(axis=axis, in_size=None, count=count, indices=indices, weights=weights, beyond=beyond)


def _widening(xp: Functions, antialias: Antialias, scale: Symbol, scales: list[Symbol]) -> Any:
    match antialias:
        case Antialias.OFF:
            return 1.0
        case Antialias.SHRINKING:
            return xp.minimum(scale, 1.0)
        case Antialias.ANY_SHRINKING:
            return xp.where(functools.reduce(xp.minimum, scales) < 1, scale, 1.0)


def _resized(ops: Ops, x: Value, axis: _Axis, rank: int) -> Value:
    """Return ``x`` resized along one axis."""
    if axis.weights is None:
        return ops.gather(x, _index(ops, axis.indices), axis.axis)
    if axis.in_size is not None and axis.in_size <= _DENSE:
        return _product(ops, x, axis, rank)
    if axis.count is not None and axis.count <= _FEW:
        return _few(ops, x, axis, axis.count, rank)
    if rank > 5:  # a Multiply of rank 7 may compute garbage in OpenVINO's CPU plugin
        return _run_time_product(ops, x, axis, rank) if axis.in_size is None else _product(ops, x, axis, rank)
    taps = ops.gather(x, _index(ops, axis.indices), axis.axis)
    after = range(2, rank - axis.axis + 1)
    weighted = ops.elementwise("multiply", taps, _aligned(ops, axis.weights, after))
    return ops.total(weighted, axis.axis + 1, keep=False)


def _index(ops: Ops, indices: Any) -> Value:
    if isinstance(indices, Symbol):
        return ops.convert(indices.value, "int64")
    return ops.constant(indices.astype(np.int64))


def _aligned(ops: Ops, array: Any, axes: range) -> Value:
    """Return an array with trailing axes of length 1, so that it goes with ``x`` from its axis on."""
    if isinstance(array, Symbol):
        return ops.unsqueeze(array.value, tuple(axes)) if axes else array.value
    dtype = array.dtype if array.dtype == np.bool_ else np.float32
    return ops.constant(array.astype(dtype).reshape(array.shape + (1,) * len(axes)))


def _few(ops: Ops, x: Value, axis: _Axis, count: int, rank: int) -> Value:
    """Return a weighted sum of a few gathered copies: cheap where the axis is long."""
    after = range(1, rank - axis.axis)
    terms = []
    for tap in range(count):
        taken = ops.gather(x, _index(ops, _column(ops, axis.indices, tap)), axis.axis)
        terms.append(ops.elementwise("multiply", taken, _aligned(ops, _column(ops, axis.weights, tap), after)))
    return functools.reduce(functools.partial(ops.elementwise, "add"), terms)


def _column(ops: Ops, array: Any, tap: int) -> Any:
    if isinstance(array, Symbol):
        return Symbol(ops, ops.gather(array.value, ops.constant(np.int64(tap)), 1))
    return array[:, tap]


def _product(ops: Ops, x: Value, axis: _Axis, rank: int) -> Value:
    """Return a product by a matrix of all weights: the fastest where the axis is short."""
    assert axis.in_size is not None
    matrix = np.zeros((len(axis.indices), axis.in_size))
    np.add.at(matrix, (np.arange(len(matrix))[:, None], axis.indices), axis.weights)
    if axis.axis == rank - 2:
        return ops.matmul(ops.constant(matrix.astype(np.float32)), x)
    return _multiplied(ops, x, ops.constant(np.ascontiguousarray(matrix.T, np.float32)), axis.axis, rank)


def _run_time_product(ops: Ops, x: Value, axis: _Axis, rank: int) -> Value:
    """Return a product by a matrix of all weights that is made at run time."""
    xp = Functions(ops)
    length = _entry(ops, ops.convert(ops.lengths(x), "float32"), axis.axis)
    met = xp.expand_dims(axis.indices, 2) == xp.arange(0, length)
    matrix = xp.sum(xp.where(met, xp.expand_dims(axis.weights, 2), 0.0), axis=1, keepdims=False)
    return _multiplied(ops, x, ops.transpose(matrix.value, (1, 0)), axis.axis, rank)


def _multiplied(ops: Ops, x: Value, right: Value, axis: int, rank: int) -> Value:
    """Return ``x`` with ``axis`` multiplied by a matrix from the right."""
    if axis == rank - 1:
        return ops.matmul(x, right)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return ops.transpose(ops.matmul(ops.transpose(x, order), right), order)


def cuts_off(op: ResizeOp) -> bool:
    """Say whether the source's runtime leaves out what follows the point of integers: onnxruntime, linear."""
    plain = isinstance(op.spec.kernel, Linear) and op.spec.kernel.antialias is Antialias.OFF
    return plain and op.spec.arithmetic is Arithmetic.ONNXRUNTIME and op.dtype in ("uint8", "int8", "int32")


def _stored(ops: Ops, x: Value, dtype: str, *, cut: bool) -> Value:
    """Return floats in the element type of the resize; a conversion to integers cuts off by itself."""
    if "int" in dtype:
        low, high = _bounds(dtype)
        x = x if cut else ops.elementwise("round", x)
        x = ops.elementwise("minimum", ops.elementwise("maximum", x, ops.constant(low)), ops.constant(high))
    return x if dtype == "float32" else ops.convert(x, dtype)


def _bounds(dtype: str) -> tuple[Any, Any]:
    """Return the least and largest float32 numbers that an integer type can hold."""
    low, high = (np.float32(bound) for bound in (np.iinfo(dtype).min, np.iinfo(dtype).max))
    return low, high if int(high) <= np.iinfo(dtype).max else np.nextafter(high, np.float32(0))


def _extrapolated(ops: Ops, y: Value, axes: list[_Axis], rank: int, value: NDArray[Any]) -> Value:
    """Fill what a crop takes from outside the image."""
    for axis in axes:
        if axis.beyond is not None and (isinstance(axis.beyond, Symbol) or axis.beyond.any()):
            mask = _aligned(ops, axis.beyond, range(1, rank - axis.axis))
            y = ops.elementwise("select", mask, ops.constant(value), y)
    return y


def _form(axes: list[_Axis], at_run_time: ResizeSpec | None) -> str:
    """Return which axes are copied from, which weighed, and whether indices are constants."""
    if not axes:
        return "nothing"
    listing = ", ".join(str(axis.axis) for axis in sorted(axes, key=lambda axis: axis.axis))
    kind = "copies" if axes[0].weights is None else "weighted sums"
    return f"{kind} along axes {listing}" + (", indices at run time" if at_run_time else "")


def _grade(spec: ResizeSpec, axes: list[_Axis], at_run_time: ResizeSpec | None) -> Grade:
    """Say how exact it is: constant taps are those of one length, and run time has no rationals to decide a tie."""
    if at_run_time and spec.arithmetic is Arithmetic.EXACT and isinstance(spec.kernel, Nearest):
        return Grade.EXACT_BUT_TIES
    return Grade.EXACT_FOR_SHAPE if any(axis.in_size is not None for axis in axes) else Grade.DECOMPOSED
