"""TensorRT layers: what a builder and DLA take, networks read and written, and the Python that builds layers."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import (
    Arithmetic,
    AtRunTime,
    Coordinates,
    Cubic,
    InexactError,
    Linear,
    Nearest,
    ReadError,
    ResizeOp,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
)
from ir_interp.converters import tensorrt as tensorrt_layer
from ir_interp.converters.audit.auditing import audit
from ir_interp.converters.dialects.tensorrt import DIALECT
from ir_interp.converters.runtimes import tensorrt
from ir_interp.errors import SpecError
from ir_interp.translation.dialect import Context, Semantics
from ir_interp.translation.meaning import meaning
from tests.support import fake_tensorrt as trt
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate
from tests.support.places import ROOT

IMAGE: dict[str, Any] = {"shape": [1, 1, 4, 6], "dtype": "float32"}
FLOAT = trt.DataType.FLOAT


def network_of(shape: Sequence[int], dtype: trt.DataType = FLOAT) -> tuple[trt.INetworkDefinition, trt.ITensor]:
    network = trt.INetworkDefinition()
    return network, network.add_input("x", dtype, shape)


def saved(folder: Path, *layers: dict[str, Any]) -> Path:
    path = folder / "layers.json"
    path.write_text(json.dumps({"dialect": "tensorrt", "layers": layers}))
    return path


def op_of(spec: ResizeSpec, name: str = "up") -> ResizeOp:
    return ResizeOp(name=name, where="here", spec=spec, dialect="onnx", version=19)


# What a builder takes


@pytest.mark.parametrize(
    ("settings", "context", "reason"),
    [
        (
            {"scales": (1, 1, 2, 2)},
            {"shape": (1, 3, 8, 8), "dtype": "uint8"},
            "IResizeLayer takes float16, float32, bfloat16, int8, not uint8",
        ),
        ({"scales": (1,) * 9}, {"shape": (1,) * 9}, "NEAREST takes rank 1 to 8, not 9"),
        ({"shape": ()}, {"shape": ()}, "NEAREST takes rank 1 to 8, not 0"),
        ({"resize_mode": "CUBIC", "scales": (2,)}, {"shape": (8,)}, "CUBIC takes rank 2 to 8, not 1"),
        (
            {"scales": (1, 1, 1, 1)},
            {"shape": (2, 1024, 1024, 1025)},
            "the input has 2149580800 elements; TensorRT takes 2147483648",
        ),
        (
            {"scales": (1, 1, 2, 2)},
            {"shape": (1, 512, 1024, 1025)},
            "the output has 2149580800 elements; TensorRT takes 2147483648",
        ),
        (
            {"shape": (2, 1024, 1024, 1025)},
            {"shape": (2, 1024, None, None)},
            "the output has 2149580800 elements; TensorRT takes 2147483648",
        ),
        (
            {"scales": None},
            {"shape": (1, 3, 8, 8)},
            "scales must be known when the network is built; only a shape may be an input at run time",
        ),
        ({"scales": None, "shape": None}, {}, "shape and scales are both given"),
        (
            {"resize_mode": "LINEAR", "shape": (2, 3, 8, 8)},
            {"shape": (1, 3, 8, 8)},
            "LINEAR resizes the innermost 3 axes only, not axis 0",
        ),
        (
            {"shape": (2, 3, 8, 8)},
            {"shape": (1, 3, 8, 8), "semantics": Semantics.DOCUMENT},
            "NEAREST resizes the innermost 3 axes only, not axis 0",
        ),
    ],
)
def test_what_tensorrt_does_not_take(settings: dict[str, Any], context: dict[str, Any], reason: str) -> None:
    with pytest.raises(SpecError) as caught:
        DIALECT.parse(settings, Context(version=10, **context))
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("settings", "shape", "target"),
    [
        ({"scales": (1, 1, 1, 1)}, (1, 1024, 1024, 2048), Scales((1.0, 1.0, 1.0, 1.0))),
        ({"scales": (1, 1, 2, 2)}, (None, 512, 1024, 1024), Scales((1.0, 1.0, 2.0, 2.0))),  # an open length may be 0
        ({"shape": None}, None, AtRunTime.SIZES),
    ],
)
def test_what_it_takes(
    settings: dict[str, Any], shape: tuple[int | None, ...] | None, target: Scales | AtRunTime
) -> None:
    spec = DIALECT.parse(settings, Context(version=10, shape=shape, dtype="float16"))
    assert spec.target == target


def test_a_type_is_refused_when_written(tmp_path: Path) -> None:
    save_model(tmp_path / "a.onnx", 'g (uint8[1,1,4,6] x) => (uint8[1,1,8,12] y) <float[4] s = {1, 1, 2, 2}> '
               '{ [up] y = Resize <mode = "linear"> (x, "", s) }')  # fmt: skip
    with pytest.raises(ExceptionGroup) as caught:
        ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.py")
    assert [str(each) for each in caught.value.exceptions] == [
        "up: no exact form in tensorrt 10; IResizeLayer takes float16, float32, bfloat16, int8, not uint8; and several "
        "layers support float32 only, not uint8"
    ]
    assert not (tmp_path / "a.py").exists()


# DLA


@pytest.mark.parametrize(
    ("settings", "shape", "obstacles"),
    [
        ({"scales": (1, 1, 2, 2)}, None, ""),
        ({"scales": (1, 1, 32, 1)}, (4096, 1, 1, 8192), ""),
        ({"nearest_rounding": "CEIL", "scales": (1, 1, 2, 2)}, None, "NEAREST with ASYMMETRIC, FORMULA, CEIL"),
        ({"coordinate_transformation": "HALF_PIXEL", "nearest_rounding": "HALF_UP", "scales": (1, 1, 2, 2)}, None, ""),
        (
            {"coordinate_transformation": "HALF_PIXEL", "nearest_rounding": "HALF_DOWN", "scales": (1, 1, 2, 2)},
            None,
            "",
        ),
        (
            {"selector_for_single_pixel": "UPPER", "scales": (1, 1, 2, 2)},
            None,
            "NEAREST with ASYMMETRIC, UPPER, FLOOR",
        ),
        (
            {"scales": (1, 1, 33, 1.5)},
            None,
            "height or width by 33, 1.5; NEAREST takes integers from 1 to 32",
        ),
        ({"scales": (1, 2, 2, 2)}, None, "batch or channels are resized"),
        ({"scales": (1, 2, 2)}, None, "rank 3; it takes 4"),
        ({"shape": None}, None, "its output sizes are an input at run time"),
        (
            {"resize_mode": "LINEAR", "coordinate_transformation": "HALF_PIXEL", "shape": (1, 3, 16, 32)},
            (1, 3, 8, 8),
            "",
        ),
        (
            {"resize_mode": "LINEAR", "coordinate_transformation": "HALF_PIXEL", "shape": (1, 3, 16, 40)},
            (1, 3, None, 8),
            "height or width by 5; LINEAR takes integers from 1 to 4",
        ),
        (
            {"resize_mode": "LINEAR", "shape": (1, 3, 16, 4)},
            (1, 3, 8, 8),
            "LINEAR with ASYMMETRIC, FORMULA; height or width by 0.5; LINEAR takes integers from 1 to 4",
        ),
        (
            {"resize_mode": "CUBIC", "coordinate_transformation": "HALF_PIXEL", "scales": (1, 1, 2, 2)},
            None,
            "it takes no CUBIC",
        ),
        (
            {"shape": (4097, 1, 16384, 1)},
            (4097, 1, 8192, 1),
            "axis 0 of the input has size 4097; it takes up to 4096; "
            "axis 0 of the output has size 4097; it takes up to 4096; "
            "axis 2 of the output has size 16384; it takes up to 8192",
        ),
    ],
)
def test_dla(settings: dict[str, Any], shape: tuple[int | None, ...] | None, obstacles: str) -> None:
    context = Context(version=10, shape=shape)
    found = tensorrt.remarks(DIALECT.complete(settings, 10), context)
    assert found == ((("IRI031", f"would not run on DLA: {obstacles}"),) if obstacles else ())
    DIALECT.parse(settings, context)  # a GPU takes it


def test_dla_is_no_note_of_a_layer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has none need not read of it."""
    monkeypatch.setenv("COLUMNS", "200")
    layer = {"name": "up", "input": IMAGE, "resize_mode": "LINEAR", "scales": [1, 1, 2, 2]}
    for verb in (("inspect",), ("convert", str(tmp_path / "a.py"))):
        code, out, _ = command(capsys, verb[0], str(saved(tmp_path, layer)), *verb[1:])
        assert (code, "IRI031" in out) == (0, False)


