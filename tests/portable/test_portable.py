"""Portable ONNX: what becomes of resizes for each target, and that nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import ir_interp
from ir_interp import InexactError, IrInterpError, ReadError, VerificationError
from ir_interp.converters.onnx.onnx_graph import Graph
from ir_interp.converters.portable import operator_sets
from ir_interp.converters.portable.targets import ExactPrimitivesForOpenVINO
from ir_interp.converters.runtimes import openvino
from ir_interp.converters.runtimes.outcome import computes
from tests.audit.test_audit import BETWEEN, outputs
from tests.support.commands import command
from tests.support.graphs import assert_equal, onnxruntime_outputs, openvino_outputs, save_model, values
from tests.support.runtimes import OTHERS, Array
from tests.sweeps.portable import TARGETS, became, sweep
from tests.test_models import MODELS, model_path

ENDS = "(float[1,2,7,8] x) => (float[1,2,p,q] y)"
OPEN = "(float[n,2,h,w] x) => (float[n,2,p,q] y)"
DOUBLE = "float[4] s = {1, 1, 2, 2}"
SIZES = "int64[4] z = {1, 2, 5, 6}"
GROWN = "int64[2] z = {20, 30}"
ROI = "float[8] r = {0, 0, 0.1, 0.1, 1, 1, 0.9, 1.3}"
FLOOR = 'coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
CROP = 'coordinate_transformation_mode = "tf_crop_and_resize", extrapolation_value = 9.0'
NOT_LARGER = 'keep_aspect_ratio_policy = "not_larger"'
TENSORRT = "TensorRT by its importer's source, not run"


def graph(constants: str, node: str, ends: str = ENDS) -> str:
    return f"g {ends} <{constants}> {{ t = Relu (x) [up] y = {node} }}"


UPSAMPLE = graph(DOUBLE, 'Upsample <mode = "nearest"> (t, s)', OPEN)
ANTIALIAS = graph(SIZES, 'Resize <mode = "cubic", antialias = 1> (t, , , z)')

FORMS = {
    "Upsample as Resize": (
        UPSAMPLE,
        9,
        "onnx:11",
        "Upsample-9 -> Resize-11: coordinate_transformation_mode=asymmetric, nearest_mode=floor",
        "exact",
        "operator set 11 has no Upsample",
    ),
    "Resize as Upsample": (
        graph(f"{DOUBLE}, float[0] e = {{}}", f'Resize <mode = "nearest", {FLOOR}> (t, e, s)', OPEN),
        11,
        "onnx:9",
        "Resize-11 -> Upsample-9: without coordinate_transformation_mode, without nearest_mode",
        "exact",
        "operator set 9 has no Resize",
    ),
    "the defaults of Resize as Upsample, under whole scales": (
        graph(f"{DOUBLE}, float[0] e = {{}}", "Resize (t, e, s)", OPEN),
        11,
        "onnx:7",
        "Resize-11 -> Upsample-7: mode=nearest",
        "exact",
        "operator set 7 has no Resize",
    ),
    "Resize-10 as Resize-11": (
        graph("float[4] s = {1, 1, 0.6, 1.5}", 'Resize <mode = "linear"> (t, s)'),
        10,
        "onnx:11",
        "Resize-10 -> Resize-11: coordinate_transformation_mode=asymmetric",
        "exact",
        "Resize-11 takes other inputs",
    ),
    "axes": (
        graph(GROWN, 'Resize <mode = "linear", axes = [3, -2]> (t, , , z)'),
        19,
        "onnx:11",
        "Resize-19 -> Resize-11: without axes, sizes=[20, 30] -> [1, 2, 30, 20], "
        "coordinate_transformation_mode=half_pixel",
        "exact",
        "Resize-11 has no axes",
    ),
    "an aspect policy": (
        graph(
            "int64[2] z = {14, 30}",
            f'Resize <axes = [2, 3], {FLOOR}, keep_aspect_ratio_policy = "not_larger"> (t, , , z)',
        ),
        18,
        "onnx:13",
        "Resize-18 -> Resize-13: without axes, without keep_aspect_ratio_policy, sizes=[14, 30] -> [1, 2, 14, 16], "
        "mode=nearest",
        "exact for this shape",
        "Resize-13 has no axes",
    ),
    "antialias": (
        ANTIALIAS,
        18,
        "tensorrt",
        "Resize-18 -> weighted sums along axes 2, 3",
        "exact for this shape",
        f"the importer does not support antialias; {TENSORRT}",
    ),
    "antialias of dynamic dimensions": (
        graph(SIZES, 'Resize <mode = "cubic", antialias = 1> (t, , , z)', "(float[1,2,h,w] x) => (float[1,2,5,6] y)"),
        18,
        "openvino",
        "Resize-18 -> weighted sums along axes 2, 3, indices at run time",
        "exact, in several operations",
        "antialias dropped",
    ),
    "antialias of dynamic dimensions, the last axis first": (
        graph("int64[2] z = {6, 5}", 'Resize <mode = "linear", antialias = 1, axes = [3, 2]> (t, , , z)', OPEN),
        18,
        "openvino",
        "Resize-18 -> weighted sums along axes 2, 3, indices at run time",
        "exact, in several operations",
        "antialias dropped",
    ),
    "a crop": (
        graph(f"{SIZES}, {ROI}", f'Resize <mode = "linear", {CROP}> (t, r, , z)'),
        13,
        "openvino",
        "Resize-13 -> weighted sums along axes 2, 3",
        "exact for this shape",
        "the frontend does not support tf_crop_and_resize",
    ),
    "a crop of dynamic dimensions": (
        graph(f"{SIZES}, {ROI}", f"Resize <{CROP}> (t, r, , z)", "(float[1,2,h,w] x) => (float[1,2,5,6] y)"),
        13,
        "openvino",
        "Resize-13 -> copies along axes 2, 3, indices at run time",
        "exact, in several operations",
        "the frontend does not support tf_crop_and_resize",
    ),
    "ties of dynamic dimensions": (
        graph(
            "float[4] s = {1, 1, 1.4, 0.7}", f"Resize <{FLOOR}> (t, , s)", "(float[1,2,h,w] x) => (float[1,2,p,q] y)"
        ),
        13,
        "openvino",
        "Resize-13 -> copies along axes 2, 3, indices at run time",
        "exact, in several operations",
        "it would differ in step given_unless_equal (needed: given)",
    ),
    "negative axes": (
        graph(GROWN, 'Resize <mode = "linear", axes = [-1, -2]> (t, , , z)'),
        19,
        "openvino",
        "Resize-19 -> Resize-19: axes=[-1, -2] -> [3, 2], coordinate_transformation_mode=half_pixel",
        "exact",
        "the frontend does not support negative axes",
    ),
    "a fractional Upsample": (
        graph("float[4] s = {1, 1, 1.3, 1}", 'Upsample <mode = "nearest"> (t, s)'),
        9,
        "openvino",
        "Upsample-9 -> copies along axes 2",
        "exact for this shape",
        "an Upsample becomes half_pixel with round_prefer_floor",
    ),
    "nothing to do": (UPSAMPLE, 9, "openvino", "Upsample-9, kept", "exact", ""),
    "nothing left to resize": (
        graph("int64[2] z = {7, 8}", 'Resize <mode = "linear", axes = [2, 3], antialias = 1> (t, , , z)'),
        18,
        "tensorrt",
        "Resize-18 -> Identity-18: a copy",
        "exact",
        f"the importer does not support antialias; {TENSORRT}",
    ),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str, tmp_path: Path) -> None:
    text, opset, target, form, grade, note = FORMS[name]
    source = save_model(tmp_path / "m.onnx", text, opset)
    (row,) = ir_interp.convert(source, tmp_path / "p.onnx", target=target, verify=False).rows
    assert (row.form, row.grade.value, row.note) == (form, grade, note)
    x = values(1, 2, 7, 8)
    (wanted,) = onnxruntime_outputs(source, {"x": x})
    run = openvino_outputs if target == "openvino" else onnxruntime_outputs
    (found,) = run(tmp_path / "p.onnx", {"x": x})
    assert_equal(found, wanted, copied="copies" in form or form.startswith("Upsample"))
    onnx.checker.check_model(tmp_path / "p.onnx", full_check=True)


REFUSALS = {
    "antialias of dynamic dimensions": (
        graph(SIZES, 'Resize <mode = "linear", antialias = 1> (t, , , z)', "(float[1,2,h,w] x) => (float[1,2,5,6] y)"),
        18,
        "tensorrt",
        "up: no exact form in tensorrt; the importer does not support antialias; and in primitive operations, the "
        "rounding of indices that TensorRT computes at run time is unknown; use shapes and freeze=True to make the "
        "shape static",
    ),
    "ties of dynamic dimensions": (
        graph("int64[4] z = {1, 2, 5, 6}", f"Resize <{FLOOR}> (t, , , z)", "(float[1,2,h,w] x) => (float[1,2,5,6] y)"),
        13,
        "tensorrt",
        "up: no exact form in tensorrt; float32 may decide ties differently; and in primitive operations, the "
        "rounding of indices that TensorRT computes at run time is unknown; use shapes and freeze=True to make the "
        "shape static",
    ),
    "operations of a later operator set": (
        graph("float[2] s = {2, 3.5}", 'Resize <mode = "linear", axes = [2, 3]> (t, , s)', OPEN),
        18,
        "onnx:9",
        "up: no exact form in onnx:9; operator set 9 has no Resize; and primitive operations would not be valid: "
        "No Op registered for Range with domain_version of 9",
    ),
    "what may shrink": (
        "g (float[1,2,7,8] x, float[4] s) => (float[1,2,p,q] y) { [up] y = Resize (x, s) }",
        10,
        "onnx:9",
        "up: no exact form in onnx:9; operator set 9 has no Resize; and primitive operations would not be valid: "
        "No Op registered for Range with domain_version of 9",
    ),
    "Max and Min of operator set 7": (
        graph(DOUBLE, 'Resize <mode = "linear"> (t, , s)', "(int32[1,2,7,8] x) => (int32[1,2,p,q] y)"),
        14,
        "onnx:7",
        "up: no exact form in onnx:7; operator set 7 has no Resize; and primitive operations would not be valid: "
        "Max and Min do not broadcast before operator set 8",
    ),
    "integers that onnxruntime does not resize": (
        graph(DOUBLE, 'Resize <mode = "linear"> (t, , s)', "(int64[1,2,7,8] x) => (int64[1,2,p,q] y)"),
        14,
        "onnx:7",
        "up: no exact form in onnx:7; operator set 7 has no Resize; and in primitive operations, integers would be off "
        "by 1",
    ),
    "a fault of onnxruntime": (
        graph("float[4] s = {1, 1, 1.1, 1}", 'Resize <mode = "linear"> (t, , s)'),
        13,
        "tensorrt",
        "up: no exact form in tensorrt; onnxruntime does not compute what it means: it copies if no size changes",
    ),
    "integers": (
        graph(DOUBLE, 'Resize <mode = "linear"> (t, , s)', "(int32[1,2,7,8] x) => (int32[1,2,p,q] y)").replace(
            "Relu", "Neg"
        ),
        13,
        "tensorrt",
        "up: no exact form in tensorrt; IResizeLayer takes float16, float32, bfloat16, int8, not int32; and in "
        "primitive operations, no rule covers how TensorRT rounds sums of int32",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str, tmp_path: Path) -> None:
    text, opset, target, message = REFUSALS[name]
    source = save_model(tmp_path / "m.onnx", text, opset)
    with pytest.raises(ExceptionGroup, match=rf"^m\.onnx has no exact form for {target}$") as found:
        ir_interp.convert(source, tmp_path / "p.onnx", target=target)
    assert [str(each) for each in found.value.exceptions] == [message]
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_only_and_strict(tmp_path: Path) -> None:
    source = save_model(tmp_path / "m.onnx", ANTIALIAS, 18)
    (row,) = ir_interp.convert(source, tmp_path / "p.onnx", target="onnx:18", only="decomposed", verify=False).rows
    assert (row.form, row.note) == ("Resize-18 -> weighted sums along axes 2, 3", "as asked")
    for options, message in (
        ({"only": "native"}, "no Resize with other attributes computes the same"),
        ({"strict": True}, "in primitive operations, it is exact for the static shape only"),
    ):
        with pytest.raises(ExceptionGroup) as refusals:
            ir_interp.convert(source, tmp_path / "p.onnx", target="tensorrt", **options)
        (refusal,) = refusals.value.exceptions
        assert isinstance(refusal, InexactError)
        assert refusal.reason == f"the importer does not support antialias; and {message}"


# What is no resize


def rich_model(path: Path) -> Path:
    """Write a model with all that a file can hold beside its nodes."""
    text = (
        "g (float[1,3,h,w] x) => (float[1,4,p,q] y) <float[4] s = {1, 1, 2, 2}, float[4,3,1,1] k> {"
        ' [conv] c = Conv <kernel_shape = [1, 1]> (x, k) [up] u = Resize <mode = "linear", antialias = 1> (c, , s)'
        ' [shrink] v = Resize <mode = "linear", antialias = 1> (u, , half) [end] y = Sigmoid (v) }'
    )
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18, "com.example": 3]> {text}')
    weights = {"k": values(4, 3, 1, 1), "half": np.array([1, 1, 0.5, 0.5], np.float32)}
    del model.graph.initializer[1:]
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    model.graph.value_info.append(helper.make_tensor_value_info("c", onnx.TensorProto.FLOAT, [1, 4, "h", "w"]))
    model.graph.node[0].doc_string = "the first"
    model.doc_string, model.producer_name, model.domain, model.model_version = "about it", "someone", "ours", 7
    model.graph.doc_string = "of the graph"
    helper.set_model_props(model, {"labels": "a, b"})
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("target", ["openvino", "onnx:13"])
def test_everything_else_is_byte_equal(target: str, tmp_path: Path) -> None:
    source = rich_model(tmp_path / "m.onnx")
    report = ir_interp.convert(source, tmp_path / "p.onnx", target=target)
    assert report.verification is not None
    was, became = onnx.load(source), onnx.load(tmp_path / "p.onnx")
    for part in ("input", "output", "value_info", "quantization_annotation", "sparse_initializer", "metadata_props"):
        mine, theirs = getattr(was.graph, part), getattr(became.graph, part)
        assert [each.SerializeToString() for each in mine] == [each.SerializeToString() for each in theirs]
    held = {each.name: each.SerializeToString() for each in became.graph.initializer}
    assert {each.name: each.SerializeToString() for each in was.graph.initializer}.items() <= held.items()
    nodes = [each.SerializeToString() for each in became.graph.node]
    assert [each.SerializeToString() in nodes for each in was.graph.node] == [True, False, False, True]
    assert [node.output[0] for node in became.graph.node if node.name in ("conv", "up", "shrink", "end")] == list(
        "cuvy"
    )
    assert [(each.domain, each.version) for each in became.opset_import] == [
        ("", 13 if target == "onnx:13" else 18),
        ("com.example", 3),
    ]
    for model in (was, became):
        del model.opset_import[:]
        model.graph.Clear()
    assert was.SerializeToString() == became.SerializeToString()


def test_a_model_that_needs_nothing_is_copied(tmp_path: Path) -> None:
    source = save_model(tmp_path / "m.onnx", UPSAMPLE, 9)
    octets = source.read_bytes() + b"\xca\x3e\x03new"  # a field that this version of ONNX does not know
    source.write_bytes(octets)
    ir_interp.convert(source, tmp_path / "n.onnx", target="openvino")
    assert (tmp_path / "n.onnx").read_bytes() == octets


_MODES = {  # ONNX's changelog of operators, Resize
    11: {
        "half_pixel",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_half_pixel_for_nn",
        "tf_crop_and_resize",
    },
    13: {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"},
    19: {
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
    },
}


@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize(
    ("opset", "attributes"),
    [
        (12, 'mode = "nearest", coordinate_transformation_mode = "tf_half_pixel_for_nn"'),
        (13, 'mode = "nearest", coordinate_transformation_mode = "tf_half_pixel_for_nn"'),  # as tf2onnx writes it
        (19, 'mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric"'),
    ],
)
@pytest.mark.parametrize("target", [11, 13, 18, 19, 21])
def test_an_operator_set_gets_words_that_it_has(
    opset: int, attributes: str, scales: bool, target: int, tmp_path: Path
) -> None:
    """onnxruntime takes these words in any operator set, so that no run shows one that does not belong."""
    roi, numbers = "float[0] e = {}", "float[4] s = {1, 1, 1.35, 0.7}" if scales else SIZES
    text = graph(f"{numbers}, {roi}", f"Resize <{attributes}> (t, e, {'s' if scales else 'e, z'})")
    source, written = save_model(tmp_path / "m.onnx", text, opset), tmp_path / "p.onnx"
    assert ir_interp.convert(source, written, target=f"onnx:{target}").verification is not None
    known = _MODES[max(since for since in _MODES if since <= target)]
    for node in onnx.load(written).graph.node:
        modes = [helper.get_attribute_value(each).decode() for each in node.attribute if each.name.startswith("coord")]
        assert node.op_type != "Resize" or known.issuperset(modes)


NODES = [
    ("Relu", 17, 11, ""),
    ("Clip <min = 0.0> (x)", 10, 11, "Clip-11 has no min"),
    ("Squeeze <axes = [0]> (x)", 11, 13, "Squeeze-13 has no axes"),
    ("Unsqueeze (x, a)", 13, 11, "Unsqueeze-11 needs the attribute axes"),
    ("ReduceSum (x)", 13, 11, ""),
    ("Softmax <axis = 1> (x)", 13, 11, "Softmax-11 interprets the same attributes differently"),
    ("Softmax <axis = -1> (x)", 13, 11, ""),
    ("Softmax <axis = -1> (x)", 13, 9, "Softmax-1 interprets the same attributes differently"),
    ("LayerNormalization (x, a)", 17, 16, "operator set 16 has no LayerNormalization"),
    ("AveragePool <kernel_shape = [1]> (x)", 19, 11, ""),
    ("AveragePool <kernel_shape = [1], dilations = [2]> (x)", 19, 11, "AveragePool-11 has no dilations"),
    ("BatchNormalization (x, a, b, c, d)", 15, 9, ""),
    ("BatchNormalization (x, a, b, c, d)", 15, 7, "BatchNormalization-7 has another default for spatial"),
    ("Resize (x, s)", 10, 13, "Resize-13 takes other inputs"),
    ("Resize (x, , s)", 13, 11, "Resize-11 needs the input roi"),
    ("TopK <k = 2> (x)", 9, 10, "TopK-10 has no k"),
    ("Upsample (x, s)", 9, 10, "operator set 10 has no Upsample"),
]


@pytest.mark.parametrize(("text", "old", "new", "problem"), NODES)
def test_nodes_in_another_operator_set(text: str, old: int, new: int, problem: str) -> None:
    node = onnx.parser.parse_node(f"y = {text}" if "(" in text else f"y = {text} (x)")
    assert operator_sets.problem(node, old, new) == problem


def test_other_nodes_may_stand_in_the_way(tmp_path: Path) -> None:
    more = 'v = Einsum <equation = "abcd->abcd"> (t) u = Trilu (v) [up]'
    text = graph(DOUBLE, "Resize (u, , s)").replace("[up]", more)
    source = save_model(tmp_path / "m.onnx", text, 14)
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(source, tmp_path / "p.onnx", target="onnx:10")
    assert str(refusals.value.exceptions[0]) == (
        "m.onnx: no exact form in onnx:10; other nodes have no form there: operator set 10 has no Einsum (1), operator "
        "set 10 has no Trilu; there is no Range (1); onnx:12 is the nearest target where they do"
    )


_SCAN = "v = Scan <body = b (float[1,2,7,8] i) => (float[1,2,7,8] o) {o = Relu (i)}, num_scan_inputs = 1> (, w) "


@pytest.mark.parametrize(
    ("version", "node", "written"),
    [
        (9, 'Upsample <mode = "linear"> (u, s)', 13),
        (10, 'Resize <mode = "linear"> (u, s)', 13),
        (14, 'Resize <mode = "linear"> (u, , s)', 14),
        (8, 'Upsample <mode = "linear", scales = [1.0, 1.0, 2.0, 2.0]> (u)', 8),
    ],
)
@pytest.mark.parametrize("target", ["iree", "any"])
def test_runtimes_that_lack_nodes_of_older_sets(
    version: int, node: str, written: int, target: str, tmp_path: Path
) -> None:
    """IREE has no Concat before 11 and no Slice before 13. A Scan-8 has no form in 13, so that model stays."""
    scan = f"w = Unsqueeze <axes = [0]> (t) {_SCAN}" if version == 8 else ""
    text = graph(DOUBLE, node, "(float[1,2,7,8] x) => (float[1,4,14,16] y)")
    source = save_model(tmp_path / "m.onnx", text.replace("[up]", f"{scan}u = Concat <axis = 1> (t, t) [up]"), version)
    ir_interp.convert(source, tmp_path / "p.onnx", target=target, verify=version != 8)
    model = onnx.load(tmp_path / "p.onnx")
    assert model.opset_import[0].version == written
    assert [each.op_type for each in model.graph.node].count("Concat") == 1
    if written == 13:
        x = {"x": values(1, 2, 7, 8)}
        assert_equal(onnxruntime_outputs(tmp_path / "p.onnx", x)[0], onnxruntime_outputs(source, x)[0])


def test_types_that_an_operator_set_lacks(tmp_path: Path) -> None:
    """Relu takes int8 since 14."""
    text = graph(DOUBLE, "Resize (t, , s)", "(int8[1,2,7,8] x) => (int8[1,2,p,q] y)")
    source = save_model(tmp_path / "m.onnx", text, 14)
    with pytest.raises(InexactError, match=r"^m\.onnx: no exact form in onnx:13; it would not be valid ONNX: .*Relu"):
        ir_interp.convert(source, tmp_path / "p.onnx", target="onnx:13")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


# Where resizes stand


def test_there_and_back(tmp_path: Path) -> None:
    source = save_model(tmp_path / "m.onnx", UPSAMPLE, 9)
    ir_interp.convert(source, tmp_path / "up.onnx", target="onnx:19")
    ir_interp.convert(tmp_path / "up.onnx", tmp_path / "down.onnx", target="onnx:9")
    (wanted,), (found,) = ir_interp.load(source), ir_interp.load(tmp_path / "down.onnx")
    assert (found.version, found.name, found.spec) == (9, "up", wanted.spec)


def test_subgraphs(tmp_path: Path) -> None:
    text = (
        "g (float[1,2,7,8] x, bool c) => (float[1,2,5,6] y) <int64[4] z = {1, 2, 5, 6}> { y = If (c) <"
        'then_branch = a () => (float[1,2,5,6] t) { [one] t = Resize <mode = "linear", antialias = 1> (x, , , z) },'
        'else_branch = b () => (float[1,2,5,6] e) { [two] e = Resize <mode = "cubic", antialias = 1> (x, , , z) }> }'
    )
    source = save_model(tmp_path / "m.onnx", text, 18)
    report = ir_interp.convert(source, tmp_path / "p.onnx", target="openvino")
    assert [(row.name, row.form) for row in report.rows] == [
        ("one", "Resize-18 -> weighted sums along axes 2, 3"),
        ("two", "Resize-18 -> weighted sums along axes 2, 3"),
    ]
    assert ir_interp.load(tmp_path / "p.onnx") == []
    for chosen in (True, False):
        feeds = {"x": values(1, 2, 7, 8), "c": np.array(chosen)}
        (wanted,) = onnxruntime_outputs(source, feeds)
        assert_equal(onnxruntime_outputs(tmp_path / "p.onnx", feeds)[0], wanted)
        assert_equal(openvino_outputs(tmp_path / "p.onnx", feeds)[0], wanted)


FUNCTIONS = """<ir_version: 8, opset_import: ["": 18, "local": 1]>
g (float[1,2,7,8] x) => (float[1,2,5,6] y) { a = local.soft (x) b = local.outer (a) y = local.soft (b) }
<domain: "local", opset_import: ["": 18]> soft (x) => (y) { y = Softplus (x) }
<domain: "local", opset_import: ["": 18, "local": 1]> outer (x) => (y) { y = local.shrink (x) }
<domain: "local", opset_import: ["": 18]> shrink (x) => (y) {
    z = Constant <value = int64[4] {1, 2, 5, 6}> () y = Resize <mode = "linear", antialias = 1> (x, , , z) }"""


def test_local_functions_with_resizes_are_inlined(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(FUNCTIONS), tmp_path / "m.onnx")
    (row,) = ir_interp.convert(tmp_path / "m.onnx", tmp_path / "p.onnx", target="tensorrt").rows
    assert row.form == "Resize-18 -> weighted sums along axes 2, 3"
    model = onnx.load(tmp_path / "p.onnx")
    assert [each.name for each in model.functions] == ["soft"]
    assert [node.op_type for node in model.graph.node] == ["soft", "Constant", "MatMul", "MatMul", "soft"]
    (row,) = ir_interp.convert(tmp_path / "m.onnx", tmp_path / "p.onnx", target="onnx:18").rows
    assert row.form == "Resize-18, kept"
    assert (tmp_path / "p.onnx").read_bytes() == (tmp_path / "m.onnx").read_bytes()


def test_old_files_get_constants_as_nodes(tmp_path: Path) -> None:
    text = graph("float[4] s = {1, 1, 1.3, 1}", 'Upsample <mode = "nearest"> (t, s)')
    model = onnx.load(save_model(tmp_path / "m.onnx", text, 9))
    model.ir_version = 3
    model.graph.input.append(helper.make_tensor_value_info("s", onnx.TensorProto.FLOAT, [4]))
    onnx.save(model, tmp_path / "m.onnx")
    ir_interp.convert(tmp_path / "m.onnx", tmp_path / "p.onnx", target="onnx:9", only="decomposed")
    model = onnx.load(tmp_path / "p.onnx")
    assert [node.op_type for node in model.graph.node] == ["Constant", "Relu", "Gather"]
    assert [each.name for each in model.graph.initializer] == ["s"]


def test_names_stay_unique(tmp_path: Path) -> None:
    text = graph(SIZES, 'Resize <mode = "linear", antialias = 1> (t, , , z)')
    model = onnx.load(save_model(tmp_path / "m.onnx", text, 18))
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = "up/constant"
    onnx.save(model, tmp_path / "m.onnx")
    ir_interp.convert(tmp_path / "m.onnx", tmp_path / "p.onnx", target="tensorrt")
    names = [each.name for each in onnx.load(tmp_path / "p.onnx").graph.initializer]
    assert names == ["z", "up/constant_2", "up/constant_1"]


# External data


@pytest.fixture
def heavy(tmp_path: Path) -> Path:
    """Write a model with external data in a folder beside it."""
    (tmp_path / "source" / "weights").mkdir(parents=True)
    path = tmp_path / "source" / "m.onnx"
    model = onnx.load(rich_model(path))
    onnx.save(model, path, save_as_external_data=True, location="weights/all.bin", size_threshold=64)
    return path


def test_external_data_are_shared(heavy: Path) -> None:
    octets = (heavy.parent / "weights" / "all.bin").read_bytes()
    ir_interp.convert(heavy, heavy.with_name("p.onnx"), target="openvino")
    assert sorted(each.name for each in heavy.parent.rglob("*")) == ["all.bin", "m.onnx", "p.onnx", "weights"]
    assert (heavy.parent / "weights" / "all.bin").read_bytes() == octets
    x = values(1, 3, 6, 8)
    wanted, found = (onnxruntime_outputs(each, {"x": x})[0] for each in (heavy, heavy.with_name("p.onnx")))
    assert_equal(found, wanted)


def test_external_data_are_copied_into_another_folder(heavy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    octets = (heavy.parent / "weights" / "all.bin").read_bytes()
    for _ in range(2):  # an output is overwritten, and so are its weights
        ir_interp.convert(heavy, folder / "p.onnx", target="openvino")
        ir_interp.fix(heavy, folder / "q.onnx", select=["IRI016"])
        names = sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*"))
        assert names == ["p.onnx", "q.onnx", "weights", "weights/all.bin"]
        assert (folder / "weights" / "all.bin").read_bytes() == octets
    x = values(1, 3, 6, 8)
    expected = onnxruntime_outputs(heavy, {"x": x})[0]
    for name in ("p.onnx", "q.onnx"):
        assert_equal(onnxruntime_outputs(folder / name, {"x": x})[0], expected)


def test_external_data_of_other_models_are_kept(heavy: Path, tmp_path: Path) -> None:
    other = tmp_path / "out" / "weights" / "all.bin"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"other")
    with pytest.raises(IrInterpError) as refusal:
        ir_interp.convert(heavy, tmp_path / "out" / "p.onnx", target="openvino")
    problem = f"{other} is there with other contents, and m.onnx needs its weights under this name"
    assert str(refusal.value) == f"{problem}; write the result into another folder"
    assert (sorted(each.name for each in (tmp_path / "out").iterdir()), other.read_bytes()) == (["weights"], b"other")


def test_external_data_outside_are_refused(heavy: Path) -> None:
    model = onnx.load(heavy, load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data[:1]:
            entry.value = "../secret.bin"
    onnx.save(model, heavy)
    (heavy.parent.parent / "secret.bin").write_bytes(bytes(4096))
    with pytest.raises(ReadError, match=r"m\.onnx: its external data lie outside its folder: .*secret\.bin"):
        ir_interp.convert(heavy, heavy.with_name("p.onnx"), target="openvino")
    assert not heavy.with_name("p.onnx").exists()


# Verification, and the command


def test_a_result_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong prediction does not pass: OpenVINO's frontend drops antialias."""
    monkeypatch.setattr(openvino, "frontend", lambda op: computes(op.spec))
    source = save_model(tmp_path / "m.onnx", ANTIALIAS, 18)
    with pytest.raises(VerificationError, match=r"^output 'y' differs by .*; the first resize .* is 'up'") as error:
        ir_interp.convert(source, tmp_path / "p.onnx", target="openvino")
    assert str(error.value).endswith("; nothing was written")
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


