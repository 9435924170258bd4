"""Sliding windows, shared by convolutions and pooling: strides, dilations, pads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ir_interp.errors import ReadError

from .layer import Op

AUTO_PADS = ("explicit", "valid", "same_upper", "same_lower")
"""The modes of padding an input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Windows of one layer along its spatial axes; ``same`` names the automatic padding for sizes not known yet."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    same: str | None = None

    @property
    def extents(self) -> tuple[int, ...]:
        """The reach of each window."""
        return tuple((size - 1) * step + 1 for size, step in zip(self.kernel, self.dilations, strict=True))

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes in which ONNX has them."""
        pads = None if self.same else list(self.begin + self.end)
        steps = list(self.dilations) if any(step != 1 for step in self.dilations) else None
        return {
            "kernel_shape": list(self.kernel),
            "strides": list(self.strides),
            "dilations": steps,
            "pads": pads if pads and any(pads) else None,
            "auto_pad": self.same.upper() if self.same else None,
        }


def read(op: Op, kernel: Sequence[int]) -> Windows:
    """Return the windows of a layer; automatic pads are computed if its input shape is static."""
    count = len(kernel)
    windows = Windows(
        kernel=tuple(kernel),
        strides=per_axis(op, "strides", count),
        dilations=per_axis(op, "dilations", count),
        begin=per_axis(op, "pads_begin", count, 0),
        end=per_axis(op, "pads_end", count, 0),
    )
    automatic = op.word("auto_pad", AUTO_PADS, "explicit")
    if automatic.startswith("same"):
        return _padded(op, windows, automatic)
    return replace(windows, begin=(0,) * count, end=(0,) * count) if automatic == "valid" else windows


def per_axis(op: Op, name: str, count: int, default: int = 1) -> tuple[int, ...]:
    """Return a list of one number for each spatial axis; the default if there is none."""
    values = op.integers(name, ()) or (default,) * count
    if len(values) != count:
        raise ReadError(f"{len(values)} values for {count} spatial axes", f"{op.layer.where}@{name}")
    return values


def _padded(op: Op, windows: Windows, same: str) -> Windows:
    lengths = (op.shape() or ())[2:]
    if None in lengths or not lengths:
        if any(step != 1 for step in windows.dilations):
            raise op.refusal("automatic padding of dilated windows needs static sizes")
        return replace(windows, same=same)
    totals = [
        max(-(-length // stride) * stride - stride + extent - length, 0)
        for length, stride, extent in zip(op.space(), windows.strides, windows.extents, strict=True)
    ]
    begin, end = shared(totals, same)
    return replace(windows, begin=begin, end=end)


def shared(totals: Sequence[int], same: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Divide pads between both ends; the odd one goes to the end, or to the beginning for same_lower."""
    # Both automatic modes pad by the same sum; they differ in the odd pixel only.
    less, more = tuple(total // 2 for total in totals), tuple(total - total // 2 for total in totals)
    return (less, more) if same == "same_upper" else (more, less)
