"""The nodes of a model, including the bodies of its loops and branches."""

from __future__ import annotations

from collections.abc import Iterator

import openvino as ov


def nodes_of(model: ov.Model) -> Iterator[ov.Node]:
    """Yield the nodes of a model, and those of all bodies."""
    for node in model.get_ops():
        yield node
        kind = node.get_type_name()
        bodies = [node.get_function(place) for place in (0, 1)] if kind == "If" else []
        for body in [node.get_function()] if kind in ("Loop", "TensorIterator") else bodies:
            yield from nodes_of(body)
