"""The IR dialect: Interpolate-1, -4 and -11.

Sources: OpenVINO's operator pages "Interpolate-1", "Interpolate-4" and "Interpolate-11"; where the pages leave
something open, the behaviour of OpenVINO 2026.4 on CPU (docs/semantics.md, each line with its test). Attributes of
Interpolate-1 leave coordinates and rounding open, so it is read by release, as derived by running random layers in the
wheels of 2021.2 to 2026.4 (docs/runtimes.md): 2021.2 ran the layers Interp and Resample from before nGraph, 2021.3 an
Interpolate-4 with the defaults of that operation, every later release the same Interpolate-4 as today. Interpolate-4
and -11 mean the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ir_interp.errors import SpecError
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.specs import (
    Antialias,
    Area,
    Arithmetic,
    AtRunTime,
    Coordinates,
    Cubic,
    IntegerRounding,
    Kernel,
    Linear,
    Nearest,
    Pad,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)
from ir_interp.translation.dialect import Attributes, Context, Dialect, Semantics, since

_LINEAR = ("linear", "linear_onnx")
_IMAGE, _VOLUME = 4, 5  # ranks, batch and channels included
# Behind the batch and the channels.
_FIRST_SPATIAL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpolate1:
    """The properties by which a release chooses coordinates; ``sizes`` belong to ``axes``, which ascend.

    ``leading_pad`` is the pad of dimension 0, which a single number sets as well.
    """

    mode: str
    align_corners: bool
    antialias: bool
    shape: PartialShape | None
    axes: tuple[int, ...]
    sizes: tuple[int, ...] | None
    is_padded: bool
    leading_pad: bool

    @property
    def rank(self) -> int:
        """The rank of the input. Raises SpecError if it is unknown."""
        return _rank(self.shape)

    @property
    def is_of_images(self) -> bool:
        """Whether the layer lists exactly the height and width of an image."""
        return self.rank == _IMAGE and sorted(self.axes) == [2, 3]


class NoRuleError(SpecError):
    """No rule covers how a release computes a layer."""


def _computes_all(layer: Interpolate1) -> None:
    """Accept every layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The way in which a release computes Interpolate-1.

    ``coordinates`` are those of a layer without align_corners. ``check`` raises SpecError for a layer that the release
    does not compute, NoRuleError for one that no rule covers. ``antialiases_images`` means that `linear`, in
    Interpolate-4 too, honours antialias up to rank 4.
    """

    rounding: Rounding
    coordinates: Callable[[Interpolate1], Coordinates]
    ignores_pads: bool = False
    antialiases_images: bool = False
    check: Callable[[Interpolate1], None] = _computes_all


def _of_today(layer: Interpolate1) -> Coordinates:
    """Return the coordinates since 2021.4, those of the kernels that ran such layers before Interpolate-4."""
    if layer.mode in _LINEAR and not layer.is_padded and not layer.is_of_images:
        return Coordinates.HALF_PIXEL
    return Coordinates.ASYMMETRIC


def _of_interp_and_resample(layer: Interpolate1) -> Coordinates:
    return Coordinates.HALF_PIXEL if layer.mode in _LINEAR and layer.rank == _VOLUME else Coordinates.ASYMMETRIC


def _check_interp_or_resample(layer: Interpolate1) -> None:
    """Refuse a layer that 2021.2 converts neither to an Interp (linear images) nor to a Resample (all others)."""
    rank, is_interp = layer.rank, layer.rank == _IMAGE and layer.mode in _LINEAR
    problems = {
        f"only images and volumes are resized, of rank {_IMAGE} or {_VOLUME}": rank not in (_IMAGE, _VOLUME),
        f"mode {layer.mode} is not supported": layer.mode in ("linear_onnx", "cubic"),
        "align_corners applies to linear images only": layer.align_corners and not is_interp,
        "antialias is not supported for linear images": layer.antialias and is_interp,
        f"axes {', '.join(map(str, layer.axes))} are not resized at rank {rank}": not _has_axes(layer),
        "only spatial dimensions are resized": _resizes_other_axes(layer),
    }
    problem = next((text for text, is_so in problems.items() if is_so), None)
    if problem:
        raise SpecError(problem)
    if layer.leading_pad:
        raise NoRuleError("no rule covers pads whose first entry is not 0")
    if layer.antialias and layer.mode in _LINEAR and not _goes_one_way(layer):
        raise NoRuleError("no rule covers antialias where one axis may grow and another shrink")


def _goes_one_way(layer: Interpolate1) -> bool:
    """Return whether no axis shrinks, or none grows."""
    if layer.sizes is None or layer.shape is None:
        return False
    pairs = [(size, layer.shape[axis]) for axis, size in zip(layer.axes, layer.sizes, strict=True)]
    known = [size - in_size for size, in_size in pairs if in_size is not None]
    return len(known) == len(pairs) and (min(known) >= 0 or max(known) <= 0)


def _has_axes(layer: Interpolate1) -> bool:
    axes = {*layer.axes}
    return (1 not in axes or 0 in axes) and (layer.rank != _IMAGE or {2, 3} <= axes)


def _resizes_other_axes(layer: Interpolate1) -> bool:
    batch_and_channels = (layer.shape or ())[:_FIRST_SPATIAL]
    if layer.sizes is None:
        return min(layer.axes) < _FIRST_SPATIAL
    targets = dict(zip(layer.axes, layer.sizes, strict=True))
    return any(targets.get(axis, size) != size for axis, size in enumerate(batch_and_channels))


TODAY = Release(rounding=Rounding.SIMPLE, coordinates=_of_today)
"""2021.4 and every release since."""

EARLIER: Mapping[Semantics, Release] = MappingProxyType(
    {
        Semantics.OPENVINO_2021_2: Release(
            rounding=Rounding.FLOOR,
            coordinates=_of_interp_and_resample,
            ignores_pads=True,
            antialiases_images=True,
            check=_check_interp_or_resample,
        ),
        Semantics.OPENVINO_2021_3: Release(
            rounding=Rounding.ROUND_PREFER_FLOOR, coordinates=lambda layer: Coordinates.HALF_PIXEL
        ),
    }
)


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the spec of an Interpolate layer from its ``data`` attributes and its inputs by name."""
    if context.version == 1:
        return _read_1(attributes, context)
    if context.version == 11 and context.semantics in EARLIER:
        raise SpecError(f"{context.semantics.value} has no Interpolate-11, which OpenVINO 2023.0 introduced")
    by_scales = attributes["shape_calculation_mode"] == "scales"
    pillow = attributes["mode"] in _PILLOW
    return ResizeSpec(
        kernel=_kernel(attributes, context),
        coordinates=_coordinates(attributes),
        axes=attributes.get("axes"),
        target=_target(attributes, "scales" if by_scales else "sizes"),
        # Pillow modes use the ratio of sizes, whatever the scales are (docs/semantics.md).
        step=Step.RATIO if pillow else Step.GIVEN_UNLESS_EQUAL,
        pads=_pads(attributes, attributes.get("axes"), context),
        arithmetic=Arithmetic.OPENVINO,
        integers=_integers(attributes, context),
    )


