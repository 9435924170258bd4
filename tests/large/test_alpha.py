"""Images with alpha: colours are multiplied by it wherever the bands are, or the resize is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import pytest
import xarray
from PIL import Image

import ir_interp
from ir_interp import IrInterpError
from ir_interp.cli.main import main

resize: Any = ir_interp.resize  # whose result is of the kind of its argument
HEIGHT, WIDTH = 70, 90
MODES = {"LA": 2, "RGBA": 4}


def _image(mode: str) -> Any:
    """Return random colours [height, width, channels], a third of them transparent, a third opaque."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 256, (HEIGHT, WIDTH, MODES[mode]), np.uint8)
    x[..., -1] = np.choose(rng.integers(0, 3, (HEIGHT, WIDTH)), [0, 255, x[..., -1]])
    return x


def _by_pillow(x: Any, word: str, height: int, width: int) -> Any:
    return np.asarray(Image.fromarray(x).resize((width, height), Image.Resampling[word]))


def _geotiff(path: Path, x: Any, **settings: Any) -> None:
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    profile = {
        "driver": "GTiff", "width": WIDTH, "height": HEIGHT, "count": len(x), "dtype": x.dtype, "crs": "EPSG:32633",
        "transform": rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6), "tiled": True, "blockxsize": 16, "blockysize": 16,
        "photometric": "RGB" if len(x) > 2 else "MINISBLACK", "alpha": "YES",
    }  # fmt: skip
    with rasterio.open(path, "w", **profile | settings) as file:
        file.write(x)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("interleave", ["pixel", "band"])
@pytest.mark.parametrize("word", ["BICUBIC", "BOX", "NEAREST"])
@pytest.mark.parametrize("more", ["", ",mode=MODE"])
def test_a_geotiff_is_what_pillow_makes_of_the_image(
    mode: str, interleave: str, word: str, more: str, tmp_path: Path
) -> None:
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    x = _image(mode)
    _geotiff(tmp_path / "in.tif", np.moveaxis(x, -1, 0), interleave=interleave)
    call = f"pillow:{word}{more.replace('MODE', mode)}"
    line = ["run", str(tmp_path / "in.tif"), "--like", call, "--quiet", "--output"]
    assert main([*line, str(tmp_path / "out.tif"), "--sizes", "31,40"]) == 0
    with rasterio.open(tmp_path / "out.tif") as file:
        np.testing.assert_array_equal(np.moveaxis(file.read(), 0, -1), _by_pillow(x, word, 31, 40))
        assert file.colorinterp[-1] is rasterio.enums.ColorInterp.alpha
    assert main([*line, str(tmp_path / "levels.tif"), "--scales", "0.5", "--levels", "2"]) == 0
    with rasterio.open(tmp_path / "levels.tif", overview_level=1) as file:
        second = _by_pillow(_by_pillow(x, word, 35, 45), word, 17, 22)
        np.testing.assert_array_equal(np.moveaxis(file.read(), 0, -1), second)


