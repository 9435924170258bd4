"""Models that only their framework reads: described and run by it, in a process of its own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.frameworks import Framework
from ir_interp.files.sources import check_readable

from ..runtimes.messages import first_line
from ..workers.worker import Died, Late, Question, lasting
from .model_description import Description

_SECONDS, _IDLE = 600.0, 120.0


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a framework, as the line that names its reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The process of a framework: ``child`` is the module of its folder that runs there.

    The module has the functions ``describe(path, setting)`` and ``run(arrays, path)``, and may have ``reason(error)``.
    """

    framework: Framework
    child: str

    def described(self, path: Path, setting: str = "") -> Description:
        """Return what a model holds.

        Raises ReadError for an unreadable file or a missing framework, IrInterpError if that dies, and its own error.
        """
        self._check(path)
        label = self.framework.label(path)
        answer = self._answer("describe", str(path.absolute()), setting, label)
        if isinstance(answer, Failure):
            raise ReadError(f"{self.framework.title} cannot load it: {answer.reason}", label)
        assert isinstance(answer, Description)
        return answer

    def function(self, path: Path) -> Callable[..., dict[str, Array]]:
        """Return a model as a function of its inputs, in order, to its outputs by name. Raises as ``described``."""
        self._check(path)

        def outputs(*arrays: Array) -> dict[str, Array]:
            inputs, label = [np.asarray(array) for array in arrays], self.framework.label(path)
            return dict(self.answer("run", inputs, str(path.absolute()), label))

        return outputs

    def answer(self, function: str, item: Any, setting: Any, label: str) -> Any:
        """Return what a function of the framework's process returns. Raises IrInterpError if it fails."""
        answer = self._answer(function, item, setting, label)
        if isinstance(answer, Failure):
            raise IrInterpError(f"{self.framework.title}: {answer.reason}")
        return answer

    def _answer(self, function: str, item: Any, setting: Any, label: str) -> Any:
        module = f"{self.framework.folder}.{self.child}"
        question = Question(
            function=f"{__name__}:answer", setting=(module, function, setting), limit=_SECONDS, attempts=1
        )
        answer = lasting(module, _IDLE).answer(question, item)
        if isinstance(answer, Died | Late):
            raise IrInterpError(f"{label} does not run in {self.framework.title}: {answer}")
        if isinstance(answer, IrInterpError):
            raise answer
        return answer

    def _check(self, path: Path) -> None:
        """Raise ReadError for an unreadable file, or a missing framework."""
        check_readable(path)
        self.framework.check_installed(self.framework.label(path))


def answer(item: Any, setting: tuple[str, str, Any]) -> Any:
    """Return what a function of a module returns, in this process; its error of this program, any other as Failure."""
    module, function, value = setting
    child = importlib.import_module(module)
    try:
        return getattr(child, function)(item, value)
    except IrInterpError as error:
        return error
    except Exception as error:  # whatever a framework raises
        return Failure(getattr(child, "reason", first_line)(error))
