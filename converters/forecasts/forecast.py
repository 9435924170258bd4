"""What a runtime makes of a resize, as far as it can be told without running it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ir_interp.plan.geometry import plan
from ir_interp.shapes import resolve_axes, static_shape
from ir_interp.spec import (
    Scales,
    Sizes,
)

from ..onnx.resizes import FoundNode
from ..runtimes.outcome import Forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A runtime: the version that its rules were seen in, and these."""

    title: str
    version: str
    forecast: Callable[[FoundNode], Forecast]


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """Lengths and scales of every axis of a node, where all are known."""

    lengths: tuple[int, ...]
    outputs: tuple[int, ...]
    scales: tuple[float, ...]

    @property
    def scaled(self) -> tuple[int, ...]:
        """The axes whose scale is not 1."""
        return tuple(axis for axis, scale in enumerate(self.scales) if scale != 1)

    @property
    def changing(self) -> tuple[int, ...]:
        """The axes whose length changes."""
        return tuple(axis for axis, (n, m) in enumerate(zip(self.lengths, self.outputs, strict=True)) if n != m)


def geometry(node: FoundNode) -> Geometry | None:
    """Return the geometry of a node as onnxruntime computes it; None where a length is open."""
    spec = node.op.spec
    known = static_shape(node.op.shape)
    if known is None or not isinstance(spec.target, Sizes | Scales):
        return None
    bound = plan(spec, known)
    scales = {axis.axis: float(axis.scale) for axis in bound.axes}
    if isinstance(spec.target, Scales):
        scales |= dict(zip(resolve_axes(spec.axes, len(known)), spec.target.values, strict=True))
    every = tuple(scales.get(axis, 1.0) for axis in range(len(known)))
    return Geometry(lengths=known, outputs=bound.out_shape, scales=every)


def shrinks(at: Geometry | None) -> bool:
    """Say whether an axis shrinks, or may."""
    return at is None or any(scale < 1 for scale in at.scales)


def keeps_aspect(node: FoundNode) -> bool:
    """Say whether a node has an aspect policy that counts."""
    return bool(node.words.get("keep_aspect_ratio_policy", "stretch") != "stretch")
