"""Translate one random resize whole, file to file, and run it where it arrives."""

from __future__ import annotations

import atexit
import functools
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
from openvino import opset13 as ops

import ir_interp
from ir_interp import InexactError, VerificationError
from ir_interp.converters.workers import forks
from tests.support.configurations import IrCase, OnnxCase, model_of
from tests.support.runtimes import Array, onnxruntime_resize, openvino_resize


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a case: refused with a reason, or the output of the result in its own runtime."""

    grade: str
    form: str = ""
    note: str = ""
    output: Array | None = None


OPEN = ("nothing", "shape", "target", "both")
"""Parts that a model may leave to run time: the lengths of its input, and the sizes, scales and roi of its resize."""


INCONCLUSIVE = "INCONCLUSIVE"
"""Stands for the form of a conversion that no input proves."""


def onnx_to_ir(case: OnnxCase, *, left_open: str, verify: bool = False) -> Outcome:
    """Convert a one-node model and run the IR in OpenVINO; ``left_open`` is one of ``OPEN``."""
    with tempfile.TemporaryDirectory() as folder:
        source, destination = Path(folder, "x.onnx"), Path(folder, "x.xml")
        feeds = save_onnx(case, source, left_open)
        return _outcome(source, destination, lambda: openvino_resize(destination, feeds), verify=verify)


def save_onnx(case: OnnxCase, path: Path, left_open: str) -> dict[str, Array]:
    """Write a one-node model and return its inputs."""
    model = model_of(case, constant=left_open in ("nothing", "shape"))
    if left_open in ("shape", "both"):
        for length in model.graph.input[0].type.tensor_type.shape.dim:
            length.ClearField("dim_value")
    onnx.save(model, path)
    return {"x": case.array()} | {
        each.name: np.array(getattr(case, each.name), np.int64 if each.name == "sizes" else np.float32)
        for each in model.graph.input[1:]
    }


def ir_to_onnx(case: IrCase, *, left_open: str = "nothing", verify: bool = False) -> Outcome:
    """Convert an IR of one Interpolate and run the ONNX model in onnxruntime; ``left_open`` is one of ``OPEN``."""
    with tempfile.TemporaryDirectory() as folder:
        source, destination = Path(folder, "x.xml"), Path(folder, "x.onnx")
        model, feeds = model_of(case), {"x": case.array()}
        if left_open in ("target", "both"):
            feeds |= _open_target(case, model)
        if left_open in ("shape", "both"):
            model.reshape({"x": ov.PartialShape([-1] * len(case.shape))})
        ov.save_model(model, source, compress_to_fp16=False)
        return _outcome(source, destination, lambda: onnxruntime_resize(onnx.load(destination), feeds), verify=verify)


def _open_target(case: IrCase, model: ov.Model) -> dict[str, Array]:
    """Turn the sizes or scales of the layer into an input, and return its value."""
    (layer,) = (each for each in model.get_ops() if each.get_type_name() == "Interpolate")
    place = layer.input(2 if case.version == 4 and case.scales is not None else 1)
    value = place.get_source_output().get_node().data.copy()
    parameter = ops.parameter(value.shape, value.dtype, name="target")
    parameter.output(0).set_names({"target"})
    place.replace_source_output(parameter.output(0))
    model.add_parameters([parameter])
    model.validate_nodes_and_infer_types()
    return {"target": value}


@functools.cache
def _import_runtimes_once() -> None:
    """Let all conversions of this process share one worker: importing the runtimes takes longer than one resize."""
    stack = ExitStack()
    stack.enter_context(forks())
    atexit.register(stack.close)


def _outcome(source: Path, destination: Path, run: Any, *, verify: bool) -> Outcome:
    _import_runtimes_once()
    try:
        report = ir_interp.convert(source, destination, verify=verify)
    except VerificationError as refusal:
        assert not destination.exists()
        return Outcome(grade="refused", form=str(refusal))
    except (InexactError, ExceptionGroup) as refusal:
        leaf = refusal.exceptions[0] if isinstance(refusal, ExceptionGroup) else refusal
        assert isinstance(leaf, InexactError), leaf
        assert not destination.exists()
        return Outcome(grade="refused", form=leaf.reason)
    row = report.rows[0]
    if report.verification is not None and not report.verification.is_conclusive:
        return Outcome(grade="refused", form=INCONCLUSIVE)
    return Outcome(grade=row.grade.value, form=row.form, note=row.note, output=np.array(run()))
