"""The IR that stands for a model of TensorFlow: it freezes the graph, and OpenVINO reads the frozen file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ir_interp.files.scratch import scratch
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.options.image_options import NCHW

from ...reports.conversion_report import FormPolicy
from ..intermediate import Intermediate, as_ir
from . import FRAMEWORK
from .tensorflow_files import described


@contextmanager
def intermediate(
    source: Path, destination: Path, policy: FormPolicy, options: ConvertOptions
) -> Iterator[Intermediate]:
    """Yield the IR of a model."""
    from .frontend import build

    name = FRAMEWORK.label(source)
    with (
        scratch(destination.parent) as folder,
        as_ir(
            build(folder, described(source, folder), name, policy),
            destination,
            name,
            moves_channels=options.layout == NCHW,
        ) as between,
    ):
        yield between
