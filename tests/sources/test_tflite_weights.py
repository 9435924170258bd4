"""Weights of TFLite files stay there: OpenVINO's frontend reads a model without them, and the IR is the same."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

import ir_interp
from ir_interp import IrInterpError
from ir_interp.shapes import Array

pytest.importorskip("ai_edge_litert", reason="pip install ai-edge-litert")

from ir_interp.converters.frameworks.tflite import frontend, tflite_files
from ir_interp.converters.frameworks.tflite.frontend import build
from ir_interp.converters.frameworks.tflite.tflite_files import schema
from ir_interp.converters.openvino import frontends
from ir_interp.converters.openvino.ir_save import save
from ir_interp.files import memory
from tests.support.tflite_nets import Net, X

ALL, NONE = 1, 2**40
"""Bytes of the smallest weight that stays in its file."""

SHAPES = {
    "FULLY_CONNECTED": ((7, 4), 0),
    "CONV_2D": ((5, 3, 3, 4), 0),
    "DEPTHWISE_CONV_2D": ((1, 3, 3, 8), 3),
    "TRANSPOSE_CONV": ((5, 3, 3, 4), 0),
    "BATCH_MATMUL": ((1, 6, 4, 3), 3),
    "GATHER": ((5, 5, 4), 0),
    "ADD": ((1, 6, 5, 4), 3),
}
"""Shapes of weights by operator, and the axis of their channels."""


def random(shape: tuple[int, ...], least: int, most: int, dtype: str) -> Array:
    return np.random.default_rng(sum(shape)).integers(least, most, shape, dtype, endpoint=True)


def floats(net: Net, shape: tuple[int, ...], _: int) -> int:
    return net.tensor("w", "float32", shape, random(shape, -99, 99, "int32").astype(np.float32) / 64)


def halves(net: Net, shape: tuple[int, ...], _: int) -> int:
    place = net.tensor("half", "float16", shape, random(shape, -99, 99, "int32").astype(np.float16) / 64)
    return net.operator("DEQUANTIZE", [place], "w")


def levels_of_channels(net: Net, shape: tuple[int, ...], axis: int) -> int:
    scales = [2.0**-place for place in range(shape[axis])]
    levels: dict[str, Any] = {"scale": scales, "zeroPoint": [0] * len(scales), "quantizedDimension": axis}
    return net.tensor("w", "int8", shape, random(shape, -127, 127, "int8"), **levels)


def levels(net: Net, shape: tuple[int, ...], _: int) -> int:
    return net.tensor("w", "int8", shape, random(shape, -127, 127, "int8"), scale=[0.25], zeroPoint=[0])


def levels_of_4_bits(net: Net, shape: tuple[int, ...], axis: int) -> int:
    halves = random((np.prod(shape, dtype=int),), -7, 7, "int8").reshape(-1, 2) & 15
    scales: dict[str, Any] = {"scale": [2.0**-place for place in range(shape[axis])], "quantizedDimension": axis}
    place = net.tensor("w", "int8", shape, halves[:, 0] | halves[:, 1] << 4, zeroPoint=[0] * shape[axis], **scales)
    net.graph.tensors[place].type = schema().TensorType.INT4
    return place


def shifted(net: Net, shape: tuple[int, ...], _: int) -> int:
    """Add levels that become int8 without their zero point."""
    return net.tensor("w", "uint8", shape, random(shape, 3, 250, "uint8"), scale=[0.25], zeroPoint=[128])


def far_shifted(net: Net, shape: tuple[int, ...], _: int) -> int:
    """Add levels that int8 does not hold without their zero point."""
    return net.tensor("w", "uint8", shape, random(shape, 3, 250, "uint8"), scale=[0.25], zeroPoint=[7])


WEIGHTS = (floats, halves, levels_of_channels, levels, shifted, far_shifted)


def write(path: Path, kind: str, weights: Any) -> None:
    """Write a model of one operator that reads weights."""
    net, (shape, axis) = Net(), SHAPES[kind]
    w = weights(net, shape, axis)
    strides: dict[str, Any] = {"strideW": 1, "strideH": 1, "padding": 0}
    if kind == "FULLY_CONNECTED":
        net.operator(kind, [0, w], "y", "FullyConnectedOptions", keepNumDims=True)
    elif kind == "CONV_2D":
        bias = net.tensor("bias", "float32", (5,), np.arange(5, dtype=np.float32))
        net.operator(kind, [0, w, bias], "y", "Conv2DOptions", **strides, dilationWFactor=1, dilationHFactor=1)
    elif kind == "DEPTHWISE_CONV_2D":
        more: dict[str, Any] = {"depthMultiplier": 2, "dilationWFactor": 1, "dilationHFactor": 1}
        net.operator(kind, [0, w], "y", "DepthwiseConv2DOptions", **strides, **more)
    elif kind == "TRANSPOSE_CONV":
        sizes = net.tensor("sizes", "int32", (4,), np.array([1, 6, 5, 5], np.int32))
        net.operator(kind, [sizes, w, 0], "y", "TransposeConvOptions", **strides)
    elif kind == "BATCH_MATMUL":
        net.operator(kind, [0, w], "y", "BatchMatMulOptions")
    elif kind == "GATHER":
        rows = net.tensor("rows", "int32", (6,), np.array([3, 1, 0, 4, 2, 2], np.int32))
        net.operator("ADD", [0, net.operator(kind, [w, rows], "rows of w", "GatherOptions")], "y", "AddOptions")
    else:
        net.operator(kind, [0, w], "y", f"{kind.title()}Options")
    net.save(path)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def built(path: Path, large: int, monkeypatch: pytest.MonkeyPatch) -> ov.Model:
    """Return a model as it is saved, with weights of ``large`` bytes in their files."""
    monkeypatch.setattr(memory, "LARGE", large)
    monkeypatch.setattr(frontends, "check_frontend", lambda *_: None)  # which starts a process
    folder = Path(f"{path.stem} {large}")
    folder.mkdir()
    save(build(path, folder).model, folder / "model.xml")
    return ov.Core().read_model(folder / "model.xml")


def nodes(model: ov.Model) -> Counter[tuple[Any, ...]]:
    """Return nodes by type, outputs, marks and, of constants, bytes."""
    return Counter(
        (
            node.get_type_name(),
            *(
                (str(port.get_element_type()), str(port.get_partial_shape()), *port.get_names())
                for port in node.outputs()
            ),
            *sorted(key for key in node.get_rt_info() if not key.startswith("fused_names")),
            node.data.tobytes() if node.get_type_name() == "Constant" else b"",
        )
        for node in model.get_ops()
    )


def outputs(model: ov.Model) -> list[Array]:
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(port.get_shape(), np.float32) for port in model.inputs]
    compiled = ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return list(compiled(arrays).values())


@pytest.mark.parametrize(
    ("kind", "weights"),
    [*product(SHAPES, WEIGHTS), ("FULLY_CONNECTED", levels_of_4_bits), ("GATHER", levels_of_4_bits)],
)
def test_the_ir_does_not_depend_on_where_weights_are(kind: str, weights: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("a.tflite"), kind, weights)
    stored, parsed = (built(Path("a.tflite"), large, monkeypatch) for large in (ALL, NONE))
    assert nodes(stored) == nodes(parsed)
    for one, other in zip(outputs(stored), outputs(parsed), strict=True):
        np.testing.assert_array_equal(one, other)


def twice(net: Net) -> None:
    """Let two convolutions read the same levels, of which the frontend makes one chain of operations."""
    w = levels_of_channels(net, (4, 3, 3, 4), 0)
    options: dict[str, Any] = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}
    y = net.operator("CONV_2D", [0, w], "z", "Conv2DOptions", **options)
    net.operator("CONV_2D", [y, w], "y", "Conv2DOptions", **options)


def one_name(net: Net) -> None:
    """Give two weights one name, by which the frontend knows them: it reads the first for both."""
    for name in ("z", "y"):
        net.operator("ADD", [net.graph.outputs[0] if name == "y" else 0, floats(net, X, 3)], name, "AddOptions")


def integers(net: Net) -> None:
    """Read a size, which the frontend needs as a number."""
    net.operator("RESHAPE", [0, net.tensor("w", "int32", (4,), np.array([1, 3, 10, 4], np.int32))], "y")


def levels_as_they_are(net: Net) -> None:
    """Gather rows of levels as levels."""
    rows = net.tensor("rows", "int32", (6,), np.array([3, 1, 0, 4, 2, 2], np.int32))
    at = {"scale": [0.25], "zeroPoint": [0]}
    g = net.operator("GATHER", [levels(net, (5, 5, 4), 0), rows], "g", "GatherOptions", levels=at)
    net.operator("ADD", [0, net.operator("DEQUANTIZE", [g], "d")], "y", "AddOptions")


@pytest.mark.parametrize(
    ("draw", "stored"),
    [(twice, ["w"]), (one_name, []), (integers, []), (levels_as_they_are, ["w"])],
)
def test_weights_that_stay_in_their_files(draw: Any, stored: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    net, path = Net(), Path("a.tflite")
    draw(net)
    net.save(path)
    assert nodes(built(path, ALL, monkeypatch)) == nodes(built(path, NONE, monkeypatch))
    monkeypatch.setattr(memory, "LARGE", ALL)
    assert list(frontend.write(path, Path("skeleton.tflite"))) == stored


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ADD", "AddOptions"),
        ("CONCATENATION", "ConcatenationOptions"),
        ("MAXIMUM", "MaximumMinimumOptions"),
        ("PACK", "PackOptions"),
        ("PRELU", ""),
        ("SQUARED_DIFFERENCE", ""),
    ],
)
def test_levels_beside_levels(kind: str, options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at: dict[str, Any] = {"scale": [0.25], "zeroPoint": [0]}
    net = Net("int8", **at)
    attributes = {"valuesCount": 2} if kind == "PACK" else {}
    net.operator(kind, [0, levels(net, X, 3)], "y", options, levels=at, **attributes)
    net.save(Path("a.tflite"))
    stored, parsed = (built(Path("a.tflite"), large, monkeypatch) for large in (ALL, NONE))
    assert nodes(stored) == nodes(parsed)


def test_the_frontend_reads_no_large_weights() -> None:
    write(Path("a.tflite"), "FULLY_CONNECTED", lambda net, *_: floats(net, (2**17, 4), 0))
    (weight,) = frontend.write(Path("a.tflite"), Path("skeleton.tflite")).values()
    assert (weight.stored.path, weight.stored.shape) == (Path("a.tflite"), (2**17, 4))
    assert Path("skeleton.tflite").stat().st_size < 2**10


@pytest.mark.parametrize("target", ["b.onnx", "b.xml"])
@pytest.mark.parametrize(
    ("kind", "weights"),
    [("CONV_2D", floats), ("FULLY_CONNECTED", levels_of_channels), ("FULLY_CONNECTED", levels_of_4_bits)],
)
def test_weights_behind_the_model(kind: str, weights: Any, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteRT's converter writes models beyond 2 GB so; OpenVINO's frontend does not read these."""
    write(Path("a.tflite"), kind, weights)
    tflite_files.write_apart(tflite_files.unpacked(Path("a.tflite")), Path("b.tflite"))
    assert nodes(built(Path("b.tflite"), ALL, monkeypatch)) == nodes(built(Path("a.tflite"), NONE, monkeypatch))
    assert ir_interp.convert("b.tflite", target).verification is not None
    assert ir_interp.compare(target, "a.tflite", seed=2).passes


