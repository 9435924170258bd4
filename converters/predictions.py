"""Predictions of how a runtime computes a resize, made without running it.

``RUNTIMES`` is the table for nodes of an ONNX model, with others for layers of an IR and operators of TFLite. Before it
stand predictions that need more than a runtime's own facts: the results of this program's conversions, from
the writers themselves; and how TensorRT's ONNX importer reads a node, as a layer of its dialect. ``completed`` adds
ranks that ONNX's shape inference does not find, but OpenVINO's frontend does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ir_interp.errors import InexactError, IrInterpError, SpecError
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes
from ir_interp.specs import Scales, Sizes
from ir_interp.translation.dialect import Context
from ir_interp.translation.translate import write

from .dialects.tensorrt import DIALECT, DIALECT as TENSORRT
from .onnx import neighbours
from .onnx.neighbours import may_change
from .onnx.resize_nodes import ResizeNode
from .runtimes import litert, onnxruntime, openvino, reference, tensorrt, tensorrt as tensorrt_facts
from .runtimes.onnxruntime_providers import PROVIDERS, Provider
from .runtimes.others import OtherRuntime, others
from .runtimes.outcome import Edition, Outcome, computes, crashes, refused, resized, unknown
from .runtimes.tensorrt import NEWEST, ImporterEdition, importer_refusal, layer_settings, left_out, unknown_sums


def openvino_converted(op: ResizeOp) -> Outcome:
    """Return how OpenVINO computes the IR that this program writes for a resize."""
    from .openvino.ir_save import interpolate_model

    return _written(op, interpolate_model)


def onnxruntime_converted(op: ResizeOp) -> Outcome:
    """Return how onnxruntime computes the ONNX model that this program writes for a resize."""
    from .onnx.resize_subgraph import resize_model

    return _written(op, resize_model)


def tensorrt_converted(op: ResizeOp) -> Outcome:
    """Return how TensorRT computes a resize by the settings of a layer."""
    return _written(op, lambda op: write(op.spec, TENSORRT, shape=op.shape, dtype=op.dtype, name=op.name))


def _written(op: ResizeOp, writer: Callable[[ResizeOp], object]) -> Outcome:
    try:
        writer(op)
    except (InexactError, SpecError) as refusal:
        return refused(getattr(refusal, "reason", "") or str(refusal))
    return computes(op.spec)


def completed(path: Path, resizes: Sequence[ResizeNode]) -> list[ResizeNode]:
    """Return the resizes of a model; if a rank is unknown, inputs are as the conversion to IR knows them."""
    if all(node.op.shape is not None for node in resizes):
        return list(resizes)
    seen = _seen_by_openvino(path)
    return [
        replace(node, op=replace(node.op, shape=seen[node.op.name].shape))
        if node.op.shape is None and node.op.name in seen
        else node
        for node in resizes
    ]


def _seen_by_openvino(path: Path) -> dict[str, ResizeOp]:
    """Return the resizes that a conversion meets, by name; none if it refuses the model."""
    from .openvino.from_onnx import build

    with suppress(IrInterpError, ExceptionGroup):
        return {row.name: row.source for row in build(path).rows}
    return {}


_AT_RUN_TIME = {"shape": None}  # stands in for an unknown target


def importer(op: ResizeOp, edition: ImporterEdition = NEWEST) -> Outcome:
    """Return how TensorRT's ONNX importer reads a node, by its source; TensorRT itself was not run."""
    reason = importer_refusal(op, edition)
    if reason:
        return refused(reason)
    target = _target(op)
    try:
        spec = DIALECT.parse(layer_settings(op) | (target or _AT_RUN_TIME), _context(op))
    except IrInterpError as error:
        return refused(str(error))
    unknown = unknown_sums(spec, op.dtype)
    if unknown:
        return refused(unknown)
    layer = spec if target else replace(spec, target=op.spec.target, axes=op.spec.axes)
    return computes(layer, left_out(op, edition))


def remarks(op: ResizeOp) -> tuple[tuple[str, str], ...]:
    """Return codes and messages about the importer's layer for a node: reasons why it cannot run on DLA."""
    if importer(op).spec is None:
        return ()
    context = _context(op)
    settings = layer_settings(op) | (_target(op) or _AT_RUN_TIME)
    return tensorrt.remarks(DIALECT.complete(settings, context.version), context)