def test_dla_is_told_by_an_audit_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    save_model(tmp_path / "a.onnx", 'g (float[1,1,4,6] x) => (float[1,1,6,9] y) <float[4] s = {1, 1, 1.5, 1.5}> '
               '{ [up] y = Resize <mode = "linear"> (x, "", s) }')  # fmt: skip
    (tmp_path / "layer.xml").write_text(interpolate('axes="2,3" mode="linear"', out=(1, 1, 6, 9), dtype=""))
    scales = "height or width by 1.5, 1.5; LINEAR takes integers from 1 to 4\n"
    messages = {"a.onnx": f"IRI031 would not run on DLA: {scales}", "layer.xml": f"ALIGN_CORNERS, FORMULA; {scales}"}
    for name, message in messages.items():
        code, out, _ = command(capsys, "audit", str(tmp_path / name))
        assert "IRI031" not in out
        code, out, _ = command(capsys, "audit", str(tmp_path / name), "--select", "IRI031")
        assert code == 0
        assert message in out


def test_an_audit_says_nothing_of_dla_where_tensorrt_refuses(tmp_path: Path) -> None:
    save_model(tmp_path / "a.onnx", 'g (float[1,1,4,6] x) => (float[1,1,2,3] y) <float[4] s = {1, 1, 0.5, 0.5}> '
               '{ [up] y = Resize <mode = "linear", antialias = 1> (x, "", s) }')  # fmt: skip
    (row,), _ = audit([tmp_path / "a.onnx"])
    assert "IRI031" not in {each.code for each in row.findings}


