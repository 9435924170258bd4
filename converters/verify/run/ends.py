"""Inputs of two models that are the same but for layout and element type, as where one has its preprocessing inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.options.image_options import Images
from ir_interp.shapes import PartialShape

from ..graphs import Described, Graph
from .image_inputs import is_channel_last
from .runners import Named

_ORDERS = ((0, 2, 3, 1), (0, 3, 1, 2))  # of axes, from NCHW to NHWC and back


def paired(mine: Sequence[Described], theirs: Sequence[Described]) -> dict[str, Described]:
    """Return the input of another model for each of this one: by name where all have one, else by place."""
    if len(mine) != len(theirs):
        names = ", ".join(each.name for each in theirs)
        raise IrInterpError(f"{len(theirs)} inputs ({names}), but {len(mine)} are given")
    by_name = {each.name: each for each in theirs}
    named = by_name.keys() == {each.name for each in mine}
    return {each.name: by_name[each.name] if named else other for each, other in zip(mine, theirs, strict=True)}


def joined(graph: Graph, other: Graph) -> Graph:
    """Return the graph with inputs that both models can take: static lengths of either, pixels where one takes them.

    Raises IrInterpError where an input of the one can be none of the other.
    """
    partners = paired(graph.inputs, other.inputs)
    return replace(graph, inputs=tuple(_joined(each, partners[each.name]) for each in graph.inputs))


def _joined(mine: Described, theirs: Described) -> Described:
    order = _order(theirs.lengths, mine.lengths)
    if order is None or not _same_kind(mine.dtype, theirs.dtype):
        raise IrInterpError(f"inputs that do not go together: {mine.text}; {theirs.text}")
    lengths = [theirs.lengths[axis] for axis in order]
    both = tuple(a if a is not None else b for a, b in zip(mine.lengths, lengths, strict=True))
    if _takes_pixels(theirs) and not _takes_pixels(mine):
        back = np.argsort(order)
        return replace(theirs, name=mine.name, lengths=tuple(both[axis] for axis in back))
    return replace(mine, lengths=both)


def _order(lengths: PartialShape, wanted: PartialShape) -> tuple[int, ...] | None:
    """Return the order of axes that makes lengths those that are wanted; None where no layout of images does."""
    plain: tuple[int, ...] = tuple(range(len(lengths)))
    if len(lengths) != len(wanted):
        return None
    orders: tuple[tuple[int, ...], ...] = (plain, *(_ORDERS if len(lengths) == 4 else ()))
    for order in orders:
        if all(b is None or lengths[a] in (None, b) for a, b in zip(order, wanted, strict=True)):
            return order
    return None


def _same_kind(mine: str, theirs: str) -> bool:
    """Say whether numbers of one element type can be given as those of another."""
    if mine == theirs or "bfloat16" in (mine, theirs):
        return True
    return bool(mine and theirs) and {np.dtype(mine).kind, np.dtype(theirs).kind} <= set("fiu")


def _takes_pixels(described: Described) -> bool:
    return described.dtype in ("uint8", "int8")


def fitted(array: NDArray[Any], base: Described, wanted: Described, images: Images) -> NDArray[Any]:
    """Return what was made for one input as another takes it: pixels become floats as ``images`` says."""
    order = _order(array.shape, wanted.lengths)
    if order is None:
        raise IrInterpError(f"{array.dtype} of shape {list(array.shape)} given; {wanted.text}")
    if _takes_pixels(base) and wanted.dtype.startswith("float") and array.ndim == 4:
        axis = 3 if is_channel_last(array.shape) else 1
        array = images.normalised(np.flip(array, axis) if images.bgr else array, axis)
    return np.asarray(array.transpose(order).astype(wanted.dtype, copy=False), order="C")


def for_model(arrays: Mapping[str, NDArray[Any]], graph: Graph, wanted: Sequence[Described], images: Images) -> Named:
    """Return arrays, made for the inputs of ``graph``, for those of another model: by name, in its order."""
    partners = paired(graph.inputs, wanted)
    found = {
        partners[each.name].name: fitted(arrays[each.name], each, partners[each.name], images) for each in graph.inputs
    }
    return [(each.name, found[each.name]) for each in wanted]
