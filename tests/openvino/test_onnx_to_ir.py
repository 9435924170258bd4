"""ONNX models whose resizes are hard to translate, run as IR in OpenVINO and as they are in onnxruntime."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest

import ir_interp
from ir_interp import resize
from tests.support.configurations import OnnxCase, model_of, run_in_onnxruntime
from tests.support.external import LENGTH, save_external
from tests.support.graphs import assert_equal, onnxruntime_outputs, openvino_outputs, save_model, values
from tests.support.runtimes import Array, Child
from tests.support.translations import OPEN, Outcome, onnx_to_ir
from tests.support.verdicts import spec_of

Feeds = Mapping[str, Array]


def _convert(folder: Path, text: str, **options: Any) -> tuple[Path, Path, ir_interp.ConversionReport]:
    source, destination = save_model(folder / "x.onnx", text), folder / "x.xml"
    return source, destination, ir_interp.convert(source, destination, verify=False, **options)


def _constants(model: Path) -> dict[str, list[ov.Node]]:
    """Return the constants of an IR by element type."""
    found: dict[str, list[ov.Node]] = {}
    for node in ov.Core().read_model(model).get_ops():
        if node.get_type_name() == "Constant":
            found.setdefault(node.get_element_type().get_type_name(), []).append(node)
    return found


def _singles(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


X = values(1, 1, 4, 5)

BRANCHES = """g (float[1,1,4,5] x) => (float[1,1,h,w] y) <float[4] s = {1,1,2,2}, float half = {0.5}> {
    most = ReduceMax <keepdims = 0> (x)
    large = Greater (most, half)
    y = If (large) <
        then_branch = a () => (float[1,1,8,10] u) { u = Resize <mode = "linear", antialias = 1> (x, "", s) },
        else_branch = b () => (float[1,1,8,10] v) { v = Resize <mode = "nearest"> (x, "", s) }>
}"""
BRANCHES_AT_RUN_TIME = """g (float[1,1,h,w] x, float[1,1,k,l] z) => (float[1,1,k,l] y) <float half = {0.5}> {
    most = ReduceMax <keepdims = 0> (x)
    large = Greater (most, half)
    outer = Shape (z)
    y = If (large) <
        then_branch = a () => (float[1,1,k,l] u) { u = Resize <mode = "cubic", antialias = 1> (x, "", "", outer) },
        else_branch = b () => (float[1,1,k,l] v) { inner = Shape (z) v = Resize <mode = "nearest"> (x, "", "", inner) }>
}"""
LOOP = """g (float[1,1,4,5] x) => (float[1,1,8,3] y)
    <int64 n = {3}, bool go = {1}, float[4] s = {1,1,2,0.6}, float[1] nought = {0}, int64[4] full = {1,1,8,3}> {
    zeros = Expand (nought, full)
    y = Loop (n, go, zeros) <body = b (int64 i, bool c, float[1,1,8,3] sum) => (bool d, float[1,1,8,3] more) {
        d = Identity (c)
        part = Resize <mode = "linear", antialias = 1> (x, "", s)
        more = Add (sum, part) }>
}"""
LOOP_AT_RUN_TIME = """g (float[1,1,h,w] x) => (float total)
    <int64 n = {3}, bool go = {1}, float nought = {0}, int64[2] ones = {1,1}, int64[1] four = {4}> {
    total = Loop (n, go, nought) <body = b (int64 i, bool c, float sum) => (bool d, float more) {
        d = Identity (c)
        length = Add (i, four)
        sizes = Concat <axis = 0> (ones, length, length)
        part = Resize <mode = "cubic", exclude_outside = 1> (x, "", "", sizes)
        square = Mul (part, part)
        energy = ReduceSum <keepdims = 0> (square)
        more = Add (sum, energy) }>
}"""
OWN_SHAPE = """g (float[n,c,h,w] x) => (float[n,c,9,7] y)
    <int64[1] start = {0}, int64[1] end = {2}, int64[2] hw = {9,7}> {
    shape = Shape (x)
    front = Slice (shape, start, end)
    sizes = Concat <axis = 0> (front, hw)
    y = Resize <mode = "linear"> (x, "", "", sizes)
}"""
ANOTHERS_SHAPE = """g (float[n,c,h,w] x, float[n,d,k,l] z) => (float[n,c,k,l] y)
    <int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}> {
    own = Shape (x)
    front = Slice (own, zero, two)
    other = Shape (z)
    back = Slice (other, two, four)
    sizes = Concat <axis = 0> (front, back)
    y = Resize <mode = "nearest"> (x, "", "", sizes)
}"""
SCALES = """g (float[1,2,h,w] x, float[4] s) => (float[1,2,k,l] y) { y = Resize <mode = "cubic"> (x, "", s) }"""
SIZES = """g (float[1,2,h,w] x, int64[4] s) => (float[1,2,k,l] y) { y = Resize <mode = "linear"> (x, "", "", s) }"""
ROI = """g (float[1,2,h,w] x, float[8] r, int64[4] s) => (float[1,2,k,l] y) {
    y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 7.0>
        (x, r, "", s)
}"""

MODELS: dict[str, tuple[str, list[Feeds]]] = {
    "both branches of an If": (BRANCHES, [{"x": X}, {"x": -np.abs(X)}]),
    "branches with sizes of outside and inside": (
        BRANCHES_AT_RUN_TIME,
        [{"x": X, "z": values(1, 1, 7, 9)}, {"x": -np.abs(values(1, 1, 14, 3)), "z": values(1, 1, 7, 9)}],
    ),
    "the body of a Loop": (LOOP, [{"x": X}]),
    "a Loop with sizes of each turn": (LOOP_AT_RUN_TIME, [{"x": X}, {"x": values(1, 1, 9, 3)}]),
    "sizes from the shape of the same tensor": (OWN_SHAPE, [{"x": values(2, 3, 5, 6)}, {"x": values(1, 1, 12, 1)}]),
    "sizes from the shape of another tensor": (
        ANOTHERS_SHAPE,
        [{"x": values(2, 3, 5, 6), "z": values(2, 1, 11, 4)}, {"x": values(1, 2, 9, 9), "z": values(1, 5, 6, 7)}],
    ),
    "scales as an input": (
        SCALES,
        [{"x": values(1, 2, 5, 6), "s": _singles(1, 1, *each)} for each in [(1.7, 2), (0.4, 0.3)]],
    ),
    "sizes as an input": (
        SIZES,
        [{"x": values(1, 2, 5, 6), "s": np.array([1, 2, *each])} for each in [(7, 3), (5, 6)]],
    ),
    "windows as an input": (
        ROI,
        [
            {"x": values(1, 2, 5, 6), "r": _singles(0, 0, *each), "s": np.array([1, 2, 4, 3])}
            for each in [(0, 0, 1, 1, 1, 1), (0.2, -0.1, 1, 1, 0.8, 1.1)]
        ],
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MODELS)
def test_a_model(name: str, tmp_path: Path) -> None:
    text, feeds = MODELS[name]
    source, destination, report = _convert(tmp_path, text)
    assert {row.grade.value for row in report.rows} <= {"exact", "exact for this shape", "exact, in several operations"}
    for each in feeds:
        (wanted,), (actual,) = onnxruntime_outputs(source, each), openvino_outputs(destination, each)
        assert_equal(actual, wanted, copied=text is ANOTHERS_SHAPE)


FUNCTIONS = """<ir_version: 8, opset_import: ["": 18, "local": 1]>
g (float[1,2,7,8] x) => (float[1,2,10,6] y, float[1,2,7,8] z) {
    z = local.soft (x)
    a = local.up <kind = "nearest"> (z)
    y = local.up <kind = "cubic"> (a) }
