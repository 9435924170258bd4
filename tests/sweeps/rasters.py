"""Random GeoTIFFs resized without a library's name, against GDAL's average, mode, near, bilinear and cubic.

python -m tests.sweeps.rasters --cases 60 --seed 1

A raster has any type, one to three bands, a geotransform that may be rotated, and a nodata value, a mask, a palette, or
none of them; sizes are random. GDAL warps it onto the grid of the result. A table counts, by kernel, the outputs that
are equal, and those whose difference is explained; the exit code is 1 if one is not:

- halves: GDAL computes in floats and rounds halves up; integers differ by 1, floats in their last places
- nodata: GDAL moves a value that equals nodata by 1
- ties: another value covers as much of the output
- parts: GDAL's mode counts a partly covered pixel as a whole one
- border: GDAL's cubic becomes bilinear where its four pixels leave the image, or an output of near lies at the border
  of two pixels
- ratio: GDAL widens a kernel by an integer that is within 0.05 of the ratio of the sizes
- missing: GDAL leaves an output of bilinear and cubic missing if its centre falls on a missing pixel, and sums fewer
  pixels beside missing ones

Of each raster and kernel, 40 random differences are explained.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from numpy.typing import NDArray
from rasterio.enums import Resampling
from rasterio.warp import reproject

from ir_interp.cli.main import main as run

Array = NDArray[Any]
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64")
KERNELS = {
    "area": Resampling.average,
    "mode": Resampling.mode,
    "nearest": Resampling.nearest,
    "linear": Resampling.bilinear,
    "cubic": Resampling.cubic,
}
KINDS = ("plain", "plain", "nodata", "mask", "palette")
NODATA = 3
_NEAR = 0.05  # an integer, by which GDAL then widens a kernel
MOST = 40  # differences that are explained


def drawn(folder: Path, rng: np.random.Generator) -> tuple[Path, str]:
    """Write a random raster; return its path and its kind."""
    kind, path = str(rng.choice(KINDS)), folder / "in.tif"
    dtype = "uint8" if kind == "palette" else str(rng.choice(TYPES))
    bands = 1 if kind == "palette" else int(rng.integers(1, 4))
    rows, columns = (int(size) for size in rng.integers(20, 90, 2))
    largest = 12 if rng.random() < 0.5 or dtype in ("int8", "uint8") else 10_000
    x = rng.integers(0, largest, (bands, rows, columns)).astype(dtype)
    turn = float(rng.choice([0, 0, 0.3]))
    transform = rasterio.Affine(10, turn * 10, 5e5, turn * 10, -10, 4.6e6)
    profile: dict[str, Any] = {"driver": "GTiff", "count": bands, "height": rows, "width": columns, "dtype": dtype}
    profile |= {"crs": "EPSG:32633", "transform": transform, "nodata": NODATA if kind == "nodata" else None}
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True), rasterio.open(path, "w", **profile) as file:
        file.write(x)
        if kind == "mask":
            file.write_mask(rng.random((rows, columns)) < 0.8)
        if kind == "palette":
            file.write_colormap(1, {index: (20 * index, 7, 9, 255) for index in range(12)})
    return path, kind


def of_gdal(path: Path, result: Any, resampling: Resampling) -> tuple[Array, Array]:
    """Return what GDAL makes of a raster on the grid of another one, and where it is there."""
    with rasterio.open(path) as source:
        x, there = source.read(), source.read_masks(1) != 0
        transform, nodata = source.transform, source.nodata
    shape = (len(x), result.height, result.width)
    filled = NODATA if nodata is None and not there.all() else nodata
    if nodata is None and not there.all():
        filled = 101 if x.dtype.itemsize == 1 else 12_345  # a value that no pixel has
        x = np.where(there, x, np.array(filled, x.dtype))
    y = np.zeros(shape, x.dtype)
    known = {} if filled is None else {"src_nodata": filled, "dst_nodata": filled}
    for band, target in zip(x, y, strict=True):  # of several at once, GDAL takes a pixel for missing if it is in all
        reproject(
            band, target, src_transform=transform, dst_transform=result.transform, src_crs=source.crs,
            dst_crs=source.crs, resampling=resampling, **known, tolerance=0,
        )  # fmt: skip
    return y, np.ones(shape, bool) if filled is None else y != filled


def explained(
    kernel: str, x: Array, there: Array, ours: Array, theirs: Array, at: tuple[int, ...], sizes: tuple[int, int]
) -> str:
    """Return why an output of GDAL's differs; an empty text if that is unknown. ``x`` is a band."""
    edges = [(i * size / out, (i + 1) * size / out) for i, size, out in zip(at[1:], x.shape, sizes, strict=True)]
    spread = [2 * max(1.0, size / out) for size, out in zip(x.shape, sizes, strict=True)]
    window = tuple(
        slice(max(0, int(np.floor(low - reach))), int(np.ceil(high + reach)))
        for (low, high), reach in zip(edges, spread, strict=True)
    )
    apart = abs(float(ours[at]) - float(theirs[at]))
    if kernel == "nearest":
        centres = [(low + high) / 2 for low, high in edges]
        return "border" if any(abs(centre - round(centre)) < 1e-6 for centre in centres) else ""
    if kernel == "mode":
        covers = [
            np.maximum(0, np.minimum(np.arange(size) + 1, high) - np.maximum(np.arange(size), low))
            for size, (low, high) in zip(x.shape, edges, strict=True)
        ]
        weights = np.outer(*covers) * there
        shares = [weights[x == value].sum() for value in (ours[at], theirs[at])]
        if abs(shares[0] - shares[1]) < 1e-6 * weights.sum() + 1e-9:
            return "ties"
        wholes = [(weights[x == value] > 0).sum() for value in (ours[at], theirs[at])]
        return "parts" if shares[0] > shares[1] and wholes[0] <= wholes[1] else ""
    if x.dtype.kind == "f" and apart <= 1e-5 * max(1.0, float(np.abs(x[window]).max())):
        return "halves"
    if x.dtype.kind != "f" and apart <= 1:
        return "halves"
    if x.dtype.kind != "f" and apart <= 2 and abs(float(theirs[at]) - NODATA) == 1 and not there.all():
        return "nodata"
    if not there[window].all():
        return "missing"
    ratios = [size / out for size, out in zip(x.shape, sizes, strict=True)]
    if any(0 < abs(ratio - round(ratio)) < _NEAR and ratio > 1 for ratio in ratios):
        return "ratio"
    centres = [(low + high) / 2 - 0.5 for low, high in edges]
    reaches = [2 * max(1.0, size / out) for size, out in zip(x.shape, sizes, strict=True)]
    beyond = [
        np.floor(centre) - reach + 1 < 0 or np.floor(centre) + reach > size - 1
        for centre, reach, size in zip(centres, reaches, x.shape, strict=True)
    ]
    return "border" if kernel == "cubic" and any(beyond) else ""


