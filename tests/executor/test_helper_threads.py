"""Threads that help: who is waited for, what is raised, and what is kept."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from ir_interp.executor import loop_runner
from ir_interp.executor.threads import ActiveWaiting, Helpers, in_call, is_within_another, scratch

SOON = 10.0  # seconds


def compiled_waiting() -> ActiveWaiting:
    pytest.importorskip("numba")
    assert loop_runner.load()
    return loop_runner._loops.waiting


WAYS: list[Callable[[], ActiveWaiting | None]] = [lambda: None, compiled_waiting]


@pytest.fixture(params=WAYS, ids=["asleep", "active"])
def waiting(request: pytest.FixtureRequest) -> ActiveWaiting | None:
    """Return each way of waiting."""
    way: ActiveWaiting | None = request.param()
    return way


def meet(helpers: Helpers, waiting: ActiveWaiting | None, others: int = 1) -> set[int]:
    """Run a job that ends when all threads have begun it; return them."""
    met, threads = threading.Barrier(others + 1), set[int]()

    def wait() -> None:
        met.wait(SOON)
        threads.add(threading.get_ident())

    helpers.run(wait, others, waiting)
    return threads


def test_all_threads_are_waited_for(waiting: ActiveWaiting | None) -> None:
    helpers = Helpers(nullcontext())
    assert all(len(meet(helpers, waiting, others=2)) == 3 for _ in range(50))


def test_a_helper_that_begins_late_finds_nothing(waiting: ActiveWaiting | None) -> None:
    helpers, all_busy, free, workers = Helpers(nullcontext()), threading.Barrier(3), threading.Event(), list[int]()

    def keep_busy() -> None:
        all_busy.wait(SOON)
        assert free.wait(SOON)

    other = threading.Thread(target=helpers.run, args=(keep_busy, 1, waiting))
    other.start()
    all_busy.wait(SOON)  # with the other caller and the only helper
    helpers.run(lambda: workers.append(threading.get_ident()), 1, waiting)
    free.set()
    other.join(SOON)
    meet(helpers, waiting)  # the helper has passed over the call before
    assert workers == [threading.get_ident()]


@pytest.mark.parametrize("of_the_caller", [False, True])
def test_an_error_of_any_thread_is_raised(of_the_caller: bool, waiting: ActiveWaiting | None) -> None:
    met = threading.Barrier(2)

    def fail() -> None:
        met.wait(SOON)
        if (threading.current_thread() is threading.main_thread()) == of_the_caller:
            raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        Helpers(nullcontext()).run(fail, 1, waiting)


def test_helpers_keep_no_arrays(waiting: ActiveWaiting | None) -> None:
    class Held:
        """Something that a job uses."""

    def work() -> weakref.ref[Any]:
        held, met = Held(), threading.Barrier(2)

        def use() -> None:
            assert held
            met.wait(SOON)

        helpers.run(use, 1, waiting)
        return weakref.ref(held)

    helpers = Helpers(nullcontext())
    reference = work()
    meet(helpers, waiting)  # begins when the helper has forgotten the job before
    assert reference() is None


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system places threads itself")
@pytest.mark.skipif((os.cpu_count() or 1) == 1, reason="there is no other processor")
def test_helpers_run_elsewhere_than_the_caller() -> None:
    waiting, helpers, places, met = (
        compiled_waiting(),
        Helpers(nullcontext()),
        dict[int, set[int]](),
        threading.Barrier(3),
    )

    def place() -> None:
        met.wait(SOON)
        places[threading.get_ident()] = os.sched_getaffinity(0)

    class Elsewhere:
        """A caller on the first processor that this process may use."""

        rest, wait = staticmethod(waiting.rest), staticmethod(waiting.wait)

        def processor(self) -> int:
            return min(os.sched_getaffinity(0))

    mine = os.sched_getaffinity(0)
    for _ in range(2):
        helpers.run(place, 2, Elsewhere())
    others = mine - {min(mine)}
    assert sorted(map(sorted, places.values())) == sorted(map(sorted, (mine, others or mine, others or mine)))


def test_the_processor_of_a_thread_is_one_that_it_may_use() -> None:
    number = compiled_waiting().processor()
    assert number in os.sched_getaffinity(0) if sys.platform.startswith("linux") else number == -1


def test_active_waiting_ends_by_itself() -> None:
    waiting = compiled_waiting()
    ended = np.zeros(1, np.int64)
    waiting.wait(ended, 1)
    waiting.rest(ended, np.zeros(1, np.int64), 0)
    assert ended.tolist() == [1]


def test_a_call_within_another_leaves_its_memory_alone() -> None:
    """Of a handler that interrupts at any moment, tests of whole resizes show what went right by chance, too."""
    kind = np.dtype(np.float32)
    with in_call():
        outer = scratch(0, (8,), kind)
        assert np.shares_memory(outer, scratch(0, (8,), kind))
        with in_call():
            assert is_within_another()
            assert not np.shares_memory(outer, scratch(0, (8,), kind))
