"""Sizes for dynamic dimensions: those that the model is for, else several to try.

They follow from the resizes of a graph, as far as their sizes, scales and windows are constants; sizes of images at
which the rounding of a scale decides an output size are among them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest
from typing import Any, TypeVar

import numpy as np

from ir_interp.errors import IrInterpError, closest
from ir_interp.plain_text import quote_shell
from ir_interp.plan.float_arithmetic import Rounding, SizeScale, deciding_sizes
from ir_interp.shapes import PartialShape

from .graphs import Graph, ModelInput, Step, dimensions_text

_SIZES_INPUT = 1  # the place of the sizes, or scales, of an Interpolate


def resized_axes(graph: Graph, step: Step, rank: int) -> list[int]:
    """Return the axes of the sizes and scales of a resize."""
    listed = step.attributes.get("axes")
    if isinstance(listed, str):  # of Interpolate-1
        listed = integers(listed.split(","))
    elif step.type == "interpolate" and len(step.inputs) > _SIZES_INPUT + 1:
        value = graph.value(step.inputs[-1])
        is_axes = value is not None and value.dtype.kind in "iu"  # floats are the scales of Interpolate-4
        listed = value.ravel().tolist() if value is not None and is_axes else None
    return [int(axis) % rank for axis in listed] if listed is not None else list(range(rank))


def target_sizes(graph: Graph, step: Step, rank: int) -> dict[int, int]:
    """Return the constant sizes of a resize, by axis; none if they are inputs, or scales are used."""
    place = _SIZES_INPUT if step.type == "interpolate" else 3
    has_sizes = len(step.inputs) > place and step.attributes.get("shape_calculation_mode") != "scales"
    sizes = graph.value(step.inputs[place]) if has_sizes else None
    return {} if sizes is None else dict(zip(resized_axes(graph, step, rank), sizes.ravel().tolist(), strict=False))


def target_scales(graph: Graph, step: Step, rank: int) -> dict[int, float]:
    """Return the constant scales of a resize, by axis; none if they are inputs, or sizes are used."""
    axes = resized_axes(graph, step, rank)
    values = (graph.value(name) for name in step.inputs[1:])
    scales = (value.ravel().tolist() for value in values if value is not None and value.dtype.kind == "f")
    return next((dict(zip(axes, values, strict=True)) for values in scales if len(values) == len(axes)), {})


def axes_outside(graph: Graph, step: Step, rank: int) -> list[int]:
    """Return the axes of a resize along which no sample of its constant window lies between the first and last pixel.

    All its outputs are then the extrapolation value, unless the axis is a single pixel.
    """
    is_crop = step.attributes.get("coordinate_transformation_mode") == b"tf_crop_and_resize"
    roi, sizes = graph.value(step.inputs[1]) if is_crop else None, target_sizes(graph, step, rank)
    axes = resized_axes(graph, step, rank)
    if roi is None or roi.size != 2 * len(axes):
        return []
    windows = zip(axes, *np.split(roi.ravel().astype(float), 2), strict=True)
    return [axis for axis, start, end in windows if axis in sizes and _is_outside(start, end, sizes[axis])]


def _is_outside(start: float, end: float, count: int) -> bool:
    """Return whether no sample of a window, relative to the axis, is in [0, 1]; a single one lies in its middle."""
    # ONNX places the first and last sample at the ends of the window.
    samples = np.linspace(start, end, count) if count > 1 else np.array([(start + end) / 2])
    return not ((samples >= 0) & (samples <= 1)).any()


def scales_batch(graph: Graph, step: Step, rank: int) -> bool:
    """Return whether the constant scales of a resize change its first axis: then that is not a batch of images."""
    return target_scales(graph, step, rank).get(0, 1.0) != 1.0


def integers(listed: Iterable[Any]) -> list[int]:
    """Return the integers of a list, whose entries may be texts, some of them empty."""
    return [int(number) for number in listed if str(number).strip()]


_LARGEST = 1024  # pixels of an axis
_MOST = 2**15  # pixels of an image: a network takes ten times as long as on one of 64x64
_BESIDE = 33  # pixels of the other axis if the image would be larger
_SHAPE_STEPS = ("shape", "shapeof")
_ON_THE_WAY = (
    *("cast", "convert", "convertlike", "gather", "identity", "reshape", "squeeze", "slice", "stridedslice"),
    *("transpose", "unsqueeze"),
)
_PRODUCTS = ("mul", "multiply", "div", "divide")
_ROUNDED = {"floor": Rounding.DOWN, "ceil": Rounding.UP, "ceiling": Rounding.UP, "round": Rounding.EVEN}
_BEFORE_ROUNDING = (*_PRODUCTS, "clamp", "clip", "identity", "max", "maximum", "min", "minimum", "squeeze", "unsqueeze")
_STRIDED = ("conv", "convolution", "groupconvolution", "maxpool", "averagepool", "avgpool")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeHints:
    """Sizes of a source of a framework: its scales in float64, and the shapes of the inputs of its example."""

    scales: tuple[SizeScale, ...] = ()
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)


def deciding_images(graph: Graph, hints: SizeHints) -> list[tuple[int, int]]:
    """Return heights and widths at which float64, float32 and OpenVINO give different output sizes, small ones first.

    Scales of resizes and products of sizes count, behind layers that shrink an image as well.
    """
    scales = dict.fromkeys((*hints.scales, *_scales(graph)))
    inner = sorted({size for by in scales for size in deciding_sizes(by.scale, _LARGEST, by.rounding)})
    lengths = sorted({size * stride for size in inner for stride in _strides(graph) if size * stride <= _LARGEST})
    pairs = zip_longest(lengths[::2], lengths[1::2])
    return [image for height, width in pairs for image in _images(height, width or height)]


def _images(height: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield images of two lengths: one, or two that are not too large."""
    if height * width <= _MOST:
        yield height, width
        return
    yield height, _BESIDE
    yield _BESIDE, width


