"""Image libraries on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import zarr
from PIL import Image

import ir_interp
from ir_interp import ShapeError, identify
from ir_interp.cli.main import main
from ir_interp.libraries import get
from ir_interp.origins import search
from ir_interp.views.image_arrays import pixels
from tests.support.graphs import save_model

PILLOW = get("pillow").version()
Say = pytest.CaptureFixture[str]


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    rows, columns = np.mgrid[0:48, 0:64]
    pixels = np.stack([127 + 127 * np.sin((rows**2 + columns**2) / 90), columns * 4, rows * 5], 2)
    path = tmp_path / "photo.png"
    Image.fromarray(pixels.astype(np.uint8)).save(path)
    return path


def small(photo: Path, name: str = "small.png") -> Path:
    path = photo.with_name(name)
    with Image.open(photo) as image:
        image.resize((20, 30), Image.Resampling.BICUBIC).save(path)
    return path


def held(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    with Image.open(path) as image:
        return np.array(image)


def test_run_like(photo: Path, capsys: Say) -> None:
    made = photo.with_name("made.png")
    assert main(["run", str(photo), "--like", "pillow:bicubic", "--sizes", "30,20", "--output", str(made)]) == 0
    assert np.array_equal(held(made), held(small(photo)))
    assert f"pillow {PILLOW}, pillow:bicubic: 48x64x3 -> 30x20x3 uint8" in capsys.readouterr().out
    assert main(["run", str(photo), "--like", "torch:bilinear", "--scales", "2,2", "--output", str(made)]) == 0
    assert held(made).shape == (96, 128, 3)


def test_run_like_takes_the_mode_of_the_image(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 4)).astype(np.uint8)
    source, made = tmp_path / "x.png", tmp_path / "y.png"
    Image.fromarray(pixels).save(source)
    assert main(["run", str(source), "--like", "pillow:lanczos", "--sizes", "11,9", "--output", str(made), "-q"]) == 0
    wanted = Image.fromarray(pixels).resize((9, 11), Image.Resampling.LANCZOS)
    assert np.array_equal(held(made), np.asarray(wanted))


FLOATS = "floats may differ from torch's in their last places"
BY_PROCESSOR = "these are the values of processors with AVX-512; on others up to 6 in 10**5 values differ by 1"


@pytest.mark.parametrize(
    ("like", "dtype", "caveat"),
    [
        ("torch:bilinear", "float32", FLOATS),
        ("torch:bilinear", "uint8", ""),
        ("torch:nearest", "float32", ""),
        ("opencv:cubic", "uint8", BY_PROCESSOR),
        ("opencv:cubic,ipp=false", "uint8", ""),
        ("opencv:cubic", "uint16", BY_PROCESSOR.replace("6 in 10**5 values differ", "1 in 1600 values differs")),
        ("opencv:area", "uint8", ""),
        ("pillow:bicubic", "uint8", ""),
    ],
)
def test_run_says_which_values_may_differ(like: str, dtype: str, caveat: str, tmp_path: Path, capsys: Say) -> None:
    x = (np.random.default_rng(0).random((24, 30)) * 250).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    zarr.create_array(tmp_path / "x.zarr", data=x, chunks=(24, 30))
    for name in ("x.npy", "x.zarr"):
        line = [
            "run",
            str(tmp_path / name),
            "--like",
            like,
            "--sizes",
            "12,15",
            "--output",
            str(tmp_path / f"y-{name}"),
        ]
        assert main(line) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert said.endswith(f"y-{name}; {caveat}" if caveat else f"y-{name}")


def test_compare_like(photo: Path, capsys: Say) -> None:
    calls = ["--like", "pillow:bicubic", "--like", "opencv:cubic", "--sizes", "30,20"]
    assert main(["compare", str(photo), *calls]) == 1
    assert capsys.readouterr().out.startswith("pillow:bicubic and opencv:cubic: ")
    picture = photo.with_name("apart.svg")
    assert main(["compare", str(photo), *calls, "--json", "--picture", str(picture)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["count"] == 1800
    assert found["largest"] > 10
    assert picture.stat().st_size > 1000
    same = ["--like", "pillow@12:box", "--like", "pillow@13:box", "--sizes", "24,32"]
    assert main(["compare", str(photo), *same]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "P", "--output", "y.png"], "the output size is missing; give --sizes 224,224 or --scales 0.5"),
        (
            ["run", "P", "--like", "pillow:box", "--layer", "up", "--output", "y.png"],
            "--layer has no effect with --like",
        ),
        (
            ["run", "P", "--like", "pillow:box", "--sizes", "2,2", "--memory", "1GiB", "--output", "y.png"],
            "to y.png; it goes with .zarr to .zarr and TIFF to TIFF or .zarr",
        ),
        (["run", "P", "--like", "pillow:bx", "--sizes", "2,2", "--output", "y.png"], "unknown value 'bx'"),
        (["run", "P", "--like", "pillow:box", "--output", "y.png"], "sizes or scales are missing"),
        (["compare", "P"], "SECOND is missing: a model; or --like"),
        (["compare", "P", "--like", "pillow:box"], "--like has 1 call for 1 file"),
        (["compare", "P", "Q", "--sizes", "2,2"], "--sizes has no effect without --like"),
        (["identify", "P", "P.txt"], "No such file"),
        (
            ["run", "P", "--like", "pillow:box,mode=RGBA", "--sizes", "3,3", "--output", "y.png"],
            "pillow:box,mode=RGBA takes the last channel for alpha, of 2 or 4; this image has 3",
        ),
    ],
)
def test_mistakes(photo: Path, capsys: Say, arguments: list[str], said: str) -> None:
    assert main([str(photo) if each == "P" else each for each in arguments]) == 2
    assert said in capsys.readouterr().err


def test_identify(photo: Path, capsys: Say) -> None:
    assert main(["identify", str(photo), str(small(photo))]) == 0
    first, versions, none, further = capsys.readouterr().out.splitlines()
    assert (first, versions) == ("pillow:BICUBIC: equal, all 1800 values", "  versions 13, 12 and 11 agree")
    assert none == "  no other call explains all 1800 values"
    assert further == "to tell the versions apart, test an image of 64x30 resized to 21x28"
    for folder, name in (("a", photo), ("b", small(photo, "small.png"))):
        photo.with_name(folder).mkdir()
        photo.with_name(folder).joinpath("x.png").write_bytes(name.read_bytes())
    assert main(["identify", str(photo.with_name("a")), str(photo.with_name("b")), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert "pillow@13:BICUBIC" in record["fitting"][0]["calls"]
    assert (record["sure"], record["call"], record["versions"]) == (True, "pillow:BICUBIC", [13, 12, 11])
    assert [each["fits"] for each in record["none_of_these"]] == [False]


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``identify`` try calls with no other step than orientation and channels: all take seconds where none fits."""
    monkeypatch.setattr(search, "_STAGES", dict(list(search._STAGES.items())[:3]))


