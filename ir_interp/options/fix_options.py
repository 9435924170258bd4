"""Options for the repair of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.image_options import Images
from ir_interp.options.value_kinds import CODES, SWITCH, WORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions:
    """The mistakes to fix, and the verification; ``ir_interp.fix`` documents the options."""

    select: tuple[str, ...] = option(
        CODES,
        "Codes or prefixes to fix: IRI012. Default: IRI01, all mistakes. IRI026 makes the weights of 8-bit products "
        "unsigned, so that no sum saturates on any processor.",
        "--select",
        complete="mistakes",
    )
    ignore: tuple[str, ...] = option(CODES, "Codes or prefixes to leave alone.", "--ignore", complete="mistakes")
    layers: tuple[str, ...] = option(WORDS, "Fix only these resizes.", "--layer", complete="layers")
    verify: bool = option(
        SWITCH, "Run the model before and after, and report the changes.", "--verify", "--no-verify", default=True
    )
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes(needs=shared.VERIFICATION)
    inputs: Mapping[str, tuple[Path, ...]] = shared.inputs(needs=shared.VERIFICATION)
    seed: int = shared.seed(needs=shared.VERIFICATION)
    images: Images = shared.images(needs=shared.IMAGES)
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    progress: shared.Progress = shared.progress()
