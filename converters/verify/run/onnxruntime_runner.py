"""A model in onnxruntime that shows inner tensors, and takes arrays in place of some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ir_interp.files.memory import allow_files
from ir_interp.processor import processor

from ...onnx.byte_products import make_factors_unsigned
from ...onnx.compressed_matrices import IN_FLOAT32
from ...onnx.inference import infer
from ...onnx.node_walk import needed
from ...runtimes.byte_products import ONNXRUNTIME
from .array_files import Named
from .run_request import LAST_BIT, LAST_BIT_OF_1, OFF_BY_LAST_BITS_OF_1, ROUNDED_ONCE, TO_INTEGERS, Request

_MATRIX = 2  # the least rank of values rather than of sizes
_CAST_LIKE = 15  # the operator set that brought it


class OnnxRunner:
    """A model in onnxruntime; ``count`` is the number of its outputs, more tensors follow.

    Sums of 8-bit products are exact, whatever the processor, unless the request is for those of a plain call.
    """

    limit = None  # it computes every size by the same operations

    def __init__(self, request: Request, replacements: dict[str, NDArray[Any]]) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # fatal errors only
        options.enable_cpu_mem_arena = False  # it grows by powers of 2, though a single run needs less
        options.add_session_config_entry(*IN_FLOAT32)
        if not request.optimised:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        folder = str(request.model.parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        model, self.count, self._names = _with_outputs(request, replacements)
        self._replacements = replacements
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, arrays: Named, *, as_large: bool = False) -> Named:
        """Return the outputs and shown tensors for arrays in the order of the inputs."""
        # A replaced tensor became an input under its own name, or under another that is cast to its type.
        fed = {f"{name}/given": array for name, array in self._replacements.items()} | self._replacements
        known = [tensor.name for tensor in self._session.get_inputs()]
        inputs = [name for name in known if name not in fed]
        feeds = dict(zip(inputs, (array for _, array in arrays), strict=True))
        feeds |= {name: array for name, array in fed.items() if name in known}
        results = self._session.run(None, feeds)
        return list(zip(self._names, results, strict=True))


def _with_outputs(request: Request, replacements: dict[str, NDArray[Any]]) -> tuple[bytes, int, list[str]]:
    """Return the model with more tensors after its outputs, the number of its own, and the names of all."""
    import onnx

    from ...onnx.onnx_files import external_files_of, read_outline

    model = read_outline(request.model)
    allow_files(request.model, *external_files_of(model, request.model.parent))
    if processor() in ONNXRUNTIME.processors and not request.by_default:
        make_factors_unsigned(model, str(request.model.parent))
    graph = model.graph
    if request.inner:
        del graph.output[:]
    if request.noise:
        _add_noise(model, request.noise)
    outputs = [output.name for output in graph.output]
    tensors = {value.name for value in graph.input}.union(*(node.output for node in graph.node))
    shown = [name for name in request.tensors if name in tensors]
    if request.rounds_given:
        replacements = _before_rounding(graph, replacements)
    types = _element_types(model) if request.inner else {}
    aliases = _replaced(graph, replacements, types, casts=_opset(model) >= _CAST_LIKE)
    for index, name in enumerate(shown):
        alias = f"{name}/{index}"  # a duplicate output would be refused
        graph.node.append(onnx.helper.make_node("Identity", [aliases.get(name, name)], [alias]))
        graph.output.append(onnx.ValueInfoProto(name=alias))
    if request.inner:
        nodes = needed(graph.node, [output.name for output in graph.output])
        del graph.node[:]
        graph.node.extend(nodes)
    return bytes(model.SerializeToString()), len(outputs), outputs + shown


def _add_noise(model: Any, share: float) -> None:
    """Multiply each float that nodes compute from inputs by a random number near 1, or add its last bits.

    Tensors of rank 0 and 1 remain, since scales and sizes among them decide shapes.
    """
    import onnx

    described = infer(model).graph
    known = {value.name: value.type.tensor_type for value in (*described.value_info, *described.output)}
    constants = {tensor.name for tensor in model.graph.initializer}
    computed = {value.name for value in model.graph.input} - constants
    nodes = []
    for node in model.graph.node:
        nodes.append(node)
        if computed.isdisjoint(node.input):
            continue
        computed.update(filter(None, node.output))
        if node.op_type.lower() in TO_INTEGERS:
            continue
        for place, name in enumerate(node.output):
            kind = known.get(name)
            if kind is None or kind.elem_type != onnx.TensorProto.FLOAT or len(kind.shape.dim) < _MATRIX:
                continue
            exact, factor = f"{name}/exact", f"{name}/factor"
            node.output[place] = exact
            is_sum = node.op_type.lower() in OFF_BY_LAST_BITS_OF_1
            own_share = min(share, LAST_BIT) if node.op_type.lower() in ROUNDED_ONCE else share
            middle, least = (0.0, LAST_BIT_OF_1) if is_sum else (1.0, own_share)
            bounds: dict[str, Any] = {"low": middle - least, "high": middle + least, "seed": float(len(nodes))}
            nodes.append(onnx.helper.make_node("RandomUniformLike", [exact], [factor], **bounds))
            nodes.append(onnx.helper.make_node("Add" if is_sum else "Mul", [exact, factor], [name]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _element_types(model: Any) -> dict[str, int]:
    """Return the element types of inner tensors, as far as ONNX infers them."""
    return {value.name: value.type.tensor_type.elem_type for value in infer(model).graph.value_info}


def _opset(model: Any) -> int:
    return next((imported.version for imported in model.opset_import if imported.domain in ("", "ai.onnx")), 0)


def _before_rounding(graph: Any, replacements: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Let each DequantizeLinear of a replaced tensor read it quantised once more; return the remaining replacements."""
    import onnx

    producers = {name: node for node in graph.node for name in node.output}
    rounded = {name for name in replacements if _quantises(producers, name)}
    copies = []
    for name in rounded:
        node = producers[name]
        copy = onnx.NodeProto()
        copy.CopyFrom(producers[node.input[0]])
        copy.input[0], copy.output[0], copy.name = f"{name}/given", f"{name}/given/levels", ""
        node.input[0] = copy.output[0]
        graph.input.append(onnx.helper.make_tensor_value_info(copy.input[0], onnx.TensorProto.FLOAT, None))
        copies.append(copy)
    # Nodes must be in topological order; the copies read inputs and constants only.
    nodes = [*copies, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return {name: array for name, array in replacements.items() if name not in rounded}


def _quantises(producers: dict[str, Any], name: str) -> bool:
    """Return whether a tensor is the result of DequantizeLinear behind a QuantizeLinear."""
    node = producers.get(name)
    source = producers.get(node.input[0]) if node is not None and node.op_type == "DequantizeLinear" else None
    return source is not None and source.op_type == "QuantizeLinear"


def _replaced(
    graph: Any, replacements: dict[str, NDArray[Any]], types: Mapping[str, int], *, casts: bool
) -> dict[str, str]:
    """Turn inner tensors into inputs of the model; return the names under which nodes still compute these.

    Without its element type among ``types``, a tensor is computed as well, for its type.
    """
    import onnx

    aliases: dict[str, str] = {}
    nodes = []
    for node in graph.node:
        nodes.append(node)
        for place, name in enumerate(node.output):
            if name in replacements:
                # The node keeps computing, under another name, so that its result can be shown.
                aliases[name] = node.output[place] = f"{name}/made"
                if casts:  # the other model may hold it in another precision
                    nodes.append(_cast(name, types.get(name, 0)))
    for name in aliases:
        element = onnx.helper.np_dtype_to_tensor_dtype(replacements[name].dtype)
        fed = f"{name}/given" if casts else name
        graph.input.append(onnx.helper.make_tensor_value_info(fed, element, replacements[name].shape))
    del graph.node[:]
    graph.node.extend(nodes)
    for output in graph.output:
        if output.name in aliases:  # an output is what the model computes
            output.name = aliases[output.name]
    return aliases


def _cast(name: str, element: int) -> Any:
    """Return the node that makes a replaced tensor of the given one, of its element type or that of its own result."""
    import onnx

    if element:
        return onnx.helper.make_node("Cast", [f"{name}/given"], [name], to=element)
    return onnx.helper.make_node("CastLike", [f"{name}/given", f"{name}/made"], [name])
