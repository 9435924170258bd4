"""Pipelines: their text, their JSON, what is read and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import ir_interp
from ir_interp import IrInterpError, Pipeline, ReadError, ShapeError, SpecError
from ir_interp.converters.decompose.tensor import Functions
from ir_interp.converters.onnx.onnx_graph import Graph
from ir_interp.converters.onnx.operators import tensor
from ir_interp.pipelines import pipeline_source
from ir_interp.pipelines.rules import (
    NUMPY,
    ByRatio,
    Exactly,
    Inside,
    Multiple,
    NearestMultiple,
    OutputSize,
    RoundedUp,
    ShareOfShorterSide,
    ShorterSide,
    SidesWithin,
    SizeRounding,
)
from ir_interp.pipelines.steps import Resize
from tests.preprocess.test_preprocess import identity, image, letterboxed, made

PLAIN = {
    "do_resize": True, "size": {"height": 14, "width": 20}, "resample": 3, "do_rescale": True,
    "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.25, 0.5],
}  # fmt: skip
TIMM = {"input_size": [3, 20, 20], "crop_pct": 0.9, "interpolation": "bicubic"}


def test_text_and_json() -> None:
    config = {"image_processor_type": "CLIPImageProcessorFast"}
    pipeline = ir_interp.pipeline(config)
    assert ir_interp.pipeline({"image_processor": config, "processor_class": "CLIPProcessor"}) == pipeline
    assert pipeline.name == "CLIPImageProcessorFast (torchvision backend)"
    assert pipeline.text.splitlines() == [
        "resize the shorter side to 224 (torchvision:bicubic)",
        "crop the centre: 224x224",
        "subtract 122.771, 116.746, 104.094, divide by 68.5005, 66.6322, 70.3232",
        "channels first",
    ]
    assert Pipeline.of_json(pipeline.json()) == pipeline
    assert ir_interp.pipeline(json.loads(pipeline.json())) == pipeline


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 2}, "unsupported pipeline version; expected 1"),
        ({"steps": {}}, "steps is not a list"),
        ({"colour": 1}, "unknown key 'colour'; expected version, name, layout, alpha or steps"),
        ({"layout": "hwc"}, "not a pipeline: layout is 'hwc'; expected nchw or nhwc"),
        ({"name": 3}, "name and layout must be strings"),
        ({"steps": [{"kind": "Rotate"}]}, "not a pipeline: kind 'Rotate'; expected"),
        ({"steps": [{"kind": "Rescale"}]}, "not a pipeline: Rescale: missing 1 required keyword-only argument"),
        ({"steps": [{"kind": "Rescale", "factor": "1"}]}, "not a pipeline: '1' where float is expected"),
        ({"steps": [{"kind": "Rescale", "factor": 1, "by": 2}]}, "not a pipeline: Rescale has no 'by'; expected"),
        ({"steps": [{"kind": "Rescale", "factor": 1, "product": "exact"}]}, "not a pipeline: 'exact'; expected"),
        ({"steps": [{"kind": "Normalise", "mean": 1, "deviation": [1]}]}, "not a pipeline: 1 where a list is expected"),
        ({"steps": [{"kind": "Exactly", "height": 1, "width": 1}]}, "not a pipeline: kind 'Exactly'; expected"),
    ],
)
def test_json_that_is_refused(changes: dict[str, Any], message: str) -> None:
    text = json.dumps({"version": 1, "steps": []} | changes)
    with pytest.raises(ReadError) as caught:
        Pipeline.of_json(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({**PLAIN, "do_flip_channel_order": True}, "unknown key 'do_flip_channel_order', which may change the image"),
        ({**PLAIN, "rescale_offset": True}, "unknown key 'rescale_offset', which may change the image"),
        (
            {"size": 224, "resample": 2},
            "neither image_processor_type nor do_resize, do_rescale, do_norm",
        ),
        ({**PLAIN, "image_mean": None}, "neither image_processor_type nor image_mean: defaults depend on the class"),
        (
            {"image_processor_type": "LlavaNextImageProcessor"},
            "the class LlavaNextImageProcessor is not supported: it cuts an image into patches or tiles; expected one",
        ),
        (
            {"image_processor": {"image_processor_type": "DINOv3ViTImageProcessorFast"}},
            "the class DINOv3ViTImageProcessorFast is not supported: it resizes floats; expected one of",
        ),
        ({"image_processor": PLAIN, "do_resize": False}, "do_resize stands beside image_processor; expected one place"),
        ({"image_processor": "CLIPImageProcessor"}, "image_processor is 'CLIPImageProcessor'; expected an object"),
        (
            {"processor_class": "LlavaProcessor", "patch_size": 14},
            "has no image_processor; expected the preprocessor_co",
        ),
        (
            {**PLAIN, "size": [14, 20]},
            "size is [14, 20], whose order depends on the release; expected height and width",
        ),
        (
            {"do_resize": False, "do_rescale": False, "do_normalize": False}
            | {"auto_map": {"AutoImageProcessor": "mine.Processor"}},
            "auto_map names AutoImageProcessor, code of the model's own, which may differ from the class; remove it",
        ),
        (
            {"image_processor_type": "ViTImageProcessor", "auto_map": "mine.Processor"},
            "auto_map is 'mine.Processor'; expected an object",
        ),
        (
            {"image_processor_type": "ViTImageProcessor", "auto_map": {"AutoImageProcessor": "mine.Processor"}},
            "auto_map names AutoImageProcessor, code of the model's own, which may differ from the class; remove it",
        ),
        ({"image_processor_type": "ViTImageProcessor", "crop_pct": 0.5}, "unknown key 'crop_pct', which may change"),
        (
            {"image_processor_type": "DPTImageProcessor", "do_pad": True},
            "do_pad is not supported for DPTImageProcessor",
        ),
        ({**PLAIN, "size": {"height": 3}}, "size has height; expected height and width"),
        ({**PLAIN, "size": {"shortest_edge": 0}}, "size is 0; expected a positive integer"),
        ({**PLAIN, "size": 14.5}, "the height of size is 14.5; expected an integer"),
        ({**PLAIN, "resample": 6}, "resample is 6; expected a number from 0 to 5"),
        ({**PLAIN, "resample": -1}, "resample is -1; expected a non-negative integer"),
        ({**PLAIN, "rescale_factor": 0}, "rescale_factor is 0; expected a finite number other than 0"),
        ({**PLAIN, "rescale_factor": "1"}, "rescale_factor is '1'; expected a number"),
        ({**PLAIN, "image_mean": [0.5, None, 0.5]}, "image_mean is None; expected a number"),
        ({**PLAIN, "image_std": [0, 1, 1]}, "deviation is 0 for a channel"),
        ({**PLAIN, "do_normalize": "yes"}, "do_normalize is 'yes'; expected true or false"),
        ({**PLAIN, "do_center_crop": True}, "neither image_processor_type nor crop_size"),
        ({**TIMM, "crop_mode": "middle"}, "crop_mode is 'middle'; expected"),
        ({**TIMM, "interpolation": "random"}, "interpolation is 'random'; expected"),
        ({**TIMM, "input_size": [1, 20, 20]}, "input_size is [1, 20, 20]; expected 3 channels, height and width"),
        ({**TIMM, "hflip": 0.5}, "unknown key 'hflip', which may change the image"),
    ],
)
def test_configurations_that_are_refused(config: dict[str, Any], message: str) -> None:
    is_timm = "input_size" in config
    with pytest.raises(IrInterpError) as caught:
        ir_interp.pipeline(config, backend=None if is_timm else "pil")
    assert str(caught.value).startswith(message)


def test_backends() -> None:
    with pytest.raises(SpecError, match="the backend is unknown: transformers 4 resized with Pillow unless use_fast"):
        ir_interp.pipeline(PLAIN)
    with pytest.raises(SpecError, match="backend is pil; the class ViTImageProcessorFast has torchvision"):
        ir_interp.pipeline({"image_processor_type": "ViTImageProcessorFast"}, backend="pil")
    with pytest.raises(SpecError, match="backend has no effect on this file"):
        ir_interp.pipeline(TIMM, backend="pil")
    with pytest.raises(SpecError, match="resample is 4; expected a number from 0 to 3"):
        ir_interp.pipeline({**PLAIN, "resample": 4}, backend="torchvision")


TRANSFORMS = """Compose(
    Resize(size=24, interpolation=bilinear, max_size=None, antialias=True)
    CenterCrop(size=(20, 22))
    ToTensor()
    Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
)"""


def test_printed_transforms(tmp_path: Path) -> None:
    path = tmp_path / "transforms.txt"
    path.write_text(TRANSFORMS)
    assert ir_interp.pipeline(path).text.splitlines() == [
        "resize the shorter side to 24 (pillow:bilinear)",
        "crop the centre: 20x22",
        "divide by 255",
        "subtract 0.485, 0.456, 0.406, divide by 0.229, 0.224, 0.225",
        "channels first",
    ]
    preset = "ImageClassification(\n crop_size=[20]\n resize_size=[24]\n mean=[0.5]\n std=[0.5]\n"
    path.write_text(f"{preset} interpolation=InterpolationMode.BILINEAR\n)")
    assert ir_interp.pipeline(path, backend="pil").calls[0].like == "pillow:bilinear"
    twice = "ToDtype(dtype=torch.float32, scale=True)\n"
    path.write_text(f"Compose(\nToImage()\n{twice}{twice}ConvertImageDtype(dtype=torch.float32)\n)")
    assert ir_interp.pipeline(path).text.splitlines() == ["divide by 255", "channels first"]
    for text, message in (
        ("RandomCrop(size=(3, 3))", "the transform RandomCrop is not supported"),
        ("Resize(size=3, p=1)\nToTensor()", "not torchvision transforms"),
        ("Compose(\nResize(size=3, p=1)\nToTensor()\n)", "Resize with p is not supported"),
        (
            "Compose(\nToDtype(scale=True)\n)",
            r"ToDtype\(scale=True\) lacks the type, which torchvision does not print; ",
        ),
        ("Compose(\nToDtype(dtype=torch.int8, scale=True)\n)", "does not give pixels from 0 to 1"),
        (
            "Compose(\nToImage()\nResize(size=[3], antialias=warn)\n)",
            "antialias is 'warn', which depends on the release",
        ),
        ("Compose(\nToImage()\nResize(size=[3])\n)", "antialias is 'missing', which depends on the release"),
        ("Compose(\nToImage()\nResize(size=[3], max_size=None, antialias=True)\n)", "v1 resizes tensors in floats, "),
        (f"Compose(\nToImage()\n{twice}Resize(size=[3], antialias=True)\n)", "Resize of floats, whose sums round"),
        (f"Compose(\n{twice}ToTensor()\n)", "ToDtype leaves a Pillow image as it is: remove it, or convert to a"),
        ("Compose(\nPILToTensor()\nResize(size=3)\n)", "v1 and v2 print the same text but compute different values"),
        ("Resize(size=3)", "Resize accepts Pillow images and tensors; choose backend pil or torchvision"),
        (
            "Compose(\nNormalize(mean=[0.5], std=[0.5])\nToTensor()\n)",
            "Normalize of a uint8 image; expected a conversion to floats",
        ),
        ("Compose(\nPILToTensor()\nToTensor()\n)", "ToTensor of a tensor; expected a Pillow image: remove it"),
        ("Resize(size=__import__('os'))", "the arguments cannot be read"),
        ("hello", "not a torchvision transform: 'hello'"),
    ):
        path.write_text(text)
        with pytest.raises(ReadError, match=f"^{path}: .*{message}"):
            ir_interp.pipeline(path)


def of_module(name: str, module: str, **attributes: Any) -> Any:
    return type(name, (), {"__module__": module, **attributes})()


def test_transforms_of_another_library_with_the_same_name() -> None:
    own = of_module("Resize", "torchvision.transforms.transforms", size=[8, 9], antialias=True)
    convert = of_module("ToTensor", "timm.data.transforms")
    composed = of_module("Compose", "torchvision.transforms.transforms", transforms=[own, convert])
    with pytest.raises(ReadError, match=r"the transform ToTensor is timm\.data\.transforms's; expected transforms of"):
        ir_interp.pipeline(composed)


METADATA = {"task": "detect", "imgsz": "[32, 64]", "stride": "32", "description": "Ultralytics YOLOv8n model"}


def test_metadata_of_ultralytics(tmp_path: Path) -> None:
    source, whole = identity(tmp_path / "yolo.onnx", 1, 3, 32, 64), tmp_path / "b.onnx"
    model = onnx.load(source)
    helper.set_model_props(model, METADATA)
    onnx.save(model, source)
    ir_interp.preprocess(source, whole, config=source)
    x = image(np.random.default_rng(0), 50, 70)
    expected = letterboxed("opencv:linear", x, (32, 64), 114) / np.float32(255)
    assert np.array_equal(made(whole, x)[0].transpose(1, 2, 0), expected)
    stretched = [Resize(like="opencv:linear", size=Exactly(height=32, width=64))]
    for changed in ({"head": "RTDETRDecoder"}, {"description": "Ultralytics rtdetr-l model trained on coco.yaml"}):
        assert list(pipeline_source.read_ultralytics({**METADATA, **changed}).steps[:-1]) == stretched
    of_caller = {**METADATA, "args": "{'batch': 1, 'dynamic': True}"}
    for metadata, message in (
        (of_caller, "exported with dynamic=True, so that the caller chooses the size of the images; export with "),
        (
            {**METADATA, "description": "Ultralytics best model"},
            "the metadata names no head, which decides between letterboxed and stretched images",
        ),
        ({**METADATA, "args": "yes"}, "args is 'yes'; expected the arguments of the export"),
        ({**METADATA, "imgsz": "[32]"}, r"imgsz is '\[32\]'; expected height and width"),
    ):
        with pytest.raises(ReadError, match=f"^{message}"):
            pipeline_source.read_ultralytics(metadata)
    with pytest.raises(ReadError, match=r"b\.onnx: no Ultralytics metadata"):
        ir_interp.pipeline(identity(tmp_path / "b.onnx", 1, 3, 4, 4))
    with pytest.raises(SpecError, match="backend has no effect on the metadata of a model"):
        ir_interp.pipeline(source, backend="pil")


def test_what_holds_no_pipeline() -> None:
    with pytest.raises(ReadError, match="int holds no pipeline; expected a path, a mapping, an image processor"):
        ir_interp.pipeline(3)
    for x in (np.zeros((3, 4, 5), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)):
        with pytest.raises(ShapeError, match=r"expected an image, uint8 \[height, width, 3\]"):
            ir_interp.pipeline(PLAIN, backend="pil")(x)


RULES: tuple[OutputSize, ...] = (
    ShorterSide(size=20), ShorterSide(size=20, longest=31), SidesWithin(shortest=20, longest=33),
    *(Inside(height=40, width=25, rounding=rounding) for rounding in SizeRounding),
    ByRatio(height=20, width=31, covers=False), ByRatio(height=20, width=31, covers=True),
    Multiple(of_size=8, rounding=SizeRounding.DOWN), Multiple(of_size=8, rounding=SizeRounding.UP),
    NearestMultiple(height=30, width=40, of_size=4),
    NearestMultiple(height=12, width=44, of_size=8, keeps_ratio=False),
    RoundedUp(size=SidesWithin(shortest=20, longest=33), of_size=8), ShareOfShorterSide(height=0.875, width=0.5),
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.text)
def test_nodes_give_the_sizes_of_numpy(rule: OutputSize) -> None:
    """A law: each formula, which is stated once, gives the same size in NumPy and in onnxruntime."""
    graph = Graph(opset=17, layer="sizes")
    ends = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, [1]) for name in ("h", "w")]
    height_node, width_node = (tensor(graph, name, "float64") for name in ("h", "w"))
    results = rule.of(height_node, width_node, Functions(height_node.ops))
    outputs = [helper.make_tensor_value_info(each.value, TensorProto.DOUBLE, [1]) for each in results]
    constants = [onnx.numpy_helper.from_array(value, name) for name, value in graph.initialisers.items()]
    made_graph = helper.make_graph(graph.nodes, "g", ends, outputs, constants)
    model = helper.make_model(made_graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for height, width in (*np.random.default_rng(0).integers(1, 400, (300, 2)), (40, 25), (20, 20), (1, 500), (7, 7)):
        run = session.run(None, {"h": np.array([height], np.float64), "w": np.array([width], np.float64)})
        expected = [int(size) for size in rule.of(np.float64(height), np.float64(width), NUMPY)]
        assert [int(size[0]) for size in run] == expected, (height, width)
        assert min(expected) >= rule.least


def test_the_trap_of_imagenet(tmp_path: Path) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, 14, 20), tmp_path / "b.onnx"
    statistics: dict[str, Any] = {"mean": (0.485, 0.456, 0.406), "scale": (0.229, 0.224, 0.225)}
    with pytest.raises(
        SpecError,
        match=r"^pixel_range is missing: 0\.485 as mean or scale looks meant for pixels from 0 to 1, ",
    ):
        ir_interp.Images(**statistics)
    images = ir_interp.Images(**statistics, pixel_range="0-1")
    ir_interp.preprocess(source, whole, like="pillow:bilinear", size=(14, 20), images=images)
    x = image(np.random.default_rng(0), 14, 20)
    expected = (x / 255 - np.array(statistics["mean"])) / np.array(statistics["scale"])
    assert np.abs(made(whole, x)[0].transpose(1, 2, 0) - expected).max() < 2e-6
