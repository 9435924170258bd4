"""Resizes of image libraries against what these computed: frozen bytes of several versions, and Pillow as installed."""

from __future__ import annotations

import itertools
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import (
    FixedPoint,
    FloatingPoint,
    IntegerRounding,
    IrInterpError,
    Passes,
    ReadError,
    ShapeError,
    Sizes,
    SpecError,
    resize,
)
from ir_interp.cli.main import main
from ir_interp.libraries import get, names, parse
from ir_interp.plan.library_passes import is_of_ipp, passes
from ir_interp.plan.taps import plan
from tests.support.libraries import Call, calls
from tests.sweeps.libraries import compared, known
from tests.sweeps.library_vectors import EDGES, FOLDER, PARTS, at_edges, drawn, frozen, sizes_of, whole

CLOSE = 3e-6 * PARTS  # of floats: what the last bits of small coordinates make
VECTORS = sorted(FOLDER.glob("*.npz"))
AT_EDGES = sorted(EDGES.glob("*.npz"))
BYTES = [call for call in calls("pillow") if call.dtype == "uint8"]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", VECTORS, ids=[path.stem for path in VECTORS])
def test_frozen_bytes(path: Path) -> None:
    library, _, release = path.stem.partition("-")
    with np.load(path, allow_pickle=False) as held:
        values = held["values"]
    version = int(release.split(".")[get(library).counted])
    for each in frozen(library, version):
        for sizes in sizes_of(each):
            call, x = drawn(each, sizes)
            found = whole(resize(x, call.of(version), sizes=sizes[2:])).reshape(-1)
            wanted, values = values[: found.size], values[found.size :]
            may_differ = known(call, version) and library != "opencv"  # these vectors are of one processor
            allowed = CLOSE if call.dtype == "float32" else 2 if may_differ else 0
            assert np.abs(found - wanted).max() <= allowed, (str(call), sizes)
    assert not values.size


@pytest.mark.parametrize("path", AT_EDGES, ids=[path.stem for path in AT_EDGES])
def test_frozen_bytes_of_factors(path: Path) -> None:
    """Factors instead of sizes: what rounds up, what keeps a length, and 1, 2, 3 and 5 channels; some are refused."""
    library, _, release = path.stem.partition("-")
    version, refused, count = int(release.split(".")[get(library).counted]), 0, 0
    with np.load(path, allow_pickle=False) as held:
        values = held["values"]
    for call, x in at_edges(library):
        found = _whole_or_why(call, x, version)
        if isinstance(found, str):
            assert "not a ratio of sizes" in found or "at most 4 channels" in found, (str(call), found)
            refused += 1
            continue
        wanted, values = values[: found.size], values[found.size :]
        assert np.array_equal(found, wanted), (str(call), x.shape, call.scales)
        count += 1
    assert not values.size
    assert count > 9 * refused or library == "opencv"


def _whole_or_why(call: Call, x: Any, version: int) -> Any:
    """Return the values of a call, or why it is refused."""
    try:
        return whole(call.ours(x, 0, 0, version)).reshape(-1)
    except IrInterpError as error:
        return str(error)


def test_opencv_5_rounds_lengths_of_nearest_exact() -> None:
    """Once 5x5 by 1.5 became 7x7: the pixels are Pillow's, the lengths are not."""
    x = np.arange(25, dtype=np.uint8).reshape(5, 5)
    for version in (4, 5):
        spec = ir_interp.spec("opencv", interpolation="NEAREST_EXACT", version=version)
        assert np.array_equal(resize(x, spec, scales=(1.5, 1.5)), resize(x, spec, sizes=(8, 8)))


