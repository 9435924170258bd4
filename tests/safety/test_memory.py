"""A few bytes that ask for gigabytes: the program keeps within its bound, says so, and goes on with other files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ir_interp
from ir_interp import Linear, ResizeSpec, Sizes
from ir_interp.converters.verify.processes import declared_bytes
from ir_interp.converters.workers import started
from ir_interp.files import memory
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate
from tests.support.places import ROOT

SPARE = 2**27 + 2**26 * (os.cpu_count() or 1)  # for what the program itself holds, and for threads
GIB = 0.5
SCALED = 'g (float[1,1,4,4] x) => (float[a,b,c,d] y) <float[4] s = {1, 1, 1e9, 1}> { [up] y = Resize {} (x, "", s) }'
LINEAR = '<mode = "linear">'

INFERRED = {
    "Gather of a long input": (
        "(float[2147483648] v, int64[1] i) => (float[n] y) <float[1] s = {2}>",
        'g = Gather (v, i) y = Resize (g, "", s)',
    ),
    "Range": (
        "(float[1] x) => (float[n] y) <int64 a = {0}, int64 b = {134217728}, int64 c = {1}, int64[1] i = {0}, "
        "float[1] s = {2}>",
        'r = Range (a, b, c) q = Gather (r, i) w = Cast <to = 1> (q) v = Add (w, x) y = Resize (v, "", s)',
    ),
    "Concat, doubled": (
        "(float[1] x) => (float[n] y) <int64[4] c0 = {1, 2, 3, 4}, float[1] s = {2}>",
        "".join(f"c{n + 1} = Concat <axis = 0> (c{n}, c{n}, c{n}, c{n}) " for n in range(14))
        + 'w = Cast <to = 1> (c14) v = Add (w, x) y = Resize (v, "", s)',
    ),
    "ConstantOfShape": (
        "(float[1] x) => (float[n] y) <int64[1] k = {536870912}, int64[1] i = {0}, float[1] s = {2}>",
        'r = ConstantOfShape (k) q = Gather (r, i) v = Add (q, x) y = Resize (v, "", s)',
    ),
}


_MEASURED = """
import pathlib, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
pathlib.Path(sys.argv[1]).write_text(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""  # by a small process of its own, for a process begins with the largest size that its parent had


def program(*arguments: str, folder: Path) -> tuple[int, str, int]:
    """Run the program with a bound of half a GiB; return its exit code, its errors, and the most memory it held."""
    environment = os.environ | {memory.VARIABLE: str(GIB), "PYTHONPATH": str(ROOT)}
    measured = [sys.executable, "-c", _MEASURED, "most", sys.executable, "-P", "-m", "ir_interp"]
    done = subprocess.run(
        [*measured, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr, int((folder / "most").read_text()) * 1024


@pytest.mark.sampled(2)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit data")
@pytest.mark.parametrize("name", INFERRED)
def test_what_shape_inference_would_list(name: str, tmp_path: Path) -> None:
    ends, nodes = INFERRED[name]
    save_model(tmp_path / "bomb.onnx", f"g {ends} {{ {nodes} }}")
    code, errors, held = program("inspect", "bomb.onnx", folder=tmp_path)
    assert held < GIB * 2**30 + SPARE
    if code:
        advice = "the limit is 0.5 GiB in addition to the input files; set IR_INTERP_MAX_GIB to change it\n"
        assert (code, errors) == (2, f"error: not enough memory (std::bad_alloc); {advice}")


@pytest.fixture
def scaled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a model of a resize to a thousand million times its height, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return save_model(Path("scaled.onnx"), SCALED.replace("{}", LINEAR, 1))


@pytest.mark.usefixtures("scaled")
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("explain", "scaled.onnx"), "to explain 36000000000 outputs of axis 2 would need 3.02e+04 GiB"),
        (("plot", "scaled.onnx", "p.png"), "to explain 36000000000 outputs of axis 2 would need 3.02e+04 GiB"),
        (
            ("plot", "scaled.onnx", "p.png", "--what", "image"),
            "a picture of shapes [1, 1, 4, 4] and [1, 1, 4000000000, 4] would need 119 GiB",
        ),
        (
            ("explain", "scaled.onnx", "--shape", "1,1,99999999999999999999999,4", "--sizes", "1,1,8,8"),
            "--shape '1,1,99999999999999999999999,4': expected SIZES or NAME:SIZES",
        ),
        (
            ("convert", "scaled.onnx", "y.xml", "--no-verify", "--only", "decomposed"),
            "to resize axis 2 from 4 to 4000000000 would need 358 GiB",
        ),
    ],
    ids=["explain", "plot", "plot an image", "a length of 23 digits", "convert"],
)
def test_what_the_program_sizes_itself(
    arguments: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, printed, errors = command(capsys, *arguments)
    assert (code, printed) == (2, "")
    assert errors.startswith(f"error: {reason}")


@pytest.mark.usefixtures("scaled")
def test_a_folder_is_audited_to_its_end(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.onnx").write_bytes(b"none")
    save_model(Path("small.onnx"), SCALED.replace("{}", LINEAR, 1).replace("1e9", "2"))
    code, printed, errors = command(capsys, "audit", ".", "--format", "json")
    found = json.loads(printed)
    assert code == 2
    assert [each["file"] for each in found["resizes"]] == ["scaled.onnx", "small.onnx"]
    (error,) = found["errors"]
    assert error["where"] == "a.onnx"
    assert errors == f"error: a.onnx: {error['message']}\n"
    _, table, _ = command(capsys, "audit", ".")
    assert "2 resizes, 1 finding, 1 file not read" in table
    (notification,) = json.loads(command(capsys, "audit", ".", "--format", "sarif")[1])["runs"][0]["invocations"]
    assert not notification["executionSuccessful"]


@pytest.mark.parametrize(
    "error",
    [
        ImportError("libopenvino.so: failed to map segment from shared object"),
        OSError(12, "Cannot allocate memory"),
        MemoryError(),
    ],
)
def test_memory_that_a_library_lacks_is_reported_as_such(error: Exception) -> None:
    """A library that cannot be loaded for lack of memory raises errors of its own."""
    outer = RuntimeError("it could not be imported")
    outer.__cause__ = error
    for problem in (error, outer):
        assert memory.unforeseen(problem).startswith("not enough memory (")
    assert memory.unforeseen(ValueError("x")) == "unexpected ValueError: x; please report it"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit data")
def test_a_child_has_a_limit_that_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "0.25")
    for size, code in (("2**27", 0), ("2**29", 1)):
        with started("timeit", "-n1", "-r1", f"bytearray({size})", folder=tmp_path) as child:
            assert child.wait(timeout=60) == code


@pytest.mark.parametrize("text", ["many", "0", "-1", "nan", "1e30"])
def test_a_bound_that_is_none(text: str, scaled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, text)
    with pytest.raises(ir_interp.IrInterpError) as caught:
        ir_interp.explain(scaled)
    assert str(caught.value) == f"IR_INTERP_MAX_GIB is {text!r}; expected a number of GiB above 0"


def test_another_bound(scaled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "0.0009765625")
    with pytest.raises(ir_interp.ShapeError, match=r"the limit is 0\.000976562 GiB in addition to the input files"):
        ir_interp.explain(scaled, scales=[1, 1, 50, 50])


def test_a_call_of_ones_own_is_not_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "0.0001")
    spec = ResizeSpec(kernel=Linear(), axes=(0,), target=Sizes((10000,)))
    assert ir_interp.resize(np.zeros(7), spec).shape == (10000,)


