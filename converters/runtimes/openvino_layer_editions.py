"""OpenVINO, release by release: how earlier CPU plugins computed layers of an IR that today's computes.

Each rule was found by running the same 1,500 random layers of Interpolate-1, -4 and -11 in a wheel of every release
from 2021.2 to 2026.4 (docs/runtimes.md). ``ir/releases.py`` states how 2021.2 and 2021.3 computed Interpolate-1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from ir_interp.errors import IrInterpError
from ir_interp.ir.interpolate_dialect import DIALECT
from ir_interp.ir.releases import NoRuleError
from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes, static_shape
from ir_interp.translation.dialect import Context, Semantics

from . import openvino
from .openvino_editions import takes_no_float64
from .outcome import Edition, Outcome, Rule, computes, crashes, differs, refused, unknown

_SPATIAL = 2  # the first spatial axis, and how many an image has
_IMAGES = (3, 4)  # ranks
_BEFORE_11 = 4  # the version of Interpolate
_UP_TO_IMAGES = (1, 2, 3, 4)  # ranks
_PILLOW_RANKS = (2, 3, 4)


def _mode(op: ResizeOp) -> str:
    return str(op.attributes.get("mode", DIALECT.defaults["mode"][0]))


def _rank(op: ResizeOp) -> int:
    return len(op.shape or ())


def _resizes_other_axes(op: ResizeOp) -> bool:
    return min(openvino.resized_axes(op), default=_SPATIAL) < min(_SPATIAL, _rank(op) - 1)


def _pads(op: ResizeOp) -> set[int]:
    """Return the axes that have pads, without an unlisted batch: the plugin never moves it."""
    return {pad.axis for pad in op.spec.pads} - ({0} - {*(op.spec.axes or ())})


def _takes(*types: str) -> Rule:
    """Return the rule that Interpolate-4 takes these element types. Only layers of floats were run."""

    def rule(op: ResizeOp) -> Outcome | None:
        dtype = op.dtype or "float32"
        if op.version > 1 and dtype not in types:
            return refused(f"Interpolate does not take {dtype}")
        return None if dtype in ("float32", "float16") else unknown(f"{dtype} in this release")

    return rule


# 2022.1 to 2025.3


def _counts_axes(op: ResizeOp) -> Outcome | None:
    """Refuse channels, too, if more axes are listed than an image has; a sequence counts as an image of one row."""
    counted = op.spec.axes is None or len(op.spec.axes) > _rank(op) - _SPATIAL
    if _rank(op) in _IMAGES and counted and _resizes_other_axes(op):
        return refused(openvino.SPATIAL_ONLY)
    return None


def _pads_of_pairs(op: ResizeOp) -> Outcome | None:
    if _rank(op) == 3 and len(op.spec.axes or ()) == 2 and _pads(op):
        return differs("the plugin pads other axes at rank 3")
    return None


def _pillow_of_images(op: ResizeOp) -> Outcome | None:
    if _mode(op).endswith("pillow") and _rank(op) not in _PILLOW_RANKS:
        return refused(f"the plugin has no {_mode(op)} of rank {_rank(op)}")
    return None


def _makes_nothing(op: ResizeOp) -> Outcome | None:
    shape = static_shape(op.shape)
    if shape is not None and not op.spec.waits and 0 in plan(op.spec, shape).out_shape:
        return refused("an output of size 0 is not allowed")
    return None


# 2021


def _has_no_11(op: ResizeOp) -> Outcome | None:
    return refused("Interpolate-11 needs OpenVINO 2023.0 or later") if op.version > _BEFORE_11 else None


def _has_spatial_axes(op: ResizeOp) -> Outcome | None:
    if _rank(op) > _SPATIAL and _resizes_other_axes(op):
        return refused(openvino.SPATIAL_ONLY)
    return None


def _pads_listed_axes(op: ResizeOp) -> Outcome | None:
    """Refuse pads that enlarge an axis which Interpolate-1 does not list, and whose size it declares as kept."""
    if op.version == 1 and {pad.axis for pad in op.spec.pads} - {*resolve_axes(op.spec.axes, _rank(op))}:
        return refused("an Interpolate-1 pads only the axes that it lists")
    return None


def _has_ranks(outcome: Callable[[str], Outcome], ranks: Mapping[str, tuple[int, ...]]) -> Rule:
    """Return the rule that the plugin has a mode at these ranks only."""

    def rule(op: ResizeOp) -> Outcome | None:
        if _rank(op) in ranks.get(_mode(op), range(9)):
            return None
        return outcome(f"the plugin has no {_mode(op)} Interpolate-{op.version} of rank {_rank(op)}")

    return rule


def _reads_as(semantics: Semantics) -> Rule:
    """Return the rule that everything else is computed, in the reading of a release."""

    def rule(op: ResizeOp) -> Outcome:
        context = Context(version=op.version, shape=op.shape, dtype=op.dtype, semantics=semantics)
        try:
            return computes(DIALECT.parse(op.attributes, context))
        except NoRuleError as error:
            return unknown(str(error).removeprefix("no rule covers "))
        except IrInterpError as error:
            return refused(str(error))

    return rule


# 2021.2


def _lists_channels_alone(op: ResizeOp) -> Outcome | None:
    if op.version == 1 and resolve_axes(op.spec.axes, _rank(op)) == (1,) and not openvino.resized_axes(op):
        return crashes("an Interpolate-1 of axis 1 that keeps its size ends the process")
    return None


def _narrow_triangles_of_2021_2(op: ResizeOp) -> Outcome | None:
    context = Context(version=op.version, shape=op.shape, semantics=Semantics.OPENVINO_2021_2)
    return openvino.narrow_triangles(replace(op, spec=DIALECT.parse(op.attributes, context)))


def _of_4(*rules: Rule) -> Rule:
    """Return the outcome of the first rule that covers an Interpolate-4."""

    def rule(op: ResizeOp) -> Outcome | None:
        outcomes = (rule_of_layer(op) for rule_of_layer in rules if op.version > 1)
        return next((outcome for outcome in outcomes if outcome is not None), None)

    return rule


_OF_2023 = (takes_no_float64, _counts_axes, _pads_of_pairs, _pillow_of_images)
_FEWER_TYPES = tuple(dtype for dtype in openvino.TYPES if dtype != "float64")
_OF_2022 = (_takes(*_FEWER_TYPES), *_OF_2023, _makes_nothing)
_FLOATS = ("float32", "float16", "int8")
_OF_2021 = (
    _takes(*_FLOATS, "bfloat16"),
    _has_no_11,
    _makes_nothing,
    _has_spatial_axes,
    _pads_listed_axes,
    _pads_of_pairs,
)
_NO_SEQUENCES = (2, 4, 5)  # ranks
_RANKS_OF_2021_2 = {"nearest": _NO_SEQUENCES, "linear": _NO_SEQUENCES, "linear_onnx": (2, 4), "cubic": (2, 4)}
_LAYERS_OF_2021_2 = _of_4(_has_spatial_axes, _has_ranks(refused, _RANKS_OF_2021_2), _narrow_triangles_of_2021_2)
_edition = partial(Edition, today=openvino.layer)
LAYER_EDITIONS: Mapping[str, Edition] = MappingProxyType(
    {
        "2021.2": _edition(
            version="2021.2",
            rules=(
                _has_no_11,
                _takes(*_FLOATS),
                _makes_nothing,
                _lists_channels_alone,
                _LAYERS_OF_2021_2,
                _reads_as(Semantics.OPENVINO_2021_2),
            ),
        ),
        "2021.3": _edition(
            version="2021.3",
            rules=(
                *_OF_2021,
                _has_ranks(refused, {"cubic": _UP_TO_IMAGES}),
                openvino.narrow_triangles,
                _reads_as(Semantics.OPENVINO_2021_3),
            ),
        ),
        "2021.4": _edition(
            version="2021.4",
            rules=(
                _has_ranks(crashes, {"cubic": _UP_TO_IMAGES}),
                *_OF_2021,
                openvino.narrow_triangles,
                _reads_as(Semantics.RUNTIME),
            ),
        ),
        "2022.3": _edition(version="2022.1 to 2022.3", rules=(_has_no_11, *_OF_2022)),
        "2023.2": _edition(version="2023.0 to 2023.2", rules=_OF_2022),
        "2024.6": _edition(version="2023.3 to 2024.6", rules=_OF_2023),
        "2025.1": _edition(version="2025.0 and 2025.1", rules=_OF_2023),
        "2025.3": _edition(version="2025.2 and 2025.3", rules=(takes_no_float64, _counts_axes, _pads_of_pairs)),
        "2025.4": _edition(version="2025.4", rules=(takes_no_float64,)),
        "2026.2": _edition(version="2026.0 to 2026.2", rules=(takes_no_float64,)),
        "2026.4": _edition(version="2026.3 and 2026.4", rules=()),
    }
)
"""By the last release that each applies to."""