def test_opencv_divides_the_last_block_by_what_it_has() -> None:
    x = np.array([[0, 1, 7], [2, 4, 10], [20, 31, 200]], np.uint8)
    area = ir_interp.spec("opencv", interpolation="AREA")
    assert resize(x, area, scales=(0.5, 0.5)).tolist() == [[2, 8], [26, 200]]  # 7/4, 17/2 (even), 51/2 (even)
    assert resize(x, area, scales=(0.25, 0.25)).tolist() == [[31]]  # 275 / 9
    deep = ir_interp.spec("opencv", interpolation="AREA", dtype="uint16")
    piece = (slice(1, 2), slice(1, 2))
    at_hand = ir_interp.region(deep, x.shape, piece, scales=(0.5, 0.5))
    y = resize(x.astype(np.uint16)[at_hand], deep, scales=(0.5, 0.5), region=piece, whole=x.shape)
    assert y.tolist() == [[200]]
    large = np.full((1030, 1030), 2**16 - 1, np.uint16)
    with pytest.raises(ShapeError, match=r"^sums of blocks beyond 2\*\*24 are unknown where the last block is"):
        resize(large, deep, scales=(1 / 20, 1 / 20))


@pytest.mark.parametrize("interpolation", ["NEAREST", "LINEAR", "CUBIC", "AREA", "LANCZOS4", "LINEAR_EXACT"])
def test_opencv_copies_what_keeps_both_lengths(interpolation: str) -> None:
    x = np.random.default_rng(0).integers(0, 256, (5, 11, 3)).astype(np.uint8)
    spec = ir_interp.spec("opencv", interpolation=interpolation, ipp=False)
    assert np.array_equal(resize(x, spec, scales=(1.001, 0.999)), x)
    assert not np.array_equal(resize(x, spec, scales=(1.2, 1.09))[:5, :11], x)


def test_torch_copies_each_axis_that_keeps_its_length() -> None:
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 8, 9)).astype(np.uint8)
    for mode, antialias in (("nearest", False), ("bilinear", False), ("bicubic", False), ("bilinear", True)):
        spec = ir_interp.spec("torch", mode=mode, antialias=antialias, dtype="uint8")
        whole_ratios = ir_interp.spec("torch", mode=mode, antialias=antialias, dtype="uint8")
        kept = resize(x, spec, scales=(0.75, 1.1))
        assert np.array_equal(kept, resize(x, whole_ratios, scales=(0.75, 1.0)))
    floats, spec = x.astype(np.float32), ir_interp.spec("torch", mode="bicubic", dtype="float32")
    assert not np.array_equal(resize(floats, spec, scales=(1.0, 1.1)), floats)  # bicubic of floats does not
    said = r"^an axis that keeps its size is copied for uint8 but not for float32; specify the dtype in the call$"
    with pytest.raises(SpecError, match=said):
        resize(floats, ir_interp.spec("torch", mode="bicubic"), scales=(1.0, 1.1))


TOTALS = [(1371, 0.6979955751438424, 974825), (2220, 0.420637253459845, 951558)]


@pytest.mark.parametrize(("n", "scale", "total"), TOTALS)
def test_torch_steps_onto_the_next_pixel_from_just_below_it(n: int, scale: float, total: int) -> None:
    """Some coordinate is less than half a step of float32 below a pixel, whose weight of 1 leaves 14 bits, not 15."""
    x = (np.arange(n * 8) * 37 % 256).astype(np.uint8).reshape(1, 1, n, 8)
    y = resize(x, ir_interp.spec("torch", mode="bilinear", dtype="uint8"), scales=(scale, 1.0))
    assert y.sum() == total  # torch 2.13; with 15 bits some pixels are off by 1


def test_pillow_squares_before_it_multiplies() -> None:
    """A weight of Magic Kernel Sharp 2021 exactly between two integers."""
    pixels = (39, 86, 142, 195, 154, 70, 33, 50, 113, 210, 18, 4, 209, 94, 33, 213, 59, 89, 31)
    x = np.pad(np.array(pixels, np.uint8), (45, 151 - 64))[:, None]
    spec = ir_interp.spec("pillow", resample="MKS2021", mode="L", version=13)
    assert resize(x, spec, sizes=(256, 1))[91, 0] == 177  # Pillow 13.0.0


def test_torch_takes_pixels_twice_where_an_axis_doubles_up_to_128() -> None:
    spec = ir_interp.spec("torch", mode="nearest")
    small = np.arange(6, dtype=np.float32).reshape(1, 1, 1, 6)
    assert resize(small, spec, scales=(1.0, 2.1)).ravel().tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    large = np.arange(100, dtype=np.float32).reshape(1, 1, 1, 100)
    found = resize(large, spec, scales=(1.0, 2.004)).ravel()
    assert not np.array_equal(found, np.repeat(large.ravel(), 2))


