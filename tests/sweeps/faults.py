"""Reproduce every known fault of the runtimes that are installed, by its own script, and look for others.

``python -m tests.sweeps.faults`` exits with 1 where a fault does not show, or a random node of ``--cases`` meets a
cause that docs/faults.md does not name. ``--only mnn`` reproduces those of some runtimes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx

import ir_interp
from ir_interp import IrInterpError
from ir_interp.converters.audit.probe import RUNNERS
from ir_interp.converters.reproduce.known_faults import Fault, causes, faults, reason
from ir_interp.converters.runtimes.outcome import Kind
from tests.support.image_nodes import ImageNode, random_image_node
from tests.support.surroundings import ALONE

WRITTEN = {
    "README.md",
    "input.npy",
    "expected.npy",
    "output.npy",
    "reproduce.py",
    "model.onnx",
    "model.xml",
    "model.bin",
}
START = "import runpy, sys; sys.modules['openvino_telemetry'] = None; runpy.run_path('reproduce.py')"
"""Runs a script, with nothing that would report it to anybody."""


def problem(fault: Fault, folder: Path) -> str:
    """Return why a fault does not show; nothing where its script shows it."""
    try:
        found = ir_interp.reproduce(fault.name, folder)
    except IrInterpError as error:
        return str(error)
    if found.verdict.kind is not fault.kind and fault.kind is not Kind.CRASHES:  # memory may be corrupted in silence
        return f"seen {found.verdict}, not {fault.kind.value}"
    left = {path.name for path in folder.iterdir()} - WRITTEN
    if left:
        return f"the runtime left {', '.join(sorted(left))}"
    environment = {**os.environ, "ORT_DISABLE_TELEMETRY": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", START], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if found.verdict.kind is not Kind.DIFFERS:
        return "" if ran.returncode else "its script ends well"
    told = re.search(r"largest difference (\S+)", ran.stdout)
    if told is None or (told[1] != "in" and float(told[1]) < 1e-3):
        return f"its script shows nothing: {ran.stdout[-200:]} {ran.stderr[-200:]}"
    return ""


def unnamed(cases: int, seed: int) -> Iterator[str]:
    """Yield causes that random nodes meet, and no known fault has."""
    rng, known = (
        np.random.default_rng(seed),
        {(each.runtime, cause) for each in faults().values() for cause in each.causes},
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.onnx") for number in range(cases)]
        for path in paths:
            onnx.save(plain_image_node(rng).model, path)
        for row in ir_interp.audit(paths, runtimes=sorted({name for name, _ in known})).rows:
            for runtime, verdict in row.predictions.items():
                for cause in causes(reason(row, runtime)) if verdict.kind is not Kind.SAME else ():
                    if (runtime, cause) not in known and not cause.startswith("no rule covers"):
                        yield f"{runtime}: {cause}: {row.op.spec}"


def plain_image_node(rng: np.random.Generator) -> ImageNode:
    """Return a Resize of a static float32 image whose channels come first: the faults of others are not named."""
    while True:
        node = random_image_node(rng)
        if node.around is not ALONE:
            continue  # the faults that are named are those of nodes alone
        has_axes = any(each.name == "axes" for each in node.model.graph.node[0].attribute)
        is_plain = node.layout == "channels first" and not node.dynamic and node.is_image and not has_axes
        if is_plain and node.x.dtype == np.float32:
            return node


def main(arguments: list[str]) -> int:
    """Print what does not show, and what is not named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="a runtime")
    options = parser.parse_args(arguments)
    chosen = [each for each in faults().values() if each.runtime in RUNNERS and RUNNERS[each.runtime].is_installed]
    chosen = [each for each in chosen if each.runtime in (options.only or RUNNERS)]
    with tempfile.TemporaryDirectory() as folder:
        found = {each.name: problem(each, Path(folder, each.name.replace(":", "-"))) for each in chosen}
    wrong = [f"{name}: {why}" for name, why in found.items() if why]
    missing = sorted(set(unnamed(options.cases, options.seed)))
    print(*wrong, *(f"not named: {each}" for each in missing), sep="\n")
    print(f"{len(chosen) - len(wrong)} of {len(chosen)} faults reproduced, {len(missing)} causes not named")
    return int(bool(wrong or missing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
