"""Resizes of any container: NumPy, Dask and xarray arrays, torch tensors, and Pillow images.

A ``Request`` is a spec, or sizes and a library call, and the axes that they apply to; ``resized`` runs it. Tensors
share their memory with NumPy. A Pillow call gives an image the bytes that Pillow computes for its mode.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ir_interp import arguments
from ir_interp.arguments import misfit
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor import missing_pixels, resize as executor
from ir_interp.executor.missing_pixels import Missing
from ir_interp.executor.resize import bind, for_each_axis, resize
from ir_interp.plan.moved_coordinates import (
    Moved,
    links_of,
    moved_attributes,
    moved_coordinates,
    moved_dimensions,
    names_of_bounds,
)
from ir_interp.shapes import Array, Shape
from ir_interp.specs import Alpha, Arithmetic, OwnKernel, ResizeSpec, own_resize

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor
    from xarray import DataArray, Dataset, DataTree

_CHANNELS = (1, 2, 3, 4)  # possible channel counts of an image; a last axis of one of these sizes may be the channels
_TWO = 2  # number of axes of an image


Like = Callable[[str, str | None], ResizeSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The arguments of ``ir_interp.resize`` that determine the result; see there.

    ``like`` returns the spec for an element type and, if there is one, an image mode.
    """

    spec: Any = None
    like: Like | None = None
    sizes: Any = None
    scales: Any = None
    axes: Any = None
    kernel: OwnKernel | str | None = None
    antialias: bool | None = None
    arithmetic: Arithmetic | str | None = None

    @property
    def names(self) -> tuple[object, ...]:
        """The names of the resized axes; empty if the axes are numbers or not specified."""
        for values in (self.spec, self.sizes, self.scales):
            if isinstance(values, Mapping):
                return tuple(values)
        axes = (self.axes,) if isinstance(self.axes, str) else arguments.entries(self.axes) or ()
        return tuple(axis for axis in axes if isinstance(axis, str))

    def bound(
        self, shape: Shape, dtype: str, *, names: Sequence[object] = (), mode: str | None = None, is_image: bool = False
    ) -> ResizeSpec:
        """Return a spec with its target, for arrays of a shape and an element type.

        ``names`` are the names of the array's axes; ``is_image`` means that these are height, width and channels, of a
        ``mode``. Raises SpecError for a call that contradicts itself, ShapeError if it leaves the axes ambiguous.
        """
        spec, sizes = self._spec(dtype, mode)
        scales: Any = self.scales
        axes = self._named(names, self.axes)
        for values in (sizes, scales):
            if isinstance(values, Mapping):
                axes = self._of_mapping(names, axes, values)
        sizes, scales = (list(target.values()) if isinstance(target, Mapping) else target for target in (sizes, scales))
        if isinstance(sizes, Real):
            raise misfit(sizes, "sizes", "a list, as in (10, 10) for height and width")
        if spec.target is None and sizes is None and scales is None:
            raise SpecError("the output size is missing; give --sizes 224,224 or --scales 0.5")
        if axes is not None:  # a new target replaces that of the spec, whose axes may be others
            spec = replace(spec, axes=tuple(axes), target=spec.target if sizes is scales is None else None)
        scales = for_each_axis(scales, spec, shape)
        if axes is None and spec.target is None:
            axes = self._axes(shape, spec, sizes if scales is None else scales, is_image=is_image)
            spec = spec if axes is None else replace(spec, axes=axes)
        spec = bind(spec, shape, sizes=sizes, scales=scales, arithmetic=self.arithmetic)
        return spec if mode not in WITH_ALPHA else self._weighted_by_alpha(spec, dtype)

    def _weighted_by_alpha(self, spec: ResizeSpec, dtype: str) -> ResizeSpec:
        """Return a spec for an image with alpha, by which own kernels weigh colours."""
        if not self.is_own or self.own_kernel is OwnKernel.NEAREST:
            return spec
        if not self.own_kernel.sums:
            raise SpecError(f"kernel {self.own_kernel} takes no alpha: colours are no classes; use nearest")
        if np.dtype(dtype).kind != "u":
            raise SpecError(f"alpha of {dtype} is not taken; expected unsigned integers")
        return replace(spec, alpha=Alpha.PREMULTIPLIED)

    def _spec(self, dtype: str, mode: str | None) -> tuple[ResizeSpec, Any]:
        """Return the spec of the call, and its sizes, which may be the second argument."""
        if isinstance(self.spec, ResizeSpec):
            if self.like is not None:
                raise SpecError("spec and like exclude each other; pass one of them")
            self._check_not_own()
            return self.spec, self.sizes
        if self.spec is not None and self.sizes is not None:
            raise SpecError("sizes are passed twice: as the second argument and as sizes=")
        if isinstance(self.spec, str):
            raise misfit(self.spec, "spec", "a ResizeSpec or sizes; pass a library call as like=")
        sizes = self.sizes if self.spec is None else self.spec
        if self.like is None:
            return own_resize(self.own_kernel, self.antialias), sizes
        self._check_not_own()
        return self.like(dtype, mode), sizes

    @property
    def own_kernel(self) -> OwnKernel:
        """The kernel of this program's own resize."""
        return OwnKernel.LINEAR if self.kernel is None else arguments.member(OwnKernel, self.kernel, "kernel")

    @property
    def is_own(self) -> bool:
        """Whether it is this program's own resize."""
        return self.like is None and not isinstance(self.spec, ResizeSpec)

    def _check_not_own(self) -> None:
        """Raise SpecError for arguments of this program's own resize."""
        for name in ("kernel", "antialias"):
            if getattr(self, name) is not None:
                raise SpecError(f"{name} has no effect here: the spec or the library call determines it")

    def _named(self, names: Sequence[Any], axes: object) -> tuple[int, ...] | None:
        """Return axes by number; some may be passed by name."""
        if axes is None:
            return None
        listed = arguments.entries((axes,) if isinstance(axes, str) else axes)
        if listed is None:
            raise misfit(axes, "axes", "a list of axes, as in (0, 1)")
        return tuple(self._number(names, axis) if isinstance(axis, str) else axis for axis in listed)

    def _number(self, names: Sequence[object], name: object) -> int:
        if name in names:
            return list(names).index(name)
        known = (
            f"expected one of {', '.join(map(str, names))}"
            if names
            else "the axes of this array have no names; number them, as in 0,1"
        )
        raise SpecError(f"no axis {name!r}; {known}")

    def _of_mapping(self, names: Sequence[object], axes: object, values: Mapping[object, object]) -> tuple[int, ...]:
        if axes is not None:
            raise SpecError("axes are passed twice: by name and as axes=")
        return tuple(self._number(names, name) for name in values)

    def _axes(self, shape: Shape, spec: ResizeSpec, target: object, *, is_image: bool) -> tuple[int, ...] | None:
        """Return the axes for the target values if the call does not specify them; None for the axes of the spec.

        These are the last axes, or the first two of a library's image whose last axis is as small as a channel count.
        """
        values = arguments.entries(target)
        if not values or len(values) >= len(shape) or (self.like is None and spec.axes is not None):
            return None
        if spec.axes is not None and len(spec.axes) != len(values):
            return None
        if is_image:
            return tuple(range(len(values)))
        last = tuple(range(len(shape) - len(values), len(shape)))
        if len(values) != _TWO:
            return last
        is_last, is_first = shape[-1] in _CHANNELS, shape[-3] in _CHANNELS
        if self.like is not None and spec.arithmetic.is_library and len(shape) == _TWO + 1:
            if is_last == is_first:
                raise ShapeError(_ambiguous(shape))
            return (0, 1) if is_last else last
        # resize(x, (h, w)) without a library takes the last axes; if only the last looks like channels, that is
        # doubtful.
        if is_last and not is_first:
            raise ShapeError(_ambiguous(shape))
        return last


