"""Nodes of images at the edges: integers, channels last, dynamic dimensions, Transposes; predicted, and run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ir_interp
from ir_interp.converters.audit.probe import INSTALLED, Job, run
from ir_interp.converters.predictions.runtimes_asked import RUNTIMES
from ir_interp.converters.runtimes.others import others
from ir_interp.converters.runtimes.outcome import Kind
from tests.support.image_nodes import ImageNode, lay_between_transposes, loosen, values
from tests.support.runtimes import Array, onnx_model
from tests.sweeps.runtimes import Drawn, Seen, native, saved

pytestmark = pytest.mark.usefixtures("one_worker")

CUBIC, LINEAR, NEAREST = {"mode": "cubic"}, {"mode": "linear"}, {"mode": "nearest"}
FIRST, LAST = (2, 3, 5, 6), (2, 5, 6, 3)
KEEPS = "provided that axes [0] keep their sizes"
ROWS: tuple[tuple[str, str, tuple[int, ...], tuple[int, ...], dict[str, Any], dict[str, Any], Kind, str], ...] = (
    # runtime, element type, shape, dynamic dimensions, attributes, target, what is predicted, and why
    ("onnxruntime", "int8", LAST, (), CUBIC, {"scales": (1, 1.5, 2, 1)}, Kind.DIFFERS, "turns negative int8 into zero"),
    ("onnxruntime", "uint8", LAST, (), CUBIC, {"scales": (1, 1.5, 2, 1)}, Kind.DIFFERS, "clips integers after each"),
    ("onnxruntime", "uint8", LAST, (), CUBIC, {"scales": (1, 0.6, 2, 1)}, Kind.REFUSED, "no cubic Resize of uint8"),
    ("onnxruntime", "uint8", FIRST, (), CUBIC, {"scales": (1, 1, 2, 2)}, Kind.REFUSED, "no cubic Resize of uint8"),
    ("onnxruntime", "float32", FIRST, (2, 3), LINEAR, {"scales": (1, 2, 2, 2)}, Kind.REFUSED, "axes [1, 2, 3]"),
    ("onnxruntime", "float32", FIRST, (0,), CUBIC, {"scales": (2, 1, 2, 2)}, Kind.REFUSED, "axes [0, 2, 3]"),
    ("onnxruntime", "float32", FIRST, (0,), LINEAR, {"sizes": (2, 3, 8, 9)}, Kind.SAME, "only height and width"),
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


@pytest.mark.parametrize("name", ["onnxruntime", "openvino", *others()])
def test_what_is_predicted_is_seen(name: str, tmp_path: Path) -> None:
    cases = []
    for runtime, dtype, shape, dynamic, attributes, target, kind, why in ROWS:
        if runtime == name:
            model = onnx_model("Resize", 19, shape, dtype, attributes, **target)
            loosen(model, dynamic)
            cases.append(case(model, values(np.random.default_rng(0), shape, dtype), kind, why))
    assert_seen(cases, name, tmp_path)


def test_between_transposes(tmp_path: Path) -> None:
    cases = []
    for dtype, attributes, target, kind, why in TRANSPOSED:
        model = onnx_model("Resize", 19, FIRST, dtype, attributes, **target)
        lay_between_transposes(model, has_relu=False)
        cases.append(case(model, values(np.random.default_rng(0), LAST, dtype), kind, why, "transposed"))
    assert_seen(cases, "onnxruntime", tmp_path)


def case(
    model: onnx.ModelProto, x: Array, kind: Kind, why: str, layout: str = "channels first"
) -> tuple[ImageNode, Kind, str]:
    return ImageNode(model=model, x=x, layout=layout, dynamic=(), resizes_others=False, sizes=None), kind, why


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
