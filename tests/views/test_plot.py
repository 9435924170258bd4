"""``ir-interp plot``: pictures are made, show something, and say what they need."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import ir_interp
from ir_interp import Arithmetic, IrInterpError, Nearest, ResizeSpec, Rounding, Scales, ShapeError, Sizes
from ir_interp.translation.dialect import Semantics
from ir_interp.views import figures
from ir_interp.views.explanation import tables
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate

LAYER = interpolate('mode="linear" antialias="1"', version="opset4", shape=(1, 1, 9, 6), out=(1, 1, 4, 6), name="down")
OPEN = """g (float[1,1,h,w] x, int64[2] z) => (float[1,1,k,l] y) {
    [up] y = Resize <mode = "MODE", axes = [2, 3]> (x, , , z) }"""
KINDS = ("positions", "weights", "kernel", "image")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.xml").write_text(LAYER)


def shades(path: str) -> Any:
    """Return the grey values of a picture."""
    with Image.open(path) as opened:
        assert opened.format == "PNG"
        return np.asarray(opened.convert("L"))


def assert_shows_something(path: str) -> None:
    grey = shades(path)
    assert min(grey.shape) > 100
    assert grey.max() == 255
    assert grey.min() < 60
    assert 0.002 < (grey < 128).mean() < 0.9


@pytest.mark.parametrize("what", KINDS)
def test_a_picture_is_made_and_is_not_blank(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(capsys, "plot", "a.xml", "p.png", "--what", what) == (0, "wrote p.png\n", "")
    assert_shows_something("p.png")
    assert sorted(path.name for path in Path().iterdir()) == ["a.xml", "p.png"]


def test_a_name_is_no_formula(capsys: pytest.CaptureFixture[str]) -> None:
    """Matplotlib would set what stands between dollars, and fails where it cannot."""
    Path("a.xml").write_text(LAYER.replace("down", "a $x^{$ b"))
    assert command(capsys, "plot", "a.xml", "p.png", "--what", "image") == (0, "wrote p.png\n", "")
    assert command(capsys, "plot", "a.xml", "p.png") == (0, "wrote p.png\n", "")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("lengths", [("1,1,1,1", "1,3"), ("1,1,2,7", "1,1"), ("1,1,300,20", "500,30")])
@pytest.mark.parametrize("mode", ["nearest", "cubic"])
def test_any_size(mode: str, lengths: tuple[str, str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), OPEN.replace("MODE", mode))
    code, _, errors = command(
        capsys, "plot", "a.onnx", "p.png", "--what", what, "--shape", lengths[0], "--sizes", lengths[1]
    )
    assert (code, errors) == (0, "")
    assert_shows_something("p.png")


def test_another_axis(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), OPEN.replace("MODE", "linear"))
    given = ("plot", "a.onnx", "p.png", "--shape", "1,1,4,5", "--sizes", "8,9")
    made = []
    for axis in ("2", "3"):
        assert command(capsys, *given, "--axis", axis)[0] == 0
        made.append(shades("p.png"))
    assert made[0].shape != made[1].shape or (made[0] != made[1]).any()
    assert command(capsys, *given, "--axis", "1") == (2, "", "error: axis 1 keeps its size; expected one of 2, 3\n")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("against", ["document", "exact", "onnxruntime", "b.xml"])
def test_an_image_against_another_configuration(against: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("b.xml").write_text(LAYER.replace("linear", "nearest"))
    pixels = np.random.default_rng(0).integers(0, 256, (30, 20), np.uint8)
    Image.fromarray(pixels).save("x.png")
    given = ("--what", "image", "--input", "x.png", "--against", against, "--sizes", "1,1,12,20")
    assert command(capsys, "plot", "a.xml", "p.png", *given) == (0, "wrote p.png\n", "")
    assert_shows_something("p.png")


def test_images_that_do_not_differ_or_have_other_shapes() -> None:
    first = figures.Resized(name="a", values=np.eye(4))
    for values, said in ((np.eye(4), "none"), (np.eye(5), "other shapes")):
        figure = figures.draw_images(first, figures.Resized(name="b", values=values), "t")
        texts = [text.get_text() for plot in figure.axes for text in plot.texts]
        assert texts == [said]


def test_black_marks_where_ways_differ() -> None:
    spec = ResizeSpec(kernel=Nearest(rounding=Rounding.FLOOR), target=Sizes((9,)))
    (table,) = tables({Semantics.RUNTIME: spec}, (7,))
    figure = figures.draw_positions(table, "t")
    black = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "black"]
    assert len(black) == len(table.differing) * len(table.columns)


def test_the_curve_passes_through_the_taps() -> None:
    """Where no edge interferes."""
    spec = ResizeSpec(kernel=ir_interp.Cubic(a=-0.5), target=Scales((2.5,)), arithmetic=Arithmetic.EXACT)
    (table,) = tables({Semantics.RUNTIME: spec}, (40,))
    figure = figures.draw_kernel(table, {"cubic": spec.kernel}, "t")
    curve, taps = (np.asarray(line.get_xydata(), np.float64) for line in figure.axes[0].lines[:2])
    inside = np.abs(taps[:, 1] - np.interp(taps[:, 0], curve[:, 0], curve[:, 1])) < 1e-3
    assert inside.mean() > 0.9


@pytest.mark.parametrize("what", KINDS)
def test_without_matplotlib(what: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert command(capsys, "plot", "a.xml", "p.png", "--what", what) == (
        2,
        "",
        "error: pictures need Matplotlib: pip install 'ir-interp[plot]'\n",
    )
    assert not Path("p.png").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("a.xml", "p.jpg"), "error: 'p.jpg' is not the name of a picture; expected .png or .svg\n"),
        (("a.xml", "p.png", "--sizes", "1,1,9,6"), "error: no axis changes\n"),
        (
            ("a.xml", "p.png", "--what", "image", "--against", "documents"),
            "error: against 'documents' is neither a file nor a known name; expected ",
        ),
        (("gone.xml", "p.png"), "error: gone.xml: cannot be read: No such file or directory\n"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, errors = command(capsys, "plot", *arguments)
    assert (code, printed) == (2, "")
    assert errors.startswith(said)


def test_a_plane_needs_two_axes() -> None:
    assert figures.draw_plane(np.zeros((2, 3, 4, 5)), [2, 3]).shape == (4, 5)
    assert figures.draw_plane(np.zeros((2, 3, 4, 5)), [1]).shape == (3, 5)
    assert figures.draw_plane(np.zeros((2, 3, 4, 5)), []).shape == (4, 5)
    with pytest.raises(ShapeError):
        figures.draw_plane(np.zeros(3), [0])


def test_nothing_has_no_picture() -> None:
    with pytest.raises(IrInterpError, match=r"^there is no picture of an array of shape \[1, 0, 0, 6\]$"):
        ir_interp.plot("a.xml", "p.png", what="image", sizes=(1, 0, 0, 6))
    assert not Path("p.png").exists()


def test_svg(capsys: pytest.CaptureFixture[str]) -> None:
    for what in KINDS:
        assert command(capsys, "plot", "a.xml", "p.svg", "--what", what) == (0, "wrote p.svg\n", "")
        assert Path("p.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_a_photo_stays_in_colour(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.xml").write_text(LAYER.replace("<dim>1</dim>", "<dim>3</dim>"))
    Image.new("RGB", (30, 20), (250, 10, 10)).save("x.png")
    assert command(capsys, "plot", "a.xml", "p.png", "--what", "image", "--input", "x.png", "--sizes", "10,20")[0] == 0
    with Image.open("p.png") as opened:
        pixels = np.asarray(opened.convert("RGB")).astype(int)
    assert ((pixels[..., 0] > 200) & (pixels[..., 1] < 60)).mean() > 0.05


def test_an_image_is_shown_against_the_runtime_that_differs(tmp_path: Path) -> None:
    soft = OPEN.replace('mode = "MODE"', 'mode = "linear", antialias = 1')
    save_model(Path("a.onnx"), soft)
    figure = ir_interp.plot("a.onnx", what="image", shape=(1, 1, 30, 30), sizes=(10, 10))
    assert [plot.get_title().split("\n")[0] for plot in figure.axes[:2]] == [
        "as meant, in the arithmetic of",
        "OpenVINO reading .onnx",
    ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("lengths", [("1,1,20,30", "80,120"), ("1,1,300,20", "75,30"), ("1,1,20,30", "27,31")])
def test_numbers_do_not_overlap(mode: str, lengths: tuple[str, str]) -> None:
    save_model(Path("a.onnx"), OPEN.replace("MODE", mode))
    shape, sizes = (tuple(map(int, text.split(","))) for text in lengths)
    figure = ir_interp.plot("a.onnx", shape=shape, sizes=sizes)
    figure.draw_without_rendering()
    plot = figure.axes[0]
    boxes = sorted((text.get_window_extent() for text in plot.texts), key=lambda box: (round(-box.y0), box.x0))
    assert boxes
    for left, right in itertools.pairwise(boxes):
        assert left.x1 <= right.x0 or left.y0 > right.y1
    assert figure.legends[0].get_texts()


def test_the_damage_on_an_image() -> None:
    """The same part of an image as of the input, in the order of its axes."""
    spec = ResizeSpec(kernel=ir_interp.Linear(), axes=(1, 2), target=Sizes((4, 3)))
    op = ir_interp.ResizeOp(name="a", where="a", spec=spec, dialect="onnx", version=18, shape=(1, 8, 3, 2))
    other = ResizeSpec(kernel=Nearest(rounding=Rounding.FLOOR), axes=(1, 2), target=Sizes((4, 3)))
    for pixels in (np.zeros((10, 20, 3), np.uint8), np.zeros((10, 20), np.uint8), None):
        figure = figures.damage(op, ("b", other), pixels)
        first, second = (np.asarray(plot.images[0].get_array()).shape[:2] for plot in figure.axes[:2])
        # The test picture is so large that 160 columns are left, here all, and 3/4 as high, of which half is left.
        assert first == second == ((60, 160) if pixels is None else (5, 20))
