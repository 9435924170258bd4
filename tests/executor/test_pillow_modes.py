"""Modes of Pillow that differ in case alone, and pixels of mode I beyond what its sums hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

import ir_interp
from ir_interp import IrInterpError

Array = Any
CHANNELS = {"La": 2, "RGBa": 4, "LA": 2, "RGBA": 4}


def _image(mode: str) -> Array:
    return np.random.default_rng(0).integers(0, 256, (40, 30, CHANNELS[mode]), np.uint8)


@pytest.mark.parametrize("mode", CHANNELS)
@pytest.mark.parametrize("word", ["BICUBIC", "BOX", "NEAREST"])
@pytest.mark.parametrize("gap", [None, 1.5])
def test_case_decides_between_modes(mode: str, word: str, gap: float | None) -> None:
    x = _image(mode)
    image = Image.frombytes(mode, (30, 40), x.tobytes())
    theirs = image.resize((7, 9), Image.Resampling[word], reducing_gap=gap)
    call = f"pillow:{word},mode={mode}" + ("" if gap is None else f",reducing_gap={gap}")
    expected = np.frombuffer(theirs.tobytes(), np.uint8).reshape(9, 7, CHANNELS[mode])
    np.testing.assert_array_equal(ir_interp.resize(x, (9, 7), call, axes=(0, 1)), expected)
    arguments: Any = {} if gap is None else {"reducing_gap": gap}
    as_data = ir_interp.spec("pillow", resample=word, mode=mode, **arguments)
    np.testing.assert_array_equal(ir_interp.resize(x, as_data, sizes=(9, 7)), expected)


@pytest.mark.parametrize("mode", ["La", "RGBa"])
def test_products_with_alpha_are_resized_like_grey_images(mode: str) -> None:
    x = _image(mode)
    y = ir_interp.resize(x, (23, 17), f"pillow:lanczos,mode={mode}", axes=(0, 1))
    for channel in range(CHANNELS[mode]):
        grey = ir_interp.resize(np.ascontiguousarray(x[..., channel]), (23, 17), "pillow:lanczos,mode=L")
        np.testing.assert_array_equal(y[..., channel], grey)


def _deep(limit: int) -> Array:
    """Return pixels of mode I from -limit up to limit - 1, the ends among them."""
    x = np.random.default_rng(1).integers(-limit, limit, (40, 30))
    x[3, 4:9], x[20, 4:9] = -limit, limit - 1
    return x.astype(np.int32)


@pytest.mark.parametrize(("word", "limit"), [("BICUBIC", 2**30), ("LANCZOS", 2**29), ("BILINEAR", 2**31)])
@pytest.mark.parametrize("sizes", [(50, 45), (13, 11), (40, 60)])
def test_mode_i_is_pillows_as_far_as_int32_holds_its_sums(word: str, limit: int, sizes: tuple[int, int]) -> None:
    x = _deep(limit)
    theirs = np.asarray(Image.fromarray(x).resize(sizes[::-1], Image.Resampling[word]))
    np.testing.assert_array_equal(ir_interp.resize(x, sizes, f"pillow:{word},mode=I"), theirs)


@pytest.mark.parametrize(("sizes", "limit"), [((5, 5), 2**29), ((40, 5), 2**30), ((9, 4), 2**29)])
def test_blocks_of_mode_i_are_pillows_as_far_as_int32_holds_their_sums(sizes: tuple[int, int], limit: int) -> None:
    x, call = _deep(limit), "pillow:bilinear,mode=I,reducing_gap=1.2"
    theirs = np.asarray(Image.fromarray(x).resize(sizes[::-1], Image.Resampling.BILINEAR, reducing_gap=1.2))
    np.testing.assert_array_equal(ir_interp.resize(x, sizes, call), theirs)
    x[3, 4] = -limit - 1
    with pytest.raises(IrInterpError, match=f"may overflow for pixels beyond {limit}; leave reducing_gap out"):
        ir_interp.resize(x, sizes, call)


@pytest.mark.parametrize("word", ["bicubic", "lanczos", "mks2013"])
def test_sums_beyond_int32_are_refused(word: str) -> None:
    """C leaves the conversion undefined: on x86-64 it gives the lowest value, elsewhere the nearest one."""
    with pytest.raises(IrInterpError, match=r"sums of mode I may overflow for pixels beyond [0-9]+; this image has"):
        ir_interp.resize(_deep(2**31), (50, 45), f"pillow:{word},mode=I")
