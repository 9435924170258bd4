"""What a resize in front of a model can be asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ir_interp import arguments
from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.image_options import Images
from ir_interp.options.value_kinds import NATURAL, PAIR, PATH, POSITIVE, WORD, Kind
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.pipeline import Pipeline

STATED = ("like", "size", "letterbox", "mean", "scale", "bgr", "pixel_range")
"""Options that a configuration or pipeline states as well."""
_COLOUR = replace(NATURAL, check=arguments.whole, metavar="COLOUR")


def _pipeline(value: Any, name: str) -> Pipeline:
    if not isinstance(value, Pipeline):
        raise arguments.misfit(value, name, "Pipeline")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PreprocessOptions:
    """What was done to images in training; ``ir_interp.preprocess`` says what each option means."""

    like: str | None = option(WORD, "The resize of the training: pillow:bicubic, opencv:linear.", "--like")
    size: tuple[int, int] | None = option(PAIR, "Height and width that the model takes: 224,224.", "--size")
    letterbox: int | None = option(
        _COLOUR, "Keep the aspect, in the middle, and fill the rest with this: 114, as YOLO does.", "--letterbox"
    )
    image_size: tuple[int, int] | None = option(
        PAIR,
        "Height and width of all images, where known: 480,640. More calls can be written then.",
        "--image-size",
    )
    config: Path | None = option(
        PATH,
        "Instead: preprocessor_config.json (Hugging Face), config.json (timm), printed transforms (torchvision), "
        "or a model with metadata (Ultralytics).",
        "--config",
    )
    backend: Backend | None = shared.backend()
    pipeline: Pipeline | None = option(Kind(takes="Pipeline", check=_pipeline), default=None, takes_none=True)
    batch: int | None = option(NATURAL, "Number of images that the new input takes at once; 0 for any.", "--batch")
    channels: int = option(
        POSITIVE, "Channels of the images: 1 (grey), 3 (RGB) or 4 (alpha is dropped).", "--channels", default=3
    )
    name: str | None = option(WORD, "Name of the input, if the model has several.", "--input")
    images: Images = shared.images()
    quiet: bool = shared.quiet()
