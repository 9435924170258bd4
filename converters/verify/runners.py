"""Models in OpenVINO and onnxruntime that show inner tensors, and take arrays in place of some.

The last part runs a model in its own runtime, by a ``Request``; ``workers`` calls it in separate processes.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.files.memory import allow_files
from ir_interp.shapes import Array
from ir_interp.version import processor

from ..onnx.byte_products import make_factors_unsigned
from ..onnx.low_precision import IN_FLOAT32
from ..onnx.onnx_files import needed
from ..onnx.static_values import infer
from ..runtimes.execution import LARGEST_GATHER, ONNXRUNTIME, reason
from .run_request import (
    INPUTS,
    LARGE,
    LAST_BIT,
    LAST_BIT_OF_1,
    NOT_LOADED,
    OFF_BY_LAST_BITS_OF_1,
    OUTPUTS,
    PROBLEM,
    REPLACEMENTS,
    ROUNDED_ONCE,
    TENSORS,
    TO_INTEGERS,
    USAGE,
    Named,
    Request,
    alike,
    has_values,
    load_arrays,
    model_files,
    numbered,
    save_arrays,
)

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto
    from openvino import Input, Model, Node, Output, Type
    from openvino.utils.data_helpers import OVDict

# Models whose resizes take other operations for large tensors, run as if their tensors were large.
#
# ``decomposed_resize`` compares the number of elements with a limit. In a model that is run here, this constant becomes
# an input, so one compilation shows both operations on the same small tensors.

_COMPARISONS = ("LessEqual", "Less")
_LIMIT_AS_WRITTEN = np.array(LARGEST_GATHER.dynamic, np.float32)
_LOWERED = np.array(0, np.float32)  # so every tensor is large


class LimitInput:
    """The limit of an OpenVINO model as its last input; ``is_known`` unless no resize compares with it."""

    def __init__(self, model: Model) -> None:
        from openvino import opset13

        readers = [reader for node in model.get_ops() for reader in _readers(node)]
        self.is_known = bool(readers)
        if readers:
            limit = opset13.parameter([], np.float32)
            for reader in readers:
                reader.replace_source_output(limit.output(0))
            model.add_parameters([limit])

    def value(self, *, lowered: bool) -> list[NDArray[np.float32]]:
        """Return the inputs to add: the limit of the file, or one that every tensor exceeds."""
        return [_LOWERED if lowered else _LIMIT_AS_WRITTEN] if self.is_known else []


def _readers(node: Node) -> list[Input]:
    """Return the comparisons that read a node, if it is the constant of a limit."""
    is_number = node.get_type_name() == "Constant" and node.get_element_type().to_string() == "f32"
    if not is_number or node.data.size != 1 or node.data.item() != _LIMIT_AS_WRITTEN:
        return []
    readers = node.output(0).get_target_inputs()
    return [reader for reader in readers if reader.get_node().get_type_name() in _COMPARISONS]


_MATRIX = 2  # the least rank of values rather than of sizes
_SHOWN = 32  # approximate limit of tensors that are shown only to keep the plugin from fusing
_SHOWN_BYTES = 2**29  # and of their bytes: each is held in memory, beside a copy in the layout of a kernel
_PRECISE = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
_AS_WRITTEN = _PRECISE | {"LP_TRANSFORMS_MODE": "NO"}
# By default, the plugin computes in bfloat16, and in 8 bits between FakeQuantize layers, which rounds more often.


class OpenvinoRunner:
    """An IR, or an ONNX model, in OpenVINO's CPU plugin, in float32; ``count`` is the number of its outputs."""

    def __init__(self, request: Request, replacements: dict[str, Array]) -> None:
        import openvino

        model = openvino.Core().read_model(str(request.model))
        self._inputs = [min(port.get_names(), default=port.node.get_friendly_name()) for port in model.inputs]
        ports = _ports(model, request.model) if request.tensors or replacements else {}
        if request.noise:
            noisy = _add_openvino_noise(model, request.noise)
            ports = {name: noisy.get(_end(output), output) for name, output in ports.items()}
        ends = [] if request.inner else model.outputs
        outputs = [min(port.get_names(), default=f"output{index}") for index, port in enumerate(ends)]
        self.count = len(outputs)
        shown = [name for name in dict.fromkeys(request.tensors) if name in ports]
        self._names = outputs + shown
        results = [*(port.get_node() for port in ends), *(_result(ports[name]) for name in shown)]
        fed = [name for name in replacements if name in ports]
        parameters = list(model.get_parameters())
        feed = _fed_before_rounding if request.rounds_given else _fed
        parameters += [feed(ports[name], replacements[name]) for name in fed]
        if fed or request.inner:
            model = openvino.Model(results, parameters, "fed")
            model.validate_nodes_and_infer_types()  # the sizes of replacements are static
        else:
            model.add_results(results[self.count :])
        # The plugin has no switch for fusing, but it does not fuse a tensor that is a result.
        if not request.optimised:
            model.add_results([_result(output) for output in _spread_out(_outputs(model))])
        self.limit = LimitInput(model) if request.as_large else None
        self._fed = fed
        self.replace(replacements)
        settings = (_PRECISE if request.by_default else _AS_WRITTEN) | {"INFERENCE_NUM_THREADS": request.threads}
        self._model = openvino.Core().compile_model(model, "CPU", settings)

    def replace(self, replacements: Mapping[str, Array]) -> None:
        """Take other values of the same shapes in place of inner tensors."""
        self._replacements = [replacements[name] for name in self._fed]

    def run(self, arrays: Named, *, as_large: bool = False) -> Named:
        """Return the outputs and shown tensors for arrays in the order of the inputs, or by their names."""
        by_name = dict(arrays)
        # Exporters rename inputs; then their order counts.
        named = by_name.keys() == set(self._inputs)
        in_order = [by_name[name] for name in self._inputs] if named else [array for _, array in arrays]
        limit = self.limit.value(lowered=as_large) if self.limit else []
        # Shared outputs are not copied: most of them may be shown only to keep the plugin from fusing.
        results = self._model(in_order + self._replacements + limit, share_outputs=True)
        return [(name, self._array(results, index)) for index, name in enumerate(self._names)]

    def _array(self, results: OVDict, index: int) -> Array:
        # the results of another run would take the place of shared ones
        array = np.array(results[index], copy=self.limit is not None or None)
        is_bfloat16 = self._model.output(index).get_element_type().to_string() == "bf16"
        return array.view("bfloat16") if is_bfloat16 else array  # its Python interface shows it as float16


