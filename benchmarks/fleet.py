"""Audit thousands of small models by one process and by two, one of which is killed on the way.

python -m benchmarks.fleet --models 10000 [--scheduler]

With --scheduler they are workers of a dask.distributed cluster. Prints how long it takes, how much memory the program
and its processes have after each quarter, and exits with 1 where a model has no result, two, or an error.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

_MODES = ("nearest", "linear", "cubic")


def main() -> int:
    """Print a line for each number of processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--scheduler", action="store_true")
    chosen = parser.parse_args()
    incomplete = False
    with tempfile.TemporaryDirectory() as folder:
        zoo = Path(folder, "zoo")
        zoo.mkdir()
        for number in range(chosen.models):
            onnx.save(model(number), zoo / f"m{number:05}.onnx")
        for jobs in chosen.jobs:
            results = Path(folder, f"results{jobs}.jsonl")
            with _cluster(jobs) if chosen.scheduler else _alone() as workers:
                incomplete |= _run(zoo, results, jobs, chosen.models, workers)
    return int(incomplete)


def model(number: int) -> onnx.ModelProto:
    """Return a model of one resize, of which there are 300 different ones."""
    length, mode = 8 + number % 100, _MODES[number // 100 % 3]
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], "resize", mode=mode)
    scales = helper.make_tensor("s", TensorProto.FLOAT, [4], [1.0, 1.0, 1.0, 2.0])
    sizes = {"x": length, "y": 2 * length}
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 4, size])] for name, size in sizes.items()]
    graph = helper.make_graph([node], f"g{number}", *ends, [scales])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


Workers = tuple[list[str], set[int]]
"""What the command adds to use them, and their processes."""


@contextmanager
def _alone() -> Iterator[Workers]:
    yield [], set()


@contextmanager
def _cluster(jobs: int) -> Iterator[Workers]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None) as cluster:
        pids = {worker.pid for worker in cluster.workers.values()}
        yield ["--scheduler", cluster.scheduler_address], pids


def _run(zoo: Path, results: Path, jobs: int, count: int, workers: Workers) -> bool:
    """Audit all models, killing a process half way; say whether a result is missing, twice there, or an error."""
    more, pids = workers
    command = [sys.executable, "-m", "ir_interp", "audit", zoo, "--json", "--results", results, "--jobs", jobs, *more]
    start, quarters, killed = time.perf_counter(), [], False
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE) as running:
        while running.poll() is None:
            time.sleep(0.2)
            done = results.read_bytes().count(b"\n") if results.exists() else 0
            if done >= count * (len(quarters) + 1) / 4:
                quarters.append(_memory({running.pid, *pids}))
            if not killed and done >= count / 2:
                victim = min(pids) if pids else max(_below({running.pid}) - {running.pid})
                os.kill(victim, signal.SIGKILL)
                killed = True
        assert running.stdout is not None
        said: dict[str, Any] = json.loads(running.stdout.read())
    seconds = time.perf_counter() - start
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    wrong = count - len({line["file"] for line in lines if not line["errors"]}) + len(lines) - count
    print(f"{jobs} processes{' of a cluster' if more else ''}, one killed: {said['models']} models in {seconds:.1f} s,")
    print(f"  {len(lines)} lines, {wrong} missing or wrong; MiB after each quarter: {', '.join(quarters)}", flush=True)
    return wrong > 0


def _memory(roots: set[int]) -> str:
    """Return how many MiB processes and all that they started hold: the roots, and the rest."""
    below = _below(roots) - roots
    return " + ".join(f"{sum(map(_resident, each)) / 2**20:.0f}" for each in (roots, below))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE")
    except OSError:  # it has ended
        return 0


def _below(roots: set[int]) -> set[int]:
    """Return processes and all that they started, on Linux."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = place.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(place.parent.name)] = int(after[1])
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


if __name__ == "__main__":
    raise SystemExit(main())
