"""The form of a resize in ONNX: a Resize node if that computes the same, else decomposed; in a graph or a model.

Last, a single resize that is not part of a model, such as a pasted layer or one of a .json, as a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.shape_inference
from onnx import helper, numpy_helper

from ir_interp.errors import InexactError, IrInterpError, ShapeError
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes, static_shape
from ir_interp.specs import Arithmetic, Aspect, ResizeSpec, Scales, Sizes
from ir_interp.translation.meaning import listed_axes
from ir_interp.translation.translate import Grade, Translation, write

from ..decompose.decomposed_resize import decompose
from ..dialects.onnx import DIALECT
from ..reports import Row, expressed
from ..runtimes import onnxruntime
from ..runtimes.onnxruntime_optimiser import NO_CUBIC_SHRINKS, survives_transposes
from .neighbours import is_transpose_before
from .onnx_files import invalid
from .onnx_graph import Graph, Unsaved, attributes_of, read_by, save
from .operators import Primitives
from .resize_nodes import given_names

OLDEST_OPSET, NEWEST_OPSET = DIALECT.versions[-1], 24  # of ONNX
_IR_VERSION = 8  # of the file format: read by every runtime of the last years
_DTYPE_OF = {"roi": np.float32, "scales": np.float32, "sizes": np.int64}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneResize:
    """An ONNX model of one resize, its one-line summary, and its grade."""

    model: onnx.ModelProto
    form: str
    grade: Grade
    within: int = 0


def native(op: ResizeOp, opset: int | None = None) -> tuple[OneResize | None, str]:
    """Return a model of one Resize or Upsample that is exact and runs in onnxruntime; or None and the reason."""
    try:
        translation = _translated(op, opset)
    except InexactError as refusal:
        return None, refusal.reason
    model = model_of(op, translation, opset or translation.version)
    problem = invalid(model.model)
    if problem:
        return None, f"a Resize would not be valid: {problem}"
    # Primitive operations decide ties as the source does, so they are preferred.
    if model.grade is Grade.EXACT_BUT_TIES:
        return None, "Resize may decide float32 ties differently"
    problem = _onnxruntime_problem(op, translation)
    return (None, f"onnxruntime: {problem}") if problem else (model, "")


def _onnxruntime_problem(op: ResizeOp, translation: Translation) -> str:
    """Return why onnxruntime would not compute the meaning of ``op`` by the written node; empty if it does."""
    if translation.spec.axes == ():  # nothing is left to resize
        return ""
    shape = _without_pads(op.spec, _shape(op))[1]
    written = replace(op, spec=translation.spec, shape=shape, version=translation.version)
    written = replace(written, attributes=translation.attributes)
    resized = frozenset(resolve_axes(listed_axes(written.spec, shape).axes, len(shape)))
    other = onnxruntime.deviation(written)
    is_known = op.spec.rounds is written.spec.rounds or translation.grade is Grade.INTEGERS_WITHIN
    if not is_known and onnxruntime.rounds_each_axis(written):
        return f"it rounds {op.dtype} after each axis under antialias"
    if not is_known and onnxruntime.cuts_off(written):
        return f"it truncates {op.dtype} in linear"
    if onnxruntime.may_lack_a_kernel(written, resized):
        return f"it may refuse {onnxruntime.MAY_SHRINK}"
    return onnxruntime.refusal(written, resized) or (other.reason if other else "")


def is_long_as_inferred(op: ResizeOp) -> bool:
    """Return whether float32 and ONNX's shape inference give the same output shape for a static shape and scales."""
    bare, padded = _without_pads(op.spec, op.shape or ())
    return not isinstance(bare.target, Sizes | Scales) or None in padded or None not in _output_shape(bare, padded)


def operator_version(opset: int) -> int:
    """Return the version of Upsample or Resize in force at ``opset``. Raises IrInterpError for unsupported opsets."""
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise IrInterpError(f"--opset is {opset}; expected {OLDEST_OPSET} to {NEWEST_OPSET}")
    return max(version for version in DIALECT.versions if version <= opset)


