"""TIFF files of maps and microscopes, and Zarr stores in ZIP files and at URLs."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp.cli.main import main

zarr = pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
Array = Any


def _geotiff(path: Path, x: Array, **settings: Any) -> None:
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    bands, rows, columns = x.shape
    profile: dict[str, Any] = {
        "driver": "GTiff",
        "width": columns,
        "height": rows,
        "count": bands,
        "dtype": x.dtype,
        "crs": "EPSG:32633",
        "transform": rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6),
        "nodata": 0,
    }
    with rasterio.open(path, "w", **profile | settings) as file:
        file.write(x)
        file.update_tags(1, STATISTICS_MEAN="3", kind="reflectance")
        file.set_band_description(1, "red")


def _image(dtype: str = "uint8", bands: int = 3) -> Array:
    return np.random.default_rng(5).integers(0, 200, (bands, 90, 131)).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "like", "settings"),
    [
        ("uint8", "pillow:bicubic", {"tiled": True, "blockxsize": 32, "blockysize": 32, "compress": "deflate"}),
        ("uint8", "pillow:box", {"interleave": "pixel"}),
        ("uint16", "opencv:area", {"interleave": "band", "compress": "lzw", "predictor": 2}),
        ("float32", "opencv:area", {"interleave": "band", "compress": "deflate", "predictor": 3}),
        ("float32", "opencv:linear", {"nodata": float("nan"), "BIGTIFF": "YES"}),
    ],
)
def test_pixels_place_and_description_stay_true(
    dtype: str, like: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    x = _image(dtype)
    _geotiff(tmp_path / "in.tif", x, **settings)
    assert (
        main(
            [
                "run",
                str(tmp_path / "in.tif"),
                "--like",
                like,
                "--scales",
                "0.5",
                "-q",
                "--output",
                str(tmp_path / "out.tif"),
            ]
        )
        == 0
    )
    import rasterio

    with rasterio.open(tmp_path / "out.tif") as file:
        nodata = file.nodata
        expected = ir_interp.resize(x, like=like, scales=0.5, axes=(1, 2), nodata=nodata)
        np.testing.assert_array_equal(file.read(), expected)
        assert file.crs.to_epsg() == 32633
        # Pillow takes sizes alone, so its pixels are those of the whole extent; 0.5 of the others is 0.5.
        lengths = [each / 2 for each in x.shape[1:]] if like.startswith("opencv") else expected.shape[1:]
        across, down = (10 * each / length for each, length in zip(x.shape[:0:-1], lengths[::-1], strict=True))
        assert tuple(file.transform)[:6] == (across, 0, 5e5, 0, -down, 4.6e6)
        assert (file.descriptions[0], file.tags(1)) == ("red", {"kind": "reflectance"})
        assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert file.profile.get("compress") == settings.get("compress")
        assert file.tags(ns="IMAGE_STRUCTURE").get("PREDICTOR") == (str(settings.get("predictor", "")) or None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.tif", "out.tif"]


def test_levels_are_overviews(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GDAL reads the image from the file itself, beside which nothing is written."""
    x = _image()
    (tmp_path / "a & b").mkdir()
    _geotiff(tmp_path / "a & b/in.tif", x)
    monkeypatch.chdir(tmp_path)
    arguments = ["--like", "pillow:box", "--scales", "0.5", "--levels", "3", "-q"]
    assert main(["run", "a & b/in.tif", *arguments, "--output", str(tmp_path / "out.tif")]) == 0
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == ["a & b/in.tif", "out.tif"]
    import rasterio

    with rasterio.open(tmp_path / "out.tif") as file:
        np.testing.assert_array_equal(file.read(), x)
    for level in range(3):
        x = ir_interp.resize(x, like="pillow:box", scales=0.5, axes=(1, 2), nodata=0)
        with rasterio.open(tmp_path / "out.tif", overview_level=level) as file:
            np.testing.assert_array_equal(file.read(), x)


def _palette(path: Path) -> None:
    _geotiff(path, _image(bands=1), photometric="palette")
    import rasterio

    with rasterio.open(path, "r+") as file:
        file.write_colormap(1, {0: (0, 0, 0, 255), 1: (255, 0, 0, 255)})


