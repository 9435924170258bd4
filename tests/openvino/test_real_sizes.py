"""Sizes of the field: what OpenVINO's CPU plugin gets wrong beyond 2^24 elements, and that no conversion does.

The long form is ``python -m tests.sweeps.real_sizes``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import openvino.opset13 as ops
import pytest
from onnx import helper, numpy_helper

import ir_interp
from tests.support.configurations import OnnxCase, model_of
from tests.support.graphs import onnxruntime_outputs, save_model
from tests.support.runtimes import Array, Child, onnxruntime_resize
from tests.sweeps.real_sizes import RealCase, check

_ROWS, _COLUMNS = 300_000, 128  # taken of 64 columns: 2.3 times 2^24 elements


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """Return a process that OpenVINO may kill."""
    with Child(timeout=300) as process:
        yield process


def _gathered(*, threads: int, elements: bool = False, constant: bool = False, trailing: bool = False) -> int:
    """Return how many elements of a dynamic gather of single elements are wrong; a job for a child."""
    x = np.random.default_rng(0).random((_ROWS, 64), dtype=np.float32)
    indices = np.sort(np.random.default_rng(1).integers(0, 64, _COLUMNS))
    shape = [-1, -1, 1] if trailing else [-1, -1]
    data, places = ops.parameter(shape, np.float32), ops.parameter([-1], np.int64)
    taken: Any = ops.constant(indices) if constant else places
    if elements:
        lengths = ops.concat([ops.slice(ops.shape_of(data), [0], [1], [1]), ops.shape_of(taken)], 0)
        result = ops.gather_elements(data, ops.broadcast(taken, lengths), 1)
    else:
        result = ops.gather(data, taken, np.int64(1))
    model = ov.Model([result], [data] if constant else [data, places])
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
    inputs = [x.reshape(_ROWS, 64, *shape[2:]), indices]
    got: Array = ov.Core().compile_model(model, "CPU", settings)(inputs[: 1 if constant else 2])[0]
    return int((got.reshape(_ROWS, _COLUMNS) != x[:, indices]).sum())


@pytest.mark.skipif(ov.Core().get_property("CPU", "RANGE_FOR_STREAMS")[1] < 2, reason="no second thread to go astray")
def test_a_gather_goes_astray_where_a_thread_begins_beyond_2_24(child: Child) -> None:
    """Should it be right one day, LARGEST_GATHER and what is made of it can go."""
    assert _wrong(child, threads=2) > 100_000


@pytest.mark.long
def test_a_gather_goes_astray_on_two_threads_of_any_model(child: Child) -> None:
    assert _wrong(child, threads=1) == 0
    assert _wrong(child, threads=2, constant=True) > 100_000
    assert _wrong(child, threads=2, trailing=True) > 100_000


def test_elements_are_gathered_right(child: Child) -> None:
    assert _wrong(child, threads=2, elements=True) == 0


def _wrong(child: Child, **options: Any) -> int:
    answer = child.call(_gathered, **options)
    assert isinstance(answer, int), answer
    return answer


def _resize(mode: str, shape: tuple[int, ...], scale: float, **attributes: Any) -> OnnxCase:
    scales = (1.0, 1.0, scale, scale)
    return OnnxCase(op="Resize", opset=19, shape=shape, attributes={"mode": mode, **attributes}, scales=scales)


CASES = {
    "nearest": ("both", "any", _resize("nearest", (1, 64, 270, 480), 2.1)),
    "linear antialias": ("shape", "any", _resize("linear", (1, 64, 160, 240), 3.9, antialias=1)),
    "cubic exclude_outside": ("shape", "any", _resize("cubic", (1, 64, 160, 240), 3.9, exclude_outside=1)),
    "weights of run time, portable": ("shape", "portable", _resize("linear", (1, 64, 160, 240), 3.9, antialias=1)),
}
"""Each was wrong on two threads."""
LONG = ("linear antialias", "cubic exclude_outside")
NAMES = [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in CASES]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NAMES)
def test_a_large_map_is_right(name: str, child: Child) -> None:
    left_open, form, node = CASES[name]
    case = RealCase(kind="feature map", node=node, left_open=left_open, form=form, threads=2)
    assert child.call(check, case) == ""


def test_an_open_batch_with_constant_indices_is_right(child: Child) -> None:
    """Only the batch is open; an axis of more than 256 is gathered from, at indices that are constants."""
    node = _resize("cubic", (24, 3, 300, 300), 2.5, exclude_outside=1)
    case = RealCase(kind="batch", node=node, left_open="batch", form="any", threads=2)
    assert child.call(check, case) == ""


def test_beyond_2_31_bytes_nothing_gathers_single_elements(tmp_path: Path) -> None:
    """By the operations that are written: to run them would take 4 GiB."""
    node = _resize("cubic", (1, 64, 2900, 2900), 0.5, exclude_outside=1)
    onnx.save(model_of(node), tmp_path / "x.onnx")
    ir_interp.convert(tmp_path / "x.onnx", tmp_path / "x.xml", verify=False, only="decomposed")
    nodes = ov.Core().read_model(tmp_path / "x.xml").get_ops()
    takes = {each.get_type_name() for each in nodes if "Gather" in each.get_type_name() and _takes_a_map(each)}
    assert takes == {"GatherElements"}


def _takes_a_map(node: ov.Node) -> bool:
    """Say whether a node takes more than a shape."""
    return int(node.input(0).get_partial_shape().rank.get_length()) > 1


@pytest.mark.parametrize("between", [[], ["Conv"], ["Relu"]], ids=str)
def test_a_chain_is_right_in_its_first_inference(between: list[str], tmp_path: Path) -> None:
    """A decomposed resize before a native one, of dynamic dimensions: nothing makes the plugin misread."""
    nodes = [helper.make_node("Resize", ["x", "", "half"], ["t0"], mode="nearest")]
    for place, kind in enumerate(between):
        given = [f"t{place}", "w"] if kind == "Conv" else [f"t{place}"]
        words: dict[str, Any] = {"pads": [1, 1, 1, 1]} if kind == "Conv" else {}
        nodes.append(helper.make_node(kind, given, [f"t{place + 1}"], **words))
    nodes.append(helper.make_node("Resize", [f"t{len(between)}", "", "twice"], ["y"], mode="linear"))
    values = {"half": [1, 1, 0.5, 0.5], "twice": [1, 1, 2, 2], "w": np.full((1, 1, 3, 3), 0.1)}
    tensors = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in values.items()]
    ends = [helper.make_tensor_value_info(name, 1, [1, 1, None, None]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), tmp_path / "a.onnx")
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.xml", verify=False)
    x = np.random.default_rng(0).random((1, 1, 64, 64), np.float32)
    wanted = onnxruntime_resize(onnx.load(tmp_path / "a.onnx"), {"x": x})
    for _ in range(3):
        compiled = ov.Core().compile_model(tmp_path / "b.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        np.testing.assert_allclose(compiled([x])[0], wanted, rtol=0, atol=1e-5)


_SIZES = """g (float[1,3,h,w] x, float[4,3,1,1] k) => (float[?,?,?,?] y) <float[2] s = {1.3, 1.3}, int64[1] z = {0},
    int64[1] c = {2}, int64[1] e = {4}> {
    all = Shape (x) f = Slice (all, z, c) l = Slice (all, c, e) LENGTHS n = Concat <axis = 0> (f, m)
    r = Resize <mode = "linear"> (x, "", "", n) y = Conv (r, k) }"""


@pytest.mark.parametrize(
    ("lengths", "is_static", "is_noted"),
    [
        ("q = Cast <to = 1> (l) p = Mul (q, s) m = Cast <to = 7> (p)", False, True),
        ("q = Cast <to = 1> (l) p = Mul (q, s) m = Cast <to = 7> (p)", True, False),
        ("m = Mul (l, c)", False, False),
    ],
    ids=["of floats", "of floats, static", "of integers"],
)
def test_sizes_of_floats_are_noted(lengths: str, is_static: bool, is_noted: bool, tmp_path: Path) -> None:
    """Where OpenVINO computes in bfloat16 by default, they would be others: it holds integers up to 256."""
    text = _SIZES.replace("LENGTHS", lengths)
    text = text.replace("float[1,3,h,w]", "float[1,3,300,300]") if is_static else text
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", text, 18), tmp_path / "a.xml", verify=False)
    assert any("INFERENCE_PRECISION_HINT=f32" in note for note in report.notes) == is_noted
    compiled = ov.compile_model(tmp_path / "a.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = compiled([np.zeros((1, 3, 300, 300), np.float32), np.zeros((4, 3, 1, 1), np.float32)])
    assert results[0].shape[2:] == ((390, 390) if "Cast" in lengths else (600, 600))


_STEPS = """g (float[1,3,h,8] x) => (float[?,?,?,?] y) <float[1] s = {1.3}, float[1] d = {1.1},
    float[1] seven = {7}, float[1] t = {1.363636364}, int64[1] z = {0},
    int64[1] c = {2}, int64[1] e = {3}, int64[1] w = {8}> {
    all = Shape (x) f = Slice (all, z, c) l = Slice (all, c, e) a = Cast <to = 1> (l) STEPS m = Cast <to = 7> (b)
    n = Concat <axis = 0> (f, m, w) y = Resize <mode = "linear"> (x, "", "", n) }"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("steps", "deciding"),
    [
        ("p = Mul (a, s) b = Mul (p, s)", 100),
        ("p = Mul (a, s) q = Identity (p) b = Mul (q, s)", 100),
        ("p = Mul (a, s) b = Add (p, s)", 19),
        ("p = Mul (a, s) b = Add (p, s)", 89),
        ("p = Div (a, d) b = Identity (p)", 33),
        ("p = Div (a, seven) q = Div (p, t) b = Ceil (q)", 105),
    ],
)
def test_each_step_of_a_size_is_rounded(steps: str, deciding: int, tmp_path: Path) -> None:
    """OpenVINO would fuse products, and products with sums, and divide by multiplying."""
    source = save_model(tmp_path / "a.onnx", _STEPS.replace("STEPS", steps), 18)
    ir_interp.convert(source, tmp_path / "a.xml", verify=False)
    compiled = ov.compile_model(tmp_path / "a.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for height in (deciding, 2 * deciding, 3 * deciding):
        x = np.zeros((1, 3, height, 8), np.float32)
        assert compiled([x])[0].shape == onnxruntime_outputs(source, {"x": x})[0].shape
