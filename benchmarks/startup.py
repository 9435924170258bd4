"""Time the start of whole processes: ``python benchmarks/startup.py``, each command in turn, round by round.

``import numpy`` is the floor of everything here; what counts is the ratio to it within one run. Bytecode is kept, as
it is of an installed package.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

ROUNDS = 11
_BYTES = 10_000_000
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def main() -> None:
    """Print medians and ratios."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model.onnx")
        onnx.save(_model(), model)
        commands = {
            "import numpy": ["-c", "import numpy"],
            "import ir_interp": ["-c", "import ir_interp"],
            "ir-interp inspect, 10 MB of ONNX": ["-m", "ir_interp", "inspect", str(model)],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                taken[name].append(_seconds(command))
    floor = statistics.median(taken["import numpy"])
    print("| process | ms | / import numpy |", "|---|---:|---:|", sep="\n")
    for name, seconds in taken.items():
        median = statistics.median(seconds)
        print(f"| {name} | {median * 1e3:.0f} | {median / floor:.2f} |")


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], capture_output=True, check=True, env=_ENVIRONMENT)
    return time.perf_counter() - start


def _model() -> onnx.ModelProto:
    """Return a model of 10 MB of weights and one resize."""
    weights = np.zeros((_BYTES // 4 // 9 // 512, 512, 3, 3), np.float32)
    shape = [1, 512, "height", "width"]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Resize", ["c", "", "scales"], ["y"], mode="linear"),
    ]
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(weights, "w"),
            numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


if __name__ == "__main__":
    main()
