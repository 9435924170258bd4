"""The IR that stands for a program of Paddle."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from ir_interp.errors import UnsupportedLayerError
from ir_interp.options.convert_options import ConvertOptions

from ...reports.conversion_report import FormPolicy
from ..intermediate import Intermediate, as_ir
from .paddle_files import described
from .paddle_operations import first_unknown


def intermediate(
    source: Path, destination: Path, policy: FormPolicy, _: ConvertOptions
) -> AbstractContextManager[Intermediate]:
    """Yield the IR of a program. Raises UnsupportedLayerError for an operation that OpenVINO does not convert."""
    from .frontend import build

    description = described(source)
    unknown = first_unknown(description.operations)
    if unknown:
        problem = f"OpenVINO's Paddle frontend does not convert operation {unknown}, and it is not run"
        raise UnsupportedLayerError(problem, source.name)

    return as_ir(lambda folder: build(source, description, folder, policy), destination, source.name)
