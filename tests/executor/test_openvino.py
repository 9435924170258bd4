"""Against OpenVINO's CPU plugin: random Interpolate layers, and the smallest ones whose meaning is in doubt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ir_interp import Arithmetic, load, resize
from tests.support.configurations import IrCase, known_openvino_bug, model_of, run_in_openvino
from tests.support.runtimes import Array, openvino_resize
from tests.support.verdicts import spec_of
from tests.sweeps.executor import sweep_openvino, unexplained


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", range(2))
def test_random_layers(seed: int) -> None:
    verdicts = list(sweep_openvino(60, seed))
    assert not unexplained(verdicts), "\n".join(map(str, unexplained(verdicts)))


def layer(
    x: Array, mode: str, coordinates: str = "half_pixel", *, version: int = 4, axes: Any = None, **given: Any
) -> IrCase:
    """Return an Interpolate-4 or -11; what is not sizes or scales is an attribute."""
    targets = {name: given.pop(name) for name in ("sizes", "scales") if name in given}
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **given}
    return IrCase(version=version, shape=x.shape, dtype=x.dtype.name, attributes=attributes, axes=axes, **targets)


def layer_1(x: Array, mode: str, axes: tuple[int, ...], sizes: tuple[int, ...], **attributes: Any) -> IrCase:
    """Return an Interpolate-1, without align_corners unless it says so."""
    words = {"mode": mode, "align_corners": False, **attributes}
    return IrCase(version=1, shape=x.shape, dtype=x.dtype.name, attributes=words, axes=axes, sizes=sizes)


def run(case: IrCase, x: Array) -> Array:
    """Return OpenVINO's answer; only for cases that are known not to corrupt memory."""
    return openvino_resize(model_of(case), {"x": x})


def ramp(*shape: int, dtype: str = "float32") -> Array:
    """Return 0, 1, 2, ... in this shape."""
    return np.arange(np.prod(shape)).astype(dtype).reshape(shape)


def single(value: float) -> float:
    """Return the float32 nearest to a value."""
    return float(np.float32(value))


@pytest.mark.parametrize(
    ("case", "index", "exact", "float32"),
    [
        pytest.param(
            layer(ramp(14), "nearest", "asymmetric", nearest_mode="floor", sizes=(2,)), 1, 7, 6, id="V4 just below 7"
        ),
        pytest.param(
            layer(ramp(20), "nearest", nearest_mode="round_prefer_ceil", sizes=(6,)), 4, 15, 14, id="V4 below a tie"
        ),
        pytest.param(
            layer(ramp(7), "nearest", "asymmetric", nearest_mode="round_prefer_ceil", sizes=(4,)),
            2,
            4,
            3,
            id="B12 a tie that onnxruntime sees",
        ),
        pytest.param(
            layer(ramp(224), "nearest", "asymmetric", nearest_mode="floor", sizes=(512,)), 16, 7, 6, id="B12 224 to 512"
        ),
        pytest.param(
            layer(ramp(123), "nearest", "align_corners", nearest_mode="floor", sizes=(169,)),
            84,
            61,
            60,
            id="B8 rounded step",
        ),
    ],
)
def test_float32_coordinates(case: IrCase, index: int, exact: int, float32: int) -> None:
    x, spec = ramp(*case.shape), spec_of(case)
    assert resize(x, spec, arithmetic=Arithmetic.EXACT)[index] == exact
    assert resize(x, spec)[index] == run(case, x)[index] == float32
    assert resize(x, spec).tobytes() == run(case, x).tobytes()


@pytest.mark.parametrize(("scale", "exact", "float32"), [(0.7, 6, 7), (0.4999996, 4, 5)])
def test_float32_lengths(scale: float, exact: int, float32: int) -> None:
    """Without its 1e-6, float32 alone would round 10 * 0.4999996 to 4 too."""
    x = ramp(10)
    case = layer(x, "nearest", scales=(single(scale),))
    assert resize(x, spec_of(case), arithmetic=Arithmetic.EXACT).shape == (exact,)
    assert resize(x, spec_of(case)).tolist() == run(case, x).tolist()
    assert run(case, x).shape == (float32,)


