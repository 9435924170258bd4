"""One resize in its real runtime: the models that hold it, the engines that run it, and a process to crash in."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime  # type: ignore[import-untyped, unused-ignore]
import openvino  # type: ignore[import-untyped, unused-ignore]
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]
Result = TypeVar("Result")

IR_VERSION = 10  # of the ONNX file format: new enough for opset 19, old enough for every onnxruntime in use

ELEMENT_TYPES = {
    "float16": ("f16", "FP16"),
    "float32": ("f32", "FP32"),
    "float64": ("f64", "FP64"),
    "int8": ("i8", "I8"),
    "uint8": ("u8", "U8"),
    "int32": ("i32", "I32"),
    "int64": ("i64", "I64"),
}  # NumPy's name: OpenVINO's in attributes, and on ports


def onnx_model(
    op: str,
    opset: int,
    shape: Sequence[int],
    dtype: npt.DTypeLike,
    attributes: Mapping[str, Any],
    *,
    scales: Sequence[float] | None = None,
    sizes: Sequence[int] | None = None,
    roi: Sequence[float] | None = None,
    constant: bool = True,
) -> onnx.ModelProto:
    """Return a model of one Resize or Upsample from ``x`` to ``y``.

    ``scales``, ``sizes`` and ``roi`` are initialisers, or graph inputs of these names where ``constant`` is false.
    """
    given = _onnx_inputs(scales, sizes, roi)
    attributes = dict(attributes)
    if op == "Upsample" and opset < 9:
        attributes["scales"] = given.pop("scales").tolist()
    names, empty = _input_names(op, opset, given)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = helper.make_node(op, ["x", *names], ["y"], **attributes)
    inputs = [helper.make_tensor_value_info("x", element, list(shape))]
    initialisers = [numpy_helper.from_array(np.zeros(0, np.float32), name) for name in empty]
    if constant:
        initialisers += [numpy_helper.from_array(value, name) for name, value in given.items()]
    else:
        inputs += [_graph_input(name, value) for name, value in given.items()]
    output = helper.make_tensor_value_info("y", element, [None] * len(shape))
    graph = helper.make_graph([node], "resize", inputs, [output], initialisers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION)


def _onnx_inputs(
    scales: Sequence[float] | None, sizes: Sequence[int] | None, roi: Sequence[float] | None
) -> dict[str, Array]:
    given: dict[str, Array] = {}
    if roi is not None:
        given["roi"] = np.array(roi, np.float32)
    if scales is not None:
        given["scales"] = np.array(scales, np.float32)
    if sizes is not None:
        given["sizes"] = np.array(sizes, np.int64)
    return given


def _input_names(op: str, opset: int, given: Mapping[str, Array]) -> tuple[list[str], list[str]]:
    """Return the node's inputs after ``x``, and those of them that stand for "not given" and must be empty tensors."""
    if op == "Upsample" or opset < 11:
        return list(given), []
    if opset < 13:
        empty = [f"no_{name}" for name in ("roi", "scales") if name not in given]
        required = [name if name in given else f"no_{name}" for name in ("roi", "scales")]
        return required + ["sizes"] * ("sizes" in given), empty
    names = [name if name in given else "" for name in ("roi", "scales", "sizes")]
    while names and not names[-1]:
        names.pop()
    return names, []


def _graph_input(name: str, value: Array) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape))


