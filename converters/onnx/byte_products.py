"""Products of 8-bit integers in ONNX models: those whose sums may saturate, and models in which none does.

On some processors, onnxruntime adds two products of an unsigned and a signed factor in 16 bits, see
``runtimes.byte_products``. Products of two unsigned factors never saturate. So the signed factor becomes unsigned: 128
is added to it and to its zero point, which changes no product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ir_interp.shapes import Array

from .onnx_files import defined, graphs
from .onnx_graph import attributes_of
from .static_values import values_of

_SIGN = 0x80


@dataclass(frozen=True, slots=True, kw_only=True)
class _Factor:
    """The places of a factor among the inputs of a node, of its scale, and of its zero point; -1 for none."""

    tensor: int
    scale: int = -1
    zero: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Factors:
    """The factors of an operator in the order of onnxruntime's kernels; ``result`` is the place of the output's scale.

    Only an unsigned ``first`` and a signed ``second`` factor saturate. Without a ``first``, the operator itself
    rounds that to unsigned integers.
    """

    first: _Factor | None
    second: _Factor
    result: int = -1


_LINEAR = _Factors(first=_Factor(tensor=0, scale=1, zero=2), second=_Factor(tensor=3, scale=4, zero=5), result=6)
_OPERATORS: Mapping[str, tuple[_Factors, ...]] = MappingProxyType(
    {
        "QLinearConv": (_LINEAR,),
        "QLinearMatMul": (_LINEAR,),
        "QGemm": (_Factors(first=_LINEAR.first, second=_LINEAR.second, result=7),),
        "MatMulInteger": (_Factors(first=_Factor(tensor=0, zero=2), second=_Factor(tensor=1, zero=3)),),
        "MatMulIntegerToFloat": (
            _Factors(first=_Factor(tensor=0, scale=2, zero=4), second=_Factor(tensor=1, scale=3, zero=5)),
        ),
        # The kernel multiplies the weights by the image, not the image by the weights.
        "ConvInteger": (_Factors(first=_Factor(tensor=1, zero=3), second=_Factor(tensor=0, zero=2)),),
        "DynamicQuantizeMatMul": (_Factors(first=None, second=_Factor(tensor=1, scale=2, zero=3)),),
        "DynamicQuantizeLSTM": tuple(
            _Factors(first=None, second=_Factor(tensor=tensor, scale=scale, zero=scale + 1))
            for tensor, scale in ((1, 8), (2, 10))
        ),
        "QAttention": (_Factors(first=_Factor(tensor=0, scale=3, zero=6), second=_Factor(tensor=1, scale=4, zero=7)),),
    }
)
"""Operators on integers. An LSTM has the scales of its weights at 8 and 10, and their zero points at 9 and 11."""

_FUSED = ("Conv", "MatMul", "Gemm")
"""Operators that onnxruntime computes in integers between DequantizeLinear and QuantizeLinear."""

_MOVES = ("DepthToSpace", "Expand", "Flatten", "Reshape", "SpaceToDepth", "Squeeze", "Tile", "Transpose", "Unsqueeze")
_PARTS = ("Concat", "Gather", "Identity", "Pad", "Resize", "Slice", "Split")
_KEEP_TYPE = frozenset((*_MOVES, *_PARTS, "Clip", "Max", "MaxPool", "Min", "Relu"))
_STEPS_TO_LEVELS = frozenset(("Add", "Clip", "Flatten", "LeakyRelu", "Relu", "Reshape", "Transpose"))
"""Operators between a product and the QuantizeLinear of its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """An unsigned by signed product: the tensor that it makes, and its constant signed weights by output channel.

    ``weights`` has a row a channel, and is None if they are computed at run time. ``levels`` is the number of levels
    of the result that 1 in an integer sum is worth, one for each channel or for all; None if it is not rounded to
    levels.
    """

    name: str
    weights: NDArray[np.int8] | None
    levels: NDArray[np.float64] | None


def products(model: onnx.ModelProto, folder: str) -> Iterator[Product]:
    """Yield the products of unsigned by signed factors; ``folder`` holds external weights."""
    for known in _all_known(model, folder):
        for node in known.graph.node:
            yield from (_product(known, node, pair) for pair in _pairs(known, node))


def count_products(model: onnx.ModelProto) -> int:
    """Return the number of products of 8-bit integers, whatever their signs."""
    nodes = [node for graph in graphs(model.graph) for node in graph.node]
    dequantised = {name for node in nodes if node.op_type == "DequantizeLinear" for name in node.output}
    fused = (node for node in nodes if node.op_type in _FUSED and dequantised.issuperset(node.input[:2]))
    return sum(node.op_type in _OPERATORS for node in nodes) + sum(1 for _ in fused)


