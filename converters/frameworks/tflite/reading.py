"""The reading of TFLite files."""

from __future__ import annotations

from pathlib import Path

from ...sources.brief import Brief, Tensor, sizes
from ...sources.frameworks import Reading
from . import litert_reference
from .tflite_files import load, read_file


def _operations(path: Path) -> list[str]:
    return [operator.type for operator in read_file(path).operators]


def _brief(path: Path) -> Brief:
    file = read_file(path)
    inputs, outputs = (
        tuple(Tensor(name=end.name, dtype=end.dtype, shape=end.shape) for end in those if end is not None)
        for those in (file.inputs, file.outputs)
    )
    return Brief(
        format=f"TFLite, version {file.version}",
        inputs=inputs,
        outputs=outputs,
        weights=(len(file.constants), sum(file.constants)),
        files=sizes(path),
    )


READING = Reading(
    load=load,
    operations=_operations,
    brief=_brief,
    function=litert_reference.function,
    slack=litert_reference.slack,
)
