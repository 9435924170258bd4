"""IR files: whole nets, pasted layers, and the constants and shape arithmetic that say what a resize resizes to."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13 as ops

import ir_interp
from ir_interp import (
    Area,
    AtRunTime,
    Coordinates,
    Cubic,
    Linear,
    Nearest,
    Pad,
    ReadError,
    ResizeOp,
    Rounding,
    Scales,
    Sizes,
    UnsupportedLayerError,
)
from tests.support.ir_text import ELEMENT_TYPES, End, Net, interpolate
from tests.support.places import REAL_IRS, ROOT
from tests.support.runtimes import Array, Child, Crashed, Refused, interpolate_ir, openvino_resize


def layer(data: str, **changes: Any) -> str:
    """Return a pasted layer, of no version and without an output unless they are given."""
    return interpolate(data, **{"version": "", "out": None, "number": 7} | changes)


def single(path: Path, **options: Any) -> ResizeOp:
    (op,) = ir_interp.load(path, **options)
    return op


def paste(folder: Path, text: str, **options: Any) -> ResizeOp:
    path = folder / "pasted.xml"
    path.write_text(text)
    return single(path, **options)


def image(shape: Sequence[int], seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(-4, 4, shape).astype(np.float32)


def answer(given: Array | Refused | Crashed) -> Array:
    assert isinstance(given, np.ndarray), given
    return given


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    with Child() as process:
        yield process


@pytest.fixture
def equals_openvino(child: Child) -> Callable[..., None]:
    """Return a check that a resize of a file computes what OpenVINO computes of this file."""

    def check(path: Path, x: Array, *, name: str = "x", op: ResizeOp | None = None) -> None:
        wanted = answer(child.call(openvino_resize, path, {name: x}))
        np.testing.assert_allclose((op or single(path)).run(x), wanted, rtol=0, atol=2e-5)

    return check


# Whole nets

V10 = """<?xml version="1.0" ?>
<net name="upsample" version="10">
	<layers>
		<layer id="0" name="image" type="Parameter" version="opset1">
			<data element_type="f32" shape="1,2,4,6"/>
			<output>
				<port id="0" precision="FP32">
					<dim>1</dim>
					<dim>2</dim>
					<dim>4</dim>
					<dim>6</dim>
				</port>
			</output>
		</layer>
		<layer id="1" name="target" type="Const" version="opset1">
			<data element_type="i64" offset="20" shape="2" size="16"/>
			<output>
				<port id="1" precision="I64">
					<dim>2</dim>
				</port>
			</output>
		</layer>
		<layer id="2" name="up" type="Interpolate" version="opset1">
			<data align_corners="0" antialias="0" axes="2,3" mode="nearest" pads_begin="0" pads_end="0"/>
			<input>
				<port id="0">
					<dim>1</dim>
					<dim>2</dim>
					<dim>4</dim>
					<dim>6</dim>
				</port>
				<port id="1">
					<dim>2</dim>
				</port>
			</input>
			<output>
				<port id="2" precision="FP32">
					<dim>1</dim>
					<dim>2</dim>
					<dim>9</dim>
					<dim>3</dim>
				</port>
			</output>
		</layer>
		<layer id="3" name="up/sink_port_0" type="Result" version="opset1">
			<input>
				<port id="0">
					<dim>1</dim>
					<dim>2</dim>
					<dim>9</dim>
					<dim>3</dim>
				</port>
			</input>
		</layer>
	</layers>
	<edges>
		<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
		<edge from-layer="1" from-port="1" to-layer="2" to-port="1"/>
		<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
	</edges>
	<meta_data>
		<MO_version value="2021.4.0"/>
		<cli_parameters>
			<caffe_parser_path value="DIR"/>
		</cli_parameters>
	</meta_data>
</net>
"""

V11 = """<?xml version="1.0"?>
<net name="Model0" version="11">
	<layers>
		<layer id="0" name="x" type="Parameter" version="opset1">
			<data shape="1,2,4,6" element_type="f32" />
			<output>
				<port id="0" precision="FP32" names="x">
					<dim>1</dim>
					<dim>2</dim>
					<dim>4</dim>
					<dim>6</dim>
				</port>
			</output>
		</layer>
		<layer id="1" name="Constant_1" type="Const" version="opset1">
			<data element_type="f32" shape="2" offset="0" size="8" />
			<output>
				<port id="0" precision="FP32">
					<dim>2</dim>
				</port>
			</output>
		</layer>
		<layer id="2" name="Constant_2" type="Const" version="opset1">
			<data element_type="i32" shape="2" offset="8" size="8" />
			<output>
				<port id="0" precision="I32">
					<dim>2</dim>
				</port>
			</output>
		</layer>
		<layer id="3" name="Interpolate_3" type="Interpolate" version="opset11">
			<data mode="cubic" shape_calculation_mode="scales" coordinate_transformation_mode="align_corners"
				nearest_mode="floor" antialias="false" pads_begin="0, 0, 0, 0" pads_end="0, 0, 0, 0"
				cube_coeff="-0.5" />
			<rt_info>
				<attribute name="fused_names" version="0" value="Interpolate_3" />
			</rt_info>
			<input>
				<port id="0" precision="FP32">
					<dim>1</dim>
					<dim>2</dim>
					<dim>4</dim>
					<dim>6</dim>
				</port>
				<port id="1" precision="FP32">
					<dim>2</dim>
				</port>
				<port id="2" precision="I32">
					<dim>2</dim>
				</port>
			</input>
			<output>
				<port id="3" precision="FP32" names="y">
					<dim>1</dim>
					<dim>2</dim>
					<dim>2</dim>
					<dim>15</dim>
				</port>
			</output>
		</layer>
		<layer id="4" name="Result_4" type="Result" version="opset1" output_names="y">
			<input>
				<port id="0" precision="FP32">
					<dim>1</dim>
					<dim>2</dim>
					<dim>2</dim>
					<dim>15</dim>
				</port>
			</input>
		</layer>
	</layers>
	<edges>
		<edge from-layer="0" from-port="0" to-layer="3" to-port="0" />
		<edge from-layer="1" from-port="0" to-layer="3" to-port="1" />
		<edge from-layer="2" from-port="0" to-layer="3" to-port="2" />
		<edge from-layer="3" from-port="3" to-layer="4" to-port="0" />
	</edges>
	<rt_info />
