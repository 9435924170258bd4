"""Whatever words a spec combines: it is refused as a spec, or runs; a piece of it has the bits of the whole."""

from __future__ import annotations

import contextlib
from dataclasses import fields
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, reject, settings, strategies as st

from ir_interp import IrInterpError, ResizeSpec, Sizes, SpecError, resize
from ir_interp.specs import (
    Antialias,
    Arithmetic,
    Between,
    Coordinates,
    Cubic,
    FixedPoint,
    FloatingPoint,
    IntegerRounding,
    Integers,
    Kernel,
    Lanczos,
    Linear,
    Magic,
    Nearest,
    Rounding,
)

SUMS = (FixedPoint(bits=22), FixedPoint(bits=11, between=Between.KEPT), FloatingPoint(bits=32), FloatingPoint(bits=64))
IMAGES = [((9, 11, 3), (0, 1), (5, 17)), ((2, 8, 6), (1, 2), (4, 3)), ((2, 3, 8, 6), (2, 3), (4, 12))]


@st.composite
def _kernels(draw: st.DrawFn) -> Kernel:
    kind: Any = draw(st.sampled_from(get_args(Kernel)))
    values: dict[str, Any] = {}
    known = {each.name for each in fields(kind)}
    if kind is Nearest:
        values["rounding"] = draw(st.sampled_from(Rounding))
    if kind is Cubic:
        values["a"] = draw(st.sampled_from([-0.75, -0.5]))
    if kind is Lanczos:
        values["radius"] = draw(st.integers(1, 5))
    if kind is Magic:
        values["year"] = draw(st.sampled_from([2013, 2021]))
    if "antialias" in known:
        values["antialias"] = draw(st.sampled_from(Antialias))
    if "exclude_outside" in known:
        values["exclude_outside"] = draw(st.booleans())
    try:
        kernel: Kernel = kind(**values)
    except SpecError:  # words that exclude each other
        reject()
    return kernel


@settings(max_examples=20, deadline=None)
@given(
    _kernels(),
    st.sampled_from(Coordinates),
    st.sampled_from(Arithmetic),
    st.sampled_from([None, *Integers, *IntegerRounding, *SUMS]),
    st.sampled_from(IMAGES),
    st.sampled_from(["uint8", "int8", "uint16", "int32", "float16", "float32", "float64"]),
)
def test_a_spec_is_refused_or_runs(
    kernel: Kernel, coordinates: Coordinates, arithmetic: Arithmetic, integers: Any, image: Any, dtype: str
) -> None:
    shape, axes, sizes = image
    with contextlib.suppress(IrInterpError):
        spec = ResizeSpec(
            kernel=kernel,
            coordinates=coordinates,
            axes=axes,
            target=Sizes(sizes),
            arithmetic=arithmetic,
            integers=integers,
        )
        x = (np.random.default_rng(0).random(shape) * 100).astype(dtype)
        piece = tuple(slice(1, 3) for _ in shape)
        assert resize(x, spec, region=piece).tobytes() == resize(x, spec)[piece].tobytes()


REFUSED = [
    (
        {"kernel": Linear(), "integers": Integers.OPENCV_AREA},
        "integers opencv_area require the kernel area, not linear",
    ),
    (
        {"kernel": Lanczos(radius=3), "arithmetic": Arithmetic.OPENCV},
        "OpenCV has Lanczos of radius 4 only, not 3",
    ),
    (
        {"kernel": Lanczos(radius=3), "arithmetic": Arithmetic.IPP},
        "OpenCV has Lanczos of radius 4 only, not 3",
    ),
    (
        {"kernel": Cubic(a=-0.75, antialias=Antialias.SHRINKING), "arithmetic": Arithmetic.OPENCV},
        "OpenCV has no antialias; arithmetic opencv takes cubic without",
    ),
]


@pytest.mark.parametrize(("given_fields", "message"), REFUSED, ids=[message[:30] for _, message in REFUSED])
def test_kernels_that_a_library_does_not_have(given_fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        ResizeSpec(axes=(0, 1), **given_fields)
    assert str(caught.value) == message
