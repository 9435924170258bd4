"""Options for a comparison of two models, or of two resizes of an image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.image_options import Images
from ir_interp.options.value_kinds import CALLS as LIBRARY_CALLS
from ir_interp.options.value_kinds import NOT_NEGATIVE, PATH, REFERENCE, SCALES, SIZES, SWITCH

MODELS, CALLS, IMAGES = "models", "calls", "images"
"""The places where an option has an effect: a comparison of two models, of two calls of image libraries, of images."""
_CALLS = "Two library calls"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """How to compare; ``ir_interp.compare`` documents the options of models."""

    like: tuple[str, ...] = shared.of_command_line(
        LIBRARY_CALLS,
        "Resize an image as two library calls: pillow:bicubic,opencv:cubic.",
        "--like",
        complete="likes",
        panel=_CALLS,
        places=(CALLS,),
    )
    sizes: tuple[int, ...] | None = shared.of_command_line(
        SIZES, "With --like: output height and width, 224,224.", "--sizes", places=(CALLS,), panel=_CALLS
    )
    scales: tuple[float, ...] | None = shared.of_command_line(
        SCALES, "With --like: output / input, 0.5,0.5.", "--scales", places=(CALLS,), panel=_CALLS
    )
    picture: Path | None = shared.of_command_line(
        PATH,
        "Write a .png or .svg of the differences of two calls or images.",
        "--picture",
        places=(CALLS, IMAGES),
        panel=_CALLS,
    )
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes(places=(MODELS,))
    inputs: Mapping[str, tuple[Path, ...]] = shared.inputs(places=(MODELS,), panel="")
    reference: Any = shared.of_python(REFERENCE, decides=True)
    seed: int = shared.seed(places=(MODELS,))
    images: Images = shared.images(
        places=(MODELS,), leaves_out=("--scale",)
    )  # of random pixels too: one model may have preprocessing inside
    tolerance: float | None = option(
        NOT_NEGATIVE,
        "Allowed difference, relative to each output's largest value. Default: 1e-4, or FIRST's float32 noise.",
        "--tolerance",
        places=(MODELS,),
    )
    per_resize: bool = option(
        SWITCH,
        "Compare resize by resize; name the first that differs, with exit code 1.",
        "--per-resize",
        places=(MODELS,),
    )
    per_layer: bool = option(SWITCH, "Name the first layer that differs.", "--per-layer", places=(MODELS,))
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    html: Path | None = shared.html(places=(MODELS,))
    image: Path | None = shared.image(places=(MODELS,))
    progress: shared.Progress = shared.progress()
