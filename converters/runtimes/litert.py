"""LiteRT: it computes every resize that a TFLite file can hold (2.3), on processors where XNNPACK runs.

8-bit bilinear resizes are XNNPACK's, others those of its own kernels:
``ir_interp/plan/runtimes/litert_weights.py`` has both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.resize_op import ResizeOp

from .outcome import Outcome, computes, unknown
from .runner import Runner

VERSION = "2.3"
_TYPES = ("float32", "uint8", "int8", "int16")


def outcome(op: ResizeOp) -> Outcome:
    """Return the outcome of an operator."""
    known = (op.dtype or "float32") in _TYPES
    return computes(op.spec) if known else unknown(f"a resize of {op.dtype}")


def _run(model: str, x: NDArray[Any]) -> NDArray[Any]:
    from ai_edge_litert.interpreter import Interpreter

    net = Interpreter(model_path=model, num_threads=1)
    net.allocate_tensors()
    net.set_tensor(net.get_input_details()[0]["index"], x)
    net.invoke()
    return np.array(net.get_tensor(net.get_output_details()[0]["index"]))


RUNNER = Runner(package="ai_edge_litert", distribution="ai-edge-litert", run=_run)
