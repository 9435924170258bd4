"""What specs mean is kept apart, and why there is no exact form is said by a type."""

from __future__ import annotations

import pickle

import pytest

from ir_interp import (
    Arithmetic,
    Coordinates,
    Crop,
    Cubic,
    InexactError,
    Lanczos,
    Linear,
    Magic,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
)
from ir_interp.converters import dialects
from ir_interp.errors import Cause, Difference
from ir_interp.specs import Kernel
from ir_interp.translation.meaning import differences, listed_axes, meaning
from ir_interp.translation.translate import write

WHOLE, HALF = (0.0, 1.0), (0.25, 0.75)


def crop(*windows: tuple[float, float], axes: tuple[int, ...] | None = None) -> ResizeSpec:
    return ResizeSpec(kernel=Linear(), coordinates=Crop(roi=windows or None), target="sizes", axes=axes)  # type: ignore[arg-type]


def test_windows_of_an_unknown_rank() -> None:
    assert meaning(crop(WHOLE, HALF)) != meaning(crop(WHOLE, WHOLE))
    assert meaning(crop(WHOLE, HALF)) != meaning(crop())
    assert meaning(crop(WHOLE, WHOLE)) != meaning(crop())
    (difference,) = differences(crop(WHOLE, HALF), crop(HALF, WHOLE))
    assert (difference.part, difference.needed) == ("windows", frozenset({(1, HALF)}))
    assert meaning(crop(WHOLE, HALF), (4, None)) == meaning(crop(WHOLE, HALF, axes=(0, 1)), (4, None))


def test_axes_that_stay_take_their_windows_along() -> None:
    spec = ResizeSpec(kernel=Linear(), coordinates=Crop(roi=(WHOLE, HALF)), target=Scales((1.0, 1.0)))
    short = ResizeSpec(kernel=Linear(), coordinates=Crop(roi=(HALF,)), target=Scales((1.0,)), axes=(1,))
    assert listed_axes(spec, (4, 5)) == short
    still = ResizeSpec(kernel=Linear(), coordinates=Crop(roi=(WHOLE, WHOLE)), target=Scales((1.0, 1.0)))
    assert listed_axes(still, (4, 5)) == ResizeSpec(
        kernel=Linear(), coordinates=Coordinates.ASYMMETRIC, target=Scales(()), axes=()
    )


def refused(spec: ResizeSpec, **more: object) -> InexactError:
    with pytest.raises(InexactError) as refusal:
        write(spec, dialects.get("openvino"), **more)  # type: ignore[arg-type]
    return refusal.value


def test_causes() -> None:
    tie = ResizeSpec(
        kernel=Nearest(rounding=Rounding.ROUND_PREFER_CEIL),
        coordinates=Coordinates.ASYMMETRIC,
        target=Sizes((1, 2, 4, 7)),
        arithmetic=Arithmetic.ONNXRUNTIME,
    )
    refusal = refused(tie, shape=(1, 2, 7, 7))
    assert (refusal.cause, refusal.differences) == (Cause.FLOAT32, ())
    assert refusal.reason == "float32 decides: output 2 of axis 2 (7 -> 4) takes other source pixels"
    symmetric = ResizeSpec(kernel=Linear(), coordinates=Coordinates.HALF_PIXEL_SYMMETRIC, target=Scales((1.5, 1.5)))
    refusal = refused(symmetric)
    assert refusal.cause is Cause.DIFFERENT
    assert refusal.reason == f"the closest form has {refusal.differences_text}"
    assert refused(ResizeSpec(kernel=Linear(), target=None)).cause is not Cause.FLOAT32


def test_a_refusal_of_another_name() -> None:
    refusal = InexactError("", "openvino 11", (Difference("step", 1, 2),), cause=Cause.FLOAT32)
    for twin in (refusal.of("up"), pickle.loads(pickle.dumps(refusal.of("up")))):
        assert (twin.name, twin.target, twin.differences, twin.cause) == (
            "up",
            refusal.target,
            refusal.differences,
            Cause.FLOAT32,
        )
        assert str(twin) == "up: no exact form in openvino 11; the closest form has step 2 (needed: 1)"


def test_kernels_of_one_word_differ_by_their_numbers() -> None:
    kernels: list[Kernel] = [
        Magic(year=2013),
        Magic(year=2021),
        Lanczos(radius=2),
        Lanczos(radius=3),
        Cubic(a=-0.5),
        Cubic(a=-0.75),
    ]
    specs = [ResizeSpec(kernel=kernel, target=Sizes((3, 4))) for kernel in kernels]
    assert len({meaning(spec) for spec in specs}) == len(kernels)
    assert [difference.part for difference in differences(specs[0], specs[1])] == ["year"]
