"""Constants that the node before takes in: the same values, in fewer nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

from ir_interp.converters.ir_to_onnx import write
from ir_interp.translation.dialect import Semantics
from tests.support.layers import Configuration, Draw, check, configurations, constant, layer, loaded

NONE = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1]}


def convolution(x: Any, weights: Any) -> Any:
    return layer("Convolution", 1, x, weights, **NONE)


def either_way(draw: Draw, kind: str, made: Any, value: Any) -> Any:
    return layer(kind, 1, *((made, value) if draw.chance() else (value, made)))


def convolution_and_constant(draw: Draw) -> Any:
    """Constants of every shape that fits, those that change along other axes or lengthen one included."""
    rows, columns, channels = draw.between(2, 4), draw.between(2, 4), draw.between(1, 3)
    x = draw.numbers([draw.between(1, 2), 2, rows, columns])
    made = convolution(x, constant(draw.values([channels, 2, 1, 1])))
    shape = draw.among([1, channels, 1, 1], [channels, 1, 1], [], [1], [columns], [1, 1, rows, 1], [1, 3, 1, 1])
    value = constant(draw.values(shape if channels == 1 or shape != [1, 3, 1, 1] else [1, channels, 1, 1]))
    total = either_way(draw, "Add", made, value)
    return (made, total) if draw.chance(0.3) else total


def product_and_constant(draw: Draw) -> Any:
    rows, columns = draw.between(1, 3), draw.between(1, 3)
    shape = draw.among([rows, 4], [2, rows, 4], [4])
    made = layer(
        "MatMul", 1, draw.numbers(shape), constant(draw.values([4, columns])), transpose_a=False, transpose_b=False
    )
    return either_way(draw, "Add", made, constant(draw.values(draw.among([], [columns], [1, columns], [rows, 1]))))


def normalised(draw: Draw, count: int, rank: int = 3) -> tuple[Any, list[int]]:
    shape = draw.integers(rank, 2, 4)
    axes = constant(range(rank - count, rank), np.int64)
    modes = {"eps_mode": "inside_sqrt", "normalize_variance": True}
    return layer("MVN", 6, draw.numbers(shape), axes, **modes, eps=1e-5), shape


def normalised_and_constants(draw: Draw) -> Any:
    """A scale and a shift, in either order and more than once."""
    made, shape = normalised(draw, draw.between(1, 2))
    for _ in range(draw.between(1, 3)):
        lengths = draw.among(shape[-1:], shape[-2:], [1, *shape[-2:]], [], shape, [shape[1], 1])
        made = either_way(draw, draw.among("Add", "Multiply"), made, constant(draw.values(lengths)))
    return made


def whole_product_and_constant(draw: Draw) -> Any:
    made = layer("MatMul", 1, draw.numbers([2, 4], np.int32), constant(draw.values([4, 3], np.int32)))
    return layer("Add", 1, made, constant(draw.values([3], np.int32)))


def two_limits(draw: Draw) -> Any:
    """Limits in every order, those the wrong way round included; OpenVINO loses axes that only a limit has."""
    made = draw.numbers(draw.shape(2, 3))
    for kind in (draw.among("Maximum", "Minimum"), draw.among("Maximum", "Minimum")):
        made = either_way(draw, kind, made, constant(draw.values(draw.among([], [1], [1, 1]))))
    return made


def turned_twice(draw: Draw) -> Any:
    first, second = (constant(draw.random.permutation(4)) for _ in range(2))
    return layer("Transpose", 1, layer("Transpose", 1, draw.numbers(draw.shape(4, 4)), first), second)


def largest_of_several(draw: Draw) -> Any:
    """Of some that are broadcast, and of which some are the same."""
    kind, held = draw.among("Maximum", "Minimum"), [draw.numbers([2, 3]), draw.numbers([3]), draw.numbers([4, 1, 3])]
    made = draw.among(*held)
    for _ in range(4):
        made = either_way(draw, draw.among(kind, kind, "Maximum"), made, draw.among(*held))
    return made


MERGED: dict[str, Configuration] = {
    "Transpose of a Transpose": turned_twice,
    "extremes of extremes": largest_of_several,
    "Convolution": convolution_and_constant,
    "MatMul": product_and_constant,
    "MatMul of integers": whole_product_and_constant,
    "MVN": normalised_and_constants,
    "Clip": two_limits,
}


@pytest.mark.parametrize(("configuration", "seed"), configurations(MERGED))
def test_values(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)


@pytest.mark.parametrize("name", MERGED)
def test_values_in_an_older_opset(name: str) -> None:
    check(MERGED[name], 0, opset=12)


def biased_convolution(draw: Draw) -> Any:
    value = constant(draw.values([1, 3, 1, 1]))
    return layer("Add", 1, convolution(draw.numbers([1, 2, 4, 4]), constant(draw.values([3, 2, 1, 1]))), value)


def convolution_that_is_measured(draw: Draw) -> Any:
    """The lengths of a convolution are read too, and are known."""
    made = convolution(draw.numbers([1, 2, 4, 4]), constant(draw.values([3, 2, 1, 1])))
    total = layer("Add", 1, made, constant(draw.values([1, 3, 1, 1])))
    return layer("Reshape", 1, total, layer("ShapeOf", 3, made, output_type="i64"), special_zero=False)


def limited(draw: Draw) -> Any:
    low = layer("Maximum", 1, draw.numbers([2, 3]), constant(0.0, np.float32))
    return layer("Minimum", 1, constant(6.0, np.float32), low)


def limited_twice_below(draw: Draw) -> Any:
    low = layer("Maximum", 1, draw.numbers([2, 3]), constant(-1.0, np.float32))
    return layer("Maximum", 1, low, constant(1.0, np.float32))


def limited_wrongly(draw: Draw) -> Any:
    low = layer("Maximum", 1, draw.numbers([2, 3]), constant(6.0, np.float32))
    return layer("Minimum", 1, low, constant(0.0, np.float32))


def convolution_read_twice(draw: Draw) -> Any:
    made = convolution(draw.numbers([1, 2, 4, 4]), constant(draw.values([3, 2, 1, 1])))
    return layer("Add", 1, made, constant(draw.values([1, 3, 1, 1]))), layer("Relu", 1, made)


def fully_connected(draw: Draw) -> Any:
    weights = constant(draw.values([4, 3]))
    made = layer("MatMul", 1, draw.numbers([2, 4]), weights, transpose_a=False, transpose_b=False)
    return layer("Add", 1, made, constant(draw.values([1, 3])))


def scaled_and_shifted(draw: Draw) -> Any:
    made, shape = normalised(draw, 1)
    scaled = layer("Multiply", 1, made, constant(draw.values(shape[-1:])))
    return layer("Add", 1, scaled, constant(draw.values([1, 1, shape[-1]])))


def shifted_then_scaled(draw: Draw) -> Any:
    made, shape = normalised(draw, 1)
    shifted = layer("Add", 1, made, constant(draw.values(shape[-1:])))
    return layer("Multiply", 1, shifted, constant(draw.values(shape[-1:])))


def turned_back(draw: Draw) -> Any:
    turned = layer("Transpose", 1, draw.numbers([2, 3, 4]), constant([2, 0, 1]))
    back = layer("Relu", 1, layer("Transpose", 1, turned, constant([1, 2, 0])))
    return back, layer("Relu", 1, layer("Transpose", 1, turned, constant([0, 2, 1])))


def larger_than_itself(draw: Draw) -> Any:
    x, y = draw.numbers([2, 3]), draw.numbers([2, 3])
    larger = layer("Maximum", 1, layer("Maximum", 1, x, x), y)
    return layer("Exp", 1, layer("Maximum", 1, y, larger))


@pytest.mark.parametrize(
    ("draw_layer", "nodes"),
    [
        (turned_back, ["Transpose", "Relu", "Relu"]),
        (larger_than_itself, ["Max", "Exp"]),
        (biased_convolution, ["Conv"]),
        (convolution_that_is_measured, ["Conv", "Reshape"]),
        (limited, ["Clip"]),
        (limited_wrongly, ["Max", "Min"]),
        (limited_twice_below, ["Max", "Max"]),
        (convolution_read_twice, ["Conv", "Relu", "Add"]),
        (fully_connected, ["Gemm"]),
        (scaled_and_shifted, ["LayerNormalization"]),
        (shifted_then_scaled, ["LayerNormalization", "Mul"]),
    ],
)
def test_nodes(tmp_path: Path, draw_layer: Callable[[Draw], Any], nodes: Sequence[str]) -> None:
    draw = Draw(0)
    drawn = draw_layer(draw)
    outputs = list(drawn) if isinstance(drawn, tuple) else [drawn]
    results = [openvino.opset13.result(each.output(0)) for each in outputs]
    openvino.save_model(openvino.Model(results, draw.parameters, "one"), tmp_path / "one.xml", compress_to_fp16=False)
    write.write_model(tmp_path / "one.xml", tmp_path / "one.onnx", Semantics.RUNTIME)
    made = loaded(tmp_path / "one.onnx").graph.node
    assert [node.op_type for node in made] == nodes
    assert made[-1].name == outputs[0].get_friendly_name()
