"""Small good models of frameworks that are installed: ``python -m tests.support.framework_originals FOLDER``.

A process of its own writes them, since the frameworks take much memory, and Paddle saves one format per process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.places import ROOT


def write(folder: Path) -> None:
    """Write a model of each framework to ``folder``; a part of it for each format."""
    for framework in _WRITERS:
        if find_spec(framework):
            command = [sys.executable, "-m", "tests.support.framework_originals", framework, str(folder.absolute())]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


def _place(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _tensorflow(folder: Path) -> None:
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    x = tf.keras.Input((4, 5, 2), name="x")
    y = tf.keras.layers.Conv2D(2, 3, padding="same")(x)
    y = tf.keras.layers.UpSampling2D(2, interpolation="bilinear")(y)
    net = tf.keras.Model(x, tf.keras.layers.Activation("relu")(y))
    net.save(_place(folder, "keras/net.keras"))
    net.save(_place(folder, "h5/net.h5"))

    module: Any = tf.Module()
    module.weights = tf.Variable(tf.ones((1, 1, 2, 2)))

    def scaled(x: Any) -> Any:
        size = tf.shape(x)[1:3] * 2
        return tf.nn.relu(tf.image.resize(tf.nn.conv2d(x, module.weights, 1, "SAME"), size))

    module.call = tf.function(scaled, input_signature=[tf.TensorSpec((1, None, 5, 2), tf.float32)])
    tf.saved_model.save(module, str(folder / "saved/net"), signatures=module.call)
    graph = convert_variables_to_constants_v2(module.call.get_concrete_function()).graph.as_graph_def()
    _place(folder, "graph/net.pb").write_bytes(graph.SerializeToString())


def _paddle(folder: Path) -> None:
    import paddle

    class Net(paddle.nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv = paddle.nn.Conv2D(2, 2, 3, padding=1)

        def forward(self, x: Any) -> Any:
            y = paddle.nn.functional.interpolate(self.conv(x), size=[7, 9], mode="bilinear")
            return paddle.nn.functional.interpolate(y, scale_factor=2.0, mode="nearest")

    inputs = [paddle.static.InputSpec([1, 2, 4, 5], "float32", name="x")]
    paddle.jit.save(Net(), str(_place(folder, "paddle/net")), input_spec=inputs)


def _torch(folder: Path) -> None:
    import torch

    class Net(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(2, 2, 3, padding=1)

        def forward(self, x: Any) -> Any:
            return torch.nn.functional.interpolate(self.conv(x), size=(7, 9), mode="bilinear")

    program = torch.export.export(Net().eval(), (torch.ones(1, 2, 4, 5),))
    torch.export.save(program, _place(folder, "program/net.pt2"))


def _tflite(folder: Path) -> None:
    from ir_interp import convert
    from tests.support.graphs import save_model

    text = """g (float[1,4,5,2] x) => (float[1,k,l,2] y) <float[4] s = {1,2,2,1}> {
        z = Resize <mode = "linear"> (x, "", s)
        y = Relu (z)
    }"""
    source = _place(folder, "net.onnx")
    save_model(source, text)
    convert(source, _place(folder, "tflite/net.tflite"), verify=False)
    source.unlink()


_WRITERS: Mapping[str, Callable[[Path], None]] = {
    "tensorflow": _tensorflow, "paddle": _paddle, "torch": _torch, "ai_edge_litert": _tflite,
}  # fmt: skip

if __name__ == "__main__":
    os.environ |= {"FLAGS_enable_pir_api": "0", "CUDA_VISIBLE_DEVICES": ""}
    warnings.simplefilter("ignore")  # of frameworks, about themselves
    _WRITERS[sys.argv[1]](Path(sys.argv[2]))
