"""Peak memory of commands on models of large weights, as multiples of the weights.

``python -m tests.sweeps.memory FOLDER`` writes a model in each format whose framework is installed, in FOLDER: a
bilinear resize and fully connected layers, with ``--layers 8`` of 128 MiB. Each command runs on it, and a row has the
peak of the anonymous memory of all its processes. Pages of mapped files do not count, since the system can drop them.
``--only TEXT`` selects formats, ``--processes`` adds the largest processes at the peak.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.places import ROOT

_SIDE, _NARROW, _WIDE = 64, 4096, 8192  # the resized image has _SIDE x _SIDE = _NARROW pixels
_PERIOD = 0.05  # seconds between samples
_COMMANDS = {
    "inspect": ["inspect", "{}"],
    "audit": ["audit", "{}"],
    "to .onnx, --no-verify": ["convert", "{}", "result.onnx", "--no-verify"],
    "to .onnx": ["convert", "{}", "result.onnx"],
    "to .xml, --no-verify": ["convert", "{}", "result.xml", "--no-verify"],
    "to .xml": ["convert", "{}", "result.xml"],
}


def matrices(layers: int) -> Iterator[NDArray[np.float32]]:
    """Yield the weights, inputs by outputs."""
    widths = [_NARROW if place % 2 == 0 else _WIDE for place in range(layers + 1)]
    for seed, shape in enumerate(pairwise(widths)):
        yield np.random.default_rng(seed).standard_normal(shape, np.float32) / np.sqrt(np.float32(shape[0]))


def torch(path: Path, layers: int) -> None:
    """Write a program of PyTorch."""
    import torch

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            weights = (torch.from_numpy(matrix.T.copy()) for matrix in matrices(layers))
            self.weights = torch.nn.ParameterList(torch.nn.Parameter(weight, False) for weight in weights)

        def forward(self, x: Any) -> Any:
            x = torch.nn.functional.interpolate(x, size=(_SIDE, _SIDE), mode="bilinear").flatten(1)
            for weight in self.weights:
                x = torch.relu(torch.nn.functional.linear(x, weight))
            return x

    with torch.no_grad():
        torch.export.save(torch.export.export(Net().eval(), (torch.rand(1, 1, 32, 32),)), path)


def keras(path: Path, layers: int) -> None:
    """Write a Keras model as .keras, as SavedModel or as .tflite, in float32 or int8, by the name of ``path``."""
    import tensorflow

    image = tensorflow.keras.Input((32, 32, 1), batch_size=1)
    x = tensorflow.keras.layers.UpSampling2D(2, interpolation="bilinear")(image)
    x = tensorflow.keras.layers.Flatten()(x)
    for matrix in matrices(layers):
        x = tensorflow.keras.layers.Dense(matrix.shape[1], "relu", False, "zeros")(x)
    model = tensorflow.keras.Model(image, x)
    model.set_weights(list(matrices(layers)))
    if path.suffix == ".tflite":
        converter = tensorflow.lite.TFLiteConverter.from_keras_model(model)
        converter.optimizations = [tensorflow.lite.Optimize.DEFAULT] if path.stem == "int8" else []
        path.write_bytes(converter.convert())
    elif path.suffix == ".pb":
        from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

        function = tensorflow.function(model).get_concrete_function(tensorflow.TensorSpec(image.shape))
        frozen = convert_variables_to_constants_v2(function)
        path.write_bytes(frozen.graph.as_graph_def().SerializeToString())
    elif path.suffix:
        model.save(path)
    else:
        model.export(path, verbose=False)


def paddle(path: Path, layers: int) -> None:
    """Write a program of Paddle."""
    os.environ |= {"FLAGS_enable_pir_api": "0"}  # which Paddle reads when it is imported
    import paddle

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.layers = paddle.nn.Sequential()
            for place, matrix in enumerate(matrices(layers)):
                weights = paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(matrix))
                self.layers.add_sublayer(f"linear{place}", paddle.nn.Linear(*matrix.shape, weights, False))
                self.layers.add_sublayer(f"relu{place}", paddle.nn.ReLU())

        def forward(self, x: Any) -> Any:
            return self.layers(paddle.nn.functional.interpolate(x, size=[_SIDE, _SIDE], mode="bilinear").flatten(1))

    spec = [paddle.static.InputSpec([1, 1, 32, 32], "float32", "x")]
    paddle.jit.save(Net(), str(path.with_suffix("")), input_spec=spec)


def onnx(path: Path, layers: int) -> None:
    """Write an ONNX model whose weights are in another file."""
    import onnx

    from ir_interp.converters.onnx.onnx_graph import Unsaved, _save_apart

    constants = {f"w{place}": matrix for place, matrix in enumerate(matrices(layers))}
    lines = [f"a{place + 1} = MatMul(x{place}, w{place}) x{place + 1} = Relu(a{place + 1})" for place in range(layers)]
    text = (
        '<ir_version: 8, opset_import: ["" : 18]> net (float[1,1,32,32] x) => (float[1,n] '
        f"x{layers}) <float[4] scales = {{1.0, 1.0, 2.0, 2.0}}> {{"
        f' y = Resize <mode = "linear"> (x, "", scales) x0 = Flatten (y) {" ".join(lines)} }}'
    )
    _save_apart(Unsaved(model=onnx.parser.parse_model(text), constants=constants), path)


def ir(path: Path, layers: int) -> None:
    """Write an IR."""
    import openvino
    from openvino import opset13 as ops

    image = ops.parameter([1, 1, 32, 32], np.float32, "x")
    sizes = ops.constant(np.array([_SIDE, _SIDE]))
    resized = ops.interpolate(image, sizes, "linear_onnx", "sizes", axes=ops.constant(np.array([2, 3])))
    x = ops.reshape(resized, np.array([1, -1]), False)
    for matrix in matrices(layers):
        x = ops.relu(ops.matmul(x, ops.constant(matrix), False, False))
    x.output(0).set_names({"y"})
    openvino.save_model(openvino.Model([x], [image], "net"), path, compress_to_fp16=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format: its writer, the package that this needs, the name of its model, and the bytes of a weight."""

    write: Callable[[Path, int], None]
    package: str
    model: str
    width: int = 4


