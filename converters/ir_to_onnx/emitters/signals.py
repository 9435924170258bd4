"""Frames of signals, patches of images, samples on a grid, and Fourier transforms.

Transforms are matrix products, axis by axis: onnxruntime's own take fewer types, and other operators.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import NodeTensor, as_dtype, node
from .. import layers
from ..layers import Op, constant, cut, joined, operand, shape, squeezed, tensor
from . import convolutions
from .convolutions import per_axis


def _sizes(op: Op) -> tuple[int, int]:
    """Return the size of a frame, and the step from one to the next."""
    (size,), (step,) = op.known_integers(2, "the size of a frame is"), op.known_integers(3, "the step of frames is")
    return size, step


def _window(graph: Graph, op: Op, size: int) -> str:
    """Return the window, padded with zeros on both sides if it is shorter."""
    length = op.lengths(1)[0]
    before = (size - length) // 2
    return (
        operators.padded(graph, op.inputs[1], 1, 0, before, size - length - before) if length < size else op.inputs[1]
    )


def _waves(size: int) -> NDArray[np.complex128]:
    waves: NDArray[np.complex128] = np.exp(-2j * np.pi * np.outer(np.arange(size), np.arange(size // 2 + 1)) / size)
    return waves


def _stft(graph: Graph, op: Op) -> NodeTensor:
    """Gather the frames, weight them, and transform them by matrix products."""
    size, step = _sizes(op)
    rank = op.rank()
    signal = operand(graph, op)
    lengths = shape(signal)
    last = node("Gather", lengths, lengths.of(rank - 1)) - (size - 1)
    begins = node("Range", last.of(0), last, last.of(step))
    places = begins.unsqueeze(1) + list(range(size))
    frames = signal.take(places, rank - 1) * tensor(graph, _window(graph, op, size))
    waves = _waves(size)
    parts = (frames @ frames.of(part, "float32") for part in (waves.real, waves.imag))
    spectrum = joined([part.unsqueeze(rank + 1) for part in parts], rank + 1)
    if op.flag("transpose_frames"):
        return spectrum.transposed(*range(rank - 1), rank, rank - 1, rank + 1)
    return spectrum


def _istft(graph: Graph, op: Op) -> str:
    """Transform back, weight, add overlapping parts, and divide by the sum of squared weights."""
    size, step = _sizes(op)
    rank, window = op.rank(), _window(graph, op, size)
    x = operand(graph, op) if rank == 4 else operand(graph, op).unsqueeze(0)
    real, imaginary = (squeezed(cut(x, part, part + 1, 3), 3) for part in range(2))
    half = size // 2 + 1
    # The spectrum of real numbers is symmetric: all frequencies but the first and the middle one count twice.
    share = np.array([1 if k in (0, size - k) else 2 for k in range(half)]) / size
    if op.flag("normalized"):
        share = share * np.sqrt(size)
    waves = _waves(size) * share
    weights = x.of(waves.real), x.of(waves.imag)
    frames = weights[0] @ real + weights[1] @ imaginary
    column = tensor(graph, window).unsqueeze(1)  # frames lie in columns
    weighted = frames * column
    squares = node("Expand", column * column, shape(frames))
    # A transposed convolution with the identity adds overlapping frames.
    kernel = x.of(np.eye(size)[:, None])
    total, divisor = (node("ConvTranspose", frames, kernel, strides=[step]) for frames in (weighted, squares))
    # The sum of squares is 0 where no window reaches; the signal is not divided there.
    least = divisor.of(np.finfo(np.float32).tiny)
    signal = squeezed(total / (divisor < least).where(1, divisor), 1)
    output = _trimmed(graph, op, signal.value, size)
    return output if rank == 4 else operators.squeeze(graph, output, [0])


def _trimmed(graph: Graph, op: Op, signal: str, size: int) -> str:
    """Return a signal without its padding on both sides, or cut and padded to its length."""
    edge = size // 2 if op.flag("center") else 0
    if not op.has(4):
        return operators.cut(graph, signal, [edge], [-edge], [1]) if edge else signal
    cut_to = layers.int64(graph, op, 4)
    signal = operators.cut(graph, signal, [edge], [operators.END], [1]) if edge else signal
    # A signal may be shorter than requested: it is padded by the whole length, then cut.
    filled = graph.node("Pad", signal, graph.node("Concat", graph.ints([0, 0, 0]), cut_to, axis=0))
    return graph.node("Slice", filled, graph.ints([0]), cut_to, graph.ints([1]))


def _col2im(graph: Graph, op: Op) -> str:
    op.needs(18, graph.opset)  # which brought Col2Im
    sizes = (layers.int64(graph, op, index) for index in (1, 2))
    begin, end = (per_axis(op, name, 2, 0) for name in ("pads_begin", "pads_end"))
    strides, dilations = (list(per_axis(op, name, 2)) for name in ("strides", "dilations"))
    x = op.inputs[0] if op.rank() == 3 else operators.unsqueeze(graph, op.inputs[0], [0])
    output = graph.node("Col2Im", x, *sizes, pads=[*begin, *end], strides=strides, dilations=dilations)
    return output if op.rank() == 3 else operators.squeeze(graph, output, [0])


def _extract(graph: Graph, op: Op) -> str:
    """Gather the rows, then the columns of every patch, and put them in front of the channels."""
    sizes, strides, rates = (op.integers(name) for name in ("sizes", "strides", "rates"))
    batch, depth, *space = op.lengths()
    x, lengths = op.inputs[0], []
    automatic = op.word("auto_pad", convolutions.AUTO_PADS)
    for place, (in_size, size, stride, rate) in enumerate(zip(space, sizes, strides, rates, strict=True)):
        extent, axis = (size - 1) * rate + 1, 2 + 2 * place
        count = -(-in_size // stride) if automatic.startswith("same") else (in_size - extent) // stride + 1
        total = max((count - 1) * stride + extent - in_size, 0) if automatic.startswith("same") else 0
        (before,), (after,) = convolutions.shared_pads([total], automatic)
        if total:
            x = operators.padded(graph, x, 4 + place, axis, before, after)
        indices = np.arange(size)[:, None] * rate + np.arange(count) * stride
        x = graph.node("Gather", x, graph.constant(indices, np.int64), axis=axis)
        lengths.append(count)
    x = operators.transposed(graph, x, [0, 2, 4, 1, 3, 5])
    return layers.reshaped(graph, op, x, [batch, sizes[0] * sizes[1] * depth, *lengths])


# GridSample-20 renamed two of its modes.
_MODES = {"bilinear": ("bilinear", "linear"), "nearest": ("nearest", "nearest"), "bicubic": ("bicubic", "cubic")}


def _grid_sample(graph: Graph, op: Op) -> str:
    op.needs(16, graph.opset)  # which brought GridSample
    mode = _MODES[op.word("mode", tuple(_MODES), "bilinear")][graph.opset >= 20]
    padding = op.word("padding_mode", ("zeros", "border", "reflection"), "zeros")
    aligned = int(op.flag("align_corners"))
    return graph.node("GridSample", *op.inputs, mode=mode, padding_mode=padding, align_corners=aligned)


_Matrix = NDArray[np.complex128]
_Pair = tuple[str, str]


def _transform(rows: int, columns: int, size: int, *, inverse: bool) -> _Matrix:
    """Return the matrix of a transform of ``size`` points, of its first rows and columns."""
    # The remainder first: sines of large angles lose digits.
    turns = np.outer(np.arange(rows), np.arange(columns)) % size / size
    waves: _Matrix = np.exp((2j if inverse else -2j) * np.pi * turns)
    return waves / size if inverse else waves


def _held(graph: Graph, op: Op, matrix: _Matrix) -> _Pair:
    """Return the real and the imaginary part of a matrix as constants."""
    dtype = as_dtype(op.dtype())
    return graph.constant(matrix.real.astype(dtype)), graph.constant(matrix.imag.astype(dtype))


def _open_waves(graph: Graph, op: Op, x: str, axis: int, *, inverse: bool, half: bool = False) -> _Pair:
    """Return the matrix of a transform of a size known at run time; ``half`` of its columns if requested."""
    zero, one, two = (constant(graph, number, "int64") for number in range(3))
    count = squeezed(cut(shape(tensor(graph, x)), axis, axis + 1, 0), 0)
    row = node("Range", zero, count, one)
    some = count / two + one if half else count
    column = node("Range", zero, some, one)
    product = row.unsqueeze(1) * column.unsqueeze(0)
    number = count.cast(op.dtype())
    turns = node("Mod", product, count).cast(op.dtype()) / number
    angle = turns * ((2 if inverse else -2) * np.pi)
    parts = node("Cos", angle), node("Sin", angle)
    real, imaginary = (part / number for part in parts) if inverse else parts
    return str(real.value), str(imaginary.value)


_Size = int | str
"""A number of points, -1 for all of them, or the tensor that has it at run time."""


def _axes(graph: Graph, op: Op, rank: int) -> list[tuple[int, _Size]]:
    """Return the axes, and the number of points of each if specified."""
    axes = [op.from_first(axis, rank) for axis in op.known_integers(1, "axes are")]
    if op.has(2) and op.value(2) is None:
        points = layers.int64(graph, op, 2)
        return [(axis, operators.cut(graph, points, [place], [place + 1], [0])) for place, axis in enumerate(axes)]
    sizes = op.known_integers(2, "sizes are") if op.has(2) else (-1,) * len(axes)
    return list(zip(axes, sizes, strict=True))


def _times(graph: Graph, x: str, matrix: str, axis: int, rank: int) -> str:
    """Multiply along an axis."""
    order = operators.moved(rank, axis, rank - 1)
    product = graph.node("MatMul", operators.transposed(graph, x, order), matrix)
    return operators.transposed(graph, product, operators.inverse(order))


def _resized(graph: Graph, x: str, in_size: int, size: int, axis: int, rank: int) -> str:
    """Cut, or pad with zeros, to a number of points."""
    if size < in_size:
        return operators.cut(graph, x, [0], [size], [axis])
    return operators.padded(graph, x, rank, axis, 0, size - in_size) if size > in_size else x


def _resized_at_run_time(graph: Graph, x: str, size: str, axis: int, rank: int) -> str:
    """Cut, or pad with zeros, to a number of points known at run time; a negative one keeps all."""
    signal, points = tensor(graph, x), tensor(graph, size, "int64")
    place, zero = points.of([axis]), points.of([0])
    length = cut(shape(signal), axis, axis + 1, 0)
    points = (points < zero).where(length, points)
    least = (points < length).where(points, length)
    signal = node("Slice", signal, zero, least, place)
    missing = points - least
    pads = points.of([0] * (rank + axis)), missing, points.of([0] * (rank - axis - 1))
    return str(node("Pad", signal, joined(pads, 0)).value)


def _parts(graph: Graph, x: str, rank: int) -> _Pair:
    """Return the real and the imaginary part, without the last axis."""
    real, imaginary = (operators.cut(graph, x, [part], [part + 1], [rank]) for part in range(2))
    return operators.squeeze(graph, real, [rank]), operators.squeeze(graph, imaginary, [rank])


def _turned(graph: Graph, parts: _Pair, waves: _Pair, axis: int, rank: int) -> _Pair:
    """Multiply a complex tensor along an axis by a complex matrix."""
    pairs = ((0, 0), (1, 1), (0, 1), (1, 0))
    real_a, real_b, cross_a, cross_b = (_times(graph, parts[a], waves[b], axis, rank) for a, b in pairs)
    return graph.node("Sub", real_a, real_b), graph.node("Add", cross_a, cross_b)


def _joined(graph: Graph, parts: _Pair, rank: int) -> str:
    return graph.node("Concat", *(operators.unsqueeze(graph, part, [rank]) for part in parts), axis=rank)


def _over(graph: Graph, op: Op, parts: _Pair, axes: Sequence[tuple[int, _Size]], rank: int, *, inverse: bool) -> _Pair:
    for axis, asked in axes:
        (real, size), (imaginary, _) = (_sized(graph, op, part, asked, axis, rank) for part in parts)
        if size is None:
            waves = _open_waves(graph, op, real, axis, inverse=inverse)
        else:
            waves = _held(graph, op, _transform(size, size, size, inverse=inverse))
        parts = _turned(graph, (real, imaginary), waves, axis, rank)
    return parts


def _sized(graph: Graph, op: Op, x: str, asked: _Size, axis: int, rank: int) -> tuple[str, int | None]:
    """Return the data to transform along an axis, and its number of points if known."""
    if isinstance(asked, str):
        return _resized_at_run_time(graph, x, asked, axis, rank), None
    if asked == -1 and (op.shape() or ())[axis] is None:
        return x, None
    length = op.lengths(axes=[axis])[0]
    size = length if asked == -1 else asked
    return _resized(graph, x, length, size, axis, rank), size


def _complex(graph: Graph, op: Op, *, inverse: bool) -> str:
    rank = op.rank() - 1
    parts = _over(graph, op, _parts(graph, op.inputs[0], rank), _axes(graph, op, rank), rank, inverse=inverse)
    return _joined(graph, parts, rank)


def _dft(graph: Graph, op: Op) -> str:
    return _complex(graph, op, inverse=False)


def _idft(graph: Graph, op: Op) -> str:
    return _complex(graph, op, inverse=True)


def _from_real(graph: Graph, op: Op) -> str:
    """Transform real numbers: the last axis first, of which half the spectrum determines all, then the others."""
    rank = op.rank()
    *others, (axis, asked) = _axes(graph, op, rank)
    x, size = _sized(graph, op, op.inputs[0], asked, axis, rank)
    if size is None:
        waves = _open_waves(graph, op, x, axis, inverse=False, half=True)
    else:
        waves = _held(graph, op, _transform(size, size // 2 + 1, size, inverse=False))
    parts = _times(graph, x, waves[0], axis, rank), _times(graph, x, waves[1], axis, rank)
    return _joined(graph, _over(graph, op, parts, others, rank, inverse=False), rank)


def _to_real(graph: Graph, op: Op) -> str:
    """Invert that: the missing part of the last axis are the conjugates, hence twice the real part."""
    rank = op.rank() - 1
    *others, (axis, asked) = _axes(graph, op, rank)
    if isinstance(asked, str):
        raise op.refusal("the number of real values is known only at run time")
    length = op.lengths(axes=[axis])[0]
    size = 2 * (length - 1) if asked == -1 else asked
    half = size // 2 + 1
    parts = _over(graph, op, _parts(graph, op.inputs[0], rank), others, rank, inverse=True)
    real, imaginary = (_resized(graph, part, length, half, axis, rank) for part in parts)
    twice = np.array([1 if k in (0, size - k) else 2 for k in range(half)])[:, None]
    waves = _held(graph, op, _transform(half, size, size, inverse=True) * twice)
    return graph.node("Sub", _times(graph, real, waves[0], axis, rank), _times(graph, imaginary, waves[1], axis, rank))


TABLE = {
    "STFT": _stft,
    "ISTFT": _istft,
    "Col2Im": _col2im,
    "ExtractImagePatches": _extract,
    "GridSample": _grid_sample,
    "DFT": _dft,
    "IDFT": _idft,
    "RDFT": _from_real,
    "IRDFT": _to_real,
}
