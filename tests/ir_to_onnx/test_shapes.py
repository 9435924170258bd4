"""Shapes, slices, pads and rearrangements: copies, compared exactly."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

from tests.support.layers import Configuration, Draw, check, configurations, constant, layer

INDEX = (np.int32, np.int64)


def copied(draw: Draw, shape: Any, dtype: Any = np.float32) -> Any:
    """Return an input of distinct values."""
    return draw.input(draw.distinct(shape, dtype))


def reshape(draw: Draw) -> Any:
    shape = draw.shape(2)
    pattern: list[int] = [0] * draw.between(0, len(shape) - 1)
    pattern += draw.among([-1], [-1, 1], [1, -1], [int(np.prod(shape[len(pattern) :]))])
    return layer(
        "Reshape", 1, copied(draw, shape), draw.either(np.array(pattern, draw.among(*INDEX))), special_zero=True
    )


def reshape_to_nothing(draw: Draw) -> Any:
    x = draw.input(np.zeros([0, 3], np.float32))
    return layer("Reshape", 1, x, constant([3, 0], np.int64), special_zero=False)


def reshape_to_none(draw: Draw) -> Any:
    """A 0 is a length, or keeps that of the input."""
    x = draw.input(np.zeros([0, draw.between(1, 4)], np.float32))
    return layer("Reshape", 1, x, constant([0, 0], np.int64), special_zero=draw.chance())


def reshape_empty(draw: Draw) -> Any:
    """Of rows that only run time counts, and there are none: the -1 follows from the other lengths."""
    x = draw.input(np.zeros([draw.among(0, 2), 1, 4], np.float32), open_axes=[0])
    return layer("Reshape", 1, x, constant([0, -1], np.int64), special_zero=True)


def reshape_at_run_time(draw: Draw) -> Any:
    """A pattern of which no length is known, of elements that there may be none of."""
    shape = draw.shape(2, 3)
    if draw.chance(0.3):
        shape[draw.between(0, len(shape) - 1)] = 0
    pattern = draw.among([*shape[1:], shape[0]], [1, *shape], [int(np.prod(shape))])
    if all(shape) and draw.chance():
        pattern[0] = -1
    x = draw.input(draw.distinct(shape), open_axes=range(len(shape)))
    return layer("Reshape", 1, x, draw.input(np.array(pattern, draw.among(*INDEX))), special_zero=False)


def squeeze(draw: Draw) -> Any:
    shape = [1 if draw.chance() else length for length in draw.shape()]
    ones = [axis for axis, length in enumerate(shape) if length == 1]
    axes = [axis - len(shape) if draw.chance(0.3) else axis for axis in ones if draw.chance(0.7)]
    x, version = copied(draw, shape), draw.among(1, 15)
    if version == 15 and draw.chance():
        longer = [axis for axis in range(len(shape)) if axis not in ones and draw.chance(0.3)]
        return layer("Squeeze", 15, x, constant([*axes, *longer], np.int64), allow_axis_skip=draw.chance())
    return layer("Squeeze", version, x, constant(axes, np.int64)) if axes else layer("Squeeze", version, x)


def unsqueeze(draw: Draw) -> Any:
    shape = draw.shape(0, 3)
    rank = len(shape) + draw.between(1, 2)
    axes = [axis - rank if draw.chance(0.3) else axis for axis in draw.random.permutation(rank)[: rank - len(shape)]]
    return layer("Unsqueeze", 1, copied(draw, shape), constant(axes, draw.among(*INDEX)))


def transpose(draw: Draw) -> Any:
    shape = draw.shape()
    order: Any = draw.random.permutation(len(shape)) if draw.chance(0.8) else []
    return layer(
        "Transpose", 1, copied(draw, shape, draw.among(np.float32, np.int32, np.uint8)), constant(order, np.int64)
    )


def concat(draw: Draw) -> Any:
    shape = draw.shape()
    axis = draw.between(0, len(shape) - 1)
    parts = [[draw.between(1, 4) if i == axis else length for i, length in enumerate(shape)] for _ in range(3)]
    values = [draw.values(part) for part in parts]
    axis = axis - len(shape) if draw.chance(0.3) else axis
    return layer("Concat", 1, draw.input(values[0]), *(draw.either(each) for each in values[1:]), axis=axis)


def split(draw: Draw) -> Any:
    shape, count = draw.shape(), draw.between(1, 4)
    axis = draw.between(0, len(shape) - 1)
    shape[axis] *= count
    x = draw.input(draw.distinct(shape), open_axes=[axis] if draw.chance(0.3) else [])
    return layer("Split", 1, x, constant(draw.among(axis, axis - len(shape)), np.int64), num_splits=count)


def variadic_split(draw: Draw) -> Any:
    shape, lengths = draw.shape(), draw.integers(draw.between(1, 4), 1, 3)
    axis = draw.between(0, len(shape) - 1)
    shape[axis] = sum(lengths)
    open_axes = [axis] if draw.chance(0.4) else []
    if draw.chance():
        lengths[draw.between(0, len(lengths) - 1)] = -1
    x = draw.input(draw.distinct(shape), open_axes=open_axes)
    return layer(
        "VariadicSplit", 1, x, constant(draw.among(axis, axis - len(shape)), np.int64), constant(lengths, np.int64)
    )


def variadic_split_at_run_time(draw: Draw) -> Any:
    lengths = draw.integers(draw.between(2, 4), 1, 3)
    x = draw.input(draw.distinct([2, sum(lengths)]))
    if draw.chance():
        lengths[draw.between(0, len(lengths) - 1)] = -1
    first = draw.input(np.array(lengths[:1]))
    return layer("VariadicSplit", 1, x, constant(1, np.int64), ops.concat([first, constant(lengths[1:], np.int64)], 0))


def tile(draw: Draw) -> Any:
    shape = draw.shape(1, 3)
    repeats = draw.integers(draw.between(1, 4), 1, 3)
    return layer("Tile", 1, copied(draw, shape), draw.either(np.array(repeats, draw.among(*INDEX))))


def broadcast(mode: str) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        target = draw.shape(1, 4)
        kept = draw.between(0, len(target) - 1)
        shape = [1 if draw.chance(0.4) else length for length in target[kept:]]
        if mode == "bidirectional":
            target = [1 if draw.chance(0.3) else length for length in target]
        version = draw.among(1, 3) if mode == "numpy" else 3
        return layer("Broadcast", version, copied(draw, shape), draw.either(np.array(target)), mode=mode)

    return draw_layer


def broadcast_explicit(draw: Draw) -> Any:
    target = draw.shape(2, 4)
    axes = sorted(draw.some(len(target), 1))
    x = copied(draw, [target[axis] for axis in axes])
    return layer(
        "Broadcast", draw.among(1, 3), x, draw.either(np.array(target)), constant(axes, np.int64), mode="explicit"
    )


def number_range(draw: Draw, version: int = 4) -> Any:
    dtype = draw.among(np.float32, np.int32, np.int64)
    start, step = draw.values([], dtype, -5, 5), np.array(draw.among(1, 2, -1, -3), dtype)
    stop = (start + step * draw.between(0, 6)).astype(dtype)
    names = {np.float32: "f32", np.int32: "i32", np.int64: "i64"}
    ends = [draw.either(np.asarray(each)) for each in (start, stop, step)]
    return layer("Range", version, *ends, **({"output_type": names[dtype]} if version > 1 else {}))


def range_by_a_whole_float(draw: Draw) -> Any:
    """As torch counts down, by -1.0."""
    ends = (draw.input(np.asarray(each, np.int64)) for each in draw.among((7, -3), (2, 1)))
    return layer("Range", 4, *ends, constant(np.float32(draw.among(-1, -2))), output_type="i64")


def shape_of(draw: Draw) -> Any:
    shape = draw.shape(1)
    x = draw.input(draw.values(shape), open_axes=draw.some(len(shape)))
    if draw.chance(0.3):
        return layer("ShapeOf", 1, x)
    return layer("ShapeOf", 3, x, output_type=draw.among("i32", "i64"))


SHAPES: dict[str, Configuration] = {
    "Reshape": reshape,
    "Reshape to nothing": reshape_to_nothing,
    "Reshape to none": reshape_to_none,
    "Reshape of no rows": reshape_empty,
    "Reshape at run time": reshape_at_run_time,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "VariadicSplit": variadic_split,
    "VariadicSplit at run time": variadic_split_at_run_time,
    "Tile": tile,
    "Broadcast": broadcast("numpy"),
    "Broadcast both ways": broadcast("bidirectional"),
    "Broadcast of axes": broadcast_explicit,
    "Range-1": functools.partial(number_range, version=1),
    "Range": number_range,
    "Range by a whole float": range_by_a_whole_float,
    "ShapeOf": shape_of,
}


def bits(draw: Draw, count: int, share: float) -> list[int]:
    return [int(draw.chance(share)) for _ in range(count)]


def span(draw: Draw, length: int) -> tuple[int, int, int]:
    """Return begin, end and step of a slice that is not empty: OpenVINO's CPU plugin dies of some that are."""
    low, high = sorted(draw.integers(2, 0, length - 1))
    step = draw.among(1, 1, 2, -1, -2)
    begin, end = (low, high + 1) if step > 0 else (high, low - 1)
    begin = draw.among(begin, begin - length)
    return begin, draw.among(end, end + 9) if end == length else end - length if end < 0 or draw.chance() else end, step


