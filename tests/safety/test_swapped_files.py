"""A pipe takes the place of a checked file: no command waits for a writer, however late the swap comes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import ir_interp
from tests.support.external import LENGTH, save_external
from tests.support.places import ROOT
from tests.support.watched import CAN_WATCH, replaced_after

SECONDS = 60.0
"""Far below the time limit of a runtime in a process of its own, which may wait until then."""

# A command, the file that is swapped, and the one after whose uses that happens.
CALLS = {
    "model": ("convert a.onnx y.xml --no-verify", "a.onnx", "a.onnx"),
    "model to be fixed": ("fix a.onnx y.onnx", "a.onnx", "a.onnx"),
    "portable model": ("convert a.onnx y.onnx --target tensorrt", "a.onnx", "a.onnx"),
    "external data": ("convert e.onnx y.xml --no-verify", "weights", "e.onnx"),
    "copied external data": ("convert e.onnx out/y.onnx --target tensorrt --no-verify", "weights", "e.onnx"),
    "frozen model": ("convert e.onnx y.xml --freeze --shape 1,1,8,8 --no-verify", "weights", "e.onnx"),
    "IR": ("convert b.xml y.onnx --no-verify", "b.xml", "b.xml"),
    "constants of an IR": ("convert b.xml y.onnx --no-verify", "b.bin", "b.xml"),
    "rewritten IR": ("convert b.xml y.xml --only decomposed --no-verify", "b.bin", "b.xml"),
    "image": ("run g.png --like pillow:bicubic --sizes 4,4 --output y.npy", "g.png", "g.png"),
    "array": ("run x.npy --like pillow:bicubic --sizes 4,4 --output y.npy", "x.npy", "x.npy"),
    "audited model": ("audit a.onnx", "a.onnx", "a.onnx"),
}
FEW = ("rewritten IR", "array")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    np.arange(LENGTH, dtype=np.float32).tofile("weights")
    save_external(Path("e.onnx"), "initialiser", "weights")
    ir_interp.convert(Path("e.onnx"), Path("b.xml"), verify=False)
    save_external(Path("a.onnx"), "Constant", "weights")
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8)
    Image.fromarray(pixels).save("g.png")
    np.save("x.npy", pixels.astype(np.float32))
    return tmp_path


@pytest.mark.skipif(not CAN_WATCH, reason="the log of opened files is one of Linux")
@pytest.mark.parametrize(
    "name", [each if each in FEW else pytest.param(each, marks=pytest.mark.long) for each in CALLS]
)
def test_a_pipe_that_takes_the_place_of_a_file(name: str, folder: Path) -> None:
    """After each time that a file was opened, or closed."""
    line, file, used = CALLS[name]
    content, swaps = Path(file).read_bytes(), 0
    program = [sys.executable, "-P", "-m", "ir_interp", *line.split()]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    while True:
        Path(file).unlink()
        Path(file).write_bytes(content)
        os.mkfifo("pipe")
        with replaced_after(swaps + 1, Path(used), Path(file), Path("pipe")):
            done = subprocess.run(
                program, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
            )
        if Path("pipe").exists():  # it was not opened so often
            break
        swaps += 1
        assert done.returncode in (0, 1, 2), done.stderr
        assert (done.returncode == 2) == done.stderr.startswith("error: "), done.stderr
        assert "unexpected" not in done.stderr
    assert swaps
    assert done.returncode == 0, done.stderr