@pytest.mark.parametrize(("columns", "place", "pixel"), [(41, 20, 0), (47, 23, 0), (55, 27, 0), (227, 113, 1)])
def test_nearest_exact_of_small_outputs_rounds_each_step(columns: int, place: int, pixel: int) -> None:
    """What torch 2.13 takes where a product ends just below a pixel: up to 128 of height and width, and beyond."""
    x = np.arange(2, dtype=np.float32).reshape(1, 1, 1, 2)
    y = resize(x, ir_interp.spec("torch", mode="nearest-exact"), sizes=(1, columns))
    assert y.ravel()[place] == pixel


def test_float64_has_other_nearest_pixels_in_torch() -> None:
    x = np.arange(7, dtype=np.float64).reshape(1, 1, 1, 7)
    with pytest.raises(SpecError, match=r"^nearest here takes uint8, .*; the image is float64: specify its dtype"):
        resize(x, ir_interp.spec("torch", mode="nearest"), sizes=(1, 9))
    single, double = (ir_interp.spec("torch", mode="nearest", dtype=dtype) for dtype in ("float32", "float64"))
    assert any(
        not np.array_equal(
            resize(np.arange(n, dtype=np.float32).reshape(1, n), single, sizes=(1, m)),
            resize(np.arange(n, dtype=np.float64).reshape(1, n), double, sizes=(1, m)),
        )
        for n in range(20, 60)
        for m in range(128, 200)
    )


@pytest.mark.parametrize(
    ("dtype", "antialias", "channels", "said"),
    [
        ("float32", True, 1, "one-pixel-wide outputs for antialiased floats; use a larger width"),
        ("uint8", False, 5, "one-pixel-wide outputs for more than four channels; use a larger width"),
        ("uint8", True, 8, "one-pixel-wide outputs for more than four channels; use a larger width"),
    ],
)
def test_what_torch_gets_wrong_is_refused(dtype: str, antialias: bool, channels: int, said: str) -> None:
    x, spec = np.zeros((1, channels, 6, 7), dtype), ir_interp.spec("torch", dtype=dtype, antialias=antialias)
    with pytest.raises(ShapeError) as caught:
        resize(x, spec, sizes=(4, 1))
    assert str(caught.value) == f"torch 2.13 repeats the first row of {said}"
    for sizes in ((1, 1), (6, 1), (4, 2)):
        assert resize(x, spec, sizes=sizes).shape == (1, channels, *sizes)
    one = np.zeros((1, 3, 6, 7), np.uint8)
    with pytest.raises(ShapeError, match=r"^torch 2.13 refuses to resize uint8 images of three channels to one pixel"):
        resize(one, ir_interp.spec("torch", dtype="uint8"), sizes=(1, 1))


