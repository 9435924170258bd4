"""Whole ONNX models to IR: OpenVINO's own frontend reads the model, our converters stand in it for every resize."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import openvino.opset13 as ops
from openvino.frontend import FrontEndManager, NodeContext
from openvino.frontend.onnx import ConversionExtension
from openvino.passes import ConstantFolding, Manager

from ir_interp.errors import InexactError, IrInterpError, UnsupportedLayerError
from ir_interp.op import ResizeOp, read
from ir_interp.scratch import scratch
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.spec import Aspect, AtRunTime, Crop, Sizes
from ir_interp.translation.dialect import Context, Semantics

from ..dialects.onnx import DIALECT, with_roi
from ..onnx import precision, qoperator
from ..onnx.files import default_opset, read_model
from ..onnx.resizes import OPS, dialect_version, given_names, placed
from ..report import FormPolicy, Row
from . import trial
from .cures import Cure, cure_for, fill_empties, has_empties
from .resize import Resized, RunTime, partial_shape, resize
from .ties import settle

_ELEMENT = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "boolean": "bool"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A model, what became of each resize, and the names of the nodes that resizes became.

    ``halves`` says that the model was in half precision: it is built in float32, with the same weights.
    """

    model: ov.Model
    rows: tuple[Row, ...]
    exact: frozenset[str]
    halves: bool = False


def build(source: Path, semantics: Semantics = Semantics.RUNTIME, policy: FormPolicy | None = None) -> Built:
    """Return an ONNX model as an OpenVINO model, that of one in half precision in float32 between its ends.

    For the frontend loses more of half precision than the model does: it computes parts of it before they are run. A
    model of quantised operators is built of plain ones between quantisations: some of them the frontend reads wrongly.
    Raises an ExceptionGroup of InexactError, one for each resize that has no exact form; UnsupportedLayerError where
    OpenVINO's frontend refuses the rest of the model, ReadError where it dies of it.
    """
    names = {output: op.name for op, output in placed(source, semantics)}  # first: what cannot be read is said as such
    read = read_model(source)
    trial.check(source, read)
    opset = default_opset(read, source.name)
    lone = _fed_to_lone_resizes(read)

    def builder() -> _Builder:
        return _Builder(source.name, opset, semantics, policy or FormPolicy(), lone, names)

    with scratch() as folder:
        path = qoperator.in_plain_operators(source, folder) if qoperator.quantised_operators(read) else source
        path = _with_empties(path, folder) if has_empties(read) else path
        halves = precision.is_half(source)
        path = precision.in_float32(path, folder, keeps_ends=True) if halves else path
        try:
            built = _converted(path, builder())
        except UnsupportedLayerError as refusal:
            cure = cure_for(str(refusal.__cause__))
            if cure is None:
                raise
            built = _converted(_cured(path, cure, folder), builder())
        return replace(built, halves=halves)


def _with_empties(source: Path, folder: Path) -> Path:
    """Write a model in which no constant is without elements, with its weights; return where."""
    model = onnx.load(str(source))
    fill_empties(model)
    onnx.save(model, folder / "filled.onnx", save_as_external_data=True, location="filled.bin", size_threshold=2**20)
    return folder / "filled.onnx"


def _cured(source: Path, cure: Cure, folder: Path) -> Path:
    """Write a model that the frontend refuses in a form that it may not, with its weights; return where."""
    model = onnx.load(str(source))
    cure.apply(model)
    onnx.save(model, folder / "cured.onnx", save_as_external_data=True, location="cured.bin", size_threshold=2**20)
    return folder / "cured.onnx"


def _converted(source: Path, builder: _Builder) -> Built:
    """Return what the frontend makes of a file, and our converters of its resizes."""
    frontend = FrontEndManager().load_by_framework("onnx")
    for op in OPS:
        frontend.add_extension(ConversionExtension(op, builder.converter(op)))
    try:
        model = frontend.convert(frontend.load(str(source)))
    except Exception as error:  # the frontend raises several types, all without a common base of its own
        if builder.errors:
            raise builder.errors[0] from None
        if _INCOMPLETE not in str(error):  # else what it leaves out is the cause of refusals
            builder.rows()  # what stands in for refused resizes makes no whole model
        raise UnsupportedLayerError(f"OpenVINO's ONNX frontend refuses it: {_reason(error)}", builder.file) from error
    return Built(model=model, rows=builder.rows(), exact=builder.nodes() | settle(model))


def _fed_to_lone_resizes(model: onnx.ModelProto) -> frozenset[str]:
    """Return the inputs of a model that a resize takes whose result is an output."""
    ends = {each.name for each in model.graph.output}
    taken = {node.input[0] for node in model.graph.node if node.op_type in OPS and node.output[0] in ends}
    return frozenset(taken & {each.name for each in model.graph.input})


