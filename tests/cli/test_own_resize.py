"""``ir-interp run`` without a library's name: files of every kind and type, photos with EXIF, folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import ir_interp
from tests.support.commands import command

Say = pytest.CaptureFixture[str]
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
KERNELS = ("linear", "cubic", "area", "nearest", "lanczos", "mode")
RNG = np.random.default_rng(0)
resize: Any = ir_interp.resize


def classes(dtype: str, shape: tuple[int, ...] = (8, 12)) -> Any:
    return RNG.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)


def own(x: Any, sizes: tuple[int, int], kernel: str, **more: Any) -> Any:
    widens = kernel in ("linear", "cubic", "lanczos")
    return resize(x, sizes, kernel=kernel, **({"antialias": True} if widens else {}), **more)


def run(capsys: Say, *arguments: object) -> tuple[int, str, str]:
    return command(capsys, "run", *map(str, arguments))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "bool", "float16"])
def test_arrays(tmp_path: Path, dtype: str, capsys: Say) -> None:
    x = classes(dtype)
    np.save(tmp_path / "x.npy", x)
    for kernel in KERNELS:
        code, out, err = run(
            capsys, tmp_path / "x.npy", "--scales", ".5", "--kernel", kernel, "--output", tmp_path / "y.npy"
        )
        assert (code, err) == (0, "")
        assert f"own:{kernel}: 8x12 -> 4x6 {dtype}" in out
        y = np.load(tmp_path / "y.npy")
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y, own(x, (4, 6), kernel))


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_zarr_and_tiff(tmp_path: Path, dtype: str, capsys: Say) -> None:
    """In chunks and blocks, as in memory; GeoTIFF keeps its bounds."""
    zarr, rasterio = pytest.importorskip("zarr"), pytest.importorskip("rasterio")
    x = classes(dtype, (40, 56))
    zarr.create_array(tmp_path / "x.zarr", data=x, chunks=(16, 24))
    transform = rasterio.Affine(10, 0, 500, 0, -10, 4000)
    profile = {"driver": "GTiff", "height": 40, "width": 56, "count": 1, "dtype": dtype, "crs": "EPSG:32633"}
    profile |= {"tiled": True, "blockxsize": 16, "blockysize": 16}
    with rasterio.open(tmp_path / "x.tif", "w", transform=transform, **profile) as file:
        file.write(x, 1)
    for kernel in ("linear", "area", "mode", "nearest"):
        for kind in ("zarr", "tif"):
            made = tmp_path / f"{kernel}.{kind}"
            more = ("--size", "20,21") if kind == "tif" else ("--sizes", "20,21", "--dims", "0,1")
            assert run(capsys, tmp_path / f"x.{kind}", "--kernel", kernel, *more, "--output", made)[0] == 0
        stored: Any = zarr.open_array(tmp_path / f"{kernel}.zarr", mode="r")
        np.testing.assert_array_equal(stored[:], own(x, (20, 21), kernel))
        with rasterio.open(tmp_path / f"{kernel}.tif") as file:
            np.testing.assert_array_equal(file.read(1), own(x, (20, 21), kernel))
            assert tuple(file.bounds) == (500, 3600, 1060, 4000)


def test_a_raster_of_its_own_coordinates_stays(tmp_path: Path, capsys: Say) -> None:
    rasterio = pytest.importorskip("rasterio")
    transform = rasterio.Affine(10, 2, 500, 1, -10, 4000)  # rotated
    columns, rows = np.meshgrid(np.arange(60) + 0.5, np.arange(40) + 0.5)
    x = np.stack([transform.a * columns + transform.b * rows + 500, transform.d * columns + transform.e * rows + 4000])
    profile = {"driver": "GTiff", "height": 40, "width": 60, "count": 2, "dtype": "float64", "crs": "EPSG:32633"}
    with rasterio.open(tmp_path / "x.tif", "w", transform=transform, **profile) as file:
        file.write(x)
    for kernel in KERNELS[:-1]:
        for sizes in ((20, 30), (13, 17), (80, 90)):
            made = tmp_path / f"{kernel}{sizes[0]}.tif"
            size = ",".join(map(str, sizes))
            assert run(capsys, tmp_path / "x.tif", "--size", size, "--kernel", kernel, "--output", made)[0] == 0
            with rasterio.open(made) as file:
                found, moved = file.read(), file.transform
            columns, rows = np.meshgrid(np.arange(sizes[1]) + 0.5, np.arange(sizes[0]) + 0.5)
            places = [moved.a * columns + moved.b * rows + moved.c, moved.d * columns + moved.e * rows + moved.f]
            inner = (slice(None), slice(4, -4), slice(4, -4))
            copies = kernel == "nearest" or (kernel == "area" and sizes[0] > 40)  # a pixel that may be half of it away
            allowed = 12 if copies else 2.5  # metres, of which a pixel has 10 along each axis
            assert np.abs(found - places)[inner].max() <= allowed, (kernel, sizes)


def test_random_rasters_are_those_of_gdal(tmp_path: Path) -> None:
    """A few rows of the sweep, which explains every difference."""
    rasterio = pytest.importorskip("rasterio")
    from collections import Counter

    from tests.sweeps.rasters import KERNELS, compared, drawn

    counts, rng = Counter[str](), np.random.default_rng(5)
    for _ in range(5):
        path, kind = drawn(tmp_path, rng)
        with rasterio.open(path) as file:
            sizes = (file.height // 2 + 1, file.width // 3 + 1)
        for kernel in KERNELS:
            if kind != "palette" or kernel in ("nearest", "mode"):
                compared(path, kernel, sizes, counts, rng)
    assert counts["UNEXPLAINED"] == 0
    assert counts["equal"] > counts["outputs"] / 3


def test_images(tmp_path: Path, capsys: Say) -> None:
    x = RNG.integers(0, 256, (48, 64, 3), np.uint8)
    pictures = {
        "rgb": Image.fromarray(x),
        "grey": Image.fromarray(x[..., 0]),
        "deep": Image.fromarray(RNG.integers(0, 65536, (48, 64), np.uint16)),
        "alpha": Image.fromarray(np.dstack([x, x[..., :1]])),
        "palette": Image.fromarray(x).quantize(16),
        "mask": Image.fromarray(x[..., 0] > 127),
    }
    for name, picture in pictures.items():
        path, made = tmp_path / f"{name}.png", tmp_path / f"{name}.small.png"
        picture.save(path)
        for kernel in KERNELS:
            code, _, err = run(capsys, path, "--size", "21,29", "--kernel", kernel, "--output", made)
            is_of_classes = name in ("palette", "mask")
            is_taken = kernel == "nearest" or (kernel == "mode") <= (name not in ("rgb", "alpha"))
            if is_of_classes and kernel not in ("nearest", "mode"):
                assert code == 2
                assert f"{name}.png: pixels of mode " in err
                assert "which is not averaged; name nearest or mode as --kernel, or " in err
            elif is_taken:
                assert (code, err) == (0, ""), (name, kernel)
                with Image.open(made) as y:
                    assert y.mode == picture.mode
                    np.testing.assert_array_equal(np.asarray(y), np.asarray(own(picture, (21, 29), kernel)))
            else:
                assert "kernel mode takes one band, of classes" in err


def test_orientation_and_profile(tmp_path: Path, capsys: Say) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010F] = "a camera"
    x = np.zeros((40, 60, 3), np.uint8)
    x[:, :30] = 200
    Image.fromarray(x).save(tmp_path / "x.jpg", exif=exif, icc_profile=b"a profile", quality=95)
    made = tmp_path / "y.jpg"
    assert run(capsys, tmp_path / "x.jpg", "--scales", ".5", "--output", made)[0] == 0
    with Image.open(made) as y:
        assert y.size == (30, 20)
        assert (y.getexif()[0x0112], y.getexif()[0x010F]) == (6, "a camera")
        assert y.info["icc_profile"] == b"a profile"
    assert run(capsys, tmp_path / "x.jpg", "--size", "30,20", "--orientation", "apply", "--output", made)[0] == 0
    with Image.open(made) as y:
        assert y.size == (20, 30)
        assert 0x0112 not in y.getexif()
        assert y.getexif()[0x010F] == "a camera"
        rows = np.asarray(y)[:, 10, 0].astype(int)
        assert rows[0] > 180 > 20 > rows[-1]  # the left half is the upper one now


def test_quality(tmp_path: Path, capsys: Say) -> None:
    Image.fromarray(RNG.integers(0, 256, (64, 64, 3), np.uint8)).save(tmp_path / "x.png")
    sizes = []
    for quality in (30, 95):
        made = tmp_path / f"{quality}.jpg"
        arguments = (tmp_path / "x.png", "--scales", "1", "--quality", quality, "--output", made)
        assert run(capsys, *arguments)[0] == 0
        sizes.append(made.stat().st_size)
    assert sizes[0] < sizes[1]


REFUSED = [
    (("x.png", "--size", "224"), "--sizes 224: one size for two axes; expected height and width, as in 224,224"),
    (("x.png",), "the output size is missing; give --sizes 224,224 or --scales 0.5"),
    (("x.png", "--size", "4,4", "--like", "pillow:box", "--kernel", "area"), "--kernel has no effect with --like"),
    (("x.png", "--size", "4,4", "--arithmetic", "exact"), "--arithmetic has no effect on x.png"),
    (("x.png", "--size", "4,4", "--to", ".jpg"), "--to has no effect on x.png"),
    (("x.png", "--size", "4,4", "--memory", "1GiB"), "it goes with .zarr to .zarr and TIFF to TIFF or .zarr"),
    (("gif.gif", "--size", "4,4"), "gif.gif: holds 2 images; expected one: save each of them as a file"),
    (("cmyk.jpg", "--size", "4,4"), "cmyk.jpg: images of mode CMYK are not taken"),
    (("deep.png", "--size", "4,4"), "deep.png: its colours of 16 bits would be cut to 8; save its pixels as an array"),
]


def _deep_png() -> bytes:
    """Return a PNG of one RGB pixel of 16 bits, which Pillow writes not."""
    import struct
    import zlib

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", 1, 1, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(7))) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("arguments", "said"), REFUSED)
def test_what_is_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path, capsys: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    x = RNG.integers(0, 256, (8, 8, 3), np.uint8)
    Image.fromarray(x).save("x.png")
    Image.fromarray(x).convert("CMYK").save("cmyk.jpg")
    Image.fromarray(x[..., 0]).save("gif.gif", save_all=True, append_images=[Image.fromarray(x[..., 1])])
    Path("deep.png").write_bytes(_deep_png())
    code, _, err = run(capsys, *arguments, "--output", "y.png")
    assert code == 2
    assert said in err
    assert not Path("y.png").exists()


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Return a folder of three photos, one of them in a folder of its own, and a file that is cut off."""
    folder = tmp_path / "photos"
    (folder / "trip").mkdir(parents=True)
    for name in ("a.jpg", "b.png", "trip/c.jpg"):
        Image.fromarray(RNG.integers(0, 256, (30, 40, 3), np.uint8)).save(folder / name)
    (folder / "bad.jpg").write_bytes((folder / "a.jpg").read_bytes()[:200])
    (folder / "notes.txt").write_text("no image")
    return folder


