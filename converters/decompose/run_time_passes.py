"""LiteRT's integer sums along dynamic axes: the executor's pixels and weights, as nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ir_interp.plan.runtimes import litert_weights
from ir_interp.spec import ResizeSpec, SumRounding, Unrounded

from .run_time_taps import RunTimeAxis
from .tensor import Functions, Ops, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTimePass:
    """A sum of two pixels along an axis, at ``indices`` and with int32 ``weights`` over 2**``bits``.

    The last of several passes drops ``bits_after``, and rounds.
    """

    axis: int
    indices: tuple[Tensor[Ops], Tensor[Ops]]
    weights: tuple[Tensor[Ops], Tensor[Ops]]
    bits: int
    bits_after: int = 0
    rounding: SumRounding = Unrounded.KEPT


def of_litert(ops: Ops, spec: ResizeSpec, axes: Sequence[RunTimeAxis], dtype: str) -> list[RunTimePass]:
    """Return the sums along some axes, the last axis first, as LiteRT computes them."""
    *before, last = (_pass(ops, spec, axis, dtype) for axis in sorted(axes, key=lambda axis: -axis.axis))
    bits = sum(layer.bits for layer in (*before, last))
    return [*before, replace(last, bits_after=bits, rounding=litert_weights.rounding(spec, dtype))]


def _pass(ops: Ops, spec: ResizeSpec, axis: RunTimeAxis, dtype: str) -> RunTimePass:
    bits = litert_weights.fractional_bits(spec, dtype)
    low, far = (pixel.cast("int32") for pixel in _pixels(ops, spec, axis, dtype))
    # At the last pixel both are one, and its weights sum to 2**bits: a copy.
    high = (low + 1).minimum(axis.in_size.cast("int32") - 1)
    return RunTimePass(axis=axis.axis, indices=(low, high), weights=(2**bits - far, far), bits=bits)


def _pixels(ops: Ops, spec: ResizeSpec, axis: RunTimeAxis, dtype: str) -> tuple[Tensor[Ops], Tensor[Ops]]:
    """Return the first pixel of each output and the weight of the second."""
    xp = Functions(ops)
    index, in_size, outputs = xp.arange(0, axis.out_size), axis.in_size, axis.out_size
    if litert_weights.is_of_xnnpack(spec, dtype):
        low, far = litert_weights.of_float32(spec.coordinates, index, in_size, outputs, xp)
        return xp.precise(low), xp.precise(far)
    index, in_size, outputs = (operand.cast("int32") for operand in (index, in_size, outputs))
    low, far = litert_weights.of_integers(spec.coordinates, index, in_size, outputs, xp, _divided)
    return low, far


def _divided(x: Tensor[Ops], by: Tensor[Ops] | int) -> Tensor[Ops]:
    """Return int32 divided and rounded down, although runtimes may divide it in float32, which is off by 1 at most."""
    divisor = x.of(by)
    # The float32 quotient is at most one off, which the remainder shows.
    quotient = (x.cast("float32") / divisor.cast("float32")).floor().cast("int32")
    rest = x - quotient * divisor
    return quotient + (rest >= divisor) - (rest < 0)
