"""Inputs of a layer in the form that ONNX requires."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..onnx.graph import Graph
from ..onnx.operators import cast
from .layer import Op


def int64(graph: Graph, op: Op, index: int, *, vector: bool = True) -> str:
    """Return an input as int64, which ONNX requires for shapes, axes and indices; as a vector if requested."""
    value = op.value(index)
    if value is not None:
        return graph.constant(value.astype(np.int64).ravel() if vector else value.astype(np.int64))
    name = op.inputs[index] if op.dtype(index) == "int64" else cast(graph, op.inputs[index], "int64")
    return graph.node("Reshape", name, graph.ints([-1])) if vector and op.shape(index) == () else name


def reshaped(graph: Graph, op: Op, x: str, lengths: Sequence[int | None]) -> str:
    """Reshape to sizes of which one may be dynamic; a constant is reshaped at once."""
    if sum(length is None for length in lengths) > 1:
        raise op.refusal("more than one dimension of its input is dynamic")
    pattern = [-1 if length is None else length for length in lengths]
    if x in graph.initialisers:
        # A Reshape of weights would keep runtimes from preparing them.
        return graph.constant(graph.initialisers[x].reshape(pattern), name=x)
    return graph.node("Reshape", x, graph.ints(pattern), allowzero=1 if 0 in pattern and graph.opset >= 14 else None)
