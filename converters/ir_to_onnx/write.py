"""Write an IR as an ONNX file."""

from __future__ import annotations

from pathlib import Path

from ir_interp.errors import IrInterpError, SpecError, UnsupportedLayerError
from ir_interp.ir.interpolates import load
from ir_interp.ir.reading import nets
from ir_interp.translation.dialect import Semantics

from ..onnx import onnx_save
from ..onnx.inference import without_weights
from ..onnx.native import invalid
from ..onnx.onnx_files import read_outline
from ..onnx.single_node import write_resize
from ..reports.conversion_report import Progress, Written, silent
from . import onnx_model


def write_model(
    source: Path,
    output: Path,
    semantics: Semantics,
    opset: int | None = None,
    progress: Progress = silent,
    *,
    half: bool = False,
) -> Written:
    """Write an IR, or a pasted Interpolate, as an ONNX model; return its resizes, and notes on parts without an effect.

    ``half`` stores weights in half precision, except those of resizes.

    Raises ReadError for an invalid source, and an ExceptionGroup of all refusals if layers have no ONNX form.
    """
    net = next(nets(source))
    if net.is_snippet:
        resizes = load(source, semantics)  # which also refuses layers of other types
        if half:
            raise SpecError(f"--fp16 has no effect on {source.name}, a layer without weights")
        if len(resizes) != 1:
            raise UnsupportedLayerError(f"{len(resizes)} layers; expected a single one", source.name)
        return Written(rows=(write_resize(resizes[0], output, opset),))
    model, written = onnx_model.build(net, semantics, opset, progress, half=half)
    onnx_save.save(model, output)
    del model  # its mapped files and memory are released before the file is checked
    _check(output, source.name)
    return written


def _check(output: Path, name: str) -> None:
    """Check the written file itself, without its weights: the checker would read all of them into memory."""
    problem = invalid(without_weights(read_outline(output)))
    if problem:
        raise IrInterpError(f"{name} would not be valid ONNX: {problem}; if the IR itself is valid, please report it")