@pytest.mark.parametrize(
    ("library", "call", "said"),
    [
        ("opencv", {"interpolation": "AREA", "dtype": "int32"}, "INTER_AREA takes images of uint8, uint16, int16, "),
        (
            "opencv",
            {"dtype": "int16"},
            "the rounding of INTER_LINEAR for int16 in Intel's library (IPP) is unknown; use ipp=",
        ),
        ("torch", {"mode": "area", "dtype": "uint8"}, "area takes tensors of float16, bfloat16, float32, float64, not"),
        ("torch", {"mode": "nearest", "dtype": "int32"}, "nearest takes tensors of uint8, float16, bfloat16, float32"),
        ("pillow", {"mode": "I;16", "version": 11}, "the way Pillow up to 12.2 stores I;16 sums beyond 16 bits"),
        ("opencv", {"interpolation": 7}, "unknown value '7'"),
        ("opencv", {"interpolation": True}, "unknown value 'true'"),
    ],
)
def test_calls_that_are_refused(library: str, call: dict[str, Any], said: str) -> None:
    with pytest.raises(ReadError) as caught:
        ir_interp.spec(library, **call)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("library", "call", "shape", "dtype", "said"),
    [
        (
            "pillow",
            {},
            (9, 9, 4),
            "uint8",
            "mode RGB takes images of 1, 3 channels; this one has 4; name its mode, as in",
        ),
        (
            "pillow",
            {"mode": "RGBA"},
            (9, 9, 3),
            "uint8",
            "mode RGBA takes images of 2, 4 channels; this one has 3; name",
        ),
        (
            "pillow",
            {},
            (9, 9),
            "uint16",
            "mode RGB here takes uint8, float16, bfloat16, float32, float64; the image ",
        ),
        ("pillow", {"resample": "NEAREST"}, (9, 9), "uint16", "mode RGB here takes uint8, int32, bool, float16, "),
        ("opencv", {}, (9, 9), "uint16", "INTER_LINEAR here takes uint8, float32, float64; the image is uint16"),
        (
            "opencv",
            {"interpolation": "AREA"},
            (9, 9),
            "int32",
            "INTER_AREA here takes uint8, float32, float64; the",
        ),
        ("opencv", {"interpolation": "AREA"}, (9, 9, 5), "uint8", "OpenCV averages images of at most 4 channels where"),
    ],
)
def test_images_that_a_call_does_not_take(
    library: str, call: dict[str, Any], shape: tuple[int, ...], dtype: str, said: str
) -> None:
    with pytest.raises((SpecError, ShapeError)) as caught:
        resize(np.zeros(shape, dtype), ir_interp.spec(library, **call), sizes=(5, 5))
    assert str(caught.value).startswith(said)


def test_area_of_five_channels_in_whole_blocks() -> None:
    x = np.random.default_rng(0).integers(0, 256, (8, 6, 5)).astype(np.uint8)
    area = ir_interp.spec("opencv", interpolation="AREA")
    assert resize(x, area, sizes=(4, 3)).shape == (4, 3, 5)
    assert resize(x, area, sizes=(9, 3)).shape == (9, 3, 5)  # an axis grows: linear


def test_factors_that_intels_library_takes_for_a_warp() -> None:
    x = np.random.default_rng(0).integers(0, 256, (9, 9, 3)).astype(np.uint8)
    spec = ir_interp.spec("opencv", interpolation="CUBIC")
    said = r"^the result of Intel's library \(IPP\) where fx or fy is not a ratio of sizes is unknown; use sizes"
    with pytest.raises(SpecError, match=said):
        resize(x, spec, scales=(1.5, 1.5))
    assert np.array_equal(resize(x, spec, scales=(2.0, 2.0)), resize(x, spec, sizes=(18, 18)))
    assert resize(x[..., :2], spec, scales=(1.5, 1.5)).shape == (14, 14, 2)  # not of two channels


class _Resampling(IntEnum):
    BICUBIC = 3
    MKS2021 = 7


def test_the_constants_of_libraries() -> None:
    assert ir_interp.spec("pillow", resample=_Resampling.BICUBIC) == ir_interp.spec("pillow", resample="BICUBIC")
    assert ir_interp.spec("pillow", resample=1) == ir_interp.spec("pillow", resample="LANCZOS")
    assert ir_interp.spec("opencv", interpolation=3) == ir_interp.spec("opencv", interpolation="INTER_AREA")
    image = pytest.importorskip("PIL.Image")
    for each in image.Resampling:
        assert get("pillow").constants["resample"][int(each)] == each.name
    newest = ir_interp.spec("pillow", resample=_Resampling.MKS2021, version=13)
    assert newest == ir_interp.spec("pillow", resample="MKS2021", version=13)


def test_scipy_rounds_a_half_that_a_sum_makes() -> None:
    """floor(x + 1/2) of x just below 1/2 is 1 in float64."""
    x = np.array([[0.0], [1.0]], np.float32)
    y = resize(x, ir_interp.spec("scipy", order=0), sizes=(99, 1))
    assert int(y.sum()) == 50


