"""Every loop takes just what its call says, under the same names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

pytest.importorskip("numba", reason="pip install 'ir-interp[fast]'")

from ir_interp.executor import loop_calls
from ir_interp.executor.loops import LOOPS

WHERE = ("x", "y", "start", "stop")


def names(group: type, ending: type | None) -> Iterator[str]:
    """Yield the names of all fields, those of groups included; ``ending`` says which there is."""
    hints: dict[str, Any] = get_type_hints(group)
    for field in fields(group):
        kind = ending if field.name == "ending" else hints[field.name]
        if isinstance(kind, type) and issubclass(kind, loop_calls.Group):
            yield from names(kind, None)
        else:
            yield field.name


@pytest.mark.parametrize("key", LOOPS, ids=lambda key: "/".join(each.__name__ for each in key))
def test_a_loop_takes_the_fields_of_its_call(key: tuple[type, ...]) -> None:
    loop: Any = LOOPS[key]  # of numba
    parameters = tuple(inspect.signature(loop.py_func).parameters)
    assert parameters == (*WHERE, *names(key[0], key[1] if len(key) > 1 else None))


def test_every_call_has_a_loop() -> None:
    kinds = {each for each in vars(loop_calls).values() if isinstance(each, type) and issubclass(each, loop_calls.Call)}
    assert {key[0] for key in LOOPS} == kinds - {loop_calls.Call}
