"""Models of every framework that an OpenVINO frontend reads: resizes are built one by one as it meets them.

First a trial of the model in a separate process, which may crash; then the resizes; then the inputs and outputs as the
framework describes them, and channels of images moved from last to second.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import onnx
import onnx.shape_inference
import openvino as ov
import openvino.opset13 as ops
from openvino.frontend import ConversionExtension, FrontEndManager, NodeContext
from openvino.frontend.onnx import ConversionExtension as OnnxExtension
from openvino.opset15 import bitwise_left_shift, bitwise_right_shift
from openvino.preprocess import PrePostProcessor

from ir_interp.errors import ExporterError, InexactError, ReadError, UnsupportedLayerError
from ir_interp.files.memory import allow_files
from ir_interp.files.writing import is_file
from ir_interp.options.shared_options import IMAGE_RANK
from ir_interp.plan.float_arithmetic import SizeScale
from ir_interp.resize_op import ResizeOp, read
from ir_interp.specs import AtRunTime
from ir_interp.translation.dialect import Context, Semantics

from ..dialects.onnx import DIALECT, with_roi
from ..onnx.onnx_files import external_files, invalid
from ..onnx.resize_nodes import dialect_version, given_names
from ..onnx.static_values import without_weights
from ..reports import FormPolicy, Row
from ..runtimes.execution import reason
from ..sources.model_description import Description, End
from ..workers import Died, Late, Question, Worker
from .interpolate_form import Resized, RunTime, narrowed, partial_shape, resize
from .openvino_primitives import constant_of, number_anew, settle_integers

_SECONDS = 30.0
_BYTES_A_SECOND = 2**24  # of weights, on a slow disk


def check_onnx_frontend(source: Path, model: onnx.ModelProto) -> None:
    """Raise ReadError if a model is not valid, and the frontend crashes on it, or does not finish."""
    problem = invalid(without_weights(model), full=False).rstrip(".")
    if problem and (end := _end("onnx", source, *external_files(source))):
        raise ReadError(f"it is not valid ONNX: {problem}; OpenVINO's frontend {end}", source.name)


def check_frontend(source: Path, framework: str, *others: Path) -> None:
    """Raise ReadError if a frontend crashes on a file, which may have ``others`` beside it, or does not finish."""
    if end := _end(framework, source, *others):
        raise ReadError(f"OpenVINO's frontend {end}", source.name)


def _end(framework: str, source: Path, *others: Path) -> str:
    """Return how a frontend fails on a file; empty if it accepts or refuses it."""
    files = [source, *others]
    limit = _SECONDS + sum(file.stat().st_size for file in files if is_file(file)) / _BYTES_A_SECOND
    question = Question(function=f"{__name__}:take", setting=(framework, files), limit=limit, attempts=1)
    with closing(Worker()) as worker:
        answer = worker.answer(question, str(source.absolute()))
    if isinstance(answer, Late):
        return f"does not finish in {limit:.3g} s"
    return "crashes on it" if isinstance(answer, Died) else ""


def take(source: str, setting: tuple[str, Sequence[Path]]) -> None:
    """Let a frontend take a file, in this process, or refuse it."""
    framework, files = setting
    allow_files(*files)
    frontend = FrontEndManager().load_by_framework(framework)
    with suppress(Exception):
        frontend.convert(frontend.load(source))


def untranslated(source: Path, framework: str) -> list[str]:
    """Return the names of the nodes that a frontend does not translate, as it names them; none if it crashes."""
    question = Question(function=f"{__name__}:take_in_part", setting=framework, limit=_SECONDS, attempts=1)
    with closing(Worker()) as worker:
        answer = worker.answer(question, str(source.absolute()))
    return answer if isinstance(answer, list) else []


def take_in_part(source: str, framework: str) -> list[str]:
    """Return what a frontend leaves of a file in this process; none if it refuses the rest."""
    allow_files(Path(source))
    frontend = FrontEndManager().load_by_framework(framework)
    try:
        nodes = frontend.convert_partially(frontend.load(source)).get_ops()
    except Exception:  # of several types, without a common base class
        return []
    return [node.get_friendly_name() for node in nodes if not node.get_type_info().version_id.startswith(_OPSETS)]


_OPSETS = ("opset", "extension")  # of layers that OpenVINO has
_ELEMENT = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "boolean": "bool"}


_INCOMPLETE = "Conversion is failed for"  # a message about operations; the frontend goes on with others
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Frontend:
    """A frontend of OpenVINO: its name in OpenVINO, and in messages.

    Those that know operators by domain, or inputs by name, have extensions of their own. ``corrected`` converts the
    operations that the frontend reads wrongly and silently.
    """

    name: str
    title: str
    extension: Callable[..., Any] = ConversionExtension
    corrected: Mapping[str, Callable[[NodeContext], object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A model, the rows of its resizes, and the names of the nodes that resizes became.

    ``halves`` marks a model in half precision: it is built in float32, with the same weights. ``scales`` are those of
    sizes in float64, which became nodes that no longer show them.
    """

    model: ov.Model
    rows: tuple[Row, ...]
    exact: frozenset[str]
    halves: bool = False
    scales: tuple[SizeScale, ...] = ()


