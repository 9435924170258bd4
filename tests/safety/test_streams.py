"""Standard streams that are closed or full: the exit code stays that of the command, and nothing prints a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.graphs import save_model
from tests.support.places import ROOT

TEXT = 'g (float[1,1,2,2] x) => (float[1,1,c,d] y) <float[4] s = {1,1,2,2}> { y = Resize (x, "", s) }'


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program with redirections of a shell."""
    script = folder / "program.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom ir_interp.cli.main import entry\nentry()\n")
    command = f"{sys.executable} -P {script} {line}"
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.sampled(3)
@pytest.mark.skipif(sys.platform != "linux", reason="the redirections are those of Linux")
@pytest.mark.parametrize(
    ("redirections", "model", "code"),
    [
        (">&-", "m.onnx", 0),
        ("<&- >&- 2>&-", "m.onnx", 0),
        (">&-", "missing.onnx", 2),
        ("2>&-", "missing.onnx", 2),
        pytest.param(
            "2>/dev/full", "missing.onnx", 2, marks=pytest.mark.skipif(sys.platform != "linux", reason="full")
        ),
    ],
)
def test_a_stream_that_is_closed_or_full(redirections: str, model: str, code: int, tmp_path: Path) -> None:
    save_model(tmp_path / "m.onnx", TEXT)
    done = shell(f"explain {model} {redirections}", tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the redirections are those of Linux")
def test_a_file_does_not_receive_what_a_closed_stream_would_print(tmp_path: Path) -> None:
    """The system gives a new file the number of a closed stream."""
    save_model(tmp_path / "m.onnx", TEXT)
    before = (tmp_path / "m.onnx").read_bytes()
    assert shell("convert m.onnx y.json --no-verify <&- >&- 2>&-", tmp_path).returncode == 0
    assert json.loads((tmp_path / "y.json").read_text())
    assert (tmp_path / "m.onnx").read_bytes() == before
