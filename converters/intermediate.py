"""Models that stand for those of other frameworks: ONNX by PyTorch, else an IR by OpenVINO."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch
from ir_interp.translation.translate import Grade

from .reports import Progress, Row
from .verify.input_shapes import SizeHints
from .verify.inputs import Inputs

if TYPE_CHECKING:
    import openvino as ov

    from .openvino.frontends import Built

_MOVES = ("Constant", "Convert", "Parameter", "Result", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
"""Operations that round nothing."""
Proof = Callable[[Path, Inputs, Progress], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intermediate:
    """A ``model`` that stands for a source on the way to its conversion.

    ``rows`` turns those of the conversion into rows of the source. ``changes`` are resizes that a framework's exporter
    changed, or operations in half precision or on levels, which may be why a verification fails. ``proof`` compares
    ``model`` with the source in its framework; None if that is a plain comparison of outputs. ``hints`` are sizes at
    which it is to be compared, too.
    """

    model: Path
    rows: Callable[[tuple[Row, ...]], tuple[Row, ...]]
    notes: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    proof: Proof | None = None
    hints: SizeHints = field(default_factory=SizeHints)


@contextmanager
def as_ir(
    build: Callable[[Path], Built],
    destination: Path,
    name: str,
    *,
    moves_channels: bool = False,
    proof: Proof | None = None,
) -> Iterator[Intermediate]:
    """Yield the IR that stands for a source, under the name of the result; ``name`` is that of the source.

    ``build`` returns the model, whose weights may be in the folder that it gets, until the IR holds them. With
    ``moves_channels``, inputs and outputs of images get their channels second.
    """
    from .openvino.frontends import with_channels_second
    from .openvino.ir_save import save

    with scratch(destination.parent) as folder:
        model = folder / f"{destination.stem}{FileKind.IR.value}"
        with scratch(folder) as weights:
            built = build(weights)
            save(with_channels_second(built.model, name) if moves_channels else built.model, model)
            changes = (*_half_precision(built.model), *(() if proof else _levels(built.model)))
            first, hints = built.rows, SizeHints(scales=built.scales)
            del built  # its weights are in memory, and others will be while models run
        yield Intermediate(
            model=model, rows=lambda rows: merged(first, rows), changes=changes, proof=proof, hints=hints
        )


def _half_precision(model: ov.Model) -> tuple[str, ...]:
    """Return which operation computes in half precision, if one does: it may be why a verification fails."""
    from .openvino.frontends import numpy_name

    for node in model.get_ordered_ops():
        element = numpy_name(node.get_output_element_type(0)) if node.get_output_size() else ""
        if element in ("float16", "bfloat16") and node.get_type_name() not in _MOVES:
            what = f"{node.get_type_name()} {node.get_friendly_name()!r} computes in {element}"
            return (f"{what}, which runtimes round differently; save the model in float32",)
    return ()


def _levels(model: ov.Model) -> tuple[str, ...]:
    """Return which operation rounds to levels, if one does: sums that differ in last bits may round to another."""
    names = [node.get_friendly_name() for node in model.get_ordered_ops() if node.get_type_name() == "FakeQuantize"]
    what = "rounds to levels, of which one that rounds the other way changes others; convert the model unquantised"
    return tuple(f"{name!r} {what}" for name in names[:1])


def merged(first: tuple[Row, ...], then: tuple[Row, ...]) -> tuple[Row, ...]:
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
