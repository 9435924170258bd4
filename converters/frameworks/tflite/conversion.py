"""The IR that stands for a TFLite file; a single resize is read as a layer, which needs no frontend."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from ir_interp.files.kinds import MODELS, FileKind
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.options.image_options import NCHW

from ...reports.conversion_report import FormPolicy
from ..intermediate import Intermediate, as_ir
from .tflite_files import KINDS, read_file


def intermediate(
    source: Path, destination: Path, policy: FormPolicy, options: ConvertOptions
) -> AbstractContextManager[Intermediate | None]:
    """Yield the IR of a file that becomes a model; None for a single resize whose channels stay."""
    from .frontend import build
    from .proof import proof_of

    moves_channels = options.layout == NCHW
    if not _is_whole(source, destination, moves_channels=moves_channels):
        return nullcontext()
    proof = proof_of(source, moves_channels)
    return as_ir(
        lambda folder: build(source, folder, policy),
        destination,
        source.name,
        moves_channels=moves_channels,
        proof=proof,
    )


def _is_whole(source: Path, destination: Path, *, moves_channels: bool) -> bool:
    """Return whether a file becomes a model: it is more than a single resize, or its channels move."""
    if FileKind.of(destination) not in MODELS:
        return False
    file = read_file(source)
    is_single = [operator.outputs for operator in file.operators] == [file.outputs]
    return moves_channels or not (is_single and file.operators[0].type in KINDS)
