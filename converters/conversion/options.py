"""How to translate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ir_interp.translation.dialect import Semantics

from ..report import ConversionReport, Form, FormPolicy, Progress, StateForm, silent
from ..verify.run.inputs import Inputs

OLD_IR = 10
IR, INTERPOLATE = (OLD_IR, 11), (1, 4, 11)
"""Versions of IRs, and of Interpolate in them, that are written."""
DIALECT = "tensorrt"
"""That of a .json, where none is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to translate; ``ir_interp.convert`` says what each means."""

    opset: int | None = None
    ir: int | None = None
    interpolate: int | None = None
    dialect: str | None = None
    into: Path | None = None
    semantics: Semantics = Semantics.RUNTIME
    only: Form = Form.ANY
    strict: bool = False
    fp16: bool = False
    state: StateForm = StateForm.INPUTS
    target: str | None = None
    verify: bool = True
    inputs: Inputs = field(default_factory=Inputs)
    progress: Progress = silent
    reports: Mapping[Path, Callable[[ConversionReport, Path], None]] = field(default_factory=dict)

    @property
    def policy(self) -> FormPolicy:
        """The forms that resizes may take."""
        newest = INTERPOLATE[-2 if self.ir == OLD_IR else -1]
        return FormPolicy(form=self.only, strict=self.strict, interpolate=self.interpolate or newest)
