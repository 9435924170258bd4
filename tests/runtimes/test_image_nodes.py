"""Nodes of images at the edges: integers, channels last, dynamic dimensions, Transposes; predicted, and run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_interp
from ir_interp import Crop, ResizeOp, Step
from ir_interp.converters.audit.probe import INSTALLED, Job, run
from ir_interp.converters.predictions import RUNTIMES
from ir_interp.converters.runtimes.outcome import Kind
from tests.support.image_nodes import ImageNode, lay_between_transposes, loosen, values
from tests.support.runtimes import OTHERS, Array, onnx_model
from tests.support.surroundings import ALONE, Surroundings
from tests.sweeps.runtimes import Drawn, Seen, native, prediction, saved

pytestmark = pytest.mark.usefixtures("one_worker")

CUBIC, LINEAR, NEAREST = {"mode": "cubic"}, {"mode": "linear"}, {"mode": "nearest"}
FIRST, LAST = (2, 3, 5, 6), (2, 5, 6, 3)
KEEPS = "provided that axes [0] keep their sizes"
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
WIDE_CROP, CUBIC_CROP = {**LINEAR, **CROP, "antialias": 1}, {**CUBIC, **CROP}
LARGER = {"scales": (1, 1.5, 2.5, 1)}
# Windows of the height and width of LAST: within the image, beyond its edges, with no row in it, and all of it.
INSIDE, BEYOND = (0, 0.1, 0.2, 0, 1, 0.8, 0.7, 1), (0, -0.3, 0.1, 0, 1, 1.1, 0.9, 1)
OUTSIDE, ALL = (0, 1.2, 0.1, 0, 1, 1.7, 0.9, 1), (0, 0, 0, 0, 1, 1, 1, 1)
ROWS: tuple[tuple[str, str, tuple[int, ...], tuple[int, ...], dict[str, Any], dict[str, Any], Kind, str], ...] = (
    # runtime, element type, shape, dynamic dimensions, attributes, target, what is predicted, and why
    ("onnxruntime", "int8", LAST, (), CUBIC, {"scales": (1, 1.5, 2, 1)}, Kind.DIFFERS, "turns negative int8 into zero"),
    ("onnxruntime", "uint8", LAST, (), CUBIC, {"scales": (1, 1.5, 2, 1)}, Kind.DIFFERS, "clips integers after each"),
    ("onnxruntime", "uint8", LAST, (), CUBIC, {"scales": (1, 0.6, 2, 1)}, Kind.REFUSED, "no cubic Resize of uint8"),
    ("onnxruntime", "uint8", FIRST, (), CUBIC, {"scales": (1, 1, 2, 2)}, Kind.REFUSED, "no cubic Resize of uint8"),
    ("onnxruntime", "float32", FIRST, (2, 3), LINEAR, {"scales": (1, 2, 2, 2)}, Kind.REFUSED, "axes [1, 2, 3]"),
    ("onnxruntime", "float32", FIRST, (0,), CUBIC, {"scales": (2, 1, 2, 2)}, Kind.REFUSED, "axes [0, 2, 3]"),
    ("onnxruntime", "float32", FIRST, (0,), LINEAR, {"sizes": (2, 3, 8, 9)}, Kind.SAME, "only height and width"),
    ("onnxruntime", "float32", LAST, (), WIDE_CROP, {**LARGER, "roi": INSIDE}, Kind.SAME, ""),
    ("onnxruntime", "float32", LAST, (), WIDE_CROP, {**LARGER, "roi": BEYOND}, Kind.DIFFERS, "mixes up the axes"),
    ("onnxruntime", "float32", LAST, (), CUBIC_CROP, {**LARGER, "roi": BEYOND}, Kind.DIFFERS, "mixes up the axes"),
    ("onnxruntime", "float32", LAST, (), CUBIC_CROP, {**LARGER, "roi": OUTSIDE}, Kind.SAME, ""),
    ("onnxruntime", "float32", (2, 5, 6, 1), (), WIDE_CROP, {**LARGER, "roi": BEYOND}, Kind.SAME, ""),
    ("onnxruntime", "float32", LAST, (), WIDE_CROP, {"scales": (1, 1.1, 2, 1), "roi": ALL}, Kind.SAME, ""),
    (
        "onnxruntime",
        "float32",
        LAST,
        (),
        WIDE_CROP,
        {"scales": (1, 1.1, 2, 1), "roi": INSIDE},
        Kind.DIFFERS,
        "not crop",
    ),
    ("openvino", "float32", FIRST, (0,), LINEAR, {"sizes": (2, 3, 8, 9)}, Kind.SAME, KEEPS),
    ("openvino", "float32", FIRST, (0, 2, 3), CUBIC, {"sizes": (2, 3, 8, 9)}, Kind.SAME, KEEPS),
    (
        "openvino",
        "float32",
        FIRST,
        (0,),
        LINEAR,
        {"scales": (2, 1, 2, 2)},
        Kind.REFUSED,
        "on a single thread it returns another size, or garbage",
    ),
    ("openvino", "float32", FIRST, (0,), CUBIC, {"sizes": (2, 4, 8, 9)}, Kind.CRASHES, "corrupts memory"),
    ("openvino", "float32", FIRST, (), LINEAR, {"scales": (2, 1, 2, 2)}, Kind.REFUSED, "spatial dimensions only"),
    ("opencv-dnn", "float32", FIRST, (), CUBIC_CROP, {**LARGER, "roi": INSIDE}, Kind.REFUSED, "crops are not"),
    ("opencv-dnn", "uint8", LAST, (), LINEAR, {"scales": (1, 2, 2, 1)}, Kind.DIFFERS, "the last two axes only"),
    ("opencv-dnn", "float16", FIRST, (0,), LINEAR, {"scales": (1, 1, 2, 2)}, Kind.SAME, ""),
    ("opencv-dnn", "float32", FIRST, (), {**LINEAR, "axes": [2, 3]}, {"sizes": (8, 9)}, Kind.REFUSED, "axes are not"),
    ("mnn", "int8", FIRST, (), LINEAR, {"scales": (1, 1, 2, 1.5)}, Kind.DIFFERS, "int8 as uint8"),
    ("mnn", "uint8", FIRST, (), LINEAR, {"scales": (1, 1, 2.6, 1.3)}, Kind.DIFFERS, "to 7 bits"),
    ("mnn", "float32", LAST, (), LINEAR, {"scales": (1, 2, 2, 1)}, Kind.CRASHES, "out of bounds"),
    ("tvm", "uint8", FIRST, (), CUBIC, {"sizes": (2, 3, 17, 13)}, Kind.DIFFERS, "wraps integers around"),
    ("iree", "uint8", FIRST, (), LINEAR, {"scales": (1, 1, 2, 2)}, Kind.REFUSED, "sums of uint8"),
    ("iree", "float32", LAST, (), LINEAR, {"scales": (1, 2, 2, 1)}, Kind.REFUSED, "height and width only"),
    ("ncnn", "uint8", FIRST, (), LINEAR, {"scales": (1, 1, 2, 2)}, Kind.DIFFERS, "returns float32"),
)


TRANSPOSED = (
    # element type, attributes, target, what onnxruntime makes of it between Transposes, and why
    ("float32", CUBIC, {"sizes": (2, 3, 3, 4)}, Kind.REFUSED, "no cubic Resize of axes [1, 2]"),
    ("float32", CUBIC, {"scales": (1, 1, 3, 1.1)}, Kind.DIFFERS, "mixes up the axes"),
    ("float32", CUBIC, {"sizes": (2, 3, 9, 12)}, Kind.SAME, ""),
    ("float16", CUBIC, {"sizes": (2, 3, 3, 4)}, Kind.SAME, ""),
    ("float16", {**NEAREST, "axes": [2, 3]}, {"sizes": (9, 12)}, Kind.SAME, ""),
    ("uint8", CUBIC, {"sizes": (2, 3, 9, 12)}, Kind.DIFFERS, "after each axis"),
    ("uint8", {**NEAREST, "axes": [2, 3]}, {"sizes": (9, 12)}, Kind.REFUSED, "those of every axis"),
)


@pytest.mark.parametrize("name", ["onnxruntime", "openvino", *OTHERS])
def test_what_is_predicted_is_seen(name: str, tmp_path: Path) -> None:
    cases = []
    for runtime, dtype, shape, dynamic, attributes, target, kind, why in ROWS:
        if runtime == name:
            model = onnx_model("Resize", 19, shape, dtype, attributes, **target)
            loosen(model, dynamic)
            cases.append(case(model, values(np.random.default_rng(0), shape, dtype), kind, why))
    assert_seen(cases, name, tmp_path)


NEAR_1, BELOW_1 = (1, 1, 2.6, 1.3), (1, 1, 0.7, 0.3)
COMPUTED: tuple[tuple[int, str, tuple[int, ...], dict[str, Any], dict[str, Any], str, Kind, str], ...] = (
    # operator set, element type, shape, attributes, target, its computed input, what OpenCV makes of it, and why
    (9, "float32", FIRST, NEAREST, {"scales": NEAR_1}, "scales", Kind.DIFFERS, "ratio"),
    (10, "float32", FIRST, LINEAR, {"scales": BELOW_1}, "scales", Kind.DIFFERS, "half_pixel"),
    (13, "float32", FIRST, LINEAR, {"scales": NEAR_1}, "scales", Kind.REFUSED, "scales that are stored"),
    (
        13,
        "float32",
        FIRST,
        CUBIC | CROP,
        {"sizes": (2, 3, 9, 7), "roi": ALL},
        "roi",
        Kind.DIFFERS,
        "windows of the batch",
    ),
    (
        13,
        "uint8",
        FIRST,
        LINEAR | CROP,
        {"scales": (1, 1, 2, 1), "roi": ALL},
        "roi",
        Kind.DIFFERS,
        "windows of the batch",
    ),
    (13, "float32", FIRST, NEAREST | CROP, {"sizes": FIRST, "roi": INSIDE}, "roi", Kind.DIFFERS, "copies"),
    (
        18,
        "float32",
        FIRST,
        {**LINEAR, **CROP, "axes": [2, 3]},
        {"sizes": (9, 7), "roi": (0, 0, 1, 1)},
        "roi",
        Kind.REFUSED,
        "axes are not",
    ),
)


def test_computed_inputs_in_opencv(tmp_path: Path) -> None:
    cases = []
    for opset, dtype, shape, attributes, target, computed, kind, why in COMPUTED:
        op = "Resize" if opset >= 10 else "Upsample"
        model = onnx_model(op, opset, shape, dtype, attributes, **target)
        compute(model, computed)
        pixels = values(np.random.default_rng(0), shape, dtype)
        cases.append(case(model, pixels, kind, why, around=knowing(target["roi"]) if computed == "roi" else ALONE))
    assert_seen(cases, "opencv-dnn", tmp_path)


def test_resize_10_keeps_computed_scales_in_opencv(tmp_path: Path) -> None:
    model, path = onnx_model("Resize", 10, FIRST, "float32", LINEAR, scales=NEAR_1), tmp_path / "a.onnx"
    compute(model, "scales")
    onnx.save(model, path)
    x = values(np.random.default_rng(0), FIRST, "float32")
    np.save(path.with_suffix(".npy"), x)
    (node, _, _), (op,) = case(model, x, Kind.DIFFERS, ""), ir_interp.load(path)
    predicted = prediction(RUNTIMES["opencv-dnn"], Drawn(path=path, node=node, op=op, wanted=x)).spec
    assert predicted is not None
    assert predicted.step is not Step.RATIO
    if "opencv-dnn" not in INSTALLED:
        pytest.skip("opencv-dnn is not installed")
    (answer,) = run([Job(runtime="opencv-dnn", model=str(path), array=str(path.with_suffix(".npy")))])
    assert answer.output is not None
    np.testing.assert_allclose(answer.output, ir_interp.resize(x, predicted), atol=1e-5)


def compute(model: onnx.ModelProto, name: str) -> None:
    """Let a node compute an input of the only node of a model: scales from float64, windows from their negatives."""
    (stored,) = (tensor for tensor in model.graph.initializer if tensor.name == name)
    value = numpy_helper.to_array(stored)
    if name == "scales":
        node = helper.make_node("Cast", ["source"], [name], to=onnx.TensorProto.FLOAT)
        stored.CopyFrom(numpy_helper.from_array(value.astype(np.float64), "source"))
    else:
        node = helper.make_node("Neg", ["source"], [name])
        stored.CopyFrom(numpy_helper.from_array(-value, "source"))
    model.graph.node.insert(0, node)


def knowing(roi: tuple[float, ...]) -> Surroundings:
    """Return surroundings in which a node crops to windows that are computed."""
    windows = tuple(zip(roi[: len(roi) // 2], roi[len(roi) // 2 :], strict=True))

    def known(op: ResizeOp) -> ResizeOp:
        crop = op.spec.coordinates
        assert isinstance(crop, Crop)
        return replace(op, spec=replace(op.spec, coordinates=replace(crop, roi=windows)))

    return Surroundings(known=known)


def test_between_transposes(tmp_path: Path) -> None:
    cases = []
    for dtype, attributes, target, kind, why in TRANSPOSED:
        model = onnx_model("Resize", 19, FIRST, dtype, attributes, **target)
        lay_between_transposes(model, has_relu=False)
        cases.append(case(model, values(np.random.default_rng(0), LAST, dtype), kind, why, "transposed"))
    assert_seen(cases, "onnxruntime", tmp_path)


def case(
    model: onnx.ModelProto,
    x: Array,
    kind: Kind,
    why: str,
    layout: str = "channels first",
    around: Surroundings = ALONE,
) -> tuple[ImageNode, Kind, str]:
    node = ImageNode(model=model, x=x, layout=layout, dynamic=(), resizes_others=False, sizes=None, around=around)
    return node, kind, why


def assert_seen(cases: list[tuple[ImageNode, Kind, str]], name: str, folder: Path) -> None:
    """Fail unless predictions are of a kind and for a reason, and what the runtime does, if installed, is that."""
    drawn, jobs = [], []
    for number, (node, kind, why) in enumerate(cases):
        path = folder / f"{number}.onnx"
        onnx.save(node.model, path)
        np.save(path.with_suffix(".npy"), node.x)
        (row,) = ir_interp.audit(path, runtimes=[name]).rows
        predicted = row.predictions[name]
        assert (predicted.kind, why in predicted.reason) == (kind, True), (why, predicted)
        if kind is not Kind.CRASHES:
            drawn.append((Drawn(path=path, node=node, op=row.op, wanted=node.meaning(row.op)), kind, why))
            jobs.append(Job(runtime=name, model=str(path), array=str(path.with_suffix(".npy"))))
    if name in INSTALLED:
        for (each, kind, why), answer in zip(drawn, run(jobs), strict=True):
            seen = Kind.REFUSED if answer.output is None else Kind.DIFFERS
            is_meant = answer.output is not None and each.is_meant(answer.output)
            assert (Kind.SAME if is_meant else seen) is kind, (why, answer.refusal, answer.crash)


@pytest.mark.parametrize("name", ["onnxruntime", "openvino", "opencv-dnn"])
def test_random_nodes(name: str, tmp_path: Path) -> None:
    """``python -m tests.sweeps.runtimes`` draws more of them, and runs what they are converted to."""
    if name not in INSTALLED or name not in RUNTIMES:
        pytest.skip(f"{name} is not installed")
    came = [each for _, each in native(Seen(name), list(saved(tmp_path, 15, 11)))]
    assert len(came) == 15
    assert not [each for each in came if "predicted" in each]
