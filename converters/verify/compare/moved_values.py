"""Values moved by as much as float32 sums are off: on these a runtime shows how far its own roundings reach.

A sum of n terms in float32 is the exact sum of terms that are each off by about the root of n last bits, in whatever
order the terms are added (N. J. Higham and T. Mary, 2019, "A new approach to probabilistic rounding error analysis").
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graphs import Graph

_SUMS = re.compile(r"(group|fused)?conv(transpose|olution(backpropdata)?)?|matmul|gemm")  # layers that sum over weights


def moved(values: Mapping[str, NDArray[Any]], graph: Graph) -> dict[str, NDArray[Any]]:
    """Return the floats of a model's tensors moved, up or down, by the root of n last bits; other values unchanged."""
    share, rng = math.sqrt(_terms(graph)) * float(np.finfo(np.float32).eps), np.random.default_rng(0)
    down, up = np.float32(1 - share), np.float32(1 + share)
    return {
        name: (array * np.where(rng.integers(0, 2, array.shape, np.int8), up, down)).astype(array.dtype, copy=False)
        if array.dtype.kind == "f"
        else array
        for name, array in values.items()
    }


def _terms(graph: Graph) -> int:
    """Return the number of terms in the longest sum of a model, as far as its weights show."""
    weights = [step.inputs[1] for step in graph.steps if _SUMS.fullmatch(step.type)]
    shapes = [[size or 1 for size in graph.shape(name) or ()] for name in weights]
    return max((max(shape) if len(shape) == 2 else math.prod(shape[1:]) for shape in shapes), default=1)
