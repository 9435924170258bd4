"""DataArrays of xarray: names stay, and coordinates move to the centres of the new pixels."""

from __future__ import annotations

from typing import Any, NamedTuple

import dask.array
import numpy as np
import pytest
import xarray

import ir_interp
from ir_interp import Antialias, Area, Coordinates, IrInterpError, Linear, Pad, ResizeSpec, Sizes


def _scene() -> xarray.DataArray:
    rows, columns = np.meshgrid(np.arange(7), np.arange(8), indexing="ij")
    coordinates = {
        "band": ["red", "green"],
        "y": ("y", np.linspace(100.0, 70.0, 7), {"units": "m"}),
        "x": np.arange(8) * 10,
        "time": ("y", np.datetime64("2026-01-01", "s") + np.arange(7) * np.timedelta64(60, "s")),
        "epsg": 32633,
        "latitude": (("y", "x"), 40.0 - 0.5 * rows + 0.25 * columns),
    }
    values = np.random.default_rng(0).random((2, 7, 8)).astype(np.float32)
    return xarray.DataArray(
        values, dims=("band", "y", "x"), coords=coordinates, attrs={"made": "by hand"}, name="scene"
    )


def _spec(*sizes: int, **more: object) -> ResizeSpec:
    settings = {"kernel": Linear(antialias=Antialias.SHRINKING), "coordinates": Coordinates.HALF_PIXEL, **more}
    return ResizeSpec(axes=(1, 2), target=Sizes(sizes), **settings)  # type: ignore[arg-type]


def test_names_stay_and_coordinates_move() -> None:
    scene = _scene()
    made: Any = ir_interp.resize(scene, _spec(14, 4))
    np.testing.assert_array_equal(made.values, ir_interp.resize(scene.values, _spec(14, 4)))
    assert (made.dims, made.name, made.attrs) == (scene.dims, "scene", {"made": "by hand"})
    assert set(made.coords) == set(scene.coords)
    rows, columns = np.meshgrid((np.arange(14) + 0.5) / 2 - 0.5, (np.arange(4) + 0.5) * 2 - 0.5, indexing="ij")
    np.testing.assert_allclose(made.latitude, 40.0 - 0.5 * rows + 0.25 * columns, rtol=1e-15)
    assert made.band.values.tolist() == ["red", "green"]
    assert made.x.values.tolist() == [5.0, 25.0, 45.0, 65.0]
    np.testing.assert_allclose(made.y.values, 101.25 - 2.5 * np.arange(14))
    assert made.y.attrs == {"units": "m"}
    assert made.time.values[:3].astype(str).tolist() == [
        "2025-12-31T23:59:45", "2026-01-01T00:00:15", "2026-01-01T00:00:45"
    ]  # fmt: skip


def test_coordinates_lie_as_the_mode_says() -> None:
    corners: Any = ir_interp.resize(_scene(), _spec(3, 15, coordinates=Coordinates.ALIGN_CORNERS))
    assert corners.y.values.tolist() == [100.0, 85.0, 70.0]
    np.testing.assert_allclose(corners.x.values, np.arange(15) * 5)
    left: Any = ir_interp.resize(_scene(), _spec(7, 4, kernel=Linear(), coordinates=Coordinates.ASYMMETRIC))
    assert left.x.values.tolist() == [0.0, 20.0, 40.0, 60.0]
    mean: Any = ir_interp.resize(_scene(), _spec(7, 4, kernel=Area(), coordinates=Coordinates.ASYMMETRIC))
    assert mean.x.values.tolist() == [5.0, 25.0, 45.0, 65.0]


def test_pads_have_places_too() -> None:
    made: Any = ir_interp.resize(
        _scene().drop_vars("band"), _spec(7, 10, pads=(Pad(axis=2, begin=1, end=1), Pad(axis=0, begin=0, end=1)))
    )
    assert made.x.values.tolist() == [10.0 * i for i in range(-1, 9)]
    assert made.sizes["band"] == 3


def test_lazy_data_stay_lazy() -> None:
    scene = _scene()
    made: Any = ir_interp.resize(scene.chunk({"x": 3}), _spec(14, 4), chunks=(1, 5, 2))
    assert isinstance(made.data, dask.array.Array)
    assert made.data.chunksize == (1, 5, 2)
    xarray.testing.assert_identical(made.compute(), ir_interp.resize(scene, _spec(14, 4)))


def test_the_transform_of_a_raster_moves_with_its_pixels() -> None:
    """rioxarray reads ``GeoTransform``: the corner of the first pixel, and the steps (GDAL's raster data model)."""
    spatial = xarray.DataArray(0, attrs={"crs_wkt": "...", "GeoTransform": "500000.0 10.0 0.5 4000000.0 0.25 -10.0"})
    scene = xarray.DataArray(np.zeros((2, 8, 6)), dims=("band", "y", "x"), coords={"spatial_ref": spatial})
    half: Any = ir_interp.resize(scene, _spec(4, 3))
    assert half.spatial_ref.attrs["GeoTransform"] == "500000.0 20.0 1.0 4000000.0 0.5 -20.0"
    assert half.spatial_ref.attrs["crs_wkt"] == "..."
    padded: Any = ir_interp.resize(scene, _spec(8, 8, pads=(Pad(axis=2, begin=1, end=1),)))
    assert padded.spatial_ref.attrs["GeoTransform"] == "499990.0 10.0 0.5 3999999.75 0.25 -10.0"
    corners: Any = ir_interp.resize(scene, _spec(15, 6, coordinates=Coordinates.ALIGN_CORNERS))
    assert corners.spatial_ref.attrs["GeoTransform"] == "500000.125 10.0 0.25 3999997.5 0.25 -5.0"


