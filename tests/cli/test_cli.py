"""The command line: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import ir_interp
from ir_interp import ShapeError
from ir_interp.cli.main import main
from tests.support.ir_text import interpolate
from tests.support.places import ROOT
from tests.support.runtimes import Array, onnx_model, onnxruntime_resize

SHAPE = (1, 3, 4, 6)


def layer(data: str = 'axes="2,3" mode="nearest" align_corners="0"', **changes: Any) -> str:
    """Return one layer as text."""
    return interpolate(data, **{"shape": SHAPE, "out": (1, 3, 8, 12)} | changes)


def model_of(*nodes: onnx.NodeProto, shape: tuple[int | None, ...] = (1, 1, 8, 8)) -> onnx.ModelProto:
    """Return a chain of nodes from x to y, with scales s and a roi r to use."""
    previous = "x"
    for index, node in enumerate(nodes):
        node.input[0] = previous
        previous = "y" if index == len(nodes) - 1 else f"t{index}"
        node.output[0] = previous
    constants = {"s": [1, 1, 0.5, 0.5], "up": [1, 1, 2, 2], "r": [0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9]}
    tensors = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in constants.items()]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, s) for name, s in (("x", shape), ("y", None))]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def resize(name: str, *inputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node("Resize", ["x", *inputs], ["y"], name=name, **attributes)


def image(shape: tuple[int, ...] = SHAPE) -> Array:
    return np.random.default_rng(0).uniform(-4, 4, shape).astype(np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which is empty, of a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Return a function that runs a command: its exit code, what it printed, and what it complained of."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def text(table: str) -> str:
    """Return what a table says, without its frame and its folds."""
    return re.sub(r"\s+", " ", re.sub("[─━│┃┏┓┗┛┡┩└┘┳┴╇┷┬┼├┤╭╮╰╯]", " ", table))


# Help and usage


@pytest.mark.parametrize("verb", ["inspect", "run", "convert"])
def test_help_shows_examples(verb: str, cli: Cli) -> None:
    code, printed, errors = cli(verb, "--help")
    assert (code, errors) == (0, "")
    assert "Examples" in printed
    examples = [line.strip() for line in printed.splitlines() if line.strip().startswith(f"ir-interp {verb} ")]
    assert len(examples) >= 3


def test_help_names_the_commands(cli: Cli) -> None:
    code, printed, errors = cli("--help")
    assert (code, errors) == (0, "")
    for verb in ("inspect", "run", "convert"):
        assert verb in printed


def test_no_command(cli: Cli) -> None:
    code, printed, errors = cli()
    assert code == 2
    assert "inspect" in printed + errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("plott",),
            "no command 'plott'; expected one of audit, compare, convert, explain, fix, identify, inspect, plot, "
            "preprocess, reproduce, run; did you mean 'plot'? See `ir-interp --help`",
        ),
        (("inspect",), "FILE is missing; see `ir-interp inspect --help`"),
        (("inspect", "a.xml", "--jsn"), "no option --jsn; did you mean '--json'? See `ir-interp inspect --help`"),
        (("audit", "a.onnx", "--nope"), "no option --nope; see `ir-interp audit --help`"),
        (
            ("inspect", "a.xml", "--semantics", "page"),
            "--semantics: 'page' is not one of 'runtime', 'document', 'reference', 'observed', 'openvino-2021.2', "
            "'openvino-2021.3'; see `ir-interp inspect --help`",
        ),
        (
            ("run", "a.xml", "--output", "y.npy"),
            "--input is missing: the array or image that is resized; or --like, as in pillow:bicubic",
        ),
        (("run", "a.xml", "--input", "x.npy"), "--output is missing; see `ir-interp run --help`"),
        (
            ("run", "a.xml", "x.npy", "--output", "y.npy"),
            "x.npy: a second FILE; expected the array or image that is resized as --input: "
            "ir-interp run a.xml --input x.npy --output y.npy",
        ),
        (("convert", "a.xml"), "DESTINATION is missing; see `ir-interp convert --help`"),
        (
            ("convert", "a.xml", "b.xml", "c.xml"),
            "got unexpected extra argument(s) (c.xml); see `ir-interp convert --help`",
        ),
        (("convert", "a.xml", "--opset"), "option '--opset' requires an argument"),
        (
            ("audit", "a.xml", "--jobs", "0"),
            "--jobs: 0 is less than 1; expected INTEGER, as in 12; see `ir-interp audit --help`",
        ),
        (("fix", "a.onnx", "b.onnx", "--layer", "a,,b"), "--layer 'a,,b': a name between the commas is empty"),
        (
            ("compare", "a.onnx", "b.onnx", "--input", "=x.npy"),
            "--input '=x.npy': expected PATH or NAME=PATH, as in image.npy or x=image.npy",
        ),
        (
            ("preprocess", "a.onnx", "b.onnx", "--size", "8,8"),
            "--like is missing: the resize used in training, as in --like pillow:bicubic",
        ),
        (
            ("preprocess", "a.onnx", "b.onnx", "--like", "pillow:box"),
            "--size is missing: height and width of the model's input, as in --size 224,224",
        ),
        (
            ("preprocess", "a.onnx", "b.onnx", "--like", "pillow:box", "--size", "8"),
            "--size is 8; expected height and width, as in --size 224,224",
        ),
        (("reproduce",), "SOURCE and FOLDER are missing, as in ir-interp reproduce model.onnx fault; or --kit FOLDER"),
        (("reproduce", "a.onnx"), "FOLDER is missing, as in ir-interp reproduce model.onnx fault; or --kit FOLDER"),
        (("reproduce", "a.onnx", "--kit", "k"), "'a.onnx' has no effect with --kit, whose models are its own"),
        (("reproduce", "--kit", "k", "--layer", "up"), "--layer has no effect with --kit"),
    ],
)
def test_usage(arguments: tuple[str, ...], said: str, cli: Cli, folder: Path) -> None:
    code, printed, errors = cli(*arguments)
    assert (code, printed, errors) == (2, "", f"error: {said}\n")
    assert list(folder.iterdir()) == []


def test_as_a_module(folder: Path) -> None:
    (folder / "a.xml").write_text(layer())
    command = [sys.executable, "-m", "ir_interp", "inspect", str(folder / "a.xml"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True, timeout=60)
    assert [record["name"] for record in json.loads(done.stdout)["resizes"]] == ["up"]
    done = subprocess.run([*command[:3], "inspect", "gone.xml"], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: gone.xml: cannot be read: No such file or directory\n"


# inspect


def test_inspect(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(
        layer() + layer('mode="cubic" cube_coeff="-0.5"', version="opset4", name="", number=1)
    )
    code, printed, errors = cli("inspect", "a.xml")
    assert (code, errors) == (0, "")
    said = text(printed)
    assert said.startswith("2 resizes in a.xml resize input target computes ")
    assert "up 1x3x4x6 sizes 8, 12 on axes 2, 3 nearest at ceil where an axis shrinks, else floor(i * step)" in said
    assert "step = in / out openvino 1" in said
    assert 'a.xml:layer[1 ""] 1x3x4x6 sizes 1, 3, 8, 12 on all axes cubic a=-0.5 at (i + 1/2) * step - 1/2' in said


def test_inspect_shows_what_to_know(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('axes="2,3" mode="area"', name="up[a]"))
    code, printed, errors = cli("inspect", "a.xml")
    assert (code, errors) == (0, "")
    assert printed.endswith(
        'a.xml:layer[0 "up[a]"]: IRI005 No runtime executes mode area; it is read as exact pixel coverage, like '
        "TensorFlow's ResizeArea.\n"
    )


@pytest.mark.parametrize("name", ["a[b].xml", "[red]a.xml", "a[-1].xml"])
def test_inspect_shows_a_name_as_it_is(name: str, cli: Cli, folder: Path) -> None:
    (folder / name).write_text(layer())
    code, printed, _ = cli("inspect", name)
    assert code == 0
    assert printed.startswith(f"1 resize in {name}")


def test_inspect_json(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('axes="3,2" mode="linear" align_corners="1"', shape=(1, 3, -1, 6)))
    code, printed, errors = cli("inspect", "a.xml", "--json")
    assert (code, errors) == (0, "")
    whole = json.loads(printed)
    assert (whole["file"], whole["model"], whole["unknown"]) == ("a.xml", None, [])
    (record,) = whole["resizes"]
    (diagnostic,) = record.pop("diagnostics")
    assert diagnostic["code"] == "IRI002"
    assert diagnostic["message"].startswith("Axes are not ascending: OpenVINO sorts them")
    assert record == {
        "name": "up",
        "where": 'a.xml:layer[0 "up"]',
        "dialect": "openvino",
        "version": 1,
        "shape": [1, 3, None, 6],
        "dtype": "float32",
        "target": "sizes 8, 12 on axes 2, 3",
        "formula": "linear at i * (in - 1) / (out - 1)",
        "arithmetic": "openvino",
    }


def test_inspect_by_the_page(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('mode="linear" antialias="1"', version="opset4", out=(1, 3, 2, 3)))
    formulas = []
    for semantics in ("runtime", "document"):
        code, printed, _ = cli("inspect", "a.xml", "--json", "--semantics", semantics)
        formulas.append(json.loads(printed)["resizes"][0]["formula"])
        assert code == 0
    assert formulas == [
        "linear at (i + 1/2) * step - 1/2, step = in / out",
        "linear, antialiased on all axes if any shrinks (weights renormalised at borders) "
        "at (i + 1/2) * step - 1/2, step = in / out",
    ]


def test_inspect_nothing(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text('<net version="11"/>')
    code, printed, _ = cli("inspect", "a.xml")
    assert code == 0
    assert printed.splitlines() == [
        "a.xml",
        "format      OpenVINO IR v11; no operator set",
        "operations  0",
        "weights     0 tensors, 0 bytes",
        "files       a.xml (19 bytes)",
        "0 resizes in a.xml",
    ]
    assert json.loads(cli("inspect", "a.xml", "--json")[1])["resizes"] == []


# run


def test_run(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer())
    np.save("x.npy", image())
    assert cli("run", "a.xml", "--input", "x.npy", "--output", "y.npy") == (
        0,
        "up: 1x3x4x6 -> 1x3x8x12 float32, y.npy\n",
        "",
    )
    np.testing.assert_array_equal(np.load("y.npy"), image().repeat(2, 2).repeat(2, 3))
    assert sorted(path.name for path in folder.iterdir()) == ["a.xml", "x.npy", "y.npy"]


def test_run_replaces_a_file(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer())
    np.save("x.npy", image())
    (folder / "y.npy").write_text("old")
    assert cli("run", "a.xml", "--input", "x.npy", "--output", "y.npy")[0] == 0
    assert np.load("y.npy").shape == (1, 3, 8, 12)


def test_run_does_not_replace_its_input(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer())
    np.save("x.npy", image())
    said = "error: x.npy is an input and would be overwritten; choose another name\n"
    assert cli("run", "a.xml", "--input", "x.npy", "--output", "x.npy") == (2, "", said)
    np.testing.assert_array_equal(np.load("x.npy"), image())


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        (["--sizes", "5,7"], (1, 3, 5, 7)),
        (["--sizes", " 5, 7 "], (1, 3, 5, 7)),
        (["--scales", "2,0.5"], (1, 3, 8, 3)),
    ],
)
def test_run_to_another_size(options: list[str], shape: tuple[int, ...], cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer())
    np.save("x.npy", image())
    code, printed, _ = cli("run", "a.xml", "--input", "x.npy", "--output", "y.npy", *options)
    assert (code, np.load("y.npy").shape) == (0, shape)
    assert printed == f"up: 1x3x4x6 -> {'x'.join(map(str, shape))} float32, y.npy\n"


def test_run_on_nothing(cli: Cli, folder: Path) -> None:
    """No images is a batch too."""
    (folder / "a.xml").write_text(layer(shape=(-1, 3, 4, 6)))
    np.save("x.npy", np.zeros((0, 3, 4, 6), np.float32))
    assert cli("run", "a.xml", "--input", "x.npy", "--output", "y.npy") == (
        0,
        "up: 0x3x4x6 -> 0x3x8x12 float32, y.npy\n",
        "",
    )


def test_run_one_of_several(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer() + layer(name="down", out=(1, 3, 2, 3), number=1))
    np.save("x.npy", image())
    code, printed, _ = cli("run", "a.xml", "--layer", "down", "--input", "x.npy", "--output", "y.npy")
    assert (code, printed) == (0, "down: 1x3x4x6 -> 1x3x2x3 float32, y.npy\n")


def test_run_in_another_arithmetic(cli: Cli, folder: Path) -> None:
    """5 * 1.4 is 7 in float32, and a little less in the float32 value of 1.4 times 5."""
    model = onnx_model("Resize", 13, (5,), np.float32, {"mode": "nearest"}, scales=[1.4])
    (folder / "a.onnx").write_bytes(model.SerializeToString())
    x = np.arange(5, dtype=np.float32)
    np.save("x.npy", x)
    lengths = {}
    for arithmetic in ("onnxruntime", "exact", "openvino"):
        command = ["run", "a.onnx", "--input", "x.npy", "--output", "y.npy", "--arithmetic", arithmetic]
        assert cli(*command)[0] == 0
        lengths[arithmetic] = len(np.load("y.npy"))
    assert lengths == {"onnxruntime": 7, "exact": 6, "openvino": 7}
    assert cli("run", "a.onnx", "--input", "x.npy", "--output", "y.npy")[0] == 0
    np.testing.assert_array_equal(np.load("y.npy"), onnxruntime_resize(model, {"x": x}))


def test_run_by_the_page(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('mode="linear" antialias="1"', version="opset4", out=(1, 3, 1, 1)))
    np.save("x.npy", image())
    results = []
    for semantics in ("runtime", "document"):
        command = ["run", "a.xml", "--input", "x.npy", "--output", "y.npy", "--semantics", semantics]
        assert cli(*command)[0] == 0
        results.append(np.load("y.npy"))
    assert not np.allclose(*results)


def test_run_a_model_whose_sizes_are_open(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('axes="2,3" mode="linear"', shape=(1, 3, -1, -1), out=(1, 3, -1, -1)))
    np.save("x.npy", image())
    command = ["run", "a.xml", "--input", "x.npy", "--output", "y.npy"]
    assert cli(*command) == (
        2,
        "",
        "error: sizes are missing: this resize takes them at run time; pass them, as in --sizes 50,60\n",
    )
    assert not (folder / "y.npy").exists()
    assert cli(*command, "--sizes", "3,3")[0] == 0


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int64", "float64"])
def test_run_keeps_the_type(dtype: str, cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('axes="2,3" mode="linear"'))
    np.save("x.npy", (image() * 10 + 50).astype(dtype))
    assert cli("run", "a.xml", "--input", "x.npy", "--output", "y.npy")[0] == 0
    assert np.load("y.npy").dtype == dtype


# Images


def picture(mode: str = "RGB") -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 3), np.uint8)
    return Image.fromarray(pixels).convert(mode)


@pytest.mark.parametrize("end", ["png", "PNG", "bmp"])
def test_an_image(end: str, cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer())
    picture().save("x.png")
    code, printed, _ = cli("run", "a.xml", "--input", "x.png", "--output", f"y.{end}")
    assert (code, printed) == (0, f"up: 1x3x4x6 -> 1x3x8x12 uint8, y.{end}\n")
    with Image.open(f"y.{end}") as made:
        assert made.mode == "RGB"
        np.testing.assert_array_equal(made, np.asarray(picture()).repeat(2, 0).repeat(2, 1))


def test_a_jpeg(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer())
    Image.new("RGB", (6, 4), (200, 100, 50)).save("x.jpg", quality=95)
    assert cli("run", "a.xml", "--input", "x.jpg", "--output", "y.jpeg")[0] == 0
    with Image.open("y.jpeg") as made:
        assert (made.size, made.format) == ((12, 8), "JPEG")
        assert np.abs(np.asarray(made, np.float64) - (200, 100, 50)).max() < 8


def test_a_grey_image(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer(shape=(1, 1, 4, 6), out=(1, 1, 8, 12)))
    picture("L").save("x.png")
    assert cli("run", "a.xml", "--input", "x.png", "--output", "y.png")[0] == 0
    with Image.open("y.png") as made:
        assert made.mode == "L"
        np.testing.assert_array_equal(made, np.asarray(picture("L")).repeat(2, 0).repeat(2, 1))


def test_an_image_whose_channels_come_last(cli: Cli, folder: Path) -> None:
    data = 'axes="1,2" mode="nearest" align_corners="0"'
    (folder / "a.xml").write_text(layer(data, shape=(1, 4, 6, 3), out=(1, 8, 12, 3)))
    picture().save("x.png")
    code, printed, _ = cli("run", "a.xml", "--input", "x.png", "--output", "y.png")
    assert (code, printed) == (0, "up: 1x4x6x3 -> 1x8x12x3 uint8, y.png\n")
    with Image.open("y.png") as made:
        np.testing.assert_array_equal(made, np.asarray(picture()).repeat(2, 0).repeat(2, 1))


def test_an_image_of_sixteen_bits(cli: Cli, folder: Path) -> None:
    """Depth maps and scans: their bits are kept, or the loss is refused, but they do not become white."""
    (folder / "a.xml").write_text(layer(shape=(1, 1, 4, 6), out=(1, 1, 8, 12)))
    deep = np.arange(24, dtype=np.uint16).reshape(4, 6) * 2000
    Image.fromarray(deep).save("x.png")
    code, _, errors = cli("run", "a.xml", "--input", "x.png", "--output", "y.npy")
    if code == 0:
        np.testing.assert_array_equal(np.load("y.npy")[0, 0], deep.repeat(2, 0).repeat(2, 1))
    else:
        assert (code, errors.count("\n")) == (2, 1)
        assert errors.startswith("error: x.png")


def test_an_image_to_an_array_and_back(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('axes="2,3" mode="linear" align_corners="0"'))
    picture().save("x.png")
    assert cli("run", "a.xml", "--input", "x.png", "--output", "y.npy")[0] == 0
    assert cli("run", "a.xml", "--input", "x.png", "--output", "y.png")[0] == 0
    array = np.load("y.npy")
    assert (array.shape, array.dtype) == ((1, 3, 8, 12), np.uint8)
    with Image.open("y.png") as made:
        np.testing.assert_array_equal(np.asarray(made), array[0].transpose(1, 2, 0))


def test_images_without_pillow(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.xml").write_text(layer())
    picture().save("x.png")
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert cli("run", "a.xml", "--input", "x.png", "--output", "y.png") == (
        2,
        "",
        "error: images need Pillow: pip install 'ir-interp[images]'\n",
    )


# convert


def test_convert_shows_the_grade(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('axes="2,3" mode="linear" align_corners="1"'))
    code, printed, errors = cli("convert", "a.xml", "b.onnx")
    assert (code, errors) == (0, "")
    said = text(printed)
    assert said.startswith("1 resize of a.xml resize was became grade up sizes 8, 12 on axes 2, 3: linear at i * ")
    assert "onnx 19: mode=linear, " in said
    assert "coordinate_transformation_mode=align_corners, axes=[2, 3], sizes=[8, 12] ✓ exact" in said
    assert printed.endswith("wrote b.onnx\n")
    model = onnx.load("b.onnx")
    (op,) = ir_interp.load("a.xml")
    np.testing.assert_allclose(onnxruntime_resize(model, {"x": image()}), op.run(image()), rtol=0, atol=2e-5)


def test_convert_shows_a_lesser_grade(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer())  # nearest, rounding `simple`: floor, since both axes grow
    code, printed, _ = cli("convert", "a.xml", "b.onnx", "--opset", "13")
    assert code == 0
    assert "exact for this shape" in text(printed)


@pytest.mark.parametrize("name", ["a[b].xml", "[red]a.xml"])
def test_convert_shows_a_name_as_it_is(name: str, cli: Cli, folder: Path) -> None:
    (folder / name).write_text(layer(name="up[/]"))
    code, printed, _ = cli("convert", name, "b[c].onnx")
    assert code == 0
    assert printed.startswith(f"1 resize of {name}")
    assert "up[/]" in printed
    assert printed.endswith("wrote b[c].onnx\n")


def test_convert_a_model_of_several(cli: Cli, folder: Path) -> None:
    nodes = [resize("one", "", "s", mode="linear"), resize("two", "", "up", mode="nearest")]
    (folder / "a.onnx").write_bytes(model_of(*nodes).SerializeToString())
    code, printed, errors = cli("convert", "a.onnx", "b.xml")
    assert (code, errors) == (0, "")
    assert printed.startswith("2 resizes of a.onnx")
    assert printed.endswith("wrote b.xml\n")
    assert sorted(path.name for path in folder.iterdir()) == ["a.onnx", "b.bin", "b.xml"]
    assert [op.spec.kernel for op in ir_interp.load("b.xml")] == [op.spec.kernel for op in ir_interp.load("a.onnx")]


def test_convert_verifies(cli: Cli, folder: Path) -> None:
    model = model_of(resize("up", "", "up", mode="linear"), shape=(None, 1, None, None))
    (folder / "a.onnx").write_bytes(model.SerializeToString())
    np.save("x.npy", image((2, 1, 5, 7)))
    for options in ([], ["--shape", "x:2,1,5,7", "--strict"], ["--input", "x=x.npy", "--only", "decomposed"]):
        code, printed, errors = cli("convert", "a.onnx", "b.xml", *options)
        assert (code, errors) == (0, "")
        found = re.search(
            r"^output 'y': largest difference (\S+), relative (\S+) \(allowed (\S+)\)", printed, re.MULTILINE
        )
        assert found is not None
        assert float(found[1]) < 1e-5 < float(found[3])
        assert "not verified" not in printed


def test_convert_need_not_verify(cli: Cli, folder: Path) -> None:
    (folder / "a.onnx").write_bytes(model_of(resize("up", "", "up", mode="linear")).SerializeToString())
    code, printed, _ = cli("convert", "a.onnx", "b.xml", "--no-verify")
    assert (code, printed.splitlines()[-2:]) == (0, ["not verified", "wrote b.xml"])


def test_convert_whose_result_differs(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tolerance is small enough for random inputs in two runtimes, but a negative one; what was there remains."""
    monkeypatch.setattr("ir_interp.converters.verify.tolerances.OUTPUT", -1.0)
    monkeypatch.setattr("ir_interp.converters.verify.tolerances.MOST_NOISE", -1.0)
    monkeypatch.setattr("ir_interp.converters.verify.tolerances.coordinate_error", lambda *_, **__: -1.0)
    for name in ("b.xml", "b.bin", "b.json"):
        (folder / name).write_text("old")
    (folder / "a.onnx").write_bytes(model_of(resize("up", "", "up", mode="linear")).SerializeToString())
    code, printed, errors = cli("convert", "a.onnx", "b.xml", "--report", "b.json")
    assert (code, printed) == (1, "")
    assert re.match(r"error: output 'y' differs by \S+ \(tolerance \S+\); ", errors)
    assert errors.endswith("; nothing was written\n")
    assert sorted(path.name for path in folder.iterdir()) == ["a.onnx", "b.bin", "b.json", "b.xml"]
    assert all((folder / name).read_text() == "old" for name in ("b.xml", "b.bin", "b.json"))


