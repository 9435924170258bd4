"""Layer types that ONNX cannot express, each with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Never

from ...onnx.onnx_graph import Graph
from ..layers import Op

_STATE = (
    "it keeps a state between inferences; --state inputs converts states to inputs and outputs, except those in bodies"
)
_RANDOM = "it draws random numbers, and onnxruntime draws different ones"
_STRINGS = "it packs or unpacks strings, which no operator of ONNX does"

REASONS = {
    "ReadValue": _STATE,
    "Assign": _STATE,
    "RandomUniform": _RANDOM,
    "Multinomial": _RANDOM,
    "StringTensorPack": _STRINGS,
    "StringTensorUnpack": _STRINGS,
    "CTCLoss": "it is a training loss",
}


def _refuse(reason: str) -> Callable[[Graph, Op], Never]:
    def emit(graph: Graph, op: Op) -> Never:
        raise op.refusal(reason)

    return emit


TABLE = {kind: _refuse(reason) for kind, reason in REASONS.items()}
