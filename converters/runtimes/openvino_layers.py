"""OpenVINO's CPU plugin: which Interpolate layers it takes, and how earlier releases computed them (2021.2 to 2026.4).

Each rule was found by running layers; docs/semantics.md names the tests. Writers call ``plugin`` before they emit a
layer, predictions call ``layer`` for an existing one. Earlier releases come last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import partial

from ir_interp.errors import IrInterpError
from ir_interp.ir.interpolate_dialect import DIALECT, NoRuleError, pads_go_astray
from ir_interp.ir.ir_files import Layer, Net
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes, static_shape
from ir_interp.specs import Antialias, Area, Coordinates, Linear, Nearest, Scales, Sizes
from ir_interp.translation.dialect import Context, Semantics

from .outcome import Outcome, Rounded, computes, crashes, differs, refused, unknown
from .runtime import OfRounded, Release, Rule

SPATIAL_ONLY = "the plugin resizes spatial dimensions only"
TYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64")
"""The element types that Interpolate takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpolate:
    """The properties of a layer by which the plugin chooses a kernel.

    ``listed`` are the axes that have a size or a scale, None if every axis has; ``resized`` are those that may
    change.
    """

    mode: str
    rank: int
    dtype: str
    resized: frozenset[int]
    listed: frozenset[int] | None
    padded: frozenset[int] = frozenset()

    @property
    def is_pillow(self) -> bool:
        """Whether the mode is one of Pillow's."""
        return self.mode.endswith("pillow")

    @property
    def targeted(self) -> frozenset[int]:
        """The listed axes; if every axis has a target, those that are resized."""
        return self.resized if self.listed is None else self.listed


def plugin(node: Interpolate) -> Outcome | None:
    """Return the outcome of a layer that the plugin does not compute; None if it does."""
    return next((outcome for outcome in (rule(node) for rule in _RULES) if outcome is not None), None)


def _of_another_type(node: Interpolate) -> Outcome | None:
    return None if node.dtype in TYPES else refused(f"Interpolate does not take {node.dtype}")


def _padded_elsewhere(node: Interpolate) -> Outcome | None:
    if node.listed is not None and pads_go_astray(node.listed, node.padded, node.rank):
        return differs("the plugin pads other axes if the listed ones are not the last")
    return None


def _without_kernel(node: Interpolate) -> Outcome | None:
    if node.dtype in ("int32", "int64") and node.rank > (4 if node.mode == "cubic" else 5):
        return refused(f"the plugin has no {node.mode} Interpolate of rank {node.rank} for {node.dtype}")
    return None


def _linear_overruns(node: Interpolate) -> Outcome | None:
    if node.mode == "linear_onnx" and node.rank > 5:
        return crashes(f"a linear_onnx Interpolate of rank {node.rank} corrupts memory")
    return None


def _not_spatial(node: Interpolate) -> Outcome | None:
    """Batch, or channels of volumes, are resized only if no more axes are listed than an image or volume has."""
    if node.rank not in (4, 5) or node.is_pillow or (node.rank == 5 and node.mode == "cubic"):
        return None
    # Without axes, every axis of the input has a size.
    counted = node.listed is None or len(node.listed) > node.rank - 2
    if counted and min(node.resized, default=node.rank) < node.rank - 3:
        return refused(SPATIAL_ONLY)
    return None


def _cubic_overruns(node: Interpolate) -> Outcome | None:
    axes, every = node.targeted, node.listed is None
    images = node.rank == 4 and (len(axes) > 2 or (every and min(axes, default=2) < 2))
    overruns = images or (node.rank == 3 and 0 in axes and (every or len(axes) > 1))
    if node.mode == "cubic" and overruns:
        return crashes(f"a cubic Interpolate of axes {sorted(axes)} corrupts memory")
    return None


def _cubic_wraps(node: Interpolate) -> Outcome | None:
    if node.mode == "cubic" and node.rank > 4 and node.dtype in ("int8", "uint8"):
        return differs(f"the plugin wraps {node.dtype} around in a cubic Interpolate of rank {node.rank}")
    return None


