"""Levels whose scale is computed at run time: OpenVINO's layers for a DynamicQuantizeLinear become that node again.

Its frontend expands one into about twenty layers. Both compute the scale as (largest - smallest) / 255, zero included,
and round x / scale before they add the zero point; values between two levels within last places of float32 may
become either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ir_interp.ir.net import Layer, Net, Port, tensor_name

from ...onnx.graph import Graph
from ..layer import Op
from ..layer_order import rewired
from . import small_weights

TYPE = "DynamicQuantizeLinear of ONNX"
"""The type of the layer that replaces all; OpenVINO has none of this name."""


def gathered(net: Net) -> Net:
    """Return a net in which one layer replaces those of each DynamicQuantizeLinear."""
    for layer in list(net.layers.values()):
        pattern = _Found.of(net, layer)
        net = net if pattern is None else _with_one(net, pattern)
    return net


def emit(graph: Graph, op: Op) -> tuple[str, ...]:
    """Write that layer: levels, their scale, and the zero point.

    If an IR has 1 / 255 in half precision, its scale differs from the one by which it rounds.
    """
    levels, scale, zero = graph.outputs(3, "DynamicQuantizeLinear", op.inputs[0])
    share = np.float32(op.real(_SHARE))
    # The node divides by 255 itself; its scale is corrected to that of the file.
    if share != np.float32(1 / 255):
        scale = graph.node("Mul", scale, graph.constant(share * np.float32(255)))
    return levels, scale, zero


_SHARE = "share"
"""The attribute of that layer for the share of the range that is its scale: about 1 / 255."""

_End = tuple[Layer, Port]


@dataclass(frozen=True, slots=True)
class _Made:
    """A layer of a type, and its inputs: a layer, the value of a constant (in float32 or half), or any tensor."""

    type: str
    inputs: tuple[_Made | float | str, ...]
    name: str = ""


_RANGE = _Made(
    "subtract",
    (
        _Made("maximum", (0.0, _Made("reducemax", ("x",), "largest"))),
        _Made("minimum", (0.0, _Made("reducemin", ("x",), "smallest")), "low"),
    ),
    "range",
)
_SCALE = _Made("multiply", (_RANGE, 1 / 255), "scale")
_PLACE = _Made("divide", (_Made("subtract", (0.0, "low")), "scale"))
_ZERO = _Made("convert", (_Made("clamp", (_Made("round", (_PLACE,), "rounded zero"),), "zero in bytes"),), "zero")
_COUNT = _Made("round", (_Made("divide", (_Made("multiply", ("x", 255.0)), "range")),), "rounded")
_SUM = _Made("add", (_COUNT, _Made("convert", ("zero",), "shift")))
_LEVELS = (_SCALE, _ZERO, _Made("convert", (_Made("clamp", (_SUM,), "in bytes"),), "levels"))
"""In the order in which names become known, starting with those that others use."""

_COMMUTATIVE = ("add", "multiply", "maximum", "minimum")


@dataclass(frozen=True, slots=True)
class _Found:
    """The tensors of the pattern by name, and all its layers."""

    ends: dict[str, _End]
    layers: frozenset[int]

    @classmethod
    def of(cls, net: Net, layer: Layer) -> _Found | None:
        """Return the pattern that ends with a Convert to bytes; None for any other layer."""
        if layer.type.lower() != "convert" or len(layer.outputs) != 1 or layer.outputs[0].dtype != "uint8":
            return None
        parts = _parts(net, layer)
        if parts is None:
            return None
        seen: dict[str, _End] = {}
        layers = set[int]()
        for part, pattern in zip(parts, _LEVELS, strict=True):
            if not _matches(net, part, pattern, seen, layers):
                return None
        return cls(ends=seen, layers=frozenset(layers)) if _is_right(net, seen) else None


def _parts(net: Net, layer: Layer) -> tuple[_End, _End, _End] | None:
    """Return scale, zero point and levels, found backwards from the last: through the sum, and the quotient."""
    limited = _step_back(net, (layer, layer.outputs[0]), "convert", "clamp", "add")
    for rounded in _sources(net, limited[0]) if limited else ():
        zero = _step_back(net, rounded, "convert")
        quotient = _step_back(net, zero, "convert", "clamp", "round") if zero else None
        places = _sources(net, quotient[0]) if quotient and quotient[0].type.lower() == "divide" else []
        if zero and len(places) == 2:
            return places[1], zero, (layer, layer.outputs[0])
    return None


def _step_back(net: Net, end: _End, *kinds: str) -> _End | None:
    """Return the input of the last of a chain of layers of some types; None for other layers."""
    for kind in kinds:
        sources = _sources(net, end[0])
        if end[0].type.lower() != kind or not sources:
            return None
        if kind != "add":
            end = sources[0]
    return end


def _sources(net: Net, layer: Layer) -> list[_End]:
    sources = (net.source(layer, index) for index in range(len(layer.inputs)))
    return [source for source in sources if source is not None]


def _matches(net: Net, end: _End, pattern: _Made | float | str, seen: dict[str, _End], layers: set[int]) -> bool:
    """Return whether a tensor matches a pattern; names it in ``seen``, and its layers in ``layers``."""
    if isinstance(pattern, float):
        return _number(net, end[0]) in (np.float32(pattern), np.float32(np.float16(pattern)))
    name = pattern if isinstance(pattern, str) else pattern.name
    if name and name in seen:
        return seen[name] == end
    if isinstance(pattern, str):
        seen[name] = end
        return True
    if end[0].type.lower() != pattern.type:
        return False
    for sources in _orders(pattern.type, _sources(net, end[0])[: len(pattern.inputs)]):
        # A failed order of inputs must leave no names behind for the next.
        tried, passed = dict(seen), set(layers)
        pairs = zip(sources, pattern.inputs, strict=True)
        if len(sources) == len(pattern.inputs) and all(_matches(net, *pair, tried, passed) for pair in pairs):
            seen |= tried
            layers |= passed | {end[0].id}
            if name:
                seen[name] = end
            return True
    return False


def _orders(kind: str, sources: list[_End]) -> Iterator[list[_End]]:
    yield sources
    if kind in _COMMUTATIVE:
        yield sources[::-1]


def _number(net: Net, layer: Layer) -> float | None:
    """Return the one number of a constant, perhaps one in half precision; None for any other layer."""
    value = small_weights.constant(net, layer)
    return float(value.item()) if value is not None and value.size == 1 else None


def _is_right(net: Net, ends: dict[str, _End]) -> bool:
    """Return whether the attributes are those of the pattern: all axes, 8 bits, halves to even."""
    x, scale, zero, shift = (ends[name][1] for name in ("x", "scale", "zero", "shift"))
    modes = [ends[name][0].attributes.get("mode", "half_to_even").lower() for name in ("rounded", "rounded zero")]
    limits = [ends[name][0].attributes for name in ("in bytes", "zero in bytes")]
    return (
        (x.dtype, scale.dtype, zero.dtype, shift.dtype) == ("float32", "float32", "uint8", "float32")
        and not net.has_dynamic_ranks
        and all(ends[name][1].shape == () for name in ("largest", "smallest"))
        and modes == ["half_to_even"] * 2
        and all(float(limit["min"]) == 0 and float(limit["max"]) == 255 for limit in limits)
    )


def _with_one(net: Net, chain: _Found) -> Net:
    """Return a net where one layer, in place of the one that produced the levels, produces scale and zero point too."""
    ends = [chain.ends[name] for name in ("levels", "scale", "zero")]
    last, (source, port) = ends[0][0], chain.ends["x"]
    ports = tuple(
        replace(end_port, id=number, names=end_port.names or (tensor_name(layer, end_port),))
        for number, (layer, end_port) in enumerate(ends, 1)
    )
    numbers = (_number(net, start[0]) for start in _sources(net, chain.ends["scale"][0]))
    share = next(number for number in numbers if number is not None)
    feeds = replace(port, id=0, names=())
    one = replace(last, type=TYPE, attributes={_SHARE: repr(share)}, inputs=(feeds,), outputs=ports)
    moved = {(layer.id, end_port.id): (last.id, number) for number, (layer, end_port) in enumerate(ends, 1)}
    others = {end: moved.get(start, start) for end, start in net.edges.items() if end[0] != last.id}
    edges = {**others, (last.id, 0): (source.id, port.id)}
    return rewired(net, {**net.layers, last.id: one}, edges, chain.layers - {last.id})
