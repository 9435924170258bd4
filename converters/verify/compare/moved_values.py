"""Values moved by as much as float32 sums are off: on these a runtime shows how far its own roundings reach.

A sum of n terms in float32 is the exact sum of terms that are each off by about the root of n last bits, in whatever
order the terms are added (N. J. Higham and T. Mary, 2019, "A new approach to probabilistic rounding error analysis").
A term is off by the roundings of all partial sums that hold it, so terms that are added soon after one another are off
alike: the error is as large as the partial sums, even where these cancel. Runtimes add channel by channel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graphs import Graph
from ..run.array_files import Named

_IMAGES = 4  # the rank of a batch of images
_SUMS = re.compile(r"(group|fused)?conv(transpose|olution(backpropdata)?)?|matmul|gemm")  # layers that sum over weights


def moved(values: Mapping[str, NDArray[Any]], graph: Graph) -> dict[str, NDArray[Any]]:
    """Return the floats of a model's tensors moved by the root of n last bits; other values unchanged.

    Each moves up or down by so much at random, and by as much more along the channels: up at the first, down at the
    last.
    """
    share, rng = noise(graph), np.random.default_rng(0)
    down, up = np.float32(1 - share), np.float32(1 + share)

    def of(array: NDArray[Any]) -> NDArray[Any]:
        moves = np.where(rng.integers(0, 2, array.shape, np.int8), up, down)
        for axis in _summed_axes(array.ndim):
            moves *= (1 + share * _slope(array.shape[axis])).reshape([-1] + [1] * (array.ndim - 1 - axis))
        return (array * moves).astype(array.dtype, copy=False)

    return {name: of(array) if array.dtype.kind == "f" else array for name, array in values.items()}


def noise(graph: Graph) -> float:
    """Return the share of its value by which a float32 sum of a model may be off: the root of n last bits."""
    return math.sqrt(_terms(graph)) * float(np.finfo(np.float32).eps)


def moved_inputs(arrays: Named, graph: Graph) -> Named:
    """Return the inputs of a model moved as ``moved`` does, except scales and windows, which decide shapes."""
    images = {name: array for name, array in arrays if array.ndim > 1}
    return list((dict(arrays) | moved(images, graph)).items())


def _summed_axes(rank: int) -> range:
    """Return the axes over which layers may sum: channels, which are the last of a matrix and the second of images."""
    return range(min(1, rank - 1), rank) if rank < _IMAGES else range(1, 2)


def _slope(size: int) -> NDArray[np.float32]:
    """Return numbers from 1 to -1, without their ends."""
    return np.asarray(np.cos(np.pi * (np.arange(size) + 0.5) / max(1, size)), np.float32)


def _terms(graph: Graph) -> int:
    """Return the number of terms in the longest sum of a model, as far as its weights show."""
    weights = [step.inputs[1] for step in graph.steps if _SUMS.fullmatch(step.type)]
    shapes = [[size or 1 for size in graph.shape(name) or ()] for name in weights]
    return max((max(shape) if len(shape) == 2 else math.prod(shape[1:]) for shape in shapes), default=1)