def _points(path: Path) -> None:
    import rasterio

    _geotiff(path, _image())
    with rasterio.open(path, "r+") as file:
        file.gcps = (
            [rasterio.control.GroundControlPoint(0, 0, 5, 6), rasterio.control.GroundControlPoint(9, 9, 7, 8)],
            file.crs,
        )


def _masked_twice(path: Path) -> None:
    _masked(path, np.ones((90, 131), bool), nodata=7)


def _masked(path: Path, mask: Array, *, inside: bool = True, nodata: float | None = None) -> None:
    import rasterio

    _geotiff(path, _image(), nodata=nodata)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=inside), rasterio.open(path, "r+") as file:
        file.write_mask(mask)


@pytest.mark.parametrize("kernel", ["nearest", "mode"])
def test_a_palette_stays_a_palette(kernel: str, tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    classes = np.random.default_rng(8).integers(0, 4, (1, 90, 131)).astype(np.uint8)
    colours = {0: (9, 8, 7, 255), 1: (255, 0, 0, 255), 2: (0, 255, 0, 255), 3: (0, 0, 255, 255)}
    _geotiff(tmp_path / "in.tif", classes, nodata=None)
    with rasterio.open(tmp_path / "in.tif", "r+") as file:
        file.write_colormap(1, colours)
    command = ["run", str(tmp_path / "in.tif"), "--kernel", kernel, "--size", "41,60", "-q"]
    assert main([*command, "--output", str(tmp_path / "out.tif")]) == 0
    resize: Any = ir_interp.resize
    with rasterio.open(tmp_path / "out.tif") as file:
        np.testing.assert_array_equal(file.read(1), resize(classes[0], (41, 60), kernel=kernel))
        assert file.colorinterp[0].name == "palette"
        assert {index: file.colormap(1)[index] for index in colours} == colours


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("kernel", ["area", "linear", "nearest", "mode"])
def test_a_mask_stays_a_mask(kernel: str, inside: bool, tmp_path: Path) -> None:
    """Masked pixels get no weight, and the result has a mask inside the file, in blocks as in memory."""
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    mask = np.random.default_rng(7).random((90, 131)) < 0.6
    mask[:30, :40] = False
    _masked(tmp_path / "in.tif", mask, inside=inside)
    assert (tmp_path / "in.tif.msk").exists() is not inside
    command = ["run", str(tmp_path / "in.tif"), "--kernel", kernel, "--size", "41,60", "-q"]
    assert main([*command, "--output", str(tmp_path / "out.tif")]) == 0
    resize: Any = ir_interp.resize
    more = {"antialias": True} if kernel == "linear" else {}
    with rasterio.open(tmp_path / "in.tif") as file:
        bands = [np.ma.MaskedArray(band, ~mask) for band in file.read()]
    expected = np.ma.stack([resize(band, (41, 60), kernel=kernel, **more) for band in bands])
    with rasterio.open(tmp_path / "out.tif") as file:
        there = file.read_masks(1) != 0
        np.testing.assert_array_equal(there, ~np.ma.getmaskarray(expected)[0])
        np.testing.assert_array_equal(file.read()[:, there], expected.data[:, there])
    assert not there.all()
    assert not (tmp_path / "out.tif.msk").exists()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (_palette, "its pixels are indices of a palette; `gdal_translate -expand rgb` makes colours of them"),
        (_points, "ground control points place it; expected a geotransform, as gdalwarp makes it"),
        (_masked_twice, "it has both a mask and a nodata value; expected one of them"),
    ],
)
def test_rasters_that_are_no_plain_numbers_are_refused(
    make: Callable[[Path], None], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    make(tmp_path / "in.tif")
    command = ["run", str(tmp_path / "in.tif"), "--like", "pillow:box", "--scales", "0.5"]
    assert main([*command, "--output", str(tmp_path / "out.tif")]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == []


def test_an_ome_tiff_becomes_ome_zarr(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile", reason="pip install 'ir-interp[microscopy]'")
    x = np.random.default_rng(2).integers(0, 60_000, (2, 3, 64, 96)).astype(np.uint16)
    sizes = {"axes": "TCYX", "PhysicalSizeX": 0.25, "PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "nm", "TimeIncrement": 2}
    tifffile.imwrite(tmp_path / "in.ome.tif", x, ome=True, tile=(32, 32), metadata=sizes, photometric="minisblack")
    arguments = ["--like", "opencv:area", "--scales", "0.5", "--dims", "y,x", "--levels", "2", "-q"]
    assert main(["run", str(tmp_path / "in.ome.tif"), *arguments, "--output", str(tmp_path / "out.zarr")]) == 0
    group = zarr.open_group(tmp_path / "out.zarr", mode="r")
    np.testing.assert_array_equal(group["0"][:], x)
    np.testing.assert_array_equal(group["1"][:], ir_interp.resize(x, like="opencv:area", scales=0.5, axes=(2, 3)))
    (image,) = group.attrs["ome"]["multiscales"]
    assert [axis.get("unit") for axis in image["axes"]] == ["second", None, "nanometer", "micrometer"]
    first, second = (level["coordinateTransformations"] for level in image["datasets"][:2])
    assert [move["scale"] for move in (first[0], second[0])] == [[2, 1, 0.5, 0.25], [2, 1, 1, 0.5]]
    assert second[1]["translation"] == [0, 0, 0.25, 0.125]


def test_a_geotiff_becomes_no_zarr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tifffile", reason="pip install 'ir-interp[microscopy]'")
    _geotiff(tmp_path / "in.tif", _image())
    command = ["run", str(tmp_path / "in.tif"), "--like", "pillow:box", "--scales", "0.5", "--dims", "y,x"]
    assert main([*command, "--output", str(tmp_path / "out.zarr")]) == 2
    assert "whose georeferencing Zarr would lose; expected --output to end in .tif" in " ".join(
        capsys.readouterr().err.split()
    )


def _zipped(path: Path, x: Array, compression: int) -> None:
    folder = path.with_suffix("")
    zarr.create_group(folder).create_array("0", data=x, chunks=(1, 32, 32))
    with zipfile.ZipFile(path, "w", compression) as file:
        for member in sorted(folder.rglob("*")):
            file.write(member, member.relative_to(folder))


def test_a_store_in_a_zip_file_is_read(tmp_path: Path) -> None:
    x = _image()
    _zipped(tmp_path / "in.zarr.zip", x, zipfile.ZIP_STORED)
    command = ["run", str(tmp_path / "in.zarr.zip" / "0"), "--like", "pillow:box", "--scales", "0.5", "--dims", "1,2"]
    assert main([*command, "-q", "--output", str(tmp_path / "out.zarr")]) == 0
    made = zarr.open_array(tmp_path / "out.zarr", mode="r")[:]
    np.testing.assert_array_equal(made, ir_interp.resize(x, like="pillow:box", scales=0.5, axes=(1, 2)))


def test_compressed_members_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _zipped(tmp_path / "in.zarr.zip", np.zeros((1, 64, 64), np.uint8), zipfile.ZIP_DEFLATED)
    command = ["run", str(tmp_path / "in.zarr.zip" / "0"), "--like", "pillow:box", "--scales", "0.5", "--dims", "1,2"]
    assert main([*command, "--output", str(tmp_path / "out.zarr")]) == 2
    assert "is compressed in it; expected members that are stored, as zip -0 does" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_store_at_a_url_is_read(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="pip install 'ir-interp[dask]'")
    x = _image()
    zarr.create_array(tmp_path / "in.zarr", data=x, chunks=(1, 32, 32))
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "in.zarr"), "/store/in.zarr", recursive=True)
    command = ["run", "memory://store/in.zarr", "--like", "pillow:box", "--scales", "0.5", "--dims", "1,2"]
    assert main([*command, "-q", "--output", str(tmp_path / "out.zarr")]) == 0
    made = zarr.open_array(tmp_path / "out.zarr", mode="r")[:]
    np.testing.assert_array_equal(made, ir_interp.resize(x, like="pillow:box", scales=0.5, axes=(1, 2)))
