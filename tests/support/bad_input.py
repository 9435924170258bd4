"""Input that is good until something in it is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from tests.support.ir_text import Net, Shape, interpolate
from tests.support.runtimes import onnx_model

BEYOND_UTF8 = bytes(range(256)) * 8
SHAPE = (1, 1, 4, 6)
DATA = 'axes="2,3" mode="linear" align_corners="0"'
TARGET = 'element_type="i64" shape="2" offset="0" size="16"'

Fails = Callable[..., str]
"""Runs a command line that must be refused as bad input, and returns why."""

LoadFails = Callable[[str, str | bytes], str]
"""Lets every verb read a file of this name and content, which all must refuse for one reason, and returns it."""


def pasted(data: str = DATA, **changes: Any) -> str:
    """Return one layer as text."""
    return interpolate(data, **changes)


def net(data: str, target: str = TARGET, *, version: int = 1, out: Shape = (1, 1, -1, -1)) -> Net:
    """Return a net of one Interpolate whose second input is a Const ``target``."""
    made = Net()
    x = made.parameter(SHAPE)
    sizes = made.add("Const", target, shape=(2,), dtype="int64", name="target")
    made.interpolate(version, data, x, sizes, shape=SHAPE, out=out)
    return made


def resize(attributes: dict[str, Any], *, op: str = "Resize", opset: int = 18, **given: Any) -> onnx.ModelProto:
    """Return a model of one node named up."""
    model = onnx_model(op, opset, SHAPE, np.float32, attributes, **given)
    model.graph.node[0].name = "up"
    return model