# By rank: the lists of axes for which its Pillow kernels have memory; beyond these they read and write elsewhere.
PILLOW_AXES: dict[int, tuple[Set[int], ...]] = {2: ({1}, {0, 1}), 3: ({1}, {2}, {1, 2}), 4: ({2}, {3}, {2, 3}, {1, 2})}


def _pillow_overruns(node: Interpolate) -> Outcome | None:
    taken, is_image = PILLOW_AXES.get(node.rank, ()), node.rank == 4
    if not node.is_pillow or node.targeted in taken or (is_image and node.resized <= {2, 3}):
        return None
    if taken and not node.resized:
        return None
    if is_image and 0 in node.resized:
        return refused(SPATIAL_ONLY)
    return crashes(f"a {node.mode} Interpolate of axes {sorted(node.targeted)} at rank {node.rank} corrupts memory")


_RULES: tuple[Callable[[Interpolate], Outcome | None], ...] = (
    _of_another_type,
    _padded_elsewhere,
    _without_kernel,
    _linear_overruns,
    _not_spatial,
    _cubic_overruns,
    _cubic_wraps,
    _pillow_overruns,
)


def layer(op: ResizeOp) -> Outcome:
    """Return the outcome of a layer of an IR. ``op.attributes`` are those of the layer."""
    mode, rank = str(op.attributes.get("mode", DIALECT.defaults["mode"][0])), len(op.shape or ())
    if isinstance(op.spec.kernel, Area):
        return refused("no runtime executes mode area")
    if op.version == 1 and mode == "linear" and rank > 5:
        return refused(f"the plugin has no Interpolate-1 of mode linear at rank {rank}")
    return plugin(interpolate(op, mode)) or narrow_triangles(op) or computes(op.spec)


def narrow_triangles(op: ResizeOp) -> Outcome | None:
    """Return that antialias changes a resize that only grows: the plugin narrows a triangle by every scale."""
    kernel, shape = op.spec.kernel, static_shape(op.shape)
    if not isinstance(kernel, Linear) or kernel.antialias is not Antialias.ANY_SHRINKING or len(op.shape or ()) > 5:
        return None
    if shape is None or op.spec.waits:
        return unknown("an antialiased linear resize that may grow on every axis")
    axes = [axis for axis in plan(op.spec, shape).axes if axis.in_size > 1]  # of one pixel any triangle gives copies
    if any(axis.scale > 1 for axis in axes) and all(axis.scale >= 1 for axis in axes):
        return differs("the plugin narrows antialias' triangle if axes grow and none shrinks")
    return None


def interpolate(op: ResizeOp, mode: str, resized: frozenset[int] | None = None) -> Interpolate:
    """Return the plugin's view of a resize; ``resized`` are the axes that may change, if not as the shapes show."""
    rank, axes = len(op.shape or ()), op.spec.axes
    return Interpolate(
        mode=mode,
        rank=rank,
        dtype=op.dtype or "float32",
        resized=resized_axes(op) if resized is None else resized,
        listed=None if axes is None else frozenset(resolve_axes(axes, rank) if op.shape else axes),
        padded=frozenset(pad.axis for pad in op.spec.pads),
    )


def resized_axes(op: ResizeOp) -> frozenset[int]:
    """Return the axes that an Interpolate resizes, as far as the shapes show; it has no aspect policies."""
    target, shape = op.spec.target, op.shape
    if shape is None:
        return frozenset(op.spec.axes or ())
    axes = resolve_axes(op.spec.axes, len(shape))
    if not isinstance(target, Sizes | Scales):
        return frozenset(axes if op.spec.axes is not None else ())
    pads = {pad.axis: pad.begin + pad.end for pad in op.spec.pads}
    in_sizes = [None if (n := shape[axis]) is None else n + pads.get(axis, 0) for axis in axes]
    # The plugin compares what the layer states: scales with 1, sizes with those of the padded input.
    stay = [1.0] * len(axes) if isinstance(target, Scales) else in_sizes
    return frozenset(axis for axis, value, same in zip(axes, target.values, stay, strict=True) if value != same)


# Lost digits: the plugin computes in float32


