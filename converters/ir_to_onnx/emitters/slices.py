"""Slices, by every mask of StridedSlice; reversed and rolled axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...onnx import operators
from ...onnx.graph import Graph
from ...onnx.operators import END
from .. import layer_inputs
from ..layer import Op

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
    start, stop, step = (layer_inputs.int64(graph, op, index) for index in (1, 2, 3))
    axes = layer_inputs.int64(graph, op, 4) if op.has(4) else graph.ints(range(op.lengths(1)[0]))
    return graph.node("Slice", op.inputs[0], start, stop, axes, step)


def _slice_scatter(graph: Graph, op: Op) -> str:
    """Replace the slice: slicing the indices of all places finds where."""
    start, stop, step = (layer_inputs.int64(graph, op, index) for index in (2, 3, 4))
    axes = layer_inputs.int64(graph, op, 5) if op.has(5) else graph.ints(range(op.lengths(2)[0]))
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
    ends = [graph.node("Gather", layer_inputs.int64(graph, op, index), places) for index in (1, 2)]
    starts = _where(graph, [cut.open_begin for cut in cuts], graph.ints(side[0] for side in fixed), ends[0])
    stops = _where(graph, [cut.open_end for cut in cuts], graph.ints(side[1] for side in fixed), ends[1])
    shrinks = [cut.shrinks for cut in cuts]
    stops = _where(graph, shrinks, _following(graph, starts), stops) if any(shrinks) else stops
    return graph.node("Slice", op.inputs[0], starts, stops, axes, graph.ints(side[2] for side in fixed))


def _following(graph: Graph, starts: str) -> str:
    """Return the indices after some; that after the last, -1, is the end."""
    following = graph.node("Add", starts, graph.ints([1]))
    return graph.node("Where", graph.node("Equal", following, graph.ints([0])), graph.ints([END]), following)


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


TABLE = {
    "Slice": _slice,
    "SliceScatter": _slice_scatter,
    "StridedSlice": _strided_slice,
    "Reverse": _reverse,
    "Roll": _roll,
}
