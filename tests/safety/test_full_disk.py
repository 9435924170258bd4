"""A disk that is full while a result is written: the error says so, and nothing is left.

The largest size of a file stands for a full disk: the system refuses to write more, whoever writes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import ir_interp
from tests.support.graphs import save_model
from tests.support.places import ROOT

TEXT = """g (float[1,1,8,8] x) => (float[1,1,k,l] y) <float[4] s = {1,1,2,2}, float[1,1,1,16] w = {WEIGHTS}> {
    [up] r = Resize <mode = "linear", antialias = 1> (x, "", s)
    y = Add (r, w)
}""".replace("WEIGHTS", ", ".join(f"0.{number:02}1" for number in range(16)))
COMMANDS = (
    "convert a.onnx out.xml --no-verify",
    "convert a.onnx out.xml --no-verify --fp16",
    "convert a.onnx out.xml --no-verify --ir 10",
    "convert a.onnx out.xml",
    "convert a.onnx out.onnx --no-verify --target openvino",
    "convert a.onnx out.json --no-verify",
    "convert a.onnx out.py --no-verify",
    "convert b.xml out.onnx --no-verify",
    "convert a.onnx out.json --no-verify --report report.json",
    "convert a.onnx out.json --no-verify --html page.html",
    "run a.onnx --input x.npy --output out.npy",
    "run photo.png --like pillow:bicubic --sizes 64,64 --output out.png",
    "run photo.png --like pillow:bicubic --sizes 64,64 --output out.tif",
    "plot a.onnx out.png",
    "plot a.onnx out.svg",
    "preprocess c.onnx out.onnx --like pillow:bicubic --size 8,8",
    "reproduce reference:single-output out",
    "audit a.onnx --html page.html",
    "compare photo.png --like pillow:bicubic --like opencv:cubic --sizes 64,64 --picture out.png",
)
RUN = """
import json, os, resource, shutil, sys
from pathlib import Path
from ir_interp.cli.main import main
limits, commands = json.loads(sys.argv[1])
answers = os.fdopen(os.dup(1), "w")
good = sorted(Path.cwd().iterdir())
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
for number, (limit, line) in enumerate((limit, line) for limit in limits for line in commands):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    place = Path(f"run{number}")
    place.mkdir()
    for each in good:
        (place / each.name).hardlink_to(each)
    os.chdir(place)
    reads, writes = os.pipe()
    os.dup2(writes, 2), os.close(writes)
    code = main([*line.split(), "--quiet"])
    sys.stderr.flush()
    os.dup2(1, 2)
    with os.fdopen(reads, "rb") as errors:
        said = errors.read().decode()
    left = sorted({path.name for path in Path().iterdir()} - {each.name for each in good})
    os.chdir("..")
    print(json.dumps([limit, line, code, said, left]), file=answers, flush=True)
"""


@pytest.fixture
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(Path("a.onnx"), TEXT)
    save_model(Path("c.onnx"), "g (float[1,3,8,8] x) => (float[1,3,8,8] y) { y = Relu (x) }")
    ir_interp.convert("a.onnx", "b.xml", verify=False)
    np.save("x.npy", np.zeros((1, 1, 8, 8), np.float32))
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (32, 32, 3)).astype(np.uint8)).save("photo.png")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems send a signal, or have no such limit")
@pytest.mark.usefixtures("_files")
def test_what_cannot_be_written_is_said_and_nothing_is_left() -> None:
    limits = (1, 3000)  # in one process, since importing everything takes as long as the commands
    done = subprocess.run(  # without bytecode, which Python 3.11 leaves cut off
        [sys.executable, "-B", "-c", RUN, json.dumps([limits, COMMANDS])],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(limit, line) for limit, line, *_ in answers] == list(product(limits, COMMANDS))
    for limit, line, code, said, left in answers:
        if code:
            assert (code, left) == (2, []), (limit, line, said)
            assert said.startswith("error: "), (limit, line)
            assert said.endswith("File too large\n"), (limit, line, said)
        else:
            assert said == "", (limit, line)
            assert left, (limit, line)
    refused = Counter(limit for limit, _, code, *_ in answers if code)
    assert refused[1] == len(COMMANDS)
    assert all(refused[limit] for limit in limits)