@dataclass(slots=True, kw_only=True)
class ResizeBuilder:
    """Converts resizes of any format as its frontend meets them, and records the result of each."""

    frontend: ClassVar[Frontend]
    file: str
    policy: FormPolicy = field(default_factory=FormPolicy)
    resizes: list[tuple[ResizeOp, ov.Output, Resized | InexactError]] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)

    def read(self, operations: Iterable[str], path: Path) -> ov.Model:
        """Return the model that a frontend makes of a file, with its resizes, which are these ``operations``.

        Raises an ExceptionGroup of InexactError for resizes without an exact form if these stop the frontend,
        UnsupportedLayerError if it refuses the rest.
        """
        frontend = FrontEndManager().load_by_framework(self.frontend.name)
        for op in operations:
            frontend.add_extension(self.frontend.extension(op, self.converter(op)))
        for op, convert in self.frontend.corrected.items():
            frontend.add_extension(self.frontend.extension(op, convert))
        return self.guarded(lambda: frontend.convert(frontend.load(str(path))))

    def guarded(self, convert: Callable[[], ov.Model]) -> ov.Model:
        """Return the model that a frontend converts. Raises as ``read`` does."""
        try:
            return convert()
        except Exception as error:  # the frontend raises several types without a common base class
            if self.errors:
                raise self.errors[0] from None
            if _INCOMPLETE not in str(error):  # otherwise the omitted part is the cause of refusals
                self.rows()  # the placeholders of refused resizes make no complete model
            problem = f"OpenVINO's {self.frontend.title} frontend refuses it: {reason(error)}"
            raise ExporterError(problem, self.file) from error

    def converter(self, op: str) -> Callable[[NodeContext], object]:
        """Return the function that the frontend calls for every node of type ``op``."""

        def convert_node(node: NodeContext) -> object:
            try:
                return self._outputs(self._convert(op, node))
            except Exception as error:  # which the frontend would wrap in its own text, as if it refused the node
                self.errors.append(error)
                raise

        return convert_node

    def _data(self, node: NodeContext) -> ov.Output:
        """Return the image that a node resizes."""
        return node.get_input(0)

    def _outputs(self, output: ov.Output) -> object:
        """Return the output of a node as its frontend expects it."""
        return [output]

    def _convert(self, op_type: str, node: NodeContext) -> ov.Output:
        x = self._data(node)
        op, run_time = self._read(op_type, node, x)
        try:
            resized = self._resized(x, op, run_time)
        except InexactError as error:
            output = _stand_in(x, op)
            self.resizes.append((op, output, error))
            return output
        self.resizes.append((op, resized.output, resized))
        return resized.output

    def _read(self, op_type: str, node: NodeContext, x: ov.Output) -> tuple[ResizeOp, RunTime]:
        """Return a node as a resize, and its inputs of run time."""
        raise NotImplementedError

    def _next(self, op_type: str, waiting: Mapping[str, deque[T]]) -> T:
        """Return the next resize of a type, for a frontend that keeps their order; it is no longer waiting."""
        if not waiting[op_type]:
            problem = f"OpenVINO's {self.frontend.title} frontend reads more {op_type} than it has"
            raise UnsupportedLayerError(problem, self.file)
        return waiting[op_type].popleft()

    def _resized(self, x: ov.Output, op: ResizeOp, run_time: RunTime) -> Resized:
        return resize(x, op, run_time, self.policy)

    def built(self, model: ov.Model) -> Built:
        """Return a model that was read, with its rows. Raises as ``rows`` does."""
        settled = settle_integers(model, self.nodes())
        number_anew(model)  # before nodes are identified by their names
        exact = self.nodes() | {node.get_friendly_name() for node in settled.nodes}
        return Built(model=model, rows=self.rows(), exact=exact, scales=settled.scales)

    def rows(self) -> tuple[Row, ...]:
        """Return a row for each resize, or raise all refusals together."""
        refusals = []
        rows = []
        for op, output, result in self.resizes:
            source = self._named(op, output)
            if isinstance(result, InexactError):
                refusals.append(result.of(source.name))
            else:
                rows.append(
                    Row(name=source.name, source=source, form=result.form, grade=result.grade, note=result.note)
                )
        if refusals:
            raise ExceptionGroup(f"{len(refusals)} of {len(self.resizes)} resizes have no exact form", refusals)
        return tuple(rows)

    def _named(self, op: ResizeOp, output: ov.Output) -> ResizeOp:
        """Return a resize with its name and place, which may be known only when the model is complete.

        It names the node of one that is a single layer.
        """
        if output.get_node().get_type_name() == "Interpolate":
            output.get_node().set_friendly_name(op.name)
        return op

    def nodes(self) -> frozenset[str]:
        """Return the names of the nodes of all resizes."""
        resizes = (result for _, _, result in self.resizes if isinstance(result, Resized))
        return frozenset(node.get_friendly_name() for result in resizes for node in result.nodes)


