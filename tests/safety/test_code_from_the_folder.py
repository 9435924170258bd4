"""Modules that lie in the folder where the program runs are not imported, in none of its processes."""

from __future__ import annotations

import inspect
import os
import pickle
import shutil
import stat
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image

import ir_interp
from tests.support.graphs import save_model
from tests.support.loops import VARIABLE
from tests.support.places import ROOT

TEXT = """g (float[1,1,8,8] x) => (float[1,1,k,l] y) <float[4] s = {1,1,2,2}> {
    y = Resize <mode = "nearest"> (x, "", s)
}"""
NAMES = ("ir_interp", "converters", "numpy", "onnx", "onnxruntime", "openvino", "sitecustomize")
BAD = 'open("seen.txt", "a").write(__name__ + "\\n")\n'


@pytest.fixture
def untrusted(tmp_path: Path) -> Path:
    """Return a folder with a model, and a module of every name that anything imports."""
    folder = tmp_path / "untrusted"
    folder.mkdir()
    for name in (*NAMES, *sys.stdlib_module_names):
        (folder / f"{name}.py").write_text(BAD)
    for name in ("a", "b"):
        save_model(folder / f"{name}.onnx", TEXT)
    return folder


def program(place: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program that lies in ``place`` as a script that is installed elsewhere, inside ``folder``."""
    script = folder.parent / "ir-interp"
    lines = ("import sys", f"sys.path.insert(0, {str(place)!r})", "from ir_interp.cli.main import entry", "entry()")
    script.write_text("\n".join(lines))
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "a.onnx", "a.xml"),
        ("compare", "a.onnx", "b.onnx"),
        ("audit", "a.onnx", "--run"),
        ("audit", "a.onnx", "b.onnx", "--jobs", "2"),
    ],
    ids=" ".join,
)
def test_nothing_of_the_folder_is_imported(arguments: tuple[str, ...], untrusted: Path) -> None:
    done = program(ROOT, untrusted, *arguments)
    assert not (untrusted / "seen.txt").exists(), (untrusted / "seen.txt").read_text()
    assert done.returncode == 0, done.stderr


def test_settings_of_matplotlib_in_the_folder_are_not_read(untrusted: Path) -> None:
    """They could name a program for formulas, a font without an end, or a backend."""
    drawing = ("plot", "a.onnx", "a.svg", "--axis", "2")
    assert program(ROOT, untrusted, *drawing).returncode == 0
    plain = (untrusted / "a.svg").read_bytes()
    (untrusted / "matplotlibrc").write_text("text.usetex: True\nfigure.facecolor: red\nbackend: module://json\n")
    done = program(ROOT, untrusted, *drawing)
    assert (done.returncode, done.stderr) == (0, "")
    assert (untrusted / "a.svg").read_bytes() == plain


def test_it_runs_from_a_wheel_as_well(untrusted: Path, tmp_path: Path) -> None:
    """A wheel holds converters/ inside of ir_interp/; its children run what it holds, not what else is installed."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "ir_interp", site / "ir_interp")
    shutil.copytree(ROOT / "converters", site / "ir_interp" / "converters")
    runner = site / "ir_interp" / "converters" / "workers.py"
    mark = "annotations\nif __name__ == '__main__':\n    open('ours.txt', 'a').write(__file__)\n"
    runner.write_text(runner.read_text().replace("annotations\n", mark, 1))
    done = program(site, untrusted, "convert", "a.onnx", "a.xml")
    assert not (untrusted / "seen.txt").exists(), (untrusted / "seen.txt").read_text()
    assert done.returncode == 0, done.stderr
    assert (untrusted / "ours.txt").read_text() == str(runner)


def test_variables_of_python_do_not_reach_a_child(untrusted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One entry of PYTHONPATH that is empty means the current folder."""
    monkeypatch.chdir(untrusted)
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}{untrusted}")
    monkeypatch.setattr(sys, "path", ["", "here", str(untrusted), *sys.path])
    (row,) = ir_interp.audit("a.onnx", run=True, runtimes=["onnxruntime"]).rows
    assert row.seen["onnxruntime"].kind is ir_interp.Kind.SAME
    assert not (untrusted / "seen.txt").exists(), (untrusted / "seen.txt").read_text()


class Marking:
    """What leaves a file in the current folder when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("unpickled",)


RUN = ("run", "a.png", "--output", "b.png", "--like", "pillow:bicubic", "--sizes", "20,25")


def planted_code(folder: Path) -> Path:
    """Fill a folder with the index files that numba looks for there, which mark that they were unpickled."""
    import numba
    from numba.core import caching

    loops, locator = import_module("ir_interp.executor.loops"), cast("Any", caching.UserProvidedCacheLocator)
    for loop in loops.LOOPS.values():
        cache: Any = loop
        file = inspect.getfile(cache.py_func)
        place = folder / locator.get_suitable_cache_subpath(file)
        place.mkdir(parents=True, exist_ok=True)
        index = place / f"{cache._cache._impl.filename_base}.nbi"
        index.write_bytes(pickle.dumps(numba.__version__) + pickle.dumps(Marking()))
    return folder


@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
@pytest.mark.skipif(find_spec("yaml") is None, reason="numba reads its settings with PyYAML")
def test_settings_of_numba_in_the_folder_are_not_read(untrusted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They could name a folder of compiled code, which numba unpickles."""
    monkeypatch.setenv(VARIABLE, "1")
    Image.fromarray(np.zeros((40, 50), np.uint8)).save(untrusted / "a.png")
    place = planted_code(untrusted / "planted")
    (untrusted / ".numba_config.yaml").write_text(f"cache_dir: {place}\n")
    done = program(ROOT, untrusted, *RUN)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (untrusted / "unpickled").exists()


@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
@pytest.mark.skipif(find_spec("yaml") is None, reason="numba reads its settings with PyYAML")
def test_a_program_that_imports_this_one_reads_no_settings_of_numba_either(untrusted: Path, tmp_path: Path) -> None:
    place = planted_code(untrusted / "planted")
    (untrusted / ".numba_config.yaml").write_text(f"cache_dir: {place}\n")
    lines = (
        "import sys",
        f"sys.path.insert(0, {str(ROOT)!r})",
        "import numpy as np",
        "from ir_interp import Cubic, ResizeSpec, resize",
        "resize(np.zeros((40, 50), np.uint8), ResizeSpec(kernel=Cubic(a=-0.5), axes=(0, 1)), sizes=(20, 25))",
    )
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=untrusted,
        env=os.environ | {VARIABLE: "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (untrusted / "unpickled").exists()


@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows gives the folders of a user to this user alone")
@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_compiled_code_that_others_can_write_is_not_loaded(
    mode: int, untrusted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image.fromarray(np.zeros((40, 50), np.uint8)).save(untrusted / "a.png")
    place = planted_code(untrusted / "planted")
    for folder in place.iterdir():
        folder.chmod(mode)
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(place))
    done = program(ROOT, untrusted, *RUN)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (untrusted / "unpickled").exists()


@pytest.mark.skipif(find_spec("numba") is None, reason="needs numba")
def test_compiled_code_of_the_user_is_private(untrusted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(untrusted / "cache"))
    done = program(ROOT, untrusted, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert {stat.S_IMODE(place.stat().st_mode) for place in (untrusted / "cache").iterdir()} == {0o700}
