"""Constants that are mapped from a file take memory only while they are in use."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ir_interp.files.memory import let_go

_MIB = 2**20


def resident() -> int:
    """Return the bytes of this process that are in memory because of mapped files."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssFile"))


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says of a process")
def test_what_is_let_go_takes_no_memory(tmp_path: Path) -> None:
    values = np.arange(8 * _MIB, dtype=np.float32).reshape(8, -1)
    values.tofile(tmp_path / "w.bin")
    mapped = np.asarray(np.memmap(tmp_path / "w.bin", np.float32, "r", 0, (8 * _MIB,)).reshape(8, -1))
    assert mapped.sum() == values.sum()
    before = resident()
    let_go(mapped)
    assert before - resident() > 24 * _MIB
    np.testing.assert_array_equal(mapped, values)


def test_an_array_of_its_own_stays() -> None:
    values = np.arange(5)
    let_go(values)
    let_go(None)
    assert values.tolist() == [0, 1, 2, 3, 4]
