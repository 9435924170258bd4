"""Image processors and transforms as objects, against what they return, and configuration files as people have them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ir_interp
from ir_interp.errors import ReadError, SpecError

PROCESSORS: dict[str, Any] = json.loads((Path(__file__).parent / "effects.json").read_text("utf-8"))
"""By name: those of test_key_effects.py."""
_SHAPES = ((301, 401, 3), (150, 120, 3))


def image(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def processed(processor: Any, x: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the pixels that an image processor of transformers returns."""
    image_of = pytest.importorskip("PIL.Image")
    more = {"task_inputs": ["semantic"]} if type(processor).__name__.startswith("OneFormer") else {}
    return np.asarray(processor(image_of.fromarray(x), return_tensors="np", **more)["pixel_values"][0])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("stem", sorted(PROCESSORS))
def test_an_object_of_transformers(stem: str) -> None:
    """What the Pillow class of transformers 5 saves leaves out that it is this class."""
    transformers = pytest.importorskip("transformers", minversion="5")
    pytest.importorskip("torchvision")
    for name in (f"{stem}ImageProcessor", f"{stem}ImageProcessorPil"):
        if not hasattr(transformers, name):
            continue
        processor = getattr(transformers, name)(**({"apply_ocr": False} if stem.startswith("LayoutLM") else {}))
        for shape in _SHAPES:
            x = image(shape)
            expected = processed(processor, x)
            np.testing.assert_allclose(ir_interp.pipeline(processor)(x), expected, atol=1e-6)


@pytest.mark.parametrize(
    "config",
    [
        {"image_processor_type": "GroundingDinoImageProcessor"},
        {"image_processor_type": "DetrImageProcessor", "size": {"shortest_edge": 200, "longest_edge": 333}},
        {"image_processor_type": "DPTImageProcessor", "keep_aspect_ratio": True, "ensure_multiple_of": 14},
        {"feature_extractor_type": "CLIPFeatureExtractor"},
        {"image_processor_type": "SamImageProcessor", "amg_box_nms_thresh": 0.7},
        {"feature_extractor_type": "MobileViTFeatureExtractor", "do_flip_channels": True, "do_rescale": True},
    ],
    ids=["GroundingDINO", "Detr", "Depth Anything", "CLIP", "SAM", "MobileViT"],
)
def test_a_file_with_the_backend_named(config: dict[str, Any]) -> None:
    """As transformers 5 loads it with this backend."""
    pipeline = ir_interp.pipeline(config, backend="pil")
    transformers = pytest.importorskip("transformers", minversion="5")
    stem = next(iter(config.values())).replace("FeatureExtractor", "ImageProcessor")
    x = image(_SHAPES[0])
    expected = processed(getattr(transformers, f"{stem}Pil").from_dict(config), x)
    np.testing.assert_allclose(pipeline(x), expected, atol=1e-6)


def test_keys_of_heatmaps() -> None:
    config = {"image_processor_type": "Sapiens2ImageProcessor", "keypoint_heatmap_sigma": 6.0}
    config["keypoint_heatmap_downscale_factor"] = 4
    assert ir_interp.pipeline(config)(image(_SHAPES[0])).shape == (3, 1024, 768)


@pytest.mark.parametrize("mode", ["center", "squash", "border"])
@pytest.mark.parametrize("size", [(3, 64, 64), (3, 48, 80)])
def test_transforms_of_timm(size: tuple[int, int, int], mode: str) -> None:
    data = pytest.importorskip("timm.data")
    image_of = pytest.importorskip("PIL.Image")
    for share, filter_name, shape in itertools.product((0.875, 1.0), ("bicubic", "bilinear"), _SHAPES):
        transform = data.create_transform(size, crop_pct=share, crop_mode=mode, interpolation=filter_name)
        x = image(shape)
        expected = transform(image_of.fromarray(x)).numpy()
        np.testing.assert_allclose(ir_interp.pipeline(transform)(x), expected, atol=1e-6)
    with pytest.raises(ReadError, match="is timm"):
        ir_interp.pipeline(data.create_transform(size, is_training=True))


def test_the_preset_of_detection() -> None:
    presets = pytest.importorskip("torchvision.transforms._presets")
    torch = pytest.importorskip("torch")
    x = image((30, 40, 3))
    expected = presets.ObjectDetection()(torch.from_numpy(x).permute(2, 0, 1)).numpy()
    for backend in (None, "pil", "torchvision"):
        np.testing.assert_array_equal(ir_interp.pipeline(presets.ObjectDetection(), backend=backend)(x), expected)


def test_the_configuration_of_a_model_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "preprocessor_config.json"
    path.write_text(json.dumps({"architectures": ["ViTForImageClassification"], "model_type": "vit", "hidden_size": 8}))
    with pytest.raises(ReadError, match=r"is the configuration of a model \(config.json\).*preprocessor_config.json"):
        ir_interp.pipeline(path)


def test_an_object_of_transformers_4() -> None:
    """It has no backend, and resizes as its own release does."""

    class DetrImageProcessor:
        def to_dict(self) -> dict[str, object]:
            return {"image_processor_type": "DetrImageProcessor"}

    DetrImageProcessor.__module__ = "transformers.models.detr"
    with pytest.raises(SpecError, match="which transformers 4 and 5 treat differently"):
        ir_interp.pipeline(DetrImageProcessor(), backend="pil")
