"""Loops turned on and off within a process, which reads the variable for them only once."""

from __future__ import annotations

import importlib.util

import pytest

from ir_interp.executor import loop_runner

HAS_NUMBA = importlib.util.find_spec("numba") is not None
VARIABLE = "IR_INTERP_COMPILED"
"""The environment variable of docs/performance.md."""


def use_loops(patch: pytest.MonkeyPatch, value: str | None) -> None:
    """Set the variable, or remove it, for this process and its children."""
    if value is None:
        patch.delenv(VARIABLE, raising=False)
    else:
        patch.setenv(VARIABLE, value)
    patch.setattr(loop_runner, "_loops", loop_runner._Loops())