def native_model(op: ResizeOp, *, opset: int | None = None) -> OneResize:
    """Return a model of only ``op``: from x, and sizes or scales if they are inputs, to y.

    Pads become a Pad node in front. Raises InexactError if no form of Resize computes the same.
    """
    translation = _translated(op, opset)
    return model_of(op, translation, opset or translation.version)


def _translated(op: ResizeOp, opset: int | None) -> Translation:
    spec = op.spec.of_floats() if "float" in (op.dtype or "") else op.spec
    bare, padded = _without_pads(spec, _shape(op))
    version = None if opset is None else operator_version(opset)
    return write(bare, DIALECT, shape=padded, version=version, name=op.name or "resize")


def model_of(op: ResizeOp, translation: Translation, opset: int) -> OneResize:
    """Return the model of ``native_model`` that expresses ``op`` as ``translation`` does."""
    shape = _shape(op)
    nodes, tensors = _pad_nodes(op.spec, shape, "x", opset) if op.spec.pads else ([], [])
    inputs, constants = _inputs(translation) if translation.spec.axes != () else ([], [])
    data = nodes[-1].output[0] if nodes else "x"
    nodes.append(_node(translation, [data, *inputs], "y", op.name))
    graph = helper.make_graph(nodes, op.name or "resize", ends(op)[:-1], ends(op)[-1:], [*tensors, *constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="ir_interp")
    # onnx 1.14 introduced operator set 19 with version 9 of the format.
    model.ir_version = _IR_VERSION if opset < 19 else 9
    grade = translation.grade
    # A Pad and a Resize are two operations.
    if op.spec.pads and grade is Grade.EXACT:
        grade = Grade.DECOMPOSED
    return OneResize(
        model=model,
        form=("Pad, " if op.spec.pads else "") + expressed(translation),
        grade=grade,
        within=translation.within,
    )


def _shape(op: ResizeOp) -> PartialShape:
    if op.shape is None:
        raise ShapeError(f"{op.where}: the rank of its input is unknown, and a model needs it")
    return op.shape


def _without_pads(spec: ResizeSpec, shape: PartialShape) -> tuple[ResizeSpec, PartialShape]:
    """Return the resize of the padded input, and its shape."""
    return replace(spec, pads=()), spec.padded(shape)


def _pad_nodes(
    spec: ResizeSpec, shape: PartialShape, source: str, opset: int
) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Return a Pad node; before operator set 11 its pads are an attribute."""
    begin, end = spec.padding(len(shape))
    if opset < 11:
        return [helper.make_node("Pad", [source], ["padded"], name="pad", pads=begin + end)], []
    pads = numpy_helper.from_array(np.array(begin + end, np.int64), "pads")
    return [helper.make_node("Pad", [source, "pads"], ["padded"], name="pad")], [pads]


def _inputs(translation: Translation) -> tuple[list[str], list[onnx.TensorProto]]:
    """Return the names of the node's inputs after the data, and the constants among them."""
    names, constants = [], []
    for name in given_names(translation.version):
        value = translation.attributes.get(name)
        absent = name not in translation.attributes
        if absent and translation.version >= 13:
            names.append("")
            continue
        names.append(name)
        if absent or value is not None:  # Resize-11 marks an omitted input by an empty constant
            constants.append(numpy_helper.from_array(np.array(value or (), _DTYPE_OF[name]), name))
    if translation.version == 11 and "sizes" not in translation.attributes:
        return names[:-1], constants[:-1]
    while names and not names[-1]:
        names.pop()
    return names, constants


def _node(translation: Translation, inputs: Sequence[str], output: str, name: str) -> onnx.NodeProto:
    names = given_names(translation.version)
    if translation.spec.axes == ():
        return helper.make_node("Identity", inputs[:1], [output], name=name or "identity")
    attributes: dict[str, Any] = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in translation.attributes.items()
        if key not in names
    }
    op = "Upsample" if translation.version < 10 else "Resize"
    return helper.make_node(op, list(inputs), [output], name=name or op.lower(), **attributes)


