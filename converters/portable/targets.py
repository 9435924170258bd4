"""Targets of portable ONNX: which resizes each of them computes, as nodes and in primitive operations.

First the primitive operations for OpenVINO, whose CPU plugin needs the workarounds of ``openvino_primitives`` in ONNX
too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ir_interp.errors import IrInterpError, ReadError, closest, hint
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.specs import Aspect, AtRunTime, Crop, Nearest
from ir_interp.translation.dialect import Context
from ir_interp.translation.translate import Grade, compared

from ..decompose.decomposed_resize import Decomposed
from ..decompose.tensor import Functions, Tensor, quotient
from ..dialects.onnx import DIALECT
from ..onnx import neighbours
from ..onnx.neighbours import may_change, open_axes
from ..onnx.onnx_graph import Graph
from ..onnx.operators import Primitives
from ..onnx.resize_nodes import ResizeNode, dialect_version
from ..predictions import importer, in_model, whatever_its_form
from ..runtimes import openvino, openvino_layers, tensorrt
from ..runtimes.execution import LARGEST_GATHER, LargestGather
from ..runtimes.onnxruntime_optimiser import NO_CUBIC_SHRINKS, survives_transposes
from ..runtimes.outcome import Body, Outcome, changing_axes, computes, refused
from ..runtimes.runtime import Accepted, Runtime, runtimes
from . import operator_sets


@dataclass(frozen=True, slots=True)
class PrimitivesForOpenVINO(Primitives):
    """Adds nodes to a graph that OpenVINO's own frontend is to read."""

    def elementwise(self, name: str, *values: str) -> str:
        """Return an elementwise operation; an Abs would be dropped if it is taken for part of a shape."""
        if name == "abs":
            return self.graph.node("Max", values[0], self.graph.node("Neg", values[0]))
        if name == "positive":  # otherwise a sum is fused with the products that it is made of
            return self.graph.node("Min", values[0], self.graph.constant(np.finfo(np.float32).max))
        return Primitives.elementwise(self, name, *values)

    def gather(self, x: str, indices: str, axis: int) -> str:
        """Return the entries of an axis at ``indices``; a Gather of none would divide by their number."""
        known = self.graph.initialisers.get(indices)
        if known is not None and not known.size:
            return self.graph.node("Slice", x, *(self.graph.ints([number]) for number in (0, 0, axis)))
        return Primitives.gather(self, x, indices, axis)

    @property
    def largest_gather(self) -> LargestGather:
        """Return how many elements a Gather of OpenVINO's CPU plugin may take from, or return."""
        return LARGEST_GATHER


@dataclass(frozen=True, slots=True)
class ExactPrimitivesForOpenVINO(PrimitivesForOpenVINO):
    """The same with quotients that are the nearest float32 numbers, each in about forty nodes."""

    def elementwise(self, name: str, *values: str) -> str:
        """Return an elementwise operation."""
        if name == "divide":
            return self._quotient(*values)
        return PrimitivesForOpenVINO.elementwise(self, name, *values)

    def _quotient(self, dividend: str, divisor: str) -> str:
        """Return a quotient; the CPU plugin multiplies by the divisor's reciprocal, which may round otherwise."""
        known = self.graph.initialisers.get(divisor)
        if known is not None and (np.frexp(known)[0] == 0.5).all():  # the reciprocals of powers of 2 are exact
            return Primitives.elementwise(self, "divide", dividend, divisor)
        one = self.graph.constant(np.float32(1))
        inverse = Tensor(self, Primitives.elementwise(self, "divide", one, divisor))
        return str(quotient(Tensor(self, dividend), Tensor(self, divisor), inverse, Functions(self)).value)


def for_openvino(graph: Graph, op: ResizeOp) -> Primitives:
    """Return the operations for a resize: with exact quotients if one may decide which pixel is taken, or a size.

    Weights of a continuous kernel move by no more than their rounding.
    """
    spec = op.spec
    decides = (
        isinstance(spec.kernel, Nearest) or isinstance(spec.coordinates, Crop) or spec.aspect is not Aspect.STRETCH
    )
    if decides or "int" in (op.dtype or ""):
        return ExactPrimitivesForOpenVINO(graph)
    return PrimitivesForOpenVINO(graph)


