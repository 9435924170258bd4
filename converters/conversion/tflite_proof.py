"""The proof that an IR computes what LiteRT computes of a TFLite model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ir_interp.errors import VerificationError
from ir_interp.files.scratch import scratch

from ..reports.conversion_report import Progress
from ..sources.tflite.tflite_files import is_quantised, read_file
from ..verify.run.inputs import Inputs
from ..verify.run.processes import models, runs
from ..workers.forks import forks
from . import tflite_operators


def proof_of(source: Path) -> Callable[[Path, Inputs, Progress], str] | None:
    """Return the proof of a model that is computed in levels; None for one that is computed in floats."""
    return partial(_prove, source) if is_quantised(read_file(source)) else None


def _prove(source: Path, model: Path, inputs: Inputs, progress: Progress) -> str:
    with scratch() as folder, forks():
        run = next(runs(models(model, model, inputs), folder, progress))
        outputs, _ = run.settle(model)
        arrays = [array for _, array in run.arrays]
        progress(f"running {source.name}", 0, 0)
        try:
            proof = tflite_operators.prove(source, arrays, folder)
            whole = tflite_operators.whole(source, arrays, [array for _, array in outputs], proof)
        except VerificationError as error:
            raise VerificationError(f"{error}; nothing was written") from None
    return f"{proof}; {whole}"
