"""The inputs and outputs of a model as its framework describes them."""

from __future__ import annotations

from pathlib import Path

import openvino as ov

from ir_interp.errors import UnsupportedLayerError

from ..sources.model_description import Description, End


def with_ends(model: ov.Model, description: Description, name: str, title: str) -> ov.Model:
    """Return a model with the inputs and outputs of a description, in its order and under its names.

    ``name`` is that of the source. Raises UnsupportedLayerError if the frontend, of this ``title``, drops one.
    """
    inputs = {name: node for node in model.get_parameters() for name in node.output(0).get_names()}
    # The tensor of a replaced operation has no names, if it is an output.
    results = {node.get_friendly_name(): node for node in model.get_results()}
    results |= {name: node for node in model.get_results() for name in node.output(0).get_names()}
    for end in (*description.inputs, *description.outputs):
        if end.tensor not in inputs and end.tensor not in results:
            raise UnsupportedLayerError(f"OpenVINO's {title} frontend drops {end.name!r}, an input or output", name)
    whole = ov.Model(
        [results[end.tensor] for end in description.outputs],
        [inputs[end.tensor] for end in description.inputs],
        Path(name).stem or "model",
    )
    for port, end in zip([*whole.outputs, *whole.inputs], [*description.outputs, *description.inputs], strict=True):
        _rename(port, end)
    return whole


def _rename(port: ov.Output, end: End) -> None:
    port.get_tensor().set_names({end.name})
    port.get_node().set_friendly_name(end.name)
