"""Bytes that products of floats propose: what lies near a half is summed again as it has to be."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ir_interp import Antialias, Cubic, Linear, ResizeSpec, Sizes, prepare
from ir_interp.executor.byte_proposals import Proposed, Rounding
from ir_interp.executor.resize import Prepared
from ir_interp.executor.tiles import Tile
from ir_interp.libraries import parse
from ir_interp.specs import Kernel
from tests.support.loops import use_loops

Array = NDArray[Any]
OWN: dict[str, Kernel] = {
    "cubic": Cubic(a=-0.75),
    "cubic antialias": Cubic(a=-0.5, antialias=Antialias.SHRINKING),
    "linear antialias": Linear(antialias=Antialias.SHRINKING),
}
CALLS = ("opencv:cubic", "opencv:area", "pillow:bilinear", "pillow:lanczos")
CASES = [(name, dtype, 3) for name in OWN for dtype in ("uint8", "int8")]
CASES += [
    (name, "uint8", channels) for name in CALLS for channels in (1, 3, 4) if channels < 4 or name.startswith("opencv")
]


@pytest.fixture(autouse=True)
def _without_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    use_loops(monkeypatch, "0")


def spec_of(name: str) -> ResizeSpec:
    sizes = Sizes((37, 50))
    if name in OWN:
        return ResizeSpec(kernel=OWN[name], axes=(0, 1), target=sizes)
    return replace(parse(name), axes=(0, 1), target=sizes)


def image(dtype: str, channels: int) -> Array:
    """Return the largest and the least values alone: no sums are larger on the way."""
    bounds = np.iinfo(dtype)
    return np.random.default_rng(7).choice(np.array([bounds.min, bounds.max], dtype), (101, 90, channels))


def proposals(run: Prepared) -> tuple[Proposed, ...]:
    _, made = run._in_numpy
    assert isinstance(made, partial)
    return tuple(made.keywords["proposals"])


@pytest.mark.parametrize(("name", "dtype", "channels"), CASES)
def test_any_error_below_the_doubt_leaves_the_bytes(
    name: str, dtype: str, channels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, rng, store = image(dtype, channels), np.random.default_rng(0), Rounding.store
    run = prepare(spec_of(name), x.shape, dtype)
    wanted = run(x)
    assert proposals(run)

    def disturbed(self: Rounding, values: Array, target: Array, tile: Tile) -> None:
        doubt = self._proposed.doubt
        values += rng.uniform(-doubt / 2, doubt / 2, values.shape).astype(np.float32)
        store(self, values, target, tile)

    monkeypatch.setattr(Rounding, "store", disturbed)
    np.testing.assert_array_equal(run(x), wanted)
    for each in proposals(run):
        monkeypatch.setattr(each, "doubt", 0.75)  # now all of them are summed again
    np.testing.assert_array_equal(run(x), wanted)


def test_an_error_above_the_doubt_shows() -> None:
    x = np.random.default_rng(0).integers(0, 256, (400, 300, 3)).astype(np.uint8)
    run = prepare(spec_of("cubic"), x.shape, "uint8")
    wanted = run(x)
    (proposed,) = proposals(run)
    proposed.doubt = 1e-9
    other = prepare(replace(spec_of("cubic"), kernel=Cubic(a=-0.76)), x.shape, "uint8")
    proposed._tiles = proposals(other)[0]._tiles
    assert (run(x) != wanted).any()


@pytest.mark.parametrize(("name", "dtype", "channels"), CASES)
def test_float32_stays_within_the_doubt(name: str, dtype: str, channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x, apart, store = image(dtype, channels), [0.0], Rounding.store
    run = prepare(spec_of(name), x.shape, dtype)

    def compared(self: Rounding, values: Array, target: Array, tile: Tile) -> None:
        places = self._of_output(np.arange(values.size), tile)
        exact = self._exact.at(places, self._windows)
        apart.append(float(np.abs(exact - values.reshape(-1)).max()) / self._proposed.doubt)
        store(self, values, target, tile)

    monkeypatch.setattr(Rounding, "store", compared)
    run(x)
    assert 0 < max(apart) < 0.5
    assert all(isinstance(each, Proposed) for each in proposals(run))
