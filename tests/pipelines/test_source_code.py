"""Pipelines as source code of torch, OpenCV in Python and C++; tests/sweeps/ compiles the C++."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import InexactError, Pipeline
from ir_interp.cli.main import main
from ir_interp.pipelines import source_code
from ir_interp.pipelines.rules import Exactly, Inside, Multiple, ShorterSide, SizeRounding
from ir_interp.pipelines.steps import (
    CentreCrop,
    Interpolate,
    Normalise,
    PadTo,
    Place,
    Product,
    Rescale,
    Resize,
    ReverseChannels,
    Scale,
    letterbox,
)

COLOURS = (0.485, 0.456, 0.406)
CROP = CentreCrop(
    size=Exactly(height=17, width=30), start=SizeRounding.HALF_EVEN, padding=SizeRounding.UP, colour=(7.0,)
)
PADDED = PadTo(size=Multiple(of_size=8, rounding=SizeRounding.UP), place=Place.CENTRE, colour=(1.0, 2.0, 3.0))
PIPELINES = [
    Pipeline(steps=(CROP, PADDED, ReverseChannels(), Rescale(factor=1 / 255, offset=-1.0), Scale(factors=(0.3,)))),
    Pipeline(steps=(Rescale(factor=1 / 255, product=Product.QUOTIENT), Normalise(mean=COLOURS, deviation=COLOURS))),
    Pipeline(steps=(Rescale(factor=1 / 127.5, product=Product.FLOAT64), PADDED), layout="nhwc"),
]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_torch(pipeline: Pipeline) -> None:
    torch = pytest.importorskip("torch")
    names: dict[str, Any] = {}
    exec(source_code.torch(pipeline), names)
    for shape in ((20, 33), (5, 8), (41, 29)):
        x = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
        y = names["preprocess"](torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1)))).numpy()
        assert np.array_equal(y, pipeline(x))
        assert y.dtype == pipeline(x).dtype


def test_opencv() -> None:
    pytest.importorskip("cv2")
    pipeline = Pipeline(steps=(*letterbox("opencv:linear", 40, 48, 114), Rescale(factor=1 / 255)))
    names: dict[str, Any] = {}
    exec(source_code.opencv(pipeline), names)
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


def test_cpp() -> None:
    resize = Resize(like="opencv:linear", size=ShorterSide(size=40))
    text = source_code.cpp(Pipeline(steps=(resize, Rescale(factor=1 / 255)), name='a"\n*/ int x; //\\'))
    assert CPP in text
    assert 'in the order RGB: a" */ int x; //?\n' in text


@pytest.mark.parametrize("language", ["opencv", "cpp", "torch"])
def test_other_libraries_are_refused(language: str) -> None:
    write = {"opencv": source_code.opencv, "cpp": source_code.cpp, "torch": source_code.torch}[language]
    with pytest.raises(InexactError, match="expected resizes of"):
        write(ir_interp.pipeline({"image_processor_type": "ViTImageProcessorPil"}))
    step = Interpolate(mode="cubic", height=4, width=4)
    with pytest.raises(InexactError, match="only OpenVINO resizes this way"):
        write(Pipeline(steps=(step,)))
    fit = Resize(like="opencv:cubic,ipp=false", size=Inside(height=4, width=4, rounding=SizeRounding.DOWN))
    with pytest.raises(InexactError, match=r"no known call has these arguments|expected resizes of"):
        write(Pipeline(steps=(fit,)))


def test_command(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "preprocessor_config.json"
    config.write_text('{"image_processor_type": "ViTImageProcessor"}')
    asked = ["explain", str(config), "--backend", "torchvision"]
    assert main([*asked, "--code", "torch"]) == 0
    assert "functional.resize(x, [height, width], interpolation=mode, antialias=True)" in capsys.readouterr().out
    assert main([*asked, "--code", "cpp"]) == 1
    assert "torchvision:bilinear: no exact form in C++; expected resizes of opencv" in capsys.readouterr().err
    assert main([*asked, "--code", "java"]) == 2
