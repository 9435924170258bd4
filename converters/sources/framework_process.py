"""Models that only their framework reads: described and run by it, in a process of its own."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.frameworks import Framework
from ir_interp.files.sources import check_regular

from ..workers.worker import Died, Late, Question, Worker
from .model_description import Description

_SECONDS, _IDLE = 600.0, 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """The process of a framework: ``child`` is the module of its folder that runs there.

    The module has the functions ``describe(path, setting)`` and ``run(arrays, path)``.
    """

    framework: Framework
    child: str

    def described(self, path: Path, setting: str = "") -> Description:
        """Return what a model holds.

        Raises ReadError for an unreadable file, IrInterpError if the framework is missing or dies, and its own error.
        """
        self._check(path)
        answer = self.answer("describe", str(path.absolute()), setting, self.framework.label(path))
        if isinstance(answer, IrInterpError):
            raise answer
        assert isinstance(answer, Description)
        return answer

    def function(self, path: Path) -> Callable[..., dict[str, Array]]:
        """Return a model as a function of its inputs, in order, to its outputs by name. Raises as ``described``."""
        self._check(path)

        def outputs(*arrays: Array) -> dict[str, Array]:
            inputs, label = [np.asarray(array) for array in arrays], self.framework.label(path)
            answer = self.answer("run", inputs, str(path.absolute()), label)
            if isinstance(answer, str):
                raise IrInterpError(f"{self.framework.title}: {answer}")
            return dict(answer)

        return outputs

    def answer(self, function: str, item: Any, setting: Any, label: str) -> Any:
        """Return what a function of the framework's process answers. Raises IrInterpError if the process dies."""
        module = f"{self.framework.folder}.{self.child}"
        question = Question(function=f"{module}:{function}", setting=setting, limit=_SECONDS, attempts=1)
        answer = _worker(module).answer(question, item)
        if isinstance(answer, Died | Late):
            raise IrInterpError(f"{label} does not run in {self.framework.title}: {answer}")
        return answer

    def _check(self, path: Path) -> None:
        """Raise ReadError for an unreadable file, IrInterpError if the framework is missing."""
        try:
            check_regular(path)
            path.open("rb").close()
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
        self.framework.check_installed(self.framework.label(path))


@cache
def _worker(_: str) -> Worker:
    """Return the process of a framework, which has imported it and loaded models after its first answer."""
    worker = Worker(idle=_IDLE)
    atexit.register(worker.close)
    return worker
