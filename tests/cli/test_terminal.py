"""What a terminal shows: tables that fit its width, marks, and options that every verb has."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from rich.cells import cell_len

from ir_interp import show_config
from ir_interp.cli.terminal import Console, Marked
from ir_interp.diagnostic_codes import RULES
from ir_interp.executor.loop_runner import is_installed
from ir_interp.plain_text import labels
from tests.support.commands import command, words
from tests.support.graphs import save_model
from tests.support.loops import use_loops

SOFT = """g (float[1,2,8,8] x) => (float[1,2,k,l] y) <float[4] s = {1,1,0.5,0.5}> {
    [NAME] y = Resize <mode = "linear", antialias = 1> (x, "", s) }"""
AT_RUN_TIME = """g (float[1,2,8,8] x, int64[4] z) => (float[1,2,k,l] y) {
    [up] y = Resize <mode = "nearest"> (x, , , z) }"""
ATTRIBUTES = "coordinate_transformation_mode=tf_half_pixel_for_nn, nearest_mode=round_prefer_ceil, axes=[2, 3]"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def soft(path: str, name: str = "soft") -> None:
    Path(path).parent.mkdir(exist_ok=True)
    save_model(Path(path), SOFT.replace("NAME", "soft"))
    model = onnx.load(path)
    model.graph.node[0].name = name
    onnx.save(model, path)


def table(width: int, *rows: tuple[str | tuple[str, ...] | Marked, ...]) -> list[str]:
    """Return the lines of a table of three columns in a terminal of a width."""
    console = Console(file=io.StringIO(), width=width)
    console.table(("resize", "OpenVINO, own frontend", "grade"), rows, title="t")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [24, 40, 60, 80, 100, 200])
def test_no_line_is_longer_than_the_terminal_and_no_word_breaks(width: int) -> None:
    rows = [("/backbone/模型/up", ATTRIBUTES, Marked("differs 0.5", "doubt")), ("b", "c", Marked("same", "good"))]
    lines = table(width, *rows)
    assert max(map(cell_len, lines)) <= width
    if width >= 60:
        said = words("\n".join(lines))
        for word in ("frontend", "coordinate_transformation_mode=", "round_prefer_ceil", "模型/"):
            assert word in said


def test_what_does_not_fit_is_a_list() -> None:
    row = ("up", "mode=linear, " * 3 + "x" * 20, Marked("exact", "good"))
    assert table(42, row) == [
        "t",
        "up",
        "  OpenVINO, own frontend  mode=linear,",
        "                          mode=linear,",
        "                          mode=linear,",
        "                          " + "x" * 16,
        "                          " + "x" * 4,
        "  grade                   ✓\xa0exact",
    ]
    assert table(30, row)[2:] == [
        "  OpenVINO, own frontend",
        "    mode=linear, mode=linear,",
        "    mode=linear,",
        "    " + "x" * 20,
        "  grade",
        "    ✓\xa0exact",
    ]


def test_a_tall_row_is_a_list() -> None:
    assert table(80, ("up", "word " * 150, "good"))[1] == "up"


def test_names_are_text_and_lines_are_lines() -> None:
    (row,) = [line for line in table(80, ("[red]a\nb\x1b", ("c", "d"), "e")) if "[red]" in line]
    assert r"[red]a\nb\x1b" in row


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour(environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"TERM": "xterm-256color", **environment}.items():
        monkeypatch.setenv(name, value)
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    console.table(("a",), [(Marked("refused", "bad"),)])
    assert isinstance(console.file, io.StringIO)
    assert ("\x1b[31m✗" in console.file.getvalue()) == coloured


def test_files_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    soft("a/m.onnx")
    soft("b/m.onnx")
    soft("c.onnx")
    code, printed, _ = command(capsys, "audit", "a", "b", "c.onnx", "--runtime", "tensorrt")
    assert code == 1
    assert [line for line in printed.splitlines() if line.endswith(".onnx") and " " not in line] == [
        "a/m.onnx",
        "b/m.onnx",
        "c.onnx",
    ]
    for place in ("a/m.onnx", "b/m.onnx", "c.onnx"):
        assert f'{place}:node[0 "soft"]: IRI022' in printed
    code, printed, _ = command(capsys, "compare", "a/m.onnx", "b/m.onnx")
    assert "a/m.onnx" in printed
    assert "b/m.onnx" in printed


def test_labels() -> None:
    here = Path.cwd()
    assert labels([here / "a" / "m", here / "b" / "m", "n"]) == {
        str(here / "a" / "m"): "a/m",
        str(here / "b" / "m"): "b/m",
        "n": "n",
    }
    assert labels(["/x/m", "/y/m"]) == {"/x/m": "/x/m", "/y/m": "/y/m"}


# Options that every verb has


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(capsys, "--version") == (0, f"{show_config()}\n", "")
    assert str(show_config()).startswith("ir-interp 0.")


@pytest.mark.skipif(not is_installed(), reason="numba is not installed")
def test_why_there_are_no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    use_loops(monkeypatch, None)
    assert show_config().loops.startswith("numba ")
    use_loops(monkeypatch, "0")
    assert show_config().loops == "none: IR_INTERP_COMPILED is 0"
    use_loops(monkeypatch, "1")
    monkeypatch.setitem(sys.modules, "ir_interp.executor.loops", None)
    assert show_config().loops.startswith("none: import of ir_interp.executor.loops halted")


def test_kernels_are_named() -> None:
    code = "import ir_interp; print(ir_interp.show_config().blas)"
    environment = os.environ | {"OPENBLAS_CORETYPE": "Haswell"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("openblas ")
    assert done.stdout.endswith("kernels of Haswell\n")


@pytest.mark.parametrize("verb", ["audit", "inspect", "run", "convert", "compare", "explain", "plot"])
def test_short_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    short, long = (command(capsys, verb, option) for option in ("-h", "--help"))
    assert short == long
    assert short[0] == 0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    program = "from ir_interp.cli.main import entry; import sys; sys.argv[0] = 'ir-interp'; entry()"
    shown = subprocess.run(
        [sys.executable, "-c", program, "--show-completion"],
        env={**os.environ, "_IR_INTERP_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    assert "_IR_INTERP_COMPLETE" in shown.stdout
    for given, wanted in (("ir-interp con", "convert"), ("ir-interp audit --runtime ten", "tensorrt")):
        found = subprocess.run(
            [sys.executable, "-c", program],
            env={
                **os.environ,
                "_IR_INTERP_COMPLETE": f"complete_{shell}",
                "COMP_WORDS": given,
                "COMP_CWORD": str(given.count(" ")),
                "_TYPER_COMPLETE_ARGS": given,
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert wanted in found.stdout, found.stderr


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    soft("a.onnx")
    np.save("x.npy", np.zeros((1, 2, 8, 8), np.float32))
    for code, *given in (
        (1, "audit", "a.onnx"),
        (0, "convert", "a.onnx", "b.xml"),
        (0, "compare", "a.onnx", "b.xml"),
        (0, "run", "a.onnx", "--input", "x.npy", "--output", "y.npy"),
        (0, "plot", "a.onnx", "p.png"),
    ):
        assert command(capsys, *given, "--quiet") == (code, "", "")
    code, printed, errors = command(capsys, "audit", "gone.onnx", "-q")
    assert (code, printed) == (2, "")
    assert errors.startswith("error: gone.onnx")


def test_one_way_to_ask_for_json(capsys: pytest.CaptureFixture[str]) -> None:
    soft("a.onnx")
    assert command(capsys, "convert", "a.onnx", "b.xml")[0] == 0
    for given in (
        ("audit", "a.onnx"),
        ("inspect", "a.onnx"),
        ("convert", "a.onnx", "c.xml"),
        ("compare", "a.onnx", "b.xml"),
        ("explain", "a.onnx"),
        ("explain", "IRI001"),
    ):
        short, long = (command(capsys, *given, *options) for options in (("--json",), ("--format", "json")))
        assert short[0] == long[0] < 2
        assert json.loads(short[1]).keys() == json.loads(long[1]).keys()
    assert command(capsys, "audit", "a.onnx", "--format", "sarif", "--json") == (
        2,
        "",
        "error: --format and --json exclude each other\n",
    )
    assert command(capsys, "compare", "a.onnx", "b.xml", "--quiet", "--json") == (
        2,
        "",
        "error: --json and --quiet exclude each other\n",
    )


def test_lengths_of_the_axes_that_are_resized(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), AT_RUN_TIME)
    soft("b.onnx")
    np.save("x.npy", np.zeros((1, 2, 8, 8), np.float32))
    for model, given, made in (
        ("a.onnx", ("--sizes", "5,6"), "1x2x5x6"),
        ("a.onnx", ("--sizes", "1,2,5,6"), "1x2x5x6"),
        ("a.onnx", ("--scales", "2,0.5"), "1x2x16x4"),
        ("b.onnx", ("--sizes", "3,5"), "1x2x3x5"),
    ):
        code, printed, errors = command(capsys, "run", model, "--input", "x.npy", "--output", "y.npy", *given)
        assert (code, errors) == (0, "")
        assert f"1x2x8x8 -> {made} float32" in printed
    code, printed, _ = command(capsys, "explain", "a.onnx", "--sizes", "5,6")
    assert code == 0
    assert "axis 2: 8 -> 5" in printed
    assert "axis 3: 8 -> 6" in printed
    assert command(capsys, "plot", "a.onnx", "p.png", "--sizes", "5,6", "-q")[0] == 0


def test_the_shape_of_a_resize_has_one_form(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), AT_RUN_TIME)
    plain = command(capsys, "explain", "a.onnx", "--shape", "1,2,9,9", "--sizes", "5,6")
    assert plain == command(capsys, "explain", "a.onnx", "--shape", "up:1,2,9,9", "--sizes", "5,6")
    assert plain[0] == 0
    assert command(capsys, "explain", "a.onnx", "--shape", "up:1,2,9,9", "--layer", "down") == (
        2,
        "",
        "error: --shape 'up:1,2,9,9' is that of 'up', but --layer names 'down'\n",
    )
    expected = "expected SIZES or NAME:SIZES, as in 1,3,640,640 or x:1,3,640,640"
    for verb in (("explain", "a.onnx"), ("plot", "a.onnx", "p.png"), ("compare", "a.onnx", "a.onnx")):
        assert command(capsys, *verb, "--shape", "x:1,y") == (2, "", f"error: --shape 'x:1,y': {expected}\n")


def test_the_shape_of_an_only_input_needs_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), SOFT.replace("NAME", "up").replace("8,8", "h,w"))
    save_model(Path("b.onnx"), AT_RUN_TIME)
    for given in ("1,2,6,10", "x:1,2,6,10"):
        code, printed, _ = command(capsys, "compare", "a.onnx", "a.onnx", "--shape", given)
        assert code == 0
        assert "1x2x3x5 float32" in printed
    code, _, errors = command(capsys, "compare", "b.onnx", "b.onnx", "--shape", "1,2,8,8")
    assert (code, errors) == (2, "error: a shape has no input name; the inputs are x, z\n")


def test_the_file_of_an_only_input_needs_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), SOFT.replace("NAME", "up"))
    save_model(Path("b.onnx"), AT_RUN_TIME)
    np.save("x.npy", np.full((1, 2, 8, 8), 7, np.float32))
    plain, named = (command(capsys, "compare", "a.onnx", "a.onnx", "--input", each) for each in ("x.npy", "x=x.npy"))
    assert plain == named
    assert "7 7 7" in words(plain[1])
    for model, given, said in (
        ("b.onnx", ("x.npy",), "a file has no input name; the inputs are x, z"),
        ("a.onnx", ("x.npy", "x=x.npy"), "a file for input 'x' is given with and without its name"),
    ):
        options = [word for each in given for word in ("--input", each)]
        assert command(capsys, "compare", model, model, *options) == (2, "", f"error: {said}\n")


# What fails an audit


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ((), 1),
        (("--fail-on", "differs"), 1),
        (("--fail-on", "refused"), 1),
        (("--fail-on", "mistake"), 1),
        (("--fail-on", "differs", "--runtime", "tensorrt"), 0),
        (("--fail-on", "refused", "--severity", "tensorrt=note"), 0),
        (("--fail-on", "IRI022"), 1),
        (("--fail-on", "IRI021"), 0),
        (("--severity", "tensorrt=note", "--severity", "openvino=note", "--ignore", "IRI01"), 0),
        (("--severity", "tensorrt=note"), 1),
        (("--fail-on", "differs", "--runtime", "tensorrt:8.6"), 1),
        (("--fail-on", "differs", "--runtime", "tensorrt:8.6", "--severity", "tensorrt=note"), 0),
        (("--fail-on", "differs", "--runtime", "tensorrt:8.6", "--severity", "tensorrt=note,tensorrt:8.6=warning"), 1),
    ],
)
def test_what_fails_an_audit(given: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    soft("a.onnx")
    assert command(capsys, "audit", "a.onnx", *given, "-q") == (code, "", "")


def test_severities_reach_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    soft("a.onnx")
    given = ("audit", "a.onnx", "--select", "IRI022", "--severity", "tensorrt=error")
    (finding,) = json.loads(command(capsys, *given, "--json")[1])["findings"]
    assert (finding["severity"], finding["runtime"]) == ("error", "tensorrt")
    assert command(capsys, *given, "--format", "github")[1].startswith("::error file=")
    (run,) = json.loads(command(capsys, *given, "--format", "sarif")[1])["runs"]
    assert [each["level"] for each in run["results"]] == ["error"]
    assert RULES["IRI022"].severity.value == "warning"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--fail-on", "difers"), "no code begins with 'difers'; expected one of "),
        (("--severity", "tensorrt"), "--severity 'tensorrt': expected RUNTIME=SEVERITY, as in tensorrt=note"),
        (("--severity", "tensorrt=nota"), "--severity 'tensorrt=nota': expected one of error, note, warning; did "),
        (("--severity", "tensort=note"), "unknown runtime 'tensort'; expected one of "),
    ],
)
def test_wrong_words(given: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    soft("a.onnx")
    code, printed, errors = command(capsys, "audit", "a.onnx", *given)
    assert (code, printed) == (2, "")
    assert errors.startswith(f"error: {said}")


def test_names_that_a_terminal_cannot_show() -> None:
    soft("a.onnx", "模型")
    done = subprocess.run(
        [sys.executable, "-c", "from ir_interp.cli.main import entry; entry()", "audit", "a.onnx"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert rb"\u6a21" in done.stdout
    assert b"x refused" in done.stdout.replace(rb"\xa0", b" ")


def test_errors_are_in_the_json_of_an_audit(capsys: pytest.CaptureFixture[str]) -> None:
    soft("a.onnx")
    Path("b.onnx").write_bytes(b"\x08")
    code, printed, _ = command(capsys, "audit", "a.onnx", "b.onnx", "--json")
    assert code == 2
    (error,) = json.loads(printed)["errors"]
    assert error["where"] == "b.onnx"
    assert error["message"].startswith("not an ONNX model")


# A model in brief


def test_an_ir_without_its_bin(capsys: pytest.CaptureFixture[str]) -> None:
    open_sizes = SOFT.replace("NAME", "up").replace("8,8", "h,w").replace(", antialias = 1", "").replace("0.5", "2")
    save_model(Path("a.onnx"), open_sizes)
    assert command(capsys, "convert", "a.onnx", "a.xml", "-q")[0] == 0
    with_bin = command(capsys, "inspect", "a.xml")
    Path("a.bin").unlink()
    code, printed, errors = command(capsys, "inspect", "a.xml")
    assert (with_bin[0], code, errors) == (0, 0, "")
    assert "a.bin (missing)" in printed
    assert "not known:" in printed
    assert "mode=linear" in printed
    record = json.loads(command(capsys, "inspect", "a.xml", "--json")[1])
    assert record["model"]["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 2, None, None]}]
    assert [(each["name"], each["problem"]) for each in record["unknown"]] == [
        ("y", "the value is needed, but a.bin is missing")
    ]


def test_a_model_in_brief(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), AT_RUN_TIME)
    code, printed, errors = command(capsys, "inspect", "a.onnx")
    assert (code, errors) == (0, "")
    first = printed.splitlines()[:7]
    assert first[0] == "a.onnx"
    assert first[1].startswith("format      ONNX, IR version ")
    assert first[2:6] == [
        "input       x: float32 1x2x8x8",
        "            z: int64 4",
        "output      y: float32 1x2xkxl",
        "operations  1: Resize 1",
    ]
