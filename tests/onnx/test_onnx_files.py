"""ONNX models: every Resize and Upsample, and where their sizes, scales and shapes come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import ir_interp
from ir_interp import (
    AtRunTime,
    Coordinates,
    Crop,
    Cubic,
    Linear,
    Nearest,
    ReadError,
    ResizeOp,
    Rounding,
    Scales,
    Sizes,
    UnsupportedLayerError,
)
from ir_interp.converters.dialects.onnx import DIALECT
from tests.support.runtimes import Array, onnx_model, onnxruntime_resize

SHAPE = (1, 3, 4, 6)


def saved(folder: Path, model: onnx.ModelProto) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def read(folder: Path, model: onnx.ModelProto, **options: Any) -> ResizeOp:
    (op,) = ir_interp.load(saved(folder, model), **options)
    return op


def graph(
    nodes: Sequence[onnx.NodeProto],
    constants: dict[str, Any] | None = None,
    *,
    shape: Sequence[int | str | None] | None = SHAPE,
    opset: int = 18,
    inputs: Sequence[onnx.ValueInfoProto] = (),
    functions: Sequence[onnx.FunctionProto] = (),
    **options: Any,
) -> onnx.ModelProto:
    """Return a model from ``x`` to ``y`` of these nodes and initialisers."""
    tensors = [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    made = helper.make_graph(nodes, "g", [x, *inputs], [y], tensors)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    return helper.make_model(made, opset_imports=opsets, functions=functions, ir_version=10, **options)


def resize(*inputs: str, output: str = "y", name: str = "up", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node("Resize", list(inputs), [output], name=name, **attributes)


def floats(values: Any) -> Array:
    return np.array(values, np.float32)


def image(shape: Sequence[int] = SHAPE) -> Array:
    return np.random.default_rng(0).uniform(-4, 4, shape).astype(np.float32)


def check(model: onnx.ModelProto, op: ResizeOp, x: Array | None = None, **given: Any) -> None:
    """Compare what was read with onnxruntime."""
    x = image() if x is None else x
    np.testing.assert_allclose(op.run(x), onnxruntime_resize(model, {"x": x, **given}), rtol=0, atol=2e-5)


# Operators and their versions

VERSIONS: dict[str, tuple[str, int, dict[str, Any], dict[str, Any], int]] = {
    "Upsample-7": ("Upsample", 7, {"mode": "nearest"}, {"scales": (1, 1, 2, 3)}, 7),
    "Upsample-8": ("Upsample", 8, {"mode": "linear"}, {"scales": (1, 1, 2, 2)}, 7),
    "Upsample-9": ("Upsample", 9, {"mode": "linear"}, {"scales": (1, 1, 2, 2.5)}, 9),
    "Resize-10": ("Resize", 10, {"mode": "nearest"}, {"scales": (1, 1, 0.5, 2.5)}, 10),
    "Resize-11 scales": ("Resize", 11, {"mode": "linear"}, {"scales": (1, 1, 0.5, 2.5)}, 11),
    "Resize-11 sizes": ("Resize", 11, {"mode": "cubic"}, {"sizes": (1, 3, 8, 5)}, 11),
    "Resize-12": ("Resize", 12, {"mode": "nearest"}, {"sizes": (1, 3, 8, 5)}, 11),
    "Resize-13 scales": ("Resize", 13, {"mode": "nearest"}, {"scales": (1, 1, 0.6, 2.3)}, 13),
    "Resize-13 sizes": ("Resize", 13, {"mode": "linear"}, {"sizes": (1, 3, 8, 5)}, 13),
    "Resize-17": ("Resize", 17, {"mode": "linear"}, {"sizes": (1, 3, 8, 5)}, 13),
    "Resize-18": ("Resize", 18, {"mode": "linear", "antialias": 1, "axes": (2, 3)}, {"sizes": (2, 5)}, 18),
    "Resize-18 policy": (
        "Resize",
        18,
        {"mode": "linear", "keep_aspect_ratio_policy": "not_larger", "axes": (2, 3)},
        {"sizes": (9, 9)},
        18,
    ),
    "Resize-19": (
        "Resize",
        19,
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
        {"scales": (1, 1, 0.6, 0.7)},
        19,
    ),
    "Resize-22": ("Resize", 22, {"mode": "nearest", "axes": (-1,)}, {"sizes": (9,)}, 19),
}


@pytest.mark.parametrize("case", VERSIONS)
def test_versions(case: str, tmp_path: Path) -> None:
    name, opset, attributes, given, version = VERSIONS[case]
    model = onnx_model(name, opset, SHAPE, np.float32, attributes, **given)
    op = read(tmp_path, model)
    assert (op.name, op.where) == ("y", 'model.onnx:node[0 ""]')
    assert (op.dialect, op.version, op.shape, op.dtype) == ("onnx", version, SHAPE, "float32")
    wanted = Sizes(given["sizes"]) if "sizes" in given else Scales(tuple(map(float, floats(given["scales"]))))
    assert op.spec.target == wanted
    check(model, op)


def test_defaults_of_resize_13(tmp_path: Path) -> None:
    op = read(tmp_path, onnx_model("Resize", 13, SHAPE, np.float32, {}, sizes=(1, 3, 8, 5)))
    assert op.spec.kernel == Nearest(rounding=Rounding.ROUND_PREFER_FLOOR)
    assert op.spec.coordinates is Coordinates.HALF_PIXEL


def test_all_attributes(tmp_path: Path) -> None:
    attributes = {
        "mode": "cubic",
        "cubic_coeff_a": -0.5,
        "exclude_outside": 1,
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "extrapolation_value": 7.5,
        "axes": [3, 2],
    }
    roi = (0.25, 0, 0.5, 1)
    op = read(tmp_path, onnx_model("Resize", 18, SHAPE, np.float32, attributes, sizes=(8, 5), roi=roi))
    assert op.spec.kernel == Cubic(a=-0.5, exclude_outside=True)
    assert op.spec.coordinates == Crop(roi=((0.25, 0.5), (0.0, 1.0)), extrapolation=7.5)
    assert (op.spec.axes, op.spec.target) == ((3, 2), Sizes((8, 5)))


@pytest.mark.parametrize(("op", "opset"), [("Upsample", 1), ("Upsample", 10), ("Resize", 9)])
def test_versions_that_are_not_interpreted(op: str, opset: int, tmp_path: Path) -> None:
    node = helper.make_node(op, ["x", "scales"], ["y"], name="up", mode="nearest")
    path = saved(tmp_path, graph([node], {"scales": floats([1, 1, 2, 2])}, opset=opset))
    with pytest.raises(UnsupportedLayerError) as caught:
        ir_interp.load(path)
    assert str(caught.value) == f'model.onnx:node[0 "up"]: {op} of operator set {opset} is not interpreted'


@pytest.mark.parametrize(("word", "opset"), [("tf_half_pixel_for_nn", 15), ("half_pixel_symmetric", 13)])
def test_a_word_of_another_operator_set(word: str, opset: int, tmp_path: Path) -> None:
    x = np.arange(42, dtype=np.float32).reshape(1, 1, 6, 7)
    attributes = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": word}
    model = onnx_model("Resize", opset, x.shape, x.dtype, attributes, scales=(1, 1, 2.6, 0.7))
    onnx.save(model, tmp_path / "m.onnx")
    (op,) = ir_interp.load(tmp_path / "m.onnx")
    assert op.spec.coordinates is Coordinates(word)
    assert [each.code for each in op.diagnostics if each.code == "IRI010"] == ["IRI010"]
    np.testing.assert_array_equal(op.run(x), onnxruntime_resize(model, {"x": x}))
    with pytest.raises(ReadError, match=f"unknown value '{word}'; expected one of"):
        ir_interp.load(tmp_path / "m.onnx", semantics="document")
    assert not any(word in each for each in DIALECT.choices(opset).values())  # it is never written


def test_operators_of_others_are_left_alone(tmp_path: Path) -> None:
    node = helper.make_node("Resize", ["x"], ["y"], domain="mine")
    assert ir_interp.load(saved(tmp_path, graph([node]))) == []


def test_several_in_the_order_of_the_file(tmp_path: Path) -> None:
    nodes = [
        resize("x", "", "s", output="a", name="first"),
        helper.make_node("Relu", ["a"], ["b"]),
        resize("b", "", "s", output="y", name=""),
    ]
    found = ir_interp.load(saved(tmp_path, graph(nodes, {"s": floats([1, 1, 2, 2])})))
    assert [(op.name, op.where, op.shape) for op in found] == [
        ("first", 'model.onnx:node[0 "first"]', (1, 3, 4, 6)),
        ("y", 'model.onnx:node[2 ""]', (1, 3, 8, 12)),
    ]


# Constants


def test_constant_nodes(tmp_path: Path) -> None:
    constant = nodes_of("s = Constant <value = int64[2] {8, 5}> ()")
    model = graph([*constant, resize("x", "", "", "s", axes=[2, 3])])
    op = read(tmp_path, model)
    assert op.spec.target == Sizes((8, 5))
    check(model, op)


def test_constant_nodes_of_plain_numbers(tmp_path: Path) -> None:
    nodes = nodes_of("s = Constant <value_floats = [1.0, 1.0, 2.0, 0.5]> ()")
    op = read(tmp_path, graph([*nodes, resize("x", "", "s", mode="linear")]))
    assert op.spec.target == Scales((1.0, 1.0, 2.0, 0.5))
    nodes = nodes_of("s = Constant <value_ints = [8, 5]> ()")
    op = read(tmp_path, graph([*nodes, resize("x", "", "", "s", axes=[2, 3])]))
    assert op.spec.target == Sizes((8, 5))


def test_empty_names(tmp_path: Path) -> None:
    model = graph([resize("x", "", "", "s", mode="linear")], {"s": [1, 3, 8, 5]}, opset=13)
    assert read(tmp_path, model).spec.target == Sizes((1, 3, 8, 5))
    model = graph([resize("x", "", "s", "", mode="linear")], {"s": floats([1, 1, 2, 2])}, opset=13)
    assert read(tmp_path, model).spec.target == Scales((1.0, 1.0, 2.0, 2.0))


@pytest.mark.parametrize("empty", ["initialiser", "Constant"])
def test_empty_tensors(empty: str, tmp_path: Path) -> None:
    """Resize-11 wants roi and scales: an empty one stands for none."""
    nothing = np.zeros(0, np.float32)
    nodes = [resize("x", "no", "no", "s", mode="nearest")]
    constants: dict[str, Any] = {"s": [1, 3, 8, 5]}
    if empty == "Constant":
        nodes.insert(0, helper.make_node("Constant", [], ["no"], value=numpy_helper.from_array(nothing)))
    else:
        constants["no"] = nothing
    model = graph(nodes, constants, opset=11)
    op = read(tmp_path, model)
    assert op.spec.target == Sizes((1, 3, 8, 5))
    check(model, op)


def test_a_roi_that_is_not_used(tmp_path: Path) -> None:
    constants = {"r": floats([0, 0, 0, 0, 1, 1, 1, 1]), "s": floats([1, 1, 2, 2])}
    model = graph([resize("x", "r", "s", mode="linear")], constants, opset=11)
    op = read(tmp_path, model)
    assert (op.spec.kernel, op.spec.coordinates) == (Linear(), Coordinates.HALF_PIXEL)
    check(model, op)


def test_initialisers_that_are_declared_as_inputs(tmp_path: Path) -> None:
    """As models before version 4 of the file format had to."""
    declared = [helper.make_tensor_value_info("s", TensorProto.FLOAT, [4])]
    model = graph([resize("x", "s")], {"s": floats([1, 1, 2, 2])}, opset=10, inputs=declared)
    model.ir_version = 3
    assert read(tmp_path, model).spec.target == Scales((1.0, 1.0, 2.0, 2.0))


# Shapes computed from shapes


DOUBLED = "s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()"


def nodes_of(text: str) -> list[onnx.NodeProto]:
    """Return nodes from ONNX text."""
    return list(onnx.parser.parse_graph(f"g () => () {{{text}}}").node)


def sizes_slice_concat() -> str:
    """Return the sizes that PyTorch exports: batch and channels of the shape, then the wanted lengths."""
    return """shape = Shape (x)
        zero = Constant <value_ints = [0]> ()
        two = Constant <value_ints = [2]> ()
        nc = Slice (shape, zero, two, zero)
        hw = Constant <value_ints = [8, 5]> ()
        sizes = Concat <axis = 0> (nc, hw)"""


def sizes_gather_mul() -> str:
    """Return each length as a scalar, those of the image doubled by way of floats."""
    text = "shape = Shape (x) twice = Constant <value_float = 2.0> () zero = Constant <value_ints = [0]> ()"
    for axis in range(4):
        text += f"at{axis} = Constant <value_int = {axis}> () n{axis} = Gather <axis = 0> (shape, at{axis})"
    for axis in (2, 3):
        text += f"f{axis} = Cast <to = {TensorProto.FLOAT}> (n{axis}) m{axis} = Mul (f{axis}, twice)"
        text += f"r{axis} = Floor (m{axis}) i{axis} = Cast <to = {TensorProto.INT64}> (r{axis})"
    for axis, length in enumerate(("n0", "n1", "i2", "i3")):
        text += f"u{axis} = Unsqueeze ({length}, zero)"
    return f"{text} sizes = Concat <axis = 0> (u0, u1, u2, u3)"


def sizes_of_another_tensor() -> str:
    """Return the shape of a pooled and enlarged tensor: what a feature pyramid resizes to."""
    return "small = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) sizes = Shape (small)"


GRAPHS: dict[str, tuple[str, tuple[int, ...]]] = {
    "Slice Concat": (sizes_slice_concat(), (1, 3, 8, 5)),
    "Gather Mul": (sizes_gather_mul(), (1, 3, 8, 12)),
    "another tensor": (sizes_of_another_tensor(), (1, 3, 2, 3)),
}


@pytest.mark.parametrize("case", GRAPHS)
def test_sizes_from_shapes(case: str, tmp_path: Path) -> None:
    text, sizes = GRAPHS[case]
    model = graph([*nodes_of(text), resize("x", "", "", "sizes", mode="linear")])
    op = read(tmp_path, model)
    assert (op.shape, op.spec.target) == (SHAPE, Sizes(sizes))
    check(model, op)


@pytest.mark.parametrize("case", GRAPHS)
def test_sizes_from_shapes_that_are_open(case: str, tmp_path: Path) -> None:
    text, sizes = GRAPHS[case]
    model = graph([*nodes_of(text), resize("x", "", "", "sizes", mode="linear")], shape=("n", 3, "h", None))
    op = read(tmp_path, model)
    assert (op.shape, op.spec.target) == ((None, 3, None, None), AtRunTime.SIZES)
    wanted = onnxruntime_resize(model, {"x": image()})
    np.testing.assert_allclose(op.run(image(), sizes=sizes), wanted, rtol=0, atol=2e-5)


def test_a_rank_that_is_open(tmp_path: Path) -> None:
    op = read(tmp_path, graph([resize("x", "", "", "s", axes=[2, 3])], {"s": [8, 5]}, shape=None))
    assert (op.shape, op.dtype, op.spec.target) == (None, "float32", Sizes((8, 5)))
    assert op.run(image()).shape == (1, 3, 8, 5)


def scales_div(axes: bool) -> list[onnx.NodeProto]:
    """Return scales as wanted / actual lengths, in floats."""
    first, wanted = (2, "8, 9") if axes else (0, "1, 3, 8, 9")
    return nodes_of(f"""shape = Shape <start = {first}> (x)
        actual = Cast <to = {TensorProto.FLOAT}> (shape)
        wanted = Constant <value = float[{4 - first}] {{{wanted}}}> ()
        scales = Div (wanted, actual)""")


@pytest.mark.parametrize("axes", [False, True])
def test_scales_from_shapes(axes: bool, tmp_path: Path) -> None:
    attributes: dict[str, Any] = {"axes": [2, 3]} if axes else {}
    model = graph([*scales_div(axes), resize("x", "", "scales", mode="linear", **attributes)])
    op = read(tmp_path, model)
    assert op.spec.target == Scales((2.0, 1.5) if axes else (1.0, 1.0, 2.0, 1.5))
    check(model, op)


def test_scales_from_shapes_that_are_open(tmp_path: Path) -> None:
    nodes = [*scales_div(axes=True), resize("x", "", "scales", axes=[2, 3])]
    op = read(tmp_path, graph(nodes, shape=(1, 3, None, None)))
    assert (op.shape, op.spec.target) == ((1, 3, None, None), AtRunTime.SCALES)
    assert op.run(image(), scales=(2, 1.5)).shape == (1, 3, 8, 9)


def test_sizes_that_are_an_input(tmp_path: Path) -> None:
    sizes = helper.make_tensor_value_info("s", TensorProto.INT64, [2])
    model = graph([resize("x", "", "", "s", axes=[2, 3], mode="linear")], inputs=[sizes])
    op = read(tmp_path, model)
    assert op.spec.target is AtRunTime.SIZES
    wanted = onnxruntime_resize(model, {"x": image(), "s": np.array([8, 5])})
    np.testing.assert_allclose(op.run(image(), sizes=(8, 5)), wanted, rtol=0, atol=2e-5)


def test_a_roi_that_is_an_input(tmp_path: Path) -> None:
    roi = helper.make_tensor_value_info("r", TensorProto.FLOAT, [4])
    nodes = [resize("x", "r", "", "s", axes=[2, 3], coordinate_transformation_mode="tf_crop_and_resize")]
    op = read(tmp_path, graph(nodes, {"s": [8, 5]}, inputs=[roi]))
    assert op.spec.coordinates == Crop(roi=None)
    with pytest.raises(ir_interp.SpecError) as caught:
        op.run(image())
    assert str(caught.value) == "roi is an input of the resize at run time; tf_crop_and_resize needs its values"


# Subgraphs and functions


def branch(name: str, nodes: Sequence[onnx.NodeProto], constants: dict[str, Any] | None = None) -> onnx.GraphProto:
    tensors = [numpy_helper.from_array(np.asarray(value), key) for key, value in (constants or {}).items()]
    output = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
    return helper.make_graph(nodes, name, [], [output], tensors)


def either(then: onnx.GraphProto, other: onnx.GraphProto, **options: Any) -> onnx.ModelProto:
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    node = helper.make_node("If", ["flag"], ["y"], name="either", then_branch=then, else_branch=other)
    return graph([node], inputs=[flag], **options)


def test_resizes_in_both_branches(tmp_path: Path) -> None:
    """One takes its sizes from an initialiser inside, the other from one outside."""
    then = branch("a", [resize("x", "", "", "inside", axes=[2, 3], output="a", name="near")], {"inside": [8, 5]})
    other = branch("b", [resize("x", "", "", "outside", axes=[2, 3], output="b", name="far", mode="cubic")])
    model = either(then, other, constants={"outside": [3, 7]})
    found = {op.name: op for op in ir_interp.load(saved(tmp_path, model))}
    near, far = found["near"], found["far"]
    assert near.where == 'model.onnx:node[0 "either"]/then_branch/node[0 "near"]'
    assert far.where == 'model.onnx:node[0 "either"]/else_branch/node[0 "far"]'
    assert (near.spec.target, far.spec.target) == (Sizes((8, 5)), Sizes((3, 7)))
    assert near.shape == far.shape == SHAPE
    check(model, near, flag=np.array(True))
    check(model, far, flag=np.array(False))


def test_branches_that_use_the_same_names(tmp_path: Path) -> None:
    """Names in one branch say nothing about the other."""

    def half(kind: str, **attributes: Any) -> onnx.GraphProto:
        nodes = [
            helper.make_node(kind, ["x"], ["t"], **attributes),
            resize("t", "", "s", output="r", name=kind, mode="linear"),
        ]
        return branch(kind, nodes, {"s": floats([1, 1, 2, 2])})

    model = either(half("MaxPool", kernel_shape=[2, 2], strides=[2, 2]), half("Relu"))
    found = ir_interp.load(saved(tmp_path, model))
    assert {op.name: op.shape for op in found} == {"MaxPool": (1, 3, 2, 3), "Relu": SHAPE}


def test_a_resize_in_a_function(tmp_path: Path) -> None:
    body = [
        *nodes_of(DOUBLED),
        resize("a", "", "s", output="b", name="inner", mode="linear"),
    ]
    function = helper.make_function("mine", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 18)])
    model = graph([helper.make_node("Twice", ["x"], ["y"], domain="mine", name="call")], functions=[function])
    op = read(tmp_path, model)
    assert (op.shape, op.spec.target) == (SHAPE, Scales((1.0, 1.0, 2.0, 2.0)))
    check(model, op)


def test_a_function_that_is_called_twice(tmp_path: Path) -> None:
    body = [
        *nodes_of(DOUBLED),
        resize("a", "", "s", output="b", name="inner"),
    ]
    function = helper.make_function("mine", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 18)])
    calls = [helper.make_node("Twice", ends[:1], ends[1:], domain="mine") for ends in (["x", "h"], ["h", "y"])]
    found = ir_interp.load(saved(tmp_path, graph(calls, functions=[function])))
    assert [op.shape for op in found] == [(1, 3, 4, 6), (1, 3, 8, 12)]
    assert len({op.name for op in found}) == 2


# Data outside the file


def outside(folder: Path, location: str, **entries: str) -> Path:
    model = graph([resize("x", "", "", "s", axes=[2, 3])], {"s": [8, 5]})
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    (folder / "inside").mkdir()
    return saved(folder / "inside", model)


def test_external_data(tmp_path: Path) -> None:
    path = outside(tmp_path, "weights.bin", offset="8", length="16")
    (path.parent / "weights.bin").write_bytes(np.array([0, 8, 5]).tobytes())
    (op,) = ir_interp.load(path)
    assert op.spec.target == Sizes((8, 5))


@pytest.mark.parametrize("kind", ["above", "absolute", "symbolic link", "missing", "short", "folder"])
def test_external_data_that_must_not_or_cannot_be_read(kind: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.array([8, 5]).tobytes())
    location = {"above": "../secret.bin", "absolute": str(secret)}.get(kind, "weights.bin")
    path = outside(tmp_path, location)
    if kind == "symbolic link":
        (path.parent / location).symlink_to(secret)
    elif kind == "short":
        (path.parent / location).write_bytes(bytes(15))
    elif kind == "folder":
        (path.parent / location).mkdir()
    with pytest.raises(ReadError) as caught:
        ir_interp.load(path)
    assert str(caught.value).startswith("model.onnx:node[0 \"up\"]: the values of tensor 's' cannot be read: ")
    assert "\n" not in str(caught.value)


def test_weights_that_are_missing_are_not_needed(tmp_path: Path) -> None:
    """What resizes do is read from a model alone, whose weights stayed elsewhere."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), resize("c", "", "s")]
    model = graph(nodes, {"w": np.zeros((8, 3, 1, 1), np.float32), "s": floats([1, 1, 2, 2])})
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="gone.bin")
    op = read(tmp_path, model)
    assert (op.shape, op.spec.target) == ((1, 8, 4, 6), Scales((1.0, 1.0, 2.0, 2.0)))


