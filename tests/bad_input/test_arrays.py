"""Arrays and images that cannot be run on, and outputs that cannot be."""

from __future__ import annotations

import pickle
import struct
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.bad_input import BEYOND_UTF8, SHAPE, Fails, pasted, resize

EXTENSIONS = "expected one of .bmp, .gif, .jpeg, .jpg, .pgm, .png, .ppm, .tif, .tiff, .webp"


@pytest.fixture
def runs_not(fails: Fails, tmp_path: Path) -> Callable[..., str]:
    """Return a check that a good layer is not run with this input and these options."""
    (tmp_path / "a.xml").write_text(pasted())
    (tmp_path / "out").mkdir()

    def check(*options: str, source: str = "x.npy", output: str = "out/y.npy") -> str:
        return fails("run", "a.xml", "--input", source, "--output", output, *options)

    return check


def test_an_array_of_a_wrong_rank(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 6), np.float32))
    assert runs_not() == 'the input has rank 2; a.xml:layer[0 "up"] takes rank 4'


def test_an_array_without_axes(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.float32(3))
    assert runs_not() == 'the input has rank 0; a.xml:layer[0 "up"] takes rank 4'


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--sizes", "8"], "sizes [8] and axes [2, 3] differ in length"),
        (["--sizes", "8,12,16"], "sizes [8, 12, 16] and axes [2, 3] differ in length"),
        (["--sizes", "-8,12"], "--sizes '-8,12': -8 is not a size; expected integers from 1, as in 50,60"),
        (["--sizes", "8x12"], "--sizes '8x12': expected integers with commas between them, as in 50,60"),
        (["--sizes", "8.5,12"], "--sizes '8.5,12': expected integers with commas between them, as in 50,60"),
        (["--scales", "two,2"], "--scales 'two,2': expected numbers with commas between them, as in 2,1.5"),
        (["--scales", "0,2"], "--scales '0,2': 0 is not a scale; expected numbers above 0, as in 2,1.5"),
        (["--scales", "-1,2"], "--scales '-1,2': -1 is not a scale; expected numbers above 0, as in 2,1.5"),
        (["--scales", "nan,2"], "--scales 'nan,2': nan is not a scale; expected numbers above 0, as in 2,1.5"),
        (["--scales", "1e38,2"], None),
        (["--sizes", "8,12", "--scales", "2,2"], "sizes and scales exclude each other; pass one of them"),
        (["--layer", "upp"], "a.xml: no resize named 'upp'; expected up; did you mean 'up'?"),
    ],
)
def test_options_that_make_no_sense(
    options: list[str], reason: str | None, runs_not: Callable[..., str], tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    said = runs_not(*options)
    assert reason is None or said == reason


def test_more_memory_than_the_limit(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    assert runs_not("--sizes", "1000000,1000000") == (
        "resizing [1, 1, 4, 6] to [1, 1, 1000000, 1000000] needs 3725.3 GiB; "
        "the limit (ir_interp.executor.cases.MAX_BYTES) is 8 GiB"
    )


@pytest.mark.parametrize("sizes", ["9007199254740992,1", "9007199254740992,9007199254740992", "1,99999999999"])
def test_far_more_memory_than_the_limit(sizes: str, runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    assert runs_not("--sizes", sizes).endswith("the limit (ir_interp.executor.cases.MAX_BYTES) is 8 GiB")


def test_more_elements_than_float64_counts(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    reason = "an axis of 9007199254740993 elements; the limit is 9007199254740992"
    assert runs_not("--sizes", "9007199254740993,1") == reason


def test_a_constant_that_asks_for_more_memory(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(resize({"axes": [2, 3]}, sizes=[2**20, 2**20]).SerializeToString())
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.uint8))
    assert fails("run", "a.onnx", "--input", "x.npy", "--output", "y.npy") == (
        "resizing [1, 1, 4, 6] to [1, 1, 1048576, 1048576] needs 1024.0 GiB; "
        "the limit (ir_interp.executor.cases.MAX_BYTES) is 8 GiB"
    )


def test_values_that_have_no_mean(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full(SHAPE, "word"))
    assert runs_not() == "<U4 values can be copied (nearest) but not averaged"


EPS = """%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 6 4
%%EndComments
(touched) (w) file closefile
showpage
%%EOF
"""


def _npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, x=np.zeros(SHAPE))


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme", "no array")


def _of_shape(shape: str, path: Path) -> None:
    path.write_bytes(_saved(np.zeros(SHAPE)).replace(str(SHAPE).encode().ljust(60), shape.encode().ljust(60)))


SHAPES = (
    *("(-1,)", "(1, 1, -4, 4)", "(-1, -1)", "(True, 4)", "(4, False)", "(1.5,)", "(None,)", "('4',)", "(2**3,)", "4"),
    *(
        "(99999999999999999999,)",
        "(9223372036854775807,)",
        "(1, 1, 4611686018427387904, 4)",
        "(2147483648, 2147483648)",
    ),
    *("(0, 99999999999999999999)", "(4, 0, 9223372036854775808)", "(4611686018427387904, 4611686018427387904)"),
)
NO_ARRAYS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("1 2 3"),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(BEYOND_UTF8),
    "pickle": lambda path: path.write_bytes(pickle.dumps([1, 2])),
    "objects": lambda path: np.save(path, np.array([{}, None]), allow_pickle=True),
    "cut off": lambda path: path.write_bytes(_saved(np.zeros(SHAPE))[:-8]),
    "a header of no Python": lambda path: path.write_bytes(_saved(np.zeros(SHAPE)).replace(b"}", b"(")),
    "header only": lambda path: path.write_bytes(_saved(np.zeros(SHAPE))[:9]),
    "several arrays": _npz,
    **{f"shape {shape}": partial(_of_shape, shape) for shape in SHAPES},
    "zip": _zip,
}


def _saved(array: Any) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {str(array.shape).ljust(60)}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(array.tobytes())


@pytest.mark.parametrize("kind", NO_ARRAYS)
def test_no_array(kind: str, runs_not: Callable[..., str], tmp_path: Path) -> None:
    NO_ARRAYS[kind](tmp_path / "x.npy")
    assert runs_not().startswith("x.npy: not a NumPy array: ")


@pytest.mark.parametrize("kind", [kind for kind in NO_ARRAYS if kind not in ("several arrays", "zip")])
def test_no_array_among_several(kind: str, fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(resize({"axes": [2, 3]}, sizes=[8, 8]).SerializeToString())
    NO_ARRAYS[kind](tmp_path / "x.npy")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
    assert fails("compare", "a.onnx", "x.npz").startswith("x.npz: not arrays as numpy.savez writes them: ")


def test_an_array_that_is_not_there(runs_not: Callable[..., str]) -> None:
    assert runs_not() == "x.npy: cannot be read: No such file or directory"


def test_a_folder_in_place_of_an_array(runs_not: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "x.npy").mkdir()
    assert runs_not() == "x.npy: cannot be read: Is a directory"


@pytest.mark.parametrize("content", [b"", b"no image", BEYOND_UTF8, b"\x89PNG\r\n\x1a\n"])
def test_no_image(content: bytes, runs_not: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(content)
    assert runs_not(source="x.png").startswith("x.png: cannot be read as an image: ")


@pytest.mark.parametrize("name", ["x.png", "x.eps"])
def test_no_image_starts_another_program(
    name: str, runs_not: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pillow opens by content, and would start Ghostscript for EPS."""
    (tmp_path / name).write_text(EPS)
    monkeypatch.setattr(subprocess, "Popen", None)
    expected = "PNG, JPEG, TIFF, WEBP, BMP, GIF, PPM"
    assert runs_not(source=name) == f"{name}: cannot be read as an image: expected one of {expected}"


def test_an_image_that_is_not_there(runs_not: Callable[..., str]) -> None:
    assert runs_not(source="x.png") == "x.png: cannot be read: No such file or directory"


def test_an_image_bomb(runs_not: Callable[..., str], tmp_path: Path) -> None:
    """A few bytes that promise ten billion pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n" + parts)
    assert runs_not(source="x.png").startswith("x.png: cannot be read as an image: ")


@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt", b"iCCP"])
def test_an_image_whose_text_is_a_bomb(kind: bytes, runs_not: Callable[..., str], tmp_path: Path) -> None:
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "x.png")
    image = (tmp_path / "x.png").read_bytes()
    content = b"k\0\1\0\0\0" if kind == b"iTXt" else b"k\0\0"
    content += zlib.compress(bytes(2**25), 9)
    bomb = struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    place = image.index(b"IDAT") - 4
    (tmp_path / "x.png").write_bytes(image[:place] + bomb + image[place:])
    assert runs_not(source="x.png").startswith("x.png: cannot be read as an image: Decompressed data too large")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("out/y", "--output 'y' has no extension; expected .npy or that of an image"),
        ("out/y.png", "--output 'y.png': images hold uint8, and the input is float32; expected .npy"),
        ("away/y.npy", "away/y.npy cannot be written: folder away does not exist; create it first"),
        ("a.xml/y.npy", "a.xml/y.npy cannot be written: Not a directory"),
        ("folder.npy", "folder.npy cannot be written: Is a directory"),
    ],
)
def test_an_output_that_cannot_be(output: str, reason: str, runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    (tmp_path / "folder.npy").mkdir()
    assert runs_not(output=output) == reason


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("y.png", "y.png cannot be written as an image: cannot write mode F as PNG"),
        ("y.jpg", "y.jpg cannot be written as an image: cannot write mode F as JPEG"),
        ("y.pgn", f"y.pgn cannot be written as an image: unknown extension '.pgn'; {EXTENSIONS}"),
        ("y", f"y cannot be written as an image: it has no extension; {EXTENSIONS}"),
    ],
)
def test_an_image_that_no_format_holds_is_refused_before_the_work(
    output: str, reason: str, fails: Fails, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image.fromarray(np.zeros((8, 8), np.float32)).save(tmp_path / "x.tif")
    monkeypatch.setattr("ir_interp.views.likeness.resized", None)
    assert fails("run", "x.tif", "--like", "pillow:bicubic", "--sizes", "4,4", "--output", output) == reason


def test_an_image_of_an_unknown_kind(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.uint8))
    reason = runs_not(output="out/y.pgn")
    assert reason == f"y.pgn cannot be written as an image: unknown extension '.pgn'; {EXTENSIONS}"


