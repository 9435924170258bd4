"""Find every Resize and Upsample of an ONNX model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import onnx
import onnx.inliner
import onnx.shape_inference
from google.protobuf.message import DecodeError

from converters.onnx_resize import DIALECT
from converters.onnx_values import Values
from ir_interp.dialect import Context, Semantics
from ir_interp.errors import ReadError, SpecError, UnsupportedLayerError
from ir_interp.geometry import resolve_axes
from ir_interp.meaning import PartialShape
from ir_interp.op import ResizeOp, interpret

OPS = ("Resize", "Upsample")
_LARGE = 1024  # initialisers beyond this many elements hold weights, no sizes


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every Resize and Upsample of a model, those in subgraphs included, in the order of the file.

    Raises ReadError for a file that is no ONNX model or a node that contradicts itself, UnsupportedLayerError for
    operator versions that are not interpreted (Upsample-1).
    """
    model = read_model(path)
    opset = default_opset(model, path.name)
    shapes, dtypes = _inferred(model)
    values = Values(graph=model.graph, opset=opset, folder=str(path.parent), shapes=shapes)
    found = []
    for place, node, scope in _nodes(model.graph, f"{path.name}:", values):
        if node.op_type in OPS and node.domain in ("", "ai.onnx"):
            found.append(_read_node(node, place, scope, Context(version=opset, semantics=semantics), shapes, dtypes))
    return found


def read_model(path: Path) -> onnx.ModelProto:
    """Return a model without its external weights. Raises ReadError where the file is none."""
    try:
        model: onnx.ModelProto = onnx.load(str(path), load_external_data=False)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", str(path)) from error
    except DecodeError as error:
        raise ReadError(f"not an ONNX model, or cut off: {error}", path.name) from error
    if not model.opset_import or not model.graph.ByteSize():
        raise ReadError("not an ONNX model: it holds no graph or names no operator set", path.name)
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    return model


def default_opset(model: onnx.ModelProto, where: str) -> int:
    """Return the version of ONNX's own operator set that a model uses."""
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            return int(entry.version)
    raise ReadError("names no version of ONNX's own operator set", where)


def _nodes(graph: onnx.GraphProto, prefix: str, values: Values) -> Iterator[tuple[str, onnx.NodeProto, Values]]:
    """Yield every node with its place and the values that it sees, subgraphs included."""
    for index, node in enumerate(graph.node):
        place = f'{prefix}node[{index} "{node.name}"]'
        yield place, node, values
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs:
                scope = Values(inner, values.opset, values.folder, values.shapes, outer=values)
                yield from _nodes(inner, f"{place}/{attribute.name}/", scope)


def _read_node(
    node: onnx.NodeProto,
    where: str,
    values: Values,
    context: Context,
    shapes: Mapping[str, PartialShape],
    dtypes: Mapping[str, str],
) -> ResizeOp:
    version = dialect_version(node.op_type, context.version, where)
    shape = shapes.get(node.input[0])
    context = Context(version=version, shape=shape, semantics=context.semantics)
    try:
        attributes = raw_attributes(node) | _given(node, version, values)
        if attributes.get("sizes", ()) is None and "keep_aspect_ratio_policy" not in attributes:
            attributes["sizes"] = _inferred_sizes(attributes.get("axes"), shapes.get(node.output[0]))
    except ReadError as error:
        raise error.under(where) from None
    spec, diagnostics = interpret(DIALECT, attributes, context, where=where)
    if shape is not None:
        try:
            resolve_axes(spec.axes, len(shape))
        except SpecError as error:
            raise ReadError(str(error), f"{where}@axes") from None
    return ResizeOp(
        name=node.name or node.output[0],
        where=where,
        spec=spec,
        dialect=DIALECT.name,
        version=version,
        shape=shape,
        dtype=dtypes.get(node.input[0]),
        diagnostics=diagnostics,
    )


def dialect_version(op: str, opset: int, where: str) -> int:
    """Return the operator version in force at ``opset``: 7 or 9 for Upsample, 10 and up for Resize."""
    known = [version for version in DIALECT.versions if (version < 10) == (op == "Upsample") and version <= opset]
    if not known or (op == "Upsample" and opset > 9):
        raise UnsupportedLayerError(f"{op} of operator set {opset} is not interpreted", where)
    return max(known)


def given_names(version: int) -> tuple[str, ...]:
    """Return the names of the inputs after the data, in order."""
    return {7: (), 9: ("scales",), 10: ("scales",)}.get(version, ("roi", "scales", "sizes"))


def raw_attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """Return the attributes of a node as Python values: text, numbers, lists."""
    raw = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else _plain(value) for name, value in raw.items()}


def _plain(value: Any) -> Any:
    return list(value) if not isinstance(value, int | float | str) else value


def _given(node: onnx.NodeProto, version: int, values: Values) -> dict[str, Any]:
    """Return the inputs that are given: their values, None where known only at run time.

    An empty name and an empty constant both mean "not given" (Resize-11 has no other way to say it).
    """
    given: dict[str, Any] = {}
    for name, tensor in zip(given_names(version), node.input[1:], strict=False):
        if tensor:
            value = values.value(tensor)
            if value is None or value.size:
                given[name] = None if value is None else value.ravel().tolist()
    return given


def _inferred_sizes(axes: list[int] | None, output: PartialShape | None) -> tuple[int, ...] | None:
    """Return the lengths that shape inference found for the output; None unless it found them all."""
    if output is None:
        return None
    chosen = [output[axis] for axis in axes or range(len(output)) if -len(output) <= axis < len(output)]
    known = tuple(length for length in chosen if length is not None)
    return known if len(known) == len(chosen) else None


def _inferred(model: onnx.ModelProto) -> tuple[dict[str, PartialShape], dict[str, str]]:
    """Return shapes and element types by tensor name, as far as ONNX's shape inference finds them."""
    light = _without_weights(model)
    # A model that inference refuses may still be readable: what it declares itself is kept.
    with suppress(onnx.shape_inference.InferenceError, ValueError, RuntimeError):
        light = onnx.shape_inference.infer_shapes(light, data_prop=True)
    shapes: dict[str, PartialShape] = {}
    dtypes: dict[str, str] = {}
    for graph in _graphs(light.graph):
        for tensor in (*graph.input, *graph.value_info, *graph.output):
            held = tensor.type.tensor_type
            if held.elem_type:
                dtypes[tensor.name] = onnx.helper.tensor_dtype_to_np_dtype(held.elem_type).name
            if held.HasField("shape"):
                dims = held.shape.dim
                shapes[tensor.name] = tuple(d.dim_value if d.HasField("dim_value") else None for d in dims)
    return {name: tuple(_length(n) for n in shape) for name, shape in shapes.items()}, dtypes


def _length(value: int | None) -> int | None:
    return value if value is not None and value >= 0 else None


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def _without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy whose large initialisers are declared as inputs: shape inference copies what it is given."""
    light = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    graph = light.graph
    graph.name = model.graph.name
    for part in ("node", "input", "output", "value_info"):
        getattr(graph, part).extend(getattr(model.graph, part))
    declared = {tensor.name for tensor in graph.input}
    for tensor in model.graph.initializer:
        if _elements(tensor) <= _LARGE and tensor.data_location != onnx.TensorProto.EXTERNAL:
            graph.initializer.append(tensor)
        elif tensor.name not in declared:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    return light


def _elements(tensor: onnx.TensorProto) -> int:
    count = 1
    for length in tensor.dims:
        count *= length
    return count