@pytest.mark.parametrize(
    ("like", "more", "settings", "problem"),
    [
        ("opencv:area", [], {}, "band 4 is alpha, which this call does not multiply colours by"),
        ("torch:bilinear", [], {}, "expected a call of Pillow on uint8 LA or RGBA, as pillow:bicubic, or nearest"),
        ("pillow:bicubic,mode=RGB", [], {}, "mark it, as by `gdal_translate -colorinterp_4 undefined`"),
        ("pillow:bicubic", ["--nodata", "0"], {}, "missing pixels cannot be combined with alpha"),
        ("pillow:bicubic", [], {"alpha": "PREMULTIPLIED"}, "its colours are multiplied by alpha already"),
    ],
)
def test_sums_that_would_mix_transparent_colours_are_refused(
    like: str, more: list[str], settings: dict[str, str], problem: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    _geotiff(tmp_path / "in.tif", np.moveaxis(_image("RGBA"), -1, 0), **settings)
    line = ["run", str(tmp_path / "in.tif"), "--like", like, "--scales", "0.5", *more]
    assert main([*line, "--output", str(tmp_path / "out.tif")]) == 2
    assert problem in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["in.tif"]


@pytest.mark.parametrize("like", ["opencv:nearest", "torch:nearest"])
def test_copies_mix_nothing(like: str, tmp_path: Path) -> None:
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    x = np.moveaxis(_image("RGBA"), -1, 0)
    _geotiff(tmp_path / "in.tif", x)
    line = ["run", str(tmp_path / "in.tif"), "--like", like, "--scales", "0.5", "--output", str(tmp_path / "out.tif")]
    assert main([*line, "--quiet"]) == 0
    with rasterio.open(tmp_path / "out.tif") as file:
        np.testing.assert_array_equal(file.read(), resize(x, scales=0.5, like=like, axes=(1, 2)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("more", ["", ",reducing_gap=1.5", ",box=3,2.5,80,60"])
def test_channels_may_come_first(mode: str, more: str) -> None:
    x = _image(mode)
    first, call = np.moveaxis(x, -1, 0).copy(), f"pillow:bicubic,mode={mode}{more}"
    expected = np.moveaxis(resize(x, (31, 40), call, axes=(0, 1)), -1, 0)
    np.testing.assert_array_equal(resize(first, (31, 40), call, axes=(1, 2)), expected)
    np.testing.assert_array_equal(resize(first[None], (31, 40), call, axes=(2, 3))[0], expected)
    np.testing.assert_array_equal(resize(first, (31, 40), call, axes=(-2, -1)), expected)
    piece = (slice(1, 2), slice(3, 20), slice(7, 40))
    np.testing.assert_array_equal(resize(first, (31, 40), call, axes=(1, 2), region=piece), expected[piece])
    lazy = resize(dask.array.from_array(first, chunks=(1, 20, 50)), (31, 40), call, axes=(1, 2))
    np.testing.assert_array_equal(lazy.compute(), expected)
    scene = xarray.DataArray(first, dims=("band", "y", "x"))
    np.testing.assert_array_equal(resize(scene, {"y": 31, "x": 40}, call).values, expected)
    order = resize(np.moveaxis(x, (0, 1, 2), (2, 1, 0)), (40, 31), call.split(",box")[0], axes=(1, 2))
    assert order.shape == (MODES[mode], 40, 31)


def test_an_image_without_channels_has_no_alpha() -> None:
    with pytest.raises(IrInterpError, match="has no axis of channels, the last of them alpha"):
        resize(_image("LA")[..., 0], (31, 40), "pillow:bicubic,mode=LA")


FOUR_BANDS: tuple[tuple[dict[str, str], bool], ...] = (
    ({"photometric": "RGB", "alpha": "UNSPECIFIED"}, False),
    ({"photometric": "RGB", "alpha": "NO"}, False),
    ({"photometric": "RGB", "alpha": "YES"}, True),
    ({"photometric": "RGB"}, False),
    ({"photometric": "MINISBLACK"}, False),
    ({}, True),  # GDAL marks the fourth of four uint8 bands as alpha unless told otherwise
)


@pytest.mark.parametrize(("settings", "has_alpha"), FOUR_BANDS, ids=str)
@pytest.mark.parametrize("is_placed", [True, False], ids=["georeferenced", "plain"])
@pytest.mark.filterwarnings("ignore:Dataset has no geotransform")
def test_only_a_band_marked_as_alpha_is_alpha(
    settings: dict[str, str], has_alpha: bool, is_placed: bool, tmp_path: Path
) -> None:
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    x = np.moveaxis(_image("RGBA"), -1, 0)
    place = {"crs": "EPSG:32633", "transform": rasterio.Affine(10, 0, 5e5, 0, -10, 4.6e6)} if is_placed else {}
    size = {"driver": "GTiff", "width": WIDTH, "height": HEIGHT, "count": 4, "dtype": "uint8"}
    with rasterio.open(tmp_path / "in.tif", "w", **size, **settings, **place) as file:
        file.write(x)
    line = ["run", str(tmp_path / "in.tif"), "--like", "pillow:bicubic", "--sizes", "31,40", "--quiet", "--output"]
    assert main([*line, str(tmp_path / "out.tif")]) == 0
    with rasterio.open(tmp_path / "in.tif") as source, rasterio.open(tmp_path / "out.tif") as y:
        assert y.colorinterp == source.colorinterp
        assert (y.colorinterp[-1] is rasterio.enums.ColorInterp.alpha) == has_alpha
        bands = [_by_pillow(band, "BICUBIC", 31, 40) for band in x]
        image = np.moveaxis(_by_pillow(np.moveaxis(x, 0, -1), "BICUBIC", 31, 40), -1, 0)
        np.testing.assert_array_equal(y.read(), image if has_alpha else bands)


def test_a_band_beside_the_colours_is_never_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    path, settings = tmp_path / "in.tif", {"photometric": "RGB", "alpha": "UNSPECIFIED"}
    _geotiff(path, np.moveaxis(_image("RGBA"), -1, 0), **settings)
    line = ["--like", "pillow:bicubic", "--scales", "0.5"]
    assert main(["run", str(path), *line, "--output", str(tmp_path / "out.png")]) == 2
    assert main(["compare", str(path), *line, "--like", "opencv:area"]) == 2
    problem = "has bands beside its colours, of which 1 would be lost; expected grey or RGB, with or without alpha"
    assert " ".join(capsys.readouterr().err.split()).count(problem) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["in.tif"]
    assert rasterio.open(path).colorinterp[3] is rasterio.enums.ColorInterp.undefined


def test_alpha_by_mistake_is_unmarked_as_the_message_says(tmp_path: Path) -> None:
    """What `gdal_translate -colorinterp_4 undefined` does: a virtual copy with another meaning, written anew."""
    rasterio = pytest.importorskip("rasterio", reason="pip install 'ir-interp[geo]'")
    shutil = pytest.importorskip("rasterio.shutil", reason="pip install 'ir-interp[geo]'")
    x = np.moveaxis(_image("RGBA"), -1, 0)
    _geotiff(tmp_path / "marked.tif", x)
    shutil.copy(tmp_path / "marked.tif", tmp_path / "in.vrt", driver="VRT")
    text = (tmp_path / "in.vrt").read_text().replace("<ColorInterp>Alpha<", "<ColorInterp>Undefined<")
    (tmp_path / "in.vrt").write_text(text)
    shutil.copy(tmp_path / "in.vrt", tmp_path / "in.tif", driver="GTiff")
    assert rasterio.open(tmp_path / "in.tif").colorinterp[3] is rasterio.enums.ColorInterp.undefined
    line = ["run", str(tmp_path / "in.tif"), "--like", "opencv:area", "--scales", "0.5", "--quiet"]
    assert main([*line, "--output", str(tmp_path / "out.tif")]) == 0
    with rasterio.open(tmp_path / "out.tif") as y:
        np.testing.assert_array_equal(y.read(), resize(x, scales=0.5, like="opencv:area", axes=(1, 2)))
