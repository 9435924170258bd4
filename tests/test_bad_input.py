"""Bad input: each kind is one clear error, exit code 2, and nothing is written."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_interp
from ir_interp.cli.main import main
from tests.support.places import ROOT
from tests.support.runtimes import onnx_model, onnxruntime_resize

BEYOND_UTF8 = bytes(range(256)) * 8
SHAPE = (1, 1, 4, 6)


def pasted(
    data: str = 'axes="2,3" mode="linear" align_corners="0"',
    *,
    version: str = "opset1",
    kind: str = "Interpolate",
    name: str = "up",
    out: Sequence[int] = (1, 1, 8, 12),
) -> str:
    """Return one layer as text."""
    return (
        f'<layer id="0" name="{name}" type="{kind}" version="{version}"><data {data}/>'
        f"<input>{_port(0, SHAPE)}{_port(1, (2,))}</input><output>{_port(2, out)}</output></layer>"
    )


def _port(number: int, shape: Sequence[int], precision: str = "FP32") -> str:
    dims = "".join(f"<dim>{length}</dim>" for length in shape)
    return f'<port id="{number}" precision="{precision}">{dims}</port>'


def net(
    data: str,
    target: str = 'element_type="i64" shape="2" offset="0" size="16"',
    *,
    version: int = 1,
    out: Sequence[int] = (1, 1, -1, -1),
    layers: str = "",
) -> str:
    """Return a net of one Interpolate whose second input is the Const ``target``, with further ``layers``."""
    return (
        '<net name="n" version="11"><layers>'
        '<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,1,4,6" element_type="f32"/>'
        f"<output>{_port(0, SHAPE)}</output></layer>"
        f'<layer id="1" name="target" type="Const" version="opset1"><data {target}/>'
        f"<output>{_port(0, (2,), 'I64')}</output></layer>"
        f'<layer id="2" name="up" type="Interpolate" version="opset{version}"><data {data}/>'
        f"<input>{_port(0, SHAPE)}{_port(1, (2,), 'I64')}</input><output>{_port(2, out)}</output></layer>"
        '<layer id="3" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>'
        f"{layers}</layers><edges>"
        '<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>'
        '<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>'
        '<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>'
        "</edges></net>"
    )


def resize(attributes: dict[str, Any], *, op: str = "Resize", opset: int = 18, **given: Any) -> onnx.ModelProto:
    """Return a model of one node named up."""
    model = onnx_model(op, opset, SHAPE, np.float32, attributes, **given)
    model.graph.node[0].name = "up"
    return model


Fails = Callable[..., str]


@pytest.fixture
def fails(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Fails:
    """Return a check that a command line, run in the folder of its files, is refused as bad input; it returns why."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IR_INTERP_TRACEBACK", raising=False)

    def check(*arguments: str) -> str:
        before = _contents(tmp_path)
        code = main(arguments)
        printed, errors = capfd.readouterr()
        assert (code, printed) == (2, "")
        assert _contents(tmp_path) == before
        assert errors.startswith("error: ")
        assert errors.count("\n") == 1, errors
        assert "unexpected" not in errors
        return errors.removeprefix("error: ").removesuffix("\n")

    return check


def _contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def fails_to_load(fails: Fails, tmp_path: Path) -> Callable[[str, str | bytes], str]:
    """Return a check that a file of this content is refused for the same reason by every verb that reads it."""

    def check(name: str, content: str | bytes) -> str:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
        (tmp_path / "out").mkdir()
        reason = fails("inspect", name)
        assert fails("inspect", name, "--json") == reason
        assert fails("run", name, "--input", "x.npy", "--output", "out/y.npy") == reason
        for end in {".xml": ("onnx", "json", "py"), ".onnx": ("xml", "json", "py"), ".json": ("xml", "onnx", "py")}[
            Path(name).suffix
        ]:
            assert fails("convert", name, f"out/result.{end}") == reason
        return reason

    return check


LoadFails = Callable[[str, str | bytes], str]


# Files that are not what their name says


