"""Likely mistakes of exporters, repaired: each of them, nothing else, and shown on the model's own input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import onnx.version_converter
import pytest
from onnx import external_data_helper, numpy_helper

import ir_interp
from ir_interp import IrInterpError, VerificationError
from ir_interp.converters import fix as of_model
from ir_interp.converters.portable import portable_model as portable
from tests.support.commands import command, words
from tests.support.graphs import onnxruntime_outputs, save_model, values

ANTIALIAS = """g (float[1,1,8,8] x) => (float[1,1,4,4] y)
<float[4] s = {1, 1, 0.5, 0.5}, float[4] unused = {1, 2, 3, 4}> {
    a = Relu (x)
    [shrink] b = Resize <mode = "cubic", antialias = 1> (a, "", s)
    y = Relu (b)
}"""
RESIZE = """g (float[1,1,8,8] x) => (float[1,1,h,w] y)
<float[4] s = {scales}, float[8] r = {{0, 0, 0, 0, 1, 1, 1, 1}}> {{
    [up] y = Resize <{attributes}> (x, {inputs})
}}"""
HALF = """g (float[1,1,6,6] x) => (float[1,1,h,w] y) {
    s = Cast <to = 1> (f)
    y = Resize <mode = "linear"> (x, "", s)
}"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def resize(attributes: str, scales: str = "{1, 1, 2, 2}", inputs: str = '"", s') -> str:
    return RESIZE.format(attributes=attributes, scales=scales, inputs=inputs)


def codes(path: Path | str) -> list[str]:
    return [code for row in ir_interp.audit(path).rows for code, _ in row.mistakes]


def fixed(text: str, **options: Any) -> ir_interp.Fixed:
    save_model(Path("a.onnx"), text)
    return ir_interp.fix("a.onnx", "b.onnx", **options)


def in_half_precision(scale: float) -> Path:
    model = onnx.load(save_model(Path("a.onnx"), HALF))
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 1, scale, 2], np.float16), "f"))
    onnx.save(model, "a.onnx")
    return Path("a.onnx")


def test_antialias_becomes_that_of_pillow() -> None:
    found = fixed(ANTIALIAS)
    assert codes("a.onnx") == ["IRI011", "IRI012"]
    assert codes("b.onnx") == []
    assert [each.text for each in found.repaired[0].remedies] == [
        "cubic_coeff_a=-0.75 -> -0.5",
        "exclude_outside=0 -> 1",
    ]
    (op,) = ir_interp.load("b.onnx")
    x = values(1, 1, 8, 8)
    np.testing.assert_allclose(
        onnxruntime_outputs(Path("b.onnx"), {"x": x})[0], np.maximum(op.run(np.maximum(x, 0)), 0), atol=1e-5
    )
    before = onnxruntime_outputs(Path("a.onnx"), {"x": x})[0]
    assert np.abs(before - onnxruntime_outputs(Path("b.onnx"), {"x": x})[0]).max() > 1e-3
    assert found.comparison is not None
    assert not found.comparison.outputs[0].compared.passes


def test_integers_that_change_by_less_than_floats_may_are_not_equal() -> None:
    """Counts around 10^6 that a repaired resize moves by a few are others."""
    large = ANTIALIAS.replace("(float[1,1,4,4] y)", "(int64[1,1,4,4] y)").replace(
        "y = Relu (b)",
        "t = Constant <value_float = 10.0> () o = Constant <value_float = 1000000.0> () "
        "c = Mul (b, t) d = Add (c, o) e = Round (d) y = Cast <to = 7> (e)",
    )
    comparison = fixed(large).comparison
    assert comparison is not None
    assert 0 < comparison.outputs[0].compared.absolute < 1e-4 * 1e6
    assert not comparison.outputs[0].compared.passes


def test_a_single_output_samples_the_middle() -> None:
    """As PyTorch's interpolate does: its export takes the first pixel."""
    text = """g (float[1,1,1,10] x) => (float[a,b,c,d] y) <int64[4] z = {1, 1, 1, 1}> {
        y = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (x, , , z) }"""
    found = fixed(text, verify=False)
    assert codes("a.onnx") == ["IRI016"]
    assert codes("b.onnx") == []
    change = "coordinate_transformation_mode=pytorch_half_pixel -> half_pixel"
    assert [each.text for each in found.repaired[0].remedies] == [change]
    x = np.arange(10, dtype=np.float32).reshape(1, 1, 1, 10)
    assert [onnxruntime_outputs(Path(name), {"x": x})[0].item() for name in ("a.onnx", "b.onnx")] == [0, 4.5]


def test_one_at_a_time() -> None:
    fixed(ANTIALIAS, select=["IRI012"], verify=False)
    assert codes("b.onnx") == ["IRI011"]
    ir_interp.fix("b.onnx", "c.onnx", ignore=["IRI012"], layers=["shrink"], verify=False)
    assert codes("c.onnx") == []


