"""A large image on Dask with the same in memory: five chunkings, three schedulers, a worker killed on the way.

python -m tests.sweeps.large --mib 2048
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import signal
import threading
import time
from typing import Any

import dask
import dask.array
import numpy as np
from distributed import Client, LocalCluster
from numpy.typing import NDArray

import ir_interp
from ir_interp import Antialias, Arithmetic, Linear, ResizeSpec, Scales

Array = NDArray[Any]
SPEC = ResizeSpec(
    kernel=Linear(antialias=Antialias.SHRINKING),
    axes=(0, 1),
    target=Scales((0.25, 0.25)),
    arithmetic=Arithmetic.ONNXRUNTIME,
)
_PERIOD = 997  # rows and columns after which the image repeats, nearly


def made(block_info: Any) -> Array:
    """Return a block of the image, by its place alone."""
    (rows, columns), dtype = block_info[None]["array-location"], np.float32
    y, x = np.arange(*rows, dtype=dtype)[:, None], np.arange(*columns, dtype=dtype)
    return np.asarray((y % _PERIOD) * (x % (_PERIOD - 6)) + np.sqrt(x + y), dtype)


def image(side: int, chunks: Any) -> Any:
    """Return the image in chunks."""
    cut = dask.array.core.normalize_chunks(chunks, (side, side))
    return dask.array.map_blocks(made, chunks=cut, dtype=np.float32, meta=np.empty((0, 0), np.float32))


def main() -> int:
    """Print a line for each chunking and scheduler; return 1 where one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=64)
    side = math.isqrt(parser.parse_args().mib * 2**18)
    whole = ir_interp.resize(image(side, -1).compute(), SPEC)
    wanted = hashlib.sha256(whole.tobytes()).hexdigest()
    print(f"{side}x{side} float32 to {whole.shape[0]}x{whole.shape[1]}")
    differing = 0
    thirds = tuple(side // 3 + (i < side % 3) for i in range(3))
    cases = [1024, (side, 512), (777, 3001), (thirds, thirds), ((side - 5, 5), (1, side - 1))]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        for chunks in cases:
            for scheduler in ("threads", "processes", client):
                victim = _kill_soon(cluster) if scheduler is client and chunks == 1024 else None
                start = time.perf_counter()
                found = ir_interp.resize(image(side, chunks), SPEC)
                values = found.compute(scheduler=scheduler)  # type: ignore[attr-defined]
                same = hashlib.sha256(values.tobytes()).hexdigest() == wanted
                differing += not same
                name = scheduler if isinstance(scheduler, str) else "distributed"
                more = f", worker {victim} killed" if victim else ""
                print(f"{chunks} {name}{more}: {'same' if same else 'DIFFERS'}, {time.perf_counter() - start:.1f} s")
    return int(differing > 0)


def _kill_soon(cluster: LocalCluster) -> int:
    victim: int = next(iter(cluster.workers.values())).pid
    threading.Timer(1.0, os.kill, (victim, signal.SIGKILL)).start()
    return victim


if __name__ == "__main__":
    raise SystemExit(main())
