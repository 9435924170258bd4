"""The resizes of a file, each with the surroundings that an audit needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ir_interp.errors import ReadError
from ir_interp.files.kinds import FOREIGN, MODELS, FileKind, expect
from ir_interp.ir.interpolates import known_layers
from ir_interp.ir.net import Layer, Net
from ir_interp.resize_op import ResizeOp

from ..onnx.resize_nodes import ResizeNode
from ..predictions import tensorrt_importer
from ..predictions.ranks import completed
from ..runtimes.exporter_releases import earlier
from ..sources.frameworks import part, reading
from ..sources.readers import load
from . import chosen_shapes, mistakes
from .verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A resize, and its node in an ONNX model or its layer in an IR.

    One of a program has what its ``exporters`` make of it.
    """

    file: Path
    op: ResizeOp
    mistakes: tuple[tuple[str, str], ...]
    remarks: tuple[tuple[str, str], ...]
    node: ResizeNode | None = None
    layer: Layer | None = None
    exporters: Mapping[str, Verdict] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A resize that cannot be read, and why."""

    name: str
    where: str
    error: ReadError


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """The resizes of a file, and those that cannot be read."""

    resizes: list[Found]
    unread: list[Unread] = field(default_factory=list)


def of_file(path: Path, shapes: chosen_shapes.Shapes, *, asks_exporters: bool = False) -> Inside:
    """Return the resizes of a file, its inputs in these shapes; those of a program as PyTorch exports them.

    With ``asks_exporters``, each resize of another framework's model is exported alone. Raises ReadError for an
    unreadable file, and for a shape that an input cannot have.
    """
    framework = part(FileKind.of(path), "exporters")
    if framework is None:
        return found(path, chosen_shapes.chosen(path, shapes))
    if hasattr(framework, "audited"):  # PyTorch's, in which an exported model decides
        resizes: list[Found] = framework.audited(path, shapes, asks_exporters=asks_exporters)
        return Inside(resizes=resizes)
    chosen_shapes.chosen(path, shapes)  # refuses a shape that an input cannot have
    inside = _of_framework(path)
    if not asks_exporters:
        return inside
    return replace(
        inside, resizes=[_asked(*pair) for pair in zip(inside.resizes, framework.verdicts(path), strict=True)]
    )


def _of_framework(path: Path) -> Inside:
    """Return the resizes of a model of another framework, and those that cannot be read."""
    declared = reading(FileKind.of(path))
    ops, others = declared.known(path) if declared and declared.known else (load(path), [])
    return Inside(
        resizes=[Found(file=path, op=op, mistakes=tuple(mistakes.of_resize(op)), remarks=()) for op in ops],
        unread=[Unread(name=name, where=error.where, error=error) for name, error in others],
    )


def _asked(resize: Found, verdicts: Mapping[str, Verdict]) -> Found:
    """Return a resize with the verdicts of its exporters."""
    by_release = {name: with_releases(name, resize.op, verdict) for name, verdict in verdicts.items()}
    return replace(resize, exporters=by_release)


def with_releases(exporter: str, op: ResizeOp, verdict: Verdict) -> Verdict:
    """Return the verdict of an installed exporter on a resize, with those of earlier releases that differ."""
    return replace(verdict, reason="; ".join(filter(None, (verdict.reason, earlier(exporter, op)))))


def found(path: Path, shapes: chosen_shapes.Shapes) -> Inside:
    """Return the resizes of a model whose inputs have the given shapes. Raises ReadError if it cannot be read."""
    if expect(path, *MODELS, *FOREIGN) is FileKind.ONNX:
        nodes, unread = chosen_shapes.nodes(path, shapes)
        return Inside(
            resizes=[_of_node(path, node) for node in completed(path, nodes)],
            unread=[Unread(name=node.name, where=node.where, error=node.error) for node in unread],
        )
    with chosen_shapes.reshaped(path, shapes) as reshaped:
        known, others = known_layers(reshaped)
        return Inside(
            resizes=[_of_layer(path, *layer) for layer in known],
            unread=[Unread(name=layer.name, where=layer.where, error=error) for layer, error in others],
        )


def _of_node(path: Path, node: ResizeNode) -> Found:
    remarks, likely = tensorrt_importer.remarks(node.op), tuple(mistakes.of_node(node))
    return Found(file=path, op=node.op, node=node, mistakes=likely, remarks=remarks)


def _of_layer(path: Path, net: Net, layer: Layer, op: ResizeOp) -> Found:
    remarks, likely = tensorrt_importer.layer_remarks(op), tuple(mistakes.of_layer(net, layer, op))
    return Found(file=path, op=op, layer=layer, mistakes=likely, remarks=remarks)
