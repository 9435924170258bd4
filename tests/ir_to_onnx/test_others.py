"""Layers of no large family: attention, spectra, lookups, patches, decoders of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino
import pytest

from tests.support.layers import Configuration, Draw, check, configurations, constant, layer


def attention(draw: Draw) -> Any:
    batch, heads, queries, keys, size, width = draw.integers(6, 1, 5)
    lead = draw.among([batch, heads], [batch])
    shapes = [queries, size], [keys, size], [keys, width]
    inputs = [draw.input(draw.values([*lead, *shape]), open_axes=draw.among([], [len(lead)])) for shape in shapes]
    if draw.chance():
        return layer("ScaledDotProductAttention", 13, *inputs, causal=draw.chance())
    mask = draw.values([*lead[draw.between(0, len(lead)) :], queries, keys])
    inputs.append(draw.either(draw.among(mask, (mask > 0) | (np.arange(keys) == 0))))
    inputs += [draw.either(np.float32(0.3))] if draw.chance() else []
    return layer("ScaledDotProductAttention", 13, *inputs, causal=False)


def ctc(draw: Draw) -> Any:
    steps, batch, classes = draw.between(1, 8), draw.between(1, 3), draw.between(1, 4)
    mask = np.arange(steps)[:, None] < draw.values([batch], np.int64, 0, steps)
    if draw.chance():
        mask = draw.values([steps, batch], np.bool_)
    x = draw.numbers([steps, batch, classes])
    return layer("CTCGreedyDecoder", 1, x, draw.either(mask.astype(np.float32)), ctc_merge_repeated=draw.chance())


def ctc_with_lengths(draw: Draw) -> Any:
    batch, steps, classes = draw.between(1, 3), draw.between(1, 8), draw.between(1, 4)
    index = draw.among(np.int32, np.int64)
    inputs = [draw.numbers([batch, steps, classes]), draw.either(draw.values([batch], index, 0, steps))]
    if draw.chance():
        inputs.append(draw.either(draw.values([], index, 0, classes - 1)))
    stated = {"classes_index_type": draw.among("i32", "i64"), "sequence_length_type": draw.among("i32", "i64")}
    return layer("CTCGreedyDecoderSeqLen", 6, *inputs, merge_repeated=draw.chance(), **stated)


def packed_sum(draw: Draw) -> Any:
    table, indices = draw.shape(2, 3), draw.shape(2, 2)
    inputs = [draw.numbers(table), draw.either(draw.values(indices, np.int32, 0, table[0] - 1))]
    inputs += [draw.either(draw.values(indices))] if draw.chance() else []
    return layer("EmbeddingBagPackedSum", 3, *inputs)


def packed(draw: Draw) -> Any:
    table, indices, kind = draw.shape(2, 3), draw.shape(2, 2), draw.among("sum", "mean")
    inputs = [draw.numbers(table), draw.either(draw.values(indices, np.int32, 0, table[0] - 1))]
    inputs += [draw.either(draw.values(indices))] if kind == "sum" and draw.chance() else []
    return layer("EmbeddingBagPacked", 15, *inputs, reduction=kind)


def search_sorted(draw: Draw) -> Any:
    rows, dtype = draw.shape(1, 3), draw.among(np.float32, np.int32)
    held = np.sort(draw.values(rows, dtype).round(), axis=-1)
    values = draw.values([*rows[:-1], draw.between(1, 5)], dtype).round()
    stated = {"right_mode": draw.chance(), "output_type": draw.among("i32", "i64")}
    return layer("SearchSorted", 15, draw.either(held), draw.input(values), **stated)


def unique(draw: Draw) -> Any:
    shape = draw.shape(1, 3)
    axis = [constant(draw.between(-len(shape), len(shape) - 1), np.int64)] if draw.chance() else []
    x = draw.numbers(shape, draw.among(np.int32, np.int64), 0, 2)
    if draw.chance():
        x = draw.input(draw.values(shape).round())
    stated = {"index_element_type": draw.among("i32", "i64"), "count_element_type": draw.among("i32", "i64")}
    return layer("Unique", 10, x, *axis, sorted=True, **stated)


def bags(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        table, count, kind = draw.shape(2, 3), draw.between(1, 6), draw.among("sum", "mean" if version == 15 else "sum")
        index = draw.among(np.int32, np.int64)
        offsets = np.sort(draw.values([draw.between(1, 4)], index, 0, count - 1))
        offsets[0] = 0
        inputs = [draw.numbers(table), draw.input(draw.values([count], index, 0, table[0] - 1)), draw.either(offsets)]
        if draw.chance():
            inputs.append(constant(draw.between(-1 if version == 15 else 0, table[0] - 1), index))
            inputs += [draw.either(draw.values([count]))] if kind == "sum" and draw.chance() else []
        stated = {"reduction": kind} if version == 15 else {}
        return layer(f"EmbeddingBagOffsets{'' if version == 15 else 'Sum'}", version, *inputs, **stated)

    return draw_layer


def segments(draw: Draw) -> Any:
    table, count, index = draw.shape(2, 3), draw.between(1, 6), draw.among(np.int32, np.int64)
    numbers = np.sort(draw.values([count], index, 0, 3))
    inputs = [draw.numbers(table), draw.input(draw.values([count], index, 0, table[0] - 1)), draw.either(numbers)]
    inputs.append(constant(draw.between(1, 6), index))
    if draw.chance():
        inputs.append(constant(draw.between(0, table[0] - 1), index))
        inputs += [draw.either(draw.values([count]))] if draw.chance() else []
    return layer("EmbeddingSegmentsSum", 3, *inputs)


def transform(kind: str) -> Configuration:
    """Transform; of real numbers, OpenVINO's CPU plugin reads beyond the ends of longer or several resized axes."""

    def draw_layer(draw: Draw) -> Any:
        shape = [each + 1 for each in draw.shape(1, 3, 5)]
        axes = draw.some(len(shape), 1)
        inputs = [draw.numbers(shape if kind == "RDFT" else [*shape, 2])]
        sizes = [draw.among(-1, draw.between(2, 7)) for _ in axes]
        if "R" in kind and draw.chance():
            axes = axes[:1]
            sizes = [draw.between(2, shape[axes[0]])]
        elif "R" in kind:
            sizes = []
        inputs += [constant(each, np.int64) for each in (axes, sizes) if each]
        return layer(kind, 9 if "R" in kind else 7, *inputs)

    return draw_layer


