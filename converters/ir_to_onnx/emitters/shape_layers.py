"""Shapes: reshaping, permuting, joining, splitting, repeating; slices, and elements moved between axes.

Slices have every mask of StridedSlice, and axes are reversed and rolled. Elements move between depth and space, or
batch and space; channels are shuffled, sequences reversed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ir_interp.shapes import PartialShape

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from ...onnx.operators import END
from .. import integer_layers, layers, small_weights
from ..layers import WHOLE, Op


def _reshape(graph: Graph, op: Op) -> str:
    """Reshape; a zero copies a size under ``special_zero``, and is a size of 0 otherwise."""
    literal, stored = not op.flag("special_zero"), small_weights.flattened(op.net, op.layer)
    if stored is not None and stored.since <= graph.opset:
        return stored.written(graph, op.layer.name)
    pattern, lengths = op.value(1), op.result_shape()
    if op.inputs[0] in graph.initialisers and pattern is not None and lengths is not None and None not in lengths:
        return layers.reshaped(graph, op, op.inputs[0], lengths)
    if lengths is not None and None not in lengths and 0 in lengths and graph.opset >= 14:
        return layers.reshaped(graph, op, op.inputs[0], lengths)  # with zeros in the pattern, -1 matches no size
    if pattern is None and lengths is not None and lengths.count(None) < 2 and 0 not in lengths:
        return layers.reshaped(graph, op, op.inputs[0], lengths)  # whatever the pattern is at run time
    # Without a zero, both readings of it are the same.
    if pattern is not None and 0 not in pattern:
        x = operators.unpermuted(graph, op.inputs[0], op.shape() or ())
        return graph.node("Reshape", x, layers.int64(graph, op, 1))
    if not literal and pattern is not None and lengths is not None and len(lengths) == pattern.size:
        return graph.node("Reshape", op.inputs[0], graph.ints(_measured(pattern.ravel().tolist(), lengths)))
    if not literal:
        return graph.node("Reshape", op.inputs[0], layers.int64(graph, op, 1))
    if graph.opset < 14:  # allowzero exists since then
        return _reshaped_without_zeros(graph, op)
    return graph.node("Reshape", op.inputs[0], layers.int64(graph, op, 1), allowzero=1)


def _measured(pattern: Sequence[int], lengths: PartialShape) -> list[int]:
    """Return a pattern whose -1 is the resulting size, if known: ONNX finds none for a tensor without elements."""
    return [entry if entry >= 0 or length is None else length for entry, length in zip(pattern, lengths, strict=True)]


def _reshaped_without_zeros(graph: Graph, op: Op) -> str:
    """Reshape if a zero of the pattern would copy a size, but is a size of 0: start from a shape of zeros only.

    Only tensors without elements get that shape: a column of all elements does, once its axes are cut to none.
    """
    (rank,) = op.lengths(1)
    column = graph.node("Reshape", op.inputs[0], graph.ints([-1, *[1] * (rank - 1)]))
    count = operators.cut(graph, graph.node("Shape", column), [0], [1], [0])
    ends = graph.node("Expand", count, graph.ints([rank]))
    starts, axes = graph.ints([0] * rank), graph.ints(range(rank))
    return graph.node("Reshape", graph.node("Slice", column, starts, ends, axes), layers.int64(graph, op, 1))


def _squeeze(graph: Graph, op: Op) -> str:
    """Remove axes of size 1: the listed ones if they have that size, or all."""
    may_stay = op.flag("allow_axis_skip")
    if op.has(1):
        shape, axes = op.shape() or (None,) * op.rank(), op.axes(1, op.rank())
        if may_stay and any(shape[axis] is None for axis in axes):
            raise op.refusal("whether an axis is removed depends on its size at run time (allow_axis_skip)")
        # ONNX refuses an axis of another size, where OpenVINO keeps it.
        axes = tuple(axis for axis in axes if shape[axis] in (1, None))
        return operators.squeeze(graph, op.inputs[0], sorted(set(axes)))
    return graph.node("Squeeze", op.inputs[0])


def _unsqueeze(graph: Graph, op: Op) -> str:
    axes = op.known_integers(1, "axes are")
    rank = op.rank() + len(axes)
    return operators.unsqueeze(graph, op.inputs[0], sorted(op.from_first(axis, rank) for axis in axes))


def _transpose(graph: Graph, op: Op) -> str:
    order = op.known_integers(1, "the order of axes is")
    if not order:
        return graph.node("Transpose", op.inputs[0])
    return operators.transposed(graph, op.inputs[0], [axis % len(order) for axis in order])


def _concat(graph: Graph, op: Op) -> str:
    return integer_layers.marked(graph, op, graph.node("Concat", *op.inputs, axis=op.integer("axis")))


def _split(graph: Graph, op: Op) -> tuple[str, ...]:
    (axis,), count = op.known_integers(1, "the axis is"), op.integer("num_splits")
    shape = op.shape()
    length = shape[axis] if shape is not None else None
    if length is not None:
        return operators.split(graph, op.inputs[0], [length // count] * count, axis)
    # Split-18 requires the number of its outputs if it has no sizes.
    return graph.outputs(count, "Split", op.inputs[0], axis=axis, num_outputs=count if graph.opset >= 18 else None)


def _variadic_split(graph: Graph, op: Op) -> tuple[str, ...]:
    (axis,), lengths, count = op.known_integers(1, "the axis is"), op.value(2), len(op.layer.outputs)
    inferred = [(op.result_shape(index) or {axis: None})[axis] for index in range(count)]
    pieces = [int(length) for length in (inferred if lengths is None else lengths) if length is not None]
    if len(pieces) < count:
        # Split takes its sizes as an input since operator set 13.
        op.needs(13, graph.opset, "a split into sizes known only at run time")
        return graph.outputs(count, "Split", op.inputs[0], _with_rest(graph, op, axis), axis=axis)
    if -1 not in pieces:
        return operators.split(graph, op.inputs[0], pieces, axis)
    in_size = op.lengths(axes=[axis])[0] if (op.shape() or ())[axis] is not None else None
    if in_size is None:
        return _cut_around(graph, op, pieces, axis)
    rest = in_size - sum(length for length in pieces if length >= 0)
    return operators.split(graph, op.inputs[0], [rest if length < 0 else length for length in pieces], axis)


def _with_rest(graph: Graph, op: Op, axis: int) -> str:
    """Return sizes known only at run time, with -1 among them replaced by the rest of the axis."""
    lengths = layers.tensor(graph, layers.int64(graph, op, 2), "int64")
    length = layers.shape(layers.operand(graph, op)).take([axis], 0)
    # The sum counts the -1 too, so 1 is added.
    others = layers.reduction("ReduceSum", lengths, 0) + 1
    return str((lengths < 0).where(length - others, lengths).value)


def _cut_around(graph: Graph, op: Op, lengths: Sequence[int], axis: int) -> tuple[str, ...]:
    """Cut pieces out from both ends; the one between them takes the rest."""
    between = lengths.index(-1)
    starts = [sum(lengths[:i]) if i <= between else -sum(lengths[i:]) for i in range(len(lengths))]
    ends = [*starts[1:], operators.END]
    return tuple(
        operators.cut(graph, op.inputs[0], [start], [end], [axis]) for start, end in zip(starts, ends, strict=True)
    )


def _tile(graph: Graph, op: Op) -> str:
    """Repeat; the shorter of shape and repeats is filled with ones in front."""
    rank, repeats = op.rank(), op.value(1)
    count = len(repeats) if repeats is not None else (op.shape(1) or (None,))[0]
    if count is None:
        raise op.refusal("the number of repeats is known only at run time")
    x = operators.unsqueeze(graph, op.inputs[0], range(count - rank)) if count > rank else op.inputs[0]
    times = layers.int64(graph, op, 1)
    if count < rank:
        times = graph.node("Concat", graph.ints([1] * (rank - count)), times, axis=0)
    return graph.node("Tile", x, times)


def _broadcast(graph: Graph, op: Op) -> str:
    """Expand; "explicit" ("none" in Broadcast-1) maps the input's axes to axes of the target."""
    mode = op.word("mode", ("numpy", "none", "explicit", "bidirectional", "pdpd"), "numpy")
    if mode == "pdpd":
        raise op.refusal("it aligns axes like pdpd")
    x = op.inputs[0]
    if mode in ("explicit", "none"):
        mapping = op.known_integers(2, "the mapping of axes is")
        lengths = op.shape(1)
        rank = len(op.known(1, "")) if op.value(1) is not None else lengths[0] if lengths else None
        if rank is None:
            raise op.refusal("the rank of the target is known only at run time")
        x = operators.unsqueeze(graph, x, [axis for axis in range(rank) if axis not in mapping])
    return graph.node("Expand", x, layers.int64(graph, op, 1))


