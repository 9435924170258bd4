"""The surroundings of a resize in its model: the producers of its inputs, and the readers of its output."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.ir.interpolates import layers
from ir_interp.ir.net import Layer, Net, tensor_name
from ir_interp.resize_op import ResizeOp
from ir_interp.views.describe import shape_text

from ..onnx.resize_nodes import ResizeNode, given_names, nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A node, layer, input or output: ``title`` is its type, and ``name`` what it is called, or its shape."""

    title: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """A resize between what it reads and what reads it."""

    inputs: tuple[Neighbour, ...]
    resize: Neighbour
    readers: tuple[Neighbour, ...]


def surroundings(path: Path, op: ResizeOp) -> Surroundings | None:
    """Return what stands around a resize of a file; None where the file holds no graph, or cannot be read again."""
    with suppress(IrInterpError, OSError):
        if FileKind.of(path) is FileKind.ONNX:
            return next((_of_node(node) for node in nodes(path) if _is_at(path, node.op, op)), None)
        if FileKind.of(path) is FileKind.IR:
            return next(
                (_of_layer(net, layer) for net, layer, candidate in layers(path) if _is_at(path, candidate, op)), None
            )
    return None


def _is_at(path: Path, mine: ResizeOp, theirs: ResizeOp) -> bool:
    """Say whether both have one place in a file, which reports may call by another name."""
    # Reports may name the file with its folder.
    return mine.name == theirs.name and theirs.where.endswith(mine.where.removeprefix(path.name))


def _of_node(resize_node: ResizeNode) -> Surroundings:
    node, output, values = resize_node.node, resize_node.node.output[0], resize_node.values
    roles = zip(("data", *given_names(resize_node.op.version)), node.input, strict=False)
    inputs = (
        _maker(resize_node, role, name) for role, name in roles if role == "data" or role in resize_node.op.attributes
    )
    readers = [Neighbour(title=reader.op_type, name=reader.name) for reader in values.readers(output)]
    if output in {tensor.name for tensor in values.graph.output}:
        readers.append(Neighbour(title="output", name=output))
    resize = Neighbour(title=node.op_type, name=resize_node.op.name)
    return Surroundings(inputs=tuple(inputs), resize=resize, readers=tuple(readers))


def _maker(resize_node: ResizeNode, role: str, name: str) -> Neighbour:
    """Return what makes an input: a node, a constant, or an input of the model."""
    value, producer = resize_node.op.attributes.get(role), resize_node.values.producer(name)
    about = ", ".join(f"{number:g}" for number in value) if isinstance(value, list | tuple) else ""
    if producer is not None:
        return Neighbour(title=f"{role}: {producer.op_type}", name=about or producer.name or name)
    if about or name in {tensor.name for tensor in resize_node.values.graph.initializer}:
        return Neighbour(title=f"{role}: constant", name=about or name)
    return Neighbour(title=f"{role}: input", name=f"{name} {shape_text(resize_node.values.shape(name))}")


def _of_layer(net: Net, layer: Layer) -> Surroundings:
    inputs = (_source(net, layer, place, role) for place, role in enumerate(_roles(layer)))
    readers = (reader for port in layer.outputs for reader in net.readers(layer, port))
    return Surroundings(
        inputs=tuple(tensor for tensor in inputs if tensor),
        resize=Neighbour(title=f"{layer.type}-{layer.version}", name=layer.name),
        readers=tuple(Neighbour(title=reader.type, name=reader.name) for reader in readers),
    )


def _roles(layer: Layer) -> tuple[str, ...]:
    """Return what the inputs of an Interpolate are; the layer may have fewer, and its data alone in a snippet."""
    if layer.version == 11:
        return "data", layer.attributes.get("shape_calculation_mode", "sizes"), "axes"
    return ("data", "sizes", "scales", "axes")


def _source(net: Net, layer: Layer, place: int, role: str) -> Neighbour | None:
    source = net.source(layer, place)
    if source is None:
        return None
    producer, port = source
    is_input = producer.type.lower() == "parameter"
    about = f"{tensor_name(*source)} {shape_text(port.shape)}" if is_input else producer.name
    return Neighbour(title=f"{role}: {producer.type}", name=about)
