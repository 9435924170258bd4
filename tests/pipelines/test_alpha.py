"""Images with alpha in pipelines: as the library does, or refused by name, in NumPy, models, ``explain`` and audits."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from PIL import Image

import ir_interp
from ir_interp import ReadError, ShapeError, SpecError
from ir_interp.cli.main import main
from tests.preprocess.test_preprocess import identity, made
from tests.support.pipelines import pipeline as pipeline_of

CLIP = {
    "image_processor_type": "CLIPImageProcessorPil", "size": {"shortest_edge": 16}, "crop_size": 14, "resample": 2,
}  # fmt: skip
VIT = {"image_processor_type": "ViTImageProcessorPil", "size": {"height": 14, "width": 14}}
ULTRALYTICS = {"task": "detect", "imgsz": "[14, 14]", "stride": "32", "head": "Detect"}


def with_alpha(height: int, width: int) -> Any:
    """Return an image whose alpha has both ends."""
    x = np.random.default_rng(0).integers(0, 256, (height, width, 4), np.uint8)
    x[:3, :, 3], x[3:6, :, 3] = 0, 255
    return x


def over_white(x: Any) -> Any:
    """Return an image over white, by Pillow."""
    image = Image.fromarray(x)
    return np.asarray(Image.alpha_composite(Image.new("RGBA", image.size, (255,) * 4), image).convert("RGB"))


def test_every_colour_and_alpha() -> None:
    colours, alpha = np.meshgrid(np.arange(256), np.arange(256))
    x = np.stack([colours, colours, colours, alpha], axis=2).astype(np.uint8)
    assert np.array_equal(pipeline_of(layout="nhwc", alpha="blended over white")(x), over_white(x))


@pytest.mark.parametrize(
    ("config", "rule"),
    [
        (CLIP, "blended over white"),
        (CLIP | {"do_convert_rgb": False}, "refused"),
        (VIT, "refused"),
        (VIT | {"do_convert_rgb": True}, "blended over white"),
        ({**VIT, "image_processor_type": "ViTFeatureExtractor", "do_convert_rgb": True}, "refused"),
        ({**CLIP, "image_processor_type": "ChameleonImageProcessorPil"}, "refused"),
        ({"input_size": [3, 14, 14], "crop_pct": 1.0}, "refused"),
    ],
)
def test_rules(config: dict[str, Any], rule: str) -> None:
    """As transformers 5.23 and timm 1.0.31: the sweep ``pipeline_effects`` compares every class."""
    pipeline, x = ir_interp.pipeline(config), with_alpha(20, 30)
    assert pipeline.alpha.value == rule
    assert ir_interp.Pipeline.of_json(pipeline.json()) == pipeline
    if rule == "blended over white":
        assert np.array_equal(pipeline(x), pipeline(over_white(x)))
    else:
        with pytest.raises(ShapeError, match=r"takes no images with alpha; expected uint8 \[height, width, 3\]$"):
            pipeline(x)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("suffix", "size"), [(".onnx", None), (".onnx", (20, 30)), (".xml", (20, 30))])
def test_models(size: tuple[int, int] | None, suffix: str, tmp_path: Path) -> None:
    source, whole = identity(tmp_path / "a.onnx", 1, 3, 14, 14), tmp_path / f"whole{suffix}"
    pipeline, x = ir_interp.pipeline(CLIP | {"do_rescale": False, "do_normalize": False}), with_alpha(20, 30)
    ir_interp.preprocess(source, whole, pipeline=pipeline, channels=4, image_size=size)
    y = made(whole, x) if suffix == ".onnx" else ov.Core().compile_model(whole, "CPU")(x)[0]
    assert np.array_equal(y[0], pipeline(x))


def test_a_model_of_a_rule_that_refuses(tmp_path: Path) -> None:
    source = identity(tmp_path / "a.onnx", 1, 3, 14, 14)
    with pytest.raises(
        SpecError,
        match=r"^channels is 4; ViTImageProcessorPil \(pil backend\) takes no images with alpha; expected 1 or 3$",
    ):
        ir_interp.preprocess(source, tmp_path / "b.onnx", pipeline=ir_interp.pipeline(VIT), channels=4)


def test_explain_and_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule that differs is a difference of its own; a rule that refuses fails the audit of such an image alone."""
    source, config, photo = identity(tmp_path / "a.onnx", 1, 3, 14, 14), tmp_path / "clip.json", tmp_path / "p.png"
    pipeline = ir_interp.pipeline(CLIP)
    config.write_text(pipeline.json())
    other = tmp_path / "other.json"
    other.write_text(pipeline.json().replace("blended over white", "dropped"))
    assert main(["explain", str(config)]) == 0
    said = "images with alpha: blended over white, as transformers 5 does (transformers 4 drops alpha)"
    assert capsys.readouterr().out.splitlines()[-1] == said
    for words in (["CLIPImageProcessor:pil"], ["CLIPImageProcessor", "--backend", "pil"]):
        assert main(["explain", *words]) == 0
        assert capsys.readouterr().out.startswith(
            "CLIPImageProcessor (pil backend)\n1. resize the shorter side to 224 ("
        )
    assert main(["explain", "CLIPImageProcessor:pil", "--backend", "pil"]) == 2
    said = "error: --backend has no effect on CLIPImageProcessor:pil, which names its backend\n"
    assert capsys.readouterr().err == said
    assert main(["explain", f"{config}:pil"]) == 2
    assert "--backend has no effect on this file, which specifies its resizes" in capsys.readouterr().err
    Image.fromarray(with_alpha(20, 30)).save(photo)
    asked = ["audit", str(source), "--image", str(photo), "--trained", str(config), "--preprocess"]
    assert main([*asked, str(other)]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "alpha dropped in place of alpha blended over white: by up to" in printed
    opaque, refusing = tmp_path / "opaque.png", tmp_path / "refusing.json"
    Image.fromarray(with_alpha(20, 30)[..., :3]).save(opaque)
    assert main([*asked, str(other), "--image", str(opaque)]) == 0
    assert "IRI041" not in capsys.readouterr().out
    refusing.write_text(pipeline.json().replace("blended over white", "refused"))
    assert main([*asked, str(refusing)]) == 2
    assert "CLIPImageProcessorPil (pil backend) takes no images with alpha" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "keys", "key"),
    [
        ("Perceiver", {}, "do_center_crop"),
        ("EfficientNet", {"rescale_offset": True}, "rescale_offset"),
        ("DPT", {"keep_aspect_ratio": True}, "keep_aspect_ratio"),
        ("DPT", {"ensure_multiple_of": 32}, "ensure_multiple_of"),
        ("Blip", {"size": {"height": 20, "width": 26}}, "size"),
        ("Detr", {}, "size"),
        ("GroundingDino", {"size": 800, "max_size": 1333}, "size"),
    ],
)
def test_values_that_depend_on_the_release(name: str, keys: dict[str, Any], key: str) -> None:
    """Images of 37x52 by transformers 4.16.0 (Perceiver), 4.27.4 and 5.23.0, of 301x901 for Detr: the others agree."""
    config = {"feature_extractor_type": f"{name}FeatureExtractor", "do_rescale": True, **keys}
    with pytest.raises(SpecError, match=f"^{key} of {name}FeatureExtractor is .*, which transformers 4 and 5 treat di"):
        ir_interp.pipeline(config)
    ir_interp.pipeline(config, backend="torchvision")
    named = ir_interp.pipeline({"image_processor_type": f"{name}ImageProcessorPil", **keys})
    assert ir_interp.pipeline(config, backend="pil").steps == named.steps  # an option of transformers 5


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"feature_extractor_type": "CLIPFeatureExtractor"}, "do_center_crop"),
        ({"feature_extractor_type": "ViTFeatureExtractor", "do_normalize": False}, "do_normalize"),
    ],
)
def test_files_before_do_rescale(config: dict[str, Any], key: str) -> None:
    """As transformers 4.16.0: its CLIP crops from (n + 1) // 2, and without do_normalize pixels stay uint8."""
    name = config["feature_extractor_type"]
    later = name.replace("FeatureExtractor", "ImageProcessorPil")
    message = (
        f"{key} of {name} without do_rescale, which transformers 4.16 treats differently from 4.27; set "
        f"image_processor_type to {later} for 4.27 and later; or, for transformers 5, choose backend pil or torchvision"
    )
    with pytest.raises(SpecError, match=f"^{re.escape(message)}"):
        ir_interp.pipeline(config)
    named = ir_interp.pipeline({**config, "image_processor_type": later})
    assert ir_interp.pipeline(config, backend="pil").steps == named.steps
    ir_interp.pipeline({**config, "do_rescale": True})
    other = {key: value for key, value in config.items() if key != "feature_extractor_type"}
    assert ir_interp.pipeline({**other, "image_processor_type": later}).name == f"{later} (pil backend)"


