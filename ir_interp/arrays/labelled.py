"""Arrays of xarray: names and attributes are kept, coordinates move to the centres of the new pixels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ir_interp.arrays.moved_coordinates import links_of, moved_attributes, moved_coordinates, moved_dimensions
from ir_interp.errors import SpecError
from ir_interp.executor.missing_pixels import Missing
from ir_interp.spec import ResizeSpec


def resized(x: Any, spec: ResizeSpec, values: Callable[[Any], Any]) -> Any:
    """Return a DataArray with its data resized by ``values``, the resize of ``spec`` bound to its shape.

    Numeric and time coordinates of resized dimensions are interpolated linearly, and extrapolated beyond their ends.
    Raises SpecError for other coordinates along these dimensions.
    """
    moved = moved_dimensions(x.dims, x.shape, spec)
    places = moved_coordinates(x.coords, moved, set())
    coordinates = x.coords.to_dataset().drop_vars(places).assign_coords(places).coords
    attributes = moved_attributes(x.name, x.attrs, moved)
    y = type(x)(values(x.data), dims=x.dims, coords=coordinates, attrs=attributes, name=x.name)
    y.encoding = links_of(x)
    return y


def missing(x: Any, missing_pixels: Missing) -> Missing:
    """Return which pixels of a DataArray are missing: by default those equal to its ``_FillValue``."""
    if missing_pixels.nodata is not None:
        return missing_pixels
    value = x.attrs.get("_FillValue", x.attrs.get("missing_value"))
    if value is None:
        value = _of_bands(x.attrs.get("nodatavals", ()))
    return missing_pixels if value is None else replace(missing_pixels, nodata=float(value))


def _of_bands(values: Any) -> float | None:
    """Return the value of missing pixels in ``nodatavals`` of xarray's open_rasterio; None if no band has one."""
    known = {float(value) for value in values if value is not None and not math.isnan(value)}
    if len(known) > 1:
        raise SpecError(f"nodatavals are {sorted(known)}; expected one value for all bands; resize each band by itself")
    return next(iter(known), None)