def test_weights_that_a_file_lacks() -> None:
    write(Path("a.tflite"), "CONV_2D", floats)
    tflite_files.write_apart(tflite_files.unpacked(Path("a.tflite")), Path("b.tflite"))
    Path("b.tflite").write_bytes(Path("b.tflite").read_bytes()[:-1])
    with pytest.raises(IrInterpError) as error:
        ir_interp.convert("b.tflite", "b.xml")
    assert str(error.value) == "b.tflite: not a TFLite file, or truncated: buffer is smaller than requested size"


def test_a_model_holds_its_weights_if_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of more than 2 GiB lie behind it when resizes get other settings."""
    write(Path("a.tflite"), "CONV_2D", floats)

    def is_split() -> bool:
        tflite_files.write(tflite_files.unpacked(Path("a.tflite")), Path("b.tflite"))
        (graph,) = tflite_files.unpacked(Path("b.tflite")).subgraphs
        model = schema().Model.GetRootAs(Path("b.tflite").read_bytes(), 0)
        return bool(model.Buffers(graph.tensors[1].buffer).Offset())

    assert not is_split()
    monkeypatch.setattr(tflite_files, "_MOST", 5 * 3 * 3 * 4 * 4)
    assert is_split()


def test_constants_that_the_frontend_needs_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("a.tflite"), "GATHER", floats)
    monkeypatch.setattr(memory, "LARGE", ALL)
    monkeypatch.setattr(tflite_files, "_MOST", 6 * 4)
    with pytest.raises(IrInterpError) as error:
        ir_interp.convert("a.tflite", "a.xml")
    assert str(error.value) == (
        "a.tflite: its integers, sparse weights and levels of 4 bits take more than 2 GiB, "
        "which OpenVINO's TFLite frontend does not read"
    )
