"""How many operations of which type a model holds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

_NO_OPERATIONS = ("parameter", "result", "const")


def operations(path: Path) -> dict[str, int] | None:
    """Return the number of operations by type, subgraphs included, the most frequent first; None for no model."""
    types = {".onnx": _of_onnx, ".xml": _of_ir}.get(path.suffix.lower())
    return dict(Counter(types(path)).most_common()) if types else None


def _of_onnx(path: Path) -> list[str]:
    from converters.onnx_resizes import graphs, read_model

    nodes = (node for graph in graphs(read_model(path).graph) for node in graph.node)
    return sorted(node.op_type for node in nodes if node.op_type != "Constant")


def _of_ir(path: Path) -> list[str]:
    from ir_interp.ir_model import nets

    layers = (layer for net in nets(path) for layer in net.layers.values())
    return sorted(layer.type for layer in layers if layer.type.lower() not in _NO_OPERATIONS)
