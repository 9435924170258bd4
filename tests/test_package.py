"""What installing and importing the project gives."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import ir_interp
from tests.support.places import ROOT

HEAVY = ("onnx", "onnxruntime", "openvino", "lxml", "rich", "typer", "PIL", "matplotlib")


def _run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_is_light() -> None:
    assert _run(f"import sys, ir_interp; print([m for m in {HEAVY!r} if m in sys.modules])") == "[]"


def test_converters_have_no_code_of_their_own() -> None:
    assert _run("import converters; print([n for n in vars(converters) if not n.startswith('__')])") == "[]"


def test_listing_dialects_imports_none() -> None:
    code = "import sys; from ir_interp.converters import dialects; "
    code += "print({'onnx', 'tensorrt'} <= {*dialects.names()}, [m for m in sys.modules if '.dialects.' in m])"
    assert _run(code) == "True []"


def test_everything_public_is_there() -> None:
    assert all(hasattr(ir_interp, name) for name in ir_interp.__all__)
    assert sorted(ir_interp.__all__) == list(ir_interp.__all__)


def test_types_are_marked() -> None:
    assert (Path(ir_interp.__file__).parent / "py.typed").is_file()


def test_the_oldest_releases_are_those_that_are_taken() -> None:
    """What ``oldest.txt`` pins is what the tests were run with."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    lines = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    assert [line.replace("==", ">=") for line in lines if not line.startswith("#")] == stated


def test_the_version_is_the_same_everywhere() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"\nversion: {stated}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert ir_interp.__version__ == stated
