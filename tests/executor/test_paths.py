"""Every way to compute a resize gives the same bits, and the plain form: NumPy, loops, pieces, prepared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ir_interp import (
    Antialias,
    Area,
    Arithmetic,
    Coordinates,
    Cubic,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    Sizes,
    prepare,
    resize,
)
from ir_interp.executor import cases, loop_runner, tiles
from ir_interp.libraries import parse
from tests.sweeps.paths import drawn, faults, values


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_resize(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert list(faults(rng, *drawn(rng))) == []


PHOTOS = {
    "few columns": ResizeSpec(kernel=Linear(), axes=(0, 1), target=Sizes((90, 120))),
    "many columns": ResizeSpec(kernel=Linear(), axes=(0, 1), target=Sizes((190, 230))),
    "halves": ResizeSpec(kernel=Linear(), axes=(0, 1), target=Sizes((120, 160))),
    "quarters": ResizeSpec(kernel=Area(), coordinates=Coordinates.ASYMMETRIC, axes=(0, 1), target=Sizes((60, 80))),
    "opencv": replace(parse("opencv:linear"), axes=(0, 1), target=Sizes((90, 120))),
    "opencv's cubic": replace(parse("opencv:cubic"), axes=(0, 1), target=Sizes((90, 120))),
    "opencv's cubic of rows": replace(parse("opencv:cubic"), axes=(0, 1), target=Sizes((90, 320))),
}


@pytest.mark.parametrize("name", PHOTOS)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_photos_of_several_stretches(name: str, channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(channels)
    monkeypatch.setenv("IR_INTERP_THREADS", "2")
    monkeypatch.setattr(loop_runner, "_SURELY_SHARED", 0)
    assert list(faults(rng, values(rng, (240, 320, channels), "uint8"), PHOTOS[name])) == []


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_blocks_of_opencv_cubic(channels: int) -> None:
    """Rows are summed in blocks of four outputs: in narrow images there is none, or few are left."""
    rng = np.random.default_rng(channels)
    for width, made in ((4, 4), (4, 9), (5, 7), (9, 5), (12, 6), (13, 8)):
        spec = replace(parse("opencv:cubic"), axes=(0, 1), target=Sizes((9, made)))
        assert list(faults(rng, values(rng, (7, width, channels), "uint8"), spec)) == []


@pytest.mark.parametrize("channels", [1, 3])
def test_bytes_of_wide_rows(channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are cast and summed in parts, each of some cells of all rows."""
    monkeypatch.setattr(tiles, "_PART_ELEMENTS", 2**15)
    rng = np.random.default_rng(channels)
    kernel = Cubic(a=-0.5, antialias=Antialias.SHRINKING)
    spec = ResizeSpec(kernel=kernel, axes=(0, 1), target=Sizes((20, 333)))
    assert list(faults(rng, values(rng, (60, 1001 * 3 // channels, channels), "uint8"), spec)) == []


LINEAR = ResizeSpec(kernel=Linear(), axes=(0, 1))
OF_RUNTIME = replace(LINEAR, arithmetic=Arithmetic.ONNXRUNTIME)
STRATEGIES = [
    ("uint8", PHOTOS["few columns"], "two-tap gather"),
    ("uint8", PHOTOS["many columns"], "float proposal and exact re-sum"),
    ("uint8", PHOTOS["halves"], "strided box"),
    ("uint8", PHOTOS["quarters"], "strided box"),
    ("uint8", PHOTOS["opencv"], "two-tap gather"),
    ("uint8", PHOTOS["opencv's cubic"], "float proposal and ordered re-sum"),
    ("uint8", replace(LINEAR, kernel=Cubic(a=-0.75)), "float proposal and exact re-sum"),
    ("uint8", parse("pillow:bicubic"), "float proposal and exact re-sum"),
    ("uint8", parse("opencv:area"), "float proposal and ordered re-sum"),
    ("uint16", parse("opencv:linear", dtype="uint16"), "library passes"),
    ("uint8", OF_RUNTIME, "runtime-ordered integer sums"),
    ("uint16", LINEAR, "tap sums in tiles"),
    ("float32", parse("torch:bicubic"), "tap sums in tiles"),
    ("uint8", ResizeSpec(kernel=Nearest(rounding=Rounding.SIMPLE), axes=(0, 1)), "tap sums in tiles"),
]


@pytest.mark.parametrize(("dtype", "spec", "name"), STRATEGIES)
def test_which_strategy_serves_which_case(dtype: str, spec: ResizeSpec, name: str) -> None:
    target = spec.target or Sizes((99, 120))
    strategy, _ = prepare(replace(spec, axes=(0, 1), target=target), (240, 320, 3), dtype)._in_numpy
    assert strategy.name == name


def test_a_prepared_resize_plans_nothing_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).random((60, 50, 3), np.float32)
    run, wanted = prepare(LINEAR, x.shape, sizes=(11, 12)), resize(x, LINEAR, sizes=(11, 12))
    monkeypatch.setattr(cases, "floats", None)
    monkeypatch.setattr(tiles, "tiled", None)
    np.testing.assert_array_equal(run(x), wanted)