_PILLOW = ("bilinear_pillow", "bicubic_pillow")


def _kernel(attributes: Attributes, context: Context) -> Kernel:
    document = context.semantics is Semantics.DOCUMENT
    antialiases = document or EARLIER.get(context.semantics, TODAY).antialiases_images
    match attributes["mode"]:
        case "nearest":
            return Nearest(rounding=Rounding(attributes["nearest_mode"]))
        case "linear" if attributes["antialias"] and (antialiases or _rank(context.shape) > 4):
            return Linear(antialias=Antialias.ANY_SHRINKING, exclude_outside=True)
        case "linear" | "linear_onnx":  # no antialias: the page has none for linear_onnx, the CPU none up to rank 4
            return Linear()
        case "cubic":
            return Cubic(a=attributes.get("cube_coeff", -0.75))
        case "bilinear_pillow":
            return Linear(antialias=Antialias.SHRINKING, exclude_outside=True)
        case "bicubic_pillow":  # the CPU plugin uses -0.5, whatever the value of cube_coeff
            a = attributes.get("cube_coeff", -0.75) if document else -0.5
            return Cubic(a=a, antialias=Antialias.SHRINKING, exclude_outside=True)
        case mode:
            raise SpecError(f"mode {mode!r} is unknown")


def _coordinates(attributes: Attributes) -> Coordinates:
    if attributes["mode"] in _PILLOW:
        return Coordinates.HALF_PIXEL
    return Coordinates(attributes["coordinate_transformation_mode"])


