"""Pieces, Dask's blocks and numbers of threads against the whole, under the kernels of other processors.

``python -m tests.sweeps.processors --cases 500 --seed 1`` runs itself once for each kind of kernels, prints how many
cases differ, and exits with 1 where one does. All results are digested as well: kinds have to agree.

``--emulated`` adds a Haswell and a Nehalem, which QEMU emulates slowly: NumPy, OpenBLAS and C's library choose their
kernels anew there. ``--tests`` runs the tests of golden bytes, of image libraries, of preprocessing and of INT8 models
on both instead. See ``tests.support.emulated``.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dask
import dask.array
import numpy as np
from dask.distributed import Client
from numpy.typing import NDArray

from ir_interp import IrInterpError, ResizeSpec, prepare, resize
from ir_interp.executor import byte_proposals, library_sums, loop_runner, strategies, tiles
from ir_interp.executor.loop_runner import VARIABLE, is_installed
from tests.support import emulated
from tests.support.sweeps import aligned, options
from tests.sweeps.paths import drawn

Array = NDArray[Any]
Rng = np.random.Generator
KINDS = {
    "Haswell": {"OPENBLAS_CORETYPE": "Haswell", VARIABLE: "0"},
    "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX", VARIABLE: "0"},
    "Zen": {"OPENBLAS_CORETYPE": "Zen", VARIABLE: "0"},
    "Sandybridge": {"OPENBLAS_CORETYPE": "Sandybridge", VARIABLE: "0"},
    "Nehalem": {"OPENBLAS_CORETYPE": "Nehalem", VARIABLE: "0"},
    "numba": {VARIABLE: "1"},
    "generic numba": {"NUMBA_CPU_NAME": "generic", VARIABLE: "1"},
}
_SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0])


def special(rng: Rng, x: Array) -> Array:
    """Return an array, of floats at times with infinities, NaN and zeros of both signs."""
    if x.dtype.kind != "f" or rng.random() < 0.7:
        return x
    return np.where(rng.random(x.shape) < 0.01, rng.choice(_SPECIAL, x.shape), x).astype(x.dtype)


def bits(y: Array) -> bytes:
    """Return the bytes of an array, all NaN alike."""
    return (np.where(np.isnan(y), np.full((), np.nan, y.dtype), y) if y.dtype.kind == "f" else y).tobytes()


def pieces(rng: Rng, x: Array, spec: ResizeSpec, y: Array) -> bool:
    """Say whether random pieces have the bits of the whole."""
    for _ in range(3):
        starts = [int(rng.integers(0, n)) for n in y.shape]
        piece = tuple(slice(s, int(rng.integers(s + 1, n + 1))) for s, n in zip(starts, y.shape, strict=True))
        if bits(resize(x, spec, region=piece)) != bits(y[piece]):
            return False
    return True


def threads(_: Rng, x: Array, spec: ResizeSpec, y: Array) -> bool:
    """Say whether one, two and four threads make the same bits."""
    made = []
    for count in ("1", "2", "4"):
        os.environ["IR_INTERP_THREADS"] = count
        made.append(bits(prepare(spec, x.shape, x.dtype)(x)))
    return made == [bits(y)] * 3


def graphs(rng: Rng, x: Array, spec: ResizeSpec, y: Array) -> bool:
    """Say whether odd chunks make the same bits under one of the schedulers."""
    chunks = tuple(_chunks(rng, n) for n in x.shape)
    lazy: Any = resize(dask.array.from_array(x, chunks=chunks), spec)
    scheduler = ("synchronous", "threads", "distributed")[rng.integers(3)]
    return bits(lazy.compute(scheduler=scheduler)) == bits(y)


def _chunks(rng: Rng, length: int) -> tuple[int, ...]:
    edges = np.unique([0, *rng.integers(0, length + 1, 2).tolist(), length])
    return tuple(np.diff(edges).tolist())


CHECKS = {"pieces": (pieces, 1.0), "threads": (threads, 0.24), "graphs of Dask": (graphs, 0.3)}


def _drawn(rng: Rng, count: int) -> Iterator[tuple[Array, ResizeSpec, Array]]:
    for _ in range(count):
        x, spec = drawn(rng)
        x = special(rng, x)
        try:
            yield x, spec, resize(x, spec)
        except IrInterpError:  # a kernel that does not take this type
            continue


def of_this_kind(cases: int, seed: int) -> dict[str, Any]:
    """Return how many cases of each check differ, and the digest of all wholes."""
    loop_runner._SURELY_SHARED = tiles.MIN_ELEMENTS_FOR_THREADS = 0  # small as they are, threads share them
    strategies._MIN_ELEMENTS_FOR_THREADS = byte_proposals._MIN_ELEMENTS_FOR_THREADS = (
        library_sums._MIN_ELEMENTS_FOR_THREADS
    ) = 0
    digest, counts = hashlib.sha256(), {}
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None):
        for name, (check, share) in CHECKS.items():
            rng, differ, number = np.random.default_rng(seed), 0, 0
            for x, spec, y in _drawn(rng, int(cases * share)):
                number += 1
                digest.update(bits(y))
                if not check(rng, x, spec, y):
                    differ += 1
                    print(f"{name}: {x.dtype} {list(x.shape)}, {spec}", file=sys.stderr)
            counts[name] = f"{differ} of {number}"
    return {"counts": counts, "digest": digest.hexdigest()[:12]}


def main() -> None:
    """Run every kind in a process of its own, and print the table."""
    parser = options(__doc__)
    parser.add_argument("--here", action="store_true", help="this process alone, as JSON")
    parser.add_argument("--emulated", action="store_true", help="a Haswell and a Nehalem too")
    parser.add_argument("--tests", action="store_true", help="tests of fixed results on these two instead")
    arguments = parser.parse_args()
    if (arguments.emulated or arguments.tests) and emulated.problem():
        parser.error(emulated.problem())
    if arguments.tests:
        sys.exit(max(map(_tested, emulated.MISSING)))
    if arguments.here:
        print(json.dumps(of_this_kind(arguments.cases, arguments.seed)))
        return
    command = ["-W", "ignore", "-m", "tests.sweeps.processors", "--here"]
    command += ["--cases", str(arguments.cases), "--seed", str(arguments.seed)]
    rows, digests, wrong = [["kernels", *CHECKS, "digest"]], set(), False
    with ExitStack() as stack:
        kinds = {name: (Path(sys.executable), environment) for name, environment in KINDS.items()}
        for name in emulated.MISSING if arguments.emulated else ():
            python = stack.enter_context(emulated.interpreter(name))
            kinds[f"emulated {name}"] = (python, {VARIABLE: "0"})
        for name, (python, environment) in kinds.items():
            if environment[VARIABLE] == "1" and not is_installed():
                continue
            done = subprocess.run(
                [python, *command], env=os.environ | environment, stdout=subprocess.PIPE, text=True, check=True
            )
            result = json.loads(done.stdout)
            rows.append([name, *result["counts"].values(), result["digest"]])
            digests.add(result["digest"])
            wrong |= any(not each.startswith("0 ") for each in result["counts"].values())
    print(aligned(rows))
    sys.exit(wrong or len(digests) > 1)


TESTS = (
    "tests/executor/test_golden.py",
    "tests/translation/test_libraries.py",
    "tests/pipelines/test_golden_pipelines.py",
    "tests/ir_to_onnx/test_quantisation.py",
    "tests/ir_to_onnx/test_quantised_floats.py",
    "tests/ir_to_onnx/test_dynamic.py",
    "tests/ir_to_onnx/test_elementwise.py",
    "tests/onnx/test_byte_products.py",
    "tests/ir_to_onnx/test_sums.py",
    "tests/openvino/test_common_transformations.py",
    "tests/openvino/test_quantised_operators.py",
    "tests/verify/test_ladder.py",
    "tests/verify/test_long_sums.py",
    "tests/verify/test_plain_calls.py",
    "tests/verify/test_quantisations.py",
    "tests/verify/test_run_time_levels.py",
    "tests/verify/test_sure_levels.py",
    "tests/audit/test_byte_products.py",
    "tests/fix/test_quantised_scales.py",
    "tests/runtimes/test_quantised_editions.py",
)


def _tested(processor: str) -> int:
    """Run the tests of fixed results on an emulated processor; return the exit code of pytest."""
    command = [sys.executable, "-m", "tests.support.emulated", processor, "-m", "pytest", "-n", "auto", *TESTS]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    main()