def strided_slice(draw: Draw) -> Any:
    """Draw every mask."""
    shape = draw.shape(1, 4)
    count = draw.between(1, len(shape) + 1)
    new = bits(draw, count, 0.2)
    ellipsis = [0] * count
    if draw.chance(0.3):
        ellipsis[draw.between(0, count - 1)] = 1
    while sum(not n and not e for n, e in zip(new, ellipsis, strict=True)) > len(shape):
        new[next(i for i in range(count) if not new[i] and not ellipsis[i])] = 1
    dropping = 0.0 if any(new) else 0.3  # beside new axes the plugin may read beyond its memory
    shrink = [int(draw.chance(dropping) and not n and not e) for n, e in zip(new, ellipsis, strict=True)]
    taken = sum(not n and not e for n, e in zip(new, ellipsis, strict=True))
    spans, axis = [], 0
    for i in range(count):
        if new[i] or ellipsis[i]:
            axis += (len(shape) - taken) * (1 - new[i]) if ellipsis[i] else 0
            spans.append((0, 0, 1))
            continue
        spans.append((draw.between(-1, 0), 0, 1) if shrink[i] else span(draw, shape[axis]))
        axis += 1
    begin, end, step = ([each[k] for each in spans] for k in range(3))
    masks = {"begin_mask": bits(draw, count, 0.3), "end_mask": bits(draw, count, 0.3)}
    masks |= {"new_axis_mask": new, "shrink_axis_mask": shrink, "ellipsis_mask": ellipsis}
    sides = [constant(each, np.int64) for each in (begin, end, step)]
    return layer("StridedSlice", 1, copied(draw, shape), *sides, **masks)


