"""The resize without a library's name: every type, against formulas in fractions, NumPy, Pillow and GDAL.

Integers are the exact sums, rounded half to even, and end at the limits of their type; the expected ones are computed
in Python's fractions. ``tests/cli/test_own_resize.py`` runs the command.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import ir_interp
from ir_interp import IrInterpError

Array = NDArray[Any]
INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
SIZES = (((8, 12), (4, 3)), ((9, 10), (4, 4)), ((7, 5), (11, 13)), ((11, 13), (7, 5)), ((6, 6), (1, 6)))
resize: Any = ir_interp.resize


def limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    return (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def images(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Iterator[Array]:
    """Yield noise over the range of a type, and noise near its end, where overshoots would leave it."""
    rng, element = np.random.default_rng(seed), np.dtype(dtype)
    if element.kind == "f":
        yield (rng.random(shape) * 100).astype(element)
        return
    least, most = limits(element)
    if element.kind == "b":
        yield rng.random(shape) < 0.5
        return
    yield rng.integers(least, most, shape, dtype=element, endpoint=True)
    yield rng.integers(most - 7, most, shape, dtype=element, endpoint=True)


def kernel_at(kernel: str, distance: Fraction) -> Fraction:
    """Return the weight at a distance in units of the kernel (R. G. Keys, 1981, with a = -1/2)."""
    t = abs(distance)
    if kernel == "linear":
        return max(Fraction(0), 1 - t)
    if t <= 1:
        return Fraction(3, 2) * t**3 - Fraction(5, 2) * t**2 + 1
    return -t * t * t / 2 + Fraction(5, 2) * t * t - 4 * t + 2 if t < 2 else Fraction(0)


def weights(kernel: str, size: int, out: int, *, antialias: bool) -> list[list[Fraction]]:
    """Return the weights of each output, over the pixels of the image, with a sum of 1."""
    step, rows = Fraction(size, out), []
    for i in range(out):
        if kernel == "area":
            ends = [(max(Fraction(k), i * step), min(Fraction(k + 1), (i + 1) * step)) for k in range(size)]
            row = [max(Fraction(0), end - start) for start, end in ends]
        else:
            centre, width = (i + Fraction(1, 2)) * step - Fraction(1, 2), max(Fraction(1), step) if antialias else 1
            if kernel == "linear" and not antialias:  # a neighbour beyond the image repeats its edge
                centre = min(max(centre, Fraction(0)), Fraction(size - 1))
            row = [kernel_at(kernel, (k - centre) / width) for k in range(size)]
        total = Fraction(sum(row))
        rows.append([weight / total for weight in row])
    return rows


def expected(x: Array, kernel: str, sizes: tuple[int, int], *, antialias: bool = True) -> Array:
    rows, columns = (weights(kernel, x.shape[axis], sizes[axis], antialias=antialias) for axis in (0, 1))
    exact = np.array([[Fraction(int(value)) for value in row] for row in x], object)
    sums = np.array(rows, object) @ exact @ np.array(columns, object).T
    least, most = limits(x.dtype)
    whole = [min(max(round(value), least), most) for value in sums.flat]
    return np.array(whole, object).reshape(sizes).astype(x.dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("kernel", ["linear", "cubic", "area"])
def test_integers_are_exact_sums_rounded_half_to_even(kernel: str, dtype: str) -> None:
    for shape, sizes in SIZES:
        for x in images(dtype, shape):
            more = {} if kernel == "area" else {"antialias": True}
            y = resize(x, sizes, kernel=kernel, **more)
            assert y.dtype == x.dtype
            np.testing.assert_array_equal(y, expected(x, kernel, sizes), f"{shape} to {sizes}")
            if kernel != "area":
                y = resize(x, sizes, kernel=kernel)
                np.testing.assert_array_equal(y, expected(x, kernel, sizes, antialias=False), f"{shape} to {sizes}")


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64"])
def test_weights_of_many_digits(dtype: str) -> None:
    """Sizes without a common factor: the weights of a cubic then have more digits than a float."""
    for x in images(dtype, (1, 211)):
        y = resize(x, (1, 89), kernel="cubic", antialias=True)
        np.testing.assert_array_equal(y, expected(x, "cubic", (1, 89)))


def test_ties_of_thirds_go_to_even() -> None:
    """The means of six pixels, whose weights 1/6 no float represents."""
    x = np.array([[0, 0, 0], [1, 1, 1]]) + np.array([[[0]], [[1]], [[2]]])
    np.testing.assert_array_equal(resize(x.astype(np.uint8), (1, 1), kernel="area").ravel(), [0, 2, 2])


@pytest.mark.parametrize("dtype", INTEGERS[1:])
def test_constants_stay(dtype: str) -> None:
    for value in limits(np.dtype(dtype)):
        x = np.full((13, 17), value, dtype)
        for kernel in ("linear", "cubic", "area", "lanczos", "nearest", "mode"):
            assert (resize(x, (5, 23), kernel=kernel) == value).all(), kernel


@pytest.mark.parametrize("dtype", [*INTEGERS[1:], *FLOATS])
def test_area_by_factors_is_the_mean_of_blocks(dtype: str) -> None:
    for x in images(dtype, (12, 20)):
        exact = x.astype(object if x.dtype.kind in "iu" else np.float64).reshape(6, 2, 4, 5).sum(axis=(1, 3))
        if x.dtype.kind == "f":
            np.testing.assert_allclose(
                resize(x, (6, 4), kernel="area"), exact / 10, rtol=20 * float(np.finfo(dtype).eps)
            )
        else:
            means = [round(Fraction(int(value), 10)) for value in exact.flat]
            np.testing.assert_array_equal(resize(x, (6, 4), kernel="area").ravel(), means)


@pytest.mark.parametrize(
    ("kernel", "filter_"), [("linear", "BILINEAR"), ("cubic", "BICUBIC"), ("lanczos", "LANCZOS"), ("area", "BOX")]
)
def test_floats_and_bytes_are_those_of_pillow(kernel: str, filter_: str) -> None:
    """Pillow rounds bytes after each axis, so a value may differ by 1. Its box has whole pixels: integer factors.

    Bytes stay away from their limits, at which Pillow also cuts the sums along the first axis.
    """
    sizes = (12, 16) if kernel == "area" else (21, 29)
    more = {} if kernel == "area" else {"antialias": True}
    resample = Image.Resampling[filter_]
    for x in (next(images("float32", (48, 64))), 64 + next(images("uint8", (48, 64))) // 2):
        theirs = np.asarray(Image.fromarray(x).resize(sizes[::-1], resample))
        ours = resize(x, sizes, kernel=kernel, **more)
        apart = np.abs(ours.astype(np.float64) - theirs)
        assert apart.max() <= (1 if x.dtype == np.uint8 else 1e-4)


def test_nearest_takes_the_pixel_at_the_centre() -> None:
    for out in (1, 3, 4, 5, 8, 13):
        x = np.arange(8)
        np.testing.assert_array_equal(
            resize(x, (out,), kernel="nearest"), [(2 * i + 1) * 8 // (2 * out) for i in range(out)]
        )


def covering_most(x: Array, sizes: tuple[int, int]) -> Array:
    rows, columns = (weights("area", x.shape[axis], sizes[axis], antialias=True) for axis in (0, 1))
    y = np.empty(sizes, x.dtype)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            covers: dict[Any, Fraction] = {}
            for a, b in zip(*np.nonzero(np.outer(np.array(row, object), np.array(column, object))), strict=True):
                covers[x[a, b]] = covers.get(x[a, b], Fraction(0)) + row[a] * column[b]
            y[i, j] = min(covers, key=lambda value: (-covers[value], value))
    return y


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_mode_is_the_value_that_covers_most(dtype: str) -> None:
    classes = np.random.default_rng(1).integers(0, 4, (11, 13)).astype(dtype)
    for sizes in ((4, 5), (1, 1), (11, 6), (22, 20)):
        np.testing.assert_array_equal(resize(classes, sizes, kernel="mode"), covering_most(classes, sizes))


def test_nan_is_one_value_of_mode() -> None:
    x = np.array([[np.nan, np.nan, 1.0], [2.0, np.nan, 3.0]])
    assert np.isnan(resize(x, (1, 1), kernel="mode")).all()


@pytest.mark.parametrize("kernel", ["linear", "cubic", "area"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "int64"])
def test_missing_integers_are_means_of_the_others(kernel: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(1, 100, (9, 12)).astype(dtype)
    x[rng.random(x.shape) < 0.4] = 0
    rows, columns = (np.array(weights(kernel, size, out, antialias=True), object) for size, out in ((9, 4), (12, 5)))
    there = (x != 0).astype(object)
    sums, shares = rows @ x.astype(object) @ columns.T, rows @ there @ columns.T
    means = [
        min(max(round(value / share), limits(x.dtype)[0]), limits(x.dtype)[1]) if share >= Fraction(1, 10**6) else 0
        for value, share in zip(sums.flat, shares.flat, strict=True)
    ]
    more = {} if kernel == "area" else {"antialias": True}
    y = resize(x, (4, 5), kernel=kernel, nodata=0, **more)
    np.testing.assert_array_equal(y.ravel(), means)


def test_mode_of_the_pixels_that_are_there() -> None:
    x = np.array([[9, 9, 9, 9], [9, 5, 9, 9]])
    np.testing.assert_array_equal(resize(x, (1, 2), kernel="mode", nodata=9), [[5, 9]])
    np.testing.assert_array_equal(resize(x, (1, 2), kernel="mode", nodata=9, valid=0.5), [[9, 9]])


def test_alpha_weighs_colours() -> None:
    """colour = sum(w * alpha * colour) / sum(w * alpha), alpha = sum(w * alpha), each rounded once."""
    x = np.random.default_rng(3).integers(0, 256, (9, 12, 4), np.uint8)
    x[:4, :, 3] = 0
    rows, columns = (np.array(weights("linear", size, out, antialias=True), object) for size, out in ((9, 4), (12, 5)))
    alpha = x[..., 3].astype(object)
    y = np.asarray(resize(Image.fromarray(x), (4, 5), antialias=True))
    shares = rows @ alpha @ columns.T
    np.testing.assert_array_equal(y[..., 3].ravel(), [round(share) for share in shares.flat])
    for channel in range(3):
        sums = rows @ (alpha * x[..., channel]) @ columns.T
        means = [round(value / share) if share else 0 for value, share in zip(sums.flat, shares.flat, strict=True)]
        np.testing.assert_array_equal(y[..., channel].ravel(), means)


def test_transparent_pixels_colour_nothing() -> None:
    x = np.zeros((8, 8, 4), np.uint8)
    x[...] = (255, 0, 0, 0)
    x[:, 4:] = (10, 200, 30, 255)
    for kernel in ("linear", "cubic", "area", "lanczos"):
        y = np.asarray(resize(Image.fromarray(x), (3, 3), kernel=kernel))
        assert (y[y[..., 3] > 0][:, :3] == (10, 200, 30)).all(), kernel


def test_palettes_and_masks_keep_their_mode() -> None:
    colours = Image.fromarray(np.random.default_rng(4).integers(0, 256, (12, 16, 3), np.uint8)).quantize(8)
    mask = Image.fromarray(np.random.default_rng(4).random((12, 16)) < 0.5)
    for image in (colours, mask):
        for kernel in ("nearest", "mode"):
            y = resize(image, (5, 7), kernel=kernel)
            assert (y.mode, y.size) == (image.mode, (7, 5))
            assert y.getpalette() == image.getpalette()
            np.testing.assert_array_equal(np.asarray(y), resize(np.asarray(image), (5, 7), kernel=kernel))


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (np.zeros((4, 4)), {"kernel": "bicubic"}, "kernel is 'bicubic'; expected one of"),
    (np.zeros((4, 4)), {"kernel": "area", "antialias": True}, "antialias has no effect on kernel area"),
    (np.zeros((4, 4)), {"kernel": "area", "like": "pillow:box"}, "kernel has no effect here"),
    (Image.new("RGB", (4, 4)), {"kernel": "mode"}, "of classes; this image has mode 'RGB': name nearest as kernel"),
    (Image.new("P", (4, 4)), {"kernel": "area"}, "pixels of mode 'P' are indices of a palette, which is not averaged"),
    (Image.new("1", (4, 4)), {}, "a mask of 1 bit, which is not averaged; name nearest or mode as kernel, or convert"),
    (np.array([["a"]]), {"kernel": "area"}, "values can be copied (nearest) but not averaged"),
]


@pytest.mark.parametrize(("x", "more", "said"), REFUSED)
def test_what_is_refused(x: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(IrInterpError) as caught:
        resize(x, (2, 2), **more)
    assert said in str(caught.value)


class Shared:
    """An object that shares its memory by DLPack, and nothing else."""

    def __init__(self, x: Array) -> None:
        self._x = x

    def __dlpack__(self, **known: Any) -> Any:
        return self._x.__dlpack__(**known)

    def __dlpack_device__(self) -> Any:
        return self._x.__dlpack_device__()


def test_an_object_of_dlpack_becomes_an_array() -> None:
    x = next(images("float32", (8, 12)))
    np.testing.assert_array_equal(resize(Shared(x), (4, 5), kernel="area"), resize(x, (4, 5), kernel="area"))


def test_scales_are_decimal_numbers() -> None:
    """0.7 is 7 / 10, not the float32 below it; the bounds are those of the input."""
    assert resize(np.zeros((10, 30)), scales=0.7).shape == (7, 21)
    assert resize(np.zeros((100, 1)), scales=(0.29,), axes=(0,)).shape == (29, 1)
    np.testing.assert_allclose(resize(np.arange(10.0), scales=0.35, kernel="area", axes=(0,)), [1.2, 4.5, 7.8])


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "float32", "float64"])
@pytest.mark.parametrize("nodata", [None, 3])
def test_average_and_mode_are_those_of_gdal(tmp_path: Path, dtype: str, nodata: float | None) -> None:
    """GDAL rounds halves up, and takes the first of several modes: those outputs may differ."""
    rasterio = pytest.importorskip("rasterio")
    from rasterio.enums import Resampling
    from rasterio.warp import reproject

    x = np.random.default_rng(5).integers(0, 9, (24, 36)).astype(dtype)
    transform = rasterio.Affine(10, 0, 0, 0, -10, 240)
    for kernel, resampling in (("area", Resampling.average), ("mode", Resampling.mode)):
        for rows, columns in ((6, 9), (8, 12), (4, 36)):
            theirs = np.empty((rows, columns), dtype)
            larger = rasterio.Affine(360 / columns, 0, 0, 0, -240 / rows, 240)
            reproject(
                x, theirs, src_transform=transform, dst_transform=larger, src_crs="EPSG:32633", dst_crs="EPSG:32633",
                resampling=resampling, src_nodata=nodata, dst_nodata=nodata,
            )  # fmt: skip
            ours = resize(x, (rows, columns), kernel=kernel, nodata=nodata)
            if kernel == "area":
                apart = np.abs(ours.astype(float) - theirs)
                assert apart.max() <= (1e-5 if ours.dtype.kind == "f" else 1)
                assert (apart == 0).mean() > 0.7 or ours.dtype.kind == "f"  # it also avoids the value of nodata, by 1
            else:
                blocks = x.reshape(rows, 24 // rows, columns, 36 // columns).swapaxes(1, 2).reshape(rows, columns, -1)
                for i, j in zip(*np.nonzero(ours != theirs), strict=True):
                    values = blocks[i, j][blocks[i, j] != nodata]
                    assert (values == ours[i, j]).sum() == (values == theirs[i, j]).sum()