FORMATS = {
    "ONNX": Format(write=onnx, package="onnx", model="net.onnx"),
    "IR": Format(write=ir, package="openvino", model="net.xml"),
    "PyTorch": Format(write=torch, package="torch", model="net.pt2"),
    "TFLite": Format(write=keras, package="tensorflow", model="net.tflite"),
    "TFLite, int8": Format(write=keras, package="tensorflow", model="int8.tflite", width=1),
    "SavedModel": Format(write=keras, package="tensorflow", model="saved"),
    "Keras": Format(write=keras, package="tensorflow", model="net.keras"),
    "Frozen graph": Format(write=keras, package="tensorflow", model="net.pb"),
    "Paddle": Format(write=paddle, package="paddle", model="net.pdmodel"),
}


def peak(command: list[str], folder: Path) -> tuple[int, dict[int, int], int, str]:
    """Return the peak of anonymous bytes of a command, those of each process then, its exit code and its output."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)
        most: dict[int, int] = {}
        while process.poll() is None:
            now = {each: _anonymous(each) for each in _tree(process.pid)}
            most = max(most, now, key=lambda sizes: sum(sizes.values()))
            time.sleep(_PERIOD)
    return sum(most.values()), most, process.returncode, (folder / "output.txt").read_text()


def _tree(root: int) -> Iterator[int]:
    """Yield a process and all that it started."""
    children: dict[int, list[int]] = defaultdict(list)
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            children[int(status.read_text().rpartition(")")[2].split()[1])].append(int(status.parent.name))
    waiting = [root]
    while waiting:
        yield waiting[-1]
        waiting += children[waiting.pop()]


def _anonymous(process: int) -> int:
    """Return the anonymous bytes of a process; those that forks share are divided among them."""
    with suppress(OSError):
        found = re.search(r"Pss_Anon: +(\d+) kB", Path(f"/proc/{process}/smaps_rollup").read_text())
        return int(found[1]) * 1024 if found else 0
    return 0


def main() -> int:
    """Print a row for each format and command; return 1 if a command fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--only", default="")
    parser.add_argument("--commands", default="")
    parser.add_argument("--options", nargs="*", default=[], help="further options of convert")
    parser.add_argument("--processes", action="store_true")
    options = parser.parse_args()
    failures = 0
    for name, known in FORMATS.items():
        if options.only.lower() not in name.lower() or importlib.util.find_spec(known.package) is None:
            continue
        folder, weights = options.folder / name, options.layers * known.width * _NARROW * _WIDE
        print(f"{name}: weights of {weights / 2**30:.3g} GiB")
        if not folder.exists():
            folder.mkdir(parents=True)
            # In a process that ends: the memory of frameworks is needed for the commands.
            writer = multiprocessing.get_context("spawn").Process(
                target=known.write, args=(folder / known.model, options.layers)
            )
            writer.start()
            writer.join()
        for label, command in _COMMANDS.items():
            if options.commands not in label:
                continue
            arguments = [part.format(known.model) for part in command]
            arguments += options.options if command[0] == "convert" else []
            start = time.monotonic()
            most, by_process, code, output = peak([sys.executable, "-P", "-m", "ir_interp", *arguments], folder)
            failures += code not in (0, 1 if command[0] == "audit" else 0)
            parts = sorted((size for size in by_process.values() if size > 2**26), reverse=True)
            more = " = " + " + ".join(f"{size / weights:.2f}" for size in parts) if options.processes else ""
            seconds = time.monotonic() - start
            print(f"{name}, {label}: {most / 2**30:.2f} GiB, {most / weights:.2f}{more}, {seconds:.0f} s, exit {code}")
            if code:
                print("   ", output.strip().splitlines()[-1][:300], flush=True)
            for result in folder.glob("result*"):
                result.unlink()
    return int(failures > 0)


if __name__ == "__main__":
    raise SystemExit(main())