NO_TARGET = (
    "--target NAME is missing: from .onnx to .onnx it names a runtime or operator set, such as tensorrt or onnx:11"
)
_TARGETS = ("tensorrt", "openvino", *(name for name in OTHERS if OTHERS[name].accepts))
EXPECTED = f"expected onnx:7 to onnx:24, {', '.join(_TARGETS)} or any"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["p.onnx"], NO_TARGET),
        (
            ["p.xml", "--target", "tensorrt"],
            "--target has no effect on .xml; leave it out, or name the result .onnx",
        ),
        (
            ["p.onnx", "--target", "trt"],
            f"unknown target 'trt'; {EXPECTED}; did you mean 'tensorrt'?",
        ),
        (
            ["p.onnx", "--target", "tensorrt:7.0"],
            "unknown target 'tensorrt:7.0'; expected one of tensorrt:8.2, tensorrt:8.6, tensorrt:9.2, tensorrt:10.1, "
            "tensorrt:10.6, tensorrt:10.11, tensorrt:10.15 (oldest to newest)",
        ),
        (
            ["p.onnx", "--target", "onnx:25"],
            f"unknown target 'onnx:25'; {EXPECTED}",
        ),
    ],
)
def test_wrong_targets(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(tmp_path / "m.onnx", UPSAMPLE, 9)
    code, printed, complaint = command(capsys, "convert", "m.onnx", *arguments)
    assert (code, printed) == (2, "")
    assert complaint.strip().endswith(message)
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize(
    ("files", "target", "problem"),
    [
        (("m.xml", "p.onnx"), "onnx:18", "--target onnx:18 has no effect; use --opset 18"),
        (("m.json", "p.onnx"), "onnx:18", "--target onnx:18 has no effect; use --opset 18"),
        (("m.xml", "p.py"), "tensorrt", "--target has no effect on .py; leave it out, or name the result .onnx"),
        (("m.xml", "p.xml"), "tensorrt", "--target has no effect on .xml; leave it out, or name the result .onnx"),
    ],
)
def test_a_target_without_an_effect(
    files: tuple[str, str], target: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = (tmp_path / name for name in files)
    source.touch()
    code, _, complaint = command(capsys, "convert", str(source), str(output), "--target", target)
    assert (code, complaint) == (2, f"error: {files[0]}: {problem}\n")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(tmp_path / "m.onnx", ANTIALIAS, 18)
    code, printed, _ = command(capsys, "convert", "m.onnx", "p.onnx", "--target", "tensorrt", "--json")
    (resize,) = json.loads(printed)["resizes"]
    assert (code, resize["form"]) == (0, "Resize-18 -> weighted sums along axes 2, 3")
    code, _, complaint = command(capsys, "convert", "m.onnx", "q.onnx", "--target", "tensorrt", "--only", "native")
    assert (code, complaint.count("error: ")) == (1, 1)
    assert not (tmp_path / "q.onnx").exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "target"), [("PP-OCRv4 detector", "onnx:11"), ("YuNet", "onnx:17"), ("U-FISH", "openvino")]
)
def test_a_real_model(name: str, target: str, tmp_path: Path) -> None:
    place, resizes, shapes = MODELS[name]
    source = model_path(place)
    report = ir_interp.convert(source, tmp_path / "p.onnx", target=target, shapes=shapes)
    assert [row.grade.value for row in report.rows] == ["exact"] * resizes
    was, became = (onnx.load(path).graph for path in (source, tmp_path / "p.onnx"))
    kept = [node.SerializeToString() for node in became.node if node.op_type != "Resize"]
    assert [node.SerializeToString() for node in was.node if node.op_type != "Resize"] == kept


