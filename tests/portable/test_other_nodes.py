"""Nodes that are no resizes, said in older and newer operator sets: onnxruntime computes the same of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import ir_interp
from tests.support.graphs import assert_equal, onnxruntime_outputs, save_model, values

ROWS = [
    # a node, its operator set and constants, another set, and what it becomes there, but for Constants
    ("Unsqueeze (x, one)", 13, 11, "Unsqueeze"),
    ("Unsqueeze (x, last)", 13, 10, "Unsqueeze"),
    ("Unsqueeze <axes = [1]> (x)", 11, 13, "Unsqueeze"),
    ("Unsqueeze <axes = [1]> (x)", 9, 24, "Unsqueeze"),
    ("Squeeze (u, zero)", 13, 11, "Squeeze"),
    ("Squeeze <axes = [0]> (u)", 11, 21, "Squeeze"),
    ("Squeeze (u)", 13, 11, "Squeeze"),
    ("ReduceMean <keepdims = 0> (x, last)", 18, 11, "ReduceMean"),
    ("ReduceMean <keepdims = 0> (x, last)", 18, 9, "ReduceMean"),
    ("ReduceMax <axes = [1, 2]> (x)", 13, 18, "ReduceMax"),
    ("ReduceSum <noop_with_empty_axes = 0> (x)", 13, 11, "ReduceSum"),
    ("Shape <start = 1, end = -1> (x)", 15, 11, "Shape Slice"),
    ("Shape <start = 1> (x)", 15, 9, "Shape Slice"),
    ("Reshape <allowzero = 0> (x, flat)", 14, 11, "Reshape"),
    ("Reshape <allowzero = 1> (x, flat)", 14, 11, "Reshape"),
    ("Slice (x, one, last, zero)", 13, 9, "Slice"),
    ("Slice (x, one, two, last)", 13, 9, "Slice"),
    ("Slice <starts = [1], ends = [2], axes = [1]> (x)", 9, 11, "Slice"),
    ('Pad <mode = "reflect"> (x, pads)', 13, 9, "Pad"),
    ("Pad (x, ends, value, last)", 18, 13, "Pad"),
    ("Pad <pads = [0, 1, 0, 0, 0, 0, 2, 0], value = 2.0> (x)", 9, 13, "Pad"),
    ("Clip (x, low)", 13, 9, "Clip"),
    ("Clip <max = 1.5> (x)", 9, 13, "Clip"),
    ("Dropout (x, low, no)", 13, 11, "Identity"),
    ("Softmax <axis = 1> (x)", 13, 11, "Transpose Softmax Transpose"),
    ("LogSoftmax (x)", 13, 9, "LogSoftmax"),
    ("Softmax (x)", 11, 13, "Flatten Softmax Shape Reshape"),
    ("Softmax <axis = -1> (x)", 9, 13, "Softmax"),
    ("BatchNormalization <training_mode = 0> (x, c, c, c, c)", 15, 9, "BatchNormalization"),
    (
        "LayerNormalization <axis = 2, epsilon = 0.01> (x, w, w)",
        17,
        11,
        "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul Add",
    ),
    ("Gelu (x)", 20, 11, "Cast Cast Cast Sqrt Div Erf Sum Mul Mul"),
    ('Gelu <approximate = "tanh"> (x)', 20, 17, None),
    ("HardSwish (x)", 14, 11, "HardSigmoid Mul"),
    ("Mish (x)", 18, 11, "Softplus Tanh Mul"),
    ("GroupNormalization <num_groups = 3> (x, c, c)", 21, 11, None),
    ("CastLike (x, one)", 15, 11, "Cast"),
    ("Cast <to = 7, saturate = 1> (x)", 19, 11, "Cast"),
    ("GreaterOrEqual (x, c4)", 12, 11, "Greater Equal Or"),
    ("Gemm (m, m)", 11, 9, "Gemm"),
    ("Trilu <upper = 0> (x, k)", 14, 11, None),
    ("Trilu (x)", 14, 13, None),
    ("Max (flat, two, one)", 13, 11, "Less Where Less Where"),
    ("Min (flat, two)", 12, 9, "Less Where"),
    ("Max (x, low)", 13, 11, "Max"),
    ("Clip (flat, k)", 12, 11, "Less Where"),
    ("MaxPool <kernel_shape = [2, 2], dilations = [1, 1], ceil_mode = 0> (x)", 12, 9, "MaxPool"),
    ("QuantizeLinear (x, low, zp)", 13, 11, "QuantizeLinear"),
    ("DequantizeLinear <axis = 1> (q, c, zq)", 13, 11, "Cast Cast Sub Mul"),
    ("DequantizeLinear (q, low)", 21, 11, "DequantizeLinear"),
    ('GridSample <mode = "linear"> (x, grid)', 20, 16, None),
    ('GridSample <mode = "bilinear"> (x, grid)', 16, 20, "GridSample"),
]
CONSTANTS = """<int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] last = {-1}, int64 k = {1},
    int64[3] flat = {2, 3, -1}, int64[8] pads = {0, 0, 1, 2, 0, 0, 0, 1}, int64[2] ends = {1, 2}, float value = {2},
    float low = {0.5}, bool no = {0}, float[3] c = {0.5, 1, 2}, float[4,1] c4 = {0.5, 1, 2, -1}, uint8 zp = {3},
    float[4,5] w = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5}, int8[2,3] q = {1, 2, 3, -4, 5, -6},
    int8[3] zq = {1, 2, 3}, float[2,2] m = {1, 2, 3, 4},
    float[2,1,2,2] grid = {0.1, 0.2, -0.5, 0.6, 1, 1, 0.3, -0.7}>"""


def written(path: Path, node: str, old: int) -> Path:
    """Write a model of a node ``y``; ``u`` has an axis of length 1."""
    front = "u = Unsqueeze (x, zero)" if old > 12 else "u = Unsqueeze <axes = [0]> (x)"
    text = f"g (float[2,3,4,5] x) => (y) {CONSTANTS} {{ {front if '(u' in node else ''} [n] y = {node} }}"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {old}]> {text}')
    used = {name for each in model.graph.node for name in each.input}
    kept = [each for each in model.graph.initializer if each.name in used]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model = onnx.shape_inference.infer_shapes(model)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(("node", "old", "new", "kinds"), ROWS, ids=str)
def test_what_a_node_becomes(node: str, old: int, new: int, kinds: str | None, tmp_path: Path) -> None:
    source, made = written(tmp_path / "a.onnx", node, old), tmp_path / "b.onnx"
    if kinds is None and "linear" in node:
        with pytest.raises(ExceptionGroup) as refusals:
            ir_interp.convert(source, made, target=f"onnx:{new}", verify=False)
        assert "GridSample-16 interprets the same attributes differently" in str(refusals.value.exceptions[0])
        return
    ir_interp.convert(source, made, target=f"onnx:{new}", verify=False)
    x = values(2, 3, 4, 5)
    feeds = {each.name: x for each in onnx.load(source).graph.input}
    (wanted,), (found,) = onnxruntime_outputs(source, feeds), onnxruntime_outputs(made, feeds)
    assert_equal(found, wanted)
    model = onnx.load(made)
    assert model.opset_import[0].version == new
    if kinds is not None:
        ends = {"Constant", *(("Unsqueeze",) if "(u" in node else ())}
        assert " ".join(each.op_type for each in model.graph.node if each.op_type not in ends) == kinds
    assert onnx.load(source).graph.output[0].type == model.graph.output[0].type


OPEN_ROWS = [
    ("a, b, c = Split <axis = 3, num_outputs = 3> (x) y = Concat <axis = 3> (c, b, a)", 18, 11),
    ("a, b, c = Split <axis = -1, split = [1, 1, 3]> (x) y = Concat <axis = 2> (c, b, a)", 11, 18),
    ("s = Shape <start = 2> (x) t = Concat <axis = 0> (s, flat) y = Reshape <allowzero = 1> (x, t)", 15, 11),
    ("n = Shape <end = 1> (x) t = Concat <axis = 0> (n, end) y = Reshape <allowzero = 1> (x, t)", 15, 9),
    ("y = LayerNormalization (x, w)", 17, 13),
    ("y = Trilu (x, k)", 14, 11),
]


@pytest.mark.parametrize(("nodes", "old", "new"), OPEN_ROWS, ids=str)
def test_dynamic_dimensions(nodes: str, old: int, new: int, tmp_path: Path) -> None:
    held = "<int64[2] flat = {2, 3}, int64[2] end = {4, 15}, float[5] w = {1, 2, 3, 4, 5}, int64 k = {1}>"
    x = values(2, 3, 4, 5)
    shape = "2,3,4,5" if "split = [1" in nodes else "a,b,c,d" if "Layer" not in nodes else "a,b,c,5"
    text = f"g (float[{shape}] x) => (float[e,f,g,h] y) {held} {{ {nodes.replace('axis = -1', 'axis = 3')} }}"
    if nodes.startswith("n ="):
        text = text.replace("[e,f,g,h]", "[e,f,g]")
    if "split = [1" in nodes:
        text = text.replace("Concat <axis = 2>", "Concat <axis = 3>")
    source, made = save_model(tmp_path / "a.onnx", text, old), tmp_path / "b.onnx"
    ir_interp.convert(source, made, target=f"onnx:{new}", verify=False)
    (wanted,), (found,) = onnxruntime_outputs(source, {"x": x}), onnxruntime_outputs(made, {"x": x})
    assert_equal(found, wanted)


INSIDE = """g (float[2,3] x, bool c) => (float[2,1,3] y) <int64[1] one = {1}> {
    y = If (c) <then_branch = a () => (float[2,1,3] t) { [n] t = Unsqueeze (x, one) },
                else_branch = b () => (float[2,1,3] e) { p = HardSwish (x) e = Unsqueeze (p, one) }> }"""


def test_nodes_in_branches(tmp_path: Path) -> None:
    source, made = save_model(tmp_path / "a.onnx", INSIDE, 14), tmp_path / "b.onnx"
    ir_interp.convert(source, made, target="onnx:11", verify=False)
    for branch in (True, False):
        feeds = {"x": values(2, 3), "c": np.array(branch)}
        assert_equal(onnxruntime_outputs(made, feeds)[0], onnxruntime_outputs(source, feeds)[0])


def test_nodes_in_local_functions(tmp_path: Path) -> None:
    """A function that holds such a node is inlined; others stay."""
    text = """<ir_version: 9, opset_import: ["": 18, "mine": 1]>
        g (float[2,3] x) => (float[2,1,3] y) { a = mine.plain (x) y = mine.longer (a) }
        <domain: "mine", opset_import: ["": 18]> longer (a) => (b)
            { one = Constant <value_ints = [1]> () b = Unsqueeze (a, one) }
        <domain: "mine", opset_import: ["": 18]> plain (a) => (b) { b = Relu (a) }"""
    source, made = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(onnx.parser.parse_model(text), source)
    ir_interp.convert(source, made, target="onnx:11", verify=False)
    assert [each.op_type for each in onnx.load(made).graph.node] == ["plain", "Constant", "Unsqueeze"]
    feeds = {"x": values(2, 3)}
    assert_equal(onnxruntime_outputs(made, feeds)[0], onnxruntime_outputs(source, feeds)[0])


REFUSED = [
    ("Squeeze (x, a)", 13, 11, "Squeeze-11 takes other inputs; its axes are known only at run time (1); onnx:13"),
    ("Reshape <allowzero = 1> (x, none)", 14, 13, "Reshape-13 has no allowzero; it creates sizes of 0 (1); onnx:14"),
    ("Dropout (x, r, yes)", 13, 11, "Dropout-10 has another default for ratio; it is in training mode (1); onnx:12"),
    ('Pad <mode = "wrap"> (x, pads)', 19, 18, "Pad-18 has no mode wrap (1); onnx:19"),
    ('Einsum <equation = "ab->ba"> (x)', 12, 11, "operator set 11 has no Einsum (1); onnx:12"),
]


@pytest.mark.parametrize(("node", "old", "new", "message"), REFUSED, ids=str)
def test_what_no_older_set_says(node: str, old: int, new: int, message: str, tmp_path: Path) -> None:
    held = "<int64[2] none = {0, 5}, float r = {0.5}, bool yes = {1}, int64[4] pads = {0, 0, 1, 1}>"
    source = save_model(tmp_path / "a.onnx", f"g (float[p,q] x, int64[1] a) => (y) {held} {{ y = {node} }}", old)
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(source, tmp_path / "b.onnx", target=f"onnx:{new}", verify=False)
    (found,) = map(str, refusals.value.exceptions)
    assert found == (
        f"a.onnx: no exact form in onnx:{new}; other nodes have no form there: {message} is the nearest target where "
        "they do"
    )
    assert not (tmp_path / "b.onnx").exists()