# Networks that are read


def test_a_network() -> None:
    network, x = network_of((1, 3, 8, 8))
    network.add_activation(x)
    layer = network.add_resize(x)
    layer.name = "up"
    layer.resize_mode = trt.InterpolationMode.CUBIC
    layer.coordinate_transformation = trt.ResizeCoordinateTransformation.HALF_PIXEL
    layer.selector_for_single_pixel = trt.ResizeSelector.UPPER
    layer.exclude_outside = True
    layer.cubic_coeff = -0.5
    layer.shape = (1, 3, 16, 1)
    (op,) = tensorrt_layer.load(network)
    assert (op.name, op.where, op.dialect, op.version) == ("up", 'tensorrt:layer["up"]', "tensorrt", 10)
    assert (op.shape, op.dtype) == ((1, 3, 8, 8), "float32")
    assert op.spec.kernel == Cubic(a=-0.5, exclude_outside=True)
    assert op.spec.coordinates is Coordinates.PYTORCH_HALF_PIXEL
    assert op.spec.target == Sizes((1, 3, 16, 1))
    assert op.spec.arithmetic is Arithmetic.TENSORRT
    assert op.diagnostics == ()


def test_a_network_without_a_resize() -> None:
    network, x = network_of((1, 3, 8, 8))
    network.add_activation(x)
    assert tensorrt_layer.load(network) == []


def test_a_layer_with_scales_and_an_open_shape() -> None:
    network, x = network_of((-1, 3, -1, 8), trt.DataType.HALF)
    layer = network.add_resize(x)
    layer.scales = [1.0, 1.0, 2.0, 0.5]
    layer.shape = (-1, 3, -1, 4)  # what the network computes of them
    op = tensorrt_layer.read_layer(layer)
    assert (op.shape, op.dtype, op.spec.target) == ((None, 3, None, 8), "float16", Scales((1.0, 1.0, 2.0, 0.5)))
    assert op.spec.kernel == Nearest(rounding=Rounding.FLOOR)
    assert op.run(np.zeros((1, 3, 4, 8))).shape == (1, 3, 8, 4)


def test_a_layer_whose_lengths_are_an_input() -> None:
    network, x = network_of((1, 3, -1, -1))
    layer = network.add_resize(x)
    layer.shape = (1, 3, 8, 8)  # which the second input overrides
    layer.set_input(1, network.add_input("lengths", trt.DataType.INT32, (4,)))
    (op,) = tensorrt_layer.load(network)
    assert (op.spec.target, op.spec.axes) == (AtRunTime.SIZES, None)
    assert op.run(np.zeros((1, 3, 4, 6)), sizes=(1, 3, 5, 7)).shape == (1, 3, 5, 7)


def test_a_layer_that_is_told_nothing_keeps_its_input() -> None:
    network, x = network_of((1, 1, 4, 6))
    network.add_resize(x)
    (op,) = tensorrt_layer.load(network)
    image = np.arange(24.0).reshape(1, 1, 4, 6)
    np.testing.assert_array_equal(op.run(image), image)


