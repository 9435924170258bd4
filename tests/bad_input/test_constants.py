"""Constants of an IR that are missing, malformed, or make no sense."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import ir_interp
from ir_interp.converters.onnx.onnx_files import invalid
from tests.support.bad_input import SHAPE, LoadFails, net
from tests.support.graphs import save_model
from tests.support.ir_text import Net
from tests.support.places import ROOT


def test_a_constant_beyond_the_bin(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(20))
    target = 'element_type="i64" shape="2" offset="8" size="16"'
    assert fails_to_load("a.xml", net('axes="2,3" mode="linear"', target).text()) == (
        'a.xml:layer[1 "target"]@offset: bytes 8 to 24 lie beyond the 20 bytes of a.bin'
    )


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (f'element_type="i64" shape="2" offset="{10**30}" size="16"', None),
        ('element_type="i64" shape="2" offset="-8" size="16"', "@offset: '-8' is not a non-negative integer"),
        ('element_type="i64" shape="2" size="16"', "@offset: missing"),
        ('element_type="i64" shape="2" offset="0" size="15"', "@size: 15 bytes do not fit shape [2] of int64"),
        ('element_type="i64" shape="-1,-2" offset="0" size="16"', None),
        ('element_type="i64" shape="two" offset="0" size="16"', "@shape: 'two' is not a list of integers"),
        (
            'element_type="i46" shape="2" offset="0" size="16"',
            "@element_type: unknown value 'i46'; expected one of bf16, boolean, f16, f32, f64, f8e4m3, "
            "f8e5m2, i16, i32, i4, i64, i8, nf4, u1, u16, u32, u4, u64, u8; did you mean 'i4'?",
        ),
    ],
    ids=["far offset", "negative offset", "no offset", "size", "negative shape", "shape", "type"],
)
def test_a_constant_that_is_malformed(
    target: str, reason: str | None, fails_to_load: LoadFails, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    said = fails_to_load("a.xml", net('axes="2,3" mode="linear"', target).text())
    assert said.startswith('a.xml:layer[1 "target"]')
    assert reason is None or said == f'a.xml:layer[1 "target"]{reason}'


def test_a_missing_bin(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", net('axes="2,3" mode="linear"').text()) == (
        'a.xml:layer[1 "target"]: the value is needed, but a.bin is missing'
    )


def test_a_folder_in_place_of_the_bin(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").mkdir()
    assert fails_to_load("a.xml", net('axes="2,3" mode="linear"').text()) == (
        'a.xml:layer[1 "target"]: the value is needed, but a.bin is missing'
    )


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((8,), "sizes [8] and axes [2, 3] differ in length"),
        ((8, 12, 16), "sizes [8, 12, 16] and axes [2, 3] differ in length"),
        ((8, -1), "sizes must be non-negative 64-bit integers: [8, -1]"),
    ],
)
def test_sizes_in_a_constant(sizes: tuple[int, ...], reason: str, fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array(sizes).tobytes())
    target = f'element_type="i64" shape="{len(sizes)}" offset="0" size="{8 * len(sizes)}"'
    assert fails_to_load("a.xml", net('axes="2,3" mode="linear"', target).text()) == f'a.xml:layer[2 "up"]: {reason}'


def test_sizes_without_axes_in_a_constant(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    reason = fails_to_load("a.xml", net('mode="linear"', version=11).text())
    assert reason == 'a.xml:layer[2 "up"]: sizes [8, 12] do not fit 4 axes'


@pytest.mark.parametrize(("scale", "said"), [(0.0, "0.0"), (-2.0, "-2.0"), (float("nan"), "nan"), (np.inf, "inf")])
def test_scales_in_a_constant(scale: float, said: str, fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([1, 1, 2, scale], np.float32).tobytes())
    target = 'element_type="f32" shape="4" offset="0" size="16"'
    text = net('mode="linear" shape_calculation_mode="scales"', target, version=11).text()
    assert fails_to_load("a.xml", text) == (
        f'a.xml:layer[2 "up"]: scales must be finite and greater than 0 as float32: [1.0, 1.0, 2.0, {said}]'
    )


def test_sizes_that_are_no_integers(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8.5, 12.0]).tobytes())
    text = net('axes="2,3" mode="linear"', 'element_type="f64" shape="2" offset="0" size="16"').text()
    assert fails_to_load("a.xml", text).startswith('a.xml:layer[2 "up"]')


def test_shape_arithmetic_that_cannot_be_computed(fails_to_load: LoadFails, tmp_path: Path) -> None:
    """A Gather along an axis that is not there."""
    made = Net()
    x, sizes, axis = made.parameter(SHAPE), made.const((8, 99)), made.const(8)
    picked = made.add("Gather", "", sizes, sizes, axis, shape=(2,), dtype="int64", name="pick")
    made.interpolate(1, 'axes="2,3" mode="linear"', x, picked, shape=SHAPE, out=(1, 1, -1, -1))
    (tmp_path / "a.bin").write_bytes(made.weights)
    assert fails_to_load("a.xml", made.text()).startswith('a.xml:layer[3 "pick"]: ')


def test_layers_that_feed_themselves(tmp_path: Path) -> None:
    """Sizes computed from themselves: a loop of edges, which must not loop the reader."""
    made = Net()
    x, itself = made.parameter(SHAPE), (1, 2)
    made.add("Maximum", "", itself, itself, shape=(2,), dtype="int64", name="loop")
    made.interpolate(1, 'axes="2,3" mode="linear"', x, itself, shape=SHAPE, out=(1, 1, -1, -1))
    made.write(tmp_path / "a.xml", binary=False)
    done = _program("inspect", str(tmp_path / "a.xml"))
    assert done.returncode in (0, 2)  # open sizes, or an error, but an answer
    assert "Traceback" not in done.stderr


def _program(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ir_interp", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False, cwd=ROOT)


def test_a_number_that_names_no_element_type(tmp_path: Path) -> None:
    """ONNX's checker raises another error for it than for all others."""
    source = save_model(tmp_path / "a.onnx", "g (float[1,3,4,4] x) => (float[1,3,8,8] y) { y = Identity(x) }")
    model = onnx.load(source)
    constant = onnx.helper.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(np.ones(2, np.float32)))
    constant.attribute[0].t.data_type = -(2**31)
    model.graph.node.insert(0, constant)
    onnx.save(model, source)
    ir_interp.convert(source, tmp_path / "b.onnx", target="tensorrt", verify=False)
    assert invalid(source) == "Invalid tensor data type -2147483648."
