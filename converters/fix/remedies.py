"""The remedy of each likely exporter mistake: other attributes, or other scales."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ir_interp.errors import InexactError
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Nearest, Scales
from ir_interp.translation.dialect import Context
from ir_interp.translation.translate import compared

from ..audit.intended_scales import in_float32, unrounded
from ..audit.mistakes import missed_sizes, quantised_scales, rounded_scales, scaled_lengths
from ..dialects.onnx import DIALECT
from ..onnx.resize_nodes import ResizeNode
from ..runtimes.shared_readings import PLAIN_COEFFICIENT

_COEFFICIENT = -0.5  # of Pillow and PyTorch, where they antialias
_BEFORE = 10  # the version of Resize that ONNX's version converter raises


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """New attributes of a node, and new scales if they change; ``text`` describes the change."""

    code: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    scales: tuple[float, ...] | None = None
    text: str = ""


def remedies(node: ResizeNode, codes: Collection[str]) -> list[Remedy]:
    """Return the remedies for the mistakes of these codes in a node that has them, each on top of those before.

    Raises InexactError for a mistake without a remedy.
    """
    chosen: list[Remedy] = []
    target = node.op.spec.target
    scales = target.values if isinstance(target, Scales) else ()
    for code, remedy in _REMEDIES.items():
        if code in codes:
            chosen.append(remedy(node, scales))
            scales = chosen[-1].scales or scales
    return chosen


def _converted(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    """Return the coordinates of Resize-10, which were meant."""
    op = node.op
    context = Context(version=_BEFORE, shape=op.shape, dtype=op.dtype)
    meant = DIALECT.parse({"mode": op.attributes.get("mode", "nearest"), "scales": list(scales)}, context)
    defaults: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric"}
    tried = [{"nearest_mode": name} for name in ("floor", "ceil")] if isinstance(meant.kernel, Nearest) else [{}]
    for attributes in tried:
        changed = defaults | attributes
        now = DIALECT.parse(dict(op.attributes) | changed, Context(version=op.version, shape=op.shape, dtype=op.dtype))
        if compared(meant, now, op.shape):
            return Remedy(code="IRI015", attributes=changed, text=_changes(op, changed))
    problem = "one axis grows and another shrinks, and Resize-10 rounds down for one and up for the other"
    raise InexactError(op.name, "IRI015", reason=f"{problem}; export it again, in the newer operator set")


def _coefficient(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    changed = {"cubic_coeff_a": _COEFFICIENT}
    return Remedy(code="IRI011", attributes=changed, text=_changes(node.op, changed))


def _edges(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    changed = {"exclude_outside": 1}
    return Remedy(code="IRI012", attributes=changed, text=_changes(node.op, changed))


def _middle(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    changed = {"coordinate_transformation_mode": "half_pixel"}
    return Remedy(code="IRI016", attributes=changed, text=_changes(node.op, changed))


def _unrounded(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    op, after = node.op, list(scales)
    in_sizes = scaled_lengths(op)
    for place in rounded_scales(node):
        after[place] = unrounded(scales[place], in_sizes[place], op.spec.arithmetic)
    return _rescaled("IRI014", scales, tuple(after))


def _before_quantisation(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    op, after = node.op, list(scales)
    in_sizes = scaled_lengths(op)
    for place, (_, fraction) in quantised_scales(node).items():
        after[place] = in_float32(fraction, in_sizes[place], op.spec.arithmetic)
    return _rescaled("IRI018", scales, tuple(after))


def _long_enough(node: ResizeNode, scales: tuple[float, ...]) -> Remedy:
    """Return scales that give the size that they just missed: that size / the input's, in float32."""
    repaired = list(scales)
    for axis in missed_sizes(replace(node.op, spec=replace(node.op.spec, target=Scales(scales)))):
        # The quotient may be rounded down, below the size again.
        scale = np.float32(axis.intended / axis.in_size)
        while float(scale) * axis.in_size < axis.intended:  # float64 holds the product
            scale = np.nextafter(scale, np.float32(np.inf))
        repaired[axis.place] = float(scale)
    return _rescaled("IRI013", scales, tuple(repaired))


def _rescaled(code: str, before: tuple[float, ...], after: tuple[float, ...]) -> Remedy:
    pairs = ", ".join(
        f"{np.float32(old)!s} -> {np.float32(new)!s}" for old, new in zip(before, after, strict=True) if old != new
    )
    return Remedy(code=code, scales=after, text=f"scales {pairs or 'stay, as already fixed'}")


def _changes(op: ResizeOp, changed: Mapping[str, Any]) -> str:
    left_out = {name: default for name, (default, _) in DIALECT.defaults.items()} | {"cubic_coeff_a": PLAIN_COEFFICIENT}
    before = left_out | dict(op.attributes)
    return ", ".join(f"{name}={before[name]} -> {value}" for name, value in changed.items())


_REMEDIES: Mapping[str, Callable[[ResizeNode, tuple[float, ...]], Remedy]] = {
    "IRI015": _converted,
    "IRI011": _coefficient,
    "IRI012": _edges,
    "IRI016": _middle,
    "IRI014": _unrounded,
    "IRI018": _before_quantisation,
    "IRI013": _long_enough,
}
"""In the order of application: a scale that half precision rounded may have missed a size for that reason."""
CODES = tuple(sorted(_REMEDIES))
"""The codes that can be fixed."""
