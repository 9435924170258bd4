"""Where the pixels of each level of a pyramid lie, as OME-Zarr 0.5 writes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ir_interp.arrays.labelled import centres
from ir_interp.executor.resize import planned
from ir_interp.large.layout import Work


def describe(path: Path, source: Any, works: Iterable[Work]) -> None:
    """Write into a group of Zarr where the pixels of its arrays 1, 2, 3 ... lie in ``source``."""
    import zarr

    names = getattr(source.metadata, "dimension_names", None) or [f"axis{i}" for i in range(len(source.shape))]
    scale, shift = [1.0] * len(names), [0.0] * len(names)
    datasets = []
    for level, work in enumerate(works, start=1):
        bound = planned(work.spec, work.shape)
        for axis in bound.axes:
            first = centres(replace(axis, out_size=1), 1, work.spec)[0] - bound.padding[axis.axis][0]
            shift[axis.axis] += scale[axis.axis] * float(first)
            scale[axis.axis] *= float(axis.step)
        moves = [{"type": "scale", "scale": list(scale)}, {"type": "translation", "translation": list(shift)}]
        datasets.append({"path": str(level), "coordinateTransformations": moves})
    axes = [{"name": str(name)} for name in names]
    attributes: dict[str, Any] = {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}}
    zarr.open_group(path, mode="a", zarr_format=3).attrs.update(attributes)