class Matrix(NamedTuple):
    """The affine matrix of the package of this name, with its nine fields."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float
    g: float = 0.0
    h: float = 0.0
    i: float = 1.0


OLD = (10.0, 0.0, 500000.0, 0.0, -20.0, 4000000.0)  # of 6 x 8 pixels
KINDS: dict[str, Any] = {
    "tuple": OLD, "list": list(OLD), "nine": (*OLD, 0.0, 0.0, 1.0), "array": np.array(OLD), "Affine": Matrix(*OLD),
}  # fmt: skip


def _legacy(transform: Any, **more: Any) -> xarray.DataArray:
    """Return a map that holds its own coordinates, with the attributes of xarray's open_rasterio."""
    x, y = 500000 + 10 * (np.arange(6) + 0.5), 4000000 - 20 * (np.arange(8) + 0.5)
    attributes = {"transform": transform, "crs": "+init=epsg:32633", "res": (10.0, 20.0), "is_tiled": 0, **more}
    values = np.stack(np.broadcast_arrays(x, y[:, None]))
    return xarray.DataArray(values, dims=("band", "y", "x"), coords={"y": y, "x": x}, attrs=attributes)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [{"y": 4, "x": 3}, {"y": 16, "x": 9}, {"x": 2}, {"y": 5}])
@pytest.mark.parametrize("in_dataset", [False, True])
def test_attributes_of_older_readers_move_with_the_pixels(kind: str, sizes: dict[str, int], in_dataset: bool) -> None:
    scene = _legacy(KINDS[kind])
    given: Any = xarray.Dataset({"scene": scene}, attrs=scene.attrs) if in_dataset else scene
    resized: Any = ir_interp.resize(given, sizes, "torch:bilinear,antialias=true" if len(sizes) > 1 else None)
    small = resized.scene if in_dataset else resized
    for attributes in (small.attrs, resized.attrs):
        assert attributes["crs"] == "+init=epsg:32633"
        assert type(attributes["transform"]) is type(KINDS[kind])
        across, _, west, _, down, north = list(attributes["transform"])[:6]
        assert attributes["res"] == (across, -down)
        np.testing.assert_allclose(west + across * (np.arange(small.sizes["x"]) + 0.5), small.x)
        np.testing.assert_allclose(north + down * (np.arange(small.sizes["y"]) + 0.5), small.y)
    inner = small[:, small.sizes["y"] // 2, small.sizes["x"] // 2]  # kernels reach outside at the borders
    np.testing.assert_allclose(inner[0], small.x[small.sizes["x"] // 2], rtol=0, atol=3.0)
    np.testing.assert_allclose(inner[1], small.y[small.sizes["y"] // 2], rtol=0, atol=6.0)


def test_a_resolution_is_that_of_the_new_pixels() -> None:
    scene = _legacy(OLD, resolution=10.0)
    scene.y.attrs["resolution"], scene.x.attrs["resolution"] = -20.0, 10.0
    half: Any = ir_interp.resize(scene, {"y": 4, "x": 3})
    assert (half.attrs["resolution"], half.y.attrs["resolution"], half.x.attrs["resolution"]) == (20.0, -40.0, 20.0)
    wide: Any = ir_interp.resize(scene, {"y": 8, "x": 3})
    assert wide.attrs["resolution"] == (20.0, 10.0)


def test_attributes_that_only_share_a_name_stay() -> None:
    more: dict[str, Any] = {"res": "high", "resolution": "10 m", "spec": "L2A"}
    half: Any = ir_interp.resize(_legacy("log10", **more), {"y": 4, "x": 3})
    assert {name: half.attrs[name] for name in ("transform", *more)} == {"transform": "log10", **more}


class RasterSpec(NamedTuple):
    """The attribute ``spec`` of stackstac."""

    epsg: int
    bounds: tuple[float, float, float, float]
    resolutions_xy: tuple[float, float]


def test_attributes_that_cannot_move_are_refused_by_name() -> None:
    spec = RasterSpec(32633, (500000.0, 3999840.0, 500060.0, 4000000.0), (10.0, 20.0))
    with pytest.raises(IrInterpError, match="has an attribute 'spec' of its old pixels; drop it first"):
        ir_interp.resize(_legacy(OLD, spec=spec), {"y": 4, "x": 3})
    rows = _legacy(OLD).rename({"y": "row", "x": "column"})
    with pytest.raises(IrInterpError, match="has a transform along x and y, and the resized dimensions are"):
        ir_interp.resize(rows, {"row": 4, "column": 3})


def test_missing_pixels_of_older_readers() -> None:
    scene = xarray.DataArray(np.array([[1.0, 3.0, -99.0, 5.0]]), dims=("y", "x"), attrs={"nodatavals": (-99.0,)})
    np.testing.assert_array_equal(ir_interp.resize(scene, {"y": 1, "x": 2}, "opencv:area"), [[2.0, 5.0]])
    scene.attrs["nodatavals"] = (np.nan,)  # none
    np.testing.assert_array_equal(ir_interp.resize(scene, {"y": 1, "x": 2}, "opencv:area"), [[2.0, -47.0]])
    scene.attrs["nodatavals"] = (-99.0, 0.0)
    with pytest.raises(IrInterpError, match=r"nodatavals are \[-99.0, 0.0\]; expected one value for all bands"):
        ir_interp.resize(scene, {"x": 2})
