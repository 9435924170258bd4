"""The proof that an IR computes what LiteRT computes of a TFLite model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ir_interp.array_types import Array
from ir_interp.errors import VerificationError
from ir_interp.files.scratch import scratch

from ...reports.conversion_report import Progress
from ...verify.channel_layouts import channels_last
from ...verify.run.array_files import Named
from ...verify.run.inputs import Inputs
from ...verify.run.processes import models, runs
from ...workers.forks import forks
from . import operator_proof
from .tflite_files import is_quantised, read_file


def proof_of(source: Path, moves_channels: bool) -> Callable[[Path, Inputs, Progress], str] | None:
    """Return the proof of a model that is computed in levels; None for one that is computed in floats.

    ``moves_channels`` is whether the proven model has channels second.
    """
    return partial(_prove, source, moves_channels) if is_quantised(read_file(source)) else None


def _prove(source: Path, moves_channels: bool, model: Path, inputs: Inputs, progress: Progress) -> str:
    def of_litert(named: Named) -> list[Array]:
        arrays = [array for _, array in named]
        return channels_last(arrays) if moves_channels else arrays

    with scratch() as folder, forks():
        run = next(runs(models(model, model, inputs), folder, progress))
        outputs, arrays = of_litert(run.settle(model)[0]), of_litert(run.arrays)
        progress(f"running {source.name}", 0, 0)
        try:
            proof = operator_proof.prove(source, arrays)
            whole = operator_proof.whole(
                source, arrays, outputs, proof, in_8_bits=lambda: of_litert(run(model, by_default=True)[0])
            )
        except VerificationError as error:
            raise VerificationError(f"{error}; nothing was written") from None
    return f"{proof}; {whole}"
