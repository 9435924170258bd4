"""Walk the nodes of an ONNX graph, those inside of others included."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import onnx
import onnx.inliner
import onnx.shape_inference


def place(prefix: str, index: int, node: onnx.NodeProto) -> str:
    """Return where a node stands, as messages say it."""
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
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            wanted.update(name for each in with_inner([node]) for name in each.input)
            kept.append(node)
    return kept[::-1]


def with_inner(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield nodes, and those of the graphs inside them: they too read tensors from outside."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from with_inner(attribute.g.node)
