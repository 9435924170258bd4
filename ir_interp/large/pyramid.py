"""Positions of the pixels of each level of a pyramid, as OME-Zarr metadata: 0.4 in Zarr 2, 0.5 in Zarr 3.

Source: ngff.openmicroscopy.org/0.5, "multiscales" metadata, and the same of 0.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ir_interp.errors import ReadError, SpecError
from ir_interp.executor.resize import planned
from ir_interp.large.layout import Work
from ir_interp.plan.axes.pixel_grid import pixel_grid
from ir_interp.shapes import resolve_axes

_TYPES = {"t": "time", "time": "time", "c": "channel", "channel": "channel"} | dict.fromkeys("zyx", "space")
_ORDER = ("time", "channel", "space")
_RANKS = range(2, 6)  # of an OME-Zarr image: 2 to 5 axes
_SPATIAL = (2, 3)  # how many of them are spatial


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The OME-Zarr metadata of the array of a pyramid: its axes, and the positions of its pixels.

    ``others`` are the further metadata of its group, of channels for example.
    """

    axes: list[dict[str, Any]]
    scale: list[float]
    translation: list[float]
    others: Mapping[str, Any]


def image_of(known: Image | None, names: Sequence[Any], work: Work) -> Image:
    """Return the metadata of an image: what is ``known``, or what follows from the names of its dimensions.

    Raises SpecError for axes that OME-Zarr does not have.
    """
    image = known or _by_names(names, work)
    types = [axis.get("type") for axis in image.axes]
    ordered = [kind for kind in types if kind in _ORDER]
    in_order = ordered == sorted(ordered, key=_ORDER.index)
    if len(types) not in _RANKS or types.count("space") not in _SPATIAL or not in_order or types[-1] != "space":
        names = ", ".join(str(axis["name"]) for axis in image.axes)
        expected = "levels are written as OME-Zarr, whose axes are time, channel and 2 or 3 spatial ones, in this order"
        raise SpecError(f"{expected}; this array has {names}")
    return image


def _by_names(names: Sequence[Any], work: Work) -> Image:
    rank = len(work.shape)
    resized = resolve_axes(work.spec.axes, rank)
    names = names or [f"axis{i}" for i in range(rank - 2)] + ["y", "x"]
    axes = described_axes(names, resized)
    return Image(axes=axes, scale=[1.0] * rank, translation=[0.0] * rank, others={})


def described_axes(names: Sequence[Any], spatial: Collection[int] = ()) -> list[dict[str, Any]]:
    """Return axes as OME-Zarr describes them: their types follow from their names, or from being ``spatial``."""
    axes = []
    for number, name in enumerate(map(str, names)):
        kind = _TYPES.get(name.lower(), "space" if number in spatial else None)
        axes.append({"name": name, "type": kind} if kind else {"name": name})
    return axes


def group_image(path: Path, rank: int) -> Image | None:
    """Return the metadata of an array in the group around it, if there is one.

    Raises ReadError for metadata that cannot be understood.
    """
    import zarr

    from ir_interp.large.store_files import store_of

    for group_path in (path.parent, path.parent.parent):
        try:
            store, inner = store_of(group_path)
            attributes: dict[str, Any] = dict(zarr.open_group(store, path=inner, mode="r").attrs)
        except (OSError, ValueError, TypeError, KeyError):  # no group, or one of another kind
            continue
        try:
            image = _image_in(attributes.get("ome", attributes), path.relative_to(group_path).as_posix(), rank)
        except (AttributeError, TypeError, ValueError) as error:  # metadata are untrusted
            problem = error if isinstance(error, SpecError) else "malformed multiscales"
            raise ReadError(f"the OME-Zarr metadata around it cannot be read: {problem}", str(path)) from None
        if image is not None:
            return image
    return None


def _image_in(ome: Any, place: str, rank: int) -> Image | None:
    """Return what a group describes of the array at a place in it."""
    for image in ome.get("multiscales", ()) if isinstance(ome, Mapping) else ():
        for dataset in image.get("datasets", ()):
            if dataset.get("path") == place:
                moves = [*dataset.get("coordinateTransformations", ()), *image.get("coordinateTransformations", ())]
                scale, translation = _placed(moves, rank)
                others = {name: ome[name] for name in ("omero",) if name in ome}
                return Image(axes=_axes_of(image, rank), scale=scale, translation=translation, others=others)
    return None


def _axes_of(image: Mapping[str, Any], rank: int) -> list[dict[str, Any]]:
    """Return the axes of an image: described since 0.4, names alone in 0.3, and all five without a name before.

    Raises SpecError for axes that are not those of the array.
    """
    axes = image.get("axes", "tczyx")
    if isinstance(axes, Sequence) and all(isinstance(axis, str) for axis in axes):
        axes = described_axes(axes)
    named = isinstance(axes, Sequence) and all(isinstance(a, Mapping) and isinstance(a.get("name"), str) for a in axes)
    if not named or len(axes) != rank:
        raise SpecError(f"axes {axes!r:.99}; expected a name for each of {rank}")
    return [dict(axis) for axis in axes]


def _placed(moves: Iterable[Mapping[str, Any]], rank: int) -> tuple[list[float], list[float]]:
    """Return the combined scale and translation of sequential transformations."""
    scale, translation = [1.0] * rank, [0.0] * rank
    for move in moves:
        values = move.get(str(move.get("type")))
        if move.get("type") == "scale" and values:
            scale = [a * float(b) for a, b in zip(scale, values, strict=True)]
            translation = [a * float(b) for a, b in zip(translation, values, strict=True)]
        elif move.get("type") == "translation" and values:
            translation = [a + float(b) for a, b in zip(translation, values, strict=True)]
        elif move.get("type") != "identity":
            raise SpecError(f"transformation {dict(move)!r:.99}; expected the values of a scale or a translation")
    return scale, translation


def describe(path: Path, image: Image, works: Iterable[Work], zarr_format: Literal[2, 3]) -> None:
    """Write the positions of the pixels of the arrays 0, 1, 2 ... into their Zarr group."""
    import zarr

    scale, translation = list(image.scale), list(image.translation)
    datasets = []
    for level, work in enumerate(works):
        bound = planned(work.spec, work.shape)
        plans = {plan.axis: plan for plan in bound.axes}
        for axis, (pad, _) in enumerate(bound.padding):
            grid = pixel_grid(plans.get(axis), work.spec.kernel).behind(pad)
            translation[axis] += scale[axis] * grid.first
            scale[axis] *= grid.step
        moves = [{"type": "scale", "scale": list(scale)}, {"type": "translation", "translation": list(translation)}]
        datasets.append({"path": str(level), "coordinateTransformations": moves})
    multiscales = [{"name": path.name.removesuffix(".partial"), "axes": image.axes, "datasets": datasets}]
    attributes: dict[str, Any] = {"version": "0.5", "multiscales": multiscales, **image.others}
    if zarr_format == 2:
        attributes = {"multiscales": [{"version": "0.4", **multiscales[0]}], **image.others}
    else:
        attributes = {"ome": attributes}
    zarr.open_group(path, mode="a", zarr_format=zarr_format).attrs.update(attributes)
