"""Rung 5: models in one precision, as a whole if that is not their own, then segment by segment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ir_interp.errors import VerificationError

from ...onnx.half_models import is_half
from ...reports.verification import Verification
from ..run.processes import Runs
from . import source_segments
from .array_differences import all_pass, worst
from .comparable_models import in_float32, with_half_weights
from .model_outputs import ModelOutputs, outputs_difference
from .tied_rows import compare_aligned


def prove(outputs: ModelOutputs) -> Verification:
    """Return how models compare whose outputs differ. Raises VerificationError if rounding is not the only cause."""
    difference, itself = outputs_difference(outputs.expected, outputs.actual), outputs.self_difference()
    source, result, precision = _comparable(outputs)
    try:
        proof = _as_a_whole(outputs.run, source, result) if precision else None
        proof = proof or source_segments.verified(outputs.run, source, result)
    except VerificationError as problem:
        most = worst(outputs.comparisons)
        whole = f"output {most.name!r} {most.difference}; {itself}"
        raise type(problem)(_joined(whole, precision, str(problem))) from None
    remarks = (f"as a whole by {difference:.3g}, {itself}", precision)
    return replace(
        proof, outputs=tuple(replace(output, remark=_joined(*remarks, output.remark)) for output in proof.outputs)
    )


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _comparable(outputs: ModelOutputs) -> tuple[Path, Path, str]:
    """Return both models in one precision, and its name; an empty name if they are unchanged."""
    run, source, precision = outputs.run, outputs.source, ""
    if outputs.has_half_weights:
        source, precision = with_half_weights(run, source), "compared with weights in half precision"
    if is_half(source) or is_half(outputs.result):
        precision = "compared in float32"
    return in_float32(run, source), in_float32(run, outputs.result), precision


def _as_a_whole(run: Runs, source: Path, result: Path) -> Verification | None:
    """Return how outputs compare; None if they differ, or a model does not run in this precision."""
    try:
        expected, actual = run(source)[0], run(result)[0]
    except VerificationError:
        return None
    comparisons = compare_aligned(expected, actual, run.models.graph)
    return Verification(outputs=comparisons) if all_pass(comparisons) else None
