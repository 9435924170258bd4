"""``identify``: the call, the versions that agree, and the steps around it; a JPEG saved afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageOps

import ir_interp
from ir_interp import ReadError, ShapeError
from ir_interp.cli.main import main
from ir_interp.origins import search
from ir_interp.origins.candidates import Identified

Array = NDArray[Any]


def picture(height: int, width: int, channels: int = 3) -> Array:
    """Return an image of waves, an edge and a little noise; none of its turns looks alike."""
    rows, columns = np.mgrid[0:height, 0:width]
    planes = [120 + 60 * np.sin(rows / (3 + place)) * np.cos(columns / 5) + 50 * (rows > columns + 9 * place)
              for place in range(channels)]  # fmt: skip
    image = np.stack(planes, 2) + np.random.default_rng(0).normal(size=(height, width, channels))
    y: Array = np.clip(image if channels > 1 else image[:, :, 0], 0, 255).astype(np.uint8)
    return y


def pillow(x: Array, height: int, width: int, name: str = "BICUBIC") -> Array:
    return np.asarray(Image.fromarray(np.ascontiguousarray(x)).resize((width, height), Image.Resampling[name]))


def opencv(x: Array, height: int | None = None, width: int | None = None, **factors: float) -> Array:
    """Return what cv2.resize makes of an image, whose bytes the sweep of libraries compares."""
    sizes = None if height is None or width is None else (height, width)
    scales = (factors["fy"], factors["fx"]) if factors else None
    return ir_interp.resize(np.ascontiguousarray(x), ir_interp.spec("opencv"), sizes=sizes, scales=scales)


def padded(y: Array, height: int, width: int, top: int, left: int, colour: int) -> Array:
    canvas = np.full((height, width, 3), colour, np.uint8)
    canvas[top : top + y.shape[0], left : left + y.shape[1]] = y
    return canvas


X = picture(70, 90)
GREY = "pillow:BICUBIC,mode=L"
RESULTS: dict[str, tuple[Array, Array, str, str]] = {
    "factors": (X, opencv(X, fx=0.47, fy=0.47), "opencv:INTER_LINEAR", "by factors fy=0.47, fx=0.47"),
    "two factors": (X, opencv(X, fx=0.4, fy=0.53), "opencv:INTER_LINEAR", "by factors fy=0.53, fx=0.4"),
    "BGR": (X, pillow(X, 30, 40)[:, :, ::-1], "pillow:BICUBIC", "channels reversed (BGR)"),
    "grey": (X[:, :, 0], pillow(np.repeat(X[:, :, :1], 3, 2), 30, 40), "pillow:BICUBIC", "grey to RGB"),
    "alpha": (picture(70, 90, 4), pillow(picture(70, 90, 4)[:, :, :3], 30, 40), "pillow:BICUBIC", "alpha dropped"),
    "letterbox": (X, padded(opencv(X, 50, 64), 64, 64, 7, 0, 114), "opencv:INTER_LINEAR", "fitted, centred, padded"),
    "corner": (
        X,
        padded(opencv(X, 50, 64), 64, 64, 0, 0, 0),
        "opencv:INTER_LINEAR",
        "fitted, in the upper left corner",
    ),
    "anywhere": (X, padded(opencv(X, 40, 40), 64, 64, 3, 9, 7), "opencv:INTER_LINEAR", "padded"),
    "crop after": (X, pillow(X, 48, 61)[3:45, 10:52], "pillow:BICUBIC", "shorter side resized to 48, centre crop"),
    "square": (X, pillow(X, 48, 48)[3:45, 3:45], "pillow:BICUBIC", "resized to 48x48, centre crop"),
    "RGB to grey": (X, np.asarray(Image.fromarray(X).convert("L").resize((40, 30), 3)), GREY, "RGB to grey"),
    "fit": (X, np.asarray(ImageOps.fit(Image.fromarray(X), (40, 40))), "pillow:BICUBIC", "ImageOps.fit"),
    "tall fit": (X, np.asarray(ImageOps.fit(Image.fromarray(X), (20, 33), 1)), "pillow:LANCZOS", "ImageOps.fit"),
    "crop before": (X, pillow(X[:, 10:80], 40, 40), "pillow:BICUBIC", "centre crop, a square of 70"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", RESULTS)
def test_steps_around_a_call(name: str) -> None:
    before, after, call, step = RESULTS[name]
    answer = ir_interp.identify([(before, after)])
    assert (answer.call, answer.is_sure) == (call, True), answer.text
    assert any(step in "; ".join(each.steps) for each in answer.fitting)
    assert answer.text.startswith(call)


def test_nearest_pixels_of_a_crop_are_those_of_several_libraries() -> None:
    """Pillow's ``ImageOps.fit`` resizes a box, and takes the same pixels."""
    nearest = ir_interp.load("opencv:INTER_NEAREST_EXACT")[0].spec
    answer = ir_interp.identify([(X, ir_interp.resize(np.ascontiguousarray(X[:, 10:80]), nearest, sizes=(33, 33)))])
    assert {"pillow:NEAREST", "torch:nearest-exact"} <= {name for each in answer.fitting for name in each.names}
    assert not answer.is_sure