OLDEST_OPSET, NEWEST_OPSET = 7, 24
FREEZE = "use --shape and --freeze to make the shape static"
_SHORT = {"trt": "tensorrt", "qnn": "onnxruntime-qnn"}  # similar letters would suggest other names


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A runtime, or an operator set of ONNX, ``opset``.

    ``predict`` predicts a node as it stands, ``around`` why the graph around it makes it fail in any form; None if it
    does not. ``problem`` is the reason why it would not compute a resize that is
    decomposed into ``primitives``; ``note`` is a remark on how it computes one. ``measures_nothing`` names a runtime
    that does not slice at sizes of run time. A runtime keeps a model's operator set, unless it is below
    ``least_opset``, before which some runtime lacks common nodes. Local functions are inlined for a runtime that is
    not known to take them.
    """

    name: str
    opset: int | None = None
    predict: Callable[[ResizeNode], Outcome]
    around: Callable[[ResizeNode], Outcome | None] = lambda node: None
    problem: Callable[[ResizeOp, Decomposed], str]
    primitives: Callable[[Graph, ResizeOp], Primitives] = lambda graph, op: Primitives(graph)
    note: Callable[[ResizeOp], str] = lambda op: ""
    measures_nothing: str = ""
    least_opset: int = 1
    takes_functions: bool = False


def target(name: str) -> Target:
    """Return a target by its name: ``tensorrt``, ``openvino``, ``onnx:11``. Raises ReadError for any other."""
    if name in _NAMED:
        return _NAMED[name]
    number = re.fullmatch(r"onnx:([0-9]{1,4})", name)
    opset = int(number[1]) if number else 0
    releases = [known for known in _NAMED if known.startswith(f"{name.partition(':')[0]}:")]
    if releases and ":" in name:
        raise ReadError(f"unknown target {name!r}; {closest(name, releases)}")
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        expected = f"onnx:{OLDEST_OPSET} to onnx:{NEWEST_OPSET}, {', '.join(_RUNTIMES)} or {_ANY.name}"
        raise ReadError(f"unknown target {name!r}; expected {expected}{hint(_SHORT.get(name, name), _NAMED)}")
    return Target(
        name=name,
        opset=opset,
        predict=lambda node: _as_it_stands(node, opset),
        problem=lambda op, decomposed: "",
        takes_functions=True,
    )


def _as_it_stands(node: ResizeNode, opset: int) -> Outcome:
    """Return the meaning of a node in an operator set, if that has its attributes and onnxruntime keeps it."""
    problem = operator_sets.problem(node.node, node.values.opset, opset)
    if problem:
        return refused(problem)
    try:
        version = dialect_version(node.node.op_type, opset, node.op.where)
        for name, value in DIALECT.tolerated_of(node.op.attributes, version).items():
            return refused(f"{name} {value} is no value of this operator set, though some runtimes take it")
        meant = computes(DIALECT.parse(node.op.attributes, Context(version=version, shape=node.op.shape)))
    except IrInterpError as error:
        return refused(str(error))
    return _among_transposes(node) or meant


def _among_transposes(node: ResizeNode) -> Outcome | None:
    """Return onnxruntime's outcome of a node that its optimiser moves a Transpose over; None if it is as alone."""
    if not survives_transposes(node.op) and neighbours.are_transposes_around(node):
        return refused(NO_CUBIC_SHRINKS)
    return neighbours.in_onnxruntime(node)


def _tensorrt(by: tensorrt.Importer, node: ResizeNode) -> Outcome:
    refusal = "" if node.op.dtype in tensorrt.LAYER_TYPES else tensorrt.network_refusal(node.op)
    return refused(refusal) if refusal else importer(node.op, by)


def _for_tensorrt(name: str, by: tensorrt.Importer) -> Target:
    return Target(
        name=name,
        predict=partial(_tensorrt, by),
        around=partial(whatever_its_form, replace(tensorrt.RUNTIME, takes_functions=by.takes_functions)),
        problem=_tensorrt_problem,
        note=lambda op: tensorrt.NOTE,
        takes_functions=by.takes_functions,
    )


def _tensorrt_problem(op: ResizeOp, decomposed: Decomposed) -> str:
    if decomposed.at_run_time:
        return f"the rounding of indices that TensorRT computes at run time is unknown; {FREEZE}"
    return tensorrt.unknown_sums(op.spec, op.dtype) or tensorrt.network_refusal(op)


def _openvino(node: ResizeNode) -> Outcome:
    op = node.op
    lost = openvino_layers.lost_digits(op)
    if lost:
        return refused(lost)
    # With its own axes alone it is computed, but among Transposes it is written with entries for every axis.
    if openvino.is_batch_of_dynamic_images(changing_axes(op, may_change(node)), node.stated):
        return refused("the plugin refuses a resized batch of dynamic images if more than two axes are listed")
    if op.spec.axes is None and isinstance(op.spec.target, AtRunTime):
        unsure = frozenset(open_axes(node))
        problem = openvino_layers.plugin(openvino_layers.interpolate(op, openvino.frontend_mode(op), unsure))
        if problem:
            return refused(f"the resized axes are known only at run time, and for some of them {problem.reason}")
    return openvino.frontend(op)


def _openvino_problem(op: ResizeOp, decomposed: Decomposed) -> str:
    return "the CPU plugin does not copy strings" if op.dtype == "str" else ""


def _of_runtime(runtime: Runtime, accepted: Accepted) -> Target:
    return Target(
        name=runtime.name,
        predict=partial(_in_model, runtime, accepted.left),
        around=partial(_around, runtime, accepted.left),
        problem=partial(_problem, runtime.title, accepted),
        note=lambda op: (
            f"by the rules observed in {runtime.title} {runtime.version}{'' if accepted.left else _NOT_RUN}"
        ),
        measures_nothing="" if accepted.measures else runtime.title,
        least_opset=accepted.least_opset,
    )


