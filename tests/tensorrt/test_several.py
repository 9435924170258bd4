"""Resizes as several TensorRT layers: the Python that adds them, with a stand-in that computes what the page says."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

import ir_interp
from tests.support.commands import command
from tests.support.graphs import values
from tests.support.runtimes import Array, onnx_model


class _Layer:
    """A layer whose output is an array; the first transpose of a shuffle is made when the output is asked for."""

    def __init__(self, output: Array) -> None:
        self.output = output
        self.first_transpose: tuple[int, ...] | None = None

    def get_output(self, index: int) -> Array:
        assert index == 0
        return self.output if self.first_transpose is None else self.output.transpose(self.first_transpose)


class MatrixOperation(Enum):
    NONE = 0


class ElementWiseOperation(Enum):
    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    SUB = 4


class ReduceOperation(Enum):
    SUM = 0


_FUNCTIONS = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum, "SUB": np.subtract}


class _Network:
    """The documented methods, and what they ask of ranks and types."""

    def add_constant(self, shape: tuple[int, ...], weights: Array) -> _Layer:
        assert weights.shape == shape
        assert weights.dtype in (np.float32, np.int32, np.bool_)
        return _Layer(weights)

    def add_gather(self, x: Array, indices: Array, axis: int) -> _Layer:
        assert indices.dtype == np.int32
        return _Layer(np.take(x, indices, axis))

    def add_matrix_multiply(self, a: Array, op0: MatrixOperation, b: Array, op1: MatrixOperation) -> _Layer:
        assert a.ndim == b.ndim
        assert op0 is op1 is MatrixOperation.NONE
        return _Layer(np.asarray(a @ b))

    def add_elementwise(self, a: Array, b: Array, op: ElementWiseOperation) -> _Layer:
        assert a.ndim == b.ndim
        return _Layer(_FUNCTIONS[op.name](a, b))

    def add_reduce(self, x: Array, op: ReduceOperation, axes: int, keep_dims: bool) -> _Layer:
        assert op is ReduceOperation.SUM
        return _Layer(x.sum(tuple(axis for axis in range(x.ndim) if axes >> axis & 1), keepdims=keep_dims))

    def add_select(self, condition: Array, a: Array, b: Array) -> _Layer:
        assert condition.ndim == a.ndim == b.ndim
        return _Layer(np.where(condition, a, b))

    def add_shuffle(self, x: Array) -> _Layer:
        return _Layer(x)


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = ModuleType("tensorrt")
    for each in (MatrixOperation, ElementWiseOperation, ReduceOperation):
        setattr(made, each.__name__, each)
    vars(made).update(INetworkDefinition=SimpleNamespace, ITensor=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "tensorrt", made)
    monkeypatch.chdir(tmp_path)


CROP = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
ROWS: list[tuple[dict[str, Any], tuple[int, ...], dict[str, Any]]] = [
    ({"mode": "linear", "antialias": 1}, (2, 3, 12, 20), {"sizes": (2, 3, 5, 9)}),
    ({"mode": "cubic", "antialias": 1, "exclude_outside": 1}, (1, 3, 12, 20), {"sizes": (1, 3, 5, 9)}),
    ({"mode": "linear", "antialias": 1}, (1, 1, 600, 7), {"sizes": (1, 1, 40, 7)}),
    ({"mode": "linear"}, (1, 2, 5, 300), {"scales": (1, 1, 1.5, 1.3)}),
    ({"mode": "cubic"}, (1, 4, 5, 6), {"sizes": (1, 7, 9, 6)}),
    ({"mode": "nearest", "coordinate_transformation_mode": "half_pixel"}, (1, 2, 39, 5), {"scales": (1, 1, 0.7, 1.3)}),
    (CROP, (1, 2, 6, 7), {"sizes": (1, 2, 5, 9), "roi": (0, 0, 0.1, -0.2, 1, 1, 0.8, 1.3)}),
]


@pytest.mark.parametrize(("attributes", "shape", "target"), ROWS, ids=str)
def test_several_layers(attributes: dict[str, Any], shape: tuple[int, ...], target: dict[str, Any]) -> None:
    onnx.save(onnx_model("Resize", 19, shape, "float32", attributes, **target), "a.onnx")
    (row,) = ir_interp.convert("a.onnx", "a.py").rows
    assert row.form.startswith("tensorrt layers: ")
    scope: dict[str, Any] = {}
    exec(compile(Path("a.py").read_text(), "a.py", "exec"), scope)
    (function,) = (each for name, each in scope.items() if name.startswith("add_"))
    x = values(*shape)
    (op,) = ir_interp.load("a.onnx")
    np.testing.assert_allclose(function(_Network(), x), op.run(x), atol=1e-5)


def test_what_is_no_layers(capsys: pytest.CaptureFixture[str]) -> None:
    attributes = {"mode": "linear", "antialias": 1}
    onnx.save(onnx_model("Resize", 19, (1, 2, 8, 9), "int8", attributes, sizes=(1, 2, 4, 5)), "b.onnx")
    code, _, told = command(capsys, "convert", "b.onnx", "b.py")
    assert code == 1
    assert "and several layers support float32 only, not int8" in told
    assert not Path("b.py").exists()


def test_no_tensor_of_more_than_2_31_elements(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither by one layer nor by several."""
    for attributes in ({"mode": "nearest"}, {"mode": "linear", "antialias": 1}):
        onnx.save(
            onnx_model("Resize", 19, (1, 1, 2, 2**20), "float32", attributes, sizes=(1, 1, 2**12, 2**20)), "b.onnx"
        )
        code, _, told = command(capsys, "convert", "b.onnx", "b.py")
        assert code == 1
        assert told.count("the output has 4294967296 elements; TensorRT takes 2147483648") == 1
        assert not Path("b.py").exists()


def test_nobody_knows_how_int8_is_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    """The page takes int8 and says nothing of sums; what is copied is as it was."""
    unknown = "no rule covers how TensorRT rounds sums of int8"
    for mode, code in (("nearest", 0), ("linear", 1)):
        attributes = {"mode": mode, "coordinate_transformation_mode": "asymmetric"} | (
            {"nearest_mode": "floor"} if mode == "nearest" else {}
        )
        onnx.save(onnx_model("Resize", 19, (1, 2, 4, 5), "int8", attributes, scales=(1, 1, 2, 2)), "c.onnx")
        (row,) = ir_interp.audit("c.onnx", runtimes=["tensorrt"]).rows
        assert str(row.predictions["tensorrt"].reason) == unknown * code
        for name in ("c.json", "c.py", "c2.onnx"):
            target = ["--target", "tensorrt"] if name == "c2.onnx" else []
            done, _, told = command(capsys, "convert", "c.onnx", name, *target)
            assert (done, unknown in told) == (code, bool(code))
