"""Resizes of any container: NumPy, Dask and xarray arrays, torch tensors, and Pillow images."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ir_interp import arguments
from ir_interp.array_types import Array
from ir_interp.arrays.request import Request
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor import missing_pixels
from ir_interp.executor import resize as executor
from ir_interp.executor.missing_pixels import Missing
from ir_interp.spec import ResizeSpec

NOTHING = Missing()


def resized(x: Any, request: Request, missing: Missing = NOTHING, chunks: Any = None, **piece: Any) -> Any:
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


def _kind(x: Any) -> str:
    """Return the kind of a container without importing its library."""
    if type(x) is np.ndarray:
        return "numpy"
    for module, name, kind in _CLASSES:
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(x, getattr(loaded, name, ())):
            return kind
    return "standard" if hasattr(x, "__array_namespace__") and not isinstance(x, np.ndarray | np.generic) else "numpy"


_CLASSES = (
    ("dask.array", "Array", "dask"),
    ("xarray", "DataArray", "xarray"),
    ("xarray", "Dataset", "dataset"),
    ("xarray", "DataTree", "tree"),
    ("torch", "Tensor", "torch"),
    ("PIL.Image", "Image", "pillow"),
)


def _of_kind(kind: str, x: Any, request: Request, missing: Missing, chunks: Any) -> Any:
    match kind:
        case "xarray":
            return _of_labelled(x, request, missing, chunks)
        case "dataset" | "tree":
            from ir_interp.arrays import datasets

            return datasets.resized(
                x,
                request.names,
                lambda variable: _bound(variable, request, variable.dims),
                lambda variable: _of_labelled(variable, request, missing, chunks),
            )
        case "dask":
            return _of_dask(x, _bound(x, request), missing, chunks)
        case "torch":
            from ir_interp.arrays import tensors

            return tensors.resized(x, lambda values: _of_numpy(values, request, missing))
        case "pillow":
            from ir_interp.arrays import pillow_images

            return pillow_images.resized(x, request, missing)
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


def _bound(x: Any, request: Request, names: Sequence[Any] = ()) -> ResizeSpec:
    shape = tuple(x.shape)
    if any(size != size for size in shape):  # NaN: the size of a Dask array that was selected by a mask
        raise ShapeError("the shape of x is unknown; call x.compute_chunk_sizes() first")
    spec = request.bound(shape, np.dtype(x.dtype).name, names=names)
    return executor.planned(spec, shape).spec


def _of_dask(x: Any, spec: ResizeSpec, missing: Missing, chunks: Any) -> Any:
    from ir_interp.large import dask_blocks

    return dask_blocks.resized(x, spec, chunks, missing)


def _of_labelled(x: Any, request: Request, missing: Missing, chunks: Any) -> Any:
    from ir_interp.arrays import labelled

    spec, missing = _bound(x, request, x.dims), labelled.missing(x, missing)

    def values(data: Any) -> Any:
        if _kind(data) == "dask":
            return _of_dask(data, spec, missing, chunks)
        if chunks is not None:
            raise SpecError("chunks has no effect: x is not a Dask array")
        return _of_numpy(data, Request(spec=spec), missing)

    return labelled.resized(x, spec, values)


def _of_standard(x: Any, request: Request, missing: Missing) -> Any:
    """Return an array of another library that follows the array API standard, resized."""
    namespace = x.__array_namespace__()
    try:
        values = np.from_dlpack(x)
    except (BufferError, TypeError, AttributeError, RuntimeError) as error:
        raise SpecError(f"NumPy cannot read the memory of x ({error}); copy x to the CPU first") from None
    return namespace.asarray(_of_numpy(values, request, missing))
