"""Arithmetic, comparisons, logic and activations, with every kind of broadcasting."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

import ir_interp
from tests.support.layers import (
    Attributes,
    Configuration,
    Draw,
    Formula,
    check,
    configurations,
    constant,
    in_openvino,
    layer,
)
from tests.support.runtimes import Array

NUMBERS = (np.float32, np.int32, np.int64)


def operands(draw: Draw, dtype: Any, low: float = -4, high: float = 4) -> tuple[Any, Any]:
    """Return two inputs that broadcast, of which the second may be a constant."""
    shape = draw.shape()
    other = [1 if draw.chance(0.3) else length for length in shape][draw.between(0, len(shape)) :]
    if draw.chance(0.3):
        return draw.numbers(other, dtype, low, high), draw.either(draw.values(shape, dtype, low, high))
    return draw.numbers(shape, dtype, low, high), draw.either(draw.values(other, dtype, low, high))


def arithmetic(kind: str, dtypes: Any = NUMBERS, **attributes: Any) -> Configuration:
    return lambda draw: layer(kind, 1, *operands(draw, draw.among(*dtypes)), auto_broadcast="numpy", **attributes)


def saturated(kind: str) -> Configuration:
    # On processors without AVX-512, OpenVINO's plugin makes 0 of uint8 products above 32,767, and elsewhere 255.
    largest = 180 if kind == "Multiply" else 250
    return lambda draw: layer(
        kind, 1, *operands(draw, draw.among(np.int8, np.uint8), -120, largest if draw.chance() else 100)
    )


def nonzero(draw: Draw, shape: Any, dtype: Any) -> Any:
    values = draw.values(shape, dtype, 1, 5)
    return values * np.where(draw.values(shape, np.bool_), 1, -1).astype(dtype)


def division(kind: str, **attributes: Any) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        dtype, shape = draw.among(*NUMBERS), draw.shape()
        divisor = draw.either(nonzero(draw, shape[draw.between(0, len(shape)) :], dtype))
        return layer(kind, 1, draw.numbers(shape, dtype, -20, 20), divisor, auto_broadcast="numpy", **attributes)

    return draw_layer


def power(draw: Draw) -> Any:
    shape = draw.shape()
    if draw.chance():
        return layer("Power", 1, draw.numbers(shape, np.float32, 0.1, 3), draw.either(draw.values([1], np.float32)))
    exponent = draw.either(np.array(draw.among(2, 3, 0, -1), np.float32))
    return layer("Power", 1, draw.numbers(shape), exponent)


def bitwise(kind: str) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        shape, dtype = draw.shape(), draw.among(np.int32, np.uint8, np.bool_)
        x = draw.numbers(shape, dtype, -9, 9)
        return layer(kind, 13, x, *([] if kind == "BitwiseNot" else [draw.either(draw.values(shape, dtype, -9, 9))]))

    return draw_layer


def no_broadcast(draw: Draw) -> Any:
    shape = draw.shape()
    return layer("Add", 1, draw.numbers(shape), draw.numbers(shape), auto_broadcast="none")


def pdpd(draw: Draw) -> Any:
    """From any axis on; -1 stands for the last axes."""
    shape, axis = draw.shape(2), draw.between(0, 1)
    other = shape[axis : draw.between(axis + 1, len(shape))]
    if draw.chance(0.2):
        axis, other = -1, shape[draw.between(0, len(shape) - 1) :]
    broadcast = {"auto_broadcast": "pdpd", "auto_broadcast.auto_broadcast_axis": axis}
    return layer("Multiply", 1, draw.numbers(shape), draw.numbers(other), **broadcast)


def prelu(draw: Draw) -> Any:
    shape = draw.shape(2, 5)
    slope = draw.among([shape[1]], [1], [shape[1], *[1] * (len(shape) - 2)], [1] * len(shape))
    return layer("PRelu", 1, draw.numbers(shape), draw.either(draw.values(slope)))


def leaky(draw: Draw) -> Any:
    """One slope, for all or for each channel the same."""
    shape = draw.shape(2, 5)
    slope = np.full(draw.among([1], [shape[1]], [1] * len(shape)), draw.among(0.1, 0.0, -0.5, 1.5), np.float32)
    return layer("PRelu", 1, draw.numbers(shape), constant(slope))


BINARY: dict[str, Configuration] = {
    **{kind: arithmetic(kind) for kind in ("Add", "Subtract", "Multiply", "Maximum", "Minimum", "SquaredDifference")},
    **{kind: arithmetic(kind) for kind in ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual")},
    **{kind: arithmetic(kind, [np.bool_]) for kind in ("LogicalAnd", "LogicalOr", "LogicalXor")},
    **{f"{kind} of 8 bits": saturated(kind) for kind in ("Add", "Subtract", "Multiply")},
    "Divide": division("Divide"),
    "Divide to zero": division("Divide", m_pythondiv=False),
    "Mod": division("Mod"),
    "FloorMod": division("FloorMod"),
    "Power": power,
    "no broadcast": no_broadcast,
    "pdpd": pdpd,
    "PReLU": prelu,
    "PReLU of one slope": leaky,
}


def unary(kind: str, version: int = 1, low: float = -4, high: float = 4, **attributes: Any) -> Configuration:
    return lambda draw: layer(kind, version, draw.numbers(draw.shape(), np.float32, low, high), **attributes)


def with_numbers(kind: str, version: int, *ranges: tuple[float, float]) -> Configuration:
    """Return a layer whose further inputs are single numbers."""

    def draw_layer(draw: Draw) -> Any:
        given = [constant(draw.random.uniform(*each), np.float32) for each in ranges]
        return layer(kind, version, draw.numbers(draw.shape()), *given)

    return draw_layer


def ties(draw: Draw) -> Any:
    values = draw.values(draw.shape(), np.int32, -9, 9) / np.float32(2)
    return layer(
        "Round", 5, draw.input(values.astype(np.float32)), mode=draw.among("half_to_even", "half_away_from_zero")
    )


def clamp(draw: Draw) -> Any:
    dtype = draw.among(np.float32, np.int32, np.int64, np.uint8, np.int8)
    low, high = sorted(draw.random.uniform(-3, 3, 2))
    return layer("Clamp", 1, draw.numbers(draw.shape(), dtype), min=float(low), max=float(high))


def soft_sign(x: Array, _: Attributes) -> Array:
    return np.asarray(x / (1 + np.abs(x)))


def clamped(x: Array, attributes: Attributes) -> Array:
    low, high = attributes["min"], attributes["max"]
    if x.dtype.kind == "f":
        return np.clip(x, np.float32(low), np.float32(high))
    low, high = (math.trunc(low), math.trunc(high)) if x.dtype.itemsize == 1 else (math.ceil(low), math.floor(high))
    least = int(np.iinfo(x.dtype).min)
    return np.clip(x, max(low, least), max(high, least)).astype(x.dtype)


# OpenVINO 2026.4 truncates the limits of 8 bits. Without AVX2 it rounds them inwards, as it does those of other
# integers and the operator's page says, and makes 1 of every SoftSign.
FORMULAS: dict[str, Formula] = {"SoftSign": soft_sign, "Clamp": clamped}


def elu(draw: Draw) -> Any:
    return layer("Elu", 1, draw.numbers(draw.shape()), alpha=float(draw.random.uniform(0.1, 2)))


def swish(draw: Draw) -> Any:
    x = draw.numbers(draw.shape())
    return (
        layer("Swish", 4, x, draw.either(np.float32(draw.among(1, 0.5, 1.7))))
        if draw.chance()
        else layer("Swish", 4, x)
    )


def gelu(draw: Draw) -> Any:
    return layer("Gelu", 7, draw.numbers(draw.shape()), approximation_mode=draw.among("erf", "tanh"))


def along_axis(kind: str, version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        shape = draw.shape()
        low = -len(shape) if version > 1 else 0
        return layer(kind, version, draw.numbers(shape), axis=draw.between(low, len(shape) - 1))

    return draw_layer


def not_finite(kind: str) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        values = draw.random.choice([0.5, np.nan, np.inf, -np.inf], tuple(draw.shape())).astype(np.float32)
        signs = {f"detect_{sign}": draw.chance() for sign in ("negative", "positive")} if kind == "IsInf" else {}
        return layer(kind, 10, draw.input(values), **signs)

    return draw_layer


def relu(draw: Draw) -> Any:
    return layer("Relu", 1, draw.numbers(draw.shape(), draw.among(np.float32, np.int32, np.int64, np.float16)))


UNARY: dict[str, Configuration] = {
    **{kind: unary(kind) for kind in ("Abs", "Atan", "Cos", "Erf", "Exp", "Negative", "Sigmoid", "Sign", "Sin", "Tan")},
    **{kind: unary(kind) for kind in ("Cosh", "Sinh", "Tanh", "Ceiling", "Floor")},
    **{kind: unary(kind, 1, -1, 1) for kind in ("Acos", "Asin")},
    **{kind: unary(kind, 1, 0.1, 9) for kind in ("Log", "Sqrt")},
    **{kind: unary(kind, 4) for kind in ("Asinh", "HSwish", "Mish", "SoftPlus")},
    "Acosh": unary("Acosh", 4, 1, 9),
    "Atanh": unary("Atanh", 4, -0.9, 0.9),
    "HSigmoid": unary("HSigmoid", 5),
    "SoftSign": unary("SoftSign", 9),
    "Gelu-2": unary("Gelu", 2),
    "LogicalNot": lambda draw: layer("LogicalNot", 1, draw.numbers(draw.shape(), np.bool_)),
    "ReLU": relu,
    "Round": ties,
    "Clamp": clamp,
    "Elu": elu,
    "Selu": with_numbers("Selu", 1, (0.5, 2), (0.5, 2)),
    "HardSigmoid": with_numbers("HardSigmoid", 1, (0.1, 0.5), (0.2, 0.7)),
    "Swish": swish,
    "Gelu": gelu,
    "SoftMax-1": along_axis("Softmax", 1),
    "SoftMax": along_axis("Softmax", 8),
    "LogSoftmax": along_axis("LogSoftmax", 5),
    "Identity": unary("Identity", 16),
    **{kind: not_finite(kind) for kind in ("IsFinite", "IsInf", "IsNaN")},
}
BITWISE = {kind: bitwise(kind) for kind in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")}


ALIGNED_BY_PDPD = ("Add", "Multiply", "Maximum", "Minimum", "SquaredDifference", "FloorMod", "Mod", "Power")


def of_squares(kind: str, version: int, *dtypes: Any) -> Configuration:
    """Return a layer of a square and one of its sides: numpy repeats that in each row, pdpd in each column."""

    def draw_layer(draw: Draw) -> Any:
        side, dtype = draw.between(2, 5), draw.among(*dtypes)
        low = 1 if kind in ("FloorMod", "Mod", "Power") or kind.endswith("Shift") else -3
        operands = [draw.numbers(shape, dtype, low, 3) for shape in ([side, side], [side])]
        return layer(
            kind, version, *operands, auto_broadcast=draw.among("numpy", *(["pdpd"] if kind in ALIGNED_BY_PDPD else []))
        )

    return draw_layer


_FLOAT_KINDS = ("Subtract", *(kind for kind in ALIGNED_BY_PDPD if kind != "Mod"))
_COMPARISONS = ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual")
SQUARES = {
    f"{kind} of squares": of_squares(kind, version, *dtypes)
    for kinds, version, dtypes in (
        (_FLOAT_KINDS, 1, [np.float32]),
        (("Mod", *_COMPARISONS), 1, [np.int32]),
        (("LogicalAnd", "LogicalOr"), 1, [np.bool_]),
        (("LogicalXor",), 2, [np.bool_]),
        (("BitwiseAnd", "BitwiseOr", "BitwiseXor"), 13, [np.int32]),
        (("BitwiseLeftShift", "BitwiseRightShift"), 15, [np.uint8]),
    )
    for kind in kinds
}


@pytest.mark.sampled(130)
@pytest.mark.parametrize(("configuration", "seed"), configurations(BINARY | UNARY | BITWISE | SQUARES))
def test_layer(configuration: Configuration, seed: int) -> None:
    formulas = {(BINARY | UNARY)[name]: formula for name, formula in FORMULAS.items()}
    check(configuration, seed, formula=formulas.get(configuration))


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", [*BINARY, *UNARY])
def test_older_opset(name: str) -> None:
    check((BINARY | UNARY)[name], 0, opset=12, formula=FORMULAS.get(name))


@pytest.mark.parametrize(("kind", "version", "dtype"), [("Greater", 1, np.float32), ("BitwiseOr", 13, np.int32)])
def test_pdpd_that_openvino_ignores_is_refused(kind: str, version: int, dtype: Any, tmp_path: Path) -> None:
    """OpenVINO repeats the side of the square in each row, though pdpd aligns it with the first axis."""
    draw = Draw(0)
    operands = [draw.numbers(shape, dtype) for shape in ([3, 3], [3])]
    outputs = {}
    for broadcast in ("numpy", "pdpd"):
        made = layer(kind, version, *operands, auto_broadcast=broadcast)
        model = ov.Model([made], draw.parameters, "one")
        outputs[broadcast] = in_openvino(model, draw.feeds)[0]
        ov.save_model(model, tmp_path / f"{broadcast}.xml", compress_to_fp16=False)
    np.testing.assert_array_equal(outputs["pdpd"], outputs["numpy"])
    with pytest.RaisesGroup(
        pytest.RaisesExc(
            ir_interp.UnsupportedLayerError, match=f"OpenVINO ignores pdpd in {kind}, and aligns the last axes"
        )
    ):
        ir_interp.convert(tmp_path / "pdpd.xml", tmp_path / "a.onnx")


@pytest.mark.parametrize(("kind", "dtype"), [("Add", np.uint8), ("Add", np.int8), ("Subtract", np.uint8)])
def test_8_bits_that_pdpd_aligns_with_fewer_axes_are_refused(kind: str, dtype: Any, tmp_path: Path) -> None:
    """OpenVINO lets them wrap around, and saturates all others."""
    draw = Draw(0)
    ends = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    operands = [draw.input(np.resize(ends, [2, 3])), draw.input(ends[:1])]
    outputs = {}
    for broadcast in ("numpy", "pdpd"):
        model = ov.Model([layer(kind, 1, *operands, auto_broadcast=broadcast)], draw.parameters, "one")
        outputs[broadcast] = in_openvino(model, draw.feeds)[0]
        ov.save_model(model, tmp_path / f"{broadcast}.xml", compress_to_fp16=False)
    assert (outputs["pdpd"] != outputs["numpy"]).any()
    with pytest.RaisesGroup(pytest.RaisesExc(ir_interp.UnsupportedLayerError, match="pdpd")):
        ir_interp.convert(tmp_path / "pdpd.xml", tmp_path / "a.onnx")