def _scales(graph: Graph) -> Iterator[SizeScale]:
    """Yield the constant scales of a graph that are no integers."""
    makers = {name: step for step in graph.steps for name in step.outputs}
    readers: dict[str, list[Step]] = {}
    for step in graph.steps:
        for name in step.inputs:
            readers.setdefault(name, []).append(step)
    for step in graph.steps:
        if step.type in _RESIZES:
            scales = target_scales(graph, step, _rank(graph, step)).values()
            yield from (SizeScale(scale=scale) for scale in scales if scale % 1)
        elif step.type in _PRODUCTS:
            for scale in _products(graph, step, makers):
                if scale % 1:
                    yield from (SizeScale(scale=scale, rounding=rounding) for rounding in _roundings(step, readers))


def _products(graph: Graph, step: Step, makers: dict[str, Step]) -> list[float]:
    """Return the numbers by which a step, and products in front of it, multiply sizes; none if they are no sizes."""
    if len(step.inputs) != 2:
        return []
    numbers = _numbers(graph, step)
    for name in step.inputs:
        maker = _maker(makers, name)
        if maker is not None and maker.type in _SHAPE_STEPS:
            return numbers
        if maker is not None and maker.type in _PRODUCTS and maker is not step:
            before = _products(graph, maker, makers)
            return [one * other for one in dict.fromkeys(before) for other in dict.fromkeys(numbers)]
    return []


def _roundings(step: Step, readers: dict[str, list[Step]]) -> list[Rounding]:
    """Return how what reads a number rounds it; down where nothing is known."""
    waiting, seen, known = list(step.outputs), set[str](), dict[Rounding, None]()
    while waiting:
        name = waiting.pop()
        for reader in readers.get(name, ()) if name not in seen else ():
            if reader.type in _ROUNDED:
                known[_ROUNDED[reader.type]] = None
            elif reader.type in _BEFORE_ROUNDING:
                waiting += reader.outputs
        seen.add(name)
    return list(known) or [Rounding.DOWN]


def _rank(graph: Graph, step: Step) -> int:
    return len(graph.shape(step.inputs[0]) or ()) or _IMAGE_RANK


def _numbers(graph: Graph, step: Step) -> list[float]:
    """Return the constants that sizes are multiplied by: one for all, or one for each axis."""
    for name in reversed(step.inputs):
        value = graph.value(name)
        if value is not None and value.dtype.kind == "f" and value.size <= _IMAGE_RANK:
            numbers = [float(number) for number in value.ravel() if number > 0]
            return [1 / number for number in numbers] if step.type in ("div", "divide") else numbers
    return []