def onnxruntime_run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """Run the model on onnxruntime's CPU provider; one thread, so that small models are not all thread pool."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), sess_options=options, providers=["CPUExecutionProvider"]
    )
    return [np.asarray(result) for result in session.run(None, dict(feeds))]


def onnxruntime_resize(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Array:
    """Run a model and return its first output."""
    return onnxruntime_run(model, feeds)[0]


def interpolate_ir(
    version: int,
    shape: Sequence[int],
    dtype: npt.DTypeLike,
    attributes: Mapping[str, Any],
    *,
    axes: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
) -> openvino.Model:
    """Return a model of one Interpolate-1, -4 or -11 with constant inputs, from ``x`` to ``y``.

    It is read from IR text, since OpenVINO's Python builders choose another version than their opset says and do not
    let an attribute be absent or oddly spelt. Strings are written as they are.
    """
    data = {name: _ir_text(value) for name, value in attributes.items()}
    if version == 1 and axes is not None:
        data.setdefault("axes", _ir_text(axes))
    elif version != 1:
        data.setdefault("shape_calculation_mode", "sizes" if scales is None else "scales")
    element, precision = ELEMENT_TYPES[np.dtype(dtype).name]
    constants = _ir_constants(version, len(axes or shape), sizes, scales, axes)
    network = _ir_network(f"opset{version}", shape, element, precision, data, constants)
    weights = b"".join(constant.tobytes() for constant in constants)
    return _core().read_model(ElementTree.tostring(network), weights)


def _ir_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)


def _ir_constants(
    version: int,
    count: int,
    sizes: Sequence[int] | None,
    scales: Sequence[float] | None,
    axes: Sequence[int] | None,
) -> list[Array]:
    """Return the inputs after the data; Interpolate-4 wants both sizes and scales, so that one is a dummy."""
    wanted = np.array([1] * count if sizes is None else sizes, np.int64)
    ratios = np.array([1.0] * count if scales is None else scales, np.float32)
    if version == 1:
        return [wanted]
    constants: list[Array] = [wanted, ratios] if version == 4 else [wanted if scales is None else ratios]
    return constants if axes is None else [*constants, np.array(axes, np.int64)]


def _ir_network(
    opset: str,
    shape: Sequence[int],
    element: str,
    precision: str,
    data: Mapping[str, str],
    constants: Sequence[Array],
) -> ElementTree.Element:
    network = ElementTree.Element("net", name="interpolate", version="11")
    layers = ElementTree.SubElement(network, "layers")
    edges = ElementTree.SubElement(network, "edges")
    dims = ",".join(map(str, shape))
    parameter = _ir_layer(layers, "x", "Parameter", "opset1", {"shape": dims, "element_type": element})
    _ir_port(parameter, "output", 0, precision, shape).set("names", "x")
    offset = 0
    for constant in constants:
        offset = _ir_constant(layers, constant, offset)
    resize = _ir_layer(layers, "y", "Interpolate", opset, data)
    for port in range(len(constants) + 1):
        _ir_port(resize, "input", port, None, ())
        _ir_edge(edges, port, 0, len(constants) + 1, port)
    output = len(constants) + 1
    _ir_port(resize, "output", output, precision, ()).set("names", "y")
    _ir_port(_ir_layer(layers, "result", "Result", "opset1", {}), "input", 0, None, ())
    _ir_edge(edges, output, output, output + 1, 0)
    return network


def _ir_layer(
    layers: ElementTree.Element, name: str, kind: str, version: str, data: Mapping[str, str]
) -> ElementTree.Element:
    layer = ElementTree.SubElement(layers, "layer", id=str(len(layers)), name=name, type=kind, version=version)
    ElementTree.SubElement(layer, "data", dict(data))
    return layer


def _ir_constant(layers: ElementTree.Element, value: Array, offset: int) -> int:
    element, precision = ELEMENT_TYPES[value.dtype.name]
    data = {
        "element_type": element,
        "shape": str(value.size),
        "offset": str(offset),
        "size": str(value.nbytes),
    }
    layer = _ir_layer(layers, f"constant{len(layers)}", "Const", "opset1", data)
    _ir_port(layer, "output", 0, precision, value.shape)
    return offset + value.nbytes


def _ir_port(
    layer: ElementTree.Element, side: str, number: int, precision: str | None, shape: Sequence[int]
) -> ElementTree.Element:
    parent = layer.find(side)
    if parent is None:
        parent = ElementTree.SubElement(layer, side)
    port = ElementTree.SubElement(parent, "port", id=str(number))
    if precision is not None:
        port.set("precision", precision)
    for length in shape:
        ElementTree.SubElement(port, "dim").text = str(length)
    return port


def _ir_edge(edges: ElementTree.Element, source: int, source_port: int, target: int, target_port: int) -> None:
    attributes = {
        "from-layer": str(source),
        "from-port": str(source_port),
        "to-layer": str(target),
        "to-port": str(target_port),
    }
    ElementTree.SubElement(edges, "edge", attributes)


@functools.cache
def _core() -> openvino.Core:
    return openvino.Core()


def openvino_resize(model: openvino.Model | onnx.ModelProto | str | Path, feeds: Mapping[str, Array]) -> Array:
    """Run the model, or the IR or ONNX file, on OpenVINO's CPU plugin.

    In float32: left alone, the plugin computes in bfloat16 wherever the processor can.
    """
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1}
    if isinstance(model, onnx.ModelProto):
        model = _core().read_model(model.SerializeToString())
    compiled = _core().compile_model(model, "CPU", settings)
    result = np.array(compiled(dict(feeds))[0])
    if compiled.output(0).get_element_type() == openvino.Type.bf16:  # which its Python interface shows as float16
        return result.view("bfloat16")
    return result


@dataclass(frozen=True, slots=True)
class Refused:
    """The job raised an exception, of this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Crashed:
    """The child died or hung in this job. The fault may lie in an earlier one that corrupted its memory."""

    text: str


