"""Exporters, release by release: how earlier ones wrote resizes that today's write otherwise.

Each fact is a run of ``tests/sweeps/exporter_releases.py``. Between the listed releases nothing is known. A
release that a change does not name wrote the resize as today's does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Scales, Sizes

RELEASES: Mapping[str, tuple[str, ...]] = {
    "onnxscript": ("0.2.0", "0.6.2", "0.7.0", "0.7.1", "0.7.2"),
    "tf2onnx": ("1.13", "1.14", "1.15", "1.16", "1.17"),
}
"""The releases that were run, by package.

torch.onnx (dynamo) takes its resizes from onnxscript, whatever the torch: 0.7.2 ran with 2.6 and 2.14, 0.2.0 with 2.6.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The ``verdicts`` of releases of a package on the resizes of an exporter to which a change applies."""

    exporter: str
    package: str
    applies: Callable[[ResizeOp], bool]
    verdicts: Mapping[str, str]


def _is_linear_to_one(op: ResizeOp) -> bool:
    is_plain = op.attributes.get("mode") == "bilinear" and not (op.attributes["antialias"] or _has_corners(op))
    return is_plain and isinstance(op.spec.target, Sizes) and 1 in op.spec.target.values


def _is_antialiased_to_sizes(op: ResizeOp) -> bool:
    return bool(op.attributes.get("antialias")) and not isinstance(op.spec.target, Scales)


def _copies_with_corners(op: ResizeOp) -> bool:
    return op.attributes.get("method") == "nearest" and _has_corners(op)


def _has_corners(op: ResizeOp) -> bool:
    return bool(op.attributes.get("align_corners"))


CHANGES = (
    Change(
        exporter="torch-dynamo",
        package="onnxscript",
        applies=_is_linear_to_one,
        verdicts=dict.fromkeys(("0.2.0", "0.6.2", "0.7.0"), "differs by 0.69"),
    ),
    Change(
        exporter="torch-dynamo",
        package="onnxscript",
        applies=_is_antialiased_to_sizes,
        verdicts={"0.2.0": "refused", **dict.fromkeys(("0.6.2", "0.7.0"), "differs by up to 0.05")},
    ),
    Change(
        exporter="tf2onnx",
        package="tf2onnx",
        applies=_copies_with_corners,
        verdicts={"1.13": "differs by 0.96"},
    ),
)


def earlier(exporter: str, op: ResizeOp) -> str:
    """Return how earlier releases wrote a resize that its framework reads as ``op``; empty if as today's."""
    texts = (
        f"{change.package} {release}: {verdict}"
        for change in CHANGES
        if change.exporter == exporter and change.applies(op)
        for release, verdict in change.verdicts.items()
    )
    return ", ".join(texts)
