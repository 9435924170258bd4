"""The results of installed runtimes: each resize runs as it stands in its file, and as this program converts it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from ir_interp.errors import InexactError, IrInterpError, ReadError, SpecError
from ir_interp.executor.resize import resize
from ir_interp.files.kinds import FileKind
from ir_interp.files.memory import check_bytes
from ir_interp.files.scratch import scratch
from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Nearest

from ..onnx import single_node as onnx_model
from ..onnx.resize_nodes import ResizeNode
from ..openvino import single_layer as openvino_model
from ..openvino.given_layer import write_layer
from ..predictions.runtimes_asked import RUNTIMES
from ..reports.conversion_report import Progress
from ..runtimes.outcome import Kind
from ..sources.frameworks import part
from ..verify.compare import tolerances
from . import chosen_shapes, probe
from .audited_resizes import Found
from .findings import Audited
from .mishaps import noted
from .verdicts import BRIGHTEST, Verdict, verdict

_IR_VERSION = 10  # of the ONNX format
_BYTES_AN_ELEMENT = 16  # in this process and in the one that runs it: as it is, and as float64
_LONGEST = 160  # of a runtime's error text
_HARMFUL = (Kind.CRASHES, Kind.UNKNOWN)
_WANTED = "wanted.npy"


def seen(
    candidates: Sequence[Found], audited: Sequence[Audited], errors: list[ReadError], progress: Progress
) -> list[Audited]:
    """Return resizes with the outcomes of running those that can be run, in as few processes as possible.

    Errors of one of them are added to ``errors``.
    """
    with scratch() as folder:
        jobs: list[tuple[int, str, probe.Job]] = []
        for place, (candidate, row) in enumerate(zip(candidates, audited, strict=True)):
            with noted(errors, row.op.where):
                jobs += [(place, name, job) for name, job in _jobs(candidate, row, folder / str(place))]
        # Last those that may harm the ones after them.
        jobs.sort(key=lambda job: audited[job[0]].predictions[job[1]].kind in _HARMFUL)
        answers = probe.run([job for _, _, job in jobs], progress)
        verdicts: list[dict[str, Verdict]] = [{} for _ in audited]
        for (place, name, _), answer in zip(jobs, answers, strict=True):
            with noted(errors, audited[place].op.where):
                verdicts[place][name] = _judged(audited[place], answer, folder / str(place))
    texts = [chosen_shapes.ran(row.op, was_run=bool(those)) for row, those in zip(audited, verdicts, strict=True)]
    return [replace(row, seen=those, ran=ran) for row, those, ran in zip(audited, verdicts, texts, strict=True)]


def _jobs(candidate: Found, row: Audited, folder: Path) -> Iterator[tuple[str, probe.Job]]:
    """Yield the runtimes for a resize: as it stands in its file, and as this program converts it."""
    folder.mkdir()
    if not _written(candidate, folder):
        return
    x = _values(candidate.op)
    try:
        resized = resize(x, candidate.op.spec)
    except SpecError:  # strings and complex numbers are copied, but not averaged
        return
    np.save(folder / "x.npy", x)
    np.save(folder / _WANTED, resized)
    for name in row.predictions:
        path = _model(candidate, name, folder)
        if path is not None:
            yield name, probe.Job(runtime=name, model=str(path), array=str(folder / "x.npy"))


def _written(candidate: Found, folder: Path) -> bool:
    """Write a resize as it stands in its file; return whether everything in it is known, and small enough to run."""
    if candidate.op.spec.waits or not _is_small(candidate.op):
        return False
    if candidate.op.dialect == "tflite":
        return _written_operator(candidate.op, folder / "own.tflite")
    if candidate.layer is not None:
        return write_layer(candidate.op, candidate.layer.attributes, folder / "own.xml")
    model = single(candidate.node) if candidate.node else None
    if model is not None:
        onnx.save(model, folder / "own.onnx")
    return model is not None


def _written_operator(op: ResizeOp, path: Path) -> bool:
    try:
        part(FileKind.TFLITE, "single_operator").write_resize(op, path)
    except InexactError:
        return False
    return True


def _model(candidate: Found, runtime: str, folder: Path) -> Path | None:
    """Return the model that a runtime is to run; None if it is not installed, or the run would prove nothing."""
    if runtime not in probe.INSTALLED:
        return None
    node = candidate.node
    if node is not None and RUNTIMES[runtime].among_others(node):  # a node alone would differ from this
        return None
    if node is not None and runtime != "openvino-converted":
        return folder / "own.onnx"
    if candidate.layer is not None and runtime == "openvino":
        return folder / "own.xml"
    if runtime == "litert":
        return folder / "own.tflite"
    for_openvino = runtime.startswith("openvino")
    path = folder / ("converted.xml" if for_openvino else "converted.onnx")
    try:
        (openvino_model.write_resize if for_openvino else onnx_model.write_resize)(candidate.op, path)
    except IrInterpError:
        return None
    return path


def single(node: ResizeNode) -> onnx.ModelProto | None:
    """Return a model of a node as it stands, its sizes and the like as constants; None if run time decides some.

    Dynamic dimensions of its file stay dynamic: runtimes compile other code for them than for static ones.
    """
    op = node.op
    if op.shape is None or None in op.shape or op.dtype in (None, "bfloat16", "str"):
        return None
    copy = onnx.NodeProto()
    copy.CopyFrom(node.node)
    constants = []
    for name in dict.fromkeys(name for name in copy.input[1:] if name):
        value = node.values.value(name)
        if value is None:
            return None
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(op.dtype or "float32"))
    dims = [f"n{axis}" if n is None else n for axis, n in enumerate(node.stated.shape or op.shape)]
    x = helper.make_tensor_value_info(copy.input[0], element, dims)
    y = helper.make_tensor_value_info(copy.output[0], element, [None] * len(op.shape))
    graph = helper.make_graph([copy], "resize", [x], [y], constants)
    opset = helper.make_opsetid("", node.values.opset)
    return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)


def _is_small(op: ResizeOp) -> bool:
    """Return whether a resize can be run in this process: input and output are within the bound."""
    try:
        shape = tuple(size or 1 for size in op.shape or ())
        padded = (size or 1 for size in op.spec.padded(shape))
        ends = (tuple(padded), plan(op.spec, shape).out_shape)
        check_bytes(_BYTES_AN_ELEMENT * max(map(math.prod, ends)), op.where)
    except SpecError:
        return False
    return True


def _values(op: ResizeOp) -> NDArray[Any]:
    """Return random values; integers have the range of pixels."""
    shape = tuple(size or 1 for size in op.shape or ())
    rng, dtype = np.random.default_rng(0), np.dtype(op.dtype or "float32")
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    lowest = -BRIGHTEST if dtype == np.int8 else 0
    return rng.integers(lowest, 2 if dtype.kind == "b" else BRIGHTEST, shape).astype(dtype)


def _judged(row: Audited, answer: probe.Ran, folder: Path) -> Verdict:
    if answer.crash:
        return Verdict(kind=Kind.CRASHES, reason=answer.crash)
    if answer.output is None:
        return Verdict(kind=Kind.REFUSED, reason=_plain(answer.refusal))
    expected, is_copy = np.load(folder / _WANTED), isinstance(row.op.spec.kernel, Nearest)
    if expected.dtype.kind in "iu":
        tolerance = tolerances.INTEGERS / BRIGHTEST
        return verdict(expected, answer.output, is_copy=is_copy, scale=BRIGHTEST, tolerance=tolerance)
    return verdict(expected, answer.output, is_copy=is_copy)


def _plain(refusal: str) -> str:
    """Return a runtime's error text without places in its source, cut short."""
    return re.sub(r"(Exception from|Check '[^']*' failed at) [\w/.-]+:\d+:\s*", "", refusal)[:_LONGEST]
