"""A real model behind ``preprocess`` equals the same model behind the library, bit for bit in onnxruntime."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support.places import SAMPLES
from tests.sweeps.photos import CALLS, MODELS, compared, photos

CLASSIFIER = MODELS["PP-OCR classifier"]


@pytest.mark.skipif(CLASSIFIER.path is None, reason="rapidocr_onnxruntime is not installed (the extra 'models')")
def test_a_classifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "photo.png"
    monkeypatch.setattr(sys, "argv", ["exports.py", "photo", str(path)])
    runpy.run_path(str(SAMPLES / "exports.py"), run_name="__main__")
    x = np.asarray(Image.open(path).convert("RGB"))
    for call in ("pillow:BICUBIC", "pillow:LANCZOS"):
        found = dict(compared(CLASSIFIER, call, x, as_ir=False))
        assert found
        assert not any(found.values()), found


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_models_on_photos(name: str) -> None:
    every = photos(None)
    if not every or MODELS[name].path is None or importlib.util.find_spec("cv2") is None:
        pytest.skip("scikit-image, OpenCV or the model's package is not installed")
    x = next(iter(every.values()))
    for call in CALLS:
        found = dict(compared(MODELS[name], call, x, as_ir=False))
        assert not any(found.values()), (call, found)
