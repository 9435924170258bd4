"""A TFLite file as a function of arrays, computed by LiteRT, and how far its own kernels differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import IrInterpError
from ir_interp.files.scratch import scratch

from . import interpreter, twins
from .tflite_files import File, Tensor, is_quantised, read_file


def function(path: Path) -> Callable[..., list[Array]]:
    """Return a file as a function of arrays. Raises ReadError for one that cannot be read.

    Weights of 8 bits between floats are taken in float32: LiteRT rounds these floats to 8 bits, too, by a range that
    depends on the processor's kernels.
    """
    read_file(path)
    return lambda *arrays: _outputs(path, arrays)


def _outputs(path: Path, arrays: tuple[Array, ...]) -> list[Array]:
    with scratch() as folder:
        return interpreter.outputs(twins.in_float32(path, folder), arrays)


def slack(path: Path) -> Callable[..., list[float]] | None:
    """Return how far each output may differ on inputs; None for a model that is not rounded to levels.

    A level of the output, and as much as LiteRT's own kernels differ.
    """
    file = read_file(path)
    if not is_quantised(file):
        return None

    def on(*arrays: Array) -> list[float]:
        usual = interpreter.outputs(path, arrays)
        try:
            both = usual, interpreter.outputs(path, arrays, by_reference=True)
        except IrInterpError:  # for operators without a reference kernel
            both = usual, usual
        return [
            level + float(np.abs(mine.astype(np.float64) - theirs).max(initial=0))
            for level, mine, theirs in zip(_levels(file), *both, strict=True)
        ]

    return on


def _levels(file: File) -> list[float]:
    """Return the distance of two levels of each output."""
    sources = {
        id(end): operator.inputs[0]
        for operator in file.operators
        if operator.type == "DEQUANTIZE"
        for end in operator.outputs
    }
    return [_level(end, sources.get(id(end))) for end in file.outputs if end is not None]


def _level(end: Tensor, source: Tensor | None) -> float:
    if end.quantisation.scales:
        return 1.0
    return float(source.quantisation.scales[0]) if source is not None and source.quantisation.scales else 0.0