@pytest.mark.parametrize(
    ("shape", "pads"), [((1, 1, 2**31, 2**31), "0"), ((1, 1, 4, 6), "0,0,9000000000000000000,0")], ids=["input", "pads"]
)
def test_what_is_too_large_is_not_run(shape: tuple[int, ...], pads: str, tmp_path: Path) -> None:
    data = f'mode="linear_onnx" shape_calculation_mode="sizes" pads_begin="0" pads_end="{pads}"'
    path = tmp_path / "a.xml"
    path.write_text(interpolate(data, version="opset4", shape=shape, out=(1, 1, 8, 8)))
    audit = ir_interp.audit(path, run=True)
    assert audit.errors == ()
    assert audit.rows[0].seen == {}


def test_inputs_that_are_made_up(tmp_path: Path) -> None:
    """A declared shape may be of any size."""
    text = "g (float[1,4611686018427387904,8] x) => (float[1,4611686018427387904,8] y) { y = Relu (x) }"
    source = save_model(tmp_path / "a.onnx", text)
    with pytest.raises(memory.MemoryBoundError, match=r"^input 'x' of shape \[1, 4611686018427387904, 8\] would need "):
        ir_interp.compare(source, source)


def test_what_openvino_makes_constants_of(tmp_path: Path) -> None:
    text = """g (float[1,4503599627370496,8,8] x) => (float[] y) <float[4] s = {1,1,2,2}, bool c = {1}> {
        r = Resize <mode = "nearest"> (x, , s)
        y = If (c) <then_branch = one () => (float[] a) { a = Add (r, r) },
                    else_branch = other () => (float[] b) { b = Identity (r) }>
    }"""
    source = save_model(tmp_path / "a.onnx", text)
    with pytest.raises(memory.MemoryBoundError, match=r"^not enough memory \(std::bad_alloc\); the limit"):
        ir_interp.convert(source, tmp_path / "a.xml", verify=False)
    assert [path.name for path in tmp_path.iterdir()] == ["a.onnx"]


