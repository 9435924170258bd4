"""Inputs of two models that agree except for layout and element type, for example if one includes its preprocessing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.options.image_options import Images
from ir_interp.shapes import PartialShape

from ..graphs import Graph, ModelInput
from .array_files import Named
from .image_inputs import is_channel_last

_ORDERS = ((0, 2, 3, 1), (0, 3, 1, 2))  # of axes, from NCHW to NHWC and back


def paired(inputs: Sequence[ModelInput], others: Sequence[ModelInput]) -> dict[str, ModelInput]:
    """Return the input of another model for each of this one: by name if all names agree, else by place."""
    if len(inputs) != len(others):
        names = ", ".join(other.name for other in others)
        raise IrInterpError(f"{len(others)} inputs ({names}), but {len(inputs)} are given")
    by_name = {other.name: other for other in others}
    named = by_name.keys() == {tensor.name for tensor in inputs}
    return {tensor.name: by_name[tensor.name] if named else other for tensor, other in zip(inputs, others, strict=True)}


def joined(graph: Graph, other: Graph) -> Graph:
    """Return the graph with inputs that both models can take: static dimensions of either, pixels if one takes them.

    Raises IrInterpError if an input of one cannot be an input of the other.
    """
    partners = paired(graph.inputs, other.inputs)
    return replace(graph, inputs=tuple(_joined(tensor, partners[tensor.name]) for tensor in graph.inputs))


def _joined(mine: ModelInput, theirs: ModelInput) -> ModelInput:
    order = _order(theirs.lengths, mine.lengths)
    if order is None or not _same_kind(mine.dtype, theirs.dtype):
        raise IrInterpError(f"incompatible inputs: {mine.text}; {theirs.text}")
    lengths = [theirs.lengths[axis] for axis in order]
    both = tuple(a if a is not None else b for a, b in zip(mine.lengths, lengths, strict=True))
    if _takes_pixels(theirs) and not _takes_pixels(mine):
        return replace(theirs, name=mine.name, lengths=tuple(both[axis] for axis in np.argsort(order)))
    return replace(mine, lengths=both)


def _order(shape: PartialShape, target: PartialShape) -> tuple[int, ...] | None:
    """Return the order of axes that turns one shape into another; None if no layout of images does."""
    if len(shape) != len(target):
        return None
    orders = (tuple(range(len(shape))), *(_ORDERS if len(shape) == 4 else ()))
    return next(
        (
            order
            for order in orders
            if all(b is None or shape[a] in (None, b) for a, b in zip(order, target, strict=True))
        ),
        None,
    )


def _same_kind(mine: str, theirs: str) -> bool:
    """Return whether numbers of one element type can be passed as another."""
    if mine == theirs or "bfloat16" in (mine, theirs):  # NumPy has no bfloat16
        return True
    return bool(mine and theirs) and {np.dtype(mine).kind, np.dtype(theirs).kind} <= set("fiu")


def _takes_pixels(tensor: ModelInput) -> bool:
    return tensor.dtype in ("uint8", "int8")


def fitted(array: NDArray[Any], source: ModelInput, target: ModelInput, images: Images) -> NDArray[Any]:
    """Return an array of one input as another takes it: pixels become floats as ``images`` specifies."""
    order = _order(array.shape, target.lengths)
    if order is None:
        raise IrInterpError(f"{array.dtype} of shape {list(array.shape)} does not fit; {target.text}")
    if _takes_pixels(source) and target.dtype.startswith("float") and array.ndim == 4:
        axis = 3 if is_channel_last(array.shape) else 1
        array = images.normalised(np.flip(array, axis) if images.bgr else array, axis)
    return np.asarray(array.transpose(order).astype(target.dtype, copy=False), order="C")


def for_model(arrays: Mapping[str, NDArray[Any]], graph: Graph, inputs: Sequence[ModelInput], images: Images) -> Named:
    """Return arrays for the inputs of ``graph`` as those of another model take them: by name, in its order."""
    partners = paired(graph.inputs, inputs)
    fit = {
        partners[tensor.name].name: fitted(arrays[tensor.name], tensor, partners[tensor.name], images)
        for tensor in graph.inputs
    }
    return [(tensor.name, fit[tensor.name]) for tensor in inputs]
