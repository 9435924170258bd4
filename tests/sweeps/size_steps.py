"""Convert models that compute a height by steps, and compare both results with their framework at every height.

``python -m tests.sweeps.size_steps --framework onnx --cases 60 --seed 1`` draws up to three operations on the height of
an image, in sequence, in float32, or float64 where the framework has it, rounded in any way. Each model is converted to
ONNX and to IR, and both run at every height up to LARGEST. ``--verify`` converts with the proof, which then has to
refuse what is wrong; TensorFlow needs it to pass, since some formulas of float64 are left to the proof. Exits with 1
where a result that was written is wrong.
"""

from __future__ import annotations

import argparse
import logging
import operator
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import openvino as ov
from numpy.typing import NDArray

import ir_interp
from ir_interp import IrInterpError
from tests.support.graphs import save_model

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "FLAGS_enable_pir_api": "0"}
Rng = np.random.Generator
Array = NDArray[Any]
TOLERANCE = 1e-4
LARGEST = 400
_WIDTH = 8


def random_scale(rng: Rng) -> float:
    """Return a scale as programs have them: of few decimals, a ratio of sizes, an inverse, or any."""
    kind = rng.integers(4)
    if kind == 0:
        return float(round(float(rng.uniform(0.4, 3)), int(rng.integers(1, 3))))
    if kind == 1:
        return float(rng.integers(20, 90) / rng.integers(20, 90))
    return float(1 / round(float(rng.uniform(0.4, 2)), 2)) if kind == 2 else float(rng.uniform(0.3, 2.5))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A model as ``convert`` takes it, and how its framework computes it; its images may have channels last."""

    model: Any
    run: Callable[[Array], Array]
    has_channels_last: bool = False
    kinds: tuple[str, ...] = ("onnx", "xml")


def judged(
    source: Source, drawn: Sequence[tuple[int, int]], folder: Path, *, verify: bool
) -> Iterator[tuple[str, str]]:
    """Yield for each kind of result how it compares at the sizes drawn, and at which one it is wrong."""
    for kind in source.kinds:
        path, infer = folder / f"result.{kind}", _in_onnxruntime if kind == "onnx" else _in_openvino
        try:
            ir_interp.convert(source.model, path, verify=verify)
        except IrInterpError as refusal:
            yield f"{kind} refused", str(refusal)[-300:]
            continue
        except ExceptionGroup as refusals:
            yield f"{kind} refused", str(refusals.exceptions[0])[-300:]
            continue
        yield _compared(kind, source, infer(path), drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Up to three operations on a size, in sequence, each with a number, and what makes an integer of the last."""

    steps: tuple[tuple[str, float], ...]
    are_copied: bool
    rounding: str
    dtype: str

    @property
    def words(self) -> str:
        """Return the steps as text."""
        steps = ", ".join(f"{step} {number!r}" for step, number in self.steps)
        return f"{steps}{' with copies' if self.are_copied else ''}; {self.rounding}; {self.dtype}"


def random_steps(rng: Rng, *, can_round: bool, dtypes: Sequence[str]) -> Steps:
    """Return random steps; ``cast`` rounds towards 0. Without ``can_round``, they are sums and products alone."""
    names = [*_NUMBERS][: None if can_round else _FORMULAS]
    steps = [str(rng.choice(names)) for _ in range(int(rng.integers(1, 4)))]
    return Steps(
        steps=tuple(
            (step, random_scale(rng) if not _NUMBERS[step] else float(rng.choice(_NUMBERS[step]))) for step in steps
        ),
        are_copied=bool(rng.random() < 0.2),
        rounding=str(rng.choice(["floor", "ceil", "round", "cast"])) if can_round else "cast",
        dtype=str(rng.choice(dtypes)),
    )


_SUMMANDS = (0.5, 1.0, 2.0, 0.1, -0.5)
_NUMBERS: dict[str, tuple[float, ...]] = {
    "multiply": (),
    "divide": (),
    "add": _SUMMANDS,
    "subtract": _SUMMANDS,
    "maximum": (4.0, 50.0),
    "minimum": (60.0, 300.0),
}
"""The steps, and the numbers they may have: any scale where there is none."""
_FORMULAS = 4  # of the steps


def judge_steps(rng: Rng, framework: str, *, verify: bool) -> tuple[str, Iterator[tuple[str, str]]]:
    """Return random steps in words, and how the results of a model compare that computes its height by them."""
    dtypes = ("float64", "float32") if framework in ("tensorflow", "paddle") else ("float32",)
    drawn = random_steps(rng, can_round=framework != "paddle", dtypes=dtypes)
    source = _SOURCES[framework]

    def results() -> Iterator[tuple[str, str]]:
        with tempfile.TemporaryDirectory() as folder:
            heights = [(height, _WIDTH) for height in range(2, LARGEST)]
            yield from judged(source(drawn, Path(folder)), heights, Path(folder), verify=verify)

    return drawn.words, results()