def _ambiguous(shape: Shape) -> str:
    rank = len(shape)
    problem = f"an array of shape {list(shape)} may have its channels first or last"
    return f"{problem}; specify the axes to resize: axes={(rank - 3, rank - 2)} or axes={(rank - 2, rank - 1)}"


def resized_tensor(x: Any, resize: Callable[[Any], Any]) -> object:
    """Return a tensor resized by a function of arrays; on the device "meta" only the shape is computed.

    Raises SpecError for a tensor that is not on the CPU, and for one that requires gradients, which are not computed.
    """
    import torch

    if x.requires_grad:
        raise SpecError("x requires gradients, which are not computed here; pass x.detach()")
    if x.device.type == "meta":
        # One element stands for all, so that a huge shape takes no memory.
        like = torch.zeros(1, dtype=x.dtype).expand(x.shape)
        return torch.empty(resize(array_of_tensor(like)).shape, dtype=x.dtype, device="meta")
    if x.device.type != "cpu" or x.layout is not torch.strided:
        raise SpecError(f"x is a {x.layout} tensor on {x.device}; expected a dense one on the CPU, as x.cpu() returns")
    return tensor_of_array(resize(array_of_tensor(x)))


def tensor_of_array(array: Array) -> Tensor:
    """Return an array as a tensor of its memory; torch and NumPy share no bfloat16, but its bits."""
    import torch

    if array.dtype.name != "bfloat16":
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