def written(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_folder(photos: Path, tmp_path: Path, capsys: Say) -> None:
    small = tmp_path / "small"
    arguments = (photos, "--size", "12,16", "--to", "png", "--kernel", "area", "--output", small)
    for jobs in (1, 2):
        code, out, err = run(capsys, *arguments, "--jobs", jobs)
        assert code == 2
        assert out == f"own:area: 3 images, 1 file with errors, {small}\n"
        assert err.startswith(f"error: {photos / 'bad.jpg'}: cannot be read as an image")
        assert written(small) == ["a.png", "b.png", "trip/c.png"]
    with Image.open(photos / "b.png") as x, Image.open(small / "b.png") as y:
        np.testing.assert_array_equal(np.asarray(y), own(np.asarray(x), (12, 16), "area", axes=(0, 1)))


def test_a_folder_as_a_library(photos: Path, tmp_path: Path, capsys: Say) -> None:
    (photos / "bad.jpg").unlink()
    small = tmp_path / "small"
    arguments = (photos, "--size", "12,16", "--like", "pillow:bicubic", "--output", small, "--json")
    code, out, _ = run(capsys, *arguments)
    record = json.loads(out)
    assert (code, record["images"], record["errors"]) == (0, 3, [])
    with Image.open(photos / "b.png") as x, Image.open(small / "b.png") as y:
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x.resize((16, 12), Image.Resampling.BICUBIC)))


