"""Convert models of dynamic height and width, and compare both results with their framework at twenty sizes.

``python -m tests.sweeps.dynamic_sizes --cases 100 --seed 1`` draws programs whose output sizes or positions nodes
compute: scale_factor in every mode, areas, adaptive pools, sizes by floats and by integers, ranges, gathers at computed
indices. Each is converted to ONNX and to IR without a proof, and both run at sizes that are small, odd, prime and
powers of 2, of either dimension alone, and those at which the rounding of a scale decides. ``--verify`` converts with
the proof instead, which then has to refuse what is wrong. Exits with 1 where a result that was written is wrong.

``--framework tensorflow`` draws functions of TensorFlow instead: sizes that are multiplied or divided by one scale, or
one for each dimension, in float32 or float64, rounded down, up or to the nearest integer. Needs ``--verify`` to pass:
some formulas of float64 are left to the proof.

``--framework onnx`` draws nodes instead: up to three operations on a float32 size, in sequence, with copies between
them, rounded in any way or none. The IR has to make every size up to LARGEST that onnxruntime makes.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import openvino as ov
import torch
from numpy.typing import NDArray
from torch.nn import functional

import ir_interp
from ir_interp import IrInterpError
from ir_interp.plan.float_arithmetic import Rounding, deciding_sizes
from tests.support.graphs import save_model

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
Rng = np.random.Generator
Array = NDArray[Any]
TOLERANCE = 1e-4
MODES = ("nearest", "bilinear", "bicubic", "area", "antialias", "nearest-exact")
SIZES = (2, 3, 5, 7, 8, 13, 16, 24, 31, 32, 41, 48, 60, 64, 67, 96, 97, 101, 113, 127, 128, 131, 150, 160, 199, 224)
LARGEST = 400  # of the sizes at which a rounding decides
_EXAMPLE = (1, 3, 23, 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program, in words, its function, and the scales that it computes sizes by."""

    words: str
    function: Callable[[torch.Tensor], torch.Tensor]
    scales: tuple[float, ...] = ()
    rounding: Rounding = Rounding.DOWN