def array_of_tensor(x: Tensor) -> Array:
    """Return a tensor as an array of its memory."""
    import torch

    if x.dtype is not torch.bfloat16:
        return np.asarray(x.numpy())
    import ml_dtypes

    return np.asarray(x.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16))


WITH_ALPHA = ("LA", "RGBA")
"""The modes of Pillow whose last channel is alpha."""
CLASSES = ("P", "1")
"""The modes whose values are no intensities, but indices of a palette, or a mask."""
CONVERTED = {"P": "RGB", "1": "L"}
"""The mode in which the values of such a mode become intensities."""
MODES = ("L", "LA", "RGB", "RGBA", "I;16", "I", "F")
"""The modes of Pillow whose values are intensities."""


def resized_image(x: Image, request: Request, missing: Missing) -> Image:
    """Return an image resized to (height, width); its mode is kept.

    Raises SpecError for a mode whose values are not intensities, such as palette indices.
    """
    from PIL.Image import fromarray

    is_of_classes = x.mode in CLASSES and request.is_own and not request.own_kernel.sums
    if x.mode in CLASSES and request.is_own and not is_of_classes:
        content = "indices of a palette" if x.mode == "P" else "a mask of 1 bit"
        remedy = f"name nearest or mode as --kernel, or convert it to {CONVERTED[x.mode]} first"
        raise SpecError(f"pixels of mode {x.mode!r} are {content}, which is not averaged; {remedy}")
    if x.mode not in MODES and not is_of_classes:
        raise SpecError(f"x has mode {x.mode!r}; expected one of {', '.join(MODES)}; use x.convert('RGB')")
    if request.is_own and request.own_kernel is OwnKernel.MODE and len(x.getbands()) > 1:
        raise SpecError(
            f"kernel mode takes one band, of classes; this image has mode {x.mode!r}: name nearest as --kernel"
        )
    if missing.nodata is not None or missing.valid:
        raise SpecError("nodata has no effect on a Pillow image; pass np.asarray(x)")
    values = np.asarray(x)
    spec = request.bound(values.shape, values.dtype.name, mode=x.mode, is_image=True)
    y = fromarray(resize(values, spec))
    palette = x.palette if x.mode == "P" else None
    if palette is not None:
        y.putpalette(x.getpalette(palette.mode) or (), palette.mode)
    if "transparency" in x.info:  # a colour, or an entry of the palette
        y.info["transparency"] = x.info["transparency"]
    return y


NOTHING = Missing()


def resized(x: object, request: Request, missing: Missing = NOTHING, chunks: object = None, **piece: Any) -> Any:
    """Return any container of pixels, resized; ``piece`` are arguments of ``ir_interp.resize`` for NumPy only.

    Raises SpecError for an argument that has no effect.
    """
    kind = _kind(x)
    if kind not in ("dask", "xarray", "dataset", "tree") and chunks is not None:
        raise SpecError("chunks has no effect: x is not a Dask array")
    if kind == "numpy":
        return _of_numpy(x, request, missing, **piece)
    for name, value in piece.items():
        if value is not None:
            raise SpecError(f"{name} has no effect on {_KINDS[kind]}")
    return _of_kind(kind, x, request, missing, chunks)


_KINDS = {
    "dask": "a Dask array",
    "xarray": "a DataArray",
    "dataset": "a Dataset",
    "tree": "a DataTree",
    "torch": "a torch tensor",
    "pillow": "a Pillow image",
    "standard": "an array of another library",
}


def _kind(x: object) -> str:
    """Return the kind of a container without importing its library."""
    if type(x) is np.ndarray:
        return "numpy"
    for module, name, kind in _CLASSES:
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(x, getattr(loaded, name, ())):
            return kind
    is_of_others = hasattr(x, "__array_namespace__") or hasattr(x, "__dlpack__")
    return "standard" if is_of_others and not isinstance(x, np.ndarray | np.generic) else "numpy"


_CLASSES = (
    ("dask.array", "Array", "dask"),
    ("xarray", "DataArray", "xarray"),
    ("xarray", "Dataset", "dataset"),
    ("xarray", "DataTree", "tree"),
    ("torch", "Tensor", "torch"),
    ("PIL.Image", "Image", "pillow"),
)


