"""Surroundings of a node as files have them: functions, bodies, Transposes, quantisations, computed inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ir_interp import Crop, ResizeOp
from tests.support.runtimes import Array

_WITH_FUNCTIONS, _WITH_ROI, _WITH_BODIES, _WITH_QUANTISATION = 10, 11, 13, 13  # operator sets
_STEP, _ZERO = np.float32(0.03125), 5  # a power of 2, so that levels are exact floats
_EDGE = 0.25  # of windows beyond the image
_KNOWN = 0.4  # of windows that are constants


def _same(x: Array) -> Array:
    return x


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The nodes around a node: they turn the model's input into the node's, and its output into the model's.

    ``x`` makes an input of the model of random pixels, ``known`` adds what the node takes at run time.
    """

    name: str = ""
    x: Callable[[Array], Array] = _same
    before: Callable[[Array], Array] = _same
    behind: Callable[[Array], Array] = _same
    known: Callable[[ResizeOp], ResizeOp] = lambda op: op


ALONE = Surroundings()


def surround(rng: np.random.Generator, model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put other nodes around the only node of a model, of a random kind that fits it."""
    for kind in rng.permutation(list(KINDS)):
        least, change = KINDS[str(kind)]
        around = change(rng, model, x) if model.opset_import[0].version >= least else ALONE
        if around is not ALONE:
            return around
    return ALONE


def _resize(model: onnx.ModelProto) -> onnx.NodeProto:
    nodes: list[onnx.NodeProto] = [node for node in model.graph.node if node.op_type in ("Resize", "Upsample")]
    (node,) = nodes
    return node


def _constant(model: onnx.ModelProto, name: str, value: Array) -> None:
    model.graph.initializer.append(numpy_helper.from_array(value, name))


def _in_function(rng: np.random.Generator, model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put the node into a local function."""
    node, opset = _resize(model), model.opset_import[0].version
    inputs = [name for name in dict.fromkeys(node.input) if name]
    sets = [helper.make_opsetid("", opset)]
    model.functions.append(helper.make_function("own", "ResizedOnce", inputs, ["y"], [node], sets))
    call = helper.make_node("ResizedOnce", inputs, ["y"], domain="own")
    model.opset_import.append(helper.make_opsetid("own", 1))
    _put(model, [call])
    return Surroundings(name="function")


def _put(model: onnx.ModelProto, nodes: list[onnx.NodeProto]) -> None:
    """Replace the nodes of a model."""
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _in_if(rng: np.random.Generator, model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put the node into the branch of an If that is taken."""
    node = _resize(model)
    element, rank = model.graph.output[0].type.tensor_type.elem_type, x.ndim
    node.output[0] = "inside"
    then = helper.make_graph([node], "then", [], [helper.make_tensor_value_info("inside", element, [None] * rank)])
    other = helper.make_node("Identity", ["x"], ["copy"])
    end = helper.make_tensor_value_info("copy", element, [None] * rank)
    otherwise = helper.make_graph([other], "otherwise", [], [end])
    _constant(model, "is_taken", np.array(True))
    _put(model, [helper.make_node("If", ["is_taken"], ["y"], then_branch=then, else_branch=otherwise)])
    return Surroundings(name="if")


def _in_loop(rng: np.random.Generator, model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put the node into the body of a Loop that runs once, whose results are stacked."""
    node = _resize(model)
    element, rank = model.graph.output[0].type.tensor_type.elem_type, x.ndim
    node.output[0] = "inside"
    ends = [
        helper.make_tensor_value_info("number", onnx.TensorProto.INT64, []),
        helper.make_tensor_value_info("goes_on", onnx.TensorProto.BOOL, []),
    ]
    still = helper.make_node("Identity", ["goes_on"], ["still"])
    outputs = [
        helper.make_tensor_value_info("still", onnx.TensorProto.BOOL, []),
        helper.make_tensor_value_info("inside", element, [None] * rank),
    ]
    body = helper.make_graph([still, node], "body", ends, outputs)
    _constant(model, "once", np.array(1, np.int64))
    _constant(model, "is_run", np.array(True))
    _put(model, [helper.make_node("Loop", ["once", "is_run"], ["y"], body=body)])
    model.graph.output[0].type.tensor_type.shape.dim.add()
    return Surroundings(name="loop", behind=lambda y: y[None])


def _between_transposes(rng: np.random.Generator, model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put the node between a Transpose and its inverse; most permutations do not move the channels."""
    order = [int(axis) for axis in rng.permutation(x.ndim)]
    back = [int(axis) for axis in np.argsort(order)]
    node = _resize(model)
    node.input[0], node.output[0] = "turned", "resized"
    nodes = [
        helper.make_node("Transpose", ["x"], ["turned"], perm=order),
        node,
        helper.make_node("Transpose", ["resized"], ["y"], perm=back),
    ]
    _put(model, nodes)
    for dim, axis in zip(model.graph.input[0].type.tensor_type.shape.dim, back, strict=True):
        dim.dim_value = x.shape[axis]
    return Surroundings(
        name="transposes",
        x=lambda pixels: np.ascontiguousarray(pixels.transpose(back)),
        before=lambda pixels: pixels.transpose(order),
        behind=lambda y: y.transpose(back),
    )


def _between_quantisations(rng: np.random.Generator, model: onnx.ModelProto, x: Array) -> Surroundings:
    """Put a node of float32 behind a DequantizeLinear, and a copy also in front of a QuantizeLinear."""
    if x.dtype != np.float32:
        return ALONE
    dtype = np.dtype(str(rng.choice(["int8", "uint8"])))
    limits, node = np.iinfo(dtype), _resize(model)
    copies = any(a.name == "mode" and a.s == b"nearest" for a in node.attribute) or not node.attribute
    element = helper.np_dtype_to_tensor_dtype(dtype)
    _constant(model, "step", np.array(_STEP))
    _constant(model, "zero", np.array(_ZERO, dtype))
    node.input[0] = "floats"
    front = helper.make_node("DequantizeLinear", ["x", "step", "zero"], ["floats"])
    nodes = [front, node]
    model.graph.input[0].type.tensor_type.elem_type = element
    if copies:  # sums at a half are decided by their last bits
        node.output[0] = "resized"
        nodes.append(helper.make_node("QuantizeLinear", ["resized", "step", "zero"], ["y"]))
        model.graph.output[0].type.tensor_type.elem_type = element
    _put(model, nodes)

    def levels(pixels: Array) -> Array:
        return np.asarray(np.clip(np.rint(pixels / _STEP) + _ZERO, limits.min, limits.max).astype(dtype))

    return Surroundings(
        name="quantisations",
        x=levels,
        before=lambda quantised: (quantised.astype(np.float32) - np.float32(_ZERO)) * _STEP,
        behind=levels if copies else _same,
    )


def _with_computed_scales(rng: np.random.Generator, model: onnx.ModelProto, x: Array) -> Surroundings:
    """Let nodes compute constant scales of constants."""
    stored = [tensor for tensor in model.graph.initializer if tensor.name == "scales"]
    if not stored:
        return ALONE
    (scales,) = map(numpy_helper.to_array, stored)
    rest = [tensor for tensor in model.graph.initializer if tensor.name != "scales"]
    del model.graph.initializer[:]
    model.graph.initializer.extend(rest)
    how = str(rng.choice(["Concat", "Cast", "Mul"]))
    if how == "Concat":
        _constant(model, "head", scales[:1])
        _constant(model, "tail", scales[1:])
        node = helper.make_node("Concat", ["head", "tail"], ["scales"], axis=0)
    elif how == "Cast":
        _constant(model, "doubles", scales.astype(np.float64))
        node = helper.make_node("Cast", ["doubles"], ["scales"], to=onnx.TensorProto.FLOAT)
    else:
        _constant(model, "halves", scales / np.float32(2))
        _constant(model, "two", np.array([2], np.float32))
        node = helper.make_node("Mul", ["halves", "two"], ["scales"])
    _put(model, [node, _resize(model)])
    return Surroundings(name="computed scales")


def _with_windows(rng: np.random.Generator, model: onnx.ModelProto, x: Array) -> Surroundings:
    """Crop to windows: constants, or computed by a node, so that no reader knows the values."""
    node = _resize(model)
    names = {attribute.name: attribute for attribute in node.attribute}
    count = len(names["axes"].ints) if "axes" in names else x.ndim
    if "keep_aspect_ratio_policy" in names:
        return ALONE
    kept = [a for a in node.attribute if a.name != "coordinate_transformation_mode"]
    del node.attribute[:]
    node.attribute.extend(kept)
    crop = helper.make_attribute("coordinate_transformation_mode", "tf_crop_and_resize")
    node.attribute.append(crop)
    starts, ends = rng.uniform(-_EDGE, _EDGE, count), 1 + rng.uniform(-_EDGE, _EDGE, count)
    if "axes" not in names:
        starts[: x.ndim - 2], ends[: x.ndim - 2] = 0, 1
    roi = np.array([*starts, *ends], np.float32)
    inputs = list(node.input)
    inputs[1] = "roi"
    node.input[:] = inputs
    if rng.random() < _KNOWN:
        _constant(model, "roi", roi)
    else:
        _constant(model, "negative", -roi)
        _put(model, [helper.make_node("Neg", ["negative"], ["roi"]), node])

    def known(op: ResizeOp) -> ResizeOp:
        half = len(roi) // 2
        windows = tuple((float(a), float(b)) for a, b in zip(roi[:half], roi[half:], strict=True))
        coordinates = op.spec.coordinates
        if not isinstance(coordinates, Crop) or coordinates.roi is not None:
            return op  # a runtime takes other windows, or none
        return replace(op, spec=replace(op.spec, coordinates=replace(coordinates, roi=windows)))

    return Surroundings(name="windows", known=known)


KINDS: dict[str, tuple[int, Callable[[np.random.Generator, onnx.ModelProto, Array], Surroundings]]] = {
    "function": (_WITH_FUNCTIONS, _in_function),
    "if": (_WITH_BODIES, _in_if),
    "loop": (_WITH_BODIES, _in_loop),
    "transposes": (7, _between_transposes),
    "quantisations": (_WITH_QUANTISATION, _between_quantisations),
    "computed scales": (9, _with_computed_scales),
    "windows": (_WITH_ROI, _with_windows),
}