def _shift(node: NodeContext) -> list[ov.Output]:
    """Return shifted bits; the frontend multiplies and divides, and the CPU plugin does that in float32."""
    shift = bitwise_right_shift if node.get_attribute("direction") == "RIGHT" else bitwise_left_shift
    return list(shift(node.get_input(0), node.get_input(1)).outputs())


@dataclass(slots=True, kw_only=True)
class Builder(ResizeBuilder):
    """Converts the nodes of an ONNX model; ``names`` are those of nodes by their outputs."""

    frontend: ClassVar = Frontend("onnx", "ONNX", OnnxExtension, {"BitShift": _shift})
    opset: int
    semantics: Semantics
    lone: frozenset[str]
    names: dict[str, str]

    def _resized(self, x: ov.Output, op: ResizeOp, run_time: RunTime) -> Resized:
        return resize(x, op, run_time, self.policy, alone=not self.lone.isdisjoint(x.get_names()))

    def _read(self, op_type: str, node: NodeContext, x: ov.Output) -> tuple[ResizeOp, RunTime]:
        where = f"{self.file}:{op_type}"
        version = dialect_version(op_type, self.opset, where)
        inputs = _inputs(node, given_names(version))
        constants = {name: constant_of(value) for name, value in inputs.items()}
        present = {name: value for name, value in constants.items() if value is None or not _is_empty(value)}
        attributes = _attributes(node) | {n: None if v is None else v.ravel().tolist() for n, v in present.items()}
        dtype = numpy_name(x.get_element_type())
        context = Context(version=version, shape=partial_shape(x), dtype=dtype, semantics=self.semantics)
        op = read(DIALECT, with_roi(attributes, context.shape), context, name="", where=where)
        if not isinstance(op.spec.target, AtRunTime):
            return op, RunTime(roi=inputs.get("roi"))
        op, target = narrowed(op, x, inputs[op.spec.target.value])
        return op, RunTime(target=target, roi=inputs.get("roi"))

    def _named(self, op: ResizeOp, output: ov.Output) -> ResizeOp:
        """Return a resize with its node's name in ONNX, else the one that the frontend made."""
        known = (self.names[name] for name in output.get_names() if name in self.names)
        name = next(known, output.get_node().get_friendly_name())
        return replace(op, name=name, where=f'{op.where}["{name}"]')


def _inputs(node: NodeContext, names: tuple[str, ...]) -> dict[str, ov.Output]:
    """Return the connected inputs by name; the frontend shows an omitted one as a NullNode."""
    connected = {}
    for index, name in enumerate(names, start=1):
        if index < node.get_input_size():
            value = node.get_input(index)
            if value.get_node().get_type_name() != "NullNode":
                connected[name] = value
    return connected


def _attributes(node: NodeContext) -> dict[str, object]:
    names = {*DIALECT.vocabulary, *(name for name, _ in DIALECT.numbers.values())} - {"sizes", "roi"}
    return {name: node.get_attribute(name) for name in sorted(names) if node.has_attribute(name)}


def _is_empty(value: np.ndarray[Any, Any]) -> bool:
    """Return whether a constant stands for an omitted input: the frontend turns an empty initialiser into a scalar."""
    return value.ndim == 0 or value.size == 0


def _stand_in(x: ov.Output, op: ResizeOp) -> ov.Output:
    """Return a placeholder of the same rank for a refused resize, so that later ones are seen as well.

    Without a rank, another operation was refused before: only a model without new inputs allows reporting that.
    """
    if op.shape is None:
        return ops.convert(x, "f32").output(0)
    return ops.parameter(ov.PartialShape.dynamic(len(op.shape)), x.get_element_type()).output(0)


