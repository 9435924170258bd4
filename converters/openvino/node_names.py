"""The nodes of a model, those of loops and branches included, and names that are the same in every process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import count

import openvino as ov

_NUMBERED = re.compile(r"[A-Z][A-Za-z0-9]*_\d+")  # as in Transpose_1693, of a node that was folded to a constant


def node_names(model: ov.Model) -> frozenset[str]:
    """Return the names of all nodes of a model."""
    return frozenset(node.get_friendly_name() for node in nodes_of(model))


def number_anew(model: ov.Model, kept_names: AbstractSet[str] | None = None) -> None:
    """Name unnamed nodes by their place in the model.

    OpenVINO numbers them over the whole process, so the same model would give other bytes beside other models.
    ``kept_names`` are the names that a model had before it was transformed; they are kept.
    """
    if model.get_friendly_name() == model.get_name():
        model.set_friendly_name("Model0")
    nodes = list(nodes_of(model))
    unnamed = [node for node in nodes if _is_numbered(node, kept_names)]
    names, number = node_names(model) - {node.get_friendly_name() for node in unnamed}, count()
    for node in unnamed:
        kind = node.get_type_name()
        node.set_friendly_name(next(name for name in (f"{kind}_{n}" for n in number) if name not in names))


def _is_numbered(node: ov.Node, names: AbstractSet[str] | None) -> bool:
    name = node.get_friendly_name()
    return name == node.get_name() or (names is not None and name not in names and bool(_NUMBERED.fullmatch(name)))


def nodes_of(model: ov.Model) -> Iterator[ov.Node]:
    """Yield the nodes of a model, and those of all bodies."""
    for node in model.get_ops():
        yield node
        kind = node.get_type_name()
        bodies = [node.get_function(place) for place in (0, 1)] if kind == "If" else []
        for body in [node.get_function()] if kind in ("Loop", "TensorIterator") else bodies:
            yield from nodes_of(body)