def _range(graph: Graph, op: Op) -> str:
    dtype = op.result_dtype()
    if dtype in WHOLE and not all(_is_whole(op, index) for index in range(3)):
        raise op.refusal("an integer range from non-integers")
    return graph.node("Range", *(_scalar(graph, op, index, dtype) for index in range(3)))


def _is_whole(op: Op, index: int) -> bool:
    value = op.value(index)
    return op.dtype(index) in WHOLE or (value is not None and bool((value == np.rint(value)).all()))


def _scalar(graph: Graph, op: Op, index: int, dtype: str) -> str:
    value = op.value(index)
    if value is not None:
        return operators.scalar(graph, value.ravel()[0], dtype)
    number = op.inputs[index] if op.dtype(index) == dtype else operators.cast(graph, op.inputs[index], dtype)
    if dtype not in WHOLE:  # onnxruntime 1.32 takes the float of a Cast of a Shape for an int64, and refuses the Range
        number = graph.node("Sum", number)
    return number if op.shape(index) == () else graph.node("Reshape", number, graph.constant(np.zeros(0, np.int64)))


def _shape_of(graph: Graph, op: Op) -> str:
    shape = graph.node("Shape", op.inputs[0])
    return shape if op.result_dtype() == "int64" else operators.cast(graph, shape, op.result_dtype())


