"""Interpolate-1 by release of OpenVINO, since its attributes leave coordinates and rounding open.

Derived by running random layers in the wheels of 2021.2 to 2026.4 (docs/runtimes.md): 2021.2 ran the layers Interp and
Resample from before nGraph, 2021.3 an Interpolate-4 with the defaults of that operation, every later release the same
Interpolate-4 as today. Interpolate-4 and -11 mean the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ir_interp.errors import SpecError
from ir_interp.shapes import PartialShape
from ir_interp.spec import Coordinates, Rounding
from ir_interp.translation.dialect import Semantics

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
        if self.shape is None:
            raise SpecError("the meaning depends on the input's rank, which is unknown here")
        return len(self.shape)

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
