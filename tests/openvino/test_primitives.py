"""Primitive operations as OpenVINO nodes."""

from __future__ import annotations

import numpy as np
from openvino import opset13 as ops

from ir_interp.converters.openvino.openvino_primitives import OPS


def test_a_divisor_that_uses_each_value_twice_is_looked_at_once() -> None:
    """Sixty additions of a value to itself are 2**60 paths, but sixty values."""
    divisor = OPS.constant(np.float32(1))
    for _ in range(60):
        divisor = OPS.elementwise("add", divisor, divisor)
    x = ops.parameter([2], np.float32).output(0)
    quotient = OPS.elementwise("divide", x, divisor).get_node()
    assert quotient.input_value(1).get_node().get_type_name() == "Add"
    assert quotient.input_value(1) != divisor  # a constant to the plugin, and so hidden from it
    assert OPS.elementwise("divide", x, x).get_node().input_value(1) == x
