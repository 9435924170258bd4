"""Resize along one axis, given its taps: by a copy, by a matrix, or by a weighted sum of copies.

The taps of a static axis are constants. Those of a dynamic axis are the executor's formulas as nodes of the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

import numpy as np

from ir_interp.plan import formulas
from ir_interp.plan.float_arithmetic import length_steps
from ir_interp.plan.formulas import source, split
from ir_interp.plan.taps import chosen_pixel, covered, neighbours, outside, spread
from ir_interp.shapes import Array, resolve_axes
from ir_interp.specs import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    Coordinates,
    Crop,
    Cubic,
    Length,
    Linear,
    Mean,
    Nearest,
    ResizeSpec,
    Scales,
    Sizes,
    Step,
)
from ir_interp.specs.resize_spec import MOST_OF_BOTH

from .tensor import Functions, Ops, Tensor, Value

_DENSE = 256  # up to this size a matrix product is faster than gathered copies
_FEW = 4  # taps: so many copies are faster than a sum over a further axis


Column: TypeAlias = "Array | Tensor[Ops]"
"""Indices or weights: constants, or computed at run time."""
Columns: TypeAlias = "Column | tuple[Tensor[Ops], ...]"
"""The same, of run time possibly one by one, an entry for each tap; see ``in_columns``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisTaps:
    """The taps of one axis: a copy if ``weights`` is None.

    ``in_size`` and the number of taps are None if known only at run time.
    """

    axis: int
    indices: Columns
    in_size: int | None = None
    count: int | None = None
    weights: Columns | None = None
    beyond: Column | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """An axis of a tensor of some rank, and the rank of the indices at which entries of it are taken (1 or 2)."""

    axis: int
    rank: int
    indices: int = 1


Take = Callable[[Ops, Value, Value, Place], Value]
"""Returns the entries of an axis at indices: (ops, x, indices, place)."""


def by_gather(ops: Ops, x: Value, indices: Value, place: Place) -> Value:
    """Take entries by one Gather."""
    return ops.gather(x, indices, place.axis)


def by_elements(ops: Ops, x: Value, indices: Value, place: Place) -> Value:
    """Take entries by GatherElements, which needs an index for each element."""
    before, rest = ops.cut(ops.lengths(x), ops.constant(np.array([place.axis])))
    _, after = ops.cut(rest, ops.constant(np.array([1])))
    if place.indices == 1:
        return _elements(ops, x, indices, place, ops.concat([before, ops.lengths(indices), after], 0))
    # GatherElements returns one entry for each index along an axis, so a further axis is joined first.
    flat = ops.reshape(indices, ops.constant(np.array([-1])))
    taken = _elements(ops, x, flat, place, ops.concat([before, ops.lengths(flat), after], 0))
    return ops.reshape(taken, ops.concat([before, ops.lengths(indices), after], 0))


def _elements(ops: Ops, x: Value, indices: Value, place: Place, shape: Value) -> Value:
    behind = tuple(range(1, place.rank - place.axis))
    places = ops.broadcast(ops.unsqueeze(indices, behind) if behind else indices, shape)
    return ops.gather_elements(x, places, place.axis)