def ends(op: ResizeOp) -> list[onnx.ValueInfoProto]:
    """Return the inputs of a model of one resize: x, and sizes or scales if they are inputs; and its output y."""
    shape = _shape(op)
    bare, padded = _without_pads(op.spec, shape)
    inputs = [_value("x", op.dtype, shape)]
    if not isinstance(bare.target, Sizes | Scales):
        kind = bare.target.value if bare.target else "sizes"
        inputs.append(_value(kind, np.dtype(_DTYPE_OF[kind]).name, (len(resolve_axes(bare.axes, len(shape))),)))
    return [*inputs, _value("y", op.dtype, _output_shape(bare, padded))]


def _value(name: str, dtype: str | None, shape: PartialShape) -> onnx.ValueInfoProto:
    bfloat16 = onnx.TensorProto.BFLOAT16
    element = bfloat16 if dtype == "bfloat16" else helper.np_dtype_to_tensor_dtype(np.dtype(dtype or "float32"))
    return helper.make_tensor_value_info(name, element, shape)


def _output_shape(spec: ResizeSpec, shape: PartialShape) -> PartialShape:
    """Return the output shape; None where dynamic, and where float32 and exact arithmetic give two sizes."""
    if not isinstance(spec.target, Sizes | Scales) or spec.waits:  # for the windows of a crop
        return (None,) * len(shape)
    known = static_shape(shape)
    if known is not None:
        exact = plan(replace(spec, arithmetic=Arithmetic.EXACT), known).out_shape
        pairs = zip(exact, plan(spec, known).out_shape, strict=True)
        return tuple(size if size == other else None for size, other in pairs)
    sizes = list(shape)
    for axis, value in zip(resolve_axes(spec.axes, len(shape)), spec.target.values, strict=True):
        sizes[axis] = int(value) if isinstance(spec.target, Sizes) and spec.aspect is Aspect.STRETCH else None
    return tuple(sizes)


def resized(graph: Graph, resize: ResizeOp, x: str, target: str) -> tuple[str, Row]:
    """Return ``x`` resized, and its row in the report.

    ``target`` is the tensor of sizes or scales if they are known only at run time. A Resize is used if that is exact
    and onnxruntime runs it, else primitive operations. Raises InexactError if neither is.
    """
    since = len(graph.nodes)
    output, row = _resized(graph, resize, x, target)
    # In half precision, constants of a resize would select other pixels.
    graph.exact |= read_by(graph.nodes[since:])
    return output, row


def _resized(graph: Graph, resize: ResizeOp, x: str, target: str) -> tuple[str, Row]:
    name = resize.name or resize.where
    single, why = native(resize, graph.opset)
    if single is not None and not is_long_as_inferred(resize):
        single, why = None, "ONNX's shape inference computes another size from the scales than float32"
    if single is not None and not survives_transposes(resize) and is_transpose_before(graph.nodes, x):
        single, why = None, f"onnxruntime: {NO_CUBIC_SHRINKS}"
    if single is not None:
        row = Row(name=name, source=resize, form=single.form, grade=single.grade, within=single.within)
        shape = resize.spec.padded(resize.shape or ())
        return inlined(graph, single, {"x": x, "sizes": target, "scales": target}, shape), row
    parts = decompose(Primitives(graph), x, resize, target=target or None)
    row = Row(name=name, source=resize, form=parts.form, grade=parts.grade, note=why, within=parts.within)
    return (str(parts.output) if parts.output != x else graph.node("Identity", x)), row


def inlined(graph: Graph, single: OneResize, tensors: dict[str, str], shape: PartialShape | None = None) -> str:
    """Add the nodes and constants of a model, its inputs replaced by ``tensors``; return its output.

    With ``shape``, that of its resize's input, a Resize with ``axes`` gets an entry for every axis: onnxruntime's
    optimiser reads the entries as those of every axis when it moves a Transpose over it.
    """
    for tensor in single.model.graph.initializer:
        tensors[tensor.name] = graph.constant(np.asarray(numpy_helper.to_array(tensor)))
    for node in single.model.graph.node:
        attributes = attributes_of(node)
        names = [tensors[name] if name else "" for name in node.input]
        if shape is not None and "axes" in attributes and "keep_aspect_ratio_policy" not in attributes:
            names = _of_every_axis(graph, names, resolve_axes(tuple(attributes.pop("axes")), len(shape)), shape)
        if shape is not None and graph.is_inner and graph.opset >= 18 and node.op_type == "Resize":
            names = _of_known_count(graph, names, len(attributes.get("axes", shape)))
        tensors[node.output[0]] = graph.node(node.op_type, *names, **attributes)
    return tensors["y"]


