"""An IR is written after the transformations that ``ovc`` runs: as small as its file, and as right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

import ir_interp
from tests.support import exact_sums
from tests.support.graphs import onnxruntime_outputs, openvino_outputs, save_model, values
from tests.support.runtimes import Array
from tests.test_models import MODELS, model_path

MOST_FOR_RESIZES = 8  # operations that a resize may have more than in ovc's file


def _operations(model: Path | ov.Model) -> int:
    read = ov.Core().read_model(model) if isinstance(model, Path) else model
    return len([node for node in read.get_ops() if node.get_type_name() not in ("Constant", "Parameter", "Result")])


@pytest.mark.parametrize("name", MODELS)
def test_an_ir_is_as_small_as_that_of_ovc(name: str, tmp_path: Path) -> None:
    place, resizes, _ = MODELS[name]
    source, result = model_path(place), tmp_path / "x.xml"
    ir_interp.convert(source, result, verify=False)
    assert _operations(result) <= _operations(ov.convert_model(source)) + MOST_FOR_RESIZES * resizes


NETWORK = """g (float[n,3,h,w] x) => (float[n,4,k,l] y) <float[4] twice = {1,1,2,2}, int64[1] one = {1}> {
    r = Relu (x)
    u = Resize <mode = "linear", antialias = 1> (r, "", twice)
    k = ReduceMean <keepdims = 1> (u, one)
    v = Concat <axis = 1> (u, k)
    y = Resize <mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric"> (v, "", twice)
}"""


@pytest.mark.parametrize("fp16", [False, True])
def test_it_can_be_reshaped(fp16: bool, tmp_path: Path) -> None:
    """No length of the source was folded into it."""
    source, result = save_model(tmp_path / "x.onnx", NETWORK), tmp_path / "x.xml"
    ir_interp.convert(source, result, fp16=fp16)
    for shape in ((1, 3, 8, 12), (2, 3, 5, 7)):
        model = ov.Core().read_model(result)
        model.reshape(list(shape))
        assert [length.get_length() for length in model.output(0).get_partial_shape()][:2] == [shape[0], 4]
        x = values(*shape)
        np.testing.assert_allclose(
            openvino_outputs(model, {"x": x})[0], onnxruntime_outputs(source, {"x": x})[0], rtol=0, atol=1e-5
        )


# A quantised model


QUANTISED = """g (float[1,3,32,32] x) => (float[1,11,64,64] y) <float[4] twice = {1,1,2,2}> {
    c = Conv <pads = [1,1,1,1], strides = [2,2]> (x, kernel, bias)
    r = Relu (c)
    u = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (r, "", twice)
    v = Concat <axis = 1> (u, x)
    y = Resize <mode = "cubic", coordinate_transformation_mode = "half_pixel"> (v, "", twice)
}"""


class _Calibration(CalibrationDataReader):  # type: ignore[misc, unused-ignore]
    def __init__(self) -> None:
        self._samples: Iterator[dict[str, Array]] = ({"x": _image(seed)} for seed in range(8))

    def get_next(self) -> dict[str, Array] | None:
        return next(self._samples, None)


def _image(seed: int) -> Array:
    return np.random.default_rng(seed).random((1, 3, 32, 32), dtype=np.float32)


def test_a_quantised_model_is_as_right_as_that_of_ovc(tmp_path: Path) -> None:
    source, quantised, result = (tmp_path / name for name in ("x.onnx", "q.onnx", "q.xml"))
    save_model(source, QUANTISED, 17)
    model = onnx.load(source)
    weights = {"kernel": values(8, 3, 3, 3) / 12, "bias": values(8, seed=1) / 8}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(each, name) for name, each in weights.items())
    onnx.save(model, source)
    quantize_static(source, quantised, _Calibration(), quant_format=QuantFormat.QDQ)
    ir_interp.convert(quantised, result, verify=False)
    x = _image(99)
    wanted = np.asarray(exact_sums.session(quantised).run(None, {"x": x})[0])
    ours, theirs = (openvino_outputs(each, {"x": x})[0] for each in (result, ov.convert_model(quantised)))
    assert np.abs(ours - wanted).max() <= 1.01 * np.abs(theirs - wanted).max()
