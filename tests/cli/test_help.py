"""Help: short, in plain words, in the width of a terminal."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

import ir_interp
from ir_interp.cli import command_line, commands
from ir_interp.cli.main import app
from ir_interp.options.declaration import CALLS, FILES, SEVERITIES, SHAPES, WORDS, flagged
from tests.support.commands import command
from tests.support.graphs import save_model

PROGRAM: Any = typer.main.get_command(app)
COMMANDS = tuple(PROGRAM.commands)


def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    code, printed, errors = command(capsys, *arguments, "--help")
    assert (code, errors) == (0, "")
    return printed


def test_the_program_fits_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(capsys, monkeypatch).splitlines()
    assert len(lines) <= 24
    assert [line for line in lines if line in {"Diagnose", "Change", "Images", "Runtimes"}] == [
        "Diagnose",
        "Change",
        "Images",
        "Runtimes",
    ]
    for name in COMMANDS:
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert len(line.split()) <= 11, line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_program_lists_what_a_command_is_for(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = re.search(rf"^  {name} +(.+)$", shown(capsys, monkeypatch), re.MULTILINE)
    assert listed is not None
    assert f"\n\n{listed[1]}.\n\n" in shown(capsys, monkeypatch, name)


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_lines_fit_a_terminal(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    printed = shown(capsys, monkeypatch, *filter(None, [name]))
    assert all(len(line) <= 80 for line in printed.splitlines() if "  ir-interp " not in line)


@pytest.mark.parametrize("name", COMMANDS)
def test_headings(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    by_heading = commands.headed(PROGRAM.commands[name].params)
    assert len(by_heading.get(commands.COMMON, [])) <= 8
    assert all(each.help and each.metavar is not None for members in by_heading.values() for each in members)
    flags = [flag for members in by_heading.values() for each in members for flag in each.opts]
    assert len(flags) == len(set(flags))
    assert not {"--scale", "--scales"} <= set(flags)
    assert ("--std" in flags) == ("--mean" in flags)


def test_the_folder_options_of_convert_stand_together() -> None:
    many = commands.headed(PROGRAM.commands["convert"].params)["Many files"]
    assert [each.opts[0] for each in many] == ["--to", "--jobs", "--results", "--scheduler", "--time-limit"]


# Lists


@pytest.mark.parametrize(
    ("kind", "texts", "values"),
    [
        (WORDS, ["IRI022,IRI011", "IRI01"], ("IRI022", "IRI011", "IRI01")),
        (WORDS, [r"a\,b, c"], ("a,b", "c")),
        (CALLS, ["pillow:box=1,2,3,4,opencv:cubic"], ("pillow:box=1,2,3,4", "opencv:cubic")),
        (CALLS, ["pillow:bicubic", "bogus:x"], ("pillow:bicubic", "bogus:x")),
        (SHAPES, ["x:1,3,8,8,y:0:1,3"], {"x": (1, 3, 8, 8), "y:0": (1, 3)}),
        (SHAPES, ["1,3,8,8"], {"": (1, 3, 8, 8)}),
        (SHAPES, [r"a\,b:1,2", "c:3"], {"a,b": (1, 2), "c": (3,)}),
        (FILES, ["x=a.npy,b.npy,y=c.npy"], {"x": (Path("a.npy"), Path("b.npy")), "y": (Path("c.npy"),)}),
        (FILES, ["a.npy", "b.npy"], {"": (Path("a.npy"), Path("b.npy"))}),
        (FILES, ["x=1,2.npy", "3=4.npy"], {"x": (Path("1,2.npy"),), "": (Path("3=4.npy"),)}),
    ],
)
def test_lists(kind: Any, texts: list[str], values: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("1,2.npy", "3=4.npy"):  # names that exist are taken as they are
        Path(name).touch()
    assert kind.read(texts, "--option") == values
    severities = SEVERITIES.read(["tensorrt=note,openvino=error"], "--severity")
    assert {name: each.value for name, each in severities.items()} == {"tensorrt": "note", "openvino": "error"}


# Completion


def test_words_that_a_shell_completes(tmp_path: Path) -> None:
    save_model(
        tmp_path / "a.onnx",
        "g (float[1,2,8,8] x) => (float[1,2,k,l] y) <float[4] s = {1,1,2,2}> {[up] y = Resize (x, , s)}",
    )
    context = typer.Context(PROGRAM.commands["inspect"])
    context.params = {"file": tmp_path / "a.onnx"}
    assert command_line.completion("layers")(context, "u") == ["up"]
    assert command_line.completion("codes")(context, "IRI011,IRI02")[0] == "IRI011,IRI021"
    assert command_line.completion("targets")(context, "onnx:11") == ["onnx:11"]
    context.params = {"file": tmp_path / "gone.onnx"}
    assert command_line.completion("layers")(context, "") == []
    for call in command_line.words("likes"):
        assert ir_interp.spec(call), call
    for code in command_line.words("mistakes"):  # each of which `fix` repairs
        ir_interp.fix(tmp_path / "a.onnx", tmp_path / "b.onnx", select=[code], verify=False)
    assert {"IRI011", "IRI019", "IRI026", "IRI027"} <= {*command_line.words("mistakes")}
    completed = {each.complete for name in COMMANDS for each in flagged(_options(name)) if each.complete}
    assert completed == {*command_line.WORDS, "layers"}


def _options(name: str) -> Any:
    function = inspect.unwrap(PROGRAM.commands[name].callback)
    return function.__globals__[function.__annotations__["options"]]
