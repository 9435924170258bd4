"""Against onnxruntime: random nodes, and the smallest nodes on which readings of ONNX Resize part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from ir_interp import Arithmetic, Crop, Semantics, resize
from tests.support.configurations import OnnxCase, known_onnxruntime_bug, model_of
from tests.support.runtimes import Array, onnxruntime_resize
from tests.support.verdicts import left_out, magnitude, spec_of
from tests.sweeps.executor import sweep_onnxruntime, unexplained


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(3))
def test_random_nodes(seed: int) -> None:
    verdicts = list(sweep_onnxruntime(100, seed))
    assert not unexplained(verdicts), "\n".join(map(str, unexplained(verdicts)))


def node(x: Array, mode: str, coordinates: str = "half_pixel", **given: Any) -> OnnxCase:
    """Return a Resize-19; what is not sizes, scales or roi is an attribute."""
    inputs = {name: given.pop(name) for name in ("sizes", "scales", "roi") if name in given}
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **given}
    return OnnxCase(op="Resize", opset=19, shape=x.shape, dtype=x.dtype.name, attributes=attributes, **inputs)


def single(value: float) -> float:
    """Return the float32 nearest to a value."""
    return float(np.float32(value))


def run(case: OnnxCase, x: Array) -> Array:
    """Return onnxruntime's answer."""
    return onnxruntime_resize(model_of(case), {"x": x})


def run_in_reference(case: OnnxCase, x: Array) -> Array:
    """Return the answer of ONNX's own evaluator."""
    evaluator: Any = ReferenceEvaluator(model_of(case))
    return np.asarray(evaluator.run(None, {"x": x})[0])


def ramp(*shape: int, dtype: str = "float32") -> Array:
    """Return 0, 1, 2, ... in this shape."""
    return np.arange(np.prod(shape)).astype(dtype).reshape(shape)


TIE = single(0.5 + 7e-7)


@pytest.mark.parametrize(
    ("case", "exact", "float32"),
    [
        pytest.param(
            node(ramp(7), "nearest", nearest_mode="floor", sizes=(1,)), [3], [2], id="O1 half_pixel just below 3"
        ),
        pytest.param(
            node(ramp(14), "nearest", "asymmetric", nearest_mode="floor", sizes=(2,)),
            [0, 7],
            [0, 6],
            id="O1 asymmetric just below 7",
        ),
        pytest.param(
            node(ramp(2), "nearest", "tf_crop_and_resize", sizes=(1,), roi=(TIE, TIE)),
            [1],
            [0],
            id="O2 tie within 1e-6",
        ),
        pytest.param(
            node(ramp(5), "nearest", nearest_mode="floor", scales=(single(1.4),)),
            [0, 0, 1, 2, 2, 3],
            [0, 0, 1, 2, 2, 3, 4],
            id="O3 length 5 * 1.4",
        ),
    ],
)
def test_float32_arithmetic(case: OnnxCase, exact: list[int], float32: list[int]) -> None:
    x, spec = ramp(*case.shape), spec_of(case)
    assert resize(x, spec, arithmetic=Arithmetic.EXACT).tolist() == exact
    assert resize(x, spec).tolist() == float32
    assert run(case, x).tolist() == float32


def test_aspect_policy_rounds_a_float32_product() -> None:
    x = ramp(285, 30)
    case = node(x, "nearest", keep_aspect_ratio_policy="not_smaller", sizes=(279, 43))
    assert resize(x, spec_of(case), arithmetic=Arithmetic.EXACT).shape == (409, 43)
    assert resize(x, spec_of(case)).shape == run(case, x).shape == (408, 43)


