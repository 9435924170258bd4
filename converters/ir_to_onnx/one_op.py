"""A pasted layer, or a net that holds nothing but one Interpolate, as an ONNX model."""

from __future__ import annotations

from pathlib import Path

from converters import onnx_nodes
from converters.report import Row
from ir_interp import ir_resizes
from ir_interp.dialect import Semantics
from ir_interp.errors import ReadError
from ir_interp.ir_model import Layer, Net

_ENDS = ("parameter", "result")


def write(net: Net, output: Path, semantics: Semantics, opset: int | None = None) -> tuple[Row, ...]:
    """Write the one Interpolate of a net, or of a snippet. Raises InexactError where Resize has no exact form."""
    (layer,) = _resizes(net)
    op = ir_resizes.read_layer(net, layer, semantics)
    return (onnx_nodes.write_resize(op, output, opset=opset, names=_names(net, layer)),)


def holds_one_resize(net: Net) -> bool:
    """Say whether a net computes nothing but one Interpolate, apart from what feeds its sizes, scales and axes."""
    resizes = _resizes(net)
    if len(resizes) != 1:
        return False
    aside = _feeding(net, resizes[0], range(1, len(resizes[0].inputs)))
    return all(layer is resizes[0] or layer.id in aside or layer.type.lower() in _ENDS for layer in net.layers.values())


def _resizes(net: Net) -> list[Layer]:
    return [layer for layer in net.layers.values() if layer.type.lower() == "interpolate"]


def _feeding(net: Net, layer: Layer, inputs: range) -> set[int]:
    """Return the ids of all layers from which the given inputs are computed."""
    feeding: set[int] = set()
    open_ends = [(layer, index) for index in inputs]
    while open_ends:
        end, index = open_ends.pop()
        found = net.source(end, index)
        if found is not None and found[0].id not in feeding:
            feeding.add(found[0].id)
            open_ends += [(found[0], i) for i in range(len(found[0].inputs))]
    return feeding


def _names(net: Net, layer: Layer) -> tuple[str, str]:
    """Return the names of the net's data input and output; x and y for a snippet."""
    if net.is_snippet:
        return "x", "y"
    found = net.source(layer, 0)
    if found is None:
        raise ReadError("its data input is not connected", layer.where)
    results = [each for each in net.layers.values() if each.type.lower() == "result"]
    return found[0].name, results[0].name if len(results) == 1 else layer.name or "y"