def _of_kind(kind: str, x: Any, request: Request, missing: Missing, chunks: object) -> object:
    match kind:
        case "xarray":
            return _of_labelled(x, request, missing, chunks)
        case "dataset" | "tree":
            return _resized_dataset(
                x,
                request.names,
                lambda variable: _bound(variable, request, variable.dims),
                lambda variable: _of_labelled(variable, request, missing, chunks),
            )
        case "dask":
            return _of_dask(x, _bound(x, request), missing, chunks)
        case "torch":
            return resized_tensor(x, lambda values: _of_numpy(values, request, missing))
        case "pillow":
            return resized_image(x, request, missing)
    return _of_standard(x, request, missing)


def _of_numpy(
    x: Any,
    request: Request,
    missing: Missing,
    out: Array | None = None,
    region: Sequence[slice] | None = None,
    whole: Sequence[int] | None = None,
) -> Array:
    is_masked = isinstance(x, np.ma.MaskedArray)
    x = x if is_masked else executor.as_array(x)
    spec = request.bound(x.shape if whole is None else arguments.lengths(whole, "whole"), x.dtype.name)
    if is_masked or missing.nodata is not None:
        if out is not None:
            raise SpecError("out is not supported with missing pixels")
        return missing_pixels.resize(x, spec, missing, region, whole)
    if missing.valid:
        raise SpecError("valid has no effect without nodata or a mask")
    return executor.resize(x, spec, out=out, region=region, whole=whole)


def _bound(x: Any, request: Request, names: Sequence[object] = ()) -> ResizeSpec:
    shape = tuple(x.shape)
    if any(size != size for size in shape):  # NaN: the size of a Dask array that was selected by a mask
        raise ShapeError("the shape of x is unknown; call x.compute_chunk_sizes() first")
    spec = request.bound(shape, np.dtype(x.dtype).name, names=names)
    return executor.planned(spec, shape).spec


def _of_dask(x: object, spec: ResizeSpec, missing: Missing, chunks: object) -> object:
    from ir_interp.large import layout

    return layout.resized_dask(x, spec, chunks, missing)


def _of_labelled(x: DataArray, request: Request, missing: Missing, chunks: object) -> DataArray:
    spec, missing = _bound(x, request, x.dims), _missing(x, missing)

    def values(data: object) -> object:
        if _kind(data) == "dask":
            return _of_dask(data, spec, missing, chunks)
        if chunks is not None:
            raise SpecError("chunks has no effect: x is not a Dask array")
        return _of_numpy(data, Request(spec=spec), missing)

    return _resized_array(x, spec, values)


def _of_standard(x: Any, request: Request, missing: Missing) -> object:
    """Return an array of another library that follows the array API standard, resized.

    An object that only shares its memory by DLPack becomes an array of NumPy.
    """
    try:
        values = np.from_dlpack(x)
    except (BufferError, TypeError, AttributeError, RuntimeError) as error:
        raise SpecError(f"NumPy cannot read the memory of x ({error}); copy x to the CPU first") from None
    y = _of_numpy(values, request, missing)
    return x.__array_namespace__().asarray(y) if hasattr(x, "__array_namespace__") else y


# Arrays, Datasets and DataTrees of xarray: names and attributes are kept, coordinates move to new pixels. Variables
# with the named dimensions are resized, others are kept.


def _resized_array(x: DataArray, spec: ResizeSpec, values: Callable[[object], object]) -> DataArray:
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


def _missing(x: DataArray, missing_pixels: Missing) -> Missing:
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


def _resized_dataset(
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
    from xarray import DataTree

    if isinstance(x, DataTree):
        if not any(_first_variable(node.dataset, names) is not None for node in x.subtree):
            raise SpecError(f"no variable has the dimensions {', '.join(map(str, names))}")
        datasets = {}
        for node in x.subtree:
            below = (
                _first_variable(child.dataset, names) for child in node.subtree
            )  # which share the dimensions of the node
            first = next((variable for variable in below if variable is not None), None)
            moved = {} if first is None else moved_dimensions(first.dims, first.shape, spec_of(first))
            datasets[node.path] = _of_variables(node.to_dataset(), names, moved, resize)
        return DataTree.from_dict(datasets, name=x.name)
    first = _first_variable(x, names)
    if first is None:
        raise SpecError(f"no variable has the dimensions {', '.join(map(str, names))}")
    return _of_variables(x, names, moved_dimensions(first.dims, first.shape, spec_of(first)), resize)


def _first_variable(x: Dataset, names: Sequence[Hashable]) -> DataArray | None:
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