def test_no_xml(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", "hello\n").startswith("a.xml: not XML: Start tag expected, '<' not found")


def test_an_empty_xml(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", "").startswith("a.xml: not XML: ")


def test_an_xml_that_is_cut_off(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted()[:-20]).startswith("a.xml: not XML: ")


def test_an_xml_of_garbage(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", BEYOND_UTF8).startswith("a.xml: not XML: ")


def test_a_layer_in_broken_utf8(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", b"<layer ... name='\xff'>").startswith("a.xml: not XML: ")


def test_an_xml_nested_deeply(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", "<a>" * 100_000 + "</a>" * 100_000).startswith("a.xml: not XML: ")


def test_layers_nested_deeply(fails_to_load: LoadFails) -> None:
    text = '<layer ... type="Interpolate">' * 50_000
    assert fails_to_load("a.xml", text).startswith("a.xml: not XML: ")


def test_an_xml_of_another_kind(fails_to_load: LoadFails) -> None:
    reason = fails_to_load("a.xml", "<html><body/></html>")
    assert reason == "a.xml: <html> is neither an IR nor a layer; expected one of layer, layers, net"


def test_a_root_that_is_misspelt(fails_to_load: LoadFails) -> None:
    reason = fails_to_load("a.xml", "<Layer/>")
    assert reason == (
        "a.xml: <Layer> is neither an IR nor a layer; expected one of layer, layers, net; did you mean 'layer'?"
    )


@pytest.mark.parametrize(("version", "said"), [('version="9"', "'9'"), ('version="12"', "'12'"), ("", "None")])
def test_an_ir_of_another_version(version: str, said: str, fails_to_load: LoadFails) -> None:
    reason = fails_to_load("a.xml", f"<net {version}><layers/></net>")
    assert reason == f"a.xml@version: IR version {said} is not supported; expected 10 or 11"


DOCUMENT_TYPE = "a.xml: declares a document type; an IR has none, and entities are not expanded"


def test_an_xml_bomb(fails_to_load: LoadFails) -> None:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    prolog = f'<?xml version="1.0"?><!DOCTYPE net [<!ENTITY e0 "lol">{entities}]>'
    assert fails_to_load("a.xml", prolog + '<net name="&e9;" version="11"/>') == DOCUMENT_TYPE


def test_an_xml_bomb_in_text(fails_to_load: LoadFails) -> None:
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    prolog = f'<!DOCTYPE net [<!ENTITY e0 "lol">{entities}]>'
    assert fails_to_load("a.xml", prolog + '<net version="11"><layers>&e9;</layers></net>') == DOCUMENT_TYPE


def test_an_external_entity(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('<layer type="Secret" version="opset1"/>')
    prolog = f'<!DOCTYPE net [<!ENTITY e SYSTEM "{(tmp_path / "secret").as_uri()}">]>'
    reason = fails_to_load("a.xml", prolog + '<net version="11"><layers>&e;</layers></net>')
    assert reason == DOCUMENT_TYPE


def test_an_external_document_type(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", '<!DOCTYPE net SYSTEM "http://localhost:1/net.dtd"><net version="11"/>') == (
        DOCUMENT_TYPE
    )


def test_a_document_type_around_dots(fails_to_load: LoadFails) -> None:
    prolog = '<!DOCTYPE layer [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
    assert fails_to_load("a.xml", prolog + '<layer ... name="&e;"/>').startswith("a.xml: ")


def test_an_empty_onnx(fails_to_load: LoadFails) -> None:
    reason = fails_to_load("a.onnx", "")
    assert reason == "a.onnx: not an ONNX model: it holds no graph or names no operator set"


@pytest.mark.parametrize("content", [b"This is a text.\n" * 9, BEYOND_UTF8, b'<?xml version="1.0"?><net/>'])
def test_no_onnx(content: bytes, fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.onnx", content).startswith("a.onnx: not an ONNX model, or cut off: ")


def test_an_onnx_that_is_cut_off(fails_to_load: LoadFails) -> None:
    whole = resize({"mode": "linear", "axes": [2, 3]}, sizes=[8, 12]).SerializeToString()
    assert fails_to_load("a.onnx", whole[: len(whole) // 2]).startswith("a.onnx: not an ONNX model, or cut off: ")


def test_an_onnx_cut_off_anywhere(fails: Fails, tmp_path: Path) -> None:
    whole = resize({"mode": "linear", "axes": [2, 3]}, sizes=[8, 12]).SerializeToString()
    for length in range(0, len(whole), 7):
        (tmp_path / "a.onnx").write_bytes(whole[:length])
        assert fails("inspect", "a.onnx").startswith("a.onnx: not an ONNX model")


def test_no_json(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.json", "{dialect: tensorrt}") == (
        "a.json: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
    )


def test_an_empty_json(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.json", "") == "a.json: not JSON: Expecting value: line 1 column 1 (char 0)"


def test_a_json_of_garbage(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.json", BEYOND_UTF8).startswith("a.json: not JSON: ")


def test_a_json_nested_deeply(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.json", "[" * 100_000).startswith("a.json: not JSON: ")


def test_a_json_that_is_a_list(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.json", "[]") == "a.json: not an object with a dialect and layers"


@pytest.mark.parametrize("name", ["a.xml", "a.onnx", "a.json"])
def test_a_folder_in_place_of_a_file(name: str, fails: Fails, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    assert fails("inspect", name) == f"{name}: cannot be read: Is a directory"


@pytest.mark.parametrize("name", ["a.xml", "a.onnx", "a.json"])
def test_a_file_that_is_not_there(name: str, fails: Fails) -> None:
    assert fails("inspect", name) == f"{name}: cannot be read: No such file or directory"


def test_an_unknown_extension(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.onx").write_text("")
    reason = fails("inspect", "a.onx")
    assert reason == "a.onx: unknown file type '.onx'; expected one of .json, .onnx, .xml; did you mean '.onnx'?"


def test_an_unknown_conversion(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(pasted())
    assert fails("convert", "a.xml", "b.pb") == (
        "a.xml: no conversion from .xml to .pb; expected one of .onnx to .xml, .onnx to .onnx, .onnx to .json, "
        ".onnx to .py, .xml to .onnx, .xml to .json, .xml to .py, .json to .onnx, .json to .xml, .json to .py"
    )


# Layers of an IR


def test_an_unknown_layer_type(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted(kind="Interpolat")) == (
        "a.xml:layer[0 \"up\"]@type: layer type 'Interpolat' is not interpreted; "
        "expected one of Interpolate; did you mean 'Interpolate'?"
    )


def test_a_layer_of_another_kind(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted(kind="Convolution")) == (
        "a.xml:layer[0 \"up\"]@type: layer type 'Convolution' is not interpreted; expected one of Interpolate"
    )


def test_an_unknown_mode(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted('axes="2,3" mode="linera"')) == (
        "a.xml:layer[0 \"up\"]@mode: unknown value 'linera'; "
        "expected one of area, cubic, linear, linear_onnx, nearest; did you mean 'linear'?"
    )


def test_a_mode_of_a_later_version(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted('mode="bilinear_pillow"', version="opset4")) == (
        "a.xml:layer[0 \"up\"]@mode: unknown value 'bilinear_pillow'; "
        "expected one of cubic, linear, linear_onnx, nearest; did you mean 'linear_onnx'?"
    )


def test_an_unknown_coordinate_transformation(fails_to_load: LoadFails) -> None:
    data = 'mode="linear" coordinate_transformation_mode="half_pixl"'
    assert fails_to_load("a.xml", pasted(data, version="opset4")) == (
        "a.xml:layer[0 \"up\"]@coordinate_transformation_mode: unknown value 'half_pixl'; expected one of "
        "align_corners, asymmetric, half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn; did you mean 'half_pixel'?"
    )


def test_a_missing_mode(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted('axes="2,3"')) == (
        'a.xml:layer[0 "up"]@mode: missing; expected one of area, cubic, linear, linear_onnx, nearest'
    )


def test_missing_axes(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted('mode="linear"')) == 'a.xml:layer[0 "up"]: axes are missing'


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ("2,4", "axis 4 is out of range for an input of rank 4"),
        ("-5,3", "axis -5 is out of range for an input of rank 4"),
        ("2,2", "axes [2, 2] name an axis of an input of rank 4 twice"),
        ("2,-2", "axes [2, -2] name an axis of an input of rank 4 twice"),
        ("2;3", "'2;3' is not a list of integers"),
        ("height", "'height' is not a list of integers"),
        ("2,", "'2,' is not a list of integers"),
        ("9" * 5000, f"'{'9' * 5000}' is not a list of integers"),
    ],
    ids=["out of range", "below", "twice", "twice in two ways", "semicolon", "word", "comma", "endless"],
)
def test_axes_that_do_not_fit(axes: str, reason: str, fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted(f'axes="{axes}" mode="linear"')) == f'a.xml:layer[0 "up"]@axes: {reason}'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('align_corners="yes"', "@align_corners: 'yes' is no boolean; expected one of 0, 1, false, true"),
        ('pads_begin="-1,0,0,0"', ": pads must not be negative"),
        ('pads_begin="a"', "@pads_begin: 'a' is not a list of integers"),
    ],
)
def test_attributes_that_make_no_sense(data: str, reason: str, fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted(f'axes="2,3" mode="linear" {data}')) == f'a.xml:layer[0 "up"]{reason}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("half", "@cube_coeff: 'half' is not a number"),
        ("nan", ": the cubic coefficient must be finite, not nan"),
    ],
)
def test_coefficients_that_make_no_sense(text: str, reason: str, fails_to_load: LoadFails) -> None:
    layer = pasted(f'mode="cubic" cube_coeff="{text}"', version="opset4")
    assert fails_to_load("a.xml", layer) == f'a.xml:layer[0 "up"]{reason}'


def test_a_name_over_two_lines(fails_to_load: LoadFails) -> None:
    """The error stays one line whatever the file holds."""
    assert fails_to_load("a.xml", pasted('axes="2,3" mode="linera"', name="up&#10;error: down")).startswith("a.xml:")


def test_an_operation_set_of_someone_else(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted(version="extension")) == (
        'a.xml:layer[0 "up"]@version: not an operation set of OpenVINO\'s own'
    )


def test_a_layer_of_a_net_without_a_version(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    text = net('axes="2,3" mode="linear"').replace('type="Interpolate" version="opset1"', 'type="Interpolate"')
    assert fails_to_load("a.xml", text) == 'a.xml:layer[2 "up"]@version: missing; expected opset1 and up'


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('<layer id="1"', '<layer id="0"', 'layer[0 "target"]: layer id 0 appears twice'),
        ('<layer id="1"', '<layer id="one"', "@id: 'one' is not a number from 0"),
        ("<dim>4</dim>", "<dim>four</dim>", 'layer[0 "x"]/port[0]: a dimension is not an integer'),
        ('from-layer="1" from-port="0"', 'from-layer="1"', "@from-port: missing"),
        (
            'from-layer="1" from-port="0"',
            'from-layer="1" from-port="5"',
            'layer[1 "target"]: an edge starts at output port 5, which is not there',
        ),
        ('<layer id="1"', f'<layer id="{"1" * 5000}"', f"@id: '{'1' * 5000}' is not a number from 0"),
    ],
    ids=["id twice", "id", "dimension", "edge", "port", "endless id"],
)
def test_a_net_that_is_malformed(old: str, new: str, reason: str, fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    text = net('axes="2,3" mode="linear"').replace(old, new, 1)
    assert fails_to_load("a.xml", text) == f"a.xml:{reason}"


# Constants


def test_a_constant_beyond_the_bin(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(20))
    target = 'element_type="i64" shape="2" offset="8" size="16"'
    assert fails_to_load("a.xml", net('axes="2,3" mode="linear"', target)) == (
        'a.xml:layer[1 "target"]@offset: bytes 8 to 24 lie beyond the 20 bytes of a.bin'
    )


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (f'element_type="i64" shape="2" offset="{10**30}" size="16"', None),
        ('element_type="i64" shape="2" offset="-8" size="16"', "@offset: '-8' is not a number from 0"),
        ('element_type="i64" shape="2" size="16"', "@offset: missing"),
        ('element_type="i64" shape="2" offset="0" size="15"', "@size: 15 bytes for shape [2] of int64"),
        ('element_type="i64" shape="-1,-2" offset="0" size="16"', None),
        ('element_type="i64" shape="two" offset="0" size="16"', "@shape: 'two' is not a list of integers"),
        (
            'element_type="i46" shape="2" offset="0" size="16"',
            "@element_type: unknown value 'i46'; expected one of bf16, boolean, f16, f32, f64, f8e4m3, f8e5m2, "
            "i16, i32, i4, i64, i8, u16, u32, u4, u64, u8; did you mean 'i4'?",
        ),
    ],
    ids=["far offset", "negative offset", "no offset", "size", "negative shape", "shape", "type"],
)
def test_a_constant_that_is_malformed(
    target: str, reason: str | None, fails_to_load: LoadFails, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    said = fails_to_load("a.xml", net('axes="2,3" mode="linear"', target))
    assert said.startswith('a.xml:layer[1 "target"]')
    assert reason is None or said == f'a.xml:layer[1 "target"]{reason}'


def test_a_missing_bin(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", net('axes="2,3" mode="linear"')) == (
        'a.xml:layer[1 "target"]: the value is needed, but a.bin is missing'
    )


def test_a_folder_in_place_of_the_bin(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").mkdir()
    assert fails_to_load("a.xml", net('axes="2,3" mode="linear"')) == (
        'a.xml:layer[1 "target"]: the value is needed, but a.bin is missing'
    )


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        ((8,), "sizes [8] and axes [2, 3] differ in length"),
        ((8, 12, 16), "sizes [8, 12, 16] and axes [2, 3] differ in length"),
        ((8, -1), "sizes must be at least 0, and fit 64 bits: [8, -1]"),
    ],
)
def test_sizes_in_a_constant(sizes: tuple[int, ...], reason: str, fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array(sizes).tobytes())
    target = f'element_type="i64" shape="{len(sizes)}" offset="0" size="{8 * len(sizes)}"'
    assert fails_to_load("a.xml", net('axes="2,3" mode="linear"', target)) == f'a.xml:layer[2 "up"]: {reason}'


def test_sizes_without_axes_in_a_constant(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    reason = fails_to_load("a.xml", net('mode="linear"', version=11))
    assert reason == 'a.xml:layer[2 "up"]: sizes [8, 12] do not fit 4 axes'


@pytest.mark.parametrize(("scale", "said"), [(0.0, "0.0"), (-2.0, "-2.0"), (float("nan"), "nan"), (np.inf, "inf")])
def test_scales_in_a_constant(scale: float, said: str, fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([1, 1, 2, scale], np.float32).tobytes())
    target = 'element_type="f32" shape="4" offset="0" size="16"'
    text = net('mode="linear" shape_calculation_mode="scales"', target, version=11)
    assert fails_to_load("a.xml", text) == (
        f'a.xml:layer[2 "up"]: scales must be finite and greater than 0 as float32: [1.0, 1.0, 2.0, {said}]'
    )


def test_sizes_that_are_no_integers(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8.5, 12.0]).tobytes())
    text = net('axes="2,3" mode="linear"', 'element_type="f64" shape="2" offset="0" size="16"')
    assert fails_to_load("a.xml", text).startswith('a.xml:layer[2 "up"]')


def test_shape_arithmetic_that_cannot_be_computed(fails_to_load: LoadFails, tmp_path: Path) -> None:
    """A Gather along an axis that is not there."""
    (tmp_path / "a.bin").write_bytes(np.array([8, 99]).tobytes())
    ports = "".join(_port(number, (2,), "I64") for number in range(3))
    gather = (
        '<layer id="5" name="pick" type="Gather" version="opset1">'
        f"<input>{ports}</input><output>{_port(3, (2,), 'I64')}</output></layer>"
        '<layer id="6" name="axis" type="Const" version="opset1">'
        '<data element_type="i64" shape="" offset="0" size="8"/>'
        f"<output>{_port(0, (), 'I64')}</output></layer>"
    )
    text = net('axes="2,3" mode="linear"', layers=gather).replace(
        '<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>',
        '<edge from-layer="5" from-port="3" to-layer="2" to-port="1"/>'
        '<edge from-layer="1" from-port="0" to-layer="5" to-port="0"/>'
        '<edge from-layer="1" from-port="0" to-layer="5" to-port="1"/>'
        '<edge from-layer="6" from-port="0" to-layer="5" to-port="2"/>',
    )
    assert fails_to_load("a.xml", text).startswith('a.xml:layer[5 "pick"]: ')


def test_layers_that_feed_themselves(tmp_path: Path) -> None:
    """Sizes computed from themselves: a loop of edges, which must not loop the reader."""
    maximum = (
        '<layer id="5" name="loop" type="Maximum" version="opset1">'
        f"<input>{_port(0, (2,), 'I64')}{_port(1, (2,), 'I64')}</input><output>{_port(2, (2,), 'I64')}</output></layer>"
    )
    text = net('axes="2,3" mode="linear"', layers=maximum).replace(
        '<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>',
        '<edge from-layer="5" from-port="2" to-layer="2" to-port="1"/>'
        '<edge from-layer="5" from-port="2" to-layer="5" to-port="0"/>'
        '<edge from-layer="5" from-port="2" to-layer="5" to-port="1"/>',
    )
    (tmp_path / "a.xml").write_text(text)
    done = _program("inspect", str(tmp_path / "a.xml"))
    assert done.returncode in (0, 2)  # open sizes, or an error, but an answer
    assert "Traceback" not in done.stderr


def _program(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ir_interp", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False, cwd=ROOT)


# Nodes of an ONNX model


@pytest.mark.parametrize(
    ("attributes", "given", "reason"),
    [
        (
            {"mode": "linera"},
            {"scales": [1, 1, 2, 2]},
            "@mode: unknown value 'linera'; expected one of cubic, linear, nearest; did you mean 'linear'?",
        ),
        (
            {"mode": "linear", "axes": [2, 4]},
            {"sizes": [8, 12]},
            ": axis 4 is out of range for an input of rank 4",
        ),
        ({"mode": "linear", "axes": [2, 2]}, {"sizes": [8, 12]}, ": axes must not repeat: [2, 2]"),
        (
            {"mode": "linear", "axes": [2, -2]},
            {"sizes": [8, 12]},
            ": axes [2, -2] name an axis of an input of rank 4 twice",
        ),
        ({"mode": "linear", "axes": [2, 3]}, {"sizes": [8]}, ": sizes [8] and axes [2, 3] differ in length"),
        (
            {"mode": "linear"},
            {"sizes": [8, 12]},
            ": sizes [8, 12] do not fit 4 axes",
        ),
        (
            {"mode": "linear", "axes": [2, 3]},
            {"sizes": [8, 12], "scales": [2, 2]},
            ": sizes and scales are both given; they exclude each other",
        ),
        ({"mode": "linear"}, {}, ": sizes and scales are both missing; one of them is needed"),
        (
            {"mode": "linear"},
            {"scales": [1, 1, 0, 2]},
            ": scales must be finite and greater than 0 as float32: [1.0, 1.0, 0.0, 2.0]",
        ),
        (
            {"mode": "linear"},
            {"scales": [1, 1, -1, 2]},
            ": scales must be finite and greater than 0 as float32: [1.0, 1.0, -1.0, 2.0]",
        ),
        (
            {"mode": "linear"},
            {"scales": [1, 1, float("nan"), 2]},
            ": scales must be finite and greater than 0 as float32: [1.0, 1.0, nan, 2.0]",
        ),
        (
            {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
            {"scales": [1, 1, 2, 2]},
            ": tf_crop_and_resize needs a roi of a start and an end for every resized axis, not []",
        ),
        (
            {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
            {"scales": [1, 1, 2, 2], "roi": [0, 0, 1]},
            ": tf_crop_and_resize needs a roi of a start and an end for every resized axis, not [0.0, 0.0, 1.0]",
        ),
        (
            {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"},
            {"scales": [1, 1, 2, 2]},
            ": keep_aspect_ratio_policy not_larger needs sizes, not scales",
        ),
        (
            {"mode": "nearest", "antialias": 1},
            {"scales": [1, 1, 2, 2]},
            ": antialias needs mode linear or cubic, not nearest",
        ),
        (
            {"mode": "linear", "antialias": 2},
            {"scales": [1, 1, 2, 2]},
            "@antialias: unknown value '2'; expected one of 0, 1",
        ),
        ({"mode": 3}, {"scales": [1, 1, 2, 2]}, "@mode: unknown value '3'; expected one of cubic, linear, nearest"),
    ],
    ids=[
        "mode",
        "axes out of range",
        "axes twice",
        "axes twice in two ways",
        "sizes and axes",
        "sizes and rank",
        "sizes and scales",
        "neither",
        "zero scale",
        "negative scale",
        "NaN scale",
        "no roi",
        "odd roi",
        "policy and scales",
        "antialias nearest",
        "antialias 2",
        "mode number",
    ],
)
def test_a_node_that_is_malformed(
    attributes: dict[str, Any], given: dict[str, Any], reason: str, fails_to_load: LoadFails
) -> None:
    model = resize(attributes, **given)
    assert fails_to_load("a.onnx", model.SerializeToString()) == f'a.onnx:node[0 "up"]{reason}'


def test_a_roi_of_too_few_axes(fails: Fails, tmp_path: Path) -> None:
    words = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    (tmp_path / "a.onnx").write_bytes(resize(words, scales=[1, 1, 2, 2], roi=[0, 0, 1, 1]).SerializeToString())
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    assert (
        fails("run", "a.onnx", "--input", "x.npy", "--output", "y.npy")
        == 'a.onnx:node[0 "up"]: roi has 2 windows for 4 axes'
    )


def test_an_empty_roi(fails_to_load: LoadFails) -> None:
    model = resize(
        {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}, opset=11, scales=[1, 1, 2, 2]
    )
    assert [tensor.dims for tensor in model.graph.initializer if tensor.name == "no_roi"] == [[0]]
    assert fails_to_load("a.onnx", model.SerializeToString()) == (
        'a.onnx:node[0 "up"]: tf_crop_and_resize needs a roi of a start and an end for every resized axis, not []'
    )


def test_an_operator_of_another_set(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest"}, op="Upsample", opset=9, scales=[1, 1, 2, 2])
    model.opset_import[0].version = 1
    assert fails_to_load("a.onnx", model.SerializeToString()) == (
        'a.onnx:node[0 "up"]: Upsample of operator set 1 is not interpreted'
    )


def test_a_node_without_inputs(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    model.graph.node[0].ClearField("input")
    assert fails_to_load("a.onnx", model.SerializeToString()).startswith('a.onnx:node[0 "up"]')


def test_a_node_without_outputs(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest"}, scales=[1, 1, 2, 2])
    model.graph.node[0].ClearField("output")
    model.graph.node[0].ClearField("name")
    assert fails_to_load("a.onnx", model.SerializeToString()).startswith('a.onnx:node[0 ""]')


def test_sizes_of_a_wrong_type(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest", "axes": [2, 3]}, sizes=[8, 12])
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([8.5, 12.5], np.float32), "sizes"))
    assert fails_to_load("a.onnx", model.SerializeToString()).startswith('a.onnx:node[0 "up"]')


def test_an_initialiser_that_is_cut_off(fails_to_load: LoadFails) -> None:
    model = resize({"mode": "nearest", "axes": [2, 3]}, sizes=[8, 12])
    model.graph.initializer[0].raw_data = bytes(9)
    reason = fails_to_load("a.onnx", model.SerializeToString())
    assert reason.startswith("a.onnx:node[0 \"up\"]: the values of tensor 'sizes' cannot be read: ")


def test_an_input_of_an_unknown_type(fails: Fails, tmp_path: Path) -> None:
    model = resize({"mode": "nearest", "axes": [2, 3]}, sizes=[8, 12])
    model.graph.input[0].type.tensor_type.elem_type = 99
    model.graph.output[0].type.tensor_type.elem_type = 99
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    assert fails("inspect", "a.onnx").startswith("a.onnx")


def test_another_operator_set_only(fails_to_load: LoadFails) -> None:
    graph = helper.make_graph([helper.make_node("Op", ["x"], ["y"], domain="mine")], "g", [], [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("mine", 1)])
    reason = fails_to_load("a.onnx", model.SerializeToString())
    assert reason == "a.onnx: names no version of ONNX's own operator set"


# Layers as JSON


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"resize_mode": "LINEAL"},
            "@resize_mode: unknown value 'LINEAL'; expected one of CUBIC, LINEAR, NEAREST; did you mean 'LINEAR'?",
        ),
        ({"scales": [1, 1, 2, 2]}, ": shape and scales are both given"),
        ({"cubic_coeff": None}, "@cubic_coeff: null is no value; leave the setting out"),
        ({"shape": "8,12"}, "@shape: '8,12' is not a list of integers"),
        ({"shape": [1, 1, 8]}, ": sizes [1, 1, 8] do not fit 4 axes"),
        ({"shape": [1, 1, 8.5, 12]}, None),
        ({"shape": 8}, None),
        ({"shape": [1, 1, -8, 12]}, ": sizes must be at least 0, and fit 64 bits: [1, 1, -8, 12]"),
        ({"cubic_coeff": [1, 2], "resize_mode": "CUBIC"}, None),
        ({"input": {"shape": [1, 1, 4, 6], "dtype": "float99"}}, None),
        ({"input": {"shape": [1, 1, 4, 6], "dtype": 7}}, None),
        (
            {"input": {"shape": [1, 1, -4, 6]}},
            "@input: expected an object with a shape (lengths from 0, null where open) and a dtype",
        ),
        ({"input": "x"}, "@input: expected an object with a shape (lengths from 0, null where open) and a dtype"),
    ],
    ids=[
        "mode",
        "shape and scales",
        "coefficient null",
        "shape text",
        "rank",
        "shape fraction",
        "shape number",
        "negative shape",
        "coefficient list",
        "dtype",
        "dtype number",
        "negative length",
        "input text",
    ],
)
def test_a_json_layer_that_is_malformed(changes: dict[str, Any], reason: str | None, fails_to_load: LoadFails) -> None:
    layer = {
        "name": "up",
        "input": {"shape": [1, 1, 4, 6], "dtype": "float32"},
        "resize_mode": "LINEAR",
        "shape": [1, 1, 8, 12],
    } | changes
    said = fails_to_load("a.json", json.dumps({"dialect": "tensorrt", "version": 10, "layers": [layer]}))
    assert said.startswith("a.json:layers[0]")
    assert reason is None or said == f"a.json:layers[0]{reason}"


@pytest.mark.parametrize("end", ["xml", "onnx"])
def test_a_json_layer_of_an_unknown_input(end: str, fails: Fails, tmp_path: Path) -> None:
    layer = {"name": "up", "resize_mode": "LINEAR", "scales": [1, 1, 2, 2]}
    (tmp_path / "a.json").write_text(json.dumps({"dialect": "tensorrt", "layers": [layer]}))
    assert ir_interp.load("a.json")[0].run(np.zeros(SHAPE)).shape == (1, 1, 8, 12)
    assert "rank" in fails("convert", "a.json", f"b.{end}")


@pytest.mark.parametrize("text", ["NaN", "0", "-1", "Infinity"])
def test_json_scales_that_make_no_sense(text: str, fails_to_load: LoadFails) -> None:
    said = str(float(text))
    layer = f'{{"input": {{"shape": [1, 1, 4, 6]}}, "scales": [1, 1, 2, {text}]}}'
    assert fails_to_load("a.json", f'{{"dialect": "tensorrt", "layers": [{layer}]}}') == (
        f"a.json:layers[0]: scales must be finite and greater than 0 as float32: [1.0, 1.0, 2.0, {said}]"
    )


# Arrays and images to run on


@pytest.fixture
def runs_not(fails: Fails, tmp_path: Path) -> Callable[..., str]:
    """Return a check that a good layer is not run with this input and these options."""
    (tmp_path / "a.xml").write_text(pasted())
    (tmp_path / "out").mkdir()

    def check(*options: str, source: str = "x.npy", output: str = "out/y.npy") -> str:
        return fails("run", "a.xml", "--input", source, "--output", output, *options)

    return check


def test_an_array_of_a_wrong_rank(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 6), np.float32))
    assert runs_not() == 'the input has rank 2; a.xml:layer[0 "up"] takes rank 4'


def test_an_array_without_axes(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.float32(3))
    assert runs_not() == 'the input has rank 0; a.xml:layer[0 "up"] takes rank 4'


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--sizes", "8"], "sizes [8] and axes [2, 3] differ in length"),
        (["--sizes", "8,12,16"], "sizes [8, 12, 16] and axes [2, 3] differ in length"),
        (["--sizes", "-8,12"], "sizes must be at least 0, and fit 64 bits: [-8, 12]"),
        (["--sizes", "8x12"], "--sizes '8x12': expected integers with commas between them, as in 50,60"),
        (["--sizes", "8.5,12"], "--sizes '8.5,12': expected integers with commas between them, as in 50,60"),
        (["--scales", "two,2"], "--scales 'two,2': expected numbers with commas between them, as in 2,1.5"),
        (["--scales", "0,2"], "scales must be finite and greater than 0 as float32: [0.0, 2.0]"),
        (["--scales", "-1,2"], "scales must be finite and greater than 0 as float32: [-1.0, 2.0]"),
        (["--scales", "nan,2"], "scales must be finite and greater than 0 as float32: [nan, 2.0]"),
        (["--scales", "1e38,2"], None),
        (["--sizes", "8,12", "--scales", "2,2"], "sizes and scales are both given; they exclude each other"),
        (["--layer", "upp"], "a.xml: no resize named 'upp'; expected one of up; did you mean 'up'?"),
    ],
)
def test_options_that_make_no_sense(
    options: list[str], reason: str | None, runs_not: Callable[..., str], tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    said = runs_not(*options)
    assert reason is None or said == reason


def test_more_memory_than_the_limit(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    assert runs_not("--sizes", "1000000,1000000") == (
        "resizing [1, 1, 4, 6] to [1, 1, 1000000, 1000000] needs 3725.3 GiB; "
        "the limit (ir_interp.execute.MAX_BYTES) is 8 GiB"
    )


@pytest.mark.parametrize("sizes", ["9223372036854775807,1", "9223372036854775807,9223372036854775807", "0,99999999999"])
def test_far_more_memory_than_the_limit(sizes: str, runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    assert runs_not("--sizes", sizes).endswith("the limit (ir_interp.execute.MAX_BYTES) is 8 GiB")


def test_a_constant_that_asks_for_more_memory(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(resize({"axes": [2, 3]}, sizes=[2**20, 2**20]).SerializeToString())
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.uint8))
    assert fails("run", "a.onnx", "--input", "x.npy", "--output", "y.npy") == (
        "resizing [1, 1, 4, 6] to [1, 1, 1048576, 1048576] needs 1024.0 GiB; "
        "the limit (ir_interp.execute.MAX_BYTES) is 8 GiB"
    )


def test_values_that_have_no_mean(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.full(SHAPE, "word"))
    assert runs_not() == "<U4 values can be copied (nearest) but not averaged"


def _npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, x=np.zeros(SHAPE))


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme", "no array")


NO_ARRAYS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("1 2 3"),
    "empty": lambda path: path.write_bytes(b""),
    "garbage": lambda path: path.write_bytes(BEYOND_UTF8),
    "pickle": lambda path: path.write_bytes(pickle.dumps([1, 2])),
    "objects": lambda path: np.save(path, np.array([{}, None]), allow_pickle=True),
    "cut off": lambda path: path.write_bytes(_saved(np.zeros(SHAPE))[:-8]),
    "header only": lambda path: path.write_bytes(_saved(np.zeros(SHAPE))[:9]),
    "several arrays": _npz,
    "zip": _zip,
}


def _saved(array: Any) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {array.shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(array.tobytes())


@pytest.mark.parametrize("kind", NO_ARRAYS)
def test_no_array(kind: str, runs_not: Callable[..., str], tmp_path: Path) -> None:
    NO_ARRAYS[kind](tmp_path / "x.npy")
    assert runs_not().startswith("x.npy: not a NumPy array: ")


def test_an_array_that_is_not_there(runs_not: Callable[..., str]) -> None:
    assert runs_not() == "x.npy: cannot be read: No such file or directory"


def test_a_folder_in_place_of_an_array(runs_not: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "x.npy").mkdir()
    assert runs_not() == "x.npy: cannot be read: Is a directory"


@pytest.mark.parametrize("content", [b"", b"no image", BEYOND_UTF8, b"\x89PNG\r\n\x1a\n"])
def test_no_image(content: bytes, runs_not: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(content)
    assert runs_not(source="x.png").startswith("x.png: cannot be read as an image: ")


def test_an_image_that_is_not_there(runs_not: Callable[..., str]) -> None:
    assert runs_not(source="x.png") == "x.png: cannot be read: No such file or directory"


def test_an_image_bomb(runs_not: Callable[..., str], tmp_path: Path) -> None:
    """A few bytes that promise ten billion pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n" + parts)
    assert runs_not(source="x.png").startswith("x.png: cannot be read as an image: ")


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("out/y", "--output 'y' has no extension; expected .npy or that of an image"),
        ("out/y.png", "an array of shape [1, 1, 8, 12] and type float32 is no image of 1 or 3 channels in uint8"),
        ("away/y.npy", "away/y.npy cannot be written: No such file or directory"),
        ("a.xml/y.npy", "a.xml/y.npy cannot be written: Not a directory"),
        ("folder.npy", "folder.npy cannot be written: Is a directory"),
    ],
)
def test_an_output_that_cannot_be(output: str, reason: str, runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    (tmp_path / "folder.npy").mkdir()
    assert runs_not(output=output) == reason


def test_an_image_of_an_unknown_kind(runs_not: Callable[..., str], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.uint8))
    reason = runs_not(output="out/y.pgn")
    assert reason == "y.pgn cannot be written as an image: unknown file extension: .pgn"


def test_a_file_of_several_resizes(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(pasted(name="up") + pasted(name="down").replace('id="0"', 'id="1"', 1))
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    command = ["run", "a.xml", "--input", "x.npy", "--output", "y.npy"]
    assert fails(*command) == "a.xml: 2 resizes; name one with --layer: up, down"
    assert fails(*command, "--layer", "donw") == (
        "a.xml: no resize named 'donw'; expected one of down, up; did you mean 'down'?"
    )


def test_a_file_without_a_resize(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text('<net version="11"/>')
    np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
    assert fails("run", "a.xml", "--input", "x.npy", "--output", "y.npy") == "a.xml: no resize in it"
    assert fails("convert", "a.xml", "b.json") == "a.xml: no resize in it"


# Destinations and conversions


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """Return a folder of one good source of each kind."""
    (tmp_path / "a.xml").write_text(pasted())
    (tmp_path / "a.onnx").write_bytes(resize({"mode": "linear", "axes": [2, 3]}, sizes=[8, 12]).SerializeToString())
    layer = {"input": {"shape": SHAPE}, "resize_mode": "LINEAR", "shape": [1, 1, 8, 12]}
    (tmp_path / "a.json").write_text(json.dumps({"dialect": "tensorrt", "layers": [layer]}))
    return tmp_path


CONVERSIONS = [
    ("a.onnx", "xml"),
    ("a.onnx", "json"),
    ("a.onnx", "py"),
    ("a.xml", "onnx"),
    ("a.xml", "json"),
    ("a.json", "onnx"),
    ("a.json", "xml"),
]


@pytest.mark.parametrize(("source", "end"), CONVERSIONS)
def test_a_destination_in_a_folder_that_is_not_there(source: str, end: str, good: Path, fails: Fails) -> None:
    reason = fails("convert", source, f"away/b.{end}")
    name = "away/b.bin" if end == "xml" else f"away/b.{end}"
    assert reason == f"{name} cannot be written: No such file or directory"


@pytest.mark.parametrize(("source", "end"), CONVERSIONS)
def test_a_folder_in_place_of_the_destination(source: str, end: str, good: Path, fails: Fails) -> None:
    (good / f"b.{end}").mkdir()
    reason = fails(
        "convert", source, f"b.{end}", "--no-verify"
    )  # which also compares what is in the folder before and after
    assert reason.endswith("cannot be written: Is a directory")


def test_a_file_in_place_of_the_folder(good: Path, fails: Fails) -> None:
    assert fails("convert", "a.xml", "a.json/b.onnx") == "a.json/b.onnx cannot be written: Not a directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_must_not_be_written(good: Path, fails: Fails) -> None:
    folder = good / "locked"
    folder.mkdir(mode=0o500)
    assert fails("convert", "a.xml", "locked/b.onnx") == "locked/b.onnx cannot be written: Permission denied"


def test_a_failure_leaves_what_was_there(good: Path, fails: Fails) -> None:
    (good / "b.onnx").write_text("old")
    (good / "a.xml").write_text(pasted('axes="2,9" mode="linear"'))
    fails("convert", "a.xml", "b.onnx")
    assert (good / "b.onnx").read_text() == "old"


def test_a_whole_net_to_onnx(fails: Fails, tmp_path: Path) -> None:
    more = '<layer id="7" name="act" type="Wobble" version="opset1"><output><port id="0"/></output></layer>'
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    (tmp_path / "a.xml").write_text(net('axes="2,3" mode="linear"', layers=more))
    assert fails("convert", "a.xml", "b.onnx") == (
        "a.xml:layer[7 \"act\"]: no ONNX form is written for layer type 'Wobble'"
    )


def test_several_layers_to_onnx(good: Path, fails: Fails) -> None:
    (good / "a.xml").write_text(pasted() + pasted(name="down").replace('id="0"', 'id="1"', 1))
    assert fails("convert", "a.xml", "b.onnx") == ("a.xml: 2 layers; expected a single one")
    layer = {"input": {"shape": SHAPE}, "shape": [1, 1, 8, 12]}
    (good / "a.json").write_text(json.dumps({"dialect": "tensorrt", "layers": [layer, layer]}))
    assert fails("convert", "a.json", "b.onnx") == "a.json: 2 layers; expected a single one"


def test_an_unknown_dialect(good: Path, fails: Fails) -> None:
    assert fails("convert", "a.onnx", "b.json", "--dialect", "tensort") == (
        "unknown dialect 'tensort'; expected one of onnx, openvino, tensorrt, tflite; did you mean 'tensorrt'?"
    )
    reason = fails("convert", "a.onnx", "b.py", "--dialect", "tflite")
    assert reason == "Python is written for tensorrt only, not for tflite"


@pytest.mark.parametrize("opset", ["-1", "0", "6", "99", "twelve"])
def test_an_opset_that_is_not_written(opset: str, good: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The help says 7 to 19."""
    code = main(["convert", str(good / "a.xml"), str(good / "b.onnx"), "--opset", opset])
    errors = capfd.readouterr().err
    assert (code, (good / "b.onnx").exists()) == (2, False)
    assert "opset" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("opset", [7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 19])
def test_every_opset_that_is_written(opset: int, good: Path) -> None:
    """Operator sets in which Resize did not change are written as well, and run."""
    assert main(["convert", str(good / "a.xml"), str(good / "b.onnx"), "--no-verify", "--opset", str(opset)]) == 0
    x = np.random.default_rng(0).random(SHAPE, np.float32)
    wanted = ir_interp.load(good / "a.xml")[0].run(x)
    model = onnx.load(str(good / "b.onnx"))
    assert [entry.version for entry in model.opset_import] == [opset]
    np.testing.assert_allclose(onnxruntime_resize(model, {"x": x}), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--shape", "1,1,4,6"], "--shape '1,1,4,6': expected NAME:LENGTHS, as in x:1,3,640,640"),
        (["--shape", ":1,2"], "--shape ':1,2': expected NAME:LENGTHS, as in x:1,3,640,640"),
        (["--shape", "x:1,four"], "--shape '1,four': expected integers with commas between them, as in 50,60"),
        (["--shape", "image:1,1,4,6"], "no input 'image'; the inputs are x"),
        (["--shape", "x:1,1,9,9"], "no float32 of shape [1, 1, 9, 9]; input 'x' is float32 of shape [1, 1, 4, 6]"),
        (["--shape", "x:4,6"], "no float32 of shape [4, 6]; input 'x' is float32 of shape [1, 1, 4, 6]"),
        (["--input", "x.npy"], "--input 'x.npy': expected NAME=FILE, as in x=image.npy"),
        (["--input", "=x.npy"], "--input '=x.npy': expected NAME=FILE, as in x=image.npy"),
        (["--input", "x="], "--input 'x=': expected NAME=FILE, as in x=image.npy"),
        (["--input", "image=x.npy"], "no input 'image'; the inputs are x"),
        (["--input", "x=gone.npy"], "gone.npy: not an array (.npy): [Errno 2] No such file or directory: 'gone.npy'"),
        (["--input", "x=a.json"], "a.json: not an array (.npy): "),
        (
            ["--input", "x=wide.npy"],
            "wide.npy: float64 of shape [1, 1, 4, 6]; input 'x' is float32 of shape [1, 1, 4, 6]",
        ),
        (["--input", "x=flat.npy"], "flat.npy: float32 of shape [4, 6]; input 'x' is float32 of shape [1, 1, 4, 6]"),
    ],
)
def test_inputs_to_verify_on_that_make_no_sense(options: list[str], reason: str, good: Path, fails: Fails) -> None:
    np.save(good / "wide.npy", np.zeros(SHAPE))
    np.save(good / "flat.npy", np.zeros(SHAPE[2:], np.float32))
    said = fails("convert", "a.onnx", "b.xml", *options)
    assert said.startswith(reason)
    assert said == reason or reason.endswith(": ")
