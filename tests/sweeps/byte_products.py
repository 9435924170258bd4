"""Sums of 8-bit products in both runtimes, on this processor and on emulated ones, against integer formulas.

``python -m tests.sweeps.byte_products --cases 20 --seed 1`` draws models of one product for each operator and pair of
types, and runs them by plain calls on each class of processors: this one, a Haswell (AVX2 without VNNI) and a Nehalem
(SSE4); see ``tests.support.emulated``. It prints how many models are wrong, by up to how much of the bound that audits
report, and exits with 1 where a model is wrong that should be right, or by more than its bound.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped, unused-ignore]
import openvino as ov
from onnx import TensorProto, helper, numpy_helper
from openvino import opset13 as ops

from ir_interp.converters.audit.saturation import saturation
from ir_interp.version import Processor, processor
from tests.support import emulated
from tests.support.runtimes import Array
from tests.support.sweeps import aligned, options

Rng = np.random.Generator
Case = tuple[Path, dict[str, Array], Array]
"""A model, its inputs, and the sums that it should make."""

_TYPES = {np.uint8: "uint8", np.int8: "int8"}


def _integers(rng: Rng, dtype: Any, shape: tuple[int, ...], most: int = 255) -> Array:
    limits = np.iinfo(dtype)
    return rng.integers(max(limits.min, -most), min(limits.max, most) + 1, shape).astype(dtype)


def _convolved(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int64), w.shape[2:], axis=(2, 3))
    return np.asarray(np.einsum("nchwij,ocij->nohw", windows, w.astype(np.int64)))


def _saved(folder: Path, kind: str, feeds: dict[str, Array], constants: dict[str, Any], dtype: int) -> Path:
    names = {"MatMulInteger": "a b", "ConvInteger": "a b"}.get(kind, "a as az b bs bz ys yz")
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape))
        for name, value in feeds.items()
    ]
    stored = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    output = helper.make_tensor_value_info("y", dtype, None)
    graph = helper.make_graph([helper.make_node(kind, names.split(), ["y"])], "g", inputs, [output], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "a.onnx")
    return folder / "a.onnx"


def _factors(rng: Rng, kind: str, first: Any, second: Any) -> tuple[Array, Array, Array]:
    """Return two random factors, and their product."""
    most = int(rng.choice([64, 100, 127])) * (2 if second is np.uint8 else 1)
    if "Conv" in kind:
        channels, size = int(rng.integers(1, 24)), int(rng.choice([1, 3, 5]))
        x = _integers(rng, first, (1, channels, 9, 9))
        w = _integers(rng, second, (int(rng.integers(1, 20)), channels, size, size), most)
        return x, w, _convolved(x, w)
    terms = int(rng.integers(2, 200))
    x = _integers(rng, first, (int(rng.integers(1, 9)), terms))
    w = _integers(rng, second, (terms, int(rng.integers(1, 40))), most)
    return x, w, x.astype(np.int64) @ w.astype(np.int64)


def _of_integers(rng: Rng, folder: Path, kind: str, first: Any, second: Any) -> Case:
    x, w, sums = _factors(rng, kind, first, second)
    constant = bool(rng.random() < 0.7)
    feeds, constants = ({"a": x}, {"b": w}) if constant else ({"a": x, "b": w}, {})
    return _saved(folder, kind, feeds, constants, TensorProto.INT32), feeds, sums


def _linear(rng: Rng, folder: Path, kind: str, first: Any, second: Any) -> Case:
    """Return a product rounded to levels, so far apart that none is clipped."""
    x, w, sums = _factors(rng, kind, first, second)
    zero, scale = (128 if first is np.uint8 else 0), np.float32(max(1.0, np.abs(sums).max() / 120))
    constants = {"as": np.float32(1), "az": first(0), "b": w, "bs": np.float32(1), "bz": second(0)}
    constants |= {"ys": scale, "yz": first(zero)}
    dtype = TensorProto.UINT8 if first is np.uint8 else TensorProto.INT8
    return _saved(folder, kind, {"a": x}, constants, dtype), {"a": x}, np.rint(sums / float(scale)) + zero


def _in_openvino(rng: Rng, folder: Path, kind: str, first: Any, second: Any) -> Case:
    """Return a product of levels and weights in an IR: both are integers, and so are its sums."""
    x, w, sums = _factors(rng, kind, first, second)
    limits = np.iinfo(first)
    bounds = [ops.constant(np.float32(value)) for value in (limits.min, limits.max) * 2]
    parameter = ops.parameter(list(x.shape), np.float32, name="a")
    levels = ops.fake_quantize(parameter, *bounds, 256)
    weights = ops.multiply(ops.convert(ops.constant(w), "f32"), ops.constant(np.float32(1)))
    if kind == "Convolution":
        y = ops.convolution(levels, weights, [1, 1], [0, 0], [0, 0], [1, 1])
    else:
        y = ops.matmul(levels, weights, False, False)
    ov.save_model(ov.Model([ops.result(y)], [parameter]), folder / "a.xml", compress_to_fp16=False)
    return folder / "a.xml", {"a": x.astype(np.float32)}, sums


_OPERATORS: dict[str, tuple[Callable[..., Case], float]] = {
    "MatMulInteger": (_of_integers, 0),
    "ConvInteger": (_of_integers, 0),
    "QLinearMatMul": (_linear, 1),
    "QLinearConv": (_linear, 1),
    "Convolution": (_in_openvino, 0),
    "MatMul": (_in_openvino, 0),
}
"""How models of an operator are drawn, and how far floats may round its results."""


def _run(model: Path, feeds: dict[str, Array]) -> Array:
    """Run a model by a plain call; OpenVINO in float32 where it does not multiply integers."""
    if model.suffix == ".xml":
        settings = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
        return np.array(ov.Core().compile_model(model, "CPU", settings)(feeds)[0])
    chosen = onnxruntime.SessionOptions()
    chosen.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, chosen, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, feeds)[0])


def of_this_processor(cases: int, seed: int) -> dict[str, Any]:
    """Return, for each operator and pair of types, how many models are wrong, and the largest share of a bound."""
    rows: dict[str, str] = {}
    problems: list[str] = []
    for kind, (draw, rounding) in _OPERATORS.items():
        for first in _TYPES:
            for second in _TYPES:
                name = f"{kind} {_TYPES[first]} x {_TYPES[second]}"
                if draw is _linear and (first, second) == (np.int8, np.uint8):
                    continue  # onnxruntime has no such kernel
                rng, counts, share = np.random.default_rng(seed), Counter[str](), 0.0
                for _ in range(cases):
                    with tempfile.TemporaryDirectory() as folder:
                        model, feeds, wanted = draw(rng, Path(folder), kind, first, second)
                        known = saturation(model)
                        apart = float(np.abs(_run(model, feeds).astype(np.float64) - wanted).max())
                    losses = known.losses if known is not None else ()
                    may = known is not None and bool(losses) and processor() in known.runtime.processors
                    most = losses[0].most if may else 0.0
                    is_wrong = apart > rounding
                    counts["wrong" if is_wrong else "right"] += 1
                    counts["may saturate"] += bool(losses)
                    if is_wrong and most:
                        share = max(share, (apart - rounding) / most)
                    if is_wrong and (not may or (most is not None and apart > most + rounding)):
                        problems.append(f"{name}: off by {apart:g}, at most {most:g} was predicted")
                bound = f", up to {share:.0%} of the bound" if share else ""
                rows[name] = f"{counts['wrong']} of {cases} wrong{bound}"
    return {"processor": processor().value, "rows": rows, "problems": problems}


def main() -> None:
    """Run every processor in a process of its own, and print the table."""
    parser = options(__doc__)
    parser.set_defaults(cases=20)
    parser.add_argument("--here", action="store_true", help="this process alone, as JSON")
    arguments = parser.parse_args()
    if arguments.here:
        print(json.dumps(of_this_processor(arguments.cases, arguments.seed)))
        return
    results: list[dict[str, Any]] = []
    with ExitStack() as stack:
        pythons = [Path(sys.executable)]
        if emulated.problem():
            print(f"this processor only: {emulated.problem()}", file=sys.stderr)
        else:
            pythons += [stack.enter_context(emulated.interpreter(name)) for name in emulated.MISSING]
        for python in pythons:
            command = [str(python), "-W", "ignore", "-m", "tests.sweeps.byte_products", "--here"]
            command += ["--cases", str(arguments.cases), "--seed", str(arguments.seed)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            results.append(json.loads(done.stdout))
    table = [["product", *(result["processor"] for result in results)]]
    table += [[name, *(result["rows"][name] for result in results)] for name in results[0]["rows"]]
    print(aligned(table))
    problems = [f"{result['processor']}: {text}" for result in results for text in result["problems"]]
    for text in problems:
        print(text, file=sys.stderr)
    sys.exit(bool(problems) or Processor.AVX2.value not in {result["processor"] for result in results})


if __name__ == "__main__":
    main()
