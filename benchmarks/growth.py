"""Time of processors and memory of audit, inspect and convert, by how many nodes and resizes a model has.

python -m benchmarks.growth [--chart docs/growth.png]
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

NODES = [(1_000, 10), (10_000, 10), (30_000, 10), (100_000, 10)]
RESIZES = [(100, 1), (100, 100), (1_000, 1_000), (3_000, 3_000), (10_000, 10_000)]
VERBS = {
    "inspect": ["inspect", "model.onnx", "--json"],
    "audit": ["audit", "model.onnx", "--json"],
    "convert": ["convert", "model.onnx", "model.xml", "--no-verify", "--json"],
    "convert to onnx:11": ["convert", "model.onnx", "older.onnx", "--target", "onnx:11", "--no-verify", "--json"],
}


def main() -> None:
    """Print a table, and draw it where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=VERBS)
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chart", type=Path)
    chosen = parser.parse_args()
    found: dict[str, list[tuple[int, int, float, float]]] = {}
    for verb in [chosen.only] if chosen.only else VERBS:
        for nodes, resizes in NODES + RESIZES:
            if nodes <= chosen.most and resizes <= chosen.most:
                row = (nodes, resizes, *measured(verb, nodes, resizes))
                found.setdefault(verb, []).append(row)
                print(f"{verb}: {nodes} nodes, {resizes} resizes: {row[2]:.1f} s, {row[3]:.0f} MiB", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(found), encoding="utf-8")
    if chosen.chart:
        _draw(found, chosen.chart)


def model(nodes: int, resizes: int) -> onnx.ModelProto:
    """Return a chain of nodes, among which the resizes lie, of one length before and behind."""
    scales = helper.make_tensor("s", TensorProto.FLOAT, [4], [1.0, 1.0, 1.0, 1.25])
    back = helper.make_tensor("b", TensorProto.FLOAT, [4], [1.0, 1.0, 1.0, 0.8])
    made, every = [], max(1, nodes // resizes)
    count = 0
    for i in range(nodes):
        ends: tuple[list[str], list[str]] = ([f"v{i}"], [f"v{i + 1}"])
        if i % every == 0 and count < resizes:
            scale = "s" if count % 2 == 0 else "b"
            count += 1
            made.append(helper.make_node("Resize", [ends[0][0], "", scale], ends[1], f"r{i}", mode="linear"))
        else:
            made.append(helper.make_node("Relu" if i % 2 else "Abs", *ends, name=f"n{i}"))
    length = 20 if count % 2 == 0 else 25
    graph = helper.make_graph(
        made,
        "g",
        [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [1, 1, 4, 20])],
        [helper.make_tensor_value_info(f"v{nodes}", TensorProto.FLOAT, [1, 1, 4, length])],
        [scales, back],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


_RUN = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def measured(verb: str, nodes: int, resizes: int) -> tuple[float, float]:
    """Return the seconds of processors and the MiB that a verb takes, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model(nodes, resizes), Path(folder, "model.onnx"))
        command = [sys.executable, "-c", _RUN, sys.executable, "-m", "ir_interp", *VERBS[verb]]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    code, seconds, size = said.split()
    return (float(seconds), float(size)) if code in "01" else (math.nan, math.nan)


def _draw(found: dict[str, list[tuple[int, int, float, float]]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplots(2, 2)
    for verb, rows in found.items():
        for row, (place, title) in enumerate(((0, "nodes, 10 resizes"), (1, "resizes"))):
            those = [each for each in rows if (each[0], each[1]) in (NODES if place == 0 else RESIZES)]
            for column, (which, unit) in enumerate(((2, "seconds of processors"), (3, "MiB"))):
                axis: Any = panels[row][column]
                axis.loglog([each[place] for each in those], [each[which] for each in those], "o-", label=verb)
                axis.set(xlabel=title, ylabel=unit)
                axis.grid(visible=True, alpha=0.3)
    panels[0][0].legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
