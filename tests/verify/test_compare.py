"""``ir-interp compare``: two models in their own runtimes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import ir_interp
from ir_interp import IrInterpError, ReadError, VerificationError
from ir_interp.converters.verify.inputs import Inputs
from ir_interp.converters.verify.model_pairs import compare_models
from ir_interp.converters.verify.tolerances import compare
from tests.support.commands import command, words
from tests.support.graphs import save_model, values

CHAIN = """g (float[1,2,9,9] x) => (float[1,2,k,l] y) <float[4] s = {1,1,2,0.5}, int64[4] z = {1,2,7,7}> {
    one = Resize <mode = "linear"> (x, "", s)
    two = Resize <mode = "linear", coordinate_transformation_mode = "MODE"> (one, "", "", z)
    y = Resize <mode = "cubic"> (two, "", s)
}"""


def chain(path: Path, mode: str = "half_pixel") -> Path:
    return save_model(path, CHAIN.replace("MODE", mode))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_equal_models_of_two_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    chain(Path("a.onnx"))
    ir_interp.convert("a.onnx", "a.xml", verify=False)
    for pair in (("a.onnx", "a.xml"), ("a.xml", "a.onnx")):
        code, printed, errors = command(capsys, "compare", *pair, "--per-resize")
        assert (code, errors) == (0, "")
        assert "equal: largest difference " in printed
        assert "no resize visible in both models differs\n1 of 1 outputs equal within the tolerance\n" in printed
        assert "not visible in both" not in printed


def test_the_first_resize_that_differs_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    chain(Path("a.onnx"))
    chain(Path("b.onnx"), "align_corners")
    code, printed, errors = command(capsys, "compare", "a.onnx", "b.onnx", "--per-resize")
    assert (code, errors) == (1, "")
    assert "DIFFERS: largest difference " in printed
    assert "the first resize that differs is 'two'\n    ir-interp audit a.onnx\n0 of 1 outputs equal within" in printed
    said = words(printed)
    assert "3 resizes, in order resize its data its output one equal within 0 equal within 0 two equal within 0" in said


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    chain(Path("a.onnx"))
    chain(Path("b.onnx"), "asymmetric")
    code, printed, errors = command(capsys, "compare", "a.onnx", "b.onnx", "--per-resize", "--json")
    assert (code, errors) == (1, "")
    record = json.loads(printed)
    (output,) = record["outputs"]
    assert (record["equal"], output["equal"], record["first_resize_that_differs"]) == (False, False, "two")
    assert sum(each["count"] for each in output["histogram"]) == np.prod(output["first"]["shape"])
    assert output["first"]["min"] <= output["first"]["mean"] <= output["first"]["max"]
    assert [each["equal"] for each in record["resizes"]] == [True, False, False]


def test_the_smallest_tolerance_that_would_pass_does(capsys: pytest.CaptureFixture[str]) -> None:
    chain(Path("a.onnx"))
    chain(Path("b.onnx"), "asymmetric")
    found = compare_models(Path("a.onnx"), Path("b.onnx"), Inputs())
    least = found.outputs[0].least_tolerance
    assert least is not None
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--tolerance", str(least))[0] == 0
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--tolerance", str(least * 0.999))[0] == 1


def test_outputs_and_inputs_go_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), "g (float[3] x, float[3] y) => (float[3] d, float[3] s) {d = Sub (x, y) s = Add (x, y)}")
    save_model(Path("b.onnx"), "g (float[3] y, float[3] x) => (float[3] s, float[3] d) {d = Sub (x, y) s = Add (x, y)}")
    assert command(capsys, "compare", "a.onnx", "b.onnx")[0] == 0


def test_other_names_go_by_place(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), "g (float[3] x, float[3] y) => (float[3] d) {d = Sub (x, y)}")
    save_model(Path("b.onnx"), "g (float[3] u, float[3] v) => (float[3] w) {w = Sub (u, v)}")
    save_model(Path("c.onnx"), "g (float[3] u, float[3] v) => (float[3] w) {w = Sub (v, u)}")
    assert command(capsys, "compare", "a.onnx", "b.onnx")[0] == 0
    assert command(capsys, "compare", "a.onnx", "c.onnx")[0] == 1


def test_inputs_and_shapes(capsys: pytest.CaptureFixture[str]) -> None:
    for name, scale in (("a", 1), ("b", 2)):
        text = "g (float[n] x) => (float[n] y) <float s = {SCALE}> {y = Mul (x, s)}"
        save_model(Path(f"{name}.onnx"), text.replace("SCALE", str(scale)))
    np.save("x.npy", values(5))
    found = compare_models(Path("a.onnx"), Path("b.onnx"), Inputs(files={"x": (Path("x.npy"),)}))
    assert found.outputs[0].compared.absolute == pytest.approx(np.abs(values(5)).max())
    code, printed, _ = command(capsys, "compare", "a.onnx", "b.onnx", "--shape", "x:7", "--json")
    assert (code, json.loads(printed)["outputs"][0]["first"]["shape"]) == (1, [7])
    code, printed, errors = command(capsys, "compare", "a.onnx", "b.onnx", "--shape", "z:7")
    assert (code, printed, errors) == (2, "", "error: no input 'z'; expected x\n")


def test_half_precision_is_fed_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), "g (float[9] x) => (float[9] y) {y = Mul (x, x)}")
    save_model(Path("b.onnx"), "g (float16[9] x) => (float16[9] y) {y = Mul (x, x)}")
    code, printed, _ = command(capsys, "compare", "a.onnx", "b.onnx")
    assert code == 0
    assert "9 float16" in printed
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--tolerance", "1e-5")[0] == 1


def test_other_shapes_and_not_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), "g (float[2,3] x) => (float[k,l] y) {y = Identity (x)}")
    save_model(Path("b.onnx"), "g (float[2,3] x) => (float[k,l] y) {y = Transpose (x)}")
    save_model(Path("c.onnx"), "g (float[2,3] x) => (float[k,l] y) {o = Sub (x, x) y = Div (o, o)}")
    code, printed, _ = command(capsys, "compare", "a.onnx", "b.onnx")
    assert code == 1
    assert "DIFFERS: it has shape [3, 2], not [2, 3]\n" in printed
    code, printed, _ = command(capsys, "compare", "a.onnx", "c.onnx")
    assert code == 1
    assert "DIFFERS: NaN or infinity in only one model; no tolerance would pass\n" in printed
    assert json.loads(command(capsys, "compare", "a.onnx", "c.onnx", "--json")[1])["outputs"][0]["absolute"] is None
    code, printed, _ = command(capsys, "compare", "c.onnx", "c.onnx")
    assert code == 1
    assert "INCONCLUSIVE: largest difference 0" in printed  # as a constant would be


def test_models_of_other_numbers_of_outputs_differ(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), "g (float[3] x) => (float[3] y) {y = Identity (x)}")
    save_model(Path("b.onnx"), "g (float[3] x) => (float[3] y, float[3] z) {y = Identity (x) z = Abs (x)}")
    code, printed, errors = command(capsys, "compare", "a.onnx", "b.onnx")
    assert (code, printed, errors) == (
        1,
        "",
        "error: the numbers of outputs differ: a.onnx has 1, b.onnx 2; expected the same\n",
    )


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("gone.onnx", "error: gone.onnx: cannot be read: No such file or directory\n"),
        ("a.json", "error: a.json: unknown file type '.json'; expected one of .onnx, .xml\n"),
        ("layer.xml", "error: layer.xml: not a model, but pasted layers; expected a <net>\n"),
        ("two.onnx", "error: 2 inputs (x, z), but 1 are given\n"),
    ],
)
def test_what_cannot_be_compared(second: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), "g (float[3] x) => (float[3] y) {y = Identity (x)}")
    save_model(Path("two.onnx"), "g (float[3] x, float[3] z) => (float[3] y) {y = Add (x, z)}")
    Path("layer.xml").write_text("<layer/>")
    assert command(capsys, "compare", "a.onnx", second) == (2, "", said)


def test_a_model_that_does_not_run_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), "g (float[1,1,4] x) => (float[1,1,k] y) {y = Identity (x)}")
    save_model(Path("b.onnx"), 'g (double[1,1,4] x) => (double[1,1,k] y) {y = Resize <mode = "linear"> (x, "", x)}')
    code, printed, errors = command(capsys, "compare", "b.onnx", "a.onnx")
    assert (code, printed) == (2, "")
    assert errors.startswith("error: b.onnx does not run: ")


def test_errors_from_python() -> None:
    save_model(Path("a.onnx"), "g (float[3] x) => (float[3] y) {y = Identity (x)}")
    save_model(Path("b.onnx"), "g (float[3] x) => (float[3] y, float[3] z) {y = Identity (x) z = Abs (x)}")
    with pytest.raises(VerificationError):
        compare_models(Path("a.onnx"), Path("b.onnx"), Inputs())
    with pytest.raises(ReadError):
        compare_models(Path("a.onnx"), Path("a.txt"), Inputs())
    with pytest.raises(IrInterpError):
        compare_models(Path("a.onnx"), Path("a.onnx"), Inputs(shapes={"x": (4,)}))


def test_differences_fall_between_powers_of_ten() -> None:
    save_model(Path("a.onnx"), "g (float[6] x) => (float[6] y) {y = Identity (x)}")
    text = "g (float[6] x) => (float[6] y) <float[6] d = {0,0,2e-1,3e-2,0.5,1e-12}> {y = Add (x, d)}"
    save_model(Path("b.onnx"), text)
    np.save("x.npy", np.zeros(6, np.float32))
    (output,) = compare_models(Path("a.onnx"), Path("b.onnx"), Inputs(files={"x": (Path("x.npy"),)})).outputs
    counts = {(each.lower, each.upper): each.count for each in output.histogram}
    assert counts[0.0, 0.0] == 2
    assert counts[0.1, 1.0] == 2
    assert counts[0.01, 0.1] == 1
    assert sum(counts.values()) == 6
    assert [n for (lower, upper), n in counts.items() if lower == 0 < upper] == [1]


def test_the_limit_follows_the_element_type() -> None:
    """In half precision a last bit is worth 2^-10 of the largest value, and more is no rounding."""
    half, single = np.array([1, 2], np.float16), np.array([1, 2.001], np.float32)
    assert compare("y", half, single).passes
    assert not compare("y", half, single + np.float32(0.002)).passes
    assert not compare("y", half.astype(np.float32), single).passes


LAYERS = """g (float[1,2,6,6] x) => (float[1,2,k,l] y) <float[4] s = {1,1,2,2}, float low = {0}, float f = {FACTOR}> {
    one = Resize <mode = "linear"> (x, "", s)
    scaled = Mul (one, f)
    high = Max (scaled, low)
    two = Resize <mode = "linear"> (high, "", s)
    y = Tanh (two)
}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("as_irs", [(), ("a",), ("b",), ("a", "b")], ids=str)
def test_the_first_layer_that_differs_is_named(as_irs: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """It is no resize; that the second resize is given other data is no fault of it."""
    names = []
    for name, factor in (("a", "0.5"), ("b", "0.6")):
        save_model(Path(f"{name}.onnx"), LAYERS.replace("FACTOR", factor))
        ir_interp.convert(f"{name}.onnx", f"{name}.xml", verify=False)
        names.append(f"{name}.xml" if name in as_irs else f"{name}.onnx")
    code, printed, errors = command(capsys, "compare", *names, "--per-layer", "--per-resize")
    assert (code, errors) == (1, "")
    assert "the first layer that differs is 'scaled': it differs by " in printed
    assert "the first resize that differs is 'two'; its input differs already" in printed


def test_a_name_of_another_tensor_is_not_blamed(capsys: pytest.CaptureFixture[str]) -> None:
    """``t`` is what is clipped in one model, and before that in the other: what differs stands behind."""
    text = """g (float[1,1,6,6] x) => (float[1,1,6,6] y) <float low = {0.3}, float high = {0.6}, float f = {FACTOR}> {
        OPS u = Mul (c, f) y = Tanh (u)
    }"""
    clipped = "t = Clip (x, low, high) c = Identity (t)"
    before = "t = Identity (x) c = Clip (t, low, high)"
    save_model(Path("a.onnx"), text.replace("OPS", clipped).replace("FACTOR", "1.5"))
    save_model(Path("b.onnx"), text.replace("OPS", before).replace("FACTOR", "1.4"))
    code, printed, _ = command(capsys, "compare", "a.onnx", "b.onnx", "--per-layer")
    assert code == 1
    assert "the first layer that differs is 'u': it differs by " in printed
    save_model(Path("c.onnx"), text.replace("OPS", before).replace("FACTOR", "1.5"))
    assert command(capsys, "compare", "a.onnx", "c.onnx", "--per-layer")[0] == 0


def test_resizes_go_by_place_where_names_differ(capsys: pytest.CaptureFixture[str]) -> None:
    chain(Path("a.onnx"))
    text = CHAIN.replace("MODE", "align_corners").replace("one", "first").replace("two", "second")
    save_model(Path("b.onnx"), text)
    code, printed, _ = command(capsys, "compare", "a.onnx", "b.onnx", "--per-resize")
    assert code == 1
    assert "the first resize that differs is 'two'\n" in printed
    assert "not visible in both" not in printed


def test_an_output_of_strings(capsys: pytest.CaptureFixture[str]) -> None:
    sets = '<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 2]>'
    node = 'y = ai.onnx.ml.LabelEncoder <keys_int64s = [0, 1], values_strings = ["a", "b"]> (x)'
    onnx.save(onnx.parser.parse_model(f"{sets} g (int64[4] x) => (string[4] y) {{ {node} }}"), "m.onnx")
    said = "error: tensor 'y' holds strings, which are not compared\n"
    assert command(capsys, "compare", "m.onnx", "m.onnx") == (2, "", said)
