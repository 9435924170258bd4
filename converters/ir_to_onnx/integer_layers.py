"""Layers that onnxruntime computes in integers: those it finds between input levels and output levels.

First the ranges of a FakeQuantize: levels between two limits, and the same as integers of 8 bits. Then scales of
channels between two convolutions, absorbed by their weights: before a depthwise convolution, tools quantise each
channel by its own scale, and onnxruntime multiplies integers of one scale only.
"""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import onnx
from numpy.typing import NDArray

from ir_interp.ir.ir_files import Layer
from ir_interp.shapes import Array

from ..onnx.onnx_graph import Graph
from . import small_weights
from .layers import Op

_Numbers = NDArray[np.float32]
MOST = 256
"""Levels of 8 bits."""

_WHOLE = 1e-4  # of a level: the largest distance from an integer of a zero point that two float32 limits determine


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Scales of an input or output, and their zero points: one each, or one for each channel."""

    scale: _Numbers
    zero: NDArray[np.float64]

    def written(self, graph: Graph, first: int = 0) -> tuple[str, str]:
        """Return scale and zero point as constants, the first level being the integer ``first``."""
        scale = graph.constant(self.scale)
        graph.exact.add(scale)
        return scale, graph.constant((self.zero + first).astype(level_type(first)))

    def in_levels(self) -> Side | None:
        """Return the zero point that is left after a product applied the scales; None if channels have several."""
        same = self.zero.size and (self.zero == self.zero.flat[0]).all()
        return Side(scale=np.ones((), np.float32), zero=self.zero.ravel()[0]) if same else None

    @property
    def parts_at_ties(self) -> bool:
        """Whether QuantizeLinear rounds values right between two levels other than FakeQuantize.

        It rounds before it adds the zero point, both to even: under an odd zero point they differ. Values are known to
        lie there only if the step is a power of two.
        """
        return bool(((self.zero % 2 == 1) & (np.frexp(self.scale)[0] == 0.5)).any())

    def is_single(self) -> bool:
        """Return whether there is one scale for all."""
        return not self.scale.ndim

    def equals(self, other: Side | None) -> bool:
        """Return whether another has the same numbers."""
        return other is not None and np.array_equal(self.scale, other.scale) and np.array_equal(self.zero, other.zero)


def level_type(first: int) -> type[np.int8 | np.uint8]:
    """Return the type of levels, the first of which is the integer ``first``."""
    return np.int8 if first else np.uint8


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Limits of the input and of the output, which are the first and the last of ``count`` levels.

    ``rank`` is that of the input.
    """

    count: int
    low: _Numbers
    high: _Numbers
    out_low: _Numbers
    out_high: _Numbers
    rank: int

    @property
    def scale(self) -> _Numbers:
        """The number of levels in one unit of the input."""
        return np.float32(self.count - 1) / (self.high - self.low)

    @property
    def out_step(self) -> _Numbers:
        """The distance of two levels in the output."""
        return (self.out_high - self.out_low) / np.float32(self.count - 1)

    @property
    def bounds(self) -> tuple[_Numbers, _Numbers]:
        """The limits of the input."""
        return np.minimum(self.low, self.high), np.maximum(self.low, self.high)

    @cached_property
    def before(self) -> Side | None:
        """The input as integers; None if the zero point is not an integer of 8 bits."""
        return self._side(self.low, self.high)

    @cached_property
    def after(self) -> Side | None:
        """The output as integers, as ``before``."""
        return self._side(self.out_low, self.out_high)

    @property
    def spread(self) -> tuple[int, ...]:
        """The shape that all limits have together."""
        limits = (self.low, self.high, self.out_low, self.out_high)
        return np.broadcast_shapes(*(limit.shape for limit in limits))

    @property
    def axis(self) -> int | None:
        """The axis along which limits vary, 0 if they do not; None for several, or if the rank is unknown."""
        shape = self.spread
        several = [axis + self.rank - len(shape) for axis, length in enumerate(shape) if length > 1]
        return None if len(shape) > self.rank or len(several) > 1 else sum(several)

    @property
    def are_of_channels(self) -> bool:
        """Whether each channel has its own levels, of 8 bits, in ascending order."""
        rises = (self.low < self.high).all() and (self.out_low < self.out_high).all()
        return self.count == MOST and self.axis == 1 and bool(rises)

    @property
    def have_one_zero(self) -> bool:
        """Whether each channel has its own levels, of 8 bits, all with the same zero point."""
        sides = (self.before, self.after)
        same = all(side is not None and side.in_levels() is not None for side in sides)
        return self.count == MOST and self.axis == 1 and same

    @property
    def end_at_zero(self) -> bool:
        """Whether zero is the lowest level."""
        return not self.low.any() and bool((self.high > 0).all())

    @property
    def single(self) -> Side | None:
        """The output as integers if there is one scale for all; else None."""
        is_one = all(side is not None and side.is_single() for side in (self.before, self.after))
        return self.after if is_one and self.axis is not None else None

    def from_lowest(self, step: _Numbers) -> Side:
        """Return a scale for each channel, of levels that are counted from the lowest."""
        scale = np.broadcast_to(step, self.spread).ravel()
        return Side(scale=scale, zero=np.zeros(scale.shape))

    def are_within(self, low: float, high: float) -> bool:
        """Return whether values beyond two limits become the first or last level, as the limits themselves do."""
        # A limit may lie a quarter of a level inside: half a level would still round to the first or last one, but for
        # errors of float32.
        step = (self.high - self.low) / np.float32(4 * (self.count - 1))
        return bool((step > 0).all() and (self.low + step >= low).all() and (self.high - step <= high).all())

    def of(self, values: Array) -> _Numbers:
        """Return the level of each value, from 0."""
        return np.asarray(np.rint(np.clip(values, *self.bounds) * self.scale - self.low * self.scale))

    def _side(self, low: _Numbers, high: _Numbers) -> Side | None:
        first, last = (np.broadcast_to(limit, self.spread).ravel() for limit in (low, high))
        if not 2 <= self.count <= MOST or not np.isfinite(last - first).all() or not (first < last).all():
            return None
        scale = (last - first) / np.float32(self.count - 1)
        # In float64, so that nothing but the float32 of the limits keeps the zero point from an integer.
        exact = -first.astype(np.float64) * (self.count - 1) / (last.astype(np.float64) - first)
        zero = np.rint(exact)
        if (np.abs(exact - zero) > _WHOLE).any() or (zero < 0).any() or (zero >= self.count).any():
            return None
        single = () if scale.size == 1 else scale.shape
        return Side(scale=scale.reshape(single), zero=zero.reshape(single))


