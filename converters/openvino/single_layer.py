"""A single resize that is not part of a model, as an IR."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops

from ir_interp.errors import InexactError, ShapeError
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Crop, Scales, Sizes

from ..reports.conversion_report import FormPolicy, Row
from .interpolate_subgraph import Resized, RunTime, resize
from .ir_save import save
from .openvino_primitives import element_name


def write_resize(op: ResizeOp, output: Path, policy: FormPolicy | None = None) -> Row:
    """Write an IR of only ``op``. Raises InexactError if there is no exact form."""
    model, resized = interpolate_model(op, policy)
    save(model, output)
    name = op.name or op.where
    return Row(name=name, source=op, form=resized.form, grade=resized.grade, note=resized.note, within=resized.within)


def interpolate_model(op: ResizeOp, policy: FormPolicy | None = None) -> tuple[ov.Model, Resized]:
    """Return a model of only ``op``: input x, sizes or scales and roi if they are inputs; output y."""
    if op.shape is None:
        raise ShapeError(f"{op.where}: the rank of its input is unknown, and a model needs it")
    shape = ov.PartialShape([-1 if length is None else length for length in op.shape])
    element = getattr(ov.Type, element_name(op.dtype or "float32"), None)
    if element is None:
        raise InexactError(op.name or op.where, "openvino", reason=f"it has no element type {op.dtype}")
    x = ops.parameter(shape, element, name="x")
    parameters, target, roi = [x], None, None
    count = len(op.shape) if op.spec.axes is None else len(op.spec.axes)
    if not isinstance(op.spec.target, Sizes | Scales):
        kind = op.spec.target.value if op.spec.target else "sizes"
        parameters.append(ops.parameter([count], np.float32 if kind == "scales" else np.int64, name=kind))
        target = parameters[1].output(0)
    if isinstance(op.spec.coordinates, Crop) and op.spec.coordinates.roi is None:
        parameters.append(ops.parameter([2 * count], np.float32, name="roi"))
        roi = parameters[-1].output(0)
    op = replace(op, dtype=op.dtype or "float32")
    resized = resize(x.output(0), op, RunTime(target=target, roi=roi), policy, alone=True)
    for parameter in parameters:
        parameter.output(0).set_names({parameter.get_friendly_name()})
    resized.output.get_node().set_friendly_name(op.name or "resize")
    resized.output.set_names({"y"})
    return ov.Model([ops.result(resized.output)], parameters, op.name or "resize"), resized
