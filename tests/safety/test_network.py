"""No process of the program opens a socket to a network, nor writes what it would report: the kernel sees to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.graphs import save_model
from tests.support.places import ROOT

TEXT = """g (float[1,1,8,8] x) => (float[1,1,k,l] y) <float[4] s = {1,1,2,2}> {
    y = Resize <mode = "nearest"> (x, "", s)
}"""
WITHOUT_NETWORK = """
import ctypes, os, struct, sys
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN, KILL, ALLOW = 0x20, 0x15, 0x06, 0x80000000, 0x7FFF0000
NUMBER, FAMILY, INET, INET6 = 0, 16, 2, 10
SOCKET = {"x86_64": 41, "aarch64": 198}[os.uname().machine]
code = ((LOAD, 0, 0, NUMBER), (EQUAL, 0, 4, SOCKET), (LOAD, 0, 0, FAMILY), (EQUAL, 1, 0, INET), (EQUAL, 0, 1, INET6),
        (RETURN, 0, 0, KILL), (RETURN, 0, 0, ALLOW))
packed = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(packed)))
prctl = ctypes.CDLL(None, use_errno=True).prctl
assert prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert prctl(PR_SET_SECCOMP, FILTER, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) == 0
"""
"""Has the kernel kill this process, or any that it starts, when it opens a socket of IPv4 or IPv6."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the filter is one of Linux")


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python without a network, on an empty home, as no test does: runtimes are silent under CI and tests."""
    for name in ("home", "temporary", "work"):
        (folder / name).mkdir()
    noisy = {name: value for name, value in os.environ.items() if name not in ("CI", "TF_BUILD", "JENKINS_URL")}
    own = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "temporary"), "PYTHONPATH": str(ROOT)}
    own["MPLCONFIGDIR"] = str(folder / "work")  # where Matplotlib keeps what it found of fonts
    for name in ("PYTEST_CURRENT_TEST", "XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY"):
        noisy.pop(name, None)
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_NETWORK + code],
        cwd=folder / "work",
        env=noisy | own,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_kernel_forbids_it(tmp_path: Path) -> None:
    assert run("import socket\nsocket.socket()", tmp_path).returncode == -31


def test_no_command_opens_a_socket(tmp_path: Path) -> None:
    for name in ("a.onnx", "b.onnx"):
        save_model(tmp_path / name, TEXT)
    commands = (
        "convert ../a.onnx a.xml --html a.html",
        "convert a.xml b.onnx --no-verify",
        "convert ../a.onnx c.onnx --target openvino --no-verify",
        "compare ../a.onnx a.xml",
        "audit .. --run",
        "audit .. --jobs 2",
    )
    lines = ["from ir_interp.cli.main import main", *(f"assert main({each.split()}) == 0" for each in commands)]
    done = run("\n".join(lines), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "home").iterdir()) == list((tmp_path / "temporary").iterdir()) == []


def test_what_others_import_is_left_alone(tmp_path: Path) -> None:
    """A program that uses OpenVINO's telemetry still finds it, and its environment is as it was."""
    lines = (
        "import os",
        "before = dict(os.environ)",
        "import ir_interp.converters",
        "import openvino",
        "import openvino_telemetry",
        "assert os.environ == before",
    )
    done = run("\n".join(lines), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("framework", ["paddle", "programs", "tensorflow", "tflite"])
def test_no_module_that_imports_openvino_reports(framework: str, tmp_path: Path) -> None:
    """Whichever module of this program is the first to import it."""
    done = run(f"import ir_interp.converters.frameworks.{framework}.conversion", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert list((tmp_path / "home").iterdir()) == list((tmp_path / "temporary").iterdir()) == []