def _of_known_count(graph: Graph, names: Sequence[str], count: int) -> list[str]:
    """Return the inputs of a Resize in a body: shape inference treats sizes of run time there as missing.

    Their number is a node, since the inference of a body does not know constants from outside.
    """
    sizes = names[3] if len(names) > 3 else ""
    if not sizes or sizes in graph.initialisers:
        return list(names)
    shape_constant = graph.node("Constant", value=numpy_helper.from_array(np.array([count])))
    return [*names[:3], graph.node("Reshape", sizes, shape_constant)]


def _of_every_axis(graph: Graph, names: Sequence[str], axes: tuple[int, ...], shape: PartialShape) -> list[str]:
    """Return the inputs of a Resize with entries for every axis in place of those for ``axes``."""
    data, roi, scales, sizes = (*names, "", "", "")[:4]
    rank = len(shape)
    ends = [*axes, *(axis + rank for axis in axes)]  # a roi holds all starts, then all ends
    all_sizes = [
        graph.node("Shape", data, start=axis, end=axis + 1) if size is None else size for axis, size in enumerate(shape)
    ]
    return [
        data,
        roi and _spread(graph, roi, ends, [0.0] * rank + [1.0] * rank, np.float32),
        scales and _spread(graph, scales, axes, [1.0] * rank, np.float32),
        sizes and _spread(graph, sizes, axes, all_sizes, np.int64),
    ]


def _spread(graph: Graph, vector: str, places: Sequence[int], others: Sequence[Any], dtype: type) -> str:
    """Return a vector of the entries of ``vector`` at ``places``, and of ``others``, numbers or tensors, elsewhere."""
    known = graph.initialisers.get(vector)
    entries = list(others)
    for number, place in enumerate(places):
        entries[place] = graph.node("Gather", vector, graph.ints([number])) if known is None else known[number]
    pieces: list[str] = []
    for is_tensor, those in groupby(entries, lambda entry: isinstance(entry, str)):
        run = list(those)
        pieces += run if is_tensor else [graph.constant(run, dtype)]
    return pieces[0] if len(pieces) == 1 else graph.node("Concat", *pieces, axis=0)


_OLDEST_PRIMITIVES = 11  # Range, Round and GatherElements came with it
_PRIMITIVES = 13
"""The default operator set of primitive operations: old enough for every runtime."""


def write_resize(op: ResizeOp, output: Path, opset: int | None = None) -> Row:
    """Write a model of only ``op``; see ``resize_model``."""
    model, row = resize_model(op, opset)
    save(model, output)
    return row


def resize_model(op: ResizeOp, opset: int | None = None) -> tuple[Unsaved, Row]:
    """Return a model of only ``op``: by Resize in the newest version that can express it, else by primitives.

    Inputs are x, and sizes or scales if they are known only at run time; the output is y. Raises InexactError
    if neither is exact.
    """
    name = op.name or op.where
    single, why = native(op, opset)
    if single is not None:
        row = Row(name=name, source=op, form=single.form, grade=single.grade, within=single.within)
        return Unsaved(model=single.model, constants={}), row
    if opset is not None and opset < _OLDEST_PRIMITIVES:
        raise InexactError(name, f"onnx {opset}", reason=why)
    return _primitives(op, opset or _PRIMITIVES)


def _primitives(op: ResizeOp, opset: int) -> tuple[Unsaved, Row]:
    graph = Graph(opset=opset, layer=op.name or "resize")
    *inputs, output = ends(op)
    names = [graph.fresh(tensor.name) for tensor in (*inputs, output)]
    result, row = resized(graph, op, names[0], names[1] if len(inputs) > 1 else "")
    graph.rename(result, output.name)
    graph.name_nodes(0)
    return graph.model(op.name or "resize", inputs, [output]), row