</net>
"""


def test_a_net_of_the_model_optimizer(tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    path = tmp_path / "net.xml"
    path.write_text(V10)
    path.with_suffix(".bin").write_bytes(bytes(20) + np.array([9, 3], np.int64).tobytes())
    op = single(path)
    assert (op.name, op.where) == ("up", 'net.xml:layer[2 "up"]')
    assert (op.dialect, op.version, op.shape, op.dtype) == ("openvino", 1, (1, 2, 4, 6), "float32")
    assert op.spec.kernel == Nearest(rounding=Rounding.SIMPLE)
    assert op.spec.coordinates is Coordinates.ASYMMETRIC
    assert (op.spec.axes, op.spec.target, codes(op)) == ((2, 3), Sizes((9, 3)), ["IRI017"])
    equals_openvino(path, image((1, 2, 4, 6)), name="image")


def test_a_net_as_openvino_serialises_it(tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    path = tmp_path / "net.xml"
    path.write_text(V11)
    weights = np.array([0.5, 2.5], np.float32).tobytes() + np.array([2, 3], np.int32).tobytes()
    path.with_suffix(".bin").write_bytes(weights)
    op = single(path)
    assert (op.name, op.where, op.version) == ("Interpolate_3", 'net.xml:layer[3 "Interpolate_3"]', 11)
    assert (op.shape, op.dtype) == ((1, 2, 4, 6), "float32")
    assert op.spec.kernel == Cubic(a=-0.5)
    assert op.spec.coordinates is Coordinates.ALIGN_CORNERS
    assert (op.spec.axes, op.spec.target) == ((2, 3), Scales((0.5, 2.5)))
    equals_openvino(path, image((1, 2, 4, 6)))


SAVED: dict[str, tuple[int, tuple[int, ...], dict[str, Any], dict[str, Any]]] = {
    "1 nearest": (1, (1, 2, 5, 7), {"mode": "nearest", "align_corners": 0}, {"axes": (2, 3), "sizes": (9, 3)}),
    "1 linear": (1, (1, 2, 5, 7), {"mode": "linear", "align_corners": True}, {"axes": (2, 3), "sizes": (9, 3)}),
    "1 linear rank 3": (1, (2, 5, 7), {"mode": "linear", "align_corners": False}, {"axes": (1, 2), "sizes": (9, 3)}),
    "1 cubic": (1, (1, 2, 5, 7), {"mode": "cubic", "align_corners": 0}, {"axes": (2, 3), "sizes": (9, 3)}),
    "1 defaults": (1, (1, 2, 5, 7), {"mode": "nearest"}, {"axes": (3,), "sizes": (12,)}),
    "4 nearest": (
        4,
        (1, 2, 5, 7),
        {"mode": "nearest", "nearest_mode": "ceil", "coordinate_transformation_mode": "tf_half_pixel_for_nn"},
        {"axes": (2, 3), "sizes": (9, 3)},
    ),
    "4 without axes": (4, (1, 2, 5, 7), {"mode": "linear_onnx"}, {"sizes": (1, 2, 8, 8)}),
    "4 axes in their own order": (4, (1, 2, 5, 7), {"mode": "linear"}, {"axes": (3, 2), "sizes": (9, 3)}),
    "4 scales": (4, (1, 2, 5, 7), {"mode": "cubic", "cube_coeff": -0.6}, {"axes": (2, 3), "scales": (2.3, 0.6)}),
    "4 pads": (
        4,
        (1, 1, 3, 4),
        {"mode": "linear", "pads_begin": (0, 0, 1, 2), "pads_end": (0, 0, 0, 1)},
        {"axes": (2, 3), "sizes": (8, 5)},
    ),
    "11 nearest": (11, (1, 2, 5, 7), {"mode": "nearest"}, {"axes": (2, 3), "scales": (1.4, 0.5)}),
    "11 bilinear_pillow": (11, (1, 2, 5, 7), {"mode": "bilinear_pillow"}, {"axes": (2, 3), "sizes": (9, 3)}),
    "11 bicubic_pillow": (
        11,
        (1, 2, 5, 7),
        {"mode": "bicubic_pillow", "cube_coeff": -0.5},
        {"axes": (2, 3), "sizes": (9, 3)},
    ),
}


@pytest.mark.parametrize("case", SAVED)
def test_a_model_that_openvino_saved(case: str, tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    version, shape, attributes, given = SAVED[case]
    path = tmp_path / "saved.xml"
    openvino.save_model(interpolate_ir(version, shape, "float32", attributes, **given), path, compress_to_fp16=False)
    op = single(path)
    assert op.version == version
    assert (op.shape, op.dtype) == (shape, "float32")
    if "sizes" in given:
        assert op.spec.target == Sizes(given["sizes"])
    equals_openvino(path, image(shape))


def test_scales_that_were_compressed_to_float16(tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    net = Net(10)
    x, axes = net.parameter((1, 1, 4, 6)), net.const((2, 3))
    scales = _convert(net, net.const((2.3, 0.6), "float16"), "float32")
    data = 'mode="linear" shape_calculation_mode="scales"'
    net.interpolate(11, data, x, scales, axes, shape=(1, 1, 4, 6), out=(1, 1, 9, 3))
    path = net.write(tmp_path / "net.xml")
    assert single(path).spec.target == Scales((2.30078125, 0.60009765625))
    equals_openvino(path, image((1, 1, 4, 6)))


@pytest.mark.parametrize(
    ("tag", "version"), [("opset1", 1), ("opset3", 1), ("opset4", 4), ("opset10", 4), ("opset11", 11), ("opset15", 11)]
)
def test_the_operation_set_chooses_the_version(tag: str, version: int, tmp_path: Path) -> None:
    axes = 'axes="2,3"' if version == 1 else ""
    op = paste(tmp_path, layer(f'mode="nearest" {axes}', version=tag, out=(1, 1, 8, 12)))
    assert op.version == version
    assert op.run(image((1, 1, 4, 6))).shape == (1, 1, 8, 12)


def test_attributes_of_another_version_say_nothing(tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    """In Interpolate-4 the axes are an input; what OpenVINO ignores must not be taken for it."""
    net = Net(10)
    x, sizes, scales = net.parameter((1, 1, 4, 6)), net.const((1, 1, 9, 5)), net.const((1.0,) * 4, "float32")
    data = 'mode="nearest" axes="2,3" align_corners="true" sizes="7" scales="2"'
    net.interpolate(4, data, x, sizes, scales, shape=(1, 1, 4, 6), out=(1, 1, 9, 5))
    path = net.write(tmp_path / "net.xml")
    op = single(path)
    assert (op.spec.axes, op.spec.target) == (None, Sizes((1, 1, 9, 5)))
    equals_openvino(path, image((1, 1, 4, 6)))


@pytest.mark.parametrize(("text", "corners"), [("1", True), ("TRUE", True), ("0", False), ("False", False)])
def test_booleans_in_every_spelling(text: str, corners: bool, tmp_path: Path) -> None:
    data = f'mode="cubic" axes="2,3" align_corners="{text}"'
    wanted = Coordinates.ALIGN_CORNERS if corners else Coordinates.ASYMMETRIC
    assert paste(tmp_path, layer(data, out=(1, 1, 8, 12))).spec.coordinates is wanted


def test_words_of_interpolate_4_in_any_case(tmp_path: Path) -> None:
    data = 'mode="Nearest" nearest_mode="FLOOR" coordinate_transformation_mode="Asymmetric"'
    op = paste(tmp_path, layer(data, version="opset4", out=(1, 1, 8, 12)))
    assert op.spec.kernel == Nearest(rounding=Rounding.FLOOR)
    assert op.spec.coordinates is Coordinates.ASYMMETRIC


def test_what_openvino_tolerates(tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    """Layers in any order, ids with gaps, a type in lower case, comments, attributes that nobody knows."""
    text = (
        '<net version="11"><!-- made by hand --><layers>'
        '<layer id="90" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>'
        '<layer id="40" name="up" type="interpolate" version="opset2" comment="none">'
        '<data axes=" 2 , 3 " mode="nearest" align_corners="false" colour="blue"/>'
        '<input><port id="5"/><port id="6"/></input>'
        '<output><port id="0" precision="FP32" names="y"><dim>7</dim></port></output></layer>'
        '<layer id="3" name="x" type="Parameter" version="opset1"><data element_type="f32" shape="1,1,4,6"/><output>'
        '<port id="0" precision="FP32" names="x"><dim>1</dim><dim>1</dim><dim>4</dim><dim>6</dim></port>'
        "</output></layer>"
        '<layer id="8" name="x" type="Const" version="opset1">'
        '<data element_type="I32" shape="2" offset="0" size="8"/>'
        '<output><port id="1" precision="I32"/></output></layer></layers><edges>'
        '<edge from-layer="3" from-port="0" to-layer="40" to-port="5"/>'
        '<edge from-layer="8" from-port="1" to-layer="40" to-port="6"/>'
        '<edge from-layer="40" from-port="0" to-layer="90" to-port="0"/></edges></net>'
    )
    path = tmp_path / "odd.xml"
    path.write_text(text)
    path.with_suffix(".bin").write_bytes(np.array([8, 3], np.int32).tobytes())
    op = single(path)
    assert (op.where, op.shape, op.spec.target) == ('odd.xml:layer[40 "up"]', (1, 1, 4, 6), Sizes((8, 3)))
    equals_openvino(path, image((1, 1, 4, 6)))


def test_a_net_without_a_resize(tmp_path: Path) -> None:
    net = Net()
    net.add("Result", "", net.parameter((1, 3)))
    assert ir_interp.load(net.write(tmp_path / "net.xml")) == []


def test_several_resizes_in_the_order_of_the_file(tmp_path: Path) -> None:
    net = Net()
    x, sizes = net.parameter((1, 1, 4, 6)), net.const((8, 12))
    for name in ("b", "a", "c"):
        net.interpolate(1, 'axes="2,3" mode="nearest"', x, sizes, shape=(1, 1, 4, 6), out=(1, 1, 8, 12), name=name)
    assert [op.name for op in ir_interp.load(net.write(tmp_path / "net.xml"))] == ["b", "a", "c"]


# Sizes, scales and axes


def _convert(net: Net, end: End, dtype: str, shape: Sequence[int] = (2,)) -> End:
    return net.add("Convert", f'destination_type="{ELEMENT_TYPES[dtype][0]}"', end, shape=shape, dtype=dtype)


def _shape_of(net: Net, x: End) -> End:
    data = 'output_type="i64"'
    return net.add("ShapeOf", data, x, shape=(4,), dtype="int64", version="opset3", inputs=[(1, 1, 4, 6)])


def _strided(net: Net, end: End, begin: int, stop: int, shape: Sequence[int], shrink: int = 0) -> End:
    data = (
        f'begin_mask="0" end_mask="0" new_axis_mask="" shrink_axis_mask="{shrink if shrink else ""}" ellipsis_mask=""'
    )
    edges = [net.const((begin,)), net.const((stop,)), net.const((1,))]
    return net.add("StridedSlice", data, end, *edges, shape=shape, dtype="int64")


def _binary(net: Net, kind: str, left: End, right: End, dtype: str = "int64") -> End:
    return net.add(kind, 'auto_broadcast="numpy"', left, right, shape=(2,), dtype=dtype)


def sizes_const_i32(net: Net, x: End) -> End:
    return net.const((8, 12), "int32")


def sizes_convert(net: Net, x: End) -> End:
    return _convert(net, net.const((8, 12), "int32"), "int64")


def sizes_convert_of_floats(net: Net, x: End) -> End:
    return _convert(net, net.const((8.0, 12.0), "float16"), "int64")


def sizes_strided_slice_multiply(net: Net, x: End) -> End:
    return _binary(net, "Multiply", _strided(net, _shape_of(net, x), 2, 4, (2,)), net.const((2, 2)))


def sizes_strided_slice_with_masks(net: Net, x: End) -> End:
    masks = 'begin_mask="0" end_mask="1" new_axis_mask="0" shrink_axis_mask="0" ellipsis_mask="0"'
    ends = [_shape_of(net, x), net.const((-2,)), net.const((0,)), net.const((1,))]
    return _binary(net, "Multiply", net.add("StridedSlice", masks, *ends, shape=(2,), dtype="int64"), net.const(2))


def sizes_gather_multiply_floor(net: Net, x: End) -> End:
    axis = net.const(0)
    hw = net.add("Gather", "", _shape_of(net, x), net.const((2, 3)), axis, shape=(2,), dtype="int64")
    scaled = _binary(net, "Multiply", _convert(net, hw, "float32"), net.const((2.1, 2.1), "float32"), "float32")
    return _convert(net, net.add("Floor", "", scaled, shape=(2,)), "int64")


def sizes_gather_with_a_listed_axis(net: Net, x: End) -> End:
    ends = [_shape_of(net, x), net.const((-2, -1)), net.const((0,))]
    hw = net.add("Gather", 'batch_dims="0"', *ends, shape=(2,), dtype="int64", version="opset8")
    return _binary(net, "Add", hw, net.const((4, 6)))


def sizes_concat_of_scalars(net: Net, x: End) -> End:
    shape = _shape_of(net, x)
    pieces = []
    for place in (2, 3):
        picked = net.add("Gather", "", shape, net.const(place), net.const(0), dtype="int64")
        doubled = net.add("Multiply", 'auto_broadcast="numpy"', picked, net.const(2), dtype="int64")
        pieces.append(net.add("Unsqueeze", "", doubled, net.const((0,)), shape=(1,), dtype="int64"))
    return net.add("Concat", 'axis="0"', *pieces, shape=(2,), dtype="int64")


def sizes_concat_of_shrunk_slices(net: Net, x: End) -> End:
    shape = _shape_of(net, x)
    pieces = []
    for place in (2, 3):
        scalar = _strided(net, shape, place, place + 1, (), shrink=1)
        doubled = net.add("Multiply", 'auto_broadcast="numpy"', scalar, net.const(2), dtype="int64")
        data = 'special_zero="false"'
        pieces.append(net.add("Reshape", data, doubled, net.const((1,)), shape=(1,), dtype="int64"))
    return net.add("Concat", 'axis="0"', *pieces, shape=(2,), dtype="int64")


def sizes_slice_divide_squeeze(net: Net, x: End) -> End:
    ends = [_shape_of(net, x), net.const((2,)), net.const((4,)), net.const((1,)), net.const((0,))]
    hw = net.add("Slice", "", *ends, shape=(2,), dtype="int64", version="opset8")
    row = net.add("Unsqueeze", "", hw, net.const((0,)), shape=(1, 2), dtype="int64")
    flat = net.add("Squeeze", "", row, net.const((0,)), shape=(2,), dtype="int64")
    return _binary(net, "Divide", _binary(net, "Multiply", flat, net.const((5, 5))), net.const((2, 2)))


def sizes_min_max(net: Net, x: End) -> End:
    low = _binary(net, "Maximum", net.const((8, 2)), net.const((1, 12)))
    return _binary(net, "Minimum", low, _binary(net, "Subtract", net.const((99, 99)), net.const((1, 1))))


SIZES = {
    "Const i32": (sizes_const_i32, (8, 12)),
    "Convert": (sizes_convert, (8, 12)),
    "Convert of floats": (sizes_convert_of_floats, (8, 12)),
    "ShapeOf StridedSlice Multiply": (sizes_strided_slice_multiply, (8, 12)),
    "StridedSlice with masks": (sizes_strided_slice_with_masks, (8, 12)),
    "ShapeOf Gather Multiply Floor": (sizes_gather_multiply_floor, (8, 12)),
    "Gather with axis [0]": (sizes_gather_with_a_listed_axis, (8, 12)),
    "Concat of scalars": (sizes_concat_of_scalars, (8, 12)),
    "Concat of shrunk slices": (sizes_concat_of_shrunk_slices, (8, 12)),
    "Slice Divide Squeeze": (sizes_slice_divide_squeeze, (10, 15)),
    "Minimum Maximum": (sizes_min_max, (8, 12)),
}


@pytest.mark.parametrize("case", SIZES)
def test_sizes_are_followed_to_the_constants(case: str, tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    build, wanted = SIZES[case]
    net = Net(10)
    x = net.parameter((1, 1, 4, 6))
    # The output port leaves the target open, so that only the constants can tell it.
    net.interpolate(1, 'axes="2,3" mode="nearest"', x, build(net, x), shape=(1, 1, 4, 6), out=(1, 1, -1, -1))
    path = net.write(tmp_path / "net.xml")
    assert single(path).spec.target == Sizes(wanted)
    equals_openvino(path, image((1, 1, 4, 6)))


def test_sizes_of_a_graph_that_openvino_built(tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    x = ops.parameter([1, 3, 10, 14], np.float32, name="x")
    x.output(0).set_names({"x"})
    hw = ops.gather(ops.shape_of(x), ops.constant(np.array([2, 3])), ops.constant(0))
    scaled = ops.multiply(ops.convert(hw, np.float32), ops.constant(np.array([1.5, 0.5], np.float32)))
    sizes = ops.convert(ops.floor(scaled), np.int64)
    y = ops.interpolate(x, sizes, "linear_onnx", "sizes", axes=ops.constant(np.array([2, 3])))
    path = tmp_path / "built.xml"
    openvino.save_model(openvino.Model([y], [x]), path, compress_to_fp16=False)
    op = single(path)
    assert (op.spec.axes, op.spec.target) == ((2, 3), Sizes((15, 7)))
    equals_openvino(path, image((1, 3, 10, 14)))


def test_a_chain_that_uses_each_value_twice_is_read_at_once(tmp_path: Path) -> None:
    """Sixty additions of a value to itself are 2**60 paths, but sixty values."""
    net = Net()
    x, sizes = net.parameter((1, 1, 4, 6)), net.const((1, 1))
    for _ in range(60):
        sizes = _binary(net, "Maximum", sizes, sizes)
    net.interpolate(1, 'axes="2,3" mode="nearest"', x, sizes, shape=(1, 1, 4, 6), out=(1, 1, -1, -1))
    path = net.write(tmp_path / "net.xml")
    program = "import sys, ir_interp; print(ir_interp.load(sys.argv[1])[0].spec.target)"
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=10, check=True, cwd=ROOT
    )
    assert done.stdout == "sizes [1, 1]\n"


def test_the_output_says_the_sizes_where_the_bin_is_missing(tmp_path: Path) -> None:
    net = Net(10)
    x, sizes = net.parameter((1, 1, 4, 6)), net.const((9, 5))
    net.interpolate(1, 'axes="2,3" mode="nearest"', x, sizes, shape=(1, 1, 4, 6), out=(1, 1, 9, 5))
    op = single(net.write(tmp_path / "net.xml", binary=False))
    assert (op.spec.axes, op.spec.target) == ((2, 3), Sizes((9, 5)))


def test_the_output_says_the_axes_too_where_the_bin_is_missing(tmp_path: Path) -> None:
    net = Net()
    x, sizes, scales, axes = net.parameter((1, 1, 4, 6)), net.const((9, 5)), net.const((1, 1)), net.const((2, 3))
    net.interpolate(4, 'mode="linear"', x, sizes, scales, axes, shape=(1, 1, 4, 6), out=(1, 1, 9, 5))
    op = single(net.write(tmp_path / "net.xml", binary=False))
    x_values = image((1, 1, 4, 6))
    wanted = single(net.write(tmp_path / "whole.xml"))
    assert wanted.spec.axes == (2, 3)
    np.testing.assert_array_equal(op.run(x_values), wanted.run(x_values))


def test_scales_need_the_bin(tmp_path: Path) -> None:
    net = Net()
    x, scales, axes = net.parameter((1, 1, 4, 6)), net.const((2.0, 0.5), "float32"), net.const((2, 3))
    data = 'mode="nearest" shape_calculation_mode="scales"'
    net.interpolate(11, data, x, scales, axes, shape=(1, 1, 4, 6), out=(1, 1, 8, 3))
    path = net.write(tmp_path / "net.xml", binary=False)
    with pytest.raises(ReadError) as caught:
        ir_interp.load(path)
    assert str(caught.value) == 'net.xml:layer[2 "const2"]: the value is needed, but net.bin is missing'
    net.write(path)
    assert single(path).spec.target == Scales((2.0, 0.5))


def test_axes_keep_the_order_of_their_constant(tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    net = Net(10)
    x, sizes, axes = net.parameter((1, 1, 4, 6)), net.const((9, 5)), _convert_axes(net)
    net.interpolate(11, 'mode="nearest"', x, sizes, axes, shape=(1, 1, 4, 6), out=(1, 1, 5, 9))
    path = net.write(tmp_path / "net.xml")
    op = single(path)
    assert (op.spec.axes, op.spec.target) == ((3, 2), Sizes((9, 5)))
    assert op.diagnostics == ()
    equals_openvino(path, image((1, 1, 4, 6)))


def _convert_axes(net: Net) -> End:
    return _convert(net, net.const((3, 2), "int32"), "int64")


# What is open until run time


def test_lengths_and_sizes_that_are_open(tmp_path: Path) -> None:
    net = Net()
    x = net.parameter((1, 3, -1, -1))
    sizes = net.parameter((2,), "sizes", "int64")
    data = 'axes="2,3" mode="linear" align_corners="true"'
    net.interpolate(1, data, x, sizes, shape=(1, 3, -1, -1), out=(1, 3, -1, -1))
    op = single(net.write(tmp_path / "net.xml"))
    assert (op.shape, op.spec.target) == ((1, 3, None, None), AtRunTime.SIZES)
    assert op.run(image((1, 3, 4, 6)), sizes=(8, 3)).shape == (1, 3, 8, 3)
    with pytest.raises(
        ir_interp.SpecError,
        match=r"^sizes are missing: this resize takes them at run time; pass them, as in sizes=\(50, 60\)$",
    ):
        op.run(image((1, 3, 4, 6)))


def test_scales_that_are_open(tmp_path: Path) -> None:
    op = paste(tmp_path, layer('shape_calculation_mode="scales" mode="nearest"', version="opset11"))
    assert op.spec.target is AtRunTime.SCALES
    assert op.run(image((1, 1, 4, 6)), scales=(1, 1, 2, 0.5)).shape == (1, 1, 8, 3)


def test_a_rank_that_is_open(tmp_path: Path) -> None:
    x = ops.parameter(openvino.PartialShape.dynamic(), np.float32, name="x")
    sizes, axes = ops.constant(np.array([8, 12])), ops.constant(np.array([2, 3]))
    y = ops.interpolate(x, sizes, "nearest", "sizes", axes=axes)
    path = tmp_path / "open.xml"
    openvino.save_model(openvino.Model([y], [x]), path, compress_to_fp16=False)
    op = single(path)
    assert (op.shape, op.spec.axes, op.spec.target) == (None, (2, 3), Sizes((8, 12)))
    assert op.run(image((1, 1, 4, 6))).shape == (1, 1, 8, 12)


# Bodies


def test_resizes_in_the_body_of_a_loop(tmp_path: Path) -> None:
    inner = Net()
    x, sizes = inner.parameter((1, 1, 4, 6)), inner.const((8, 12))
    inner.interpolate(1, 'axes="2,3" mode="nearest"', x, sizes, shape=(1, 1, 4, 6), out=(1, 1, -1, -1), name="inside")
    net = Net()
    net.weights = inner.weights
    net.add("TensorIterator", "", net.parameter((5, 1, 1, 4, 6)), name="loop", inside=f"<body>{inner.body()}</body>")
    op = single(net.write(tmp_path / "net.xml"))
    assert (op.name, op.where) == ("inside", 'net.xml:layer[1 "loop"]/body/layer[2 "inside"]')
    assert op.spec.target == Sizes((8, 12))


def test_resizes_in_both_branches(tmp_path: Path) -> None:
    def branch(mode: str) -> openvino.Model:
        x = ops.parameter([1, 1, 4, 6], np.float32)
        axes = ops.constant(np.array([2, 3]))
        y = ops.interpolate(x, ops.constant(np.array([8, 12])), mode, "sizes", axes=axes)
        y.set_friendly_name(mode)
        return openvino.Model([y], [x])

    condition, x = ops.parameter([], np.bool_), ops.parameter([1, 1, 4, 6], np.float32)
    either = ops.if_op(condition)
    then_body, else_body = branch("nearest"), branch("cubic")
    either.set_then_body(then_body)
    either.set_else_body(else_body)
    either.set_input(x.output(0), then_body.get_parameters()[0], else_body.get_parameters()[0])
    y = either.set_output(then_body.get_results()[0], else_body.get_results()[0])
    either.set_friendly_name("either")
    path = tmp_path / "either.xml"
    openvino.save_model(openvino.Model([y], [condition, x]), path, compress_to_fp16=False)
    found = ir_interp.load(path)
    assert {op.name: type(op.spec.kernel) for op in found} == {"nearest": Nearest, "cubic": Cubic}
    places = {op.where.split("/")[1] for op in found}
    assert places == {"then_body", "else_body"}
    assert all(op.spec.target == Sizes((8, 12)) and op.shape == (1, 1, 4, 6) for op in found)


# Pasted layers

PAGE = """<layer ... type="Interpolate" ...>
    <data axes="2,3" align_corners="0" pads_begin="0" pads_end="0" mode="linear"/>
    <input> <port id="0"> <dim>1</dim> <dim>2</dim> <dim>48</dim> <dim>80</dim> </port> <port id="1"> <dim>2</dim> \
