"""Models whose resizes take other operations for large tensors, run as if their tensors were large.

``decompose.any_size`` compares the number of elements with a limit. In a model that is run here, this constant becomes
an input, so one compilation shows both operations on the same small tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtimes.openvino_sizes import LARGEST_GATHER

_COMPARISONS = ("LessEqual", "Less")
_AS_WRITTEN = np.array(LARGEST_GATHER.dynamic, np.float32)
_LOWERED = np.array(0, np.float32)  # so every tensor is large


class LimitInput:
    """The limit of an OpenVINO model as its last input; ``is_known`` unless no resize compares with it."""

    def __init__(self, model: Any) -> None:
        from openvino import opset13

        readers = [reader for node in model.get_ops() for reader in _readers(node)]
        self.is_known = bool(readers)
        if readers:
            limit = opset13.parameter([], np.float32)
            for reader in readers:
                reader.replace_source_output(limit.output(0))
            model.add_parameters([limit])

    def value(self, *, lowered: bool) -> list[NDArray[np.float32]]:
        """Return the inputs to add: the limit of the file, or one that every tensor exceeds."""
        return [_LOWERED if lowered else _AS_WRITTEN] if self.is_known else []


def _readers(node: Any) -> list[Any]:
    """Return the comparisons that read a node, if it is the constant of a limit."""
    is_number = node.get_type_name() == "Constant" and node.get_element_type().to_string() == "f32"
    if not is_number or node.data.size != 1 or node.data.item() != _AS_WRITTEN:
        return []
    readers = node.output(0).get_target_inputs()
    return [reader for reader in readers if reader.get_node().get_type_name() in _COMPARISONS]
