"""Missing pixels: an output is the weighted mean of those that are there, or missing; blocks have the same bits."""

from __future__ import annotations

from typing import Any

import dask.array
import numpy as np
import pytest
import xarray
from numpy.typing import NDArray

import ir_interp
from ir_interp import Antialias, Area, Coordinates, Cubic, Linear, Nearest, ResizeSpec, Rounding, SpecError

resize: Any = ir_interp.resize  # whose result is of the kind of its argument
RNG = np.random.default_rng(7)
MEAN = ResizeSpec(kernel=Area(), coordinates=Coordinates.ASYMMETRIC, axes=(0, 1))
TRIANGLE = ResizeSpec(kernel=Linear(antialias=Antialias.SHRINKING), axes=(0, 1))
SPECS = [
    MEAN,
    TRIANGLE,
    ResizeSpec(kernel=Cubic(a=-0.5), axes=(0, 1)),
    ResizeSpec(kernel=Nearest(rounding=Rounding.FLOOR), axes=(0, 1)),
]


def raster(dtype: str, nodata: float) -> NDArray[Any]:
    values = (RNG.random((23, 31)) * 90 + 5).astype(dtype)
    values[3:12, 8:20] = nodata
    values[RNG.random(values.shape) < 0.1] = nodata
    return values


def test_a_mask_is_kept() -> None:
    x = np.ma.masked_equal(np.array([[1, 2, -9999, 4.0], [5, 6, 7, 8]]), -9999)
    y = resize(x, TRIANGLE, sizes=(1, 2))
    assert isinstance(y, np.ma.MaskedArray)
    weights = np.array([[4, 3, 1, 0], [4, 3, 1, 0]]) / 16  # of the left output
    there = ~np.ma.getmaskarray(x)
    left = (x.data * weights * there).sum() / (weights * there).sum()
    assert np.ma.getdata(y)[0, 0] == pytest.approx(left, rel=1e-12)
    assert not np.ma.getmaskarray(y).any()
    gone = resize(np.ma.masked_array(np.zeros((4, 4)), mask=True), TRIANGLE, sizes=(2, 2))
    assert np.ma.getmaskarray(gone).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "uint16"])
@pytest.mark.parametrize("spec", SPECS[:2], ids=["mean", "triangle"])
def test_the_mean_of_what_is_there(spec: ResizeSpec, dtype: str) -> None:
    x = raster(dtype, 200)
    there = (x != 200).astype(np.float64)
    shares = resize(there, spec, sizes=(7, 9))
    sums = resize(np.where(x == 200, 0, x).astype(np.float64), spec, sizes=(7, 9))
    y = resize(x, spec, sizes=(7, 9), nodata=200)
    assert ((y == 200) == (shares == 0)).all()
    means = sums[shares > 0] / shares[shares > 0]
    step = 0.5 if x.dtype.kind in "iu" else 1e-5
    assert np.abs(y[shares > 0] - means).max() <= step * 1.0001
    plain = resize(x, spec, sizes=(7, 9))
    assert y[shares == 1].tobytes() == plain[shares == 1].tobytes()


@pytest.mark.parametrize("spec", SPECS, ids=["mean", "triangle", "cubic", "nearest"])
def test_blocks_and_regions_have_the_bits_of_the_whole(spec: ResizeSpec) -> None:
    x = raster("float32", np.nan)
    whole = resize(x, spec, sizes=(13, 40), nodata=np.nan, valid=0.4)
    lazy = resize(dask.array.from_array(x, chunks=(7, 9)), spec, sizes=(13, 40), nodata=np.nan, valid=0.4)
    assert lazy.compute().tobytes() == whole.tobytes()
    piece = (slice(2, 9), slice(11, 33))
    assert resize(x, spec, sizes=(13, 40), nodata=np.nan, valid=0.4, region=piece).tobytes() == whole[piece].tobytes()
    masked = np.ma.masked_invalid(x)
    apart = resize(dask.array.from_array(masked, chunks=(7, 9)), spec, sizes=(13, 40))
    ours, theirs = resize(masked, spec, sizes=(13, 40)), apart.compute()
    assert np.ma.getmaskarray(ours).tobytes() == np.ma.getmaskarray(theirs).tobytes()
    assert np.ma.getdata(ours).tobytes() == np.ma.getdata(theirs).tobytes()


def test_how_much_has_to_be_there() -> None:
    x = np.array([[1.0, np.nan], [np.nan, np.nan]])
    assert resize(x, MEAN, sizes=(1, 1), nodata=np.nan).tolist() == [[1.0]]
    assert resize(x, MEAN, sizes=(1, 1), nodata=np.nan, valid=0.25).tolist() == [[1.0]]
    assert np.isnan(resize(x, MEAN, sizes=(1, 1), nodata=np.nan, valid=0.3)).all()


def test_what_is_not_missing_is_not_looked_at() -> None:
    x = np.array([[np.inf, -1.0], [1.0, np.nan]])
    assert np.isnan(resize(x, MEAN, sizes=(1, 1), nodata=-1)).all()


def test_a_data_array_says_which_pixels_are_missing() -> None:
    values = raster("int16", -999)
    scene = xarray.DataArray(values, dims=("y", "x"), attrs={"_FillValue": -999})
    assert resize(scene, MEAN, sizes=(7, 9)).values.tolist() == resize(values, MEAN, sizes=(7, 9), nodata=-999).tolist()


REFUSED = [
    ({"nodata": 300}, "nodata is 300.0; uint8 cannot represent it"),
    ({"nodata": 1.5}, "nodata is 1.5; uint8 cannot represent it"),
    ({"nodata": "none"}, "nodata is 'none'; expected a number"),
    ({"nodata": 0, "valid": 2}, "valid is 2.0; expected a share from 0 to 1"),
    ({"valid": 0.5}, "valid has no effect without nodata or a mask"),
    ({"nodata": 0, "out": np.zeros((2, 2), np.uint8)}, "out is not supported with missing pixels"),
    (
        {"nodata": 0, "spec": ResizeSpec(kernel=Linear(), axes=(0, 1), pads=(ir_interp.Pad(axis=0, begin=1, end=0),))},
        "missing pixels cannot be combined with pads; fill the pixels, or leave that out",
    ),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED, ids=[said[:40] for _, said in REFUSED])
def test_what_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        resize(np.zeros((4, 4), np.uint8), **{"spec": TRIANGLE, "sizes": (2, 2)} | changes)
    assert str(caught.value) == said
