"""Nodes other than resizes, in another operator set: unchanged, or in another form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import onnx
import onnx.inliner
import onnx.shape_inference
import onnx.version_converter
from onnx import helper, numpy_helper

from ir_interp.errors import InexactError

from ..onnx import operator_sets, operators
from ..onnx.graph import Graph
from ..onnx.node_walk import needed
from ..onnx.onnx_files import default_opset
from ..onnx.resize_nodes import OPS, every_node
from ..onnx.values import Values
from .operator_set_nodes import Old, UnsaidError
from .portable_resize import Edit
from .restatements import BY_TYPE, RULES

_ONNX = ("", "ai.onnx")


def changes(node: onnx.NodeProto, function: onnx.FunctionProto, opset: int) -> bool:
    """Return whether a node of a local function needs another form in an operator set."""
    own = [each.version for each in function.opset_import if each.domain in _ONNX]
    return node.domain in _ONNX and bool(own) and bool(operator_sets.problem(node, own[0], opset))


def restate(model: onnx.ModelProto, source: Path, graph: Graph, target: str) -> tuple[list[Edit], list[InexactError]]:
    """Return the edits for the operator set of ``graph``, and one refusal for all nodes without a form in it.

    ``graph`` takes the constants of new nodes.
    """
    own = default_opset(model, source.name)
    if own == graph.opset:
        return [], []
    edits, unsaid = _edits(model, source, graph, own)
    if not unsaid:
        return edits, []
    toward = range(graph.opset, own, 1 if own > graph.opset else -1)
    nearest = next((each for each in toward if not _edits(model, source, Graph(opset=each), own)[1]), own)
    listing = ", ".join(f"{problem} ({count})" for problem, count in unsaid.items())
    reason = f"other nodes have no form there: {listing}; onnx:{nearest} is the nearest target where they do"
    return [], [InexactError(source.name, target, reason=reason)]


def _edits(model: onnx.ModelProto, source: Path, graph: Graph, own: int) -> tuple[list[Edit], Counter[str]]:
    """Return the edits, and the number of occurrences of each remaining problem."""
    edits: list[Edit] = []
    unsaid: Counter[str] = Counter()
    for _, node, values in every_node(model, source):
        if node.domain not in _ONNX or node.op_type in OPS:
            continue
        if operator_sets.problem(node, own, graph.opset) or _takes_rule_for_type(node, values, graph.opset):
            try:
                nodes = _restated(node, values, graph, own)
            except UnsaidError as error:
                unsaid[str(error)] += 1
                continue
            output = next(name for name in node.output if name)
            if len(nodes) > 1:
                replace(graph, nodes=nodes, layer=node.name or output).name_nodes(0)
            edits.append(Edit(graph=values.graph, depth=values.depth, output=output, nodes=nodes))
    return edits, unsaid


def _takes_rule_for_type(node: onnx.NodeProto, values: Values, opset: int) -> bool:
    """Return whether a rule replaces a node because its operator does not take its element type."""
    return node.op_type in BY_TYPE and operator_sets.lacks_type(node, values.dtype(node.input[0]), opset)


def _restated(node: onnx.NodeProto, values: Values, graph: Graph, own: int) -> list[onnx.NodeProto]:
    """Return the nodes of ``graph``'s operator set that mean the same as a node in ``own``. Raises UnsaidError."""
    problem = operator_sets.problem(node, own, graph.opset)
    plain = operator_sets.without_defaults(node, own, graph.opset)
    if not operator_sets.problem(plain, own, graph.opset) and not _takes_rule_for_type(node, values, graph.opset):
        return [plain]
    try:
        if node.op_type in RULES:
            return _by_rule(node, values, graph, own)
        if graph.opset > own:
            return _by_converter(node, values, graph, own)
        return _by_body(node, values, graph, own)
    except UnsaidError as error:
        raise UnsaidError(f"{problem}; {error}" if str(error) not in ("", problem) else problem) from None


