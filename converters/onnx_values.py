"""Compute what the constants and static shapes of an ONNX graph decide: sizes, scales, axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import external_data_helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ir_interp.errors import ReadError
from ir_interp.meaning import PartialShape

Array = NDArray[Any]
_MAX_ELEMENTS = 4096
_MAX_DEPTH = 64
_FOLDED = {
    "Add",
    "Cast",
    "Ceil",
    "Concat",
    "Div",
    "Floor",
    "Gather",
    "Identity",
    "Max",
    "Min",
    "Mul",
    "Range",
    "ReduceProd",
    "Reshape",
    "Round",
    "Shape",
    "Size",
    "Slice",
    "Split",
    "Squeeze",
    "Sub",
    "Unsqueeze",
}


@dataclass(slots=True)
class Values:
    """The values known in a graph; those of ``outer`` graphs are visible inside."""

    graph: onnx.GraphProto
    opset: int
    folder: str
    shapes: Mapping[str, PartialShape]
    outer: Values | None = None
    _producers: dict[str, onnx.NodeProto] = field(default_factory=dict)
    _tensors: dict[str, onnx.TensorProto] = field(default_factory=dict)
    _known: dict[str, Array | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._producers = {name: node for node in self.graph.node for name in node.output if name}
        self._tensors = {tensor.name: tensor for tensor in self.graph.initializer}

    def value(self, name: str, depth: int = 0) -> Array | None:
        """Return the value of a tensor; None where it is known only at run time.

        Raises ReadError for a tensor whose data cannot be read, also where they lie outside the model's folder.
        """
        if name not in self._known:
            self._known[name] = self._value(name, depth)
        return self._known[name]

    def _value(self, name: str, depth: int) -> Array | None:
        if name in self._tensors:
            return self._tensor(self._tensors[name])
        if name not in self._producers:
            return self.outer.value(name, depth) if self.outer else None
        node = self._producers[name]
        if node.op_type == "Constant":
            return self._constant(node)
        if node.op_type not in _FOLDED or node.domain not in ("", "ai.onnx") or depth > _MAX_DEPTH:
            return None
        if node.op_type in ("Shape", "Size") and None not in (shape := self.shapes.get(node.input[0], (None,))):
            inputs: dict[str, Array] = {node.input[0]: np.broadcast_to(np.float32(0), [int(n or 0) for n in shape])}
        else:
            found = {each: self.value(each, depth + 1) for each in node.input if each}
            inputs = {each: value for each, value in found.items() if value is not None}
            if len(inputs) < len(found):
                return None
        return self._evaluate(node, inputs).get(name)

    def _evaluate(self, node: onnx.NodeProto, inputs: dict[str, Array]) -> dict[str, Array]:
        outputs = [name for name in node.output if name]
        graph = onnx.helper.make_graph(
            [node],
            "folded",
            [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in inputs],
            [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", self.opset)])
        try:
            results = ReferenceEvaluator(model).run(None, inputs)
        except Exception:  # the evaluator raises whatever it meets; a value that it cannot compute stays unknown
            return {}
        return {name: np.asarray(result) for name, result in zip(outputs, results, strict=True)}

    def _constant(self, node: onnx.NodeProto) -> Array | None:
        for attribute in node.attribute:
            if attribute.name == "value":
                return self._tensor(attribute.t)
            if attribute.name in ("value_int", "value_ints", "value_float", "value_floats"):
                dtype = np.int64 if "int" in attribute.name else np.float32
                return np.asarray(onnx.helper.get_attribute_value(attribute), dtype)
        return None

    def _tensor(self, tensor: onnx.TensorProto) -> Array | None:
        if np.prod(tensor.dims) > _MAX_ELEMENTS:
            return None
        try:
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                tensor = onnx.TensorProto.FromString(tensor.SerializeToString())
                external_data_helper.load_external_data_for_tensor(tensor, self.folder)
            return numpy_helper.to_array(tensor)
        except (ValueError, OSError, TypeError, onnx.checker.ValidationError) as error:
            raise ReadError(f"the values of tensor {tensor.name!r} cannot be read: {error}") from error