def in_order(resizes: Iterable[tuple[str, T]]) -> defaultdict[str, deque[T]]:
    """Return resizes by the types of their operations, as a frontend that keeps the order meets them."""
    by_type: defaultdict[str, deque[T]] = defaultdict(deque)
    for op_type, waiting in resizes:
        by_type[op_type].append(waiting)
    return by_type


def numpy_name(element: ov.Type) -> str:
    """Return the NumPy name of an element type; OpenVINO's own if NumPy has none."""
    name = element.get_type_name()
    return _ELEMENT.get(name) or re.sub(r"^([iu])(?=\d)", lambda kind: {"i": "int", "u": "uint"}[kind[0]], name)


_NO_NUMBERS = ("string", "resource", "variant")


def with_ends(model: ov.Model, description: Description, name: str, title: str) -> ov.Model:
    """Return a model with the inputs and outputs of a description, in its order and under its names.

    ``name`` is that of the source. Raises UnsupportedLayerError if the frontend, of this ``title``, drops one.
    """
    inputs = {name: node for node in model.get_parameters() for name in node.output(0).get_names()}
    # The tensor of a replaced operation has no names, if it is an output.
    results = {node.get_friendly_name(): node for node in model.get_results()}
    results |= {name: node for node in model.get_results() for name in node.output(0).get_names()}
    for known, listed in ((inputs, description.inputs), (results, description.outputs)):
        for end in (end for end in listed if end.tensor not in known):
            raise UnsupportedLayerError(f"OpenVINO's {title} frontend drops {end.name!r}, an input or output", name)
    check_numbers([(end.name, end.dtype) for end in (*description.inputs, *description.outputs)], name)
    names = {(inputs[end.tensor].get_name(), 0): end.name for end in description.inputs}
    ends = [_apart(results[end.tensor], end.name, names) for end in description.outputs]
    try:
        whole = ov.Model(ends, [inputs[end.tensor] for end in description.inputs], Path(name).stem or "model")
    except RuntimeError as error:  # a file that lists an input twice has two nodes of one name
        problem = f"OpenVINO's {title} frontend does not read the inputs that it lists: {reason(error)}"
        raise UnsupportedLayerError(problem, name) from None
    for port, end in zip([*whole.outputs, *whole.inputs], [*description.outputs, *description.inputs], strict=True):
        _rename(port, end)
    return whole


def check_numbers(ends: Iterable[tuple[str, str]], name: str) -> None:
    """Raise UnsupportedLayerError for an input or output of text, by the names and element types of all."""
    for end, dtype in ends:
        if dtype in _NO_NUMBERS:
            raise UnsupportedLayerError(f"{end!r}, an input or output, is of type {dtype}; expected numbers", name)


def _apart(result: ov.Node, name: str, names: dict[tuple[str, int], str]) -> ov.Node:
    """Return a result whose tensor has no other name, as that of an input or of an output that shares it has.

    ``names`` are those of tensors, by their nodes and ports; that of ``result`` is added.
    """
    source = result.input_value(0)
    if names.setdefault((source.get_node().get_name(), source.get_index()), name) == name:
        return result
    return ops.result(ops.convert(source, source.get_element_type().get_type_name()))


def _rename(port: ov.Output, end: End) -> None:
    port.get_tensor().set_names({end.name})
    port.get_node().set_friendly_name(end.name)


def with_channels_second(model: ov.Model, name: str) -> ov.Model:
    """Return a model whose inputs and outputs of rank 4 are NCHW in place of NHWC; ``name`` is that of its source.

    Their names and order stay. Raises UnsupportedLayerError for an input or output whose rank is dynamic.
    """
    names = [port.get_names() for port in (*model.inputs, *model.outputs)]
    processor = PrePostProcessor(model)
    for ports, end in ((model.inputs, processor.input), (model.outputs, processor.output)):
        for place, port in enumerate(ports):
            if _rank(port, name) == IMAGE_RANK:
                end(place).tensor().set_layout(ov.Layout("NCHW"))
                end(place).model().set_layout(ov.Layout("NHWC"))
    moved = processor.build()
    for port, known in zip((*moved.inputs, *moved.outputs), names, strict=True):
        port.get_tensor().set_names(known)
    return moved


def _rank(port: ov.Output, name: str) -> int:
    rank = port.get_partial_shape().rank
    if rank.is_dynamic:
        problem = f"{port.get_any_name()!r} has a dynamic rank, so its channels cannot be moved"
        raise UnsupportedLayerError(f"{problem}; convert it without --layout", name)
    return int(rank.get_length())
