"""Sizes that a program computes in numbers of Python, in float64 as Python does: torch's exporter writes float32."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FX_NODE = "pkg.torch.onnx.fx_node"
"""The metadata of a node in an exported model that has its node of the program, as text."""
_OF_NUMBERS = re.compile(r"call_function\[target=(?!torch\.ops\.)[\w.]+\]\(args = \((?P<arguments>.*)\), kwargs")
_NUMBER = re.compile(r"(?<![\w%.])-?\d+(\.\d+)?(e[+-]?\d+)?(?![\w.])")
_IN_ITS_TYPE = (
    "Abs",
    "Add",
    "Ceil",
    "Div",
    "Floor",
    "Identity",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "Pow",
    "Round",
    "Sqrt",
    "Sub",
)
"""Operators that onnxruntime computes in float64, too."""


def sizes_in_float64(path: Path) -> None:
    """Compute the numbers of Python in a model that torch exported in float64; change the file."""
    model = onnx.load(path, load_external_data=False)
    numbers = _Numbers(model.graph)
    if numbers.rewrite():
        onnx.save(model, path)


@dataclass(slots=True)
class _Numbers:
    """The float32 nodes of a graph that stand for numbers of Python, and the graph's new nodes."""

    graph: onnx.GraphProto
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    casts: dict[tuple[str, int], str] = field(default_factory=dict)

    def rewrite(self) -> bool:
        """Give these nodes float64. Return whether there are any."""
        values = [*self.graph.value_info, *self.graph.output]
        singles = {value.name for value in values if value.type.tensor_type.elem_type == TensorProto.FLOAT}
        ends = {value.name for value in self.graph.output}
        region = {
            node.output[0]: literals
            for node in self.graph.node
            for literals in _literals(node)
            if node.output[0] in singles - ends and (_is_to_single(node) or node.op_type in _IN_ITS_TYPE)
        }
        constants = {tensor.name: tensor for tensor in self.graph.initializer}
        for node in list(self.graph.node):
            is_number = node.output[0] in region
            for place, name in enumerate(node.input):
                if is_number and name in constants:
                    node.input[place] = self._constant(constants[name], region[node.output[0]])
                elif is_number and name in singles and name not in region:
                    node.input[place] = self._cast(name, TensorProto.DOUBLE)
                elif not is_number and name in region and node.op_type != "Cast":
                    node.input[place] = self._cast(name, TensorProto.FLOAT)
            for attribute in node.attribute:
                if is_number and node.op_type == "Cast" and attribute.name == "to":
                    attribute.i = TensorProto.DOUBLE
            self.nodes.append(node)
        copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in self.nodes]
        declared = [value for value in self.graph.value_info if value.name not in region]
        del self.graph.node[:], self.graph.value_info[:]
        self.graph.node.extend(copies)
        self.graph.value_info.extend(declared)
        return bool(region)

    def _cast(self, name: str, element: int) -> str:
        """Return a tensor in another element type."""
        key = name, element
        if key not in self.casts:
            self.casts[key] = f"{name}/{TensorProto.DataType.Name(element).lower()}"
            made = self.casts[key]
            self.nodes.append(helper.make_node("Cast", [name], [made], name=made, to=element))
        return self.casts[key]

    def _constant(self, constant: onnx.TensorProto, literals: list[float]) -> str:
        """Return a constant in float64: the number of the program that it is in float32."""
        if constant.data_type != TensorProto.FLOAT:
            return constant.name
        singles = numpy_helper.to_array(constant).ravel().tolist()
        exact = [next((n for n in literals if np.float32(n) == np.float32(single)), single) for single in singles]
        made = f"{constant.name}/{','.join(map(repr, exact))}"
        if all(tensor.name != made for tensor in self.graph.initializer):
            self.graph.initializer.append(helper.make_tensor(made, TensorProto.DOUBLE, constant.dims, exact))
        return made


def _literals(node: onnx.NodeProto) -> Iterator[list[float]]:
    """Yield the numbers in the arguments of a node that computes numbers of Python; nothing for other nodes."""
    text = next((entry.value for entry in node.metadata_props if entry.key == FX_NODE), "")
    call = _OF_NUMBERS.search(text)
    if call:
        yield [float(number.group()) for number in _NUMBER.finditer(call["arguments"])]


def _is_to_single(node: onnx.NodeProto) -> bool:
    return node.op_type == "Cast" and any(attribute.i == TensorProto.FLOAT for attribute in node.attribute)