def _maker(makers: dict[str, Step], name: str) -> Step | None:
    """Return the step that computes a tensor, of which others take parts or change the type."""
    while (step := makers.get(name)) and step.type in _ON_THE_WAY and step.inputs:
        name = step.inputs[0]
    return step


def _strides(graph: Graph) -> list[int]:
    """Return by how much layers shrink the image of a model, each on the way of its data."""
    strides: dict[str, int] = {tensor.name: 1 for tensor in graph.inputs}
    for step in graph.steps:
        if step.inputs and step.inputs[0] in strides:
            own = _stride(step) if step.type in _STRIDED else 1
            strides |= dict.fromkeys(step.outputs, strides[step.inputs[0]] * own)
    return sorted(set(strides.values()))


def _stride(step: Step) -> int:
    listed = step.attributes.get("strides", [1])
    numbers = listed.split(",") if isinstance(listed, str) else listed
    return int(max(np.array([int(number) for number in numbers] or [1])))


Shapes = dict[str, tuple[int, ...]]
Chosen = TypeVar("Chosen")


class Extent(Enum):
    """The sizes of dynamic dimensions: a fault may show at one extent alone."""

    REAL = "real"  # those that the model is for
    ODD = "odd"  # height and width differ, and there is more than one image
    SMALL = "small"
    TRACED = "traced"  # those that a program was exported with
    TALL = "tall"  # only the height is unusual
    WIDE = "wide"
    PRIME = "prime"  # a quotient of sizes, rounded down, is off by one at few sizes only
    POWER = "power"
    DECIDING = "deciding"  # the rounding of a scale decides an output size
    DECIDING_TOO = "deciding too"
    DECIDING_LAST = "deciding last"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """Sizes to try: of images or sequences, of the batch, and of all other dimensions."""

    height: int
    width: int
    batch: int = 1
    depth: int


_LENGTHS = (64, 112, 128, 96, 160, 192, 224, 320, 256, 512, 640, 384, 416, 448, 299, 480)
"""Sizes of images and sequences, small ones first, the fastest: multiples of 32, by which networks shrink.

224 is also one of 7. 112 and 299 are those of networks of a single size, for faces and for classes.
"""
_TRIED = {
    # Channels, or slices of a volume, are few if the graph allows it: five dimensions of 224 would not fit into memory.
    Extent.REAL: (
        _Candidate(height=64, width=64, depth=3),
        _Candidate(height=64, width=64, depth=16),
        *(_Candidate(height=length, width=length, depth=depth) for length in _LENGTHS for depth in (3, length)),
    ),
    Extent.ODD: (
        _Candidate(height=45, width=67, batch=2, depth=5),
        _Candidate(height=45, width=67, depth=5),
        _Candidate(height=96, width=160, batch=2, depth=32),
        _Candidate(height=96, width=160, depth=32),
    ),
    Extent.SMALL: (
        _Candidate(height=2, width=3, depth=1),
        _Candidate(height=8, width=8, depth=8),
        _Candidate(height=16, width=16, depth=16),
        _Candidate(height=32, width=32, depth=32),
    ),
    # As large as the first of the real ones, so that all together take three times its time.
    Extent.TALL: (_Candidate(height=113, width=64, depth=3), _Candidate(height=160, width=64, depth=16)),
    Extent.WIDE: (_Candidate(height=64, width=41, depth=3), _Candidate(height=64, width=96, depth=16)),
    Extent.PRIME: (_Candidate(height=97, width=41, depth=3), _Candidate(height=97, width=41, depth=16)),
    Extent.POWER: (_Candidate(height=32, width=128, depth=3), _Candidate(height=32, width=128, depth=16)),
}
_DECIDING = (Extent.DECIDING, Extent.DECIDING_TOO, Extent.DECIDING_LAST)
NEEDED = (Extent.REAL, Extent.ODD, Extent.SMALL)
"""Extents for which other values are tried if a model refuses these sizes."""
# Networks halve images up to five times, and add the results to others of the same size: 2**5 divides all of them.
_MULTIPLE = 32
_ELSEWHERE = {"cast", "convert", "convertlike", "identity", "quantizelinear", "dequantizelinear", "fakequantize"}
_CONVOLUTIONS = {"conv", "convolution"}
_ELEMENT_BY_ELEMENT = {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "clip", "clamp", "relu"}
_IMAGE_RANK = 4
_NO_BATCH = 2  # up to this rank, a resize takes a single image
_MOST_ELEMENTS = 2**22  # of one input up to rank 4, if its rank lets it be as small
_FEWER = 8  # times fewer for each rank above: a cubic Interpolate of rank n sums 4^n pixels
_LARGEST_FAST_RANK = 5  # OpenVINO takes a millisecond for each output pixel of a cubic of rank 6
_FEW = (2, 4, 5)  # depth, height and width then: 64x64 pixels would take minutes, and leave one along other axes
_MOST_OF_FEW = 16  # pixels of an axis that shrinks, of which one is left, or two: with more, memory may not suffice
_RESIZES = {"resize", "upsample", "interpolate"}


