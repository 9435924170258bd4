"""Portable ONNX: only the resizes of a model are rewritten, into forms that a target accepts and computes exactly.

Nodes other than resizes come first: in another operator set, they are unchanged, or in another form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import onnx
import onnx.inliner
import onnx.shape_inference
import onnx.version_converter
from onnx import helper, numpy_helper

from ir_interp.errors import InexactError, ReadError, SpecError
from ir_interp.files.snapshots import copy_file
from ir_interp.specs import Nearest, ResizeSpec, Scales
from ir_interp.translation.dialect import Semantics

from ..onnx import operators
from ..onnx.onnx_files import (
    default_opset,
    external_files,
    graphs,
    inlined,
    invalid,
    needed,
    read_file,
    with_inlined,
    with_inner,
)
from ..onnx.onnx_graph import Graph, halve, read_by
from ..onnx.resize_nodes import OPS, ResizeNode, every_node, known_nodes, nodes_in
from ..onnx.static_values import Values
from ..predictions import completed
from ..reports import FormPolicy, Row
from . import operator_sets
from .operator_sets import BY_TYPE, RULES, Old, UnsaidError
from .portable_resize import Edit, Writer
from .targets import target

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


_CONSTANTS_ARE_INPUTS = 3  # up to this version of the file format an initialiser must be an input as well


def write_model(
    source: Path,
    output: Path,
    name: str,
    policy: FormPolicy | None = None,
    *,
    half: bool = False,
    semantics: Semantics = Semantics.RUNTIME,
) -> tuple[Row, ...]:
    """Write a model whose resizes the target computes as those of ``source`` are read.

    A node that the target computes correctly unchanged is kept, byte for byte, as is everything other than
    resizes; if nothing changes at all, the file is copied. Others become a Resize or Upsample with other attributes,
    else a subgraph. A target ``onnx:N`` changes the operator set as well, if all other nodes can be expressed in
    it; so does a runtime that lacks common nodes of the model's set. ``half`` stores weights in half precision, except
    those of resizes.

    Returns a row for each resize. Raises ReadError for an unknown target and for an invalid source, an
    ExceptionGroup of InexactError if resizes, or other nodes, have no form.
    """
    chosen = target(name)
    model = read_file(source)
    source_opset = default_opset(model, source.name)
    opset = chosen.opset or _opset(model, source, source_opset, chosen.least_opset)
    whole = model if chosen.takes_functions else inlined(model, source.name)
    has_inlined, model = whole is not model, with_resizes_in_sight(whole, source.name, opset)
    writer = Writer(target=chosen, policy=policy or FormPolicy(), graph=taken_names(model, opset), semantics=semantics)
    others, refusals = restate(model, source, writer.graph, name)
    rows = []
    resizes, unread = known_nodes(model, source)
    refusals += [InexactError(node.name, name, reason=f"it cannot be read: {node.error}") for node in unread]
    for resize in completed(source, resizes):
        try:
            rows.append(writer.row(resize))
        except InexactError as refusal:
            refusals.append(refusal)
    if refusals:
        raise ExceptionGroup(f"{source.name} has no exact form for {name}", refusals)
    if writer.edits or writer.graph.opset != source_opset or half or has_inlined:
        edit(model, writer.graph, [*writer.edits, *others])
        if half:
            _halve(model, source, writer.edits)
        output.write_bytes(model.SerializeToString(deterministic=True))
        _check(source, output, name)
    else:
        copy_file(source, output)
    return tuple(rows)


def restore(path: Path, meanings: Mapping[str, ResizeSpec]) -> dict[str, Row]:
    """Give resizes of a model their ``meanings``, by name, in place. Return the rows of those that have a form."""
    model = read_file(path)
    opset = default_opset(model, path.name)
    writer = Writer(target=target(f"onnx:{opset}"), policy=FormPolicy(), graph=taken_names(model, opset))
    rows: dict[str, Row] = {}
    for resize in completed(path, nodes_in(model, path)):
        if resize.op.name in meanings:
            row = _restored(writer, resize, meanings[resize.op.name])
            rows |= {resize.op.name: row} if row else {}
    edit(model, writer.graph, writer.edits)
    path.write_bytes(model.SerializeToString(deterministic=True))
    return rows


def _restored(writer: Writer, resize: ResizeNode, meaning: ResizeSpec) -> Row | None:
    """Return the row of a resize in a form that computes its meaning; None if there is none.

    Sums change by the last bits only if positions are those of the node's runtime; copies could be of other pixels, and
    scales give other sizes.
    """
    specs = [meaning]
    if not isinstance(meaning.kernel, Nearest) and not isinstance(meaning.target, Scales):
        specs.append(replace(meaning, arithmetic=resize.op.spec.arithmetic))
    for spec in specs:
        count = len(writer.edits)
        with suppress(InexactError):
            return writer.rewritten(replace(resize, op=replace(resize.op, spec=spec)), "")
        del writer.edits[count:]  # a refusal may come after the edit
    return None


def _opset(model: onnx.ModelProto, source: Path, source_opset: int, least: int) -> int:
    """Return the operator set for a runtime: the model's, or the least that it takes if all other nodes have a form."""
    if source_opset >= least:
        return source_opset
    whole = with_resizes_in_sight(model, source.name, least)
    return source_opset if restate(whole, source, Graph(opset=least), source.name)[1] else least