_INCOMPLETE = "Conversion is failed for"  # operations, by the frontend, which goes on with others
_PLACES = re.compile(r"(Exception from|Check '.*?' failed at) \S+:\d+:?")
_HEADINGS = ("FrontEnd API failed", "Model wasn't fully converted", "Summary:", "Loading input model")


def _reason(error: Exception) -> str:
    """Return which operation the frontend refuses, and why, without the places in its source."""
    lines = (line.strip().removeprefix("-- ") for line in _PLACES.sub("", str(error)).splitlines())
    telling = [line for line in lines if line and not line.startswith(_HEADINGS)]
    return "; ".join(telling or [type(error).__name__]).replace(":; ", ": ")


@dataclass(slots=True)
class _Builder:
    """Converts nodes as the frontend meets them, and remembers what became of each."""

    file: str
    opset: int
    semantics: Semantics
    policy: FormPolicy
    lone: frozenset[str]
    names: dict[str, str]
    found: list[tuple[ResizeOp, ov.Output, Resized | InexactError]] = field(default_factory=list)
    errors: list[IrInterpError] = field(default_factory=list)

    def converter(self, op: str) -> Callable[[NodeContext], list[ov.Output]]:
        """Return the function that the frontend calls for every node of type ``op``."""

        def convert_node(node: NodeContext) -> list[ov.Output]:
            try:
                return [self._convert(op, node)]
            except IrInterpError as error:
                self.errors.append(error)
                raise

        return convert_node

    def _convert(self, op_type: str, node: NodeContext) -> ov.Output:
        x = node.get_input(0)
        op, given = self._read(op_type, node, x)
        try:
            made = resize(x, op, given, self.policy, alone=not self.lone.isdisjoint(x.get_names()))
        except InexactError as error:
            output = _stand_in(x, op)
            self.found.append((op, output, error))
            return output
        self.found.append((op, made.output, made))
        return made.output

    def _read(self, op_type: str, node: NodeContext, x: ov.Output) -> tuple[ResizeOp, RunTime]:
        """Return a node as a resize, and what it takes at run time."""
        where = f"{self.file}:{op_type}"
        version = dialect_version(op_type, self.opset, where)
        inputs = _inputs(node, given_names(version))
        constants = {name: _constant(value) for name, value in inputs.items()}
        given = {name: value for name, value in constants.items() if value is None or not _is_empty(value)}
        attributes = _attributes(node) | {n: None if v is None else v.ravel().tolist() for n, v in given.items()}
        dtype = _numpy_name(x.get_element_type())
        context = Context(version=version, shape=partial_shape(x), dtype=dtype, semantics=self.semantics)
        op = read(DIALECT, with_roi(attributes, context.shape), context, name="", where=where)
        if not isinstance(op.spec.target, AtRunTime):
            return op, RunTime(roi=inputs.get("roi"))
        op, target = _narrowed(op, x, inputs[op.spec.target.value])
        return op, RunTime(target=target, roi=inputs.get("roi"))

    def rows(self) -> tuple[Row, ...]:
        """Return a row for each resize, or raise all refusals together."""
        refusals = []
        rows = []
        for op, output, result in self.found:
            name = self._name(output)
            if isinstance(result, InexactError):
                refusals.append(result.of(name))
            else:
                source = replace(op, name=name, where=f'{op.where}["{name}"]')
                rows.append(Row(name=name, source=source, form=result.form, grade=result.grade, note=result.note))
        if refusals:
            raise ExceptionGroup(f"{len(refusals)} of {len(self.found)} resizes have no exact form", refusals)
        return tuple(rows)

    def _name(self, output: ov.Output) -> str:
        """Return the name of a resize: its node's in ONNX, else what the frontend made of it."""
        known = (self.names[name] for name in output.get_names() if name in self.names)
        return next(known, output.get_node().get_friendly_name())

    def nodes(self) -> frozenset[str]:
        """Return the names of the nodes of all resizes."""
        made = (result for _, _, result in self.found if isinstance(result, Resized))
        return frozenset(node.get_friendly_name() for result in made for node in result.nodes)


def _inputs(node: NodeContext, names: tuple[str, ...]) -> dict[str, ov.Output]:
    """Return the inputs that are connected, by name; the frontend shows an omitted one as a NullNode."""
    connected = {}
    for index, name in enumerate(names, start=1):
        if index < node.get_input_size():
            value = node.get_input(index)
            if value.get_node().get_type_name() != "NullNode":
                connected[name] = value
    return connected


def _attributes(node: NodeContext) -> dict[str, Any]:
    names = {*DIALECT.vocabulary, *(name for name, _ in DIALECT.numbers.values())} - {"sizes", "roi"}
    return {name: node.get_attribute(name) for name in sorted(names) if node.has_attribute(name)}


