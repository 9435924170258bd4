"""Conversions of exported programs of PyTorch, through the ONNX model that torch's exporter writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ir_interp.errors import UnsupportedLayerError
from ir_interp.plan.runtimes.integer_steps import sums_integers
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Context
from ir_interp.translation.grades import Grade

from ...dialects.onnx import DIALECT
from ...portable.portable_model import restore
from ...reports.conversion_report import Row, expressed
from .exported_models import ExportedModel
from .program_resizes import samplers

if TYPE_CHECKING:
    from torch.export import ExportedProgram


def repaired(program: ExportedModel) -> ExportedModel:
    """Return a program whose model has the resizes that the exporter changed as they were, if they have a form.

    Raises UnsupportedLayerError for a pool without one, which the model has as another resize, and for integers that
    would be off by a level at some pixels: whether a proof meets one is luck.
    """
    changed = {
        resize.written.name: resize.source.spec for resize in program.resizes if resize.written and resize.needs_repair
    }
    if not changed:
        return program
    restored = restore(program.model, changed)
    forms = {name: row.form for name, row in restored.items()}
    for resize in program.resizes:
        if resize.written is None or resize.written.name not in changed:
            continue
        row = restored.get(resize.written.name)
        if resize.is_pool and row is None:
            raise UnsupportedLayerError("an adaptive pool without a form for dynamic sizes", resize.source.where)
        is_inexact = row is None or row.grade in (Grade.INTEGERS_WITHIN, Grade.INTEGERS_WITHIN_1)
        if is_inexact and sums_integers(resize.source.spec, resize.source.dtype):
            problem = "no ONNX operations sum these integers as PyTorch does, so that some would be off by a level"
            raise UnsupportedLayerError(f"{problem}; resize images of float32", resize.source.where)
    return replace(
        program,
        resizes=tuple(
            replace(resize, repair=forms.get(resize.written.name, "") if resize.written else "")
            for resize in program.resizes
        ),
    )


def rows(program: ExportedModel) -> tuple[Row, ...]:
    """Return a row for each resize that the exporter kept; ``notes`` name the others."""
    return tuple(
        Row(
            name=resize.written.name, source=resize.source, form=expressed(_concise(resize.written)), grade=resize.grade
        )
        for resize in program.resizes
        if resize.written is not None and resize.grade is not None and not resize.repair
    )


def _concise(op: ResizeOp) -> ResizeOp:
    """Return a node of an exported model without its attributes that have no effect."""
    context = Context(version=op.version, shape=op.shape, dtype=op.dtype)
    return replace(op, attributes=DIALECT.concise(DIALECT.complete(op.attributes, op.version), context))


def at_lines(converted: Iterable[Row], program: ExportedModel) -> tuple[Row, ...]:
    """Return the rows of a conversion of the exporter's model, each at its line of Python."""
    lines = {resize.written.name: resize.source.where for resize in program.resizes if resize.written is not None}
    return tuple(
        replace(row, source=replace(row.source, where=lines.get(row.source.name, row.source.where)))
        for row in converted
    )


def notes(program: ExportedModel) -> tuple[str, ...]:
    """Return what the exporter changed, and what is converted but not translated."""
    return (*program.changes, *sampled(program.program, program.name))


def sampled(program: ExportedProgram, name: str) -> tuple[str, ...]:
    """Return a note for each grid_sample of a program; ``name`` is that of its file."""
    note = "grid_sample takes positions from a tensor, so it is no resize"
    return tuple(f"{name}:{line}: {note}" for line in samplers(program))