def shapes(
    graph: Graph,
    chosen: Mapping[str, tuple[int, ...]],
    extent: Extent = Extent.REAL,
    hints: SizeHints | None = None,
) -> list[Shapes]:
    """Return shapes for all inputs of a model, the likeliest first: one answer if nothing is dynamic.

    ``chosen`` are the user's shapes by input name. There is no answer at an extent that the model does not have. Raises
    IrInterpError for a shape that an input cannot have.
    """
    hints = hints or SizeHints()
    if extent is Extent.TRACED:
        chosen = {**hints.shapes, **chosen}
        if any(tensor.name not in chosen or not fits(chosen[tensor.name], tensor.lengths) for tensor in graph.inputs):
            return []
    inputs = _settled(graph, chosen)
    answers: list[Shapes] = []
    for candidate in _candidates(graph, extent, hints):
        named = _by_symbol(graph, inputs)
        answer = {
            tensor.name: _closed(
                tensor, inputs[tensor.name], _likely(graph, tensor, inputs[tensor.name], candidate), named
            )
            for tensor in graph.inputs
        }
        answers += [] if answer in answers else [answer]
    return answers


def fixed(graph: Graph, chosen: Mapping[str, tuple[int, ...]]) -> dict[str, PartialShape]:
    """Return the shapes of all inputs once some are ``chosen``: dimensions of one name are all equal.

    Raises IrInterpError for a shape that an input cannot have.
    """
    inputs = _settled(graph, chosen)
    named = _by_symbol(graph, inputs)
    return {
        tensor.name: tuple(
            named.get(symbol) if length is None else length
            for symbol, length in zip(_symbols(tensor), inputs[tensor.name], strict=True)
        )
        for tensor in graph.inputs
    }


def _settled(graph: Graph, chosen: Mapping[str, tuple[int, ...]]) -> dict[str, PartialShape]:
    check_names(graph, chosen)
    return {tensor.name: _fixed(tensor, chosen) for tensor in graph.inputs}


def extents(graph: Graph, chosen: Mapping[str, tuple[int, ...]], hints: SizeHints | None = None) -> list[Extent]:
    """Return the extents at which a model has separate sizes: one if nothing is dynamic."""
    known: list[Shapes] = []
    distinct = []
    for extent in Extent:
        answers = shapes(graph, chosen, extent, hints)
        distinct += [] if all(answer in known for answer in answers) else [extent]
        known += answers
    return distinct


def _candidates(graph: Graph, extent: Extent, hints: SizeHints) -> Iterator[_Candidate]:
    if len(graph.hints) == 2 and extent is Extent.REAL:
        yield _Candidate(height=graph.hints[0], width=graph.hints[1], depth=graph.hints[0])
    if extent in _DECIDING:
        place = _DECIDING.index(extent)
        for height, width in deciding_images(graph, hints)[place : place + 1]:
            yield from (_Candidate(height=height, width=width, depth=depth) for depth in (3, 16))
    elif extent is Extent.TRACED:
        yield _Candidate(height=1, width=1, depth=1)  # all sizes are known
    else:
        yield from _TRIED[extent]


