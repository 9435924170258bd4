"""Whole ONNX models to IR: OpenVINO's own frontend reads the model, our converters replace its own for every resize."""

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
    """A model, the rows of its resizes, and the names of the nodes that resizes became.

    ``halves`` marks a model in half precision: it is built in float32, with the same weights.
    """

    model: ov.Model
    rows: tuple[Row, ...]
    exact: frozenset[str]
    halves: bool = False


def build(source: Path, semantics: Semantics = Semantics.RUNTIME, policy: FormPolicy | None = None) -> Built:
    """Return an ONNX model as an OpenVINO model; one in half precision as float32 between its ends.

    The frontend loses more of half precision than the model does: it computes parts of it in advance. A
    model of quantised operators is built of plain ones between quantisations, since the frontend reads some wrongly.
    Raises an ExceptionGroup of InexactError, one for each resize without an exact form; UnsupportedLayerError if
    OpenVINO's frontend refuses the rest of the model, ReadError if it dies of it.
    """
    names = {output: op.name for op, output in placed(source, semantics)}  # first: reports unreadable files
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
    """Write a model in which no constant is empty, with its weights; return its path."""
    model = load_weights(read_file(source), source)
    fill_empties(model)
    return _saved(model, folder / "filled.onnx")


def _cured(source: Path, cure: Cure, folder: Path) -> Path:
    """Write a refused model in a form that the frontend may accept, with its weights; return its path."""
    model = load_weights(read_file(source), source)
    cure.apply(model)
    return _saved(model, folder / "cured.onnx")


def _saved(model: onnx.ModelProto, path: Path) -> Path:
    """Write a model, its larger weights beside it; return its path."""
    beside = path.with_suffix(".bin").name
    onnx.save(model, str(path), save_as_external_data=True, location=beside, size_threshold=2**20)
    return path


def _converted(source: Path, builder: Builder) -> Built:
    """Return the frontend's result for a file, with our converters for its resizes."""
    frontend = FrontEndManager().load_by_framework("onnx")
    for op in OPS:
        frontend.add_extension(ConversionExtension(op, builder.converter(op)))
    try:
        model = frontend.convert(frontend.load(str(source)))
    except Exception as error:  # the frontend raises several types without a common base class
        if builder.errors:
            raise builder.errors[0] from None
        if _INCOMPLETE not in str(error):  # otherwise the omitted part is the cause of refusals
            builder.rows()  # the placeholders of refused resizes make no complete model
        said = f"OpenVINO's ONNX frontend refuses it: {reason(error)}"
        raise UnsupportedLayerError(said + (_ADVICE if _OPTIMIZED in said else ""), builder.file) from error
    number_anew(model)  # before nodes are identified by their names
    return Built(model=model, rows=builder.rows(), exact=builder.nodes() | settle(model))


def _fed_to_lone_resizes(model: onnx.ModelProto) -> frozenset[str]:
    """Return the inputs of a model that a resize takes whose result is an output."""
    ends = {each.name for each in model.graph.output}
    taken = {node.input[0] for node in model.graph.node if node.op_type in OPS and node.output[0] in ends}
    return frozenset(taken & {each.name for each in model.graph.input})


_OPTIMIZED = "com.microsoft.nchwc."  # the domain of operators that onnxruntime writes for the current processor
_ADVICE = "; onnxruntime optimized it for one kind of processor; convert the model that it was optimized from"
_INCOMPLETE = "Conversion is failed for"  # a message about operations; the frontend goes on with others
