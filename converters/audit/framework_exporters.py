"""Exporters of TensorFlow, TFLite and Paddle models: each resize is exported alone, and runs beside its source.

Nothing here is a rule: the installed releases answer.
"""

from __future__ import annotations

import atexit
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.files.scratch import scratch
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape

from ..runtimes.outcome import Kind
from ..sources.model_description import Resize
from ..sources.paddle import paddle_files
from ..sources.paddle.paddle_resizes import connected
from ..sources.tensorflow import tensorflow_files
from ..sources.tflite import interpreter, tflite_files
from ..verify.against_reference import compare_with
from ..verify.compare import tolerances
from ..verify.compare.array_differences import compare
from ..verify.run.inputs import Inputs
from ..workers.worker import Died, Late, Question, Worker
from .verdicts import INTEGERS, Verdict

_CHILD = "ir_interp.converters.audit.framework_exporter_child"
_SECONDS, _IDLE = 300.0, 600.0
_LONGEST = 160  # of an exporter's error text
_NOT_TRIED = Verdict(kind=Kind.UNKNOWN, reason="not tried: run time decides its arguments")
_DYNAMIC = 24  # a length for a dynamic dimension; single operations are exported with static ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Exporter:
    """An exporter: its title, the package that it needs, and the kind of file that it writes."""

    title: str
    package: str
    kind: FileKind


OF_TENSORFLOW: Mapping[str, Exporter] = {
    "tf2onnx": Exporter(title="tf2onnx", package="tf2onnx", kind=FileKind.ONNX),
    "openvino-tensorflow": Exporter(title="OpenVINO's TensorFlow frontend", package="openvino", kind=FileKind.IR),
    "tflite-converter": Exporter(title="LiteRT's converter", package="ai_edge_litert", kind=FileKind.TFLITE),
}
OF_TFLITE: Mapping[str, Exporter] = {
    "tf2onnx-tflite": Exporter(title="tf2onnx", package="tf2onnx", kind=FileKind.ONNX),
    "openvino-tflite": Exporter(title="OpenVINO's TFLite frontend", package="openvino", kind=FileKind.IR),
}
OF_PADDLE: Mapping[str, Exporter] = {
    "openvino-paddle": Exporter(title="OpenVINO's Paddle frontend", package="openvino", kind=FileKind.IR),
}

TITLES = {name: exporter.title for those in (OF_TENSORFLOW, OF_TFLITE, OF_PADDLE) for name, exporter in those.items()}
"""The titles of all exporters by name."""


def of_model(path: Path) -> list[dict[str, Verdict]]:
    """Return the verdict of each installed exporter on the resizes of a model, in its order."""
    if FileKind.of(path) is FileKind.TFLITE:
        return [of_tflite(op) for op in tflite_files.load(path)]
    if FileKind.of(path) is FileKind.PADDLE:
        return [of_paddle(resize) for resize in paddle_files.described(path).resizes]
    return [of_operation(resize) for resize in tensorflow_files.described(path).resizes]


def of_operation(operation: Resize) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on an operation of TensorFlow, by running it on random values."""
    if operation.shape is None or None in operation.inputs:
        return dict.fromkeys(_installed(OF_TENSORFLOW), _NOT_TRIED)
    array = _random(operation.shape, operation.dtype)
    expected = _ask("expected", array, operation)
    if isinstance(expected, Died | Late):
        return dict.fromkeys(_installed(OF_TENSORFLOW), Verdict(kind=Kind.CRASHES, reason=f"TensorFlow: {expected}"))
    return {
        name: _verdict(name, exporter, operation, array, expected)
        for name, exporter in _installed(OF_TENSORFLOW).items()
    }


def of_tflite(op: ResizeOp) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on a resize of a TFLite file, by running it on random values."""
    from ..sources.tflite.single_operator import write_resize

    with scratch() as folder:
        source = folder / "source.tflite"
        array = _random(op.shape or (), op.dtype or "float32")
        write_resize(replace(op, shape=array.shape), source)
        [expected] = interpreter.outputs(source, [array])
        return {
            name: _verdict(name, exporter, source, array, expected) for name, exporter in _installed(OF_TFLITE).items()
        }


def of_paddle(operation: Resize) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on an operation of Paddle, by running it on random values."""
    if connected(operation) is not None or operation.shape is None:
        return dict.fromkeys(_installed(OF_PADDLE), _NOT_TRIED)
    with scratch() as folder:
        source = folder / "source.pdmodel"
        array = _random(operation.shape, operation.dtype)
        expected = paddle_files.write_resize(operation, array, source)
        return {
            name: _verdict(name, exporter, source, array, expected) for name, exporter in _installed(OF_PADDLE).items()
        }


def _installed(exporters: Mapping[str, Exporter]) -> dict[str, Exporter]:
    return {
        name: exporter for name, exporter in exporters.items() if importlib.util.find_spec(exporter.package) is not None
    }


def _random(shape: PartialShape, dtype: str) -> Array:
    lengths = [1 if length is None else length for length in shape[:1]]
    lengths += [_DYNAMIC if length is None else length for length in shape[1:]]
    rng = np.random.default_rng(0)
    return rng.random(lengths).astype(dtype) if "float" in dtype else rng.integers(0, 100, lengths).astype(dtype)


def _verdict(name: str, exporter: Exporter, source: Any, array: Array, expected: Array) -> Verdict:
    with scratch() as folder:
        path = folder / f"resize{exporter.kind.value}"
        answer = _ask("write", array, (name, source, path.absolute()))
        if isinstance(answer, Died | Late):
            return Verdict(kind=Kind.CRASHES, reason=str(answer))
        if isinstance(answer, Verdict):
            return replace(answer, reason=shorten(answer.reason, _LONGEST, placeholder=" ..."))
        try:
            return _compared(path, exporter.kind, array, expected, folder)
        except IrInterpError as error:
            return Verdict(kind=Kind.REFUSED, reason=f"what it writes does not run: {error}")


def _compared(path: Path, kind: FileKind, array: Array, expected: Array, folder: Path) -> Verdict:
    """Return whether a written model computes what its source does."""
    if kind is FileKind.TFLITE:
        [actual] = interpreter.outputs(path, [array])
        compared = compare("output", expected, actual)
    else:
        np.save(folder / "x.npy", array)
        [output] = compare_with(path, [expected], Inputs(files={"": (folder / "x.npy",)})).outputs
        compared = output.compared
    if compared.passes:
        return Verdict(kind=Kind.SAME)
    if array.dtype.kind in "iu" and compared.absolute <= tolerances.INTEGERS:
        return Verdict(kind=Kind.SAME, reason=INTEGERS)
    return Verdict(kind=Kind.DIFFERS, reason=compared.apart if compared.shapes else "", difference=compared.absolute)


def _ask(function: str, item: Any, setting: Any) -> Any:
    question = Question(function=f"{_CHILD}:{function}", setting=setting, limit=_SECONDS, attempts=1)
    return _worker().answer(question, item)


@cache
def _worker() -> Worker:
    """Return the process, which has imported TensorFlow after its first answer."""
    worker = Worker(idle=_IDLE)
    atexit.register(worker.close)
    return worker
