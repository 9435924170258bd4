"""Every record of a call has a loop, which can tell its endings apart."""

from __future__ import annotations

from typing import get_args

import pytest

pytest.importorskip("numba", reason="pip install 'ir-interp[fast]'")

from ir_interp.executor import loop_calls
from ir_interp.executor.loops import LOOPS


def test_every_call_has_a_loop() -> None:
    assert set(LOOPS) == set(get_args(loop_calls.Call))


@pytest.mark.parametrize("endings", [loop_calls.Ending, loop_calls.Stepped | loop_calls.Fixed])
def test_endings_have_different_lengths(endings: object) -> None:
    lengths = [len(ending._fields) for ending in get_args(endings)]
    assert len(set(lengths)) == len(lengths)
