"""A resize that is planned once gives what ``resize`` gives, to as many threads as call it, and plans nothing more."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import Coordinates, Cubic, Linear, Nearest, ResizeSpec, Rounding, ShapeError, Sizes, SpecError

SPEC = ResizeSpec(kernel=Linear(), axes=(0, 1), target=Sizes((31, 40)))
SPECS = [
    SPEC,
    ResizeSpec(kernel=Cubic(a=-0.5), axes=(0, 1), target=Sizes((90, 20))),
    ResizeSpec(
        kernel=Nearest(rounding=Rounding.FLOOR), coordinates=Coordinates.ASYMMETRIC, axes=(0, 1), target=Sizes((7, 99))
    ),
    ir_interp.spec("pillow", sizes=(20, 30)),
    ir_interp.spec("opencv", sizes=(20, 30)),
]


def _image(dtype: str, seed: int = 0) -> Any:
    return (np.random.default_rng(seed).random((60, 50, 3)) * 255).astype(dtype)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_gives_what_resize_gives(spec: ResizeSpec, dtype: str) -> None:
    run = ir_interp.prepare(spec, (60, 50, 3), dtype)
    for seed in range(3):
        x = _image(dtype, seed)
        wanted = ir_interp.resize(x, spec)
        np.testing.assert_array_equal(run(x), wanted)
        out = np.empty_like(wanted)
        assert run(x, out=out) is out
        np.testing.assert_array_equal(out, wanted)
    assert run.out_shape == wanted.shape


def test_many_threads_call_it_at_once() -> None:
    run = ir_interp.prepare(SPEC, (60, 50, 3), "uint8")
    images = [_image("uint8", seed) for seed in range(40)]
    with ThreadPoolExecutor(4) as threads:
        for x, y in zip(images, threads.map(run, images), strict=True):
            np.testing.assert_array_equal(y, ir_interp.resize(x, SPEC))


def test_arrays_that_it_was_not_prepared_for() -> None:
    run = ir_interp.prepare(SPEC, (60, 50, 3), "uint8")
    for x, found in ((_image("float32"), "float32 [60, 50, 3]"), (_image("uint8")[1:], "uint8 [59, 50, 3]")):
        with pytest.raises(ShapeError) as caught:
            run(x)
        assert str(caught.value) == f"x is {found}; this resize was prepared for uint8 [60, 50, 3]"
    with pytest.raises(SpecError, match=r"^x is \[1\]; expected an array$"):
        run([1])  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=re.escape("out must be a uint8 array of shape [31, 40, 3] in C order")):
        run(_image("uint8"), out=np.empty((3, 4), np.uint8))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("linear", (60, 50)), "spec is 'linear'; expected a ResizeSpec"),
        ((SPEC, (60, 50), "floaty"), "dtype is 'floaty'; expected a NumPy dtype"),
        ((SPEC, (60, 50), "bool"), "bool values can be copied (nearest) but not averaged"),
    ],
)
def test_what_cannot_be_prepared(arguments: tuple[Any, ...], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        ir_interp.prepare(*arguments)
    assert str(caught.value) == said


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "uint16", "int32"])
def test_numbers_of_the_other_order_of_bytes(dtype: str) -> None:
    x = _image(dtype)
    other = x.astype(x.dtype.newbyteorder("S"))
    for spec in SPECS[:3]:
        made = ir_interp.prepare(spec, x.shape, other.dtype)(other)
        assert made.dtype == other.dtype
        np.testing.assert_array_equal(made, ir_interp.resize(x, spec))


def test_shows_what_it_does() -> None:
    assert repr(ir_interp.prepare(SPEC, (60, 50, 3))) == (f"Prepared({SPEC}: float32 [60, 50, 3] to [31, 40, 3])")
