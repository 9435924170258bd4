"""Time the conversion of IRs to ONNX, and measure its peak memory: ``python benchmarks/conversion.py`` (Linux).

Each case is a process of its own, without verification; memory is what lies beyond that of a process which has
converted an IR of a few bytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset13 as ops

_MIB = 2**20
SIZES = (1, 10, 100, 300)  # MiB of weights
_SIDE = 512  # of each of the weights: 1 MiB


def main() -> None:
    """Print a row for each size and precision."""
    print(
        "| weights | MiB | seconds | peak beyond start, MiB | times the model |", "|---|---:|---:|---:|---:|", sep="\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        _save(Path(folder, "small.xml"), 0, half=False)
        for half in (False, True):
            for size in SIZES:
                path = Path(folder, f"{size}.xml")
                _save(path, size * (2 if half else 1), half=half)
                done = subprocess.run([sys.executable, __file__, str(path)], capture_output=True, text=True, check=True)
                print(f"| {'float16' if half else 'float32'} {done.stdout.strip()}", flush=True)


def _save(path: Path, layers: int, *, half: bool) -> None:
    """Write a chain of matrix products, each with weights of its own."""
    x = ops.parameter([1, _SIDE], np.float32, name="x")
    y, rng = ops.relu(x), np.random.default_rng(0)
    for _ in range(layers):
        y = ops.relu(ops.matmul(y, ops.constant(rng.random((_SIDE, _SIDE), np.float32)), False, False))
    ov.save_model(ov.Model([y], [x], "chain"), path, compress_to_fp16=half)


def _measure(path: Path) -> str:
    import ir_interp

    ir_interp.convert(path.with_name("small.xml"), path.with_name("small.onnx"), verify=False)
    before = _peak()
    since = time.perf_counter()
    ir_interp.convert(path, path.with_suffix(".onnx"), verify=False)
    seconds, beyond = time.perf_counter() - since, _peak() - before
    size = path.with_suffix(".bin").stat().st_size / _MIB
    return f"| {size:.0f} | {seconds:.2f} | {beyond:.0f} | {beyond / size:.1f} |"


def _peak() -> float:
    """Return the peak memory of this process in MiB; what ``resource`` says starts at that of its parent."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(_measure(Path(sys.argv[1])))
    else:
        main()