<domain: "local", opset_import: ["": 18]> soft (x) => (y) { y = Softplus (x) }
<domain: "local", opset_import: ["": 18, "local": 1]> up <kind> (x) => (y) {
    s = local.soft (x)
    w = Constant <value = int64[4] {1, 2, 10, 6}> ()
    y = Resize <mode: string = @kind> (s, , , w) }"""


def test_local_functions_are_inlined(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(FUNCTIONS), tmp_path / "m.onnx")
    report = ir_interp.convert(tmp_path / "m.onnx", tmp_path / "m.xml", verify=False)
    assert [row.name for row in report.rows] == ["a", "y"]
    feeds = {"x": values(1, 2, 7, 8)}
    wanted = onnxruntime_outputs(tmp_path / "m.onnx", feeds)
    for one, other in zip(openvino_outputs(tmp_path / "m.xml", feeds), wanted, strict=True):
        assert_equal(one, other)


def test_weights_of_local_functions(tmp_path: Path) -> None:
    np.arange(LENGTH, dtype=np.float32).tofile(tmp_path / "w.bin")
    source = save_external(tmp_path / "m.onnx", "function", "w.bin")
    ir_interp.convert(source, tmp_path / "m.xml", verify=False)
    feeds = {"x": values(1, 1, 8, 8)}
    (actual,), (wanted,) = openvino_outputs(tmp_path / "m.xml", feeds), onnxruntime_outputs(source, feeds)
    assert_equal(actual, wanted)


def test_weights_of_local_functions_that_are_cut_off(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(4 * LENGTH - 1))
    source = save_external(tmp_path / "m.onnx", "function", "w.bin")
    with pytest.raises(ir_interp.ReadError, match=r"its weights cannot be read: .*1023 bytes"):
        ir_interp.convert(source, tmp_path / "m.xml", verify=False)


SHAPES = ["1,1,4,5", "1,1,h,5", "1,1,4,w", "1,1,h,w"]


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """Return a process that OpenVINO's CPU plugin may kill: it dies of some operations on nothing."""
    with Child() as process:
        yield process


