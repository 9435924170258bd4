"""The program in a process of its own: killed at any moment, with little memory or few files, without a network."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

from tests.safety.test_network import WITHOUT_NETWORK
from tests.support.places import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and the filter are those of Linux")
MOMENTS = 5
KILLS = 3
GROWTH_MIB = 8
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}


def model(path: Path, location: str = "") -> None:
    """Write a model of one resize and one weight, which may be at another place."""
    nodes = [
        helper.make_node("Add", ["x", "w"], ["a"]),
        helper.make_node("Resize", ["a", "", "s"], ["y"], mode="linear"),
    ]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 1, 8], [float(n) for n in range(8)])
    if location:
        weight.ClearField("float_data")
        weight.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("length", "32")):
            weight.external_data.add(key=key, value=value)
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, size, size])
        for name, size in (("x", 8), ("y", 16))
    ]
    scales = helper.make_tensor("s", TensorProto.FLOAT, [4], [1, 1, 2, 2])
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [weight, scales])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "ir_interp", *arguments]


def test_killed_at_any_moment_files_are_all_old_or_all_new(tmp_path: Path) -> None:
    """Without a proof most moments lie about the writing."""
    model(tmp_path / "a.onnx")
    names, call = ("a.xml", "a.bin"), command("convert", "a.onnx", "a.xml", "--no-verify")

    def state() -> list[bytes]:
        return [(tmp_path / name).read_bytes() for name in names]

    def convert() -> None:
        subprocess.run(call, cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True)

    start = time.monotonic()
    convert()
    seconds, new = time.monotonic() - start, state()
    silent = subprocess.DEVNULL
    for moment in range(MOMENTS):
        for name in names:
            (tmp_path / name).write_bytes(b"old")
        started = subprocess.Popen(call, cwd=tmp_path, env=ENVIRONMENT, stdout=silent, stderr=silent)
        time.sleep(seconds * (moment + 1) / MOMENTS)
        started.kill()
        started.wait()
        assert state() in ([b"old", b"old"], new)
    convert()
    assert state() == new


def test_a_resize_that_is_killed_at_any_moment_is_continued(tmp_path: Path) -> None:
    """What is named as the output is never a part of it, and the next call makes all of it."""
    zarr = pytest.importorskip("zarr")
    pixels = np.random.default_rng(1).integers(0, 256, (1200, 1000), np.uint8)
    zarr.create_array(tmp_path / "s.zarr", data=pixels, chunks=(50, 50))
    line = command("run", "s.zarr", "--like", "pillow:bicubic", "--sizes", "1500,1300", "--output")

    def call(output: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*line, output],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    assert call("whole.zarr").wait(timeout=100) == 0
    for moment in range(KILLS):
        started = call("y.zarr")
        while started.poll() is None and not list(tmp_path.glob("*y.zarr*")):
            time.sleep(0.001)
        time.sleep(0.02 * moment)
        started.kill()
        started.wait()
        unfinished = not (tmp_path / "y.zarr").exists()
        assert unfinished or moment
    assert call("y.zarr").wait(timeout=100) == (0 if unfinished else 2)  # which replaces no store
    whole = zarr.open_array(tmp_path / "whole.zarr", mode="r")[:]
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "y.zarr", mode="r")[:], whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.zarr", "whole.zarr", "y.zarr"]


@pytest.mark.parametrize(
    ("limit", "least"),
    [(resource.RLIMIT_NOFILE, 12), (resource.RLIMIT_NOFILE, 20), (resource.RLIMIT_AS, 400 * 2**20)],
)
def test_a_tight_limit_is_an_error_without_a_traceback(limit: int, least: int, tmp_path: Path) -> None:
    model(tmp_path / "a.onnx")
    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    for arguments in (
        ("run", "a.png", "--like", "pillow:bicubic", "--sizes", "4,4", "--output", "b.png"),
        ("audit", "a.onnx"),
        ("convert", "a.onnx", "a.xml"),
    ):
        ended = subprocess.run(
            command(*arguments),
            cwd=tmp_path,
            env=ENVIRONMENT,
            preexec_fn=lambda: resource.setrlimit(limit, (least, least)),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert ended.returncode in (0, 1, 2)
        assert "Traceback" not in ended.stderr
        assert "unexpected" not in ended.stderr
        assert (ended.returncode != 0) == ended.stderr.startswith("error: ")
    assert not list(tmp_path.glob("a.xml")) or ended.returncode == 0


WITHOUT_SHARED_MEMORY = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', "sh")
CAN_HIDE = (
    shutil.which("unshare")
    and not subprocess.run([*WITHOUT_SHARED_MEMORY, "true"], check=False, capture_output=True).returncode
)


@pytest.mark.skipif(not CAN_HIDE, reason="needs the right to mount in a namespace")
@pytest.mark.parametrize("line", ["convert a.onnx a.xml", "audit a.onnx --run", "audit a.onnx c.onnx --jobs 2"])
def test_without_shared_memory(line: str, tmp_path: Path) -> None:
    """As in a container that has no place for it: the answers are the same."""
    for name in ("a.onnx", "c.onnx"):
        model(tmp_path / name)
    plain, hidden = (
        subprocess.run(
            [*prefix, *command(*line.split())],
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        for prefix in ((), WITHOUT_SHARED_MEMORY)
    )
    assert (hidden.returncode, hidden.stdout, hidden.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    assert plain.returncode == 0


GROWTH = """
import pathlib, resource, sys
import numpy as np
import ir_interp

def once(number):
    ir_interp.convert("a.onnx", "a.xml", verify=False)
    ir_interp.resize(np.zeros((60 + number % 3, 50, 3), np.float32), SPEC, sizes=(30, 40))

SPEC = ir_interp.ResizeSpec(kernel=ir_interp.Linear(), axes=(0, 1))
resident = []
for number in range(1, 91):
    once(number)
    if number in (30, 90):
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
        resident.append(pages * resource.getpagesize() // 2**20)
print(*resident)
"""


def test_a_process_does_not_grow_with_its_calls(tmp_path: Path) -> None:
    """After 30 conversions and resizes, 60 more keep nothing but what a full cache holds."""
    model(tmp_path / "a.onnx")
    done = subprocess.run(
        [sys.executable, "-P", "-c", GROWTH],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert (done.returncode, done.stderr) == (0, "")
    few, many = map(int, done.stdout.split())
    assert many - few < GROWTH_MIB


def test_an_address_in_a_model_is_not_followed(tmp_path: Path) -> None:
    """The kernel kills a process that opens a socket."""
    locations = ("http://127.0.0.1:9/w", "s3://bucket/w", "file:///etc/hostname", "memory://w")
    for number, location in enumerate(locations):
        model(tmp_path / f"{number}.onnx", location)
    code = "from ir_interp.cli.main import main\nprint(*(main(['convert', f'{n}.onnx', f'{n}.xml']) for n in range(4)))"
    call = [sys.executable, "-c", WITHOUT_NETWORK + code]
    ended = subprocess.run(
        call, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, ended.stdout) == (0, "2 2 2 2\n")
    errors = ended.stderr.splitlines()
    assert [line.partition(".onnx: ")[0] for line in errors] == [f"error: {n}" for n in range(4)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{n}.onnx" for n in range(4)]
