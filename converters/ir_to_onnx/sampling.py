"""Maps read between their pixels, at places that run time knows."""

from __future__ import annotations

from ..onnx import operators
from ..onnx.graph import Graph


def bilinear(
    graph: Graph, pixels: str, first: str, places: tuple[str, str], lengths: tuple[int, int], *, wide: bool = False
) -> str:
    """Return values at places (y, x), which are limited to the map.

    ``pixels`` are all of all maps in a row [pixels, ...], ``first`` is where the map of each place begins in there.
    Where the pixels are ``wide``, [pixels, channels], the places have a last axis of length 1, for these.
    """
    cells, shares = [], []
    for place, length in zip(places, lengths, strict=True):
        inside = graph.node("Max", place, operators.scalar(graph, 0, "float32"))
        inside = graph.node("Min", inside, operators.scalar(graph, length - 1, "float32"))
        cell = graph.node("Floor", inside)
        next_ = graph.node("Add", cell, operators.scalar(graph, 1, "float32"))
        next_ = graph.node("Min", next_, operators.scalar(graph, length - 1, "float32"))
        share = graph.node("Sub", inside, cell)
        cells.append([operators.cast(graph, each, "int64") for each in (cell, next_)])
        shares.append([graph.node("Sub", operators.scalar(graph, 1, "float32"), share), share])
    width = operators.scalar(graph, lengths[1], "int64")
    parts = []
    for row, high in zip(cells[0], shares[0], strict=True):
        begin = graph.node("Add", first, graph.node("Mul", row, width))
        for column, across in zip(cells[1], shares[1], strict=True):
            values = graph.node("Gather", pixels, graph.node("Add", begin, column), axis=0)
            if wide:
                values = operators.squeeze(graph, values, [-2])
            parts.append((graph.node("Mul", high, across), values))
    return _sum(graph, [graph.node("Mul", *each) for each in parts])


def _sum(graph: Graph, parts: list[str]) -> str:
    made = parts[0]
    for each in parts[1:]:
        made = graph.node("Add", made, each)
    return made


def is_within(graph: Graph, places: tuple[str, str], lengths: tuple[int, int], before: float, after: float) -> str:
    """Say which places lie in a map, or so little before and after it."""
    found = ""
    for place, length in zip(places, lengths, strict=True):
        for kind, end in (("Less", -before), ("Greater", length + after)):
            out = graph.node(kind, place, operators.scalar(graph, end, "float32"))
            found = graph.node("Or", found, out) if found else out
    return graph.node("Not", found)
