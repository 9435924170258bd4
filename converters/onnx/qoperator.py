"""Models of quantised operators (QLinearConv and the like), and the same in plain operators between quantisations.

OpenVINO's frontend reads plain operators correctly, but not all of the others. A tensor of integers keeps its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ir_interp.errors import UnsupportedLayerError
from ir_interp.files.kinds import FileKind

from .graph import attributes_of
from .half_models import saved
from .node_walk import defined, graphs
from .onnx_files import default_opset, inlined, load_weights, read_model
from .values import values_of

_ALONG_AXES = 13  # since this operator set a tensor may have a scale for each entry of an axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """The operator that a quantised one computes.

    ``tensors`` are its integer tensor inputs, each with a scale and a zero point behind it. ``result`` is the place of
    those of the output; ``dropped`` are attributes that the plain one lacks, with the only value that may be dropped.
    """

    op: str
    tensors: Sequence[int] = (0,)
    result: int = 3
    dropped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


_IMAGES = MappingProxyType({"channels_last": 0})  # Conv and the pools of ONNX have channels first only
_PLAIN = {
    "QLinearConv": Plain(op="Conv", tensors=(0, 3), result=6, dropped=_IMAGES),
    "QLinearMatMul": Plain(op="MatMul", tensors=(0, 3), result=6),
    "QGemm": Plain(op="Gemm", tensors=(0, 3), result=7),
    "QLinearAdd": Plain(op="Add", tensors=(0, 3), result=6),
    "QLinearMul": Plain(op="Mul", tensors=(0, 3), result=6),
    "QLinearSigmoid": Plain(op="Sigmoid"),
    "QLinearLeakyRelu": Plain(op="LeakyRelu"),
    "QLinearSoftmax": Plain(op="Softmax", dropped=MappingProxyType({"opset": -1})),
    "QLinearAveragePool": Plain(op="AveragePool", dropped=_IMAGES),
    "QLinearGlobalAveragePool": Plain(op="GlobalAveragePool", dropped=_IMAGES),
    "QLinearReduceMean": Plain(op="ReduceMean"),
    "QLinearConcat": Plain(op="Concat", result=0),
    "QLinearWhere": Plain(op="Where", tensors=(1, 4), result=7),
}
OPERATORS = frozenset(_PLAIN)
"""The types of nodes that compute with integers and scales."""

_BIASES = {"QLinearConv": 8, "QGemm": 6}
"""The place of the bias, integers in units of the product of both scales."""


def quantised_operators(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    """Return the nodes of a model that compute with integers and scales."""
    return [node for graph in graphs(model.graph) for node in graph.node if node.op_type in _PLAIN]


def has_quantised_operators(path: Path) -> bool:
    """Return whether a model is one of quantised operators."""
    return FileKind.of(path) is FileKind.ONNX and bool(quantised_operators(read_model(path)))


def in_plain_operators(path: Path, folder: Path) -> Path:
    """Write a model into ``folder`` that computes with plain operators what this one does with quantised ones.

    Raises UnsupportedLayerError, with the operator's name, for a form without a plain equivalent.
    """
    model = inlined(onnx.load(str(path), load_external_data=False), path.name)
    load_weights(model, path)
    opset = default_opset(model, path.name)
    for graph in reversed(list(graphs(model.graph))):  # inner ones first: replacing copies a node with its subgraphs
        writer = _Writer(graph, opset, path.name)
        nodes = [plain for node in graph.node for plain in writer.written(node)]
        del graph.node[:]
        graph.node.extend(nodes)
        graph.initializer.extend(writer.held)
    return saved(model, folder / f"plain-{path.stem}.onnx")


class _Writer:
    """Writes the nodes of one graph."""

    def __init__(self, graph: onnx.GraphProto, opset: int, where: str) -> None:
        self.opset, self.where = opset, where
        self.held: list[onnx.TensorProto] = []
        self._taken = {name for nested in graphs(graph) for name in defined(nested)}
        self._known = {weight.name: weight for weight in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self._known[node.output[0]] = node.attribute[0].t
        self._floats: dict[tuple[str, ...], str] = {}

    def written(self, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
        """Yield the replacement of a node: itself if it is not a quantised operator."""
        plain = _PLAIN.get(node.op_type)
        if plain is None:
            if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
                node.domain = ""  # those of com.microsoft are the same
            yield node
            return
        attributes = attributes_of(node)
        for name, allowed in plain.dropped.items():
            value = attributes.pop(name, allowed)
            if allowed not in (value, -1):
                raise self._refusal(node, f"its {name} is {value}")
        operand = 2 if node.op_type == "QLinearConcat" else 0
        places = range(operand, len(node.input), 3) if operand else plain.tensors
        inputs = [] if operand else list(node.input[: plain.tensors[0]])
        for number, place in enumerate(places):
            axis = {"QLinearConv": 0, "QLinearMatMul": -1}.get(node.op_type, 0) if number else 0
            name, nodes = self._float(node, tuple(node.input[place : place + 3]), axis)
            inputs.append(name)
            yield from nodes
        bias = _BIASES.get(node.op_type, len(node.input))
        if bias < len(node.input) and node.input[bias]:
            inputs.append(self._bias(node, bias))
        ends = [*node.input[plain.result : plain.result + 2], "", ""]
        (output,) = node.output
        result = self._fresh(f"{output}/float") if ends[0] else output  # QGemm may leave its result as it is
        yield helper.make_node(plain.op, inputs, [result], name=node.name, **attributes)
        if ends[0]:
            scale, zero = self._of_one(node, ends[0]), self._of_one(node, ends[1]) if ends[1] else ""
            quantised = [result, scale, *filter(None, [zero])]
            yield helper.make_node("QuantizeLinear", quantised, [output], name=self._fresh(f"{node.name}/quantized"))

    def _float(self, node: onnx.NodeProto, tensor: tuple[str, ...], axis: int) -> tuple[str, list[onnx.NodeProto]]:
        """Return a tensor of integers as numbers, and the node that converts it unless there is one already."""
        if tensor in self._floats:
            return self._floats[tensor], []
        scale = self._value(node, tensor[1])
        name = self._floats[tensor] = self._fresh(f"{tensor[0]}/float")
        if scale.size == 1:
            ends = [tensor[0], *(self._of_one(node, parameter) for parameter in tensor[1:] if parameter)]
            return name, [helper.make_node("DequantizeLinear", ends, [name], name=name)]
        if self.opset < _ALONG_AXES:
            raise self._refusal(node, f"operator set {self.opset} has no scales along an axis")
        ends = [name for name in tensor if name]
        return name, [helper.make_node("DequantizeLinear", ends, [name], name=name, axis=axis)]

    def _bias(self, node: onnx.NodeProto, place: int) -> str:
        """Return a bias as numbers: its unit is the product of both scales."""
        scale = self._value(node, node.input[1]) * self._value(node, node.input[4])
        values = self._value(node, node.input[place]).astype(np.int64) * scale.astype(np.float64)
        return self._hold(f"{node.input[place]}/float", values.astype(np.float32))

    def _of_one(self, node: onnx.NodeProto, name: str) -> str:
        """Return the scale or zero point of a whole tensor as a scalar."""
        value = self._value(node, name)
        if value.size != 1:
            raise self._refusal(node, f"it has {value.size} scales where one is expected")
        return name if not value.ndim else self._hold(f"{name}/scalar", value.reshape(()))

    def _value(self, node: onnx.NodeProto, name: str) -> np.ndarray:
        if name not in self._known:
            raise self._refusal(node, f"{name!r} is not a constant")
        return values_of(self._known[name])

    def _hold(self, name: str, value: np.ndarray) -> str:
        self.held.append(numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), self._fresh(name)))
        return self.held[-1].name

    def _fresh(self, proposal: str) -> str:
        name, number = proposal, 1
        while name in self._taken:
            name, number = f"{proposal}_{number}", number + 1
        self._taken.add(name)
        return name

    def _refusal(self, node: onnx.NodeProto, problem: str) -> UnsupportedLayerError:
        return UnsupportedLayerError(f"{node.op_type} has no plain form: {problem}", f"{self.where}:{node.name!r}")
