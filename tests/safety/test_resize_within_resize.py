"""``resize`` gives the same numbers from a signal handler, from a finaliser, in a fork, and while Python ends."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import ir_interp
from ir_interp import Coordinates, Linear, ResizeSpec, Sizes, resize
from tests.support.places import ROOT
from tests.support.runtimes import Child

SPEC = ResizeSpec(kernel=Linear(), coordinates=Coordinates.HALF_PIXEL, axes=(1, 2), target=Sizes((300, 290)))
LIBRARIES = {
    "pillow": ir_interp.spec("pillow", resample="BICUBIC", dtype="uint8"),
    "opencv": ir_interp.spec("opencv", interpolation="INTER_LINEAR", dtype="uint8"),
    "opencv area": ir_interp.spec("opencv", interpolation="INTER_AREA", dtype="uint8"),
    "torch": ir_interp.spec("torch", mode="bicubic", antialias=True, dtype="uint8"),
}
SPECS = {"": SPEC} | {name: replace(spec, axes=(1, 2), target=SPEC.target) for name, spec in LIBRARIES.items()}
UNIX = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")


def nothing(*_: object) -> None:
    """For a signal that comes late: without a handler it would end the process."""


@contextmanager
def interrupted(job: Callable[[], None], period: float) -> Iterator[None]:
    """Run a job each time a period in seconds has passed, wherever this thread then is."""

    def run(*_: object) -> None:
        job()
        if not stopped.is_set():
            signal.setitimer(signal.ITIMER_REAL, period)

    stopped = threading.Event()
    signal.signal(signal.SIGALRM, run)
    signal.setitimer(signal.ITIMER_REAL, period)
    try:
        yield
    finally:
        stopped.set()
        signal.signal(signal.SIGALRM, nothing)
        signal.setitimer(signal.ITIMER_REAL, 0)


def seconds(x: np.ndarray, spec: ResizeSpec) -> float:
    """The time of one resize of ``x``, the shortest of five."""

    def once() -> float:
        begin = time.perf_counter()
        resize(x, spec)
        return time.perf_counter() - begin

    return min(once() for _ in range(5))


def interrupted_resizes(count: int, dtype: str, library: str = "") -> tuple[int, bool]:
    """Return how many resizes ran within others, and whether all of both were right; a job for a child."""
    os.environ["IR_INTERP_THREADS"] = "3"
    spec = SPECS[library]
    rng = np.random.default_rng(0)
    x, other = ((rng.random((count, 200, 210)) * 200).astype(dtype) for _ in range(2))
    wanted, inner = resize(x, spec), resize(other, spec)
    period = seconds(x, spec) / 3
    within: list[bool] = []
    outside: list[bool] = []
    end = time.monotonic() + 30
    while len(within) < 40 and time.monotonic() < end:
        with interrupted(lambda: within.append(np.array_equal(resize(other, spec), inner)), period):
            found = resize(x, spec)
        outside.append(np.array_equal(found, wanted))
    return len(within), all(within) and all(outside)


CASES = [(count, dtype, "") for count in (3, 24) for dtype in ("float32", "float16", "uint8")]
ALL = [pytest.param(24, "uint8", each, marks=pytest.mark.long) for each in LIBRARIES]


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """Return another process: what runs the tests need not bear alarms."""
    with Child(timeout=120) as process:
        yield process


@pytest.mark.sampled(3)
@UNIX
@pytest.mark.parametrize(("count", "dtype", "library"), [*CASES, (3, "uint8", "pillow"), *ALL])
def test_in_a_signal_handler(count: int, dtype: str, library: str, child: Child) -> None:
    answer = child.call(interrupted_resizes, count, dtype, library)
    assert isinstance(answer, tuple), answer
    within, right = answer
    assert within > 20
    assert right


class Resizes:
    """What resizes when nothing refers to it any more."""

    results: ClassVar[list[bool]] = []
    x = np.random.default_rng(1).random((24, 200, 210), np.float32)
    wanted = resize(x, SPEC)

    def __del__(self) -> None:
        self.results.append(np.array_equal(resize(self.x, SPEC), self.wanted))


def test_in_finalisers_of_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rubbish is collected in whatever thread allocates: in those of the pool, too, which must not wait for it."""
    monkeypatch.setenv("IR_INTERP_THREADS", "3")
    x = np.random.default_rng(2).random((24, 200, 210), np.float32)
    wanted = resize(x, SPEC)
    Resizes.results.clear()
    before = gc.get_threshold()
    gc.set_threshold(5, 1, 1)
    try:
        for _ in range(10):
            for _ in range(4):
                each: list[object] = [Resizes()]
                each.append(each)
            np.testing.assert_array_equal(resize(x, SPEC), wanted)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(Resizes.results) >= 20
    assert all(Resizes.results)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("library", ["", "pillow", pytest.param("torch", marks=pytest.mark.long)])
def test_in_a_fork_while_another_thread_resizes(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_INTERP_THREADS", "2")
    x = (np.random.default_rng(3).random((24, 200, 210)) * 255).astype("uint8" if library else "float32")
    spec = SPECS[library]
    wanted, stopped = resize(x, spec), threading.Event()

    def resize_on() -> None:
        while not stopped.is_set():
            resize(x, spec)

    threads = [threading.Thread(target=resize_on) for _ in range(2)]
    for each in threads:
        each.start()
    try:
        codes = [_forked(x, spec, wanted) for _ in range(3 if library else 8)]
    finally:
        stopped.set()
        for each in threads:
            each.join()
    assert codes == [0] * len(codes)


def _forked(x: np.ndarray, spec: ResizeSpec, wanted: object) -> int:
    """Resize in a fork; return 0 where that is right, 1 where it is not, 14 where it does not end in 20 s."""
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(not np.array_equal(resize(x, spec), np.asarray(wanted)))
    return os.waitpid(child, 0)[1]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("library", [False, True], ids=["of a runtime", "of a library"])
@pytest.mark.parametrize("warm", [False, True], ids=["for the first time", "again"])
def test_while_python_ends(warm: bool, library: bool) -> None:
    made = "ResizeSpec(kernel=Linear(), coordinates=Coordinates.HALF_PIXEL)"
    called = "spec('pillow', resample='BICUBIC', dtype='uint8')"
    lines = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})",
        "import atexit, dataclasses, numpy as np",
        "from ir_interp import Coordinates, Linear, ResizeSpec, Sizes, resize, spec",
        f"spec = dataclasses.replace({called if library else made}, axes=(1, 2), target=Sizes((300, 290)))",
        f"x = np.ones((24, 200, 210), np.{'uint8' if library else 'float32'})",
        "resize(x, spec)" if warm else "",
        "atexit.register(lambda: print(resize(x, spec).sum() == 24 * 300 * 290))",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env=os.environ | {"IR_INTERP_THREADS": "3"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