def test_nothing_else_changes() -> None:
    fixed(ANTIALIAS, verify=False)
    before, after = onnx.load("a.onnx"), onnx.load("b.onnx")
    after.graph.node[1].CopyFrom(before.graph.node[1])
    assert before == after


@pytest.mark.parametrize("change", ["node", "unused", "name"])
def test_it_is_proven(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else an edit would do is seen, and nothing is written."""
    right = portable.edit

    def wrong(model: onnx.ModelProto, *others: Any) -> None:
        right(model, *others)
        if change == "node":
            model.graph.node[0].op_type = "Abs"
        elif change == "unused":
            model.graph.initializer[1].float_data[0] = 7
        else:
            model.graph.name = "other"

    monkeypatch.setattr(of_model, "edit", wrong)
    with pytest.raises(VerificationError, match="the result would differ in more than its resizes"):
        fixed(ANTIALIAS)
    assert not Path("b.onnx").exists()


@pytest.mark.parametrize(("scale", "length"), [("0.8749", 7), ("0.62499", 5), ("1.8749", 15)])
def test_a_length_that_was_missed(scale: str, length: int) -> None:
    found = fixed(resize('mode = "linear"', f"{{1, 1, {scale}, 0.5}}"))
    assert codes("a.onnx") == ["IRI013"]
    assert codes("b.onnx") == []
    assert onnxruntime_outputs(Path("b.onnx"), {"x": values(1, 1, 8, 8)})[0].shape == (1, 1, length, 4)
    assert found.repaired[0].remedies[0].text == f"scales {scale} -> {length / 8}"
    assert found.changed(found.repaired[0]) == f"has shape [1, 1, {length}, 4], not [1, 1, {length - 1}, 4]"
    assert numpy_helper.to_array(onnx.load("b.onnx").graph.initializer[0]).tolist()[2] == pytest.approx(float(scale))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("scale", "meant"), [(2.3, 2.3), (0.6667, 2 / 3), (1.4, 1.4), (0.3333, 1 / 3), (2.5, None), (0.0000002, None)]
)
def test_scales_in_half_precision(scale: float, meant: float | None) -> None:
    path = in_half_precision(scale)
    assert ("IRI014" in codes(path)) == (meant is not None)
    if meant:
        ir_interp.fix(path, "b.onnx", verify=False)
        (op,) = ir_interp.load("b.onnx")
        assert op.attributes["scales"] == [1.0, 1.0, float(np.float32(meant)), 2.0]
        assert codes("b.onnx") == []


def test_a_length_that_half_precision_missed() -> None:
    """2/3 in half precision makes of 6 pixels 3: of what was meant they are 4, and nothing is left to do."""
    path = in_half_precision(2 / 3)
    assert codes(path) == ["IRI013", "IRI014"]
    found = ir_interp.fix(path, "b.onnx", verify=False)
    assert codes("b.onnx") == []
    assert [each.text for each in found.repaired[0].remedies][1] == "scales stay, as already fixed"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("scale", [2.3, 0.3])
def test_what_the_version_converter_leaves(mode: str, scale: float) -> None:
    old = save_model(
        Path("old.onnx"),
        resize(f'mode = "{mode}"', f"{{1, 1, {scale}, {scale}}}", "s").replace(
            ", float[8] r = {0, 0, 0, 0, 1, 1, 1, 1}", ""
        ),
        opset=10,
    )
    onnx.save(onnx.version_converter.convert_version(onnx.load(old), 13), "a.onnx")
    assert codes("a.onnx") == ["IRI015"]
    ir_interp.fix("a.onnx", "b.onnx", verify=False)
    assert codes("b.onnx") == []
    x = {"x": values(1, 1, 8, 8)}
    wanted, before, after = (onnxruntime_outputs(Path(name), x)[0] for name in ("old.onnx", "a.onnx", "b.onnx"))
    assert np.array_equal(after, wanted)
    assert not np.array_equal(before, wanted)


def test_what_no_rounding_mends(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), resize('mode = "nearest"', "{1, 1, 2.3, 0.6}", "r, s"), opset=11)
    code, _, errors = command(capsys, "fix", "a.onnx", "b.onnx")
    assert (code, Path("b.onnx").exists()) == (1, False)
    assert errors.startswith("error: up: no exact form in IRI015; one axis grows and another shrinks")


def test_inside_of_branches() -> None:
    """Branches may give the same name to what they make."""
    node = '[shrink] b = Resize <mode = "linear", antialias = 1{}> (x, "", s)'
    branches = ", ".join(
        f"{name} = {name} () => (float[1,1,4,4] b) {{ {node.format(more)} }}"
        for name, more in (("then_branch", ""), ("else_branch", ", exclude_outside = 1"))
    )
    text = f"""g (float[1,1,8,8] x, bool c) => (float[1,1,4,4] y) <float[4] s = {{1, 1, 0.5, 0.5}}> {{
        y = If (c) <{branches}>
    }}"""
    found = fixed(text)
    assert codes("a.onnx") == ["IRI012"]
    assert codes("b.onnx") == []
    assert len(found.repaired) == 1


def test_scales_as_an_attribute() -> None:
    text = "g (float[1,1,8,8] x) => (float[1,1,h,w] y) { y = Upsample <scales = [1.0, 1.0, 1.8749, 2.0]> (x) }"
    save_model(Path("a.onnx"), text, opset=7)
    ir_interp.fix("a.onnx", "b.onnx")
    (op,) = ir_interp.load("b.onnx")
    assert op.attributes["scales"] == [1, 1, 1.875, 2]


def test_initialisers_that_are_inputs_as_well() -> None:
    """Up to version 3 of the file format they must be: the new constant is a node then."""
    model = onnx.load(save_model(Path("a.onnx"), resize('mode = "linear"', "{1, 1, 0.8749, 0.5}", "r, s"), opset=11))
    model.ir_version = 3
    for tensor in model.graph.initializer:
        model.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    onnx.save(model, "a.onnx")
    ir_interp.fix("a.onnx", "b.onnx")
    assert codes("b.onnx") == []


def test_external_data() -> None:
    text = ANTIALIAS.replace("b = Resize", "c = Mul (a, w) [shrink] b = Resize").replace('(a, ""', '(c, ""')
    model = onnx.load(
        save_model(Path("a.onnx"), text.replace("[shrink] c", "c").replace("x) =>", "x, float[1,1,8,8] w) =>"))
    )
    model.graph.input.pop()
    model.graph.initializer.append(numpy_helper.from_array(values(1, 1, 8, 8), "w"))
    external_data_helper.convert_model_to_external_data(model, location="w.data", size_threshold=64)
    onnx.save(model, "a.onnx")
    weights = Path("w.data").read_bytes()
    ir_interp.fix("a.onnx", "b.onnx")
    assert codes("b.onnx") == []
    assert (Path("w.data").read_bytes(), sorted(path.name for path in Path().iterdir())) == (
        weights,
        ["a.onnx", "b.onnx", "w.data"],
    )


def test_a_model_that_did_not_run() -> None:
    """The length that is missed keeps it from running; repaired it runs."""
    text = """g (float[1,1,8,8] x) => (float[1,1,7,4] y)
    <float[4] s = {1, 1, 0.8749, 0.5}, float[7,1] w = {1,2,3,4,5,6,7}> {
        r = Resize <mode = "linear"> (x, "", s)
        y = Add (r, w)
    }"""
    found = fixed(text)
    assert found.note.startswith("before: a.onnx does not run: ")
    assert found.note.endswith("; after: it runs")


def test_nothing_to_mend(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), resize('mode = "linear"'))
    code, printed, _ = command(capsys, "fix", "a.onnx", "b.onnx")
    assert (code, printed) == (0, "no exporter mistakes found in a.onnx\nwrote b.onnx, an unchanged copy\n")
    assert Path("a.onnx").read_bytes() == Path("b.onnx").read_bytes()


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), ANTIALIAS)
    code, printed, _ = command(capsys, "fix", "a.onnx", "b.onnx")
    assert code == 0
    assert "shrink IRI011 cubic_coeff_a=-0.75 -> -0.5 differs by " in words(printed)
    assert printed.endswith("every other node, constant and name is as it was, byte for byte\nwrote b.onnx\n")
    code, printed, _ = command(capsys, "fix", "a.onnx", "c.onnx", "--select", "IRI012", "--no-verify", "--json")
    assert json.loads(printed)["repaired"] == [
        {"resize": "shrink", "where": 'a.onnx:node[1 "shrink"]', "code": "IRI012", "change": "exclude_outside=0 -> 1"}
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.onnx", "a.onnx"), "a.onnx is an input and would be overwritten"),
        (("a.onnx", "b.xml"), "b.xml: a repaired model is ONNX; expected a name that ends in .onnx; convert it later"),
        (("a.xml", "b.onnx"), "a.xml: only ONNX models are repaired; repair the ONNX model, then convert it again"),
        (("a.onnx", "b.onnx", "--select", "IRI9"), "no code begins with 'IRI9'"),
        (("a.onnx", "b.onnx", "--select", "IRI022"), "no code begins with 'IRI022'; expected one of IRI011 to IRI027"),
        (("a.onnx", "b.onnx", "--layer", "other"), "no resize 'other'; expected shrink"),
    ],
)
def test_refusals(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = save_model(Path("a.onnx"), ANTIALIAS).read_bytes()
    code, _, errors = command(capsys, "fix", *arguments)
    assert code == 2
    assert message in errors
    assert Path("a.onnx").read_bytes() == before
    assert not Path("b.onnx").exists()


def test_a_source_in_memory() -> None:
    model = onnx.load(save_model(Path("a.onnx"), ANTIALIAS))
    found = ir_interp.fix(model, "b.onnx", verify=False)
    assert (str(found.source), codes("b.onnx")) == ("g.onnx", [])
    with pytest.raises(IrInterpError, match="expected a path"):
        ir_interp.fix(cast(Any, 3), "c.onnx")
