"""The effect of the surrounding layers of an IR on a resize."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ir_interp.ir.ir_files import Layer, Net
from ir_interp.shapes import static_shape

from ..runtimes.outcome import Rounded

_LIMITS = range(1, 5)  # inputs of a FakeQuantize


def rounded_before(net: Net, layer: Layer) -> tuple[Rounded, ...]:
    """Return the last FakeQuantize layers that round the values from which the input of a layer is computed."""
    if all(other.type != "FakeQuantize" for other in net.layers.values()):
        return ()
    return tuple(_before(net, layer))


def _before(net: Net, layer: Layer) -> Iterator[Rounded]:
    first = net.source(layer, 0)
    left, seen = [first[0]] if first else [], set[int]()
    while left:
        producer = left.pop()
        if producer.id in seen:
            continue
        seen.add(producer.id)
        if producer.type == "FakeQuantize":
            yield _rounded(net, producer, is_next=first is not None and producer is first[0])
            continue
        sources = (net.source(producer, place) for place in range(len(producer.inputs)))
        left += [source[0] for source in sources if source]


def _rounded(net: Net, layer: Layer, *, is_next: bool) -> Rounded:
    levels, limits = layer.attributes.get("levels", ""), [net.source(layer, place) for place in _LIMITS]
    shapes = [static_shape(limit[1].shape) if limit else None for limit in limits]
    is_single = all(shape is not None and math.prod(shape) == 1 for shape in shapes)
    return Rounded(levels=int(levels) if levels.isdecimal() else None, is_next=is_next, is_single=is_single)
