"""Exporters of any release: a resize is exported alone, and the result must equal its framework's.

    python tests/sweeps/exporter_releases.py tensorflow FOLDER   writes models of TensorFlow and LiteRT's converter
    python tests/sweeps/exporter_releases.py openvino FOLDER     their IRs, as this environment's OpenVINO reads them
    python tests/sweeps/exporter_releases.py tf2onnx FOLDER      their ONNX, as this environment's tf2onnx writes it
    python tests/sweeps/exporter_releases.py torch FOLDER        the ONNX that this environment's torch writes

Each environment has another release, and onnxruntime, but not this program, whose oldest versions are newer. A row has
the release, the resize, and the verdict. FOLDER may also hold programs of Paddle, each beside its input and output.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

_SIZE, _TOLERANCE = (21, 8), 1e-4
_FLAGS = {"corners": (True, False), "centres": (False, True), "legacy": (False, False)}
_OPERATIONS = ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
_CALLS: dict[str, dict[str, Any]] = {
    "nearest": {"size": _SIZE, "mode": "nearest"},
    "nearest-exact": {"size": _SIZE, "mode": "nearest-exact"},
    "nearest by 1.7": {"scale_factor": 1.7, "mode": "nearest"},
    "bilinear": {"size": _SIZE, "mode": "bilinear"},
    "bilinear corners": {"size": _SIZE, "mode": "bilinear", "align_corners": True},
    "bilinear by 1.7": {"scale_factor": 1.7, "mode": "bilinear"},
    "bilinear by 1.7, recomputed": {"scale_factor": 1.7, "mode": "bilinear", "recompute_scale_factor": True},
    "bilinear to 1 row": {"size": (1, 8), "mode": "bilinear"},
    "bicubic": {"size": _SIZE, "mode": "bicubic"},
    "bicubic corners": {"size": _SIZE, "mode": "bicubic", "align_corners": True},
    "bilinear antialias": {"size": (5, 8), "mode": "bilinear", "antialias": True},
    "bilinear antialias by 0.6": {"scale_factor": 0.6, "mode": "bilinear", "antialias": True},
    "bicubic antialias": {"size": (5, 8), "mode": "bicubic", "antialias": True},
    "bicubic antialias by 0.6": {"scale_factor": 0.6, "mode": "bicubic", "antialias": True},
    "area": {"size": (3, 13), "mode": "area"},
    "area, no factor": {"size": (4, 8), "mode": "area"},
}


def verdict(outputs: Callable[[], Any], expected: Any) -> str:
    """Return whether outputs equal the framework's."""
    try:
        y = outputs()
    except Exception as error:  # whatever an exporter or a runtime raises
        return f"refused: {(str(error).strip().splitlines() or [repr(error)])[0][:90]}"
    if y.shape != expected.shape:
        return f"differs: shape {list(y.shape)}, not {list(expected.shape)}"
    difference = float(np.abs(y - expected).max())
    return "same" if difference <= _TOLERANCE else f"differs by {difference:.2g}"


