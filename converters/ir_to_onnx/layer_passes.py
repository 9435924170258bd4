"""The layers of a net before they are written: their order, and those that are left out or become another.

A Clamp before a FakeQuantize that limits no further changes nothing, and is left out. So a ReLU6 between a convolution
and its levels does not keep onnxruntime from multiplying integers: the only limit that it accepts there is Relu.
OpenVINO's layers for a DynamicQuantizeLinear, about twenty, become that node again. Both compute the scale as (largest
- smallest) / 255, zero included, and round x / scale before they add the zero point; values between two levels within
last places of float32 may become either. Interpolate-1 may pad axes which it does not list: OpenVINO's shape inference
counts the pads of listed axes only, while its CPU plugin pads every axis. So a tensor of another shape than the
declared one reaches the layers behind it, which compute anything; an output has the shape that the plugin returns.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.ir.interpolate_dialect import pads_go_astray
from ir_interp.ir.interpolates import read_layer
from ir_interp.ir.ir_files import Layer, Net, Port, tensor_name
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes

from ..onnx.onnx_graph import Graph
from . import integer_layers, small_weights
from .layers import Conversion, Op


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


def without_idle_clamps(net: Net, conversion: Conversion) -> Net:
    """Return a net in which each FakeQuantize reads the input of an idle Clamp, without Clamps that nothing reads."""
    edges, idle = dict(net.edges), set[int]()
    for layer in net.layers.values():
        clamp = _idle(Op(net=net, layer=layer, inputs=(), conversion=conversion))
        if clamp is not None:
            edges[layer.id, layer.inputs[0].id] = net.edges[clamp.id, clamp.inputs[0].id]
            idle.add(clamp.id)
    return rewired(net, net.layers, edges, idle) if idle else net


def _idle(op: Op) -> Layer | None:
    """Return the Clamp that a FakeQuantize reads, if it is idle."""
    levels = integer_layers.read_ranges(op)
    source = op.net.source(op.layer, 0)
    if levels is None or source is None or source[0].type.lower() != "clamp":
        return None
    clamp = replace(op, layer=source[0], read=set())
    is_fed = op.net.source(source[0], 0) is not None
    return source[0] if is_fed and levels.are_within(clamp.real("min"), clamp.real("max")) else None


TYPE = "DynamicQuantizeLinear of ONNX"
"""The type of the layer that replaces all; OpenVINO has none of this name."""


def gathered_levels(net: Net) -> Net:
    """Return a net in which one layer replaces those of each DynamicQuantizeLinear."""
    for layer in list(net.layers.values()):
        pattern = _Found.of(net, layer)
        net = net if pattern is None else _with_one(net, pattern)
    return net


def emit_dynamic(graph: Graph, op: Op) -> tuple[str, ...]:
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


_TYPE = "interpolate"


def with_computed_shapes(net: Net, conversion: Conversion) -> Net:
    """Return a net whose outputs declare the shapes that such resizes compute; ``check_padding`` refuses the others."""
    corrected = {}
    for layer in net.layers.values():
        if layer.type.lower() != _TYPE or not layer.outputs:
            continue
        try:
            resize = read_layer(net, layer, conversion.semantics)
        except IrInterpError:
            continue  # its emitter raises the same
        shape = _computed(resize, layer)
        if shape is not None and _feeds_outputs_alone(net, layer) and not _goes_astray(resize):
            corrected[layer.id] = replace(layer, outputs=(replace(layer.outputs[0], shape=shape), *layer.outputs[1:]))
    return net.with_only(net.layers | corrected, net.edges) if corrected else net


def check_padding(op: Op, resize: ResizeOp) -> None:
    """Raise UnsupportedLayerError for pads of unlisted axes whose result OpenVINO leaves open."""
    if _computed(resize, op.layer) is None:
        return
    axes = _unlisted(resize)
    what = f"it pads {'axis' if len(axes) == 1 else 'axes'} {', '.join(map(str, axes))}, not listed among its axes"
    if _goes_astray(resize):
        what = f"{what}, and OpenVINO applies these pads to others"
    else:
        what = f"{what}, so that the layers behind it read another shape than the declared one"
    raise op.refusal(f"{what}; put a Pad in front of it instead")


def _computed(resize: ResizeOp, layer: Layer) -> PartialShape | None:
    """Return the shape that a resize computes if the declared one lacks pads of unlisted axes; else None."""
    declared, padded = layer.outputs[0].shape, _unlisted(resize)
    if not padded or resize.shape is None or declared is None or len(declared) != len(resize.shape):
        return None
    with_pads = resize.spec.padded(resize.shape)
    shape = tuple(with_pads[axis] if axis in padded else size for axis, size in enumerate(declared))
    return None if shape == declared else shape


def _goes_astray(resize: ResizeOp) -> bool:
    """Return whether OpenVINO applies its pads to other axes."""
    rank = len(resize.shape or ())
    return pads_go_astray(resolve_axes(resize.spec.axes, rank), [pad.axis for pad in resize.spec.pads], rank)


def _unlisted(resize: ResizeOp) -> list[int]:
    """Return the axes that a resize pads and does not list."""
    axes = resolve_axes(resize.spec.axes, len(resize.shape or ()))
    return [pad.axis for pad in resize.spec.pads if pad.axis not in axes]


def _feeds_outputs_alone(net: Net, layer: Layer) -> bool:
    return all(reader.type.lower() == "result" for reader in net.readers(layer, layer.outputs[0]))
