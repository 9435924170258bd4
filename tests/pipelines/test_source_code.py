"""Pipelines as source code of torch, OpenCV in Python and C++; tests/sweeps/ compiles the C++."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import Pipeline
from ir_interp.cli.main import main
from tests.support.pipelines import pipeline as pipeline_of, resize, source_code, step

COLOURS = [0.485, 0.456, 0.406]
CROP = step("CentreCrop", size=step("Exactly", height=17, width=30), start="half_even", padding="up", colour=[7.0])
PADDED = step("PadTo", size=step("Multiple", of_size=8, rounding="up"), place="centre", colour=[1.0, 2.0, 3.0])
PIPELINES = [
    pipeline_of(CROP, PADDED, step("ReverseChannels"), step("Rescale", factor=1 / 255, offset=-1.0),
                step("Scale", factors=[0.3])),
    pipeline_of(step("Rescale", factor=1 / 255, product="quotient"),
                step("Normalise", mean=COLOURS, deviation=COLOURS)),
    pipeline_of(step("Rescale", factor=1 / 127.5, product="float64"), PADDED, layout="nhwc"),
]  # fmt: skip


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_torch(pipeline: Pipeline, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    names: dict[str, Any] = {}
    exec(source_code(pipeline, "torch", tmp_path), names)
    for shape in ((20, 33), (5, 8), (41, 29)):
        x = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
        y = names["preprocess"](torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1)))).numpy()
        assert np.array_equal(y, pipeline(x))
        assert y.dtype == pipeline(x).dtype


def test_opencv(tmp_path: Path) -> None:
    pytest.importorskip("cv2")
    fitted = resize("opencv:linear", "Inside", height=40, width=48, rounding="half_even")
    padded = step("PadTo", size=step("Exactly", height=40, width=48), place="centre", colour=[114.0])
    pipeline = pipeline_of(fitted, padded, step("Rescale", factor=1 / 255))
    names: dict[str, Any] = {}
    exec(source_code(pipeline, "opencv", tmp_path), names)
    x = np.random.default_rng(0).integers(0, 256, (33, 21, 3), np.uint8)
    assert np.array_equal(names["preprocess"](x), pipeline(x))


CPP = """\
std::vector<float> preprocess(cv::Mat x) {
    {
        const double v0 = std::min(double(x.rows), double(x.cols));
        const double v1 = std::max(double(x.rows), double(x.cols));
        const double v2 = std::floor(((v1 * 40.0) / v0));
        const double v3 = (double(x.cols) <= double(x.rows)) ? v2 : 40.0;
        const double v4 = (double(x.cols) <= double(x.rows)) ? 40.0 : v2;
        const int height = int(v3);
        const int width = int(v4);
        cv::Mat y;
        cv::resize(x, y, cv::Size(width, height), 0, 0, cv::INTER_LINEAR);
        x = y;
    }
    {
        x = each(x, [](float p, int) { return p * 0.003921568859368563f; });
    }
"""


def test_cpp(tmp_path: Path) -> None:
    steps = resize("opencv:linear", "ShorterSide", size=40), step("Rescale", factor=1 / 255)
    text = source_code(pipeline_of(*steps, name='a"\n*/ int x; //\\'), "cpp", tmp_path)
    assert CPP in text
    assert 'in the order RGB: a" */ int x; //?\n' in text


@pytest.mark.parametrize("language", ["opencv", "cpp", "torch"])
def test_other_libraries_are_refused(language: str, tmp_path: Path) -> None:
    of_pillow = ir_interp.pipeline({"image_processor_type": "ViTImageProcessorPil"})
    assert "expected resizes of" in source_code(of_pillow, language, tmp_path)
    of_openvino = pipeline_of(step("Interpolate", mode="cubic", height=4, width=4))
    assert "only OpenVINO resizes this way" in source_code(of_openvino, language, tmp_path)
    fit = pipeline_of(resize("opencv:cubic,ipp=false", "Inside", height=4, width=4, rounding="down"))
    assert re.search("no known call has these arguments|expected resizes of", source_code(fit, language, tmp_path))


def test_command(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "preprocessor_config.json"
    config.write_text('{"image_processor_type": "ViTImageProcessor"}')
    asked = ["explain", str(config), "--backend", "torchvision"]
    assert main([*asked, "--code", "torch"]) == 0
    assert "functional.resize(x, [height, width], interpolation=mode, antialias=True)" in capsys.readouterr().out
    assert main([*asked, "--code", "cpp"]) == 1
    assert "torchvision:bilinear: no exact form in C++; expected resizes of opencv" in capsys.readouterr().err
    assert main([*asked, "--code", "java"]) == 2