HALF_PIXEL = [0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3]
ASYMMETRIC = [0, 0.5, 1, 1.5, 2, 2.5, 3, 3]


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        pytest.param(layer(ramp(4), "linear", scales=(single(1.2),)), [0, 1, 2, 3], id="V5 a length kept is a copy"),
        pytest.param(
            layer(ramp(4), "nearest", "asymmetric", nearest_mode="simple", sizes=(3,)), [0, 2, 3], id="simple down"
        ),
        pytest.param(layer_1(ramp(1, 1, 4), "linear", (2,), (8,)), HALF_PIXEL, id="Interpolate-1 linear"),
        pytest.param(layer_1(ramp(1, 1, 4), "linear_onnx", (2,), (8,)), HALF_PIXEL, id="Interpolate-1 linear_onnx"),
        pytest.param(
            layer_1(ramp(1, 1, 1, 4), "linear", (2, 3), (1, 8)), ASYMMETRIC, id="Interpolate-1 linear of an image"
        ),
        pytest.param(
            layer_1(ramp(1, 1, 1, 4), "linear_onnx", (2, 3), (1, 8)),
            ASYMMETRIC,
            id="Interpolate-1 linear_onnx of an image",
        ),
        pytest.param(
            layer_1(ramp(1, 1, 2, 3), "nearest", (3, 2), (4, 3)),
            [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5],
            id="Interpolate-1 sorts its axes",
        ),
        pytest.param(
            layer_1(ramp(1, 1, 1, 2), "nearest", (2, 3), (1, 2), pads_begin="1", pads_end="0"),
            [0, 0, 0, 1],
            id="Interpolate-1 pads dimension 0",
        ),
        pytest.param(
            layer(ramp(6, dtype="int32"), "linear", "asymmetric", sizes=(12,)),
            [0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 5],
            id="half to even",
        ),
    ],
)
def test_what_the_page_leaves_open(case: IrCase, wanted: list[float]) -> None:
    x = ramp(*case.shape, dtype=case.dtype)
    assert run(case, x).ravel().tolist() == wanted
    assert resize(x, spec_of(case)).ravel().tolist() == wanted


PULSE = np.array([0, 0, 0, 8, 0, 0, 0, 0], np.float32)


def test_antialias_is_ignored_up_to_rank_4() -> None:
    """B1; there the runtime's reading copies the plugin."""
    image, volume = PULSE.reshape(1, 1, 1, 8), PULSE.reshape(1, 1, 1, 1, 8)
    flat = layer(image, "linear", antialias=True, sizes=(1, 1, 1, 4))
    deep = layer(volume, "linear", antialias=True, sizes=(1, 1, 1, 1, 4))
    assert known_openvino_bug(flat) == "B1"
    assert run(flat, image).ravel().tolist() == resize(image, spec_of(flat)).ravel().tolist() == [0, 4, 0, 0]
    assert run(deep, volume).ravel().tolist() == resize(volume, spec_of(deep)).ravel().tolist() == [0, 3, 1, 0]


def test_cube_coeff_is_ignored_by_bicubic_pillow() -> None:
    """B5; copied likewise."""
    x = PULSE.reshape(1, 1, 1, 8)
    first, second = (layer(x, "bicubic_pillow", version=11, cube_coeff=a, sizes=(1, 1, 1, 3)) for a in (-0.75, -0.5))
    assert known_openvino_bug(first) == "B5"
    assert run(first, x).tobytes() == run(second, x).tobytes()
    np.testing.assert_allclose(resize(x, spec_of(first)), run(first, x), atol=1e-5)


def test_narrow_triangles_end_on_a_pixel() -> None:
    """Whether that pixel weighs nothing or everything is then up to the last bit of a float32."""
    x = np.ones((1, 1, 1, 1, 2), np.float32)
    case = layer(x, "linear", antialias=True, axes=(3, 4), sizes=(5, 1))
    assert resize(x, spec_of(case)).ravel().tolist() == run(case, x).ravel().tolist() == [0, 1, 1, 1, 0]
    assert resize(x, spec_of(case), arithmetic=Arithmetic.EXACT).ravel().tolist() == [0, 0, 1, 0, 0]


