"""The reading of TFLite files."""

from __future__ import annotations

from pathlib import Path

from ...sources.frameworks import Reading
from ...sources.model_description import Description, End
from . import litert_reference
from .tflite_files import known, load, read_file


def _described(path: Path) -> Description:
    file = read_file(path)
    inputs, outputs = (
        tuple(End(name=end.name, dtype=end.dtype, shape=end.shape) for end in those if end is not None)
        for those in (file.inputs, file.outputs)
    )
    return Description(
        format=f"TFLite, version {file.version}",
        inputs=inputs,
        outputs=outputs,
        operations=tuple(operator.type for operator in file.operators),
        constants=file.constants,
    )


READING = Reading(
    load=load,
    describe=_described,
    function=litert_reference.function,
    slack=litert_reference.slack,
    known=known,
)