def named(inputs: Sequence[ModelInput], chosen: Mapping[str, Chosen], thing: str = "shape") -> dict[str, Chosen]:
    """Return shapes or files by input name; without a name they are the only input's.

    Raises IrInterpError for several inputs, or for both a name and none.
    """
    if "" not in chosen or any(not tensor.name for tensor in inputs):
        return dict(chosen)
    if len(inputs) != 1:
        names = ", ".join(tensor.name for tensor in inputs)
        raise IrInterpError(f"a {thing} has no input name; the inputs are {names}")
    if inputs[0].name in chosen:
        raise IrInterpError(f"a {thing} for input {inputs[0].name!r} is given with and without its name")
    return {name or inputs[0].name: value for name, value in chosen.items()}


def check_names(graph: Graph, chosen: Mapping[str, object]) -> None:
    """Raise IrInterpError for a name that no input has."""
    names = [tensor.name for tensor in graph.inputs]
    for name in chosen:
        if name not in names:
            raise IrInterpError(f"no input {name!r}; {closest(name, names)}")


def _fixed(tensor: ModelInput, chosen: Mapping[str, tuple[int, ...]]) -> PartialShape:
    """Return the shape of an input as far as it is settled."""
    if tensor.name not in chosen:
        return tensor.lengths
    if not fits(chosen[tensor.name], tensor.lengths):
        raise IrInterpError(f"shape {list(chosen[tensor.name])} does not fit; {tensor.text}")
    return chosen[tensor.name]


def fits(shape: Sequence[int], lengths: PartialShape) -> bool:
    """Return whether an array of a shape can be an input of this declared shape."""
    return len(shape) == len(lengths) and all(m >= 0 and n in (None, m) for m, n in zip(shape, lengths, strict=True))


def _closed(
    tensor: ModelInput, lengths: PartialShape, likely: Mapping[int, int], named: dict[str, int]
) -> tuple[int, ...]:
    """Return the shape of an input, dynamic dimensions filled in; ``named`` collects those with names."""
    closed = []
    for axis, (symbol, length) in enumerate(zip(_symbols(tensor), lengths, strict=True)):
        if length is None:
            length = named.get(symbol) or likely[axis]
            most = tensor.most[axis] if axis < len(tensor.most) else None
            length = min(length, most) if most else length
            named |= {symbol: length} if symbol else {}
        closed.append(length)
    return tuple(closed)


def _symbols(tensor: ModelInput) -> tuple[str, ...]:
    """Return the names of the dimensions of an input, empty for those without."""
    return tensor.symbols or ("",) * len(tensor.lengths)


def _likely(graph: Graph, tensor: ModelInput, lengths: PartialShape, candidate: _Candidate) -> dict[int, int]:
    """Return sizes for the dynamic axes: the batch, channels, then width, height and all others from the last on."""
    rank, channels = len(lengths), _channels(graph, tensor.name, len(lengths))
    dynamic = [axis for axis, length in enumerate(lengths) if length is None]
    if _is_state(tensor, graph):
        return dict.fromkeys(dynamic, candidate.batch)
    if rank == 1 and dynamic and (entries := _entries(graph, tensor.name)):
        return {0: entries}
    resize = next((step for step in _takers(graph, {tensor.name}) if step.type in _RESIZES), None)
    is_image = resize is not None and (rank <= _NO_BATCH or scales_batch(graph, resize, rank))
    is_signal = rank == 1 and len(graph.inputs) == 1  # beside others, a vector has an element for each image
    known = {} if is_image or is_signal else {0: candidate.batch}
    known |= {1: channels} if channels is not None and rank > 2 else {}
    sizes = target_sizes(graph, resize, rank) if resize and rank > _NO_BATCH else {}
    known |= {axis: size for axis, size in sizes.items() if axis < rank - 2 and size > 0}  # mostly stays as it is
    others = [axis for axis in reversed(dynamic) if axis not in known]
    area = candidate.width * candidate.height
    settled = area * math.prod(known.values()) * math.prod(filter(None, lengths))
    most = _MOST_ELEMENTS / _FEWER ** max(0, rank - _IMAGE_RANK)
    room = (most / settled) ** (1 / max(1, len(others) - 2))
    depth = max(1, min(candidate.depth, int(room)))
    width, height = candidate.width, candidate.height
    if resize and rank > _LARGEST_FAST_RANK:
        depth, height, width = (min(pair) for pair in zip(_FEW, (candidate.depth, height, width), strict=True))
    sizes = dict(zip(others, (width, height, *(depth for _ in others)), strict=False))
    if resize and rank > _LARGEST_FAST_RANK:
        scales = target_scales(graph, resize, rank)
        least = {axis: math.ceil((1 + (axis == others[0])) / scale) for axis, scale in scales.items() if 0 < scale < 1}
        sizes |= {axis: min(_MOST_OF_FEW, max(sizes[axis], least[axis])) for axis in least.keys() & sizes.keys()}
    single = axes_outside(graph, resize, rank) if resize else []
    return known | sizes | dict.fromkeys(single, 1)


