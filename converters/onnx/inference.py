"""Results of ONNX's shape inference for a model, without its weights."""

from __future__ import annotations

from contextlib import suppress

import onnx
import onnx.inliner
import onnx.shape_inference

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
