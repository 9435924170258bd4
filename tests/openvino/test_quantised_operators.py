"""Models of quantised operators become IRs that make the same levels; what has no plain form is refused by its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

import ir_interp
from ir_interp import IrInterpError, VerificationError
from ir_interp.converters.onnx import low_precision
from ir_interp.converters.openvino import from_onnx
from tests.support import exact_sums
from tests.support.graphs import onnxruntime_outputs
from tests.support.runtimes import Array


class _Calibration(CalibrationDataReader):  # type: ignore[misc, unused-ignore]
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._left = iter([{"x": rng.random((1, 3, 12, 16), np.float32)} for _ in range(2)])

    def get_next(self) -> dict[str, Array] | None:
        return next(self._left, None)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Return convolutions, sums and a bilinear resize of integers, as onnxruntime quantises them."""
    rng = np.random.default_rng(0)
    shapes = {"v": (8, 3, 3, 3), "w": (8, 8, 3, 3), "b": (8,)}
    tensors = [numpy_helper.from_array(rng.normal(size=s).astype(np.float32) * 0.3, n) for n, s in shapes.items()]
    tensors.append(numpy_helper.from_array(np.array([1, 1, 2, 1.5], np.float32), "scales"))
    nodes = [
        helper.make_node("Conv", ["x", "v", "b"], ["c"], pads=[1] * 4, name="first"),
        helper.make_node("Conv", ["c", "w", "b"], ["d"], pads=[1] * 4, name="second"),
        helper.make_node("Add", ["c", "d"], ["e"], name="sum"),
        helper.make_node("Resize", ["e", "", "scales"], ["f"], mode="linear", name="up"),
        helper.make_node("Conv", ["f", "w", "b"], ["g"], name="third"),
        helper.make_node("Sigmoid", ["g"], ["y"], name="end"),
    ]
    ends = [helper.make_tensor_value_info(n, 1, [1, c, None, None]) for n, c in (("x", 3), ("y", 8))]
    plain = helper.make_model(
        helper.make_graph(nodes, "net", ends[:1], ends[1:], tensors),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    onnx.save(plain, tmp_path / "plain.onnx")
    path = tmp_path / "a.onnx"
    quantize_static(tmp_path / "plain.onnx", path, _Calibration(), quant_format=QuantFormat.QOperator, per_channel=True)
    return path


def test_levels_are_the_same(network: Path, tmp_path: Path) -> None:
    kinds = [node.op_type for node in low_precision.quantised_operators(onnx.load(network))]
    assert {"QLinearConv", "QLinearAdd", "QLinearSigmoid"} <= set(kinds)
    report = ir_interp.convert(network, tmp_path / "a.xml", shapes={"x": (1, 3, 20, 24)})
    assert [row.name for row in report.rows] == ["up"]
    assert report.verification is not None
    whole = r"as a whole they differ by \d\S*; the source differs from itself by "
    assert re.search(f"^5 segments between quantisations, .*; {whole}", report.verification.note)
    x = np.random.default_rng(1).random((1, 3, 20, 24), np.float32)
    plainly = onnxruntime.SessionOptions()  # optimised, onnxruntime rounds otherwise, and differs from itself by more
    plainly.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = np.asarray(exact_sums.session(network, plainly).run(None, {"x": x})[0])
    # By default, OpenVINO rounds otherwise as well.
    got = ov.Core().compile_model(tmp_path / "a.xml", "CPU", exact_sums.OPENVINO)({"x": x})[0]
    apart = np.abs(wanted - got)
    assert np.unique(wanted).size > 20
    assert apart.max() < 1.01 / 256
    assert (apart > 1e-6).mean() < 0.03


@pytest.mark.long
@pytest.mark.parametrize(("target", "has_quantised"), [("openvino", False), ("onnx:17", True)])
def test_runtimes_are_given_plain_operators(target: str, has_quantised: bool, network: Path, tmp_path: Path) -> None:
    """onnxruntime takes the quantised ones, and an operator set has them."""
    verification = ir_interp.convert(network, tmp_path / "b.onnx", target=target).verification
    assert verification is not None
    assert verification.levels is not None
    assert bool(low_precision.quantised_operators(onnx.load(tmp_path / "b.onnx"))) == has_quantised


@pytest.mark.sampled(1)
@pytest.mark.parametrize("tensor", ["c_scale", "e_scale"])
def test_a_broken_operator_is_found(
    tensor: str, network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = from_onnx.build

    def broken(path: Path, *options: Any) -> Any:
        model = onnx.load(path)
        for each in model.graph.initializer:
            if each.name == tensor:
                each.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(each) * np.float32(1.05), each.name))
        onnx.save(model, tmp_path / "broken.onnx")
        return build(tmp_path / "broken.onnx", *options)

    monkeypatch.setattr(from_onnx, "build", broken)
    with pytest.raises(VerificationError, match="is the first that differs"):
        ir_interp.convert(network, tmp_path / "a.xml")


