"""Nets without layers that have no readers left."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ir_interp.ir.net import Layer, Net

Edges = dict[tuple[int, int], tuple[int, int]]


def rewired(net: Net, layers: Mapping[int, Layer], edges: Edges, idle: Collection[int]) -> Net:
    """Return a net with the new layers and edges, without those of ``idle`` that lose all their readers."""
    left = dict(layers)
    while unread := left.keys() & set(idle) - {producer for producer, _ in edges.values()}:
        left = {number: layer for number, layer in left.items() if number not in unread}
        edges = {end: start for end, start in edges.items() if end[0] in left}
    return net.with_only(left, edges)