def test_scipy_sums_integers_over_both_axes_at_once() -> None:
    """SciPy 1.17.1. In sums of one axis after the other, one value is off by 1."""
    x, spec = np.array([[201, 67, 219], [127, 109, 173]], np.uint8), ir_interp.spec("scipy", dtype="uint8")
    y = resize(x, spec, sizes=(9, 11))
    assert (y.sum(), y[3].tolist()) == (13686, [173, 155, 137, 119, 101, 83, 107, 130, 154, 178, 202])
    by_axes = replace(spec, integers=FloatingPoint(bits=64, rounding=IntegerRounding.HALF_AWAY))
    assert np.count_nonzero(resize(x, by_axes, sizes=(9, 11)) != y) == 3
    piece = (slice(1, 4), slice(2, 6))
    at_hand = ir_interp.region(spec, x.shape, piece, sizes=(9, 11))
    assert np.array_equal(resize(x[at_hand], spec, sizes=(9, 11), region=piece, whole=x.shape), y[piece])
    with pytest.raises(SpecError, match="must be rounded half away from zero, at the end"):
        FloatingPoint(bits=64, passes=Passes.AT_ONCE)
    with pytest.raises(SpecError, match="fixed-point sums must be of one axis after the other"):
        FixedPoint(bits=22, passes=Passes.AT_ONCE)


@pytest.mark.parametrize("library", ["jax", "pillow", "scipy", "tensorflow", "torchvision"])
def test_scales_give_sizes_where_calls_take_no_scales(library: str) -> None:
    x = np.random.default_rng(0).random((3, 7, 7)).astype(np.float32)
    x = x if library == "torchvision" else np.ascontiguousarray(x.transpose(1, 2, 0))
    spec = ir_interp.spec("pillow", mode="F") if library == "pillow" else ir_interp.spec(library, dtype="float32")
    size = 4 if library == "scipy" else 3  # rounded half to even; elsewhere down, as int does
    assert np.array_equal(resize(x, spec, scales=(0.5, 0.5)), resize(x, spec, sizes=(size, size)))


def test_11_filters_the_width_first() -> None:
    x = np.random.default_rng(0).integers(0, 256, (310, 3)).astype(np.uint8)
    old, new = (ir_interp.spec("pillow", resample="BICUBIC", mode="L", version=version) for version in (11, 12))
    assert np.array_equal(resize(x, old, sizes=(8, 1)), resize(resize(x, old, sizes=(310, 1)), old, sizes=(8, 1)))
    assert np.array_equal(resize(x, new, sizes=(8, 1)), resize(resize(x, new, sizes=(8, 3)), new, sizes=(8, 1)))


def test_the_order_of_sums_shows_in_bytes() -> None:
    """What is frozen of OpenCV's cubic tells Intel's orders from OpenCV's own, and these from sums of whole numbers."""
    rng = np.random.default_rng(1)
    for channels, dtype in itertools.product((1, 3, 4), ("uint8", "uint16")):
        x = rng.integers(0, np.iinfo(dtype).max + 1, (30, 31, channels)).astype(dtype)
        own = ir_interp.spec("opencv", interpolation="CUBIC", dtype=dtype, ipp=False)
        sums = replace(own.integers, lanes=None)  # type: ignore[type-var]
        every = (ir_interp.spec("opencv", interpolation="CUBIC", dtype=dtype), own, replace(own, integers=sums))
        made = [resize(x, spec, sizes=(90, 93)) for spec in every]
        assert len({y.tobytes() for y in made}) == len(made), (channels, dtype)
        assert max(int(np.abs(y.astype(int) - made[0]).max()) for y in made) <= 2


@pytest.mark.parametrize(("height", "width", "channels", "takes"), [
    (4, 4, 3, True), (4, 4, 1, True), (3, 9, 3, False), (9, 3, 3, False), (9, 9, 2, False), (9, 9, 5, False),
])  # fmt: skip
def test_intels_library_takes_few_channels_and_no_short_axes(
    height: int, width: int, channels: int, takes: bool
) -> None:
    shape = (height, width, channels)
    bound = plan(replace(ir_interp.spec("opencv", interpolation="CUBIC"), target=Sizes((7, 11))), shape)
    assert is_of_ipp(bound) is takes
    x = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    own = resize(x, ir_interp.spec("opencv", interpolation="CUBIC", ipp=False), sizes=(7, 11))
    assert np.array_equal(resize(x, ir_interp.spec("opencv", interpolation="CUBIC"), sizes=(7, 11)), own) is not takes


