"""Sizes and scales of every axis of a resize, if all are known: runtimes choose their kernels by them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes, static_shape
from ir_interp.spec import Aspect, AtRunTime, Coordinates, ResizeSpec, Scales, Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """Input sizes, output sizes and scales, one of each for every axis."""

    in_sizes: tuple[int, ...]
    outputs: tuple[int, ...]
    scales: tuple[float, ...]

    @property
    def scaled(self) -> frozenset[int]:
        """The axes whose scale is not 1."""
        return frozenset(axis for axis, scale in enumerate(self.scales) if scale != 1)

    @property
    def changing(self) -> frozenset[int]:
        """The axes whose size changes."""
        return frozenset(axis for axis, n in enumerate(self.in_sizes) if n != self.outputs[axis])

    @property
    def keeping(self) -> frozenset[int]:
        """The axes that keep their size, though their scale is not 1."""
        return self.scaled - self.changing

    @property
    def shrinks(self) -> bool:
        """Whether any scale is below 1."""
        return any(scale < 1 for scale in self.scales)


def geometry(op: ResizeOp) -> Geometry | None:
    """Return the geometry of a resize in its spec's arithmetic; None if a size or a window is unknown."""
    spec, known = op.spec, static_shape(op.shape)
    if known is None or spec.waits:
        return None
    bound = plan(spec, known)
    scales = {axis.axis: float(axis.scale) for axis in bound.axes}
    if isinstance(spec.target, Scales):
        scales |= dict(zip(resolve_axes(spec.axes, len(known)), spec.target.values, strict=True))
    every = tuple(scales.get(axis, 1.0) for axis in range(len(known)))
    return Geometry(in_sizes=known, outputs=bound.out_shape, scales=every)


def resized(op: ResizeOp) -> frozenset[int]:
    """Return the axes whose scale is not 1, or may not be; none if the rank is unknown."""
    at, target = geometry(op), op.spec.target
    if at is not None or op.shape is None:
        return at.scaled if at else frozenset()
    listed = resolve_axes(op.spec.axes, len(op.shape))
    if isinstance(target, Sizes) and op.spec.aspect is Aspect.STRETCH and not op.spec.waits:
        return frozenset(axis for axis, size in zip(listed, target.values, strict=True) if op.shape[axis] != size)
    if not isinstance(target, Scales):
        return frozenset(listed)
    return frozenset(axis for axis, scale in zip(listed, target.values, strict=True) if scale != 1)


def sure_axes(op: ResizeOp) -> frozenset[int]:
    """Return the axes that are resized whatever the dynamic dimensions are; none if the rank is unknown."""
    at, target, shape = geometry(op), op.spec.target, op.shape
    if at is not None or shape is None or isinstance(target, Scales):
        return resized(op)
    if not isinstance(target, Sizes) or op.spec.aspect is not Aspect.STRETCH:
        return frozenset()
    pairs = zip(resolve_axes(op.spec.axes, len(shape)), target.values, strict=True)
    return frozenset(axis for axis, size in pairs if shape[axis] not in (None, size))


_SEVERAL = 2  # runtimes treat a size of 1 otherwise


def settled(op: ResizeOp) -> ResizeOp:
    """Return a resize with some static size for the dynamic dimensions that it keeps, whatever these are."""
    target, shape = op.spec.target, op.shape
    if shape is None or op.spec.aspect is not Aspect.STRETCH:
        return op
    values = target.values if isinstance(target, Scales) else (None,) * len(shape)
    entries = dict(zip(resolve_axes(op.spec.axes, len(shape)), values, strict=False))
    return replace(op, shape=tuple(n or (_SEVERAL if entries.get(axis, 1) == 1 else n) for axis, n in enumerate(shape)))


def copying(spec: ResizeSpec) -> ResizeSpec:
    """Return the resize that copies its input, whatever ``spec`` requests."""
    return replace(spec, coordinates=Coordinates.ASYMMETRIC, axes=(), target=Sizes(()), aspect=Aspect.STRETCH)


def changing_axes(op: ResizeOp, may_change: Set[int]) -> Set[int]:
    """Return the axes that are resized: copying some sizes into a run-time target implies copying all that stay."""
    copies_some = isinstance(op.spec.target, AtRunTime) and len(may_change) < len(op.shape or ())
    return may_change if copies_some else sure_axes(op)
