"""The outcome of a resize in a runtime, and the parts from which every runtime states it.

The record comes first. Then sizes and scales of every axis of a node, if all are known, by which runtimes choose
kernels; then readings of a node that several runtimes share: the resize as which each computes it, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from enum import Enum
from typing import assert_never

from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes, static_shape
from ir_interp.specs import (
    Antialias,
    Area,
    Aspect,
    AtRunTime,
    Box,
    Coordinates,
    Cubic,
    Gaussian,
    Hamming,
    Lanczos,
    Linear,
    Magic,
    Mean,
    Mitchell,
    Mode,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)


class Kind(Enum):
    """The kind of an outcome."""

    SAME = "same"
    DIFFERS = "differs"
    REFUSED = "refused"
    CRASHES = "crashes"
    UNKNOWN = "unknown"  # no rule covers it: only a run decides


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a runtime: the ``spec`` that it computes, or None, with the ``kind`` and ``reason`` why.

    ``provided`` is a condition on dynamic dimensions under which it holds; empty if it holds for all. ``but_for``
    names degenerate images for which it does not hold.
    """

    spec: ResizeSpec | None = None
    kind: Kind = Kind.SAME
    reason: str = ""
    provided: str = ""
    but_for: str = ""

    def __str__(self) -> str:
        """Return the reason and the condition, as in ``antialias dropped; provided that no size changes``."""
        return "; ".join(filter(None, (self.reason, self.condition)))

    @property
    def condition(self) -> str:
        """The condition, as text."""
        parts = (self.provided and f"provided that {self.provided}", self.but_for and f"except for {self.but_for}")
        return "; ".join(filter(None, parts))


def computes(spec: ResizeSpec, reason: str = "", provided: str = "") -> Outcome:
    """Return that a runtime computes a resize, which may differ from the intended one."""
    return Outcome(spec=spec, reason=reason, provided=provided)


def refused(reason: str, provided: str = "") -> Outcome:
    """Return that a runtime refuses a resize."""
    return Outcome(kind=Kind.REFUSED, reason=reason, provided=provided)


def unknown(what: str) -> Outcome:
    """Return that no rule covers a resize."""
    return Outcome(kind=Kind.UNKNOWN, reason=f"no rule covers {what}")


def differs(reason: str, provided: str = "") -> Outcome:
    """Return that a runtime computes something that no spec describes."""
    return Outcome(kind=Kind.DIFFERS, reason=reason, provided=provided)


