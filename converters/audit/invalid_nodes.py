"""Resize nodes that ONNX does not allow, but that have one possible meaning: the valid node that states it.

- An Upsample of operator set 10 or later means what Upsample-9 does, as onnxruntime computes that. OpenVINO and ONNX's
  reference run both alike.
- An empty mode is the default, nearest.
- Of sizes and scales, the one that the shapes of the file prove is kept. If both mean the same there, scales stay.

Everything else may mean several things, and is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.shape_inference
from onnx import helper

from ir_interp.errors import InexactError, ReadError
from ir_interp.plain_text import quote_shell
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape
from ir_interp.specs import Nearest, Scales
from ir_interp.translation.dialect import Context
from ir_interp.translation.translate import compared

from ..dialects.onnx import DIALECT
from ..onnx.onnx_files import inlined, read_outline
from ..onnx.onnx_graph import Graph
from ..onnx.resize_nodes import UnreadNode, given_names, known_nodes, raw_attributes, read_node, unread_error
from ..onnx.static_values import Values, without_weights

_LAST_UPSAMPLE = 9
_FIRST_WITH_COORDINATES = 11
_FIRST_WITH_OMITTED_INPUTS = 13  # before, an omitted roi or scales is an empty constant


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidNode:
    """A node in place of an invalid one; ``changes`` describe the difference, ``graph`` holds its new constants."""

    node: onnx.NodeProto
    changes: tuple[str, ...]
    graph: Graph


def valid_node(unread: UnreadNode, model: onnx.ModelProto, others: Sequence[UnreadNode], graph: Graph) -> ValidNode:
    """Return the only valid node that an invalid one can mean; ``others`` are all invalid nodes of ``model``.

    Raises InexactError if there is none, or several.
    """
    node = onnx.NodeProto()
    node.CopyFrom(unread.node)
    changes = [*_without_empty_mode(node), *_as_resize(node, unread, graph)]
    if node.op_type == "Resize":
        changes += _one_target(node, unread, model, others, graph)
    if not changes:
        raise _refusal(unread, str(unread.error.problem))
    return ValidNode(node=node, changes=tuple(changes), graph=graph)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """The resize that an invalid node can only mean, and the changes that make it valid."""

    op: ResizeOp
    changes: tuple[str, ...]


def meaning(unread: UnreadNode, model: onnx.ModelProto, others: Sequence[UnreadNode]) -> Meaning | None:
    """Return the only meaning of an invalid node; None if it has none, or several. See ``valid_node``."""
    graph = Graph(opset=unread.values.opset)
    try:
        valid = valid_node(unread, model, others, graph)
        return Meaning(op=_read(valid.node, unread, graph), changes=valid.changes)
    except InexactError:
        return None


def check(path: Path, shown: Path | None) -> None:
    """Raise ReadError that names every invalid node of an ONNX model, and the command that repairs them if one does.

    ``shown`` is the user's file, None for a model in memory, which no command can name.
    """
    model = inlined(read_outline(path), path.name)
    _, unread = known_nodes(model, path)
    if not unread:
        return
    error = unread_error(unread, path.name)
    if shown is None or any(meaning(node, model, unread) is None for node in unread):
        raise error
    repair = quote_shell("ir-interp", "fix", str(shown), str(shown.with_suffix(".fixed.onnx")))
    raise ReadError(f"{error.problem}; `{repair}` repairs it", error.where)


def _refusal(unread: UnreadNode, reason: str) -> InexactError:
    return InexactError(unread.name, "IRI027", reason=reason)


def _without_empty_mode(node: onnx.NodeProto) -> Iterator[str]:
    """Write the default mode in place of an empty one."""
    for attribute in node.attribute:
        if attribute.name == "mode" and attribute.type == onnx.AttributeProto.STRING and not attribute.s:
            attribute.s = b"nearest"
            yield "mode= -> nearest, the default"


def _as_resize(node: onnx.NodeProto, unread: UnreadNode, graph: Graph) -> Iterator[str]:
    """Turn an Upsample of an operator set without it into a Resize that means what Upsample-9 does."""
    values, opset = unread.values, unread.values.opset
    if node.op_type != "Upsample" or opset <= _LAST_UPSAMPLE:
        return
    attributes = raw_attributes(node)
    tensor = node.input[1] if len(node.input) == 2 else ""
    scales = values.value(tensor) if tensor else None
    if scales is None or scales.dtype.kind != "f" or "scales" in attributes:
        raise _refusal(unread, "its scales are no constant input, so nothing proves that none is below 1")
    if scales.min(initial=1) < 1:
        raise _refusal(unread, "a scale is below 1; an Upsample enlarges only, and runtimes differ in what they do")
    known = _Known(values, node)
    try:
        meant = DIALECT.parse(attributes | {"scales": scales.ravel().tolist()}, known.context(_LAST_UPSAMPLE))
    except ReadError as error:
        raise _refusal(unread, str(error)) from None
    node.op_type = "Resize"
    if opset >= _FIRST_WITH_COORDINATES:
        # An empty constant for roi is valid in every operator set from 11 on.
        roi = "" if opset >= _FIRST_WITH_OMITTED_INPUTS else _empty(graph, unread)
        node.input[:] = [node.input[0], roi, tensor]
        node.attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
        if isinstance(meant.kernel, Nearest):
            node.attribute.append(helper.make_attribute("nearest_mode", "floor"))
    now = _read(node, unread, graph)
    if compared(meant, now.spec, known.shape) is None:
        raise _refusal(unread, "no Resize computes the same as Upsample-9")
    yield f"Upsample -> Resize, {', '.join(f'{name}={value}' for name, value in raw_attributes(node).items())}"


def _empty(graph: Graph, unread: UnreadNode) -> str:
    return graph.constant((), np.float32, name=f"{unread.name}/omitted")


@dataclass(frozen=True, slots=True)
class _Known:
    """The shape and the element type of a node's data."""

    values: Values
    node: onnx.NodeProto

    @property
    def shape(self) -> PartialShape | None:
        return self.values.shape(self.node.input[0])

    def context(self, version: int) -> Context:
        return Context(version=version, shape=self.shape, dtype=self.values.dtype(self.node.input[0]))


