"""What a comparison of two models, or of two resizes of an image, can be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.image_options import Images
from ir_interp.options.value_kinds import NOT_NEGATIVE, PATH, REALS, SWITCH, WHOLES, WORDS

MODELS, CALLS = "models", "calls"
"""The places where an option has an effect: a comparison of two models, of two calls of image libraries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """How to compare; ``ir_interp.compare`` says what each option of models means."""

    like: tuple[str, ...] = shared.of_command_line(
        WORDS,
        "Twice: resize an image as calls of image libraries, such as pillow:bicubic, opencv:cubic.",
        "--like",
        places=(CALLS,),
    )
    sizes: tuple[int, ...] | None = shared.of_command_line(
        WHOLES, "With --like: output lengths, 224,224.", "--sizes", places=(CALLS,)
    )
    scales: tuple[float, ...] | None = shared.of_command_line(
        REALS, "With --like: output / input, 0.5,0.5.", "--scales", places=(CALLS,)
    )
    picture: Path | None = shared.of_command_line(
        PATH, "With --like: a .png or .svg of where they differ.", "--picture", places=(CALLS,)
    )
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes(places=(MODELS,))
    inputs: Mapping[str, tuple[Path, ...]] = shared.inputs(places=(MODELS,))
    seed: int = shared.seed(places=(MODELS,))
    images: Images = shared.images(places=(MODELS,))  # of random pixels too: one model may have preprocessing inside
    tolerance: float | None = option(
        NOT_NEGATIVE,
        "Allowed, of the largest value. Default 1e-4, else segment by segment.",
        "--tolerance",
        places=(MODELS,),
    )
    per_resize: bool = option(SWITCH, "Walk the resizes, and name the first one.", "--per-resize", places=(MODELS,))
    per_layer: bool = option(SWITCH, "Find the first layer that differs.", "--per-layer", places=(MODELS,))
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    html: Path | None = shared.html(places=(MODELS,))
    image: Path | None = shared.image(places=(MODELS,))
    progress: shared.Progress = shared.progress()