# Shapes and types


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"])
def test_types(dtype: str, tmp_path: Path) -> None:
    op = read(tmp_path, onnx_model("Resize", 13, SHAPE, dtype, {"mode": "nearest"}, sizes=(1, 3, 8, 5)))
    assert (op.shape, op.dtype) == (SHAPE, dtype)


def test_bfloat16(tmp_path: Path) -> None:
    op = read(tmp_path, onnx_model("Resize", 13, SHAPE, ml_dtypes.bfloat16, {"mode": "linear"}, sizes=(1, 3, 8, 5)))
    assert op.dtype == "bfloat16"
    assert op.run(image().astype(ml_dtypes.bfloat16)).dtype == ml_dtypes.bfloat16


def test_shapes_that_only_inference_knows(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        resize("c", "", "s", mode="linear"),
    ]
    constants = {"w": np.zeros((64, 3, 3, 3), np.float32), "s": floats([1, 1, 2, 2])}  # large, so left out
    op = read(tmp_path, graph(nodes, constants))
    assert (op.shape, op.dtype) == ((1, 64, 2, 3), "float32")


def test_a_model_that_inference_refuses(tmp_path: Path) -> None:
    """A shape declared wrongly elsewhere does not hide the resize."""
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), resize("x", "", "s", mode="linear")]
    constants = {"w": np.zeros((1, 5, 9, 9), np.float32), "s": floats([1, 1, 2, 2])}
    op = read(tmp_path, graph(nodes, constants))
    assert (op.shape, op.spec.target) == (SHAPE, Scales((1.0, 1.0, 2.0, 2.0)))


# Readings that differ


def test_a_length_that_the_reference_does_not_round(tmp_path: Path) -> None:
    attributes = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
    model = onnx_model("Resize", 13, (1, 1, 2, 4), np.float32, attributes, scales=(1, 1, 0.6, 0.6))
    runtime, reference = read(tmp_path, model), read(tmp_path, model, semantics="reference")
    assert [str(each) for each in runtime.diagnostics] == [
        "IRI006 ONNX's reference uses scale * size as the output size without rounding it down; its text rounds. "
        "length: whole (runtime), fractional (reference)"
    ]
    assert [each.code for each in reference.diagnostics] == ["IRI006"]
    x = floats([[[[1, 2, 3, 4], [5, 6, 7, 8]]]])
    np.testing.assert_allclose(runtime.run(x), [[[[1, 4]]]], atol=1e-6)
    np.testing.assert_allclose(reference.run(x), [[[[1, 3.142857]]]], atol=1e-5)  # as onnx's node test has it
