"""What a runtime makes of a resize, as far as it can be told without running it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from converters.onnx_resizes import FoundNode
from ir_interp.geometry import plan, resolve_axes
from ir_interp.spec import (
    ResizeSpec,
    Scales,
    Sizes,
)


class Kind(Enum):
    """What comes of a resize in a runtime."""

    SAME = "same"
    DIFFERS = "differs"
    REFUSED = "refused"
    CRASHES = "crashes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a runtime would do: compute ``spec``, or if there is none, ``kind`` without a number, for ``reason``."""

    spec: ResizeSpec | None = None
    kind: Kind = Kind.SAME
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A runtime: the version that its rules were seen in, and these."""

    title: str
    version: str
    forecast: Callable[[FoundNode], Forecast]


def refused(reason: str) -> Forecast:
    """Return that a runtime does not take a resize."""
    return Forecast(kind=Kind.REFUSED, reason=reason)


def differs(reason: str) -> Forecast:
    """Return that a runtime computes something else."""
    return Forecast(kind=Kind.DIFFERS, reason=reason)


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
    spec, shape = node.op.spec, node.op.shape
    if shape is None or None in shape or not isinstance(spec.target, Sizes | Scales):
        return None
    known = tuple(length for length in shape if length is not None)
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
