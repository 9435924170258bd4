"""Models written piece by piece: what protobuf writes, in little memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper, numpy_helper
from openvino import opset13 as ops

import ir_interp
from ir_interp.converters.onnx import onnx_graph
from ir_interp.files import memory
from tests.support.runtimes import Array

MODEL = helper.make_model(helper.make_graph([], "g", [], []), opset_imports=[helper.make_opsetid("", 23)])
TYPES: list[tuple[Any, tuple[int, ...]]] = [
    (np.float32, (3, 4)),
    (np.float16, (5,)),
    (np.int64, ()),
    (np.int64, (0,)),
    (np.bool_, (3,)),
    (ml_dtypes.int4, (3, 5)),
    (ml_dtypes.uint4, (7,)),
    (ml_dtypes.uint4, ()),
    (ml_dtypes.bfloat16, (2, 3)),
    (ml_dtypes.float8_e4m3fn, (3,)),
    (ml_dtypes.float4_e2m1fn, (5,)),
]


@pytest.mark.parametrize("is_apart", [False, True])
def test_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_apart: bool) -> None:
    """Those of each type, of axes that were swapped, and where a block is much smaller than a constant."""
    monkeypatch.setattr("ir_interp.files.memory._BLOCK", 3)
    monkeypatch.setattr(onnx_graph, "LARGEST", 0 if is_apart else onnx_graph.LARGEST)
    monkeypatch.setattr(onnx_graph, "_SMALL", 0)
    rng = np.random.default_rng(0)
    values: list[Array] = [np.asarray(rng.integers(0, 8, shape)).astype(dtype) for dtype, shape in TYPES]
    values += [value.T for value in values if value.ndim == 2]
    constants = {f"c{index}": value for index, value in enumerate(values)}
    whole = onnx.ModelProto()
    whole.CopyFrom(MODEL)
    wanted = [numpy_helper.from_array(value.copy("C"), name) for name, value in constants.items()]
    whole.graph.initializer.extend(wanted)
    empty = onnx.ModelProto()
    empty.CopyFrom(MODEL)
    onnx_graph.save(onnx_graph.Unsaved(model=empty, constants=constants), tmp_path / "a.onnx")
    if is_apart:
        data = (tmp_path / "a.onnx.data").read_bytes()
        assert data == b"".join(each.raw_data for each in wanted)
    else:
        assert onnx.load(str(tmp_path / "a.onnx")) == whole
    for tensor, value in zip(onnx.load(str(tmp_path / "a.onnx")).graph.initializer, values, strict=True):
        assert np.array_equal(numpy_helper.to_array(tensor), value)


@pytest.mark.parametrize("is_large", [False, True])
def test_weights_of_a_second_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_large: bool) -> None:
    """They become part of the model, unless that would be too large."""
    whole = onnx.ModelProto()
    whole.CopyFrom(MODEL)
    values: list[Array] = [
        np.arange(600, dtype=np.float32),
        np.zeros((0, 3)),
        np.ones(400, ml_dtypes.int4),
        np.array(2.5),
    ]
    whole.graph.initializer.extend(numpy_helper.from_array(value, f"c{place}") for place, value in enumerate(values))
    whole.graph.initializer[0].doc_string = "of 600 numbers"
    (tmp_path / "source").mkdir()
    source, output = tmp_path / "source" / "a.onnx", tmp_path / "a.onnx"
    apart = onnx.ModelProto()
    apart.CopyFrom(whole)
    onnx.save(apart, str(source), save_as_external_data=True, location="a.onnx.data", size_threshold=0)
    monkeypatch.setattr(onnx_graph, "LARGEST", 0 if is_large else onnx_graph.LARGEST)
    onnx_graph.save_joined(source, output)
    assert sorted(path.name for path in tmp_path.glob("a*")) == ["a.onnx", *(["a.onnx.data"] if is_large else [])]
    result = onnx.load(str(output))
    for tensor, value in zip(result.graph.initializer, values, strict=True):
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), value)
    assert result.graph.initializer[0].doc_string == "of 600 numbers"


def test_memory(tmp_path: Path) -> None:
    """A model of one file holds no copy of its constants but for a block."""
    value = np.zeros(2**27, np.uint8)
    tracemalloc.start()
    onnx_graph.save(
        onnx_graph.Unsaved(model=onnx.ModelProto(graph=MODEL.graph), constants={"a": value}), tmp_path / "a.onnx"
    )
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()


def test_blocks_of_several_elements() -> None:
    lengths = [len(each) for each in memory.blocks(np.zeros(5, np.uint8), 2)]
    assert lengths == [5]


def test_constants_too_large_for_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block by block, also where they lie otherwise than in the file; shapes stay in the model, which is checked."""
    monkeypatch.setattr(onnx_graph, "LARGEST", 1000)
    monkeypatch.setattr(memory, "_BLOCK", 1000)
    x, weights = ops.parameter([2, 64], np.float32, name="x"), np.random.default_rng(0).random((64, 32), np.float32)
    y = ops.matmul(ops.matmul(x, ops.constant(weights), False, False), ops.constant(weights), False, True)
    y = ops.reshape(y, ops.constant(np.array([4, 2, 16])), False)
    ov.save_model(ov.Model([y], [x], "net"), tmp_path / "net.xml", compress_to_fp16=False)
    ir_interp.convert(tmp_path / "net.xml", tmp_path / "net.onnx")  # and is verified
    files = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sorted(files) == ["net.bin", "net.onnx", "net.onnx.data", "net.xml"]
    assert files["net.onnx"] < 1000 < files["net.onnx.data"]