def read_ranges(op: Op) -> Ranges | None:
    """Return the ranges of a FakeQuantize; None for any other layer, and for ranges known only at run time."""
    if op.layer.type.lower() != "fakequantize":
        return None
    limits = [op.value(index) for index in range(1, 5)]
    known = [np.asarray(limit, np.float32) for limit in limits if limit is not None]
    if len(known) < 4:
        return None
    low, high, out_low, out_high = known
    rank = len(op.shape() or ())
    return Ranges(count=op.integer("levels"), low=low, high=high, out_low=out_low, out_high=out_high, rank=rank)


_PASSED = {"relu": "Relu", "maxpool": "MaxPool"}
"""Layers through which positive factors may be moved, and their nodes."""


def scaled_before(graph: Graph, op: Op, factors: _Numbers, shifts: _Numbers | None = None) -> str | None:
    """Return the input of a layer times factors of channels, by the convolution before it; None if none can.

    ``shifts`` are added to that, but not through a Relu. The convolution and the layers between are written anew, and
    the first ones left out at the end.
    """
    tensor, passed = op.inputs[0], list[onnx.NodeProto]()
    if not is_alone(op):
        return None
    # A positive factor commutes with Relu and maximum, a summand with the maximum only.
    moved_through = _PASSED.values() if shifts is None else ("MaxPool",)
    while (node := graph.maker(tensor)) is not None and node.op_type in moved_through:
        passed.append(node)
        tensor = node.input[0]
    if node is None or node.op_type != "Conv" or len(node.output) != 1:
        return None
    stored = small_weights.held(graph, node.input[1])
    biases = [graph.initialisers.get(name) for name in node.input[2:]]
    scaled = None if stored is None else stored.times(factors)
    if scaled is None or scaled.since > graph.opset or any(bias is None for bias in biases):
        return None
    added = [values * factors.ravel() for values in biases if values is not None]
    added += [] if shifts is None else [shifts.ravel()]
    bias = [graph.constant(np.asarray(sum(added), np.float32))] if added else []
    output = graph.again(node, node.input[0], scaled.written(graph, graph.layer), *bias)
    for step in reversed(passed):
        output = graph.again(step, output)
    return output


def is_alone(op: Op) -> bool:
    """Return whether this layer is the only reader of the convolution before it and the layers between."""
    layer, index = op.layer, 0
    while (source := op.net.source(layer, index)) is not None:
        # Another reader needs the unscaled values.
        if len(op.net.readers(*source)) > 1:
            return False
        layer, kind = source[0], source[0].type.lower()
        if kind in CONVOLUTIONS:
            return True
        if kind not in BETWEEN:
            return False
        # One of two inputs is a constant; the chain goes on at the other.
        producer = op.net.source(layer, 0)
        index = 1 if producer is not None and producer[0].type.lower() in ("const", "convert") else 0
    return False


