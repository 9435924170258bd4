"""Walk the nodes of an ONNX graph, including those in subgraphs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import onnx
import onnx.inliner
import onnx.shape_inference


def place(prefix: str, index: int, node: onnx.NodeProto) -> str:
    """Return the place of a node, in the form that messages use."""
    return f"{prefix}node[{index} {json.dumps(node.name, ensure_ascii=False)}]"


def subgraphs(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    """Return the graphs that an attribute holds."""
    return [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else list(attribute.graphs)


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and those inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in subgraphs(attribute):
                yield from graphs(inner)


def needed(nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> list[onnx.NodeProto]:
    """Return the nodes on which the outputs depend."""
    read, sources = set(outputs), []
    for node in reversed(nodes):
        if read.intersection(node.output):
            read.update(name for inner in with_inner([node]) for name in inner.input)
            sources.append(node)
    return sources[::-1]


def merged(nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> list[onnx.NodeProto]:
    """Return nodes without duplicates, which do the same to the same tensors; ``outputs`` keep their names.

    Quantisation stays with each of its readers, since runtimes look for it there.
    """
    distinct, first, instead, named = [], dict[bytes, onnx.NodeProto](), dict[str, str](), set(outputs)
    for node in nodes:
        for inner in with_inner([node]):
            inner.input[:] = [instead.get(name, name) for name in inner.input]
        alike = onnx.NodeProto(op_type=node.op_type, input=node.input, attribute=node.attribute)
        # Names differ between equal nodes, so the key has none but those of the inputs.
        key = bytes([len(node.output)]) + alike.SerializeToString(deterministic=True)
        before = first.setdefault(key, node)
        if (
            before is node
            or node.op_type in _APART
            or named.intersection(node.output)
            or any(map(subgraphs, node.attribute))
        ):
            distinct.append(node)
        else:
            instead.update(zip(node.output, before.output, strict=True))
    return distinct


_APART = ("QuantizeLinear", "DequantizeLinear")


def with_inner(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield nodes, and those of the subgraphs inside them, which may also read tensors from outside."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from with_inner(attribute.g.node)


def rename_read(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Let a graph and its subgraphs read another tensor, and return it wherever they returned the old one."""
    for nested in graphs(graph):
        if nested is not graph and old in defined(nested):
            continue  # a separate tensor
        for node in nested.node:
            if old in node.input:
                node.input[:] = [new if name == old else name for name in node.input]
        for value in nested.output:
            value.name = new if value.name == old else value.name


def defined(graph: onnx.GraphProto) -> Iterator[str]:
    """Yield the names that a graph gives to tensors, except those of its subgraphs."""
    yield from (value.name for value in (*graph.input, *graph.initializer))
    yield from (name for node in graph.node for name in node.output)
