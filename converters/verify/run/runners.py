"""Run a model in its own runtime, by a ``Request``; ``workers.forks`` calls this in separate processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.files.memory import allow_files

from ...runtimes.messages import reason
from ...runtimes.telemetry import openvino_silent
from .array_files import Named, load, save
from .lowered_limits import LimitInput

T = TypeVar("T")
USAGE = 3
"""The exit code for an invalid request; its message is the last line of stderr."""

NOT_LOADED = 4
"""The exit code for a model that the runtime does not accept, whatever the inputs."""


_CAST_LIKE = 15  # the operator set that brought it
_SHOWN = 32  # approximate limit of tensors that are shown only to keep the plugin from fusing
_PRECISE = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
_AS_WRITTEN = _PRECISE | {"LP_TRANSFORMS_MODE": "NO"}
# By default, the plugin computes in bfloat16, and in 8 bits between FakeQuantize layers, which rounds more often.

_IN_FLOAT32 = ("session.qdq_matmulnbits_accuracy_level", "1")
# By default, onnxruntime rounds to 8 bits what matrices of few bits multiply.


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Generic[T]):
    """Inputs of one extent, or their numbers: all of ``every`` are run, and ``others`` until one runs if none did.

    Inputs with an empty output count as if they did not run.
    """

    every: tuple[T, ...] = ()
    others: tuple[T, ...] = ()

    def __iter__(self) -> Iterator[T]:
        return iter(self.every + self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A model to run, on the files of a ``folder``, into which its outputs go; see ``array_files``.

    INPUTS holds arrays by name, in the order of the model's inputs. OUTPUTS gets its outputs, and TENSORS those of
    ``tensors`` that it has. REPLACEMENTS, if present, holds inner tensors: nodes that read one read the array of the
    file, while the model still shows its own result. ``rounds_given`` rounds these once more if the model
    rounds such a tensor, so that layers are quantised as without replacements. ``in_openvino`` chooses the runtime,
    which is onnxruntime otherwise; ``optimised`` lets that rewrite the graph first. ``in_8_bits`` lets OpenVINO
    multiply integers between FakeQuantize layers, as it does by default. With ``threads`` 0 it chooses
    their number. With ``as_large``, LARGE gets the outputs with resizes as for large tensors, if that differs; see
    ``lowered_limits``. ``groups`` are numbers of sets of inputs, for ``try_inputs`` alone.
    """

    model: Path
    folder: Path
    tensors: tuple[str, ...] = ()
    in_openvino: bool = False
    optimised: bool = True
    rounds_given: bool = False
    in_8_bits: bool = False
    threads: int = 0
    as_large: bool = False
    groups: tuple[Group[int], ...] = ()


INPUTS, OUTPUTS, TENSORS, REPLACEMENTS, LARGE = "inputs", "outputs", "tensors", "replacements", "large"
PROBLEM = "problem.txt"
"""The names of files in the folder of a request."""


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


def _proves(request: Request, runner: _Onnx | _Ir, number: int) -> bool:
    """Run a model on one set of inputs; return whether it ran, and nothing was empty."""
    names = (numbered(name, number) for name in (INPUTS, OUTPUTS, TENSORS, LARGE))
    inputs, outputs, tensors, large = (request.folder / name for name in names)
    try:
        results = runner.run(load(inputs))
        save(tensors, results[runner.count :])
        _save_as_large(runner, inputs, large)
        save(outputs, results[: runner.count])  # last: it marks this number as done
    except Exception as error:  # whatever a runtime raises, of several lines
        (request.folder / numbered(PROBLEM, number)).write_text(reason(error), encoding="utf-8")
        return False
    return all(array.size for _, array in results)


def _save_as_large(runner: _Onnx | _Ir, inputs: Path, large: Path) -> None:
    if runner.limit is not None and runner.limit.is_known:
        save(large, runner.run(load(inputs), as_large=True)[: runner.count])


def numbered(name: str, number: int) -> str:
    """Return the name of a file of one of several sets of inputs."""
    return f"{number}-{name}"


def _runner(request: Request, replacements: dict[str, NDArray[Any]]) -> _Onnx | _Ir:
    return (_Ir if request.in_openvino else _Onnx)(request, replacements)


