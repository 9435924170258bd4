"""What a model rounds to levels whose scale run time finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import numpy_helper
from openvino import opset13 as ops

import ir_interp
from ir_interp import Levels, VerificationError
from ir_interp.converters.verify import ladder, quantisations
from ir_interp.converters.verify.conversion import verify
from ir_interp.converters.verify.inputs import Inputs
from ir_interp.converters.verify.model_outputs import SegmentError
from ir_interp.converters.verify.quantisations import DynamicQuantisation
from tests.support import ir_forms
from tests.support.graphs import save_model

EACH = DynamicQuantisation(before="x", levels="y", scale="s", zero="z")


def values(scale: float, x: Any = (-1.0, 1.55), zero: int = 100) -> dict[str, Any]:
    """Return what a runtime makes of x: levels 0.01 apart."""
    x = np.array(x, np.float32)
    return {"x": x, "s": np.float32(scale), "z": np.uint8(zero), "y": (np.rint(x * 100) + zero).astype(np.uint8)}


def test_levels_are_counted_from_the_one_that_is_zero() -> None:
    """Which may tie as well: then all of them are moved by one."""
    own, made = values(0.01, (-1.0, 0.123, 1.55)), values(0.01, (-1.0, 0.123, 1.55), zero=99)
    numbers = EACH.numbers(own, own)
    assert numbers == pytest.approx([-1.0, 0.12, 1.55])
    assert EACH.numbers(made, own)[1:] == pytest.approx(numbers[1:])
    assert EACH.fixed(own).step == pytest.approx(0.01)


def test_a_scale_may_differ_by_what_any_output_may() -> None:
    quantisations.check_scale(EACH, values(0.01), values(0.01 * (1 + 9e-5)))
    with pytest.raises(
        SegmentError, match=r"'y' is the first that differs: its scale is 0\.010002, in the source 0\.01$"
    ):
        quantisations.check_scale(EACH, values(0.01), values(0.010002))


def test_levels_differ_even_where_outputs_agree(tmp_path: Path) -> None:
    """On these inputs nothing comes of the levels; on others it would."""
    text = """g (float[1,8] x) => (float[1,8] y) <float s = {0.01}, uint8 z = {%d}, float nothing = {0}> {
        [q] levels = QuantizeLinear (x, s, z) [d] quantised = DequantizeLinear (levels, s, z)
        y = Mul (quantised, nothing) }"""
    right, wrong = (save_model(tmp_path / f"{zero}.onnx", text % zero, 13) for zero in (100, 250))
    assert verify(right, right, (), Inputs()) is not None
    with pytest.raises(
        VerificationError, match=r"^the segment that ends with the quantisation 'quantised' is the first"
    ):
        verify(right, wrong, (), Inputs())


def _convolved(path: Path, dtype: Any) -> Path:
    """Write an IR of a quantised convolution whose constants have an element type, in 32 x 32 pixels."""
    rng, x = np.random.default_rng(0), ops.parameter([1, 16, 32, 32], dtype, name="x")

    def levels(y: Any, low: float, high: float) -> Any:
        return ops.fake_quantize(y, *(ops.constant(np.array(bound, dtype)) for bound in (low, high, low, high)), 256)

    scales = ops.constant(rng.uniform(0.002, 0.004, (16, 1, 1, 1)).astype(dtype))
    integers = ops.constant(rng.integers(-63, 64, (16, 16, 3, 3)).astype(np.int8))  # of 7 bits: no sum saturates
    weights = ops.multiply(ops.convert(integers, ov.Type(dtype).to_string()), scales)
    y = ops.convolution(levels(x, 0.0, 1.0), weights, [1, 1], [1, 1], [1, 1], [1, 1])
    y = ops.relu(levels(y, -4.0, 3.96875))
    ov.save_model(ov.Model([y], [x], "net"), path, compress_to_fp16=False)
    return path


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("dtype", "few", "most"), [(np.float32, 0, 20), (np.float16, 10, 4000)])
def test_levels_flip_as_far_as_the_source_is_unsure(dtype: Any, few: int, most: int, tmp_path: Path) -> None:
    """In half precision OpenVINO rounds products of weights and scales that its kernels of integers do not."""
    source, result = _convolved(tmp_path / "a.xml", dtype), tmp_path / "a.onnx"
    verification = ir_interp.convert(source, result).verification
    assert verification is not None
    assert verification.levels is not None
    levels = verification.levels
    assert levels.count == 4 * 2 * 16 * 32 * 32  # on random inputs and three extreme ones
    assert few <= levels.flipped <= most
    assert levels.flipped_by_source is not None
    assert few <= levels.flipped_by_source <= most
    assert levels.verdict.endswith(
        f"{levels.flipped:,} of 131,072 values one level apart, OpenVINO itself {levels.flipped_by_source:,}"
    )
    model = onnx.load(result)
    scales = [each for each in model.graph.initializer if each.name.endswith("constant_1") or list(each.dims) == [16]]
    for scale in scales:
        array = numpy_helper.to_array(scale)
        if array.dtype.kind == "f":  # off by a thirtieth of the root of 144 levels at most
            scale.CopyFrom(numpy_helper.from_array((array * 1.003).astype(array.dtype), scale.name))
    onnx.save(model, tmp_path / "wrong.onnx")
    with pytest.raises(VerificationError, match=r"levels from an edge, where the source is sure to within"):
        verify(source, tmp_path / "wrong.onnx", (), Inputs())


@pytest.mark.parametrize(("apart", "passes"), [(0.00109, True), (0.00111, False)])
def test_last_bits_add_to_what_half_precision_moves(apart: float, passes: bool) -> None:
    expected, moves = np.array([1.0, -0.5], np.float32), 1e-3
    (compared,) = ladder._outputs([("y", expected)], [("y", expected + np.float32(apart))], [], (moves,))
    assert compared.passes is passes


def test_counts_of_levels_add_up() -> None:
    some = Levels(count=100_000, flipped=61, flipped_by_source=74, runtime="OpenVINO")
    none = Levels(count=80_000, flipped=0, flipped_by_source=None, runtime="OpenVINO")
    assert some.verdict == ("exact but for flipped levels: 61 of 100,000 values one level apart, OpenVINO itself 74")
    assert none.verdict == "exact levels: 0 of 80,000 values one level apart"
    assert (some + some).text == "122 of 200,000 values one level apart, OpenVINO itself 148"
    assert (some + none).text == "61 of 180,000 values one level apart"
    assert some.record()["grade"] == some.grade


def test_any_scale_will_do_for_zeros() -> None:
    quantisations.check_scale(EACH, values(0, (0, 0)), values(1, (0, 0)))
    assert EACH.fixed(values(0, (0, 0))).step == 1


def _two_convolutions(last: Any = lambda x: x) -> ov.Model:
    """Return two convolutions, each with a sum and a ReLU behind it, and ``last`` of the result."""
    rng = np.random.default_rng(0)
    x = value = ops.parameter([1, 16, 160, 160], np.float32, name="x")
    for number in range(2):
        weights = ops.constant(rng.normal(0, 0.2, (16, 16, 3, 3)).astype(np.float32))
        value = ops.convolution(value, weights, [1, 1], [1, 1], [1, 1], [1, 1], name=f"conv{number}")
        value = ops.add(value, ops.constant(rng.normal(0, 1, (1, 16, 1, 1)).astype(np.float32)), name=f"sum{number}")
        value = ops.relu(value, name=f"relu{number}")
    y = last(value)
    y.output(0).set_names({"y"})
    return ov.Model([ops.result(y)], [x], "net")


def test_a_name_that_several_tensors_have_identifies_none(tmp_path: Path) -> None:
    """Model Optimizer gave one name to a convolution's sum and its ReLU; only one of them is rounded to levels."""
    ir_forms.chained(_two_convolutions(), tmp_path / "net.xml")
    assert (tmp_path / "net.xml").read_text().count('names="conv1"') == 2
    verification = ir_interp.convert(tmp_path / "net.xml", tmp_path / "net.onnx").verification
    assert verification is not None
    assert verification.levels is not None
    assert [output.name for output in onnx.load(tmp_path / "net.onnx").graph.output] == ["y"]


def test_last_bits_of_1_count_in_every_layer(tmp_path: Path) -> None:
    """OpenVINO computes a sigmoid as a sum with 1: one near 0 has no other last bits, however deep it lies."""
    model = _two_convolutions(lambda x: ops.sigmoid(ops.subtract(ops.multiply(x, np.float32(0.1)), np.float32(14))))
    ir_forms.eight_bits(model, tmp_path / "net.xml")
    assert ir_interp.convert(tmp_path / "net.xml", tmp_path / "net.onnx").verification is not None
