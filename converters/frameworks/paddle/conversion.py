"""The IR that stands for a program of Paddle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ir_interp.errors import UnsupportedLayerError
from ir_interp.files.scratch import scratch
from ir_interp.options.convert_options import ConvertOptions

from ...reports.conversion_report import FormPolicy
from ..intermediate import Intermediate, as_ir
from .paddle_files import described
from .paddle_operations import first_unknown


@contextmanager
def intermediate(source: Path, destination: Path, policy: FormPolicy, _: ConvertOptions) -> Iterator[Intermediate]:
    """Yield the IR of a program. Raises UnsupportedLayerError for an operation that OpenVINO does not convert."""
    from .frontend import build

    description = described(source)
    unknown = first_unknown(description.operations)
    if unknown:
        problem = f"OpenVINO's Paddle frontend does not convert operation {unknown}, and it is not run"
        raise UnsupportedLayerError(problem, source.name)
    with ExitStack() as stack:
        with scratch(destination.parent) as folder:  # until the IR holds the weights
            built = build(source, description, folder, policy)
            between = stack.enter_context(as_ir(built, destination, source.name))
            del built
        yield between
