"""Convert random nodes and whole models for QNN's NPU, and run them in its simulator with nothing left to the CPU.

``python -m tests.sweeps.qnn --cases 300 --models 3 --seed 1`` needs ``pip install onnxruntime-qnn`` (x86-64 Linux).
Each model that ``--target onnxruntime-qnn`` writes runs in a session that must not fall back to the CPU provider, in
a process of its own. It exits with 1 where one falls back, or differs. Whole models fall back where nodes other than
resizes do; they are run without that condition, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import ir_interp
from ir_interp import InexactError
from tests.support.runtimes import Array, Child, Crashed, Refused
from tests.sweeps.runtimes import saved
from tests.sweeps.whole_models import MODELS, TOLERANCE, built

TARGET = "onnxruntime-qnn"


def on_npu(model: str, x: Array, *, falls_back: bool = False) -> Array:
    """Run a model in QNN's simulator of the HTP."""
    import onnxruntime
    import onnxruntime_qnn  # type: ignore[import-untyped, import-not-found, unused-ignore]

    if not any(device.ep_name == "qnn" for device in onnxruntime.get_ep_devices()):
        onnxruntime.register_execution_provider_library("qnn", onnxruntime_qnn.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "qnn"]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not falls_back:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    options.add_provider_for_devices(devices[:1], {"backend_type": "htp"})
    session = onnxruntime.InferenceSession(model, options)
    return np.asarray(session.run(None, {session.get_inputs()[0].name: x})[0])


def written(source: Path, made: Path) -> bool:
    """Convert a model; return whether it has a form."""
    try:
        ir_interp.convert(source, made, target=TARGET, verify=False)
    except ExceptionGroup as refusals:
        if refusals.split(InexactError)[1]:
            raise
        return False
    return True


def of_nodes(cases: int, seed: int, folder: Path, child: Child) -> int:
    """Print what became of random nodes; return how many fall back or differ."""
    counts, made = Counter[str](), folder / "made.onnx"
    for drawn in saved(folder, cases, seed):
        if not written(drawn.path, made):
            counts["no form"] += 1
            continue
        output = child.call(on_npu, str(made), drawn.node.x)
        if isinstance(output, Refused | Crashed):
            counts["fell back or failed"] += 1
            print(f"{output.text[:200]}: {drawn}")
        else:
            kind = "same" if drawn.is_meant(output) else "differs"
            counts[kind] += 1
            if kind == "differs":
                print(f"differs: {drawn}")
    print(f"nodes: {dict(sorted(counts.items()))}", flush=True)
    return counts["fell back or failed"] + counts["differs"]


def of_models(runs: int, seed: int, folder: Path, child: Child) -> int:
    """Print what became of whole models; return how many fail or differ."""
    counts = Counter[str]()
    for name in MODELS:
        for number in range(runs):
            path, image, wanted = built(name, seed + number, folder)
            made, x = path.with_suffix(".made.onnx"), np.load(image)
            if not written(path, made):
                counts["no form"] += 1
                continue
            strict = child.call(on_npu, str(made), x)
            output = child.call(on_npu, str(made), x, falls_back=True)
            if isinstance(output, Refused | Crashed):
                kind = "failed"
                print(f"{name}: {output.text[:200]}")
            else:
                apart = float(np.abs(output - wanted).max() / np.abs(wanted).max())
                kind = "same" if apart <= 10 * TOLERANCE else "differs"  # the NPU has float16 in convolutions
                if kind == "differs":
                    print(f"{name}: {apart:.2g} apart")
            stays = "some nodes on the CPU" if isinstance(strict, Refused | Crashed) else "all on the NPU"
            counts[f"{kind}, {stays}"] += 1
    print(f"models: {dict(sorted(counts.items()))}", flush=True)
    return sum(count for kind, count in counts.items() if kind.startswith(("failed", "differs")))


def main(arguments: list[str]) -> int:
    """Run what the options choose; return 1 if anything fell back or differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100, help="how many nodes")
    parser.add_argument("--models", type=int, default=1, help="how often each whole model is drawn")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, Child() as child:
        bad = of_nodes(options.cases, options.seed, Path(folder), child)
        bad += of_models(options.models, options.seed, Path(folder), child)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
