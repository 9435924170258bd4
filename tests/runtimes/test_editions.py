"""Runtimes by release: what the earlier ones made of a node (``tests.sweeps.editions`` runs it in them)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest

import ir_interp
from tests.support.commands import completed
from tests.support.runtimes import onnx_model

SHAPE = (1, 2, 8, 9)
LINEAR = {"mode": "linear"}
TENSORRT_10 = tuple(f"tensorrt:10.{minor}" for minor in (1, 6, 11, 15))
ROWS: list[tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = [
    # attributes, target, and what releases make of it; all others compute it
    (LINEAR, {"sizes": (1, 2, 5, 6)}, {}),
    (
        LINEAR | {"axes": [-2, -1]},
        {"sizes": (5, 6)},
        {
            **dict.fromkeys(("onnxruntime:1.16", "onnxruntime:1.20", "onnxruntime:1.26"), "crashes: it uses negative"),
            **dict.fromkeys(("tensorrt:8.2", "tensorrt:8.6", "tensorrt:9.2"), "refused: the importer ignores axes"),
            "openvino:2024.6": "refused: the frontend ignores axes",
            **dict.fromkeys(
                ("openvino:2025.4", "openvino:2026.4"), "refused: the frontend does not support negative axes"
            ),
        },
    ),
    (
        {"mode": "cubic"},
        {"scales": (1, 2, 2, 1)},
        {
            **dict.fromkeys(("onnxruntime:1.16", "onnxruntime:1.20"), "refused: no cubic Resize of axes [1, 2]"),
            "tensorrt:8.2": "refused: the importer does not support cubic",
            "openvino:2024.6": "refused: the plugin resizes spatial dimensions only",
            **dict.fromkeys(("openvino:2025.4", "openvino:2026.4"), "crashes: a cubic Interpolate of axes [1, 2]"),
            **dict.fromkeys(
                ("tensorrt:8.6", "tensorrt:9.2", *(f"tensorrt:10.{minor}" for minor in (1, 6, 11, 15))),
                "refused: CUBIC",
            ),
        },
    ),
    (
        LINEAR | {"antialias": 1},
        {"sizes": (1, 2, 4, 6)},
        {
            **dict.fromkeys(("tensorrt:8.2", "tensorrt:8.6", "tensorrt:9.2"), "differs: antialias dropped"),
            **dict.fromkeys(("openvino:2024.6", "openvino:2025.4", "openvino:2026.4"), "differs: antialias dropped"),
            **dict.fromkeys(TENSORRT_10, "refused: the importer does not support"),
        },
    ),
]
NAMED = [name for name in completed("audit", "--runtime") if ":" in name]
FRONTENDS = {"openvino:2024.6", "openvino:2025.4", "openvino:2026.4"}
"""The releases whose frontend for ONNX was run; of others, layers are known."""
RELEASED = [name for name in NAMED if name in FRONTENDS or not name.startswith("openvino:")]


@pytest.mark.parametrize(("attributes", "target", "told"), ROWS, ids=str)
def test_releases(attributes: dict[str, Any], target: dict[str, Any], told: dict[str, str]) -> None:
    model = onnx_model("Resize", 19, SHAPE, "float32", attributes, **target)
    (row,) = ir_interp.audit(model, runtimes=RELEASED).rows
    found = {name: f"{verdict.kind.value}: {verdict.reason}" for name, verdict in row.predictions.items()}
    assert {name for name, text in found.items() if not text.startswith("same")} == set(told)
    assert all(found[name].startswith(text) for name, text in told.items())


@pytest.mark.parametrize(("release", "kind"), [("1.26", "differs"), ("1.31", "same")])
def test_halves_that_float32_falls_short_of(release: str, kind: str) -> None:
    """Of 26 pixels to 16, output 4 lies on 6.5; float32 finds 6.4999995, which a tolerance takes for a half."""
    attributes = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "round_prefer_ceil",
    }
    model = onnx_model("Resize", 18, (33, 26), "float32", attributes, sizes=(33, 16))
    (row,) = ir_interp.audit(model, runtimes=[f"onnxruntime:{release}"]).rows
    assert row.predictions[f"onnxruntime:{release}"].kind.value == kind


CROP = {"coordinate_transformation_mode": "tf_crop_and_resize", "antialias": 1}
FROM_1_27 = ("onnxruntime:1.30",)


@pytest.mark.parametrize(
    ("roi", "more", "refused"),
    [
        ((0, 0, 0, 0, 1, 1, 1.2, 1), {}, True),  # the last output of height lies at 8.4, of 8 pixels
        ((0, 0, 0, 0, 1, 1, 1.2, 1), {"exclude_outside": 1}, False),
        ((0, 0, -0.1, 0, 1, 1, 1, 1), {}, False),  # before the first pixel nothing is refused
    ],
)
def test_what_lies_behind_the_last_pixel(roi: tuple[float, ...], more: dict[str, int], refused: bool) -> None:
    attributes = LINEAR | CROP | more
    model = onnx_model("Resize", 18, SHAPE, "float32", attributes, sizes=(1, 2, 10, 9), roi=roi)
    (row,) = ir_interp.audit(model, runtimes=[name for name in RELEASED if name.startswith("onnxruntime")]).rows
    found = {name for name, each in row.predictions.items() if each.kind.value == "refused"}
    assert found == ({*FROM_1_27} if refused else set())


def test_windows_of_other_axes() -> None:
    """An antialiased cubic crop in 1.16: what it takes of the height is the window of the channels, here all."""
    roi = (0, 0, 0.1, 0.2, 1, 1, 0.7, 0.8)
    model = onnx_model("Resize", 18, SHAPE, "float32", CROP | {"mode": "cubic"}, sizes=(1, 2, 5, 6), roi=roi)
    (row,) = ir_interp.audit(model, runtimes=["onnxruntime:1.16", "onnxruntime:1.20"]).rows
    assert row.predictions["onnxruntime:1.20"].kind.value == "same"
    assert "uses the windows of axes 1 and 2 for height and width" in row.predictions["onnxruntime:1.16"].reason


def test_a_release_as_a_target(tmp_path: Path) -> None:
    """What TensorRT 8.6 drops without a word is written so that it needs not be known."""
    model = onnx_model("Resize", 19, SHAPE, "float32", LINEAR | {"antialias": 1}, sizes=(1, 2, 4, 6))
    onnx.save(model, tmp_path / "a.onnx")
    (row,) = ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.onnx", target="tensorrt:8.6", verify=False).rows
    assert row.form == "Resize-19 -> weighted sums along axes 2, 3"
    assert "antialias dropped" in row.note


@pytest.mark.parametrize("opset", [11, 12, 13])
def test_empty_scales_in_tensorrt(opset: int, tmp_path: Path) -> None:
    """TensorRT 10.11 fails on the empty scales that stand beside sizes before operator set 13; scales stand alone."""
    model = onnx_model("Resize", opset, SHAPE, "float32", LINEAR, sizes=(1, 2, 8, 9))
    (row,) = ir_interp.audit(model, runtimes=["tensorrt:10.11", "tensorrt:10.6"]).rows
    kinds = {name: verdict.kind.value for name, verdict in row.predictions.items()}
    assert kinds == {"tensorrt:10.11": "same" if opset > 12 else "refused", "tensorrt:10.6": "same"}
    onnx.save(model, tmp_path / "a.onnx")
    (written,) = ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.onnx", target="tensorrt:10.11", verify=False).rows
    assert ("without sizes" in written.form) == (opset < 13)


def test_the_page_has_them_all() -> None:
    page = (Path(__file__).parents[2] / "docs" / "runtimes.md").read_text()
    assert [name for name in NAMED if f"| `{name}` |" not in page] == []