def unscaled(graph: Graph, tensor: str, made_by: str = "DequantizeLinear") -> tuple[str, _Numbers] | None:
    """Return levels, and the factors of channels that turn them into a tensor; None for any other tensor.

    ``made_by`` is the operation that produces the levels: Sub if their zero was several bytes.
    """
    node = graph.maker(tensor)
    factors = graph.initialisers.get(node.input[1]) if node is not None and node.op_type == "Mul" else None
    if node is None or factors is None or factors.ndim < 2 or factors.size != factors.shape[1]:
        return None
    before = graph.maker(node.input[0])
    return (node.input[0], factors) if before is not None and before.op_type == made_by else None


def kept_in_floats(graph: Graph, op: Op, tensor: str, *, ends_at_zero: bool = False, of_integers: bool = False) -> str:
    """Return a tensor that is about to be rounded, such that weights before it stay unchanged.

    Between input levels and output levels, onnxruntime converts float weights to integers of one scale, which moves
    most results by some levels. It does not notice that the lowest number limits nothing, nor
    that a LeakyRelu with slope 0 is a Relu, which costs no more; the latter is possible if the lowest level
    ``ends_at_zero``. With ``of_integers`` integer weights are protected as well. Levels that are rounded
    to other levels would become one rounding, to neither.
    """
    if _are_levels(graph, tensor):
        return in_floats(graph, tensor)
    node = graph.maker(_through(graph, tensor, _SEEN_THROUGH))
    if node is None or node.op_type not in _ROUNDED_BY_ONNXRUNTIME:
        return tensor
    if not of_integers and small_weights.held(graph, node.input[1]) is not None:
        return tensor
    source = graph.maker(_through(graph, node.input[0], _MOVED))
    if source is None or source.op_type != "DequantizeLinear":
        return tensor
    last = graph.maker(tensor)
    if last is not None and last.op_type == "Relu" and is_alone(op):
        return graph.node("LeakyRelu", last.input[0], alpha=0.0)
    if ends_at_zero:
        return graph.node("LeakyRelu", tensor, alpha=0.0)
    return in_floats(graph, tensor)


def _are_levels(graph: Graph, tensor: str) -> bool:
    node = graph.maker(tensor)
    while node is not None and node.op_type in _MOVED:
        node = graph.maker(node.input[0])
    return node is not None and node.op_type == "DequantizeLinear"


def in_floats(graph: Graph, tensor: str) -> str:
    """Return a tensor that onnxruntime takes for a different one."""
    return graph.node("Max", tensor, graph.constant(np.finfo(np.float32).min))  # which limits nothing


