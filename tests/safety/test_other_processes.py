"""Processes of others beside this one: two that write one output, pools of ``multiprocessing``, no place for loops."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper, numpy_helper

from ir_interp.files import kinds, writing
from ir_interp.files.writing import OutputError, replacing
from tests.support.loops import HAS_NUMBA, VARIABLE
from tests.support.places import ROOT

CHANNELS = {"a": 4, "b": 6}
SUMS = """
import multiprocessing
import sys

import numpy as np

from ir_interp import Cubic, ResizeSpec, resize

SPEC = ResizeSpec(kernel=Cubic(a=-0.75), axes=(0, 1))


def total(seed):
    return float(resize(np.random.default_rng(seed).random((50, 60, 3), "f4"), SPEC, sizes=(80, 70)).sum())


if __name__ == "__main__":
    expected = [total(seed) for seed in range(4)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(total, range(4)) == expected
"""


def _model(name: str) -> onnx.ModelProto:
    weights = np.full((CHANNELS[name], 1, 3, 3), ord(name), np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Resize", ["c", "", "s"], ["y"], mode="linear"),
    ]
    ends = [
        helper.make_tensor_value_info(end, onnx.TensorProto.FLOAT, shape)
        for end, shape in (("x", [1, 1, 6, 6]), ("y", [1, CHANNELS[name], 12, 12]))
    ]
    scales = np.array([1, 1, 2, 2], np.float32)
    constants = [numpy_helper.from_array(each, key) for key, each in (("w", weights), ("s", scales))]
    graph = helper.make_graph(nodes, name, ends[:1], ends[1:], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_renames_of_two_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes from the first rename to the second."""
    rename, pauses = Path.replace, {"0": iter((0.2, 0.2)), "1": iter((0.3, 0.0))}  # both of 1 between those of 0

    def slowly(self: Path, target: Path) -> Path:
        time.sleep(next(pauses[self.read_text()]))
        return rename(self, target)

    def save(name: str) -> None:
        with replacing(tmp_path / "out.bin", tmp_path / "out.xml") as paths:
            for path in paths:
                path.write_text(name)

    monkeypatch.setattr(Path, "replace", slowly)
    writers = [threading.Thread(target=save, args=(str(each),)) for each in range(2)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert (tmp_path / "out.bin").read_text() == (tmp_path / "out.xml").read_text()


def test_a_folder_that_another_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_SECONDS", 0.1)
    problem = "out.xml cannot be written: Another program holds the lock of its folder"
    with writing.locked_folder(tmp_path), pytest.raises(OutputError, match=problem), replacing(tmp_path / "out.xml"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_that_takes_the_place_of_a_checked_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening it must not wait for somebody to write to it."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(kinds, "check_regular", lambda _: None)
    with pytest.raises(OSError, match="Not a regular file"):
        kinds.opened(tmp_path / "pipe")


def test_two_that_write_one_output_leave_that_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An .xml never stands beside the .bin of another."""
    monkeypatch.chdir(tmp_path)
    for name in CHANNELS:
        onnx.save(_model(name), f"{name}.onnx")
    program = [sys.executable, "-P", "-m", "ir_interp", "convert"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    both = [
        subprocess.Popen([*program, f"{name}.onnx", "out.xml", "--no-verify", "--quiet"], env=environment)
        for name in CHANNELS
    ]
    assert [each.wait(timeout=100) for each in both] == [0] * 2
    model = ov.Core().read_model("out.xml")
    (weights,) = (op.data for op in model.get_ops() if op.get_type_name() == "Constant" and len(op.shape) == 4)
    name = {count: name for name, count in CHANNELS.items()}[model.output(0).shape[1]]
    assert weights.shape[0] == CHANNELS[name]
    np.testing.assert_array_equal(weights, ord(name))
    assert sorted(path.name for path in Path().iterdir()) == ["a.onnx", "b.onnx", "out.bin", "out.xml"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loops", ["0", pytest.param("1", marks=pytest.mark.skipif(not HAS_NUMBA, reason="numba"))])
@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_pools_of_processes_resize(method: str, loops: str, tmp_path: Path) -> None:
    script = tmp_path / "sums.py"
    script.write_text(SUMS)
    environment = os.environ | {"PYTHONPATH": str(ROOT), VARIABLE: loops}
    subprocess.run([sys.executable, str(script), method], env=environment, check=True, timeout=100)


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_loops_without_a_place_for_their_code(tmp_path: Path) -> None:
    """Neither beside the source nor in the user's folder: they are compiled in each process."""
    program = (
        "import numba.core.caching as caching",
        "class Nowhere:",
        "    @classmethod",
        "    def from_function(cls, function, path): return None",
        "caching.CacheImpl._locator_classes = [Nowhere]",
        "import numpy as np",
        "from ir_interp import Linear, ResizeSpec, prepare",
        "from ir_interp.executor import loop_runner",
        "run = prepare(ResizeSpec(kernel=Linear(), axes=(0,)), (4,), sizes=(8,))",
        "assert run(np.arange(4, dtype='f4')).tolist() == [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]",
        "assert loop_runner.state().startswith('numba'), loop_runner.state()",
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), VARIABLE: "1"}
    subprocess.run([sys.executable, "-c", "\n".join(program)], env=environment, check=True, timeout=100, cwd=tmp_path)
