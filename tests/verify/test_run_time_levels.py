"""Scales of run time: they follow from the values before them, and recurrent layers round their states by them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.verify.conversion import verify
from ir_interp.converters.verify.inputs import Inputs

STEPS, FEATURES, HIDDEN = 24, 12, 16
Array = NDArray[Any]
Change = Callable[[Array], Array]


def _saved(path: Path, nodes: list[onnx.NodeProto], shapes: tuple[list[int], list[int]], tensors: Any) -> None:
    ends = [helper.make_tensor_value_info(name, 1, shape) for name, shape in zip("xy", shapes, strict=True)]
    initialisers = [numpy_helper.from_array(array, name) for name, array in tensors.items()]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], initialisers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def recurrent(folder: Path, *, per_channel: bool, has_product: bool) -> Path:
    """Write two bidirectional LSTMs, and a product of matrices behind them, as onnxruntime quantises them."""
    rng, width, data = np.random.default_rng(0), FEATURES, "x"
    tensors: dict[str, Array] = {"joined": np.array([0, 0, 2 * HIDDEN])}
    nodes = []
    for layer in range(2):
        for name, size in (("w", width), ("r", HIDDEN)):
            tensors[f"{name}{layer}"] = rng.normal(0, size**-0.5, (2, 4 * HIDDEN, size)).astype(np.float32)
        tensors[f"b{layer}"] = rng.normal(0, 0.1, (2, 8 * HIDDEN)).astype(np.float32)
        inputs = [data, *(f"{name}{layer}" for name in "wrb")]
        nodes += [
            helper.make_node("LSTM", inputs, [f"l{layer}"], hidden_size=HIDDEN, direction="bidirectional"),
            helper.make_node("Transpose", [f"l{layer}"], [f"t{layer}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"t{layer}", "joined"], [f"h{layer}"]),
        ]
        width, data = 2 * HIDDEN, f"h{layer}"
    tensors["m"] = rng.normal(0, width**-0.5, (width, 8)).astype(np.float32)
    nodes.append(
        helper.make_node("MatMul", [data, "m"], ["y"]) if has_product else helper.make_node("Tanh", [data], ["y"])
    )
    shapes = [STEPS, 1, FEATURES], [STEPS, 1, 8 if has_product else width]
    _saved(folder / "float.onnx", nodes, shapes, tensors)
    weights = QuantType.QUInt8 if per_channel else QuantType.QInt8
    quantize_dynamic(folder / "float.onnx", folder / "a.onnx", weight_type=weights, per_channel=per_channel)
    return folder / "a.onnx"


def changed(source: Path, tensor: str, change: Change) -> Path:
    """Write the IR of a model of which one constant is another."""
    model = onnx.load(source)
    (constant,) = (each for each in model.graph.initializer if each.name == tensor)
    array = numpy_helper.to_array(constant)
    constant.CopyFrom(numpy_helper.from_array(change(array.copy()).astype(array.dtype), tensor))
    onnx.save(model, source.with_name("changed.onnx"))
    path = source.with_name("changed.xml")
    ov.save_model(ov.convert_model(source.with_name("changed.onnx")), path, compress_to_fp16=False)
    return path


@pytest.mark.sampled(2)
@pytest.mark.parametrize("has_product", [True, False])
@pytest.mark.parametrize("per_channel", [False, True])
def test_a_quantised_lstm_becomes_an_ir(per_channel: bool, has_product: bool, tmp_path: Path) -> None:
    """Both runtimes know the same weights, but only onnxruntime rounds states: the report says by how much."""
    source = recurrent(tmp_path, per_channel=per_channel, has_product=has_product)
    assert "DynamicQuantizeLSTM" in {node.op_type for node in onnx.load(source).graph.node}
    verification = ir_interp.convert(source, tmp_path / "a.xml").verification
    assert verification is not None
    (output,) = verification.outputs
    assert output.relative < 1e-5
    assert "without the rounding to 8 bits of the inputs and states of 2 DynamicQuantizeLSTM" in output.remark
    for models in (("a.onnx", "a.xml"), ("a.xml", "a.onnx")):
        (compared,) = ir_interp.compare(*(tmp_path / name for name in models)).outputs
        assert compared.compared.passes
        assert compared.seen.relative > 1e-4
        assert compared.compared.remark == output.remark


def _one_more(array: Array) -> Array:
    """Return weights of which one is off by a level."""
    array[0, 2, 3] += 1
    return array


def _exchanged(array: Array) -> Array:
    """Return weights whose first two gates change places."""
    parts = np.split(array, 4, axis=2)
    return np.concatenate([parts[1], parts[0], *parts[2:]], axis=2)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("tensor", "change"),
    [
        ("w0_quantized", _one_more),
        ("w0_quantized", _exchanged),
        ("r1_quantized", _exchanged),
        ("w0_zero_point", lambda array: array + 1),
        ("r0_zero_point", lambda array: array + 1),
        ("w1_scale", lambda array: array * 1.004),
        ("r1_scale", lambda array: array * 1.008),
        ("m_zero_point", lambda array: array + 1),
        ("m_scale", lambda array: array * 1.004),
    ],
)
def test_another_lstm_is_refused(tensor: str, change: Change, tmp_path: Path) -> None:
    """A single weight moves most values by less than a level of the product behind it, so there is none."""
    source = recurrent(tmp_path, per_channel=False, has_product=change is not _one_more)
    assert verify(source, changed(source, tensor, lambda array: array), (), Inputs()) is not None
    with pytest.raises(VerificationError, match="differs"):
        verify(source, changed(source, tensor, change), (), Inputs())


def cancelling(folder: Path) -> Path:
    """Write a product of matrices behind the difference of two large ones, quantised at run time.

    The difference has the last bits of its terms, 1e5 times as large, and so has the range of its values.
    """
    rng = np.random.default_rng(0)
    large = rng.uniform(0.9, 1.1, (2048, 32)).astype(np.float32)
    tensors = {
        "large": large,
        "near": (large + rng.normal(0, 1e-2, large.shape)).astype(np.float32),
        "m": rng.normal(0, 0.2, (32, 24)).astype(np.float32),
        "n": rng.normal(0, 0.2, (24, 10)).astype(np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "large"], ["a"], "first"),
        helper.make_node("MatMul", ["x", "near"], ["b"], "second"),
        helper.make_node("Sub", ["a", "b"], ["d"]),
        helper.make_node("MatMul", ["d", "m"], ["c"]),
        helper.make_node("Relu", ["c"], ["e"]),
        helper.make_node("MatMul", ["e", "n"], ["y"]),
    ]
    _saved(folder / "float.onnx", nodes, ([8, 2048], [8, 10]), tensors)
    quantize_dynamic(
        folder / "float.onnx", folder / "a.onnx", weight_type=QuantType.QInt8, nodes_to_exclude=["first", "second"]
    )
    return folder / "a.onnx"


def test_a_scale_follows_from_the_values_before_it(tmp_path: Path) -> None:
    """Runtimes add the terms in other orders: the range differs by more than 1e-4, and the levels by last bits."""
    verification = ir_interp.convert(cancelling(tmp_path), tmp_path / "a.xml").verification
    assert verification is not None
    assert verification.levels is not None
    assert verification.levels.flipped > 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("tensor", "change"),
    [
        ("m_zero_point", lambda array: array + 1),
        ("m_scale", lambda array: array * 1.001),
        ("n_zero_point", lambda array: array + 1),
        ("n_scale", lambda array: array * 1.001),
        ("near", lambda array: array * np.float32(1.00001)),
    ],
)
def test_no_scale_follows_from_other_values(tensor: str, change: Change, tmp_path: Path) -> None:
    source = cancelling(tmp_path)
    with pytest.raises(VerificationError, match="differs"):
        verify(source, changed(source, tensor, change), (), Inputs())
