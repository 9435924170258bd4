"""Files beside a named one: none is opened that the format does not name, and none outside of its folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.commands import command
from tests.support.watched import CAN_WATCH, listening, opened_in

SIDECARS = (
    "a.tif.msk", "a.tif.ovr", "a.tif.aux.xml", "a.aux", "a.aux.xml", "a.tfw", "a.tifw", "a.wld", "a.tab", "a.RPB",
    "a_RPC.TXT", "a_rpc.txt", "a.IMD", "a.pvl", "a.xml", "METADATA.DIM", "a.tif.MSK", "a.TFW", "a_MTL.txt",
)  # fmt: skip
MASKS = ("a.tif.msk", "a.tif.MSK")
IMPORTANT = {
    "a.RPB": "a.RPB: rational polynomials place it; expected a geotransform, as gdalwarp makes it",
    "a_RPC.TXT": "a_RPC.TXT: rational polynomials place it; expected a geotransform, as gdalwarp makes it",
    "a_rpc.txt": "a_rpc.txt: rational polynomials place it; expected a geotransform, as gdalwarp makes it",
}
RUN = ("run", "a.tif", "--like", "pillow:bicubic", "--sizes", "20,30", "-q", "--output", "b.tif")
REMEDY = "which is not read; `gdal_translate` writes one file that holds all"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def raster(tmp_path: Path) -> Any:
    """Return rasterio, with a GeoTIFF beside which files may lie."""
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
    geotiff(rasterio, transform=rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6))
    return rasterio


def geotiff(rasterio: Any, **settings: Any) -> None:
    profile: dict[str, Any] = {"driver": "GTiff", "width": 60, "height": 40, "count": 1, "dtype": "uint8"}
    with rasterio.open("a.tif", "w", **profile, crs="EPSG:32633", **settings) as file:
        file.write(np.arange(2400, dtype=np.uint8).reshape(1, 40, 60))


@pytest.mark.skipif(not CAN_WATCH, reason="the watch is one of Linux")
@pytest.mark.parametrize("kind", ["WMTS", "WCS", "warped", "tiled"])
def test_neighbours_of_a_geotiff_do_not_connect(kind: str, raster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with listening() as listener:
        url = f"{listener.url}/x"
        text = {
            "WMTS": f"<GDAL_WMTS><GetCapabilitiesUrl>{url}</GetCapabilitiesUrl></GDAL_WMTS>",
            "WCS": f"<WCS_GDAL><ServiceURL>{url}?</ServiceURL><CoverageName>c</CoverageName></WCS_GDAL>",
            "warped": '<VRTDataset rasterXSize="60" rasterYSize="40" subClass="VRTWarpedDataset"><GDALWarpOptions>'
            f"<SourceDataset>/vsicurl/{url}.tif</SourceDataset></GDALWarpOptions></VRTDataset>",
            "tiled": f'<GDAL_WMS><Service name="TiledWMS"><ServerUrl>{url}?</ServerUrl><TiledGroupName>g'
            "</TiledGroupName></Service></GDAL_WMS>",
        }[kind]
        for name in SIDECARS:
            Path(name).write_text(text)
        with opened_in(Path()) as opened:
            assert command(capsys, *RUN)[0] == 2
            for name in (*MASKS, *IMPORTANT, "a.tif.aux.xml"):  # which are refused
                Path(name).unlink()
            assert command(capsys, *RUN)[::2] == (0, "")
        assert listener.connections == 0
        assert opened & set(SIDECARS) == set()


@pytest.mark.parametrize("name", SIDECARS)
def test_a_pipe_beside_a_geotiff_is_not_waited_for(name: str, raster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(name)
    code, _, errors = command(capsys, *RUN)
    unreadable = {"a.tif.aux.xml": "a.tif.aux.xml cannot be read: Not a regular file"}
    problem = (IMPORTANT | unreadable).get(name)
    if name in MASKS:
        assert (code, errors) == (2, f"error: {name}: cannot be read: Not a regular file\n")
    else:
        assert (code, errors) == ((2, f"error: a.tif: {problem}\n") if problem else (0, ""))


def test_a_mask_beside_a_geotiff_is_of_its_folder_and_its_size(raster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("elsewhere").mkdir()
    settings: dict[str, Any] = {"driver": "GTiff", "height": 40, "count": 1, "dtype": "uint8"}
    settings["transform"] = raster.Affine(10, 0, 0, 0, -10, 0)
    for name, width in (("elsewhere/a.msk", 60), ("a.tif.msk", 59)):
        with raster.open(name, "w", **settings | {"width": width}) as file:
            file.write(np.full((1, 40, width), 255, np.uint8))
    said = "error: a.tif: a.tif.msk is not one mask of its bands; expected uint8 of 1x40x60\n"
    assert command(capsys, *RUN)[::2] == (2, said)
    Path("a.tif.msk").unlink()
    Path("a.tif.msk").symlink_to("elsewhere/a.msk")
    folder = Path("folder")
    folder.mkdir()
    Path("a.tif").rename(folder / "a.tif")
    (folder / "a.tif.msk").symlink_to(Path("elsewhere/a.msk").absolute())
    code, _, errors = command(capsys, "run", "folder/a.tif", *RUN[2:])
    assert (code, errors) == (2, "error: folder/a.tif: a.tif.msk is outside its folder and is not read\n")


@pytest.mark.parametrize(
    ("content", "element"),
    [
        ("<PAMDataset><Metadata><MDI key='STATISTICS_MEAN'>1</MDI></Metadata></PAMDataset>", ""),
        ("<PAMDataset><PAMRasterBand band='1'><Histograms/></PAMRasterBand></PAMDataset>", ""),
        (
            "<PAMDataset><PAMRasterBand><NoDataValue>1</NoDataValue></PAMRasterBand></PAMDataset>",
            "NoDataValue",
        ),
        ("<PAMDataset><GeoTransform>0, 1, 0, 0, 0, 1</GeoTransform></PAMDataset>", "GeoTransform"),
        ("<PAMDataset><SRS>EPSG:4326</SRS></PAMDataset>", "SRS"),
        (
            "<PAMDataset><Metadata domain='OVERVIEWS'><MDI key='OVERVIEW_FILE'>b.vrt</MDI></Metadata></PAMDataset>",
            "Metadata",
        ),
    ],
)
def test_what_an_auxiliary_file_holds_is_not_lost(
    content: str, element: str, raster: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.tif.aux.xml").write_text(content)
    code, _, errors = command(capsys, *RUN)
    problem = f"error: a.tif: a.tif.aux.xml holds {element}, {REMEDY}\n"
    assert (code, errors) == ((2, problem) if element else (0, ""))


@pytest.mark.filterwarnings("ignore:Dataset has no geotransform")
@pytest.mark.parametrize("name", ["a.tfw", "a.TFW", "a.wld", "a.tab"])
def test_a_place_beside_a_geotiff_is_not_lost(name: str, raster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    geotiff(raster)
    Path(name).write_text("10\n0\n0\n-10\n5\n5\n")
    assert command(capsys, *RUN)[::2] == (2, f"error: a.tif: {name} places it, {REMEDY}\n")
    assert not Path("b.tif").exists()


@pytest.fixture
def microscopy(tmp_path: Path) -> Any:
    """Return tifffile, with an OME-TIFF of three planes, the second of which another file holds."""
    tifffile = pytest.importorskip("tifffile", reason="pip install 'ir-interp[microscopy]'")
    pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
    Path("in").mkdir()
    return tifffile


def ome(tifffile: Any, other: str) -> None:
    """Write an OME-TIFF of two planes, of which another file holds the second."""
    parts = "".join(
        f'<TiffData FirstZ="{plane}" IFD="0" PlaneCount="1"><UUID FileName="{name}">urn:uuid:{plane}</UUID></TiffData>'
        for plane, name in enumerate(("a.ome.tif", other))
    )
    pixels = 'DimensionOrder="XYZCT" Type="uint8" SizeX="60" SizeY="40" SizeZ="2" SizeC="1" SizeT="1"'
    text = (
        '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:0"><Image ID="Image:0">'
        f'<Pixels ID="Pixels:0" {pixels}>{parts}</Pixels></Image></OME>'
    )
    tifffile.imwrite("in/a.ome.tif", np.zeros((40, 60), np.uint8), description=text, metadata=None)


@pytest.mark.parametrize("other", ["../secret.tif", "/secret.tif", "link.tif", "pipe.tif", "b.tif", "x/../b.tif"])
def test_an_ome_tiff_names_files_of_its_folder_alone(
    other: str, microscopy: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    microscopy.imwrite("secret.tif", np.full((40, 60), 99, np.uint8), metadata=None)
    microscopy.imwrite("in/b.tif", np.full((40, 60), 7, np.uint8), metadata=None)
    Path("in/link.tif").symlink_to("../secret.tif")
    Path("in/x").mkdir()
    os.mkfifo("in/pipe.tif")
    other = f"{tmp_path}/secret.tif" if other.startswith("/") else other
    ome(microscopy, other)
    run = ("run", "in/a.ome.tif", "--like", "opencv:linear", "--sizes", "20,30", "-q", "--output", "b.zarr")
    outside = f"error: in/a.ome.tif: it names {other!r}, which is outside its folder and is not read\n"
    unreadable = "error: in/pipe.tif: cannot be read: Not a regular file\n"
    errors = {"b.tif": "", "x/../b.tif": "", "pipe.tif": unreadable}.get(other, outside)
    assert command(capsys, *run)[::2] == (2 if errors else 0, errors)
    if not errors:
        import zarr

        group: Any = zarr.open("b.zarr", mode="r")
        assert np.asarray(group[...])[:, 0, 0].tolist() == [0, 7]


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ("variables/variables.index", "pipe"),
        ("variables/variables.data-00000-of-00001", "pipe"),
        ("fingerprint.pb", "pipe"),
        ("assets/words.txt", "pipe"),
        ("variables/variables.index", "link"),
        ("variables", "link"),
    ],
)
def test_a_saved_model_is_in_its_folder(part: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("net/variables", "net/assets", "outside"):
        Path(name).mkdir(parents=True)
    for name in ("net/saved_model.pb", "outside/variables.index"):
        Path(name).touch()
    path = Path("net", part)
    if kind == "pipe":
        os.mkfifo(path)
        problem = f"error: {path}: cannot be read: Not a regular file\n"
    elif part == "variables":
        path.rmdir()
        path.symlink_to("../outside")
        problem = "error: net: variables/variables.index points outside its folder, and is not read\n"
    else:
        path.unlink(missing_ok=True)
        path.symlink_to(f"{'../' * part.count('/')}../outside/variables.index")
        problem = f"error: net: {part} points outside its folder, and is not read\n"
    assert command(capsys, "convert", "net", "net.xml") == (2, "", problem)


def test_overviews_that_a_geotiff_names_are_refused(raster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with raster.open("a.tif", "r+") as file:
        file.update_tags(ns="OVERVIEWS", OVERVIEW_FILE="b.vrt")
    problem = "it names another file for its overviews, which is not read; expected none"
    assert command(capsys, *RUN)[::2] == (2, f"error: a.tif: {problem}\n")