def test_a_layer_whose_input_is_told() -> None:
    network, x = network_of((-1, -1, -1, -1))
    layer = network.add_resize(x)
    layer.resize_mode = trt.InterpolationMode.LINEAR
    layer.shape = (1, 1, 8, 8)
    op = tensorrt_layer.read_layer(layer, shape=(1, 1, 4, 4))
    assert (op.shape, op.spec.kernel) == ((1, 1, 4, 4), Linear())


def test_a_layer_that_contradicts_itself() -> None:
    network, x = network_of((1, 3, 8, 8))
    layer = network.add_resize(x)
    layer.name = "up"
    layer.resize_mode = trt.InterpolationMode.CUBIC
    layer.shape = (1, 6, 16, 16)
    with pytest.raises(ReadError) as caught:
        tensorrt_layer.load(network)
    assert str(caught.value) == 'tensorrt:layer["up"]: CUBIC resizes the innermost 2 axes only, not axis 1'


def test_a_layer_of_a_type_that_is_not_resized() -> None:
    network, x = network_of((1, 3, 8, 8), trt.DataType.INT32)
    network.add_resize(x).scales = [1, 1, 2, 2]
    with pytest.raises(ReadError) as caught:
        tensorrt_layer.load(network)
    assert str(caught.value).endswith("IResizeLayer takes float16, float32, bfloat16, int8, not int32")


def test_tensorrt_is_never_imported() -> None:
    assert "tensorrt" not in sys.modules


# Networks that are written

HALF_PIXEL_UP = ResizeSpec(kernel=Linear(), axes=(2, 3), target=Sizes((8, 12)), arithmetic=Arithmetic.ONNXRUNTIME)
AT_RUN_TIME = ResizeSpec(kernel=Linear(), target=AtRunTime.SIZES, arithmetic=Arithmetic.ONNXRUNTIME)


def test_a_layer_is_added() -> None:
    network, x = network_of((1, 3, 4, 6))
    layer = tensorrt_layer.apply(network, x, op_of(HALF_PIXEL_UP))
    assert isinstance(layer, trt.IResizeLayer)
    assert (layer.name, layer.resize_mode.name, layer.shape) == ("up", "LINEAR", (1, 3, 8, 12))
    assert layer.coordinate_transformation is trt.ResizeCoordinateTransformation.HALF_PIXEL
    (op,) = tensorrt_layer.load(network)
    assert meaning(op.spec, op.shape) == meaning(HALF_PIXEL_UP, op.shape)


def test_a_layer_is_set() -> None:
    network, x = network_of((1, 3, 4, 6))
    layer = network.add_resize(x)
    layer.name = "mine"
    layer.resize_mode = trt.InterpolationMode.CUBIC
    layer.exclude_outside = True
    layer.selector_for_single_pixel = trt.ResizeSelector.UPPER
    layer.shape = (1, 3, 5, 5)
    same = tensorrt_layer.apply(network, network.get_layer(0), op_of(HALF_PIXEL_UP))
    assert (network.num_layers, same.name, same.shape, same.exclude_outside) == (1, "mine", (1, 3, 8, 12), False)
    (op,) = tensorrt_layer.load(network)
    assert meaning(op.spec, op.shape) == meaning(HALF_PIXEL_UP, op.shape)


def test_lengths_of_run_time_are_an_input() -> None:
    network, x = network_of((1, 3, -1, -1))
    lengths = network.add_input("lengths", trt.DataType.INT64, (4,))
    layer = tensorrt_layer.apply(network, x, op_of(AT_RUN_TIME), lengths=lengths)
    assert layer.get_input(1) is lengths
    (op,) = tensorrt_layer.load(network)
    assert (op.spec.target, op.spec.kernel) == (AtRunTime.SIZES, Linear())


def test_lengths_of_run_time_are_whole_numbers() -> None:
    network, x = network_of((1, 3, -1, -1))
    with pytest.raises(SpecError) as caught:
        tensorrt_layer.apply(network, x, op_of(AT_RUN_TIME), lengths=network.add_input("lengths", FLOAT, (4,)))
    assert str(caught.value) == "up: lengths are float32; IResizeLayer takes int32 or int64"
    assert network.num_layers == 0


def test_a_layer_takes_the_shape_of_its_tensor() -> None:
    """A scale of 1.4 makes 7 of 5 in float32, in TensorRT too: the step is 5 / 7, which is 1 / 1.4 on this tensor."""
    spec = ResizeSpec(
        kernel=Linear(),
        coordinates=Coordinates.ALIGN_CORNERS,
        axes=(2,),
        target=Scales((1.4,)),
        arithmetic=Arithmetic.ONNXRUNTIME,
    )
    network, x = network_of((1, 2, 5, 7))
    assert tensorrt_layer.apply(network, x, op_of(spec)).scales == (1.0, 1.0, 1.4, 1.0)


