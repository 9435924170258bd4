"""Broken IRs: each is one clear error, exit code 2, and no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from lxml import etree
from openvino import opset11 as ops

import ir_interp
from ir_interp import ReadError
from ir_interp.cli.main import main
from tests.support import ir_text
from tests.support.ir_text import Edge, layer

LAYERS = {
    "x": layer("Parameter", 'shape="2" element_type="f32"', outputs=[(2,)], number=0, name="x"),
    "w": layer("Const", 'element_type="f32" shape="2" offset="0" size="8"', outputs=[(2,)], number=1, name="w"),
    "add": layer("Add", 'auto_broadcast="numpy"', [(2,), (2,)], [(2,)], number=2, name="add"),
    "y": layer("Result", "", [(2,)], number=3, name="y"),
}
EDGES: tuple[Edge, ...] = ((0, 0, 2, 0), (1, 0, 2, 1), (2, 2, 3, 0))


def unary(number: int, name: str, kind: str, version: str = "opset1", data: str = "") -> str:
    """Return a layer from port 0 to port 1."""
    return layer(kind, data, [(2,)], [(2,)], number=number, name=name, version=version)


def net(*more: str, edges: Sequence[Edge] = EDGES, version: str = "11", **changed: str) -> str:
    """Return a net that adds a constant; ``more`` layers stand before the result, ``changed`` replaces some by name."""
    *first, last = (LAYERS | changed).values()
    return ir_text.net((*first, *more, last), edges, version)


@pytest.fixture
def refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Return a function that converts an IR, checks that it fails and leaves nothing, and returns the errors."""

    def convert(text: str, weights: bytes | None = np.ones(2, np.float32).tobytes()) -> list[str]:
        source = tmp_path / "net.xml"
        source.write_text(text)
        if weights is not None:
            source.with_suffix(".bin").write_bytes(weights)
        before = sorted(tmp_path.iterdir())
        assert main(["convert", str(source), str(tmp_path / "net.onnx")]) == 2
        printed, errors = capsys.readouterr()
        assert printed == ""
        assert sorted(tmp_path.iterdir()) == before
        assert all(line.startswith("error: ") for line in errors.splitlines())
        return [line.removeprefix("error: ") for line in errors.splitlines()]

    return convert


def test_a_missing_binary(refused: Callable[..., list[str]]) -> None:
    assert refused(net(), None) == ['net.xml:layer[1 "w"]: the value is needed, but net.bin is missing']


@pytest.mark.parametrize("held", [0, 7])
def test_a_truncated_binary(held: int, refused: Callable[..., list[str]]) -> None:
    said = f'net.xml:layer[1 "w"]@offset: bytes 0 to 8 lie beyond the {held} bytes of net.bin'
    assert refused(net(), b"\0" * held) == [said]


def test_a_constant_beyond_the_binary(refused: Callable[..., list[str]]) -> None:
    text = net(w=LAYERS["w"].replace('offset="0"', 'offset="4"'))
    assert refused(text) == ['net.xml:layer[1 "w"]@offset: bytes 4 to 12 lie beyond the 8 bytes of net.bin']


def test_a_constant_of_another_size(refused: Callable[..., list[str]]) -> None:
    text = net(w=LAYERS["w"].replace('shape="2"', 'shape="3"'))
    assert refused(text) == ['net.xml:layer[1 "w"]@size: 8 bytes do not fit shape [3] of float32']


OLD = (
    ". Versions 2 to 9 predate OpenVINO 2020, and current OpenVINO does not read them: convert its source model again, "
    "with ovc or (from ONNX) ir-interp convert"
)


@pytest.mark.parametrize("version", ["2", "7", "9", "12"])
def test_an_ir_of_another_version(version: str, refused: Callable[..., list[str]]) -> None:
    said = f"net.xml@version: IR version '{version}' is not supported; expected 10 or 11"
    assert refused(net(version=version)) == [said + (OLD if version != "12" else "")]


@pytest.mark.parametrize(("kind", "advice"), [("f4e2m1", "integers instead"), ("string", "outside the model")])
def test_an_element_type_that_openvino_alone_reads(kind: str, advice: str, refused: Callable[..., list[str]]) -> None:
    (said,) = refused(net(w=LAYERS["w"].replace("f32", kind)))
    assert said.startswith(f'net.xml:layer[1 "w"]@element_type: element type {kind} is not supported; ')
    assert advice in said


def test_an_ir_of_version_4_as_it_was(refused: Callable[..., list[str]]) -> None:
    """The root was a <net> too, but a constant was a blob of the layer that used it."""
    text = (
        '<net batch="1" name="n" version="4"><layers><layer id="0" name="x" precision="FP32" type="Input"><output>'
        '<port id="0"><dim>1</dim></port></output></layer></layers><edges/></net>'
    )
    assert refused(text) == ["net.xml@version: IR version '4' is not supported; expected 10 or 11" + OLD]


def test_an_unknown_layer(refused: Callable[..., list[str]]) -> None:
    text = net(unary(4, "odd", "Wobble"), edges=(*EDGES[:2], (2, 2, 4, 0), (4, 1, 3, 0)))
    assert refused(text) == ["net.xml:layer[4 \"odd\"]: no ONNX form is known for layer type 'Wobble'"]


