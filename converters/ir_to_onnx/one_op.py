"""A net that holds nothing but one Interpolate, as an ONNX model."""

from __future__ import annotations

from pathlib import Path

from converters import onnx_nodes
from converters.report import Row
from ir_interp import ir_model, ir_resizes
from ir_interp.dialect import Semantics
from ir_interp.errors import ReadError, UnsupportedLayerError
from ir_interp.ir_model import Layer, Net
from ir_interp.op import ResizeOp

_ENDS = ("parameter", "result")


def write_model(source: Path, output: Path, semantics: Semantics, opset: int | None = None) -> tuple[Row, ...]:
    """Write the one Interpolate of an IR, or of a snippet, as an ONNX model.

    Raises UnsupportedLayerError, which names the layers, where the net holds anything else that computes, and
    InexactError where Resize has no exact form.
    """
    op, names = _only_resize(source, semantics)
    return (onnx_nodes.write_resize(op, output, opset=opset, names=names),)


def _only_resize(source: Path, semantics: Semantics) -> tuple[ResizeOp, tuple[str, str]]:
    ir_resizes.load(source, semantics)  # first, so that what cannot be read is said as such
    found = list(ir_model.nets(source))
    net = found[0]
    resizes = [layer for layer in net.layers.values() if layer.type.lower() == "interpolate"]
    if len(resizes) != 1 or len(found) > 1:
        count = sum(layer.type.lower() == "interpolate" for each in found for layer in each.layers.values())
        problem = f"{count} Interpolate layers in {len(found)} nets; only a net of a single one can become ONNX yet"
        raise UnsupportedLayerError(problem, source.name)
    layer = resizes[0]
    aside = _feeding(net, layer, range(1, len(layer.inputs)))
    others = [
        each
        for each in net.layers.values()
        if each.id != layer.id and each.id not in aside and each.type.lower() not in _ENDS
    ]
    if others:
        listing = ", ".join(sorted({each.type for each in others}))
        problem = f"whole models cannot become ONNX yet; layers other than the resize: {listing}"
        raise UnsupportedLayerError(problem, source.name)
    return ir_resizes.read_layer(net, layer, semantics), _names(net, layer)


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
