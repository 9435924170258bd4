"""Whole ONNX models to IR: OpenVINO's own frontend reads the model, our converters stand in it for every resize."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import onnx
import openvino as ov
from openvino.frontend import FrontEndManager
from openvino.frontend.onnx import ConversionExtension

from ir_interp.errors import UnsupportedLayerError
from ir_interp.files.scratch import scratch
from ir_interp.translation.dialect import Semantics

from ..onnx import half_models, neighbours, qoperator
from ..onnx.onnx_files import default_opset, inlined, load_weights, read_file, read_model
from ..onnx.resize_nodes import OPS, nodes, placed
from ..report import FormPolicy, Row
from ..runtimes.messages import reason
from . import metadata, trial
from .builder import Builder
from .cures import Cure, cure_for, fill_empties, has_empties
from .node_names import number_anew
from .ties import settle


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
    if semantics is Semantics.OBSERVED:
        neighbours.check_observed(nodes(source))
    read = read_model(source)
    trial.check(source, read)
    opset = default_opset(read, source.name)
    lone = _fed_to_lone_resizes(read)

    def builder() -> Builder:
        return Builder(source.name, opset, semantics, policy or FormPolicy(), lone, names)

    with scratch() as folder:
        path = _without_functions(source, folder)
        path = qoperator.in_plain_operators(path, folder) if qoperator.quantised_operators(read) else path
        path = _with_empties(path, folder) if has_empties(read) else path
        halves = half_models.is_half(path)
        path = half_models.in_float32(path, folder, keeps_ends=True) if halves else path
        try:
            built = _converted(path, builder())
        except UnsupportedLayerError as refusal:
            cure = cure_for(str(refusal.__cause__))
            if cure is None:
                raise
            built = _converted(_cured(path, cure, folder), builder())
        metadata.keep(built.model, read)
        return replace(built, halves=halves)


def _without_functions(source: Path, folder: Path) -> Path:
    """Return a model without local functions, which the frontend does not read: itself, or a copy with its weights."""
    model = read_file(source)
    if not model.functions:
        return source
    return _saved(load_weights(inlined(model, source.name), source), folder / "inlined.onnx")


def _with_empties(source: Path, folder: Path) -> Path:
    """Write a model in which no constant is without elements, with its weights; return where."""
    model = load_weights(read_file(source), source)
    fill_empties(model)
    return _saved(model, folder / "filled.onnx")


def _cured(source: Path, cure: Cure, folder: Path) -> Path:
    """Write a model that the frontend refuses in a form that it may not, with its weights; return where."""
    model = load_weights(read_file(source), source)
    cure.apply(model)
    return _saved(model, folder / "cured.onnx")


def _saved(model: onnx.ModelProto, path: Path) -> Path:
    """Write a model, its larger weights beside it; return where."""
    beside = path.with_suffix(".bin").name
    onnx.save(model, str(path), save_as_external_data=True, location=beside, size_threshold=2**20)
    return path


def _converted(source: Path, builder: Builder) -> Built:
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
        said = f"OpenVINO's ONNX frontend refuses it: {reason(error)}"
        raise UnsupportedLayerError(said + (_ADVICE if _OPTIMIZED in said else ""), builder.file) from error
    number_anew(model)  # before nodes are told by their names
    return Built(model=model, rows=builder.rows(), exact=builder.nodes() | settle(model))


def _fed_to_lone_resizes(model: onnx.ModelProto) -> frozenset[str]:
    """Return the inputs of a model that a resize takes whose result is an output."""
    ends = {each.name for each in model.graph.output}
    taken = {node.input[0] for node in model.graph.node if node.op_type in OPS and node.output[0] in ends}
    return frozenset(taken & {each.name for each in model.graph.input})


_OPTIMIZED = "com.microsoft.nchwc."  # the domain of what onnxruntime writes for the processor it runs on
_ADVICE = "; onnxruntime optimized it for one kind of processor: give the model that this was made from"
_INCOMPLETE = "Conversion is failed for"  # operations, by the frontend, which goes on with others
