"""The IR that stands for a model of TensorFlow: it freezes the graph, and OpenVINO reads the frozen file."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from ir_interp.options.convert_options import ConvertOptions
from ir_interp.options.image_options import NCHW

from ...reports.conversion_report import FormPolicy
from ..intermediate import Intermediate, as_ir
from . import FRAMEWORK
from .tensorflow_files import described


def intermediate(
    source: Path, destination: Path, policy: FormPolicy, options: ConvertOptions
) -> AbstractContextManager[Intermediate]:
    """Yield the IR of a model."""
    from .frontend import build

    name = FRAMEWORK.label(source)

    return as_ir(
        lambda folder: build(folder, described(source, folder), name, policy),
        destination,
        name,
        moves_channels=options.layout == NCHW,
    )