def lost_digits(op: ResizeOp) -> str:
    """Return the digits that nearest copies lose, which are exact elsewhere; empty if they lose none."""
    if isinstance(op.spec.kernel, Nearest) and op.dtype in ("int32", "int64"):
        return "the plugin computes in float32: values beyond 2**24 would lose their last bits"
    return ""


def precision_note(op: ResizeOp) -> str:
    """Return the digits that the plugin loses for an element type, however a resize is written."""
    averaged = op.dtype == "uint32" and not isinstance(op.spec.kernel, Nearest)
    if op.dtype in ("int64", "uint64") or averaged:
        return f"OpenVINO's CPU plugin stores {op.dtype} as signed 32-bit integers"
    if op.dtype == "float64":
        return "OpenVINO's CPU plugin computes in float32"
    return ""


def takes_no_float64(op: ResizeOp) -> Outcome | None:
    """Refuse float64."""
    return refused("Interpolate does not take float64") if op.dtype == "float64" else None


# Release by release: how earlier CPU plugins computed layers that today's computes.
#
# Each rule was found by running the same 1,500 random layers of Interpolate-1, -4 and -11 in a wheel of every release
# from 2021.2 to 2026.4 (docs/runtimes.md). ``ir/releases.py`` states how 2021.2 and 2021.3 computed Interpolate-1.

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
    return min(resized_axes(op), default=_SPATIAL) < min(_SPATIAL, _rank(op) - 1)


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
        return refused(SPATIAL_ONLY)
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
        return refused(SPATIAL_ONLY)
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
    if op.version == 1 and resolve_axes(op.spec.axes, _rank(op)) == (1,) and not resized_axes(op):
        return crashes("an Interpolate-1 of axis 1 that keeps its size ends the process")
    return None


def _narrow_triangles_of_2021_2(op: ResizeOp) -> Outcome | None:
    context = Context(version=op.version, shape=op.shape, semantics=Semantics.OPENVINO_2021_2)
    return narrow_triangles(replace(op, spec=DIALECT.parse(op.attributes, context)))


def _of_4(*rules: Rule) -> Rule:
    """Return the outcome of the first rule that covers an Interpolate-4."""

    def rule(op: ResizeOp) -> Outcome | None:
        outcomes = (rule_of_layer(op) for rule_of_layer in rules if op.version > 1)
        return next((outcome for outcome in outcomes if outcome is not None), None)

    return rule


# Behind a FakeQuantize of these levels, with one range, the plugin keeps a nearest Interpolate in 8 bits, for which it
# has no kernel of a low rank; not one with pads or align_corners. It does so, too, behind layers over which it moves
# the range, such as an Add of a constant and a Reshape; which these are was not tried.

_IN_8_BITS = (15, 16, 255, 256)
_MOST_LEVELS, _LEAST_LEVELS = 256, 3  # those of 2 become bits
_LOW_RANKS = (1, 2, 3)


def _nearest_of_levels(ranks: tuple[int, ...], levels: tuple[int, ...]) -> OfRounded:
    """Return the rule that a plugin refuses a nearest of some ranks next to a FakeQuantize of these levels."""

    def rule(op: ResizeOp, rounded: tuple[Rounded, ...]) -> Outcome | None:
        is_low = _rank(op) in (0, *_LOW_RANKS)  # 0: it is unknown
        if not isinstance(op.spec.kernel, Nearest) or not is_low or op.spec.pads:
            return None
        if op.spec.coordinates is Coordinates.ALIGN_CORNERS:
            return None
        outcomes = [_of_levels(op, each, ranks, levels) for each in rounded]
        return next(filter(None, outcomes), None)

    return rule


def _of_levels(op: ResizeOp, by: Rounded, ranks: tuple[int, ...], levels: tuple[int, ...]) -> Outcome | None:
    if by.levels is not None and by.levels > _MOST_LEVELS:
        return None
    if op.shape is None or by.levels is None or by.levels < _LEAST_LEVELS or not (by.is_next and by.is_single):
        return unknown("a nearest Interpolate up to rank 3 of values that a FakeQuantize rounded")
    if by.levels not in levels or _rank(op) not in ranks:
        return None
    return refused(f"the plugin has no nearest Interpolate of rank {_rank(op)} in 8 bits, as behind a FakeQuantize")


