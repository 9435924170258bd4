"""The check that a result stays on QNN's NPU and computes the intended resizes, if onnxruntime-qnn is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from ir_interp.errors import InexactError, VerificationError
from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch
from ir_interp.options.model_options import ConvertOptions
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.specs import Nearest

from .. import qnn_placement
from ..onnx.low_precision import has_quantised_operators
from ..onnx.onnx_files import graphs, read_file
from ..onnx.resize_nodes import OPS, ResizeNode, nodes, single
from ..portable import portable_model
from ..qnn_placement import Left, Placement
from ..runtimes.onnxruntime_providers import FLOATS_OF_NPU
from ..runtimes.runtime import runtimes
from .routes import policy

_LARGEST = 2**20  # elements of a resize that is run alone: the simulator is slow
_SEED = 0


def on_npu(source: Path, result: Path, destination: Path, options: ConvertOptions) -> list[str]:
    """Return notes about a result that is written for QNN: where its nodes run.

    Raises VerificationError if a written node is left to the CPU provider, or a resize differs on the NPU.
    """
    if not qnn_placement.is_installed():
        return [f"{destination.name}: not run by QNN; {_installation()}"]
    placement = qnn_placement.placed(result)
    by, name = placement.by, destination.name
    if placement.problem:
        return [f"{name}: {by} does not run the model: {placement.problem}"]
    wrong = _written(source, result, placement)
    if wrong:
        raise VerificationError(
            f"{name}: {by} leaves what was written to the CPU provider: {wrong[0]}; please report it"
        )
    meant = source if FileKind.of(source) is FileKind.ONNX else result
    count = sum(_runs_alone(node, options, name) for node in _distinct(nodes(meant)))
    alone = f"; {count} of its resizes ran alone, as meant" if count else ""
    if placement.left:
        return [f"{name}: {by} leaves {placement.left_text} to the CPU provider, and no resize{alone}"]
    return [f"{name}: {by} runs every node, without the CPU provider{alone}"]


def _installation() -> str:
    known = runtimes()[qnn_placement.NAME]
    return f"its simulator is not installed; to run it, pip install {known.name}=={known.version} (x86-64 Linux)"


def _written(source: Path, result: Path, placement: Placement) -> list[Left]:
    """Return the nodes left to the CPU provider that are resizes, or that the source does not have.

    Of a source of another kind every node is new, so only resizes count, as in models of quantised operators.
    """
    new = set[str]()
    if FileKind.of(source) is FileKind.ONNX and not has_quantised_operators(source):
        new = _names(result) - _names(source)
    return [left for left in placement.left if left.operator in OPS or left.name in new]


def _names(path: Path) -> set[str]:
    return {node.name for graph in graphs(read_file(path).graph) for node in graph.node}


def _distinct(resizes: Sequence[ResizeNode]) -> Iterator[ResizeNode]:
    """Yield resizes that differ in more than their names."""
    seen = set[str]()
    for node in resizes:
        key = f"{node.op.version} {node.op.dtype} {node.op.shape} {node.op.attributes}"
        if key not in seen:
            seen.add(key)
            yield node


def _runs_alone(node: ResizeNode, options: ConvertOptions, name: str) -> bool:
    """Run a resize alone, as it is written for the NPU. Return whether it could be. Raises VerificationError."""
    op, model, shape = node.op, single(node), static_shape(node.op.shape)
    if model is None or shape is None or op.spec.waits or op.dtype not in FLOATS_OF_NPU or np.prod(shape) > _LARGEST:
        return False
    with scratch() as folder:
        plain, written = folder / "plain.onnx", folder / "written.onnx"
        onnx.save(model, plain)
        try:
            portable_model.write_model(plain, written, qnn_placement.NAME, policy(options), semantics=options.semantics)
            x = np.random.default_rng(_SEED).random(shape).astype(op.dtype)
            wanted = np.asarray(op.run(x))
        except ExceptionGroup as refusals:  # it has a form among the nodes around it only
            if refusals.split(InexactError)[1]:
                raise
            return False
        placement = qnn_placement.placed(written, {model.graph.input[0].name: x})
    if placement.outputs is None:
        raise VerificationError(f"{name}: {op.name}: {placement.by} does not run the resize: {placement.problem}")
    (output,) = placement.outputs.values()
    apart = _apart(op, wanted, output)
    if apart:
        raise VerificationError(f"{name}: {op.name}: {placement.by} computes another resize: {apart}; please report it")
    return True


def _apart(op: ResizeOp, wanted: NDArray[Any], output: NDArray[Any]) -> str:
    """Return how an output differs from the meaning; empty if it does not."""
    if wanted.shape != output.shape:
        return f"shape {list(output.shape)}, not {list(wanted.shape)}"
    apart = float(np.abs(output.astype(float) - wanted.astype(float)).max(initial=0))
    allowed = 0.0 if isinstance(op.spec.kernel, Nearest) else FLOATS_OF_NPU[op.dtype or "float32"]
    return "" if apart <= allowed else f"{apart:.2g} apart"