def open_strided_slice(draw: Draw) -> Any:
    """Sides known at run time; beside other masks these corrupt the memory of OpenVINO's CPU plugin."""
    shape = draw.shape(1, 4)
    begin, end, step = zip(*(span(draw, length) for length in shape), strict=True)
    masks = {"begin_mask": bits(draw, len(shape), 0.3), "end_mask": bits(draw, len(shape), 0.3)}
    sides = [draw.input(np.array(each, np.int64)) for each in (begin, end)]
    return layer("StridedSlice", 1, copied(draw, shape), *sides, constant(step, np.int64), **masks)


def plain_slice(draw: Draw) -> Any:
    shape = draw.shape()
    axes = draw.some(len(shape), 1)
    begin, end, step = zip(*(span(draw, shape[axis]) for axis in axes), strict=True)
    inputs = [draw.either(np.array(each, np.int64)) for each in (begin, end)]
    return layer("Slice", 8, copied(draw, shape), *inputs, constant(step, np.int64), constant(axes, np.int64))


def leading_slice(draw: Draw) -> Any:
    """Without axes, the first ones are meant."""
    shape = draw.shape()
    begin, end, step = zip(*(span(draw, length) for length in shape[: draw.between(1, len(shape))]), strict=True)
    return layer("Slice", 8, copied(draw, shape), *(constant(each, np.int64) for each in (begin, end, step)))


def roll(draw: Draw) -> Any:
    shape = draw.shape()
    axes = draw.some(len(shape), 1)
    x = draw.input(draw.distinct(shape), open_axes=draw.some(len(shape)))
    return layer("Roll", 7, x, constant(draw.integers(len(axes), -9, 9), np.int64), constant(axes, np.int64))


def reverse(draw: Draw) -> Any:
    shape = draw.shape()
    if draw.chance():
        return layer("Reverse", 1, copied(draw, shape), constant(draw.some(len(shape)), np.int64), mode="index")
    return layer("Reverse", 1, copied(draw, shape), constant(bits(draw, len(shape), 0.5), np.bool_), mode="mask")


