"""onnxruntime's optimiser: which Transposes it moves over a Resize, and which quantisations it drops around one."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from ir_interp.plan.integer_sums import ONNXRUNTIME_INTEGERS
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes
from ir_interp.specs import Nearest, ResizeSpec

from .onnxruntime import is_plain_cubic, outcome, shrinks
from .outcome import UPSAMPLE, Kind, Outcome, differs, refused
from .runtime import Release

TRANSPOSES_PASS = frozenset(
    (
        *("Abs", "Cast", "CastLike", "Ceil", "Celu", "Clip", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish"),
        *("Identity", "LeakyRelu", "Log", "Neg", "Not", "Reciprocal", "Relu", "Resize", "Round", "Selu", "Sigmoid"),
        *("Sign", "Softplus", "Softsign", "Sqrt", "Tanh", "ThresholdedRelu", "DequantizeLinear", "QuantizeLinear"),
        *("Add", "And", "Div", "Equal", "Greater", "Less", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow"),
        *("Sub", "Sum", "Where", "Xor", "Concat", "Pad", "Slice", "Softmax", "Split", "Squeeze", "Tile", "Unsqueeze"),
        *("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"),
    )
)
"""Operators over which it moves a Transpose, so that it meets another and both vanish."""
_MOVED = "its optimiser moves a Transpose over it, and"
NO_CUBIC_SHRINKS = f"{_MOVED} there is no cubic Resize that shrinks channels-last images"


_IMAGE = 4  # axes of a batch of images
_CHANNELS_MOVE = ((0, 3, 1, 2), (0, 2, 3, 1))  # to the front, to the end: the only Transposes of images that it moves


def between_transposes(op: ResizeOp, order: Sequence[int] | None, may_change: Set[int]) -> Outcome | None:
    """Return the outcome of a node between two Transposes after optimisation; None if they make no difference.

    ``order`` is the ``perm`` of the one in front, by which axes of the node become axes of the tensor before it.
    """
    rank = len(op.shape or ())
    if op.dtype == "float16" or op.version in UPSAMPLE:
        return None  # it stands between Casts, over which no Transpose is moved, as over an Upsample
    if rank != _IMAGE or order is None or tuple(order) not in _CHANNELS_MOVE:
        return None  # any other Transpose stays where it is
    axes = op.attributes.get("axes")
    if axes is not None and tuple(axes) != tuple(range(rank)):
        wrong = differs if len(axes) == rank else refused
        return wrong(f"{_MOVED} takes its entries for axes {list(axes)} as those of every axis, in order")
    in_front = outcome(_in_front(op, order), {order[axis] for axis in may_change})
    alone = outcome(op, may_change)
    spec = None if in_front.spec is None else _with_axes(in_front.spec, [order.index(axis) for axis in range(rank)])
    same = None if alone.spec is None else _with_axes(alone.spec, range(rank))
    if (in_front.kind, spec, in_front.condition) == (alone.kind, same, alone.condition):
        return None
    return replace(in_front, spec=spec, reason=f"{_MOVED} {in_front.reason}" if in_front.reason else "")


def _in_front(op: ResizeOp, order: Sequence[int]) -> ResizeOp:
    """Return a node with the axes of the tensor before the Transpose in front."""
    shape = op.shape or ()
    moved = tuple(shape[order.index(axis)] for axis in range(len(shape)))
    return replace(op, spec=_with_axes(op.spec, order), shape=moved)


def _with_axes(spec: ResizeSpec, names: Sequence[int]) -> ResizeSpec:
    """Return a resize whose axes have other numbers, ``names`` of each."""
    listed = resolve_axes(spec.axes, len(names))
    return replace(spec, axes=tuple(names[axis] for axis in listed))


def survives_transposes(op: ResizeOp) -> bool:
    """Return whether a node with entries for every axis is computed between two Transposes, whatever its sizes."""
    return not is_plain_cubic(op) or len(op.shape or ()) != _IMAGE or shrinks(op) is False


DROP_QUANTISATION = ("1.16", "1.20", "1.26")
"""Releases whose optimiser drops a DequantizeLinear and a QuantizeLinear with the same levels around a Resize."""


def in_levels(release: Release, op: ResizeOp, dtype: str) -> Outcome | None:
    """Return the outcome of a node in levels of a type instead of floats; None for copies, which are the same."""
    if isinstance(op.spec.kernel, Nearest) or dtype not in ONNXRUNTIME_INTEGERS:
        return None
    dropped = "its optimiser drops the DequantizeLinear and QuantizeLinear around it"
    in_type = release.outcome(replace(op, dtype=dtype))
    if in_type.kind is Kind.REFUSED:
        return replace(in_type, reason=f"{dropped}: {in_type.reason}")
    return differs(f"{dropped}, and sums in {dtype}" + (f": {in_type.reason}" if in_type.reason else ""))