def _add_openvino_noise(model: Model, share: float) -> dict[tuple[str, int], Output]:
    """Add to each float that layers compute from inputs a random share of itself, or last bits of 1.

    Other tensors of rank 0 and 1 remain, since scales and sizes among them decide shapes. Return what took the place of
    the outputs of nodes.
    """
    from openvino import opset13

    noisy: dict[tuple[str, int], Output] = {}
    for number, node in enumerate(_computed(model)):
        if node.get_type_name().lower() in TO_INTEGERS:
            continue
        for output in node.outputs():
            rank, element = output.get_partial_shape().rank, output.get_element_type()
            is_sum = node.get_type_name().lower() in OFF_BY_LAST_BITS_OF_1
            if not element.is_real() or (not is_sum and (rank.is_dynamic or rank.get_length() < _MATRIX)):
                continue
            readers, names = output.get_target_inputs(), output.get_names()
            # A number near 1 would be 1 in half precision; its distance from 1 is none.
            own_share = min(share, LAST_BIT) if node.get_type_name().lower() in ROUNDED_ONCE else share
            most = LAST_BIT_OF_1 if is_sum else own_share
            ends = (opset13.constant(np.array(end), element) for end in (-most, most))
            shape = opset13.shape_of(output)
            shares = opset13.random_uniform(shape, *ends, element.to_string(), global_seed=1, op_seed=number)
            moves = shares if is_sum else opset13.multiply(output, shares)
            moved = noisy[_end(output)] = opset13.add(output, moves).output(0)
            output.set_names(set())
            moved.set_names(names)
            for reader in readers:
                reader.replace_source_output(moved)
    return noisy


def _computed(model: Model) -> list[Node]:
    """Return the nodes that depend on inputs of a model, in the order of computation."""
    computed = {node.get_friendly_name() for node in model.get_parameters()}
    nodes = []
    for node in model.get_ordered_ops():
        parents = {value.get_node().get_friendly_name() for value in node.input_values()}
        if node.get_type_name() != "Result" and not computed.isdisjoint(parents):
            computed.add(node.get_friendly_name())
            nodes.append(node)
    return nodes