def refusal(network: trt.INetworkDefinition, at: Any, spec: ResizeSpec) -> str:
    count = network.num_layers
    with pytest.raises(InexactError) as caught:
        tensorrt_layer.apply(network, at, op_of(spec))
    assert network.num_layers == count
    return str(caught.value)


def test_what_no_layer_computes_is_refused() -> None:
    network, x = network_of((1, 3, 4, 6))
    simple = ResizeSpec(kernel=Nearest(rounding=Rounding.SIMPLE), axes=(2, 3), target=Sizes((2, 12)))
    assert refusal(network, x, simple).startswith("up: no exact form in tensorrt 10; the closest form has ")
    _, octets = network_of((1, 3, 4, 6), trt.DataType.UINT8)
    assert refusal(network, octets, HALF_PIXEL_UP) == (
        "up: no exact form in tensorrt 10; IResizeLayer takes float16, float32, bfloat16, int8, not uint8"
    )
    assert refusal(network, x, AT_RUN_TIME) == (
        "up: no exact form in tensorrt; its sizes are known at run time only; pass their tensor as lengths"
    )


def test_a_layer_does_not_get_lengths_of_another_kind() -> None:
    network, x = network_of((1, 3, 4, 6))
    layer = network.add_resize(x)
    layer.scales = [1, 1, 2, 2]
    assert refusal(network, layer, HALF_PIXEL_UP) == (
        "up: no exact form in tensorrt; the layer has scales, and would be given a shape; add a new one to its input"
    )
    assert layer.resize_mode is trt.InterpolationMode.NEAREST
    layer.set_input(1, network.add_input("lengths", trt.DataType.INT32, (4,)))
    assert "the layer has a second input, and would be given a shape" in refusal(network, layer, HALF_PIXEL_UP)


def test_the_python_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = ROOT
    (code,) = re.findall(r"```python\n(.*?)```", (root / "docs" / "tensorrt.md").read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["exports.py", "yolo", "yolo.onnx"])
    runpy.run_path(str(root / "samples" / "exports.py"), run_name="__main__")
    network, x = network_of((1, 16, 8, 8))
    scope: dict[str, Any] = {"network": network, "x": x}
    exec(code, scope)
    assert scope["again"].spec.target == scope["op"].spec.target
    assert meaning(scope["again"].spec) == meaning(scope["op"].spec)


# A script


def built(script: str, name: str, *more: Any) -> trt.INetworkDefinition:
    """Run one function of a script on a new network, and return that."""
    scope: dict[str, Any] = {}
    exec(compile(script, "script.py", "exec"), scope)
    network, x = network_of((1, 1, 4, 6))
    assert isinstance(scope[name](network, x, *more), trt.ITensor)
    return network


def scripted(folder: Path, *layers: dict[str, Any]) -> str:
    ir_interp.convert(saved(folder, *layers), folder / "layers.py")
    return (folder / "layers.py").read_text()


@pytest.fixture
def _tensorrt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorrt", trt)


@pytest.mark.usefixtures("_tensorrt")
@pytest.mark.parametrize(
    "settings",
    [
        {"resize_mode": "LINEAR", "coordinate_transformation": "ALIGN_CORNERS", "shape": [1, 1, 8, 3]},
        {"resize_mode": "NEAREST", "nearest_rounding": "HALF_DOWN", "scales": [1, 1, 2, 0.5]},
        {"resize_mode": "CUBIC", "cubic_coeff": -0.5, "exclude_outside": True, "scales": [1, 1, 2, 2]},
        {
            "resize_mode": "LINEAR",
            "coordinate_transformation": "HALF_PIXEL",
            "selector_for_single_pixel": "UPPER",
            "shape": [1, 1, 1, 12],
        },
        {"resize_mode": "LINEAR", "coordinate_transformation": "HALF_PIXEL", "shape": None},
    ],
)
def test_a_script_builds_what_was_read(settings: dict[str, Any], tmp_path: Path) -> None:
    layer = {"name": "up", "input": IMAGE, **settings}
    script = scripted(tmp_path, layer)
    lengths = [trt.ITensor("lengths", trt.DataType.INT32, (4,))] if settings.get("shape", ()) is None else []
    network = built(script, "add_up", *lengths)
    made = tensorrt_layer._typed(network.get_layer(0))
    assert made.name == "up"
    for name, value in settings.items():
        if value is not None:
            given = getattr(made, name)
            assert (given.name if isinstance(given, Enum) else given) == (
                tuple(value) if isinstance(value, list) else value
            )
    ((again,), (op,)) = tensorrt_layer.load(network), ir_interp.load(saved(tmp_path, layer))
    assert (again.spec, again.shape, again.dtype) == (op.spec, op.shape, op.dtype)


