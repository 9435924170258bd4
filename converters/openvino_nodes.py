"""Build Interpolate nodes in an OpenVINO graph: only such as OpenVINO's CPU plugin computes as it should."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops

from converters.openvino_resize import DIALECT
from converters.report import Row, form
from ir_interp.errors import InexactError, ShapeError
from ir_interp.geometry import resolve_axes
from ir_interp.meaning import PartialShape, listed
from ir_interp.op import ResizeOp
from ir_interp.spec import Nearest, ResizeSpec, Scales, Sizes
from ir_interp.translate import Grade, Translation, write

_VERSION = 11
_DTYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64")
_WORDS = (
    "mode",
    "shape_calculation_mode",
    "coordinate_transformation_mode",
    "nearest_mode",
    "antialias",
    "cube_coeff",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpolated:
    """The output of one or more Interpolate nodes that together are one resize."""

    output: ov.Output
    form: str
    grade: Grade
    note: str


def partial_shape(value: ov.Output) -> PartialShape | None:
    """Return the lengths of an OpenVINO tensor, None where open; None for an open rank."""
    shape = value.get_partial_shape()
    if shape.rank.is_dynamic:
        return None
    return tuple(length.get_length() if length.is_static else None for length in shape)


def interpolate(x: ov.Output, op: ResizeOp, target: ov.Output | None = None) -> Interpolated:
    """Return ``x`` resized as ``op`` says by native Interpolate nodes, at most two axes each.

    ``target`` is the tensor of sizes or scales where they are inputs at run time. Raises InexactError where
    Interpolate has no form that computes the same, or where the CPU plugin computes that form wrongly.
    """
    shape = partial_shape(x)
    if shape is None:
        raise InexactError(op.name, DIALECT.name, reason="the rank of the input is open")
    spec = listed(op.spec, shape)
    translation = write(spec, DIALECT, shape=shape, version=_VERSION, name=op.name)
    axes = resolve_axes(translation.spec.axes, len(shape))
    groups = _groups(axes, translation, len(shape))
    problem = _plugin_problem(translation, len(shape), groups, op.dtype)
    if problem:
        raise InexactError(op.name, DIALECT.name, reason=problem)
    y = x if groups else ops.convert(x, x.get_element_type().get_type_name()).output(0)
    for group in groups:
        y = _node(y, translation, group, [axes.index(axis) for axis in group], target)
    return Interpolated(output=y, form=form(translation), grade=translation.grade, note=_note(spec, op.dtype))


def _groups(axes: tuple[int, ...], translation: Translation, rank: int) -> list[list[int]]:
    """Return axes in pairs from the last. A cubic resize of rank 3 is wrong on CPU where axis 0 has company."""
    alone = [0] if translation.attributes["mode"] == "cubic" and rank == 3 and 0 in axes else []
    rest = [axis for axis in sorted(axes) if axis not in alone]
    pairs = [rest[max(0, end - 2) : end] for end in range(len(rest), 0, -2)]
    return [group for group in [*pairs, alone] if group]


def _plugin_problem(translation: Translation, rank: int, groups: list[list[int]], dtype: str | None) -> str | None:
    """Return why OpenVINO's CPU plugin would not compute these nodes; None where it does."""
    mode = translation.attributes["mode"]
    integer = dtype is not None and "int" in dtype
    if dtype is not None and dtype not in _DTYPES:
        return f"OpenVINO's Interpolate does not take {dtype}"
    if mode.startswith("linear") and rank > 5:
        return f"OpenVINO's CPU plugin corrupts memory in a linear Interpolate of rank {rank}"
    if rank > (4 if mode == "cubic" else 5) and dtype in ("int32", "int64", "float64"):
        return f"OpenVINO's CPU plugin has no {mode} Interpolate of rank {rank} for {dtype}"
    if mode.endswith("pillow") and not _pillow_runs(rank, groups):
        return f"OpenVINO's CPU plugin computes {mode} right on the last two axes only, up to rank 4"
    if integer and mode != "nearest" and (len(groups) > 1 or mode.endswith("pillow")):
        return "integers would be rounded more than once"
    return None


def _pillow_runs(rank: int, groups: list[list[int]]) -> bool:
    return 2 <= rank <= 4 and len(groups) == 1 and set(groups[0]) <= {rank - 2, rank - 1}


def _note(spec: ResizeSpec, dtype: str | None) -> str:
    if dtype in ("int32", "int64") and isinstance(spec.kernel, Nearest):
        return "OpenVINO's CPU plugin computes in float32: values beyond 2**24 lose their last bits"
    if dtype == "float64":
        return "OpenVINO's CPU plugin computes in float32"
    return ""


def _node(
    x: ov.Output, translation: Translation, axes: list[int], places: list[int], target: ov.Output | None
) -> ov.Output:
    """Return ``x`` resized along ``axes``, whose targets stand at ``places`` of the spec's."""
    given = translation.spec.target
    values: Any
    if isinstance(given, Sizes | Scales):
        dtype = np.float32 if isinstance(given, Scales) else np.int64
        values = ops.constant(np.array([given.values[place] for place in places], dtype))
    else:
        values = ops.gather(target, ops.constant(np.array(places)), ops.constant(np.int64(0)))
    words = {name: value for name, value in translation.attributes.items() if name in _WORDS}
    return ops.interpolate(x, values, axes=ops.constant(np.array(axes)), pads_begin=[0], pads_end=[0], **words).output(
        0
    )


def save(model: ov.Model, output: Path) -> None:
    """Write an IR, .xml and .bin, with every constant as it is: half precision would move scales."""
    ov.save_model(model, output, compress_to_fp16=False)
    output.with_suffix(".bin").touch()  # a model without constants leaves none


def write_resize(op: ResizeOp, output: Path) -> Row:
    """Write an IR of nothing but ``op``. Raises InexactError where Interpolate has no exact form."""
    model, made = one_op_model(op)
    save(model, output)
    return Row(name=op.name or op.where, source=op, form=made.form, grade=made.grade, note=made.note)


def one_op_model(op: ResizeOp) -> tuple[ov.Model, Interpolated]:
    """Return a model of nothing but ``op``: input x, its sizes or scales where they are inputs, output y."""
    if op.shape is None:
        raise ShapeError(f"{op.where}: the rank of its input is unknown, and a model needs it")
    shape = ov.PartialShape([-1 if length is None else length for length in op.shape])
    x = ops.parameter(shape, np.dtype(op.dtype or "float32"), name="x")
    parameters, target = [x], None
    if not isinstance(op.spec.target, Sizes | Scales):
        kind = op.spec.target.value if op.spec.target else "sizes"
        count = len(op.shape) if op.spec.axes is None else len(op.spec.axes)
        parameters.append(ops.parameter([count], np.float32 if kind == "scales" else np.int64, name=kind))
        target = parameters[1].output(0)
    resized = interpolate(x.output(0), replace(op, dtype=op.dtype or "float32"), target)
    for parameter in parameters:
        parameter.output(0).set_names({parameter.get_friendly_name()})
    resized.output.get_node().set_friendly_name(op.name or "resize")
    resized.output.set_names({"y"})
    return ov.Model([ops.result(resized.output)], parameters, op.name or "resize"), resized