def _outputs(model: Model) -> list[Output]:
    """Return the outputs of nodes, in the order of computation: some of a file are folded or fused away."""
    nodes = (node for node in model.get_ordered_ops() if node.get_type_name() != "Result")
    return [output for node in nodes for output in node.outputs()]


def _ports(model: Model, file: Path) -> dict[str, Output]:
    """Return the outputs of nodes by the names of their tensors; in an IR, by those that its reader gives them."""
    names = _names(file) if FileKind.of(file) is FileKind.IR else None
    ports: dict[str, Output] = {}
    for output in _outputs(model):
        own = output.get_names() if names is None else names.get(_end(output), ())
        for name in own:
            ports.setdefault(name, output)
    return ports


def _end(output: Output) -> tuple[str, int]:
    return output.get_node().get_friendly_name(), output.get_index()


def _names(file: Path) -> dict[tuple[str, int], Sequence[str]]:
    """Return the names of an IR's tensors by layer and output; several layers of one name are left out."""
    from ir_interp.ir.ir_files import nets, tensor_name

    layers = list(next(nets(file)).layers.values())
    counts = Counter(layer.name for layer in layers)
    return {
        (layer.name, index): port.names or (tensor_name(layer, port),)
        for layer in layers
        for index, port in enumerate(layer.outputs)
        # constants without a tensor name are numbered by model: equal numbers of two models have no meaning
        if counts[layer.name] == 1 and (port.names or layer.type.lower() != "const")
    }


