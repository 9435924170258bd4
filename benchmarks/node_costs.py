"""Measure the cheapest nodes that a resize like OpenCV's could consist of: ``python benchmarks/node_costs.py``.

On one thread of onnxruntime: nodes that fetch the four neighbours of 224x224 pixels, and nodes that compute with them.
Times are the least processor time of many runs. benchmarks/README.md adds them up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]
SIZE = 224
SHAPES = ((480, 640), (3000, 4000))
_RUNS = 300


def least(run: Callable[[], Any]) -> float:
    """Return the least processor time of many runs, in milliseconds."""
    times = []
    for _ in range(_RUNS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return 1000 * min(times)


def of_node(x: Array, kind: str, *inputs: Array | None, **attributes: Any) -> float:
    """Return the time of a model of one node, whose first input is ``x``."""
    names = ["" if value is None else f"c{place}" for place, value in enumerate(inputs)]
    constants = [numpy_helper.from_array(value, f"c{place}") for place, value in enumerate(inputs) if value is not None]
    start = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    node = helper.make_node(kind, ["x", *names], ["y"], **attributes)
    graph = helper.make_graph([node], "g", [start], [helper.make_empty_tensor_value_info("y")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return least(lambda: session.run(None, {"x": x}))


def neighbours(length: int) -> Array:
    """Return the positions of the first neighbours of all pixels, then of the second."""
    places = (np.arange(SIZE) + 0.5) * length / SIZE - 0.5
    first = np.clip(np.floor(places), 0, length - 2).astype(np.int64)
    return np.concatenate([first, first + 1])


def main() -> None:
    """Print the costs."""
    rng = np.random.default_rng(0)
    cv2.setNumThreads(1)
    size = np.array([1, SIZE, SIZE, 3], np.int64)
    floats = rng.random((SIZE, SIZE, 3), np.float32)
    for height, width in SHAPES:
        x = rng.integers(0, 256, (height, width, 3), np.uint8)
        rows, columns = neighbours(height), neighbours(width)
        of_rows = np.ascontiguousarray(x[rows])
        pairs = np.concatenate([of_rows[:, :-1], of_rows[:, 1:]], axis=2)
        fetched = np.ascontiguousarray(of_rows[:, columns])
        period, outputs = width // math.gcd(width, SIZE), SIZE // math.gcd(width, SIZE)
        blocks = of_rows.reshape(-1, 3 * period)  # columns of the same weights, which have 11 bits: two parts of 8
        parts = rng.integers(-128, 128, (3 * period, 2 * 3 * outputs), np.int8)
        nearest = {"mode": "nearest", "nearest_mode": "floor"}
        costs = {
            "cv2.resize": least(lambda x=x: cv2.resize(x, (SIZE, SIZE))),  # type: ignore[misc]
            "Gather of the rows": of_node(x, "Gather", rows, axis=0),
            "Gather of their columns": of_node(of_rows, "Gather", columns, axis=1),
            "Gather of their columns in pairs": of_node(pairs, "Gather", columns[:SIZE], axis=1),
            "MatMulInteger of columns in two parts": of_node(blocks, "MatMulInteger", parts),
            "Resize, nearest, of one neighbour": of_node(x[None], "Resize", None, None, size, **nearest),
            "Cast of four neighbours": of_node(fetched, "Cast", to=TensorProto.FLOAT),
            "Mul": of_node(floats, "Mul", floats),
            "Floor": of_node(floats, "Floor"),
        }
        print(f"{height}x{width}", *(f"{name}: {cost:.3f} ms" for name, cost in costs.items()), sep="\n  ")


if __name__ == "__main__":
    main()
