"""Overlap of boxes, and the boxes kept when better ones suppress worse ones."""

from __future__ import annotations

from collections.abc import Callable

from ..onnx.onnx_primitives import NodeTensor, node
from .inner_nets import value_info
from .tensors import below, cut, reduction, shape, squeezed, tensor

Measure = Callable[[NodeTensor], NodeTensor]
"""Adds the overlap of every two of boxes [..., boxes, numbers]: [..., boxes, boxes]."""


def columns(boxes: NodeTensor, count: int) -> tuple[NodeTensor, ...]:
    """Return each number of boxes [..., boxes, count] separately."""
    return tuple(squeezed(cut(boxes, index, index + 1, -1), -1) for index in range(count))


def each_two(number: NodeTensor) -> tuple[NodeTensor, NodeTensor]:
    """Return a number of each box [..., boxes] for the first and for the second of two, to be broadcast."""
    return number.unsqueeze(-1), number.unsqueeze(-2)


def sized(first: NodeTensor, last: NodeTensor, edge: float) -> NodeTensor:
    """Return the distance between two places, plus ``edge``."""
    length = last - first
    return length + edge if edge else length


def areas(boxes: NodeTensor, edge: float) -> NodeTensor:
    """Return the areas of boxes whose sizes are ``edge`` more than the difference of their corners."""
    x0, y0, x1, y1 = columns(boxes, 4)
    return sized(x0, x1, edge) * sized(y0, y1, edge)


def of_corners(boxes: NodeTensor, area: NodeTensor, edge: float) -> NodeTensor:
    """Return intersection over union of every two boxes, given their areas; 0 for two that do not touch."""
    firsts, lasts = columns(boxes, 4)[:2], columns(boxes, 4)[2:]
    sides, gaps = [], []
    for first, last in zip(firsts, lasts, strict=True):
        (begin, other), (end, its_end) = each_two(first), each_two(last)
        sides.append(sized(begin.maximum(other), end.minimum(its_end), edge))
        gaps += [begin > its_end, other > end]
    shared = sides[0] * sides[1]
    apart = shared == 0
    for gap in gaps:
        # Two negative sides would multiply to a positive area.
        apart = apart | gap
    first, second = each_two(area)
    return apart.where(0, shared / (first + second - shared))


def shares(area: NodeTensor, shared: NodeTensor) -> NodeTensor:
    """Return intersection over union of every two boxes, given areas and intersections; 0 if one has no area."""
    first, second = each_two(area)
    have_areas = (first > 0) & (second > 0)
    return have_areas.where(shared / (first + second - shared), 0)


def greedily(
    boxes: NodeTensor, candidates: NodeTensor, measure: Measure, limit: NodeTensor, *, adapts: bool = False
) -> NodeTensor:
    """Return which of the candidates are kept [groups, boxes], if each kept box suppresses all later ones.

    Boxes are [groups, boxes, numbers], best first; ``candidates`` marks those that take part. Groups are processed one
    by one, to save memory. In each, a box is kept if no kept box before it overlaps it by more than the
    limit; if that ``adapts``, there is one limit for each number of boxes kept before. Starting from all, this rule
    is applied until nothing changes: then it holds for the first box, hence for the second, and so on. Few rounds are
    needed, since only boxes that suppress one another in a chain need one each.
    """
    graph = boxes.ops.graph
    inner = graph.inner()
    group = tensor(inner, inner.fresh(f"{graph.layer}/boxes"))
    taking = tensor(inner, inner.fresh(f"{graph.layer}/candidates"), "bool")
    place, later = each_two(below(squeezed(cut(shape(group), 0, 1, 0), 0)))
    is_before, shared = place < later, measure(group)

    def hits(limit: NodeTensor) -> NodeTensor:
        return ((limit.like(shared.value) > limit) & limit.like(is_before.value, "bool")).cast("float32")

    fixed = None if adapts else hits(group.like(limit.value))
    left = _settled(lambda flags: flags.like(fixed.value, "float32") if fixed else hits(_limits(flags, limit)), taking)
    kind = "bool", (None,)
    body = inner.proto(
        f"{graph.layer}/group",
        [value_info(group.value, "float32", (None, None)), value_info(taking.value, *kind)],
        [value_info(left.value, *kind)],
    )
    # Scan runs one group after the other, so that only one matrix of overlaps is in memory.
    return node("Scan", boxes, candidates, dtype="bool", body=body, num_scan_inputs=2)


def _limits(selected: NodeTensor, table: NodeTensor) -> NodeTensor:
    """Return the limit for each box, by the number of kept boxes before it."""
    best = selected.of(0, "int64")
    number = node("CumSum", selected.cast("int32"), best, exclusive=1)
    return node("Gather", selected.like(table.value, "float32"), number)


def _settled(hits: Callable[[NodeTensor], NodeTensor], candidates: NodeTensor) -> NodeTensor:
    """Apply the rule to one group until nothing changes; ``hits`` marks who suppresses whom, given the kept boxes."""
    graph = candidates.ops.graph
    body, name = graph.inner(), graph.layer
    number, going, selected = (tensor(body, body.fresh(f"{name}/{end}"), "bool") for end in ("round", "going", "kept"))
    is_hit = selected.cast("float32") @ hits(selected) > 0
    left = selected.like(candidates.value) & ~is_hit
    changes = node("Xor", left, selected).cast("float32")
    again = reduction("ReduceSum", changes, 0, keep=False) > 0
    inputs = [
        value_info(number.value, "int64", ()),
        value_info(going.value, "bool", ()),
        value_info(selected.value, "bool", (None,)),
    ]
    outputs = [value_info(again.value, "bool", ()), value_info(left.value, "bool", (None,))]
    yes = candidates.of(True)
    rounds = body.proto(f"{name}/round", inputs, outputs)
    return candidates.like(graph.node("Loop", "", yes.value, candidates.value, body=rounds))


def first_of(selected: NodeTensor, most: int) -> NodeTensor:
    """Return only so many of the kept boxes in each group [groups, boxes]; all if ``most`` is negative."""
    if most < 0:
        return selected
    number = node("CumSum", selected.cast("int32"), selected.of(1, "int64"))
    return selected & ~(number > most)


def at_most(rows: NodeTensor, axis: int, most: int) -> NodeTensor:
    """Return the size of an axis known only at run time, or ``most`` if that is less, as a vector."""
    length = cut(shape(rows), axis, axis + 1, 0)
    limit = length.of([most])
    return (length < limit).where(length, limit)
