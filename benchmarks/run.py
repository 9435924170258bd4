"""Time every engine on every case: ``python benchmarks/run.py``.

Each engine runs in a process of its own and stays warm; rounds go from engine to engine, so that a machine that slows
down slows all of them. On one thread it is the processor's time that is taken, which others on the machine change
less. What counts are medians of the rounds, and ratios within one run. Engines that are not
installed are left out; one whose result is another than ours is shown with a star, and is not among the best.
``--json`` and ``--chart`` save the figures and draw them.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, GROWTH, SUITES, Case
from engines import ENGINES, UnsupportedError, agrees
from tables import OTHERWISE, Times, growth_table, tables


def main() -> None:
    """Run, print, save and draw what the arguments ask for."""
    arguments = _arguments()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(arguments.threads)
    with _Fleet(list(ENGINES), arguments.threads) as fleet:
        times = {
            suite: {case.name: fleet.time(case, arguments.rounds) for case in _chosen(cases, arguments.only)}
            for suite, cases in SUITES.items()
            if arguments.suite in ("", suite)
        }
        growth = {}
        if not arguments.only and not arguments.suite:
            growth = {case.name: fleet.time(case, arguments.rounds, only="ours") for case in GROWTH}
    print(tables(times), growth_table(growth), sep="\n")
    if arguments.json:
        arguments.json.write_text(json.dumps({"times": times, "growth": growth}, indent=2), encoding="utf-8")
    if arguments.chart:
        from chart import draw

        draw(times["maps"], arguments.chart)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="threads for every engine")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of every case")
    parser.add_argument("--suite", default="", choices=["", *SUITES], help="one suite of cases")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--json", type=Path, help="save the medians, in seconds")
    parser.add_argument("--chart", type=Path, help="draw a chart as PNG (needs matplotlib)")
    return parser.parse_args()


def _chosen(cases: list[Case], part: str) -> list[Case]:
    return [case for case in cases if part in case.name]


class _Fleet:
    """A process for each engine; ``engines`` are those that could start."""

    def __init__(self, names: list[str], threads: int) -> None:
        self._names, self._threads = names, threads
        self._pipes: dict[str, Connection] = {}
        self._processes: list[BaseProcess] = []

    def __enter__(self) -> _Fleet:
        context = multiprocessing.get_context("spawn")
        for name in self._names:
            mine, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(name, self._threads, theirs), daemon=True)
            process.start()
            self._processes.append(process)
            if mine.recv():
                self._pipes[name] = mine
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()

    @property
    def engines(self) -> list[str]:
        """Return the engines that are installed."""
        return list(self._pipes)

    def time(self, case: Case, rounds: int, only: str = "") -> Times:
        """Return the median seconds of every engine that does the case."""
        pipes = {name: pipe for name, pipe in self._pipes.items() if only in ("", name)}
        taken: dict[str, list[float]] = {}
        marks: dict[str, str] = {}
        for name, pipe in pipes.items():
            pipe.send(case)
            answer = pipe.recv()
            if answer is not None:
                taken[name], marks[name] = [], "" if answer else OTHERWISE
        for _ in range(rounds):
            for name, seconds in taken.items():
                pipes[name].send("go")
                seconds.append(pipes[name].recv())
        return {name + marks[name]: statistics.median(seconds) for name, seconds in taken.items()}


def _serve(name: str, threads: int, pipe: Connection) -> None:
    """Answer for one engine: a case makes it ready, "go" times a few runs and returns the seconds of one."""
    try:
        ENGINES[name](CASES[0], threads)
    except ImportError:
        pipe.send(False)
        return
    except UnsupportedError:
        pass
    pipe.send(True)
    run, x, repeats = None, np.empty(0), 1
    clock = time.process_time if threads == 1 else time.perf_counter
    while True:
        message = pipe.recv()
        if isinstance(message, Case):
            try:
                run = ENGINES[name](message, threads)
            except UnsupportedError:
                pipe.send(None)
                continue
            x = _input(message)
            same = name == "copy" or agrees(message, x, run(x))
            repeats = max(1, min(200, int(0.02 / max(_seconds(run, x, 2, clock), 1e-6))))
            pipe.send(same)
        else:
            assert run is not None
            pipe.send(_seconds(run, x, repeats, clock))


def _seconds(run: Any, x: Any, repeats: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeats):
        run(x)
    return (clock() - start) / repeats


def _input(case: Case) -> Any:
    rng = np.random.default_rng(0)
    if case.dtype == "uint8":
        return rng.integers(0, 256, case.shape, np.uint8)
    return rng.random(case.shape, np.float32).astype(case.dtype)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
