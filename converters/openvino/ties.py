"""Ties, decided as ONNX decides them: which of equal values comes first, and what overlaps by just the threshold.

OpenVINO's frontend leaves both to OpenVINO. What a detector returns hangs on them: scores of 1 are many.
"""

from __future__ import annotations

import numpy as np
import openvino as ov
import openvino.opset13 as ops

from .bodies import nodes_of

_OVERLAP = 3  # the input of NonMaxSuppression that is its threshold


def settle(model: ov.Model) -> frozenset[str]:
    """Change a model that the frontend made, in place; return the names of nodes whose constants have to stay exact."""
    exact = set()
    for node in list(nodes_of(model)):
        match node.get_type_name():
            case "TopK":
                _take_first(node)
            case "NonMaxSuppression":
                _keep_at_threshold(node)
                exact.add(node.get_friendly_name())
    return frozenset(exact)


def _take_first(node: ov.Node) -> None:
    """Choose the lower index of equal values (ONNX TopK-11). Where ONNX says no order, any will do."""
    if node.get_attributes()["sort"] == "none":  # OpenVINO decides no ties then
        node.set_attribute("sort", "value")
    node.set_attribute("stable", True)


def _keep_at_threshold(node: ov.Node) -> None:
    """Leave out what overlaps by more than a threshold (ONNX NonMaxSuppression-11); OpenVINO does from it on.

    A threshold of run time stays as it is: no addition makes the next number of all.
    """
    constant = node.input_value(_OVERLAP).get_node()
    if constant.get_type_name() != "Constant":
        return
    threshold = np.asarray(constant.data, np.float32)
    least = np.finfo(np.float32).smallest_normal  # what lies between 0 and that, the plugin takes for 0
    above = np.maximum(np.nextafter(threshold, np.float32(np.inf)), least)
    node.input(_OVERLAP).replace_source_output(ops.constant(above).output(0))
