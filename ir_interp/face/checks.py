"""What several functions of the face take, checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp import arguments
from ir_interp.errors import SpecError

if TYPE_CHECKING:
    from ir_interp.converters.report import ConversionReport
    from ir_interp.converters.verify.run.image_inputs import Images
    from ir_interp.converters.verify.run.inputs import Inputs

Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

Progress = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is, and of how much in all (0 where nobody knows)."""


def inputs_of(
    shapes: Mapping[str, Sequence[int]] | None, inputs: Mapping[str, Files] | None, images: Images | None, seed: int
) -> Inputs:
    """Return what verification runs on, checked."""
    from ir_interp.converters.verify.run.image_inputs import Images
    from ir_interp.converters.verify.run.inputs import Inputs

    lengths = arguments.by_name(shapes, arguments.lengths, "shapes")
    files = arguments.by_name(inputs, arguments.paths, "inputs")
    if not isinstance(images, Images | None):
        raise SpecError(f"images is {arguments.shown(images)}; expected Images")
    return Inputs(shapes=lengths, files=files, seed=arguments.natural(seed, "seed"), images=images or Images())


def reports_of(
    reports: Mapping[str | os.PathLike[str], Callable[[ConversionReport, Path], None]] | None,
) -> dict[Path, Callable[[ConversionReport, Path], None]]:
    """Return further files to write, by path, checked."""
    if not isinstance(reports, Mapping | None):
        raise SpecError(f"reports is {arguments.shown(reports)}; expected a mapping from paths to functions")
    named = (reports or {}).items()
    return {arguments.path(path, "a path in reports"): arguments.function(save, "a report") for path, save in named}


def progress_of(progress: Progress | None) -> Progress:
    """Return what is told of progress: nothing by default."""
    from ir_interp.converters.report import silent

    return silent if progress is None else arguments.function(progress, "progress")