@pytest.mark.sampled(1)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_an_empty_result(mode: str, tmp_path: Path, child: Child) -> None:
    for shape, scales in zip(SHAPES, itertools.cycle(["1,1,0.2,2", "1,1,2,0.1", "1,1,0.2,0.1"]), strict=False):
        text = f"g (float[{shape}] x) => (float[a,b,c,d] y) <float[4] s = {{{scales}}}>"
        source, destination, _ = _convert(tmp_path, f'{text} {{ y = Resize <mode = "{mode}"> (x, "", s) }}')
        (wanted,) = onnxruntime_outputs(source, {"x": X})
        answer = child.call(openvino_outputs, destination, {"x": X})
        assert isinstance(answer, list), f"{shape} by {scales}: {answer}"
        assert [each.shape for each in answer] == [wanted.shape]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", ["s = Constant <value_ints = [1,1,4,5]> ()", "s = Shape (x)"])
def test_a_resize_that_keeps_every_length(mode: str, sizes: str, tmp_path: Path) -> None:
    text = f'g (float[a,b,c,d] x) => (float[a,b,c,d] y) {{ {sizes} y = Resize <mode = "{mode}"> (x, "", "", s) }}'
    _, destination, report = _convert(tmp_path, text)
    assert [row.name for row in report.rows] == ["y"]
    (actual,) = openvino_outputs(destination, {"x": X})
    np.testing.assert_array_equal(actual, X)


