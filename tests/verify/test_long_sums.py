"""Means over flat areas, as a letterbox pads: float32 rounds all their partial sums in the same direction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.verify.conversion import verify
from ir_interp.converters.verify.inputs import Inputs
from tests.support.graphs import save_model

_MEANS = {
    "pool": "p = GlobalAveragePool (r)",
    "mean": "p = ReduceMean <axes = [2, 3]> (r)",
    "mean of the last axes": "p = ReduceMean <axes = [-1, -2]> (r)",
}


def padded(path: Path, mean: str = _MEANS["pool"]) -> Path:
    """Write a model that pads half of an image with one colour, and averages what a convolution makes of it."""
    save_model(
        path,
        f"""g (float[1,3,320,640] x) => (float[1,10] y) <int64[8] pads = {{0, 0, 160, 0, 0, 0, 160, 0}},
            float grey = {{0.44705883}}, int64[2] flat = {{1, -1}}> {{
            b = Pad (x, pads, grey)
            c = Conv <pads = [1, 1, 1, 1]> (b, w)
            r = Relu (c)
            {mean}
            f = Reshape (p, flat)
            y = MatMul (f, v)
        }}""",
        17,
    )
    model, rng = onnx.load(path), np.random.default_rng(0)
    for name, shape in (("w", (8, 3, 3, 3)), ("v", (8, 10))):
        model.graph.initializer.append(numpy_helper.from_array(rng.normal(0, 0.4, shape).astype(np.float32), name))
    onnx.save(model, path)
    return path


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mean", _MEANS.values(), ids=_MEANS)
def test_a_flat_area_is_proven_both_ways(mean: str, tmp_path: Path) -> None:
    source = padded(tmp_path / "a.onnx", mean)
    for one, other in ((source, tmp_path / "a.xml"), (tmp_path / "a.xml", tmp_path / "b.onnx")):
        verification = ir_interp.convert(one, other).verification
        assert verification is not None
        assert verification.is_conclusive


def test_a_letterbox_in_front_of_a_mean_is_proven(tmp_path: Path) -> None:
    """Its sizes of run time are vectors; moved by last bits, they would be others."""
    text = "g (float[1,3,320,320] x) => (float[1,3,1,1] y) {y = GlobalAveragePool (x)}"
    source = save_model(tmp_path / "a.onnx", text)
    ir_interp.preprocess(source, tmp_path / "a.xml", like="opencv:linear", size=(320, 320), letterbox=114)
    assert (tmp_path / "a.xml").exists()


def _changed(model: onnx.ModelProto, name: str, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
    (tensor,) = (each for each in model.graph.initializer if each.name == name)
    array = numpy_helper.to_array(tensor)
    tensor.CopyFrom(numpy_helper.from_array(change(array.copy()).astype(array.dtype), name))


def _one_row_less(model: onnx.ModelProto) -> None:
    _changed(model, "pads", lambda pads: pads - np.array([0, 0, 0, 0, 0, 0, 8, 0]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "change",
    [
        lambda model: _changed(model, "grey", lambda grey: grey + 1 / 255),
        lambda model: _changed(model, "w", lambda weights: weights * 1.004),
        lambda model: _changed(model, "v", lambda weights: weights * 1.001),
        _one_row_less,
    ],
    ids=["another colour", "other weights before", "other weights behind", "fewer rows"],
)
def test_another_mean_is_refused(change: Callable[[onnx.ModelProto], None], tmp_path: Path) -> None:
    source = padded(tmp_path / "a.onnx")
    model = onnx.load(source)
    change(model)
    onnx.save(model, tmp_path / "b.onnx")
    ov.save_model(ov.convert_model(tmp_path / "b.onnx"), tmp_path / "b.xml", compress_to_fp16=False)
    with pytest.raises(VerificationError, match="differs"):
        verify(source, tmp_path / "b.xml", (), Inputs())