def _by_rule(node: onnx.NodeProto, values: Values, graph: Graph, own: int) -> list[onnx.NodeProto]:
    inner = graph.inner()
    inner.layer = node.name or next(name for name in node.output if name)
    outputs = RULES[node.op_type](Old(node=node, values=values, opset=own, graph=inner))
    made = {name for each in inner.nodes for name in each.output}
    for result, wanted in zip(outputs, node.output, strict=True):
        inner.rename(result if result in made else inner.node("Identity", result), wanted or result)
    inner.nodes[:] = needed(inner.nodes, filter(None, node.output))
    for each in inner.nodes:
        if problem := operator_sets.problem(each, inner.opset, inner.opset):
            raise UnsaidError(problem)
    inner.nodes[-1].name = node.name
    return inner.nodes


def _by_body(node: onnx.NodeProto, values: Values, graph: Graph, own: int) -> list[onnx.NodeProto]:
    """Return the nodes of the function by which ONNX defines an operator, each of them restated."""
    model = onnx.inliner.inline_selected_functions(
        _alone(node, values, own), [("", node.op_type)], inline_schema_functions=True
    )
    if any(each.op_type == node.op_type for each in model.graph.node):
        raise UnsaidError("")
    _rename(model.graph, node, graph)
    inferred = onnx.shape_inference.infer_shapes(model)
    inside = Values(graph=model.graph, inferred=inferred.graph, opset=own, folder=values.folder, outer=values)
    nodes: list[onnx.NodeProto] = []
    for each in model.graph.node:
        stands = not operator_sets.problem(each, own, graph.opset)
        nodes += [each] if stands else _restated(each, inside, graph, own)
    return nodes


def _by_converter(node: onnx.NodeProto, values: Values, graph: Graph, own: int) -> list[onnx.NodeProto]:
    """Return the result of ONNX's version converter for a node: it supports newer sets well, and few older ones."""
    try:
        model = onnx.version_converter.convert_version(_alone(node, values, own), graph.opset)
    except RuntimeError:
        raise UnsaidError("") from None
    for each in model.graph.node:
        if operator_sets.problem(each, graph.opset, graph.opset):
            raise UnsaidError("")
    _rename(model.graph, node, graph)
    constants = {weight.name: weight for weight in model.graph.initializer if weight.name not in node.input}
    held = [helper.make_node("Constant", [], [name], value=each) for name, each in constants.items()]
    return [*held, *model.graph.node]


def _alone(node: onnx.NodeProto, values: Values, opset: int) -> onnx.ModelProto:
    """Return a model of only a node, with the known properties of its inputs. Raises UnsaidError for unknown types."""
    inputs, constants = [], []
    for name in dict.fromkeys(filter(None, node.input)):
        dtype, value = values.dtype(name), values.value(name)
        if value is not None:
            constants.append(numpy_helper.from_array(value, name))
            dtype = value.dtype.name
        if dtype is None:
            raise UnsaidError("the element types of its inputs are unknown")
        text = dtype == "str"
        kind = onnx.TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(operators.as_dtype(dtype))
        inputs.append(helper.make_tensor_value_info(name, kind, values.shape(name)))
    outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = helper.make_graph([node], "alone", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def _rename(made: onnx.GraphProto, node: onnx.NodeProto, graph: Graph) -> None:
    """Rename the tensors between a node's inputs and outputs to unused names."""
    outer = {*node.input, *node.output}
    held: Iterable[str] = (weight.name for weight in made.initializer)
    inner = {name for each in made.node for name in each.output}.union(held) - outer
    names = {name: graph.fresh(f"{node.name or node.output[0]}/{name}") for name in sorted(inner)}
    for each in made.node:
        if any(attribute.HasField("g") or attribute.graphs for attribute in each.attribute):
            raise UnsaidError("")
        each.input[:] = [names.get(name, name) for name in each.input]
        each.output[:] = [names.get(name, name) for name in each.output]
    for weight in made.initializer:
        weight.name = names.get(weight.name, weight.name)
