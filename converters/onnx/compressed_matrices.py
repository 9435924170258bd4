"""Matrices of 4 or 8 bits in ONNX models, which onnxruntime multiplies by numbers that it rounds to 8 bits."""

from __future__ import annotations

from pathlib import Path

import onnx

from .node_walk import graphs
from .onnx_files import read_outline

IN_FLOAT32 = ("session.qdq_matmulnbits_accuracy_level", "1")
"""The session option of onnxruntime, and its value, under which it rounds nothing."""

_PRODUCTS = ("Gemm", "MatMul")


def notes(path: Path) -> tuple[str, ...]:
    """Return a note if a model has such matrices: by default it computes something else than in the verification."""
    count = sum(map(_count, graphs(read_outline(path).graph)))
    if not count:
        return ()
    name, value = IN_FLOAT32
    default = "by default onnxruntime rounds to 8 bits what they multiply"
    return (f"compressed matrices: {count}; {default}; set {name} to {value} for float32, as in the verification",)


def _count(graph: onnx.GraphProto) -> int:
    """Return the number of products with a dequantised constant; those with two dequantised factors are of integers."""
    constants = {tensor.name for tensor in graph.initializer}
    dequantised = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "DequantizeLinear"}
    factors = (node.input[:2] for node in graph.node if node.op_type in _PRODUCTS)
    return sum(dequantised.get(second) in constants and first not in dequantised for first, second in factors)
