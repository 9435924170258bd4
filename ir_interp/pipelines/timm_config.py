"""Pipelines of timm's ``pretrained_cfg``, as ``create_transform`` evaluates them on Pillow images.

Sources: timm 1.0.31, ``data/config.py`` (``resolve_data_config`` with its defaults, ``use_test_size`` off) and
``transforms_imagenet_eval``; torchvision 0.28 for its crop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ir_interp.arguments import natural, real, reals
from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.pipelines.output_size import ByRatio, Exactly, ShorterSide, SizeRounding
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.steps import CentreCrop, ImageStep, Normalise, Product, Rescale, Resize

_DEFAULTS: Mapping[str, Any] = {
    "input_size": (3, 224, 224),
    "interpolation": "bicubic",
    "mean": (0.485, 0.456, 0.406),
    "std": (0.229, 0.224, 0.225),
    "crop_pct": 0.875,
    "crop_mode": "center",
}
_WITHOUT_EFFECT = {
    "url", "file", "hash_sha256", "state_dict", "source", "hf_hub_id", "hf_hub_filename", "architecture", "tag",
    "custom_load", "fixed_input_size", "min_input_size", "test_input_size", "test_crop_pct", "num_classes",
    "pool_size", "test_pool_size", "first_conv", "classifier", "license", "description", "origin_url", "paper_name",
    "paper_ids", "notes", "label_offset", "label_names", "label_descriptions",
}  # fmt: skip
"""Keys about files, layers and labels, and those that only ``use_test_size`` reads."""
KEYS = {*_DEFAULTS, *_WITHOUT_EFFECT}
FILTERS = ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos")
MODES = ("center", "squash", "border")


def is_timm(document: Mapping[str, Any]) -> bool:
    """Return whether a document is timm's: a ``config.json`` of the hub, or a ``pretrained_cfg``."""
    return "pretrained_cfg" in document or {"input_size", "crop_pct"} <= document.keys()


def read(document: Mapping[str, Any]) -> Pipeline:
    """Return the pipeline of a configuration. Raises ReadError for an unknown key, SpecError for a value."""
    settings = document.get("pretrained_cfg", document)
    if not isinstance(settings, Mapping):
        raise ReadError("pretrained_cfg is not an object")
    unknown = sorted(settings.keys() - KEYS)
    if unknown:
        raise ReadError(f"unknown key {unknown[0]!r}, which may change the image; remove it only if it does not")
    config = {**_DEFAULTS, **{key: value for key, value in settings.items() if value}}
    return Pipeline(steps=tuple(_steps(config)), name=f"timm {settings.get('architecture', 'model')}".strip())


def _steps(config: Mapping[str, Any]) -> Iterator[ImageStep]:
    height, width = _size(config["input_size"])
    share, mean = real(config["crop_pct"], "crop_pct"), _numbers(config, "mean")
    if not share > 0:
        raise SpecError(f"crop_pct is {share:g}; expected a number above 0")
    scaled = int(height / share), int(width / share)  # positive, so that int() rounds down like math.floor
    mode = _choice(config["crop_mode"], MODES, "crop_mode")
    like = f"pillow:{_choice(config['interpolation'], FILTERS, 'interpolation')}"
    colour: tuple[float, ...] = (0.0,)
    if mode == "squash":
        yield Resize(like=like, size=Exactly(height=scaled[0], width=scaled[1]))
    elif mode == "border":
        yield Resize(like=like, size=ByRatio(height=scaled[0], width=scaled[1], covers=False))
        colour = tuple(float(round(255 * number)) for number in mean)
    elif scaled[0] == scaled[1]:
        yield Resize(like=like, size=ShorterSide(size=scaled[0]))
    else:
        yield Resize(like=like, size=ByRatio(height=scaled[0], width=scaled[1], covers=True))
    yield CentreCrop(
        size=Exactly(height=height, width=width), start=SizeRounding.HALF_EVEN, padding=SizeRounding.DOWN, colour=colour
    )
    yield Rescale(factor=1 / 255, product=Product.QUOTIENT)
    yield Normalise(mean=_single(mean), deviation=_single(_numbers(config, "std")))


def _size(size: Any) -> tuple[int, int]:
    if not isinstance(size, list | tuple) or len(size) != 3 or size[0] != 3:
        raise SpecError(f"input_size is {size!r}; expected 3 channels, height and width")
    return natural(size[1], "the height of input_size"), natural(size[2], "the width of input_size")


def _numbers(config: Mapping[str, Any], name: str) -> tuple[float, ...]:
    return reals(config[name], name)


def _single(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Return numbers rounded to float32, since timm converts them to tensors first."""
    return tuple(float(np.float32(number)) for number in numbers)


def _choice(value: Any, choices: tuple[str, ...], name: str) -> str:
    if value not in choices:
        raise SpecError(f"{name} is {value!r}; {closest(str(value), choices)}")
    return str(value)
