"""``audit --preprocess --trained`` of two pipelines: how far they differ, and which step costs how much."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import ReadError, Severity, SpecError
from ir_interp.cli.main import main
from tests.audit.test_preprocessing import model

Say = pytest.CaptureFixture[str]
CONFIG = {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 24}, "crop_size": 16}


def config(path: Path, **keys: Any) -> str:
    path.write_text(json.dumps(CONFIG | keys))
    return str(path)


def test_the_steps_that_differ(tmp_path: Path) -> None:
    """The numbers are those of the pipelines themselves."""
    source = model(tmp_path / "a.onnx", 1, 3, 16, 16)
    trained = config(tmp_path / "trained.json") + ":pil"
    deployed = config(tmp_path / "deployed.json", resample=2, image_mean=[0.5, 0.5, 0.5]) + ":pil"
    report = ir_interp.audit(source, preprocess=deployed, trained=trained)
    assert [cost.image for cost in report.preprocessing][2:4] == ["random 480x640", "random 640x480"]
    cost = report.preprocessing[2]
    x = np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8)
    first, second = (ir_interp.pipeline(name.removesuffix(":pil"), backend="pil") for name in (deployed, trained))
    apart = np.abs(first(x).astype(float) - second(x))
    assert cost.likeness.unequal == (apart > 0).sum()
    assert cost.likeness.largest == pytest.approx(apart.max())
    resize, scale = cost.steps
    assert resize.trained == "resize the shorter side to 24 (pillow:bicubic)"
    assert resize.deployed == "resize the shorter side to 24 (pillow:bilinear)"
    mixed = ir_interp.pipeline(CONFIG | {"resample": 2}, backend="pil")
    assert resize.largest == pytest.approx(np.abs(mixed(x).astype(float) - second(x)).max())
    assert scale.deployed.startswith("divide by 255, then subtract 0.5, divide by 0.26")
    offset = np.abs((np.array([0.48145466, 0.4578275, 0.40821073]) - 0.5) / [0.26862954, 0.26130258, 0.27577711])
    assert scale.largest == pytest.approx(offset.max(), rel=1e-5)
    (finding,) = report.findings
    assert finding.severity is Severity.WARNING
    assert resize.deployed in finding.message


def test_rounding_of_backends_is_a_note(tmp_path: Path) -> None:
    source = model(tmp_path / "a.onnx", 1, 3, "h", "w")
    report = ir_interp.audit(source, preprocess="ViTImageProcessor:torchvision", trained="ViTImageProcessor:pil")
    (finding,) = report.findings
    assert finding.where == "a.onnx: input 'x' of [1, 3, ?, ?]"
    resize, scale = report.preprocessing[2].steps
    assert resize.deployed == "resize 224x224 (torchvision:bilinear)"
    assert 0 < resize.largest < 0.05
    assert scale.largest < 1e-6


def test_pipelines_that_are_the_same(tmp_path: Path, capsys: Say) -> None:
    source = model(tmp_path / "a.onnx", 1, 3, 224, 224)
    pipeline = tmp_path / "pipeline.json"
    pipeline.write_text(ir_interp.pipeline({"image_processor_type": "ViTImageProcessor"}, backend="pil").json())
    asked = ["audit", str(source), "--preprocess", str(pipeline), "--trained", "ViTImageProcessorPil"]
    assert main(asked) == 0
    assert "the same pipeline" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("deployed", "error", "message"),
    [
        ("pillow:box", SpecError, "pillow:box is a single resize, the other a pipeline"),
        ("ViTImageProcessor", SpecError, "the backend is unknown"),
        ("YiTImageProcessorPil", ReadError, "YiTImageProcessorPil is not supported"),
    ],
)
def test_what_is_refused(deployed: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    source = model(tmp_path / "a.onnx", 1, 3, 9, 9)
    with pytest.raises(error, match=message):
        ir_interp.audit(source, preprocess=deployed, trained="ViTImageProcessorPil")


@pytest.mark.parametrize(
    ("lengths", "message"),
    [((1, 3, 9, 9), "takes 9x9; ViTImageProcessorPil gives images of 224x224"), ((1, 1, 9, 9), "takes 1 channels")],
)
def test_inputs_that_take_no_such_image(lengths: tuple[int, ...], message: str, tmp_path: Path) -> None:
    source = model(tmp_path / "a.onnx", *lengths)
    report = ir_interp.audit(source, preprocess="ViTImageProcessorPil", trained="ViTImageProcessorPil")
    (error,) = report.errors
    assert message in str(error)
