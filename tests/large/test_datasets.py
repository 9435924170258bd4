"""Datasets of xarray: no coordinate vanishes, and each is at the new pixels, or the resize is refused by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pytest
import xarray

import ir_interp
from ir_interp import IrInterpError

resize: Any = ir_interp.resize  # whose result is of the kind of its argument
ROWS, COLUMNS = 12, 20
HALF = {"y": 6, "x": 10}


def _ends(centres: Any, step: float) -> Any:
    return np.stack([centres - step / 2, centres + step / 2], axis=1)


def _climate() -> xarray.Dataset:
    """Return a field on a curvilinear grid, with bounds of its cells along x and y, and of its single time."""
    rows, columns = np.meshgrid(np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
    y, x = 50.0 - 2.0 * np.arange(ROWS), 100.0 + 4.0 * np.arange(COLUMNS)
    data = np.random.default_rng(0).random((1, ROWS, COLUMNS)).astype(np.float32)
    return xarray.Dataset(
        {
            "t": (("time", "y", "x"), data, {"units": "K", "grid_mapping": "crs"}),
            "mask": (("y", "x"), np.ones((ROWS, COLUMNS), np.uint8)),
            "crs": ((), 0, {"GeoTransform": "98.0 4.0 0.0 51.0 0.0 -2.0", "grid_mapping_name": "latitude_longitude"}),
            "y_bnds": (("y", "nv"), _ends(y, -2.0)),
        },
        coords={
            "y": ("y", y, {"bounds": "y_bnds"}),
            "x": ("x", x, {"bounds": "x_bnds"}),
            "x_bnds": (("x", "nv"), _ends(x, 4.0)),
            "lat": (("y", "x"), 45.0 - 0.25 * rows + 0.125 * columns, {"units": "degrees_north"}),
            "lon": (("y", "x"), 7.0 + 0.25 * columns + 0.125 * rows, {"units": "degrees_east"}),
            "time": ("time", [np.datetime64("2026-01-01", "ns")], {"bounds": "time_bnds"}),
            "time_bnds": (("time", "nv"), np.array([["2025-12-31", "2026-01-02"]], "datetime64[ns]")),
            "station": ("site", ["a", "b"]),  # of a dimension that no variable has
            "run": 7,
        },
        attrs={"title": "climate"},
    )


@pytest.mark.parametrize("like", [None, "pillow:bilinear,mode=F", "torch:nearest", "opencv:area"])
@pytest.mark.parametrize("is_lazy", [False, True])
def test_every_coordinate_is_at_the_new_pixels(like: str | None, is_lazy: bool) -> None:
    climate = _climate().drop_vars("mask")
    small = resize(climate.chunk({"y": 5}) if is_lazy else climate, HALF, like)
    assert isinstance(small.t.data, dask.array.Array) is is_lazy
    assert isinstance(small.lat.data, dask.array.Array) is is_lazy
    assert (set(small.variables), set(small.coords)) == (set(climate.variables), set(climate.coords))
    assert {name: small[name].attrs for name in small.variables if name != "crs"} == {
        name: climate[name].attrs for name in climate.variables if name != "crs"
    }
    assert small.attrs == climate.attrs
    y, x = 49.0 - 4.0 * np.arange(6), 102.0 + 8.0 * np.arange(10)
    np.testing.assert_array_equal(small.y, y)
    np.testing.assert_array_equal(small.x, x)
    np.testing.assert_array_equal(small.y_bnds, _ends(y, -4.0))
    np.testing.assert_array_equal(small.x_bnds, _ends(x, 8.0))
    rows, columns = np.meshgrid(0.5 + 2 * np.arange(6), 0.5 + 2 * np.arange(10), indexing="ij")
    np.testing.assert_array_equal(small.lat, 45.0 - 0.25 * rows + 0.125 * columns)
    np.testing.assert_array_equal(small.lon, 7.0 + 0.25 * columns + 0.125 * rows)
    assert small.crs.attrs["GeoTransform"] == "98.0 8.0 0.0 51.0 0.0 -4.0"
    for name in ("time", "time_bnds", "station", "run"):
        xarray.testing.assert_identical(small[name].variable, climate[name].variable)


def test_links_survive_a_file(tmp_path: Path) -> None:
    """With ``decode_coords="all"``, xarray keeps the names of bounds and grid mappings as encodings."""
    settings: Any = {"zarr_format": 2, "consolidated": False}
    _climate().drop_vars("station").to_zarr(tmp_path / "in.zarr", **settings)
    opened = xarray.open_zarr(tmp_path / "in.zarr", decode_coords="all", **settings)
    assert "y_bnds" in opened.coords
    resize(opened, HALF).to_zarr(tmp_path / "out.zarr", **settings)
    again = xarray.open_zarr(tmp_path / "out.zarr", decode_coords="all", **settings)
    assert set(again.coords) == set(opened.coords)
    np.testing.assert_array_equal(again.y_bnds, _ends(49.0 - 4.0 * np.arange(6), -4.0))


def test_bounds_follow_the_corners_of_unequal_cells() -> None:
    edges = np.array([0.0, 1.0, 3.0, 7.0, 15.0])
    cells = xarray.Dataset(
        {"v": ("x", np.arange(4.0)), "x_bnds": (("x", "nv"), np.stack([edges[:-1], edges[1:]], axis=1))},
        coords={"x": ("x", (edges[:-1] + edges[1:]) / 2, {"bounds": "x_bnds"})},
    )
    assert resize(cells, {"x": 2}).x_bnds.values.tolist() == [[0.0, 3.0], [3.0, 15.0]]
    assert resize(cells, {"x": 8}).x_bnds.values.tolist() == [
        [0.0, 0.5], [0.5, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 5.0], [5.0, 7.0], [7.0, 11.0], [11.0, 15.0]
    ]  # fmt: skip
    turned = cells.assign(x_bnds=(("x", "nv"), cells.x_bnds.values[:, ::-1]))
    assert resize(turned, {"x": 2}).x_bnds.values.tolist() == [[3.0, 0.0], [15.0, 3.0]]
    apart = cells.assign(x_bnds=(("x", "nv"), cells.x_bnds.values - np.array([[0.0, 0.5]])))
    with pytest.raises(IrInterpError, match=r"bounds 'x_bnds' \['x', 'nv'\]: expected two ends for each pixel"):
        resize(apart, {"x": 2})
    corner = _climate().isel(y=slice(0, 2), x=slice(0, 2))
    assert resize(corner, {"y": 1, "x": 1}).y_bnds.values.tolist() == [[51.0, 47.0]]


def test_times_along_a_resized_dimension() -> None:
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"], "datetime64[ns]")
    ends = np.stack([days - np.timedelta64(12, "h"), days + np.timedelta64(12, "h")], axis=1)
    series = xarray.Dataset(
        {"v": ("time", np.arange(4.0)), "time_bnds": (("time", "nv"), ends)},
        coords={"time": ("time", days, {"bounds": "time_bnds"})},
    )
    half = resize(series, {"time": 2})
    assert half.time.values.astype("datetime64[h]").astype(str).tolist() == ["2026-01-01T12", "2026-01-03T12"]
    assert half.time_bnds.values.astype("datetime64[h]").astype(str).tolist() == [
        ["2025-12-31T12", "2026-01-02T12"], ["2026-01-02T12", "2026-01-04T12"]
    ]  # fmt: skip


CORNERS = np.zeros((ROWS, COLUMNS, 4))
REFUSED = [
    (
        _climate().assign_coords(name=("x", list("abcdefghijklmnopqrst"))),
        "coordinate 'name' holds <U1, which has no values between its pixels; drop it first, as x.drop_vars('name')",
    ),
    (_climate().assign_coords(land=(("y", "x"), np.ones((ROWS, COLUMNS), bool))), "coordinate 'land' holds bool"),
    (
        _climate().assign(corners=(("y", "x", "nv4"), CORNERS)).assign_coords(
            lat=(("y", "x"), CORNERS[..., 0], {"bounds": "corners"})
        ),
        "bounds 'corners' ['y', 'x', 'nv4']: expected two ends for each pixel of one dimension",
    ),
    (
        _climate().assign_coords(lon=(("y", "x"), np.where(np.arange(COLUMNS) < 9, 179.5, -179.5) + CORNERS[..., 0])),
        "coordinate 'lon' jumps by more than 180 degrees between neighbours; expected longitudes without a jump",
    ),
    (
        _climate().drop_vars(["y_bnds", "x_bnds", "lat", "lon"]).rename(y="row", x="column"),
        "'crs' has a GeoTransform along x and y, and the resized dimensions are ['row', 'column']; rename the dim",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("dataset", "problem"), REFUSED)
def test_what_has_no_place_is_refused_by_name(dataset: xarray.Dataset, problem: str) -> None:
    names = dict(zip(("row", "column") if "row" in dataset.dims else ("y", "x"), (6, 10), strict=True))
    with pytest.raises(IrInterpError) as caught:
        resize(dataset, names)
    assert problem in str(caught.value)


def test_a_tree_moves_the_coordinates_that_its_nodes_share() -> None:
    climate = _climate()
    shared = climate.coords.to_dataset().drop_vars(["time", "time_bnds", "station"])
    tree = xarray.DataTree.from_dict({"/": shared, "/a": xarray.Dataset({"mask": climate.mask.variable})})
    small = resize(tree, HALF)
    assert small["a"].mask.shape == (6, 10)
    np.testing.assert_array_equal(small.y, 49.0 - 4.0 * np.arange(6))
    np.testing.assert_array_equal(small.lat, resize(climate, HALF).lat)
