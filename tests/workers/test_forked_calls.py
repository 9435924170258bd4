"""Requests run each in a process of its own, wherever that comes from."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import closing
from contextvars import Context
from pathlib import Path

import numpy as np
import pytest

from ir_interp.converters import workers as module
from ir_interp.converters.verify.run_request import (
    INPUTS,
    NOT_LOADED,
    OUTPUTS,
    USAGE,
    Request,
    load_arrays,
    save_arrays,
)
from ir_interp.converters.workers import Call, Forks, Question, Worker, forks
from tests.support.graphs import save_model

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each request starts anew")
ABS = "g (float[2] x) => (float[2] y) { y = Abs (x) }"
ENDLESS = """g (float[2] x) => (float[2] y) <bool on = {1}, int64 turns = {9223372036854775807}> {
    y = Loop (turns, on, x) <body = b (int64 i, bool c, float[2] v) => (bool d, float[2] w) {
        d = Identity (c)
        w = Identity (v)
    }>
}"""


@pytest.fixture(params=["forked", "alone"])
def processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Forks:
    """Return what runs requests, as on Linux and as elsewhere."""
    monkeypatch.setattr(module, "_CAN_FORK", request.param == "forked")
    with forks() as found:
        return found


def asked(request: Request, *, seconds: int = 60, name: str = "", declared: float = 0) -> Call:
    return Call(
        function="ir_interp.converters.verify.runners:answer",
        argument=request,
        folder=request.folder,
        imports=("onnx",),
        seconds=seconds,
        files=(request.model,),
        name=name,
        declared=declared,
    )


def task(folder: Path, graph: str, **options: bool) -> Request:
    """Return the request to run a model on [1, -2]."""
    save_arrays(folder / INPUTS, [("x", np.array([1, -2], np.float32))])
    return Request(model=save_model(folder / "a.onnx", graph), folder=folder, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{}, {"in_openvino": True}], ids=["onnxruntime", "OpenVINO"])
def test_a_model_is_run(options: dict[str, bool], processes: Forks, tmp_path: Path) -> None:
    assert processes.run(asked(task(tmp_path, ABS, **options))) == (0, "")
    np.testing.assert_equal(load_arrays(tmp_path / OUTPUTS), [("y", np.array([1, 2], np.float32))])


def test_what_is_wrong_is_said(processes: Forks, tmp_path: Path) -> None:
    code, said = processes.run(asked(task(tmp_path, ABS.replace("Abs", "Absent"))))
    assert (code, said.count("\n")) == (NOT_LOADED, 1)
    assert "Absent" in said
    request = task(tmp_path, ABS)
    (tmp_path / INPUTS).unlink()
    code, said = processes.run(asked(request))
    assert code == 1
    assert INPUTS in said
    assert USAGE not in (code, NOT_LOADED)


def test_what_takes_too_long_is_stopped(processes: Forks, tmp_path: Path) -> None:
    endless = task(tmp_path, ENDLESS)
    with pytest.raises(TimeoutError):
        processes.run(asked(endless, seconds=1))
    assert processes.run(asked(task(tmp_path, ABS))) == (0, "")


def _children(process: int) -> list[int]:
    of_threads = Path(f"/proc/{process}/task").glob("*/children")
    return [int(each) for path in of_threads for each in path.read_text().split()]


@pytest.mark.parametrize("died", ["request", "server"])
def test_what_dies_is_told_apart_from_what_follows(died: str, tmp_path: Path) -> None:
    endless = task(tmp_path, ENDLESS)
    seen: list[tuple[int, str]] = []

    def run() -> None:
        with forks() as own:
            seen.append(own.run(asked(endless)))
            seen.append(own.run(asked(task(tmp_path, ABS))))

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


@pytest.mark.parametrize("options", [{}, {"in_openvino": True}], ids=["onnxruntime", "OpenVINO"])
def test_a_process_that_is_kept_takes_the_next_call_of_its_name(options: dict[str, bool], tmp_path: Path) -> None:
    before = set(_children(os.getpid()))

    def forked() -> list[int]:
        return [child for server in set(_children(os.getpid())) - before for child in _children(server)]

    def run() -> None:
        with forks() as own:

            def made(graph: str = ABS, name: str = "a", declared: float = 0) -> list[float]:
                assert own.run(asked(task(tmp_path, graph, **options), name=name, declared=declared)) == (0, "")
                return load_arrays(tmp_path / OUTPUTS)[0][1].tolist()  # type: ignore[no-any-return]

            assert (made(), made(name=""), made(declared=2.0**30)) == ([1, 2],) * 3
            assert forked() == []  # the last call of the name was large
            made()
            (kept,) = forked()
            assert (made(), forked()) == ([1, 2], [kept])
            assert (made(ABS.replace("Abs", "Neg")), forked()) == ([-1, 2], [kept])
            os.kill(kept, signal.SIGKILL)
            assert (made(), len(forked())) == ([1, 2], 1)
            assert kept not in forked()
            for number in range(module._MOST_FORKS + 2):
                made(name=str(number))
            assert len(forked()) == module._MOST_FORKS

    Context().run(run)
    assert forked() == []


def test_without_forks_small_calls_of_the_same_imports_share_a_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "_CAN_FORK", False)
    before = set(_children(os.getpid()))

    def running() -> set[int]:
        return set(_children(os.getpid())) - before

    def run() -> None:
        with forks() as own:

            def made(graph: str = ABS, declared: float = 0) -> list[float]:
                assert own.run(asked(task(tmp_path, graph), name=graph, declared=declared)) == (0, "")
                return load_arrays(tmp_path / OUTPUTS)[0][1].tolist()  # type: ignore[no-any-return]

            assert made() == [1, 2]
            (kept,) = running()
            assert (made(ABS.replace("Abs", "Neg")), running()) == ([-1, 2], {kept})
            code, said = own.run(asked(task(tmp_path, ABS.replace("Abs", "Absent"))))
            assert (code, "Absent" in said, running()) == (NOT_LOADED, True, {kept})
            os.kill(kept, signal.SIGKILL)
            assert (made(), len(running())) == ([1, 2], 1)
            assert kept not in running()
            assert (made(declared=2.0**30), running()) == ([1, 2], set())

    Context().run(run)
    assert running() == set()


def test_one_serves_all_that_is_within() -> None:
    with forks() as outer, forks() as inner:
        assert inner is outer
    other: list[Forks] = []

    def run() -> None:
        with forks() as own:
            other.append(own)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert other[0] is not outer


def test_a_child_reads_no_settings_of_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keras imports it, in a process that works in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("matplotlibrc").write_text("figure.facecolor: red\n")
    with closing(Worker()) as worker:
        colour = "__import__('matplotlib').rcParams['figure.facecolor']"
        assert worker.answer(Question(function="builtins:eval", setting={}), colour) == "white"
