"""TFLite and Paddle files that lie about themselves: each command ends in one error, soon, and opens no other file."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.commands import command

Change = Callable[[Any], object]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# TFLite


@pytest.fixture
def schema() -> Any:
    """Return the module of TFLite's schema."""
    pytest.importorskip("ai_edge_litert", reason="pip install ai-edge-litert")
    from ai_edge_litert import schema_py_generated

    return schema_py_generated


def resizing() -> Any:
    """Return a net of int8: a resize, and a convolution of three filters behind it."""
    from tests.support.tflite_nets import Net

    levels: dict[str, Any] = {"scale": [0.5], "zeroPoint": [1]}
    of_filters = {"scale": [0.1, 0.2, 0.3], "zeroPoint": [0, 0, 0]}
    net = Net("int8", **levels)
    size = net.tensor("size", "int32", (2,), np.array([9, 11], np.int32))
    up = net.operator("RESIZE_BILINEAR", [0, size], "up", "ResizeBilinearOptions", levels, halfPixelCenters=True)
    filters = net.tensor("filters", "int8", (3, 1, 1, 4), np.ones((3, 1, 1, 4), np.int8), **of_filters)
    bias = net.tensor("bias", "int32", (3,), np.ones(3, np.int32), scale=[0.05, 0.1, 0.15], zeroPoint=[0, 0, 0])
    net.operator("CONV_2D", [up, filters, bias], "y", "Conv2DOptions", levels, strideW=1, strideH=1)
    return net


def tensor(net: Any, name: str) -> Any:
    return next(each for each in net.graph.tensors if each.name == name)


def levels(name: str, **values: Any) -> Change:
    def change(net: Any) -> None:
        for field, value in values.items():
            setattr(tensor(net, name).quantization, field, value)

    return change


def codes(old: int, new: int) -> Change:
    def change(net: Any) -> None:
        net.model.operatorCodes[0].deprecatedBuiltinCode, net.model.operatorCodes[0].builtinCode = old, new

    return change


def without_data(net: Any) -> None:
    net.graph.operators[0].inputs[0] = -1


def in_another_file(net: Any) -> None:
    tensor(net, "filters").externalBuffer = 1


