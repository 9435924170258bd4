"""What is read is never overwritten, what nobody named is not replaced, and a failure leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import command
from tests.support.external import save_external
from tests.support.graphs import save_model
from tests.support.places import ROOT

TEXT = """g (float[1,1,8,8] x) => (float[1,1,k,l] y) <float[4] s = {1,1,2,2}> {
    y = Resize <mode = "nearest"> (x, "", s)
}"""
READ = "is an input and would be overwritten; choose another name\n"
Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a model, the same under another name, its input, and names that lead to them."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.onnx", "b.onnx"):
        save_model(Path(name), TEXT)
    np.save("x.npy", np.zeros((1, 1, 8, 8), np.float32))
    for name, target in (("link.onnx", "a.onnx"), ("link.npy", "x.npy"), ("link.html", "a.onnx"), ("x.html", "x.npy")):
        Path(name).symlink_to(target)
    os.link("a.onnx", "hard.onnx")
    os.link("a.onnx", "hard.json")
    os.link("a.onnx", "hard.png")
    return tmp_path


def everything() -> dict[str, bytes | None]:
    return {path.name: path.read_bytes() if path.is_file() else None for path in Path().iterdir()}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("convert", "a.onnx", "./a.onnx", "--target", "tensorrt"), "a.onnx"),
        (("convert", "a.onnx", "link.onnx", "--target", "tensorrt"), "link.onnx"),
        (("convert", "link.onnx", "a.onnx", "--target", "tensorrt"), "a.onnx"),
        (("convert", "a.onnx", "hard.onnx", "--target", "tensorrt"), "hard.onnx"),
        (("convert", "a.onnx", "c.xml", "--report", "hard.json"), "hard.json"),
        (("convert", "a.onnx", "c.xml", "--html", "link.html"), "link.html"),
        (("convert", "a.onnx", "c.xml", "--html", "x.html", "--input", "x=x.npy"), "x.html"),
        (("compare", "a.onnx", "b.onnx", "--html", "link.html"), "link.html"),
        (("compare", "a.onnx", "b.onnx", "--html", "x.html", "--input", "x=link.npy"), "x.html"),
        (("audit", "b.onnx", "a.onnx", "--html", "link.html"), "link.html"),
        (("audit", ".", "--html", "link.html"), "link.html"),
        (("run", "a.onnx", "--input", "x.npy", "--output", "x.npy"), "x.npy"),
        (("run", "a.onnx", "--input", "x.npy", "--output", "link.npy"), "link.npy"),
        (("plot", "a.onnx", "hard.png"), "hard.png"),
        (("plot", "b.onnx", "hard.png", "--what", "image", "--against", "a.onnx"), "hard.png"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_no_output_is_an_input(arguments: tuple[str, ...], name: str, capsys: Printed) -> None:
    before = everything()
    assert command(capsys, *arguments) == (2, "", f"error: {name} {READ}")
    assert everything() == before


def test_weights_behind_a_link_are_kept(capsys: Printed) -> None:
    """An IR's .bin would replace the link only, but whoever has such a link means the file."""
    np.arange(256, dtype=np.float32).tofile("weights")
    Path("c.bin").symlink_to("weights")
    save_external(Path("e.onnx"), "Constant", "weights")
    before = everything()
    assert command(capsys, "convert", "e.onnx", "c.xml") == (2, "", f"error: c.bin {READ}")
    assert everything() == before


def test_the_weights_of_an_ir_are_kept(capsys: Printed) -> None:
    assert command(capsys, "convert", "a.onnx", "c.xml")[0] == 0
    Path("page.html").symlink_to("c.bin")
    before = everything()
    assert command(capsys, "convert", "c.xml", "d.onnx", "--html", "page.html") == (2, "", f"error: page.html {READ}")
    assert everything() == before


@pytest.mark.parametrize(("destination", "name"), [("c.xml", "c.bin"), ("c.onnx", "c.onnx.data")])
def test_what_nobody_named_is_not_replaced(destination: str, name: str, capsys: Printed) -> None:
    Path(name).write_bytes(b"precious")
    before = everything()
    target = ["--target", "tensorrt"] if destination.endswith("onnx") else []
    said = f"error: {name} is there, without {destination}, and might be overwritten; "
    assert command(capsys, "convert", "a.onnx", destination, *target) == (
        2,
        "",
        f"{said}choose another name, or move it away\n",
    )
    assert everything() == before


def test_a_command_can_be_repeated(capsys: Printed) -> None:
    arguments = ("convert", "a.onnx", "c.xml", "--report", "c.json", "--html", "c.html")
    assert command(capsys, *arguments)[0] == 0
    before = everything()
    assert command(capsys, *arguments)[0] == 0
    assert everything().keys() == before.keys()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--report", "hh.onnx"), "--report 'hh.onnx' is not the name of a report; expected .json"),
        (("--html", "hh.onnx"), "--html 'hh.onnx' is not the name of a page; expected .html"),
        (("--report", "gone/c.json"), "gone/c.json cannot be written: folder gone does not exist; create it first"),
        (("--html", "gone/c.html"), "gone/c.html cannot be written: folder gone does not exist; create it first"),
        (("--report", "folder.json"), "folder.json cannot be written: Is a directory"),
        (("--html", "fifo.html"), "fifo.html cannot be written: Not a file"),
    ],
    ids=" ".join,
)
def test_every_output_is_checked_before_anything_is_done(
    arguments: tuple[str, ...], said: str, capsys: Printed
) -> None:
    """Reading the model would fail."""
    Path("a.onnx").write_bytes(b"\x08")
    Path("folder.json").mkdir()
    os.mkfifo("fifo.html")
    before = everything()
    assert command(capsys, "convert", "a.onnx", "c.xml", *arguments) == (2, "", f"error: {said}\n")
    assert everything() == before


def test_two_results_are_two_files(capsys: Printed) -> None:
    before = everything()
    said = "c.json would be written twice; choose another name for one of the two"
    assert command(capsys, "convert", "a.onnx", "c.json", "--report", "./c.json") == (2, "", f"error: {said}\n")
    assert everything() == before


@pytest.mark.parametrize("option", ["--report", "--html"])
def test_a_report_that_fails_leaves_nothing(option: str, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    name = {"--report": "c.json", "--html": "c.html"}[option]
    before = everything()
    code, printed, errors = command(capsys, "convert", "a.onnx", "c.xml", "--no-verify", option, name)
    assert (code, printed) == (2, "")
    assert errors.endswith("cannot be written: No space left on device\n")
    assert everything() == before


def test_a_refusal_leaves_its_page_only(capsys: Printed) -> None:
    save_model(Path("cubic.onnx"), TEXT.replace("nearest", "cubic"))
    before = everything()
    arguments = ("convert", "cubic.onnx", "c.json", "--dialect", "tflite", "--report", "r.json", "--html", "r.html")
    assert command(capsys, *arguments)[0] == 1
    assert everything().keys() - before.keys() == {"r.html"}


@pytest.mark.sampled(2)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    "line", ["inspect a.onnx", "inspect a.onnx --json", "audit a.onnx", "explain a.onnx --json", "--help", "--version"]
)
def test_standard_output_that_is_full(line: str, tmp_path: Path) -> None:
    save_model(
        tmp_path / "a.onnx", 'g (float[1,4] x) => (float[1,8] y) <float[2] s = {1,2}> { [up] y = Resize (x, "", s) }'
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONUNBUFFERED", None)
    program = [sys.executable, "-P", "-m", "ir_interp", *line.split()]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            program, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment, cwd=tmp_path
        )
    said = "error: standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, said)