_NOT_RUN = "; it was not run"  # nodes of one that leaves some to another are seen in a run, by ``qnn_placement``


def _in_model(runtime: Runtime, left: str, node: ResizeNode) -> Outcome:
    """Return the outcome of a node in a runtime; a node that it leaves to another runtime counts as refused."""
    outcome = in_model(runtime, node)
    return refused(outcome.reason) if left and outcome.reason.startswith(left) else outcome


def _around(runtime: Runtime, left: str, node: ResizeNode) -> Outcome | None:
    outcome = whatever_its_form(runtime, node)
    if left and outcome is None and static_shape(node.op.shape) is None:
        return refused(f"{runtime.title} takes static shapes only; {FREEZE}")
    bodies = neighbours.surroundings(node).bodies if left and outcome is None else ()
    return refused(f"{runtime.title} runs no body of a loop") if any(map(_is_loop, bodies)) else outcome


def _is_loop(body: Body) -> bool:
    return body.operator != "If"


def _problem(title: str, accepted: Accepted, op: ResizeOp, decomposed: Decomposed) -> str:
    if not accepted.primitives:
        return f"{title} computes no resize"
    if not accepted.gathers and isinstance(op.spec.kernel, Nearest):
        return f"{title} computes no Gather"
    if not accepted.gathers and isinstance(op.spec.coordinates, Crop):
        return f"{title} computes no Where"
    if op.dtype != "float32":
        return f"the rules for {title} do not cover {op.dtype}"
    return (
        f"the rules for {title} do not cover indices computed at run time; {FREEZE}" if decomposed.at_run_time else ""
    )


def _in_all(node: ResizeNode) -> Outcome:
    """Return the runtime's outcome that is least exact, on the conditions of all."""
    outcomes = [(runtime.name, runtime.predict(node)) for runtime in _IN_ANY]
    moved = _among_transposes(node)
    outcomes += [("onnxruntime", moved)] if moved else []
    name, worst = max(outcomes, key=lambda outcome: _inexactness(node.op, outcome[1]))
    reason = f"{name}: {worst.reason}" if worst.reason else ""
    provided = " and ".join(
        dict.fromkeys(outcome.provided for _, outcome in outcomes if outcome.spec and outcome.provided)
    )
    but_for = " and ".join(dict.fromkeys(outcome.but_for for _, outcome in outcomes if outcome.but_for))
    return replace(worst, reason=reason, provided=provided if worst.spec else worst.provided, but_for=but_for)


def _around_in_any(node: ResizeNode) -> Outcome | None:
    outcomes = ((runtime.name, runtime.around(node)) for runtime in _IN_ANY)
    return next((replace(each, reason=f"{name}: {each.reason}") for name, each in outcomes if each), None)


def _inexactness(op: ResizeOp, outcome: Outcome) -> int:
    grade = compared(op.spec, outcome.spec, op.shape) if outcome.spec else None
    return list(Grade).index(grade) if grade else len(Grade)


def _any_problem(op: ResizeOp, decomposed: Decomposed) -> str:
    return next(filter(None, (runtime.problem(op, decomposed) for runtime in _IN_ANY)), "")


_OWN = {
    "tensorrt": _for_tensorrt("tensorrt", tensorrt.NEWEST),
    "openvino": Target(
        name="openvino",
        predict=_openvino,
        around=partial(whatever_its_form, openvino.RUNTIME),
        problem=_openvino_problem,
        primitives=for_openvino,
        note=openvino_layers.precision_note,
    ),
}
_ACCEPTED = {name: runtime.accepts for name, runtime in runtimes().items() if runtime.accepts}
_RUNTIMES = {
    **_OWN,
    **{name: _of_runtime(runtimes()[name], each) for name, each in _ACCEPTED.items() if name not in _OWN},
}
_IN_ANY = [target for name, target in _RUNTIMES.items() if _ACCEPTED[name].primitives and not _ACCEPTED[name].left]
"""Runtimes with a fallback in primitive operations, except those that leave nodes to another runtime."""
_ANY = Target(
    name="any",
    predict=_in_all,
    around=_around_in_any,
    problem=_any_problem,
    primitives=for_openvino,
    measures_nothing=next((runtime.measures_nothing for runtime in _IN_ANY if runtime.measures_nothing), ""),
    least_opset=max(runtime.least_opset for runtime in _IN_ANY),
)
_RELEASES = {
    f"tensorrt:{name}": _for_tensorrt(f"tensorrt:{name}", importer) for name, importer in tensorrt.IMPORTERS.items()
}
_NAMED = {**_RUNTIMES, **_RELEASES, _ANY.name: _ANY}


def names() -> list[str]:
    """Return the names of all targets."""
    return [*_NAMED, *(f"onnx:{opset}" for opset in range(OLDEST_OPSET, NEWEST_OPSET + 1))]