<!--The values in this input are [50, 60] --> </port> </input>
    <output> <port id="0"> <dim>1</dim> <dim>2</dim> <dim>50</dim> <dim>60</dim> </port> </output>
</layer>
"""


def test_the_example_of_the_operator_page(tmp_path: Path, child: Child) -> None:
    op = paste(tmp_path, PAGE)
    assert (op.name, op.where, op.version) == ("", 'pasted.xml:layer[0 ""]', 1)
    assert (op.shape, op.dtype) == ((1, 2, 48, 80), None)
    assert (op.spec.kernel, op.spec.coordinates) == (Linear(), Coordinates.ASYMMETRIC)
    assert (op.spec.axes, op.spec.target) == ((2, 3), Sizes((50, 60)))
    assert codes(op) == ["IRI017"]
    x = image((1, 2, 48, 80))
    attributes = {"mode": "linear", "align_corners": 0, "pads_begin": "0", "pads_end": "0"}
    wanted = answer(child.call(_run_ir, 1, attributes, (2, 3), (50, 60), x))
    np.testing.assert_allclose(op.run(x), wanted, rtol=0, atol=2e-5)


def _run_ir(version: int, attributes: dict[str, Any], axes: Sequence[int], sizes: Sequence[int], x: Array) -> Array:
    """Run one Interpolate; a job for ``Child``."""
    model = interpolate_ir(version, x.shape, x.dtype, attributes, axes=axes, sizes=sizes)
    return openvino_resize(model, {"x": x})


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="1.0"?>\n' + PAGE,
        "\ufeff" + PAGE,
        PAGE.replace("...", "…"),
        PAGE.replace("<layer ... type", "<layer id='3'\n  ...\n  type"),
        PAGE.replace('type="Interpolate" ...>', 'type="Interpolate"\t...  >'),
        PAGE.replace("<data ", "<data ... "),
        PAGE.replace('<port id="0"> <dim>1</dim>', '<port id="0" ...> ... <dim>1</dim>', 1),
    ],
    ids=["declaration", "byte order mark", "one character", "lines", "blanks", "in data", "in a port"],
)
def test_the_dots_that_documents_leave(text: str, tmp_path: Path) -> None:
    op = paste(tmp_path, text)
    assert (op.version, op.shape, op.spec.target) == (1, (1, 2, 48, 80), Sizes((50, 60)))


def test_dots_inside_quotes_are_text(tmp_path: Path) -> None:
    assert paste(tmp_path, PAGE.replace("<layer ...", '<layer ... name="a ... b"')).name == "a ... b"


def test_several_layers_without_a_root(tmp_path: Path) -> None:
    path = tmp_path / "pasted.xml"
    path.write_text(PAGE + PAGE.replace('mode="linear"', 'mode="nearest"'))
    first, second = ir_interp.load(path)
    assert (first.spec.kernel, second.spec.kernel) == (Linear(), Nearest(rounding=Rounding.SIMPLE))
    assert (first.where, second.where) == ('pasted.xml:layer[0 ""]', 'pasted.xml:layer[1 ""]')


@pytest.mark.parametrize(
    ("data", "version"),
    [
        ('axes="2,3" mode="nearest"', 1),
        ('axes="2,3" mode="linear" antialias="0"', 1),
        ('mode="nearest" nearest_mode="floor"', 4),
        ('mode="linear" coordinate_transformation_mode="asymmetric"', 4),
        ('mode="linear" shape_calculation_mode="sizes"', 4),
        ('mode="cubic" cube_coeff="-0.5"', 4),
        ('mode="bilinear_pillow"', 11),
        ('mode="bicubic_pillow" cube_coeff="-0.5"', 11),
    ],
)
def test_a_layer_without_a_version_is_what_its_attributes_say(data: str, version: int, tmp_path: Path) -> None:
    op = paste(tmp_path, layer(data, out=(1, 1, 8, 12)))
    assert (op.version, op.where) == (version, 'pasted.xml:layer[7 "up"]')
    assert op.run(image((1, 1, 4, 6))).shape == (1, 1, 8, 12)


def test_a_layer_of_another_type(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedLayerError) as caught:
        paste(tmp_path, layer('mode="nearest"').replace("Interpolate", "Interpolation"))
    assert str(caught.value) == (
        "pasted.xml:layer[7 \"up\"]@type: layer type 'Interpolation' is not supported; "
        "expected Interpolate; did you mean 'Interpolate'?"
    )


def test_a_pasted_layer_without_an_output_takes_sizes_at_run_time(tmp_path: Path) -> None:
    op = paste(tmp_path, layer('axes="2,3" mode="nearest" align_corners="0"'))
    assert op.spec.target is AtRunTime.SIZES
    assert op.run(image((1, 1, 4, 6)), sizes=(2, 2)).shape == (1, 1, 2, 2)


# Readings that differ


def codes(op: ResizeOp) -> list[str]:
    return [each.code for each in op.diagnostics]


def test_antialias_that_the_runtime_ignores(tmp_path: Path) -> None:
    text = layer('mode="linear" antialias="true"', version="opset4", out=(1, 1, 2, 3))
    runtime, document = paste(tmp_path, text), paste(tmp_path, text, semantics="document")
    assert (codes(runtime), codes(document)) == (["IRI001", "IRI017"], ["IRI001"])
    assert str(runtime.diagnostics[0]) == (
        "IRI001 The runtime ignores antialias here; the operator page does not. "
        "antialias: off (runtime), any_shrinking (document)"
    )
    x = image((1, 1, 4, 6))
    assert not np.array_equal(runtime.run(x), document.run(x))
    np.testing.assert_allclose(document.run(np.ones_like(x)), np.ones((1, 1, 2, 3)), atol=1e-6)


def test_axes_that_are_not_ascending(tmp_path: Path, child: Child) -> None:
    net = Net(10)
    x, sizes = net.parameter((1, 1, 4, 6)), net.const((9, 5))
    net.interpolate(1, 'axes="3,2" mode="nearest" align_corners="0"', x, sizes, shape=(1, 1, 4, 6), out=(1, 1, -1, -1))
    path = net.write(tmp_path / "net.xml")
    runtime, document = single(path), single(path, semantics="document")
    assert (codes(runtime), codes(document)) == (["IRI002", "IRI017"], ["IRI002"])
    assert str(runtime.diagnostics[0]) == (
        "IRI002 Axes are not ascending: OpenVINO sorts them before it assigns sizes, the operator page does not. "
        "axes: [2, 9], [3, 5] (runtime), [2, 5], [3, 9] (document)"
    )
    x_values = image((1, 1, 4, 6))
    assert document.run(x_values).shape == (1, 1, 5, 9)
    wanted = answer(child.call(openvino_resize, path, {"x": x_values}))
    np.testing.assert_array_equal(runtime.run(x_values), wanted)


def test_the_output_says_which_axis_is_which(tmp_path: Path) -> None:
    """Without the .bin, the output's lengths are facts: both readings give them."""
    text = layer('axes="3,2" mode="nearest" align_corners="0"', out=(1, 1, 9, 5))
    for semantics in ("runtime", "document"):
        assert paste(tmp_path, text, semantics=semantics).run(image((1, 1, 4, 6))).shape == (1, 1, 9, 5)