@pytest.mark.parametrize("known", [False, True])
def test_quotients_round_as_ieee_754_says(known: bool, tmp_path: Path) -> None:
    """OpenVINO multiplies by inverses: of these quotients many come out as another float32 number by a plain Div."""
    a = np.arange(200_000, dtype=np.float32) + np.float32(0.5)
    b: Array = np.array(0.7, np.float32) if known else _scales(len(a))
    nodes = Graph(opset=13)
    divisor = nodes.constant(b) if known else "b"
    nodes.rename(ExactPrimitivesForOpenVINO(nodes).elementwise("divide", "a", divisor), "y")
    nodes.rename(nodes.node("Div", "a", divisor), "plain")
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [len(a)]) for name in ("a", "b", "y", "plain")]
    made = nodes.model("g", ends[: 1 if known else 2], ends[2:])
    made.model.graph.initializer.extend(made.tensors())
    onnx.save(made.model, tmp_path / "q.onnx")
    feeds: dict[str, Array] = {"a": a} if known else {"a": a, "b": b}
    found, plain = openvino_outputs(tmp_path / "q.onnx", feeds)
    np.testing.assert_array_equal(found, a / b)
    assert (plain != a / b).sum() > 10_000  # else the plugin divides by now, and none of this is needed
    np.testing.assert_array_equal(onnxruntime_outputs(tmp_path / "q.onnx", feeds)[0], a / b)


