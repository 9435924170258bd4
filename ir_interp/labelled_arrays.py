"""Arrays, Datasets and DataTrees of xarray: names and attributes are kept, coordinates move to new pixels.

Variables with the named dimensions are resized, others are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from xarray import DataArray, Dataset, DataTree

from ir_interp.errors import SpecError
from ir_interp.executor.missing_pixels import Missing
from ir_interp.plan.moved_coordinates import (
    Moved,
    links_of,
    moved_attributes,
    moved_coordinates,
    moved_dimensions,
    names_of_bounds,
)
from ir_interp.specs import ResizeSpec


def resized_array(x: DataArray, spec: ResizeSpec, values: Callable[[object], object]) -> DataArray:
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


def missing(x: DataArray, missing_pixels: Missing) -> Missing:
    """Return which pixels of a DataArray are missing: by default those equal to its ``_FillValue``."""
    if missing_pixels.nodata is not None:
        return missing_pixels
    value = x.attrs.get("_FillValue", x.attrs.get("missing_value"))
    if value is None:
        value = _of_bands(x.attrs.get("nodatavals", ()))
    return missing_pixels if value is None else replace(missing_pixels, nodata=float(value))


def _of_bands(values: Iterable[float | None]) -> float | None:
    """Return the value of missing pixels in ``nodatavals`` of xarray's open_rasterio; None if no band has one."""
    known = {float(value) for value in values if value is not None and not math.isnan(value)}
    if len(known) > 1:
        raise SpecError(f"nodatavals are {sorted(known)}; expected one value for all bands; resize each band by itself")
    return next(iter(known), None)


def resized_dataset(
    x: Dataset | DataTree,
    names: Sequence[Hashable],
    spec_of: Callable[[DataArray], ResizeSpec],
    resize: Callable[[DataArray], DataArray],
) -> Dataset | DataTree:
    """Return a Dataset or a DataTree whose variables are resized along the dimensions ``names`` by ``resize``.

    ``spec_of`` returns the spec of a variable. Coordinates and the bounds of cells move to the new pixels. Raises
    SpecError if ``names`` is empty, if no variable has them, if one has only some of them, or if the values of a
    coordinate at the new pixels are unknown.
    """
    if not names:
        raise SpecError("each variable has its own axes; name the dimensions, as in {'y': 512, 'x': 512}")
    if isinstance(x, DataTree):
        if not any(_first(node.dataset, names) is not None for node in x.subtree):
            raise SpecError(f"no variable has the dimensions {', '.join(map(str, names))}")
        datasets = {}
        for node in x.subtree:
            below = (_first(child.dataset, names) for child in node.subtree)  # which share the dimensions of the node
            first = next((variable for variable in below if variable is not None), None)
            moved = {} if first is None else moved_dimensions(first.dims, first.shape, spec_of(first))
            datasets[node.path] = _of_variables(node.to_dataset(), names, moved, resize)
        return DataTree.from_dict(datasets, name=x.name)
    first = _first(x, names)
    if first is None:
        raise SpecError(f"no variable has the dimensions {', '.join(map(str, names))}")
    return _of_variables(x, names, moved_dimensions(first.dims, first.shape, spec_of(first)), resize)


def _first(x: Dataset, names: Sequence[Hashable]) -> DataArray | None:
    """Return the first variable with all of the dimensions that is not the bounds of another one; None if none is."""
    bounds = names_of_bounds(x.variables.values())
    own = (variable for name, variable in x.data_vars.items() if name not in bounds)
    return next((variable for variable in own if set(names) <= set(variable.dims)), None)


def _of_variables(
    x: Dataset, names: Sequence[Hashable], moved: Moved, resize: Callable[[DataArray], DataArray]
) -> Dataset:
    bounds = names_of_bounds(x.variables.values())
    variables: dict[Hashable, object] = {}
    for name, variable in x.data_vars.items():
        is_placing = "GeoTransform" in variable.attrs and not set(names) & set(variable.dims)
        if name in bounds or is_placing:
            variables[name] = moved_coordinates({name: variable}, moved, bounds).get(name, variable)
            continue
        missing = [name for name in names if name not in variable.dims]
        if missing and len(missing) < len(names):
            problem = f"variable {name!r} has some of the dimensions to resize, but not {missing[0]!r}"
            raise SpecError(f"{problem}; drop the variable first")
        variables[name] = variable.variable if missing else resize(variable.drop_vars(variable.coords)).variable
    places = moved_coordinates(x.coords, moved, bounds)
    coordinates = x.coords.to_dataset().drop_vars(places).assign_coords(places)
    y = coordinates.assign(variables).assign_attrs(moved_attributes("the dataset", x.attrs, moved))
    y.encoding = x.encoding
    return y
