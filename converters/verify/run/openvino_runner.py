"""A model in OpenVINO that shows inner tensors, and takes arrays in place of some."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtimes.telemetry import openvino_silent
from .array_files import Named
from .lowered_limits import LimitInput
from .run_request import LAST_BIT, LAST_BIT_OF_1, OFF_BY_LAST_BITS_OF_1, ROUNDED_ONCE, TO_INTEGERS, Request

_MATRIX = 2  # the least rank of values rather than of sizes
_SHOWN = 32  # approximate limit of tensors that are shown only to keep the plugin from fusing
_SHOWN_BYTES = 2**29  # and of their bytes: each is held in memory, beside a copy in the layout of a kernel
_PRECISE = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
_AS_WRITTEN = _PRECISE | {"LP_TRANSFORMS_MODE": "NO"}
# By default, the plugin computes in bfloat16, and in 8 bits between FakeQuantize layers, which rounds more often.


class OpenvinoRunner:
    """An IR, or an ONNX model, in OpenVINO's CPU plugin, in float32; ``count`` is the number of its outputs."""

    def __init__(self, request: Request, replacements: dict[str, NDArray[Any]]) -> None:
        with openvino_silent():
            import openvino

        model = openvino.Core().read_model(str(request.model))
        self._inputs = [min(port.get_names(), default=port.node.get_friendly_name()) for port in model.inputs]
        if request.noise:
            _add_noise(model, request.noise)
        ports = _ports(model)
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
        else:
            model.add_results(results[self.count :])
        # The plugin has no switch for fusing, but it does not fuse a tensor that is a result.
        if not request.optimised:
            model.add_results([_result(output) for output in _spread_out(_ports(model))])
        self.limit = LimitInput(model) if request.as_large else None
        self._replacements = [replacements[name] for name in fed]
        settings = (_PRECISE if request.by_default else _AS_WRITTEN) | {"INFERENCE_NUM_THREADS": request.threads}
        self._model = openvino.Core().compile_model(model, "CPU", settings)

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

    def _array(self, results: Any, index: int) -> NDArray[Any]:
        # the results of another run would take the place of shared ones
        array = np.array(results[index], copy=self.limit is not None or None)
        is_bfloat16 = self._model.output(index).get_element_type().to_string() == "bf16"
        return array.view("bfloat16") if is_bfloat16 else array  # its Python interface shows it as float16


def _add_noise(model: Any, share: float) -> None:
    """Add to each float that layers compute from inputs a random share of itself, or last bits of 1.

    Tensors of rank 0 and 1 remain, since scales and sizes among them decide shapes.
    """
    from openvino import opset13

    computed = {node.get_friendly_name() for node in model.get_parameters()}
    for number, node in enumerate(model.get_ordered_ops()):
        parents = {value.get_node().get_friendly_name() for value in node.input_values()}
        if node.get_type_name() == "Result" or computed.isdisjoint(parents):
            continue
        computed.add(node.get_friendly_name())
        if node.get_type_name().lower() in TO_INTEGERS:
            continue
        for output in node.outputs():
            rank, element = output.get_partial_shape().rank, output.get_element_type()
            if not element.is_real() or rank.is_dynamic or rank.get_length() < _MATRIX:
                continue
            readers, names = output.get_target_inputs(), output.get_names()
            # A number near 1 would be 1 in half precision; its distance from 1 is none.
            is_sum = node.get_type_name().lower() in OFF_BY_LAST_BITS_OF_1
            own_share = min(share, LAST_BIT) if node.get_type_name().lower() in ROUNDED_ONCE else share
            most = LAST_BIT_OF_1 if is_sum else own_share
            ends = (opset13.constant(np.array(end), element) for end in (-most, most))
            shape = opset13.shape_of(output)
            shares = opset13.random_uniform(shape, *ends, element.to_string(), global_seed=1, op_seed=number)
            moves = shares if is_sum else opset13.multiply(output, shares)
            moved = opset13.add(output, moves).output(0)
            output.set_names(set())
            moved.set_names(names)
            for reader in readers:
                reader.replace_source_output(moved)


def _ports(model: Any) -> dict[str, Any]:
    """Return the outputs of nodes by the names of their tensors: some of a file are folded or fused away."""
    ports: dict[str, Any] = {}
    for node in model.get_ordered_ops():
        if node.get_type_name() != "Result":
            for output in node.outputs():
                for name in output.get_names() or _unnamed(node, output):
                    ports.setdefault(name, output)
    return ports


def _unnamed(node: Any, output: Any) -> set[str]:
    """Return the name of a tensor without one, as ``net.tensor_name`` makes it from that of its layer."""
    # constants without a tensor name are numbered by model: equal numbers of two models have no meaning
    if node.get_type_name() == "Constant":
        return set()
    name = node.get_friendly_name()
    return {name if node.get_output_size() == 1 else f"{name}.{output.get_index()}"}


def _spread_out(ports: dict[str, Any]) -> list[Any]:
    """Return some outputs of nodes: a tensor that is shown is not fused with the next layer."""
    hidden = [output for output in ports.values() if not _is_constant(output) and not _has_result(output)]
    floats = [output for output in hidden if output.get_element_type().is_real()]
    least = max(1, len(floats) // _SHOWN, math.ceil(sum(map(_bytes, floats)) / _SHOWN_BYTES))
    return floats[::least]


def _bytes(output: Any) -> int:
    """Return the size of a tensor in float32, 0 if its shape is dynamic."""
    shape = output.get_partial_shape()
    return 4 * math.prod(shape.to_shape()) if shape.is_static else 0


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


def _has_result(output: Any) -> bool:
    readers = [reader.get_node() for reader in output.get_target_inputs()]
    return any(node.get_type_name() == "Result" or _is_shown(node) for node in readers)


def _is_shown(node: Any) -> bool:
    """Return whether a node is the Convert of a result that ``_result`` made."""
    ends = [reader.get_node().get_type_name() for reader in node.output(0).get_target_inputs()]
    return node.get_type_name() == "Convert" and ends == ["Result"]