def _integers(attributes: Attributes, context: Context) -> IntegerRounding | None:
    """Return a spec's `integers`: the plugin's own sums, except `linear` of volumes, which truncates 8-bit integers."""
    volumes = attributes["mode"] == "linear" and len(context.shape or ()) > 4
    return IntegerRounding.CUT_OFF if volumes and context.dtype in ("int8", "uint8") else None


def _read_1(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the spec of Interpolate-1, whose attributes leave the coordinates open, by release of OpenVINO."""
    release, layer = EARLIER.get(context.semantics, TODAY), _layer_1(attributes, context)
    release.check(layer)
    return ResizeSpec(
        kernel=_kernel_1(attributes, context, release.rounding),
        coordinates=Coordinates.ALIGN_CORNERS if layer.align_corners else release.coordinates(layer),
        axes=layer.axes,
        target=AtRunTime.SIZES if layer.sizes is None else Sizes(layer.sizes),
        pads=() if release.ignores_pads else _pads(attributes, layer.axes, context),
        arithmetic=Arithmetic.OPENVINO,
        integers=_integers(attributes, context),
    )


def _layer_1(attributes: Attributes, context: Context) -> Interpolate1:
    if attributes.get("axes") is None:
        raise SpecError("axes are missing")
    axes, sizes = axes_in_order(attributes["axes"], context), attributes.get("sizes")
    pads = [tuple(attributes.get(name) or ()) for name in ("pads_begin", "pads_end")]
    return Interpolate1(
        mode=attributes["mode"],
        align_corners=attributes["align_corners"],
        antialias=attributes["antialias"],
        shape=context.shape,
        axes=axes,
        sizes=None if sizes is None else tuple(sizes),
        is_padded=bool(_pads(attributes, axes, context)),
        leading_pad=any(any(entries[:1]) for entries in pads),
    )


def _kernel_1(attributes: Attributes, context: Context, rounding: Rounding) -> Kernel:
    if attributes["mode"] == "nearest":
        return Nearest(rounding=rounding)
    return Area() if attributes["mode"] == "area" else _kernel(attributes, context)


def axes_in_order(axes: tuple[int, ...], context: Context) -> tuple[int, ...]:
    """Return the axes of an Interpolate-1 in the order of its sizes: OpenVINO sorts them, the page does not."""
    if context.semantics is Semantics.DOCUMENT:
        return tuple(axes)
    rank = len(context.shape) if context.shape else 0
    return tuple(sorted(axes, key=lambda axis: axis % rank if rank else axis))


def _rank(shape: PartialShape | None) -> int:
    if shape is None:
        raise SpecError("the meaning depends on the input's rank, which is unknown here")
    return len(shape)


def _target(attributes: Attributes, kind: str) -> Sizes | Scales | AtRunTime:
    values = attributes.get(kind)
    if values is None:
        return AtRunTime(kind)
    return Scales(tuple(values)) if kind == "scales" else Sizes(tuple(values))


def _pads(attributes: Attributes, axes: tuple[int, ...] | None, context: Context) -> tuple[Pad, ...]:
    """Return pads by dimension; a single number is for all of ``axes`` by the page, for dimension 0 in OpenVINO."""
    begin, end = (tuple(attributes.get(name) or ()) for name in ("pads_begin", "pads_end"))
    if any(pad < 0 for pad in begin + end):
        raise SpecError("pads must not be negative")
    if context.semantics is Semantics.DOCUMENT and axes is not None and max(len(begin), len(end)) == 1:
        places = [(axis, sum(begin), sum(end)) for axis in axes]
    else:
        longest = max(len(begin), len(end)) if context.shape is None else len(context.shape)
        places = [(axis, sum(begin[axis : axis + 1]), sum(end[axis : axis + 1])) for axis in range(longest)]
    return tuple(Pad(axis=axis, begin=first, end=last) for axis, first, last in places if first or last)


def pads_go_astray(listed: Iterable[int], padded: Iterable[int], rank: int) -> bool:
    """Return whether OpenVINO's CPU plugin pads other axes than ``padded`` in a layer that lists the axes ``listed``.

    If a layer lists no more axes than an image or a volume has, and other ones, the plugin treats it as channels-last
    and moves the axes. With no list, or a longer one, nothing is moved.
    """
    axes = {*listed}
    if axes == {*range(rank - len(axes), rank)} or not {*padded} - ({0} - axes):
        return False
    if rank in (4, 5):
        return len(axes) <= rank - 2 and min(axes) < 2
    return not (rank == 3 and len(axes) == 2)


def _remarks(attributes: Attributes, context: Context) -> tuple[tuple[str, str], ...]:
    rank, axes = len(context.shape or ()), attributes.get("axes")
    if not rank or axes is None:
        return ()
    padded = [pad.axis for pad in _pads(attributes, axes, context)]
    if not pads_go_astray(resolve_axes(axes, rank), padded, rank):
        return ()
    axes_text = ", ".join(map(str, axes))
    return (("IRI008", f"OpenVINO's CPU plugin applies the pads of a resize of axes {axes_text} to other axes."),)


DIALECT = Dialect(
    name="openvino",
    versions=(11, 4, 1),
    vocabulary={
        "mode": {
            "nearest": since(1),
            "linear_onnx": since(1),
            "linear": since(1),
            "cubic": since(1),
            "bilinear_pillow": since(11),
            "bicubic_pillow": since(11),
            "area": range(1, 2),
        },
        "align_corners": {False: range(1, 2), True: range(1, 2)},
        "shape_calculation_mode": {"sizes": since(4), "scales": since(4)},
        "coordinate_transformation_mode": {
            "half_pixel": since(4),
            "pytorch_half_pixel": since(4),
            "align_corners": since(4),
            "asymmetric": since(4),
            "tf_half_pixel_for_nn": since(4),
        },
        "nearest_mode": {
            "round_prefer_floor": since(4),
            "round_prefer_ceil": since(4),
            "floor": since(4),
            "ceil": since(4),
            "simple": since(4),
        },
        "antialias": {False: since(1), True: since(1)},
    },
    numbers={
        "a": ("cube_coeff", since(4)),
        "axes": ("axes", since(1)),
        "sizes": ("sizes", since(1)),
        "scales": ("scales", since(4)),
        "pads_begin": ("pads_begin", since(1)),
        "pads_end": ("pads_end", since(1)),
    },
    defaults={
        "mode": ("nearest", since(4)),
        "align_corners": (True, since(1)),
        "shape_calculation_mode": ("sizes", since(1)),
        "coordinate_transformation_mode": ("half_pixel", since(1)),
        "nearest_mode": ("round_prefer_floor", since(1)),
        "antialias": (False, since(1)),
    },
    omitted={"antialias": False},
    read=read,
    remarks=_remarks,
)
