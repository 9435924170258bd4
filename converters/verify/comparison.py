"""The comparison of two models: every output, and every resize if requested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypedDict, cast

from ir_interp.files.kinds import FileKind
from ir_interp.views import notebook

from ..reports.verification import FedImage, PlainCall, PlainCallRecord, differing
from .compare.first_difference import FirstLayer, Located
from .output_comparison import OutputComparison, OutputRecord, finite, output_record


class LocatedRecord(TypedDict):
    """A resize of both models in JSON: how far its data and its output differ."""

    name: str
    where: str
    data: float | None
    output: float | None
    equal: bool | None


class ComparisonRecord(TypedDict):
    """A comparison of two models in JSON."""

    first: str
    second: str
    images: list[FedImage]
    notes: list[str]
    equal: bool
    outputs: list[OutputRecord]
    resizes: list[LocatedRecord] | None
    first_resize_that_differs: str | None
    first_layer_that_differs: str | None
    extremes: list[str]
    calls: list[PlainCallRecord]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ModelComparison:
    """Two models, output by output, and their resizes in order if requested.

    ``images`` are those among the inputs; ``shapes`` are the shapes of the inputs that both ran on, by name. ``notes``
    are about the models: whether their outputs depend on the processor. ``extremes`` are the patterns of extreme inputs
    of a quantised model, and ``calls`` those that users make, by the default settings of a runtime.
    """

    first: Path
    second: Path
    images: tuple[FedImage, ...] = ()
    outputs: tuple[OutputComparison, ...]
    resizes: tuple[Located, ...] | None = None
    first_layer: FirstLayer | None = None
    notes: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    extremes: tuple[str, ...] = ()
    calls: tuple[PlainCall, ...] = ()

    def __repr__(self) -> str:
        place = f"; {self.first_difference}" if self.resizes is not None else ""
        return notebook.line("ModelComparison", f"{self.first.name} against {self.second.name}, {self.summary}{place}")

    def _repr_html_(self) -> str:
        """Return tables for notebooks: a row for each output, and one for each resize that was compared."""
        rows = ((output.name, *output.first.text[:1], output.verdict) for output in self.outputs)
        title = f"{self.first.name} against {self.second.name}: {self.summary}"
        outputs = notebook.columns(title, ("output", "shape", "verdict"), rows)
        resizes = ((resize.name, *resize.text) for resize in self.resizes or ())
        names = ("resize", "its data", "its output")
        return outputs + (notebook.columns(self.first_difference, names, resizes) if self.resizes is not None else "")

    @property
    def passes(self) -> bool:
        """Whether both models are equal, in exact sums and as users call them."""
        return self.is_proven and not differing(self.calls)

    @property
    def is_proven(self) -> bool:
        """Whether every output is equal within the tolerance, on inputs that would have shown a difference.

        8-bit products are summed exactly. A resize that differs never passes: on other inputs its difference may reach
        the outputs.
        """
        is_equal = all(output.compared.passes and output.compared.is_conclusive for output in self.outputs)
        return is_equal and self.first_resize is None

    @property
    def first_resize(self) -> Located | None:
        """The first resize whose output differs."""
        return next((resize for resize in self.resizes or () if resize.differs), None)

    @property
    def first_difference(self) -> str:
        """The first resize whose output differs, in one line."""
        resize = self.first_resize
        if resize is None:
            return "no resize visible in both models differs"
        source = "; its input differs already" if resize.is_fed_otherwise else ""
        return f"the first resize that differs is {resize.name!r}{source}"

    @property
    def next_command(self) -> tuple[str, ...]:
        """The command that shows the cause of a difference at a resize, or finds the layer before it; else nothing."""
        resize, layer = self.first_resize, self.first_layer
        if (resize and not resize.is_fed_otherwise) or (layer and layer.resize):
            models = (path for path in (self.first, self.second) if FileKind.of(path) is FileKind.ONNX)
            return ("ir-interp", "audit", str(next(models, self.first)))
        return (
            ("ir-interp", "compare", str(self.first), str(self.second), "--per-layer") if resize and not layer else ()
        )

    @property
    def summary(self) -> str:
        """How many outputs are equal, in one line."""
        passed = [output.compared for output in self.outputs if output.compared.passes]
        equal = sum(output.is_conclusive for output in passed)
        more = f", {len(passed) - equal} inconclusive" if equal < len(passed) else ""
        return f"{equal} of {len(self.outputs)} outputs equal within the tolerance{more}{differing(self.calls)}"

    def record(self) -> ComparisonRecord:
        """Return the comparison as plain values, for JSON."""
        first = self.first_resize
        return {
            "first": str(self.first),
            "second": str(self.second),
            "images": [cast(FedImage, asdict(image)) for image in self.images],
            "notes": list(self.notes),
            "equal": self.passes,
            "outputs": [output_record(output) for output in self.outputs],
            "resizes": None if self.resizes is None else [_resize_record(resize) for resize in self.resizes],
            "first_resize_that_differs": first.name if first else None,
            "first_layer_that_differs": self.first_layer.name if self.first_layer else None,
            "extremes": list(self.extremes),
            "calls": [call.record() for call in self.calls],
        }


def _resize_record(resize: Located) -> LocatedRecord:
    return {
        "name": resize.name,
        "where": resize.where,
        "data": None if resize.data is None else finite(resize.data.absolute),
        "output": None if resize.output is None else finite(resize.output.absolute),
        "equal": None if resize.output is None else resize.output.passes,
    }
