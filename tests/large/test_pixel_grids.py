"""Positions of new pixels: rasters that hold their own coordinates, by every call of every library, in every container.

The expected grids are formulas: a call that samples the whole image keeps its bounds, aligned corners keep the centres
of the corner pixels, and TensorFlow's version 1 interpolates at i * step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
import zarr

import ir_interp
from ir_interp import IrInterpError, Nearest, ResizeSpec
from ir_interp.cli.main import main
from ir_interp.libraries import get, load, names

HEIGHT, WIDTH = 30, 60
SIZES = ((60, 120), (90, 180), (15, 30), (10, 20), (6, 12), (21, 37), (47, 101))
ORIGIN, PIXEL = (4.6e6, 5e5), (-10.0, 20.0)  # of the rows and the columns of the map
INDICES = np.stack(np.meshgrid(np.arange(HEIGHT), np.arange(WIDTH), indexing="ij")).astype(np.float32)


def _calls() -> Iterator[str]:
    """Yield every call of every library that takes float32 images, in the syntax of the command line."""
    for name in names():
        library = get(name)
        version = library.version()
        fixed = {"mode": ("F",)} if name == "pillow" else {}
        choices = {key: fixed.get(key, values) for key, values in library.dialect.choices(version).items()}
        for values in itertools.product(*choices.values()):
            written = ",".join(f"{key}={_text(value)}" for key, value in zip(choices, values, strict=True))
            try:
                spec = load(f"{name}:{written}", dtype="float32").spec
            except IrInterpError:
                continue
            if len(spec.axes or ()) == 2:
                yield f"{name}:{written}"
    yield "pillow:bicubic,mode=F,reducing_gap=1.5"
    yield "pillow:box,mode=F,reducing_gap=2"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


CALLS = list(_calls())
WORDS = {call.partition(",")[0]: call for call in reversed(CALLS)}
"""A call for each word: a filter, interpolation, mode or order."""


def _grid(call: str, size: int, out: int) -> tuple[float, float]:
    """Return the centre of the first output pixel and the distance of the centres, in input pixels."""
    is_copy = "nearest" in call.lower()
    is_area = "method=area" in call
    if "align_corners=true" in call or "grid_mode=false" in call:
        step = (size - 1) / (out - 1)
        return (step - 1) / 2 if is_area else 0.0, step  # areas begin at i * step
    step = size / out
    if "half_pixel_centers=false" in call and not is_copy and not is_area:
        return 0.0, step
    return step / 2 - 0.5, step


def _furthest(call: str, spec: ResizeSpec, step: float) -> float:
    """Return how far a sampled position may lie from the centre of its pixel, in input pixels."""
    if isinstance(spec.kernel, Nearest):
        of_beginnings = ("INTER_NEAREST,", "mode=nearest,", "interpolation=nearest,", "half_pixel_centers=false")
        has_centres = not any(word in call for word in of_beginnings)
        # The pixel at a centre is half a pixel away at most; the pixel at the beginning of a part also half the part.
        return 0.5 if has_centres or "align_corners=true" in call else (step + 1) / 2
    is_of_pillow = call.startswith("pillow") or "backend=pil" in call
    if any(word in call.lower() for word in ("linear", "order=1")) and "antialias=true" not in call:
        return 1e-3 if step < 1 or not (is_of_pillow or "antialias=default" in call) else 0.1
    return 0.5 if "box" in call.lower() else 0.35  # kernels that do not reproduce a ramp, and areas of a few pixels


def _resized(call: str, x: Any, sizes: tuple[int, int]) -> Any:
    return ir_interp.resize(x, like=call, sizes=sizes, axes=("y", "x"))


def _scene() -> xarray.DataArray:
    """Return a map whose pixels are their own rows and columns."""
    transform = f"{ORIGIN[1]} {PIXEL[1]} 0.0 {ORIGIN[0]} 0.0 {PIXEL[0]}"
    places = {
        name: (name, origin + pixel * (np.arange(size) + 0.5))
        for name, origin, pixel, size in zip("yx", ORIGIN, PIXEL, (HEIGHT, WIDTH), strict=True)
    }
    spatial = xarray.DataArray(0, attrs={"GeoTransform": transform})
    return xarray.DataArray(INDICES, dims=("band", "y", "x"), coords={**places, "spatial_ref": spatial})


@pytest.mark.sampled(24)
@pytest.mark.parametrize("call", CALLS)
def test_a_labelled_map_holds_its_coordinates(call: str) -> None:
    scene, spec = _scene(), load(call, dtype="float32").spec
    for sizes in SIZES:
        small = _resized(call, scene, sizes)
        west, across, _, north, _, down = map(float, small.spatial_ref.attrs["GeoTransform"].split())
        transform = {"y": (north, down), "x": (west, across)}
        rows = zip("yx", ORIGIN, PIXEL, (HEIGHT, WIDTH), sizes, strict=True)
        for number, (name, origin, pixel, size, out) in enumerate(rows):
            first, step = _grid(call, size, out)
            centres = first + step * np.arange(out)
            np.testing.assert_allclose(small[name], origin + pixel * (centres + 0.5), rtol=0, atol=1e-6)
            start, distance = transform[name]
            np.testing.assert_allclose(start + distance * (np.arange(out) + 0.5), small[name], rtol=0, atol=1e-6)
            within = slice(out // 4, -(out // 4))  # at the borders, kernels lack pixels
            sampled = small.values[number].mean(axis=1 - number)
            apart = np.abs(sampled - centres)[within].max()
            assert apart <= _furthest(call, spec, step) + 1e-4, (sizes, name)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("factor", [2, 3, 0.5, 0.2])
def test_a_geotiff_has_the_same_grid(word: str, factor: float, tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    transform = rasterio.Affine(PIXEL[1], 0, ORIGIN[1], 0, PIXEL[0], ORIGIN[0])
    with rasterio.open(
        tmp_path / "in.tif", "w", driver="GTiff", width=WIDTH, height=HEIGHT, count=2, dtype="float32",
        crs="EPSG:32633", transform=transform,
    ) as file:  # fmt: skip
        file.write(INDICES)
    sizes = [round(size * factor) for size in (HEIGHT, WIDTH)]
    line = ["run", str(tmp_path / "in.tif"), "--like", WORDS[word], "--sizes", ",".join(map(str, sizes)), "--quiet"]
    assert main([*line, "--output", str(tmp_path / "out.tif")]) == 0
    small = _resized(WORDS[word], _scene(), (sizes[0], sizes[1]))
    with rasterio.open(tmp_path / "out.tif") as file:
        np.testing.assert_array_equal(file.read(), small.values)
        xs, _ = rasterio.transform.xy(file.transform, [0] * sizes[1], range(sizes[1]))
        _, ys = rasterio.transform.xy(file.transform, range(sizes[0]), [0] * sizes[0])
    np.testing.assert_allclose(xs, small.x, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ys, small.y, rtol=0, atol=1e-6)


@pytest.mark.sampled(15)
@pytest.mark.parametrize("word", [word for word in WORDS if not word.startswith(("skimage", "pillow:resample=bic"))])
@pytest.mark.parametrize("factor", [2, 3, 5])
def test_a_pyramid_has_the_same_grid(word: str, factor: int, tmp_path: Path) -> None:
    call = WORDS[word].removesuffix(",reducing_gap=1.5").removesuffix(",reducing_gap=2")
    zarr.create_array(tmp_path / "in.zarr", data=INDICES, chunks=(1, 30, 30), dimension_names=("c", "y", "x"))
    line = ["run", str(tmp_path / "in.zarr"), "--like", call, "--scales", repr(1 / factor), "--dims", "y,x"]
    assert main([*line, "--levels", "1", "--output", str(tmp_path / "out.zarr"), "--quiet"]) == 0
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    ome: Any = group.attrs["ome"]
    scale, translation = ome["multiscales"][0]["datasets"][1]["coordinateTransformations"]
    shape = zarr.open_array(tmp_path / "out.zarr" / "1", mode="r").shape
    small = _resized(call, _scene(), (shape[1], shape[2]))
    for axis, name, origin, pixel in ((1, "y", ORIGIN[0], PIXEL[0]), (2, "x", ORIGIN[1], PIXEL[1])):
        centres = translation["translation"][axis] + scale["scale"][axis] * np.arange(shape[axis])
        np.testing.assert_allclose(origin + pixel * (centres + 0.5), small[name], rtol=0, atol=1e-6)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("like", ["pillow:nearest,mode=F", "opencv:nearest", "torch:nearest", "jax:nearest"])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_mask_lies_on_its_image(like: str, sizes: tuple[int, int]) -> None:
    scene = _scene()
    image, mask = _resized("torch:bilinear", scene, sizes), _resized(like, scene, sizes)
    xarray.testing.assert_equal(image.coords.to_dataset(), mask.coords.to_dataset())
    assert image.spatial_ref.attrs == mask.spatial_ref.attrs


def test_an_output_of_one_pixel_has_a_size() -> None:
    """Aligned corners have no step there."""
    small = _resized("torch:bilinear,align_corners=true", _scene(), (1, 1))
    assert small.spatial_ref.attrs["GeoTransform"] == "499410.0 1200.0 0.0 4600145.0 0.0 -300.0"
    assert (float(small.y[0]), float(small.x[0])) == (4599995.0, 500010.0)
