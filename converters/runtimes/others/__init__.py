"""Other runtimes that read ONNX: one file each, discovered automatically."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Protocol

from ir_interp.resize_op import ResizeOp

from ..outcome import Levels, Outcome, Runner


class Outcomes(Protocol):
    """Returns the outcome of a node, whose input may be resized along the axes ``may_change``.

    ``stated`` is the node as in the file, whose dimensions may be dynamic if those of ``op`` were chosen.
    """

    def __call__(self, op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
        """Return the outcome. ``op.attributes`` are those of the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRuntime(Runner):
    """A runtime: the version that its rules were observed in, and the outcome of a Resize or Upsample there.

    ``takes_primitives`` is whether it computes resizes that are written as Gather, MatMul and the like, ``measures``
    whether it slices at sizes of run time, ``least_opset`` the operator set from which it has all common nodes. For a
    Resize of the versions ``counts_inputs`` it finds inputs by their place among those that are not left out. Whether
    it takes models that call local functions is unknown, unless it ``refuses_functions``. ``with_computed_scales``, if
    there is one, returns the outcome of a node whose scales are computed by nodes from constants; ``of_levels``, if
    there is one, that of a node behind a DequantizeLinear, from the outcome of the node alone.
    """

    name: str
    title: str
    version: str
    outcome: Outcomes
    takes_primitives: bool = True
    measures: bool = True
    least_opset: int = 1
    counts_inputs: range = range(0)
    refuses_functions: bool = False
    with_computed_scales: Outcomes | None = None
    of_levels: Callable[[Outcome, ResizeOp, Levels], Outcome] | None = None


@cache
def others() -> Mapping[str, OtherRuntime]:
    """Return the runtimes of this folder by name: every module holds one, as ``RUNTIME``."""
    modules = (importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    runtimes: list[OtherRuntime] = [module.RUNTIME for module in modules]
    return MappingProxyType({runtime.name: runtime for runtime in sorted(runtimes, key=lambda runtime: runtime.name)})
