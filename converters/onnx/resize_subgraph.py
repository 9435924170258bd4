"""One resize in an ONNX graph: a Resize if that computes the same, else primitive operations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from onnx import numpy_helper

from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes

from ..decompose.decomposed_resize import decompose
from ..reports.conversion_report import Row
from ..runtimes.onnxruntime_transposes import NO_CUBIC_SHRINKS, survives_transposes
from .graph import Graph, attributes_of
from .half_weights import read_by
from .native import OneResize, is_long_as_inferred, native
from .neighbours import is_transpose_before
from .onnx_primitives import Primitives


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