# What a model declares

GIBIBYTE = 2**30
DECLARED = """g (float[n,1,h,w] x) => (float[n,1,a,b] y)
    <float[4] s = {1,1,2,2}, int64[4] k = {1,80,1,1}, int64[1] c = {1}> {
    e = Expand (x, k)
    [up] r = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (e, , s)
    y = ReduceMean (r, c)
}"""


@pytest.mark.parametrize(
    ("declared", "free", "allowed"), [(1, 64, 2), (10, 64, 10), (100, 64, 32), (10, 0, 2), (10, 3, 2), (1e30, 64, 32)]
)
def test_what_a_model_declares_is_allowed_as_far_as_the_machine_has_it(
    declared: float, free: int, allowed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    monkeypatch.setattr(memory, "free_bytes", lambda: free * GIBIBYTE)
    with memory.running():
        memory.allow_declared(declared * GIBIBYTE)
        memory.allow_declared(0)
        assert memory.bound() == allowed * GIBIBYTE
        monkeypatch.setenv(memory.VARIABLE, "3")
        assert memory.bound() == 3 * GIBIBYTE
        monkeypatch.delenv(memory.VARIABLE)
    assert memory.bound() == 2 * GIBIBYTE


GROUPS = {
    "version 2": {
        "/proc/self/cgroup": "0::/a/b\n",
        "/sys/fs/cgroup/a/b/memory.max": "max\n",
        "/sys/fs/cgroup/a/memory.max": "5000000000\n",
        "/sys/fs/cgroup/a/memory.current": "1000000000\n",
    },
    "version 1": {
        "/proc/self/cgroup": "5:cpu:/\n4:memory:/a\n",
        "/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "5000000000\n",
        "/sys/fs/cgroup/memory/a/memory.usage_in_bytes": "1000000000\n",
    },
    "none": {},
}


@pytest.mark.parametrize("kind", GROUPS)
def test_free_memory_is_that_of_the_tightest_group(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = GROUPS[kind] | {"/proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable:  8000000 kB\n"}
    monkeypatch.setattr(memory, "_read", lambda path: files.get(path, ""))
    assert memory.free_bytes() == (8000000 * 1024 if kind == "none" else 4000000000)


def test_free_memory_that_nobody_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_read", lambda _: "")
    assert memory.free_bytes() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not say what is free")
def test_free_memory_of_this_machine() -> None:
    assert 2**20 < memory.free_bytes() < 2**60


def test_tensors_are_counted_on_the_lengths_of_the_run(tmp_path: Path) -> None:
    source = save_model(tmp_path / "a.onnx", DECLARED)
    pixels = 20 * 30
    every = pixels + 80 * pixels + 4 * 80 * pixels + 4 * pixels
    constants = 3  # of one element each, as far as dimensions tell: 4, 4 and 1
    found = declared_bytes([source], {"x": (1, 1, 20, 30)}) / 8
    assert every <= found <= every + 9 * constants
    ir_interp.convert(source, tmp_path / "a.xml", verify=False)
    assert declared_bytes([tmp_path / "a.xml"], {"x": (1, 1, 20, 30)}) / 8 >= 80 * pixels
    assert declared_bytes([tmp_path / "gone.xml"][:0], {}) == 0


def test_the_refusal_says_what_is_needed_and_what_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    monkeypatch.setattr(memory, "free_bytes", lambda: 6 * GIBIBYTE)
    source = save_model(
        tmp_path / "a.onnx", "g (float[1,1,32768,32768] x) => (float[1,1,32768,32768] y) { y = Relu (x) }"
    )
    with pytest.raises(memory.MemoryBoundError) as caught:
        ir_interp.compare(source, source)
    assert str(caught.value) == (
        "input 'x' of shape [1, 1, 32768, 32768] would need 8 GiB; the limit is 3 GiB in addition to the input files "
        "(its tensors take 16 GiB; at most half of the free memory is allowed); set IR_INTERP_MAX_GIB to change it"
    )
    assert memory.bound() == 2 * GIBIBYTE


@pytest.mark.long
@pytest.mark.skipif(memory.free_bytes() < 16 * GIBIBYTE, reason="it needs some GiB")
def test_an_ordinary_model_at_1080p_runs(tmp_path: Path) -> None:
    """Its tensors take 3.3 GB."""
    source = save_model(tmp_path / "a.onnx", DECLARED)
    line = [sys.executable, "-P", "-m", "ir_interp", "convert", "a.onnx", "a.xml", "--shape", "x:1,1,1080,1920", "-q"]
    for bound, code in (("2", 1), ("", 0)):
        environment = os.environ | {memory.VARIABLE: bound, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(line, cwd=source.parent, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
