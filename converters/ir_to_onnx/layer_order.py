"""The layers of a net in an order in which they can be written, and without those that nothing reads."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping

from ir_interp.errors import ReadError
from ir_interp.ir.net import Layer, Net


def in_order(net: Net) -> Iterator[Layer]:
    """Yield the layers, each after those that feed it, and otherwise as in the file. Raises ReadError for a cycle."""
    place = {number: index for index, number in enumerate(net.layers)}
    waiting = {number: _feeding(net, layer) for number, layer in net.layers.items()}
    fed: dict[int, list[int]] = {number: [] for number in net.layers}
    for number, sources in waiting.items():
        for source in sources:
            fed[source].append(number)
    # A heap yields the first in the file among those that are ready, so that the order is that of the file.
    ready = [(place[number], number) for number, sources in waiting.items() if not sources]
    while ready:
        _, number = heapq.heappop(ready)
        del waiting[number]
        yield net.layers[number]
        for consumer in fed[number]:
            waiting[consumer].discard(number)
            if not waiting[consumer]:
                heapq.heappush(ready, (place[consumer], consumer))
    if waiting:
        raise ReadError("it feeds itself, directly or through others", net.layers[_on_a_cycle(waiting)].where)


def _feeding(net: Net, layer: Layer) -> set[int]:
    sources = (net.source(layer, index) for index in range(len(layer.inputs)))
    return {source[0].id for source in sources if source is not None}


def _on_a_cycle(waiting: dict[int, set[int]]) -> int:
    """Return a layer that waits for itself: following the waiting layers backwards ends in a cycle."""
    number, seen = min(waiting), set()
    while number not in seen:
        seen.add(number)
        number = min(waiting[number])
    return number


Edges = dict[tuple[int, int], tuple[int, int]]


def rewired(net: Net, layers: Mapping[int, Layer], edges: Edges, idle: Collection[int]) -> Net:
    """Return a net with the new layers and edges, without those of ``idle`` that lose all their readers."""
    left = dict(layers)
    while unread := left.keys() & set(idle) - {producer for producer, _ in edges.values()}:
        left = {number: layer for number, layer in left.items() if number not in unread}
        edges = {end: start for end, start in edges.items() if end[0] in left}
    return net.with_only(left, edges)