WHOLE = (0.0, 0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("case", "whole", "fractional"),
    [
        pytest.param(
            node(ramp(1, 4), "linear", "align_corners", scales=(1.0, single(0.6))), [0, 3], [0, 2.142857], id="R1"
        ),
        pytest.param(
            node(ramp(1, 4), "linear", "tf_crop_and_resize", scales=(1.0, single(1.7)), roi=WHOLE),
            [0, 0.6, 1.2, 1.8, 2.4, 3],
            [0, 0.517241, 1.034483, 1.551724, 2.068966, 2.586207],
            id="R2",
        ),
    ],
)
def test_fractional_length_is_the_reference_reading(
    case: OnnxCase, whole: list[float], fractional: list[float]
) -> None:
    x = ramp(*case.shape)
    np.testing.assert_allclose(run(case, x)[0], np.array(whole), atol=1e-6)
    np.testing.assert_allclose(resize(x, spec_of(case))[0], np.array(whole), atol=1e-6)
    np.testing.assert_allclose(run_in_reference(case, x)[0], np.array(fractional), atol=1e-6)
    np.testing.assert_allclose(resize(x, spec_of(case, Semantics.REFERENCE))[0], np.array(fractional), atol=1e-6)


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        pytest.param(node(ramp(1, 4), "cubic", "pytorch_half_pixel", sizes=(1, 1)), [0], id="R3 single output"),
        pytest.param(
            node(ramp(1, 5), "linear", "pytorch_half_pixel", scales=(1.0, single(0.3))), [0], id="R3b by its length"
        ),
        pytest.param(
            node(ramp(7), "nearest", nearest_mode="floor", sizes=(9,)), [0, 0, 1, 2, 3, 3, 4, 5, 6], id="R4 tie"
        ),
    ],
)
def test_where_only_the_reference_is_wrong(case: OnnxCase, wanted: list[int]) -> None:
    x, spec = ramp(*case.shape), spec_of(case)
    assert run(case, x).ravel().tolist() == wanted
    assert resize(x, spec).ravel().tolist() == wanted
    assert resize(x, spec, arithmetic=Arithmetic.EXACT).ravel().tolist() == wanted


def test_reference_window_slips() -> None:
    """R5: it adds the width of a pad to a coordinate and loses the last bit, here of 3.0000000000000004."""
    x = ramp(1, 7)
    case = node(x, "linear", sizes=(1, 17))
    assert run_in_reference(case, x)[0, 8] == pytest.approx(2)
    assert run(case, x)[0, 8] == pytest.approx(3)
    assert resize(x, spec_of(case))[0, 8] == pytest.approx(3)


def test_nearest_copies_infinity_and_nan() -> None:
    x = np.array([1, np.inf, 2, np.nan], np.float32)
    case = node(x, "nearest", sizes=(8,))
    assert resize(x, spec_of(case)).tobytes() == run(case, x).tobytes() == np.repeat(x, 2).tobytes()