def test_clips_first_file() -> None:
    """Digests of transformers 5.23.0, 4.27.4 (as 5.23.0 with Pillow) and 4.16.0 for clip-vit-base-patch32."""
    keys = {
        "do_center_crop": True,
        "do_normalize": True,
        "do_resize": True,
        "crop_size": 224,
        "size": 224,
        "resample": 3,
    }
    config = {
        **keys, "feature_extractor_type": "CLIPFeatureExtractor",
        "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
    }  # fmt: skip
    x = np.random.default_rng(0).integers(0, 256, (300, 401, 3), np.uint8)
    tensors = ir_interp.pipeline(config, backend="torchvision")
    assert (tensors.name, tensors.alpha.value) == ("CLIPImageProcessor (torchvision backend)", "blended over white")
    images = ir_interp.pipeline({**config, "image_processor_type": "CLIPImageProcessorPil"})
    written = json.loads(images.json())
    (crop,) = (step for step in written["steps"] if step["kind"] == "CentreCrop")
    crop["start"] = "up"  # as transformers 4.16.0
    for pipeline, digest in (
        (tensors, "5efd3f33505cddf4"),
        (images, "c27c8fa77e624ad2"),
        (ir_interp.Pipeline.of_json(json.dumps(written)), "c4600f589cee3de6"),
    ):
        assert hashlib.sha256(pipeline(x).tobytes()).hexdigest()[:16] == digest


def test_json_of_an_unknown_rule() -> None:
    with pytest.raises(ReadError, match=r"not a pipeline: 'red'; expected one of blended over white, dropped, refused"):
        ir_interp.Pipeline.of_json('{"version": 1, "steps": [], "alpha": "red"}')