class Child:
    """A process to run jobs in that may kill it; it is started when first needed, and again after each death.

    Jobs are module-level functions and picklable arguments. An answer that is not the function's own result is a
    ``Refused`` or a ``Crashed``, never an exception, so that one bad job does not cost the others.
    """

    def __init__(self, timeout: float = 60.0, startup_timeout: float = 120.0) -> None:
        self.timeout = timeout
        self.startup_timeout = startup_timeout
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def call(self, function: Callable[..., Result], *args: Any, **kwargs: Any) -> Result | Refused | Crashed:
        """Run one job."""
        return self._run(function, [(args, kwargs)])[0]

    def map(
        self, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]
    ) -> list[Result | Refused | Crashed]:
        """Run one job per tuple of positional arguments; the answers come in the same order."""
        return self._run(function, [(args, {}) for args in arguments])

    def _run(
        self, function: Callable[..., Result], jobs: Sequence[tuple[tuple[Any, ...], dict[str, Any]]]
    ) -> list[Result | Refused | Crashed]:
        answers: list[Result | Refused | Crashed] = []
        while len(answers) < len(jobs):
            connection = self._send(function, jobs[len(answers) :])
            while len(answers) < len(jobs):
                answer = self._answer(connection)
                answers.append(answer)
                if isinstance(answer, Crashed):
                    break
        return answers

    def _send(self, function: Callable[..., Any], jobs: Sequence[Any]) -> Connection:
        """Hand over all jobs at once, and wait until the child has imported what they need: that is no job's time."""
        ending = ""
        for _ in range(2):  # a child may have died of an earlier job after it had answered
            connection = self._connection or self._start()
            try:
                connection.send((function, list(jobs)))
                if connection.poll(self.startup_timeout):
                    connection.recv()
                    return connection
            except (EOFError, OSError):
                pass
            ending = self._stop()
        raise RuntimeError(f"the child process did not start: {ending}")

    def _answer(self, connection: Connection) -> Any:
        try:
            if connection.poll(self.timeout):
                return connection.recv()
        except (EOFError, OSError):
            return Crashed(self._stop())
        self._stop()
        return Crashed(f"no answer within {self.timeout:g} s")

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._connection = ours
        return ours

    def _stop(self) -> str:
        """End the child if there is one, and say how it ended."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if connection is not None:
            connection.close()
        if process is None:
            return "no process"
        process.join(1.0)
        process.kill()
        process.join()
        return f"exit code {process.exitcode}"


def _serve(connection: Connection) -> None:
    """Answer batches of jobs until the parent hangs up."""
    while True:
        try:
            function, jobs = connection.recv()
            connection.send("ready")
            for args, kwargs in jobs:
                connection.send(_attempt(function, args, kwargs))
        except (EOFError, OSError):
            return


def _attempt(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception as error:  # whatever a runtime throws is its answer
        return Refused(f"{type(error).__name__}: {error}")
