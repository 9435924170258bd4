"""Constants that the node before takes in: the same values, in fewer nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

import ir_interp
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


def turned_and_shortened(draw: Draw) -> Any:
    """Axes of length 1 that were moved are removed, or reshaped away."""
    lengths, order = draw.among([1, 2, 3, 1], [2, 1, 1, 3]), draw.random.permutation(4)
    turned = layer("Transpose", 1, draw.numbers(lengths), constant(order))
    ones = [axis for axis, source in enumerate(order) if lengths[source] == 1]
    short = layer("Squeeze", 1, turned, constant(draw.among(ones, ones[:1])))
    again = layer("Transpose", 1, short, constant(draw.random.permutation(len(short.get_output_shape(0)))))
    return again, layer("Reshape", 1, turned, constant([3, -1]), special_zero=draw.chance())


def counted(x: Any, axis: int, times: Any) -> Any:
    """Return the length of a tensor along an axis, repeated."""
    length = layer("Gather", 8, layer("ShapeOf", 3, x, output_type="i32"), constant([axis]), constant(0))
    return layer("Broadcast", 3, length, times, mode="numpy")


def recurrence(draw: Draw, x: Any, lengths: Any) -> Any:
    weights = [constant(draw.values(shape)) for shape in ([1, 12, 3], [1, 12, 4], [1, 12])]
    stated = {"hidden_size": 4, "direction": "forward", "activations": ["sigmoid", "tanh"]}
    made = layer("GRUSequence", 5, x, constant(draw.values([2, 1, 4])), lengths, *weights, **stated)
    return layer("Relu", 1, made.output(0))


def counted_sequences(draw: Draw) -> Any:
    x = draw.input(draw.values([2, 5, 3]), open_axes=[1])
    return recurrence(draw, x, counted(x, 1, constant([2])))


def sequences_counted_before(draw: Draw) -> Any:
    """The lengths of another tensor are those of this one, which is a word's row for each number, turned around."""
    words = draw.input(draw.values([5, 2], np.int32, 0, 6), open_axes=[0])
    rows = layer("Relu", 1, layer("Gather", 8, constant(draw.values([7, 3])), words, constant(0)))
    x = layer("Transpose", 1, rows, constant([1, 0, 2]))
    copied = layer("Reshape", 1, x, constant([0, 0, 3]), special_zero=True)
    return recurrence(draw, copied, counted(words, 0, constant([2])))


def one_slope(draw: Draw) -> Any:
    slopes = constant(draw.among([0.2], [0.2, 0.2, 0.2]), np.float32)
    return layer("PRelu", 1, draw.numbers([1, 3, 4]), slopes)


MERGED: dict[str, Configuration] = {
    "Transpose of a Transpose": turned_twice,
    "extremes of extremes": largest_of_several,
    "Convolution": convolution_and_constant,
    "MatMul": product_and_constant,
    "MatMul of integers": whole_product_and_constant,
    "MVN": normalised_and_constants,
    "Clip": two_limits,
    "PRelu of one slope": one_slope,
    "shorter behind Transpose": turned_and_shortened,
    "GRUSequence of whole lengths": counted_sequences,
    "GRUSequence of whole lengths, counted before": sequences_counted_before,
}


@pytest.mark.sampled(16)
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


def sequences_counted_elsewhere(draw: Draw) -> Any:
    x, y = (draw.input(draw.values([2, 5, 3]), open_axes=[1]) for _ in range(2))
    return recurrence(draw, x, counted(y, 1, constant([2])))


def the_same_twice(draw: Draw) -> Any:
    x = draw.numbers([2, 3])
    twice = [layer("Softmax", 8, x, axis=1) for _ in range(2)]
    return layer("Multiply", 1, layer("Softmax", 8, x, axis=0), layer("Multiply", 1, *twice))


def several_slopes(draw: Draw) -> Any:
    return layer("PRelu", 1, draw.numbers([1, 3, 4]), constant([0.2, 0.2, 0.3], np.float32))


def removed_behind_transpose(draw: Draw) -> Any:
    turned = layer("Transpose", 1, draw.numbers([3, 1, 2]), constant([2, 1, 0]))
    back = layer("Transpose", 1, layer("Squeeze", 1, turned, constant([1])), constant([1, 0]))
    return layer("Relu", 1, back)


def reshaped_behind_transpose(draw: Draw) -> Any:
    turned = layer("Transpose", 1, draw.input(draw.values([3, 1, 2]), open_axes=[0]), constant([1, 0, 2]))
    return layer("Reshape", 1, turned, constant([2, -1]), special_zero=False)


@pytest.mark.parametrize(
    ("draw_layer", "nodes"),
    [
        (one_slope, ["LeakyRelu"]),
        (several_slopes, ["PRelu"]),
        (the_same_twice, ["Softmax", "Softmax", "Mul", "Mul"]),
        (removed_behind_transpose, ["Squeeze", "Relu"]),
        (reshaped_behind_transpose, ["Reshape"]),
        (counted_sequences, ["Transpose", "GRU", "Transpose", "Relu"]),
        (
            sequences_counted_elsewhere,
            ["Shape", "Cast", "Gather", "Expand", "Transpose", "GRU", "Transpose", "Relu"],
        ),
        (sequences_counted_before, ["Gather", "Relu", "Transpose", "Reshape", "Transpose", "GRU", "Transpose", "Relu"]),
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
    ir_interp.convert(tmp_path / "one.xml", tmp_path / "one.onnx", verify=False)
    made = loaded(tmp_path / "one.onnx").graph.node
    assert [node.op_type for node in made] == nodes
    assert made[-1].name == outputs[0].get_friendly_name()