def _unknown_of_levels(op: ResizeOp, rounded: tuple[Rounded, ...]) -> Outcome | None:
    """Return that a nearest is unknown: the plugin computes it in floats behind some FakeQuantize layers."""
    return _nearest_of_levels((), ())(op, tuple(replace(each, is_next=False) for each in rounded))


_OF_2023 = (takes_no_float64, _counts_axes, _pads_of_pairs, _pillow_of_images)
_FEWER_TYPES = tuple(dtype for dtype in TYPES if dtype != "float64")
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
_layer_release = partial(Release, otherwise=layer)
LAYER_RELEASES = {
    "2021.2": _layer_release(
        version="2021.2",
        rules=(
            _has_no_11,
            _takes(*_FLOATS),
            _makes_nothing,
            _lists_channels_alone,
            _LAYERS_OF_2021_2,
            _reads_as(Semantics.OPENVINO_2021_2),
        ),
        of_rounded=_unknown_of_levels,
    ),
    "2021.3": _layer_release(
        version="2021.3",
        rules=(
            *_OF_2021,
            _has_ranks(refused, {"cubic": _UP_TO_IMAGES}),
            narrow_triangles,
            _reads_as(Semantics.OPENVINO_2021_3),
        ),
        of_rounded=_unknown_of_levels,
    ),
    "2021.4": _layer_release(
        version="2021.4",
        rules=(
            _has_ranks(crashes, {"cubic": _UP_TO_IMAGES}),
            *_OF_2021,
            narrow_triangles,
            _reads_as(Semantics.RUNTIME),
        ),
        of_rounded=_nearest_of_levels((2, 3), (255, 256)),
    ),
    "2022.3": _layer_release(
        version="2022.1 to 2022.3",
        rules=(_has_no_11, *_OF_2022),
        of_rounded=_nearest_of_levels((2, 3), _IN_8_BITS),
    ),
    "2023.2": _layer_release(
        version="2023.0 to 2023.2", rules=_OF_2022, of_rounded=_nearest_of_levels(_LOW_RANKS, _IN_8_BITS)
    ),
    "2024.6": _layer_release(version="2023.3 to 2024.6", rules=_OF_2023),
    "2025.1": _layer_release(version="2025.0 and 2025.1", rules=_OF_2023),
    "2025.3": _layer_release(version="2025.2 and 2025.3", rules=(takes_no_float64, _counts_axes, _pads_of_pairs)),
    "2025.4": _layer_release(version="2025.4", rules=(takes_no_float64,)),
    "2026.2": _layer_release(version="2026.0 to 2026.2", rules=(takes_no_float64,)),
    "2026.4": _layer_release(version="2026.3 and 2026.4"),
}


# The FakeQuantize layers in front of a resize.

_LIMITS = range(1, 5)  # inputs of a FakeQuantize


def rounded_before(net: Net, layer: Layer) -> tuple[Rounded, ...]:
    """Return the last FakeQuantize layers that round the values from which the input of a layer is computed."""
    if all(other.type != "FakeQuantize" for other in net.layers.values()):
        return ()
    return tuple(_before(net, layer))


def _before(net: Net, layer: Layer) -> Iterator[Rounded]:
    first = net.source(layer, 0)
    left, seen = [first[0]] if first else [], set[int]()
    while left:
        producer = left.pop()
        if producer.id in seen:
            continue
        seen.add(producer.id)
        if producer.type == "FakeQuantize":
            yield _rounded(net, producer, is_next=first is not None and producer is first[0])
            continue
        sources = (net.source(producer, place) for place in range(len(producer.inputs)))
        left += [source[0] for source in sources if source]


def _rounded(net: Net, layer: Layer, *, is_next: bool) -> Rounded:
    levels, limits = layer.attributes.get("levels", ""), [net.source(layer, place) for place in _LIMITS]
    shapes = [static_shape(limit[1].shape) if limit else None for limit in limits]
    is_single = all(shape is not None and math.prod(shape) == 1 for shape in shapes)
    return Rounded(levels=int(levels) if levels.isdecimal() else None, is_next=is_next, is_single=is_single)