def _constant(value: ov.Output) -> np.ndarray[Any, Any] | None:
    """Return the value of an expression of constants; None where it depends on an input."""
    node = value.get_node()
    if node.get_type_name() == "Constant":
        return np.array(node.data)
    try:
        model = ov.Model([ops.result(value)], [], "constant")
    except RuntimeError:  # a Parameter is reachable
        return None
    manager = Manager()
    manager.register_pass(ConstantFolding())
    manager.run_passes(model)
    folded = model.get_results()[0].input_value(0).get_node()
    return np.array(folded.data) if folded.get_type_name() == "Constant" else None


def _is_empty(value: np.ndarray[Any, Any]) -> bool:
    """Say whether a constant means "not given": the frontend makes a scalar of an empty initialiser."""
    return value.ndim == 0 or value.size == 0


def _narrowed(op: ResizeOp, x: ov.Output, target: ov.Output) -> tuple[ResizeOp, ov.Output | None]:
    """Return ``op`` without the axes that are known to keep their length, and with sizes that are known after all."""
    spec, shape = op.spec, op.shape
    if shape is None or isinstance(spec.coordinates, Crop) or spec.aspect is not Aspect.STRETCH:
        return op, target
    axes = resolve_axes(spec.axes, len(shape))
    lengths = _known_sizes(target) if spec.gives_sizes else (None,) * len(axes)
    places = [
        place
        for place, axis in enumerate(axes)
        if not (shape[axis] is not None and shape[axis] == lengths[place]) and not _keeps(target, place, x, axis)
    ]
    narrowed = replace(spec, axes=tuple(axes[place] for place in places))
    known = [length for place in places if (length := lengths[place]) is not None]
    if len(known) == len(places):
        return replace(op, spec=replace(narrowed, target=Sizes(tuple(known)))), None
    return replace(op, spec=narrowed), ops.gather(target, ops.constant(np.array(places)), ops.constant(0)).output(0)


def _known_sizes(sizes: ov.Output) -> PartialShape:
    """Return the entries of a tensor of sizes that shape inference knows."""
    return partial_shape(ops.broadcast(ops.constant(np.float32(0)), sizes).output(0)) or ()


def _keeps(target: ov.Output, place: int, x: ov.Output, axis: int) -> bool:
    """Say whether an entry of sizes or scales leaves ``axis`` of ``x`` as it is: its own length, or a scale of 1."""
    origin, entry = _origin(target, place)
    node = origin.get_node()
    if node.get_type_name() == "ShapeOf":
        shaped = node.input(0).get_source_output()
        return _is_same(shaped, x) and entry % len(partial_shape(x) or (1,)) == axis
    scales = _constant(origin) if origin.get_element_type().is_real() else None
    return scales is not None and bool(scales.ravel()[entry] == 1)


def _origin(vector: ov.Output, place: int) -> tuple[ov.Output, int]:
    """Return the vector, and the place in it, that an entry was copied from."""
    node = vector.get_node()
    sources = [each.get_source_output() for each in node.inputs()]
    match node.get_type_name():
        case "Convert" | "Squeeze" | "Unsqueeze" | "Reshape":
            return _origin(sources[0], place)
        case "Concat":
            return _origin_in_piece(vector, sources, place)
        case "Gather":
            indices = _constant(sources[1])
            return _origin(sources[0], int(indices.ravel()[place])) if indices is not None else (vector, place)
        case "Slice":
            start, step = _constant(sources[1]), _constant(sources[3])
            if start is not None and step is not None and step.ravel()[0] == 1:
                return _origin(sources[0], int(start.ravel()[0]) + place)
    return vector, place


def _origin_in_piece(joined: ov.Output, pieces: list[ov.Output], place: int) -> tuple[ov.Output, int]:
    rest = place
    for piece in pieces:
        shape = partial_shape(piece)
        if shape is None or len(shape) != 1 or shape[0] is None:
            break
        if rest < shape[0]:
            return _origin(piece, rest)
        rest -= shape[0]
    return joined, place


def _is_same(left: ov.Output, right: ov.Output) -> bool:
    return bool(left.get_node() == right.get_node()) and left.get_index() == right.get_index()


def _stand_in(x: ov.Output, op: ResizeOp) -> ov.Output:
    """Return something of the same rank in place of a refused resize, so that later ones are seen as well.

    Where there is no rank, another operation was refused before: only a model without new inputs lets that be said.
    """
    if op.shape is None:
        return ops.convert(x, "f32").output(0)
    return ops.parameter(ov.PartialShape.dynamic(len(op.shape)), x.get_element_type()).output(0)


def _numpy_name(element: ov.Type) -> str:
    """Return the NumPy name of an element type; of one that NumPy lacks, OpenVINO's own."""
    name = element.get_type_name()
    return _ELEMENT.get(name) or re.sub(r"^([iu])(?=\d)", lambda kind: {"i": "int", "u": "uint"}[kind[0]], name)
