"""Find every Resize and Upsample of an ONNX model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
import onnx.shape_inference
from onnx import helper, numpy_helper

from ir_interp.errors import ReadError, UnsupportedLayerError
from ir_interp.resize_op import ResizeOp, check_target, read
from ir_interp.shapes import PartialShape, static_shape
from ir_interp.specs import AtRunTime, Crop
from ir_interp.translation.dialect import Context, Semantics

from ..dialects.onnx import DIALECT, with_roi
from ..runtimes.outcome import Functions
from .onnx_files import (
    check_model,
    default_opset,
    functions_of,
    inlined,
    place as place_of,
    read_model,
    read_outline,
    subgraphs,
)
from .static_values import Values, infer

OPS = ("Resize", "Upsample")
_IR_VERSION = 10  # of the ONNX format
_KINDS = {"sizes": "i", "scales": "f", "roi": "f"}
_LISTS = (onnx.AttributeProto.FLOATS, onnx.AttributeProto.INTS, onnx.AttributeProto.STRINGS)
_PLAIN = (onnx.AttributeProto.FLOAT, onnx.AttributeProto.INT, onnx.AttributeProto.STRING, *_LISTS)


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every Resize and Upsample of a model, including subgraphs, in the order of the file.

    Raises ReadError for a file that is not an ONNX model or a node that contradicts itself, UnsupportedLayerError for
    unsupported operator versions (Upsample-1).
    """
    return [node.op for node in nodes(path, semantics)]


