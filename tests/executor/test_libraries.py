"""Resizes of image libraries against what these computed: frozen bytes of several versions, and Pillow as installed."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import FixedPoint, FloatingPoint, ReadError, ShapeError, Sizes, SpecError, resize
from ir_interp.library import get, names, parse
from ir_interp.plan.geometry import plan
from ir_interp.plan.opencv import is_of_ipp
from ir_interp.plan.passes import passes
from tests.support.libraries import calls
from tests.sweeps.libraries import compared, known
from tests.sweeps.library_vectors import FOLDER, PARTS, drawn, frozen, sizes_of, whole

CLOSE = 3e-6 * PARTS  # of floats: what the last bits of small coordinates make
VECTORS = sorted(FOLDER.glob("*.npz"))
BYTES = [call for call in calls("pillow") if call.dtype == "uint8"]


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


@pytest.mark.parametrize("call", BYTES, ids=map(str, BYTES))
def test_pillow_as_installed(call: object) -> None:
    assert compared(call, 2e4, seed=3)[1] == 0  # type: ignore[arg-type]


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
        ({"box": (5, 0, 2, 9)}, "a box starts at 0 or after it, and stops after it starts: [(0.0, 9.0), (5.0, 2.0)]"),
        ({"reducing_gap": 0.5}, "the gap of blocks is 1 or more, not 0.5"),
        ({"reducing_gap": 2, "mode": "I;16"}, "images of I;16 cannot be averaged in blocks, says Pillow"),
        ({"resample": "MKS2013", "version": 12}, "unknown value 'MKS2013'"),
    ],
)
def test_boxes_and_gaps_that_pillow_refuses(call: dict[str, Any], said: str) -> None:
    with pytest.raises(ReadError) as caught:
        ir_interp.spec("pillow", **call)
    assert said in str(caught.value)
    with pytest.raises(ShapeError, match=r"^a box from 0 to 30 is not within an axis of 20 pixels$"):
        resize(np.zeros((20, 20), np.uint8), ir_interp.spec("pillow", mode="L", box=(0, 0, 9, 30)), sizes=(2, 2))


def test_versions_differ() -> None:
    x = np.random.default_rng(0).integers(0, 256, (40, 30, 3)).astype(np.uint8)
    old, new = (resize(x, ir_interp.spec("pillow", version=v), sizes=(9, 28)) for v in (12, 13))
    assert not np.array_equal(old, new)
    bottom = [resize(x, ir_interp.spec("pillow", version=v), sizes=(28, 9)) for v in (12, 13)]
    assert np.array_equal(bottom[0], bottom[1])


def test_the_installed_version_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    library = get("pillow")
    for release, wanted in (("12.1.0", 12), ("13.0.0", 13), ("14.2", 13), ("10.4.0", 12)):
        monkeypatch.setattr("importlib.metadata.version", lambda _, release=release: release)
        assert library.version() == wanted
    assert library.version(12) == 12


@pytest.mark.parametrize(("release", "is_antialiased"), [("0.16.2", False), ("0.17.0", True), ("0.28.0", True)])
def test_a_change_is_of_its_release(release: str, is_antialiased: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: release)
    assert ir_interp.spec("torchvision", interpolation="bilinear").kernel.is_antialiased == is_antialiased


def test_splines_are_refused_with_a_reason() -> None:
    for library in ("scipy", "skimage"):
        said = "order 3 filters the whole image first, by a recursion over every pixel; orders 0 and 1 are known here"
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
        ("pillow:box,box=1,x,3,4", "pillow:box,box=1,x,3,4: 'x' is no number"),
        ("pillow:box,3", "pillow:box,3: '3' has no value; expected NAME=VALUE"),
        ("pillow:box,reducing_gap=1,2", "pillow@reducing_gap: (1.0, 2.0) is not one number"),
        ("pillow@9:box", "pillow 9: known from version 12 on"),
        (
            "torch:nearest,align_corners=true",
            "torch: align_corners is of linear, bilinear, bicubic, trilinear, not of nearest",
        ),
    ],
)
def test_words_that_are_not_understood(text: str, said: str) -> None:
    with pytest.raises(ReadError) as caught:
        parse(text)
    assert str(caught.value) == said


def test_fixed_point_is_of_one_width() -> None:
    x = np.zeros((4, 4), np.uint16)
    with pytest.raises(SpecError, match=r"^the sums of this resize are those of 8-bit integers; the image is uint16$"):
        resize(x, ir_interp.spec("pillow"), sizes=(2, 2))
    with pytest.raises(SpecError, match=r"^weights have 1 to 31 bits"):
        FixedPoint(bits=32)
    with pytest.raises(SpecError, match=r"^elements of 8 or 16 bits"):
        FixedPoint(bits=8, elements=32)
    with pytest.raises(SpecError, match=r"^floats have 32 or 64 bits, not 16$"):
        FloatingPoint(bits=16)
    with pytest.raises(SpecError, match=r"^lanes are 1 or more, of sums whose bits are kept"):
        FixedPoint(bits=11, lanes=8)
    with pytest.raises(SpecError, match=r"^lanes are 1 or more, of sums whose bits are kept, and not of float64"):
        FloatingPoint(bits=64, lanes=8)
    with pytest.raises(SpecError, match=r"^floats are kept or rounded"):
        FloatingPoint(bits=32, between="shortened")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"^premultiplied needs axes"):
        ir_interp.ResizeSpec(kernel="linear", target=Sizes((2, 2)), alpha="premultiplied")  # type: ignore[arg-type]


def test_a_library_resizes_two_axes() -> None:
    with pytest.raises(ShapeError):
        resize(np.zeros(4, np.uint8), ir_interp.spec("pillow"), sizes=(2, 2))
