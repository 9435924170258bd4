"""Images that keep their aspect in an input of fixed lengths: resized to fit, centred, the rest of one colour."""

from __future__ import annotations

from ir_interp.resize_op import ResizeOp

from ..onnx.onnx_primitives import NodeTensor, node
from .any_size_resize import lengths_of, resized
from .any_size_weights import Size
from .fixed_size_resize import tabled


def letterboxed(op: ResizeOp, x: NodeTensor, sizes: tuple[int, int], colour: int) -> NodeTensor:
    """Return ``x``, uint8 [height, width, channels], resized as a call does to fit ``sizes``, and padded to these.

    The scale is the smaller of the two, in float64; lengths are rounded half to even, and are at least one pixel;
    where the rest is odd, the larger part of it comes below and on the right.
    """
    lengths = lengths_of(x)
    ratios = [
        length.of([float(size)], "float64") / length.cast("float64")
        for size, length in zip(sizes, lengths, strict=True)
    ]
    scale = ratios[0].minimum(ratios[1])
    height, width = ((length.cast("float64") * scale).round().maximum(1.0).cast("int64") for length in lengths)
    y = resized(op, x, (Size.at_run_time(height), Size.at_run_time(width)))
    rest = [size - length for size, length in zip(sizes, (height, width), strict=True)]
    before = [each / 2 for each in rest]
    after = [each - half for each, half in zip(rest, before, strict=True)]
    none = height.of([0])
    pads = node("Concat", *before, none, *after, none, axis=0)
    return node("Pad", y, pads, y.of(colour))


def letterboxed_table(
    op: ResizeOp, x: NodeTensor, lengths: tuple[int, int], sizes: tuple[int, int], colour: int, *, wide: bool
) -> NodeTensor:
    """Return the same of images of known lengths; ``wide`` is that of ``tabled``."""
    scale = min(size / length for size, length in zip(sizes, lengths, strict=True))
    height, width = (max(1, round(length * scale)) for length in lengths)
    y = tabled(op, x, lengths, (height, width), wide=wide)
    top, left = (sizes[0] - height) // 2, (sizes[1] - width) // 2
    pads = y.of((top, left, 0, sizes[0] - height - top, sizes[1] - width - left, 0), "int64")
    return node("Pad", y, pads, y.of(colour))
