"""The proof of preprocessing: its nodes, run alone, compute what the pipeline does in NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ShapeError, VerificationError
from ir_interp.files.scratch import scratch

from ..verify.against_reference import compare_with
from ..verify.run.inputs import Inputs
from .preprocessed_model import NewInput, Preprocess

_SIZES = ((240, 320), (67, 45), (5, 9))
"""Heights and widths of images of any size: larger and smaller than most inputs, upright and across, odd and even."""
_SEVERAL = 2  # images, where their number is open


def prove(image: NewInput, steps: Path) -> None:
    """Raise VerificationError if a model of the new nodes alone computes other values than the pipeline.

    It runs on random images of several sizes. Raises ShapeError if the pipeline takes none of them.
    """
    with sampled(image) as files:
        [output] = compare_with(steps, image.form.of_pixels, Inputs(files={image.name: files})).outputs
    if not output.compared.passes:
        pipeline = image.form.request.pipeline.name or "the pipeline"
        raise VerificationError(
            f"input {output.name!r} does not get the values of {pipeline}: it {output.compared.difference}; "
            "nothing was written"
        )


@contextmanager
def sampled(image: NewInput) -> Iterator[tuple[Path, ...]]:
    """Yield files of random images of several sizes. Raises ShapeError if the pipeline takes none of them."""
    with scratch() as folder:
        files = []
        for place, array in enumerate(_accepted(image)):
            files.append(folder / f"image{place}.npy")
            np.save(files[-1], array)
        yield tuple(files)


def _accepted(image: NewInput) -> Iterator[NDArray[Any]]:
    """Yield images that the pipeline takes. Raises its ShapeError if there are none."""
    problems: list[ShapeError] = []
    images = list(_images(image.form.request))
    for array in images:
        try:
            image.form.of_pixels(array)
        except ShapeError as problem:  # of a size that is too large to be padded, for example
            problems.append(problem)
        else:
            yield array
    if len(problems) == len(images):
        raise problems[0]


def _images(request: Preprocess) -> Iterator[NDArray[Any]]:
    rng = np.random.default_rng(0)
    batch = () if request.batch is None else (request.batch or _SEVERAL,)
    for size in [request.image_size] if request.image_size else _SIZES:
        yield rng.integers(0, 256, (*batch, *size, request.channels), np.uint8)
