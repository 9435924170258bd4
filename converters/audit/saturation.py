"""Sums of 8-bit products that may saturate on some processors, and by how much at most.

Whether a pair of products can exceed 16 bits follows from its weights: the other factor is at most 255. Runtimes pair
terms in orders of their own, so the bound takes the pairs that lose most: the largest weights of a channel with each
other. See ``runtimes.execution`` for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ir_interp.files.kinds import FileKind
from ir_interp.ir.ir_files import Layer, Net, nets
from ir_interp.resize_op import count
from ir_interp.shapes import Array
from ir_interp.version import processor

from ..ir_to_onnx import small_weights
from ..reports import PlainCall
from ..runtimes.execution import LIMITS, ONNXRUNTIME, OPENVINO, Saturating

Calls = tuple[PlainCall, ...]
_MOST = 255
"""The largest unsigned factor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A product whose sums may saturate, by the name of its result.

    ``most`` is the largest error: in levels of the result if ``in_levels``, else in units of the integer sum, and
    None if the weights are computed at run time.
    """

    name: str
    most: float | None
    in_levels: bool = True

    @property
    def text(self) -> str:
        """The error as text, as in ``by up to 12 levels at 'c'``."""
        if self.most is None:
            return f"by an unknown amount at {self.name!r}, whose factors are both computed at run time"
        unit = "levels" if self.in_levels else "in a sum of integers"
        return f"by up to {self.most:,.0f} {unit} at {self.name!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """The 8-bit products of a model in a runtime: how many there are, and those that may saturate."""

    runtime: Saturating
    products: int
    losses: tuple[Loss, ...]

    @property
    def worst(self) -> Loss:
        """The product with the largest error; one in levels if there is one."""
        return max(self.losses, key=lambda loss: (loss.most is None, loss.in_levels, loss.most or 0.0))

    @property
    def text(self) -> str:
        """All of it in one line."""
        name, products = self.runtime.runtime, count(self.products, "8-bit product")
        if not self.losses:
            return f"{products}: no sum can saturate in {name}, so results do not depend on the processor"
        here = "as this processor" if processor() in self.runtime.processors else "not this processor"
        return (
            f"{len(self.losses)} of {products} may saturate in {name} on {self.runtime.text} ({here}), "
            f"{self.worst.text}; to avoid it, {self.runtime.setting}, or quantise weights to 7 bits"
        )


def saturation(path: Path, *, through_openvino: bool = False) -> Saturation | None:
    """Return the 8-bit products of a model (.onnx, .xml) in its own runtime; None if it has none.

    ``through_openvino`` means that OpenVINO runs an .onnx file.
    """
    if FileKind.of(path) is FileKind.IR:
        runtime, found = OPENVINO, [loss for net in nets(path) for loss in _of_net(net)]
    elif FileKind.of(path) is FileKind.ONNX:
        runtime, found = OPENVINO if through_openvino else ONNXRUNTIME, list(_of_onnx(path))
    else:
        return None
    losses = tuple(loss for loss in found if loss is not None)
    return Saturation(runtime=runtime, products=len(found), losses=losses) if found else None


def bounded(calls: Sequence[PlainCall], models: Mapping[Path, bool]) -> Calls:
    """Return plain calls of ``models`` with what their sums may lose on other processors than this one.

    The value of a model is whether OpenVINO runs it although it is an .onnx file.
    """
    known = {path.name: saturation(path, through_openvino=value) for path, value in models.items()}
    return tuple(replace(call, elsewhere=_elsewhere(known.get(call.model))) for call in calls)


def _elsewhere(known: Saturation | None) -> str:
    """Return how far sums may saturate on other processors than this one; empty if nowhere."""
    if known is None or not known.losses:
        return ""
    others = known.runtime.processors - {processor()}
    return f"{known.worst.text}, on {' and '.join(sorted(other.value for other in others))}" if others else ""


def most_lost(weights: Array) -> NDArray[np.float64]:
    """Return the largest error of the sum of each row of signed ``weights`` times unsigned factors, in integers.

    Each pair of terms saturates at 16 bits. Positive and negative weights lose in opposite directions, so the larger
    of both losses counts.
    """
    lost = np.zeros((2, len(weights)))
    for row, terms in enumerate(weights.astype(np.int64)):
        for place, (sign, limit) in enumerate(zip((-1, 1), LIMITS, strict=True)):
            # The loss of a pair is convex in its weights: neighbours in descending order lose most together.
            same = np.sort(np.maximum(sign * terms, 0))[::-1]
            pairs = same[: len(same) // 2 * 2].reshape(-1, 2).sum(axis=1)
            lost[place, row] = np.maximum(_MOST * pairs - abs(limit), 0).sum()
    return np.asarray(lost.max(axis=0))


def _loss(name: str, weights: Array | None, levels: NDArray[np.float64] | None) -> Loss | None:
    """Return what a product may lose; None if it cannot saturate."""
    if weights is None:
        return Loss(name=name, most=None)
    lost = most_lost(weights)
    if not lost.any():
        return None
    if levels is None:
        return Loss(name=name, most=float(lost.max()), in_levels=False)
    return Loss(name=name, most=min(float(np.ceil((lost * levels).max())), _MOST))  # there are no more levels


# ONNX


def _of_onnx(path: Path) -> Iterator[Loss | None]:
    """Yield the loss of each product of 8-bit integers, None for those that cannot saturate."""
    from ..onnx.byte_products import count_products, products
    from ..onnx.onnx_files import read_model

    model = read_model(path)
    mixed = [_loss(each.name, each.weights, each.levels) for each in products(model, str(path.parent))]
    yield from mixed
    yield from [None] * (count_products(model) - len(mixed))


# IR

_PRODUCTS = ("convolution", "groupconvolution", "convolutionbackpropdata", "groupconvolutionbackpropdata", "matmul")
_ENDS = (*_PRODUCTS, "fakequantize", "parameter", "const")


def _of_net(net: Net) -> Iterator[Loss | None]:
    """Yield the loss of each product between levels and constant weights, None for those that cannot saturate."""
    for layer in net.layers.values():
        if layer.type.lower() in _PRODUCTS and _reads_levels(net, layer):
            weights = _weights(net, layer)
            if weights is not None:
                yield None if _is_depthwise(layer) else _of_layer(net, layer, weights)


def _reads_levels(net: Net, layer: Layer) -> bool:
    """Return whether a FakeQuantize rounds what a layer multiplies: OpenVINO moves its scale behind the product."""
    source = net.source(layer, 0)
    seen = set[int]()
    waiting = [source[0]] if source else []
    while waiting:
        reached = waiting.pop()
        kind = reached.type.lower()
        if kind == "fakequantize":
            return int(reached.attributes["levels"]) <= _MOST + 1
        if kind not in _ENDS and reached.id not in seen:
            seen.add(reached.id)
            sources = (net.source(reached, place) for place in range(len(reached.inputs)))
            waiting += [before[0] for before in sources if before is not None]
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weights:
    """Signed weights with a row for each output channel, and what 1 of them stands for, by channel or for all."""

    rows: Array
    step: NDArray[np.float64]


def _weights(net: Net, layer: Layer) -> _Weights | None:
    """Return constant signed weights of 8 bits; None for others, which OpenVINO multiplies in floating point."""
    source = net.source(layer, 1)
    if source is None:
        return None
    maker = source[0]
    while maker.type.lower() in ("reshape", "transpose"):
        before = net.source(maker, 0)
        if before is None:
            return None
        maker = before[0]
    signed = _rounded(net, maker) if maker.type.lower() == "fakequantize" else _stored(net, maker)
    if signed is None:
        return None
    integers, step = signed
    return _in_rows(layer, integers, np.broadcast_to(step, integers.shape))


_Signed = tuple[Array, NDArray[np.float64]]
"""Signed weights, and what 1 of them stands for."""


def _stored(net: Net, product: Layer) -> _Signed | None:
    """Return the weights that a Multiply scales; None for others, and for blocks."""
    stored = small_weights.read(net, product)
    if stored is None or stored.values.dtype != np.int8 or stored.block:
        return None
    step = np.asarray(stored.scale, np.float64)
    if stored.axis is not None:
        step = step.reshape([-1 if axis == stored.axis else 1 for axis in range(stored.values.ndim)])
    return stored.values, step


def _rounded(net: Net, fake: Layer) -> _Signed | None:
    """Return the constant weights that a FakeQuantize rounds; None for others."""
    sources = [net.source(fake, place) for place in range(5)]
    values = [None if source is None else small_weights.constant(net, source[0]) for source in sources]
    known = [value.astype(np.float64) for value in values if value is not None]
    last = int(fake.attributes["levels"]) - 1
    if len(known) < len(values) or last > _MOST:
        return None
    stored, low, high, out_low, out_high = known
    with np.errstate(divide="ignore", invalid="ignore"):  # channels of one value
        places = np.nan_to_num(np.clip(np.rint((stored - low) * last / (high - low)), 0, last))
        first = np.rint(np.nan_to_num(out_low * last / (out_high - out_low)))
    return first + places, np.abs(out_high - out_low) / last


def _in_rows(layer: Layer, integers: Array, step: Array) -> _Weights:
    """Return weights with their terms along rows, and one step for each row: the largest of its terms."""
    kind = layer.type.lower()
    if kind == "matmul":
        is_turned = layer.attributes.get("transpose_b", "").lower() in ("true", "1")
        if not is_turned and integers.ndim > 1:
            integers, step = integers.swapaxes(-1, -2), step.swapaxes(-1, -2)
        rows, steps = (array.reshape(-1, array.shape[-1]) for array in (integers, step))
    else:
        channels = 2 if kind.startswith("group") else 1  # groups and their channels come first
        if "backprop" in kind:  # input channels before output channels
            integers, step = (np.moveaxis(array, channels, channels - 1) for array in (integers, step))
        size = int(np.prod(integers.shape[:channels]))
        rows, steps = integers.reshape(size, -1), step.reshape(size, -1)
    return _Weights(rows=rows, step=np.asarray(steps.max(axis=1, initial=0.0)))


def _is_depthwise(layer: Layer) -> bool:
    """Return whether a convolution has one channel a group, whose kernel widens each product first."""
    shape = layer.inputs[1].shape
    return layer.type.lower() == "groupconvolution" and shape is not None and shape[1:3] == (1, 1)


def _of_layer(net: Net, layer: Layer, weights: _Weights) -> Loss | None:
    first, last = _step_before(net, layer), _step_after(net, layer)
    levels = None if first is None or last is None else np.asarray(weights.step * first / last)
    return _loss(layer.name, weights.rows, levels)


def _step_before(net: Net, layer: Layer) -> float | None:
    """Return the distance of two levels of a product's first factor, the largest of its channels; None if unknown."""
    source = net.source(layer, 0)
    while source is not None and source[0].type.lower() in _SAME_LEVELS:
        source = net.source(source[0], 0)
    return None if source is None else _step(net, source[0], (3, 4), np.max)


def _step_after(net: Net, layer: Layer) -> float | None:
    """Return the distance of two levels to which a result is rounded, the smallest of its channels; None if none."""
    readers = net.readers(layer, layer.outputs[0])
    while len(readers) == 1 and readers[0].type.lower() in _BEFORE_LEVELS:
        readers = net.readers(readers[0], readers[0].outputs[0])
    return _step(net, readers[0], (1, 2), np.min) if len(readers) == 1 else None


_SAME_LEVELS = ("maxpool", "reshape", "squeeze", "transpose", "unsqueeze")
_BEFORE_LEVELS = ("add", "clamp", "prelu", "relu", "reshape", "transpose")


def _step(net: Net, fake: Layer, places: tuple[int, int], of_all: Callable[[Array], float]) -> float | None:
    """Return the distance of two levels between the limits of a FakeQuantize at two inputs; None for other layers."""
    if fake.type.lower() != "fakequantize":
        return None
    sources = [net.source(fake, place) for place in places]
    low, high = (None if source is None else small_weights.constant(net, source[0]) for source in sources)
    if low is None or high is None:
        return None
    widths = np.abs(high.astype(np.float64) - low) / (int(fake.attributes["levels"]) - 1)
    return float(of_all(widths)) or None
