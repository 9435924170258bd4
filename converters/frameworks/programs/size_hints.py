"""Sizes at which a conversion of a program is proven, too: those of its example, and scales of its sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ir_interp.spec import Scales

from ...verify.run.deciding_lengths import SizeHints
from .program_resizes import resizes

if TYPE_CHECKING:
    from torch.export import ExportedProgram


def size_hints(program: ExportedProgram, name: str) -> SizeHints:
    """Return the scales of a program that are no integers, and the shapes of its example by input."""
    scales = [scale for scale in (*_of_resizes(program, name), *_of_numbers(program)) if scale > 0 and scale % 1]
    return SizeHints(scales=tuple(dict.fromkeys(scales)), shapes=_example(program))


def _of_resizes(program: ExportedProgram, name: str) -> Iterator[float]:
    for op in resizes(program, name):
        if isinstance(op.spec.target, Scales) and None in (op.shape or ()):
            yield from map(float, op.spec.target.values)


def _of_numbers(program: ExportedProgram) -> Iterator[float]:
    """Yield the numbers that sizes are multiplied with, or divided by."""
    import torch

    for node in program.graph.nodes:
        if isinstance(node.meta.get("val"), torch.SymFloat):
            is_quotient = getattr(node.target, "__name__", "") == "truediv"
            numbers = (float(number) for number in node.args if isinstance(number, int | float))
            yield from (1 / number if is_quotient else number for number in numbers if number > 0)


def _example(program: ExportedProgram) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors that a program was exported with; none if it has lost them."""
    from torch.utils import _pytree as pytree

    names = [str(name) for name in program.graph_signature.user_inputs]
    leaves = pytree.tree_leaves(program.example_inputs) if program.example_inputs else []
    pairs = zip(names, leaves, strict=False) if len(names) == len(leaves) else ()
    return {name: tuple(leaf.shape) for name, leaf in pairs if hasattr(leaf, "shape")}
