"""The origin of a size: whether the lengths of sequences equal the size of their axis anyway."""

from __future__ import annotations

from dataclasses import dataclass

from ir_interp.ir.fold import fold
from ir_interp.ir.net import Layer, Net, Port


@dataclass(frozen=True, slots=True, kw_only=True)
class _Length:
    """The size of a tensor, the output of a layer at a port, along an axis."""

    layer: Layer
    port: Port
    axis: int

    @property
    def place(self) -> tuple[int, int, int]:
        """Its identity."""
        return self.layer.id, self.port.id, self.axis


def is_whole(net: Net, layer: Layer, index: int, data: int, axis: int) -> bool:
    """Return whether each number of an input is the size of another input, ``data``, along an axis."""
    read, sized = _read(net, layer, index), _at(net, layer, data, axis)
    return read is not None and sized is not None and _origin(net, read).place == _origin(net, sized).place


_SPREADS = {"broadcast", "convert", "reshape", "squeeze", "unsqueeze"}


def _read(net: Net, layer: Layer, index: int) -> _Length | None:
    """Return the size that an input repeats; None for anything else."""
    source = net.source(layer, index)
    while source is not None and source[0].type.lower() in _SPREADS:
        source = net.source(source[0], 0)
    if source is None or source[0].type.lower() != "gather":
        return None
    shape, place = net.source(source[0], 0), fold(net, source[0], 1)
    if shape is None or shape[0].type.lower() != "shapeof" or place is None or place.size != 1 or place.item() < 0:
        return None
    return _at(net, shape[0], 0, int(place.item()))


def _at(net: Net, layer: Layer, index: int, axis: int) -> _Length | None:
    source = net.source(layer, index)
    return None if source is None else _Length(layer=source[0], port=source[1], axis=axis)


def _origin(net: Net, length: _Length) -> _Length:
    """Follow a size through layers that keep it to where it is determined."""
    before = _before(net, length)
    return length if before is None else _origin(net, before)


def _before(net: Net, length: _Length) -> _Length | None:
    kind, axis = length.layer.type.lower(), length.axis
    if kind in _KEEPING:
        return _at(net, length.layer, 0, axis)
    if kind in _SEQUENCES and length.port is length.layer.outputs[0] and axis in (0, 2):
        return _at(net, length.layer, 0, axis // 2)
    if kind == "gather":  # an embedding
        table = length.layer.inputs[0].shape
        is_first = (fold(net, length.layer, 2) == 0) and axis < len(length.port.shape or ()) - len(table or ()) + 1
        return _at(net, length.layer, 1, axis) if is_first and table else None
    if kind == "transpose":
        order = fold(net, length.layer, 1)
        return _at(net, length.layer, 0, int(order[axis])) if order is not None and order.size > axis else None
    if kind == "reshape" and length.layer.attributes.get("special_zero", "").lower() in ("true", "1"):
        pattern = fold(net, length.layer, 1)
        return _at(net, length.layer, 0, axis) if pattern is not None and pattern.ravel()[axis] == 0 else None
    return None


_KEEPING = {"convert", "relu", "sigmoid", "tanh"}
_SEQUENCES = {"lstmsequence", "grusequence", "rnnsequence"}