def test_a_file_of_several_resizes(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(pasted() + pasted(name="down", number=1))
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    command = ["run", "a.xml", "--input", "x.npy", "--output", "y.npy"]
    assert fails(*command) == "a.xml: 2 resizes; choose one with --layer NAME: up, down"
    assert fails(*command, "--layer", "donw") == (
        "a.xml: no resize named 'donw'; expected one of down, up; did you mean 'down'?"
    )


def test_a_file_without_a_resize(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text('<net version="11"/>')
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    assert fails("run", "a.xml", "--input", "x.npy", "--output", "y.npy") == "a.xml: no resize in it"
    assert fails("convert", "a.xml", "b.json") == "a.xml: no resize in it"


def test_an_image_beyond_the_bound_of_pillow(
    runs_not: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 5)
    Image.new("L", (3, 2)).save(tmp_path / "x.png")
    assert runs_not(source="x.png") == (
        "x.png: cannot be read as an image: it has more pixels than Pillow opens (5); save its pixels as an array "
        "instead, .npy or, if they exceed memory, .zarr"
    )
    Image.new("L", (3, 2)).save(tmp_path / "x.tif")
    assert runs_not(source="x.tif") == (
        "x.tif: cannot be read as an image: it has more pixels than Pillow opens (5); `ir-interp run` reads it block "
        "by block if --output ends in .zarr"
    )