def _scales(count: int) -> Array:
    """Return float32 numbers of 24 bits around 1."""
    return np.random.default_rng(4).uniform(0.3, 4, count).astype(np.float32)


@pytest.mark.parametrize("target", ["openvino", "onnx:13", "onnx:17"])
def test_a_rank_behind_an_operator_of_onnxruntime(target: str, tmp_path: Path) -> None:
    """ONNX's shape inference stops there; OpenVINO's frontend does not."""
    resize = 'Resize <mode = "cubic", axes = [2, 3], exclude_outside = 1> (t, , s)'
    text = f"""<ir_version: 9, opset_import: ["" : 18, "com.microsoft" : 1]>
        g (float[n,2,h,w] x) => (float[n,2,p,q] y) <float[2] s = {{1.5, 2}}> {{
            t = com.microsoft.Gelu(x)
            [up] y = {resize}
        }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    ir_interp.convert(tmp_path / "m.onnx", tmp_path / "p.onnx", target=target, verify=False)
    feeds = {"x": values(1, 2, 7, 8)}
    run = openvino_outputs if target == "openvino" else onnxruntime_outputs
    (found,), (wanted,) = run(tmp_path / "p.onnx", feeds), onnxruntime_outputs(tmp_path / "m.onnx", feeds)
    assert_equal(found, wanted)


def test_random_nodes() -> None:
    """``python -m tests.sweeps.portable`` does so with more of them."""
    ports = list(sweep(6, 3, (*TARGETS, "onnx:9")))
    assert [str(each) for each in ports if each.difference] == []
    assert {"refused", "kept", "operations", "Resize or Upsample"} == {became(each) for each in ports}


def test_an_output_that_is_declared_with_another_rank(tmp_path: Path) -> None:
    text = 'g (float[n,3,h,w] x, int64[4] z) => (float[n,3] y) {y = Resize<mode = "cubic">(x, , , z)}'
    (row,) = ir_interp.convert(
        save_model(tmp_path / "a.onnx", text), tmp_path / "b.onnx", target="openvino", verify=False
    ).rows
    assert row.form.startswith("Resize-19")


BETWEEN_TRANSPOSES = {
    "sizes of two axes": 'b = Resize <axes = [2, 3]> (t, "", "", two)',
    "scales of two axes": 'b = Resize <axes = [2, 3], mode = "linear"> (t, "", double)',
    "axes in another order": 'b = Resize <axes = [2, 3, 0, 1]> (t, "", "", moved)',
    "a policy": 'b = Resize <axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (t, "", "", two)',
    "cubic that shrinks": 'b = Resize <mode = "cubic"> (t, "", "", small)',
    "over others": 'u = Relu (t) r = Resize <axes = [2, 3]> (u, "", "", two) b = Add (r, r)',
}


@pytest.mark.parametrize("lengths", ["1, 5, 6, 3", "n, h, w, 3"])
@pytest.mark.parametrize("name", BETWEEN_TRANSPOSES)
def test_what_is_written_stands_between_transposes(name: str, lengths: str, tmp_path: Path) -> None:
    """The optimiser of onnxruntime moves them over a Resize; what the source means, it says without optimiser."""
    text = BETWEEN.format(BETWEEN_TRANSPOSES[name]).replace("1,5,6,3", lengths)
    source, made, x = save_model(tmp_path / "a.onnx", text), tmp_path / "b.onnx", values(1, 5, 6, 3)
    ir_interp.convert(source, made, target="onnx:18", verify=False)
    wanted = outputs(source, x, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    found = outputs(made, x, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
    assert wanted is not None
    assert found is not None
    assert_equal(found, wanted)
    assert outputs(source, x, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL) is None or "order" in name