def _function(drawn: Steps) -> Any:
    import tensorflow as tf

    of = {"floor": tf.floor, "ceil": tf.math.ceil, "round": tf.round, "cast": tf.identity}[drawn.rounding]

    class Model(tf.Module):  # type: ignore[misc, unused-ignore]
        @tf.function(input_signature=[tf.TensorSpec([1, None, _WIDTH, 3], tf.float32, name="x")])  # type: ignore[untyped-decorator, unused-ignore]
        def call(self, x: Any) -> Any:
            size = tf.cast(tf.shape(x)[1:2], drawn.dtype)
            for step, number in drawn.steps:
                size = getattr(tf.math, step)(size, tf.constant(number, drawn.dtype))
            height = tf.maximum(tf.cast(of(size), tf.int32), 1)
            return {"y": tf.image.resize(x, tf.concat([height, [_WIDTH]], 0), "bilinear")}

    return Model()


def _tensorflow(drawn: Steps, folder: Path) -> Source:
    import tensorflow as tf

    model = _function(drawn)
    tf.saved_model.save(model, str(folder / "saved"), signatures=model.call)
    return Source(model=folder / "saved", run=lambda x: model.call(tf.constant(x))["y"].numpy(), has_channels_last=True)


def _tflite(drawn: Steps, folder: Path) -> Source:
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    model, path = _function(drawn), folder / "net.tflite"
    path.write_bytes(
        tf.lite.TFLiteConverter.from_concrete_functions([model.call.get_concrete_function()], model).convert()
    )
    interpreter = Interpreter(str(path))

    def run(x: Array) -> Array:
        place = interpreter.get_input_details()[0]["index"]
        interpreter.resize_tensor_input(place, x.shape)
        interpreter.allocate_tensors()
        interpreter.set_tensor(place, x)
        interpreter.invoke()
        return np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))

    return Source(model=path, run=run, has_channels_last=True)


def _paddle(drawn: Steps, folder: Path) -> Source:
    import paddle

    # In the format that is read, Paddle 3 exports no functions on sizes but these.
    functions = {"multiply": operator.mul, "divide": operator.truediv, "add": operator.add, "subtract": operator.sub}

    class Net(paddle.nn.Layer):  # type: ignore[misc, unused-ignore]
        def forward(self, x: Any) -> Any:
            size = paddle.shape(x)[2:3].astype(drawn.dtype)
            for step, number in drawn.steps:
                size = functions[step](size, number)
            return paddle.nn.functional.interpolate(x, [size.astype("int32"), _WIDTH], mode="bilinear")

    net = Net().eval()
    spec = paddle.static.InputSpec([1, 3, None, _WIDTH], "float32", "x")
    paddle.jit.save(net, str(folder / "net"), input_spec=[spec])
    saved = paddle.jit.load(str(folder / "net"))  # where x / 2.38 is a product; the layer itself may divide
    return Source(
        model=folder / "net.pdmodel",
        run=lambda x: saved(paddle.to_tensor(x)).numpy(),
    )


_ONNX = """g (float[1,3,h,8] x) => (float[?,?,?,?] y) <{numbers}, int64[1] z = {{0}}, int64[1] c = {{2}},
    int64[1] e = {{3}}, int64[1] w = {{8}}, int64[1] one = {{1}}> {{
    all = Shape (x) f = Slice (all, z, c) l = Slice (all, c, e) t0 = Cast <to = 1> (l) {steps} r = {rounding} ({last})
    i = Cast <to = 7> (r) m = Max (i, one) n = Concat <axis = 0> (f, m, w)
    y = Resize <mode = "linear"> (x, "", "", n) }}"""


def _onnx(drawn: Steps, folder: Path) -> Source:
    operators = {step: step.capitalize()[:3] for step in _NUMBERS} | {"multiply": "Mul"}
    lines, numbers, last = list[str](), list[str](), "t0"
    for place, (step, number) in enumerate(drawn.steps, 1):
        lines.append(f"t{place} = {operators[step]} ({last}, n{place})")
        last = f"t{place}"
        if drawn.are_copied:
            lines.append(f"c{place} = Identity ({last})")
            last = f"c{place}"
        numbers.append(f"float[1] n{place} = {{{number!r}}}")
    text = _ONNX.format(
        numbers=", ".join(numbers),
        steps=" ".join(lines),
        rounding={"cast": "Identity"}.get(drawn.rounding, drawn.rounding.capitalize()),
        last=last,
    )
    path = save_model(folder / "source.onnx", text, 18)
    return Source(model=path, run=_in_onnxruntime(path), kinds=("xml",))


_SOURCES: dict[str, Callable[[Steps, Path], Source]] = {
    "onnx": _onnx,
    "tensorflow": _tensorflow,
    "tflite": _tflite,
    "paddle": _paddle,
}


def _compared(
    kind: str, source: Source, infer: Callable[[Array], Array], drawn: Sequence[tuple[int, int]]
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


def report(cases: Iterator[tuple[str, Iterator[tuple[str, str]]]]) -> None:
    """Print each case, and how its results compare; exit with 1 if one is wrong."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    counts = Counter[str]()
    for number, (words, results) in enumerate(cases):
        start = time.monotonic()
        for verdict, where in results:
            counts[verdict] += 1
            if "same" not in verdict:
                print(f"{number}: {words}: {verdict}: {where}", flush=True)
        print(f"{number}: {words}: {time.monotonic() - start:.1f} s", flush=True)
    print(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())))
    sys.exit(any("WRONG" in verdict for verdict in counts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", choices=_SOURCES, required=True)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verify", action="store_true")
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    report(judge_steps(rng, chosen.framework, verify=chosen.verify) for _ in range(chosen.cases))


if __name__ == "__main__":
    main()
