"""Whole TFLite models to IR: OpenVINO's frontend reads the model, its resizes are built as LiteRT computes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.frontend import NodeContext

from ir_interp.errors import InexactError, UnsupportedLayerError
from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.translation.grades import Grade

from ...dialects.tflite import DIALECT
from ...openvino import trial
from ...openvino.builder import Built, Frontend, ResizeBuilder, in_order
from ...openvino.described_ends import check_numbers
from ...openvino.interpolate_subgraph import Resized, RunTime, partial_shape
from ...openvino.interpolate_subgraph import resize as build_resize
from ...openvino.openvino_primitives import element_name
from ...openvino.run_time_lengths import at_run_time, vector
from ...reports.conversion_report import FormPolicy
from ...runtimes import litert
from . import skeleton, wide_levels
from .tflite_files import KINDS, File, Operator, Quantisation, read_file, resize

_WITH_BIAS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def build(source: Path, folder: Path, policy: FormPolicy | None = None) -> Built:
    """Return a TFLite model as an OpenVINO model, its inputs and outputs in the order of the file.

    Larger weights stay in the file, or are in new files in ``folder``, which holds nothing else.
    Raises an ExceptionGroup of InexactError, one for each resize without an exact form; UnsupportedLayerError if
    OpenVINO's frontend refuses the rest of the model, ReadError if it dies of it.
    """
    file = read_file(source)
    for operator in file.operators:
        if operator.type in KINDS and operator.graph:
            problem = "a resize in a branch, a loop or a second signature is not supported"
            raise UnsupportedLayerError(problem, operator.where)
        _check_bias(operator)
    check_numbers([(end.name, end.dtype) for end in (*file.inputs, *file.outputs) if end is not None], source.name)
    path = folder / source.name
    weights = skeleton.write(source, path)
    trial.check_frontend(path, "tflite")
    waiting = in_order(
        (operator.type, (resize(operator), operator.inputs[0].quantisation))
        for operator in file.operators
        if operator.type in KINDS and operator.inputs[0] is not None
    )
    builder = _Builder(file=source.name, policy=policy or FormPolicy(), waiting=waiting)
    model = builder.read(KINDS, path)
    skeleton.put_in(model, weights, folder)
    model = _in_order(model, file, source.name)
    wide_levels.in_primitives(model)
    return builder.built(model)


def _check_bias(operator: Operator) -> None:
    """Raise UnsupportedLayerError for a bias of other levels than those of the products, which LiteRT adds it to."""
    x, weights, bias = (*operator.inputs[:3], None, None, None)[:3]
    if operator.type not in _WITH_BIAS or x is None or weights is None or bias is None:
        return
    scales = [np.array(end.quantisation.scales) for end in (x, weights, bias)]
    if all(scale.size for scale in scales) and not np.allclose(scales[0] * scales[1], scales[2], rtol=1e-3, atol=0):
        problem = "its bias has the scale of another operator, which LiteRT ignores"
        raise UnsupportedLayerError(f"{problem}; convert the model again with a bias of its own", operator.where)


def _in_order(model: ov.Model, file: File, name: str) -> ov.Model:
    """Return a model with the inputs and outputs of a file, in its order and under its names."""
    inputs = {name: node for node in model.get_parameters() for name in node.output(0).get_names()}
    results = {name: node for node in model.get_results() for name in node.output(0).get_names()}
    names = [[end.name for end in those if end is not None] for those in (file.inputs, file.outputs)]
    for known, required in zip((inputs, results), names, strict=True):
        missing = [name for name in required if name not in known]
        if missing:
            raise UnsupportedLayerError(f"OpenVINO's TFLite frontend drops {missing[0]!r}, an input or output", name)
    twice = next((name for name in names[1] if names[1].count(name) > 1), None)
    if twice is not None:
        raise UnsupportedLayerError(f"{twice!r} is an output twice; expected outputs of different names", name)
    return ov.Model([results[name] for name in names[1]], [inputs[name] for name in names[0]], "tflite")


@dataclass(slots=True, kw_only=True)
class _Builder(ResizeBuilder):
    """Takes the resizes of a file in order, as the frontend does.

    ``quantisation`` is that of the current one.
    """

    frontend: ClassVar = Frontend("tflite", "TFLite")
    waiting: Mapping[str, deque[tuple[ResizeOp, Quantisation]]]
    quantisation: Quantisation = field(default_factory=Quantisation)

    def _read(self, op_type: str, node: NodeContext, x: ov.Output) -> tuple[ResizeOp, RunTime]:
        op, self.quantisation = self.waiting[op_type].popleft()
        op = replace(op, shape=partial_shape(x))  # that of the model, which may know more
        return at_run_time(op, x, lambda: vector([node.get_input(1)]))

    def _resized(self, x: ov.Output, op: ResizeOp, run_time: RunTime) -> Resized:
        """Return levels resized as integers, between the real values that the frontend expects.

        It replaces a quantised tensor by its real values where a Convert reads it.
        """
        if not self.quantisation.scales:
            return _as_litert(x, op, run_time, self.policy)
        levels = ops.convert(_levels(ops.convert(x, "f32"), self.quantisation), element_name(op.dtype or ""))
        resized = _as_litert(levels.output(0), op, run_time, self.policy)
        return replace(resized, output=_real(resized.output, self.quantisation))


def _as_litert(x: ov.Output, op: ResizeOp, run_time: RunTime, policy: FormPolicy) -> Resized:
    """Return ``x`` resized as LiteRT computes it. Raises InexactError if that is unknown."""
    outcome = litert.outcome(op)
    if outcome.spec is not None:
        return build_resize(x, op, run_time, policy)
    shape = static_shape(op.shape)
    if not litert.copies_by_fixed_steps(op) or shape is None or run_time.target is not None:
        raise InexactError(op.name, DIALECT.name, reason=f"LiteRT computes something else: {outcome.reason}")
    for axis in plan(op.spec, shape).axes:
        pixels = ops.constant(litert.fixed_pixels(axis))
        x = ops.gather(x, pixels, ops.constant(np.int64(axis.axis))).output(0)
    return Resized(output=x, form="copies of the pixels that LiteRT takes", grade=Grade.EXACT_FOR_SHAPE)


def _levels(x: ov.Node, quantisation: Quantisation) -> ov.Node:
    """Return the levels of real values; rounding removes the error of the quotient."""
    scale, zero = (np.float32(numbers[0]) for numbers in (quantisation.scales, quantisation.zeros))
    return ops.add(ops.round(ops.divide(x, ops.constant(scale)), "half_to_even"), ops.constant(zero))


def _real(levels: ov.Output, quantisation: Quantisation) -> ov.Output:
    scale, zero = (np.float32(numbers[0]) for numbers in (quantisation.scales, quantisation.zeros))
    centred = ops.subtract(ops.convert(levels, "f32"), ops.constant(zero))
    return ops.multiply(centred, ops.constant(scale)).output(0)
