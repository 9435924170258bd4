"""Values that the constants and static shapes of an ONNX graph determine: sizes, scales, axes.

Then the results of ONNX's shape inference for a model, without its weights.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnx.checker
import onnx.inliner
import onnx.shape_inference
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from ir_interp.errors import ReadError
from ir_interp.shapes import Array, PartialShape, static_shape

_MAX_ELEMENTS = 4096  # sizes, scales and axes are shorter; larger constants are weights
_MAX_DEPTH = 64  # of folded nodes behind each other; a cycle in a malformed graph has no end
_FOLDED = {
    "Add",
    "Cast",
    "Ceil",
    "Concat",
    "DequantizeLinear",
    "Div",
    "Floor",
    "Gather",
    "Identity",
    "Max",
    "Min",
    "Mul",
    "QuantizeLinear",
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
_EVALUATED_FROM = {"DequantizeLinear": 19}
"""The first operator sets that ONNX's evaluator has of an operator; before, it meant the same."""


@dataclass(slots=True)
class Values:
    """The known values of a graph's tensors; those of ``outer`` graphs are visible inside.

    ``inferred`` is the same graph as ONNX's shape inference completed it; ``folder`` holds external data. ``holder`` is
    the node of the outer graph that holds this one.
    """

    graph: onnx.GraphProto
    inferred: onnx.GraphProto
    opset: int
    folder: str
    outer: Values | None = None
    holder: onnx.NodeProto | None = None
    _types: dict[str, onnx.TypeProto.Tensor] = field(default_factory=dict)
    _producers: dict[str, onnx.NodeProto] = field(default_factory=dict)
    _readers: dict[str, list[onnx.NodeProto]] = field(default_factory=dict)
    _tensors: dict[str, onnx.TensorProto] = field(default_factory=dict)
    _known: dict[str, Array | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._producers = {name: node for node in self.graph.node for name in node.output if name}
        self._tensors = {tensor.name: tensor for tensor in self.graph.initializer}
        described = (*self.inferred.input, *self.inferred.value_info, *self.inferred.output)
        self._types = {name: _type_of(tensor) for name, tensor in self._tensors.items()}
        self._types |= {tensor.name: tensor.type.tensor_type for tensor in described}

    @property
    def depth(self) -> int:
        """The nesting depth of this graph."""
        return self.outer.depth + 1 if self.outer else 0

    def inside(self, graph: onnx.GraphProto, inferred: onnx.GraphProto, holder: onnx.NodeProto) -> Values:
        """Return the values of a subgraph of a node."""
        return Values(graph=graph, inferred=inferred, opset=self.opset, folder=self.folder, outer=self, holder=holder)

    def is_stored(self, name: str) -> bool:
        """Return whether a tensor is an initialiser."""
        return name in self._tensors or (self.outer is not None and self.outer.is_stored(name))

    def shape(self, name: str) -> PartialShape | None:
        """Return the shape of a tensor, None where dynamic; None for a dynamic rank."""
        tensor_type = self._type(name)
        if tensor_type is None or not tensor_type.HasField("shape"):
            return None
        sizes = (dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor_type.shape.dim)
        return tuple(size if size >= 0 else None for size in sizes)

    def dtype(self, name: str) -> str | None:
        """Return the element type of a tensor as a NumPy name; None if unknown."""
        tensor_type = self._type(name)
        if tensor_type is None or not tensor_type.elem_type:
            return None
        if tensor_type.elem_type == onnx.TensorProto.STRING:
            return "str"
        try:
            return str(onnx.helper.tensor_dtype_to_np_dtype(tensor_type.elem_type).name)
        except KeyError:
            raise ReadError(f"tensor {name!r} has an unknown element type, {tensor_type.elem_type}") from None

    def _type(self, name: str) -> onnx.TypeProto.Tensor | None:
        if name in self._types or self.outer is None:
            return self._types.get(name)
        return self.outer._type(name)

    def producer(self, name: str) -> onnx.NodeProto | None:
        """Return the node that produces a tensor; None for inputs and initialisers."""
        if name in self._producers or self.outer is None:
            return self._producers.get(name)
        return self.outer.producer(name)

    def readers(self, name: str) -> list[onnx.NodeProto]:
        """Return the nodes of this graph that read a tensor."""
        if not self._readers:
            for node in self.graph.node:
                for tensor in node.input:
                    self._readers.setdefault(tensor, []).append(node)
        return self._readers.get(name, [])

    def value(self, name: str, depth: int = 0) -> Array | None:
        """Return the value of a tensor; None if it is known only at run time.

        Raises ReadError for a tensor whose data cannot be read, also if they lie outside the model's folder.
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
        if node.op_type in ("Shape", "Size") and node.input:
            shape = static_shape(self.shape(node.input[0]))
            if shape is not None:
                return _measured(node, shape)
        known = {name: self.value(name, depth + 1) for name in node.input if name}
        inputs = {name: value for name, value in known.items() if value is not None}
        if len(inputs) < len(known) or (node.op_type == "Range" and not _is_short(list(inputs.values()))):
            return None
        value = self._evaluate(node, inputs).get(name)
        return None if value is None or value.size > _MAX_ELEMENTS else value

    def _evaluate(self, node: onnx.NodeProto, inputs: dict[str, Array]) -> dict[str, Array]:
        outputs = [name for name in node.output if name]
        graph = onnx.helper.make_graph(
            [node],
            "folded",
            [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in inputs],
            [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
        )
        opset = max(self.opset, _EVALUATED_FROM.get(node.op_type, 0))
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
        try:
            results = ReferenceEvaluator(model).run(None, inputs)
        except Exception:  # the evaluator raises various errors; a value that it cannot compute stays unknown
            return {}
        return {name: np.asarray(result) for name, result in zip(outputs, results, strict=True)}

    def _constant(self, node: onnx.NodeProto) -> Array | None:
        for attribute in node.attribute:
            if attribute.name == "value":
                return self._tensor(attribute.t)
            if attribute.name in ("value_int", "value_ints", "value_float", "value_floats"):
                dtype = np.int64 if "int" in attribute.name else np.float32
                try:
                    return np.asarray(onnx.helper.get_attribute_value(attribute), dtype)
                except (ValueError, TypeError) as error:
                    raise ReadError(f"the constant {node.output[0]!r} cannot be read: {error}") from error
        return None

    def _tensor(self, tensor: onnx.TensorProto) -> Array | None:
        if min(tensor.dims, default=0) < 0:
            raise ReadError(f"tensor {tensor.name!r} has a negative dimension, {list(tensor.dims)}")
        if math.prod(tensor.dims) > _MAX_ELEMENTS:
            return None
        return values_of(tensor, self.folder)


def _type_of(tensor: onnx.TensorProto) -> onnx.TypeProto.Tensor:
    shape = onnx.TensorShapeProto(dim=[onnx.TensorShapeProto.Dimension(dim_value=size) for size in tensor.dims])
    return onnx.TypeProto.Tensor(elem_type=tensor.data_type, shape=shape)


def _measured(node: onnx.NodeProto, shape: tuple[int, ...]) -> Array:
    """Return the output of Shape or Size for a tensor of this shape."""
    if node.op_type == "Size":
        # A malformed file may declare more elements than int64 counts.
        return np.asarray(min(math.prod(shape), 2**63 - 1), np.int64)
    ends = {attribute.name: attribute.i for attribute in node.attribute}
    return np.array(shape[ends.get("start") : ends.get("end")], np.int64)


def _is_short(ends: list[Array]) -> bool:
    """Return whether a Range of these start, limit and step is within the computed length."""
    if len(ends) != 3 or any(end.size != 1 for end in ends):
        return True  # which the evaluator refuses
    start, limit, step = (end.item() for end in ends)
    return bool(abs(limit - start) <= abs(step) * _MAX_ELEMENTS)


def values_of(tensor: onnx.TensorProto, folder: str = "") -> Array:
    """Return the values of a tensor; ``folder`` holds its external data. Raises ReadError if they are missing."""
    try:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:  # loading writes the data into the tensor itself
            tensor = onnx.TensorProto.FromString(tensor.SerializeToString())
        return numpy_helper.to_array(tensor, base_dir=folder)
    except (ValueError, LookupError, OSError, TypeError, onnx.checker.ValidationError) as error:
        raise ReadError(f"the values of tensor {tensor.name!r} cannot be read: {error}") from error


_MOST_ENTRIES = 2**20  # of a vector whose values are propagated: shapes have at most some dozens


_LARGE = 1024  # initialisers beyond this many elements hold weights, not sizes


def infer(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model without its weights, completed by ONNX's shape inference."""
    light = without_weights(model)
    described = (*light.graph.input, *light.graph.output, *light.graph.value_info)
    # Data propagation lists the entries of every vector; one of 2**31 entries would exhaust memory.
    carries_data = not any(_is_long_vector(tensor.type.tensor_type) for tensor in described)
    # A model that inference refuses may still be readable: its own declarations are kept.
    with suppress(onnx.shape_inference.InferenceError, onnx.checker.ValidationError, ValueError, RuntimeError):
        return onnx.shape_inference.infer_shapes(light, data_prop=carries_data)
    return light


def _is_long_vector(kind: onnx.TypeProto.Tensor) -> bool:
    """Return whether data propagation would list every entry, although sizes are never that many."""
    return len(kind.shape.dim) == 1 and kind.shape.dim[0].dim_value > _MOST_ENTRIES


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy whose large initialisers are declared as inputs: shape inference copies its argument."""
    light = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    graph = light.graph
    graph.name = model.graph.name
    for part in ("node", "input", "output", "value_info"):
        getattr(graph, part).extend(getattr(model.graph, part))
    declared = {tensor.name for tensor in graph.input}
    for tensor in model.graph.initializer:
        if _elements(tensor) <= _LARGE and tensor.data_location != onnx.TensorProto.EXTERNAL:
            graph.initializer.append(tensor)
        elif tensor.name not in declared:
            is_long = len(tensor.dims) == 1 and tensor.dims[0] > _MOST_ENTRIES
            shape = [None] if is_long else tensor.dims
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, shape))
    return light


def _elements(tensor: onnx.TensorProto) -> int:
    count = 1
    for size in tensor.dims:
        count *= size
    return count
