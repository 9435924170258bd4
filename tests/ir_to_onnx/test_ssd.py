"""A whole SSD, as the Open Model Zoo has them: clustered priors with steps of their own, and a DetectionOutput."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset8 as ops

import ir_interp
from tests.support.graphs import onnxruntime_outputs, openvino_outputs

_PRIORS = 3


def _ssd(path: Path, batch: int) -> Path:
    """Write two feature maps with boxes, scores and priors each; what is known of priors is not folded."""
    rng = np.random.default_rng(3)

    def conv(x: Any, channels: int, stride: int = 1) -> Any:
        taken = x.get_output_partial_shape(0)[1].get_length()
        weights = (rng.normal(size=(channels, taken, 3, 3)) * np.sqrt(2 / (9 * taken))).astype(np.float32)
        return ops.convolution(x, weights, [stride] * 2, [1, 1], [1, 1], [1, 1])

    def flat(x: Any) -> Any:
        return ops.reshape(ops.transpose(x, np.array([0, 2, 3, 1])), np.array([0, -1]), special_zero=True)

    image = ops.parameter([batch, 3, 64, 96], np.float32, name="image")
    first = ops.relu(conv(ops.relu(conv(image, 8, 4)), 12, 2))
    boxes, scores, priors = [], [], []
    for features, step, size in ((first, 8, 12.0), (ops.relu(conv(first, 16, 2)), 16, 30.0)):
        boxes.append(flat(conv(features, 4 * _PRIORS)))
        scores.append(flat(conv(features, 3 * _PRIORS)))
        lengths = [ops.strided_slice(ops.shape_of(each), [2], [4], [1], [0], [0]) for each in (features, image)]
        stated = {
            "width": [size, size * 1.7, size * 0.6],
            "height": [size * 1.2, size, size * 2],
            "clip": False,
            "step_w": float(step),
            "step_h": step * 1.25,
            "offset": 0.5,
            "variance": [0.1, 0.1, 0.2, 0.2],
        }
        priors.append(ops.unsqueeze(ops.prior_box_clustered(*lengths, stated), np.array([0])))
    odds = ops.softmax(ops.reshape(ops.concat(scores, 1), np.array([0, -1, 3]), special_zero=True), 2)
    found = ops.detection_output(
        ops.concat(boxes, 1),
        ops.reshape(odds, np.array([0, -1]), special_zero=True),
        ops.concat(priors, 2),
        {
            "background_label_id": 0,
            "top_k": 40,
            "keep_top_k": [15],
            "code_type": "caffe.PriorBoxParameter.CENTER_SIZE",
            "nms_threshold": 0.45,
            "confidence_threshold": 0.02,
            "share_location": True,
            "variance_encoded_in_target": False,
            "normalized": True,
        },
    )
    ov.serialize(ov.Model([found], [image], "ssd"), path)
    return path


@pytest.mark.parametrize("batch", [1, 2])
def test_an_ssd(batch: int, tmp_path: Path) -> None:
    source = _ssd(tmp_path / "a.xml", batch)
    assert 'step_w="8" step_h="10"' in source.read_text()
    verification = ir_interp.convert(source, tmp_path / "a.onnx").verification
    assert verification is not None
    assert [each.passes and each.is_conclusive for each in verification.outputs] == [True]
    image = np.random.default_rng(0).random((batch, 3, 64, 96), np.float32)
    mine, theirs = (
        run(tmp_path / name, {"image": image})[0]
        for run, name in ((openvino_outputs, "a.xml"), (onnxruntime_outputs, "a.onnx"))
    )
    kept = mine[0, 0, :, 0] >= 0
    assert kept.sum() > 5 * batch
    np.testing.assert_allclose(theirs[0, 0, kept], mine[0, 0, kept], atol=1e-5)


def test_other_steps_are_found(tmp_path: Path) -> None:
    """Of 8 pixels, when it should be 8.2: what an attribute that is not read once did."""
    source = _ssd(tmp_path / "a.xml", 1)
    text = source.read_text()
    (tmp_path / "b.xml").write_text(text.replace('step_w="8"', 'step_w="8.2"'))
    (tmp_path / "b.bin").write_bytes(source.with_suffix(".bin").read_bytes())
    ir_interp.convert(source, tmp_path / "a.onnx", verify=False)
    assert ir_interp.compare(source, tmp_path / "a.onnx").passes
    assert not ir_interp.compare(tmp_path / "b.xml", tmp_path / "a.onnx").passes