def _read(node: onnx.NodeProto, unread: UnreadNode, graph: Graph) -> ResizeOp:
    """Return a changed node as a resize. Raises InexactError if it is still invalid."""
    new = [name for name in node.input if name in graph.initialisers]
    plain = onnx.NodeProto()
    plain.CopyFrom(node)
    plain.input[:] = ["" if name in new else name for name in node.input]  # new constants are empty: omitted inputs
    try:
        return read_node(plain, unread.where, unread.values)
    except ReadError as error:
        raise _refusal(unread, f"it would still be invalid: {error.problem}") from None


def _one_target(
    node: onnx.NodeProto, unread: UnreadNode, model: onnx.ModelProto, others: Sequence[UnreadNode], graph: Graph
) -> Iterator[str]:
    """Drop sizes or scales where both are given: the one that contradicts the shapes of the file."""
    names = given_names(unread.values.opset)
    places = {name: place for place, name in enumerate(names, 1) if place < len(node.input) and node.input[place]}
    targets = [places[name] for name in ("sizes", "scales") if name in places]
    if len(targets) < 2 or any(_is_empty(unread, node, place) for place in targets):
        _read(node, unread, graph)
        return
    forms = {}
    for kept, dropped in (("scales", "sizes"), ("sizes", "scales")):
        form = onnx.NodeProto()
        form.CopyFrom(node)
        _drop(form, places[dropped], unread, graph)
        forms[kept] = (form, _read(form, unread, graph))
    kept, reason = _proven(forms, unread, model, others)
    node.CopyFrom(forms[kept][0])
    yield f"{kept} kept, {reason}"


def _is_empty(unread: UnreadNode, node: onnx.NodeProto, place: int) -> bool:
    value = unread.values.value(node.input[place])
    return value is not None and not value.size


def _drop(node: onnx.NodeProto, place: int, unread: UnreadNode, graph: Graph) -> None:
    """Leave out an input as the operator set writes that."""
    if place == len(node.input) - 1:
        del node.input[place]
    else:
        node.input[place] = "" if unread.values.opset >= _FIRST_WITH_OMITTED_INPUTS else _empty(graph, unread)
    if unread.values.opset < _FIRST_WITH_OMITTED_INPUTS and len(node.input) > 1 and not node.input[1]:
        node.input[1] = _empty(graph, unread)


_Forms = dict[str, tuple[onnx.NodeProto, ResizeOp]]


def _proven(forms: _Forms, unread: UnreadNode, model: onnx.ModelProto, others: Sequence[UnreadNode]) -> tuple[str, str]:
    """Return which of sizes and scales the file proves, and how. Raises InexactError if it proves neither."""
    scaled, sized = forms["scales"][1], forms["sizes"][1]
    problems = {kept: _contradiction(node, unread, model, others) for kept, (node, _) in forms.items()}
    fitting = [kept for kept, problem in problems.items() if not problem]
    if len(fitting) == 1:
        (dropped,) = problems.keys() - set(fitting)
        return fitting[0], f"{dropped} contradict the shapes of the model"
    if not fitting:
        raise _refusal(unread, "sizes and scales are both given, and the shapes of the model contradict both")
    if isinstance(scaled.spec.target, Scales) and compared(scaled.spec, sized.spec, scaled.shape) is not None:
        return "scales", "sizes mean the same"
    raise _refusal(unread, "sizes and scales are both given, and the shapes of the model prove neither; remove one")


def _contradiction(
    node: onnx.NodeProto, unread: UnreadNode, model: onnx.ModelProto, others: Sequence[UnreadNode]
) -> str:
    """Return why the declared shapes of a model and those that follow from a node are not all true; empty if they are.

    Shape inference would stop at other invalid nodes, so their outputs become inputs of unknown shape.
    """
    if unread.values.outer is not None:  # the shapes around a body are not those inside
        return ""
    light = without_weights(model)
    invalid = {name: other for other in others if other.values.outer is None for name in other.node.output}
    nodes = []
    for old in light.graph.node:
        if not invalid.keys() & set(old.output):
            nodes.append(old)
        elif old.output[0] == unread.node.output[0]:
            plain = onnx.NodeProto()
            plain.CopyFrom(node)
            nodes.append(plain)
        else:
            dtype = unread.values.dtype(old.input[0]) or "float32"
            element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            light.graph.input.append(helper.make_tensor_value_info(old.output[0], element, None))
    del light.graph.node[:]
    light.graph.node.extend(nodes)
    try:
        onnx.shape_inference.infer_shapes(light, strict_mode=True, data_prop=True)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError) as error:
        return str(error)
    return ""