def resized(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return ``x`` resized along one axis."""
    return _way(axis, rank)(ops, x, axis, rank, take)


def gathers(axis: AxisTaps, rank: int) -> bool:
    """Return whether ``resized`` takes entries of ``x``."""
    return _way(axis, rank) not in (_product, _run_time_product)


def gathered_at_once(ops: Ops, axis: AxisTaps) -> int | Tensor[Ops]:
    """Return how many taps of an output are taken at once."""
    if axis.weights is None or (axis.count is not None and axis.count <= _FEW):
        return 1
    assert not isinstance(axis.indices, tuple)  # these are few
    return length(ops, axis.indices, 1) if isinstance(axis.indices, Tensor) else axis.indices.shape[1]


def _way(axis: AxisTaps, rank: int) -> Callable[[Ops, Value, AxisTaps, int, Take], Value]:
    if axis.weights is None:
        return _copies
    if axis.in_size is not None and axis.in_size <= _DENSE:
        return _product
    if axis.count is not None and axis.count <= _FEW:
        return _few
    if rank > 5:  # a Multiply of rank 7 may compute garbage in OpenVINO's CPU plugin
        return _run_time_product if axis.in_size is None else _product
    return _many


def in_columns(ops: Ops, axis: AxisTaps) -> AxisTaps:
    """Return the few taps of run time one by one, so that nodes built from them twice are shared."""
    if not isinstance(axis.weights, Tensor) or axis.count is None or axis.count > _FEW:
        return axis
    assert isinstance(axis.indices, Tensor)
    indices, weights = (
        tuple(_entries(ops, tensor, tap) for tap in range(axis.count)) for tensor in (axis.indices, axis.weights)
    )
    return replace(axis, indices=indices, weights=weights)


def length(ops: Ops, array: Tensor[Ops], axis: int) -> Tensor[Ops]:
    """Return the size of an axis."""
    return entry(ops, ops.convert(ops.lengths(array.value), "float32"), axis)


def entry(ops: Ops, vector: Value, place: int) -> Tensor[Ops]:
    """Return one entry of a vector as a float32 tensor."""
    return Tensor(ops, ops.gather(vector, ops.constant(np.int64(place)), 0))


def _index(ops: Ops, indices: Columns) -> Value:
    assert not isinstance(indices, tuple)
    if isinstance(indices, Tensor):
        return ops.convert(indices.value, "int64")
    return ops.constant(indices.astype(np.int64))


def aligned(ops: Ops, array: Column, axes: range) -> Value:
    """Return an array with trailing axes of size 1, so that it broadcasts with ``x`` from its axis on."""
    if isinstance(array, Tensor):
        return ops.unsqueeze(array.value, tuple(axes)) if axes else array.value
    dtype = array.dtype if array.dtype == np.bool_ else np.float32
    return ops.constant(array.astype(dtype).reshape(array.shape + (1,) * len(axes)))


def _copies(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    return take(ops, x, _index(ops, axis.indices), Place(axis.axis, rank))


def _many(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return a sum over a further axis, that of the taps."""
    taps = take(ops, x, _index(ops, axis.indices), Place(axis.axis, rank, indices=2))
    assert isinstance(axis.weights, np.ndarray | Tensor)
    weighted = ops.elementwise("multiply", taps, aligned(ops, axis.weights, range(2, rank - axis.axis + 1)))
    return ops.total(weighted, axis.axis + 1, keep=False)


def _few(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return a weighted sum of a few gathered copies: cheap if the axis is long."""
    assert axis.count is not None
    assert axis.weights is not None
    after = range(1, rank - axis.axis)
    terms = []
    for tap in range(axis.count):
        taken = take(ops, x, _index(ops, _column(ops, axis.indices, tap)), Place(axis.axis, rank))
        terms.append(ops.elementwise("multiply", taken, aligned(ops, _column(ops, axis.weights, tap), after)))
    return functools.reduce(functools.partial(ops.elementwise, "add"), terms)


def _column(ops: Ops, array: Columns, tap: int) -> Column:
    if isinstance(array, tuple):
        return array[tap]
    return _entries(ops, array, tap) if isinstance(array, Tensor) else np.asarray(array[:, tap])


def _entries(ops: Ops, tensor: Tensor[Ops], tap: int) -> Tensor[Ops]:
    return Tensor(ops, ops.gather(tensor.value, ops.constant(np.int64(tap)), 1))


def _product(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return a product by a matrix of all weights: fastest if the axis is short."""
    assert axis.in_size is not None
    assert isinstance(axis.indices, np.ndarray)
    assert isinstance(axis.weights, np.ndarray)
    matrix = np.zeros((len(axis.indices), axis.in_size))
    # Taps that repeat a pixel, at an edge, add up; an assignment would keep the last.
    np.add.at(matrix, (np.arange(len(matrix))[:, None], axis.indices), axis.weights)
    # A product from the left needs no transpose around it.
    if axis.axis == rank - 2:
        return ops.matmul(ops.constant(matrix.astype(np.float32)), x)
    return _multiplied(ops, x, ops.constant(np.ascontiguousarray(matrix.T, np.float32)), axis.axis, rank)


def _run_time_product(ops: Ops, x: Value, axis: AxisTaps, rank: int, take: Take) -> Value:
    """Return a product by a matrix of all weights that is built at run time."""
    xp = Functions(ops)
    assert isinstance(axis.indices, Tensor)
    assert isinstance(axis.weights, Tensor)
    # A comparison with every index scatters the weights: ScatterND does not add them before operator set 16.
    met = axis.indices.unsqueeze(2) == xp.arange(0, length(ops, Tensor(ops, x), axis.axis))
    matrix = xp.sum(xp.where(met, xp.expand_dims(axis.weights, 2), 0.0), axis=1, keepdims=False)
    return _multiplied(ops, x, ops.transpose(matrix.value, (1, 0)), axis.axis, rank)


def _multiplied(ops: Ops, x: Value, right: Value, axis: int, rank: int) -> Value:
    """Return ``x`` with ``axis`` multiplied by a matrix from the right."""
    if axis == rank - 1:
        return ops.matmul(x, right)
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return ops.transpose(ops.matmul(ops.transpose(x, order), right), order)


Window: TypeAlias = "tuple[float | Tensor[Ops], float | Tensor[Ops]]"
"""The start and end of a crop, as parts of an axis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimeAxis:
    """The fields of an AxisPlan that its formula needs, as tensors; ``scales`` are those of all axes.

    ``inverse`` is the step by which PyTorch multiplies; other coordinates are divided by ``scale``.
    """

    axis: int
    in_size: Tensor[Ops]
    out_size: Tensor[Ops]
    scale: Tensor[Ops]
    asked: Tensor[Ops]
    scales: tuple[Tensor[Ops], ...]
    coordinates: Coordinates | Crop
    window: Window
    length: Length
    arithmetic: Arithmetic
    inverse: Tensor[Ops] | None = None
    start: int = 0


def run_time_axes(
    ops: Ops, x: Value, spec: ResizeSpec | None, rank: int, target: Value, roi: Value
) -> Iterator[RunTimeAxis]:
    """Yield axes whose sizes, scales and coordinates nodes compute."""
    if spec is None:
        return
    xp = Functions(ops)
    axes = resolve_axes(spec.axes, rank)
    sizes = ops.convert(ops.lengths(x), "float32")
    in_sizes = [entry(ops, sizes, axis) for axis in axes]
    windows = _windows(ops, spec, len(axes), roi)
    out_sizes, asked = _lengths(xp, spec, in_sizes, windows, _targets(ops, spec, len(axes), target))
    is_torch = spec.arithmetic is Arithmetic.TORCH
    own = _own_ratios(xp, spec, in_sizes, out_sizes)
    scales = [_step(xp, spec, *axis) for axis in zip(in_sizes, out_sizes, asked, own, strict=True)]
    inverses = _inverses(xp, spec, in_sizes, out_sizes, own) if is_torch else [None] * len(axes)
    for axis, n, m, s, scale, window, inverse in zip(
        axes, in_sizes, out_sizes, scales, asked, windows, inverses, strict=True
    ):
        yield RunTimeAxis(
            axis=axis,
            in_size=n,
            out_size=m,
            scale=s,
            asked=scale,
            scales=tuple(scales),
            coordinates=spec.coordinates,
            window=window,
            length=spec.length,
            # PyTorch's own split concerns float64, which no graph computes.
            arithmetic=Arithmetic.EXACT if is_torch else spec.arithmetic,
            inverse=inverse,
        )


def coordinates(xp: Functions[Ops], bound: RunTimeAxis) -> Tensor[Ops]:
    """Return the source coordinate of every output index."""
    numbers, inverse = xp.numbers(), bound.inverse
    if inverse is not None:
        numbers = replace(numbers, over=lambda x, _: x * inverse)
    # One quotient off by a last place would take another pixel at a tie.
    return xp.precise(source(bound, xp.arange(0, bound.out_size), numbers))


def _targets(ops: Ops, spec: ResizeSpec, count: int, target: Value) -> list[Tensor[Ops]]:
    if isinstance(spec.target, Sizes | Scales):
        return [Tensor(ops, ops.constant(np.float32(value))) for value in spec.target.values]
    values = target if spec.gives_scales else ops.convert(target, "float32")
    return [entry(ops, values, place) for place in range(count)]


def _lengths(
    xp: Functions[Ops],
    spec: ResizeSpec,
    in_sizes: list[Tensor[Ops]],
    windows: list[Window],
    targets: list[Tensor[Ops]],
) -> tuple[list[Tensor[Ops]], list[Tensor[Ops]]]:
    """Return output sizes and requested scales, as ``plan.taps`` computes them, in float32."""
    if isinstance(spec.target, Scales) and spec.arithmetic is Arithmetic.TORCH:
        pairs = zip(in_sizes, spec.target.values, strict=True)
        return [_scaled(xp, n, float(scale)) for n, scale in pairs], targets
    if spec.gives_scales:
        # OpenVINO adds it, so that a product just below an integer counts as that integer.
        slack = [scale + 1e-6 if spec.arithmetic is Arithmetic.OPENVINO else scale for scale in targets]
        if isinstance(spec.coordinates, Crop) and spec.coordinates.scales_window:
            in_sizes = [n * (end - start) for n, (start, end) in zip(in_sizes, windows, strict=True)]
        return [xp.floor(n * scale) for n, scale in zip(in_sizes, slack, strict=True)], targets
    ratios = [m / n for n, m in zip(in_sizes, targets, strict=True)]
    if spec.aspect is Aspect.STRETCH:
        return targets, ratios
    scale = functools.reduce(xp.minimum if spec.aspect.takes_smallest else xp.maximum, ratios)
    # Not floor(x + 1/2), which float32 rounds up from just below a half.
    products = [split(scale * n, Arithmetic.EXACT, xp) for n in in_sizes]
    return [product.floor + (product.half >= 0) for product in products], [scale] * len(in_sizes)


def _scaled(xp: Functions[Ops], n: Tensor[Ops], scale: float) -> Tensor[Ops]:
    """Return float64's floor(n * scale)."""
    return length_steps(scale).of(n.unsqueeze(0), xp).take(0, 0)


def _own_ratios(
    xp: Functions[Ops], spec: ResizeSpec, in_sizes: list[Tensor[Ops]], out_sizes: list[Tensor[Ops]]
) -> list[dict[float, Tensor[Ops]]]:
    """Return the ratios that an axis has whatever its scale, each with the condition under which it does."""
    pairs = list(zip(in_sizes, out_sizes, strict=True))
    if not spec.gives_scales or spec.step not in (Step.GIVEN_UNLESS_EQUAL, Step.GIVEN_UNLESS_DOUBLED):
        return [{} for _ in pairs]
    equal = [{1.0: m == n} for n, m in pairs]
    if spec.step is Step.GIVEN_UNLESS_EQUAL:
        return equal
    if len(pairs) != 2:  # only images have PyTorch's other loop
        return [{} for _ in pairs]
    is_small = out_sizes[0] + out_sizes[1] <= MOST_OF_BOTH
    return [{1.0: (m == n) & is_small, 2.0: (m == n * 2) & is_small} for n, m in pairs]


def _step(
    xp: Functions[Ops],
    spec: ResizeSpec,
    n: Tensor[Ops],
    m: Tensor[Ops],
    scale: Tensor[Ops],
    own: dict[float, Tensor[Ops]],
) -> Tensor[Ops]:
    """Return the scale that coordinates use."""
    if spec.step is Step.RATIO and (spec.gives_scales or spec.aspect is not Aspect.STRETCH):
        return m / n
    for ratio, applies in own.items():
        scale = xp.where(applies, ratio, scale)
    return scale


def _inverses(
    xp: Functions[Ops],
    spec: ResizeSpec,
    in_sizes: list[Tensor[Ops]],
    out_sizes: list[Tensor[Ops]],
    own: list[dict[float, Tensor[Ops]]],
) -> list[Tensor[Ops]]:
    """Return PyTorch's steps: the float32 nearest to 1 / scale, or the quotient of both sizes."""
    if not isinstance(spec.target, Scales) or spec.step is Step.RATIO:
        return [n / m for n, m in zip(in_sizes, out_sizes, strict=True)]
    inverses = [xp.tensor(1 / float(scale)) for scale in spec.target.values]
    for place, ratios in enumerate(own):
        for ratio, applies in ratios.items():
            inverses[place] = xp.where(applies, 1 / ratio, inverses[place])
    return inverses


def _windows(ops: Ops, spec: ResizeSpec, count: int, roi: Value) -> list[Window]:
    if not isinstance(spec.coordinates, Crop):
        return [(0.0, 1.0)] * count
    if spec.coordinates.roi is not None:
        return list(spec.coordinates.roi)
    # All starts come first, then all ends.
    edges = ops.convert(roi, "float32")
    return [(entry(ops, edges, place), entry(ops, edges, place + count)) for place in range(count)]


def run_time_taps(ops: Ops, spec: ResizeSpec, bound: RunTimeAxis) -> AxisTaps:
    """Return the taps of one axis as ``taps`` computes them from a plan: the executor's formulas, on tensors."""
    xp, axis = Functions(ops), bound.axis
    at = split(coordinates(xp, bound), bound.arithmetic, xp)
    last = bound.in_size - 1
    beyond = outside(at, bound.in_size, xp) if isinstance(bound.coordinates, Crop) else None
    kernel = spec.kernel
    if isinstance(kernel, Nearest):
        # Resize-10 rounds by whether the axis shrinks.
        chosen = xp.clip(chosen_pixel(at, kernel.rounding, shrinks=bound.scale < 1), 0, last)
        return AxisTaps(axis=axis, count=1, indices=chosen, beyond=beyond)
    if isinstance(kernel, Mean):
        indices, weights = _mean(xp, bound)
        return AxisTaps(axis=axis, indices=indices, weights=weights)
    if isinstance(kernel, Area):
        step = _covered_step(xp, bound)
        indices, weights = covered(at, bound.in_size, step=step, reach=xp.ceil(step), xp=xp)
        return AxisTaps(axis=axis, indices=indices, weights=weights, beyond=beyond)
    assert isinstance(kernel, Linear | Cubic)
    widening = _widening(xp, kernel.antialias, bound)
    reach = (
        xp.ceil(formulas.radius(kernel) / widening) if isinstance(widening, Tensor) else int(formulas.radius(kernel))
    )
    indices, distance = neighbours(at, reach, xp)
    indices, weights = spread(kernel, indices, distance * widening, bound.in_size, xp)
    count = None if isinstance(reach, Tensor) else 2 * reach
    return AxisTaps(axis=axis, count=count, indices=indices, weights=weights, beyond=beyond)


def _mean(xp: Functions[Ops], bound: RunTimeAxis) -> tuple[Tensor[Ops], Tensor[Ops]]:
    """Return the pixels from floor(i * in / out) up to ceil((i + 1) * in / out), with equal weights.

    Exact for sizes up to 2**14: i is split in two, so that all products stay below 2**22.
    """
    n, m = bound.in_size, bound.out_size
    high, low = _divided(xp.arange(0, m), xp.tensor(_DIGIT))
    (upper, upper_rest), (lower, lower_rest) = (_divided(digit * n, m) for digit in (high, low))
    carry, rest = _divided(upper_rest * _DIGIT + lower_rest, m)
    first = upper * _DIGIT + lower + carry
    more, left = _divided(rest + n, m)
    count = xp.expand_dims(more + (left > 0), 1)
    ratio, remainder = _divided(n, m)
    # An output of no integral ratio touches up to two pixels in part.
    is_even = (remainder == 0) | (_divided(m, n)[1] == 0)
    steps = xp.arange(0, ratio + (remainder > 0) + xp.where(is_even, 0.0, 1.0))
    weights = xp.where(steps < count, 1.0 / count, 0.0)
    return xp.minimum(xp.expand_dims(first, 1) + steps, n - 1), weights


_DIGIT = 2.0**7


def _divided(x: Tensor[Ops], divisor: Tensor[Ops]) -> tuple[Tensor[Ops], Tensor[Ops]]:
    """Return quotient and remainder of integers.

    Below 2**22 the half is more than what a product with the reciprocal is off by, which runtimes may compute instead.
    """
    quotient = ((x + 0.5) / divisor).floor()
    return quotient, x - quotient * divisor


def _covered_step(xp: Functions[Ops], bound: RunTimeAxis) -> Tensor[Ops]:
    """Return how many source pixels an output covers: the distance to its neighbour's first pixel, or all."""
    first, second = (source(bound, xp.tensor(float(i)), xp.numbers()) for i in (0, 1))
    # The formula gives the step of any coordinates as the distance of two neighbours.
    step = second - first
    return xp.where(step == 0, bound.in_size / bound.out_size, step)


def _widening(xp: Functions[Ops], antialias: Antialias, bound: RunTimeAxis) -> float | Tensor[Ops]:
    match antialias:
        case Antialias.OFF:
            return 1.0
        case Antialias.SHRINKING:
            return xp.minimum(bound.scale, 1.0)
        case Antialias.ANY_SHRINKING:
            return xp.where(functools.reduce(xp.minimum, bound.scales) < 1, bound.scale, 1.0)
        case _:
            assert_never(antialias)
