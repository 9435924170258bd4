"""The program in a process of its own: killed at any moment, with little memory or few files, without a network."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.safety.test_network import WITHOUT_NETWORK
from tests.support.places import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and the filter are those of Linux")
MOMENTS = 5
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


@pytest.mark.parametrize(("limit", "least"), [(resource.RLIMIT_NOFILE, 12), (resource.RLIMIT_AS, 400 * 2**20)])
def test_a_tight_limit_is_an_error_without_a_traceback(limit: int, least: int, tmp_path: Path) -> None:
    model(tmp_path / "a.onnx")
    ended = subprocess.run(
        command("convert", "a.onnx", "a.xml"),
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
