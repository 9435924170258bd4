"""Build a small feature pyramid as an ONNX model: ``python samples/fpn.py fpn.onnx``.

A convolutional trunk of three levels, and a top-down path that resizes the way exporters write it: nearest by scales
(PyTorch upsampling), linear to the size of another feature map (Shape, Slice, Concat), linear with aligned corners,
and a cubic one to the size of the input. Batch, height and width are open. Weights are random, but always the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

OPSET = 13
CHANNELS = 16


class _Graph:
    """Nodes and initialisers as they are added."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.tensors: list[TensorProto] = []
        self._rng = np.random.default_rng(0)

    def add(self, op: str, *inputs: str, name: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, values: object, dtype: type) -> str:
        self.tensors.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def convolution(self, x: str, channels: int, *, stride: int, name: str) -> str:
        weights = self._rng.standard_normal((CHANNELS, channels, 3, 3)) / np.sqrt(9 * channels)
        w = self.constant(f"{name}.weight", weights, np.float32)
        y = self.add("Conv", x, w, name=f"{name}.conv", pads=[1, 1, 1, 1], strides=[stride, stride])
        return self.add("Relu", y, name=name)

    def resize(self, x: str, name: str, *, scales: str = "", sizes: str = "", **attributes: object) -> str:
        inputs = [x, "", scales, sizes] if sizes else [x, "", scales]
        return self.add("Resize", *inputs, name=name, **attributes)

    def size_like(self, x: str, other: str, name: str) -> str:
        """Return the sizes that resize ``x`` to height and width of ``other``."""
        starts, middle, ends = (self.constant(f"{name}.{at}", [at], np.int64) for at in (0, 2, 4))
        own = self.add("Slice", self.add("Shape", x, name=f"{name}.own"), starts, middle, name=f"{name}.nc")
        its = self.add("Slice", self.add("Shape", other, name=f"{name}.its"), middle, ends, name=f"{name}.hw")
        return self.add("Concat", own, its, name=name, axis=0)


def build() -> onnx.ModelProto:
    """Return the model: image (N, 3, H, W) to features of half its size and a map of its full size."""
    g = _Graph()
    half = g.convolution("image", 3, stride=2, name="half")
    quarter = g.convolution(half, CHANNELS, stride=2, name="quarter")
    eighth = g.convolution(quarter, CHANNELS, stride=2, name="eighth")

    double = g.constant("double", [1, 1, 2, 2], np.float32)
    top = g.resize(
        eighth, "up_nearest", scales=double, mode="nearest", coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )  # fmt: skip
    middle = g.add("Add", top, quarter, name="merged_quarter")
    to_half = g.size_like(middle, half, "size_of_half")
    lateral = g.resize(
        middle, "up_linear", sizes=to_half, mode="linear", coordinate_transformation_mode="pytorch_half_pixel"
    )
    features = g.convolution(g.add("Add", lateral, half, name="merged_half"), CHANNELS, stride=1, name="features")
    coarse = g.resize(
        eighth, "up_corners", scales=g.constant("fourfold", [1, 1, 4, 4], np.float32), mode="linear",
        coordinate_transformation_mode="align_corners",
    )  # fmt: skip
    summed = g.add("Add", features, coarse, name="summed")
    g.resize(
        summed, "map", sizes=g.size_like(summed, "image", "size_of_image"), mode="cubic",
        coordinate_transformation_mode="half_pixel", cubic_coeff_a=-0.5,
    )  # fmt: skip

    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, "H", "W"])
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", CHANNELS, None, None])
        for name in ("features", "map")
    ]
    graph = helper.make_graph(g.nodes, "fpn", [image], outputs, g.tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="ir_interp samples")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model


if __name__ == "__main__":
    destination = Path(sys.argv[1] if len(sys.argv) > 1 else "fpn.onnx")
    onnx.save(build(), destination)
    print(f"wrote {destination}")
