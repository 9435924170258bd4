"""Run the cases of a conformance kit in a runtime, and report which differ: ``python run.py onnxruntime``.

It needs Python, NumPy and the runtime; README.md has more.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SECONDS = 120  # for a case
KINDS = ("same", "differs", "refused", "crashes")
RUNTIMES: dict[str, Callable[..., object]] = {}
COPY = 0.0  # the tolerance of a copy: kits contain another number

# How runtimes are run


def compared(case: dict[str, Any], output: object) -> tuple[str, str]:
    """Return the verdict of a case, and how far it is off."""
    expected = np.load(HERE / "cases" / f"{case['name']}.y.npy")
    actual = np.asarray(output)
    if actual.shape != expected.shape:
        return "differs", f"shape {list(actual.shape)}, not {list(expected.shape)}"
    off = float(np.abs(actual.astype(float) - expected.astype(float)).max(initial=0.0))
    return ("same", "") if off <= case["tolerance"] + COPY else ("differs", f"by {off:.3g}")


def run_case(case: dict[str, object], run: Callable[..., object]) -> tuple[str, str]:
    """Run a case and return its verdict."""
    try:
        output = run(str(HERE / "cases" / f"{case['name']}.onnx"), np.load(HERE / "cases" / f"{case['name']}.x.npy"))
    except Exception as error:  # whatever a runtime raises
        return "refused", " ".join(str(error).split())[:200] or type(error).__name__
    return compared(case, output)


def work(name: str, places: list[int]) -> None:
    """Run cases, and write a line for each to the real standard output."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime and OpenVINO report usage data
    sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
    verdicts = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # runtimes print as well
    cases = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    run = runtime(name)
    for place in places:
        print(json.dumps(run_case(cases[place], run)), file=verdicts, flush=True)


def runtime(name: str) -> Callable[..., object]:
    """Return the function of a known runtime, or of a user's module."""
    if name in RUNTIMES:
        return RUNTIMES[name]
    module, colon, called = name.partition(":")
    if not colon:
        raise SystemExit(f"unknown runtime {name!r}; expected module:function, or one of {', '.join(RUNTIMES)}")
    sys.path.insert(0, str(Path.cwd()))
    return getattr(importlib.import_module(module), called)  # type: ignore[no-any-return]


def run_all(name: str, places: list[int]) -> list[tuple[str, str]]:
    """Run cases in a process, which is started again after each case that kills it."""
    verdicts: list[tuple[str, str]] = []
    while len(verdicts) < len(places):
        left = places[len(verdicts) :]
        command = [sys.executable, str(HERE / "run.py"), name, "--worker", json.dumps(left)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert child.stdout is not None
        for _ in left:
            timer = threading.Timer(SECONDS, child.kill)
            timer.start()
            line = child.stdout.readline()
            timer.cancel()
            if not line:
                break
            kind, detail = json.loads(line)
            verdicts.append((kind, detail))
        if child.wait() and len(verdicts) < len(places):
            verdicts.append(("crashes", f"status {child.returncode}"))
    return verdicts


def read(case: dict[str, object], folder: Path) -> tuple[str, str]:
    """Judge an output that was computed on another machine."""
    path = folder / f"{case['name']}.npy"
    return compared(case, np.load(path)) if path.exists() else ("refused", "no output")


def show(verdicts: list[dict[str, object]]) -> None:
    """Print the cases that are not the same, and the verdicts of each group."""
    counts = Counter((verdict["group"], verdict["kind"]) for verdict in verdicts)
    for verdict in verdicts:
        if verdict["kind"] != "same":
            print(f"{verdict['name']}: {verdict['kind']} {verdict['detail']}")
    print(f"{'':12}" + "".join(f"{kind:>9}" for kind in KINDS))
    for group in dict.fromkeys(verdict["group"] for verdict in verdicts):
        print(f"{group:12}" + "".join(f"{counts[group, kind]:9}" for kind in KINDS))
    print(f"{'all':12}" + "".join(f"{sum(verdict['kind'] == kind for verdict in verdicts):9}" for kind in KINDS))


def main() -> int:
    """Run the selected cases, and print how many of each group are the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runtime", nargs="?", help=f"{', '.join(RUNTIMES)}, or module:function")
    parser.add_argument("--only", action="append", help="groups, or prefixes of names")
    parser.add_argument("--outputs", type=Path, help="a folder of NAME.npy, instead of a runtime")
    parser.add_argument("--results", type=Path, default=HERE / "results.json", help="where to write all verdicts")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.runtime, json.loads(options.worker))
        return 0
    if (options.runtime is None) == (options.outputs is None):
        parser.error("expected a runtime, or --outputs")
    cases = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    words = tuple(options.only or [""])
    places = [n for n, case in enumerate(cases) if case["group"] in words or case["name"][4:].startswith(words)]
    chosen = [cases[place] for place in places]
    if options.outputs:
        results = [read(case, options.outputs) for case in chosen]
    else:
        runtime(options.runtime)
        results = run_all(options.runtime, places)
    verdicts = [
        {"name": case["name"], "group": case["group"], "kind": kind, "detail": detail}
        for case, (kind, detail) in zip(chosen, results, strict=True)
    ]
    show(verdicts)
    options.results.write_text(json.dumps(verdicts, indent=1) + "\n", encoding="utf-8")
    return int(any(kind in ("differs", "crashes") for kind, _ in results))


if __name__ == "__main__":
    sys.exit(main())
