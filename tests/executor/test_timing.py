"""Whether threads share a job of medium size: what was faster decides, and the slower way is tried again."""

from __future__ import annotations

import pytest

from ir_interp.executor.loop_runner import Timing


def shared_calls(timing: Timing, seconds: dict[bool, float], count: int) -> list[int]:
    """Return which of some calls are shared, each of which takes its ``seconds``; not all are measured."""
    shared = []
    for call in range(count):
        if timing.is_surely_alone():
            continue
        is_shared = timing.is_shared()
        if is_shared:
            shared.append(call)
        timing.add(seconds[is_shared], is_shared=is_shared)
    return shared


TRIALS = [call for end in (22, 54, 118, 246) for call in range(end - 3, end)]
"""The last calls of the periods after the first six calls, which go the other way."""


@pytest.mark.parametrize(
    ("together", "expected"),
    [(2.0, [3, 4, 5, *TRIALS]), (0.5, [3, 4, 5, *(call for call in range(6, 250) if call not in TRIALS)])],
)
def test_the_faster_way_is_taken(together: float, expected: list[int]) -> None:
    assert shared_calls(Timing(), {False: 1.0, True: together}, 250) == expected


def test_slow_calls_do_not_decide() -> None:
    timing, durations = Timing(), iter([9.0, 1.0, 9.0, 2.0, 2.0, 2.0])
    for seconds in durations:
        timing.add(seconds, is_shared=timing.is_shared())
    assert not timing.is_shared()
    assert timing.is_surely_alone()


def test_threads_that_have_to_be_woken_once_pay() -> None:
    """The first of the calls in sequence that are shared takes longer than all others."""
    timing, before = Timing(), False
    ways = []
    for _ in range(100):
        if timing.is_surely_alone():
            before = False
            ways.append(False)
            continue
        is_shared = timing.is_shared()
        timing.add((0.6 if before else 3.0) if is_shared else 1.0, is_shared=is_shared)
        before = is_shared
        ways.append(is_shared)
    assert sum(ways[6:]) > 70


def test_another_load_of_the_machine_changes_the_way() -> None:
    timing = Timing()
    assert len(shared_calls(timing, {False: 1.0, True: 2.0}, 118)) == 12
    assert len(shared_calls(timing, {False: 4.0, True: 2.0}, 1024)) > 700
    assert len(shared_calls(timing, {False: 1.0, True: 2.0}, 1024)) < 400
