"""Inverse matrices, by the determinants of their minors."""

from __future__ import annotations

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ..layer import Op

MAX_SIZE = 6
"""Rows of the largest matrix that is inverted this way: the minors take its fourth power."""


def _inverse(graph: Graph, op: Op) -> str:
    """Divide minors by determinants; ``adjoint`` means the transposed inverse in the CPU plugin."""
    size, rank = op.lengths(axes=[-1])[0], op.rank()
    if size > MAX_SIZE:
        raise op.refusal(f"ONNX has no inverse of matrices, and these have {size} rows (up to {MAX_SIZE} are written)")
    x, transposes = op.inputs[0], op.flag("adjoint")
    if size == 1:
        return graph.node("Div", operators.scalar(graph, 1, "float32"), x)
    whole = operators.unsqueeze(graph, graph.node("Det", x), [rank - 2, rank - 1])
    return graph.node("Div", _minors(graph, x, size, rank, transposes=transposes), whole)


def _minors(graph: Graph, x: str, size: int, rank: int, *, transposes: bool) -> str:
    """Return for each element the determinant of the matrix without its column and row, with the sign of its place."""
    flat = graph.node("Reshape", x, graph.ints([*[0] * (rank - 2), size * size]))
    places = np.arange(size * size).reshape(size, size)
    if not transposes:
        places = places.T
    left = [[np.delete(np.delete(places, row, 0), column, 1) for column in range(size)] for row in range(size)]
    minor = graph.node("Gather", flat, graph.constant(left, np.int64), axis=rank - 2)
    signs = np.where(np.add.outer(range(size), range(size)) % 2, -1, 1)
    return graph.node("Mul", graph.node("Det", minor), graph.constant(signs, np.float32))


TABLE = {"Inverse": _inverse}
