"""What constants decide is computed at the conversion, and is what OpenVINO computes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

import ir_interp
from ir_interp.errors import ReadError
from tests.support.layers import Configuration, Draw, check, configurations, constant, layer, loaded


def beside_an_input(draw: Draw, made: Any, output: int = 0) -> Any:
    """Return a sum of a value and an input of its shape, so that something is left to run."""
    value = made.output(output)
    zeros = np.zeros(tuple(value.shape), value.element_type.to_dtype())
    return ov.opset13.add(draw.input(zeros), value)


def integers(draw: Draw, shape: Sequence[int]) -> Any:
    return constant(draw.values(shape, np.int64, -9, 9))


def gather(draw: Draw) -> Any:
    rows = draw.between(1, 3)
    batches = draw.chance()
    indices = draw.values([rows, 2] if batches else draw.shape(0, 2), np.int64, -4, 3)
    data = integers(draw, [rows, 4])
    return beside_an_input(draw, layer("Gather", 8, data, constant(indices), constant(1), batch_dims=int(batches)))


def reshape(draw: Draw) -> Any:
    zero = draw.chance()
    pattern = draw.among([0, -1], [-1, 0], [0, 3]) if zero else draw.among([3, -1], [-1], [2, 3], [1, 3, 2])
    data = integers(draw, [2, 3] if 0 in pattern[:1] or not zero else [3, 3])
    return beside_an_input(draw, layer("Reshape", 1, data, constant(pattern, np.int64), special_zero=zero))


def strided_slice(draw: Draw) -> Any:
    """Vectors cut in every way; matrices, which are not computed before."""
    masks = {"begin_mask": [draw.between(0, 1)], "end_mask": [draw.between(0, 1)]}
    shrinks = draw.chance(0.3)
    masks |= {"new_axis_mask": [], "shrink_axis_mask": [1] if shrinks else [], "ellipsis_mask": []}
    begin, end, step = (1, 2, 1) if shrinks else (draw.between(-7, 2), draw.between(3, 7), draw.between(1, 2))
    data = integers(draw, [6] if shrinks or draw.chance(0.8) else [6, 2])
    limits = (constant([each], np.int64) for each in (begin, end, step))
    return beside_an_input(draw, layer("StridedSlice", 1, data, *limits, **masks))


def divide(draw: Draw) -> Any:
    divisor = draw.values([3], np.int64, 1, 4) * draw.among(1, -1)
    made = layer("Divide", 1, integers(draw, [3]), constant(divisor), m_pythondiv=draw.chance())
    return beside_an_input(draw, made)


def rest(kind: str) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        divisor = draw.values([3], np.int64, 1, 4) * draw.among(1, -1)
        return beside_an_input(draw, layer(kind, 1, integers(draw, [3]), constant(divisor)))

    return draw_layer


def product(draw: Draw) -> Any:
    axes = draw.some(2, 1)
    made = layer("ReduceProd", 1, integers(draw, [2, 3]), constant(axes, np.int64), keep_dims=draw.chance())
    return beside_an_input(draw, made)


def tile(draw: Draw) -> Any:
    repeats = draw.among([2], [2, 1], [1, 3], [2, 1, 2])
    return beside_an_input(draw, layer("Tile", 1, integers(draw, [2, 3]), constant(repeats, np.int64)))


def split_as_it_came_out(draw: Draw) -> Any:
    """Lengths that nothing here computes, but shapes tell."""
    lengths = layer("Convert", 1, layer("Exp", 1, constant(np.zeros(2, np.float32))), destination_type="i64")
    made = layer("VariadicSplit", 1, draw.input(draw.distinct([3, 2])), constant(1), lengths)
    return ov.opset13.concat([made.output(1), made.output(0)], 1)


def variadic_split(draw: Draw) -> Any:
    lengths = draw.among([2, -1, 1], [-1, 3], [1, 2, 3])
    made = layer("VariadicSplit", 1, integers(draw, [2, 6]), constant(1), constant(lengths, np.int64))
    return beside_an_input(draw, made, draw.between(0, len(lengths) - 1))


def split(draw: Draw) -> Any:
    made = layer("Split", 1, integers(draw, [6, 2]), constant(0), num_splits=3)
    return beside_an_input(draw, made, draw.between(0, 2))


def broadcast(draw: Draw) -> Any:
    mode = draw.among("numpy", "bidirectional")
    target = constant([2, 4, 3] if mode == "numpy" else draw.among([2, 4, 1], [4, 3], [1]), np.int64)
    return beside_an_input(draw, layer("Broadcast", 3, integers(draw, [1, 3]), target, mode=mode))


def numbers(draw: Draw) -> Any:
    start, step = draw.between(-3, 3), draw.among(1, 2, -1)
    limits = (constant(each) for each in (start, start + step * draw.between(1, 5), step))
    return beside_an_input(draw, layer("Range", 4, *limits, output_type=draw.among("i64", "i32", "f32")))


DECIDED: dict[str, Configuration] = {
    "Gather": gather,
    "Reshape": reshape,
    "StridedSlice": strided_slice,
    "Divide": divide,
    "Mod": rest("Mod"),
    "FloorMod": rest("FloorMod"),
    "ReduceProd": product,
    "Tile": tile,
    "Split as it came out": split_as_it_came_out,
    "VariadicSplit": variadic_split,
    "Split": split,
    "Broadcast": broadcast,
    "Range": numbers,
}


@pytest.mark.parametrize(("configuration", "seed"), configurations(DECIDED))
def test_values(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)


def node_types(folder: Path, model: ov.Model) -> list[str]:
    ov.save_model(model, folder / "one.xml", compress_to_fp16=False)
    ir_interp.convert(folder / "one.xml", folder / "one.onnx", verify=False)
    return [node.op_type for node in loaded(folder / "one.onnx").graph.node]


@pytest.mark.parametrize("name", ["Divide", "FloorMod", "Mod", "Range", "ReduceProd", "Split", "Tile", "VariadicSplit"])
def test_nothing_is_left_to_compute(name: str, tmp_path: Path) -> None:
    draw = Draw(0)
    result = ov.opset13.result(DECIDED[name](draw))
    assert node_types(tmp_path, ov.Model([result], draw.parameters, "one")) == ["Add"]


def test_shapes_tell_how_a_tensor_is_split(tmp_path: Path) -> None:
    draw = Draw(0)
    result = ov.opset13.result(split_as_it_came_out(draw))
    assert "Split" in node_types(tmp_path, ov.Model([result], draw.parameters, "one"))
    (split,) = (each for each in loaded(tmp_path / "one.onnx").graph.node if each.op_type == "Split")
    assert split.input[1] in {each.name for each in loaded(tmp_path / "one.onnx").graph.initializer}


def test_a_long_chain(tmp_path: Path) -> None:
    x = ov.opset13.parameter([2], np.float32, name="x")
    y = x
    for _ in range(1500):
        y = ov.opset13.add(y, constant([1.0, 2.0], np.float32))
    assert node_types(tmp_path, ov.Model([y], [x], "chain")) == ["Add"] * 1500


def test_what_is_long_is_left_to_run_time(tmp_path: Path) -> None:
    x = ov.opset13.parameter([1], np.float32, name="x")
    wide = ov.opset13.broadcast(constant([1.0], np.float32), constant([1 << 20, 1 << 20], np.int64))
    many = ov.opset13.range(constant(0.0, np.float32), constant(1e12, np.float32), constant(1.0, np.float32), "f32")
    sums = [ov.opset13.add(x, ov.opset13.reduce_sum(each, [0], True)) for each in (wide, many)]
    kinds = node_types(tmp_path, ov.Model(sums, [x], "long"))
    assert sorted(kinds) == ["Add", "Add", "Expand", "Range", "ReduceSum", "ReduceSum"]


def test_an_attribute_that_is_missing(tmp_path: Path) -> None:
    x = ov.opset13.parameter([3, 2], np.int64, name="x")
    made = layer("Split", 1, constant(np.ones((6, 2), np.int64)), constant(0), num_splits=2)
    ov.save_model(ov.Model([ov.opset13.add(x, made.output(0))], [x], "one"), tmp_path / "one.xml")
    text = (tmp_path / "one.xml").read_text().replace('num_splits="2"', "")
    (tmp_path / "one.xml").write_text(text)
    with pytest.raises(ReadError, match="@num_splits: missing"):
        ir_interp.convert(tmp_path / "one.xml", tmp_path / "one.onnx", verify=False)
