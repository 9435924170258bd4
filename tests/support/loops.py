"""Loops turned on and off within a process, which reads the variable for them only once."""

from __future__ import annotations

import pytest

from ir_interp.executor import loop_runner


def use_loops(patch: pytest.MonkeyPatch, value: str | None) -> None:
    """Set the variable, or remove it, for this process and its children."""
    if value is None:
        patch.delenv(loop_runner.VARIABLE, raising=False)
    else:
        patch.setenv(loop_runner.VARIABLE, value)
    patch.setattr(loop_runner, "_loops", loop_runner._Loops())