@pytest.mark.usefixtures("few_steps")
def test_boxes_and_gaps(photo: Path, capsys: Say) -> None:
    made = photo.with_name("made.png")
    with Image.open(photo) as image:
        wanted = np.asarray(image.resize((10, 7), box=(1.5, 2, 60, 47.25), reducing_gap=2.0))
        small = np.asarray(image.resize((5, 4), Image.Resampling.BICUBIC, reducing_gap=2.0))
    call = "pillow:bicubic,box=1.5,2,60,47.25,reducing_gap=2"
    assert main(["run", str(photo), "--like", call, "--sizes", "7,10", "--output", str(made), "-q"]) == 0
    assert np.array_equal(held(made), wanted)
    assert main(["identify", str(photo), str(made)]) == 1  # a box could be anywhere
    assert "no tried call fits; the nearest:" in capsys.readouterr().out
    Image.fromarray(small).save(made)
    assert main(["identify", str(photo), str(made)]) == 0
    assert "pillow:BICUBIC,reducing_gap=2.0: equal, all 60 values" in capsys.readouterr().out
    assert main(["explain", call, "--shape", "48,64", "--sizes", "7,10"]) == 0
    assert "blocks averaged first, gap 2" in capsys.readouterr().out


def test_how_far_two_calls_lie_apart_on_any_image(photo: Path, capsys: Say) -> None:
    calls = ["--like", "pillow:bilinear", "--like", "torch:bilinear,antialias=true", "--sizes", "30,20"]
    main(["compare", str(photo), *calls])
    assert capsys.readouterr().out.endswith("on any image of this shape by 2 at most\n")
    main(["compare", str(photo), *calls, "--json"])
    assert json.loads(capsys.readouterr().out)["bound"] == 2