def load_model(model: onnx.ModelProto, path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return the result of ``load`` for a model in memory; ``path`` stands for it in places."""
    check_model(model, path.name)
    return [node.op for node in nodes_in(inlined(model, path.name), path, semantics)]


def placed(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[tuple[ResizeOp, str]]:
    """Return the result of ``load``, each resize with the name of its output."""
    return [(node.op, node.node.output[0]) for node in nodes(path, semantics)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeNode:
    """A node of a model, the resize that it is read as, and the values visible to it.

    ``dynamic`` is the resize with the shapes of the file, if ``op`` has shapes that were chosen for its inputs.
    ``functions`` are the local functions of its model, which some runtimes refuse.
    """

    op: ResizeOp
    node: onnx.NodeProto
    values: Values
    dynamic: ResizeOp | None = None
    functions: Functions = Functions.NONE

    @property
    def stated(self) -> ResizeOp:
        """The resize with the shapes of the file: a runtime compiles for these, whatever shapes come at run time."""
        return self.dynamic or self.op

    def tensor(self, kind: str) -> str:
        """Return the name of its input ``data``, ``roi``, ``scales`` or ``sizes``; empty if it has none."""
        place = ("data", *given_names(self.op.version)).index(kind)
        return str(self.node.input[place]) if place < len(self.node.input) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadNode:
    """A Resize or Upsample that contradicts itself or is of an unsupported version, and why."""

    name: str
    where: str
    error: ReadError
    node: onnx.NodeProto
    values: Values


def nodes(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeNode]:
    """Return every Resize and Upsample of a model as nodes; see ``load``."""
    outline = read_outline(path)
    functions = functions_of(outline)
    return [replace(node, functions=functions) for node in nodes_in(inlined(outline, path.name), path, semantics)]


def nodes_in(model: onnx.ModelProto, path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeNode]:
    """Return every Resize and Upsample of a model as nodes, its local functions separately.

    ``path`` is where it was read: its name stands in places, its folder holds external data. Raises ReadError that
    names all nodes that cannot be read.
    """
    resizes, unread = known_nodes(model, path, semantics)
    if unread:
        raise unread_error(unread, path.name)
    return resizes


def unread_error(unread: Sequence[UnreadNode], where: str) -> ReadError:
    """Return one error for all nodes of a file that cannot be read."""
    if len(unread) == 1:
        return unread[0].error
    listed = "; ".join(str(node.error).removeprefix(f"{where}:") for node in unread)
    return ReadError(f"{len(unread)} resizes cannot be read: {listed}", where)


def known_nodes(
    model: onnx.ModelProto, path: Path, semantics: Semantics = Semantics.RUNTIME
) -> tuple[list[ResizeNode], list[UnreadNode]]:
    """Return the nodes of ``nodes_in`` that can be read, and the others."""
    resizes: list[ResizeNode] = []
    unread: list[UnreadNode] = []
    for place, node, scope in _resizes(model, path):
        try:
            resizes.append(ResizeNode(op=read_node(node, place, scope, semantics), node=node, values=scope))
        except ReadError as error:
            name = node.name or next(iter(node.output), "")
            unread.append(UnreadNode(name=name, where=place, error=error, node=node, values=scope))
    return resizes, unread


def known_values(path: Path) -> Values:
    """Return the known values of a model's main graph, its local functions inlined."""
    model = read_model(path)
    opset = default_opset(model, path.name)
    return Values(graph=model.graph, inferred=infer(model).graph, opset=opset, folder=str(path.parent))


def resizes_with_tensors(path: Path) -> list[tuple[ResizeOp, dict[str, str], str]]:
    """Return the resizes of a model's main graph with the names of their tensors: inputs by kind, and the output.

    Inputs are the data, and sizes, scales or roi if they are known only at run time. Resizes that cannot be read are
    left out.
    """
    resizes = []
    for node in known_nodes(read_model(path), path)[0]:
        if node.values.outer is None:
            spec = node.op.spec
            kinds = ["data", *([spec.target.value] if isinstance(spec.target, AtRunTime) else [])]
            if isinstance(spec.coordinates, Crop) and spec.coordinates.roi is None:
                kinds.append("roi")
            resizes.append((node.op, {kind: node.tensor(kind) for kind in kinds}, node.node.output[0]))
    return resizes


def _resizes(model: onnx.ModelProto, path: Path) -> Iterator[tuple[str, onnx.NodeProto, Values]]:
    """Yield every Resize and Upsample with its place and the values visible to it."""
    for place, node, scope in every_node(model, path):
        if node.op_type in OPS and node.domain in ("", "ai.onnx"):
            yield place, node, scope


def every_node(model: onnx.ModelProto, path: Path) -> Iterator[tuple[str, onnx.NodeProto, Values]]:
    """Yield every node of a model with its place and the values visible to it, its local functions separately."""
    opset = default_opset(model, path.name)
    values = Values(graph=model.graph, inferred=infer(model).graph, opset=opset, folder=str(path.parent))
    return _nodes(f"{path.name}:", values)


def _nodes(prefix: str, values: Values) -> Iterator[tuple[str, onnx.NodeProto, Values]]:
    """Yield every node with its place and the values visible to it, including subgraphs."""
    # Inference returns a copy whose nodes are in the same order, with the inferred values of subgraphs.
    for index, (node, inferred) in enumerate(zip(values.graph.node, values.inferred.node, strict=True)):
        place = place_of(prefix, index, node)
        yield place, node, values
        for attribute, other in zip(node.attribute, inferred.attribute, strict=True):
            for graph, completed in zip(subgraphs(attribute), subgraphs(other), strict=True):
                yield from _nodes(f"{place}/{attribute.name}/", values.inside(graph, completed, node))


def read_node(node: onnx.NodeProto, where: str, values: Values, semantics: Semantics = Semantics.RUNTIME) -> ResizeOp:
    """Return a node as a resize. Raises ReadError for one that contradicts itself."""
    if len(node.output) != 1:
        raise ReadError(f"{node.op_type} has {len(node.output)} outputs; expected 1", where)
    if not node.input:
        raise ReadError("it has no input", where)
    version = dialect_version(node.op_type, values.opset, where)
    try:
        dtype = values.dtype(node.input[0])
        attributes = raw_attributes(node) | _given(node, version, values)
    except ReadError as error:
        raise error.under(where) from None
    _check_targets(attributes, node, version, values, where)
    # Under a policy, sizes are bounds: the output shape does not tell them.
    if attributes.get("sizes", ()) is None and "keep_aspect_ratio_policy" not in attributes:
        attributes["sizes"] = _inferred_sizes(_axes(attributes), values.shape(node.output[0]))
    shape = values.shape(node.input[0])
    if shape is None:
        shape = _implied_shape(attributes, node, version, values)
    context = Context(version=version, shape=shape, dtype=dtype, semantics=semantics)
    return read(DIALECT, with_roi(attributes, shape), context, name=node.name or node.output[0], where=where)


def dialect_version(op: str, opset: int, where: str) -> int:
    """Return the operator version in force at ``opset``: 7 or 9 for Upsample, 10 and up for Resize."""
    known = [version for version in DIALECT.versions if (version < 10) == (op == "Upsample") and version <= opset]
    # Operator set 10 deprecated Upsample.
    if not known or (op == "Upsample" and opset > 9):
        raise UnsupportedLayerError(f"{op} of operator set {opset} is not interpreted", where)
    return max(known)


def given_names(version: int) -> tuple[str, ...]:
    """Return the names of the inputs after the data, in order."""
    return {7: (), 9: ("scales",), 10: ("scales",)}.get(version, ("roi", "scales", "sizes"))


def raw_attributes(node: onnx.NodeProto) -> dict[str, object]:
    """Return the attributes of a node as Python values: text, numbers, lists. Raises ReadError for any other."""
    return {attribute.name: _plain(attribute) for attribute in node.attribute}


def _plain(attribute: onnx.AttributeProto) -> object:
    if attribute.type not in _PLAIN:
        kind = onnx.AttributeProto.AttributeType.Name(attribute.type)
        raise ReadError(f"{kind} is not a valid type for it", f"@{attribute.name}")
    value = onnx.helper.get_attribute_value(attribute)
    try:
        return value.decode() if isinstance(value, bytes) else list(value) if attribute.type in _LISTS else value
    except UnicodeDecodeError:
        raise ReadError(f"{value!r} is not UTF-8 text", f"@{attribute.name}") from None


def _given(node: onnx.NodeProto, version: int, values: Values) -> dict[str, object]:
    """Return the connected inputs: their values, None if known only at run time.

    An empty name and an empty constant both mean an omitted input (Resize-11 has no other form for it).
    """
    values_by_name: dict[str, object] = {}
    for name, tensor in zip(given_names(version), node.input[1:], strict=False):
        if tensor:
            value = values.value(tensor)
            if value is not None and value.dtype.kind not in _KINDS[name]:
                raise ReadError(f"{name} are {value.dtype}; expected {'integers' if name == 'sizes' else 'floats'}")
            if value is None or value.size or (name == "roi" and _crops(node)):
                values_by_name[name] = None if value is None else value.ravel().tolist()
    return values_by_name


def _check_targets(
    attributes: dict[str, object], node: onnx.NodeProto, version: int, values: Values, where: str
) -> None:
    """Raise ReadError for sizes or scales of run time that are not a vector of the right type and length."""
    listed = _axes(attributes) if "axes" in attributes else values.shape(node.input[0])
    count = None if listed is None else len(listed)
    for name, tensor in zip(given_names(version), node.input[1:], strict=False):
        if name != "roi" and attributes.get(name, ()) is None:
            try:
                check_target(name, values.shape(tensor), values.dtype(tensor), count)
            except ReadError as error:
                raise error.under(where) from None


def _axes(attributes: dict[str, object]) -> list[int] | None:
    """Return the axes if they are a list of integers; the dialect refuses anything else later."""
    axes = attributes.get("axes")
    return axes if isinstance(axes, list) and all(isinstance(axis, int) for axis in axes) else None


def _implied_shape(
    attributes: dict[str, Any], node: onnx.NodeProto, version: int, values: Values
) -> PartialShape | None:
    """Return dynamic dimensions for all entries of sizes or scales; None if some axes are left out."""
    if "axes" in attributes:
        return None
    for name, tensor in zip(given_names(version), node.input[1:], strict=False):
        if name in attributes and name != "roi":
            entries = attributes[name]
            stated = (values.shape(tensor) or (None,))[0] if entries is None else len(entries)
            return None if stated is None else (None,) * stated
    return None


def _crops(node: onnx.NodeProto) -> bool:
    """Return whether a node reads its roi: only then is an empty one a value rather than an omitted input."""
    return any(attribute.s == b"tf_crop_and_resize" for attribute in node.attribute)


def _inferred_sizes(axes: list[int] | None, output: PartialShape | None) -> tuple[int, ...] | None:
    """Return the sizes that shape inference found for the output; None unless it found them all."""
    if output is None:
        return None
    rank = len(output)
    return static_shape(tuple(output[axis] for axis in axes or range(rank) if -rank <= axis < rank))


def single(node: ResizeNode) -> onnx.ModelProto | None:
    """Return a model of a node as it stands, its sizes and the like as constants; None if run time decides some.

    Dynamic dimensions of its file stay dynamic: runtimes compile other code for them than for static ones.
    """
    op = node.op
    if op.shape is None or None in op.shape:
        return None
    return alone(node.node, node.values, op.dtype, node.stated.shape or op.shape)


def alone(node: onnx.NodeProto, values: Values, dtype: str | None, shape: PartialShape) -> onnx.ModelProto | None:
    """Return a model of a node as it stands, with an input of ``shape``; None if run time decides other inputs."""
    if dtype in (None, "bfloat16", "str"):
        return None
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    constants = []
    for name in dict.fromkeys(name for name in copy.input[1:] if name):
        value = values.value(name)
        if value is None:
            return None
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype or "float32"))
    dims = [f"n{axis}" if n is None else n for axis, n in enumerate(shape)]
    x = helper.make_tensor_value_info(copy.input[0], element, dims)
    y = helper.make_tensor_value_info(copy.output[0], element, [None] * len(shape))
    graph = helper.make_graph([copy], "resize", [x], [y], constants)
    opset = helper.make_opsetid("", values.opset)
    return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)