@pytest.mark.parametrize(("name", "dtype", "ipp"), [
    ("CUBIC", "uint8", True), ("CUBIC", "uint16", True), ("LINEAR", "uint16", True), ("CUBIC", "uint8", False),
    ("CUBIC", "uint16", False),
])  # fmt: skip
def test_pieces_of_sums_in_other_orders(name: str, dtype: str, ipp: bool) -> None:
    """A piece has the bytes of the whole: which values share a block, or reach an edge, is found on the whole."""
    spec = ir_interp.spec("opencv", interpolation=name, dtype=dtype, ipp=ipp)
    for channels in (3, 4, 2):
        x = np.random.default_rng(channels).integers(0, np.iinfo(dtype).max + 1, (11, 13, channels)).astype(dtype)
        y = resize(x, spec, sizes=(33, 39))
        for piece in (
            (slice(5, 20), slice(3, 39)),
            (slice(0, 33), slice(0, 7)),
            (slice(2, 3), slice(30, 38), slice(1, 2)),
        ):
            needed = x[ir_interp.region(spec, x.shape, piece, sizes=(33, 39))]
            assert np.array_equal(resize(needed, spec, sizes=(33, 39), region=piece, whole=x.shape), y[piece])


def test_every_library_is_frozen_and_every_change_of_it() -> None:
    named = [path.stem.split("-") for path in VECTORS]
    held = {(name, get(name).version(int(release.split(".")[get(name).counted]))) for name, release in named}
    assert held == {(name, version) for name in names() for version in get(name).dialect.versions}


@pytest.mark.sampled(30)
@pytest.mark.parametrize("call", BYTES, ids=map(str, BYTES))
def test_pillow_as_installed(call: object) -> None:
    assert compared(call, 2e4, seed=3).unequal == 0  # type: ignore[arg-type]


def test_pieces_of_boxes_that_are_reduced() -> None:
    """A piece has the bytes of the whole, and needs no more of the image than the whole blocks that it takes."""
    rng = np.random.default_rng(5)
    for mode, channels in (("RGB", 3), ("RGBA", 4), ("L", 1)):
        x = rng.integers(0, 256, (90, 70) if channels == 1 else (90, 70, channels)).astype(np.uint8)
        call: dict[str, Any] = {"resample": "BICUBIC", "mode": mode, "box": (3.25, 1, 66, 88.5), "reducing_gap": 1.0}
        spec = ir_interp.spec("pillow", version=13, **call)
        y, piece = resize(x, spec, sizes=(20, 9)), (slice(7, 12), slice(2, 5))
        needed = ir_interp.region(spec, x.shape, piece, sizes=(20, 9))
        assert np.array_equal(resize(x[needed], spec, sizes=(20, 9), region=piece, whole=x.shape), y[piece])
        assert x[needed].size < x.size / 2
        assert np.array_equal(ir_interp.prepare(spec, x.shape, "uint8", sizes=(20, 9)).__call__(x), y)


def test_torch_finds_the_bits_of_weights_before_those_of_an_edge_are_all_added_up() -> None:
    x = np.random.default_rng(0).integers(0, 256, (9, 228)).astype(np.uint8)
    spec = ir_interp.spec("torch", mode="bicubic")
    (step,) = passes(plan(replace(spec, axes=(-1,), target=Sizes((227,))), x.shape), "uint8")
    assert step.bits_after == 14  # 0.99999 at the edge, of which a negative weight is taken off afterwards


def test_12_filters_the_height_of_tall_images_first() -> None:
    x = np.random.default_rng(0).integers(0, 256, (310, 3)).astype(np.uint8)
    spec = ir_interp.spec("pillow", resample="BOX", mode="L", version=12)
    tall, wide = resize(x, spec, sizes=(8, 1)), resize(x[:300], spec, sizes=(8, 1))
    assert np.array_equal(tall, resize(resize(x, spec, sizes=(8, 3)), spec, sizes=(8, 1)))
    assert np.array_equal(wide, resize(resize(x[:300], spec, sizes=(300, 1)), spec, sizes=(8, 1)))


