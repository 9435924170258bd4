"""Measure pipelines in front of a model: ``python benchmarks/preprocess.py``, each case in a process of its own.

A photo of 480x640 or 12 megapixels becomes 224x224, on one thread: by the library itself, and by the nodes that
``preprocess`` writes, for images of any size and with ``--image-size``, in onnxruntime and OpenVINO. Times are the
least processor time of several runs, so that other work on the machine matters little. Peak memory is what a run adds
to a process that has done a run on a small image, or the same image where the size is static, beside the image. Prints
the table of benchmarks/README.md.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Run = Callable[[Array], Any]
CALLS = ("pillow:bilinear", "pillow:bicubic", "opencv:linear")
SHAPES = ((480, 640), (3000, 4000))
PEERS = ("library", "onnxruntime", "openvino")
_SIZE = (224, 224)
_MIB = 2**20
_RUNS, _SECONDS = 5, 4.0


def by_library(call: str) -> Run:
    """Return the library's own resize."""
    name, _, word = call.partition(":")
    if name == "opencv":
        import cv2

        cv2.setNumThreads(1)
        return lambda x: cv2.resize(x, _SIZE[::-1], interpolation=cv2.INTER_LINEAR)
    from PIL import Image

    return lambda x: np.asarray(Image.fromarray(x).resize(_SIZE[::-1], Image.Resampling[word.upper()]))


def by_nodes(call: str, peer: str, shape: tuple[int, int] | None, folder: Path) -> Run:
    """Return the resize in front of a model that copies its input."""
    import onnx
    from onnx import helper

    import ir_interp

    ends = [helper.make_tensor_value_info(name, 1, [1, 3, *_SIZE]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", ends[:1], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), folder / "a.onnx")
    whole = folder / ("whole.onnx" if peer == "onnxruntime" else "whole.xml")
    ir_interp.preprocess(folder / "a.onnx", whole, like=call, size=_SIZE, image_size=shape)
    if peer == "openvino":
        import openvino as ov

        settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        compiled = ov.Core().compile_model(whole, "CPU", settings)
        return lambda x: compiled(x)[0]
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(whole, options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"image": x})


def measured(call: str, peer: str, shape: tuple[int, int], *, is_static: bool) -> dict[str, float]:
    """Return milliseconds and MiB of one case, in this process."""
    x = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        if peer == "library":
            run = by_library(call)
        else:
            run = by_nodes(call, peer, shape if is_static else None, Path(folder))
        if not is_static or peer == "library":
            run(np.ascontiguousarray(x[:64, :64]))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        times, since = [], time.perf_counter()
        while len(times) < _RUNS or time.perf_counter() - since < _SECONDS / 4:
            start = time.process_time()
            run(x)
            times.append(time.process_time() - start)
            if time.perf_counter() - since > _SECONDS:
                break
        added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"milliseconds": 1000 * min(times), "mebibytes": added}


def in_a_process(*case: Any) -> dict[str, float]:
    """Return what a process of its own measures."""
    done = subprocess.run([sys.executable, __file__, json.dumps(case)], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main() -> None:
    """Print the tables."""
    names = ("onnxruntime, any size", "onnxruntime, static", "OpenVINO, any size", "OpenVINO, static")
    print("| call | image | library | " + " | ".join(names) + " |")
    print("|---|---|" + "---:|" * 5)
    for call in CALLS:
        for shape in SHAPES:
            library = in_a_process(call, "library", shape, False)
            cells = [_cell(library, library, shape)]
            for peer in PEERS[1:]:
                for is_static in (False, True):
                    cells.append(_cell(in_a_process(call, peer, shape, is_static), library, shape))
            print(f"| {call} | {shape[0]}x{shape[1]} | {' | '.join(cells)} |", flush=True)


def _cell(case: dict[str, float], library: dict[str, float], shape: tuple[int, int]) -> str:
    ratio = case["milliseconds"] / library["milliseconds"]
    images = case["mebibytes"] * _MIB / (shape[0] * shape[1] * 3)
    return f"{case['milliseconds']:.3g} ms ({ratio:.2g}x), {case['mebibytes']:.0f} MiB ({images:.2g})"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        call, peer, shape, is_static = json.loads(sys.argv[1])
        print(json.dumps(measured(call, peer, tuple(shape), is_static=is_static)))
    else:
        main()