FAULTS = {
    "O4": node(ramp(1, 4), "linear", "tf_crop_and_resize", sizes=(1, 4), roi=(0.0, 0.5, 1.0, 1.0)),
    "O5": node(ramp(1, 4), "linear", scales=(1.0, single(1.2))),
    "O6": node(ramp(4, 2), "linear", antialias=1, scales=(single(1.2), 0.5)),
    "O7": node(ramp(1, 3, 3, 2), "cubic", "tf_crop_and_resize", axes=[1, 2], sizes=(4, 4), roi=(0.5, 0.0, 1.5, 1.0)),
    "O8": node(
        ramp(1, 3, 3, 2),
        "linear",
        "tf_crop_and_resize",
        axes=[1, 2],
        antialias=1,
        sizes=(4, 4),
        roi=(0.5, 0.0, 1.5, 1.0),
    ),
    "O9": node(ramp(1, 2, 4, 1), "cubic", axes=[1, 2], scales=(single(1.2), 2.0)),
    "O11": node(ramp(4), "nearest", axes=[-1], keep_aspect_ratio_policy="not_larger", sizes=(8,)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_not_copied(fault: str) -> None:
    """What the random nodes leave out is still wrong in onnxruntime, and right here."""
    case = FAULTS[fault]
    x = ramp(*case.shape)
    theirs, ours = run(case, x), resize(x, spec_of(case))
    exact = resize(x, spec_of(case), arithmetic=Arithmetic.EXACT)
    assert known_onnxruntime_bug(case) == fault
    np.testing.assert_allclose(ours, exact, atol=2e-5 * magnitude(x))
    assert ours.shape != theirs.shape or np.abs(ours - theirs).max() > 0.1


def test_integers_are_truncated_by_linear() -> None:
    x = np.array([[-3, -2, 0, 3]], np.int8)
    case = node(x, "linear", sizes=(1, 8))
    exact = resize(x.astype(np.float64), spec_of(case))
    assert exact.tolist() == [[-3, -2.75, -2.25, -1.5, -0.5, 0.75, 2.25, 3]]
    assert run(case, x).tolist() == resize(x, spec_of(case)).tolist() == np.trunc(exact).tolist()
    assert resize(x, spec_of(case), arithmetic="exact").tolist() == [[-3, -3, -2, -2, 0, 1, 2, 3]]


def test_what_lies_below_a_whole_number_by_the_last_bit_is_cut_off() -> None:
    """A sum of float32 products of a constant image may miss the constant."""
    x = np.full((40, 40), 100, np.uint8)
    case = node(x, "linear", sizes=(63, 63))
    found = run(case, x)
    assert {99, 100} == {*found.ravel().tolist()}
    assert (resize(x, spec_of(case)) == found).all()


def test_antialias_makes_negative_int8_zero() -> None:
    x = np.array([[-10, -10, 50, 50]], np.int8)
    case = node(x, "linear", antialias=1, sizes=(1, 2))
    assert left_out(case) == "O12"
    assert run(case, x).tolist() == [[0, 43]]
    assert resize(x, spec_of(case)).tolist() == [[-2, 43]]


def test_antialias_rounds_half_up_and_clips_after_each_axis() -> None:
    """Width first: by columns and then by rows other pixels come out."""
    x = np.kron(np.array([[0, 255], [255, 0]], np.uint8), np.ones((2, 2), np.uint8))
    case = node(x, "cubic", antialias=1, sizes=(6, 6))
    across, down = (spec_of(node(x, "cubic", antialias=1, axes=[axis], sizes=(6,))) for axis in (1, 0))
    assert run(case, x).tolist() == resize(x, spec_of(case)).tolist() == resize(resize(x, across), down).tolist()
    assert resize(x, spec_of(case), arithmetic="exact")[2].tolist() == [37, 20, 63, 192, 235, 218]  # clipped once
    assert run(case, x)[2].tolist() == [37, 37, 63, 192, 218, 218]
    half = np.array([[0, 1, 2, 3]], np.uint8)
    assert run(node(half, "linear", antialias=1, sizes=(1, 2)), half).tolist() == [[1, 2]]


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_extrapolated_integers_are_cut_off(mode: str) -> None:
    x = np.full((4, 4), 7, np.uint8)
    case = node(x, mode, "tf_crop_and_resize", sizes=(5, 5), roi=(-0.5, 0.0, 1.5, 1.0), extrapolation_value=10.75)
    assert resize(x, spec_of(case)).tolist() == run(case, x).tolist()
    assert run(case, x)[0, 0] == 10
    whole = replace(spec_of(case), coordinates=Crop(roi=((-0.5, 1.5), (0, 1)), extrapolation=10))
    assert resize(x, whole).tolist() == run(case, x).tolist()


INTEGERS = [  # rank and resized axes of which onnxruntime makes integers in ways of their own
    *((2, (0, 1)), (3, (0, 1, 2)), (3, (1, 2)), (4, (2, 3)), (4, (3,)), (4, (2,))),
    *((4, (1, 2)), (4, (1,)), (5, (2, 3, 4)), (5, (3, 4))),
]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize(("rank", "axes"), INTEGERS)
@pytest.mark.parametrize(("mode", "antialias"), [("linear", 0), ("linear", 1), ("cubic", 1)])
def test_integers_are_equal_to_the_last_bit(
    mode: str, antialias: int, rank: int, axes: tuple[int, ...], dtype: str
) -> None:
    if mode == "cubic" and rank in (3, 5):
        return  # refused
    rng = np.random.default_rng([rank, *axes, antialias])
    low, high = {"uint8": (0, 255), "int8": (0 if antialias else -128, 127)}.get(dtype, (-(10**6), 10**6))
    if (mode, dtype) == ("cubic", "int8"):
        low, high = 40, 80  # beyond int8 lies a fault
    for place in range(4):
        shape = tuple(int(rng.integers(2, 40 if axis in axes else 4)) for axis in range(rank))
        x = rng.integers(low, high, shape, endpoint=True).astype(dtype)
        attributes = {"axes": list(axes), "antialias": antialias, "exclude_outside": antialias * (place % 2)}
        coordinates = str(rng.choice(["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]))
        sizes = tuple(shape[axis] + int(rng.integers(1, 30)) * (-1 if shape[axis] > 31 else 1) for axis in axes)
        case = node(x, mode, coordinates, **attributes, sizes=sizes)
        np.testing.assert_array_equal(resize(x, spec_of(case)), run(case, x), str(case))


@pytest.mark.parametrize(("mode", "antialias"), [("linear", 0), ("linear", 1), ("cubic", 1)])
def test_an_image_of_real_size_is_equal_to_the_last_bit(mode: str, antialias: int) -> None:
    x = np.random.default_rng(7).integers(0, 256, (1, 3, 480, 640)).astype(np.uint8)
    case = node(x, mode, antialias=antialias, axes=[2, 3], sizes=(80, 224))
    np.testing.assert_array_equal(resize(x, spec_of(case)), run(case, x))
