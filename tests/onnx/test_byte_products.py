"""Sums of 8-bit products are exact on every processor, once their signed factors are unsigned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped, unused-ignore]
import pytest
from onnx import TensorProto, helper, numpy_helper

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.audit.saturation import most_lost
from ir_interp.converters.onnx.byte_products import count_products, make_factors_unsigned, products
from ir_interp.version import Processor, processor
from tests.support.graphs import save_model
from tests.support.runtimes import Array

U, S = np.uint8, np.int8
TYPE = {U: TensorProto.UINT8, S: TensorProto.INT8}


def integers(dtype: type, *shape: int, seed: int = 0) -> Array:
    """Return random integers over the whole type, whose sums saturate without VNNI."""
    limits = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)


def model(
    nodes: list[onnx.NodeProto], x: Array, dtype: int, constants: dict[str, Any], *more: Array
) -> onnx.ModelProto:
    """Return a model of inputs a (and b), and of output y."""
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), list(value.shape))
        for name, value in zip("ab", (x, *more), strict=False)
    ]
    stored = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", dtype, None)], stored)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def run(proto: onnx.ModelProto, *arrays: Array, optimised: bool = True) -> Array:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, dict(zip("ab", arrays, strict=False)))[0])


def convolved(x: Array, w: Array) -> Array:
    """Return the valid convolution of an image with unpadded kernels, in integers."""
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.int64), w.shape[2:], axis=(2, 3))
    return np.asarray(np.einsum("nchwij,ocij->nohw", windows, w.astype(np.int64)))


A, B, W = integers(U, 4, 64), integers(S, 64, 8, seed=1), integers(S, 8, 16, 3, 3, seed=2)
IMAGE = integers(U, 1, 16, 9, 9, seed=3)
SUMS, IMAGE_SUMS = A.astype(int) @ B.astype(int), convolved(IMAGE, W)
LINEAR = {"as": np.float32(1), "az": U(0), "bs": np.float32(1), "bz": S(0), "ys": np.float32(3000), "yz": U(128)}


def levels(sums: Array) -> Array:
    return np.asarray(np.clip(np.rint(sums / 3000) + 128, 0, 255))


def product(
    kind: str, x: Array, w: Array | None, *more: Array, dtype: int = TensorProto.INT32, **constants: Any
) -> onnx.ModelProto:
    inputs = {
        "MatMulInteger": "a b",
        "ConvInteger": "a b",
        "DynamicQuantizeMatMul": "a b bs",
    }.get(kind, "a as az b bs bz ys yz")
    stored = {**({} if w is None else {"b": w}), **constants}
    domain = "com.microsoft" if kind.startswith("Dynamic") else ""
    return model([helper.make_node(kind, inputs.split(), ["y"], domain=domain)], x, dtype, stored, *more)


def between_levels(kind: str, x: Array, w: Array) -> onnx.ModelProto:
    """Return an operator between DequantizeLinear and QuantizeLinear; weights without a zero point."""
    nodes = [
        helper.make_node("DequantizeLinear", ["a", "as", "az"], ["float a"]),
        helper.make_node("DequantizeLinear", ["b", "bs"], ["float b"]),
        helper.make_node(kind, ["float a", "float b"], ["sums"]),
        helper.make_node("QuantizeLinear", ["sums", "ys", "yz"], ["y"]),
    ]
    return model(nodes, x, TensorProto.UINT8, {"b": w, **LINEAR})


CASES: dict[str, tuple[onnx.ModelProto, tuple[Array, ...], Array, float]] = {
    "MatMulInteger": (product("MatMulInteger", A, B), (A,), SUMS, 0),
    "MatMulInteger of run time": (product("MatMulInteger", A, None, B), (A, B), SUMS, 0),
    "ConvInteger of unsigned weights": (
        product("ConvInteger", W[:1], IMAGE[:, :, :3, :3]),
        (W[:1],),
        convolved(W[:1], IMAGE[:, :, :3, :3]),
        0,
    ),
    "QLinearMatMul": (product("QLinearMatMul", A, B, dtype=TensorProto.UINT8, **LINEAR), (A,), levels(SUMS), 1),
    "QLinearConv": (
        product("QLinearConv", IMAGE, W, dtype=TensorProto.UINT8, **LINEAR),
        (IMAGE,),
        levels(IMAGE_SUMS),
        1,
    ),
    "MatMul between levels": (between_levels("MatMul", A, B), (A,), levels(SUMS), 1),
    "Conv between levels": (between_levels("Conv", IMAGE, W), (IMAGE,), levels(IMAGE_SUMS), 1),
}


@pytest.mark.parametrize("optimised", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_unsigned_factors_give_the_sums_of_integers(name: str, optimised: bool) -> None:
    source, arrays, wanted, off = CASES[name]
    exact = onnx.ModelProto()
    exact.CopyFrom(source)
    assert count_products(exact) == make_factors_unsigned(exact, "") == 1
    assert list(products(exact, "")) == []
    apart = np.abs(run(exact, *arrays, optimised=optimised).astype(np.int64) - wanted)
    assert apart.max() <= off  # floats round levels at ties
    assert (apart > 0).mean() < 0.05


KEPT: dict[str, Callable[[], onnx.ModelProto]] = {
    "two signed factors": lambda: product("MatMulInteger", A.view(S), B),
    "two unsigned factors": lambda: product("MatMulInteger", A, B.view(U)),
    "signed weights of ConvInteger": lambda: product("ConvInteger", IMAGE, W),
    "depthwise": lambda: model(
        [helper.make_node("QLinearConv", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"], group=16)],
        IMAGE,
        TensorProto.UINT8,
        {"b": integers(S, 16, 1, 3, 3), **LINEAR},
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_products_that_never_saturate_stay(name: str) -> None:
    source = KEPT[name]()
    before = source.SerializeToString(deterministic=True)
    assert make_factors_unsigned(source, "") == 0
    assert source.SerializeToString(deterministic=True) == before


def test_weights_in_a_body_and_in_another_file(tmp_path: Path) -> None:
    """A branch and the graph around it read the same weights, which lie in a file of their own."""
    inner = helper.make_graph(
        [helper.make_node("MatMulInteger", ["a", "b"], ["z"])],
        "then",
        [],
        [helper.make_tensor_value_info("z", TensorProto.INT32, None)],
    )
    nodes = [
        helper.make_node("MatMulInteger", ["a", "b"], ["around"]),
        helper.make_node("If", ["yes"], ["inside"], then_branch=inner, else_branch=inner),
        helper.make_node("Add", ["around", "inside"], ["y"]),
    ]
    big = integers(S, 64, 64, seed=5)
    source = model(nodes, A, TensorProto.INT32, {"b": big, "yes": np.array(True)})
    onnx.save(source, tmp_path / "a.onnx", save_as_external_data=True, location="a.data", size_threshold=100)
    outline = onnx.load(tmp_path / "a.onnx", load_external_data=False)
    assert make_factors_unsigned(outline, str(tmp_path)) == 3
    assert list(products(outline, "")) == []
    np.testing.assert_array_equal(run(outline, A), 2 * (A.astype(int) @ big.astype(int)))


def saturated(x: Array, weights: Array) -> int:
    """Return a sum of products as ``pmaddubsw`` makes it: each pair of neighbours saturates at 16 bits."""
    terms = (x.astype(np.int64) * weights.astype(np.int64)).reshape(-1, 2).sum(axis=1)
    return int(np.clip(terms, -(2**15), 2**15 - 1).sum())


@pytest.mark.parametrize("seed", range(30))
def test_no_sum_loses_more_than_the_bound(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, most = int(random.integers(1, 40)) * 2, int(random.integers(20, 128))
    weights = random.integers(-most, most + 1, count).astype(S)
    (bound,) = most_lost(weights[None])
    lost = 0.0
    for _ in range(50):
        order = random.permutation(count)
        x = random.integers(0, 256, count) if random.random() < 0.5 else np.where(weights[order] > 0, 255, 0)
        exact = int((x * weights[order].astype(np.int64)).sum())
        lost = max(lost, abs(exact - saturated(x, weights[order])))
    assert lost <= bound
    descending = np.sort(weights)[::-1]  # the pairs that lose most
    extremes = [np.where(descending > 0, 255, 0), np.where(descending < 0, 255, 0)]
    lost_most = [abs(int((x * descending.astype(np.int64)).sum()) - saturated(x, descending)) for x in extremes]
    assert bound <= max(lost_most) + 2 * 255 * most  # but for a pair of mixed signs in the middle


def test_weights_of_7_bits_never_saturate() -> None:
    assert most_lost(np.array([[64, 64, -64, -64]], S)).tolist() == [0]
    assert most_lost(np.array([[65, 64, 0, 0], [0, 0, -65, -64]], S)).tolist() == [255 * 129 - 32767, 255 * 129 - 32768]


@pytest.mark.skipif(processor() is not Processor.SSE4, reason="only x86 without AVX2 shows OpenVINO's faults there")
def test_a_difference_without_avx2_may_be_openvinos(tmp_path: Path) -> None:
    save_model(tmp_path / "a.onnx", "g (float[1,2,4,6] x) => (float[1,2,4,6] y) { y = Softsign (x) }")
    with pytest.raises(
        VerificationError, match=r"without AVX2, such as this one, OpenVINO computes SoftSign, .* wrong"
    ):
        ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml")