def test_axes_from_the_last_that_are_ascending(tmp_path: Path) -> None:
    """Axes 2, -1 of rank 4 are 2, 3: ascending, however they are spelled."""
    net = Net()
    x, sizes = net.parameter((1, 1, 4, 6)), net.const((9, 5))
    net.interpolate(1, 'axes="2,-1" mode="nearest" align_corners="0"', x, sizes, shape=(1, 1, 4, 6), out=(1, 1, -1, -1))
    op = single(net.write(tmp_path / "net.xml"))
    assert op.run(image((1, 1, 4, 6))).shape == (1, 1, 9, 5)
    assert codes(op) == ["IRI017"]


def test_a_single_pad(tmp_path: Path, equals_openvino: Callable[..., None]) -> None:
    net = Net(10)
    x, sizes = net.parameter((1, 1, 4, 6)), net.const((9, 5))
    data = 'axes="2,3" mode="nearest" align_corners="0" pads_begin="1" pads_end="0"'
    net.interpolate(1, data, x, sizes, shape=(1, 1, 4, 6), out=(1, 1, 9, 5))
    path = net.write(tmp_path / "net.xml")
    runtime, document = single(path), single(path, semantics="document")
    assert (codes(runtime), codes(document)) == (["IRI003", "IRI017"], ["IRI003"])
    assert runtime.spec.pads == (Pad(axis=0, begin=1, end=0),)
    assert document.spec.pads == (Pad(axis=2, begin=1, end=0), Pad(axis=3, begin=1, end=0))
    assert runtime.diagnostics[0].message.startswith("A single pad means dimension 0 in OpenVINO")
    assert document.run(image((1, 1, 4, 6))).shape == (1, 1, 9, 5)


