"""Layers that few models have: bits, colours of cameras, frames of signals, beams, sparse tensors, matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.layers import Configuration, Draw, check, configurations, constant, layer


def shift(kind: str) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        shape, dtype = draw.shape(), draw.among(np.int32, np.uint8, np.int8, np.int64, np.uint32)
        held = draw.values(shape, dtype, -120, 120)
        return layer(kind, 15, draw.input(held), draw.either(draw.values(shape, dtype, 0, 3)))

    return draw_layer


def promoted(draw: Draw) -> Any:
    kinds = [draw.among(np.int32, np.float32, np.float16, np.int64, np.uint8, np.uint64, np.bool_) for _ in range(2)]
    inputs = [draw.numbers(draw.among(draw.shape(), []), kind, 0, 5) for kind in kinds]
    stated = {"promote_unsafe": True, "pytorch_scalar_promotion": draw.chance()}
    stated["u64_integer_promotion_target"] = draw.among("f32", "i64")
    return layer("ConvertPromoteTypes", 14, *inputs, **stated)


def fake_convert(draw: Draw) -> Any:
    shape = draw.integers(2, 1, 6)
    low, high = draw.among((-3, 3), (-300, 300), (-70000, 70000))
    inputs = [constant(draw.values([1, shape[1]], np.float32, 0.5, 2))]
    inputs += [constant(draw.values([1, shape[1]], np.float32, -2, 2))] if draw.chance() else []
    inputs = [constant(draw.values([], np.float32, 0.5, 2))] if draw.chance() else inputs
    kind = draw.among("f8e4m3", "f8e5m2")
    return layer("FakeConvert", 13, draw.numbers(shape, np.float32, low, high), *inputs, destination_type=kind)


def colours(kind: str, planes: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        batch, rows, columns = draw.between(1, 2), 2 * draw.between(1, 4), 2 * draw.between(1, 4)
        dtype = draw.among(np.uint8, np.float32)
        y, half = [batch, rows, columns, 1], [batch, rows // 2, columns // 2]
        shapes = {1: [[batch, rows * 3 // 2, columns, 1]], 2: [y, [*half, 2]], 3: [y, [*half, 1], [*half, 1]]}[planes]
        return layer(kind, 8, *(draw.numbers(shape, dtype, 0, 255) for shape in shapes))

    return draw_layer


def col2im(draw: Draw) -> Any:
    sizes, strides, apart = draw.integers(2, 1, 3), draw.integers(2, 1, 2), draw.integers(2, 1, 2)
    lengths, begin, end = draw.integers(2, 6, 9), draw.integers(2, 0, 1), draw.integers(2, 0, 1)
    counts = [
        (length + before + after - (size - 1) * gap - 1) // stride + 1
        for length, before, after, size, gap, stride in zip(lengths, begin, end, sizes, apart, strides, strict=True)
    ]
    shape = [*draw.among([], [draw.between(1, 2)]), draw.between(1, 3) * int(np.prod(sizes)), int(np.prod(counts))]
    stated = {"strides": strides, "dilations": apart, "pads_begin": begin, "pads_end": end}
    given = (constant(each, np.int64) for each in (lengths, sizes))
    return layer("Col2Im", 15, draw.numbers(shape), *given, **stated)


def slice_scatter(draw: Draw) -> Any:
    """Forward, by constants: of starts and steps of run time the CPU plugin makes something else, and may die."""
    shape = draw.shape(1, 3)
    axes = draw.some(len(shape), 1)
    starts = [draw.between(0, shape[axis] - 1) for axis in axes]
    cuts = [
        (start, draw.between(start + 1, shape[axis]), draw.between(1, 2))
        for start, axis in zip(starts, axes, strict=True)
    ]
    places = [slice(None)] * len(shape)
    for axis, cut in zip(axes, cuts, strict=True):
        places[axis] = slice(*cut)
    data = draw.values(shape, draw.among(np.float32, np.int32))
    given = [constant(each, np.int64) for each in zip(*cuts, strict=True)]
    updates = draw.numbers(data[tuple(places)].shape, data.dtype)
    return layer("SliceScatter", 15, draw.input(data), updates, *given, constant(axes, np.int64))


def frames(draw: Draw) -> Any:
    size, step = draw.between(3, 8), draw.between(1, 4)
    shape = [*draw.among([], [draw.between(1, 3)]), draw.between(size, 20)]
    x = draw.input(draw.values(shape), open_axes=draw.among([], [len(shape) - 1]))
    window = draw.either(draw.values([draw.between(1, size)]))
    given = (constant(np.array(each), np.int64) for each in (size, step))
    return layer("STFT", 15, x, window, *given, transpose_frames=draw.chance())


def signal(draw: Draw) -> Any:
    size, count = draw.between(3, 8), draw.between(1, 5)
    step = draw.between(1, size)
    shape = [*draw.among([], [draw.between(1, 3)]), size // 2 + 1, count, 2]
    window = draw.either(draw.values([draw.between(1, size)], np.float32, 0.2, 1))
    given = [constant(np.array(each), np.int64) for each in (size, step)]
    centred = draw.chance() and (count - 1) * step + size > 2 * (size // 2)
    given += [constant(np.array([draw.between(1, 20)]), np.int64)] if draw.chance() else []
    return layer("ISTFT", 16, draw.numbers(shape), window, *given, center=centred, normalized=draw.chance())


def beams(draw: Draw) -> Any:
    dtype, (steps, batch, width) = draw.among(np.float32, np.int32), draw.integers(3, 1, 5)
    ids, parents = (draw.values([steps, batch, width], dtype, 0, high).round() for high in (9, width - 1))
    longest = draw.values([batch], dtype, 1, steps + 1).round()
    end = draw.either(np.array(draw.between(0, 9), dtype))
    return layer("GatherTree", 1, draw.input(ids), draw.input(parents), draw.input(longest), end)


def segment_max(draw: Draw) -> Any:
    shape = draw.shape(1, 3)
    numbers = np.sort(draw.values([shape[0]], np.int32, 0, 4)).astype(draw.among(np.int32, np.int64))
    x = draw.numbers(shape, draw.among(np.float32, np.int32, np.int64))
    count = [draw.either(np.array(draw.between(1, 7), numbers.dtype))] if draw.chance() else []
    return layer("SegmentMax", 16, x, draw.either(numbers), *count, fill_mode=draw.among("ZERO", "LOWEST"))


def fill_rows(draw: Draw) -> Any:
    index = draw.among(np.int32, np.int64)
    shape, count = draw.integers(2, 1, 6), draw.between(1, 5)
    places = sorted({(draw.between(0, shape[0] - 1), draw.between(0, shape[1] - 1)) for _ in range(count)})
    values = draw.values([len(places)], draw.among(np.float32, np.int32))
    default = draw.either(np.array(7, values.dtype))
    inputs = draw.input(values), constant(shape, index), draw.either(np.array(places, index)), default
    return layer("SparseFillEmptyRows", 16, *inputs)


def inverse(draw: Draw) -> Any:
    size = draw.between(1, 5)
    x = draw.values([*draw.shape(1, 2), size, size]) + 4 * np.eye(size, dtype=np.float32)
    return layer("Inverse", 14, draw.input(x), adjoint=draw.chance())


TABLE: dict[str, Configuration] = {
    "BitwiseLeftShift": shift("BitwiseLeftShift"),
    "BitwiseRightShift": shift("BitwiseRightShift"),
    "ConvertPromoteTypes": promoted,
    "FakeConvert": fake_convert,
    **{f"{kind}, {planes}": colours(kind, planes) for kind in ("NV12toRGB", "NV12toBGR") for planes in (1, 2)},
    **{f"{kind}, {planes}": colours(kind, planes) for kind in ("I420toRGB", "I420toBGR") for planes in (1, 3)},
    "Col2Im": col2im,
    "SliceScatter": slice_scatter,
    "STFT": frames,
    "ISTFT": signal,
    "GatherTree": beams,
    "SegmentMax": segment_max,
    "SparseFillEmptyRows": fill_rows,
    "Inverse": inverse,
}


@pytest.mark.sampled(30)
@pytest.mark.parametrize(("configuration", "seed"), configurations(TABLE))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)
