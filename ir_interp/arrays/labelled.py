"""Arrays of xarray: names and attributes are kept, coordinates move to the centres of the new pixels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ir_interp.arrays.moved_coordinates import links_of, moved_coordinates, moved_dimensions
from ir_interp.executor.missing_pixels import Missing
from ir_interp.spec import ResizeSpec


def resized(x: Any, spec: ResizeSpec, values: Callable[[Any], Any]) -> Any:
    """Return a DataArray with its data resized by ``values``, the resize of ``spec`` bound to its shape.

    Numeric and time coordinates of resized dimensions are interpolated linearly, and extrapolated beyond their ends.
    Raises SpecError for other coordinates along these dimensions.
    """
    places = moved_coordinates(x.coords, moved_dimensions(x.dims, x.shape, spec), set())
    coordinates = x.coords.to_dataset().drop_vars(places).assign_coords(places).coords
    y = type(x)(values(x.data), dims=x.dims, coords=coordinates, attrs=x.attrs, name=x.name)
    y.encoding = links_of(x)
    return y


def missing(x: Any, missing_pixels: Missing) -> Missing:
    """Return which pixels of a DataArray are missing: by default those equal to its ``_FillValue``."""
    value = x.attrs.get("_FillValue", x.attrs.get("missing_value"))
    if value is None or missing_pixels.nodata is not None:
        return missing_pixels
    return replace(missing_pixels, nodata=float(value))