def _run(request: Request) -> None:
    folder = request.folder
    replacements = dict(load(folder / REPLACEMENTS)) if (folder / REPLACEMENTS).exists() else {}
    try:
        runner = _runner(request, replacements)
    except Exception as error:  # whatever a runtime raises
        raise _NotLoadedError(error) from None
    results = runner.run(load(folder / INPUTS))
    save(folder / OUTPUTS, results[: runner.count])
    save(folder / TENSORS, results[runner.count :])
    _save_as_large(runner, folder / INPUTS, folder / LARGE)


class _NotLoadedError(Exception):
    """A model that its runtime does not accept, whatever the inputs."""


class _Onnx:
    """A model in onnxruntime; ``count`` is the number of its own outputs, more tensors follow."""

    limit = None  # it computes every size by the same operations

    def __init__(self, request: Request, replacements: dict[str, NDArray[Any]]) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # fatal errors only
        options.add_session_config_entry(*_IN_FLOAT32)
        if not request.optimised:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        folder = str(request.model.parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        model, self.count, self._names = _with_outputs(request, replacements)
        self._replacements = replacements
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, arrays: Named, *, as_large: bool = False) -> Named:
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

    from ...onnx.onnx_files import external_files_of

    model = onnx.load(str(request.model), load_external_data=False)
    allow_files(request.model, *external_files_of(model, request.model.parent))
    graph = model.graph
    outputs = [output.name for output in graph.output]
    tensors = {value.name for value in graph.input}.union(*(node.output for node in graph.node))
    shown = [name for name in request.tensors if name in tensors]
    if request.rounds_given:
        replacements = _before_rounding(graph, replacements)
    aliases = _replaced(graph, replacements, casts=_opset(model) >= _CAST_LIKE)
    for index, name in enumerate(shown):
        alias = f"{name}/{index}"  # a duplicate output would be refused
        graph.node.append(onnx.helper.make_node("Identity", [aliases.get(name, name)], [alias]))
        graph.output.append(onnx.ValueInfoProto(name=alias))
    return bytes(model.SerializeToString()), len(outputs), outputs + shown


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
    nodes = [*copies, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return {name: array for name, array in replacements.items() if name not in rounded}


def _quantises(producers: dict[str, Any], name: str) -> bool:
    """Return whether a tensor is the result of DequantizeLinear behind a QuantizeLinear."""
    node = producers.get(name)
    source = producers.get(node.input[0]) if node is not None and node.op_type == "DequantizeLinear" else None
    return source is not None and source.op_type == "QuantizeLinear"


def _replaced(graph: Any, replacements: dict[str, NDArray[Any]], *, casts: bool) -> dict[str, str]:
    """Turn inner tensors into inputs of the model; return the names under which nodes still compute these."""
    import onnx

    aliases: dict[str, str] = {}
    for node in graph.node:
        for place, name in enumerate(node.output):
            if name in replacements:
                aliases[name] = node.output[place] = f"{name}/made"
    for place, (name, alias) in enumerate(aliases.items()):
        fed = f"{name}/given" if casts else name
        element = onnx.helper.np_dtype_to_tensor_dtype(replacements[name].dtype)
        graph.input.append(onnx.helper.make_tensor_value_info(fed, element, replacements[name].shape))
        if casts:  # the other model may hold it in another precision
            graph.node.insert(place, onnx.helper.make_node("CastLike", [fed, alias], [name]))
    for output in graph.output:
        if output.name in aliases:  # an output is what the model computes
            output.name = aliases[output.name]
    return aliases


class _Ir:
    """An IR, or an ONNX model, in OpenVINO's CPU plugin, in float32; ``count`` is as above."""

    def __init__(self, request: Request, replacements: dict[str, NDArray[Any]]) -> None:
        with openvino_silent():
            import openvino

        model = openvino.Core().read_model(str(request.model))
        self._inputs = [min(port.get_names(), default=port.node.get_friendly_name()) for port in model.inputs]
        self.count = len(model.outputs)
        outputs = [min(port.get_names(), default=f"output{index}") for index, port in enumerate(model.outputs)]
        ports = _ports(model)
        shown = [name for name in dict.fromkeys(request.tensors) if name in ports]
        self._names = outputs + shown
        results = [result.output(0).get_node() for result in model.get_results()]
        results += [_result(ports[name]) for name in shown]
        if not request.optimised:
            results += [_result(output) for output in _spread_out(ports)]
        fed = [name for name in replacements if name in ports]
        parameters = list(model.get_parameters())
        if fed:
            feed = _fed_before_rounding if request.rounds_given else _fed
            parameters += [feed(ports[name], replacements[name]) for name in fed]
            model = openvino.Model(results, parameters, "fed")
        else:
            model.add_results(results[self.count :])
        self.limit = LimitInput(model) if request.as_large else None
        self._replacements = [replacements[name] for name in fed]
        settings = (_PRECISE if request.in_8_bits else _AS_WRITTEN) | {"INFERENCE_NUM_THREADS": request.threads}
        self._model = openvino.Core().compile_model(model, "CPU", settings)

    def run(self, arrays: Named, *, as_large: bool = False) -> Named:
        by_name = dict(arrays)
        named = by_name.keys() == set(self._inputs)
        in_order = [by_name[name] for name in self._inputs] if named else [array for _, array in arrays]
        limit = self.limit.value(lowered=as_large) if self.limit else []
        results = self._model(in_order + self._replacements + limit)
        return [(name, self._array(results, index)) for index, name in enumerate(self._names)]

    def _array(self, results: Any, index: int) -> NDArray[Any]:
        array = np.array(results[index])
        is_bfloat16 = self._model.output(index).get_element_type().to_string() == "bf16"
        return array.view("bfloat16") if is_bfloat16 else array  # its Python interface shows it as float16


def _ports(model: Any) -> dict[str, Any]:
    """Return the outputs of nodes by the names of their tensors: some of a file are folded or fused away."""
    ports: dict[str, Any] = {}
    for node in model.get_ordered_ops():
        if node.get_type_name() != "Result":
            for output in node.outputs():
                # constants without a tensor name are numbered by model: equal numbers of two models have no meaning
                unnamed = set() if node.get_type_name() == "Constant" else {node.get_friendly_name()}
                for name in output.get_names() or unnamed:
                    ports.setdefault(name, output)
    return ports


def _spread_out(ports: dict[str, Any]) -> list[Any]:
    """Return some outputs of nodes: a tensor that is shown is not fused with the next layer."""
    floats = [output for output in ports.values() if output.get_element_type().is_real() and not _is_constant(output)]
    return floats[:: max(1, len(floats) // _SHOWN)]


def _is_constant(output: Any) -> bool:
    return output.get_node().get_type_name() in ("Constant", "Parameter", "Convert")


def _result(output: Any) -> Any:
    """Show a tensor as the plugin computes it: half precision is float32 there."""
    import openvino
    from openvino import opset13

    half = output.get_element_type() == openvino.Type.f16
    return opset13.result(opset13.convert(output, "f32") if half else output)


def _fed_before_rounding(output: Any, array: NDArray[Any]) -> Any:
    """Turn the FakeQuantize that produces a tensor into an input of the model, any other layer as ``_fed`` does."""
    node = output.get_node()
    if node.get_type_name() != "FakeQuantize":
        return _fed(output, array)
    parameter, converted = _parameter(node.input_value(0).get_element_type(), array)
    node.input(0).replace_source_output(converted.output(0))
    return parameter


def _parameter(element: Any, array: NDArray[Any]) -> tuple[Any, Any]:
    """Return an input of the model for an array, and the same as ``element``."""
    import openvino
    from openvino import opset13

    parameter = opset13.parameter(list(array.shape), openvino.Type(array.dtype))
    is_alike = parameter.get_element_type() == element
    return parameter, parameter if is_alike else opset13.convert(parameter, element.to_string())


def _fed(output: Any, array: NDArray[Any]) -> Any:
    """Redirect readers of a tensor to an input of the model; what shows it still shows the model's own result."""
    parameter, converted = _parameter(output.get_element_type(), array)
    readers = [reader for reader in output.get_target_inputs() if reader.get_node().get_type_name() != "Result"]
    for reader in readers:
        if not _is_shown(reader.get_node()):
            reader.replace_source_output(converted.output(0))
    return parameter


def _is_shown(node: Any) -> bool:
    """Return whether a node is the Convert of a result that ``_result`` made."""
    ends = [reader.get_node().get_type_name() for reader in node.output(0).get_target_inputs()]
    return node.get_type_name() == "Convert" and ends == ["Result"]
