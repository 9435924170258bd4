"""Requests run each in a process of its own, wherever that comes from."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextvars import Context
from pathlib import Path

import numpy as np
import pytest

from ir_interp.converters.verify.run import ready as module
from ir_interp.converters.verify.run.ready import Ready, Task, ready
from ir_interp.converters.verify.run.runners import NOT_LOADED, USAGE, Request, load, save
from tests.support.graphs import save_model

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each request starts anew")
ENDLESS = """g (float[2] x) => (float[2] y) <bool on = {1}, int64 turns = {9223372036854775807}> {
    y = Loop (turns, on, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {
        d = Identity (c)
        w = Identity (v)
    }>
}"""


@pytest.fixture(params=["forked", "alone"])
def processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Ready:
    """Return what runs requests, as on Linux and as elsewhere."""
    if request.param == "alone":
        monkeypatch.setattr(Ready, "_forked", lambda _, *asked: module._alone(*asked))
    with ready() as found:
        return found


def task(folder: Path, graph: str, **options: object) -> Task:
    """Return the request to run a model on [1, -2]."""
    save(folder / "inputs.npz", [("x", np.array([1, -2], np.float32))])
    place = {"inputs": str(folder / "inputs.npz"), "outputs": str(folder / "outputs.npz")}
    Request(model=str(save_model(folder / "a.onnx", graph)), **place, **options).save(folder / "a.json")  # type: ignore[arg-type]
    return Task(request=folder / "a.json", in_openvino="in_openvino" in options, seconds=60, files=[folder / "a.onnx"])


@pytest.mark.parametrize("options", [{}, {"in_openvino": True}], ids=["onnxruntime", "OpenVINO"])
def test_a_model_is_run(options: dict[str, bool], processes: Ready, tmp_path: Path) -> None:
    assert processes.run(task(tmp_path, "g (float[2] x) => (float[2] y) { y = Abs (x) }", **options)) == (0, "")
    np.testing.assert_equal(load(tmp_path / "outputs.npz"), [("y", np.array([1, 2], np.float32))])


def test_what_is_wrong_is_said(processes: Ready, tmp_path: Path) -> None:
    code, said = processes.run(task(tmp_path, "g (float[2] x) => (float[2] y) { y = Absent (x) }"))
    assert (code, said.count("\n")) == (NOT_LOADED, 1)
    assert "Absent" in said
    (tmp_path / "bad.json").write_text("{}")
    code, said = processes.run(Task(request=tmp_path / "bad.json", in_openvino=False, seconds=60, files=[]))
    assert code == 1
    assert "model" in said
    assert USAGE not in (code, NOT_LOADED)


def test_what_takes_too_long_is_stopped(processes: Ready, tmp_path: Path) -> None:
    asked = task(tmp_path, ENDLESS)
    with pytest.raises(TimeoutError):
        processes.run(Task(request=asked.request, in_openvino=False, seconds=1, files=[]))
    assert processes.run(task(tmp_path, "g (float[2] x) => (float[2] y) { y = Abs (x) }")) == (0, "")


def _children(process: int) -> list[int]:
    of_threads = Path(f"/proc/{process}/task").glob("*/children")
    return [int(each) for path in of_threads for each in path.read_text().split()]


@pytest.mark.parametrize("died", ["request", "server"])
def test_what_dies_is_told_apart_from_what_follows(died: str, tmp_path: Path) -> None:
    asked = task(tmp_path, ENDLESS)
    seen: list[tuple[int, str]] = []

    def run() -> None:
        with ready() as own:
            seen.append(own.run(asked))
            seen.append(own.run(task(tmp_path, "g (float[2] x) => (float[2] y) { y = Abs (x) }")))

    before = set(_children(os.getpid()))
    thread = threading.Thread(target=Context().run, args=(run,))
    thread.start()
    end = time.monotonic() + 60
    forked: list[int] = []
    while not forked and time.monotonic() < end:
        time.sleep(0.05)
        servers = set(_children(os.getpid())) - before
        forked = [child for server in servers for child in _children(server)]
    os.kill(forked[0] if died == "request" else next(iter(servers)), signal.SIGKILL)
    thread.join(60)
    assert seen == [(-signal.SIGKILL, ""), (0, "")]


def test_one_serves_all_that_is_within() -> None:
    with ready() as outer, ready() as inner:
        assert inner is outer
    other: list[Ready] = []

    def run() -> None:
        with ready() as own:
            other.append(own)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert other[0] is not outer