class _Program(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def random_case(rng: Rng) -> Case:
    """Return a case of a random family."""
    return _FAMILIES[str(rng.choice(list(_FAMILIES)))](rng)


def random_scale(rng: Rng) -> float:
    """Return a scale as programs have them: of few decimals, a ratio of sizes, an inverse, or any."""
    kind = rng.integers(4)
    if kind == 0:
        return float(round(float(rng.uniform(0.4, 3)), int(rng.integers(1, 3))))
    if kind == 1:
        return float(rng.integers(20, 90) / rng.integers(20, 90))
    return float(1 / round(float(rng.uniform(0.4, 2)), 2)) if kind == 2 else float(rng.uniform(0.3, 2.5))


def _by_scale(rng: Rng) -> Case:
    scale, mode = random_scale(rng), str(rng.choice(MODES))
    options = {"mode": "bilinear", "antialias": True} if mode == "antialias" else {"mode": mode}
    recompute = bool(rng.random() < 0.2) or None
    return Case(
        words=f"{mode}, scale_factor={scale!r}, recompute={recompute}",
        function=lambda x: functional.interpolate(x, scale_factor=scale, recompute_scale_factor=recompute, **options),
        scales=(scale,),
    )


def _by_size(rng: Rng) -> Case:
    scale, mode = random_scale(rng), str(rng.choice(MODES[:4]))
    return Case(
        words=f"{mode}, size=sym_int(h * {scale!r})",
        function=lambda x: functional.interpolate(
            x, [torch.sym_int(x.shape[axis] * scale) for axis in (2, 3)], mode=mode
        ),
        scales=(scale,),
    )


def _by_integers(rng: Rng) -> Case:
    up, down, mode = int(rng.integers(1, 9)), int(rng.integers(1, 9)), str(rng.choice(MODES[:4]))
    return Case(
        words=f"{mode}, size=h * {up} // {down} + 1",
        function=lambda x: functional.interpolate(
            x, (x.shape[2] * up // down + 1, x.shape[3] * up // down + 1), mode=mode
        ),
    )


def _pool(rng: Rng) -> Case:
    down, more = int(rng.integers(2, 6)), int(rng.integers(0, 4))
    return Case(
        words=f"adaptive_avg_pool2d, h // {down} + {more}",
        function=lambda x: functional.adaptive_avg_pool2d(x, (x.shape[2] // down + more, x.shape[3] // down + more)),
    )


def _rows(rng: Rng) -> Case:
    divisor = float(rng.choice([3.0, 7.0, 10.0, 1.7, 0.3]))
    return Case(
        words=f"rows at floor(arange(h) / {divisor})",
        function=lambda x: x[:, :, (torch.arange(x.shape[2]) / divisor).floor().long().clamp(max=x.shape[2] - 1)],
    )


def _spread(rng: Rng) -> Case:
    count = int(rng.integers(2, 60))
    return Case(
        words=f"rows at arange({count}) * h / {count}",
        function=lambda x: x[:, :, (torch.arange(count) * x.shape[2] / count).floor().long()],
    )


_FAMILIES: dict[str, Callable[[Rng], Case]] = {
    "scale": _by_scale,
    "size": _by_size,
    "integers": _by_integers,
    "pool": _pool,
    "rows": _rows,
    "spread": _spread,
}


def sizes(rng: Rng, case: Case, count: int) -> Iterator[tuple[int, int]]:
    """Yield heights and widths: those at which a rounding decides first, then others, one dimension alone last."""
    deciding = [size for scale in case.scales for size in deciding_sizes(scale, LARGEST, case.rounding)]
    yield from ((size, size) for size in deciding)
    for place in range(len(deciding), count):
        height, width = (int(size) for size in rng.choice(SIZES, 2))
        yield (height, _EXAMPLE[3]) if place % 4 == 0 else (_EXAMPLE[2], width) if place % 4 == 1 else (height, width)


def judge(rng: Rng, case: Case, count: int, *, verify: bool) -> Iterator[tuple[str, str]]:
    """Yield for each kind of result how it compares, and at which size it is wrong."""
    free, example = torch.export.Dim.AUTO, torch.rand(_EXAMPLE)
    with torch.no_grad():
        program = torch.export.export(_Program(case.function).eval(), (example,), dynamic_shapes=({2: free, 3: free},))
    module = program.module()
    with tempfile.TemporaryDirectory() as folder:
        source = Source(model=program, run=lambda x: module(torch.from_numpy(x)).numpy())
        yield from _judged(source, list(sizes(rng, case, count)), Path(folder), verify=verify)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A model as ``convert`` takes it, and how its framework computes it; its images may have channels last."""

    model: Any
    run: Callable[[Array], Array]
    has_channels_last: bool = False


def _judged(source: Source, drawn: list[tuple[int, int]], folder: Path, *, verify: bool) -> Iterator[tuple[str, str]]:
    for kind, infer in (("onnx", _in_onnxruntime), ("xml", _in_openvino)):
        path = folder / f"net.{kind}"
        try:
            ir_interp.convert(source.model, path, verify=verify)
        except IrInterpError as refusal:
            yield f"{kind} refused", str(refusal)[-300:]
            continue
        except ExceptionGroup as refusals:
            yield f"{kind} refused", str(refusals.exceptions[0])[-300:]
            continue
        yield _compared(kind, source, infer(path), drawn)


def judge_tensorflow(rng: Rng, count: int, *, verify: bool) -> tuple[str, Iterator[tuple[str, str]]]:
    """Return a random function of TensorFlow in words, and how its results compare."""
    import tensorflow as tf

    scales = [random_scale(rng) for _ in range(int(rng.integers(1, 3)))]
    dtype, rounding = str(rng.choice(["float64", "float32"])), Rounding(rng.choice(["down", "up", "even"]))
    step = str(rng.choice(["multiply", "divide"]))
    numbers = scales if len(scales) > 1 else scales[0]
    of = {Rounding.DOWN: tf.floor, Rounding.UP: tf.math.ceil, Rounding.EVEN: tf.round}[rounding]

    class Model(tf.Module):  # type: ignore[misc, unused-ignore]
        @tf.function(input_signature=[tf.TensorSpec([1, None, None, 3], tf.float32, name="x")])  # type: ignore[untyped-decorator, unused-ignore]
        def call(self, x: Any) -> Any:
            size = getattr(tf.math, step)(tf.cast(tf.shape(x)[1:3], dtype), tf.constant(numbers, dtype))
            return {"y": tf.image.resize(x, tf.cast(of(size), tf.int32), "bilinear")}

    by = tuple(1 / scale if step == "divide" else scale for scale in scales)
    case = Case(words=f"{step} by {numbers} in {dtype}, {rounding.value}", function=abs, scales=by)
    drawn = list(sizes(rng, replace(case, rounding=rounding), count))

    def results() -> Iterator[tuple[str, str]]:
        with tempfile.TemporaryDirectory() as folder:
            model = Model()
            tf.saved_model.save(model, f"{folder}/saved", signatures=model.call)
            source = Source(
                model=Path(folder, "saved"),
                run=lambda x: model.call(tf.constant(x))["y"].numpy(),
                has_channels_last=True,
            )
            yield from _judged(source, drawn, Path(folder), verify=verify)

    return case.words, results()


_ONNX = """g (float[1,1,h,8] x) => (float[?,?,?,?] y) <{numbers}, int64[1] z = {{0}}, int64[1] c = {{2}},
    int64[1] e = {{3}}, int64[1] w = {{8}}, int64[1] one = {{1}}> {{
    all = Shape (x) f = Slice (all, z, c) l = Slice (all, c, e) t0 = Cast <to = 1> (l) {steps} r = {rounding} ({last})
    i = Cast <to = 7> (r) m = Max (i, one) n = Concat <axis = 0> (f, m, w)
    y = Resize <mode = "linear"> (x, "", "", n) }}"""


def judge_onnx(rng: Rng, *, verify: bool) -> tuple[str, Iterator[tuple[str, str]]]:
    """Return a random sequence of operations on a size in words, and how the IR compares."""
    steps, numbers, last = list[str](), list[str](), "t0"
    for place in range(1, int(rng.integers(1, 4)) + 1):
        step = str(rng.choice(["Mul", "Div", "Add", "Sub"]))
        number = random_scale(rng) if step in ("Mul", "Div") else float(rng.choice([0.5, 1.0, 2.0, 0.1, -0.5]))
        numbers.append(f"float[1] n{place} = {{{number!r}}}")
        steps.append(f"t{place} = {step} ({last}, n{place})")
        last = f"t{place}"
        if rng.random() < 0.2:
            steps.append(f"{last}c = Identity ({last})")
            last += "c"
    rounding = str(rng.choice(["Floor", "Ceil", "Round", "Identity"]))
    text = _ONNX.format(numbers=", ".join(numbers), steps=" ".join(steps), rounding=rounding, last=last)

    def results() -> Iterator[tuple[str, str]]:
        with tempfile.TemporaryDirectory() as name:
            source, result = save_model(Path(name, "a.onnx"), text, 18), Path(name, "a.xml")
            try:
                ir_interp.convert(source, result, verify=verify)
            except IrInterpError as refusal:
                yield "xml refused", str(refusal)[-300:]
                return
            infer, expected = _in_openvino(result), _in_onnxruntime(source)
            for height in range(2, LARGEST):
                x = np.zeros((1, 1, height, 8), np.float32)
                if infer(x).shape != expected(x).shape:
                    yield "xml WRONG", f"{height}: {expected(x).shape} becomes {infer(x).shape}"
                    return
            yield "xml same", ""

    return f"{'; '.join(steps)}; {rounding}; {', '.join(numbers)}", results()


def _compared(
    kind: str, source: Source, infer: Callable[[Array], Array], drawn: list[tuple[int, int]]
) -> tuple[str, str]:
    generator = np.random.default_rng(0)
    for size in drawn:
        x = generator.random((1, *size, 3) if source.has_channels_last else (1, 3, *size), np.float32)
        try:
            expected = source.run(x)
        except Exception:  # sizes that the framework refuses, each with an error of its own
            continue
        try:
            actual = infer(x)
        except Exception as error:
            return f"{kind} does not run", f"{size}: {str(error)[-200:]}"
        if expected.shape != actual.shape:
            return f"{kind} WRONG", f"{size}: {expected.shape} becomes {actual.shape}"
        if expected.size and (apart := float(np.abs(expected - actual).max())) > TOLERANCE:
            return f"{kind} WRONG", f"{size}: off by {apart:.2g}"
    return f"{kind} same", ""


def _in_onnxruntime(path: Path) -> Callable[[Array], Array]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options)
    return lambda x: session.run(None, {session.get_inputs()[0].name: x})[0]


def _in_openvino(path: Path) -> Callable[[Array], Array]:
    compiled = ov.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda x: compiled([x])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sizes", type=int, default=20)
    parser.add_argument("--only", choices=list(_FAMILIES))
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--framework", choices=["torch", "tensorflow", "onnx"], default="torch")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    rng, counts = np.random.default_rng(chosen.seed), Counter[str]()
    for number in range(chosen.cases):
        start = time.monotonic()
        if chosen.framework == "tensorflow":
            words, results = judge_tensorflow(rng, chosen.sizes, verify=chosen.verify)
        elif chosen.framework == "onnx":
            words, results = judge_onnx(rng, verify=chosen.verify)
        else:
            case = _FAMILIES[chosen.only](rng) if chosen.only else random_case(rng)
            words, results = case.words, judge(rng, case, chosen.sizes, verify=chosen.verify)
        for verdict, where in results:
            counts[verdict] += 1
            if "same" not in verdict:
                print(f"{number}: {words}: {verdict}: {where}", flush=True)
        print(f"{number}: {words}: {time.monotonic() - start:.1f} s", flush=True)
    print(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())))
    sys.exit(any("WRONG" in verdict for verdict in counts))


if __name__ == "__main__":
    main()
