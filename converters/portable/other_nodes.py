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
    opsets = [imported.version for imported in function.opset_import if imported.domain in _ONNX]
    return node.domain in _ONNX and bool(opsets) and bool(operator_sets.problem(node, opsets[0], opset))


def restate(model: onnx.ModelProto, source: Path, graph: Graph, target: str) -> tuple[list[Edit], list[InexactError]]:
    """Return the edits for the operator set of ``graph``, and one refusal for all nodes without a form in it.

    ``graph`` takes the constants of new nodes.
    """
    opset = default_opset(model, source.name)
    if opset == graph.opset:
        return [], []
    edits, unsaid = _edits(model, source, graph, opset)
    if not unsaid:
        return edits, []
    toward = range(graph.opset, opset, 1 if opset > graph.opset else -1)
    nearest = next((tried for tried in toward if not _edits(model, source, Graph(opset=tried), opset)[1]), opset)
    listing = ", ".join(f"{problem} ({count})" for problem, count in unsaid.items())
    reason = f"other nodes have no form there: {listing}; onnx:{nearest} is the nearest target where they do"
    return [], [InexactError(source.name, target, reason=reason)]


def _edits(model: onnx.ModelProto, source: Path, graph: Graph, opset: int) -> tuple[list[Edit], Counter[str]]:
    """Return the edits, and the number of occurrences of each remaining problem."""
    edits: list[Edit] = []
    unsaid: Counter[str] = Counter()
    for _, node, values in every_node(model, source):
        if node.domain not in _ONNX or node.op_type in OPS:
            continue
        if operator_sets.problem(node, opset, graph.opset) or _takes_rule_for_type(node, values, graph.opset):
            try:
                nodes = _restated(node, values, graph, opset)
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


def _restated(node: onnx.NodeProto, values: Values, graph: Graph, opset: int) -> list[onnx.NodeProto]:
    """Return the nodes of ``graph``'s operator set that mean the same as a node in ``opset``. Raises UnsaidError."""
    problem = operator_sets.problem(node, opset, graph.opset)
    plain = operator_sets.without_defaults(node, opset, graph.opset)
    if not operator_sets.problem(plain, opset, graph.opset) and not _takes_rule_for_type(node, values, graph.opset):
        return [plain]
    try:
        if node.op_type in RULES:
            return _by_rule(node, values, graph, opset)
        if graph.opset > opset:
            return _by_converter(node, values, graph, opset)
        return _by_body(node, values, graph, opset)
    except UnsaidError as error:
        raise UnsaidError(f"{problem}; {error}" if str(error) not in ("", problem) else problem) from None


def _by_rule(node: onnx.NodeProto, values: Values, graph: Graph, opset: int) -> list[onnx.NodeProto]:
    inner = graph.inner()
    inner.layer = node.name or next(name for name in node.output if name)
    outputs = RULES[node.op_type](Old(node=node, values=values, opset=opset, graph=inner))
    # A result that is an input of the node (Dropout) needs a node of its own to get the output's name.
    produced = {name for written in inner.nodes for name in written.output}
    for result, output in zip(outputs, node.output, strict=True):
        inner.rename(result if result in produced else inner.node("Identity", result), output or result)
    inner.nodes[:] = needed(inner.nodes, filter(None, node.output))
    for written in inner.nodes:
        if problem := operator_sets.problem(written, inner.opset, inner.opset):
            raise UnsaidError(problem)
    inner.nodes[-1].name = node.name
    return inner.nodes


def _by_body(node: onnx.NodeProto, values: Values, graph: Graph, opset: int) -> list[onnx.NodeProto]:
    """Return the nodes of the function by which ONNX defines an operator, each of them restated."""
    model = onnx.inliner.inline_selected_functions(
        _alone(node, values, opset), [("", node.op_type)], inline_schema_functions=True
    )
    # The inliner left it as it was: this operator is defined by no function.
    if any(inner.op_type == node.op_type for inner in model.graph.node):
        raise UnsaidError("")
    _rename(model.graph, node, graph)
    inferred = onnx.shape_inference.infer_shapes(model)
    inside = Values(graph=model.graph, inferred=inferred.graph, opset=opset, folder=values.folder, outer=values)
    nodes: list[onnx.NodeProto] = []
    for inner in model.graph.node:
        stands = not operator_sets.problem(inner, opset, graph.opset)
        nodes += [inner] if stands else _restated(inner, inside, graph, opset)
    return nodes


def _by_converter(node: onnx.NodeProto, values: Values, graph: Graph, opset: int) -> list[onnx.NodeProto]:
    """Return the result of ONNX's version converter for a node: it supports newer sets well, and few older ones."""
    try:
        model = onnx.version_converter.convert_version(_alone(node, values, opset), graph.opset)
    except RuntimeError:
        raise UnsaidError("") from None
    for converted in model.graph.node:
        if operator_sets.problem(converted, graph.opset, graph.opset):
            raise UnsaidError("")
    _rename(model.graph, node, graph)
    constants = {weight.name: weight for weight in model.graph.initializer if weight.name not in node.input}
    constant_nodes = [helper.make_node("Constant", [], [name], value=tensor) for name, tensor in constants.items()]
    return [*constant_nodes, *model.graph.node]


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


def _rename(body: onnx.GraphProto, node: onnx.NodeProto, graph: Graph) -> None:
    """Rename the tensors between a node's inputs and outputs to unused names."""
    outer = {*node.input, *node.output}
    weights: Iterable[str] = (weight.name for weight in body.initializer)
    inner = {name for inner_node in body.node for name in inner_node.output}.union(weights) - outer
    names = {name: graph.fresh(f"{node.name or node.output[0]}/{name}") for name in sorted(inner)}
    for inner_node in body.node:
        # Names inside subgraphs would have to be renamed too.
        if any(attribute.HasField("g") or attribute.graphs for attribute in inner_node.attribute):
            raise UnsaidError("")
        inner_node.input[:] = [names.get(name, name) for name in inner_node.input]
        inner_node.output[:] = [names.get(name, name) for name in inner_node.output]
    for weight in body.initializer:
        weight.name = names.get(weight.name, weight.name)
