"""Files that are not what their name says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.bad_input import BEYOND_UTF8, Fails, LoadFails, pasted, resize


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


@pytest.mark.parametrize(("version", "said"), [('version="1"', "'1'"), ('version="12"', "'12'"), ("", "None")])
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
    assert reason == "a.onnx: not an ONNX model: it has no graph or specifies no operator set"


@pytest.mark.parametrize("content", [b"This is a text.\n" * 9, BEYOND_UTF8, b'<?xml version="1.0"?><net/>'])
def test_no_onnx(content: bytes, fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.onnx", content).startswith("a.onnx: not an ONNX model, or truncated: ")


def test_an_onnx_that_is_cut_off(fails_to_load: LoadFails) -> None:
    whole = resize({"mode": "linear", "axes": [2, 3]}, sizes=[8, 12]).SerializeToString()
    assert fails_to_load("a.onnx", whole[: len(whole) // 2]).startswith("a.onnx: not an ONNX model, or truncated: ")


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
    assert (
        reason
        == "a.onx: unknown file type '.onx'; expected one of .h5, .json, .keras, .onnx, .pb, .pdmodel, .pt2, .tflite, "
        ".xml; did you mean '.onnx'?"
    )


@pytest.mark.parametrize(
    "arguments",
    [("inspect", "a.pt"), ("convert", "a.pth", "b.onnx"), ("inspect", "a.ckpt"), ("compare", "a.pt", "b.xml")],
)
def test_pickled_files_and_torch_script(arguments: tuple[str, ...], fails: Fails, tmp_path: Path) -> None:
    (tmp_path / arguments[1]).write_text("")
    problem = "files of torch.save and torch.jit.save may run code, and are not read"
    remedy = "load it in Python, and pass (module, inputs), or save torch.export.export(module, inputs) as .pt2"
    assert fails(*arguments) == f"{arguments[1]}: {problem}; {remedy}"


def test_weights_without_a_program(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_text("")
    problem = "weights without a program; load them into the module, and pass (module.eval(), inputs) in Python"
    assert fails("convert", "a.safetensors", "b.onnx") == f"a.safetensors: {problem}"


def test_an_unknown_conversion(fails: Fails, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(pasted())
    assert fails("convert", "a.xml", "b.pb") == (
        "a.xml: no conversion from .xml to .pb; .xml becomes .xml, .onnx, .json, .py, .tflite"
    )