def _entries(graph: Graph, name: str) -> int:
    """Return the length of a vector that is the window, scales or sizes of an ONNX resize; 0 for any other tensor."""
    for step in graph.steps:
        place = step.inputs.index(name) if step.type == "resize" and name in step.inputs[1:4] else 0
        rank = _rank(graph, step) if place else 0
        if rank:
            return len(resized_axes(graph, step, rank)) * (2 if place == 1 else 1)  # a window has starts and ends
    return 0


def _is_state(tensor: ModelInput, graph: Graph) -> bool:
    """Return whether an input looks like the state of a recurrence: layers, the batch, numbers of each."""
    shaped = len(tensor.lengths) == 3 and [length is None for length in tensor.lengths] == [False, True, False]
    return shaped and any(other.lengths[:1] == (None,) for other in graph.inputs)


def _by_symbol(graph: Graph, inputs: Mapping[str, PartialShape]) -> dict[str, int]:
    """Return the sizes of named dimensions that are settled in one place and dynamic in another."""
    return {
        symbol: length
        for tensor in graph.inputs
        for symbol, length, declared in zip(tensor.symbols, inputs[tensor.name], tensor.lengths, strict=False)
        if symbol and length is not None and declared is None
    }


def _channels(graph: Graph, name: str, rank: int) -> int | None:
    """Return the channels that a convolution requires of an input, if the input leaves them dynamic."""
    tensors = {name}
    for step in _takers(graph, tensors):
        if step.type in _CONVOLUTIONS:
            return _channels_of(graph, step)
        keeps = step.type in _RESIZES and target_scales(graph, step, rank).get(1, 1.0) == 1
        if keeps or step.type in _ELEMENT_BY_ELEMENT:
            tensors |= set(step.outputs)
    return None


def _takers(graph: Graph, tensors: set[str]) -> Iterator[Step]:
    """Yield the steps whose data are one of some tensors, possibly cast or quantised before; these join the set."""
    for step in graph.steps:
        if step.inputs and step.inputs[0] in tensors:
            if step.type in _ELSEWHERE:
                tensors |= set(step.outputs)
            else:
                yield step


def _channels_of(graph: Graph, step: Step) -> int | None:
    name = step.inputs[1] if len(step.inputs) > 1 else ""
    weights = graph.shape(name)
    length = weights[1] if weights and len(weights) > 1 else None
    return length * int(step.attributes.get("group", 1)) if length else None


def _suiting(tensor: ModelInput, lengths: Sequence[int]) -> list[int]:
    """Return lengths that networks accept: the dynamic ones as multiples of 32, by which networks shrink images."""
    pairs = zip(lengths, tensor.lengths, strict=True)
    return [length - length % _MULTIPLE if known is None and length > _MULTIPLE else length for length, known in pairs]


def attempts(answers: Sequence[Shapes], graph: Graph, hints: SizeHints) -> str:
    """Return the sizes that were tried, and how to choose, as a source's own example has them: empty if none varies."""
    dynamic = [tensor for tensor in graph.inputs if None in tensor.lengths]
    if not dynamic or not answers:
        return ""
    name = dynamic[0].name
    tried = ", ".join(dimensions_text(answer[name]) for answer in answers)
    example = hints.shapes.get(name, _suiting(dynamic[0], answers[-1][name]))
    advice = f"tried on {name!r} of {tried}; choose sizes that suit the model"
    dimensions = ",".join(map(str, example))
    if tuple(example) in [tuple(answer[name]) for answer in answers]:  # which failed
        return advice
    return f"{advice}, as in {quote_shell('--shape', f'{name}:{dimensions}')}"
