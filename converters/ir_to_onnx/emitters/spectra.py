"""Fourier transforms, axis by axis as matrix products: onnxruntime's own take less, and other operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.operators import as_dtype
from ..op import Op

_Matrix = NDArray[np.complex128]


def _waves(rows: int, columns: int, size: int, *, inverse: bool) -> _Matrix:
    """Return the matrix of a transform of ``size`` points, of its first rows and columns."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % size / size
    waves: _Matrix = np.exp((2j if inverse else -2j) * np.pi * turns)
    return waves / size if inverse else waves


def _axes(op: Op, rank: int) -> list[tuple[int, int]]:
    """Return the axes, and the number of points of each where it is given."""
    axes = [op.from_first(axis, rank) for axis in op.known_integers(1, "axes are")]
    sizes = op.known_integers(2, "lengths are") if op.has(2) else (-1,) * len(axes)
    return list(zip(axes, sizes, strict=True))


def _times(graph: Graph, op: Op, x: str, matrix: NDArray[np.float64], axis: int, rank: int) -> str:
    """Multiply along an axis."""
    order = operators.moved(rank, axis, rank - 1)
    weights = graph.constant(matrix.astype(as_dtype(op.dtype())))
    made = graph.node("MatMul", operators.transposed(graph, x, order), weights)
    return operators.transposed(graph, made, operators.inverse(order))


def _resized(graph: Graph, x: str, held: int, size: int, axis: int, rank: int) -> str:
    """Cut, or pad with zeros, to a number of points."""
    if size < held:
        return operators.cut(graph, x, [0], [size], [axis])
    return operators.padded(graph, x, rank, axis, 0, size - held) if size > held else x


_Pair = tuple[str, str]


def _parts(graph: Graph, x: str, rank: int) -> _Pair:
    """Return the real and the imaginary part, without the last axis."""
    real, imaginary = (operators.cut(graph, x, [each], [each + 1], [rank]) for each in range(2))
    return operators.squeeze(graph, real, [rank]), operators.squeeze(graph, imaginary, [rank])


def _turned(graph: Graph, op: Op, parts: _Pair, waves: _Matrix, axis: int, rank: int) -> _Pair:
    """Multiply a complex tensor along an axis by a complex matrix."""
    a, b = parts
    real_a, real_b, cross_a, cross_b = (
        _times(graph, op, part, matrix, axis, rank)
        for part, matrix in ((a, waves.real), (b, waves.imag), (a, waves.imag), (b, waves.real))
    )
    return graph.node("Sub", real_a, real_b), graph.node("Add", cross_a, cross_b)


def _joined(graph: Graph, parts: _Pair, rank: int) -> str:
    return graph.node("Concat", *(operators.unsqueeze(graph, part, [rank]) for part in parts), axis=rank)


def _over(graph: Graph, op: Op, parts: _Pair, axes: Sequence[tuple[int, int]], rank: int, *, inverse: bool) -> _Pair:
    for axis, wanted in axes:
        held = op.lengths(axes=[axis])[0]
        size = held if wanted == -1 else wanted
        resized = (_resized(graph, part, held, size, axis, rank) for part in parts)
        parts = _turned(
            graph, op, (next(resized), next(resized)), _waves(size, size, size, inverse=inverse), axis, rank
        )
    return parts


def _complex(graph: Graph, op: Op, *, inverse: bool) -> str:
    rank = op.rank() - 1
    made = _over(graph, op, _parts(graph, op.inputs[0], rank), _axes(op, rank), rank, inverse=inverse)
    return _joined(graph, made, rank)


def _dft(graph: Graph, op: Op) -> str:
    return _complex(graph, op, inverse=False)


def _idft(graph: Graph, op: Op) -> str:
    return _complex(graph, op, inverse=True)


def _from_real(graph: Graph, op: Op) -> str:
    """Transform real numbers: the last axis first, of which half the spectrum says all, then the others."""
    rank = op.rank()
    *others, (axis, wanted) = _axes(op, rank)
    held = op.lengths(axes=[axis])[0]
    size = held if wanted == -1 else wanted
    x = _resized(graph, op.inputs[0], held, size, axis, rank)
    waves = _waves(size, size // 2 + 1, size, inverse=False)
    parts = _times(graph, op, x, waves.real, axis, rank), _times(graph, op, x, waves.imag, axis, rank)
    return _joined(graph, _over(graph, op, parts, others, rank, inverse=False), rank)


def _to_real(graph: Graph, op: Op) -> str:
    """Undo that: what is missing of the last axis are the conjugates, hence twice the real part."""
    rank = op.rank() - 1
    *others, (axis, wanted) = _axes(op, rank)
    held = op.lengths(axes=[axis])[0]
    size = 2 * (held - 1) if wanted == -1 else wanted
    half = size // 2 + 1
    parts = _over(graph, op, _parts(graph, op.inputs[0], rank), others, rank, inverse=True)
    real, imaginary = (_resized(graph, part, held, half, axis, rank) for part in parts)
    twice = np.array([1 if k in (0, size - k) else 2 for k in range(half)])[:, None]
    waves = _waves(half, size, size, inverse=True) * twice
    sums = _times(graph, op, real, waves.real, axis, rank), _times(graph, op, imaginary, waves.imag, axis, rank)
    return graph.node("Sub", *sums)


TABLE = {"DFT": _dft, "IDFT": _idft, "RDFT": _from_real, "IRDFT": _to_real}
