"""Levels of 16 bits in an OpenVINO model: FakeQuantize, which its CPU plugin strips above 8 bits, as primitives."""

from __future__ import annotations

import numpy as np
import openvino as ov
import openvino.opset13 as ops

_MOST = 256
"""The levels of a FakeQuantize that the plugin computes; with more it fails with "FQ stripping failed", or drops it."""
_ENDS = np.iinfo(np.int16)
_STEPS = ("Multiply", "Clamp", "Round", "Divide")


def in_primitives(model: ov.Model) -> None:
    """Replace each FakeQuantize of 16 bits, whose zero point is 0 in TFLite."""
    for node in model.get_ordered_ops():
        if node.get_type_name() == "FakeQuantize" and node.get_attributes()["levels"] > _MOST:
            # A quotient by a power of two is exact, so that these are the distances of levels before and behind it.
            before, behind = (
                ops.constant(np.float32(node.input_value(port).get_node().data.item()) / np.float32(_ENDS.min))
                for port in (1, 3)
            )
            levels = ops.round(ops.divide(node.input_value(0), before), "half_to_even")
            real = ops.multiply(ops.clamp(levels, float(_ENDS.min), float(_ENDS.max)), behind)
            for reader in node.output(0).get_target_inputs():
                reader.replace_source_output(real.output(0))


def unrounded(output: ov.Output) -> ov.Output | None:
    """Return the value that becomes ``output`` by rounding to levels of any width; None if it is not rounded."""
    node = output.get_node()
    if node.get_type_name() == "FakeQuantize":
        return node.input_value(0)
    for kind in _STEPS:
        if node.get_type_name() != kind:
            return None
        last, node = node, node.input_value(0).get_node()
    return last.input_value(0)
