"""Arrays of images between a source with channels last and a result with channels second."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.files.kinds import CHANNELS_LAST, FileKind
from ir_interp.options.image_options import IMAGE_RANK

from ..sources.readers import model_file
from .references import ComputedOutputs, reference


def channels_last(arrays: Iterable[Array]) -> list[Array]:
    """Return arrays of NCHW in NHWC; those of other ranks as they are."""
    return [_moved(array, 1, -1) for array in arrays]


def channels_second(arrays: Iterable[Array]) -> list[Array]:
    """Return arrays of NHWC in NCHW; those of other ranks as they are."""
    return [_moved(array, -1, 1) for array in arrays]


def for_channels_second(value: Any) -> Any:
    """Return the reference of a result with channels second; a file of a format with channels last is transposed."""
    is_path = isinstance(value, str | os.PathLike)
    if not is_path or FileKind.of(model_file(Path(value))) not in CHANNELS_LAST:
        return value
    model = reference(value)
    assert isinstance(model, ComputedOutputs)
    slack = model.slack and partial(_of_inputs, model.slack)
    return replace(model, function=partial(_outputs, model.function), slack=slack)


def _outputs(function: Callable[..., Any], *arrays: Array) -> Any:
    outputs = _of_inputs(function, *arrays)
    if isinstance(outputs, dict):
        return dict(zip(outputs, channels_second(outputs.values()), strict=True))
    return channels_second(outputs)


def _of_inputs(function: Callable[..., Any], *arrays: Array) -> Any:
    return function(*channels_last(arrays))


def _moved(array: Array, source: int, destination: int) -> Array:
    return np.ascontiguousarray(np.moveaxis(array, source, destination)) if array.ndim == IMAGE_RANK else array
