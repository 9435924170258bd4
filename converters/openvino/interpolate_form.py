"""The form of a resize in an OpenVINO graph: native if OpenVINO's CPU plugin computes that correctly, else decomposed.

Then sizes that a model computes at run time: those that can be inferred, and axes that keep their size.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.utils.node_factory import NodeFactory

from ir_interp.errors import Cause, InexactError
from ir_interp.ir.interpolate_dialect import DIALECT
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.specs import Aspect, AtRunTime, Crop, Integers, Nearest, Scales, Sizes
from ir_interp.translation.meaning import listed_axes
from ir_interp.translation.translate import Grade, Translation, write

from ..decompose.decomposed_resize import decompose
from ..reports import Form, FormPolicy, expressed
from ..runtimes import openvino_layers
from ..runtimes.onnxruntime import cuts_off, extrapolation_fault
from .openvino_primitives import OPS, constant_of

_SINCE_4 = (
    "mode",
    "shape_calculation_mode",
    "coordinate_transformation_mode",
    "nearest_mode",
    "antialias",
    "cube_coeff",
)
_ATTRIBUTES = {11: _SINCE_4, 4: _SINCE_4, 1: ("mode", "align_corners", "antialias")}
"""Attributes of Interpolate by version, except its pads and axes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    """The output of the nodes that together make up one resize; ``nodes`` are these nodes."""

    output: ov.Output
    form: str
    grade: Grade
    note: str = ""
    within: int = 0
    nodes: tuple[ov.Node, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTime:
    """The inputs of a resize at run time: sizes or scales, and a crop's windows."""

    target: ov.Output | None = None
    roi: ov.Output | None = None


def partial_shape(value: ov.Output) -> PartialShape | None:
    """Return the shape of an OpenVINO tensor, None where dynamic; None for a dynamic rank."""
    shape = value.get_partial_shape()
    if shape.rank.is_dynamic:
        return None
    return tuple(length.get_length() if length.is_static else None for length in shape)


def resize(
    x: ov.Output, op: ResizeOp, inputs: RunTime | None = None, policy: FormPolicy | None = None, *, alone: bool = False
) -> Resized:
    """Return ``x`` resized as in ``op``: by native Interpolate nodes, else by primitive operations.

    A resize that stands ``alone`` between an input and an output of the model has no neighbours whose memory layout
    matters. Raises InexactError if there is no exact form.
    """
    inputs, policy = inputs or RunTime(), policy or FormPolicy()
    shape = partial_shape(x)
    if shape is None:
        raise InexactError(op.name, DIALECT.name, reason="the rank of the input is unknown")
    spec = listed_axes(op.spec, shape)
    if policy.strict:
        resized = resolve_axes(spec.axes, len(shape))
        # A strict form may not use the sizes of this model: an IR can be reshaped.
        shape = tuple(None if axis in resized else length for axis, length in enumerate(shape))
    op = replace(op, spec=spec, shape=shape)
    fault = extrapolation_fault(op) if op.dialect == "onnx" else ""
    if fault:
        raise InexactError(op.name, DIALECT.name, reason=f"onnxruntime has no defined value for it: {fault}")
    try:
        chosen = _choose(x, op, inputs, policy, alone)
    except RuntimeError as error:  # for example for a size of 2**63 - 1, which OpenVINO takes for a dynamic one
        reason = f"OpenVINO cannot hold it: {_last_sentence(error)}"
        raise InexactError(op.name, DIALECT.name, reason=reason) from None
    if policy.strict and chosen.grade is Grade.EXACT_BUT_TIES:
        raise InexactError(op.name, DIALECT.name, reason="float32 may decide ties differently", cause=Cause.FLOAT32)
    stops = [value for value in (x, inputs.target, inputs.roi) if value is not None]
    notes = "; ".join(filter(None, (chosen.note, openvino_layers.precision_note(op))))
    return replace(chosen, note=notes, nodes=tuple(_nodes(chosen.output, stops)))


def _last_sentence(error: RuntimeError) -> str:
    """Return the last line of OpenVINO's message, without places in its source."""
    return (str(error).strip().splitlines() or ["it gives no reason"])[-1]


def _nodes(output: ov.Output, stops: list[ov.Output]) -> list[ov.Node]:
    """Return the nodes that compute ``output``, back to ``stops``."""
    seen, nodes, open_ends = {stop.get_node() for stop in stops}, [], [output.get_node()]
    while open_ends:
        node = open_ends.pop()
        if node not in seen:
            seen.add(node)
            nodes.append(node)
            open_ends += [port.get_source_output().get_node() for port in node.inputs()]
    return nodes


def _choose(x: ov.Output, op: ResizeOp, run_time: RunTime, policy: FormPolicy, alone: bool) -> Resized:
    """Return the native form if it is exact, else the decomposed one with the reason."""
    form = policy.form
    if form is Form.DECOMPOSED:
        return _decomposed(x, op, run_time, policy, "as asked")
    try:
        native = _native(x, op, run_time, policy.interpolate)
    except InexactError as refusal:
        if form is Form.NATIVE:
            raise
        return _decomposed(x, op, run_time, policy, refusal.reason)
    if form is Form.ANY and native.grade is Grade.EXACT_BUT_TIES:
        return _decomposed(x, op, run_time, policy, "Interpolate may decide float32 ties differently")
    if form is Form.ANY and native.grade is Grade.INTEGERS_WITHIN_1:
        steps = _decomposed(x, op, run_time, policy, "Interpolate may round integers differently")
        return native if steps.grade is Grade.INTEGERS_WITHIN_1 else steps
    if form is Form.ANY and native.grade is Grade.EXACT_FOR_SHAPE and alone:
        return _decomposed(x, op, run_time, policy, "faster than an Interpolate of this shape")
    return native


def _decomposed(x: ov.Output, op: ResizeOp, run_time: RunTime, policy: FormPolicy, why: str) -> Resized:
    if op.dtype == "str":
        raise InexactError(op.name, "OpenVINO", reason="OpenVINO's CPU plugin does not copy strings")
    if x.get_element_type().is_dynamic():
        raise InexactError(op.name, "OpenVINO", reason="the element type of its input is unknown")
    resized = decompose(OPS, x, op, target=run_time.target, roi=run_time.roi)
    output = _own(resized.output, x)
    return Resized(output=output, form=resized.form, grade=resized.grade, note=why, within=resized.within)


def _native(x: ov.Output, op: ResizeOp, run_time: RunTime, version: int) -> Resized:
    """Return ``x`` resized by Interpolate nodes, at most two axes each.

    Raises InexactError if no form of Interpolate computes the same, or the CPU plugin computes that form wrongly.
    """
    assert op.shape is not None
    spec = op.spec.of_floats() if "float" in (op.dtype or "") else op.spec
    translation = write(spec, DIALECT, shape=op.shape, version=version, name=op.name)
    axes = resolve_axes(translation.spec.axes, len(op.shape))
    groups = _groups(axes, translation, len(op.shape))
    problem = _problem(op, translation.attributes["mode"], groups)
    if problem:
        raise InexactError(op.name, DIALECT.name, reason=problem)
    if version == 1 and len(groups) > 1:  # its meaning depends on its list of axes
        raise InexactError(op.name, DIALECT.name, reason="Interpolate-1 of two axes at a time means something else")
    y = x
    for group in groups:
        y = _node(y, translation, group, [axes.index(axis) for axis in group], run_time.target)
    grade = translation.grade
    if grade is not Grade.INTEGERS_WITHIN and groups and _sums_otherwise(op):
        grade = Grade.INTEGERS_WITHIN_1
    return Resized(output=_own(y, x), form=expressed(translation), grade=grade, within=translation.within)


def _sums_otherwise(op: ResizeOp) -> bool:
    """Return whether integers are rounded from sums in another order than OpenVINO's: a last bit may decide."""
    sums = not isinstance(op.spec.kernel, Nearest) and "int" in (op.dtype or "")
    return sums and op.spec.rounds is not Integers.OPENVINO


def _own(y: ov.Output, x: ov.Output) -> ov.Output:
    """Return ``y``, or a copy of it if that is ``x`` itself: an output has one name only.

    A Convert to the same type is no copy for the CPU plugin (2026.4): between an input of dynamic sizes and an output,
    it writes behind its memory once the sizes change.
    """
    is_same = y.get_node() == x.get_node() and y.get_index() == x.get_index()
    if not is_same:
        return y
    if x.get_partial_shape().is_static:
        return ops.convert(x, x.get_element_type().get_type_name()).output(0)
    unchanged = np.zeros(x.get_partial_shape().rank.get_length(), np.int64)
    return ops.reshape(x, unchanged, special_zero=True).output(0)


def _groups(axes: tuple[int, ...], translation: Translation, rank: int) -> list[list[int]]:
    """Return axes in pairs from the last. A cubic resize of rank 3 is wrong on CPU if axis 0 is paired."""
    alone = [0] if translation.attributes["mode"] == "cubic" and rank == 3 and 0 in axes else []
    rest = [axis for axis in sorted(axes) if axis not in alone]
    pairs = [rest[max(0, end - 2) : end] for end in range(len(rest), 0, -2)]
    return [group for group in [*pairs, alone] if group]


def _problem(op: ResizeOp, mode: str, groups: list[list[int]]) -> str:
    """Return why Interpolates of these groups of axes do not compute ``op``; empty if they do."""
    rank, dtype = len(op.shape or ()), op.dtype or "float32"
    for group in map(frozenset, groups):
        node = openvino_layers.Interpolate(mode=mode, rank=rank, dtype=dtype, resized=group, listed=group)
        outcome = openvino_layers.plugin(node)
        if outcome is not None:
            return f"OpenVINO: {outcome.reason}"
    rounds = dtype == "bfloat16" or "int" in dtype
    if rounds and (mode.endswith("pillow") or (mode != "nearest" and len(groups) > 1)):
        return f"{dtype} would be rounded more than once"
    if cuts_off(op):
        return f"onnxruntime truncates {dtype}, OpenVINO rounds it"
    lost = openvino_layers.lost_digits(op)
    return f"OpenVINO: {lost}" if lost else ""


def _node(
    x: ov.Output, translation: Translation, axes: list[int], places: list[int], target: ov.Output | None
) -> ov.Output:
    """Return ``x`` resized along ``axes``, whose targets stand at ``places`` of the spec's."""
    goal = translation.spec.target
    values: object
    if isinstance(goal, Sizes | Scales):
        dtype = np.float32 if isinstance(goal, Scales) else np.int64
        values = ops.constant(np.array([goal.values[place] for place in places], dtype))
    else:
        values = ops.gather(target, ops.constant(np.array(places)), ops.constant(np.int64(0)))
    version = translation.version
    stated = {name: value for name, value in translation.attributes.items() if name in _ATTRIBUTES[version]}
    stated |= {"pads_begin": [0], "pads_end": [0]}
    if version == 1:
        return _factory(1).create("Interpolate", [x, _output(values)], stated | {"axes": axes}).output(0)
    places_ = ops.constant(np.array(axes)).output(0)
    if version == 11:
        return _factory(11).create("Interpolate", [x, _output(values), places_], stated).output(0)
    by_scales = stated["shape_calculation_mode"] == "scales"
    ones = ops.constant(np.ones(len(axes), np.int64 if by_scales else np.float32)).output(0)
    both = [ones, _output(values)] if by_scales else [_output(values), ones]
    return _factory(4).create("Interpolate", [x, *both, places_], stated).output(0)


def _output(values: Any) -> ov.Output:
    return values if isinstance(values, ov.Output) else values.output(0)


@functools.cache
def _factory(version: int) -> NodeFactory:
    return NodeFactory(f"opset{version}")


def at_run_time(op: ResizeOp, x: ov.Output, target: Callable[[], ov.Output]) -> tuple[ResizeOp, RunTime]:
    """Return a resize as ``narrowed`` does, with its inputs of run time, if it waits for the tensor ``target()``."""
    if not isinstance(op.spec.target, AtRunTime):
        return op, RunTime()
    op, rest = narrowed(op, x, target())
    return op, RunTime(target=rest)


def vector(parts: Iterable[ov.Output], element: str = "i64") -> ov.Output:
    """Return sizes or scales, of one tensor or several, as one of rank 1."""
    flat = [ops.reshape(ops.convert(part, element), ops.constant(np.array([-1])), special_zero=False) for part in parts]
    return ops.concat(flat, 0).output(0)


def narrowed(op: ResizeOp, x: ov.Output, target: ov.Output) -> tuple[ResizeOp, ov.Output | None]:
    """Return ``op`` without the axes that are known to keep their size, and with inferred sizes."""
    spec, shape = op.spec, op.shape
    if shape is None or isinstance(spec.coordinates, Crop) or spec.aspect is not Aspect.STRETCH:
        return op, target
    # An axis that keeps its size needs no taps at all.
    axes = resolve_axes(spec.axes, len(shape))
    if target.get_partial_shape().is_dynamic:  # a frontend may not know that there is an entry for each axis
        target = ops.reshape(target, ops.constant(np.array([len(axes)])), special_zero=False).output(0)
    sizes = _known_sizes(target) if spec.gives_sizes else (None,) * len(axes)
    places = [
        place
        for place, axis in enumerate(axes)
        if not (shape[axis] is not None and shape[axis] == sizes[place]) and not _keeps(target, place, x, axis)
    ]
    fewer = replace(spec, axes=tuple(axes[place] for place in places))
    known = [length for place in places if (length := sizes[place]) is not None]
    if len(known) == len(places):
        return replace(op, spec=replace(fewer, target=Sizes(tuple(known)))), None
    return replace(op, spec=fewer), ops.gather(target, ops.constant(np.array(places)), ops.constant(0)).output(0)


def _known_sizes(sizes: ov.Output) -> PartialShape:
    """Return the entries of a tensor of sizes that shape inference knows."""
    return partial_shape(ops.broadcast(ops.constant(np.float32(0)), sizes).output(0)) or ()


def _keeps(target: ov.Output, place: int, x: ov.Output, axis: int) -> bool:
    """Return whether an entry of sizes or scales keeps ``axis`` of ``x``: its own size, or a scale of 1."""
    origin, entry = _origin(target, place)
    node = origin.get_node()
    if node.get_type_name() == "ShapeOf":
        shaped = node.input(0).get_source_output()
        return _is_same(shaped, x) and entry % len(partial_shape(x) or (1,)) == axis
    scales = constant_of(origin) if origin.get_element_type().is_real() else None
    return scales is not None and bool(scales.ravel()[entry] == 1)


def _origin(vector: ov.Output, place: int) -> tuple[ov.Output, int]:
    """Return the vector, and the place in it, that an entry was copied from."""
    node = vector.get_node()
    sources = [port.get_source_output() for port in node.inputs()]
    match node.get_type_name():
        case "Convert" | "Squeeze" | "Unsqueeze" | "Reshape":
            return _origin(sources[0], place)
        case "Concat":
            rest = place
            for piece in sources:
                shape = partial_shape(piece)
                if shape is None or len(shape) != 1 or shape[0] is None:
                    break
                if rest < shape[0]:
                    return _origin(piece, rest)
                rest -= shape[0]
            return vector, place
        case "Gather":
            indices = constant_of(sources[1])
            return _origin(sources[0], int(indices.ravel()[place])) if indices is not None else (vector, place)
        case "Slice":
            start, step = constant_of(sources[1]), constant_of(sources[3])
            if start is not None and step is not None and step.ravel()[0] == 1:
                return _origin(sources[0], int(start.ravel()[0]) + place)
    return vector, place


def _is_same(left: ov.Output, right: ov.Output) -> bool:
    return bool(left.get_node() == right.get_node()) and left.get_index() == right.get_index()