def test_the_text_of_a_script(tmp_path: Path) -> None:
    layers: list[dict[str, Any]] = [
        {"name": "up/2x", "input": IMAGE, "resize_mode": "LINEAR", "shape": [1, 1, 8, 3]},
        {"name": "to", "input": IMAGE, "resize_mode": "LINEAR", "shape": None},
    ]
    assert (
        scripted(tmp_path, *layers)
        == """\
import tensorrt as trt


def add_up_2x(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    layer = network.add_resize(x)
    layer.name = 'up/2x'
    layer.resize_mode = trt.InterpolationMode.LINEAR
    layer.coordinate_transformation = trt.ResizeCoordinateTransformation.ASYMMETRIC
    layer.shape = (1, 1, 8, 3)
    return layer.get_output(0)


def add_to(network: trt.INetworkDefinition, x: trt.ITensor, lengths: trt.ITensor) -> trt.ITensor:
    layer = network.add_resize(x)
    layer.name = 'to'
    layer.resize_mode = trt.InterpolationMode.LINEAR
    layer.coordinate_transformation = trt.ResizeCoordinateTransformation.ASYMMETRIC
    layer.set_input(1, lengths)
    return layer.get_output(0)
"""
    )


@pytest.mark.usefixtures("_tensorrt")
@pytest.mark.parametrize("name", ["2x", "größe", "a b", "x\n    import os", "'''", "class", ""])
def test_a_script_of_an_odd_name(name: str, tmp_path: Path) -> None:
    script = scripted(tmp_path, {"name": name, "scales": [1, 1, 2, 2]})
    functions = [line.split("(")[0].removeprefix("def ") for line in script.splitlines() if line.startswith("def ")]
    assert len(functions) == 1
    assert built(script, functions[0]).get_layer(0).name == name


@pytest.mark.usefixtures("_tensorrt")
def test_a_script_of_names_that_differ_in_punctuation(tmp_path: Path) -> None:
    """One function for every layer: none may take the name of another."""
    layers = [{"name": name, "scales": [1, 1, 2, scale]} for name, scale in (("a/b", 2), ("a.b", 3), ("", 4), ("", 5))]
    script = scripted(tmp_path, *layers)
    names = [line.split("(")[0].removeprefix("def ") for line in script.splitlines() if line.startswith("def ")]
    made = [tensorrt_layer._typed(built(script, name).get_layer(0)) for name in names]
    assert [(each.name, each.scales[3]) for each in made] == [("a/b", 2), ("a.b", 3), ("", 4), ("", 5)]


# JSON


def test_a_shape_of_run_time_is_null_in_json(tmp_path: Path) -> None:
    save_model(tmp_path / "a.onnx", 'g (float[1,1,h,w] x, int64[4] z) => (float[1,1,m,n] y) '
               '{ [up] y = Resize <mode = "linear"> (x, "", "", z) }')  # fmt: skip
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["layers"] == [
        {
            "name": "up",
            "input": {"shape": [1, 1, None, None], "dtype": "float32"},
            "resize_mode": "LINEAR",
            "coordinate_transformation": "HALF_PIXEL",
            "selector_for_single_pixel": "FORMULA",
            "shape": None,
        }
    ]
    (op,) = ir_interp.load(tmp_path / "a.json")
    assert (op.spec.target, op.spec.kernel) == (AtRunTime.SIZES, Linear())
    assert ir_interp.convert(tmp_path / "a.json", tmp_path / "back.onnx").verification


def test_scales_of_run_time_are_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "a.onnx", 'g (float[1,1,h,w] x, float[4] s) => (float[1,1,m,n] y) '
               '{ [up] y = Resize <mode = "linear"> (x, "", s) }')  # fmt: skip
    with pytest.raises(ExceptionGroup) as caught:
        ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.json")
    assert [str(each) for each in caught.value.exceptions] == [
        "up: no exact form in tensorrt 10; scales must be known when the network is built; only a shape may be an "
        "input at run time"
    ]
