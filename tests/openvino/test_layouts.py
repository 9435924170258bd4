"""Inputs and outputs with the channels second, of models with channels last."""

from __future__ import annotations

import openvino as ov
import openvino.opset13 as ops
import pytest

from ir_interp.converters.openvino.frontends import with_channels_second
from ir_interp.errors import UnsupportedLayerError


def model(*shapes: ov.PartialShape) -> ov.Model:
    inputs = [ops.parameter(shape, name=f"x{place}") for place, shape in enumerate(shapes)]
    outputs = [ops.relu(each) for each in inputs]
    for place, (before, after) in enumerate(zip(inputs, outputs, strict=True)):
        before.output(0).set_names({f"x{place}"})
        after.output(0).set_names({f"y{place}"})
    return ov.Model([ops.result(each) for each in outputs], inputs, "net")


def test_images_move_and_others_stay() -> None:
    shapes = [ov.PartialShape(text) for text in ("[?,4,6,3]", "[2,5]", "[1,?,?,1]")]
    moved = with_channels_second(model(*shapes), "net.tflite")
    for ports, letter in ((moved.inputs, "x"), (moved.outputs, "y")):
        known = [(port.get_names(), str(port.get_partial_shape())) for port in ports]
        expected = ["[?,3,4,6]", "[2,5]", "[1,1,?,?]"]
        assert known == [({f"{letter}{place}"}, shape) for place, shape in enumerate(expected)]


def test_a_dynamic_rank_is_refused() -> None:
    with pytest.raises(UnsupportedLayerError) as error:
        with_channels_second(model(ov.PartialShape.dynamic()), "net.keras")
    problem = "'x0' has a dynamic rank, so its channels cannot be moved; convert it without --layout"
    assert str(error.value) == f"net.keras: {problem}"