def _spread_out(outputs: Sequence[Output]) -> list[Output]:
    """Return some outputs of nodes: a tensor that is shown is not fused with the next layer.

    None is empty: the plugin drops what is computed of such a tensor, and dies if it has to show it.
    """
    hidden = [output for output in outputs if not _is_constant(output) and not _has_result(output)]
    hidden = [output for output in hidden if 0 not in output.get_partial_shape()]
    floats = [output for output in hidden if output.get_element_type().is_real()]
    floats = [output for output in floats if not _is_shifted_for_levels(output)]
    least = max(1, len(floats) // _SHOWN, math.ceil(sum(map(_bytes, floats)) / _SHOWN_BYTES))
    return floats[::least]


def _is_shifted_for_levels(output: Output) -> bool:
    """Return whether an Add or Multiply reads a tensor for a FakeQuantize.

    Shown, it would keep the plugin from fusing the layer before it with all of them. The plugin would fuse the last two
    instead, which it computes wrong on processors without AVX2.
    """
    readers = (reader.get_node() for reader in output.get_target_inputs())
    shifts = (node for node in readers if node.get_type_name() in ("Add", "Multiply"))
    ends = (end.get_node() for node in shifts for end in node.output(0).get_target_inputs())
    return any(node.get_type_name() == "FakeQuantize" for node in ends)


def _bytes(output: Output) -> int:
    """Return the size of a tensor in float32, 0 if its shape is dynamic."""
    shape = output.get_partial_shape()
    return 4 * math.prod(shape.to_shape()) if shape.is_static else 0


def _is_constant(output: Output) -> bool:
    return output.get_node().get_type_name() in ("Constant", "Parameter", "Convert")


def _result(output: Output) -> Node:
    """Show a tensor as the plugin computes it: half precision is float32 there."""
    import openvino
    from openvino import opset13

    half = output.get_element_type() == openvino.Type.f16
    return opset13.result(opset13.convert(output, "f32") if half else output)


def _fed_before_rounding(output: Output, array: Array) -> Node:
    """Turn the FakeQuantize that produces a tensor into an input of the model, any other layer as ``_fed`` does."""
    node = output.get_node()
    if node.get_type_name() != "FakeQuantize":
        return _fed(output, array)
    parameter, converted = _parameter(node.input_value(0).get_element_type(), array)
    node.input(0).replace_source_output(converted.output(0))
    return parameter


def _parameter(element: Type, array: Array) -> tuple[Node, Node]:
    """Return an input of the model for an array, and the same as ``element``."""
    import openvino
    from openvino import opset13

    parameter = opset13.parameter(list(array.shape), openvino.Type(array.dtype))
    is_alike = parameter.get_element_type() == element
    return parameter, parameter if is_alike else opset13.convert(parameter, element.to_string())


def _fed(output: Output, array: Array) -> Node:
    """Redirect readers of a tensor to an input of the model; what shows it still shows the model's own result."""
    parameter, converted = _parameter(output.get_element_type(), array)
    readers = [reader for reader in output.get_target_inputs() if reader.get_node().get_type_name() != "Result"]
    for reader in readers:
        if not _is_shown(reader.get_node()):
            reader.replace_source_output(converted.output(0))
    return parameter


def _has_result(output: Output) -> bool:
    readers = [reader.get_node() for reader in output.get_target_inputs()]
    return any(node.get_type_name() == "Result" or _is_shown(node) for node in readers)


def _is_shown(node: Node) -> bool:
    """Return whether a node is the Convert of a result that ``_result`` made."""
    ends = [reader.get_node().get_type_name() for reader in node.output(0).get_target_inputs()]
    return node.get_type_name() == "Convert" and ends == ["Result"]


_CAST_LIKE = 15  # the operator set that brought it


class OnnxRunner:
    """A model in onnxruntime; ``count`` is the number of its outputs, more tensors follow.

    Sums of 8-bit products are exact, whatever the processor, unless the request is for those of a plain call.
    """

    limit = None  # it computes every size by the same operations

    def __init__(self, request: Request, replacements: dict[str, Array]) -> None:
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
        self.replace(replacements)
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def replace(self, replacements: Mapping[str, Array]) -> None:
        """Take other values of the same shapes in place of inner tensors."""
        self._replacements = dict(replacements)

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


def _with_outputs(request: Request, replacements: dict[str, Array]) -> tuple[bytes, int, list[str]]:
    """Return the model with more tensors after its outputs, the number of its own, and the names of all."""
    from ..onnx.onnx_files import external_files_of, read_outline

    model = read_outline(request.model)
    allow_files(request.model, *external_files_of(model, request.model.parent))
    if processor() in ONNXRUNTIME.processors and not request.by_default:
        make_factors_unsigned(model, str(request.model.parent))
    graph = model.graph
    if request.inner:
        del graph.output[:]
    if request.noise:
        _add_onnx_noise(model, request.noise)
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


def _add_onnx_noise(model: ModelProto, share: float) -> None:
    """Multiply each float that nodes compute from inputs by a random number near 1, or add its last bits.

    Other tensors of rank 0 and 1, and of unknown rank, remain, since scales and sizes among them decide shapes.
    """
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
            is_sum = node.op_type.lower() in OFF_BY_LAST_BITS_OF_1
            if not is_sum and not _is_matrix(known.get(name)):
                continue
            exact, factor = f"{name}/exact", f"{name}/factor"
            node.output[place] = exact
            own_share = min(share, LAST_BIT) if node.op_type.lower() in ROUNDED_ONCE else share
            middle, least = (0.0, LAST_BIT_OF_1) if is_sum else (1.0, own_share)
            bounds: dict[str, Any] = {"low": middle - least, "high": middle + least, "seed": float(len(nodes))}
            nodes.append(onnx.helper.make_node("RandomUniformLike", [exact], [factor], **bounds))
            nodes.append(onnx.helper.make_node("Add" if is_sum else "Mul", [exact, factor], [name]))
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _is_matrix(kind: onnx.TypeProto.Tensor | None) -> bool:
    """Return whether a tensor is known to hold floats along two axes or more."""
    return kind is not None and kind.elem_type == onnx.TensorProto.FLOAT and len(kind.shape.dim) >= _MATRIX


def _element_types(model: ModelProto) -> dict[str, int]:
    """Return the element types of inner tensors, as far as ONNX infers them."""
    return {value.name: value.type.tensor_type.elem_type for value in infer(model).graph.value_info}


def _opset(model: ModelProto) -> int:
    return next((imported.version for imported in model.opset_import if imported.domain in ("", "ai.onnx")), 0)


def _before_rounding(graph: GraphProto, replacements: dict[str, Array]) -> dict[str, Array]:
    """Let each DequantizeLinear of a replaced tensor read it quantised once more; return the remaining replacements."""
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


def _quantises(producers: dict[str, NodeProto], name: str) -> bool:
    """Return whether a tensor is the result of DequantizeLinear behind a QuantizeLinear."""
    node = producers.get(name)
    source = producers.get(node.input[0]) if node is not None and node.op_type == "DequantizeLinear" else None
    return source is not None and source.op_type == "QuantizeLinear"


def _replaced(
    graph: GraphProto, replacements: dict[str, Array], types: Mapping[str, int], *, casts: bool
) -> dict[str, str]:
    """Turn inner tensors into inputs of the model; return the names under which nodes still compute these.

    Without its element type among ``types``, a tensor is computed as well, for its type.
    """
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


def _cast(name: str, element: int) -> Node:
    """Return the node that makes a replaced tensor of the given one, of its element type or that of its own result."""
    if element:
        return onnx.helper.make_node("Cast", [f"{name}/given"], [name], to=element)
    return onnx.helper.make_node("CastLike", [f"{name}/given", f"{name}/made"], [name])


def answer(request: Request) -> int:
    """Run a request, and return the exit code; errors go to stderr."""
    try:
        _run(request)
    except IrInterpError as error:
        print(error, file=sys.stderr)
        return USAGE
    except Exception as error:  # whatever a runtime raises, of several lines
        print(reason(error), file=sys.stderr)
        return NOT_LOADED if isinstance(error, _NotLoadedError) else 1
    return 0


def try_inputs(request: Request) -> int:
    """Run a model on each of ``request.groups``, as ``Group`` describes.

    Each set of inputs has separate files, see ``numbered``; PROBLEM gets the reason if one fails. Return the exit
    code.
    """
    try:
        runner = _runner(request, {})
    except Exception as error:  # whatever a runtime raises: it will raise it again when the model is run by itself
        print(reason(error), file=sys.stderr)
        return NOT_LOADED
    for group in request.groups:
        proofs = [_proves(request, runner, number) for number in group.every]
        if not any(proofs):
            any(_proves(request, runner, number) for number in group.others)
    return 0


def _proves(request: Request, runner: OnnxRunner | OpenvinoRunner, number: int) -> bool:
    """Run a model on one set of inputs; return whether it ran, and gave values."""
    names = (numbered(name, number) for name in (INPUTS, OUTPUTS, TENSORS, LARGE))
    inputs, outputs, tensors, large = (request.folder / name for name in names)
    try:
        results = runner.run(load_arrays(inputs))
        save_arrays(tensors, results[runner.count :])
        _save_as_large(runner, inputs, large)
        save_arrays(outputs, results[: runner.count])  # last: it marks this number as done
    except Exception as error:  # whatever a runtime raises, of several lines
        (request.folder / numbered(PROBLEM, number)).write_text(reason(error), encoding="utf-8")
        return False
    return has_values((results[: runner.count], dict(results[runner.count :])))


def _save_as_large(runner: OnnxRunner | OpenvinoRunner, inputs: Path, large: Path) -> None:
    if runner.limit is not None and runner.limit.is_known:
        save_arrays(large, runner.run(load_arrays(inputs), as_large=True)[: runner.count])


def _runner(request: Request, replacements: dict[str, Array]) -> OnnxRunner | OpenvinoRunner:
    """Return a runner of a model: that of the last request in this process if it differs in values alone."""
    shapes = tuple((name, array.shape, array.dtype) for name, array in replacements.items())
    states = tuple(path.stat() if path.exists() else None for path in model_files(request))
    key = alike(request), shapes, tuple(state and (state.st_ino, state.st_size, state.st_mtime_ns) for state in states)
    if _Last.runner is None or _Last.key != key:
        _Last.runner = None  # first, so that two models are never in memory
        _Last.runner = (OpenvinoRunner if request.in_openvino else OnnxRunner)(request, replacements)
        _Last.key = key
    _Last.runner.replace(replacements)
    return _Last.runner


class _Last:
    """The last runner of this process, and what it was made for."""

    key: object = None
    runner: OnnxRunner | OpenvinoRunner | None = None


def _run(request: Request) -> None:
    folder = request.folder
    replacements = dict(load_arrays(folder / REPLACEMENTS)) if (folder / REPLACEMENTS).exists() else {}
    try:
        runner = _runner(request, replacements)
    except Exception as error:  # whatever a runtime raises
        raise _NotLoadedError(error) from None
    results = runner.run(load_arrays(folder / INPUTS))
    save_arrays(folder / OUTPUTS, results[: runner.count])
    save_arrays(folder / TENSORS, results[runner.count :])
    _save_as_large(runner, folder / INPUTS, folder / LARGE)


class _NotLoadedError(Exception):
    """A model that its runtime does not accept, whatever the inputs."""
