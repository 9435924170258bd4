"""Frames of signals, patches of images, and samples on a grid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.onnx_primitives import NodeTensor, node
from .. import layer_inputs, sliding_windows
from ..layer import Op
from ..sliding_windows import per_axis
from ..tensors import cut, joined, operand, shape, squeezed, tensor


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
    cut_to = layer_inputs.int64(graph, op, 4)
    signal = operators.cut(graph, signal, [edge], [operators.END], [1]) if edge else signal
    # A signal may be shorter than requested: it is padded by the whole length, then cut.
    filled = graph.node("Pad", signal, graph.node("Concat", graph.ints([0, 0, 0]), cut_to, axis=0))
    return graph.node("Slice", filled, graph.ints([0]), cut_to, graph.ints([1]))


def _col2im(graph: Graph, op: Op) -> str:
    op.needs(18, graph.opset)  # which brought Col2Im
    sizes = (layer_inputs.int64(graph, op, index) for index in (1, 2))
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
    automatic = op.word("auto_pad", sliding_windows.AUTO_PADS)
    for place, (in_size, size, stride, rate) in enumerate(zip(space, sizes, strides, rates, strict=True)):
        extent, axis = (size - 1) * rate + 1, 2 + 2 * place
        count = -(-in_size // stride) if automatic.startswith("same") else (in_size - extent) // stride + 1
        total = max((count - 1) * stride + extent - in_size, 0) if automatic.startswith("same") else 0
        (before,), (after,) = sliding_windows.shared([total], automatic)
        if total:
            x = operators.padded(graph, x, 4 + place, axis, before, after)
        indices = np.arange(size)[:, None] * rate + np.arange(count) * stride
        x = graph.node("Gather", x, graph.constant(indices, np.int64), axis=axis)
        lengths.append(count)
    x = operators.transposed(graph, x, [0, 2, 4, 1, 3, 5])
    return layer_inputs.reshaped(graph, op, x, [batch, sizes[0] * sizes[1] * depth, *lengths])


# GridSample-20 renamed two of its modes.
_MODES = {"bilinear": ("bilinear", "linear"), "nearest": ("nearest", "nearest"), "bicubic": ("bicubic", "cubic")}


def _grid_sample(graph: Graph, op: Op) -> str:
    op.needs(16, graph.opset)  # which brought GridSample
    mode = _MODES[op.word("mode", tuple(_MODES), "bilinear")][graph.opset >= 20]
    padding = op.word("padding_mode", ("zeros", "border", "reflection"), "zeros")
    aligned = int(op.flag("align_corners"))
    return graph.node("GridSample", *op.inputs, mode=mode, padding_mode=padding, align_corners=aligned)


TABLE = {
    "STFT": _stft,
    "ISTFT": _istft,
    "Col2Im": _col2im,
    "ExtractImagePatches": _extract,
    "GridSample": _grid_sample,
}
