"""Boxes that overlap better ones: how far every two do, and which are left when the better suppress the worse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..onnx import operators
from ..onnx.graph import Graph
from .inner_nets import value_info

Measure = Callable[[Graph, str], str]
"""Adds how far each two of boxes [..., boxes, numbers] overlap, [..., boxes, boxes]."""


def columns(graph: Graph, boxes: str, count: int) -> tuple[str, ...]:
    """Return each number of boxes [..., boxes, count] apart."""
    return tuple(
        operators.squeeze(graph, operators.cut(graph, boxes, [each], [each + 1], [-1]), [-1]) for each in range(count)
    )


def each_two(graph: Graph, number: str) -> tuple[str, str]:
    """Return a number of each box [..., boxes] as that of the first and of the second of two, to be broadcast."""
    return operators.unsqueeze(graph, number, [-1]), operators.unsqueeze(graph, number, [-2])


def sized(graph: Graph, first: str, last: str, edge: float) -> str:
    """Return the length between two places, and ``edge`` more."""
    length = graph.node("Sub", last, first)
    return graph.node("Add", length, operators.scalar(graph, edge, "float32")) if edge else length


def areas(graph: Graph, boxes: str, edge: float) -> str:
    """Return the areas of boxes whose lengths are ``edge`` more than the difference of their corners."""
    x0, y0, x1, y1 = columns(graph, boxes, 4)
    return graph.node("Mul", sized(graph, x0, x1, edge), sized(graph, y0, y1, edge))


def of_corners(graph: Graph, boxes: str, area: str, edge: float) -> str:
    """Return intersection over union of every two boxes, given their areas; 0 for two that do not touch."""
    firsts, lasts = columns(graph, boxes, 4)[:2], columns(graph, boxes, 4)[2:]
    sides, touching = [], []
    for first, last in zip(firsts, lasts, strict=True):
        (begin, other), (end, its_end) = each_two(graph, first), each_two(graph, last)
        sides.append(sized(graph, graph.node("Max", begin, other), graph.node("Min", end, its_end), edge))
        touching += [graph.node("Greater", begin, its_end), graph.node("Greater", other, end)]
    shared = graph.node("Mul", *sides)
    apart = graph.node("Equal", shared, operators.scalar(graph, 0, "float32"))
    for each in touching:
        apart = graph.node("Or", apart, each)
    both = graph.node("Sub", graph.node("Add", *each_two(graph, area)), shared)
    return graph.node("Where", apart, operators.scalar(graph, 0, "float32"), graph.node("Div", shared, both))


def greedily(graph: Graph, boxes: str, candidates: str, measure: Measure, limit: str, *, adapts: bool = False) -> str:
    """Return which of the candidates are left [groups, boxes], if each that is left suppresses all later ones.

    Boxes are [groups, boxes, numbers], best first; ``candidates`` says which of them take part. Groups are taken one by
    one, for memory's sake. In each, a box is left if none that is left, and comes before, overlaps it by more than the
    limit; where that ``adapts``, it has one for each number of boxes that are left before. Starting from all, this rule
    is applied until nothing changes: then it holds for the first box, hence for the second, and so on; in few rounds,
    for only boxes that suppress one another in a row need one each.
    """
    inner = graph.inner()
    held, taking = (inner.fresh(f"{graph.layer}/{each}") for each in ("boxes", "candidates"))
    count = operators.squeeze(inner, operators.cut(inner, inner.node("Shape", held), [0], [1], [0]), [0])
    zero, one = (operators.scalar(inner, each, "int64") for each in (0, 1))
    place, later = each_two(inner, inner.node("Range", zero, count, one))
    before, shared = inner.node("Less", place, later), measure(inner, held)

    def hits(graph: Graph, limit: str) -> str:
        return operators.cast(graph, graph.node("And", graph.node("Greater", shared, limit), before), "float32")

    fixed = "" if adapts else hits(inner, limit)
    left = _settled(inner, lambda graph, kept: fixed or hits(graph, _limits(graph, kept, limit)), taking)
    kind = "bool", (None,)
    body = inner.proto(
        f"{graph.layer}/group",
        [value_info(held, "float32", (None, None)), value_info(taking, *kind)],
        [value_info(left, *kind)],
    )
    return graph.node("Scan", boxes, candidates, body=body, num_scan_inputs=2)


def _limits(graph: Graph, kept: str, table: str) -> str:
    """Return the limit for each box, by how many before it are kept."""
    first = operators.scalar(graph, 0, "int64")
    number = graph.node("CumSum", operators.cast(graph, kept, "int32"), first, exclusive=1)
    return graph.node("Gather", table, number)


def _settled(graph: Graph, hits: Callable[[Graph, str], str], candidates: str) -> str:
    """Apply the rule to one group until nothing changes; ``hits`` says who suppresses whom, given what is kept."""
    body, name = graph.inner(), graph.layer
    number, going, kept = (body.fresh(f"{name}/{each}") for each in ("round", "going", "kept"))
    blows = body.node("MatMul", operators.cast(body, kept, "float32"), hits(body, kept))
    is_hit = body.node("Greater", blows, operators.scalar(body, 0, "float32"))
    left = body.node("And", candidates, body.node("Not", is_hit))
    changes = operators.cast(body, body.node("Xor", left, kept), "float32")
    sum_ = operators.reduced(body, "ReduceSum", changes, [0], keep=False)
    again = body.node("Greater", sum_, operators.scalar(body, 0, "float32"))
    inputs = [value_info(number, "int64", ()), value_info(going, "bool", ()), value_info(kept, "bool", (None,))]
    outputs = [value_info(again, "bool", ()), value_info(left, "bool", (None,))]
    yes = graph.constant(np.array(True))
    return graph.node("Loop", "", yes, candidates, body=body.proto(f"{name}/round", inputs, outputs))


def first_of(graph: Graph, kept: str, most: int) -> str:
    """Return only so many of what is kept in each group [groups, boxes]; all where ``most`` is negative."""
    if most < 0:
        return kept
    number = graph.node("CumSum", operators.cast(graph, kept, "int32"), operators.scalar(graph, 1, "int64"))
    beyond = graph.node("Greater", number, operators.scalar(graph, most, "int32"))
    return graph.node("And", kept, graph.node("Not", beyond))


def at_most(graph: Graph, rows: str, axis: int, most: int) -> str:
    """Return the length of an axis that only run time knows, or ``most`` where that is less, as a vector."""
    length = operators.cut(graph, graph.node("Shape", rows), [axis], [axis + 1], [0])
    limit = graph.ints([most])
    return graph.node("Where", graph.node("Less", length, limit), length, limit)