@pytest.mark.parametrize("pads", ['pads_begin="0" pads_end="0"', 'pads_begin="" pads_end=""', ""])
def test_a_single_pad_of_zero_is_nothing(pads: str, tmp_path: Path) -> None:
    op = paste(tmp_path, layer(f'axes="2,3" mode="nearest" {pads}', out=(1, 1, 8, 12)))
    assert (op.spec.pads, codes(op)) == ((), ["IRI017"])


def test_a_coefficient_that_the_runtime_ignores(tmp_path: Path, child: Child) -> None:
    text = layer('mode="bicubic_pillow" cube_coeff="-0.75"', version="opset11", out=(1, 1, 2, 9))
    runtime, document = paste(tmp_path, text), paste(tmp_path, text, semantics="document")
    assert codes(runtime) == codes(document) == ["IRI004"]
    assert str(runtime.diagnostics[0]) == (
        "IRI004 OpenVINO's CPU plugin computes bicubic_pillow with -0.5, whatever the value of cube_coeff. "
        "cubic coefficient: -0.5 (runtime), -0.75 (document)"
    )
    x = image((1, 1, 4, 6))
    wanted = answer(child.call(_run_ir, 11, {"mode": "bicubic_pillow", "cube_coeff": -0.75}, (2, 3), (2, 9), x))
    np.testing.assert_allclose(runtime.run(x), wanted, rtol=0, atol=2e-5)
    assert not np.allclose(document.run(x), wanted, rtol=0, atol=1e-3)