def in_onnxruntime(model: bytes | str, x: Any) -> Any:
    """Return the output of an ONNX model."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model)
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def tensorflow(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Write each operation as a frozen graph and as a TFLite file, with its input and output."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2 as constant

    x = np.random.default_rng(0).random((1, 9, 13, 2), np.float32)
    for kind in _OPERATIONS:
        for flags, (corners, centres) in _FLAGS.items():
            operation = getattr(tf.raw_ops, kind)
            options = {"size": np.array(_SIZE, np.int32), "align_corners": corners, "half_pixel_centers": centres}
            function = tf.function(
                _called(operation, options),
                input_signature=[tf.TensorSpec(x.shape, x.dtype, name="x")],
                autograph=False,
            )
            concrete = function.get_concrete_function()
            path = folder / f"{kind}_{flags}.pb"
            path.write_bytes(constant(concrete).graph.as_graph_def().SerializeToString())
            np.savez(path.with_suffix(".npz"), x=x, y=function(x).numpy())
            lite = tf.lite.TFLiteConverter.from_concrete_functions([concrete], function)
            answer = verdict(partial(_in_litert, lite, path, x), function(x).numpy())
            yield tf.__version__, f"{kind} {flags}", answer


def _called(operation: Callable[..., Any], options: dict[str, Any]) -> Callable[[Any], Any]:
    """Return an operation of an image; TensorFlow would take defaults of a function for inputs."""
    return lambda x: operation(images=x, **options)


def _in_litert(converter: Any, path: Path, x: Any) -> Any:
    import tensorflow as tf

    model = converter.convert()
    path.with_suffix(".tflite").write_bytes(model)
    interpreter = tf.lite.Interpreter(model_content=model)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def openvino(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Convert each file by OpenVINO's frontends, and run it."""
    import openvino as ov

    def outputs(source: Path, x: Any) -> Any:
        model = ov.Core().read_model(source) if source.suffix == ".pdmodel" else ov.convert_model(source)
        compiled = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return next(iter(compiled([x]).values()))

    for source, x, y in _sources(folder, (".pb", ".tflite", ".pdmodel")):
        yield ov.__version__, source.name, verdict(partial(outputs, source, x), y)


def tf2onnx(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Convert each file by tf2onnx, and run it in onnxruntime."""
    import tensorflow as tf
    import tf2onnx as exporter

    def outputs(source: Path, x: Any) -> Any:
        if source.suffix == ".tflite":
            model, _ = exporter.convert.from_tflite(str(source), opset=15)
        else:
            graph = tf.compat.v1.GraphDef()
            graph.ParseFromString(source.read_bytes())
            names = [f"{[node.name for node in graph.node if node.op != 'NoOp'][-1]}:0"]
            model, _ = exporter.convert.from_graph_def(graph, input_names=["x:0"], output_names=names, opset=15)
        return in_onnxruntime(model.SerializeToString(), x)

    for source, x, y in _sources(folder, (".pb", ".tflite")):
        yield exporter.__version__, source.name, verdict(partial(outputs, source, x), y)


def _sources(folder: Path, suffixes: tuple[str, ...]) -> Iterator[tuple[Path, Any, Any]]:
    for source in sorted(path for path in folder.iterdir() if path.suffix in suffixes):
        arrays = np.load(source.with_suffix(".npz"))
        yield source, arrays["x"], arrays["y"]


def torch(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Export each call by both exporters of torch.onnx, and run it in onnxruntime."""
    import torch as framework

    class Resized(framework.nn.Module):
        def __init__(self, call: dict[str, Any]) -> None:
            super().__init__()
            self.call = call

        def forward(self, x: Any) -> Any:
            return framework.nn.functional.interpolate(x, **self.call)

    def outputs(module: Any, x: Any, *, dynamo: bool) -> Any:
        path = str(folder / "resized.onnx")
        if dynamo:
            model: Any = framework.onnx.export(module, (x,), dynamo=True, opset_version=18, verbose=False)
            model.save(path)
        else:
            framework.onnx.export(module, (x,), path, dynamo=False, opset_version=18)
        return in_onnxruntime(path, x.numpy())

    framework.manual_seed(0)
    x = framework.rand(1, 2, 9, 13)
    for name, call in _CALLS.items():
        module = Resized(call).eval()
        for dynamo in (True, False):
            answer = verdict(partial(outputs, module, x, dynamo=dynamo), module(x).numpy())
            yield framework.__version__, f"{'dynamo' if dynamo else 'TorchScript'}: {name}", answer


_EXPORTERS = {"tensorflow": tensorflow, "openvino": openvino, "tf2onnx": tf2onnx, "torch": torch}


def main() -> None:
    """Print a row for each resize."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exporter", choices=_EXPORTERS)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    for row in _EXPORTERS[arguments.exporter](arguments.folder):
        print(*row, sep="\t", flush=True)


if __name__ == "__main__":
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    main()