def _halve(model: onnx.ModelProto, source: Path, edits: list[Edit]) -> None:
    """Store weights in half precision. Raises SpecError if they lie in other files, which stay unchanged."""
    apart = ", ".join(sorted(path.name for path in external_files(source)))
    if apart:
        raise SpecError(f"--fp16 is not supported for {source.name}, whose weights stay in {apart}")
    resizes = [node for graph in graphs(model.graph) for node in graph.node if node.op_type in OPS]
    written = [node for edit in edits for node in edit.nodes]
    halve(model, read_by([*resizes, *written]))


# A model as a whole


def with_resizes_in_sight(model: onnx.ModelProto, where: str, opset: int | None = None) -> onnx.ModelProto:
    """Return a model without resizes in local functions: functions with resizes are inlined.

    So are functions with nodes that change for ``opset``.
    """
    holding: set[tuple[str, str]] = set()
    for _ in model.functions:  # as deep as calls can be nested
        holding |= {
            (function.domain, function.name)
            for function in model.functions
            if any(
                node.op_type in OPS
                or (node.domain, node.op_type) in holding
                or (opset and changes(node, function, opset))
                for node in function.node
            )
        }
    if holding:
        model = with_inlined(model, holding, where)
    for function in model.functions:
        if (function.domain, function.name) in holding:
            raise ReadError(f"its local function {function.name!r} holds a resize and cannot be inlined", where)
    return model


def taken_names(model: onnx.ModelProto, opset: int) -> Graph:
    """Return a graph for new nodes, in which the names of all tensors of a model are taken."""
    graph = Graph(opset=opset)
    for nested in graphs(model.graph):
        values = {value.name for value in (*nested.input, *nested.initializer)}
        for name in values.union(*(node.output for node in nested.node)):
            graph.fresh(name)
    return graph


def edit(model: onnx.ModelProto, graph: Graph, edits: list[Edit]) -> None:
    """Replace nodes, add the constants that the new ones need, and set the operator set."""
    for those in _by_graph(edits):
        changed = {edit.output: edit.nodes for edit in those}
        place = those[0].graph
        nodes: list[onnx.NodeProto] = []
        for node in place.node:
            nodes += next((changed[name] for name in node.output if name in changed), [node])
        _replace_nodes(place, nodes)
    # Constants of forms that were tried and given up have no reader.
    read = {name for edit in edits for node in with_inner(edit.nodes) for name in node.input}
    tensors = [numpy_helper.from_array(value, name) for name, value in graph.initialisers.items() if name in read]
    if model.ir_version > _CONSTANTS_ARE_INPUTS:
        model.graph.initializer.extend(reversed(tensors))
    else:
        constants = [
            helper.make_node("Constant", [], [tensor.name], name=tensor.name, value=tensor) for tensor in tensors
        ]
        _replace_nodes(model.graph, [*constants, *model.graph.node])
    for owner in (model, *model.functions):
        for entry in owner.opset_import:
            if entry.domain in ("", "ai.onnx"):
                entry.version = graph.opset


def _by_graph(edits: list[Edit]) -> Iterator[list[Edit]]:
    """Yield the edits of each graph, inner graphs first: replacing copies a node with its subgraphs."""
    by_graph: dict[int, list[Edit]] = {}
    for edit in sorted(edits, key=lambda edit: -edit.depth):
        by_graph.setdefault(id(edit.graph), []).append(edit)
    yield from by_graph.values()


def _replace_nodes(graph: onnx.GraphProto, nodes: list[onnx.NodeProto]) -> None:
    """Replace all nodes at once: inserting one costs as much as the whole list."""
    del graph.node[:]
    graph.node.extend(nodes)


def _check(source: Path, output: Path, name: str) -> None:
    """Refuse a result that is not valid ONNX, unless its source is not valid either."""
    problem = invalid(output)
    if problem and not invalid(source):
        raise InexactError(source.name, name, reason=f"it would not be valid ONNX: {problem}")