def crashes(reason: str) -> Outcome:
    """Return that a runtime crashes on a resize, or corrupts its memory."""
    return Outcome(kind=Kind.CRASHES, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The levels behind whose DequantizeLinear a resize stands: their type, and whether no node computes them.

    ``are_stored`` is whether they are constants, ``follow`` is whether only QuantizeLinear nodes read the resize,
    ``are_symmetric`` whether their zero points are 0; None if these are computed.
    """

    dtype: str | None
    are_inputs: bool
    are_stored: bool
    follow: bool
    are_symmetric: bool | None


class Functions(Enum):
    """The local functions that a model calls."""

    NONE = "none"
    COMPLETE = "complete"
    LEAVING_OUT = "leaving out"  # a node in one of them leaves out an input


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A node that holds a resize in its body: an If, a Loop, a Scan.

    ``is_decided`` is whether the condition of an If is a constant, ``is_even`` whether its branches have outputs of the
    same shapes; None if these are dynamic. ``reads_stored`` is whether its bodies hold
    initialisers, or read some that no node of the main graph reads. ``stacks`` is whether it has outputs that collect
    the results of its iterations.
    """

    operator: str
    is_decided: bool = False
    is_even: bool | None = True
    reads_stored: bool = False
    stacks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The graph around a resize: functions of its model, nodes whose bodies hold it, levels that it resizes.

    The innermost body comes first.
    """

    functions: Functions
    bodies: tuple[Body, ...]
    levels: Levels | None

    def refused_in(self, operators: Set[str]) -> Outcome | None:
        """Return the refusal of a runtime that lacks operators with a body; None if no such body holds the resize."""
        missing = [body.operator for body in self.bodies if body.operator in operators]
        return refused(f"it has no {missing[0]}") if missing else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounded:
    """A FakeQuantize in front of a layer of an IR: the number of its levels, None if the file does not state it.

    ``is_next`` is whether the layer reads it, with no other layer between; ``is_single`` whether it has one range of
    values, not one for each channel.
    """

    levels: int | None
    is_next: bool
    is_single: bool


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


PLAIN_COEFFICIENT = -0.75
"""ONNX's default of cubic_coeff_a, PyTorch's without antialias, and the only one that several runtimes have."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The resize as which a runtime reads a node, and the reason."""

    reason: str
    of: Callable[[ResizeSpec], ResizeSpec]


def _ratio(spec: ResizeSpec) -> ResizeSpec:
    return replace(spec, step=Step.RATIO) if spec.gives_scales else spec


def _without_antialias(spec: ResizeSpec) -> ResizeSpec:
    match spec.kernel:
        case Linear():
            return replace(spec, kernel=Linear())
        case Cubic() as cubic:
            return replace(spec, kernel=replace(cubic, antialias=Antialias.OFF))
        case Nearest() | Box() | Hamming() | Lanczos() | Gaussian() | Mitchell() | Magic() | Area() | Mean() | Mode():
            return spec
        case _:
            assert_never(spec.kernel)


def _asymmetric(spec: ResizeSpec) -> ResizeSpec:
    symmetric = spec.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC
    return replace(spec, coordinates=Coordinates.ASYMMETRIC) if symmetric else spec


def _plain_cubic(spec: ResizeSpec) -> ResizeSpec:
    kernel = spec.kernel
    if not isinstance(kernel, Cubic):
        return spec
    return replace(spec, kernel=replace(kernel, a=PLAIN_COEFFICIENT, exclude_outside=False))


BY_RATIO = Reading("it uses the ratio of sizes instead of the scale", _ratio)
NO_ANTIALIAS = Reading("it ignores antialias", _without_antialias)
PLAIN_CUBIC = Reading(f"its cubic has the coefficient {PLAIN_COEFFICIENT}, and no exclude_outside", _plain_cubic)
NO_SYMMETRIC = Reading("it computes half_pixel_symmetric as asymmetric", _asymmetric)


def _half_pixel(spec: ResizeSpec) -> ResizeSpec:
    kernel = Nearest(rounding=Rounding.ROUND_PREFER_FLOOR) if isinstance(spec.kernel, Nearest) else spec.kernel
    return replace(spec, coordinates=Coordinates.HALF_PIXEL, kernel=kernel)


def _linear_half_pixel(spec: ResizeSpec) -> ResizeSpec:
    return spec if isinstance(spec.kernel, Nearest) else replace(spec, coordinates=Coordinates.HALF_PIXEL)


def _floor(spec: ResizeSpec) -> ResizeSpec:
    is_simple = isinstance(spec.kernel, Nearest) and spec.kernel.rounding is Rounding.SIMPLE
    return replace(spec, kernel=Nearest(rounding=Rounding.FLOOR)) if is_simple else spec


RESIZE_10, UPSAMPLE, UPSAMPLE_7 = 10, range(7, 10), 7
"""Versions of operators whose coordinates are asymmetric, and whose nearest rounds up where an axis shrinks.

The scales of an Upsample-7 are an attribute.
"""
HALF_PIXEL_OF_10 = Reading("it computes Resize-10 with half_pixel, the default since opset 11", _half_pixel)
HALF_PIXEL_LINEAR = Reading("it computes a linear Upsample with half_pixel", _linear_half_pixel)
FLOOR = Reading("its Upsample rounds down", _floor)  # as others do: an Upsample never shrinks