def _one(op: str, domain: str, inputs: str, constants: dict[str, Array], **attributes: Any) -> onnx.ModelProto:
    """Return a model of one operator on integers, the first one (and ``b``) given at run time."""
    names = inputs.split()
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    given = [name for name in names if name not in constants and name != "_"]
    node = helper.make_node(
        op, [name.replace("_", "") for name in names], ["y"], name="node", domain=domain, **attributes
    )
    kinds = {"k": onnx.TensorProto.BOOL}
    ends = [helper.make_tensor_value_info(name, kinds.get(name, onnx.TensorProto.UINT8), None) for name in given]
    graph = helper.make_graph(
        [node], "g", ends, [helper.make_tensor_value_info("y", onnx.TensorProto.UINT8, None)], held
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


MS = "com.microsoft"
OF: dict[str, Array] = {
    **{name: np.array(value, np.float32) for name, value in (("as", 0.02), ("bs", 0.03), ("ys", 0.05))},
    **{name: np.array(value, np.uint8) for name, value in (("az", 120), ("bz", 7), ("yz", 100))},
}
OF["ws"], OF["wz"] = np.array([0.01, 0.02], np.float32), np.zeros(2, np.int8)
OF["w"] = np.random.default_rng(2).integers(-127, 127, (2, 3, 3, 3)).astype(np.int8)
OF["m"] = np.random.default_rng(3).integers(-127, 127, (8, 2)).astype(np.int8)
OF["n"] = np.array([300, -700], np.int32)
OPERATORS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "QLinearConv": ("", "a as az w ws wz ys yz n", {"pads": [1] * 4}),
    "QLinearMatMul": ("", "a as az m ws wz ys yz", {}),
    "QLinearAdd": (MS, "a as az b bs bz ys yz", {}),
    "QLinearMul": (MS, "a as az b bs bz ys yz", {}),
    "QLinearSigmoid": (MS, "a as az ys yz", {}),
    "QLinearLeakyRelu": (MS, "a as az ys yz", {"alpha": 0.2}),
    "QLinearSoftmax": (MS, "a as az ys yz", {"axis": 1, "opset": 17}),
    "QLinearAveragePool": (MS, "a as az ys yz", {"kernel_shape": [2, 2]}),
    "QLinearGlobalAveragePool": (MS, "a as az ys yz", {}),
    "QLinearConcat": (MS, "ys yz a as az b bs bz", {"axis": 1}),
    "QLinearWhere": (MS, "k a as az b bs bz ys yz", {}),
}


@pytest.mark.parametrize("op", OPERATORS)
def test_each_operator(op: str, tmp_path: Path) -> None:
    domain, inputs, attributes = OPERATORS[op]
    constants = {name: value for name, value in OF.items() if name in inputs.split()}
    model = _one(op, domain, inputs, constants, **attributes)
    onnx.save(model, tmp_path / "a.onnx")
    rng = np.random.default_rng(4)
    feeds: dict[str, Array] = {
        each.name: rng.integers(0, 256, (1, 3, 8, 8)).astype(np.uint8) for each in model.graph.input
    }
    if "k" in feeds:
        feeds["k"] = feeds["k"] > 99
    plain = low_precision.in_plain_operators(tmp_path / "a.onnx", tmp_path)
    assert low_precision.quantised_operators(onnx.load(plain)) == []
    (wanted,), (got,) = (onnxruntime_outputs(each, feeds) for each in (tmp_path / "a.onnx", plain))
    assert np.unique(wanted).size > 2
    apart = np.abs(wanted.astype(int) - got.astype(int))
    assert apart.max() <= 1
    assert (apart > 0).mean() < 0.05


REFUSALS = {
    "channels last": (
        ("QLinearAveragePool", MS, "a as az ys yz"),
        {"kernel_shape": [2, 2], "channels_last": 1},
        "a.onnx:'node': QLinearAveragePool has no plain form: its channels_last is 1",
    ),
    "a scale of run time": (
        ("QLinearSigmoid", MS, "a as az b yz"),
        {},
        "a.onnx:'node': QLinearSigmoid has no plain form: 'b' is not a constant",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_has_no_plain_form(name: str, tmp_path: Path) -> None:
    (op, domain, inputs), attributes, message = REFUSALS[name]
    constants = {each: value for each, value in OF.items() if each in inputs.split()}
    onnx.save(_one(op, domain, inputs, constants, **attributes), tmp_path / "a.onnx")
    with pytest.raises(IrInterpError) as refusal:
        ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml")
    assert str(refusal.value) == message
