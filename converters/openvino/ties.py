"""Ties, decided as ONNX decides them: the order of equal values, and overlaps of exactly the threshold.

OpenVINO's frontend leaves both to OpenVINO. The results of a detector depend on them: scores of 1 are frequent.
"""

from __future__ import annotations

import numpy as np
import openvino as ov
import openvino.opset13 as ops

from .node_names import nodes_of

_OVERLAP = 3  # the input of NonMaxSuppression that is its threshold
_TO_NEXT = np.float32(2**-24 * (1 + 2**-23))  # of 1, half a last place and a bit: the sum rounds up, never to even
_LEAST = np.finfo(np.float32).smallest_normal  # the plugin takes values between 0 and this for 0


def settle(model: ov.Model) -> list[ov.Node]:
    """Change a model from the frontend in place; return the nodes whose constants must stay exact."""
    exact: list[ov.Node] = []
    for node in list(nodes_of(model)):
        match node.get_type_name():
            case "TopK":
                # ONNX TopK-11 takes the lower index of equal values; without an order in the source, any is valid.
                if node.get_attributes()["sort"] == "none":  # then OpenVINO has no ties to decide
                    node.set_attribute("sort", "value")
                node.set_attribute("stable", True)
            case "NonMaxSuppression":
                exact += _keep_at_threshold(node)
    return exact


def _keep_at_threshold(node: ov.Node) -> list[ov.Node]:
    """Suppress overlaps above a threshold (ONNX NonMaxSuppression-11); OpenVINO suppresses from the threshold on.

    So it gets the next float32 number. That is a sum, whatever the threshold: a share of it that is a bit more than
    half the distance to the next number, and never more than all of it. Returns the nodes whose constants must stay
    exact for that.
    """
    threshold = node.input_value(_OVERLAP)
    share = ops.multiply(threshold, ops.constant(_TO_NEXT))
    above = ops.maximum(ops.add(threshold, share), ops.constant(_LEAST))
    node.input(_OVERLAP).replace_source_output(above.output(0))
    return [node, share, above]
