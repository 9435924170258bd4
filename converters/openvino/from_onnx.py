"""Whole ONNX models to IR: OpenVINO's own frontend reads the model, our converters replace its own for every resize."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import onnx
import openvino as ov

from ir_interp.errors import UnsupportedLayerError
from ir_interp.files.scratch import scratch
from ir_interp.translation.dialect import Semantics

from ..onnx import half_models, neighbours, qoperator
from ..onnx.onnx_files import default_opset, inlined, load_weights, read_file, read_model
from ..onnx.resize_nodes import OPS, nodes, placed
from ..reports.conversion_report import FormPolicy
from . import trial
from .builder import Builder, Built
from .cures import Cure, cure_for, fill_empties, has_empties
from .exact_integers import settle_integers
from .node_names import number_anew
from .ties import settle


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
        return Builder(
            file=source.name, opset=opset, semantics=semantics, policy=policy or FormPolicy(), lone=lone, names=names
        )

    with scratch() as folder:
        path = _without_functions(source, folder)
        path = qoperator.in_plain_operators(path, folder) if qoperator.quantised_operators(read) else path
        # Each of these steps writes another file, and only if the model needs it.
        path = _with_empties(path, folder) if has_empties(read) else path
        halves = half_models.is_half(path)
        path = half_models.in_float32(path, folder, keeps_ends=True) if halves else path
        try:
            built = _converted(path, builder())
        except UnsupportedLayerError as refusal:
            # A cure changes the model, so it is tried only after a refusal.
            cure = cure_for(str(refusal.__cause__))
            if cure is None:
                raise
            built = _converted(_cured(path, cure, folder), builder())
        keep_metadata(built.model, read)
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
    try:
        model = builder.read(OPS, source)
    except UnsupportedLayerError as refusal:
        if _OPTIMIZED not in refusal.problem:
            raise
        raise UnsupportedLayerError(refusal.problem + _ADVICE, refusal.where) from refusal.__cause__
    new_nodes = settle_integers(model, builder.nodes())
    new_nodes = [*new_nodes, *settle(model)]
    number_anew(model)  # after the last new node, and before nodes are identified by their names
    exact = builder.nodes() | {node.get_friendly_name() for node in new_nodes}
    return Built(model=model, rows=builder.rows(), exact=exact)


def _fed_to_lone_resizes(model: onnx.ModelProto) -> frozenset[str]:
    """Return the inputs of a model that a resize takes whose result is an output."""
    ends = {value.name for value in model.graph.output}
    taken = {node.input[0] for node in model.graph.node if node.op_type in OPS and node.output[0] in ends}
    return frozenset(taken & {value.name for value in model.graph.input})


_OPTIMIZED = "com.microsoft.nchwc."  # the domain of operators that onnxruntime writes for the current processor
_ADVICE = "; onnxruntime optimized it for one kind of processor; convert the model that it was optimized from"


_FRAMEWORK = "framework"
_SECTIONS = ("model_info", "runtime_options")
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def keep_metadata(model: ov.Model, source: onnx.ModelProto) -> None:
    """Copy the source's metadata into a model: its name, docs, metadata, and layouts and further names of its ends.

    The last are in the metadata of models that were IRs; the frontend copies metadata unchanged, and no name.
    """
    entries = {entry.key: _UNFIT.sub("\ufffd", entry.value) for entry in source.metadata_props}
    if source.graph.name:
        model.set_friendly_name(source.graph.name)
    ends = {name: end for end in (*model.inputs, *model.outputs) for name in end.names}
    for name, layout in _by_name(entries.pop("layouts", "")).items():
        if name in ends and isinstance(layout, str):
            with suppress(RuntimeError):  # none, or of another rank
                ends[name].node.set_layout(ov.Layout(layout))
    for name, others in _by_name(entries.pop("tensor_names", "")).items():
        if name in ends and isinstance(others, list):
            ends[name].add_names({str(other) for other in others})
    docs = _UNFIT.sub("\ufffd", source.doc_string)
    with suppress(KeyError):
        del model.get_rt_info()[_FRAMEWORK]
    for key, text in (entries | ({"doc_string": docs} if docs else {})).items():
        section, _, rest = key.partition(".")
        model.set_rt_info(text, key.split(".") if section in _SECTIONS and rest else [_FRAMEWORK, key])


def _by_name(text: str) -> dict[str, object]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
