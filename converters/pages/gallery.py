"""Pictures of a resize that differs somewhere: its graph, an image, where it samples and what that weighs.

The graph around a resize has the producers of its inputs and the readers of its output. It is SVG in the colours of
the page.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError, ReadError, ShapeError
from ir_interp.executor.resize import bind
from ir_interp.files.kinds import FileKind
from ir_interp.ir.interpolates import layers
from ir_interp.ir.ir_files import Layer, Net, tensor_name
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp, shape_text
from ir_interp.shapes import PartialShape, resolve_axes, with_ones
from ir_interp.specs import Arithmetic, AtRunTime, ResizeSpec
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.meaning import listed_axes
from ir_interp.views import figures, image_arrays
from ir_interp.views.explanation import AxisTable, Cell, tables

from ..onnx.resize_nodes import ResizeNode, given_names, nodes
from ..sources.readers import readings
from .frame import E, Element, clean, details, note


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


_WIDTH, _HEIGHT = 178, 46  # of a box
_ACROSS, _DOWN = 16, 34  # between boxes, between rows
_EDGE = 3  # around all, so that no line is cut
_MOST = 4  # boxes of a row
_FITTING = 2  # boxes of a row that a telephone shows
_LETTERS = 27  # that fit a box
_ARROW = 4  # half the width of an arrow's head


def picture(around: Surroundings, name: str) -> Element:
    """Return a figure of a resize between what it reads and what reads it; long names are shortened in their middle."""
    rows = [row for row in (_few(around.inputs), (around.resize,), _few(around.readers)) if row]
    width = max(map(len, rows)) * (_WIDTH + _ACROSS) - _ACROSS + 2 * _EDGE
    height = len(rows) * (_HEIGHT + _DOWN) - _DOWN + 2 * _EDGE
    places = [_places(len(row), width) for row in rows]
    tops = [_EDGE + place * (_HEIGHT + _DOWN) for place in range(len(rows))]
    boxes = [
        _box(neighbour, left, top, is_resize=neighbour is around.resize)
        for row, lefts, top in zip(rows, places, tops, strict=True)
        for neighbour, left in zip(row, lefts, strict=True)
    ]
    lines = [
        _line(start + _WIDTH / 2, top + _HEIGHT, end + _WIDTH / 2, below)
        for starts, ends, top, below in zip(places, places[1:], tops, tops[1:], strict=False)
        for start in starts
        for end in ends
    ]
    what = f"{name}: reads {_listed(around.inputs)}; {_listed(around.readers)} reads it"
    size = {"viewBox": f"0 0 {width} {height}", "width": str(width), "height": str(height)}
    # Wider pictures scroll on a telephone, where letters would become too small.
    wide = {"class": "wide"} if max(map(len, rows)) > _FITTING else {}
    drawn = E.svg({**size, **wide, "role": "img", "aria-label": clean(what)}, *lines, *boxes)
    return E.figure(E.figcaption("The graph around it"), drawn)


def _few(row: Sequence[Neighbour]) -> Sequence[Neighbour]:
    left = len(row) - _MOST + 1
    return row if left <= 1 else (*row[: _MOST - 1], Neighbour(title=f"and {left} more"))


def _listed(row: Sequence[Neighbour]) -> str:
    return ", ".join(" ".join(filter(None, (neighbour.title, neighbour.name))) for neighbour in _few(row)) or "nothing"


def _places(count: int, width: int) -> list[float]:
    """Return the left ends of the boxes of a row, in the middle of the picture."""
    left = (width - count * (_WIDTH + _ACROSS) + _ACROSS) / 2
    return [left + place * (_WIDTH + _ACROSS) for place in range(count)]


def _box(neighbour: Neighbour, left: float, top: float, *, is_resize: bool) -> Element:
    middle = f"{left + _WIDTH / 2:g}"
    frame = E.rect(x=f"{left:g}", y=f"{top:g}", width=f"{_WIDTH}", height=f"{_HEIGHT}", rx="6")
    texts = [E.text(_short(neighbour.title), x=middle, y=f"{top + 19:g}")]
    if neighbour.name:
        texts.append(E.text({"class": "about"}, _short(neighbour.name), x=middle, y=f"{top + 36:g}"))
    if is_resize:
        frame.set("class", "resize")
    return E.g(E.title(f"{neighbour.title} {neighbour.name}".strip()), frame, *texts)


def _line(x: float, y: float, end: float, below: float) -> Element:
    """Return an arrow from the bottom of a box to the top of one below."""
    bend, tip = (y + below) / 2, below - 2 * _ARROW
    head = f"M{end - _ARROW:g} {tip:g}L{end:g} {below:g}L{end + _ARROW:g} {tip:g}"
    return E.path(d=f"M{x:g} {y:g}C{x:g} {bend:g} {end:g} {bend:g} {end:g} {below:g}{head}")


def _short(text: str) -> str:
    half = _LETTERS // 2
    # The end of a name tells layers of a network apart, its beginning the part of the network.
    return text if len(text) <= _LETTERS else f"{text[:half]}…{text[-half:]}"


MOST = 4
"""Configurations that a page draws, which keeps it below a megabyte."""
_OPEN = 8  # what dynamic dimensions are drawn as
_LONGEST = 2**16  # axis that is drawn
_LARGEST = 2**20  # elements of a matrix of weights that is drawn

Other = tuple[str, ResizeSpec]
"""The name of a runtime that computes another resize, and that resize."""


def configuration(op: ResizeOp) -> tuple[object, ...]:
    """Return what pictures of a resize depend on: how which lengths are resized, and whether readings differ."""
    spec = replace(op.spec, arithmetic=Arithmetic.EXACT)  # all are drawn
    if op.shape is None:
        return (spec,)
    spec = listed_axes(spec, op.shape)
    return spec, tuple(op.shape[axis] for axis in spec.axes or ()), op.diagnostics != ()


def pictures_of(file: Path, op: ResizeOp, other: Other | None, image: Path | None) -> Iterator[Element]:
    """Yield what shows where a resize differs: an image as ``other`` has it, then its graph, positions and weights.

    Raises ReadError for an ``image`` that is none.
    """
    if figures.are_possible() and other is not None:
        yield damage(op, other, image)
    drawings = [*_graph(file, op), *_drawings(file, op, other)]
    if drawings:
        yield details(["How it samples"], *drawings)


def _graph(file: Path, op: ResizeOp) -> Iterator[Element]:
    around = surroundings(file, op)
    if around is not None:
        yield picture(around, op.name or op.where)


def _drawings(file: Path, op: ResizeOp, other: Other | None) -> Iterator[Element]:
    """Yield pictures of positions and weights, or why there are none."""
    if not figures.are_possible():
        yield note(f"Pictures are left out: {figures.NEEDED}")
        return
    try:
        yield from _of_axis(file, op, other)
    except IrInterpError as problem:
        yield note(f"Positions and weights are not drawn: {problem}")


def damage(op: ResizeOp, other: Other, image: Path | None) -> Element:
    """Return a picture of an image as a resize has it, and as what computes another has it.

    Raises ReadError for an ``image`` that is none.
    """
    pixels = image_arrays.pixels(image) if image else None
    name = image.name if image else "Test picture (--image shows your own)"
    try:
        drawn = figures.damage(op, other, pixels)
    except IrInterpError as problem:
        return note(f"What changes in an image is not drawn: {problem}")
    return _figure(drawn, f"{name} after {op.name or op.where}: correct, in {other[0]}, difference")


def _of_axis(file: Path, op: ResizeOp, other: Other | None) -> Iterator[Element]:
    """Yield pictures of the first axis on which readings, arithmetics or the other resize differ."""
    shape, target = _lengths(op)
    examples = "" if shape == op.shape and not target else "; dynamic dimensions have example sizes"
    read = readings(op, file) if op.diagnostics else {Semantics.RUNTIME: op.spec}
    axis = next((table for table in tables(read, shape, **target) if table.differing), None)
    if axis is not None:
        title = f"axis {axis.axis}{examples}"
        yield _figure(figures.draw_positions(axis, "source positions"), f"Source positions along {title}", "drawing")
        # A larger matrix would be a picture of some megabytes, in which no weight is visible.
        if axis.in_size * max(axis.out_sizes) <= _LARGEST:
            yield _figure(figures.draw_weights(axis, "weights"), f"Weights along {title}", "drawing")
        else:
            yield note("the matrix of weights is too large to be drawn")
    elif other is not None:
        yield from _side_by_side(op, other, examples)


def _side_by_side(op: ResizeOp, other: Other, examples: str) -> Iterator[Element]:
    """Yield where a resize and another sample, along the first axis on which these differ."""
    ways = []
    for name, spec in (("correct", op.spec), (f"in {other[0]}", other[1])):
        shape, target = _lengths(replace(op, spec=spec))
        ways.append((name, {table.axis: table for table in tables({Semantics.RUNTIME: spec}, shape, **target)}))
    (_, mine), (_, theirs) = ways
    axes = [axis for axis in sorted(mine.keys() & theirs.keys()) if _cells(mine[axis]) != _cells(theirs[axis])]
    for name, drawn in ways if axes else ():
        caption = f"Source positions along axis {axes[0]}, {name}{examples}"
        yield _figure(figures.draw_positions(drawn[axes[0]], name), caption, "drawing")


def _cells(axis: AxisTable) -> list[tuple[Cell, ...]]:
    return [column.cells for column in axis.columns]


def _lengths(op: ResizeOp) -> tuple[PartialShape, dict[str, Any]]:
    """Return the shape on which a resize is drawn, and its target where that is an input of the model."""
    if op.shape is None:
        raise ReadError("the rank of its input is unknown")
    axes = resolve_axes(listed_axes(op.spec, op.shape).axes, len(op.shape))
    shape = tuple(_OPEN if size is None and axis in axes else size for axis, size in enumerate(op.shape))
    target = _target(op.spec, axes, shape)
    _check_lengths(bind(op.spec, shape, **target), shape)
    return shape, target


def _check_lengths(spec: ResizeSpec, shape: PartialShape) -> None:
    """Raise ShapeError where an axis is so long that to list its taps would take long, too."""
    axes = plan(spec, with_ones(shape)).axes
    longest = max((max(axis.in_size, axis.out_size) for axis in axes), default=0)
    if longest > _LONGEST:
        raise ShapeError(f"an axis is {longest} long")


def _target(spec: ResizeSpec, axes: Sequence[int], shape: PartialShape) -> dict[str, Any]:
    """Return a target where it is an input of the model: the last two axes double."""
    if not isinstance(spec.target, AtRunTime):
        return {}
    factors = [2 if axis >= len(shape) - 2 else 1 for axis in axes]
    sizes = tuple(factor * (shape[axis] or 1) for factor, axis in zip(factors, axes, strict=True))
    return {"sizes": sizes} if spec.gives_sizes else {"scales": tuple(factors)}


_THUMBNAIL = 160  # pixels of the longer side


def thumbnail(path: Path) -> Element:
    """Return a small picture of an image file."""
    source = "data:image/png;base64," + base64.b64encode(image_arrays.thumbnail(path, _THUMBNAIL)).decode("ascii")
    return E.img({"class": "photo"}, src=source, alt=clean(path.name))


def _figure(drawn: Any, caption: str, kind: str = "photo") -> Element:
    """Return a picture that stands in the page itself; of a "drawing" dark pages invert the colours."""
    source = "data:image/svg+xml;base64," + base64.b64encode(figures.svg(drawn)).decode("ascii")
    return E.figure(E.figcaption(caption), E.img({"class": kind}, src=source, alt=clean(caption)))