@pytest.mark.long
def test_two_resizes_are_told_and_not_sure() -> None:
    """Only the likeliest earlier resizes are tried."""
    answer = ir_interp.identify([(X, opencv(pillow(X, 35, 45), 20, 29))])
    assert "pillow:BICUBIC, then opencv:INTER_LINEAR" in {name for each in answer.fitting for name in each.names}
    assert not answer.is_sure
    assert answer.fitting[0].steps[0].startswith("after a resize to 1/2 by ")
    assert "further steps: not excluded" in answer.text


def test_the_orientation_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(X).save(tmp_path / "x.png", exif=exif)
    with Image.open(tmp_path / "x.png") as image:
        ImageOps.exif_transpose(image).resize((30, 40), Image.Resampling.LANCZOS).save(tmp_path / "y.png")
    assert main(["identify", str(tmp_path / "x.png"), str(tmp_path / "y.png")]) == 0
    assert capsys.readouterr().out.startswith("pillow:LANCZOS; EXIF orientation 6: equal, all 3600 values\n")


def saved(folder: Path, after: Array, **options: Any) -> Identified:
    """Return the answer for X and a JPEG file."""
    Image.fromarray(X2).save(folder / "x.png")
    Image.fromarray(after).save(folder / "y.jpg", **options)
    return ir_interp.identify([(folder / "x.png", folder / "y.jpg")])


X2 = picture(112, 128)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("quality", [30, 75, 85, 95, 100])
@pytest.mark.parametrize("name", ["BICUBIC", "LANCZOS"])
def test_a_jpeg_saved_afterwards(tmp_path: Path, quality: int, name: str) -> None:
    """Torch's filters differ from Pillow's by 1 in few values, which a JPEG hides; no other kernel fits."""
    answer = saved(tmp_path, pillow(X2, 64, 80, name), quality=quality)
    kernels = {each.split(":")[1].split(",")[0].lower() for candidate in answer.fitting for each in candidate.calls}
    assert kernels == {name.lower()}
    assert "pillow" in {each.partition(":")[0].partition("@")[0] for each in answer.fitting[0].calls}
    (none,) = (each for each in answer.candidates if not each.calls)
    assert not none.fits
    assert sum(each.likelihood or 0.0 for each in answer.candidates) == pytest.approx(1)


def test_a_jpeg_of_a_call_that_no_other_resembles(tmp_path: Path) -> None:
    answer = saved(tmp_path, opencv(X2, 64, 80), quality=75)
    assert (answer.call, answer.is_sure, answer.versions) == ("opencv:INTER_LINEAR", True, (5, 4))
    assert "likelihood 1, 0 of " in answer.text


