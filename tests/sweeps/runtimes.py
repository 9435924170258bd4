"""Run random Resizes of images in the other runtimes: as they are, and made portable for each, and for all of them.

``python -m tests.sweeps.runtimes --cases 300 --seed 1`` runs those that are installed (``pip install
opencv-python-headless MNN apache-tvm iree-base-compiler iree-base-runtime ncnn``, and pnnx without
dependencies), and exits with 1 where a portable one differs, or a forecast is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import ir_interp
from ir_interp import InexactError
from ir_interp.converters.audit.probe import Job, Ran, run
from ir_interp.converters.onnx.resizes import nodes
from ir_interp.converters.runtimes.others import OtherRuntime, others
from ir_interp.converters.runtimes.outcome import Kind
from tests.support.runtimes import Array, onnx_model

TOLERANCE = 1e-4  # of values around 1
COORDINATES = {
    11: ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"),
    13: ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"),
    18: ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"),
    19: ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"),
}
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
RATIOS = (2.0, 3.0, 0.5, 1.5, 2.6, 0.7, 1.3, 4.0, 1.0, 0.3)


def image_resize(rng: np.random.Generator) -> tuple[onnx.ModelProto, Array]:
    """Return a model of one Resize of the height and width of an image, and an image."""
    opset = int(rng.choice(list(COORDINATES)))
    mode = str(rng.choice(["nearest", "linear", "cubic"]))
    attributes: dict[str, Any] = {"mode": mode}
    attributes["coordinate_transformation_mode"] = str(rng.choice(COORDINATES[opset]))
    if mode == "nearest":
        attributes["nearest_mode"] = str(rng.choice(ROUNDINGS))
    elif opset >= 18 and rng.random() < 0.25:
        attributes["antialias"] = 1
    if mode == "cubic" and rng.random() < 0.5:
        attributes["cubic_coeff_a"] = float(rng.choice([-0.5, -0.75, -0.6]))
    if mode == "cubic" and rng.random() < 0.25:
        attributes["exclude_outside"] = 1
    shape = (1, int(rng.choice([1, 3])), *map(int, rng.integers(2, 40, 2)))
    ratios = [float(each) for each in rng.choice(RATIOS, 2)]
    lengths = [max(1, int(length * ratio)) for length, ratio in zip(shape[2:], ratios, strict=True)]
    given: dict[str, Any] = {"sizes": (*shape[:2], *(length + int(rng.integers(0, 2)) for length in lengths))}
    if rng.random() < 0.5 and all(length * ratio >= 1 for length, ratio in zip(shape[2:], ratios, strict=True)):
        given = {"scales": (1.0, 1.0, *ratios)}
    x = rng.standard_normal(shape).astype(np.float32)
    return onnx_model("Resize", opset, shape, "float32", attributes, **given), x


def native(runtime: OtherRuntime, drawn: list[tuple[Path, Array]]) -> Iterator[str]:
    """Yield what became of nodes as they stand, and whether that was told."""
    answers = run([_job(runtime, path) for path, _ in drawn])
    for (path, wanted), answer in zip(drawn, answers, strict=True):
        (found,) = nodes(path)
        told = runtime.outcome(found.op, frozenset({2, 3}))
        kind = told.kind
        if told.reason.startswith("nothing is known"):
            yield "nothing told"
            continue
        if told.spec is not None:
            same = np.abs(ir_interp.resize(np.load(path.with_suffix(".npy")), told.spec) - wanted).max() < TOLERANCE
            kind = Kind.SAME if same else Kind.DIFFERS
        seen = _kind(answer, wanted)
        if seen is not kind:
            print(f"{runtime.name}: told {kind.value}, seen {seen.value}: {found.op.spec}; {answer.refusal}")
        yield seen.value if seen is kind else "told wrong"


def portable(runtime: OtherRuntime, target: str, drawn: list[tuple[Path, Array]]) -> Iterator[str]:
    """Yield what became of nodes that were made portable for a target."""
    jobs, wanted = [], []
    for path, values in drawn:
        made = path.with_name(f"{path.stem}-{target}.onnx".replace(":", "-"))
        try:
            ir_interp.convert(path, made, target=target, verify=False)
        except ExceptionGroup as refusals:
            if refusals.split(InexactError)[1]:
                raise
            print(f"{target}: {refusals.exceptions[0]}")
            yield "no form"
            continue
        jobs.append(Job(runtime=runtime.name, model=str(made), array=str(path.with_suffix(".npy"))))
        wanted.append(values)
    for job, answer, values in zip(jobs, run(jobs), wanted, strict=True):
        seen = _kind(answer, values)
        if seen is not Kind.SAME:
            print(
                f"{runtime.name}, {target}: {seen.value}: {ir_interp.load(job.model)}; {answer.refusal}{answer.crash}"
            )
        yield seen.value


def _job(runtime: OtherRuntime, path: Path) -> Job:
    return Job(runtime=runtime.name, model=str(path), array=str(path.with_suffix(".npy")))


def _kind(answer: Ran, wanted: Array) -> Kind:
    if answer.output is None:
        return Kind.CRASHES if answer.crash else Kind.REFUSED
    if answer.output.shape != wanted.shape:
        return Kind.DIFFERS
    return Kind.SAME if np.abs(answer.output - wanted).max() < TOLERANCE else Kind.DIFFERS


def main(arguments: list[str]) -> int:
    """Print how many nodes came to what in each runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        drawn = list(_saved(Path(folder), options.cases, options.seed))
        for runtime in others().values():
            if runtime.is_installed:
                before = Counter(native(runtime, drawn))
                after = {name: Counter(portable(runtime, name, drawn)) for name in (runtime.name, "any")}
                bad += before["told wrong"] + sum(
                    each[kind.value] for each in after.values() for kind in Kind if kind is not Kind.SAME
                )
                print(runtime.title, dict(before), {name: dict(each) for name, each in after.items()}, flush=True)
    return int(bool(bad))


def _saved(folder: Path, cases: int, seed: int) -> Iterator[tuple[Path, Array]]:
    rng = np.random.default_rng(seed)
    for number in range(cases):
        model, x = image_resize(rng)
        path = folder / f"{number}.onnx"
        onnx.save(model, path)
        np.save(path.with_suffix(".npy"), x)
        (op,) = ir_interp.load(path)
        yield path, op.run(x)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
