"""The function and packages that run a model of one input and one output in a runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from numpy.typing import NDArray

Run = Callable[[str, NDArray[Any]], NDArray[Any]]
"""Returns the output of a model for an array. It uses only ``np`` and its own imports, so that scripts can hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """How to run a runtime: ``run`` needs the module ``package``, which pip installs as ``distribution``.

    ``also`` are further distributions that it needs.
    """

    package: str
    distribution: str
    run: Run
    also: tuple[str, ...] = ()

    @property
    def is_installed(self) -> bool:
        """Whether it can be run here."""
        try:
            return find_spec(self.package) is not None and all(map(metadata.version, self.also))
        except ModuleNotFoundError:  # its parent, or a distribution
            return False
