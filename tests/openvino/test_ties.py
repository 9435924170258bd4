"""Equal values and boxes that overlap by just a threshold: decided as ONNX says, not as OpenVINO does by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_interp
from tests.support.graphs import onnxruntime_outputs, openvino_outputs, save_model
from tests.support.runtimes import Array

OVERLAPS = (0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0)


def assert_converted(source: Path, feeds: dict[str, Array], *, fp16: bool = False) -> None:
    """Convert a model without a look at what it computes, and look then: a made-up input has no ties."""
    result = source.with_suffix(".xml")
    ir_interp.convert(source, result, verify=False, fp16=fp16)
    for mine, theirs in zip(openvino_outputs(result, feeds), onnxruntime_outputs(source, feeds), strict=True):
        np.testing.assert_array_equal(mine, theirs, strict=True)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("kind", ["float", "int32"])
def test_the_first_of_equal_values_comes_first(kind: str, largest: int, tmp_path: Path) -> None:
    text = f"""g ({kind}[3,q,7] x) => ({kind}[3,k,7] y, int64[3,k,7] i)
        <int64[1] n = {{30}}> {{ y, i = TopK <axis = 1, largest = {largest}> (x, n) }}"""
    source = save_model(tmp_path / "m.onnx", text)
    x = np.random.default_rng(1).integers(0, 6, (3, 200, 7)).astype(kind if kind != "float" else np.float32)
    assert_converted(source, {"x": x})


def test_so_it_does_where_no_order_is_asked_for(tmp_path: Path) -> None:
    text = """g (float[200] x) => (int64[k] i)
        <int64[1] n = {30}> { y, places = TopK <sorted = 0> (x, n) i, none = TopK <largest = 0> (places, n) }"""
    source = save_model(tmp_path / "m.onnx", text)
    assert_converted(source, {"x": np.random.default_rng(1).integers(0, 6, 200).astype(np.float32)})


def _boxes(seed: int) -> dict[str, Array]:
    """Return boxes of whole numbers, many of which overlap by just a threshold, with scores that tie."""
    rng = np.random.default_rng(seed)
    corners, lengths = rng.integers(0, 12, (2, 40, 2)), rng.integers(1, 6, (2, 40, 2))
    boxes = np.concatenate([corners, corners + lengths], axis=2).astype(np.float32)
    return {"boxes": boxes, "scores": rng.integers(0, 20, (2, 3, 40)).astype(np.float32) / 20}


def _suppression(overlap: float) -> str:
    return f"""g (float[2,40,4] boxes, float[2,3,40] scores) => (int64[k,3] y)
        <int64[1] n = {{20}}, float[1] overlap = {{{overlap!r}}}, float[1] least = {{0.2}}>
        {{ y = NonMaxSuppression (boxes, scores, n, overlap, least) }}"""


@pytest.mark.parametrize(("overlap", "fp16"), [*((each, False) for each in OVERLAPS), (1 / 3, True)])
def test_what_overlaps_by_a_threshold_stays(overlap: float, fp16: bool, tmp_path: Path) -> None:
    source = save_model(tmp_path / "m.onnx", _suppression(overlap))
    assert_converted(source, _boxes(int(overlap * 100)), fp16=fp16)


@pytest.mark.parametrize("fp16", [False, True])
def test_so_it_does_where_the_threshold_is_an_input(fp16: bool, tmp_path: Path) -> None:
    text = (
        _suppression(0.5).replace(", float[1] overlap = {0.5}", "").replace("scores)", "scores, float[1] overlap)", 1)
    )
    source = save_model(tmp_path / "m.onnx", text)
    for overlap in (0.0, 0.1, 1 / 3, 0.5):
        assert_converted(source, {**_boxes(4), "overlap": np.array([overlap], np.float32)}, fp16=fp16)


def test_inside_a_branch_too(tmp_path: Path) -> None:
    inner = _suppression(0.5).split("{ y = ")[1].rstrip("} \n")
    text = f"""g (float[2,40,4] boxes, float[2,3,40] scores, bool b) => (int64[k,3] y)
        <int64[1] n = {{20}}, float[1] overlap = {{0.5}}, float[1] least = {{0.2}}> {{ y = If (b) <
            then_branch = t () => (int64[k,3] chosen) {{ chosen = {inner} }},
            else_branch = e () => (int64[k,3] none) {{ none = NonMaxSuppression (boxes, scores) }}>
        }}"""
    source = save_model(tmp_path / "m.onnx", text)
    assert_converted(source, {**_boxes(3), "b": np.array(True)})
