"""The IR that stands for a program of Paddle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ir_interp.errors import UnsupportedLayerError
from ir_interp.options.convert_options import ConvertOptions

from ...reports.conversion_report import FormPolicy
from ...sources.model_description import Description
from ...verify.run.deciding_lengths import SizeHints
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

    with as_ir(lambda folder: build(source, description, folder, policy), destination, source.name) as between:
        yield replace(between, hints=_hints(description))


def _hints(description: Description) -> SizeHints:
    """Return the scales of a program, whose IR holds parts of them."""
    scales = (scale for resize in description.resizes for scale in resize.attributes.get("scale", ()))
    return SizeHints(scales=tuple(dict.fromkeys(float(scale) for scale in scales if scale > 0 and scale % 1)))