def compared(path: Path, kernel: str, sizes: tuple[int, int], counts: Counter[str], rng: np.random.Generator) -> None:
    """Count the outputs of a resize by what their difference from GDAL's is."""
    made = path.with_name("out.tif")
    made.unlink(missing_ok=True)
    command = ["run", str(path), "--kernel", kernel, "--size", ",".join(map(str, sizes)), "--output", str(made), "-q"]
    with redirect_stdout(StringIO()):
        assert run(command) == 0, command
    with rasterio.open(made) as result:
        ours, there = result.read(), np.broadcast_to(result.read_masks(1) != 0, (result.count, *sizes))
        if result.nodata is not None:
            there = ours != result.nodata
        theirs, is_theirs = of_gdal(path, result, KERNELS[kernel])
    counts["outputs"] += ours.size
    counts["missing or nodata"] += int((there != is_theirs).sum())
    both = there & is_theirs
    counts["equal"] += int((both & (ours == theirs)).sum() + (~there & ~is_theirs).sum())
    with rasterio.open(path) as file:
        x, is_valid = file.read(), file.read_masks() != 0
    differing = np.argwhere(both & (ours != theirs))
    counts["differing"] += len(differing)
    for place in rng.permutation(differing)[:MOST]:
        at = tuple(place.tolist())
        reason = explained(kernel, x[at[0]], is_valid[at[0]], ours, theirs, at, sizes)
        counts[reason or "UNEXPLAINED"] += 1


def main() -> int:
    """Print a line for each kernel; return 1 where a difference has no explanation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    counts: dict[str, Counter[str]] = {kernel: Counter() for kernel in KERNELS}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(given.cases):
            path, kind = drawn(Path(folder), rng)
            with rasterio.open(path) as file:
                sizes = (int(file.height * rng.uniform(0.1, 1.5)) + 1, int(file.width * rng.uniform(0.1, 1.5)) + 1)
            for kernel, counted in counts.items():
                if kind != "palette" or kernel in ("nearest", "mode"):
                    counted["rasters"] += 1
                    compared(path, kernel, sizes, counted, rng)
    for kernel, counted in counts.items():
        print(f"{kernel}: {', '.join(f'{count} {name}' for name, count in counted.items())}")
    return int(any(counted["UNEXPLAINED"] for counted in counts.values()))


if __name__ == "__main__":
    raise SystemExit(main())
