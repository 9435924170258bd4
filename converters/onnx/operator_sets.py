"""Whether a node of ONNX means the same in another operator set, unchanged."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import defs, helper

_Schema = defs.OpSchema

_OTHER_MEANING = {
    "Attention": 24,  # which keys a causal mask leaves
    "DequantizeLinear": 13,  # scales for each entry of an axis
    "GridSample": 20,  # the names of its modes
    "GroupNormalization": 21,  # a scale for each channel, not for each group
    "Hardmax": 13,  # along one axis, not along all from it on
    "LogSoftmax": 13,
    "QuantizeLinear": 13,
    "RoiAlign": 16,  # shifted by half a pixel unless specified otherwise
    "Softmax": 13,
}
"""Operators whose attributes changed their meaning in a version (operator sets 7 to 24)."""
_LATER_VALUES = {
    ("Pad", "mode", "wrap"): 19,
    ("ScatterElements", "reduction", "max"): 18,
    ("ScatterElements", "reduction", "min"): 18,
    ("ScatterND", "reduction", "max"): 18,
    ("ScatterND", "reduction", "min"): 18,
}
"""Values that an attribute has only since a version."""


def problem(node: onnx.NodeProto, old: int, new: int) -> str:
    """Return why a node of operator set ``old`` does not mean the same in ``new``; empty if it does.

    It does if its operator takes, in both, the node's inputs and attributes, and every absent attribute has the same
    default in both, or was added with one, which stands for the earlier behaviour.
    Element types are not part of this: they are checked where types are inferred.
    """
    mine, other = (_schema(node.op_type, version) for version in (old, new))
    if other is None:
        return f"operator set {new} has no {node.op_type}"
    if later := _later_value(node, other.since_version):
        return later
    if mine is None or mine.since_version == other.since_version:
        return ""
    name = f"{node.op_type}-{other.since_version}"
    oldest, newest = sorted((mine, other), key=lambda schema: schema.since_version)
    if oldest.since_version < _OTHER_MEANING.get(node.op_type, 0) <= newest.since_version and not _is_of_last(
        node, old, new
    ):
        return f"{name} interprets the same attributes differently"
    return _of_attributes(node, name, oldest, newest, other) or _of_inputs(node, name, mine, other)


def lacks_type(node: onnx.NodeProto, dtype: str | None, new: int) -> bool:
    """Return whether the operator of a node does not take its first input's element type in operator set ``new``."""
    schema = _schema(node.op_type, new)
    if schema is None or dtype is None or not schema.inputs:
        return False
    element = onnx.TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))).lower()
    return f"tensor({element})" not in schema.inputs[0].types


def without_defaults(node: onnx.NodeProto, old: int, new: int) -> onnx.NodeProto:
    """Return a node of operator set ``old`` without the attributes that ``new`` lacks and that equal their default."""
    mine, other = (_schema(node.op_type, version) for version in (old, new))
    shortened = onnx.NodeProto()
    shortened.CopyFrom(node)
    if mine is not None and other is not None:
        lacking = [attribute for attribute in node.attribute if attribute.name not in other.attributes]
        for default in [attribute for attribute in lacking if _is_default(attribute, mine)]:
            shortened.attribute.remove(default)
    return shortened


def _schema(op: str, version: int) -> _Schema | None:
    try:
        schema = defs.get_schema(op, version, "")
    except defs.SchemaError:
        return None
    return None if schema.deprecated else schema


def _is_of_last(node: onnx.NodeProto, old: int, new: int) -> bool:
    """Return whether a softmax is taken along the last axis, which "along all axes from it on" equals."""
    axes = [attribute.i for attribute in node.attribute if attribute.name == "axis"]
    # Negative axes are part of the operator since set 11.
    return node.op_type.endswith("max") and axes == [-1] and min(old, new) >= 11


def _is_default(attribute: onnx.AttributeProto, schema: _Schema) -> bool:
    if attribute.name == "dilations":  # its schema states the default in words
        return set(attribute.ints) <= {1}
    return bool(helper.get_attribute_value(attribute) == _default(schema, attribute.name))


def _later_value(node: onnx.NodeProto, version: int) -> str:
    for attribute in node.attribute:
        since = _LATER_VALUES.get((node.op_type, attribute.name, attribute.s.decode(errors="replace")), 0)
        if since > version:
            return f"{node.op_type}-{version} has no {attribute.name} {attribute.s.decode()}"
    return ""


def _of_inputs(node: onnx.NodeProto, name: str, current: _Schema, schema: _Schema) -> str:
    pairs = [(mine.name, other.name) for mine, other in zip(current.inputs, schema.inputs, strict=False)]
    renamed = any(not mine.endswith(other) and not other.endswith(mine) for mine, other in pairs[: len(node.input)])
    if renamed or not schema.min_input <= len(node.input) <= schema.max_input:  # a mean became an input_mean
        return f"{name} takes other inputs"
    if len(node.output) > schema.max_output:
        return f"{name} has fewer outputs"
    named = zip(schema.inputs, node.input, strict=False)
    missing = [
        parameter.name
        for parameter, name in named
        if parameter.option is _Schema.FormalParameterOption.Single and not name
    ]
    return f"{name} needs the input {missing[0]}" if missing else ""


def _of_attributes(node: onnx.NodeProto, name: str, oldest: _Schema, newest: _Schema, schema: _Schema) -> str:
    stated = {attribute.name for attribute in node.attribute}
    for attribute_name in sorted(stated - schema.attributes.keys()):
        return f"{name} has no {attribute_name}"
    for attribute_name, attribute in schema.attributes.items():
        if attribute.required and attribute_name not in stated:
            return f"{name} needs the attribute {attribute_name}"
    for attribute_name in oldest.attributes.keys() - stated:
        before, after = (_default(version, attribute_name) for version in (oldest, newest))
        if before is not None and before != after:
            return f"{name} has another default for {attribute_name}"
    return ""


def _default(schema: _Schema, attribute_name: str) -> object:
    attribute = schema.attributes.get(attribute_name)
    if attribute is None or not attribute.default_value.name:
        return None
    return helper.get_attribute_value(attribute.default_value)
