"""Models of other frameworks, read into a model that this program converts: ONNX by PyTorch, else an IR by OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.files.kinds import OF_TENSORFLOW, FileKind
from ir_interp.files.scratch import scratch
from ir_interp.options.convert_options import ConvertOptions, Exporter
from ir_interp.options.image_options import NCHW
from ir_interp.translation.grades import Grade

from ..reports.conversion_report import FormPolicy, Progress, Row
from ..verify.run.inputs import Inputs

if TYPE_CHECKING:
    import openvino
Proof = Callable[[Path, Inputs, Progress], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intermediate:
    """A ``model`` that stands for a source on the way to its conversion.

    ``rows`` turns those of the conversion into rows of the source. ``changes`` are resizes that a framework's exporter
    changed, which may be why a verification fails. ``proof`` compares ``model`` with the source in its framework; None
    if that is a plain comparison of outputs.
    """

    model: Path
    rows: Callable[[tuple[Row, ...]], tuple[Row, ...]]
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    proof: Proof | None = None


def intermediate(
    source: Path, destination: Path, policy: FormPolicy, options: ConvertOptions
) -> AbstractContextManager[Intermediate | None]:
    """Yield the model that stands for a source, under the result's name; None for one that is converted itself."""
    moves_channels = options.layout == NCHW
    match FileKind.of(source):
        case FileKind.PROGRAM if options.exporter is Exporter.OPENVINO:
            return _of_program_by_openvino(source, destination, policy)
        case FileKind.PROGRAM:
            return _of_program(source, destination, options.exporter)
        # A single resize is read as a layer, which needs no frontend.
        case FileKind.TFLITE if _is_whole(source, destination, moves_channels):
            return _of_tflite(source, destination, policy, moves_channels)
        case kind if kind in OF_TENSORFLOW:
            return _of_tensorflow(source, destination, policy, moves_channels)
        case FileKind.PADDLE:
            return _of_paddle(source, destination, policy)
    return nullcontext()


@contextmanager
def _of_program(source: Path, destination: Path, exporter: Exporter) -> Iterator[Intermediate]:
    from ..sources.programs.exported_models import exported
    from . import programs

    with exported(source, f"{destination.stem}{FileKind.ONNX.value}", exporter) as plain:
        program = programs.repaired(plain)
        yield Intermediate(
            model=program.model,
            # A program without a conversion behind it, to .onnx, has only the rows of its own reading.
            rows=lambda rows: programs.at_lines(rows, program) if rows else programs.rows(program),
            notes=programs.notes(program),
            changes=program.changes,
        )


@contextmanager
def _of_program_by_openvino(source: Path, destination: Path, policy: FormPolicy) -> Iterator[Intermediate]:
    from ..openvino.from_torch import build
    from ..openvino.ir_save import save
    from ..sources.programs.program_files import read
    from . import programs

    program = read(source)
    built = build(program, source.name, policy)
    with scratch() as folder:
        model = folder / f"{destination.stem}{FileKind.IR.value}"
        save(built.model, model)
        notes = programs.sampled(program, source.name)
        yield Intermediate(model=model, rows=lambda rows: _merged(built.rows, rows), notes=notes)


def _is_whole(source: Path, destination: Path, moves_channels: bool) -> bool:
    """Return whether a .tflite file becomes a model: it is more than a single resize, or its channels move."""
    from ..sources.tflite.tflite_files import KINDS, read_file

    if FileKind.of(destination) not in (FileKind.ONNX, FileKind.IR):
        return False
    operators = read_file(source).operators
    return moves_channels or [operator.type in KINDS for operator in operators] != [True]


@contextmanager
def _of_tflite(source: Path, destination: Path, policy: FormPolicy, moves_channels: bool) -> Iterator[Intermediate]:
    from ..openvino.from_tflite import build
    from .tflite_proof import proof_of

    with scratch() as folder:
        built = build(source, policy)
        model = folder / f"{destination.stem}{FileKind.IR.value}"
        _save(built.model, model, source.name, moves_channels)
        proof = proof_of(source, moves_channels)
        yield Intermediate(model=model, rows=lambda rows: _merged(built.rows, rows), proof=proof)


@contextmanager
def _of_tensorflow(source: Path, destination: Path, policy: FormPolicy, moves_channels: bool) -> Iterator[Intermediate]:
    from ..openvino.from_tensorflow import build
    from ..sources.tensorflow.tensorflow_files import described, label

    with scratch() as folder:
        frozen = folder / "frozen.pb"
        # TensorFlow freezes the graph first; OpenVINO reads the frozen file.
        built = build(frozen, described(source, frozen), label(source), policy)
        model = folder / f"{destination.stem}{FileKind.IR.value}"
        _save(built.model, model, label(source), moves_channels)
        yield Intermediate(model=model, rows=lambda rows: _merged(built.rows, rows))


@contextmanager
def _of_paddle(source: Path, destination: Path, policy: FormPolicy) -> Iterator[Intermediate]:
    from ..openvino.from_paddle import build
    from ..openvino.ir_save import save
    from ..sources.paddle.paddle_files import described

    with scratch() as folder:
        built = build(source, described(source), policy)
        model = folder / f"{destination.stem}{FileKind.IR.value}"
        save(built.model, model)
        yield Intermediate(model=model, rows=lambda rows: _merged(built.rows, rows))


def _save(model: openvino.Model, path: Path, name: str, moves_channels: bool) -> None:
    from ..openvino.ir_save import save
    from ..openvino.layouts import with_channels_second

    save(with_channels_second(model, name) if moves_channels else model, path)


def _merged(first: tuple[Row, ...], then: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return the rows of two conversions in sequence: the form that a resize has in the end, and the lesser grade."""
    # Grades are declared from the best to the least, so the later of two is the lesser.
    by_name, grades = {row.name: row for row in then}, list(Grade)
    merged = []
    for row in first:
        last = by_name.get(row.name)
        if last is not None:
            row = replace(row, form=last.form, grade=max(row.grade, last.grade, key=grades.index), note=last.note)
        merged.append(row)
    return tuple(merged)
