"""Layer types that ONNX cannot say, each with the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Never

from ...onnx.graph import Graph
from ..layer import Op

_STATE = (
    "it keeps a state between inferences; --state=inputs makes inputs and outputs of states, but not of those in bodies"
)
_RANDOM = "it draws random numbers, and onnxruntime draws others"
_STRINGS = "it cuts bytes into strings, or strings into bytes, and no layer of ONNX does either"

REASONS = {
    "ReadValue": _STATE,
    "Assign": _STATE,
    "RandomUniform": _RANDOM,
    "Multinomial": _RANDOM,
    "StringTensorPack": _STRINGS,
    "StringTensorUnpack": _STRINGS,
    "CTCLoss": "it is a loss, for training",
}


def _refuse(reason: str) -> Callable[[Graph, Op], Never]:
    def emit(graph: Graph, op: Op) -> Never:
        raise op.refusal(reason)

    return emit


TABLE = {kind: _refuse(reason) for kind, reason in REASONS.items()}
