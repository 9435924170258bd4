"""onnxruntime's CUDA, DirectML, QNN and WebGPU providers: what sources say of two, and what two were seen to make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

import ir_interp
from ir_interp import Kind
from tests.support.commands import completed
from tests.support.graphs import save_model
from tests.support.image_nodes import loosen
from tests.support.runtimes import OTHERS, onnx_model

PROVIDERS = completed("audit", "--runtime", "onnxruntime-")
BY_SOURCE = [name for name in PROVIDERS if name not in OTHERS]
NAMES = ("cuda", "directml", "qnn", "webgpu")
SHAPE = (1, 2, 5, 6)
SAME, CPU = ("same", ""), "left to the CPU provider"
OF_10 = "computes Resize-10"
Told = tuple[str, str]


def resize(mode: str, coordinates: str = "half_pixel", version: int = 19, **more: Any) -> dict[str, Any]:
    """Return the arguments of a model of one node."""
    sizes = {"sizes": (1, 2, 8, 9)} if not {"sizes", "scales"} & more.keys() else {}
    target: dict[str, Any] = {name: more.pop(name) for name in ("sizes", "scales") if name in more}
    op = "Resize" if version > 9 else "Upsample"
    stated = {"coordinate_transformation_mode": coordinates} if version > 10 else {}
    shape, dtype = more.pop("shape", SHAPE), more.pop("dtype", "float32")
    attributes = {"mode": mode, **stated, **more}
    return {
        "op": op, "opset": version, "shape": shape, "dtype": dtype, "attributes": attributes, **sizes, **target
    }  # fmt: skip


ROWS: tuple[tuple[dict[str, Any], tuple[Told, Told, Told, Told]], ...] = (
    # a node, and what CUDA, DirectML, QNN and WebGPU make of it: the verdict, and a part of its reason
    (resize("linear"), (SAME, SAME, SAME, SAME)),
    (resize("linear", "align_corners"), (SAME, SAME, SAME, SAME)),
    (resize("linear", "asymmetric"), (SAME, SAME, SAME, SAME)),
    (resize("cubic", scales=(1, 1, 1.3, 1)), (SAME, ("same", CPU), ("same", "the ratio of sizes"), SAME)),
    (resize("cubic", antialias=1, sizes=(1, 2, 2, 3)), (
        ("differs", "one coefficient"), ("same", CPU), ("same", CPU), ("refused", "antialias"),
    )),
    (resize("linear", scales=(1, 1, 1.3, 1)), (SAME, SAME, ("differs", "ratio"), SAME)),
    (resize("cubic"), (SAME, ("same", f"{CPU}: cubic is not supported"), SAME, SAME)),
    (resize("linear", antialias=1, sizes=(1, 2, 2, 3)), (
        SAME, ("differs", "halves an image"), ("same", "antialias is not supported"), ("refused", "fails at run time"),
    )),
    (resize("linear", antialias=1), (SAME, SAME, ("same", CPU), ("refused", "antialias"))),
    (resize("linear", antialias=1, scales=(1, 1, 0.5, 1.05), shape=(1, 2, 8, 9)), (
        ("differs", "keeps its size"), ("differs", "halves"), ("differs", f"{CPU}: antialias is not supported"),
        ("refused", ""),
    )),
    (resize("cubic", exclude_outside=1), (SAME, ("same", CPU), ("differs", "ignores exclude_outside"), SAME)),
    (resize("linear", "pytorch_half_pixel", sizes=(1, 2, 1, 9)), (
        SAME, ("differs", "single input"), ("differs", "for a single output too"), SAME,
    )),
    (resize("linear", "tf_half_pixel_for_nn", 11, scales=(1, 1, 2, 2)), (
        SAME, ("differs", "by half a pixel"), ("same", "supports nearest images with floor only"), SAME,
    )),
    (resize("nearest", "tf_half_pixel_for_nn", 11, nearest_mode="floor", scales=(1, 1, 2, 2)), (
        SAME, SAME, ("refused", "finalize"), SAME,
    )),
    (resize("linear", "half_pixel_symmetric", scales=(1, 1, 1.7, 1.7)), (
        ("unknown", "newer"), SAME, ("same", CPU), SAME,
    )),
    (resize("nearest", "asymmetric", nearest_mode="round_prefer_ceil", scales=(1, 1, 2, 2)), (
        SAME, SAME, ("differs", "others down"), SAME,
    )),
    (resize("nearest", "asymmetric", nearest_mode="floor", scales=(1, 1, 3, 3)), (
        SAME, ("unknown", "last bit"), SAME, SAME,
    )),
    (resize("nearest", nearest_mode="floor", scales=(1, 1, 2, 2)), (SAME, SAME, ("differs", "half up"), SAME)),
    (resize("linear", shape=(1, 4, 5, 3), sizes=(1, 8, 9, 3)), (
        ("differs", "last axes"), SAME, ("same", f"{CPU}: it resizes the last axes"), ("differs", "last axes"),
    )),
    (resize("linear", shape=(1, 1, 1, 1, 4, 4), sizes=(1, 1, 1, 1, 8, 8)), (
        ("refused", "rank 6"), SAME, ("refused", CPU), ("refused", "rank 6"),
    )),
    (resize("linear", version=10, scales=(1, 1, 2, 2)), (SAME, ("differs", OF_10), ("differs", OF_10), SAME)),
    (resize("nearest", version=10, scales=(1, 1, 4, 0.5)), (
        SAME, SAME, ("differs", OF_10), SAME,
    )),
    (resize("linear", version=9, scales=(1, 1, 2, 2)), (
        SAME, ("differs", OF_10), SAME, ("same", f"{CPU}: Upsample"),
    )),
    (resize("nearest", version=9, scales=(1, 1, 1.5, 2)), (
        ("differs", "scale rounded up"), ("unknown", "last bit"), SAME, ("same", f"{CPU}: Upsample"),
    )),
    (resize("linear", version=9, shape=(2, 5, 6), scales=(1, 2, 2)), (
        ("differs", "of this rank"), ("differs", OF_10), ("same", CPU), ("same", f"{CPU}: Upsample"),
    )),
    (resize("linear", dtype="float16"), (
        ("unknown", "float16"), ("unknown", "float16"), SAME, SAME,
    )),
)  # fmt: skip


@pytest.mark.parametrize(("node", "told"), ROWS, ids=str)
def test_what_the_sources_say(node: dict[str, Any], told: tuple[Told, ...]) -> None:
    (row,) = ir_interp.audit(onnx_model(**node), runtimes=[*PROVIDERS]).rows
    for name, (kind, reason) in zip(NAMES, told, strict=True):
        verdict = row.predictions[f"onnxruntime-{name}"]
        assert (verdict.kind.value, reason in verdict.reason) == (kind, True), (name, str(verdict))


QNN: tuple[tuple[dict[str, Any], Told], ...] = (
    # further nodes, and what QNN's simulator of the HTP was seen to make of them (2.7.0)
    (resize("linear", scales=(1, 1, 2.1, 1), shape=(1, 1, 10, 4)), ("differs", "exact product")),  # 20, not 21
    (resize("nearest", "pytorch_half_pixel", nearest_mode="floor"), ("differs", "others down")),
    (resize("nearest", "align_corners", nearest_mode="round_prefer_ceil"), SAME),
    (resize("nearest", "asymmetric", nearest_mode="ceil"), ("same", f"{CPU}: its asymmetric nearest")),
    (resize("linear", dtype="uint8"), ("refused", "claims the node for its layout")),
    (resize("linear", dtype="uint8", antialias=1), ("same", CPU)),
    (resize("linear", dtype="uint8", shape=(1, 5, 6, 2), sizes=(1, 8, 9, 2)), ("same", CPU)),
    (resize("cubic", shape=(2, 3, 9), sizes=(2, 3, 20)), SAME),
    (resize("linear", "asymmetric", shape=(1, 2, 4, 8, 9), sizes=(1, 2, 7, 13, 20)), SAME),
    (resize("nearest", "asymmetric", nearest_mode="floor", shape=(2, 3, 9), sizes=(2, 3, 20)), SAME),
    (resize("nearest", shape=(2, 3, 9), sizes=(2, 3, 20)), ("same", f"{CPU}: its nearest of rank 3")),
    (resize("nearest", "align_corners", nearest_mode="floor", shape=(2, 3, 9), sizes=(2, 3, 20)),
     ("refused", "does not support the rounding")),
    (resize("nearest", "asymmetric", nearest_mode="floor", shape=(1, 2, 4, 8, 9), sizes=(1, 2, 4, 13, 20)), SAME),
    (resize("nearest", "asymmetric", nearest_mode="floor", shape=(1, 2, 4, 8, 9), sizes=(1, 2, 7, 13, 20)),
     ("refused", "finalize")),
    (resize("cubic", shape=(1, 2, 4, 8, 9), sizes=(1, 2, 4, 13, 20)), ("crashes", "rank 5")),
)  # fmt: skip


@pytest.mark.parametrize(("node", "told"), QNN, ids=str)
def test_what_qnn_was_seen_to_compute(node: dict[str, Any], told: Told) -> None:
    (row,) = ir_interp.audit(onnx_model(**node), runtimes=["onnxruntime-qnn"]).rows
    verdict = row.predictions["onnxruntime-qnn"]
    assert (verdict.kind.value, told[1] in verdict.reason) == (told[0], True), str(verdict)


WEBGPU: tuple[tuple[dict[str, Any], Told], ...] = (
    # further nodes, and what onnxruntime-node was seen to make of them on a software driver (1.30)
    (resize("nearest", nearest_mode="round_prefer_ceil", shape=(1, 1, 6, 6), sizes=(1, 1, 3, 3)), SAME),  # halves go up
    (resize("linear", dtype="uint8"), ("same", CPU)),
    (resize("linear", dtype="int8", antialias=1), ("differs", CPU)),
    (resize("linear", version=9, shape=(1, 3, 5, 6), scales=(1, 2, 1, 1)), SAME),
    (resize("linear", version=9, shape=(1, 4, 1, 4), scales=(1, 1, 1.1, 1.1)), ("differs", CPU)),
    (resize("nearest", "asymmetric", 13, nearest_mode="floor", scales=(1, 1, 1.1, 1)), SAME),  # 5 rows stay 5
    (resize("nearest", dtype="float16"), SAME),
    (resize("cubic", dtype="float16"), ("refused", "cubic of float16")),
    (resize("nearest", "asymmetric", nearest_mode="floor", shape=(1, 1, 1, 6), sizes=(1, 1, 1, 26)),
     ("unknown", "last bit")),
    (resize("linear", shape=(1, 1, 5, 6), scales=(1, 1.1, 2, 1)), SAME),  # a single channel stays
    (resize("cubic", shape=(1, 4, 5, 3), sizes=(1, 8, 9, 3)), ("differs", "last axes")),
)  # fmt: skip


@pytest.mark.parametrize(("node", "told"), WEBGPU, ids=str)
def test_what_webgpu_was_seen_to_compute(node: dict[str, Any], told: Told) -> None:
    (row,) = ir_interp.audit(onnx_model(**node), runtimes=["onnxruntime-webgpu"]).rows
    verdict = row.predictions["onnxruntime-webgpu"]
    assert (verdict.kind.value, told[1] in verdict.reason) == (told[0], True), str(verdict)


@pytest.mark.parametrize(("name", "more"), [("onnxruntime-qnn", QNN), ("onnxruntime-webgpu", WEBGPU)])
def test_the_records_are_its_answers(name: str, more: tuple[tuple[dict[str, Any], Told], ...], tmp_path: Path) -> None:
    if not OTHERS[name].is_installed:
        pytest.skip(f"{name} is not installed")
    for place, (node, _) in enumerate((*ROWS, *more)):
        onnx.save(onnx_model(**node), tmp_path / f"{place:02}.onnx")
    for row in ir_interp.audit(tmp_path, runtimes=[name], run=True).rows:
        if name in row.seen:  # a software driver without float16 runs none
            assert row.predictions[name].kind in (row.seen[name].kind, Kind.UNKNOWN), row.name


WRITTEN: tuple[tuple[dict[str, Any], list[str] | str], ...] = (
    # a node, and the operators of what --target writes for QNN's NPU, or why it writes nothing
    (resize("linear"), ["Resize"]),
    (resize("linear", "pytorch_half_pixel", sizes=(1, 2, 1, 9)), ["MatMul", "MatMul"]),
    (resize("linear", antialias=1, sizes=(1, 2, 2, 3)), ["MatMul", "MatMul"]),
    (resize("nearest", "asymmetric", nearest_mode="ceil", scales=(1, 1, 2, 2)), "computes no Gather"),
    (resize("linear", shape=(None, 2, 5, 6), antialias=1), "static shapes only"),
)  # fmt: skip


@pytest.mark.parametrize(("node", "operators"), WRITTEN, ids=str)
def test_what_is_written_for_the_npu(node: dict[str, Any], operators: list[str] | str, tmp_path: Path) -> None:
    shape = node["shape"]
    model = onnx_model(**{**node, "shape": tuple(size or 1 for size in shape)})
    loosen(model, [axis for axis, size in enumerate(shape) if size is None])
    onnx.save(model, tmp_path / "a.onnx")
    if isinstance(operators, str):
        with pytest.raises(ExceptionGroup) as caught:
            ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.onnx", target="onnxruntime-qnn", verify=False)
        assert operators in str(caught.value.exceptions[0])
        return
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.onnx", target="onnxruntime-qnn", verify=False)
    assert [each.op_type for each in onnx.load(tmp_path / "b.onnx").graph.node] == operators


def test_they_are_marked() -> None:
    """Those that were not run are marked as by source, and none is audited unless it is named."""
    model = onnx_model(**resize("linear"))
    (row,), (plain,) = ir_interp.audit(model, runtimes=PROVIDERS).rows, ir_interp.audit(model).rows
    assert {name for name, title in row.titles.items() if title.endswith(", by source")} == {*BY_SOURCE}
    assert not plain.predictions.keys() & {*PROVIDERS}


AMONG = {
    "a quantised model": (
        'd = DequantizeLinear (q, s) y = Resize <mode = "linear"> (d, "", "", z)',
        "between quantisations",
    ),
    "between Transposes": (
        't = Transpose <perm = [0, 3, 1, 2]> (x) r = Resize <mode = "cubic"> (t, "", "", z)'
        " y = Transpose <perm = [0, 2, 3, 1]> (r)",
        "moves a Transpose over",
    ),
}


@pytest.mark.parametrize("name", AMONG)
def test_what_stands_around_a_node(name: str, tmp_path: Path) -> None:
    nodes, reason = AMONG[name]
    constants = "<float s = {0.5}, int64[4] z = {1, 2, 3, 4}>"
    graph = f"g (uint8[1,2,5,6] q, float[1,5,6,2] x) => (float[a,b,c,d] y) {constants} {{ {nodes} }}"
    (row,) = ir_interp.audit(save_model(tmp_path / "a.onnx", graph), runtimes=[*BY_SOURCE]).rows
    for verdict in row.predictions.values():
        assert verdict.kind.value == "unknown"
        assert reason in verdict.reason
