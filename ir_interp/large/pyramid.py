"""Where the pixels of each level of a pyramid lie, as OME-Zarr writes it: 0.4 in Zarr 2, 0.5 in Zarr 3.

Source: ngff.openmicroscopy.org/0.5, "multiscales" metadata, and the same of 0.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ir_interp.arrays.labelled import centres
from ir_interp.errors import SpecError
from ir_interp.executor.resize import planned
from ir_interp.large.layout import Work
from ir_interp.shapes import resolve_axes

_TYPES = {"t": "time", "time": "time", "c": "channel", "channel": "channel"} | dict.fromkeys("zyx", "space")
_ORDER = ("time", "channel", "space")
_RANKS = range(2, 6)
_SPATIAL = (2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What OME-Zarr says of the array that a pyramid is made of: its axes, and where its pixels lie.

    ``others`` is what its group says beside, of channels for example.
    """

    axes: list[dict[str, Any]]
    scale: list[float]
    translation: list[float]
    others: Mapping[str, Any]


def image_of(known: Image | None, names: Sequence[Any], work: Work) -> Image:
    """Return what is ``known`` of an image from its metadata, else from the names of its dimensions.

    Raises SpecError for axes that OME-Zarr does not have.
    """
    image = known or _by_names(names, work)
    types = [axis.get("type") for axis in image.axes]
    ordered = [kind for kind in types if kind in _ORDER]
    in_order = ordered == sorted(ordered, key=_ORDER.index)
    if len(types) not in _RANKS or types.count("space") not in _SPATIAL or not in_order or types[-1] != "space":
        names = ", ".join(str(axis["name"]) for axis in image.axes)
        raise SpecError(f"levels are OME-Zarr, whose axes are time, channel, then 2 or 3 of space; these are {names}")
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
    """Return what the group around an array says of it, if there is one."""
    import zarr

    from ir_interp.large.store_files import store_of

    for group_path in (path.parent, path.parent.parent):
        try:
            store, inner = store_of(group_path)
            attributes: dict[str, Any] = dict(zarr.open_group(store, path=inner, mode="r").attrs)
        except (OSError, ValueError, TypeError, KeyError):  # no group, or one of another kind
            continue
        ome: Any = attributes.get("ome", attributes)
        for image in ome.get("multiscales", ()) if isinstance(ome, Mapping) else ():
            for dataset in image.get("datasets", ()):
                if dataset.get("path") == path.relative_to(group_path).as_posix():
                    moves = [*dataset.get("coordinateTransformations", ()), *image.get("coordinateTransformations", ())]
                    scale, translation = _placed(moves, rank)
                    others = {name: ome[name] for name in ("omero",) if name in ome}
                    return Image(axes=list(image["axes"]), scale=scale, translation=translation, others=others)
    return None


def _placed(moves: Iterable[Mapping[str, Any]], rank: int) -> tuple[list[float], list[float]]:
    """Return the scale and the translation of transformations that follow each other."""
    scale, translation = [1.0] * rank, [0.0] * rank
    for move in moves:
        values = move.get(str(move.get("type")))
        if move.get("type") == "scale" and values:
            scale = [a * float(b) for a, b in zip(scale, values, strict=True)]
            translation = [a * float(b) for a, b in zip(translation, values, strict=True)]
        elif move.get("type") == "translation" and values:
            translation = [a + float(b) for a, b in zip(translation, values, strict=True)]
        elif move.get("type") != "identity":
            raise SpecError(f"a transformation of type {move.get('type')!r} is not known; expected scale, translation")
    return scale, translation


def describe(path: Path, image: Image, works: Iterable[Work], zarr_format: Literal[2, 3]) -> None:
    """Write into a group of Zarr where the pixels of its arrays 0, 1, 2 ... lie."""
    import zarr

    scale, translation = list(image.scale), list(image.translation)
    datasets = []
    for level, work in enumerate(works):
        bound = planned(work.spec, work.shape)
        for axis in bound.axes:
            first = centres(replace(axis, out_size=1), 1, work.spec)[0] - bound.padding[axis.axis][0]
            translation[axis.axis] += scale[axis.axis] * float(first)
            scale[axis.axis] *= float(axis.step)
        moves = [{"type": "scale", "scale": list(scale)}, {"type": "translation", "translation": list(translation)}]
        datasets.append({"path": str(level), "coordinateTransformations": moves})
    multiscales = [{"name": path.name.removesuffix(".partial"), "axes": image.axes, "datasets": datasets}]
    attributes: dict[str, Any] = {"version": "0.5", "multiscales": multiscales, **image.others}
    if zarr_format == 2:
        attributes = {"multiscales": [{"version": "0.4", **multiscales[0]}], **image.others}
    else:
        attributes = {"ome": attributes}
    zarr.open_group(path, mode="a", zarr_format=zarr_format).attrs.update(attributes)