RANKS = [(7,), (5, 7), (2, 5, 7), (2, 3, 4, 5), (1, 2, 3, 4, 5), (2, 1, 2, 3, 4, 5)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("left_open", OPEN)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_every_rank(mode: str, left_open: str) -> None:
    """Compared with the executor: onnxruntime has not all of them."""
    for shape in RANKS:
        sizes = (*shape[:-2], *(2 * length - 3 for length in shape[-2:]))
        _check_by_executor(
            OnnxCase(op="Resize", opset=13, shape=shape, attributes={"mode": mode}, sizes=sizes), left_open
        )


def _check_by_executor(case: OnnxCase, left_open: str) -> Outcome:
    outcome = onnx_to_ir(case, left_open=left_open)
    assert outcome.output is not None
    assert_equal(outcome.output, resize(case.array(), spec_of(case)), copied=case.mode == "nearest")
    return outcome


AVOIDED = {
    "a Multiply of rank 7": (
        "both",
        OnnxCase(
            op="Resize",
            opset=18,
            shape=(3, 2, 3, 1, 4, 2),
            attributes={"mode": "linear", "antialias": 1},
            sizes=(6, 4, 3, 1, 8, 5),
        ),
    ),
    "8-bit integers wrapped around": (
        "nothing",
        OnnxCase(
            op="Resize",
            opset=13,
            shape=(1, 2, 1, 4, 5),
            dtype="uint8",
            attributes={"mode": "cubic"},
            sizes=(1, 2, 1, 8, 9),
        ),
    ),
    "a division made a multiplication": (
        "target",
        OnnxCase(
            op="Resize",
            opset=12,
            shape=(6,),
            dtype="int64",
            attributes={
                "mode": "nearest",
                "nearest_mode": "floor",
                "coordinate_transformation_mode": "tf_half_pixel_for_nn",
            },
            sizes=(5,),
        ),
    ),
}


@pytest.mark.parametrize("fault", AVOIDED)
def test_faults_of_the_plugin_are_avoided(fault: str) -> None:
    left_open, case = AVOIDED[fault]
    _check_by_executor(case, left_open)


def test_a_crop_without_a_roi_is_of_the_whole_image(tmp_path: Path) -> None:
    attributes = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    case = OnnxCase(op="Resize", opset=19, shape=(4, 5), attributes=attributes, sizes=(3, 7))
    onnx.save(model_of(case), tmp_path / "m.onnx")
    x, wanted = case.array(), run_in_onnxruntime(case)
    (op,) = ir_interp.load(tmp_path / "m.onnx")
    np.testing.assert_allclose(op.run(x), wanted, atol=1e-6)
    ir_interp.convert(tmp_path / "m.onnx", tmp_path / "m.xml")
    np.testing.assert_allclose(openvino_outputs(tmp_path / "m.xml", {"x": x})[0], wanted, atol=1e-5)


# Options


TWO = """g (float[1,2,9,9] x) => (float[1,2,k,l] y) <float[4] s = {1,1,2.3,0.6}, int64[4] z = {1,2,7,7}> {
    a = Resize <mode = "linear", antialias = 1> (x, "", s)
    y = Resize <mode = "linear"> (a, "", "", z)
}"""


def test_native_forms_alone(tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup) as refusals:
        _convert(tmp_path, TWO, only="native")
    assert str(refusals.value) == "1 of 2 resizes have no exact form (1 sub-exception)"
    assert [str(each) for each in refusals.value.exceptions] == [
        "a: no exact form in openvino 11; the closest form has antialias off (needed: shrinking)"
    ]


def test_decomposed_forms_alone(tmp_path: Path) -> None:
    source, destination, report = _convert(tmp_path, TWO, only="decomposed")
    assert [row.form for row in report.rows] == ["weighted sums along axes 2, 3"] * 2
    assert "Interpolate" not in {node.get_type_name() for node in ov.Core().read_model(destination).get_ops()}
    x = values(1, 2, 9, 9)
    assert_equal(openvino_outputs(destination, {"x": x})[0], onnxruntime_outputs(source, {"x": x})[0])


def _row(mode: str, *, sizes: Any = None, scales: Any = None, roi: Any = None, **attributes: Any) -> OnnxCase:
    return OnnxCase(
        op="Resize",
        opset=19,
        shape=(1, 2, 7, 9),
        attributes={"mode": mode, "axes": [2, 3], **attributes},
        sizes=sizes,
        scales=scales and tuple(float(np.float32(scale)) for scale in scales),
        roi=roi,
    )


STRICT = [
    _row("nearest", sizes=(5, 12)),
    _row("nearest", scales=(1.7, 0.6), nearest_mode="floor", coordinate_transformation_mode="asymmetric"),
    _row("nearest", sizes=(11, 11), nearest_mode="ceil", coordinate_transformation_mode="align_corners"),
    _row("linear", sizes=(11, 5), coordinate_transformation_mode="align_corners"),
    _row("linear", scales=(1.3, 0.7)),
    _row("linear", sizes=(1, 5), coordinate_transformation_mode="pytorch_half_pixel"),
    _row("linear", scales=(0.6, 1.7), coordinate_transformation_mode="half_pixel_symmetric"),
    _row("linear", scales=(0.6, 1.7), antialias=1),
    _row("linear", sizes=(6, 8), keep_aspect_ratio_policy="not_larger"),
    _row("linear", sizes=(6, 8), roi=(0.1, -0.2, 0.9, 1.1), coordinate_transformation_mode="tf_crop_and_resize"),
    _row("cubic", sizes=(10, 10)),
    _row("cubic", scales=(2.3, 0.6), exclude_outside=1),
    _row("cubic", sizes=(5, 20), antialias=1, cubic_coeff_a=-0.5),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", STRICT, ids=lambda case: "-".join(map(str, case.attributes.values())))
def test_a_strict_conversion_holds_at_every_shape(case: OnnxCase, tmp_path: Path) -> None:
    """The source says (1, 2, 7, 9); the IR is given other lengths, and onnxruntime the same resize of these."""
    onnx.save(model_of(case), tmp_path / "x.onnx")
    report = ir_interp.convert(tmp_path / "x.onnx", tmp_path / "x.xml", verify=False, strict=True)
    assert report.rows[0].grade.value in ("exact", "exact, in several operations")
    for shape in ((1, 2, 7, 9), (1, 2, 4, 5), (1, 2, 13, 20), (1, 2, 24, 6)):
        model = ov.Core().read_model(tmp_path / "x.xml")
        model.reshape(list(shape))
        other = replace(case, shape=shape)
        (actual,) = openvino_outputs(model, {"x": other.array()})
        assert_equal(actual, run_in_onnxruntime(other), copied=case.mode == "nearest")


@pytest.mark.parametrize("only", ["native", "decomposed"])
def test_half_precision_is_for_weights_not_for_resizes(only: str, tmp_path: Path) -> None:
    kernel = ", ".join(map(str, values(4, 3, 3, 3).ravel()))
    text = f"""g (float[1,3,9,9] x) => (float[1,3,k,l] y, float[1,4,m,n] z)
        <float[4] s = {{1,1,2.3,0.6}}, float[4,3,3,3] k = {{{kernel}}}> {{
        y = Resize <mode = "linear"> (x, "", s)
        c = Conv (x, k)
        z = Resize <mode = "cubic"> (c, "", s)
    }}"""
    source, destination, _ = _convert(tmp_path, text, fp16=True, only=only)
    found = _constants(destination)
    assert [tuple(node.shape) for node in found["f16"]] == [(4, 3, 3, 3)]
    assert len(found["f32"]) == 4 - 2 * (only == "native")  # a matrix for each axis, or scales
    x = values(1, 3, 9, 9)
    (exact, wanted), (same, near) = onnxruntime_outputs(source, {"x": x}), openvino_outputs(destination, {"x": x})
    assert_equal(same, exact)
    np.testing.assert_allclose(near, wanted, rtol=0, atol=1e-3 * np.abs(wanted).max())
    assert np.abs(near - wanted).max() > 1e-6  # the weights did lose digits


def test_sizes_of_an_unknown_number(tmp_path: Path) -> None:
    """OpenVINO's TFLite frontend knows of no computed vector how long it is; onnxruntime refuses such a model."""
    text = """g (float[1,2,h,w] x, int64[count] sizes) => (float[1,2,a,b] y) {
        y = Resize <mode = "linear"> (x, "", "", sizes) }"""
    _, destination, report = _convert(tmp_path, text)
    assert len(report.rows) == 1
    feeds = {"x": values(1, 2, 5, 4), "sizes": np.array([1, 2, 7, 9])}
    (expected,) = onnxruntime_outputs(save_model(tmp_path / "four.onnx", text.replace("count", "4")), feeds)
    assert_equal(openvino_outputs(destination, feeds)[0], expected)


def test_an_input_of_unknown_type_is_refused(tmp_path: Path) -> None:
    text = """g (float[1,2,5,6] x, float[8] roi) => (float[1,2,7,9] y) <int64[4] sizes = {1, 2, 7, 9}> {
        y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, roi, "", sizes)
    }"""
    model = onnx.load(save_model(tmp_path / "a.onnx", text))
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.UNDEFINED
    onnx.save(model, tmp_path / "a.onnx")
    with pytest.raises(ExceptionGroup) as caught:
        ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml", verify=False)
    assert "the element type of its input is unknown" in str(caught.value.exceptions[0])
