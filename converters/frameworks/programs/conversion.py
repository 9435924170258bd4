"""The model that stands for a program of PyTorch: torch's ONNX, or the IR of OpenVINO's frontend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ir_interp.files.kinds import FileKind
from ir_interp.options.convert_options import ConvertOptions, Exporter

from ...reports.conversion_report import FormPolicy
from ..intermediate import Intermediate, as_ir
from . import exported_rows
from .changing_buffers import check_stateless
from .exported_models import exported
from .program_files import read
from .size_hints import size_hints


@contextmanager
def intermediate(
    source: Path, destination: Path, policy: FormPolicy, options: ConvertOptions
) -> Iterator[Intermediate]:
    """Yield the model of a program, by the exporter that the options name.

    Raises UnsupportedLayerError for a program that changes its buffers.
    """
    if options.exporter is Exporter.OPENVINO:
        from .frontend import build

        program = read(source)
        check_stateless(program, source.name)
        with as_ir(lambda _: build(program, source.name, policy), destination, source.name) as between:
            notes = exported_rows.sampled(program, source.name)
            yield replace(between, notes=notes, hints=size_hints(program, source.name))
        return
    with exported(source, f"{destination.stem}{FileKind.ONNX.value}", options.exporter, is_repaired=True) as plain:
        check_stateless(plain.program, source.name)
        repaired = exported_rows.repaired(plain)
        yield Intermediate(
            model=repaired.model,
            # A program without a conversion behind it, to .onnx, has only the rows of its own reading.
            rows=lambda rows: exported_rows.at_lines(rows, repaired) if rows else exported_rows.rows(repaired),
            notes=exported_rows.notes(repaired),
            changes=repaired.changes,
            hints=size_hints(plain.program, source.name),
        )
