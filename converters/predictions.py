"""Predictions of how a runtime computes a resize, made without running it.

First stand predictions that need more than a runtime's own facts: the results of this program's conversions, from the
writers themselves; how TensorRT's ONNX importer reads a node, as a layer of its dialect; and what the graph around a
node changes. The tables for nodes of ONNX, layers of an IR and operators of TFLite follow from these and from the
records of ``runtimes/``. ``completed`` adds ranks that ONNX's shape inference does not find, but OpenVINO's frontend
does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ir_interp.errors import InexactError, IrInterpError, SpecError
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes
from ir_interp.specs import Cubic, Scales, Sizes
from ir_interp.translation.dialect import Context
from ir_interp.translation.translate import write

from .dialects.tensorrt import DIALECT
from .onnx import neighbours
from .onnx.neighbours import may_change
from .onnx.resize_nodes import ResizeNode
from .runtimes import onnxruntime, onnxruntime_providers, openvino, tensorrt
from .runtimes.onnxruntime_optimiser import DROP_QUANTISATION, in_levels
from .runtimes.onnxruntime_providers import LEFT_TO_CPU, left_to_cpu
from .runtimes.outcome import Functions, Kind, Outcome, Rounded, computes, crashes, refused, resized, unknown
from .runtimes.runtime import OfResize, OfRounded, Release, Runtime, runtimes
from .runtimes.tensorrt import (
    NEWEST,
    Importer,
    importer_refusal,
    is_open_cubic,
    layer_settings,
    left_out,
    refusal_of_computed_scales,
    unknown_sums,
)


def openvino_converted(op: ResizeOp) -> Outcome:
    """Return how OpenVINO computes the IR that this program writes for a resize."""
    from .openvino.ir_save import interpolate_model

    return _written(op, interpolate_model)


def onnxruntime_converted(op: ResizeOp) -> Outcome:
    """Return how onnxruntime computes the ONNX model that this program writes for a resize."""
    from .onnx.resize_form import resize_model

    return _written(op, resize_model)


def tensorrt_converted(op: ResizeOp) -> Outcome:
    """Return how TensorRT computes a resize by the settings of a layer."""
    return _written(op, lambda op: write(op.spec, DIALECT, shape=op.shape, dtype=op.dtype, name=op.name))


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


def importer(op: ResizeOp, by: Importer = NEWEST, stated: ResizeOp | None = None) -> Outcome:
    """Return how TensorRT's ONNX importer reads a node; ``stated`` is the node with the shape of its file."""
    reason = importer_refusal(stated or op, by)
    if reason:
        return refused(reason)
    target = _target(op)
    try:
        spec = DIALECT.parse(layer_settings(op) | (target or _AT_RUN_TIME), _context(op))
    except IrInterpError as error:
        return (
            unknown(f"a layer that the builder takes, although {error}") if is_open_cubic(op) else refused(str(error))
        )
    if unknown_sums(spec, op.dtype):
        return unknown(f"how TensorRT rounds sums of {op.dtype}")
    layer = spec if target else replace(spec, target=op.spec.target, axes=op.spec.axes)
    return computes(layer, left_out(op, by))