def test_antialias_of_rank_5_that_shrinks_nothing_is_a_fault() -> None:
    """B2, which is not copied: the operator page and the core reference interpolate."""
    x = np.array([0, 6, 0], np.float32).reshape(1, 1, 1, 1, 3)
    case = layer(x, "linear", antialias=True, sizes=(1, 1, 1, 1, 9))
    assert known_openvino_bug(case) == "B2"
    assert run(case, x).ravel().tolist() == [0, 0, 0, 0, 6, 0, 0, 0, 0]
    np.testing.assert_allclose(resize(x, spec_of(case)).ravel(), [0, 0, 2, 4, 6, 4, 2, 0, 0], atol=1e-5)


def test_int8_is_truncated_by_linear_of_rank_5() -> None:
    """8-bit integers round in every other rank, and wider types in this one too."""
    x = np.array([-3, -2, 0, 3], np.int8).reshape(1, 1, 1, 1, 4)
    case = layer(x, "linear", sizes=(1, 1, 1, 1, 8))
    assert known_openvino_bug(case) == "B9"
    assert run(case, x).ravel().tolist() == resize(x, spec_of(case)).ravel().tolist() == [-3, -2, -2, -1, 0, 0, 2, 3]
    wide = replace(case, dtype="int32")
    assert run(wide, x.astype(np.int32)).ravel().tolist() == [-3, -3, -2, -2, 0, 1, 2, 3]
    assert resize(x.astype(np.int32), spec_of(wide)).ravel().tolist() == [-3, -3, -2, -2, 0, 1, 2, 3]


def test_bicubic_pillow_clips_uint8_between_its_passes() -> None:
    """It is Pillow's own way."""
    x = np.kron(np.array([[0, 255], [255, 0]], np.uint8), np.ones((2, 2), np.uint8)).reshape(1, 1, 4, 4)
    case = layer(x, "bicubic_pillow", version=11, cube_coeff=-0.5, sizes=(1, 1, 6, 6))
    across, down = (
        layer(x, "bicubic_pillow", version=11, cube_coeff=-0.5, axes=(axis,), sizes=(6,)) for axis in (3, 2)
    )
    in_passes = resize(resize(x, spec_of(across)), spec_of(down))
    assert run(case, x).tolist() == resize(x, spec_of(case)).tolist() == in_passes.tolist()
    assert run(case, x).tolist() != resize(x, spec_of(case), arithmetic=Arithmetic.EXACT).tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize(
    ("mode", "rank", "axes"),
    [
        *(("linear_onnx", *each) for each in ((2, (0, 1)), (3, (0, 1, 2)), (3, (1, 2)), (4, (2, 3)), (4, (1, 2)))),
        *(("linear_onnx", *each) for each in ((5, (2, 3, 4)), (5, (3, 4)))),
        *(("cubic", *each) for each in ((2, (0, 1)), (3, (1, 2)), (4, (2, 3)), (4, (1, 2)))),
    ],
)
def test_integers_are_equal_to_the_last_bit(mode: str, rank: int, axes: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng([rank, *axes])
    low, high = {"uint8": (0, 255), "int8": (-128, 127)}.get(dtype, (-5000, 5000))
    for _ in range(2):
        shape = tuple(int(rng.integers(2, 24 if axis in axes else 4)) for axis in range(rank))
        x = rng.integers(low, high, shape, endpoint=True).astype(dtype)
        coordinates = str(rng.choice(["half_pixel", "align_corners", "asymmetric"]))
        case = layer(x, mode, coordinates, version=11, axes=axes, sizes=tuple(map(int, rng.integers(2, 40, len(axes)))))
        np.testing.assert_array_equal(run(case, x), resize(x, spec_of(case)), str(case))


@pytest.mark.parametrize("axes", [(1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)])
def test_pads_go_astray(axes: tuple[int, ...]) -> None:
    """B4: where axis 1 is resized without the others, pads are laid around other axes."""
    shape, end = (1, 10, 9, 5), tuple(2 * (axis in axes) for axis in range(4))
    attributes = {"mode": "nearest", "nearest_mode": "floor", "pads_begin": (0,) * 4, "pads_end": end}
    case = IrCase(version=11, shape=shape, attributes=attributes, axes=axes, sizes=(7,) * len(axes))
    wanted, seen = resize(case.array(), spec_of(case)), run_in_openvino(case)
    is_right = seen.shape == wanted.shape and bool((seen == wanted).all())
    (op,) = load(model_of(case))
    assert [each.code for each in op.diagnostics] == ([] if is_right else ["IRI008"])
    assert is_right == (axes not in ((1,), (1, 2), (1, 3)))
