"""What portable ONNX is made for: which resizes each target computes, as nodes and in primitive operations."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ir_interp.errors import IrInterpError, ReadError, hint
from ir_interp.op import ResizeOp
from ir_interp.spec import Aspect, AtRunTime, Crop, Nearest
from ir_interp.translation.dialect import Context

from ..decompose.resize import Decomposed
from ..dialects.onnx import DIALECT
from ..forecasts.tensorrt import importer
from ..onnx import neighbours, operator_sets
from ..onnx.origins import open_axes
from ..onnx.primitives import Primitives
from ..onnx.resizes import FoundNode, dialect_version
from ..runtimes import onnxruntime, openvino, tensorrt
from ..runtimes.outcome import Outcome, computes, refused
from .primitives import PrimitivesForOpenVINO

OLDEST_OPSET, NEWEST_OPSET = 7, 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A runtime, or an operator set of ONNX, ``opset``; a runtime leaves a model the set that it has.

    ``forecast`` is what it makes of a node as it stands. ``problem`` says why it would not compute a resize that is
    decomposed into ``primitives``; ``note`` is what to know of how it computes one.
    """

    name: str
    opset: int | None = None
    forecast: Callable[[FoundNode], Outcome]
    problem: Callable[[ResizeOp, Decomposed], str]
    primitives: type[Primitives] = Primitives
    note: Callable[[ResizeOp], str] = lambda op: ""


def target(name: str) -> Target:
    """Return a target by its name: ``tensorrt``, ``openvino``, ``onnx:11``. Raises ReadError for any other."""
    if name in _RUNTIMES:
        return _RUNTIMES[name]
    number = re.fullmatch(r"onnx:([0-9]{1,4})", name)
    opset = int(number[1]) if number else 0
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        expected = f"onnx:{OLDEST_OPSET} to onnx:{NEWEST_OPSET}, {' or '.join(_RUNTIMES)}"
        raise ReadError(f"unknown target {name!r}; expected {expected}{hint(name, _RUNTIMES)}")
    return Target(name=name, opset=opset, forecast=lambda node: _as_it_stands(node, opset), problem=lambda op, made: "")


def _as_it_stands(node: FoundNode, opset: int) -> Outcome:
    """Return what a node means in an operator set, if that has its attributes and onnxruntime lets it stand."""
    problem = operator_sets.problem(node.node, node.values.opset, opset)
    if problem:
        return refused(problem)
    try:
        version = dialect_version(node.node.op_type, opset, node.op.where)
        meant = computes(DIALECT.parse(node.op.attributes, Context(version=version, shape=node.op.shape)))
    except IrInterpError as error:
        return refused(str(error))
    if not onnxruntime.survives_transposes(node.op) and neighbours.are_transposes_around(node):
        return refused(onnxruntime.NO_CUBIC_SHRINKS)
    return neighbours.in_onnxruntime(node) or meant


def _tensorrt(node: FoundNode) -> Outcome:
    found = tensorrt.network_refusal(node.op)
    return refused(found) if found else importer(node.op)


def _tensorrt_problem(op: ResizeOp, made: Decomposed) -> str:
    if made.at_run_time:
        return "nothing is known of how TensorRT rounds indices that are found at run time"
    if "int" in (op.dtype or "") and not isinstance(op.spec.kernel, Nearest):
        return f"nothing is known of how TensorRT adds what {op.dtype} is made of"
    return tensorrt.network_refusal(op)


def _openvino(node: FoundNode) -> Outcome:
    op = node.op
    lost = openvino.lost_digits(op)
    if lost:
        return refused(lost)
    if op.spec.axes is None and isinstance(op.spec.target, AtRunTime):
        may_change = frozenset(open_axes(node))
        problem = openvino.plugin(openvino.interpolate(op, openvino.frontend_mode(op), may_change))
        if problem:
            return refused(f"which axes change is known only at run time, and of some {problem.reason}")
    return openvino.frontend(op)


def _openvino_problem(op: ResizeOp, made: Decomposed) -> str:
    spec = op.spec
    integers = "int" in (op.dtype or "")
    decided = (
        isinstance(spec.kernel, Nearest) or isinstance(spec.coordinates, Crop) or spec.aspect is not Aspect.STRETCH
    )
    if made.at_run_time and (
        decided or integers
    ):  # weights of a continuous kernel move by no more than they are rounded
        return "the CPU plugin divides by multiplying, which may move an index that is found at run time"
    return "the CPU plugin does not copy strings" if op.dtype == "str" else ""


_RUNTIMES = {
    "tensorrt": Target(
        name="tensorrt",
        forecast=_tensorrt,
        problem=_tensorrt_problem,
        note=lambda op: tensorrt.NOTE,
    ),
    "openvino": Target(
        name="openvino",
        forecast=_openvino,
        problem=_openvino_problem,
        primitives=PrimitivesForOpenVINO,
        note=openvino.precision_note,
    ),
}
