"""Write an IR as an ONNX file."""

from __future__ import annotations

from pathlib import Path

import onnx

from converters.ir_to_onnx import model, one_op
from converters.onnx_nodes import invalid
from converters.report import Progress, Row, silent
from ir_interp import ir_model, ir_resizes
from ir_interp.dialect import Semantics
from ir_interp.errors import IrInterpError, UnsupportedLayerError

LARGEST = 2**31 - 2**24
"""Bytes of constants that one file holds: protobuf ends at 2 GiB, and the nodes need room as well."""


def write_model(
    source: Path, output: Path, semantics: Semantics, opset: int | None = None, progress: Progress = silent
) -> tuple[Row, ...]:
    """Write an IR, or a pasted Interpolate, as an ONNX model, and return a row for each resize.

    Raises ReadError for what cannot be read, and an ExceptionGroup of all refusals where layers have no form.
    """
    net = next(ir_model.nets(source))
    if net.is_snippet:
        found = ir_resizes.load(source, semantics)  # which also refuses layers of other types
        if len(found) != 1:
            raise UnsupportedLayerError(f"{len(found)} layers; expected a single one", source.name)
        return (one_op.write_resize(found[0], output, opset),)
    made, rows = model.build(net, semantics, opset, progress)
    _save(made, output)
    _check(output, source.name)
    return rows


def _save(made: onnx.ModelProto, output: Path) -> None:
    """Write a model; one too large for a single file gets its constants in another."""
    if sum(len(tensor.raw_data) for tensor in made.graph.initializer) > LARGEST:
        onnx.save_model(made, output, save_as_external_data=True, location=f"{output.name}.data")
    else:
        output.write_bytes(made.SerializeToString(deterministic=True))


def _check(output: Path, name: str) -> None:
    """Check the file itself, which no size forbids."""
    problem = invalid(output)
    if problem:
        raise IrInterpError(f"{name} would not be valid as ONNX: {problem}; please report it")