_MASKS = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """One entry of a StridedSlice that cuts ``axis``; an open side goes to the end of it."""

    entry: int
    axis: int
    open_begin: bool
    open_end: bool
    shrinks: bool


def _slice(graph: Graph, op: Op) -> str:
    start, stop, step = (layers.int64(graph, op, index) for index in (1, 2, 3))
    axes = layers.int64(graph, op, 4) if op.has(4) else graph.ints(range(op.lengths(1)[0]))
    return graph.node("Slice", op.inputs[0], start, stop, axes, step)


def _slice_scatter(graph: Graph, op: Op) -> str:
    """Replace the slice: slicing the indices of all places finds where."""
    start, stop, step = (layers.int64(graph, op, index) for index in (2, 3, 4))
    axes = layers.int64(graph, op, 5) if op.has(5) else graph.ints(range(op.lengths(2)[0]))
    zero, one = (operators.scalar(graph, number, "int64") for number in (0, 1))
    shape, all_in_one = graph.node("Shape", op.inputs[0]), graph.ints([-1])
    places = graph.node("Range", zero, graph.node("Size", op.inputs[0]), one)
    taken = graph.node("Slice", graph.node("Reshape", places, shape), start, stop, axes, step)
    flat, updates = (graph.node("Reshape", op.inputs[index], all_in_one) for index in (0, 1))
    output = graph.node("ScatterElements", flat, graph.node("Reshape", taken, all_in_one), updates, axis=0)
    return graph.node("Reshape", output, shape)


def _strided_slice(graph: Graph, op: Op) -> str:
    cuts, new_axes, squeezed = _walk(op)
    x = _cut(graph, op, cuts) if cuts else op.inputs[0]
    return operators.unsqueeze(graph, operators.squeeze(graph, x, squeezed), new_axes)


def _entries(op: Op) -> int:
    value = op.value(1)
    shape = op.shape(1)
    count = len(value) if value is not None else shape[0] if shape else None
    if count is None:
        raise op.refusal("the number of its entries is known only at run time")
    return count


def _walk(op: Op) -> tuple[list[_Cut], list[int], list[int]]:
    """Return the cuts, the new axes of the result, and the dropped axes."""
    count = _entries(op)
    begins, ends, news, shrinks, ellipses = (_bits(op, name, count) for name in _MASKS)
    cuts: list[_Cut] = []
    new_axes: list[int] = []
    axis = place = 0  # in the input, in the result
    for entry in range(count):
        if ellipses[entry]:
            # An ellipsis stands for all axes that no later entry takes; new axes take none.
            skipped = op.rank() - axis - news[entry + 1 :].count(False)
            axis, place = axis + skipped, place + skipped
        elif news[entry]:
            new_axes.append(place)
            place += 1
        else:
            sides = {"open_begin": begins[entry], "open_end": ends[entry], "shrinks": shrinks[entry]}
            cuts.append(_Cut(entry=entry, axis=axis, **sides))
            axis, place = axis + 1, place + (not shrinks[entry])
    return cuts, new_axes, [cut.axis for cut in cuts if cut.shrinks]


def _bits(op: Op, name: str, count: int) -> list[bool]:
    """Return a mask; missing bits are not set."""
    bits = [bool(bit) for bit in op.integers(name, ())][:count]
    return bits + [False] * (count - len(bits))


def _cut(graph: Graph, op: Op, cuts: list[_Cut]) -> str:
    steps = op.known_integers(3, "strides are") if op.has(3) else (1,) * _entries(op)
    begin, end = op.value(1), op.value(2)
    if begin is not None and end is not None:
        sides = [_sides(cut, int(begin[cut.entry]), int(end[cut.entry]), steps[cut.entry]) for cut in cuts]
        needed = [(cut.axis, *side) for cut, side in zip(cuts, sides, strict=True) if side != (0, END, 1)]
        axes, starts, stops, strides = ([row[k] for row in needed] for k in range(4))
        return operators.cut(graph, op.inputs[0], starts, stops, axes, strides)
    return _cut_at_run_time(graph, op, cuts, steps)


