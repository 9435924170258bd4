"""Write docs/mask.svg, the picture of README.md: ``python docs/make_mask.py``.

A mask of roads two pixels wide shrinks to a quarter: as PyTorch does, and as OpenVINO's own ONNX frontend converts the
exported model. `tests/test_mask_picture.py` runs both.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp import Antialias, Coordinates, Cubic, ResizeSpec, Sizes, resize

PATH = Path(__file__).with_name("mask.svg")
HEIGHT, WIDTH = 60, 80
_LEVELS = 6  # of grey: few, so that a row has few runs and the file stays small
_PIXEL, _GAP, _CAPTION = 5, 12, 26  # in units of the picture


def roads() -> np.ndarray[Any, Any]:
    """Return the mask, 240x320 float32: 1 on four roads that are two pixels wide, 0 elsewhere."""
    y, x = np.mgrid[: 4 * HEIGHT, : 4 * WIDTH]
    distances = (
        y - 120 - 50 * np.sin(x / 40),
        x - 90 - 30 * np.sin(y / 35),
        (x - 0.9 * y - 110) / 1.35,
        np.hypot(x - 230, y - 150) - 55,
    )
    return np.any([np.abs(distance) < 1 for distance in distances], axis=0).astype(np.float32)


def as_trained() -> np.ndarray[Any, Any]:
    """Return the mask as 60x80, by PyTorch's antialiased bicubic."""
    return _shrunk(Cubic(a=-0.5, antialias=Antialias.SHRINKING, exclude_outside=True))


def as_converted_by_ovc() -> np.ndarray[Any, Any]:
    """Return the mask as 60x80, as OpenVINO's frontend converts the exported model: by a plain bicubic."""
    return _shrunk(Cubic(a=-0.5))


def _shrunk(kernel: Cubic) -> np.ndarray[Any, Any]:
    spec = ResizeSpec(kernel=kernel, axes=(0, 1), target=Sizes((HEIGHT, WIDTH)), coordinates=Coordinates.HALF_PIXEL)
    return resize(roads(), spec)


def text() -> str:
    """Return the picture as SVG."""
    width = 2 * WIDTH * _PIXEL + 3 * _GAP
    height = HEIGHT * _PIXEL + 2 * _GAP + _CAPTION
    panels = (
        _panel(as_trained(), _GAP, "the trained model, and ir-interp's conversion"),
        _panel(as_converted_by_ovc(), 2 * _GAP + WIDTH * _PIXEL, "ovc's conversion: antialiasing dropped, no warning"),
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        "<title>A mask of roads, shrunk by two conversions of one model</title>\n"
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{"".join(panels)}</svg>\n'
    )


def _panel(mask: np.ndarray[Any, Any], left: int, caption: str) -> str:
    levels = np.rint(np.clip(mask, 0, 1) * _LEVELS).astype(int)
    greys = "".join(_runs(levels, level) for level in range(1, _LEVELS + 1))
    middle = left + WIDTH * _PIXEL // 2
    return (
        f'<g transform="translate({left} {_GAP}) scale({_PIXEL})" stroke-width="1" shape-rendering="crispEdges">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}"/>\n{greys}</g>\n'
        f'<text x="{middle}" y="{HEIGHT * _PIXEL + 2 * _GAP + 8}" text-anchor="middle" '
        f'font-family="sans-serif" font-size="15">{caption}</text>\n'
    )


def _runs(levels: np.ndarray[Any, Any], level: int) -> str:
    """Return the pixels of one level as a path: a horizontal stroke for each run of them."""
    strokes = []
    for y, row in enumerate(levels == level):
        x = 0
        for is_set, run in groupby(row):
            length = len(list(run))
            if is_set:
                strokes.append(f"M{x} {y}.5h{length}")
            x += length
    grey = round(255 * level / _LEVELS)
    return f'<path stroke="#{grey:02x}{grey:02x}{grey:02x}" d="{"".join(strokes)}"/>\n'


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"wrote {PATH.name}")
