"""Options for a resize in front of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ir_interp import arguments
from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.image_options import Images
from ir_interp.options.value_kinds import NATURAL, PAIR, PATH, POSITIVE, SWITCH, WORD, Kind
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.pipeline import Pipeline

STATED = ("like", "size", "letterbox", "mean", "scale", "bgr", "pixel_range")
"""Options that a configuration or pipeline states as well."""
_IMAGES, _NORMALIZATION = "Images", "Normalisation"
_COLOUR = replace(NATURAL, check=arguments.whole, metavar="COLOUR")


def _pipeline(value: Any, name: str) -> Pipeline:
    if not isinstance(value, Pipeline):
        raise arguments.misfit(value, name, "Pipeline")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PreprocessOptions:
    """The preprocessing of training; ``ir_interp.preprocess`` documents the options."""

    like: str | None = option(
        WORD, "Resize used in training: pillow:bicubic, opencv:linear.", "--like", metavar="CALL", complete="likes"
    )
    size: tuple[int, int] | None = option(PAIR, "Height and width of the model's input: 224,224.", "--size")
    letterbox: int | None = option(
        _COLOUR, "Keep the aspect ratio and pad with this value: 114, as YOLO does.", "--letterbox"
    )
    image_size: tuple[int, int] | None = shared.image_size(panel=_IMAGES)
    config: Path | None = option(
        PATH,
        "Read the pipeline from a preprocessor_config.json (Hugging Face), config.json (timm), printed transforms "
        "(torchvision) or a model with metadata (Ultralytics).",
        "--config",
    )
    backend: Backend | None = shared.backend()
    pipeline: Pipeline | None = option(Kind(takes="Pipeline", check=_pipeline), default=None, takes_none=True)
    batch: int | None = option(NATURAL, "Images per batch; 0 for any number.", "--batch", panel=_IMAGES)
    channels: int = option(
        POSITIVE, "Channels: 1 (grey), 3 (RGB) or 4 (RGB and alpha).", "--channels", default=3, panel=_IMAGES
    )
    name: str | None = option(WORD, "Name of the image input, if the model has several.", "--input")
    verify: bool = option(
        SWITCH,
        "Run the new nodes, and write only if they match the pipeline.",
        "--verify",
        "--no-verify",
        default=True,
    )
    images: Images = shared.images(panel=_NORMALIZATION)
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
