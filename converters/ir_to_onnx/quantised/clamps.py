"""Limits implied by a FakeQuantize: a Clamp before it that limits no further changes nothing, and is left out.

So a ReLU6 between a convolution and its levels does not keep onnxruntime from multiplying integers: the only limit
that it accepts there is Relu.
"""

from __future__ import annotations

from dataclasses import replace

from ir_interp.ir.net import Layer, Net

from ..layer import Conversion, Op
from ..layer_order import rewired
from . import ranges


def without_idle(net: Net, conversion: Conversion) -> Net:
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
    levels = ranges.read(op)
    source = op.net.source(op.layer, 0)
    if levels is None or source is None or source[0].type.lower() != "clamp":
        return None
    clamp = replace(op, layer=source[0], read=set())
    is_fed = op.net.source(source[0], 0) is not None
    return source[0] if is_fed and levels.are_within(clamp.real("min"), clamp.real("max")) else None
