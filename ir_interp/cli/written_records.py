"""The reports of ``run``, ``plot`` and ``preprocess`` on the file that they wrote."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ir_interp.cli.invocation import print_result, printed_form
from ir_interp.text.names import printable
from ir_interp.views.describe import shape_text


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A resized array; ``resize`` is its name or call, ``dtype`` None for a store, which keeps that of its source.

    ``caveat`` is how the values may differ from those of the library that is called; empty if none do.
    """

    resize: str
    source: str
    source_shape: tuple[int, ...]
    destination: str
    shape: tuple[int, ...]
    dtype: str | None = None
    caveat: str = ""

    @property
    def text(self) -> str:
        """The resize, both shapes and the file, in one line."""
        shapes = f"{shape_text(self.source_shape)} -> {shape_text(self.shape)}"
        line = f"{self.resize}: {' '.join(filter(None, (shapes, self.dtype)))}, {self.destination}"
        return f"{line}; {self.caveat}" if self.caveat else line


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotRecord:
    """A picture of a resize of ``source``; ``what`` is the value of the option of this name."""

    source: str
    destination: str
    what: str

    @property
    def text(self) -> str:
        """The file, in one line."""
        return f"wrote {self.destination}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreprocessRecord:
    """A model with preprocessing; ``shape`` of its ``input`` has a name for each dynamic dimension."""

    source: str
    destination: str
    input: str
    dtype: str
    shape: tuple[int | str, ...]

    @property
    def text(self) -> str:
        """The file and its input, in one line."""
        return f"wrote {self.destination}: input {self.input!r}, {self.dtype} [{', '.join(map(str, self.shape))}]"


def report(record: RunRecord | PlotRecord | PreprocessRecord, options: Any) -> None:
    """Print a record as the options of its command ask."""
    print_result(printed_form(options), lambda: asdict(record), lambda: print(printable(record.text)))
