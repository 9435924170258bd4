"""Models that only their framework reads: described and run by it, in a process of its own."""

from __future__ import annotations

import atexit
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.sources import check_regular

from ..workers.worker import Died, Late, Question, Worker
from .model_description import Description

_SECONDS, _IDLE = 600.0, 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework: its title, its package, the extra that installs it, and the module that runs in its process.

    The module has the functions ``describe(path, setting)`` and ``run(arrays, path)``.
    """

    title: str
    package: str
    extra: str
    child: str

    def check(self, path: Path, label: str) -> None:
        """Raise ReadError for an unreadable file, IrInterpError if the package is missing."""
        try:
            check_regular(path)
            path.open("rb").close()
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
        self.check_installed(label)

    def check_installed(self, label: str) -> None:
        """Raise IrInterpError if the package is missing."""
        if importlib.util.find_spec(self.package) is None:
            raise IrInterpError(f"{label} needs {self.title}: pip install 'ir-interp[{self.extra}]'")

    def described(self, path: Path, label: str, setting: str = "") -> Description:
        """Return what a model holds. Raises the error of the framework's process, IrInterpError if that dies."""
        answer = self.answer("describe", str(path.absolute()), setting, label)
        if isinstance(answer, IrInterpError):
            raise answer
        assert isinstance(answer, Description)
        return answer

    def function(self, path: Path, label: str) -> Callable[..., dict[str, Array]]:
        """Return a model as a function of its inputs, in order, to its outputs by name."""

        def outputs(*arrays: Array) -> dict[str, Array]:
            answer = self.answer("run", [np.asarray(array) for array in arrays], str(path.absolute()), label)
            if isinstance(answer, str):
                raise IrInterpError(f"{self.title}: {answer}")
            return dict(answer)

        return outputs

    def answer(self, function: str, item: Any, setting: Any, label: str) -> Any:
        """Return what a function of the framework's process answers. Raises IrInterpError if the process dies."""
        question = Question(function=f"{self.child}:{function}", setting=setting, limit=_SECONDS, attempts=1)
        answer = _worker(self.child).answer(question, item)
        if isinstance(answer, Died | Late):
            raise IrInterpError(f"{label} does not run in {self.title}: {answer}")
        return answer


@cache
def _worker(_: str) -> Worker:
    """Return the process of a framework, which has imported it and loaded models after its first answer."""
    worker = Worker(idle=_IDLE)
    atexit.register(worker.close)
    return worker
