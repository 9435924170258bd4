"""The picture of the graph around a resize: what it reads and what reads it, in ONNX models and in IRs."""

from __future__ import annotations

from pathlib import Path

import pytest

import ir_interp
from ir_interp.converters.pages.gallery import Neighbour, Surroundings, picture, surroundings
from tests.support.graphs import save_model
from tests.support.ir_text import interpolate

MODEL = """g (float[1,2,h,w] x, int64[4] wanted) => (float[1,2,k,l] y, float[1,2,i,j] z)
    <float[4] s = {1,1,0.5,0.5}, float[0] none = {}> {
    data = Relu (x)
    [down] small = Resize <mode = "linear"> (data, none, s)
    sizes = Identity (wanted)
    [up] y = Resize <mode = "cubic"> (small, "", "", sizes)
    [edge] z = Sigmoid (small)
}"""


def around(path: Path, name: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    (op,) = [each for each in ir_interp.load(path) if each.name == name]
    held = surroundings(path, op)
    assert held is not None
    assert held.resize.name == name
    inputs, readers = ([(each.title, each.name) for each in row] for row in (held.inputs, held.readers))
    return inputs, readers


def test_a_node_of_a_model(tmp_path: Path) -> None:
    save_model(tmp_path / "a.onnx", MODEL)
    assert around(tmp_path / "a.onnx", "down") == (
        [("data: Relu", "data"), ("scales: constant", "1, 1, 0.5, 0.5")],
        [("Resize", "up"), ("Sigmoid", "edge")],
    )
    assert around(tmp_path / "a.onnx", "up") == (
        [("data: Resize", "down"), ("sizes: Identity", "sizes")],
        [("output", "y")],
    )


def test_a_layer_of_an_ir(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(interpolate('axes="2" mode="linear" align_corners="1"', out=(1, 1, 7, 6)))
    inputs, readers = around(tmp_path / "a.xml", "up")
    assert (inputs, readers) == ([], [])
    save_model(tmp_path / "a.onnx", MODEL.replace("float[1,2,h,w]", "float[1,2,8,8]"))
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.xml", verify=False)
    (op, *_) = ir_interp.load(tmp_path / "b.xml")
    inputs, readers = around(tmp_path / "b.xml", op.name)
    assert inputs[0] == ("data: ReLU", "data")
    assert [title for title, _ in inputs[1:]] == ["scales: Const", "axes: Const"]
    assert {title for title, _ in readers} == {"Interpolate", "Sigmoid"}


def test_a_resize_that_reads_an_input_and_a_file_that_holds_no_graph(tmp_path: Path) -> None:
    save_model(tmp_path / "a.onnx", MODEL.replace("(data, none, s)", "(x, none, s)"))
    assert around(tmp_path / "a.onnx", "down")[0][0] == ("data: input", "x 1x2x?x?")
    op = ir_interp.load(tmp_path / "a.onnx")[0]
    (tmp_path / "a.json").write_text("[]")
    for name in ("a.json", "gone.onnx"):
        assert surroundings(tmp_path / name, op) is None


@pytest.mark.parametrize(("count", "boxes", "is_wide"), [(0, 2, False), (2, 4, False), (4, 6, True), (9, 6, True)])
def test_boxes_and_lines(count: int, boxes: int, is_wide: bool) -> None:
    readers = tuple(Neighbour(title="Conv", name=f"a_long_name_of_a_node/conv_{n}") for n in range(count))
    drawn = picture(
        Surroundings(
            inputs=(Neighbour(title="data: input"),), resize=Neighbour(title="Resize", name="up"), readers=readers
        ),
        "up",
    )
    (svg,) = drawn.iter("svg")
    assert len(list(svg.iter("rect"))) == boxes
    assert len(list(svg.iter("path"))) == boxes - 1
    assert svg.get("class") == ("wide" if is_wide else None)
    width, height = (float(str(svg.get(name))) for name in ("width", "height"))
    for box in svg.iter("rect"):
        left, top, across, down = (float(str(box.get(name))) for name in ("x", "y", "width", "height"))
        assert 0 < left < left + across < width
        assert 0 < top < top + down < height
    texts = [text.text for text in svg.iter("text")]
    assert ("and 6 more" in texts) == (count == 9)
    assert ("a_long_name_o…f_a_node/conv_0"[:13] in {str(text)[:13] for text in texts}) == (count > 0)
    assert str(svg.get("aria-label")).startswith("up: reads data: input; ")