SEVEN = {"scale": [0.5] * 7, "zeroPoint": [0] * 7}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (levels("bias", **SEVEN), "tensor['bias']: it has 7 scales and 7 zero points; expected as many of both"),
        (levels("up", **SEVEN), "tensor['up']: it has 7 scales and 7 zero points; expected as many of both, 1"),
        (levels("x", zeroPoint=None), "tensor['x']: it has 1 scales and 0 zero points; expected as many of both"),
        (levels("y", zeroPoint=[2**63 - 1]), "tensor['y']: its zero point is 9223372036854775807, which is no"),
        (levels("y", zeroPoint=[-(2**63)]), "tensor['y']: its zero point is -9223372036854775808, which is no"),
        (levels("y", scale=[float("inf")]), "tensor['y']: its scale is inf; expected a positive number"),
        (levels("y", scale=[float("nan")]), "tensor['y']: its scale is nan; expected a positive number"),
        (levels("y", scale=[0.0]), "tensor['y']: its scale is 0; expected a positive number"),
        (levels("up", scale=[-1.0]), "tensor['up']: its scale is -1; expected a positive number"),
        (codes(127, 23), "operator[0]: its operator has two codes, 127 and 23, and readers differ in which"),
        (codes(23, 10**6), "operator[0]: its operator has two codes, 23 and 1000000, and readers differ in"),
        (without_data, "operator[0]: it lacks its data, its size or its output"),
        (in_another_file, "tensor['filters']: its values are in another file, which is not read; expected them"),
    ],
)  # fmt: skip
def test_numbers_of_a_tflite_file_that_have_no_meaning(
    change: Change, problem: str, schema: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    net = resizing()
    change(net)
    net.save(Path("a.tflite"))
    code, printed, errors = command(capsys, "convert", "a.tflite", "a.onnx")
    assert (code, printed, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(f"error: a.tflite:{problem}")
    assert [str(path) for path in Path().iterdir()] == ["a.tflite"]


def test_an_older_package_that_knows_no_values_in_another_file(
    schema: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    net = resizing()
    in_another_file(net)
    net.save(Path("a.tflite"))
    monkeypatch.delattr(schema.Tensor, "ExternalBuffer", raising=False)
    code, _, errors = command(capsys, "inspect", "a.tflite")
    assert code == 2
    assert "tensor['filters']: its values are in another file" in errors


def test_a_tflite_file_whose_numbers_have_one(schema: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A filter that is 0 has a scale of 0, and levels without a scale are none."""
    net = resizing()
    levels("filters", scale=[0.0, 0.2, 0.3])(net)
    levels("bias", scale=[], zeroPoint=[])(net)
    net.save(Path("a.tflite"))
    assert command(capsys, "inspect", "a.tflite")[0] == 0


def shared(schema: Any, graphs: int, tensors: int, axes: int, signatures: int = 0) -> bytes:
    """Return a file whose graphs share one list of tensors, these one list of sizes, and signatures one of inputs."""
    import flatbuffers

    builder = flatbuffers.Builder()

    def vector(start: Callable[[Any, int], object], table: int, count: int) -> int:
        start(builder, count)
        for _ in range(count):
            builder.PrependUOffsetTRelative(table)
        return int(builder.EndVector())

    sizes, name = builder.CreateNumpyVector(np.ones(axes, np.int32)), builder.CreateString("x")
    schema.TensorStart(builder)
    schema.TensorAddShape(builder, sizes)
    several = vector(schema.SubGraphStartTensorsVector, schema.TensorEnd(builder), tensors)
    schema.SubGraphStart(builder)
    schema.SubGraphAddTensors(builder, several)
    all_graphs = vector(schema.ModelStartSubgraphsVector, schema.SubGraphEnd(builder), graphs)
    schema.BufferStart(builder)
    buffers = vector(schema.ModelStartBuffersVector, schema.BufferEnd(builder), 1)
    schema.TensorMapStart(builder)
    schema.TensorMapAddName(builder, name)
    inputs = vector(schema.SignatureDefStartInputsVector, schema.TensorMapEnd(builder), signatures)
    schema.SignatureDefStart(builder)
    schema.SignatureDefAddInputs(builder, inputs)
    all_signatures = vector(schema.ModelStartSignatureDefsVector, schema.SignatureDefEnd(builder), signatures)
    schema.ModelStart(builder)
    schema.ModelAddVersion(builder, 3)
    schema.ModelAddSubgraphs(builder, all_graphs)
    schema.ModelAddBuffers(builder, buffers)
    schema.ModelAddSignatureDefs(builder, all_signatures)
    builder.Finish(schema.ModelEnd(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


@pytest.mark.parametrize("counts", [(9000, 9000, 1), (1, 9000, 9000), (400, 400, 400), (1, 1, 1, 9000)])
def test_lists_that_a_tflite_file_shares(
    counts: tuple[int, ...], schema: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """A few kilobytes hold a billion sizes: reading them took hours."""
    Path("a.tflite").write_bytes(shared(schema, *counts))
    start = time.process_time()
    for call in (("inspect", "a.tflite"), ("convert", "a.tflite", "a.onnx")):
        problem = "its tables share lists of more entries than it has bytes for"
        assert command(capsys, *call) == (2, "", f"error: a.tflite: not a TFLite file, or truncated: {problem}\n")
    assert time.process_time() - start < 30


# Paddle


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """Return a program of one resize as a message; its file is a.pdmodel."""
    package = importlib.util.find_spec("paddle")
    if package is None or package.origin is None:
        pytest.skip("pip install 'ir-interp[paddle]'")
    from ir_interp.converters.frameworks.paddle.reading import write_resize
    from ir_interp.converters.sources.model_description import Resize

    attributes = {"align_corners": False, "align_mode": 0, "data_layout": "NCHW", "scale": [2.0, 2.0]}
    sizes = {"out_d": -1, "out_h": -1, "out_w": -1}
    x = np.zeros((1, 2, 3, 4), np.float32)
    resize = Resize(
        type="nearest_interp_v2", name="up", dtype="float32", shape=x.shape, inputs=(), attributes=attributes | sizes
    )
    write_resize(resize, x, Path("a.pdmodel"))
    # Of Paddle's messages alone: Paddle and TensorFlow crash in one process.
    file = Path(package.origin).parent / "base" / "proto" / "framework_pb2.py"
    module = importlib.util.spec_from_file_location("framework_pb2", file)
    assert module is not None
    assert module.loader is not None
    framework_pb2: Any = importlib.util.module_from_spec(module)
    module.loader.exec_module(framework_pb2)
    return framework_pb2.ProgramDesc.FromString(Path("a.pdmodel").read_bytes())


def operation(program: Any, kind: str) -> Any:
    return next(each for each in program.blocks[0].ops if each.type == kind)


def attribute(program: Any, name: str) -> Any:
    return next(each for each in operation(program, "nearest_interp_v2").attrs if each.name == name)


def of_type(name: str, kind: int) -> Change:
    """Return a change of the declared type of an attribute."""
    return lambda program: setattr(attribute(program, name), "type", kind)


def of_strings(program: Any) -> None:
    scale = attribute(program, "scale")
    scale.type = 5
    scale.strings[:] = ["2", "2"]


def fed_twice(program: Any) -> None:
    program.blocks[0].ops.add().CopyFrom(operation(program, "feed"))


def block_twice(program: Any) -> None:
    program.blocks.add().CopyFrom(program.blocks[0])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (of_type("scale", 0), "its attribute 'scale' is 0; expected a list of floats; save the program again"),
        (of_type("scale", 9), "its attribute 'scale' is 0; expected a list of floats; save the program again"),
        (of_type("scale", 14), "its attribute 'scale' is None; expected a list of floats; save the program again"),
        (of_strings, "its attribute 'scale' is ['2', '2']; expected a list of floats; save the program again"),
        (of_type("align_corners", 0), "its attribute 'align_corners' is 0; expected of type bool; save the program"),
        (of_type("data_layout", 0), "its attribute 'data_layout' is 0; expected of type str; save the program again"),
        (fed_twice, "OpenVINO's Paddle frontend does not read the inputs that it lists"),
        (block_twice, "OpenVINO's Paddle frontend does not read the inputs that it lists"),
    ],
)
def test_a_program_of_paddle_that_lies_about_itself(
    change: Change, problem: str, program: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    change(program)
    Path("a.pdmodel").write_bytes(program.SerializePartialToString())
    before = sorted(Path().iterdir())
    code, printed, errors = command(capsys, "convert", "a.pdmodel", "a.onnx")
    assert (code, printed, errors.count("\n")) == (2, "", 1)
    assert errors.startswith("error: a.pdmodel")
    assert problem in errors
    assert sorted(Path().iterdir()) == before


OUTLIVES = """
import os, sys, ir_interp
path = os.path.abspath("a.pdmodel")
os.mkdir("other")
os.chdir("other")
ir_interp.load(path)
os.chdir("..")
os.rmdir("other")
ir_interp.convert(path, "a.xml")
"""


def test_a_process_outlives_the_folder_in_which_it_was_started(program: Any) -> None:
    """Paddle's process died of it in the next call."""
    done = subprocess.run([sys.executable, "-c", OUTLIVES], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# IR


def test_a_size_that_its_type_does_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    import openvino as ov
    import openvino.opset11 as ops

    x = ops.parameter([1, 1, 2**40, 4], np.float32, name="x")
    sizes = ops.gather(ops.shape_of(x, "i32"), np.array([2, 3]), np.array(0))
    y = ops.interpolate(x, sizes, "linear", "sizes", axes=np.array([2, 3]))
    ov.save_model(ov.Model([y], [x]), "a.xml")
    code, _, errors = command(capsys, "inspect", "a.xml")
    assert (code, errors.count("\n")) == (2, 1)
    assert "cannot be computed of shape [1, 1, 1099511627776, 4]" in errors
