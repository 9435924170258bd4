"""Random resizes of Paddle: read and run here, and some converted, each against Paddle.

``python -m tests.sweeps.paddle_models --cases 300 --seed 1`` prints a row for each difference, and counts. It needs
the extra ``paddle``. Exits with 1 for a difference, or an error that is no refusal.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import ir_interp
from ir_interp import IrInterpError
from ir_interp.converters.sources.model_description import Resize
from ir_interp.converters.sources.paddle import paddle_files
from ir_interp.files.scratch import scratch

_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "nearest": 2}
_TOLERANCE = 1e-4  # as between models


def drawn(rng: np.random.Generator) -> tuple[Resize, Any]:
    """Return a random operation, and its image."""
    mode = str(rng.choice(list(_AXES)))
    axes = 3 if mode == "nearest" and rng.random() < 0.3 else _AXES[mode]
    lengths = [int(rng.choice([1, 2, 3, int(rng.integers(4, 40))])) for _ in range(axes)]
    layout = str(rng.choice(["NCHW", "NHWC"]))
    shape = (1, 2, *lengths) if layout == "NCHW" else (1, *lengths, 2)
    corners = mode != "nearest" and bool(rng.random() < 0.3)
    stated: dict[str, Any] = {"align_corners": corners, "align_mode": int(rng.integers(2)), "data_layout": layout}
    stated |= {"scale": [], "out_d": -1, "out_h": -1, "out_w": -1, "input": "x", "connected": [], "block": 0}
    if rng.random() < 0.5:
        scales = rng.choice([0.5, 0.7, 1.0, 1.1, 1.25, 1.7, 2.0, 3.0, float(rng.uniform(0.2, 4))], axes)
        stated["scale"] = [float(np.float32(scale)) for scale in scales]
    else:
        names = ("out_d", "out_h", "out_w")[-axes:]
        stated |= {name: int(rng.choice([1, 2, int(rng.integers(3, 60))])) for name in names}
    dtype = str(rng.choice(["float32", "int32"])) if mode == "nearest" else "float32"
    x = (rng.random(shape) * 100).astype(dtype)
    kind = f"{mode}_interp_v2"
    return Resize(type=kind, name="y", dtype=dtype, shape=shape, inputs=(), attributes=stated), x


def judged(operation: Resize, x: Any, folder: Path, *, converts: bool) -> str:
    """Return how one operation fares: equal, refused or different."""
    source = folder / "net.pdmodel"
    try:
        expected = paddle_files.write_resize(operation, x, source)
    except IrInterpError:
        return "Paddle refuses it"
    try:
        [op] = ir_interp.load(source)
        actual = op.run(x)
        if converts:
            ir_interp.convert(source, folder / "net.onnx")  # by way of an IR, which is proven first
    except (IrInterpError, ExceptionGroup) as error:
        print(operation.type, operation.shape, operation.attributes, error)
        return "refused"
    is_equal = actual.shape == expected.shape and np.allclose(actual, expected, rtol=0, atol=100 * _TOLERANCE)
    return "equal" if is_equal else "different"


def main() -> int:
    """Run the sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=10, help="One case of so many is also converted")
    options = parser.parse_args()
    rng, counts = np.random.default_rng(options.seed), Counter[str]()
    for number in range(options.cases):
        operation, x = drawn(rng)
        with scratch() as folder:
            verdict = judged(operation, x, folder, converts=number % options.every == 0)
        if verdict == "different":
            print("DIFFERENT", operation.type, operation.shape, operation.attributes)
        counts[verdict] += 1
    print(dict(counts))
    return int(counts["different"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
