"""Convolutions and pooling: strides, dilations, pads, and how lengths are rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino
import pytest

from tests.support.layers import Configuration, Draw, check, configurations, constant, layer

AUTO_PADS = ("explicit", "explicit", "valid", "same_upper", "same_lower")


def windows(draw: Draw, rank: int, *, automatic: bool = True) -> dict[str, Any]:
    return {
        "strides": draw.integers(rank, 1, 3),
        "dilations": draw.integers(rank, 1, 2),
        "pads_begin": draw.integers(rank, 0, 1),
        "pads_end": draw.integers(rank, 0, 1),
        "auto_pad": draw.among(*AUTO_PADS) if automatic else "explicit",
    }


def image(draw: Draw, channels: int, rank: int) -> Any:
    values = draw.values([draw.between(1, 2), channels, *draw.integers(rank, 6, 9)])
    return draw.input(values, open_axes=[0, 2] if draw.chance(0.0) else [0] if draw.chance(0.3) else [])


def convolution(draw: Draw) -> Any:
    rank = draw.between(1, 3)
    rows, columns = draw.integers(2, 1, 4)
    weights = draw.values([rows, columns, *draw.integers(rank, 1, 3)])
    return layer("Convolution", 1, image(draw, columns, rank), draw.either(weights), **windows(draw, rank))


def group_convolution(draw: Draw) -> Any:
    rank = draw.between(1, 3)
    groups, rows, columns = draw.integers(3, 1, 3)
    weights = draw.values([groups, rows, columns, *draw.integers(rank, 1, 3)])
    x = image(draw, groups * columns, rank)
    return layer("GroupConvolution", 1, x, draw.either(weights), **windows(draw, rank))


def open_convolution(draw: Draw) -> Any:
    """Lengths known only at run time."""
    x = draw.input(draw.values([1, 3, *draw.integers(2, 6, 9)]), open_axes=[0, 2, 3])
    attributes = windows(draw, 2) | {"dilations": [1, 1]}
    return layer("Convolution", 1, x, constant(draw.values([2, 3, 3, 2])), **attributes)


def binary(draw: Draw) -> Any:
    rows, columns, size = draw.between(1, 9), draw.among(8, 16, 24, 40), draw.among(1, 3)
    bits = draw.values([rows, columns, size, size], np.uint8, 0, 1)
    held = openvino.Tensor(np.packbits(bits.ravel()), list(bits.shape), openvino.Type.u1)
    attributes = windows(draw, 2) | {"mode": "xnor-popcount", "pad_value": draw.among(-1.0, 0.0, 1.0)}
    x = draw.numbers([draw.between(1, 2), columns, *draw.integers(2, 4, 8)])
    return layer("BinaryConvolution", 1, x, openvino.op.Constant(held), **attributes)


def convolution_of_integers(draw: Draw) -> Any:
    rows, columns, dtype = *draw.integers(2, 1, 4), draw.among(np.int32, np.int64)
    x = draw.input(draw.values([1, columns, 6, 7], dtype, -9, 9))
    weights = draw.values([rows, columns, *draw.integers(2, 1, 3)], dtype)
    return layer("Convolution", 1, x, constant(weights), **windows(draw, 2))


def backprop(groups: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        rank = draw.between(1, 3)
        attributes = windows(draw, rank)
        padding = [draw.between(0, max(stride, 1) - 1) for stride in attributes["strides"]]
        rows, columns = draw.integers(2, 1, 3)
        sizes = draw.integers(rank, 2, 3)
        shape = [groups, rows, columns, *sizes] if groups else [rows, columns, *sizes]
        kind = "GroupConvolutionBackpropData" if groups else "ConvolutionBackpropData"
        x = image(draw, rows * max(groups, 1), rank)
        weights = constant(draw.values(shape))
        return layer(kind, 1, x, weights, **attributes, output_padding=padding)

    return draw_layer


def backprop_to_shape(groups: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        rank = draw.between(1, 3)
        attributes = windows(draw, rank) | {"dilations": [1] * rank}
        lengths, sizes = draw.integers(rank, 3, 5), draw.integers(rank, 2, 3)
        wanted = [
            (length - 1) * stride + size - draw.between(-3, 1)
            for length, stride, size in zip(lengths, attributes["strides"], sizes, strict=True)
        ]
        shape = [groups, 2, 3, *sizes] if groups else [2, 3, *sizes]
        kind = "GroupConvolutionBackpropData" if groups else "ConvolutionBackpropData"
        x, weights = draw.numbers([1, 2 * max(groups, 1), *lengths]), constant(draw.values(shape))
        return layer(kind, 1, x, weights, constant(wanted, np.int64), **attributes, output_padding=[0] * rank)

    return draw_layer


def deformable(draw: Draw) -> Any:
    size, groups, stride, pad = draw.between(1, 3), draw.among(1, 2), draw.between(1, 2), draw.between(0, 1)
    apart = draw.between(1, 2)
    rows, columns = ((length + 2 * pad - (size - 1) * apart - 1) // stride + 1 for length in (6, 7))
    shifted = draw.among(1, 2)
    inputs = [
        draw.numbers([1, 4, 6, 7]),
        draw.numbers([1, shifted * 2 * size**2, rows, columns], np.float32, -1.5, 1.5),
    ]
    inputs.append(constant(draw.values([4, 4 // groups, size, size])))
    if draw.chance():
        inputs.append(draw.numbers([1, shifted * size**2, rows, columns], np.float32, 0, 1))
    attributes: dict[str, Any] = {
        "strides": [stride] * 2,
        "pads_begin": [pad] * 2,
        "pads_end": [pad] * 2,
        "dilations": [apart] * 2,
    }
    attributes |= {"group": groups, "deformable_group": shifted, "bilinear_interpolation_pad": True}
    return layer("DeformableConvolution", 8, *inputs, **attributes)


def pooling(kind: str, version: int, roundings: Sequence[str], **attributes: Any) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        rank = draw.between(1, 3)
        stated = windows(draw, rank) | {"kernel": [3] * rank, "strides": draw.integers(rank, 1, 2)}
        stated["rounding_type"] = draw.among(*roundings)
        if kind == "AvgPool":
            if version < 16:
                del stated["dilations"]
            stated["exclude-pad"] = draw.chance()
        elif version == 1:
            del stated["dilations"]
        else:
            stated["axis"] = draw.between(0, rank + 1)
            stated["index_element_type"] = draw.among("i32", "i64")
        shape = [draw.between(1, 2), draw.between(1, 3), *draw.integers(rank, 6, 9)]
        return layer(kind, version, draw.input(draw.distinct(shape)), **stated)

    return draw_layer


def open_pooling(kind: str) -> Configuration:
    """Lengths known only at run time."""

    def draw_layer(draw: Draw) -> Any:
        x = draw.input(draw.distinct([1, 2, *draw.integers(2, 6, 9)]), open_axes=[0, 2, 3])
        rounding = draw.among("floor", "floor", "ceil")
        attributes: dict[str, Any] = {"strides": [2, 1], "kernel": [3, 3], "rounding_type": rounding}
        if kind == "AvgPool":
            attributes |= {"exclude-pad": draw.chance()}
        pads = {"pads_begin": draw.integers(2, 0, 1), "pads_end": draw.integers(2, 0, 1)}
        return layer(kind, 1, x, **attributes, **pads, auto_pad=draw.among(*AUTO_PADS))

    return draw_layer


def rounded_up(kind: str) -> Configuration:
    """Last windows that reach beyond the image, without pads or with pads as long as the kernel."""

    def draw_layer(draw: Draw) -> Any:
        size, is_padded = draw.between(2, 3), draw.chance()
        pads = {side: draw.integers(2, 0, size) if is_padded else [0, 0] for side in ("pads_begin", "pads_end")}
        attributes: dict[str, Any] = {"strides": draw.integers(2, 1, 3), "kernel": [size] * 2, **pads}
        attributes["rounding_type"] = draw.among("ceil", "ceil", "ceil_torch", "floor")
        if kind == "MaxPool":
            attributes["dilations"] = [1, 1]
        else:
            attributes["exclude-pad"] = False
            if not is_padded:
                attributes["strides"] = draw.integers(2, 1, size)
        open_axes = draw.among([], [0, 2, 3])
        x = draw.input(draw.distinct([1, 2, *draw.integers(2, 5, 9)]), open_axes=open_axes)
        return [layer(kind, 14, x, **attributes).output(0)]

    return draw_layer


def adaptive(kind: str) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        rank = draw.between(1, 3)
        lengths = draw.integers(rank, 2, 9)
        wanted = np.array([draw.between(1, length + 2) for length in lengths])
        values, axes = draw.distinct([2, 3, *lengths]), range(rank + 2)
        x = draw.input(values, open_axes=draw.among([], [axis for axis in axes if draw.chance()]))
        wanted = constant(wanted, np.int64) if draw.chance(0.7) else draw.input(wanted.astype(np.int32))
        made = layer(kind, 8, x, wanted, **({"index_element_type": "i32"} if "Max" in kind else {}))
        return [made.output(0)]

    return draw_layer


def adaptive_places(draw: Draw) -> Any:
    """Places in windows of one size, or of any; of equals the first counts."""
    wanted = draw.integers(draw.between(1, 3), 1, 3)
    rest = draw.chance()
    shape = [2, 3, *(each * draw.between(1, 3) + rest * draw.between(0, each - 1) for each in wanted)]
    values = draw.distinct(shape) if draw.chance() else draw.values(shape).round()
    x = draw.input(values, open_axes=draw.among([], [0, len(shape) - 1]))
    return layer("AdaptiveMaxPool", 8, x, constant(wanted, np.int64), index_element_type="i32")


CONVOLUTIONS: dict[str, Configuration] = {
    "DeformableConvolution": deformable,
    "Convolution": convolution,
    "BinaryConvolution": binary,
    "Convolution of integers": convolution_of_integers,
    "open Convolution": open_convolution,
    "GroupConvolution": group_convolution,
    "ConvolutionBackpropData": backprop(0),
    "GroupConvolutionBackpropData": backprop(2),
    "ConvolutionBackpropData to a shape": backprop_to_shape(0),
    "GroupConvolutionBackpropData to a shape": backprop_to_shape(2),
}
POOLING: dict[str, Configuration] = {
    "MaxPool-1": pooling("MaxPool", 1, ["floor", "ceil"]),
    "MaxPool-8": pooling("MaxPool", 8, ["floor", "ceil"]),
    "MaxPool-14": pooling("MaxPool", 14, ["floor", "ceil", "ceil_torch"]),
    "AvgPool-1": pooling("AvgPool", 1, ["floor", "ceil"]),
    "AvgPool-14": pooling("AvgPool", 14, ["floor", "ceil", "ceil_torch"]),
    "AvgPool-16": pooling("AvgPool", 16, ["floor", "ceil", "ceil_torch"]),
    "open MaxPool": open_pooling("MaxPool"),
    "open AvgPool": open_pooling("AvgPool"),
    "MaxPool rounded up": rounded_up("MaxPool"),
    "AvgPool rounded up": rounded_up("AvgPool"),
    "AdaptiveAvgPool": adaptive("AdaptiveAvgPool"),
    "AdaptiveMaxPool": adaptive("AdaptiveMaxPool"),
    "AdaptiveMaxPool places": adaptive_places,
}


@pytest.mark.sampled(35)
@pytest.mark.parametrize(("configuration", "seed"), configurations(CONVOLUTIONS | POOLING))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)