def pad(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        shape, mode = draw.integers(draw.between(1, 4), 3, 6), draw.among("constant", "edge", "reflect", "symmetric")
        low = -1 if version == 12 else 0
        sides = [np.array(draw.integers(len(shape), low, 2), np.int64) for _ in range(2)]
        if mode == "constant" or draw.chance(0.3):
            sides = [draw.either(each) for each in sides]
        filling = [draw.either(np.float32(1.5))] if mode == "constant" and draw.chance() else []
        inputs = [constant(each) if isinstance(each, np.ndarray) else each for each in sides]
        return layer("Pad", version, copied(draw, shape), *inputs, *filling, pad_mode=mode)

    return draw_layer


def depth_to_space(draw: Draw) -> Any:
    space, block = draw.integers(draw.between(1, 3), 1, 3), draw.between(1, 3)
    x = copied(draw, [2, 2 * block ** len(space), *space])
    return layer("DepthToSpace", 1, x, block_size=block, mode=draw.among("blocks_first", "depth_first"))


def space_to_depth(draw: Draw) -> Any:
    space, block = draw.integers(draw.between(1, 3), 1, 3), draw.between(1, 3)
    x = copied(draw, [2, 2, *(length * block for length in space)])
    return layer("SpaceToDepth", 1, x, block_size=block, mode=draw.among("blocks_first", "depth_first"))


def batch_to_space(draw: Draw) -> Any:
    blocks = [1, *draw.integers(draw.between(2, 4), 1, 2)]
    shape = [2 * int(np.prod(blocks)), *draw.integers(len(blocks) - 1, 2, 3)]
    crops = [[0, *draw.integers(len(blocks) - 1, 0, 1)] for _ in range(2)]
    return layer("BatchToSpace", 2, copied(draw, shape), *(constant(each, np.int64) for each in (blocks, *crops)))


def space_to_batch(draw: Draw) -> Any:
    blocks = [1, *draw.integers(draw.between(2, 4), 1, 2)]
    pads = [[0, *draw.integers(len(blocks) - 1, 0, 1)] for _ in range(2)]
    lengths = [block * draw.between(3, 4) - b - e for block, b, e in zip(blocks, *pads, strict=True)]
    return layer("SpaceToBatch", 2, copied(draw, [2, *lengths[1:]]), *(constant(e, np.int64) for e in (blocks, *pads)))


def shuffle_of_squares(draw: Draw) -> Any:
    """Any axis will do."""
    return layer("ShuffleChannels", 1, copied(draw, [6, 6]), axis=draw.between(0, 1), group=draw.among(2, 3))


def shuffle_channels(draw: Draw) -> Any:
    shape, groups = draw.shape(1, 4), draw.between(1, 3)
    axis = draw.between(0, len(shape) - 1)
    shape[axis] *= groups
    return layer("ShuffleChannels", 1, copied(draw, shape), axis=draw.among(axis, axis - len(shape)), group=groups)


def reverse_sequence(draw: Draw) -> Any:
    shape = draw.shape(2, 4)
    batch, time = (int(axis) for axis in draw.random.permutation(len(shape))[:2])
    lengths = draw.either(np.array(draw.integers(shape[batch], 1, shape[time]), draw.among(*INDEX)))
    return layer("ReverseSequence", 1, copied(draw, shape), lengths, batch_axis=batch, seq_axis=time)


MOVES: dict[str, Configuration] = {
    "StridedSlice": strided_slice,
    "StridedSlice at run time": open_strided_slice,
    "Slice": plain_slice,
    "Slice of the first axes": leading_slice,
    "Roll": roll,
    "Reverse": reverse,
    "Pad-1": pad(1),
    "Pad-12": pad(12),
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "BatchToSpace": batch_to_space,
    "SpaceToBatch": space_to_batch,
    "ShuffleChannels": shuffle_channels,
    "ShuffleChannels of squares": shuffle_of_squares,
    "ReverseSequence": reverse_sequence,
}


@pytest.mark.sampled(50)
@pytest.mark.parametrize(("configuration", "seed"), configurations(SHAPES | MOVES))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", [*SHAPES, *MOVES])
def test_older_opset(name: str) -> None:
    check((SHAPES | MOVES)[name], 0, opset=14)
