"""Interpolate-1 that pads axes which it does not list: such an IR declares their sizes as kept, and they are not.

OpenVINO's shape inference counts the pads of listed axes only, while its CPU plugin pads every axis. So a tensor of
another shape than the declared one reaches the layers behind it, which compute anything. At an output of the model, the
shape is what the plugin returns.
"""

from __future__ import annotations

from dataclasses import replace

from ir_interp.errors import IrInterpError
from ir_interp.ir.interpolate_dialect import pads_go_astray
from ir_interp.ir.interpolates import read_layer
from ir_interp.ir.net import Layer, Net
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes

from .layer import Conversion, Op

_TYPE = "interpolate"


def with_computed_shapes(net: Net, conversion: Conversion) -> Net:
    """Return a net whose outputs declare the shapes that such resizes compute; ``check`` refuses the others."""
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


def check(op: Op, resize: ResizeOp) -> None:
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
