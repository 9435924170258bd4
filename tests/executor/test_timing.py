"""Whether threads share a job of medium size: what was faster decides, and the slower way is tried again."""

from __future__ import annotations

import pytest

from ir_interp.executor.compiled.jobs import Timing


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


@pytest.mark.parametrize(
    ("together", "expected"),
    [
        (2.0, [3, 4, 5, 13, 29, 61, 125, 253]),
        (0.5, [call for call in range(3, 256) if call not in (13, 29, 61, 125, 253)]),
    ],
)
def test_the_faster_way_is_taken(together: float, expected: list[int]) -> None:
    assert shared_calls(Timing(), {False: 1.0, True: together}, 256) == expected


def test_one_slow_call_does_not_decide() -> None:
    timing = Timing()
    for seconds in (1.0, 9.0, 1.0):
        timing.add(seconds, is_shared=False)
    for seconds in (2.0, 0.1, 2.0):
        timing.add(seconds, is_shared=True)
    assert timing.is_surely_alone()


def test_another_load_of_the_machine_changes_the_way() -> None:
    timing = Timing()
    assert shared_calls(timing, {False: 1.0, True: 2.0}, 128) == [3, 4, 5, 13, 29, 61, 125]
    assert len(shared_calls(timing, {False: 4.0, True: 2.0}, 512)) > 200
    assert len(shared_calls(timing, {False: 1.0, True: 2.0}, 1024)) < 600
