"""Broken files and senseless options: ``python -m tests.sweeps.fuzz`` has more of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.fuzz_calls import Call, calls
from tests.sweeps.fuzz import Finding, Worker, originals, sweep


def test_no_call_does_what_none_may_do() -> None:
    found = sweep(15, 3, runs=0.0)
    assert found.findings == []
    assert sum(found.ends.values()) == 15
    assert found.ends["exit code 0"]
    assert found.ends["exit code 2"]


def test_calls_follow_from_their_seed_and_number(tmp_path: Path) -> None:
    good = originals(tmp_path)
    first, again = (list(calls(good, 5, numbers)) for numbers in (range(10, 20), range(10, 20)))
    assert first == again
    assert list(calls(good, 5, [15])) == [first[5]]
    assert list(calls(good, 6, range(10, 20))) != first


@pytest.mark.skipif(sys.platform != "linux", reason="peaks of memory are read from /proc")
def test_a_worker_that_dies_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call(number=0, arguments=("inspect", "gone.onnx"), files={})
    monkeypatch.setattr("tests.sweeps.fuzz.WAITED", 0.001)
    with Worker() as worker:
        hung = worker.ask(call, tmp_path)
        monkeypatch.undo()
        assert worker.ask(call, tmp_path) == "exit code 2"
    assert isinstance(hung, Finding)
    assert (hung.kind, hung.text) == ("hang", "did not end in 0.001 s")