def _sides(cut: _Cut, begin: int, end: int, step: int) -> tuple[int, int, int]:
    """Return start, stop and step of a cut; one that shrinks takes a single element."""
    first, last = (0, END) if step > 0 or cut.shrinks else (END, -END)
    start = first if cut.open_begin else begin
    if cut.shrinks:
        return start, start + 1 if start != -1 else END, 1  # the stop after -1 would be 0, before it
    return start, last if cut.open_end else end, step


def _cut_at_run_time(graph: Graph, op: Op, cuts: list[_Cut], steps: tuple[int, ...]) -> str:
    """Slice by starts and stops in which constants replace masked entries."""
    places, axes = graph.ints(cut.entry for cut in cuts), graph.ints(cut.axis for cut in cuts)
    fixed = [_sides(cut, 0, 0, steps[cut.entry]) for cut in cuts]
    ends = [graph.node("Gather", layers.int64(graph, op, index), places) for index in (1, 2)]
    starts = _where(graph, [cut.open_begin for cut in cuts], graph.ints(side[0] for side in fixed), ends[0])
    stops = _where(graph, [cut.open_end for cut in cuts], graph.ints(side[1] for side in fixed), ends[1])
    shrinks = [cut.shrinks for cut in cuts]
    stops = _where(graph, shrinks, _following(graph, starts), stops) if any(shrinks) else stops
    return graph.node("Slice", op.inputs[0], starts, stops, axes, graph.ints(side[2] for side in fixed))


def _following(graph: Graph, starts: str) -> str:
    """Return the indices after some; that after the last, -1, is the end."""
    following = layers.tensor(graph, starts, "int64") + 1
    return str((following == 0).where(END, following).value)


def _where(graph: Graph, masked: list[bool], replacement: str, run_time: str) -> str:
    return graph.node("Where", graph.constant(masked, np.bool_), replacement, run_time) if any(masked) else run_time


def _reverse(graph: Graph, op: Op) -> str:
    rank = op.rank()
    if op.word("mode", ("index", "mask")) == "mask":
        axes = [axis for axis, reversed_ in enumerate(op.known(1, "axes are").ravel()) if reversed_]
    else:
        axes = list(op.axes(1, rank))
    count = len(axes)
    return operators.cut(graph, op.inputs[0], [END] * count, [-END] * count, axes, [-1] * count)


def _roll(graph: Graph, op: Op) -> str:
    """Roll along axes."""
    x, shifts, axes = op.inputs[0], op.known_integers(1, "shifts are"), op.axes(2, op.rank())
    for shift, axis in zip(shifts * len(axes) if len(shifts) == 1 else shifts, axes, strict=False):
        size, place = (op.shape() or ())[axis], graph.ints([axis])
        if size is not None:
            middle = graph.ints([-shift % max(size, 1)])
        else:
            length = graph.node("Gather", graph.node("Shape", op.inputs[0]), place)
            middle = graph.node("Mod", graph.ints([-shift]), length)
        back = graph.node("Slice", x, middle, graph.ints([END]), place)
        x = graph.node("Concat", back, graph.node("Slice", x, graph.ints([0]), middle, place), axis=axis)
    return x


_DEPTH = ("blocks_first", "depth_first")


def _moved(
    graph: Graph, op: Op, x: str, apart: Sequence[int | None], order: Sequence[int], joined: Sequence[int | None]
) -> str:
    """Take axes apart, permute them and join them again."""
    output = operators.transposed(graph, layers.reshaped(graph, op, x, apart), order)
    return layers.reshaped(graph, op, output, joined)


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
    lengths = layers.int64(graph, op, 1)
    if {batch, time} == {0, 1}:
        return graph.node("ReverseSequence", op.inputs[0], lengths, batch_axis=batch, time_axis=time)
    order = [batch, time, *(axis for axis in range(rank) if axis not in (batch, time))]
    output = graph.node(
        "ReverseSequence", operators.transposed(graph, op.inputs[0], order), lengths, batch_axis=0, time_axis=1
    )
    return operators.transposed(graph, output, operators.inverse(order))


TABLE = {
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "VariadicSplit": _variadic_split,
    "Tile": _tile,
    "Broadcast": _broadcast,
    "Range": _range,
    "ShapeOf": _shape_of,
    "Slice": _slice,
    "SliceScatter": _slice_scatter,
    "StridedSlice": _strided_slice,
    "Reverse": _reverse,
    "Roll": _roll,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "BatchToSpace": _batch_to_space,
    "SpaceToBatch": _space_to_batch,
    "ShuffleChannels": _shuffle_channels,
    "ReverseSequence": _reverse_sequence,
}
