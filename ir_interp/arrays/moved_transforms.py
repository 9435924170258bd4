"""Attributes that place a raster on Earth: GDAL's GeoTransform, and those of xarray's and stackstac's readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ir_interp.errors import SpecError
from ir_interp.plan.moved_coordinates import PixelGrid

_X, _Y = ("x", "longitude", "lon"), ("y", "latitude", "lat")  # names of a raster's dimensions in rioxarray
_LAST_ROW = (0.0, 0.0, 1.0)  # of an affine matrix, which Affine and files of it include
_ROWS = 6  # numbers of the first two rows


def moved_transforms(
    name: object, attributes: Mapping[object, object], grids: Mapping[object, PixelGrid]
) -> dict[object, object]:
    """Return attributes with the transforms and resolutions of new pixels; ``grids`` are those of moved dimensions.

    Known are GeoTransform, and transform, res and resolution where they are numbers: xarray's open_rasterio and
    stackstac write these. Raises SpecError for others that describe the old pixels, and for dimensions other than x
    and y.
    """
    moved = {key: _MOVES[key] for key, value in attributes.items() if key in _MOVES and _is_numeric(key, value)}
    if not grids:
        return dict(attributes)
    if hasattr(attributes.get("spec"), "resolutions_xy"):
        raise SpecError(
            f"{name!r} has an attribute 'spec' of its old pixels; drop it first, as del x.attrs['spec'] does"
        )
    if moved and not any(dim in grids for dim in _X + _Y):
        problem = f"{name!r} has a {next(iter(moved))} along x and y, and the resized dimensions are {list(grids)}"
        raise SpecError(f"{problem}; rename the dimensions of the raster to y and x")
    along_x, along_y = (next((grids[dim] for dim in dims if dim in grids), PixelGrid()) for dims in (_X, _Y))
    return {**attributes, **{key: move(attributes[key], along_x, along_y) for key, move in moved.items()}}


def geotransform(numbers: Sequence[float], along_x: PixelGrid, along_y: PixelGrid) -> tuple[float, ...]:
    """Return the geotransform of new pixels, whose grids are in old ones.

    A GeoTransform contains the corner of the first pixel and the steps along x and y (GDAL's raster data model): the
    position of a point is corner + i * steps, with i in pixels from that corner.
    """
    corner_x, x_by_x, x_by_y, corner_y, y_by_x, y_by_y = numbers
    return (
        corner_x + along_x.corner * x_by_x + along_y.corner * x_by_y, x_by_x * along_x.step, x_by_y * along_y.step,
        corner_y + along_x.corner * y_by_x + along_y.corner * y_by_y, y_by_x * along_x.step, y_by_y * along_y.step,
    )  # fmt: skip


def _is_numeric(key: object, value: object) -> bool:
    """Return whether an attribute is a transform or a resolution: another program may call anything so."""
    if key == "GeoTransform":
        return True
    if key == "resolution" and isinstance(value, Real):
        return True
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
        return False
    numbers = list(value)
    if not all(isinstance(number, Real) for number in numbers):
        return False
    is_matrix = len(numbers) == _ROWS or tuple(numbers[_ROWS:]) == _LAST_ROW
    return is_matrix if key == "transform" else len(numbers) == 2


def _moved_text(text: object, along_x: PixelGrid, along_y: PixelGrid) -> str:
    numbers = tuple(map(float, str(text).split()))
    return " ".join(map(repr, geotransform(numbers, along_x, along_y)))


def _moved_affine(matrix: Any, along_x: PixelGrid, along_y: PixelGrid) -> object:
    """Return an affine matrix by rows: the steps along x and y, then the corner."""
    x_by_x, x_by_y, corner_x, y_by_x, y_by_y, corner_y = map(float, list(matrix)[:_ROWS])
    old = corner_x, x_by_x, x_by_y, corner_y, y_by_x, y_by_y
    corner_x, x_by_x, x_by_y, corner_y, y_by_x, y_by_y = geotransform(old, along_x, along_y)
    rows = x_by_x, x_by_y, corner_x, y_by_x, y_by_y, corner_y
    return _of_kind(matrix, (*rows, *list(matrix)[_ROWS:]))


def _moved_resolution(resolution: Any, along_x: PixelGrid, along_y: PixelGrid) -> Any:
    """Return the size of a pixel along x and y; one number stands for both while they agree."""
    if not isinstance(resolution, Real):
        by_x, by_y = resolution
        return _of_kind(resolution, (float(by_x) * along_x.step, float(by_y) * along_y.step))
    by_x, by_y = float(resolution) * along_x.step, float(resolution) * along_y.step
    return by_x if by_x == by_y else (by_x, by_y)


def _of_kind(old: Any, numbers: tuple[float, ...]) -> object:
    """Return numbers as the kind of sequence that they were before, such as an Affine."""
    if isinstance(old, np.ndarray):
        return np.array(numbers)
    return type(old)(*numbers[:_ROWS]) if hasattr(old, "_fields") else type(old)(numbers)


_MOVES = {
    "GeoTransform": _moved_text,
    "transform": _moved_affine,
    "res": _moved_resolution,
    "resolution": _moved_resolution,
}
