"""Products of matrices, normalisation, reduction, quantisation and conversion: where numbers are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir_interp.version import Processor, processor
from tests.support.layers import Configuration, Draw, check, configurations, constant, layer


def matmul(draw: Draw) -> Any:
    rows, inner, columns = draw.integers(3, 1, 4)
    flags = {"transpose_a": draw.chance(), "transpose_b": draw.chance()}
    left, right = [rows, inner], [inner, columns]
    left = left[::-1] if flags["transpose_a"] else left
    right = right[::-1] if flags["transpose_b"] else right
    batch = draw.shape(0, 2, 3)
    left, right = draw.among((batch + left, right), (batch + left, batch + right), (left, [1, *batch, *right]))
    return layer("MatMul", 1, draw.numbers(left), draw.either(draw.values(right)), **flags)


def matmul_of_squares(draw: Draw) -> Any:
    side = draw.between(2, 4)
    flags = {"transpose_a": draw.chance(), "transpose_b": draw.chance()}
    return layer("MatMul", 1, draw.numbers([side, side]), draw.numbers([side, side]), **flags)


def matmul_of_vectors(draw: Draw) -> Any:
    inner, other = draw.integers(2, 1, 4)
    flags = {"transpose_a": False, "transpose_b": draw.chance()}
    right = [other, inner] if flags["transpose_b"] else [inner, other]
    shapes = draw.among(([inner], right), ([inner], [inner]), ([3, other, inner], [inner]))
    return layer("MatMul", 1, draw.numbers(shapes[0]), draw.either(draw.values(shapes[1])), **flags)


def attention(draw: Draw) -> Any:
    batch, rows, columns, width, depth = draw.integers(5, 1, 4)
    lead = [batch, 2] if draw.chance() else [batch]
    shapes = [*lead, rows, width], [*lead, columns, width], [*lead, columns, depth]
    inputs = [draw.numbers(shape) for shape in shapes]
    masked, causal = draw.chance(), draw.chance(0.3)
    if masked and not causal:
        mask = draw.values([rows, columns], draw.among(np.float32, np.bool_))
        inputs.append(draw.input(mask | np.eye(rows, columns, dtype=np.bool_) if mask.dtype == np.bool_ else mask))
        inputs += [constant(np.float32(0.3))] if draw.chance() else []
    return layer("ScaledDotProductAttention", 13, *inputs, causal=causal)


def einsum(draw: Draw) -> Any:
    i, j, k = draw.integers(3, 1, 4)
    equation, shapes = draw.among(("ij,jk->ik", ([i, j], [j, k])), ("ijk,ik->ij", ([i, j, k], [i, k])))
    return layer("Einsum", 7, *(draw.numbers(shape) for shape in shapes), equation=equation)


PRODUCTS: dict[str, Configuration] = {
    "MatMul": matmul,
    "MatMul of squares": matmul_of_squares,
    "MatMul of vectors": matmul_of_vectors,
    "ScaledDotProductAttention": attention,
    "Einsum": einsum,
}


def batch_norm(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        shape = draw.shape(2, 5)
        gamma, beta, mean = (constant(draw.values([shape[1]])) for _ in range(3))
        variance = constant(draw.values([shape[1]], np.float32, 0.1, 2))
        x = draw.numbers(shape)
        inputs = [x, gamma, beta, mean, variance] if version == 5 else [gamma, beta, x, mean, variance]
        return layer("BatchNormInference", version, *inputs, epsilon=draw.among(1e-5, 1e-3))

    return draw_layer


def mvn_1(draw: Draw) -> Any:
    shape = [*draw.integers(2, 1, 3), *draw.integers(draw.between(1, 3), 2, 5)]
    flags: dict[str, Any] = {"across_channels": draw.chance(), "normalize_variance": draw.chance()}
    if draw.chance():
        flags["reduction_axes"] = sorted(draw.some(len(shape), 1))
    return layer("MVN", 2, draw.numbers(shape), **flags, eps=draw.among(1e-9, 1e-3))


def mvn(draw: Draw) -> Any:
    shape = draw.integers(draw.between(2, 5), 2, 4)
    axes = constant(draw.some(len(shape), 1), np.int64)
    modes = {"eps_mode": draw.among("inside_sqrt", "outside_sqrt"), "normalize_variance": draw.chance()}
    return layer("MVN", 6, draw.numbers(shape), axes, **modes, eps=draw.among(1e-6, 1e-2))


def normalize_l2(draw: Draw) -> Any:
    shape = draw.integers(draw.between(2, 4), 2, 4)
    axes = draw.among([1], list(range(1, len(shape))), [len(shape) - 1], list(range(2, len(shape))))
    attributes = {"eps": draw.among(1e-6, 0.5), "eps_mode": draw.among("add", "max")}
    return layer("NormalizeL2", 1, draw.numbers(shape), constant(axes, np.int64), **attributes)


def lrn(draw: Draw) -> Any:
    attributes = {
        "alpha": draw.among(0.1, 0.02),
        "beta": draw.among(0.75, 1.0),
        "bias": draw.among(1.0, 2.0),
        "size": draw.among(1, 3, 5),
    }
    return layer("LRN", 1, draw.numbers([2, draw.between(1, 6), 3, 4]), constant([1], np.int64), **attributes)


def group_norm(draw: Draw) -> Any:
    if processor() is Processor.SSE4:
        pytest.skip("OpenVINO runs GroupNormalization on processors with AVX2 alone")
    groups, each = draw.integers(2, 1, 3)
    channels = groups * each
    x = draw.numbers([draw.between(1, 2), channels, *draw.integers(draw.between(1, 3), 2, 4)])
    scale, bias = (constant(draw.values([channels])) for _ in range(2))
    return layer("GroupNormalization", 12, x, scale, bias, num_groups=groups, epsilon=draw.among(1e-5, 1e-2))


NORMALISATIONS: dict[str, Configuration] = {
    "BatchNormInference-1": batch_norm(1),
    "BatchNormInference-5": batch_norm(5),
    "MVN-1": mvn_1,
    "MVN-6": mvn,
    "NormalizeL2": normalize_l2,
    "LRN": lrn,
    "GroupNormalization": group_norm,
}


def reduction(kind: str, version: int = 1, dtypes: Any = (np.float32,)) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        shape = draw.shape(1, 4)
        axes = [axis - len(shape) if draw.chance(0.3) else axis for axis in draw.some(len(shape))]
        given, x = np.array(axes, draw.among(np.int32, np.int64)), draw.numbers(shape, draw.among(*dtypes))
        if not axes:  # OpenVINO's CPU plugin runs this, and axes at run time, in no other way
            return layer(kind, version, x, constant(given), keep_dims=True)
        if draw.chance(0.3) and np.bool_ not in dtypes:
            return layer(kind, version, x, draw.input(given), keep_dims=True)
        return layer(kind, version, x, constant(given), keep_dims=draw.chance())

    return draw_layer


REDUCTIONS: dict[str, Configuration] = {
    **{kind: reduction(kind, 1, (np.float32, np.int32)) for kind in ("ReduceSum", "ReduceMax", "ReduceMin")},
    **{kind: reduction(kind) for kind in ("ReduceMean", "ReduceProd")},
    **{kind: reduction(kind, 4) for kind in ("ReduceL1", "ReduceL2")},
    **{f"ReduceLogical{name}": reduction(f"ReduceLogical{name}", 1, (np.bool_,)) for name in ("And", "Or")},
}


def ranges(draw: Draw, channels: int, rank: int) -> tuple[Any, Any]:
    shape = draw.among([], [1], [1, channels] + [1] * (rank - 2), [1] * rank)
    low = draw.values(shape, np.float32, -3, -0.5)
    return low, (low + draw.values(shape, np.float32, 1, 5)).astype(np.float32)


def fake_quantize(draw: Draw) -> Any:
    shape = [2, draw.between(1, 4), *draw.integers(draw.between(1, 3), 1, 6)]
    low, high = ranges(draw, shape[1], len(shape))
    out_low, out_high = (low, high) if draw.chance() else ranges(draw, shape[1], len(shape))
    limits = [constant(each) for each in (low, high, out_low, out_high)]
    return layer("FakeQuantize", 1, draw.numbers(shape, np.float32, -5, 5), *limits, levels=draw.among(2, 16, 255, 256))


def fake_quantize_with_a_zero(draw: Draw) -> Any:
    """Zero is a level of what comes in and of what goes out; one range, or one of each channel; constants too."""
    shape = [2, draw.between(1, 4), *draw.integers(draw.between(1, 3), 1, 6)]
    wide = draw.among([], [1], [1] * len(shape), [1, shape[1]] + [1] * (len(shape) - 2))
    levels = draw.among(2, 16, 255, 256)
    ends = []
    for zero in (draw.between(0, levels - 1), draw.between(0, levels - 1)):
        step = draw.values(wide, np.float32, 1, 7) / (levels - 1)
        ends += [(-zero * step).astype(np.float32), ((levels - 1 - zero) * step).astype(np.float32)]
    ends[2:] = ends[:2] if draw.chance() else ends[2:]
    x = draw.values(shape, np.float32, -7, 7)
    if draw.chance(0.3):
        return layer(
            "Add", 1, layer("FakeQuantize", 1, constant(x), *map(constant, ends), levels=levels), draw.input(x)
        )
    return layer("FakeQuantize", 1, draw.input(x), *map(constant, ends), levels=levels)


def fake_quantize_on_the_grid(draw: Draw) -> Any:
    """Inputs halfway between two levels, in a range of which every level is exact."""
    step = np.float32(draw.among(0.5, 0.125, 1))
    low, high = draw.among((-128, 127), (0, 255), (-1, 254))
    low, high = np.float32(low * step), np.float32(high * step)
    values = (draw.values(draw.shape(2, 4), np.int32, -300, 300) * step / 2).astype(np.float32)
    limits = [constant(each) for each in (low, high, low, high)]
    return layer("FakeQuantize", 1, draw.input(values), *limits, levels=256)


def convert(draw: Draw) -> Any:
    """Numbers that a narrow type does not hold wrap around."""
    names = {
        np.float32: "f32",
        np.float16: "f16",
        np.int32: "i32",
        np.int64: "i64",
        np.uint8: "u8",
        np.int8: "i8",
        np.bool_: "boolean",
    }
    source, target = draw.among(*names), draw.among(*names)
    values = draw.values(draw.shape(), source, -400, 400 if np.dtype(source).itemsize > 1 else 100)
    return layer("Convert", 1, draw.input(values), destination_type=names[target])


def convert_like(draw: Draw) -> Any:
    return layer("ConvertLike", 8, draw.numbers(draw.shape(), np.int32), constant(np.zeros(2, np.float32)))


ROUNDING: dict[str, Configuration] = {
    "FakeQuantize": fake_quantize,
    "FakeQuantize with a zero": fake_quantize_with_a_zero,
    "FakeQuantize on the grid": fake_quantize_on_the_grid,
    "Convert": convert,
    "ConvertLike": convert_like,
}


@pytest.mark.sampled(39)
@pytest.mark.parametrize(("configuration", "seed"), configurations(PRODUCTS | NORMALISATIONS | REDUCTIONS | ROUNDING))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)


@pytest.mark.parametrize("name", [*NORMALISATIONS, *ROUNDING])
def test_older_opset(name: str) -> None:
    check((NORMALISATIONS | ROUNDING)[name], 0, opset=12)
