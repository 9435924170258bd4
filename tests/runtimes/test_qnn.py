"""QNN's NPU: quantised nodes as it was seen to compute them, and the proof of what is written for it.

The records are those of onnxruntime-qnn 2.7.0. ``tests.sweeps.qnn`` runs hundreds of nodes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp.converters import qnn_placement
from ir_interp.converters.qnn_placement import Left, Placement
from ir_interp.errors import VerificationError
from tests.support.graphs import save_model

NAME = qnn_placement.NAME
BY = "QNN's simulator of the NPU (onnxruntime-qnn 0.0)"
IMAGE, VOLUME = "1,2,5,6", "1,2,3,5,6"


def quantised(folder: Path, dtype: str, attributes: str, shape: str = IMAGE, sizes: str = "1,2,8,9") -> Path:
    """Write a model of one Resize between quantisations of the same scale."""
    rank, zero = shape.count(",") + 1, 128 if dtype[0] == "u" else 0
    graph = f"""
        g (float[{shape}] x) => (float[{",".join("abcde"[:rank])}] y)
        <float s = {{0.0078125}}, {dtype} z = {{{zero}}}, int64[{rank}] n = {{{sizes}}}>
        {{
            q = QuantizeLinear (x, s, z)
            d = DequantizeLinear (q, s, z)
            r = Resize <{attributes}> (d, "", "", n)
            p = QuantizeLinear (r, s, z)
            y = DequantizeLinear (p, s, z)
        }}
    """
    return save_model(folder / "a.onnx", graph, 21)


HALF_DOWN = 'mode = "nearest"'
HALF_UP = f'{HALF_DOWN}, nearest_mode = "round_prefer_ceil"'
LEVELS: tuple[tuple[str, str, str, str, tuple[str, str]], ...] = (
    # element type, attributes, shape, sizes, and what the NPU was seen to compute
    *((dtype, 'mode = "cubic"', IMAGE, "1,2,8,9", ("same", "")) for dtype in ("uint8", "int8", "uint16")),
    *((dtype, 'mode = "linear"', IMAGE, "1,2,8,9", ("same", "")) for dtype in ("uint8", "int8", "uint16", "int16")),
    *((dtype, HALF_UP, IMAGE, "1,2,8,9", ("same", "")) for dtype in ("uint8", "int8", "uint16")),
    ("uint16", HALF_DOWN, IMAGE, "1,2,8,9", ("differs", "half up")),
    ("int16", 'mode = "cubic"', IMAGE, "1,2,8,9", ("refused", "does not support int16")),
    ("int16", HALF_UP, IMAGE, "1,2,8,9", ("refused", "does not support int16")),
    ("uint8", 'mode = "linear"', VOLUME, "1,2,3,8,9", ("same", "")),
    ("uint8", 'mode = "cubic"', VOLUME, "1,2,3,8,9", ("crashes", "rank 5")),
    ("uint8", f'{HALF_DOWN}, nearest_mode = "floor"', VOLUME, "1,2,4,8,9", ("differs", "half up")),
)


@pytest.mark.parametrize(("dtype", "attributes", "shape", "sizes", "told"), LEVELS, ids=str)
def test_levels(dtype: str, attributes: str, shape: str, sizes: str, told: tuple[str, str], tmp_path: Path) -> None:
    (row,) = ir_interp.audit(quantised(tmp_path, dtype, attributes, shape, sizes), runtimes=[NAME]).rows
    verdict = row.predictions[NAME]
    assert (verdict.kind.value, told[1] in verdict.reason) == (told[0], True), str(verdict)


# The proof, with and without the package


def placing(monkeypatch: pytest.MonkeyPatch, *placements: Placement) -> None:
    """Let a package with these answers be installed; the last one stands for all that follow."""
    left = list(placements)
    monkeypatch.setattr(qnn_placement, "is_installed", lambda: True)
    monkeypatch.setattr(qnn_placement, "placed", lambda path, inputs=None: left.pop(0) if len(left) > 1 else left[0])


def saved(folder: Path) -> Path:
    nodes = '[up] y = Resize <mode = "linear"> (x, "", s) [best] t, i = TopK (x, k)'
    constants = "<float[4] s = {1, 1, 2, 2}, int64[1] k = {3}>"
    return save_model(
        folder / "a.onnx", f"g (float[1,2,5,6] x) => (float[1,2,10,12] y, float[1,2,5,3] t) {constants} {{ {nodes} }}"
    )


def converted(folder: Path) -> tuple[str, ...]:
    return ir_interp.convert(saved(folder), folder / "b.onnx", target=NAME).notes


def doubled(folder: Path) -> dict[str, Any]:
    """Return the output of the resize for the input that the proof draws."""
    (op,) = ir_interp.load(saved(folder))
    return {"y": op.run(np.random.default_rng(0).random((1, 2, 5, 6)).astype(np.float32))}


def test_all_on_the_npu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placing(monkeypatch, Placement(by=BY), Placement(by=BY, outputs=doubled(tmp_path)))
    proof = "runs every node, without the CPU provider; 1 of its resizes ran alone, as meant"
    assert converted(tmp_path) == (f"b.onnx: {BY} {proof}",)


def test_another_node_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = Placement(by=BY, left=(Left("TopK", "best"),))
    placing(monkeypatch, left, Placement(by=BY, outputs=doubled(tmp_path)))
    proof = 'leaves TopK "best" to the CPU provider, and no resize; 1 of its resizes ran alone, as meant'
    assert converted(tmp_path) == (f"b.onnx: {BY} {proof}",)


def test_a_model_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placing(monkeypatch, Placement(by=BY, problem="no"))
    assert converted(tmp_path) == (f"b.onnx: {BY} does not run the model: no",)


@pytest.mark.parametrize(
    ("placements", "problem"),
    [
        ([Placement(by=BY, left=(Left("Resize", "up"),))], 'leaves what was written to the CPU provider: Resize "up"'),
        ([Placement(by=BY), Placement(by=BY, outputs={"y": np.zeros((1, 2, 9, 12))})], "shape [1, 2, 9, 12]"),
        ([Placement(by=BY), Placement(by=BY, outputs={"y": np.zeros((1, 2, 10, 12))})], "computes another resize"),
        ([Placement(by=BY), Placement(by=BY, problem="no")], f"up: {BY} does not run the resize"),
    ],
)  # fmt: skip
def test_what_it_does_not_take(
    placements: list[Placement], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placing(monkeypatch, *placements)
    with pytest.raises(VerificationError) as caught:
        converted(tmp_path)
    assert problem in str(caught.value)
    assert not (tmp_path / "b.onnx").exists()


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qnn_placement, "is_installed", lambda: False)
    (note,) = converted(tmp_path)
    assert "pip install onnxruntime-qnn==" in note


def test_an_audit_names_what_is_left_to_the_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placing(monkeypatch, Placement(by=BY, left=(Left("TopK", "best"), Left("Resize", ""))))
    audit = ir_interp.audit(saved(tmp_path), run=True, runtimes=[NAME])
    (finding,) = [each for each in audit.findings if each.code == "IRI029"]
    assert finding.message == f'{BY} leaves to the CPU provider: TopK "best", Resize'
    assert finding.severity.value == "note"


@pytest.mark.skipif(not qnn_placement.is_installed(), reason="onnxruntime-qnn is not installed")
def test_the_real_one(tmp_path: Path) -> None:
    (note,) = converted(tmp_path)
    assert "runs every node, without the CPU provider; 1 of its resizes ran alone, as meant" in note
    node = '[up] y = Resize <mode = "linear", antialias = 1> (x, "", s)'
    graph = f"g (float[1,2,5,6] x) => (float[a,b,c,d] y) <float[4] s = {{1, 1, 0.5, 0.5}}> {{ {node} }}"
    placement = qnn_placement.placed(save_model(tmp_path / "c.onnx", graph))
    assert placement.left == (Left("Resize", "up"),)
    ends = quantised(tmp_path, "uint8", 'mode = "cubic"', VOLUME, "1,2,3,8,9")
    assert "died" in qnn_placement.placed(ends, {"x": np.zeros((1, 2, 3, 5, 6), np.float32)}).problem
