"""The inputs and outputs of a model as its framework describes them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import openvino as ov
import openvino.opset13 as ops

from ir_interp.errors import UnsupportedLayerError

from ..sources.model_description import Description, End

_NO_NUMBERS = ("string", "resource", "variant")


def with_ends(model: ov.Model, description: Description, name: str, title: str) -> ov.Model:
    """Return a model with the inputs and outputs of a description, in its order and under its names.

    ``name`` is that of the source. Raises UnsupportedLayerError if the frontend, of this ``title``, drops one.
    """
    inputs = {name: node for node in model.get_parameters() for name in node.output(0).get_names()}
    # The tensor of a replaced operation has no names, if it is an output.
    results = {node.get_friendly_name(): node for node in model.get_results()}
    results |= {name: node for node in model.get_results() for name in node.output(0).get_names()}
    for known, ends in ((inputs, description.inputs), (results, description.outputs)):
        for end in (end for end in ends if end.tensor not in known):
            raise UnsupportedLayerError(f"OpenVINO's {title} frontend drops {end.name!r}, an input or output", name)
    check_numbers([(end.name, end.dtype) for end in (*description.inputs, *description.outputs)], name)
    names = {(inputs[end.tensor].get_name(), 0): end.name for end in description.inputs}
    whole = ov.Model(
        [_apart(results[end.tensor], end.name, names) for end in description.outputs],
        [inputs[end.tensor] for end in description.inputs],
        Path(name).stem or "model",
    )
    for port, end in zip([*whole.outputs, *whole.inputs], [*description.outputs, *description.inputs], strict=True):
        _rename(port, end)
    return whole


def check_numbers(ends: Iterable[tuple[str, str]], name: str) -> None:
    """Raise UnsupportedLayerError for an input or output of text, by the names and element types of all."""
    for end, dtype in ends:
        if dtype in _NO_NUMBERS:
            raise UnsupportedLayerError(f"{end!r}, an input or output, is of type {dtype}; expected numbers", name)


def _apart(result: ov.Node, name: str, names: dict[tuple[str, int], str]) -> ov.Node:
    """Return a result whose tensor has no other name, as that of an input or of an output that shares it has.

    ``names`` are those of tensors, by their nodes and ports; that of ``result`` is added.
    """
    source = result.input_value(0)
    if names.setdefault((source.get_node().get_name(), source.get_index()), name) == name:
        return result
    return ops.result(ops.convert(source, source.get_element_type().get_type_name()))


def _rename(port: ov.Output, end: End) -> None:
    port.get_tensor().set_names({end.name})
    port.get_node().set_friendly_name(end.name)