@pytest.mark.parametrize("semantics", ["runtime", "document"])
def test_area(semantics: str, tmp_path: Path) -> None:
    text = layer('axes="2,3" mode="area" align_corners="0"', out=(1, 1, 2, 3))
    op = paste(tmp_path, text, semantics=semantics)
    assert (op.spec.kernel, codes(op)) == (Area(), ["IRI005"])
    assert str(op.diagnostics[0]) == (
        "IRI005 No runtime executes mode area; it is read as exact pixel coverage, like TensorFlow's ResizeArea."
    )
    x = image((1, 1, 4, 6))
    np.testing.assert_allclose(op.run(x), x.reshape(1, 1, 2, 2, 3, 2).mean((3, 5)), atol=1e-6)


def test_a_reading_that_needs_the_rank_does_not_hinder_one_that_does_not(tmp_path: Path) -> None:
    """By the page antialias holds in every rank; only OpenVINO decides by the rank."""
    text = '<layer type="Interpolate" version="opset4"><data mode="linear" antialias="1"/></layer>'
    op = paste(tmp_path, text, semantics="document")
    assert op.run(np.ones((1, 1, 4, 6), np.float32), sizes=(1, 1, 2, 3)).shape == (1, 1, 2, 3)


# Real files


def real(name: str) -> Path:
    path = REAL_IRS / name
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    return path