def test_several_files_and_patterns(photos: Path, tmp_path: Path, capsys: Say) -> None:
    small = tmp_path / "small"
    code, _, err = run(capsys, photos / "b.png", photos / "a.jpg", "--scales", ".5", "--output", small)
    assert (code, err) == (0, "")
    assert written(small) == ["a.jpg", "b.png"]
    code, out, _ = run(capsys, photos / "*.jpg", "--scales", ".5", "--output", tmp_path / "jpegs")
    assert (code, written(tmp_path / "jpegs")) == (2, ["a.jpg"])
    assert "1 image, 1 file with errors" in out


OF_FOLDERS = [
    (("photos", "--output", "small.png"), "--output 'small.png' is the name of a file; expected that of a folder"),
    (("photos", "--output", "photos"), "is an input and would be overwritten; choose another folder"),
    (("photos", "--output", "small", "--to", "doc"), "--to 'doc': expected one of .bmp, .gif, .jpeg, .jpg, .npy, .pgm"),
    (
        ("photos", "photos/trip/c.jpg", "photos/a.jpg", "--output", "small", "--nodata", "0"),
        "--nodata has no effect on",
    ),
    (("empty", "--output", "small"), "empty: no image; expected files that end in .bmp"),
    (("photos", "twins/a.jpg", "--output", "small"), "would both become small/a.jpg; resize them to two folders"),
]


@pytest.mark.parametrize(("arguments", "said"), OF_FOLDERS)
def test_folders_that_are_refused(
    arguments: tuple[str, ...], said: str, photos: Path, capsys: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(photos.parent)
    for name in ("empty", "twins"):
        Path(name).mkdir()
    Path("twins/a.jpg").write_bytes(Path("photos/a.jpg").read_bytes())
    before = written(photos)
    code, _, err = run(capsys, *arguments, "--size", "4,4")
    assert code == 2
    assert said in err
    assert written(photos) == before
    assert not Path("small").exists()
