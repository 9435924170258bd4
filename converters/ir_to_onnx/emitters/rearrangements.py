"""Elements moved between axes: depth and space, batch and space, shuffled channels, reversed sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs
from ..layer import Op

_DEPTH = ("blocks_first", "depth_first")


def _moved(
    graph: Graph, op: Op, x: str, apart: Sequence[int | None], order: Sequence[int], joined: Sequence[int | None]
) -> str:
    """Take axes apart, permute them and join them again."""
    output = operators.transposed(graph, layer_inputs.reshaped(graph, op, x, apart), order)
    return layer_inputs.reshaped(graph, op, output, joined)


def _open_shape(op: Op) -> tuple[int | None, ...]:
    op.rank()
    return op.shape() or ()


def _product(length: int | None, factor: int) -> int | None:
    return None if length is None else length * factor


def _quotient(length: int | None, divisor: int) -> int | None:
    return None if length is None else length // divisor


def _depth_to_space(graph: Graph, op: Op) -> str:
    block, blocks_first = op.integer("block_size", 1), op.word("mode", _DEPTH) == "blocks_first"
    batch, depth, *space = _open_shape(op)
    if len(space) == 2:
        # ONNX has this node for two spatial axes only; more are taken apart by Reshape and Transpose.
        return graph.node("DepthToSpace", op.inputs[0], blocksize=block, mode=None if blocks_first else "CRD")
    count = len(space)
    blocks, rest = [block] * count, _quotient(depth, block**count)
    block_axis = 1 if blocks_first else 2
    apart = [batch, *blocks, rest, *space] if blocks_first else [batch, rest, *blocks, *space]
    pairs = chain.from_iterable((2 + count + i, block_axis + i) for i in range(count))
    order = [0, 1 + count if blocks_first else 1, *pairs]
    joined = [batch, rest, *(_product(length, block) for length in space)]
    return _moved(graph, op, op.inputs[0], apart, order, joined)


def _space_to_depth(graph: Graph, op: Op) -> str:
    block, blocks_first = op.integer("block_size", 1), op.word("mode", _DEPTH) == "blocks_first"
    batch, depth, *space = _open_shape(op)
    count = len(space)
    if blocks_first and count == 2:
        # ONNX puts the blocks in front of the depth, in images only.
        return graph.node("SpaceToDepth", op.inputs[0], blocksize=block)
    outer = [_quotient(length, block) for length in space]
    apart = [batch, depth, *chain.from_iterable((length, block) for length in outer)]
    blocks = [3 + 2 * i for i in range(count)]
    order = [0, *([*blocks, 1] if blocks_first else [1, *blocks]), *(2 + 2 * i for i in range(count))]
    return _moved(graph, op, op.inputs[0], apart, order, [batch, _product(depth, block**count), *outer])


def _batch_to_space(graph: Graph, op: Op) -> str:
    blocks, begin, end = (op.known_integers(index, "its blocks and crops are") for index in (1, 2, 3))
    batch, *space = op.lengths()
    count, rest = len(space), batch
    for block in blocks:
        rest //= block
    apart = [*blocks[1:], rest, *space]
    order = [count, *chain.from_iterable((count + 1 + i, i) for i in range(count))]
    joined = [length * block for length, block in zip((rest, *space), blocks, strict=True)]
    x = _moved(graph, op, op.inputs[0], apart, order, joined)
    axes = [axis for axis in range(count + 1) if begin[axis] or end[axis]]
    return operators.cut(graph, x, [begin[axis] for axis in axes], [joined[axis] - end[axis] for axis in axes], axes)


def _space_to_batch(graph: Graph, op: Op) -> str:
    blocks, begin, end = (op.known_integers(index, "its blocks and pads are") for index in (1, 2, 3))
    x, count = op.inputs[0], len(blocks)
    padded = [length + b + e for length, b, e in zip(op.lengths(), begin, end, strict=True)]
    if any((*begin, *end)):
        x = graph.node("Pad", x, graph.ints([*begin, *end]))
    outer = [length // block for length, block in zip(padded, blocks, strict=True)]
    apart = list(chain.from_iterable(zip(outer, blocks, strict=True)))
    order = [*(2 * i + 1 for i in range(count)), *(2 * i for i in range(count))]
    joined = [outer[0], *outer[1:]]
    for block in blocks:
        joined[0] *= block
    return _moved(graph, op, x, apart, order, joined)


def _shuffle_channels(graph: Graph, op: Op) -> str:
    shape, groups = _open_shape(op), op.integer("group", 1)
    axis = op.from_first(op.integer("axis", 1), len(shape))
    apart = [*shape[:axis], groups, _quotient(shape[axis], groups), *shape[axis + 1 :]]
    order = [*range(axis), axis + 1, axis, *range(axis + 2, len(apart))]
    return _moved(graph, op, op.inputs[0], apart, order, shape)


def _reverse_sequence(graph: Graph, op: Op) -> str:
    """Reverse the first elements of every sequence; ONNX has batch and time in the first two axes."""
    rank = op.rank()
    batch, time = op.from_first(op.integer("batch_axis", 0), rank), op.from_first(op.integer("seq_axis", 1), rank)
    lengths = layer_inputs.int64(graph, op, 1)
    if {batch, time} == {0, 1}:
        return graph.node("ReverseSequence", op.inputs[0], lengths, batch_axis=batch, time_axis=time)
    order = [batch, time, *(axis for axis in range(rank) if axis not in (batch, time))]
    output = graph.node(
        "ReverseSequence", operators.transposed(graph, op.inputs[0], order), lengths, batch_axis=0, time_axis=1
    )
    return operators.transposed(graph, output, operators.inverse(order))


TABLE: dict[str, Callable[[Graph, Op], str]] = {
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "BatchToSpace": _batch_to_space,
    "SpaceToBatch": _space_to_batch,
    "ShuffleChannels": _shuffle_channels,
    "ReverseSequence": _reverse_sequence,
}
