"""How TensorRT's ONNX importer reads a node, as a layer of its dialect."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from ir_interp.errors import InexactError, IrInterpError, SpecError
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes
from ir_interp.spec import Scales, Sizes
from ir_interp.translation.dialect import Context
from ir_interp.translation.translate import write

from ..dialects.tensorrt import DIALECT
from ..runtimes import tensorrt_dla
from ..runtimes.outcome import Outcome, computes, refused
from ..runtimes.tensorrt import NEWEST, Edition, importer_refusal, layer_settings, left_out, unknown_sums

_AT_RUN_TIME = {"shape": None}  # stands in for an unknown target


def importer(op: ResizeOp, edition: Edition = NEWEST) -> Outcome:
    """Return how TensorRT's ONNX importer reads a node, by its source; TensorRT itself was not run."""
    reason = importer_refusal(op, edition)
    if reason:
        return refused(reason)
    target = _target(op)
    try:
        spec = DIALECT.parse(layer_settings(op) | (target or _AT_RUN_TIME), _context(op))
    except IrInterpError as error:
        return refused(str(error))
    unknown = unknown_sums(spec, op.dtype)
    if unknown:
        return refused(unknown)
    layer = spec if target else replace(spec, target=op.spec.target, axes=op.spec.axes)
    return computes(layer, left_out(op, edition))


def remarks(op: ResizeOp) -> tuple[tuple[str, str], ...]:
    """Return codes and messages about the importer's layer for a node: reasons why it cannot run on DLA."""
    if importer(op).spec is None:
        return ()
    context = _context(op)
    settings = layer_settings(op) | (_target(op) or _AT_RUN_TIME)
    return tensorrt_dla.remarks(DIALECT.complete(settings, context.version), context)


def layer_remarks(op: ResizeOp) -> tuple[tuple[str, str], ...]:
    """Return codes and messages about the layer that this program writes for a resize; none if it writes none."""
    with suppress(InexactError, SpecError):
        translation = write(op.spec, DIALECT, shape=op.shape, dtype=op.dtype)
        return tensorrt_dla.remarks(DIALECT.complete(translation.attributes, translation.version), _context(op))
    return ()


def _context(op: ResizeOp) -> Context:
    dtype = "float32" if op.dtype == "float64" else op.dtype  # the importer casts doubles
    return Context(version=10, shape=op.shape, dtype=dtype)


def _target(op: ResizeOp) -> dict[str, Any]:
    """Return the target for every axis, as the layer takes it; nothing if unknown."""
    target, shape = op.spec.target, op.shape
    if shape is None or not isinstance(target, Sizes | Scales):
        return {}
    by_axis = dict(zip(resolve_axes(op.spec.axes, len(shape)), target.values, strict=True))
    if isinstance(target, Scales):
        return {"scales": tuple(float(by_axis.get(axis, 1.0)) for axis in range(len(shape)))}
    whole = [by_axis.get(axis, size) for axis, size in enumerate(shape)]
    return {} if None in whole else {"shape": tuple(whole)}
