"""The sentences of TensorRT's page on IResizeLayer that need no engine: recorded answers, and the real builder.

The records are those of TensorRT-RTX 1.4.0 and 1.7.1, whose answers are equal.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ir_interp import AtRunTime, SpecError
from ir_interp.converters import tensorrt_importer
from ir_interp.converters.dialects.tensorrt import DIALECT
from ir_interp.converters.runtimes import tensorrt_rtx
from ir_interp.converters.tensorrt import LayerSettings
from ir_interp.converters.tensorrt_importer import Answer
from ir_interp.plan.taps import plan
from ir_interp.translation.dialect import Context

Shape = tuple[int, ...]
real = pytest.mark.skipif(not tensorrt_importer.is_installed(), reason=f"{tensorrt_rtx.DISTRIBUTION} is not installed")
IMAGE = (1, 1, 4, 5)


def grown(mode: str, axes: int, rank: int) -> tuple[dict[str, Any], Shape, Shape]:
    """Return settings that resize the last axes of a tensor of size 2 to 3, its shape, and the output's."""
    sizes = (*(2,) * (rank - axes), *(3,) * axes)
    return {"resize_mode": mode, "shape": sizes}, (2,) * rank, sizes


def scaled(scale: float, size: int, expected: int) -> tuple[dict[str, Any], Shape, Shape]:
    """Return settings that scale one axis, the shape, and the output's."""
    return {"scales": (1.0, 1.0, scale, 1.0)}, (1, 1, size, 5), (1, 1, expected, 5)


TAKEN: tuple[tuple[str, dict[str, Any], Shape, Shape], ...] = (
    # a sentence, settings, the shape of the input, and the sizes that the builder computes
    ("NEAREST resizes the innermost m dimensions, m <= 8", *grown("NEAREST", 8, 8)),
    ("NEAREST, m = 1", *grown("NEAREST", 1, 1)),
    ("LINEAR resizes the innermost m dimensions, m <= 3", *grown("LINEAR", 3, 8)),
    ("LINEAR, m = N", *grown("LINEAR", 3, 3)),
    ("LINEAR, m = 1", *grown("LINEAR", 1, 1)),
    ("CUBIC resizes the innermost 2 dimensions", *grown("CUBIC", 2, 8)),
    ("CUBIC, N = 2", *grown("CUBIC", 2, 2)),
    ("each output dimension is floor(input * scale)", *scaled(0.5, 7, 3)),
    ("in float32: 5 * 2.6", *scaled(2.6, 5, 13)),
    ("in float32: 10 * 0.3", *scaled(0.3, 10, 3)),
    ("a scale of 1 keeps the dimension", *scaled(1.0, 7, 7)),
)
REFUSED: tuple[tuple[str, dict[str, Any], Shape, str], ...] = (
    # settings that no sentence allows, and the builder's reason; empty if it takes them all the same
    ("LINEAR, m = 4", *grown("LINEAR", 4, 4)[:2], "Linear resize mode only supports resize up to last 3 dimensions"),
    ("CUBIC, N = 1", *grown("CUBIC", 1, 1)[:2], ""),
    ("CUBIC of 3 dimensions", *grown("CUBIC", 3, 3)[:2], ""),
)
TYPES = dict.fromkeys(("float32", "float16", "bfloat16", "int8"), True) | dict.fromkeys(
    ("int32", "int64", "uint8", "bool"), False
)


def built(shape: tuple[int | None, ...], dtype: str = "float32", /, **attributes: Any) -> Answer:
    """Return the builder's answer to a layer."""
    context = Context(version=10, shape=shape, dtype=dtype)
    return tensorrt_importer.built(LayerSettings(name="up", attributes=attributes, context=context))


@pytest.mark.parametrize(("sentence", "settings", "shape", "sizes"), TAKEN, ids=[row[0] for row in TAKEN])
def test_what_is_taken(sentence: str, settings: dict[str, Any], shape: Shape, sizes: Shape) -> None:
    assert plan(DIALECT.parse(settings, Context(version=10, shape=shape)), shape).out_shape == sizes


@pytest.mark.parametrize(("sentence", "settings", "shape", "reason"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused(sentence: str, settings: dict[str, Any], shape: Shape, reason: str) -> None:
    with pytest.raises(SpecError):
        DIALECT.parse(settings, Context(version=10, shape=shape))


def test_the_defaults() -> None:
    spec = DIALECT.parse({"shape": (1, 1, 8, 9)}, Context(version=10, shape=IMAGE))
    words = {"resize_mode": "NEAREST", "coordinate_transformation": "ASYMMETRIC", "nearest_rounding": "FLOOR"}
    assert spec == DIALECT.parse(words | {"shape": (1, 1, 8, 9)}, Context(version=10, shape=IMAGE))


@real
def test_the_builder_takes_and_refuses_the_same() -> None:
    for sentence, settings, shape, sizes in TAKEN:
        answer = built(shape, **settings)
        assert (answer.refusal, answer.resizes[0].sizes) == ("", sizes), sentence
    for sentence, settings, shape, reason in REFUSED:
        answer = built(shape, **settings)
        assert (reason in answer.refusal, bool(reason)) == (True, bool(answer.refusals)), sentence
    for dtype, is_taken in TYPES.items():
        assert bool(built(IMAGE, dtype, shape=(1, 1, 8, 9)).refusals) != is_taken, dtype


@real
def test_every_setter_keeps_its_value() -> None:
    """FORMULA and UPPER among them, for an output of one pixel, where they differ."""
    choices = DIALECT.choices(10)
    names = ("resize_mode", "coordinate_transformation", "selector_for_single_pixel", "nearest_rounding")
    lists = (*([*map(str, choices[name])] for name in names), (False, True), (-0.75, -0.5))
    for values in itertools.product(*lists):
        settings = dict(zip((*names, "exclude_outside", "cubic_coeff"), values, strict=True))
        answer = built(IMAGE, shape=(1, 1, 8, 1), **settings)
        (layer,) = answer.resizes
        assert (answer.refusal, layer.sizes) == ("", (1, 1, 8, 1))
        assert {name: layer.settings.attributes[name] for name in settings} == settings


@real
def test_dynamic_sizes() -> None:
    """Dimensions of run time stay so under scales; with a second input, all are; by a shape, none is."""
    assert built((1, 1, None, None), scales=(1.0, 1.0, 2.0, 2.0)).resizes[0].sizes == (1, 1, -1, -1)
    assert built((1, 1, None, None), shape=(1, 1, 8, 8)).resizes[0].sizes == (1, 1, 8, 8)
    (layer,) = built(IMAGE, shape=None).resizes
    assert layer.sizes == (-1, -1, -1, -1)
    assert layer.settings.op.spec.target is AtRunTime.SIZES
