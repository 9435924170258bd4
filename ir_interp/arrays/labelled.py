"""Arrays of xarray: names and attributes are kept, coordinates move to the centres of the new pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.missing_pixels import Missing
from ir_interp.plan.axes.coordinates import AxisPlan
from ir_interp.plan.axes.geometry import plan
from ir_interp.plan.axes.pixel_grid import PixelGrid, pixel_grid
from ir_interp.spec import Kernel, ResizeSpec


def resized(x: Any, spec: ResizeSpec, values: Callable[[Any], Any]) -> Any:
    """Return a DataArray with its data resized by ``values``, the resize of ``spec`` bound to its shape.

    Numeric and time coordinates of a resized dimension are interpolated linearly, and extrapolated beyond their ends;
    other coordinates along that dimension are dropped.
    """
    bound = plan(spec, x.shape)
    changing = {x.dims[axis.axis]: axis for axis in bound.axes}
    padded = {dim: before for dim, (before, after) in zip(x.dims, bound.padding, strict=True) if before or after}
    coordinates = {}
    for name, coordinate in x.coords.items():
        moved = [dim for dim in coordinate.dims if dim in changing or dim in padded]
        if not moved:
            coordinates[name] = _transformed(coordinate, changing, padded, spec.kernel)
        elif len(coordinate.dims) == 1 and coordinate.dtype.kind in "iufmM":
            dim = moved[0]
            grid = pixel_grid(changing.get(dim), spec.kernel).behind(padded.get(dim, 0))
            positions = _between(coordinate.values, grid.centres(bound.out_shape[x.dims.index(dim)]))
            coordinates[name] = (dim, positions, coordinate.attrs)
    return type(x)(values(x.data), dims=x.dims, coords=coordinates, attrs=x.attrs, name=x.name)


def missing(x: Any, missing_pixels: Missing) -> Missing:
    """Return which pixels of a DataArray are missing: by default those equal to its ``_FillValue``."""
    value = x.attrs.get("_FillValue", x.attrs.get("missing_value"))
    if value is None or missing_pixels.nodata is not None:
        return missing_pixels
    return replace(missing_pixels, nodata=float(value))


_X, _Y = ("x", "longitude", "lon"), ("y", "latitude", "lat")  # names of a raster's dimensions in rioxarray


def _transformed(coordinate: Any, changing: Mapping[Any, AxisPlan], padded: Mapping[Any, int], kernel: Kernel) -> Any:
    """Return a coordinate whose GeoTransform, if it has one, is that of the new pixels."""
    numbers = coordinate.attrs.get("GeoTransform")
    if numbers is None:
        return coordinate
    along_x, along_y = (_along(names, changing, padded, kernel) for names in (_X, _Y))
    moved = geotransform(tuple(map(float, str(numbers).split())), along_x, along_y)
    return coordinate.assign_attrs(GeoTransform=" ".join(map(repr, moved)))


def _along(
    names: tuple[str, ...], changing: Mapping[Any, AxisPlan], padded: Mapping[Any, int], kernel: Kernel
) -> PixelGrid:
    name = next((name for name in names if name in changing or name in padded), None)
    return pixel_grid(changing.get(name), kernel).behind(padded.get(name, 0))


def geotransform(numbers: tuple[float, ...], along_x: PixelGrid, along_y: PixelGrid) -> tuple[float, ...]:
    """Return the geotransform of new pixels, whose grids are in old ones.

    A GeoTransform contains the corner of the first pixel and the steps along x and y (GDAL's raster data model): the
    position of a point is corner + i * steps, with i in pixels from that corner.
    """
    corner_x, x_by_x, x_by_y, corner_y, y_by_x, y_by_y = numbers
    return (
        corner_x + along_x.corner * x_by_x + along_y.corner * x_by_y, x_by_x * along_x.step, x_by_y * along_y.step,
        corner_y + along_x.corner * y_by_x + along_y.corner * y_by_y, y_by_x * along_x.step, y_by_y * along_y.step,
    )  # fmt: skip


def _between(values: NDArray[Any], at: NDArray[np.float64]) -> NDArray[Any]:
    """Return values interpolated linearly at fractional positions, and extrapolated on both sides."""
    if len(values) < 2:
        return np.repeat(values, len(at))
    # Beyond the ends the first and the last pair extrapolate.
    low = np.clip(np.floor(at), 0, len(values) - 2).astype(np.intp)
    lowest = values[low]
    if values.dtype.kind in "mM":
        steps = (values[low + 1] - lowest).astype(np.float64) * (at - low)
        unit = np.datetime_data(values.dtype)[0]
        return np.asarray(lowest + np.rint(steps).astype(np.int64).astype(f"timedelta64[{unit}]"))
    lowest = lowest.astype(np.float64)
    return np.asarray(lowest + (values[low + 1] - lowest) * (at - low))