def open_transform(kind: str) -> Configuration:
    """Lengths known only at run time."""

    def draw_layer(draw: Draw) -> Any:
        shape = [each + 1 for each in draw.shape(1, 3, 5)]
        axes = draw.some(len(shape), 1)
        axes = axes[:1] if kind == "RDFT" else axes
        values = draw.values(shape if kind == "RDFT" else [*shape, 2])
        inputs = [draw.input(values, open_axes=draw.some(len(shape))), constant(axes, np.int64)]
        if kind != "RDFT" and draw.chance():
            inputs.append(draw.input(np.array([draw.among(-1, draw.between(2, 7)) for _ in axes])))
        return layer(kind, 9 if kind == "RDFT" else 7, *inputs)

    return draw_layer


def eye(draw: Draw) -> Any:
    rows, columns, diagonal = draw.between(1, 5), draw.between(1, 5), draw.between(-3, 3)
    batch = [constant(draw.shape(1, 2), np.int64)] if draw.chance() else []
    made = layer("Eye", 9, *(constant(each, np.int64) for each in (rows, columns, diagonal)), *batch, output_type="f32")
    return layer("Add", 1, made, draw.numbers([1]))


def norm(draw: Draw) -> Any:
    return layer("GRN", 1, draw.numbers(draw.shape(2, 4)), bias=draw.among(1e-6, 0.5))


def extract(draw: Draw) -> Any:
    sizes, strides, rates = (draw.integers(2, 1, 3) for _ in range(3))
    shape = [*draw.integers(2, 1, 3), *draw.integers(2, 7, 10)]
    kind = draw.among("valid", "same_upper", "same_lower")
    stated = {"sizes": sizes, "strides": strides, "rates": rates, "auto_pad": kind}
    return layer("ExtractImagePatches", 3, draw.numbers(shape), **stated)


def grid_sample(draw: Draw) -> Any:
    batch, depth = draw.integers(2, 1, 3)
    grid = draw.numbers([batch, *draw.integers(2, 1, 4), 2], low=-1.4, high=1.4)
    stated = {"mode": draw.among("bilinear", "nearest", "bicubic"), "align_corners": draw.chance()}
    stated["padding_mode"] = draw.among("zeros", "border", "reflection")
    return layer("GridSample", 9, draw.numbers([batch, depth, *draw.integers(2, 2, 6)]), grid, **stated)


def bits(draw: Draw) -> Any:
    count = draw.between(1, 20)
    held = openvino.Tensor(np.packbits(draw.values([count], np.bool_)), [count], openvino.Type.u1)
    kind, dtype = draw.among(("f32", np.float32), ("i32", np.int32), ("u8", np.uint8))
    numbers = openvino.opset13.convert(openvino.op.Constant(held), kind)
    return layer("Add", 1, draw.numbers([count], dtype), numbers)


TABLE: dict[str, Configuration] = {
    "Convert of bits": bits,
    "ScaledDotProductAttention": attention,
    "CTCGreedyDecoder": ctc,
    "CTCGreedyDecoderSeqLen": ctc_with_lengths,
    "EmbeddingBagPackedSum": packed_sum,
    "EmbeddingBagPacked": packed,
    "EmbeddingBagOffsetsSum": bags(3),
    "EmbeddingBagOffsets": bags(15),
    "EmbeddingSegmentsSum": segments,
    **{f"{kind} of run time": open_transform(kind) for kind in ("DFT", "IDFT", "RDFT")},
    **{kind: transform(kind) for kind in ("DFT", "IDFT", "RDFT", "IRDFT")},
    "SearchSorted": search_sorted,
    "Unique": unique,
    "Eye": eye,
    "GRN": norm,
    "ExtractImagePatches": extract,
    "GridSample": grid_sample,
}


@pytest.mark.sampled(33)
@pytest.mark.parametrize(("configuration", "seed"), configurations(TABLE))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)
