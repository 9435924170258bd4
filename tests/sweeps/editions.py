"""Run random nodes in an earlier release of a runtime, and hold what is told of that release against it.

``python -m tests.sweeps.editions onnxruntime:1.20 PYTHON --cases 1000`` runs the nodes in another interpreter, PYTHON,
which has NumPy and that release (``pip install onnxruntime==1.20.1``), each in a process of its own; it exits with 1
where more than one in a hundred came otherwise than told.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import ir_interp
from ir_interp.converters.onnx.resize_nodes import nodes
from ir_interp.converters.predictions import RUNTIMES
from ir_interp.converters.runtimes import onnxruntime, openvino
from ir_interp.converters.runtimes.outcome import Kind
from tests.support.configurations import input_array, model_of
from tests.support.other_interpreters import results_in
from tests.sweeps.audit import random_case

_FORMAT = 8  # of files, which every release reads
_MOST_WRONG = 0.01


def agreement(told: Any, came: Any, path: Path) -> tuple[Kind, Kind]:
    """Return what was told of a node, and what was seen."""
    (found,) = nodes(path)
    x, kind = np.load(path.with_suffix(".npy")), told.kind
    seen = Kind.CRASHES if came is None else Kind.REFUSED if isinstance(came, str) else Kind.SAME
    if told.spec is None and seen is not Kind.SAME:
        return kind, seen
    wanted = found.op.run(x)
    if told.spec is not None:
        kind = Kind.SAME if _same(ir_interp.resize(x, told.spec), wanted) else Kind.DIFFERS
    if seen is Kind.SAME and not _same(came, wanted):
        seen = Kind.DIFFERS
    return kind, seen


def _same(made: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    if made.shape != wanted.shape:
        return False
    a, b = made.astype(float), wanted.astype(float)
    relative = {2: 2e-3}.get(wanted.itemsize, 1e-4) if wanted.dtype.kind == "f" else 0.0
    allowed = relative * max(1.0, float(np.abs(b).max(initial=0))) + (wanted.dtype.kind in "iu")
    return bool(np.abs(a - b).max(initial=0) <= allowed)


def main(arguments: list[str]) -> int:
    """Print what was told and seen, and how often."""
    parser = argparse.ArgumentParser(description=__doc__)
    editions = {"onnxruntime": onnxruntime.RUNTIME.releases, "openvino": openvino.RUNTIME.releases}
    parser.add_argument(
        "edition", choices=[f"{runtime}:{name}" for runtime, names in editions.items() for name in names]
    )
    parser.add_argument("python", type=Path)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    runtime, rng = RUNTIMES[options.edition], np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.onnx") for number in range(options.cases)]
        for path in paths:
            case = random_case(rng)
            model = model_of(case)
            model.ir_version = min(model.ir_version, _FORMAT)
            onnx.save(model, path)
            np.save(path.with_suffix(".npy"), input_array(case.shape, case.dtype, case.mode))
        found = results_in(options.python, options.edition.split(":")[0], Path(folder), options.cases)
        pairs: Counter[tuple[str, str]] = Counter()
        for path, came in zip(paths, found, strict=True):
            (node,) = nodes(path)
            told = runtime.predict(node.op)
            kind, seen = agreement(told, came, path)
            pairs[kind.value, seen.value] += 1
            if kind is not seen and kind is not Kind.CRASHES:  # which shows as anything, or not at all
                said = came if seen is Kind.REFUSED else ""
                print(f"told {kind.value}, seen {seen.value}: {node.op.spec}; {told.reason}; {said}")
    wrong = sum(count for (kind, seen), count in pairs.items() if kind not in (seen, "crashes"))
    print(f"{runtime.title}: {dict(pairs)}; {wrong} of {options.cases} told wrong")
    return int(wrong > options.cases * _MOST_WRONG)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
