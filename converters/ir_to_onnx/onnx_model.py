"""A whole net as an ONNX model and its file: its layers in order, each written by the emitter of its type.

First every supported layer type with its emitter: each module of ``emitters/`` has its own table. Then the check that
every attribute of a layer is read by its emitter, has no effect, or is unknown to OpenVINO too: its reader of IRs asks
an operation for its attributes and looks up these names alone (``visit_attributes`` of its sources), so an attribute
of any other name has no effect there.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import gettempdir

import onnx
from onnx import helper

from ir_interp.errors import InexactError, IrInterpError, ReadError, SpecError, UnsupportedLayerError, closest, hint
from ir_interp.ir.interpolates import fold, load
from ir_interp.ir.ir_files import Layer, Net, Port, nets, tensor_name
from ir_interp.shapes import PartialShape
from ir_interp.translation.dialect import Semantics

from ..onnx import onnx_graph, operators
from ..onnx.onnx_files import invalid, read_outline
from ..onnx.onnx_graph import Graph, Unsaved, halved
from ..onnx.operators import NodeTensor, as_dtype
from ..onnx.resize_form import write_resize
from ..onnx.static_values import without_weights
from ..reports import Progress, Written, silent
from ..workers import Question, Worker
from . import emitters, layer_passes, layers, small_weights
from .layer_passes import in_order
from .layers import Conversion, Op, computed

Emitter = Callable[[Graph, Op], str | NodeTensor | tuple[str | NodeTensor, ...]]
"""Adds the nodes of a layer and returns its outputs; raises UnsupportedLayerError or InexactError to refuse."""


def found_emitters() -> dict[str, Emitter]:
    """Return the emitters of all modules by layer type in lower case. Raises ValueError if two write one type."""
    written: dict[str, Emitter] = {}
    modules: dict[str, str] = {}
    for module in pkgutil.iter_modules(emitters.__path__):
        table: dict[str, Emitter] = importlib.import_module(f"{emitters.__name__}.{module.name}").TABLE
        for kind, emit in table.items():
            owner = modules.setdefault(kind.lower(), module.name)
            # One of two emitters would win by the order of files.
            if kind.lower() in written:
                raise ValueError(f"two emitters write {kind}: one of {owner}, one of {module.name}")
            written[kind.lower()] = emit
    return written


EMITTERS = found_emitters()
"""By layer type in lower case: OpenVINO ignores the case of types."""


_SECONDS = 60.0


@cache
def effective_attributes(kind: str, version: int) -> frozenset[str] | None:
    """Return the names of the attributes of a layer type; None if OpenVINO does not report them."""
    worker = Worker(Path(gettempdir()))
    try:  # in its own process: querying some operations without inputs ends it
        answer = worker.answer(Question(function=f"{__name__}:_ask", limit=_SECONDS, attempts=1), (kind, version))
    finally:
        worker.close()
    return answer if isinstance(answer, frozenset) else None


def _ask(operation: tuple[str, int], _: object) -> frozenset[str] | None:
    from openvino.utils.node_factory import NodeFactory

    kind, version = operation
    try:
        return frozenset(NodeFactory(f"opset{version}").create(kind).get_attributes())
    except RuntimeError:  # this operation set has no such type
        return None


_TYPES = frozenset(  # the ports have these, too
    (
        "classes_index_type",
        "count_element_type",
        "destination_type",
        "index_element_type",
        "output_type",
        "roi_num_type",
        "sequence_length_type",
    )
)
_RECURRENT = ("activations_alpha", "activations_beta")  # of activations that the CPU plugin does not run
_WRITTEN_OF_OLD = ("activation_alpha", "activation_beta")  # by the model optimizer, which named them so


def _by_kind(rows: Mapping[str, Sequence[str]]) -> dict[str, frozenset[str]]:
    return {kind: frozenset(names) for kind, names in rows.items()}


WITHOUT_EFFECT = _by_kind(
    {
        "convolution": ("output_padding",),  # the model optimizer wrote it to every convolution
        "groupconvolution": ("output_padding",),
        "deformableconvolution": ("output_padding",),
        "detectionoutput": (
            "input_height",  # of boxes in pixels, which are refused
            "input_width",
            "num_classes",  # the input shapes determine it
            "objectness_score",  # of boxes that another detector refines, which are refused
        ),
        "divide": ("m_pythondiv",),  # the CPU plugin disregards it
        "grucell": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "grusequence": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "lstmcell": (*_RECURRENT, *_WRITTEN_OF_OLD, "weights_format"),  # OpenVINO ignores the last
        "lstmsequence": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "maxpool": ("exclude-pad",),  # the model optimizer wrote it to every pooling
        "regionyolo": ("anchors", "axis", "end_axis"),  # the output port shows what is flattened
        "rnncell": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "rnnsequence": (*_RECURRENT, *_WRITTEN_OF_OLD),
        "topk": ("stable",),  # ONNX takes the first of equal values in any case
    }
)
"""Names of attributes by layer type in lower case that change nothing in any layer."""

READ_WHERE_EFFECTIVE = _by_kind(
    {
        "deformablepsroipooling": ("part_size", "trans_std"),  # only offsets have them
        "matrixnms": ("gaussian_sigma",),  # of a Gaussian decay
        "maxpool": ("axis",),  # of places, if they have a reader
        "mvn": ("eps",),  # of a variance that is divided by
        "priorbox": (
            "flip",  # of ratios
            "min_max_aspect_ratios_order",  # of sizes
            "offset",  # of a step that does not follow from the sizes
        ),
        "psroipooling": ("spatial_bins_x", "spatial_bins_y"),  # of the bilinear mode
        "regionyolo": ("mask", "num"),  # one of them counts the anchors
        "roipooling": (
            "output_size",  # without output_roi
            "spatial_scale",  # of the method max; bilinear regions are shares of the map
        ),
        "scatterelementsupdate": ("use_init_val",),  # of a reduction
    }
)
"""Names of attributes by layer type in lower case that an emitter reads only in layers where they decide."""

WRITTEN_OF_OLD = _by_kind(
    {
        "priorbox": ("img_h", "img_size", "img_w", "step_h", "step_w"),
        "priorboxclustered": ("flip", "img_h", "img_size", "img_w"),
        "variadicsplit": ("axis",),
    }
)
"""Attributes that the Model Optimizer of 2020 to 2022 wrote, and no release of OpenVINO reads (IR 10 and 11)."""


def without_effect(kind: str) -> frozenset[str]:
    """Return the attributes of a layer type that change nothing in any layer."""
    return WITHOUT_EFFECT.get(kind.lower(), frozenset()) | _TYPES


def may_stay_unread(kind: str) -> frozenset[str]:
    """Return the attributes of a layer type that have no effect, or none if an emitter leaves them unread."""
    return without_effect(kind) | READ_WHERE_EFFECTIVE.get(kind.lower(), frozenset())


def check_unread(op: Op) -> Iterator[str]:
    """Yield a note for each attribute that OpenVINO does not know either, and which therefore has no effect.

    Raises UnsupportedLayerError for an attribute that was not read and may have an effect, with the closest name.
    """
    unread = op.layer.attributes.keys() - op.read - may_stay_unread(op.layer.type)
    for name in sorted(unread & WRITTEN_OF_OLD.get(op.layer.type.lower(), frozenset())):
        unread.remove(name)
        yield f"{op.layer.where}@{name}: the Model Optimizer wrote it, and no release of OpenVINO reads it"
    if not unread:
        return
    effective = effective_attributes(op.layer.type, op.layer.version or 0)
    for name in sorted(unread):
        if effective is None or name in effective:
            known = closest(name, op.read) if op.read else f"{op.layer.type} has none"
            raise UnsupportedLayerError(f"unknown attribute; {known}", f"{op.layer.where}@{name}")
        meant = hint(name, effective)
        yield f"{op.layer.where}@{name}: OpenVINO has no such attribute and ignores it{meant}"


OLDEST_OPSET, NEWEST_OPSET = 11, 24
"""The operator sets that can be written."""

OPSET = 21
"""The default: the newest that several years of onnxruntime releases run fully."""

_OLD_INPUTS = {"float16": "float32"}
_OLD_OUTPUTS = {"int64": "int32", "uint64": "int32", "uint32": "int32", "int32": "int32"}
# OpenVINO changes the types at the ends of an IR v10: inputs as above, outputs as above or else to float32. To keep the
# file's own types, choose the document's reading.


_Refusals = list[tuple[str, IrInterpError]]


def build(
    net: Net, semantics: Semantics, opset: int | None = None, progress: Progress = silent, *, half: bool = False
) -> tuple[Unsaved, Written]:
    """Return a net as an ONNX model, and its report; ``half`` stores weights in half precision.

    Raises ReadError for a malformed net, and an ExceptionGroup of all refusals if layers have no ONNX form.
    """
    opset = OPSET if opset is None else opset
    if not OLDEST_OPSET <= opset <= NEWEST_OPSET:
        raise IrInterpError(f"--opset is {opset}; expected {OLDEST_OPSET} to {NEWEST_OPSET}")
    refusals: _Refusals = []

    def writer_of(net: Net, graph: Graph) -> _Writer:
        shaped = layer_passes.with_computed_shapes(net, conversion)
        short = layer_passes.gathered_levels(layer_passes.without_idle_clamps(shaped, conversion))
        return _Writer(net=short, graph=graph, conversion=conversion, refusals=refusals)

    def write_body(graph: Graph, net: Net, inputs: Mapping[int, str]) -> dict[int, str]:
        return writer_of(net, graph).write_body(inputs)

    conversion = Conversion(semantics=semantics, write_body=write_body)
    writer = writer_of(net, Graph(opset=opset))
    writer.write(progress)
    model = writer.graph.model(net.name or "net", writer.inputs, writer.outputs)
    info = _info(net)
    model.model.doc_string = info.pop("doc_string", "")
    ends = {"layouts": writer.layouts, "tensor_names": writer.names}
    helper.set_model_props(model.model, info | {key: json.dumps(names) for key, names in ends.items() if names})
    written = Written(rows=tuple(conversion.rows), notes=tuple(dict.fromkeys(conversion.notes)))
    return halved(model, writer.graph.exact) if half else model, written


def _info(net: Net) -> dict[str, str]:
    """Return the metadata of an IR except its provenance; the metadata of an ONNX model as they were there."""
    entries = {name: text for name, text in net.info.items() if not name.startswith(_OF_THE_SOURCE)}
    others = {name: text for name, text in entries.items() if not name.startswith(_OF_ONNX)}
    return {name.removeprefix(_OF_ONNX): text for name, text in entries.items() if name not in others} | others


_OF_ONNX = "framework."
_OF_THE_SOURCE = ("OpenVINO Runtime", "MO_version", "Runtime_version", "conversion_parameters", "legacy_frontend")


@dataclass(slots=True, kw_only=True)
class _Writer:
    """``tensors`` maps a layer and its output port to its tensor; ``refusals`` has the place of each.

    ``layouts`` has the order of axes of inputs and outputs by name, if the IR states it, ``names`` their other names.
    """

    net: Net
    graph: Graph
    conversion: Conversion
    tensors: dict[tuple[int, int], str] = field(default_factory=dict)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    refusals: _Refusals = field(default_factory=list)
    layouts: dict[str, str] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)

    @property
    def _changes_types(self) -> bool:
        return self.net.version == 10 and self.conversion.semantics is Semantics.RUNTIME

    def write(self, progress: Progress) -> None:
        layers = list(in_order(self.net))
        results = [layer for layer in self.net.layers.values() if layer.type.lower() == "result"]
        for layer in self.net.layers.values():
            if layer.type.lower() == "parameter":
                self._input(layer)
        # Names of outputs are taken before any layer can take them.
        names = [self.graph.fresh(self._output_name(layer)) for layer in results]
        for index, layer in enumerate(layers):
            progress("writing layers", index, len(layers))
            if layer.type.lower() not in ("parameter", "result"):
                self._layer(layer)
        if self.refusals:
            # Layers are written in the order of execution, which nobody finds in the file.
            order = {layer.where: index for index, layer in enumerate(_in_file(self.net))}
            errors = [error for where, error in sorted(self.refusals, key=lambda refusal: order[refusal[0]])]
            refusals = list({str(error): error for error in errors}.values())  # a constant is met by all its readers
            raise ExceptionGroup(f"{len(refusals)} of {len(layers)} layers cannot become ONNX", refusals)
        for layer, name in zip(results, names, strict=True):
            self._output(layer, name)

    def write_body(self, inputs: Mapping[int, str]) -> dict[int, str]:
        """Write the layers of a body, given the tensor of each Parameter, and return that of each Result."""
        results = {}
        for layer in in_order(self.net):
            if layer.type.lower() == "parameter":
                if layer.id not in inputs:
                    raise ReadError("nothing is mapped to it", layer.where)
                self.tensors[layer.id, _only_port(layer).id] = inputs[layer.id]
            elif layer.type.lower() == "result":
                producer, port = self._source(layer)
                results[layer.id] = self.tensors[producer.id, port.id]
            else:
                self._layer(layer)
        return results

    def _input(self, layer: Layer) -> None:
        port, since = _only_port(layer), len(self.graph.nodes)
        name = self.graph.layer = self.graph.fresh(tensor_name(layer, port))
        declared = _OLD_INPUTS.get(port.dtype or "", port.dtype) if self._changes_types else port.dtype
        if "..." in layer.attributes.get("shape", ""):
            problem = "its rank is dynamic; an ONNX input has a static rank"
            self.refusals.append((layer.where, UnsupportedLayerError(problem, layer.where)))
        self.inputs.append(_value_info(name, declared, port.shape, layer))
        self._keep(name, layer, port.names)
        self.tensors[layer.id, port.id] = self._as(name, declared, computed(port))
        self.graph.name_nodes(since)

    def _output_name(self, layer: Layer) -> str:
        producer, port = self._source(layer)
        return layer.output_names[0] if layer.output_names else tensor_name(producer, port)

    def _source(self, layer: Layer) -> tuple[Layer, Port]:
        source = self.net.source(layer, 0)
        if source is None:
            raise ReadError("its input is not connected", layer.where)
        return source

    def _output(self, layer: Layer, name: str) -> None:
        producer, port = self._source(layer)
        since = len(self.graph.nodes)
        self.graph.layer = layer.name
        declared = _OLD_OUTPUTS.get(port.dtype or "", "float32") if self._changes_types else port.dtype
        tensor = self._as(self.tensors[producer.id, port.id], computed(port), declared)
        taken = {value.name for value in (*self.inputs, *self.outputs)}
        # ONNX outputs have different names, and are computed by nodes.
        if tensor in taken or tensor in self.graph.initialisers:
            tensor = self.graph.node("Identity", tensor)
        self.graph.name_nodes(since)
        self.graph.rename(tensor, name)
        self.tensors = {end: name if known == tensor else known for end, known in self.tensors.items()}
        shape = None if port.shape == () and self.net.has_dynamic_ranks else port.shape
        self.outputs.append(_value_info(name, declared, shape, layer))
        self._keep(name, layer, layer.output_names or port.names)

    def _keep(self, name: str, layer: Layer, names: Sequence[str]) -> None:
        if layer.layout:
            self.layouts[name] = layer.layout
        if names[1:]:
            self.names[name] = list(names[1:])

    def _as(self, tensor: str, dtype: str | None, target: str | None) -> str:
        return tensor if dtype == target or target is None else operators.cast(self.graph, tensor, target)

    def _layer(self, layer: Layer) -> None:
        self.graph.layer = layer.name or layer.type
        since = len(self.graph.nodes)
        try:
            outputs = self._emitted(layer)
        except (UnsupportedLayerError, InexactError) as error:
            self.refusals.append((layer.where, error))
            # Placeholders let the other layers be written, so that all refusals are reported at once.
            outputs = tuple(self.graph.fresh(layer.name) for _ in layer.outputs)
        produced = {name for node in self.graph.nodes[since:] for name in node.output}
        for port, tensor in zip(layer.outputs, outputs, strict=False):
            self.tensors[layer.id, port.id] = tensor
            if tensor in produced:
                self.tensors[layer.id, port.id] = self.graph.fresh(tensor_name(layer, port))
                self.graph.rename(tensor, self.tensors[layer.id, port.id], since)
        self.graph.name_nodes(since)

    def _emitted(self, layer: Layer) -> tuple[str, ...]:
        layers.check_operation_set(layer)
        emit = layer_passes.emit_dynamic if layer.type == layer_passes.TYPE else EMITTERS.get(layer.type.lower())
        if emit is None:
            raise UnsupportedLayerError(f"no ONNX form is known for layer type {layer.type!r}", layer.where)
        inputs = tuple(self._tensor(layer, index) for index in range(len(layer.inputs)))
        op = Op(net=self.net, layer=layer, inputs=inputs, conversion=self.conversion)
        outputs = emit(self.graph, op)
        self.conversion.notes.extend(check_unread(op))
        tensors = outputs if isinstance(outputs, tuple) else (outputs,)
        return tuple(tensor if isinstance(tensor, str) else tensor.value for tensor in tensors)

    def _tensor(self, layer: Layer, index: int) -> str:
        """Return the tensor that feeds an input: a constant if constants and sizes determine its value."""
        source = self.net.source(layer, index)
        if source is None:
            return ""
        producer, port = source
        # A stored constant keeps its type: a value would be folded to float32, four times the bytes of 8 bits.
        value = None if self._is_stored(producer) else fold(self.net, layer, index)
        if value is None or value.dtype.name != computed(port):
            return self.tensors[producer.id, port.id]
        return self.graph.constant(value)

    def _is_stored(self, layer: Layer) -> bool:
        """Return whether a layer is a constant, perhaps one that the file holds in half precision, or in few bits."""
        kind = layer.type.lower()
        if kind not in ("convert", "reshape"):
            is_small = small_weights.is_looked_up(self.net, layer) or small_weights.read(self.net, layer) is not None
            return kind == "const" or is_small
        source = self.net.source(layer, 0)
        return source is not None and self._is_stored(source[0]) and (kind == "convert" or self._is_small(source[0]))

    def _is_small(self, layer: Layer) -> bool:
        return layer.type.lower() == "multiply"


def _in_file(net: Net) -> Iterator[Layer]:
    """Yield the layers of a net in the order of the file, each before those of its bodies."""
    for layer in net.layers.values():
        yield layer
        for (number, _), body in net.bodies.items():
            if number == layer.id:
                yield from _in_file(body.net)


def _only_port(parameter: Layer) -> Port:
    if len(parameter.outputs) != 1:
        raise ReadError(f"{len(parameter.outputs)} outputs; a Parameter has one", parameter.where)
    return parameter.outputs[0]


def _value_info(name: str, dtype: str | None, shape: PartialShape | None, layer: Layer) -> onnx.ValueInfoProto:
    if dtype is None:
        raise ReadError("its port has no precision", layer.where)
    try:
        element = helper.np_dtype_to_tensor_dtype(as_dtype(dtype))
    except (ReadError, TypeError, ValueError, KeyError):
        raise UnsupportedLayerError(f"element type {dtype} is not supported", layer.where) from None
    return helper.make_tensor_value_info(name, element, shape)


def write_model(
    source: Path,
    output: Path,
    semantics: Semantics,
    opset: int | None = None,
    progress: Progress = silent,
    *,
    half: bool = False,
) -> Written:
    """Write an IR, or a pasted Interpolate, as an ONNX model; return its resizes, and notes on parts without an effect.

    ``half`` stores weights in half precision, except those of resizes.

    Raises ReadError for an invalid source, and an ExceptionGroup of all refusals if layers have no ONNX form.
    """
    net = next(nets(source))
    if net.is_snippet:
        resizes = load(source, semantics)  # which also refuses layers of other types
        if half:
            raise SpecError(f"--fp16 has no effect on {source.name}, a layer without weights")
        if len(resizes) != 1:
            raise UnsupportedLayerError(f"{len(resizes)} layers; expected a single one", source.name)
        return Written(rows=(write_resize(resizes[0], output, opset),))
    model, written = build(net, semantics, opset, progress, half=half)
    onnx_graph.save(model, output)
    del model  # its mapped files and memory are released before the file is checked
    _check(output, source.name)
    return written


def _check(output: Path, name: str) -> None:
    """Check the written file itself, without its weights: the checker would read all of them into memory."""
    problem = invalid(without_weights(read_outline(output)))
    if problem:
        raise IrInterpError(f"{name} would not be valid ONNX: {problem}; if the IR itself is valid, please report it")