def test_convert_reports_in_json(cli: Cli, folder: Path) -> None:
    nodes = [resize("one", "", "s", mode="nearest"), resize("two", "", "up", mode="linear")]
    (folder / "a.onnx").write_bytes(model_of(*nodes, shape=(1, 1, None, None)).SerializeToString())
    code, printed, errors = cli("convert", "a.onnx", "b.xml", "--json", "--report", "b.json")
    assert (code, errors) == (0, "")
    assert (folder / "b.json").read_text() == printed
    report = json.loads(printed)
    names = ["schema_version", "source", "destination", "resizes", "findings", "notes", "states"]
    assert list(report) == [*names, "operations", "verification"]
    assert (report["source"], report["destination"]) == ("a.onnx", "b.xml")
    for name, found in zip(("one", "two"), report["resizes"], strict=True):
        assert list(found) == ["name", "where", "configuration", "form", "grade", "note"]
        assert (found["name"], found["where"]) == (name, f'a.onnx:Resize["{name}"]')
        assert all(isinstance(text, str) for text in found.values())
    assert [found["grade"] for found in report["resizes"]] == ["exact, in several operations", "exact"]
    assert report["verification"]["note"] == ""
    (output,) = report["verification"]["outputs"]
    assert {"kind", "name", "absolute", "relative", "limit"} <= set(output)
    assert output["absolute"] <= output["limit"]


