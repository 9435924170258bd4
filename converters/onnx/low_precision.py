"""ONNX models of few bits: half precision, quantised operators, compressed matrices.

A model in half precision is written in float32 for comparisons. Quantised operators (QLinearConv and the like) become
plain operators between quantisations: OpenVINO's frontend reads these correctly, but not all of the others, and a
tensor of integers keeps its name. onnxruntime multiplies matrices of 4 or 8 bits by numbers that it rounds to 8 bits.
Names mark tensors of levels whose scales of channels other nodes absorbed: verification looks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ir_interp.errors import ReadError, UnsupportedLayerError
from ir_interp.files.kinds import FileKind

from .onnx_files import (
    default_opset,
    defined,
    graphs,
    inlined,
    load_weights,
    read_file,
    read_model,
    read_outline,
    rename_read,
)
from .onnx_graph import attributes_of
from .static_values import values_of


def levels_name(tensor: str) -> str:
    """Return the name of the integers that, times scales of channels, equal a tensor."""
    return f"{tensor}/levels"


def counted_name(tensor: str) -> str:
    """Return the name of the integers that count the levels of a tensor from the lowest, which is 0."""
    return f"{tensor}/counted"


IN_FLOAT32 = ("session.qdq_matmulnbits_accuracy_level", "1")
"""The session option of onnxruntime, and its value, under which it rounds nothing."""

_PRODUCTS = ("Gemm", "MatMul")


def compression_notes(path: Path) -> tuple[str, ...]:
    """Return a note if a model has such matrices: by default it computes something else than in the verification."""
    count = sum(map(_count, graphs(read_outline(path).graph)))
    if not count:
        return ()
    name, value = IN_FLOAT32
    default = "by default onnxruntime rounds to 8 bits what they multiply"
    return (f"compressed matrices: {count}; {default}; set {name} to {value} for float32, as in the verification",)


def _count(graph: onnx.GraphProto) -> int:
    """Return the number of products with a dequantised constant; those with two dequantised factors are of integers."""
    constants = {tensor.name for tensor in graph.initializer}
    dequantised = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "DequantizeLinear"}
    factors = (node.input[:2] for node in graph.node if node.op_type in _PRODUCTS)
    return sum(dequantised.get(second) in constants and first not in dequantised for first, second in factors)


HALVES = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
_TYPES = ("to", "dtype", "output_dtype", "stash_type", "softmax_precision")  # attributes that name an element type


def is_half(path: Path) -> bool:
    """Return whether an ONNX model computes anything in half precision."""
    if FileKind.of(path) is not FileKind.ONNX:
        return False
    model = read_model(path)
    inputs = (tensor for graph in graphs(model.graph) for tensor in graph.input)
    return any(tensor.type.tensor_type.elem_type in HALVES for tensor in inputs) or any(
        tensor.data_type in HALVES for tensor, _ in tensors_of(model.graph)
    )


def in_float32(path: Path, folder: Path, *, keeps_ends: bool = False) -> Path:
    """Write a model into ``folder`` that computes in float32 what this one does in half precision; return its path.

    Its inputs and outputs become float32, too; with ``keeps_ends`` they keep their types.
    """
    model = load_weights(inlined(read_file(path), path.name), path)
    for tensor, _ in list(tensors_of(model.graph)):
        if tensor.data_type in HALVES:
            try:
                replace_values(tensor, lambda array: array.astype(np.float32))
            except ReadError as error:
                raise error.under(path.name) from None
    for graph in graphs(model.graph):
        # They state the half-precision types; inference finds the new ones.
        del graph.value_info[:]
        for value in (*graph.input, *graph.output):
            is_end = keeps_ends and graph is model.graph
            if value.type.tensor_type.elem_type in HALVES and not is_end:
                value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name in _TYPES and attribute.i in HALVES:
                    attribute.i = onnx.TensorProto.FLOAT
    if keeps_ends:
        _cast_ends(model.graph)
    return saved(model, folder / f"float32-{path.stem}.onnx")


def _cast_ends(graph: onnx.GraphProto) -> None:
    """Let a graph compute in float32 between inputs and outputs in half precision."""
    outputs = {tensor.name: tensor.type.tensor_type.elem_type for tensor in graph.output}
    producers = {name: node for node in graph.node for name in node.output}
    first, last = [], []
    for tensor in graph.input:
        if tensor.type.tensor_type.elem_type in HALVES:
            precise = f"{tensor.name}/float32"
            rename_read(graph, tensor.name, precise)
            first.append(helper.make_node("Cast", [tensor.name], [precise], name=precise, to=onnx.TensorProto.FLOAT))
    for name, element in outputs.items():
        if element in HALVES and name in producers:
            precise = f"{name}/float32"
            rename_read(graph, name, precise)
            producers[name].output[:] = [precise if result == name else result for result in producers[name].output]
            last.append(helper.make_node("Cast", [precise], [name], name=precise, to=element))
    for value, name in zip(graph.output, outputs, strict=True):
        value.name = name
    nodes = [*first, *graph.node, *last]
    del graph.node[:]
    graph.node.extend(nodes)


def saved(model: onnx.ModelProto, path: Path) -> Path:
    """Write a model, beside its weights if it is large; return its path."""
    # Protobuf holds less than 2 GiB.
    onnx.save(model, str(path), save_as_external_data=model.ByteSize() > 2**30)
    return path


def replace_values(tensor: onnx.TensorProto, change: Callable[[Any], Any]) -> None:
    """Change the values of a tensor."""
    name = tensor.name
    tensor.CopyFrom(numpy_helper.from_array(np.asarray(change(values_of(tensor)), order="C"), name))


def tensors_of(graph: onnx.GraphProto) -> Iterator[tuple[onnx.TensorProto, str]]:
    """Yield every tensor that a graph holds, with the name that nodes refer to."""
    for nested in graphs(graph):
        yield from ((tensor, tensor.name) for tensor in nested.initializer)
        for node in nested.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t, node.output[0] if node.output else ""


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
    model = load_weights(inlined(read_file(path), path.name), path)
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

    def dequantise_matrices(self, node: onnx.NodeProto) -> None:
        """Turn a DynamicQuantizeLSTM into an LSTM, whose matrices are transposed."""
        inputs = list(node.input)
        for place, scales in _MATRICES.items():
            scale, zero = (self._value(node, name) for name in inputs[scales : scales + 2])
            # A number for each direction, or for each direction and row of the LSTM.
            along = [part.reshape(part.shape[0], 1, -1) for part in (scale, zero)]
            integers = self._value(node, inputs[place]).astype(np.float32)
            matrix = (integers - along[1].astype(np.float32)) * along[0]
            inputs[place] = self._hold(f"{inputs[place]}/float", matrix.transpose(0, 2, 1))
        node.op_type, node.domain = "LSTM", ""
        node.input[:] = inputs[:_LSTM_INPUTS]

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


# Recurrent layers that onnxruntime quantises at run time: in each step, it rounds the input and the state to 8 bits.
#
# OpenVINO reads such a layer as the LSTM of its weights, and rounds neither. The ranges of the states of all steps are
# inside onnxruntime's kernel, so no other graph computes the same.

_RECURRENT = "DynamicQuantizeLSTM"
_LSTM_INPUTS = 8  # those of LSTM; then the scale and the zero point of both matrices
_MATRICES = {1: 8, 2: 10}
"""The place of the scale of each matrix of weights; that of its zero point follows."""


def rounded_states(path: Path) -> list[str]:
    """Return the outputs of the recurrent layers of a model that round their inputs and states at run time."""
    if FileKind.of(path) is not FileKind.ONNX:
        return []
    layers = (node for graph in graphs(read_outline(path).graph) for node in graph.node if node.op_type == _RECURRENT)
    return [next(filter(None, layer.output)) for layer in layers]


def with_exact_states(path: Path, folder: Path) -> Path:
    """Write a model into ``folder`` whose recurrent layers have the same weights and round nothing at run time.

    Raises UnsupportedLayerError for weights that are computed at run time.
    """
    model = load_weights(inlined(read_file(path), path.name), path)
    for graph in graphs(model.graph):
        writer = _Writer(graph, default_opset(model, path.name), path.name)
        for node in graph.node:
            if node.op_type == _RECURRENT:
                writer.dequantise_matrices(node)
        graph.initializer.extend(writer.held)
    used = {name for graph in graphs(model.graph) for node in graph.node for name in node.input}
    for graph in graphs(model.graph):
        kept = [tensor for tensor in graph.initializer if tensor.name in used]
        del graph.initializer[:]
        graph.initializer.extend(kept)
    return saved(model, folder / f"exact-states-{path.stem}.onnx")