def test_a_jpeg_of_another_pipeline_is_none_of_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The resize of linear light is no call; the nearest is not taken for it, without crops and two resizes."""
    monkeypatch.setattr(search, "_STAGES", dict(list(search._STAGES.items())[:5]))
    linear = pillow((255 * (X2 / 255) ** 2.2).astype(np.uint8), 48, 56)
    answer = saved(tmp_path, (255 * (linear / 255) ** (1 / 2.2)).astype(np.uint8), quality=85)
    assert not answer.is_sure
    (none,) = (each for each in answer.candidates if not each.calls)
    assert none.fits
    assert (none.likelihood or 0.0) > 0.99


@pytest.mark.parametrize("quality", [82, 85])
def test_a_small_smooth_jpeg(tmp_path: Path, quality: int) -> None:
    """Rounded pixels of its flat blocks do not tell which multiples the file stores."""
    rows, columns = np.mgrid[-1:1:240j, -1:1:320j]
    rings = 127.5 + 127.5 * np.cos(120 * (rows**2 + columns**2))
    Image.fromarray(rings.round().astype(np.uint8)).save(tmp_path / "x.png")
    with Image.open(tmp_path / "x.png") as image:
        image.resize((60, 45), Image.Resampling.BICUBIC).save(tmp_path / "y.jpg", quality=quality)
    answer = ir_interp.identify([(tmp_path / "x.png", tmp_path / "y.jpg")])
    assert "pillow:BICUBIC,mode=L" in {name for each in answer.fitting for name in each.names}, answer.text
    assert not any(each.fits for each in answer.candidates if not each.calls)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["y.png", "y.jpg"])
def test_a_thumbnail_of_a_jpeg_is_of_its_draft(tmp_path: Path, name: str) -> None:
    """323 pixels at 1/2 are 162, of which ``Image.thumbnail`` resizes 161.5."""
    Image.fromarray(picture(241, 323)).save(tmp_path / "x.jpg", quality=90)
    with Image.open(tmp_path / "x.jpg") as image:
        image.thumbnail((40, 40))
        image.save(tmp_path / name)
    answer = ir_interp.identify([(tmp_path / "x.jpg", tmp_path / name)])
    assert (answer.call, answer.is_sure) == ("pillow:BICUBIC,reducing_gap=2.0", True), answer.text
    assert {each.steps for each in answer.fitting} == {("decoded by Image.draft at 1/2",)}


def test_jpegs_that_show_nothing_are_not_sure(tmp_path: Path) -> None:
    """At the coarsest tables a flat image fits every call."""
    Image.fromarray(np.full((64, 64, 3), 90, np.uint8)).save(tmp_path / "x.png")
    Image.fromarray(np.full((32, 24, 3), 90, np.uint8)).save(tmp_path / "y.jpg", quality=1)
    answer = ir_interp.identify([(tmp_path / "x.png", tmp_path / "y.jpg")])
    assert not answer.is_sure
    assert len(answer.fitting) > 20


def test_few_values_are_not_sure() -> None:
    """Nine values tell calls apart, and may agree by chance with a pipeline that is not tried."""
    x = np.random.default_rng(0).integers(0, 256, (9, 9, 3)).astype(np.uint8)
    answer = ir_interp.identify([(x, pillow(x, 1, 3, "HAMMING"))])
    assert (answer.call, answer.telling, answer.is_sure) == ("pillow:HAMMING", 9, False)
    assert "another library, other settings or further steps are not excluded: 9 values" in answer.text


def test_versions_that_differ() -> None:
    """Pillow 13 filters the columns of a tall image first."""
    x = np.random.default_rng(0).integers(0, 256, (200, 50, 3)).astype(np.uint8)
    spec = ir_interp.spec("pillow", resample="BICUBIC", version=12)
    answer = ir_interp.identify([(x, ir_interp.resize(x, spec, sizes=(22, 22)))])
    assert (answer.call, answer.versions, answer.is_sure) == ("pillow:BICUBIC", (12, 11), True)


def _colours(path: Path) -> None:
    Image.fromarray(X).convert("CMYK").save(path)


def _rgb(path: Path) -> None:
    Image.fromarray(X).save(path, keep_rgb=True)


@pytest.mark.parametrize(("write", "mode"), [(_colours, "RGB|CMYK"), (_rgb, "RGB")])
def test_jpegs_without_luminance(tmp_path: Path, write: Callable[[Path], None], mode: str) -> None:
    write(tmp_path / "y.jpg")
    Image.fromarray(X).save(tmp_path / "x.png")
    with pytest.raises(ReadError):
        ir_interp.identify([(tmp_path / "x.png", tmp_path / "y.jpg")])


def test_pairs_that_are_none(tmp_path: Path) -> None:
    Image.fromarray(X).save(tmp_path / "x.png")
    Image.fromarray(X).save(tmp_path / "y.jpg")
    with pytest.raises(ShapeError, match="images of 3 and 2 channels are not a pair"):
        ir_interp.identify([(X, X[:, :, :2])])
    with pytest.raises(ShapeError, match="some of the resized images are JPEG files; expected all of them, or none"):
        ir_interp.identify([(tmp_path / "x.png", tmp_path / "x.png"), (tmp_path / "x.png", tmp_path / "y.jpg")])
    with pytest.raises(ShapeError, match="expected one of each"):
        ir_interp.identify([(X, X), (X[:, :, 0], X[:, :, 0])])