def test_convert_reports_that_it_did_not_verify(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer())
    code, printed, _ = cli("convert", "a.xml", "b.onnx", "--no-verify", "--json")
    assert (code, json.loads(printed)["verification"]) == (0, None)


def test_convert_that_fails_writes_no_report(cli: Cli, folder: Path) -> None:
    (folder / "a.onnx").write_bytes(model_of(resize("up", "", "s", mode="linear", antialias=1)).SerializeToString())
    code, printed, _ = cli("convert", "a.onnx", "b.xml", "--only", "native", "--json", "--report", "b.json")
    assert (code, printed) == (1, "")
    assert [path.name for path in folder.iterdir()] == ["a.onnx"]


def test_convert_does_not_overwrite_the_weights_of_its_source(cli: Cli, folder: Path) -> None:
    """They lie in a.bin, where the IR's own would be written."""
    model = model_of(resize("up", "", "up", mode="linear"), helper.make_node("Mul", ["", "w"], [""]))
    weights = np.full((1, 1, 16, 16), 3, np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save_model(model, "a.onnx", save_as_external_data=True, location="a.bin", size_threshold=512)
    held = (folder / "a.bin").read_bytes()
    code, printed, errors = cli("convert", "a.onnx", "a.xml")
    assert (folder / "a.bin").read_bytes() == held
    assert (code, printed) == (2, "")
    assert errors == "error: a.bin is an input and would be overwritten; choose another name\n"


def test_convert_refuses_all_together(cli: Cli, folder: Path) -> None:
    nodes = [
        resize("sharp", "", "s", mode="cubic", exclude_outside=1),
        resize("fine", "", "up", mode="linear"),
        resize("soft", "", "s", mode="linear", antialias=1),
        resize("window", "r", "up", mode="linear", coordinate_transformation_mode="tf_crop_and_resize"),
    ]
    (folder / "a.onnx").write_bytes(model_of(*nodes, shape=(1, 1, 16, 16)).SerializeToString())
    code, printed, errors = cli("convert", "a.onnx", "b.xml", "--only", "native")
    assert (code, printed) == (1, "")
    sharp, soft, window = errors.splitlines()
    assert sharp == (
        "error: sharp: no exact form in openvino 11; the closest form has exclude_outside false (needed: true)"
    )
    assert soft == "error: soft: no exact form in openvino 11; the closest form has antialias off (needed: shrinking)"
    assert window.startswith("error: window: no exact form in openvino 11; the closest form has coordinates ")
    assert window.endswith(" (needed: tf_crop_and_resize)")
    assert "axes" not in window
    assert [path.name for path in folder.iterdir()] == ["a.onnx"]


def test_convert_refuses_all_in_json_together(cli: Cli, folder: Path) -> None:
    nodes = [
        resize("soft", "", "s", mode="linear", antialias=1),
        resize("fine", "", "up", mode="linear"),
        resize("softer", "", "s", mode="cubic", antialias=1),
    ]
    (folder / "a.onnx").write_bytes(model_of(*nodes, shape=(1, 1, 16, 16)).SerializeToString())
    code, printed, errors = cli("convert", "a.onnx", "b.json")
    assert (code, printed) == (1, "")
    assert [line.split(":")[1] for line in errors.splitlines()] == [" soft", " softer"]
    assert all("antialias off (needed: shrinking)" in line for line in errors.splitlines())
    assert [path.name for path in folder.iterdir()] == ["a.onnx"]


def test_convert_refuses_by_name_where_the_name_says_nothing(cli: Cli, folder: Path) -> None:
    """Two nodes without names are told apart by their outputs."""
    nodes = [resize("", "", "s", mode="cubic", exclude_outside=1), resize("", "", "s", mode="linear", antialias=1)]
    (folder / "a.onnx").write_bytes(model_of(*nodes).SerializeToString())
    code, _, errors = cli("convert", "a.onnx", "b.xml", "--only", "native")
    assert code == 1
    assert [line.split(":")[1] for line in errors.splitlines()] == [" t0", " y"]


def test_convert_what_no_runtime_executes(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('axes="2,3" mode="area" align_corners="0"', out=(1, 3, 3, 4)))
    code, printed, errors = cli("convert", "a.xml", "b.onnx")
    assert (code, errors) == (0, "")
    assert "weighted sums along axes 2, 3" in text(printed)
    (op,) = ir_interp.load("a.xml")
    answer = onnxruntime_resize(onnx.load("b.onnx"), {"x": image()})
    np.testing.assert_allclose(answer, op.run(image()), rtol=0, atol=2e-5)


def test_convert_to_a_script(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('axes="2,3" mode="linear" align_corners="1"'))
    code, printed, _ = cli("convert", "a.xml", "b.py")
    assert (code, printed.splitlines()[-1]) == (0, "wrote b.py")
    compile((folder / "b.py").read_text(), "b.py", "exec")


def test_convert_keeps_scales_in_full(cli: Cli, folder: Path) -> None:
    """No half precision: 2.3 must not become 2.3008."""
    model = onnx_model("Resize", 18, (1, 1, 5, 7), np.float32, {"mode": "linear", "axes": [2, 3]}, scales=[2.3, 0.6])
    (folder / "a.onnx").write_bytes(model.SerializeToString())
    assert cli("convert", "a.onnx", "b.xml")[0] == 0
    found = openvino.Core().read_model("b.xml")
    constants = [node for node in found.get_ops() if node.get_type_name() == "Constant"]
    assert "f16" not in {node.get_element_type().get_type_name() for node in constants}


def test_convert_there_and_back(cli: Cli, folder: Path) -> None:
    (folder / "a.xml").write_text(layer('axes="2,3" mode="cubic" align_corners="0"'))
    for source, destination in (("a.xml", "b.onnx"), ("b.onnx", "c.xml"), ("c.xml", "d.onnx"), ("d.onnx", "e.json")):
        code, printed, errors = cli("convert", source, destination)
        assert (code, errors) == (0, "")
        assert printed.endswith(f"wrote {destination}\n")
    first, last = ir_interp.load("a.xml")[0], ir_interp.load("e.json")[0]
    np.testing.assert_allclose(last.run(image()), first.run(image()), rtol=0, atol=2e-5)


_DECLARED, _DOUBLED = (1, 4, 5, 6), (1, 4, 10, 12)


def _of_four_channels(kind: str, folder: Path) -> Path:
    """Write a resize of 1x4x5x6 by sizes or by scales."""
    sizes, scales = (_DOUBLED, None) if "sizes" in kind else (None, (1, 1, 2, 2))
    path = folder / "up.onnx"
    op, version = ("Upsample", 9) if "Upsample" in kind else ("Resize", 13)
    onnx.save(onnx_model(op, version, _DECLARED, "float32", {"mode": "linear"}, sizes=sizes, scales=scales), path)
    if kind.startswith("IR"):
        ir_interp.convert(path, path.with_suffix(".xml"), verify=False)
        return path.with_suffix(".xml")
    if kind.startswith("layer"):
        path = folder / "up.xml"
        path.write_text(interpolate('axes="2,3" mode="nearest"', shape=_DECLARED, out=_DOUBLED))
    return path


@pytest.mark.parametrize(
    "kind", ["ONNX sizes", "ONNX scales", "ONNX Upsample by scales", "IR sizes", "IR scales", "layer"]
)
def test_run_refuses_what_the_declared_shape_excludes(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sizes of four channels would make four of three."""
    model, x, y = _of_four_channels(kind, tmp_path), tmp_path / "x.npy", tmp_path / "y.npy"
    (op,) = ir_interp.load(model)
    other = "; to resize an image of another size, use --sizes or --scales"
    rows = (
        ((1, 4, 5, 6), (), ""),
        ((1, 3, 5, 6), (), "takes 1x4x5x6"),
        ((1, 3, 7, 8), (), "takes 1x4x5x6"),
        ((2, 4, 5, 6), (), "takes 1x4x5x6"),
        ((1, 4, 7, 8), (), f"takes 1x4x5x6{other}"),
        ((1, 4, 7, 8), ("--sizes", "1,4,9,9"), ""),
        ((1, 3, 7, 8), ("--scales", "1,1,2,2"), "takes 1x4x5x6"),
        ((1, 3, 7, 8), ("--sizes", "1,4,9,9"), "takes 1x4x5x6"),
    )
    for shape, options, said in rows:
        np.save(x, np.zeros(shape, np.float32))
        listed = [text.replace("1,4,", "").replace("1,1,", "") if op.spec.axes else text for text in options]
        code = main(["run", str(model), "--input", str(x), "--output", str(y), *listed])
        message = f"error: the input is {'x'.join(map(str, shape))}; {op.where} {said}\n" if said else ""
        assert (code, capsys.readouterr().err, y.exists()) == (2 if said else 0, message, not said)
        y.unlink(missing_ok=True)
    with pytest.raises(ShapeError, match=r"use sizes or scales$"):
        op.run(np.zeros((1, 4, 7, 8), np.float32))


def test_run_refuses_stores_that_the_declared_shape_excludes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zarr = pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")
    zarr.save_array(tmp_path / "x.zarr", np.zeros((1, 3, 5, 6), np.float32))
    model = _of_four_channels("ONNX scales", tmp_path)
    command = ["run", str(model), "--input", str(tmp_path / "x.zarr"), "--output", str(tmp_path / "y.zarr")]
    assert main(command) == 2
    assert 'the input is 1x3x5x6; up.onnx:node[0 ""] takes 1x4x5x6' in capsys.readouterr().err
    assert not (tmp_path / "y.zarr").exists()
