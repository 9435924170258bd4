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

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime  # type: ignore[import-untyped, unused-ignore]
import openvino  # type: ignore[import-untyped, unused-ignore]
from onnx import helper, numpy_helper

from ir_interp.converters.audit import probe
from ir_interp.converters.runtimes.runtime import runtimes
from tests.support import ir_text
from tests.support.ir_text import Net

Array = npt.NDArray[Any]
Result = TypeVar("Result")
OTHERS = {name: each for name, each in runtimes().items() if each.runner and not each.is_asked}
"""The runtimes that can be run, and whose names an audit needs."""

IR_VERSION = 10  # of the ONNX file format: new enough for opset 19, old enough for every onnxruntime in use


def is_installed(name: str) -> bool:
    """Return whether a runtime can be run here."""
    return name in probe.INSTALLED


def output_of(name: str, model: Path, x: Array) -> Array | None:
    """Return what an installed runtime makes of a model of one input, in a child; None if it refuses or dies."""
    place = model.with_suffix(".input.npy")
    np.save(place, x)
    (answer,) = probe.run([probe.Job(runtime=name, model=str(model), array=str(place))])
    return answer.output


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
    data = dict(attributes)
    if version == 1 and axes is not None:
        data.setdefault("axes", axes)
    elif version != 1:
        data.setdefault("shape_calculation_mode", "sizes" if scales is None else "scales")
    net, element = Net(), np.dtype(dtype).name
    x = net.parameter(shape, dtype=element, names="x")
    given = _ir_constants(version, len(axes or shape), sizes, scales, axes)
    inputs = [net.const(each, each.dtype.name) for each in given]
    text, opset = ir_text.attributes(data), f"opset{version}"
    y = net.add("Interpolate", text, x, *inputs, dtype=element, version=opset, name="y", names="y")
    net.add("Result", "", y)
    return _core().read_model(net.text().encode(), net.weights)


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
