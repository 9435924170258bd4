"""Time every engine on every case: ``python benchmarks/run.py``.

Each engine runs in a process of its own and stays warm; rounds go from engine to engine, so that a machine that slows
down slows all of them. What counts are medians of the rounds, and ratios within one run. Engines that are not
installed are left out. ``--json`` and ``--chart`` save the figures and draw them.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import statistics
import sys
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES, GROWTH, Case
from engines import ENGINES, UnsupportedError

Times = dict[str, float | None]


def main() -> None:
    """Run, print, save and draw what the arguments ask for."""
    arguments = _arguments()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(arguments.threads)
    with _Fleet(list(ENGINES), arguments.threads) as fleet:
        times = {case.name: fleet.time(case, arguments.rounds) for case in _chosen(CASES, arguments.only)}
        growth = {}
        if not arguments.only:
            growth = {case.name: fleet.time(case, arguments.rounds, only="ours") for case in GROWTH}
    engines = fleet.engines
    print(table(times, engines, arguments.threads))
    if growth:
        print(growth_table(growth))
    if arguments.json:
        arguments.json.write_text(json.dumps({"times": times, "growth": growth}, indent=2), encoding="utf-8")
    if arguments.chart:
        from chart import draw

        draw(times, arguments.chart)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="threads for every engine")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of every case")
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
        """Return the median seconds of every engine; None where it does not do the case."""
        pipes = {name: pipe for name, pipe in self._pipes.items() if only in ("", name)}
        taken: dict[str, list[float]] = {}
        for name, pipe in pipes.items():
            pipe.send(case)
            if pipe.recv():
                taken[name] = []
        for _ in range(rounds):
            for name, seconds in taken.items():
                pipes[name].send("go")
                seconds.append(pipes[name].recv())
        return {name: statistics.median(taken[name]) if name in taken else None for name in pipes}


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
    while True:
        message = pipe.recv()
        if isinstance(message, Case):
            try:
                run = ENGINES[name](message, threads)
            except UnsupportedError:
                pipe.send(False)
                continue
            x = _input(message)
            run(x)
            repeats = max(1, min(50, int(0.02 / max(_seconds(run, x, 1), 1e-6))))
            pipe.send(True)
        else:
            assert run is not None
            pipe.send(_seconds(run, x, repeats))


def _seconds(run: Any, x: Any, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        run(x)
    return (time.perf_counter() - start) / repeats


def _input(case: Case) -> Any:
    rng = np.random.default_rng(0)
    if case.dtype == "uint8":
        return rng.integers(0, 256, case.shape, np.uint8)
    return rng.random(case.shape, np.float32).astype(case.dtype)


def table(times: dict[str, Times], engines: list[str], threads: int) -> str:
    """Return milliseconds as a table, with the ratios to onnxruntime and to the best peer."""
    peers = [name for name in ("onnxruntime", "openvino", "torch") if name in engines]
    lines = [f"milliseconds, {threads} threads", f"| case | {' | '.join(engines)} | /onnxruntime | /best |"]
    lines.append("|---" + "|---:" * (len(engines) + 2) + "|")
    ratios: dict[str, list[float]] = {"onnxruntime": [], "best": []}
    for name, row in times.items():
        mine, theirs = row["ours"], [row[peer] for peer in peers if row.get(peer)]
        against = {"onnxruntime": row.get("onnxruntime"), "best": min((t for t in theirs if t), default=None)}
        cells = [f"{row[engine] * 1e3:.2f}" if row.get(engine) else "" for engine in engines]  # type: ignore[operator]
        for key, other in against.items():
            if mine and other:
                ratios[key].append(mine / other)
            cells.append(f"{mine / other:.2f}" if mine and other else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = [f"{math.exp(statistics.fmean(map(math.log, each))):.2f}" if each else "" for each in ratios.values()]
    lines.append(f"| geometric mean |{' |' * len(engines)} {means[0]} | {means[1]} |")
    return "\n".join(lines)


def growth_table(growth: dict[str, Times]) -> str:
    """Return our time per output element against the size of the image."""
    lines = ["", "| growth | ms | ns per output element |", "|---|---:|---:|"]
    for case in GROWTH:
        seconds = growth[case.name]["ours"] or math.nan
        lines.append(f"| {case.name} | {seconds * 1e3:.2f} | {seconds * 1e9 / math.prod(case.out_shape):.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