def _importer_of_node(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    return importer(op, stated=stated)


def _importer_of_computed_scales(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    reason = refusal_of_computed_scales(stated)
    outcome = refused(reason) if reason else importer(op, stated=stated)
    if outcome.kind is Kind.REFUSED and not (reason or importer_refusal(stated)):  # tested for constant scales only
        return unknown(f"a layer with computed sizes, although {outcome.reason}")
    return outcome


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


def _target(op: ResizeOp) -> dict[str, object]:
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
class Predictor:
    """How to predict the resizes of a dialect in a runtime: ``title`` and ``version`` are those that reports state.

    ``among_others`` returns the outcome of a node that depends on the nodes around it; None if they make no difference.
    ``of_node``, if there is one, knows more about a node of a model than ``predict`` about the resize alone.
    ``of_rounded`` is for layers of an IR behind FakeQuantize layers. A runtime that is not ``is_asked`` must be
    selected by name.
    """

    title: str
    version: str
    predict: Callable[[ResizeOp], Outcome]
    among_others: Callable[[ResizeNode], Outcome | None] = lambda node: None
    of_node: Callable[[ResizeNode], Outcome] | None = None
    of_rounded: OfRounded = lambda op, rounded: None
    is_asked: bool = True

    def of_layer(self, op: ResizeOp, rounded: tuple[Rounded, ...]) -> Outcome:
        """Return the outcome of a layer of an IR behind FakeQuantize layers."""
        alone = self.predict(op)
        return (self.of_rounded(op, rounded) if alone.spec is not None else None) or alone


def in_graph(runtime: Runtime, node: ResizeNode) -> Outcome:
    """Return the outcome of a node of a model in a runtime."""
    levels = neighbours.levels_before(node) if runtime.of_levels else None
    if runtime.of_levels and runtime.of_node and levels:
        return runtime.of_levels(runtime.of_node(node.op, may_change(node), node.stated), node.op, levels)
    if runtime.with_computed_scales and neighbours.computes_scales_of_constants(node):
        return runtime.with_computed_scales(node.op, may_change(node), node.stated)
    if node.op.version not in runtime.counts_inputs or all(map(node.tensor, _BEFORE_SIZES)):
        return runtime.of_node(node.op, may_change(node), node.stated) if runtime.of_node else _alone(runtime, node.op)
    present = sum(map(bool, node.node.input))
    reason = "it locates roi and scales by their position among the inputs that are present"
    return crashes(reason) if present <= len(_BEFORE_SIZES) else refused(reason)


_BEFORE_SIZES = ("roi", "scales")  # inputs between the data and the sizes


def _alone(runtime: Runtime, op: ResizeOp) -> Outcome:
    """Return the outcome of a node whose graph is unknown."""
    if runtime.alone:
        return runtime.alone(op)
    return runtime.of_node(op, resized(op), op) if runtime.of_node else unknown("ONNX nodes")


def _with_functions(takes_functions: bool | None, node: ResizeNode) -> Outcome | None:
    if takes_functions or node.functions is Functions.NONE:
        return None
    if takes_functions is None:
        return unknown("a model that calls local functions; inline them")
    return refused("it refuses a model that calls local functions; inline them")


def _among(runtime: Runtime, node: ResizeNode) -> Outcome | None:
    refusal = _with_functions(runtime.takes_functions, node)
    return refusal or runtime.among(node.op, neighbours.surroundings(node))


def in_model(runtime: Runtime, node: ResizeNode) -> Outcome:
    """Return the outcome of a node in a runtime, as that of its model."""
    own = _AROUND.get(runtime.name)
    return _among(runtime, node) or (own(node) if own else None) or in_graph(runtime, node)


def whatever_its_form(runtime: Runtime, node: ResizeNode) -> Outcome | None:
    """Return why a runtime does not compute a resize for the graph around it, in no form of it; None if it may."""
    outcome = _among(runtime, node)
    levels = neighbours.levels_before(node) if runtime.of_levels else None
    if outcome is None and runtime.of_levels and levels:
        outcome = runtime.of_levels(computes(node.op.spec), node.op, levels)
    return outcome if outcome and outcome.spec is None else None


def _around_onnxruntime(name: str, release: Release, node: ResizeNode) -> Outcome | None:
    dtype = neighbours.quantised_type(node) if name in DROP_QUANTISATION else None
    return (in_levels(release, node.op, dtype) if dtype else None) or neighbours.in_onnxruntime(node)


def _around_in_qnn(node: ResizeNode) -> Outcome | None:
    """Return the outcome of a node among others in QNN, if it is not that of the node alone."""
    if any(body.operator in _LOOPS for body in neighbours.surroundings(node).bodies):
        return left_to_cpu(node.op, "its sizes are not static in the body of a loop")
    is_cubic = isinstance(node.op.spec.kernel, Cubic)
    alone = in_graph(_QNN, node)
    is_left = alone.reason.startswith(LEFT_TO_CPU)
    if (is_left or is_cubic) and neighbours.in_onnxruntime(node):
        return unknown("a Resize that the optimiser moves a Transpose over")
    levels = neighbours.levels_before(node)
    return onnxruntime_providers.of_levels_in_qnn(node.op, levels, alone) if levels and not is_left else None


def _around_in_tensorrt(node: ResizeNode) -> Outcome | None:
    """Return the outcome of a node among others in TensorRT, if it is not that of the node alone."""
    among, alone = _among(tensorrt.RUNTIME, node), importer(node.op, stated=node.stated)
    is_tested = alone.kind is not Kind.REFUSED or importer_refusal(node.stated)
    if among or is_tested or not neighbours.computes_sizes_of_dynamic(node):
        return among
    return unknown(f"a layer with computed sizes, although {alone.reason}")


def _around_in_webgpu(node: ResizeNode) -> Outcome | None:
    """Return the outcome of a node among others in WebGPU, if it is not that of the node alone."""
    is_left = in_graph(_WEBGPU, node).reason.startswith(LEFT_TO_CPU)
    return neighbours.in_onnxruntime(node) if is_left else None


_QNN, _WEBGPU = runtimes()["onnxruntime-qnn"], runtimes()["onnxruntime-webgpu"]
_LOOPS = ("Loop", "Scan")
_AROUND: Mapping[str, Callable[[ResizeNode], Outcome | None]] = {
    onnxruntime.RUNTIME.name: neighbours.in_onnxruntime,
    **{provider.name: neighbours.in_providers for provider in onnxruntime_providers.RUNTIMES},
    _QNN.name: _around_in_qnn,
    tensorrt.RUNTIME.name: _around_in_tensorrt,
    _WEBGPU.name: _around_in_webgpu,
}
_TENSORRT = replace(
    tensorrt.RUNTIME,
    alone=importer,
    of_node=_importer_of_node,
    with_computed_scales=_importer_of_computed_scales,
    releases={
        name: Release(
            version=name,
            source=each.source,
            otherwise=partial(importer, by=each),
            takes_functions=each.takes_functions,
        )
        for name, each in tensorrt.IMPORTERS.items()
    },
)
_OF_NODES = [runtime for runtime in {**runtimes(), _TENSORRT.name: _TENSORRT}.values() if runtime.reads_onnx]


def _stated(about: Runtime | Release) -> str:
    """Return the version that rules were observed in, their source, or both."""
    return ", by ".join(filter(None, (about.version, about.source)))


def _of_nodes(runtime: Runtime) -> Predictor:
    return Predictor(
        title=runtime.reader.format(runtime.title),
        version=_stated(runtime),
        predict=partial(_alone, runtime),
        of_node=partial(in_graph, runtime),
        among_others=_AROUND.get(runtime.name) or partial(_among, runtime),
        is_asked=runtime.is_asked,
    )


_NO_NODES = unknown("ONNX nodes in this release; convert the model to an IR first")


def _of_release(title: str, release: Release) -> Predictor:
    return Predictor(
        title=title.format(release.version),
        version=_stated(release),
        predict=release.outcome,
        of_rounded=release.of_rounded,
        is_asked=False,
    )


def _releases(runtime: Runtime) -> Iterator[tuple[str, Predictor]]:
    title = runtime.reader.format(f"{runtime.title} {{}}")
    # Releases in which only layers of IRs were run come first: those that also ran nodes replace them.
    for name, release in runtime.layer_releases.items():
        yield f"{runtime.name}:{name}", replace(_of_release(title, release), predict=lambda op: _NO_NODES)
    for name, release in runtime.releases.items():
        around = partial(_with_functions, release.takes_functions)
        if runtime is onnxruntime.RUNTIME:
            around = partial(_around_onnxruntime, name, release)
        yield f"{runtime.name}:{name}", replace(_of_release(title, release), among_others=around)


_CONVERTED = {
    runtime.name: Predictor(title=f"{runtime.title} after convert", version=version, predict=predict)
    for runtime, version, predict in (
        (onnxruntime.RUNTIME, onnxruntime.RUNTIME.version, onnxruntime_converted),
        (openvino.RUNTIME, openvino.RUNTIME.version, openvino_converted),
        (tensorrt.RUNTIME, "10", tensorrt_converted),
    )
}


def _rows_of_nodes() -> Iterator[tuple[str, Predictor]]:
    """Yield the runtimes of every report, then those that must be named."""
    for runtime in _OF_NODES:
        if runtime.is_asked:
            yield runtime.name, _of_nodes(runtime)
        if runtime is openvino.RUNTIME:
            yield "openvino-converted", _CONVERTED["openvino"]
    for runtime in _OF_NODES:
        if not runtime.is_asked:
            yield runtime.name, _of_nodes(runtime)
        yield from _releases(runtime)


def _rows(outcome: Callable[[Runtime], OfResize | None]) -> dict[str, Predictor]:
    """Return the runtimes that compute the resizes of a dialect, then those for which this program converts them."""
    own = {
        runtime.name: Predictor(title=runtime.title, version=runtime.version, predict=predict)
        for runtime in runtimes().values()
        if (predict := outcome(runtime))
    }
    return {**own, **_CONVERTED, **own}


RUNTIMES: Mapping[str, Predictor] = dict(_rows_of_nodes())
"""For nodes of ONNX models."""

LAYER_RUNTIMES: Mapping[str, Predictor] = _rows(lambda runtime: runtime.of_layer) | {
    f"{runtime.name}:{name}": _of_release(f"{runtime.title} {{}}", release)
    for runtime in runtimes().values()
    for name, release in runtime.layer_releases.items()
}
"""For layers of IRs."""

OPERATOR_RUNTIMES: Mapping[str, Predictor] = _rows(lambda runtime: runtime.of_operator)
"""For operators of TFLite files."""

_OF_DIALECT = {"onnx": RUNTIMES, "openvino": LAYER_RUNTIMES, "tflite": OPERATOR_RUNTIMES}


def runtimes_of(op: ResizeOp) -> Mapping[str, Predictor]:
    """Return the runtimes of an audit for a resize, by name."""
    return runtimes_for(op.dialect)


def runtimes_for(dialect: str) -> Mapping[str, Predictor]:
    """Return the runtimes of an audit for the resizes of a dialect, by name."""
    return _OF_DIALECT.get(dialect, {})


INSTALLED = "installed"
NAMES = (*dict.fromkeys(name for those in _OF_DIALECT.values() for name in those), INSTALLED)
"""All runtimes; the last stands for several."""


USUAL = frozenset(name for those in _OF_DIALECT.values() for name, runtime in those.items() if runtime.is_asked)
"""The runtimes of an audit that names none."""


def named(words: Sequence[str]) -> frozenset[str]:
    """Return runtimes by name; ``installed`` stands for those of every audit and others that are installed."""
    names = {name for name in words if name != INSTALLED}
    if INSTALLED in words:
        names |= USUAL
        names |= {name for name, runtime in runtimes().items() if runtime.is_installed}
    return frozenset(names)
