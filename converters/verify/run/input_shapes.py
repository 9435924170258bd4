"""Sizes for dynamic dimensions: those that the model is for, else several to try."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ir_interp.errors import IrInterpError
from ir_interp.shapes import PartialShape
from ir_interp.text.quoting import shell

from ..graphs import Graph, ModelInput, Step, shape_text

Shapes = dict[str, tuple[int, ...]]

_TRIED = (64, 224, 320, 256, 512, 640, 384, 480)
"""Lengths of images and sequences, the quickest first; multiples of what networks shrink by, but for some 7."""
_ELSEWHERE = {"cast", "convert", "convertlike", "identity", "quantizelinear", "dequantizelinear", "fakequantize"}
_CONVOLUTIONS = {"conv", "convolution"}


def shapes(graph: Graph, chosen: Mapping[str, tuple[int, ...]]) -> list[Shapes]:
    """Return lengths for all inputs of a model, the likeliest first: one answer where nothing is dynamic.

    ``chosen`` are those that somebody chose by input name. Raises IrInterpError for lengths that an input cannot have.
    """
    check_names(graph, chosen)
    inputs = {tensor.name: _fixed(tensor, chosen) for tensor in graph.inputs}
    answers: list[Shapes] = []
    for height, width in _candidates(graph):
        answer = {tensor.name: _closed(graph, tensor, inputs, height, width) for tensor in graph.inputs}
        answers += [] if answer in answers else [answer]
    return answers


def _candidates(graph: Graph) -> Iterator[tuple[int, int]]:
    if len(graph.hints) == 2:
        yield graph.hints[0], graph.hints[1]
    yield from ((length, length) for length in _TRIED)


def named(inputs: Sequence[ModelInput], chosen: Mapping[str, tuple[int, ...]]) -> Shapes:
    """Return chosen lengths by name, without one the only input's. Raises IrInterpError where there are several."""
    if "" not in chosen or any(not tensor.name for tensor in inputs):
        return dict(chosen)
    if len(inputs) != 1:
        names = ", ".join(tensor.name for tensor in inputs)
        raise IrInterpError(f"a shape is given without a name; the inputs are {names}")
    return {name or inputs[0].name: shape for name, shape in chosen.items()}


def check_names(graph: Graph, chosen: Mapping[str, object]) -> None:
    """Raise IrInterpError for a name that no input has."""
    names = [tensor.name for tensor in graph.inputs]
    for name in chosen:
        if name not in names:
            raise IrInterpError(f"no input {name!r}; the inputs are {', '.join(names)}")


def _fixed(each: ModelInput, chosen: Mapping[str, tuple[int, ...]]) -> PartialShape:
    """Return the lengths of an input as far as they are settled."""
    if each.name not in chosen:
        return each.lengths
    if not fits(chosen[each.name], each.lengths):
        raise IrInterpError(f"no {each.dtype} of shape {list(chosen[each.name])}; {each.text}")
    return chosen[each.name]


def fits(shape: Sequence[int], lengths: PartialShape) -> bool:
    """Say whether an array of a shape can be an input of these lengths."""
    return len(shape) == len(lengths) and all(m >= 0 and n in (None, m) for m, n in zip(shape, lengths, strict=True))


def _closed(
    graph: Graph, each: ModelInput, inputs: Mapping[str, PartialShape], height: int, width: int
) -> tuple[int, ...]:
    """Return the lengths of an input, dynamic ones filled in: those of one name all alike."""
    named = _by_symbol(graph, inputs)
    lengths, channels = inputs[each.name], _channels(graph, each.name)
    batch = 1 if _is_state(each, graph) else None
    closed = []
    for axis, length in enumerate(lengths):
        symbol = each.symbols[axis] if axis < len(each.symbols) else ""
        if length is None:
            length = named.get(symbol) or batch or _likely(axis, len(lengths), channels, height, width)
            most = each.most[axis] if axis < len(each.most) else None
            length = min(length, most) if most else length
        closed.append(length)
    return tuple(closed)


def _likely(axis: int, rank: int, channels: int | None, height: int, width: int) -> int:
    if axis == 0:
        return 1  # the batch
    if axis == 1 and channels is not None and rank > 2:
        return channels
    return width if axis == rank - 1 else height


def _is_state(each: ModelInput, graph: Graph) -> bool:
    """Say whether an input looks like what a recurrence carries on: layers, the batch, numbers of each."""
    shaped = len(each.lengths) == 3 and [length is None for length in each.lengths] == [False, True, False]
    return shaped and any(other.lengths[:1] == (None,) for other in graph.inputs)


def _by_symbol(graph: Graph, inputs: Mapping[str, PartialShape]) -> dict[str, int]:
    """Return the lengths of named dimensions that are settled in one place and dynamic in another."""
    return {
        symbol: length
        for tensor in graph.inputs
        for symbol, length, declared in zip(tensor.symbols, inputs[tensor.name], tensor.lengths, strict=False)
        if symbol and length is not None and declared is None
    }


def _channels(graph: Graph, name: str) -> int | None:
    """Return the channels that a convolution takes of an input, where the input leaves them dynamic."""
    tensors = {name}
    for step in graph.steps:
        if step.inputs and step.inputs[0] in tensors:
            if step.type in _CONVOLUTIONS:
                return _channels_of(graph, step)
            if step.type in _ELSEWHERE:
                tensors |= set(step.outputs)
    return None


def _channels_of(graph: Graph, step: Step) -> int | None:
    name = step.inputs[1] if len(step.inputs) > 1 else ""
    weights = graph.shape(name)
    length = weights[1] if weights and len(weights) > 1 else None
    return length * int(step.attributes.get("group", 1)) if length else None


def attempts(answers: Sequence[Shapes], graph: Graph) -> str:
    """Return what was tried, and how to choose: nothing where nothing is dynamic."""
    dynamic = [tensor for tensor in graph.inputs if None in tensor.lengths]
    if not dynamic or not answers:
        return ""
    name = dynamic[0].name
    tried = ", ".join(shape_text(answer[name]) for answer in answers)
    example = shell("--shape", f"{name}:{','.join(map(str, answers[-1][name]))}")
    return f"tried on {name!r} of {tried}; choose lengths that the model is for, as in {example}"