def test_all_unsupported_layers_as_the_file_has_them(refused: Callable[..., list[str]]) -> None:
    """The order of the edges is another, and so is that of ids."""
    layers = (unary(9, "first", "Wobble"), unary(4, "second", "ReLU", "extension"), unary(7, "third", "Wibble"))
    text = net(*layers, edges=(*EDGES[:2], (2, 2, 7, 0), (7, 1, 4, 0), (4, 1, 9, 0), (9, 1, 3, 0)))
    assert refused(text) == [
        "net.xml:layer[9 \"first\"]: no ONNX form is known for layer type 'Wobble'",
        'net.xml:layer[4 "second"]@version: not an operation set of OpenVINO\'s own',
        "net.xml:layer[7 \"third\"]: no ONNX form is known for layer type 'Wibble'",
    ]


def test_a_variable_that_nothing_reads(refused: Callable[..., list[str]]) -> None:
    """Nothing need follow an Assign."""
    text = net(unary(4, "held", "Assign", "opset6", 'variable_id="v"'), edges=(*EDGES, (2, 2, 4, 0)))
    assert refused(text) == ['net.xml:layer[4 "held"]@variable_id: nothing reads this variable']


def test_a_cycle(refused: Callable[..., list[str]]) -> None:
    text = net(unary(4, "back", "ReLU"), edges=((0, 0, 2, 0), (4, 1, 2, 1), (2, 2, 4, 0), (2, 2, 3, 0)))
    assert refused(text) == ['net.xml:layer[2 "add"]: it feeds itself, directly or through others']


@pytest.mark.parametrize(
    ("edge", "said"),
    [
        ((0, 5, 2, 0), 'layer[0 "x"]: an edge starts at output port 5, which does not exist'),
        ((0, 0, 2, 5), 'layer[2 "add"]: an edge ends at input port 5, which does not exist'),
        ((8, 0, 2, 0), " an edge starts at layer 8, which does not exist"),
        ((0, 0, 8, 0), " an edge ends at layer 8, which does not exist"),
    ],
)
def test_an_edge_to_nowhere(edge: tuple[int, int, int, int], said: str, refused: Callable[..., list[str]]) -> None:
    assert refused(net(edges=(*EDGES[1:], edge))) == [f"net.xml:{said}"]


def test_an_edge_that_is_missing(refused: Callable[..., list[str]]) -> None:
    assert refused(net(edges=EDGES[1:])) == ['net.xml:layer[2 "add"]: input 0 is not connected']


def test_an_input_fed_twice(refused: Callable[..., list[str]]) -> None:
    said = 'net.xml:layer[2 "add"]: two edges end at input port 0'
    assert refused(net(edges=(*EDGES, (1, 0, 2, 0)))) == [said]


def test_an_id_twice(refused: Callable[..., list[str]]) -> None:
    assert refused(net(unary(1, "again", "ReLU"))) == ['net.xml:layer[1 "again"]: layer id 1 appears twice']


def test_a_layer_without_a_version(refused: Callable[..., list[str]]) -> None:
    text = net(add=LAYERS["add"].replace(' version="opset1"', ""))
    assert refused(text) == ['net.xml:layer[2 "add"]@version: missing; expected opset1 and up']


@pytest.mark.parametrize(
    ("layer_type", "version", "said"),
    [
        ("Add", "opset17", "opset17 is unknown; expected opset16 or earlier"),
        ("LSTMSequence", "opset1", "opset1 has no LSTMSequence; expected opset5 or later"),
        ("RNNCell", "opset2", "opset2 has no RNNCell; expected opset3 or later"),
        ("Reverse", "opset2", "opset2 has no Reverse; expected opset1"),
    ],
)
def test_a_version_without_the_type(
    layer_type: str, version: str, said: str, refused: Callable[..., list[str]]
) -> None:
    """OpenVINO does not read it either: a later set may change what a layer computes."""
    text = net(add=LAYERS["add"].replace('type="Add" version="opset1"', f'type="{layer_type}" version="{version}"'))
    assert refused(text) == [f'net.xml:layer[2 "add"]@version: {said}']


@pytest.mark.parametrize("cut", [40, 400])
def test_a_file_cut_short(cut: int, refused: Callable[..., list[str]]) -> None:
    (said,) = refused(net()[:cut])
    assert said.startswith("net.xml: ")


def test_scales_that_no_edge_brings(tmp_path: Path) -> None:
    x = ops.parameter([1, 1, 8, 8], np.float32, name="x")
    scales, axes = ops.constant(np.array([2, 2], np.float32)), ops.constant(np.array([2, 3]))
    y = ops.interpolate(x, scales, "nearest", "scales", axes=axes)
    y.set_friendly_name("up")
    ov.save_model(ov.Model([y], [x], "net"), tmp_path / "net.xml", compress_to_fp16=False)
    tree = etree.parse(tmp_path / "net.xml")
    edges = tree.find("edges")
    assert edges is not None
    for edge in edges.findall("edge[@to-port='1']"):
        edges.remove(edge)
    tree.write(tmp_path / "net.xml")
    with pytest.raises(ReadError, match=r'^net.xml:layer\[\d+ "up"\]: input 1 is not connected$'):
        ir_interp.convert(tmp_path / "net.xml", tmp_path / "a.onnx", verify=False)