def make_factors_unsigned(model: onnx.ModelProto, folder: str) -> int:
    """Make the signed factor of each product of mixed signs unsigned, in place; return the number of products.

    Signed weights that nothing reads any more go.
    """
    count = 0
    replaced = set[str]()
    for known in reversed(_all_known(model, folder)):  # inner ones first: replacing nodes copies their subgraphs
        writer, nodes = _Writer(known), list[onnx.NodeProto]()
        for node in known.graph.node:
            for pair in _pairs(known, node):
                nodes += writer.rewritten(node, pair)
                count += 1
            nodes.append(node)
        if writer.stored:
            del known.graph.node[:]
            known.graph.node.extend(nodes)
            known.graph.initializer.extend(writer.stored)
            replaced |= writer.replaced
    _drop_unread(model.graph, replaced)
    return count


def _drop_unread(graph: onnx.GraphProto, names: set[str]) -> None:
    """Remove the constants of these names, and the nodes that make them, unless something reads them."""
    nested = list(graphs(graph))
    read = {name for inner in nested for node in inner.node for name in node.input}
    read |= {value.name for inner in nested for value in inner.output}
    unread, more = names - read, set[str]()
    for inner in reversed(nested):
        nodes = [node for node in inner.node if not unread.intersection(node.output)]
        more |= {name for node in inner.node if unread.intersection(node.output) for name in node.input}
        tensors = [tensor for tensor in inner.initializer if tensor.name not in unread]
        if len(nodes) < len(inner.node):
            del inner.node[:]
            inner.node.extend(nodes)
        if len(tensors) < len(inner.initializer):
            _keep(inner, tensors)
    if more:
        _drop_unread(graph, more)  # the integers behind a DequantizeLinear


def _keep(graph: onnx.GraphProto, tensors: list[TensorProto]) -> None:
    copies = [TensorProto.FromString(tensor.SerializeToString()) for tensor in tensors]
    del graph.initializer[:]
    graph.initializer.extend(copies)


# Constants, makers and element types


def _all_known(model: onnx.ModelProto, folder: str) -> list[_Known]:
    """Return what is known of each graph, the main one first; inner graphs see the tensors of outer ones."""
    known: dict[int, _Known] = {}

    def visit(graph: onnx.GraphProto, outer: _Known | None) -> None:
        known[id(graph)] = here = _Known(graph=graph, folder=folder, outer=outer)
        for node in graph.node:
            for attribute in node.attribute:
                for inner in (attribute.g, *attribute.graphs):
                    if inner.node:
                        visit(inner, here)

    visit(model.graph, None)
    return list(known.values())


