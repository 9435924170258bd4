"""Store the weights of an ONNX model in half precision: a Cast turns each into float32 again where it is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from .node_walk import graphs, with_inner
from .onnx_save import Unsaved
from .values import values_of

MIN_ELEMENTS = 16
"""A constant of fewer elements is not a weight: epsilons, bounds and the like stay, since they save nothing."""

# A larger weight would become infinite, so its constant keeps float32.
_LARGEST = float(np.finfo(np.float16).max)


def halved(unsaved: Unsaved, exact: Collection[str]) -> Unsaved:
    """Return a model with its constants in half precision, except those named in ``exact``."""
    chosen = {name for name, value in unsaved.constants.items() if name not in exact and _is_weight(value)}
    if not chosen:
        return unsaved
    names = _stored_names(unsaved.model, chosen)
    _cast(unsaved.model, names)
    values = {
        names.get(name, name): _half(value) if name in names else value for name, value in unsaved.constants.items()
    }
    return replace(unsaved, constants=values)


def halve(model: onnx.ModelProto, exact: Collection[str]) -> None:
    """Store a model's initialisers in half precision, except those named in ``exact`` and those that are inputs."""
    # A caller may pass inputs in float32, and an output keeps its type.
    not_halved = {*exact, *(value.name for value in model.graph.input), *(value.name for value in model.graph.output)}
    floats = (weight for weight in model.graph.initializer if weight.data_type == onnx.TensorProto.FLOAT)
    chosen = {weight.name: weight for weight in floats if weight.name not in not_halved}
    weights = {name for name, tensor in chosen.items() if _is_weight(values_of(tensor))}
    names = _stored_names(model, weights)
    for name in weights:
        chosen[name].CopyFrom(numpy_helper.from_array(_half(values_of(chosen[name])), names[name]))
    _cast(model, names)


def read_by(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    """Return the tensors that nodes read, and those inside of them."""
    return {name for node in with_inner(nodes) for name in node.input}


def _is_weight(value: NDArray[Any]) -> bool:
    """Return whether half precision can store a constant, if less exactly, and saves space."""
    return value.dtype == np.float32 and value.size >= MIN_ELEMENTS and float(np.abs(value).max()) <= _LARGEST


def _half(value: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(value, np.float16)


def _stored_names(model: onnx.ModelProto, chosen: Iterable[str]) -> dict[str, str]:
    """Return an unused tensor name for each constant as it is stored."""
    taken = {name for graph in graphs(model.graph) for node in graph.node for name in (*node.input, *node.output)}
    names = {}
    # Sorted, so that equal models have equal bytes.
    for name in sorted(chosen):
        stored = f"{name}/float16"
        while stored in taken:
            stored += "_"
        names[name] = stored
    return names


def _cast(model: onnx.ModelProto, names: dict[str, str]) -> None:
    """Add nodes in front that convert each stored constant back to its type."""
    float32 = onnx.TensorProto.FLOAT
    casts = [
        helper.make_node("Cast", [stored], [name], name=f"{stored}/Cast", to=float32) for name, stored in names.items()
    ]
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
