"""Sizes that a model computes at run time: those that can be inferred, and axes that keep their size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.passes import ConstantFolding, Manager

from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.spec import Aspect, AtRunTime, Crop, Sizes

from .interpolate_subgraph import RunTime, partial_shape


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


def constant_of(value: ov.Output) -> np.ndarray[Any, Any] | None:
    """Return the value of an expression of constants; None if it depends on an input."""
    node = value.get_node()
    if node.get_type_name() == "Constant":
        return np.array(node.data)
    try:
        model = ov.Model([ops.result(value)], [], "constant")
    except RuntimeError:  # a Parameter is reachable
        return None
    return folded(model)


def folded(model: ov.Model) -> np.ndarray[Any, Any] | None:
    """Return the value of a model's only result, folding its nodes; None if it depends on an input."""
    manager = Manager()
    manager.register_pass(ConstantFolding())
    manager.run_passes(model)
    node = model.get_results()[0].input_value(0).get_node()
    return np.array(node.data) if node.get_type_name() == "Constant" else None
