"""Findings about whole models: what TensorRT's own importer and QNN answer to them, and sums of 8-bit products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx

from ir_interp.diagnostic_codes import BYTE_PRODUCTS, LEFT_TO_CPU, REFUSED_MODEL, RULES
from ir_interp.errors import ReadError
from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import scratch

from .. import qnn_placement, tensorrt_importer
from ..onnx.resize_nodes import OPS, ResizeNode, single
from ..predictions import RUNTIMES
from ..runtimes.outcome import Kind, Outcome
from ..runtimes.tensorrt import RUNTIME
from ..tensorrt_importer import Answer, Layer, Refusal
from .audited_resizes import Finding, Found
from .saturation import saturation
from .verdicts import Verdict, judge

TENSORRT, QNN = RUNTIME.name, qnn_placement.NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The answer to a model: the release ``by``, the verdict on each resize if it gives one, and other refusals."""

    by: str
    verdicts: tuple[Verdict | None, ...]
    findings: tuple[Finding, ...]


def imported(path: Path, resizes: Sequence[Found]) -> Imported:
    """Return the importer's answer to a model, and verdicts on its resizes. Raises IrInterpError without an answer.

    A resize on which the answer is silent, because the importer refuses another node, is imported alone.
    """
    whole = _imported(path, resizes)
    with scratch() as folder:
        verdicts = tuple(
            verdict or _alone(resize, folder / f"{place}.onnx")
            for place, (resize, verdict) in enumerate(zip(resizes, whole.verdicts, strict=True))
        )
    return replace(whole, verdicts=verdicts)


def _imported(path: Path, resizes: Sequence[Found]) -> Imported:
    answer = tensorrt_importer.imported(path)
    by_name: dict[str, list[Layer]] = {}
    for layer in answer.resizes:
        by_name.setdefault(layer.settings.name, []).append(layer)
    verdicts = tuple(_verdict(answer, resize, by_name) for resize in resizes)
    return Imported(by=answer.by, verdicts=verdicts, findings=tuple(_findings(path, answer)))


def _alone(resize: Found, path: Path) -> Verdict | None:
    node = resize.node
    model = single(node) if node and not RUNTIMES[TENSORRT].among_others(node) else None
    if model is None:
        return None
    onnx.save(model, path)
    (verdict,) = _imported(path, [resize]).verdicts
    return verdict


def _verdict(answer: Answer, resize: Found, by_name: dict[str, list[Layer]]) -> Verdict | None:
    """Return the verdict on a resize; None if the answer does not mention it, or another one has its name."""
    node = resize.node
    if node is None:
        return None
    name = node.node.name or f"node_of_{node.node.output[0]}"  # that of its layer
    about = [each for each in answer.refusals if each.operator in OPS and (each.name == name or _is_at(each, node))]
    if len(about) == 1:
        return Verdict(kind=Kind.REFUSED, reason=about[0].problem)
    layers = by_name.get(name, [])
    return _of_layer(resize, layers[0]) if len(layers) == 1 and not answer.refusals else None


def _is_at(refusal: Refusal, node: ResizeNode) -> bool:
    """Return whether a refusal is about a node of the main graph, by its index."""
    nodes = node.values.graph.node
    return node.values.outer is None and 0 <= refusal.node < len(nodes) and nodes[refusal.node] == node.node


def _of_layer(resize: Found, layer: Layer) -> Verdict | None:
    """Return the verdict on the layer of a resize; None if it has settings whose result is unknown."""
    try:
        spec = layer.settings.op.spec
    except ReadError:
        return None
    if resize.op.spec.waits:  # the layer's sizes are an input, which nodes of the network compute
        spec = replace(spec, target=resize.op.spec.target, axes=resize.op.spec.axes)
    return judge(resize.op, Outcome(spec=spec))


def _findings(path: Path, answer: Answer) -> Iterator[Finding]:
    for refusal in answer.refusals:
        if refusal.operator not in OPS:
            yield _about(path, REFUSED_MODEL, f"{answer.by} refuses the model: {refusal}", TENSORRT)


def placed(path: Path) -> list[Finding]:
    """Return the finding about the nodes of an ONNX model that QNN leaves to the CPU provider, if there are any."""
    placement = qnn_placement.placed(path) if FileKind.of(path) is FileKind.ONNX else None
    if placement is None or not (placement.left or placement.problem):
        return []
    left = f"leaves to the CPU provider: {placement.left_text}"
    failure = f"does not run the model: {placement.problem}"
    return [_about(path, LEFT_TO_CPU, f"{placement.by} {failure if placement.problem else left}", QNN)]


def products(path: Path) -> list[Finding]:
    """Return the finding about a model whose 8-bit products may saturate, if they may."""
    known = saturation(path)
    return [_about(path, BYTE_PRODUCTS, known.text)] if known is not None and known.losses else []


def _about(path: Path, code: str, message: str, runtime: str = "") -> Finding:
    severity = RULES[code].severity
    return Finding(code=code, message=message, file=str(path), where=path.name, runtime=runtime, severity=severity)
