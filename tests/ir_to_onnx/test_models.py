"""Whole models: their ends, their names, their order, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset13 as ops

import ir_interp
from ir_interp import InexactError, IrInterpError, ReadError, UnsupportedLayerError
from tests.support import ir_text
from tests.support.ir_text import ELEMENT_TYPES, Edge
from tests.support.layers import assert_equal, constant, core, in_onnxruntime, in_openvino, layer
from tests.support.places import REAL_IRS, ROOT


def converted(source: Path, opset: int | None = None, semantics: str = "runtime") -> onnx.ModelProto:
    ir_interp.convert(source, source.with_suffix(".onnx"), semantics=semantics, opset=opset, verify=False)
    return onnx.load(str(source.with_suffix(".onnx")))


def saved(folder: Path, outputs: list[Any], inputs: list[Any], *, half: bool = False) -> Path:
    ov.save_model(ov.Model(outputs, inputs, "net"), folder / "net.xml", compress_to_fp16=half)
    return folder / "net.xml"


def same(source: Path, shapes: dict[str, tuple[int, ...]] | None = None, tolerance: float = 1e-5) -> None:
    """Check that both runtimes agree, in names, order, types and values."""
    model = core().read_model(source)
    random, made = np.random.default_rng(0), converted(source)
    feeds = {}
    for each in model.inputs:
        shape = (shapes or {}).get(each.any_name) or tuple(each.shape)
        feeds[each.any_name] = random.random(shape).astype(each.element_type.to_dtype())
    assert [each.name for each in made.graph.input] == [each.any_name for each in model.inputs]
    assert [each.name for each in made.graph.output] == [each.any_name for each in model.outputs]
    results = in_onnxruntime(source.with_suffix(".onnx"), feeds)
    # In 8 bits, as onnxruntime multiplies levels as well; floats round sums of other orders.
    for got, wanted in zip(results, in_openvino(model, feeds, LP_TRANSFORMS_MODE="YES"), strict=True):
        assert_equal(got, wanted, tolerance)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", sorted(path.stem for path in REAL_IRS.glob("*.xml")) or ["none"])
def test_a_real_model(name: str, tmp_path: Path) -> None:
    if name == "none":
        pytest.skip("no real models here")
    for end in (".xml", ".bin"):
        (tmp_path / name).with_suffix(end).write_bytes((REAL_IRS / name).with_suffix(end).read_bytes())
    same((tmp_path / name).with_suffix(".xml"))


def act(number: int, name: str, kind: str = "ReLU", dtype: str = "float32") -> str:
    """Return a layer from port 0 to port 1."""
    return ir_text.layer(kind, "", [(2,)], [(2,)], number=number, name=name, dtype=dtype)


def ends(source: int, result: int, dtype: str = "float32") -> tuple[str, str]:
    data = f'shape="2" element_type="{ELEMENT_TYPES[dtype][0]}"'
    return (
        ir_text.layer("Parameter", data, outputs=[(2,)], number=source, name="in", dtype=dtype),
        ir_text.layer("Result", "", [(2,)], number=result, name="out", dtype=dtype),
    )


def written(folder: Path, layers: Sequence[str], edges: Sequence[Edge], version: int = 11) -> Path:
    (folder / "net.xml").write_text(ir_text.net(layers, edges, version))
    (folder / "net.bin").write_bytes(b"")
    return folder / "net.xml"


def test_layers_in_any_order(tmp_path: Path) -> None:
    parameter, result = ends(7, 0)
    layers = (result, act(3, "second", "Exp"), act(5, "first"), parameter)
    made = converted(written(tmp_path, layers, [(7, 0, 5, 0), (5, 1, 3, 0), (3, 1, 0, 0)]))
    assert [(node.op_type, node.name) for node in made.graph.node] == [("Relu", "first"), ("Exp", "second")]
    assert [each.name for each in (*made.graph.input, *made.graph.output)] == ["in", "second"]


def test_a_cycle(tmp_path: Path) -> None:
    parameter, result = ends(0, 3)
    layers = (parameter, act(1, "one"), act(2, "two"), result)
    source = written(tmp_path, layers, [(2, 1, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)])
    with pytest.raises(ReadError, match=r'^net.xml:layer\[1 "one"\]: it feeds itself, directly or through others$'):
        converted(source)


def test_all_refusals_come_together(tmp_path: Path) -> None:
    parameter, result = ends(0, 3)
    layers = (parameter, act(1, "one", "Wobble"), act(2, "two", "Wabble"), result)
    source = written(tmp_path, layers, [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 0)])
    with pytest.raises(ExceptionGroup, match="2 of 4 layers cannot become ONNX") as refusals:
        ir_interp.convert(source, tmp_path / "made.onnx")
    assert [str(each) for each in refusals.value.exceptions] == [
        "net.xml:layer[1 \"one\"]: no ONNX form is known for layer type 'Wobble'",
        "net.xml:layer[2 \"two\"]: no ONNX form is known for layer type 'Wabble'",
    ]
    assert not (tmp_path / "made.onnx").exists()


@pytest.mark.parametrize("dtype", ["float16", "int64", "uint8", "bfloat16"])
def test_the_ends_of_an_old_ir(dtype: str, tmp_path: Path) -> None:
    """OpenVINO shows half precision as single in an IR v10, and changes the types of outputs."""
    parameter, result = ends(0, 2, dtype)
    layers = (parameter, act(1, "act", dtype=dtype), result)
    for version in (10, 11):
        source = written(tmp_path, layers, [(0, 0, 1, 0), (1, 1, 2, 0)], version=version)
        model = core().read_model(source)
        made = converted(source)
        for mine, theirs in zip((*made.graph.input, *made.graph.output), (*model.inputs, *model.outputs), strict=True):
            element = onnx.helper.tensor_dtype_to_np_dtype(mine.type.tensor_type.elem_type)
            assert element == theirs.element_type.to_dtype() or element == ml_dtypes.bfloat16


def test_the_ends_of_an_old_ir_as_in_the_file(tmp_path: Path) -> None:
    parameter, result = ends(0, 2, "float16")
    layers = (parameter, act(1, "act", dtype="float16"), result)
    source = written(tmp_path, layers, [(0, 0, 1, 0), (1, 1, 2, 0)], version=10)
    made = converted(source, semantics="document")
    for each in (*made.graph.input, *made.graph.output):
        assert each.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16
    report = ir_interp.convert(source, tmp_path / "verified.onnx", semantics="document")
    assert report.verification is not None


def test_names_and_open_shapes_are_kept(tmp_path: Path) -> None:
    x = ops.parameter(ov.PartialShape([-1, 3, -1]), np.float32, name="image")
    y = ops.relu(x)
    y.output(0).set_names({"b,c", "d"})
    results = [ops.result(y), ops.result(ops.exp(y)), ops.result(y), ops.result(x)]
    made = converted(saved(tmp_path, results, [x]))
    assert [each.name for each in made.graph.input] == ["image"]
    assert made.graph.output[0].name == "b,c"
    assert len({each.name for each in (*made.graph.input, *made.graph.output)}) == 5
    lengths = made.graph.input[0].type.tensor_type.shape.dim
    assert [each.dim_value if each.HasField("dim_value") else None for each in lengths] == [None, 3, None]
    onnx.checker.check_model(made, full_check=True)


@pytest.mark.parametrize("half", [False, True])
def test_weights_are_kept_as_they_are_stored(half: bool, tmp_path: Path) -> None:
    x = ops.parameter([1, 32], np.float32, name="x")
    weights = np.random.default_rng(0).random((32, 64), np.float32)
    y = ops.matmul(ops.matmul(x, constant(weights), False, False), constant(weights), False, True)
    y.output(0).set_names({"y"})
    same(saved(tmp_path, [y], [x], half=half))
    (tensor,) = converted(tmp_path / "net.xml").graph.initializer
    assert tensor.data_type == (onnx.TensorProto.FLOAT16 if half else onnx.TensorProto.FLOAT)


@pytest.mark.parametrize("kind", ["i4", "u4", "i8", "f8e4m3", "f8e5m2", "bf16", "f64"])
def test_element_types_of_constants(kind: str, tmp_path: Path) -> None:
    x = ops.parameter([3, 5], np.float32, name="x")
    weights = ov.op.Constant(
        getattr(ov.Type, kind), ov.Shape([3, 5]), list(range(15) if kind[0] == "u" else range(-7, 8))
    )
    y = ops.add(x, ops.convert(weights, "f32"))
    y.output(0).set_names({"y"})
    same(saved(tmp_path, [y], [x]))


def test_a_sum_that_onnx_does_not_have(tmp_path: Path) -> None:
    x = ov.op.Parameter(ov.Type.boolean, ov.PartialShape([6]))
    source = saved(tmp_path, [layer("CumSum", 3, x, constant(0, np.int64))], [x])
    with pytest.raises(ExceptionGroup) as refusals:
        converted(source)
    assert "CumSum cannot become ONNX: ONNX has no CumSum of bool" in str(refusals.value.exceptions[0])


def test_what_only_a_newer_opset_can_say(tmp_path: Path) -> None:
    x = ops.parameter([2, 3], np.int32, name="x")
    y = layer("BitwiseAnd", 13, x, constant([1, 2, 3], np.int32))
    source = saved(tmp_path, [y], [x])
    assert converted(source).opset_import[0].version == 21
    with pytest.raises(ExceptionGroup) as refusals:
        converted(source, 17)
    assert "BitwiseAnd cannot become ONNX: it needs operator set 18 or later" in str(refusals.value.exceptions[0])
    with pytest.raises(IrInterpError, match="opset is 25; expected 11 to 24"):
        converted(source, 25)


def test_the_same_bytes_at_every_run(tmp_path: Path) -> None:
    x = ops.parameter([1, 3, 8, 8], np.float32, name="x")
    weights = np.random.default_rng(0).random((4, 3, 3, 3), np.float32)
    y = ops.relu(ops.convolution(x, constant(weights), [1, 1], [1, 1], [1, 1], [1, 1]))
    source = saved(tmp_path, [ops.split(y, constant(1, np.int64), 2).output(1), ops.softmax(y, 1).output(0)], [x])
    made = []
    for seed in ("0", "1"):
        command = [sys.executable, "-m", "ir_interp", "convert", str(source), str(tmp_path / f"{seed}.onnx")]
        subprocess.run(
            [*command, "--no-verify"],
            check=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
        )
        made.append((tmp_path / f"{seed}.onnx").read_bytes())
    assert made[0] == made[1]


def test_a_missing_binary(tmp_path: Path) -> None:
    x = ops.parameter([2], np.float32, name="x")
    source = saved(tmp_path, [ops.add(x, constant([1.0, 2.0], np.float32))], [x])
    source.with_suffix(".bin").unlink()
    with pytest.raises(ReadError, match=r"the value is needed, but net\.bin is missing"):
        converted(source)


def test_an_inexact_resize_is_refused_beside_the_rest(tmp_path: Path) -> None:
    x = ops.parameter([1, 1, 4, 4], np.float32, name="x")
    sizes, axes = constant([7, 7], np.int64), constant([2, 3], np.int64)
    y = ops.relu(ops.interpolate(x, sizes, "bicubic_pillow", "sizes", axes=axes))
    with pytest.raises(ExceptionGroup) as refusals:
        converted(
            saved(tmp_path, [y, layer("RandomUniform", 8, *map(constant, ([2], 0.0, 1.0)), output_type="f64")], [x])
        )
    kinds = [type(each) for each in refusals.value.exceptions]
    assert UnsupportedLayerError in kinds
    assert set(kinds) <= {InexactError, UnsupportedLayerError}
