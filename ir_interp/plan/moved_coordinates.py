"""Positions of output pixels in the input, for coordinates of rasters, pyramids and arrays of xarray.

Coordinates are interpolated linearly, bounds of cells along their edges. Attributes that place a raster on Earth move
too: GDAL's GeoTransform, and those of xarray's and stackstac's readers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import SpecError
from ir_interp.plan.formulas import AxisPlan, Blocks
from ir_interp.plan.taps import plan
from ir_interp.shapes import Array, Shape
from ir_interp.specs import Area, Coordinates, Kernel, Mean, Mode, Nearest, ResizeSpec, Rounding
from ir_interp.specs.modes import DirectedRounding

if TYPE_CHECKING:
    import xarray
    from xarray import DataArray as Variable

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class PixelGrid:
    """The pixels of an axis, in input pixels whose centres are 0, 1, 2 ...

    ``first`` is the centre of the first one, ``step`` their size.
    """

    first: float = 0.0
    step: float = 1.0

    @property
    def corner(self) -> float:
        """The beginning of the first pixel, counted from the corner of the first input pixel."""
        return self.first + 0.5 - self.step / 2

    def centres(self, count: int) -> NDArray[np.float64]:
        """Return the centres of the first ``count`` pixels."""
        return np.arange(count, dtype=np.float64) * self.step + self.first

    def behind(self, pad: int) -> PixelGrid:
        """Return the grid in pixels of an input without the ``pad`` in front of it."""
        return PixelGrid(self.first - pad, self.step)


def pixel_grid(axis: AxisPlan | None, kernel: Kernel) -> PixelGrid:
    """Return the pixels of an output along an axis, which is None if it keeps its pixels.

    A sum lies where its weights are centred. A copied pixel may be anywhere in the part of the input that an output
    pixel stands for, so a resize of the whole input has the bounds of the whole.
    """
    if axis is None:
        return PixelGrid()
    # Aligned corners of a single pixel have no step; the pixel is as large as the ratio of the sizes.
    step, first = axis.step or 1 / axis.scale, axis.offset
    if isinstance(kernel, Area | Mean | Mode):  # positions are the beginnings of areas
        first += (step - 1) / 2
    elif isinstance(kernel, Nearest):
        first = _of_copies(axis, kernel.rounding)
    if isinstance(axis.before, Blocks):  # whose positions count blocks
        first = (first + _HALF) * axis.before.size + axis.before.start - _HALF
        step *= axis.before.size
    return PixelGrid(float(first), float(step))


_OF_WHOLE = (
    Coordinates.ASYMMETRIC,
    Coordinates.HALF_PIXEL,
    Coordinates.TF_HALF_PIXEL_FOR_NN,
    Coordinates.TF_HALF_PIXEL_THROUGHOUT,
)
"""Coordinates under which the outputs divide the input evenly: output i stands for [i * step, (i + 1) * step)."""


def _of_copies(axis: AxisPlan, rounding: Rounding) -> Fraction:
    """Return the centre of the first output pixel of a nearest resize."""
    below, above = _rounded(rounding.along(shrinks=axis.scale < 1))
    ahead = axis.offset - axis.start  # how far the coordinate is from the beginning of its part
    # The copied pixel covers [copied, copied + 1); the whole grid is true if that always touches the part.
    if axis.coordinates in _OF_WHOLE and ahead + below >= -1 and ahead + above <= axis.step:
        return axis.start + (axis.step - 1) / 2
    return axis.offset + (below + above) / 2


def _rounded(rounding: DirectedRounding) -> tuple[Fraction, Fraction]:
    """Return how far a copied pixel may be below and above the coordinate."""
    match rounding:
        case Rounding.FLOOR:
            return Fraction(-1), Fraction(0)
        case Rounding.CEIL:
            return Fraction(0), Fraction(1)
        case Rounding.ROUND_PREFER_FLOOR | Rounding.ROUND_PREFER_CEIL:
            return -_HALF, _HALF
        case _:
            assert_never(rounding)


_EASTWARD = ("degrees_east", "degree_east", "degree_E", "degrees_E", "degreeE", "degreesE")  # units of CF
_HALF_TURN = 180.0
_NUMBERS, _TIMES = "iuf", "mM"  # kinds of NumPy's types
_ENDS = 2  # of a cell
_OF_CELLS = ("bounds", "climatology")  # attributes of CF that name a variable of the ends of cells
_LINKS = (*_OF_CELLS, "grid_mapping", "coordinates")
"""Attributes of CF that name other variables, which xarray stores as encodings if it decodes them."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """The new pixels of a dimension: their grid in old ones, and their number."""

    grid: PixelGrid
    count: int


Moved = Mapping[Hashable, Pixels]
"""The new pixels of the dimensions that a resize moves, by name."""


def moved_dimensions(dims: Sequence[Hashable], shape: Shape, spec: ResizeSpec) -> Moved:
    """Return the dimensions whose pixels a resize moves."""
    bound = plan(spec, shape)
    plans = {axis.axis: axis for axis in bound.axes}
    return {
        dim: Pixels(pixel_grid(plans.get(axis), spec.kernel).behind(before), bound.out_shape[axis])
        for axis, (dim, (before, after)) in enumerate(zip(dims, bound.padding, strict=True))
        if axis in plans or before or after
    }


def links_of(variable: Variable) -> dict[str, object]:
    """Return the names of other variables in the encoding of a variable; its other entries describe the old values."""
    return {name: value for name, value in variable.encoding.items() if name in _LINKS}


def names_of_bounds(variables: Iterable[Variable | xarray.Variable]) -> set[object]:
    """Return the names of the variables that hold the ends of the cells of others."""
    named = [{**variable.encoding, **variable.attrs} for variable in variables]
    return {entries[key] for entries in named for key in _OF_CELLS if key in entries}


def moved_coordinates(
    variables: Mapping[Hashable, Variable], moved: Moved, bounds: set[object]
) -> dict[Hashable, object]:
    """Return the variables that a resize moves, at the new pixels, as arguments of ``assign``.

    ``bounds`` are the names of those that hold the ends of cells. Raises SpecError for variables without values
    between the pixels.
    """
    places: dict[Hashable, object] = {}
    for name, variable in variables.items():
        if set(variable.dims) & set(moved):
            data = _of_cells(name, variable, moved) if name in bounds else _at_centres(name, variable, moved)
            attributes = _along_itself(variable, moved) or moved_attributes(name, variable.attrs, moved)
            places[name] = (variable.dims, data, attributes, links_of(variable))
        elif "GeoTransform" in variable.attrs:
            places[name] = variable.assign_attrs(moved_attributes(name, variable.attrs, moved))
    return places


def moved_attributes(name: object, attributes: Mapping[object, object], moved: Moved) -> dict[object, object]:
    """Return the attributes of a variable, or of a dataset, with transforms and resolutions of the new pixels."""
    return moved_transforms(name, attributes, {dim: pixels.grid for dim, pixels in moved.items()})


def _along_itself(variable: Variable, moved: Moved) -> dict[object, object]:
    """Return the attributes of a coordinate of one dimension whose ``resolution`` (odc) is along it; empty for others.

    The resolution of other variables is along x and y.
    """
    resolution = variable.attrs.get("resolution")
    if variable.ndim != 1 or not isinstance(resolution, Real):
        return {}
    return {**variable.attrs, "resolution": float(resolution) * moved[variable.dims[0]].grid.step}


def _at_centres(name: object, variable: Variable, moved: Moved) -> object:
    if variable.dtype.kind not in _NUMBERS + _TIMES:
        problem = f"coordinate {name!r} holds {variable.dtype}, which has no values between its pixels"
        raise SpecError(f"{problem}; drop it first, as x.drop_vars({name!r}) does")
    data = _data(variable)
    for axis, dim in enumerate(variable.dims):
        if dim in moved:
            if _is_eastward(name, variable):
                _check_turn(name, data, axis)
            data = _between(data, moved[dim].grid.centres(moved[dim].count), axis)
    return data


def _of_cells(name: object, variable: Variable, moved: Moved) -> object:
    """Return the ends of the new cells of one dimension, on the polyline through the ends of the old ones."""
    dims, data = variable.dims, _data(variable)
    axes = [axis for axis, dim in enumerate(dims) if dim in moved]
    is_plain = axes == [0] and data.ndim == _ENDS == data.shape[-1] and variable.dtype.kind in _NUMBERS + _TIMES
    is_turned = is_plain and len(data) > 1 and bool((data[:-1, 0] == data[1:, 1]).all())
    if is_plain and is_turned:
        data = data[:, ::-1]
    if not is_plain or not bool((data[:-1, 1] == data[1:, 0]).all()):
        expected = "expected two ends for each pixel of one dimension, each cell beginning where the previous one ends"
        raise SpecError(f"bounds {name!r} {list(dims)}: {expected}; drop them first, as x.drop_vars({name!r}) does")
    pixels = moved[dims[0]]
    at = pixels.grid.corner + pixels.grid.step * np.arange(pixels.count + 1)
    edges = _between(np.concatenate([data[:, 0], data[-1:, 1]]), at, 0)
    ends = [edges[:-1], edges[1:]]
    return np.stack(ends[::-1] if is_turned else ends, axis=1)


def _data(variable: Variable) -> Array:
    """Return the values of a variable, which stay lazy if they are."""
    return variable.values if variable.chunks is None else variable.data


def _is_eastward(name: object, variable: Variable) -> bool:
    attributes = variable.attrs
    named = name in ("lon", "longitude") or attributes.get("standard_name") == "longitude"
    return variable.dtype.kind in _NUMBERS and (named or attributes.get("units") in _EASTWARD)


def _check_turn(name: object, data: Array, axis: int) -> None:
    """Raise SpecError for longitudes that jump by a turn, between which a mean would be on the other side."""
    steps = abs(np.diff(data, axis=axis))
    if steps.size and float((steps > _HALF_TURN).max()):
        problem = f"coordinate {name!r} jumps by more than 180 degrees between neighbours"
        raise SpecError(f"{problem}; expected longitudes without a jump, as {name!r} % 360 may be")


def _between(data: Array, at: NDArray[np.floating], axis: int) -> Array:
    """Return values interpolated linearly at fractional positions of an axis, and extrapolated on both sides."""
    data = np.moveaxis(data, axis, 0)
    if len(data) < 2:
        return np.moveaxis(data[np.zeros(len(at), np.intp)], 0, axis)
    # Beyond the ends the first and the last pair extrapolate.
    low = np.clip(np.floor(at), 0, len(data) - 2).astype(np.intp)
    fraction = (at - low).reshape(-1, *[1] * (data.ndim - 1))
    lowest, highest = data[low], data[low + 1]
    if data.dtype.kind in _TIMES:
        steps = (highest - lowest).astype(np.float64) * fraction
        unit = np.datetime_data(data.dtype)[0]
        between = lowest + np.rint(steps).astype(np.int64).astype(f"timedelta64[{unit}]")
    else:
        lowest = lowest.astype(np.float64)
        between = lowest + (highest - lowest) * fraction
    return np.moveaxis(between, 0, axis)


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


def _moved_affine(matrix: Iterable[float], along_x: PixelGrid, along_y: PixelGrid) -> object:
    """Return an affine matrix by rows: the steps along x and y, then the corner."""
    x_by_x, x_by_y, corner_x, y_by_x, y_by_y, corner_y = map(float, list(matrix)[:_ROWS])
    old = corner_x, x_by_x, x_by_y, corner_y, y_by_x, y_by_y
    corner_x, x_by_x, x_by_y, corner_y, y_by_x, y_by_y = geotransform(old, along_x, along_y)
    rows = x_by_x, x_by_y, corner_x, y_by_x, y_by_y, corner_y
    return _of_kind(matrix, (*rows, *list(matrix)[_ROWS:]))


def _moved_resolution(resolution: float | Iterable[float], along_x: PixelGrid, along_y: PixelGrid) -> object:
    """Return the size of a pixel along x and y; one number stands for both while they agree."""
    if not isinstance(resolution, float | Real):
        by_x, by_y = resolution
        return _of_kind(resolution, (float(by_x) * along_x.step, float(by_y) * along_y.step))
    by_x, by_y = float(resolution) * along_x.step, float(resolution) * along_y.step
    return by_x if by_x == by_y else (by_x, by_y)


def _of_kind(old: Iterable[float], numbers: tuple[float, ...]) -> object:
    """Return numbers as the kind of sequence that they were before, such as an Affine."""
    if isinstance(old, np.ndarray):
        return np.array(numbers)
    kind: Callable[..., object] = type(old)
    return kind(*numbers[:_ROWS]) if hasattr(old, "_fields") else kind(numbers)


_MOVES: dict[object, Callable[[Any, PixelGrid, PixelGrid], object]] = {
    "GeoTransform": _moved_text,
    "transform": _moved_affine,
    "res": _moved_resolution,
    "resolution": _moved_resolution,
}