@dataclass(slots=True, kw_only=True)
class _Known:
    """Constants, makers and element types of a graph's tensors; those of ``outer`` are visible inside."""

    graph: onnx.GraphProto
    folder: str
    outer: _Known | None
    _constants: dict[str, TensorProto] = field(default_factory=dict)
    _makers: dict[str, onnx.NodeProto] = field(default_factory=dict)
    _types: dict[str, int] = field(default_factory=dict)
    _readers: dict[str, list[onnx.NodeProto]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._constants = {tensor.name: tensor for tensor in self.graph.initializer}
        for node in self.graph.node:
            self._makers |= dict.fromkeys(node.output, node)
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self._constants[node.output[0]] = node.attribute[0].t
            for name in node.input:
                self._readers.setdefault(name, []).append(node)
        described = (*self.graph.value_info, *self.graph.input, *self.graph.output)
        self._types = {value.name: value.type.tensor_type.elem_type for value in described}

    def stored(self, name: str) -> TensorProto | None:
        """Return a constant as the file holds it."""
        if name in self._constants or self.outer is None:
            return self._constants.get(name)
        return self.outer.stored(name)

    def value(self, name: str) -> Array | None:
        """Return the value of a constant. Raises ReadError if it cannot be read."""
        tensor = self.stored(name) if name else None
        return None if tensor is None else values_of(tensor, self.folder)

    def maker(self, name: str) -> onnx.NodeProto | None:
        """Return the node that makes a tensor."""
        if name in self._makers or self.outer is None:
            return self._makers.get(name)
        return self.outer.maker(name)

    def readers(self, name: str) -> list[onnx.NodeProto]:
        """Return the nodes of this graph that read a tensor."""
        return self._readers.get(name, [])

    def element(self, name: str) -> int:
        """Return the element type of a tensor of integers as ONNX numbers it; 0 if unknown."""
        tensor, node = self.stored(name), self.maker(name)
        if tensor is not None:
            return tensor.data_type
        if self._types.get(name):
            return self._types[name]
        if node is None:
            return self.outer.element(name) if self.outer else 0
        if node.op_type == "Cast":
            return int(attributes_of(node)["to"])
        if node.op_type == "DynamicQuantizeLinear":
            return int(TensorProto.UINT8)
        if node.op_type == "QuantizeLinear":
            stated = int(attributes_of(node).get("output_dtype", 0)) or int(TensorProto.UINT8)
            return self.element(node.input[2]) if len(node.input) > 2 and node.input[2] else stated
        if node.op_type.startswith("QLinear"):
            zero = {"QLinearConv": 7, "QLinearMatMul": 7, "QLinearConcat": 1}.get(node.op_type, len(node.input) - 1)
            return self.element(node.input[zero])
        return self.element(node.input[0]) if node.op_type in _KEEP_TYPE and node.input else 0


# Pairs of factors


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operand:
    """A factor by its tensors, empty for those that it lacks."""

    tensor: str
    scale: str
    zero: str

    @classmethod
    def of(cls, node: onnx.NodeProto, factor: _Factor) -> _Operand:
        return cls(tensor=_at(node, factor.tensor), scale=_at(node, factor.scale), zero=_at(node, factor.zero))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """An unsigned and a signed factor. ``places`` are those of the second in its node; None behind DequantizeLinear."""

    first: _Operand | None
    second: _Operand
    result: Array | None
    places: _Factor | None


_DEQUANTIZED = _Factor(tensor=0, scale=1, zero=2)


def _at(node: onnx.NodeProto, place: int) -> str:
    return node.input[place] if 0 <= place < len(node.input) else ""


def _pairs(known: _Known, node: onnx.NodeProto) -> Iterator[_Pair]:
    """Yield the pairs of mixed signs that a node multiplies and adds up."""
    if node.op_type in _FUSED:
        first, second = (_dequantised(known, name) for name in node.input[:2])
        if first is not None and second is not None:
            result = _scale_of_levels(known, node.output[0])
            pairs = [_Pair(first=first, second=second, result=result, places=None)]
        else:
            pairs = []
    else:
        pairs = [
            _Pair(
                first=_Operand.of(node, factors.first) if factors.first else None,
                second=_Operand.of(node, factors.second),
                result=known.value(_at(node, factors.result)),
                places=factors.second,
            )
            for factors in _OPERATORS.get(node.op_type, ())
        ]
    for pair in pairs:
        is_unsigned = pair.first is None or _element(known, pair.first) == TensorProto.UINT8
        is_mixed = is_unsigned and _element(known, pair.second) == TensorProto.INT8
        if is_mixed and not _is_depthwise(known, node, pair.second):
            yield pair


def _element(known: _Known, operand: _Operand) -> int:
    """Return the element type of a factor: its zero point has it as well."""
    return (known.element(operand.zero) if operand.zero else 0) or known.element(operand.tensor)


def _dequantised(known: _Known, name: str) -> _Operand | None:
    maker = known.maker(name)
    return _Operand.of(maker, _DEQUANTIZED) if maker is not None and maker.op_type == "DequantizeLinear" else None


def _is_depthwise(known: _Known, node: onnx.NodeProto, weights: _Operand) -> bool:
    """Return whether a convolution has a group a channel: its kernel widens each factor first."""
    groups = int(attributes_of(node).get("group", 1))
    tensor = known.stored(weights.tensor)
    # onnxruntime computes ConvInteger of any groups by matrix products.
    return node.op_type != "ConvInteger" and tensor is not None and groups > 1 and [*tensor.dims[:2]] == [groups, 1]


def _product(known: _Known, node: onnx.NodeProto, pair: _Pair) -> Product:
    weights, scale = known.value(pair.second.tensor), known.value(pair.second.scale)
    of_first = known.value(pair.first.scale) if pair.first else None
    levels = None
    if of_first is not None and scale is not None and pair.result is not None:
        levels = np.asarray(of_first * scale.astype(np.float64) / pair.result).ravel()
    rows = None if weights is None else _rows(node, weights)
    return Product(name=node.output[0], weights=rows, levels=levels)


def _rows(node: onnx.NodeProto, weights: Array) -> NDArray[np.int8]:
    """Return weights with a row for each channel of the result."""
    if node.op_type in ("Conv", "QLinearConv") or attributes_of(node).get("transB"):
        return weights.reshape(weights.shape[0], -1)
    return np.swapaxes(weights, -1, -2).reshape(-1, weights.shape[-2]) if weights.ndim > 1 else weights.reshape(1, -1)


def _scale_of_levels(known: _Known, name: str) -> Array | None:
    """Return the scale by which a result is rounded to levels; None if it is not, or by several."""
    readers = known.readers(name)
    if len(readers) != 1:
        return None
    (reader,) = readers
    if reader.op_type == "QuantizeLinear":
        return known.value(reader.input[1])
    return _scale_of_levels(known, reader.output[0]) if reader.op_type in _STEPS_TO_LEVELS else None


# Unsigned factors


@dataclass(slots=True)
class _Writer:
    """Writes unsigned factors into a graph; ``stored`` are their constants, ``replaced`` the signed tensors."""

    known: _Known
    stored: list[TensorProto] = field(default_factory=list)
    replaced: set[str] = field(default_factory=set)
    _unsigned: dict[tuple[str, ...], str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._taken = {name for graph in graphs(self.known.graph) for name in defined(graph)}

    def rewritten(self, node: onnx.NodeProto, pair: _Pair) -> list[onnx.NodeProto]:
        """Let a node read an unsigned second factor; return the nodes that it needs before."""
        if pair.places is None:
            return self._dequantised(node, pair.second)
        tensor, nodes = self._flipped(pair.second.tensor)
        zero, more = self._zero(pair.second)
        node.input.extend([""] * (pair.places.zero + 1 - len(node.input)))
        node.input[pair.places.tensor], node.input[pair.places.zero] = tensor, zero
        return nodes + more

    def _dequantised(self, node: onnx.NodeProto, operand: _Operand) -> list[onnx.NodeProto]:
        """Let a node read another DequantizeLinear, of unsigned integers."""
        name, nodes = node.input[1], list[onnx.NodeProto]()
        self.replaced.add(name)
        key = ("float", name)
        if key not in self._unsigned:
            tensor, nodes = self._flipped(operand.tensor)
            zero, more = self._zero(operand)
            copy, maker = onnx.NodeProto(), self.known.maker(name)
            assert maker is not None
            copy.CopyFrom(maker)
            copy.input[:] = [tensor, operand.scale, zero]
            copy.name = copy.output[0] = self._unsigned[key] = self._fresh(name)
            nodes = [*nodes, *more, copy]
        node.input[1] = self._unsigned[key]
        return nodes

    def _flipped(self, name: str) -> tuple[str, list[onnx.NodeProto]]:
        """Return a tensor plus 128 as unsigned bytes, and the nodes that compute it."""
        if (name,) in self._unsigned:
            return self._unsigned[name,], []
        value, flipped = self.known.value(name), self._fresh(name)
        self._unsigned[name,] = flipped
        if value is not None:
            self.replaced.add(name)
            self._store(flipped, value.view(np.uint8) ^ _SIGN)
            return flipped, []
        wide, sums = self._fresh(name), self._fresh(name)
        offset = self._store(self._fresh(name), np.asarray(_SIGN, np.int32))
        return flipped, [
            helper.make_node("Cast", [name], [wide], name=wide, to=TensorProto.INT32),
            helper.make_node("Add", [wide, offset], [sums], name=sums),
            helper.make_node("Cast", [sums], [flipped], name=flipped, to=TensorProto.UINT8),
        ]

    def _zero(self, operand: _Operand) -> tuple[str, list[onnx.NodeProto]]:
        """Return the zero point plus 128, and the nodes that compute it; one that is left out is 0."""
        if operand.zero:
            return self._flipped(operand.zero)
        key = ("zero", operand.tensor)
        if key not in self._unsigned:
            scale = self.known.stored(operand.scale) if operand.scale else None
            shape = list(scale.dims) if scale is not None else []
            self._unsigned[key] = self._store(self._fresh(operand.tensor), np.full(shape, _SIGN, np.uint8))
        return self._unsigned[key], []

    def _store(self, name: str, value: Array) -> str:
        self.stored.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def _fresh(self, name: str) -> str:
        proposal, number = f"{name}/unsigned", 0
        while proposal in self._taken:
            number += 1
            proposal = f"{name}/unsigned_{number}"
        self._taken.add(proposal)
        return proposal