def test_identify_a_function() -> None:
    def lanczos(x: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], sizes: tuple[int, int]) -> object:
        return Image.fromarray(x).resize(sizes[::-1], Image.Resampling.LANCZOS)

    found = ir_interp.identify(lanczos)
    assert found.is_sure
    assert found.text.startswith(f"pillow:LANCZOS: equal, all 18171 values\n  version {PILLOW} only\n")


@pytest.mark.usefixtures("few_steps")
def test_identify_says_what_it_does_not_know() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (32, 32, 3)).astype(np.uint8)
    found = ir_interp.identify([(x, np.zeros((7, 9, 3), np.uint8))])
    assert not found.is_sure
    assert found.text.startswith("no tried call fits; the nearest:\n")
    assert [each.fits for each in found.candidates if not each.calls] == [True]
    flat = np.full((32, 32, 3), 7, np.uint8)
    found = ir_interp.identify([(flat, flat[:7, :9])])
    assert len(found.fitting) > 10
    assert found.further is not None
    with pytest.raises(ir_interp.ShapeError):
        ir_interp.identify([(x, x[..., :2])])


def test_a_call_is_a_source(capsys: Say) -> None:
    assert main(["explain", "pillow:bilinear", "--shape", "8,8", "--sizes", "3,3"]) == 0
    assert f"pillow:bilinear (pillow {PILLOW})" in capsys.readouterr().out
    with pytest.raises(ir_interp.ReadError):
        ir_interp.load("torch")  # may be a folder
    (op,) = ir_interp.load("opencv@4:nearest_exact")
    assert (op.dialect, op.version, op.spec.axes) == ("opencv", 4, (0, 1))


@pytest.mark.parametrize(
    ("mode", "taken"), [("RGBA", True), ("LA", True), ("P", True), ("1", True), ("I;16", False), ("CMYK", False)]
)
def test_images_of_every_mode(
    mode: str, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As inputs of models and of a resize: alpha goes, and what has no 8 bits is refused with advice."""
    monkeypatch.chdir(tmp_path)
    save_model(Path("a.onnx"), "g (float[1,3,8,9] x) => (float[1,3,8,9] y) { y = Identity (x) }")
    rng = np.random.default_rng(0)
    colours = Image.fromarray(rng.integers(0, 256, (8, 9, 4)).astype(np.uint8))
    wide = Image.fromarray(rng.integers(0, 2**16, (8, 9)).astype(np.uint16))
    image = wide if mode == "I;16" else colours.convert("RGB" if mode in ("P", "CMYK") else "RGBA").convert(mode)
    image.save("image.tif")
    code = main(["compare", "a.onnx", "a.onnx", "--input", "x=image.tif"])
    errors = capsys.readouterr().err
    if taken:
        assert (code, errors) == (0, "")
        grey = mode in ("LA", "1")
        assert np.array_equal(pixels(Path("image.tif")).squeeze(), np.asarray(image.convert("L" if grey else "RGB")))
    else:
        assert code == 2
        assert f"image.tif: images of mode {mode} are not taken; expected 8-bit grey or RGB" in errors


@pytest.mark.parametrize("option", ["--per-resize", "--tolerance 0", "--html a.html", "--bgr", "--seed 3", "--mean 1"])
def test_options_without_an_effect(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = f"compare a.npy --like pillow:box --like opencv:area {option}"
    assert main(line.split()) == 2
    assert f"{option.split()[0]} has no effect with --like" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["bool", "complex64", "datetime64[s]", "<U1"])
def test_arrays_that_are_no_images(dtype: str) -> None:
    with pytest.raises(ShapeError, match="other than finite numbers"):
        identify([(np.zeros((4, 5), dtype), np.zeros((2, 3), dtype))])


def test_a_large_image_is_tried_by_a_piece_first_and_judged_as_a_whole() -> None:
    """One value far from the piece that shows most decides."""
    noise = np.random.default_rng(0).integers(0, 256, (310, 340, 3)).astype(np.uint8)
    noise[:, 200:] = 7
    made = ir_interp.resize(noise, ir_interp.spec("pillow", resample="LANCZOS", version=13), sizes=(280, 300))
    found = ir_interp.identify([(noise, made)])
    assert found.fitting[0].calls[0] == "pillow@13:LANCZOS"
    assert found.fitting[0].count == made.size
    broken = made.copy()
    broken[-1, -1, 2] ^= 64
    nearest = ir_interp.identify([(noise, broken)])
    assert not nearest.fitting
    assert (nearest.candidates[0].unequal, nearest.candidates[0].largest) == (1, 64)
