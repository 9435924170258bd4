"""Show where the time of the executor goes: ``python benchmarks/steps.py [part of a case's name]``.

NumPy alone, on one thread. For each kind of step: how often it is called, how long it takes, and what memory it reads
and writes; what remains is Python between the steps, and casts of integers. A copy of the output by NumPy stands beside
for the speed of memory.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from cases import CASES, Case
from engines import ours
from numpy.typing import NDArray

from ir_interp.executor import byte_proposals, definition, strategies
from ir_interp.executor.stages import Band, Pick, TapSum

_ROUNDS = 15


@dataclass(slots=True)
class Spent:
    """What a kind of step took in one round."""

    calls: int = 0
    seconds: float = 0.0
    octets: int = 0


_spent: defaultdict[str, Spent] = defaultdict(Spent)


def _watched(name: str, step: Callable[..., None]) -> Callable[..., None]:
    """Return a step that notes what it takes; the arrays among its last arguments are what it reads and writes."""

    def watched(*arguments: Any) -> None:
        since = time.process_time()
        step(*arguments)
        spent, arrays = _spent[name], [each for each in arguments[-3:] if isinstance(each, np.ndarray)]
        spent.seconds += time.process_time() - since
        spent.calls += 1
        spent.octets += sum(array.nbytes for array in arrays)

    return watched


def _watch() -> None:
    Pick.apply = _watched("copies", Pick.apply)  # type: ignore[method-assign]
    Band.apply = _watched("products", Band.apply)  # type: ignore[method-assign]
    TapSum.apply = _watched("sums tap by tap", TapSum.apply)  # type: ignore[method-assign]
    definition.load_float16 = _watched("float16 to float32", definition.load_float16)
    definition.store_float16 = _watched("float32 to float16", definition.store_float16)
    strategies.store = _watched("to integers", strategies.store)  # type: ignore[attr-defined]
    rounding = byte_proposals.Rounding
    rounding.store = _watched("to integers", rounding.store)  # type: ignore[method-assign]


def _rows(case: Case) -> list[str]:
    """Return a line for each kind of step of a case, the whole first; medians of the rounds."""
    x = _random(case)
    run = ours(case, 1)
    run(x)
    totals, kinds = [], defaultdict(list)
    for _ in range(_ROUNDS):
        _spent.clear()
        since = time.process_time()
        run(x)
        totals.append(time.process_time() - since)
        for name, spent in _spent.items():
            kinds[name].append(spent)
    seconds = {name: statistics.median(each.seconds for each in found) for name, found in kinds.items()}
    total = statistics.median(totals)
    size = math.prod(case.out_shape) * np.dtype(case.dtype).itemsize
    lines = [_line(f"**{case.name}**", "", total, None), _line("copy of the output", 1, _copying(case), 2 * size)]
    lines += [_line(name, found[0].calls, seconds[name], found[0].octets) for name, found in kinds.items()]
    return [*lines, _line("rest", "", max(0.0, total - sum(seconds.values())), None)]


def _random(case: Case) -> NDArray[Any]:
    values = np.random.default_rng(0).random(case.shape, np.float32)
    return (values * 255 if case.dtype == "uint8" else values).astype(case.dtype)


def _copying(case: Case) -> float:
    source, target = np.ones(case.out_shape, case.dtype), np.ones(case.out_shape, case.dtype)
    times = []
    for _ in range(_ROUNDS):
        since = time.process_time()
        np.copyto(target, source)
        times.append(time.process_time() - since)
    return statistics.median(times)


def _line(name: str, calls: int | str, seconds: float, octets: int | None) -> str:
    moved = ("", "") if octets is None else (f"{octets / 1e6:.1f}", f"{octets / 1e9 / seconds:.1f}")
    return f"| {name} | {calls} | {seconds * 1e3:.2f} | {moved[0]} | {moved[1]} |"


def main() -> None:
    """Print a table of the cases whose name holds the argument."""
    os.environ.update(IR_INTERP_THREADS="1", IR_INTERP_COMPILED="0")
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    _watch()
    print("| step | calls | ms | MB read and written | GB/s |", "|---|---:|---:|---:|---:|", sep="\n")
    for case in CASES:
        if wanted in case.name:
            print(*_rows(case), sep="\n", flush=True)


if __name__ == "__main__":
    main()