@pytest.mark.parametrize("version", [12, 13])
def test_alpha_is_reduced_by_13_alone(version: int) -> None:
    x = np.random.default_rng(0).integers(0, 256, (60, 60, 4)).astype(np.uint8)
    plain = resize(x, ir_interp.spec("pillow", mode="RGBA", version=version), sizes=(5, 5))
    gap = resize(x, ir_interp.spec("pillow", mode="RGBA", version=version, reducing_gap=1.0), sizes=(5, 5))
    assert np.array_equal(plain, gap) == (version == 12)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({"box": (0, 0, 9)}, "box is [0, 0, 9]; expected left, upper, right and lower"),
        ({"box": (5, 0, 2, 9)}, "a box must start at 0 or later and stop after its start: [(0.0, 9.0), (5.0, 2.0)]"),
        ({"reducing_gap": 0.5}, "the gap of blocks must be at least 1, not 0.5"),
        ({"reducing_gap": 2, "mode": "I;16"}, "Pillow cannot average I;16 images in blocks"),
        ({"resample": "MKS2013", "version": 12}, "unknown value 'MKS2013'"),
    ],
)
def test_boxes_and_gaps_that_pillow_refuses(call: dict[str, Any], said: str) -> None:
    with pytest.raises(ReadError) as caught:
        ir_interp.spec("pillow", **call)
    assert said in str(caught.value)
    with pytest.raises(ShapeError, match=r"^the box from 0 to 30 exceeds an axis of 20 pixels$"):
        resize(np.zeros((20, 20), np.uint8), ir_interp.spec("pillow", mode="L", box=(0, 0, 9, 30)), sizes=(2, 2))


def test_versions_differ() -> None:
    x = np.random.default_rng(0).integers(0, 256, (40, 30, 3)).astype(np.uint8)
    old, new = (resize(x, ir_interp.spec("pillow", version=v), sizes=(9, 28)) for v in (12, 13))
    assert not np.array_equal(old, new)
    bottom = [resize(x, ir_interp.spec("pillow", version=v), sizes=(28, 9)) for v in (12, 13)]
    assert np.array_equal(bottom[0], bottom[1])


def test_the_installed_version_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    library = get("pillow")
    for release, wanted in _INSTALLED:
        monkeypatch.setattr("importlib.metadata.version", lambda _, release=release: release)
        assert library.version() == wanted
    assert library.version(12) == 12
    monkeypatch.setattr("importlib.metadata.version", lambda _: "12.2.0")
    with pytest.raises(ReadError, match=_UNLIKE_ALL):
        library.version()
    monkeypatch.setattr("importlib.metadata.version", lambda _: "9.5.0")
    for release in ("9.5.0", "13.1.0", "14.2"):
        monkeypatch.setattr("importlib.metadata.version", lambda _, release=release: release)
        with pytest.raises(ReadError, match=r"^pillow .* is installed, which matches no supported version"):
            library.version()