_ROUNDED_BY_ONNXRUNTIME = ("Conv", "ConvTranspose", "Gemm")
_MOVED = ("MaxPool", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Slice")
_SEEN_THROUGH = (*_MOVED, "Relu", "Clip")
_TAKEN_IN = ("Mul", "Add")
"""Arithmetic with a constant that onnxruntime fuses into a convolution."""


def _through(graph: Graph, tensor: str, kinds: Sequence[str]) -> str:
    while (node := graph.maker(tensor)) is not None and (node.op_type in kinds or _is_taken_in(graph, node)):
        tensor = next(name for name in node.input if name not in graph.initialisers)
    return tensor


def _is_taken_in(graph: Graph, node: onnx.NodeProto) -> bool:
    return node.op_type in _TAKEN_IN and any(name in graph.initialisers for name in node.input)


CONVOLUTIONS = ("convolution", "groupconvolution")
BETWEEN = (*_PASSED, "add")
"""Layers allowed behind a convolution: a bias, and those through which factors are moved."""


_MOVES = ("maxpool", "reshape", "transpose", "squeeze", "unsqueeze")  # these keep levels
_BETWEEN = (*_MOVES, "add", "relu")  # a bias
_FEW = 4
"""Channels for which onnxruntime's integer convolution is slower than the float one: mostly images."""


def are_multiplied(op: Op) -> bool:
    """Return whether a convolution should use integers: its input and its output are levels, of one scale each.

    Scales of channels qualify if weights absorb them: those of a depthwise convolution behind, and those of the
    convolution before.
    """
    if op.layer.type.lower() not in CONVOLUTIONS or not _takes_levels(op):
        return False
    return _feeds_channels(op) or (_feeds_levels(op) and not _has_few_channels(op))


def _takes_levels(op: Op) -> bool:
    source = op.net.source(op.layer, 0)
    side = read_ranges(replace(op, layer=source[0])) if source else None
    if side is not None and side.have_one_zero and is_of_single_channels(op):
        return True
    return levels(op, 0) is not None


def makes_levels(op: Op) -> bool:
    """Return whether the output of a convolution becomes levels that its weights can be scaled to."""
    return _feeds_channels(op) or _feeds_levels(op)


def _feeds_channels(op: Op) -> bool:
    readers, passed = _behind(op, BETWEEN)
    return len(readers) == 1 and _takes_scales(op, readers[0], passed)


def _feeds_levels(op: Op) -> bool:
    readers, _ = _behind(op, _BETWEEN)
    return bool(readers) and all(_single(op, reader) is not None for reader in readers)


def _behind(op: Op, passing: Sequence[str]) -> tuple[list[Layer], set[str]]:
    """Return the readers of a layer's output behind layers of some types, and the types of these."""
    result, passed = op.layer, set[str]()
    while len(readers := op.net.readers(result, result.outputs[0])) == 1 and _passes(op, readers[0], passing):
        result = readers[0]
        passed.add(result.type.lower())
    return readers, passed


def _passes(op: Op, layer: Layer, passing: Sequence[str]) -> bool:
    """Return whether a layer is of some types; an Add must add a constant."""
    kind = layer.type.lower()
    added = (op.net.source(layer, index) for index in range(len(layer.inputs) if kind == "add" else 0))
    is_bias = any(source is not None and small_weights.constant(op.net, source[0]) is not None for source in added)
    return kind in passing and (kind != "add" or is_bias)


def are_taken_in(op: Op) -> bool:
    """Return whether a depthwise convolution of integers reads a layer's output, and takes in its scales."""
    readers = (replace(op, layer=reader) for reader in op.net.readers(op.layer, op.layer.outputs[0]))
    return any(is_of_single_channels(reader) and makes_levels(reader) for reader in readers)


def is_of_single_channels(op: Op) -> bool:
    """Return whether a convolution is depthwise: each group has one channel."""
    return op.layer.type.lower() == "groupconvolution" and op.lengths(1)[2] == 1


def _has_few_channels(op: Op) -> bool:
    return op.layer.type.lower() == "convolution" and op.lengths(1)[1] <= _FEW


def _takes_scales(op: Op, layer: Layer, passed: AbstractSet[str]) -> bool:
    """Return whether a layer's output becomes levels of scales of channels that a convolution before it absorbs."""
    its = read_ranges(replace(op, layer=layer))
    return its is not None and its.are_of_channels and ("relu" not in passed or its.have_one_zero)


def _single(op: Op, layer: Layer) -> Side | None:
    its = read_ranges(replace(op, layer=layer))
    return its.single if its else None


def levels(op: Op, index: int) -> Side | None:
    """Return the scale and the zero point of an input whose values are all levels of one scale; None for others."""
    source = op.net.source(op.layer, index)
    if source is None:
        return None
    before = replace(op, layer=source[0])
    kind = source[0].type.lower()
    if kind in _MOVES:
        return levels(before, 0)
    if kind != "concat":
        return _single(op, source[0])
    first, *others = (levels(before, index) for index in range(len(source[0].inputs)))
    return first if first is not None and all(first.equals(other) for other in others) else None


def marked(graph: Graph, op: Op, tensor: str) -> str:
    """Return the result of a layer on levels, rounded to the same levels, if a convolution of integers reads it.

    This changes no value; onnxruntime finds levels only directly before a convolution.
    """
    readers = [replace(op, layer=reader) for reader in op.net.readers(op.layer, op.layer.outputs[0])]
    marks = [levels(reader, 0) for reader in readers if are_multiplied(reader)]
    if not marks or marks[0] is None:
        return tensor
    return rounded(graph, tensor, marks[0])


def rounded(graph: Graph, tensor: str, side: Side) -> str:
    """Return a tensor rounded to levels."""
    written = side.written(graph)
    return graph.node("DequantizeLinear", graph.node("QuantizeLinear", tensor, *written), *written)


def rounded_floats(graph: Graph, tensor: str) -> tuple[onnx.NodeProto, onnx.NodeProto] | None:
    """Return the nodes that round a tensor to levels and convert them to numbers, unless an integer kernel made it.

    Such levels lie in memory as floats do. onnxruntime is slow in taking their maximum, and fast if bytes have
    their channels last.
    """
    after = graph.maker(tensor)
    before = graph.maker(after.input[0]) if after is not None and after.op_type == "DequantizeLinear" else None
    if after is None or before is None or before.op_type != "QuantizeLinear":
        return None
    return (before, after) if _are_floats(graph, before.input[0]) else None


def _are_floats(graph: Graph, tensor: str) -> bool:
    maker = graph.maker(tensor)
    while maker is not None and maker.op_type in ("Relu", "LeakyRelu", "Clip", "MaxPool"):
        maker = graph.maker(maker.input[0])
    if maker is None:
        return True
    if maker.op_type == "Conv":
        return small_weights.held(graph, maker.input[1]) is None
    sources = (graph.maker(name) for name in maker.input)
    return any(source is None or source.op_type != "DequantizeLinear" for source in sources)
