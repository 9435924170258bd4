"""FakeQuantize: as integers where they say the same, else in the arithmetic of OpenVINO's CPU plugin."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ir_interp.ir.net import Layer, tensor_name

from ...onnx import levels as in_levels
from ...onnx.graph import Graph
from .. import channel_scales, weights
from ..merged import BROADCASTS
from ..op import Array, Op

_Numbers = NDArray[np.float32]
_SINCE_AXIS = 13
_WHOLE = 1e-4  # of a level: so far from a whole number a zero point may be that two float32 limits say


@dataclass(frozen=True, slots=True, kw_only=True)
class _Levels:
    """Limits of what comes in and of what comes out, which are the first and the last of ``count`` levels."""

    count: int
    low: _Numbers
    high: _Numbers
    out_low: _Numbers
    out_high: _Numbers

    @property
    def scale(self) -> _Numbers:
        """How many levels one unit of what comes in has."""
        return np.float32(self.count - 1) / (self.high - self.low)

    @property
    def out_step(self) -> _Numbers:
        """How far two levels lie apart in what comes out."""
        return (self.out_high - self.out_low) / np.float32(self.count - 1)

    @property
    def bounds(self) -> tuple[_Numbers, _Numbers]:
        """What comes in is limited by these."""
        return np.minimum(self.low, self.high), np.maximum(self.low, self.high)

    def of(self, values: Array) -> _Numbers:
        """Return the level of each value, from 0."""
        return np.asarray(np.rint(np.clip(values, *self.bounds) * self.scale - self.low * self.scale))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """Scales of what comes in or goes out, and the levels that are zero: one each, or one for each channel."""

    scale: _Numbers
    zero: NDArray[np.float64]

    def written(self, graph: Graph, first: int = 0) -> tuple[str, str]:
        """Return scale and zero point as constants, the first level being the integer ``first``."""
        scale = graph.constant(self.scale)
        graph.exact.add(scale)
        return scale, graph.constant((self.zero + first).astype(_kind(first)))

    def in_levels(self) -> _Side | None:
        """Return what is left once a product took the scales: one zero point; None where channels have several."""
        same = self.zero.size and (self.zero == self.zero.flat[0]).all()
        return _Side(scale=np.ones((), np.float32), zero=self.zero.ravel()[0]) if same else None


def _kind(first: int) -> type[np.int8 | np.uint8]:
    return np.int8 if first else np.uint8


def _fake_quantize(graph: Graph, op: Op) -> str:
    if op.word("auto_broadcast", BROADCASTS, "numpy") == "pdpd":
        raise op.refusal("it aligns axes as pdpd does")
    levels = _levels(op)
    if levels is None:
        raise op.refusal("its ranges are known only at run time")
    return _in_integers(graph, op, levels) or _in_channels(graph, op, levels) or _in_floats(graph, op, levels)


def _levels(op: Op) -> _Levels | None:
    """Return the levels of a FakeQuantize; None where run time knows them."""
    limits = [op.value(index) for index in range(1, 5)]
    known = [np.asarray(each, np.float32) for each in limits if each is not None]
    if len(known) < 4:
        return None
    low, high, out_low, out_high = known
    return _Levels(count=op.integer("levels"), low=low, high=high, out_low=out_low, out_high=out_high)


def _in_integers(graph: Graph, op: Op, levels: _Levels) -> str | None:
    """Return QuantizeLinear and DequantizeLinear, of constants the latter alone; None where they are not the same.

    They are where zero is a level. QuantizeLinear rounds before it adds the zero point, FakeQuantize after: both to
    even, so that under an odd zero point they part on what lies right between two levels. Values of which that can be
    said are those of a step that is a power of two.
    """
    axis = _axis(op, levels)
    before, after = _side(levels.low, levels.high, levels), _side(levels.out_low, levels.out_high, levels)
    if before is None or after is None or axis is None:
        return None
    source = op.net.source(op.layer, 0)
    held = weights.constant(op.net, source[0]) if source else None
    if held is not None:
        return _stored(graph, op, levels.of(held.astype(np.float32)), after, axis)
    if ((before.zero % 2 == 1) & (np.frexp(before.scale)[0] == 0.5)).any():
        return None
    return _rounded(graph, op, levels, before, after)


def _stored(graph: Graph, op: Op, held: _Numbers, after: _Side, axis: int) -> str | None:
    """Return levels of constants, which are signed where the one in the middle is zero."""
    along = axis if after.scale.ndim else None
    if along is not None and graph.opset < _SINCE_AXIS:
        return None
    middle = op.integer("levels") // 2
    first = -middle if (after.zero == middle).all() else 0
    x = graph.constant((held + first).astype(_kind(first)), name=op.layer.name)
    return graph.node("DequantizeLinear", x, *after.written(graph, first), axis=along)


def _rounded(graph: Graph, op: Op, levels: _Levels, before: _Side, after: _Side) -> str | None:
    """Return what is rounded to levels, and numbers again.

    Integers are unsigned, and of one scale: onnxruntime fails on a convolution before a QuantizeLinear of several, and
    on some signed ones, which it makes unsigned itself. Several scales are products.
    """
    x = op.inputs[0] if levels.count == _MOST else _limited(graph, op.inputs[0], levels)
    if not before.scale.ndim:
        x = channel_scales.kept_in_floats(graph, x)
        x = graph.node("QuantizeLinear", x, *before.written(graph))
        return graph.node("DequantizeLinear", x, *after.written(graph))
    mine, theirs = before.in_levels(), after.in_levels()
    if mine is None or theirs is None:
        return None
    taken = channel_scales.scaled_before(graph, op, levels.scale) if levels.count == _MOST else None
    x = taken or channel_scales.kept_in_floats(graph, _product(graph, x, levels.scale))
    x = graph.node("QuantizeLinear", x, *mine.written(graph))
    whole = graph.fresh(in_levels.of(tensor_name(op.layer, op.layer.outputs[0])))
    graph.rename(graph.node("DequantizeLinear", x, *theirs.written(graph)), whole)
    return _product(graph, whole, levels.out_step)


def _in_channels(graph: Graph, op: Op, levels: _Levels) -> str | None:
    """Return levels of bytes that are shifted in floats, a channel each by its own; None where bytes say no more.

    QuantizeLinear limits and rounds just as FakeQuantize does, so in two operations for three of numbers; and where a
    convolution makes what it is given, that becomes one of integers.
    """
    if levels.count != _MOST or not _has_channels(op, levels) or _is_constant(op):
        return None
    one, none = graph.constant(np.float32(1)), graph.constant(np.uint8(0))
    shift = -levels.low * levels.scale
    x = channel_scales.scaled_before(graph, op, levels.scale, shift)
    if x is None:
        x = channel_scales.kept_in_floats(graph, _line(graph, op.inputs[0], levels.scale, shift))
    x = graph.node("DequantizeLinear", graph.node("QuantizeLinear", x, one, none), one, none)
    after = _side(levels.out_low, levels.out_high, levels)
    if after is None:
        return _line(graph, x, levels.out_step, levels.out_low)
    whole = graph.fresh(in_levels.of(tensor_name(op.layer, op.layer.outputs[0])))
    zero = after.zero.reshape(_spread(levels)).astype(np.float32)
    graph.rename(graph.node("Sub", x, graph.constant(zero)), whole)
    return _product(graph, whole, levels.out_step)


def _is_constant(op: Op) -> bool:
    source = op.net.source(op.layer, 0)
    return source is not None and weights.constant(op.net, source[0]) is not None


def _has_channels(op: Op, levels: _Levels) -> bool:
    """Say whether each channel has levels of its own, which rise."""
    rises = (levels.low < levels.high).all() and (levels.out_low < levels.out_high).all()
    return _axis(op, levels) == 1 and bool(rises)


def _product(graph: Graph, x: str, factors: _Numbers) -> str:
    held = graph.constant(factors)
    graph.exact.add(held)
    return graph.node("Mul", x, held)


_MOST = 256  # levels of 8 bits


def _axis(op: Op, levels: _Levels) -> int | None:
    """Return the axis along which limits change, 0 where they do not; None for several, or of what rank is unknown."""
    rank, shape = len(op.shape() or ()), _spread(levels)
    several = [axis + rank - len(shape) for axis, length in enumerate(shape) if length > 1]
    return None if len(shape) > rank or len(several) > 1 else sum(several)


def _spread(levels: _Levels) -> tuple[int, ...]:
    return np.broadcast_shapes(*(each.shape for each in (levels.low, levels.high, levels.out_low, levels.out_high)))


def _side(low: _Numbers, high: _Numbers, levels: _Levels) -> _Side | None:
    """Return what integers make of two limits; None where the level that is zero is no whole number of 8 bits."""
    first, last = (np.broadcast_to(each, _spread(levels)).ravel() for each in (low, high))
    if not 2 <= levels.count <= _MOST or not np.isfinite(last - first).all() or not (first < last).all():
        return None
    scale = (last - first) / np.float32(levels.count - 1)
    exact = -first.astype(np.float64) * (levels.count - 1) / (last.astype(np.float64) - first)
    zero = np.rint(exact)
    if (np.abs(exact - zero) > _WHOLE).any() or (zero < 0).any() or (zero >= levels.count).any():
        return None
    single = () if scale.size == 1 else scale.shape
    return _Side(scale=scale.reshape(single), zero=zero.reshape(single))


def is_in_integers(op: Op) -> bool:
    """Say whether onnxruntime makes a convolution one of integers: levels go in and come out, of one scale each.

    Scales of channels do where weights take them in: those of the convolution behind, which has to be one of single
    channels, and those of the convolution before.
    """
    source, result = op.net.source(op.layer, 0), op.layer
    if op.layer.type.lower() not in channel_scales.CONVOLUTIONS or source is None:
        return False
    own = _has_one_zero(op, source[0]) and _is_of_single_channels(op)
    while source is not None and source[0].type.lower() in _MOVES:
        source = op.net.source(source[0], 0)
    if source is None or not (own or _has_one_scale(op, source[0])):
        return False
    passed = set()
    while len(readers := op.net.readers(result, result.outputs[0])) == 1 and readers[0].type.lower() in _BETWEEN:
        result = readers[0]
        passed.add(result.type.lower())
    if len(readers) == 1 and passed <= set(channel_scales.BETWEEN) and _takes_scales(op, readers[0], passed):
        return True
    return bool(readers) and all(_has_one_scale(op, each) for each in readers)


_MOVES = ("maxpool", "reshape", "transpose", "squeeze", "unsqueeze")  # levels stay what they are
_BETWEEN = (*_MOVES, "add", "relu")  # a bias


def _is_of_single_channels(op: Op) -> bool:
    return op.layer.type.lower() == "groupconvolution" and op.lengths(1)[2] == 1


def _has_one_scale(op: Op, layer: Layer) -> bool:
    levels = _levels(replace(op, layer=layer)) if layer.type.lower() == "fakequantize" else None
    return levels is not None and _spread(levels) == (1,) * len(_spread(levels))


def _takes_scales(op: Op, layer: Layer, passed: AbstractSet[str]) -> bool:
    """Say whether a layer makes levels of scales of channels that a convolution before it takes in."""
    if layer.type.lower() != "fakequantize":
        return False
    its = replace(op, layer=layer)
    levels = _levels(its)
    if levels is None or levels.count != _MOST or not _has_channels(its, levels):
        return False
    return "relu" not in passed or _has_one_zero(op, layer)


def _has_one_zero(op: Op, layer: Layer) -> bool:
    """Say whether a layer makes levels of scales of channels, all of which are zero at one level."""
    if layer.type.lower() != "fakequantize":
        return False
    its = replace(op, layer=layer)
    levels = _levels(its)
    if levels is None or levels.count != _MOST or _axis(its, levels) != 1:
        return False
    sides = (_side(*limits, levels) for limits in ((levels.low, levels.high), (levels.out_low, levels.out_high)))
    return all(side is not None and side.in_levels() is not None for side in sides)


def _in_floats(graph: Graph, op: Op, levels: _Levels) -> str:
    """Limit, scale and shift, round half to even, scale and shift back."""
    x = _line(graph, _limited(graph, op.inputs[0], levels), levels.scale, -levels.low * levels.scale)
    return _line(graph, graph.node("Round", x), levels.out_step, levels.out_low)


def _limited(graph: Graph, x: str, levels: _Levels) -> str:
    low, high = levels.bounds
    return graph.node("Min", graph.node("Max", x, graph.constant(low)), graph.constant(high))


def _line(graph: Graph, x: str, scale: _Numbers, shift: _Numbers) -> str:
    """Return x * scale + shift, without what changes nothing."""
    if np.any(scale != 1):
        x = graph.node("Mul", x, graph.constant(scale))
    return graph.node("Add", x, graph.constant(shift)) if np.any(shift != 0) else x


TABLE = {"FakeQuantize": _fake_quantize}
