"""The layers that OpenVINO's PrePostProcessor writes, read as a pipeline: what OpenVINO computes, in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import Layout, Type, opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

import ir_interp
from ir_interp import InexactError, Pipeline, ReadError, SpecError
from ir_interp.cli.main import main
from tests.preprocess.test_preprocess import identity, made

Say = pytest.CaptureFixture[str]
Asked = Callable[[PrePostProcessor], None]
SIZE = (8, 10)


def saved(path: Path, asked: Asked, layout: str = "NCHW", size: tuple[int, int] = SIZE) -> Path:
    """Write an IR of a model that copies its input, behind what a PrePostProcessor was asked for."""
    shape = [1, 3, *size] if layout == "NCHW" else [1, *size, 3]
    x = ops.parameter(shape, np.float32, name="x")
    x.output(0).set_names({"x"})
    processor = PrePostProcessor(ov.Model([ops.relu(x)], [x], "model"))
    asked(processor)
    processor.input().model().set_layout(Layout(layout))
    ov.save_model(processor.build(), path, compress_to_fp16=False)
    return path


def images(processor: PrePostProcessor, layout: str = "NHWC") -> None:
    processor.input().tensor().set_element_type(Type.u8).set_layout(Layout(layout)).set_spatial_dynamic_shape()


def by(algorithm: ResizeAlgorithm, layout: str = "NHWC") -> Asked:
    def asked(processor: PrePostProcessor) -> None:
        images(processor, layout)
        processor.input().preprocess().convert_element_type(Type.f32).resize(algorithm)

    return asked


def normalised(processor: PrePostProcessor) -> None:
    images(processor)
    processor.input().tensor().set_color_format(ColorFormat.BGR)
    steps = processor.input().preprocess().convert_color(ColorFormat.RGB).resize(ResizeAlgorithm.RESIZE_BILINEAR_PILLOW)
    steps.convert_element_type(Type.f32).mean([1.0, 2.0, 3.0]).scale([4.0, 5.0, 6.0])


def reversed_and_scaled(processor: PrePostProcessor) -> None:
    processor.input().tensor().set_element_type(Type.u8).set_layout(Layout("NHWC")).set_shape([1, *SIZE, 3])
    processor.input().preprocess().reverse_channels().convert_layout(Layout("NCHW")).convert_element_type(
        Type.f32
    ).mean(3.0).scale(255.0)


ASKED = {
    **{str(each).rpartition(".")[2]: by(each) for each in (
        ResizeAlgorithm.RESIZE_LINEAR, ResizeAlgorithm.RESIZE_CUBIC, ResizeAlgorithm.RESIZE_NEAREST,
        ResizeAlgorithm.RESIZE_BILINEAR_PILLOW, ResizeAlgorithm.RESIZE_BICUBIC_PILLOW,
    )},
    "planes": by(ResizeAlgorithm.RESIZE_LINEAR, "NCHW"),
    "normalised": normalised,
    "reversed": reversed_and_scaled,
}  # fmt: skip


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("name", ASKED)
def test_what_openvino_computes(name: str, layout: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "a.xml", ASKED[name], layout)
    pipeline = ir_interp.pipeline(path)
    assert Pipeline.of_json(pipeline.json()) == pipeline
    compiled = ov.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    takes_planes = name == "planes"
    for shape in (SIZE,) if name == "reversed" else ((20, 31), (5, 4), SIZE):
        x = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
        y = compiled(x.transpose(2, 0, 1)[None] if takes_planes else x[None])[0][0]
        apart = np.abs(np.maximum(pipeline(x), 0) - y)
        if name == "normalised":  # Interpolate of uint8: a sum near a half is off by 1, here divided by up to 6
            assert (apart > 1e-3).sum() <= 1
            assert apart.max() <= 0.25
        else:
            assert apart.max() < 2e-6 * 255


@pytest.mark.parametrize(("name", "batch"), [("RESIZE_CUBIC", 2), ("RESIZE_BICUBIC_PILLOW", None), ("planes", None)])
def test_nodes_compute_what_openvino_does(name: str, batch: int | None, tmp_path: Path) -> None:
    head, whole = saved(tmp_path / "a.xml", ASKED[name]), tmp_path / "b.onnx"
    source = identity(tmp_path / "a.onnx", batch or 1, 3, *SIZE)
    ir_interp.preprocess(source, whole, pipeline=ir_interp.pipeline(head), batch=batch, verify=False)
    compiled = ov.Core().compile_model(head, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    x = np.random.default_rng(0).integers(0, 256, (batch or 1, 20, 31, 3), np.uint8)
    laid = x.transpose(0, 3, 1, 2) if name == "planes" else x
    expected = np.concatenate([compiled(image[None])[0] for image in laid])
    assert np.abs(np.maximum(made(whole, x if batch else x[0]), 0) - expected).max() < 2e-6 * 255


def test_nodes_that_are_refused(tmp_path: Path) -> None:
    source = identity(tmp_path / "a.onnx", 1, 3, *SIZE)
    of_uint8 = ir_interp.pipeline(saved(tmp_path / "a.xml", normalised))
    with pytest.raises(InexactError, match="OpenVINO rounds sums of uint8 in a way of its own; expected a Convert to"):
        ir_interp.preprocess(source, tmp_path / "b.onnx", pipeline=of_uint8)
    of_floats = ir_interp.pipeline(saved(tmp_path / "a.xml", ASKED["planes"]))
    with pytest.raises(InexactError, match="an IR holds the layer itself: use the model with its PrePostProcessor"):
        ir_interp.preprocess(source, tmp_path / "b.xml", pipeline=of_floats)


def test_its_steps(tmp_path: Path, capsys: Say) -> None:
    path = saved(tmp_path / "a.xml", normalised)
    assert main(["explain", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "PrePostProcessor of a.xml",
        "1. reverse the channels (RGB to BGR)",
        "2. resize 8x10 (OpenVINO's Interpolate, bilinear_pillow, within 1)",
        "3. subtract 1, 2, 3, divide by 1",
        "4. multiply by 0.25, 0.2, 0.166667",
        "5. channels first",
        "images with alpha: refused",
    ]


def nv12(processor: PrePostProcessor) -> None:
    processor.input().tensor().set_element_type(Type.u8).set_color_format(ColorFormat.NV12_SINGLE_PLANE)
    processor.input().preprocess().convert_color(ColorFormat.RGB).convert_element_type(Type.f32)


def cropped(processor: PrePostProcessor) -> None:
    processor.input().tensor().set_element_type(Type.u8).set_layout(Layout("NHWC")).set_shape([1, 20, 30, 3])
    processor.input().preprocess().crop([0, 2, 3, 0], [1, 10, 13, 3]).convert_element_type(Type.f32)


def of_floats(processor: PrePostProcessor) -> None:
    processor.input().tensor().set_layout(Layout("NHWC"))
    processor.input().preprocess().mean(3.0)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (nv12, r"takes \[1, \?, \?, 1\]; expected one image of 3 channels|takes \[1, 12, 10, 1\]"),
        (cropped, "Slice is not supported in front of a model"),
        (of_floats, "takes float32; expected uint8 images"),
    ],
)
def test_what_is_refused(asked: Asked, message: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "a.xml", asked)
    with pytest.raises(ReadError, match=message):
        ir_interp.pipeline(path)
    with pytest.raises(SpecError, match="backend has no effect on an IR"):
        ir_interp.pipeline(path, backend="pil")


def test_an_ir_without_it(tmp_path: Path) -> None:
    x = ops.parameter([1, 8, 8, 3], np.uint8, name="x")
    path = tmp_path / "a.xml"
    ov.save_model(ov.Model([ops.sqrt(ops.convert(x, "f32"))], [x], "model"), path)
    with pytest.raises(ReadError, match="no preprocessing at the start of the model: the first layer is Sqrt"):
        ir_interp.pipeline(path)
