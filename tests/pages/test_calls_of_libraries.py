"""The table of docs/libraries.md: every call of a library, as the page writes it, and what is typed here instead."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp

PAGE = Path(__file__).resolve().parents[2] / "docs/libraries.md"
_CODE = re.compile(r"`([^`]+)`")
_MODULES = {  # the packages that a call names, and what pip installs
    "image.": ("PIL.Image", "Image", "pillow"),
    "cv2.": ("cv2", "cv2", "opencv-python-headless"),
    "torch.": ("torch", "torch", "torch"),
    "skimage.": ("skimage.transform", "skimage", "scikit-image"),
    "scipy.": ("scipy.ndimage", "scipy", "scipy"),
    "jax.": ("jax", "jax", "jax"),
    "tf.": ("tensorflow", "tf", "tensorflow"),
}


def _rows() -> list[tuple[str, list[str]]]:
    """Return the library's call, and the calls and words beside it, of each row of the table."""
    table = PAGE.read_text().partition("| elsewhere | here |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    return [(_CODE.findall(there)[0], _CODE.findall(here)) for there, here in cells]


ROWS = _rows()


def _arrays(there: str, names: dict[str, Any], height: int, width: int, dtype: str) -> None:
    """Add a random image in the container of a library to the names of a call."""
    x = np.random.default_rng(height).integers(0, 256, (height, width, 3)).astype(dtype)
    x = x / np.float32(255) if dtype != "uint8" else x
    if there.startswith("image."):
        names["image"] = names["Image"].fromarray(x)
    elif there.startswith("torch."):
        names["x"] = names["torch"].from_numpy(np.moveaxis(x, -1, 0)[None].copy())
    elif there.startswith("tf."):
        names["x"] = x[None]
    elif there.startswith(("skimage.", "scipy.", "jax.")):
        names["x"] = x[..., 0].copy()
    else:
        names["x"] = x


def test_the_table_is_read() -> None:
    assert len(ROWS) == len(_MODULES)
    assert {prefix for prefix in _MODULES for there, _ in ROWS if there.startswith(prefix)} == set(_MODULES)


@pytest.mark.parametrize(("there", "here"), ROWS, ids=[there for there, _ in ROWS])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(("height", "width"), [(48, 64), (47, 63)])
def test_a_call_is_what_the_page_says(there: str, here: list[str], dtype: str, height: int, width: int) -> None:
    module, name, package = next(row for prefix, row in _MODULES.items() if there.startswith(prefix))
    is_of_floats = package in ("scikit-image", "jax", "tensorflow")
    if (dtype == "uint8" and is_of_floats) or (dtype == "float32" and package == "pillow"):
        pytest.skip("the page names floats here, or an image")
    loaded = pytest.importorskip(module, reason=f"pip install {package}")
    root = loaded if name in (module, "Image", "tf") else importlib.import_module(module.partition(".")[0])
    h, w = (24, 32) if "zoom" in there and height == 48 else (round(height / 2), round(width / 2))
    names: dict[str, Any] = {name: root, "h": h, "w": w, "resize": ir_interp.resize}
    _arrays(there, names, height, width, dtype)
    theirs = np.asarray(eval(there, names))
    for code in here:
        is_word = code.startswith('"')
        ours = ir_interp.resize(names["image"], (h, w), code.strip('"')) if is_word else eval(code, names)
        assert np.shape(ours) == theirs.shape
        if dtype == "uint8":
            np.testing.assert_array_equal(np.asarray(ours), theirs)
        else:
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=0, atol=1e-5)


def test_zoom_is_linear_between_the_corners() -> None:
    """SciPy's formula for order 1 and mode nearest, without the package: positions i * (in - 1) / (out - 1)."""
    x = np.random.default_rng(0).random((47, 64))
    expected = x
    for axis, (size, out) in enumerate(zip((47, 64), (24, 32), strict=True)):  # 23.5 is rounded half to even
        at = np.arange(out) * ((size - 1) / (out - 1))
        lines = np.moveaxis(expected, axis, -1)
        between = np.stack([np.interp(at, np.arange(size), line) for line in lines])
        expected = np.moveaxis(between, -1, axis)
    np.testing.assert_allclose(ir_interp.resize(x, scales=0.5, like="scipy"), expected, rtol=0, atol=1e-12)