def test_a_real_net_of_2021(child: Child) -> None:
    found = ir_interp.load(real("road-segmentation-adas-0001.xml"))
    assert [(op.name, op.shape, op.spec.target) for op in found] == [
        ("L0288_Upsample", (1, 16, 32, 56), Sizes((64, 112))),
        ("L0295_Upsample", (1, 16, 16, 28), Sizes((64, 112))),
        ("L0301_Upsample", (1, 24, 64, 112), Sizes((128, 224))),
        ("L0307_Upsample", (1, 16, 128, 224), Sizes((256, 448))),
        ("L0316_Upsample", (1, 4, 256, 448), Sizes((512, 896))),
    ]
    for op in found:
        assert (op.version, op.dtype, op.diagnostics) == (1, "float32", ())
        assert (op.spec.kernel, op.spec.coordinates) == (Linear(), Coordinates.ALIGN_CORNERS)
    assert found[0].where == 'road-segmentation-adas-0001.xml:layer[679 "L0288_Upsample"]'
    x = image((1, 16, 16, 28))
    wanted = answer(child.call(_run_ir, 1, {"mode": "linear", "align_corners": 1}, (2, 3), (64, 112), x))
    np.testing.assert_allclose(found[1].run(x), wanted, rtol=0, atol=2e-5)


@pytest.mark.parametrize(
    "name", ["single-image-super-resolution-1033-fp32.xml", "text-image-super-resolution-0001-int8.xml"]
)
def test_real_nets_without_interpolate(name: str) -> None:
    assert ir_interp.load(real(name)) == []
