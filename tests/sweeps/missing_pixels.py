"""Rasters with missing pixels, resized here and by GDAL's warper through rasterio (which this command needs).

``python -m tests.sweeps.missing_pixels --cases 200 --seed 1``. Means are those of ``average``, triangles those of
``bilinear``. What GDAL does otherwise is known, and left out of what is compared: of ``bilinear`` it leaves every
output missing that falls on a missing pixel, and it takes a ratio within 0.05 of a whole number for that number.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import Antialias, Area, Coordinates, Linear, Nearest, ResizeSpec, Rounding, resize

Array = NDArray[Any]
_NODATA = {"float32": -9999.0, "int16": -9999, "uint8": 255, "float64": float("nan")}
_SPECS = {
    "average": ResizeSpec(kernel=Area(), coordinates=Coordinates.ASYMMETRIC, axes=(0, 1)),
    "bilinear": ResizeSpec(kernel=Linear(antialias=Antialias.SHRINKING, exclude_outside=True), axes=(0, 1)),
}
_FALLS_ON = ResizeSpec(
    kernel=Nearest(rounding=Rounding.FLOOR), coordinates=Coordinates.TF_HALF_PIXEL_FOR_NN, axes=(0, 1)
)
_SNAPPED = 0.0501  # 0.05 in gdalwarpkernel.cpp, of how the kernel is widened: not of where it lies
_TOLERANCE = 1e-6  # of the largest value: a float32 of GDAL's sums in float64


def _raster(rng: np.random.Generator, dtype: str, height: int, width: int) -> Array:
    values = (rng.random((height, width)) * 200).astype(dtype)
    values[rng.random((height, width)) < rng.choice([0.0, 0.1, 0.5])] = _NODATA[dtype]
    top, left = int(rng.integers(height)), int(rng.integers(width))
    values[top : top + height // 3, left : left + width // 3] = _NODATA[dtype]
    return values


def _warped(x: Array, sizes: tuple[int, int], method: str, nodata: float) -> Array:
    from rasterio.transform import from_origin
    from rasterio.warp import Resampling, reproject

    y = np.full(sizes, nodata, x.dtype)
    steps = (x.shape[1] / sizes[1], x.shape[0] / sizes[0])
    reproject(
        x,
        y,
        src_transform=from_origin(500000, 4000000, 1, 1),
        dst_transform=from_origin(500000, 4000000, *steps),
        src_crs="EPSG:32633",
        dst_crs="EPSG:32633",
        resampling=Resampling[method],
        src_nodata=nodata,
        dst_nodata=nodata,
        tolerance=0,
    )
    return y


def _is_missing(x: Array, nodata: float) -> Array:
    return np.isnan(x) if np.isnan(nodata) else x == nodata


def _compare(x: Array, sizes: tuple[int, int], method: str, nodata: float, counts: Counter[str]) -> None:
    ours, theirs = resize(x, _SPECS[method], sizes=sizes, nodata=nodata), _warped(x, sizes, method, nodata)
    missing, gone = _is_missing(ours, nodata), _is_missing(theirs, nodata)
    if method == "bilinear":
        missing = missing | (resize(_is_missing(x, nodata), _FALLS_ON, sizes=sizes))
    counts[f"{method}: values"] += ours.size
    counts[f"{method}: other pixels missing"] += int((missing != gone).sum())
    both = ~missing & ~gone
    apart = np.abs(ours[both].astype(np.float64) - theirs[both])
    step = _TOLERANCE * 200 if x.dtype.kind == "f" else 1  # GDAL rounds half up, of sums in another order
    counts[f"{method}: integers one apart"] += int((apart == 1).sum()) if x.dtype.kind != "f" else 0
    counts[f"{method}: DIFFERENT"] += int((apart > step).sum())


def _is_snapped(ratio: float) -> bool:
    return 0 < abs(ratio - round(ratio)) < _SNAPPED


def main() -> None:
    """Print how many values are equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rng, counts = np.random.default_rng(chosen.seed), Counter[str]()
    for _ in range(chosen.cases):
        height, width, tall, wide = (int(length) for length in rng.integers(2, 70, 4))
        dtype = str(rng.choice(list(_NODATA)))
        x = _raster(rng, dtype, height, width)
        methods = ["average"] * (tall <= height and wide <= width)
        if not any(out < size and _is_snapped(size / out) for out, size in ((tall, height), (wide, width))):
            methods.append("bilinear")
        for method in methods:
            _compare(x, (tall, wide), method, float(_NODATA[dtype]), counts)
    for what, count in sorted(counts.items()):
        print(f"{count:8} {what}")


if __name__ == "__main__":
    main()