def layer_remarks(op: ResizeOp) -> tuple[tuple[str, str], ...]:
    """Return codes and messages about the layer that this program writes for a resize; none if it writes none."""
    with suppress(InexactError, SpecError):
        translation = write(op.spec, DIALECT, shape=op.shape, dtype=op.dtype)
        return tensorrt.remarks(DIALECT.complete(translation.attributes, translation.version), _context(op))
    return ()


def _context(op: ResizeOp) -> Context:
    dtype = "float32" if op.dtype == "float64" else op.dtype  # the importer casts doubles
    return Context(version=10, shape=op.shape, dtype=dtype)


def _target(op: ResizeOp) -> dict[str, Any]:
    """Return the target for every axis, as the layer takes it; nothing if unknown."""
    target, shape = op.spec.target, op.shape
    if shape is None or not isinstance(target, Sizes | Scales):
        return {}
    by_axis = dict(zip(resolve_axes(op.spec.axes, len(shape)), target.values, strict=True))
    if isinstance(target, Scales):
        return {"scales": tuple(float(by_axis.get(axis, 1.0)) for axis in range(len(shape)))}
    whole = [by_axis.get(axis, size) for axis, size in enumerate(shape)]
    return {} if None in whole else {"shape": tuple(whole)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A runtime: the version that its rules were observed in, and the outcome of a resize there.

    ``among_others`` returns the outcome of a node that depends on the nodes around it; None if they make no difference.
    ``of_node``, if there is one, knows more about a node of a model than ``predict`` about the resize alone. A runtime
    that is not ``is_asked`` must be selected by name.
    """

    title: str
    version: str
    predict: Callable[[ResizeOp], Outcome]
    among_others: Callable[[ResizeNode], Outcome | None] = lambda node: None
    of_node: Callable[[ResizeNode], Outcome] | None = None
    is_asked: bool = True


def _refuses_functions(node: ResizeNode) -> Outcome | None:
    return refused("it refuses a model that calls local functions; inline them") if node.calls_functions else None


def _not_run_with_functions(node: ResizeNode) -> Outcome | None:
    return unknown("a model that calls local functions; inline them") if node.calls_functions else None


def _other(other: OtherRuntime) -> Runtime:
    return Runtime(
        title=other.title,
        version=other.version,
        predict=lambda op: other.outcome(op, resized(op), op),
        of_node=lambda node: of_other(other, node),
        among_others=_refuses_functions if other.refuses_functions else _not_run_with_functions,
        is_asked=False,
    )


def of_other(other: OtherRuntime, node: ResizeNode) -> Outcome:
    """Return the outcome of a node of a model in one of the other runtimes."""
    levels = neighbours.levels_before(node) if other.of_levels else None
    if other.of_levels and levels:
        return other.of_levels(other.outcome(node.op, may_change(node), node.stated), node.op, levels)
    if other.with_computed_scales and neighbours.computes_scales_of_constants(node):
        return other.with_computed_scales(node.op, may_change(node), node.stated)
    if node.op.version not in other.counts_inputs or all(map(node.tensor, _BEFORE_SIZES)):
        return other.outcome(node.op, may_change(node), node.stated)
    present = sum(map(bool, node.node.input))
    reason = "it locates roi and scales by their position among the inputs that are present"
    return crashes(reason) if present <= len(_BEFORE_SIZES) else refused(reason)


_BEFORE_SIZES = ("roi", "scales")  # inputs between the data and the sizes


def _of_release(title: str, edition: Edition) -> Runtime:
    return Runtime(
        title=title.format(edition.version), version=edition.version, predict=edition.outcome, is_asked=False
    )


def _of_provider(provider: Provider) -> Runtime:
    return Runtime(
        title=provider.title,
        version=provider.source,
        predict=provider.outcome,
        among_others=neighbours.in_providers,
        is_asked=False,
    )


def _in_onnxruntime(name: str, edition: Edition, node: ResizeNode) -> Outcome | None:
    dtype = neighbours.quantised_type(node) if name in onnxruntime.DROP_QUANTISATION else None
    in_levels = onnxruntime.in_levels(edition, node.op, dtype) if dtype else None
    return in_levels or neighbours.in_onnxruntime(node)


_FRONTEND = "OpenVINO {}, own frontend"
_NO_NODES = unknown("ONNX nodes in this release; convert the model to an IR first")


def _importer(name: str) -> Runtime:
    edition = tensorrt_facts.EDITIONS[name]
    return Runtime(
        title=f"TensorRT {name}'s importer",
        version=f"{name}, by {edition.source}",
        predict=lambda op: importer(op, edition),
        among_others=lambda node: None if edition.takes_functions else _not_run_with_functions(node),
        is_asked=False,
    )


RUNTIMES: Mapping[str, Runtime] = {
    "onnxruntime": Runtime(
        title="onnxruntime",
        version=onnxruntime.VERSION,
        predict=onnxruntime.outcome,
        among_others=neighbours.in_onnxruntime,
        of_node=lambda node: onnxruntime.outcome(node.op, may_change(node)),
    ),
    "openvino": Runtime(
        title="OpenVINO, own frontend",
        version=openvino.VERSION,
        predict=openvino.frontend,
        of_node=lambda node: openvino.among_known(node.op, may_change(node), node.stated),
        among_others=_refuses_functions,
    ),
    "openvino-converted": Runtime(
        title="OpenVINO, converted here", version=openvino.VERSION, predict=openvino_converted
    ),
    "tensorrt": Runtime(title="TensorRT's importer", version=tensorrt_facts.VERSION, predict=importer),
    "reference": Runtime(title="ONNX reference", version=reference.VERSION, predict=reference.outcome),
    **{
        f"onnxruntime:{name}": replace(
            _of_release("onnxruntime {}", edition), among_others=partial(_in_onnxruntime, name, edition)
        )
        for name, edition in onnxruntime.EDITIONS.items()
    },
    **{name: _of_provider(provider) for name, provider in PROVIDERS.items()},
    # Releases in which only layers of IRs were run come first: those that also ran nodes replace them.
    **{
        f"openvino:{name}": replace(_of_release(_FRONTEND, edition), predict=lambda op: _NO_NODES)
        for name, edition in openvino.LAYER_EDITIONS.items()
    },
    **{
        f"openvino:{name}": replace(_of_release(_FRONTEND, edition), among_others=_not_run_with_functions)
        for name, edition in openvino.EDITIONS.items()
    },
    **{f"tensorrt:{name}": _importer(name) for name in tensorrt_facts.EDITIONS},
    **{name: _other(runtime) for name, runtime in others().items()},
}
"""For nodes of ONNX models. The last ones must be named: installed packages must not change a report."""

LAYER_RUNTIMES: Mapping[str, Runtime] = {
    "openvino": Runtime(title="OpenVINO", version=openvino.VERSION, predict=openvino.layer),
    "onnxruntime": Runtime(
        title="onnxruntime, converted here", version=onnxruntime.VERSION, predict=onnxruntime_converted
    ),
    "tensorrt": Runtime(title="TensorRT, converted here", version="10", predict=tensorrt_converted),
    **{f"openvino:{name}": _of_release("OpenVINO {}", edition) for name, edition in openvino.LAYER_EDITIONS.items()},
}
"""For layers of IRs."""

OPERATOR_RUNTIMES: Mapping[str, Runtime] = {
    "litert": Runtime(title="LiteRT", version=litert.VERSION, predict=litert.outcome),
    "onnxruntime": LAYER_RUNTIMES["onnxruntime"],
    "openvino": Runtime(title="OpenVINO, converted here", version=openvino.VERSION, predict=openvino_converted),
    "tensorrt": LAYER_RUNTIMES["tensorrt"],
}
"""For operators of TFLite files."""

_OF_DIALECT = {"onnx": RUNTIMES, "openvino": LAYER_RUNTIMES, "tflite": OPERATOR_RUNTIMES}


def runtimes_of(op: ResizeOp) -> Mapping[str, Runtime]:
    """Return the runtimes of an audit for a resize, by name."""
    return runtimes_for(op.dialect)


def runtimes_for(dialect: str) -> Mapping[str, Runtime]:
    """Return the runtimes of an audit for the resizes of a dialect, by name."""
    return _OF_DIALECT.get(dialect, {})


INSTALLED = "installed"
NAMES = (*dict.fromkeys(name for those in _OF_DIALECT.values() for name in those), INSTALLED)
"""All runtimes; the last stands for several."""


def named(words: Sequence[str]) -> frozenset[str]:
    """Return runtimes by name; ``installed`` stands for those of every audit and others that are installed."""
    names = {name for name in words if name != INSTALLED}
    if INSTALLED in words:
        names |= {name for those in _OF_DIALECT.values() for name, runtime in those.items() if runtime.is_asked}
        names |= {name for name, runtime in others().items() if runtime.is_installed}
    return frozenset(names)