@pytest.mark.parametrize(
    ("library", "oldest", "newest"),
    [
        ("jax", 10, 10),
        ("opencv", 4, 5),
        ("pillow", 10, 13),
        ("scipy", 17, 17),
        ("skimage", 26, 26),
        ("tensorflow", 2, 2),
        ("torch", 2, 2),
        ("torchvision", 16, 29),
    ],
)
def test_unknown_versions_are_refused(
    library: str, oldest: int, newest: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for version in (oldest - 1, newest + 1, 99):
        known = f"{oldest} to {newest}" if newest > oldest else oldest
        said = f"{library} {version} is not supported; expected version {known}"
        with pytest.raises(ReadError, match=f"^{said}$"):
            ir_interp.spec(library, version=version)
        word = get(library).dialect.choices(newest)[get(library).first][0]
        assert main(["explain", f"{library}@{version}:{word}"]) == 2
        assert capsys.readouterr().err == f"error: {said}\n"
    for version in (oldest, newest):
        assert get(library).version(version) in get(library).dialect.versions
    monkeypatch.setattr("importlib.metadata.version", lambda _: "99.99.0")
    with pytest.raises(
        ReadError, match=rf"^{library} 99\.99 is installed, which matches no supported version \(measured: "
    ):
        ir_interp.spec(library)


_INSTALLED = (("13.0.0", 13), ("12.3.0", 12), ("12.1.0", 11), ("11.3.0", 11), ("10.4.0", 11))
_UNLIKE_ALL = r"^pillow 12\.2 is installed, which matches no supported version \(measured: 10\.0 to 13\.0\); choose "


@pytest.mark.parametrize(("release", "is_antialiased"), [("0.16.2", False), ("0.17.0", True), ("0.28.0", True)])
def test_a_change_is_of_its_release(release: str, is_antialiased: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: release)
    assert ir_interp.spec("torchvision", interpolation="bilinear").kernel.is_antialiased == is_antialiased


def test_splines_are_refused_with_a_reason() -> None:
    for library in ("scipy", "skimage"):
        said = "order 3 filters the whole image first, by a recursion over every pixel; orders 0 and 1 are supported"
        with pytest.raises(ReadError, match=said):
            ir_interp.spec(library, order=3, dtype="float64")


def test_calls_in_words() -> None:
    assert parse("pillow@12:box,mode=L") == ir_interp.spec("pillow", resample="BOX", mode="L", version=12)
    assert parse("pillow:box,box=1,2,30.5,40,mode=L,reducing_gap=2") == ir_interp.spec(
        "pillow", resample="BOX", mode="L", box=(1, 2, 30.5, 40), reducing_gap=2.0
    )
    assert parse("opencv@5:cubic") == ir_interp.spec("opencv", interpolation="INTER_CUBIC", version=5)
    assert parse("torch:bicubic,antialias=true") == ir_interp.spec("torch", mode="bicubic", antialias=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "pilow:box",
            "unknown library 'pilow'; expected one of jax, opencv, pillow, scipy, skimage, tensorflow, torch, "
            "torchvision; did you mean 'pillow'?",
        ),
        (
            "opencv@5:area,mode=L",
            "opencv: unknown argument 'mode'; expected one of interpolation, ipp, scales, sizes",
        ),
        ("pillow@x", "unknown version 'x'; expected a number, as in pillow@13"),
        ("pillow:box,box=1,x,3,4", "pillow:box,box=1,x,3,4: 'x' is not a number"),
        ("pillow:box,3", "pillow:box,3: '3' has no value; expected NAME=VALUE"),
        ("pillow:box,reducing_gap=1,2", "pillow: reducing_gap: (1.0, 2.0) is not one number"),
        ("pillow@9:box", "pillow 9 is not supported; expected version 10 to 13"),
        (
            "torch:nearest,align_corners=true",
            "torch: align_corners requires linear, bilinear, bicubic, trilinear, not nearest",
        ),
    ],
)
def test_words_that_are_not_understood(text: str, said: str) -> None:
    with pytest.raises(ReadError) as caught:
        parse(text)
    assert str(caught.value) == said


def test_fixed_point_is_of_one_width() -> None:
    x = np.zeros((4, 4), np.uint16)
    with pytest.raises(SpecError, match=r"^this resize sums 8-bit integers; the image is uint16$"):
        resize(x, replace(ir_interp.spec("pillow"), images=None), sizes=(2, 2))
    with pytest.raises(SpecError, match=r"^weights must have 1 to 31 fractional bits"):
        FixedPoint(bits=32)
    with pytest.raises(SpecError, match=r"^fixed-point sums require elements of 8 or 16 bits"):
        FixedPoint(bits=8, elements=32)
    with pytest.raises(SpecError, match=r"^floats must have 32 or 64 bits, not 16$"):
        FloatingPoint(bits=16)
    with pytest.raises(SpecError, match=r"^lanes must be at least 1, in sums that keep their bits"):
        FixedPoint(bits=11, lanes=8)
    with pytest.raises(SpecError, match=r"^lanes must be at least 1, in sums that keep their bits and are not float64"):
        FloatingPoint(bits=64, lanes=8)
    with pytest.raises(SpecError, match=r"^sums of floats must be kept or rounded"):
        FloatingPoint(bits=32, between="shortened")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"^premultiplied requires axes"):
        ir_interp.ResizeSpec(kernel="linear", target=Sizes((2, 2)), alpha="premultiplied")  # type: ignore[arg-type]


def test_a_library_resizes_two_axes() -> None:
    with pytest.raises(ShapeError):
        resize(np.zeros(4, np.uint8), ir_interp.spec("pillow"), sizes=(2, 2))
