"""Resize what is at hand: arrays of NumPy, lazy ones of Dask, labelled ones of xarray."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike, NDArray

from ir_interp.arguments import checked
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor import resize as executor
from ir_interp.spec import Arithmetic, ResizeSpec


@checked
def resize(
    x: ArrayLike,
    spec: ResizeSpec,
    *,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    arithmetic: Arithmetic | str | None = None,
    out: NDArray[Any] | None = None,
    region: Sequence[slice] | None = None,
    whole: Sequence[int] | None = None,
    chunks: Any = None,
) -> NDArray[Any]:
    """Resize ``x`` as ``spec`` says.

    ``x`` has any rank from 1 and any dtype: floats, bfloat16 (``ml_dtypes``) and integers for every kernel, also
    bool and strings for nearest, which copies its values untouched. ``sizes`` (elements) or ``scales`` (output /
    input), in the order of ``spec.axes``, replace the target of the spec; one of them must be given where that is
    None. Where the spec lists all axes, those that it resizes will do, and the other way round. ``arithmetic``
    replaces the spec's. ``out``, a C-ordered array of the right shape and dtype, takes the result. It has the dtype
    of ``x``: float16, bfloat16 and small integers are computed in float32, 32- and 64-bit integers in float64;
    integers saturate, and are rounded as ``spec.rounds`` says. Large resizes run on several threads, at most
    IR_INTERP_THREADS of the environment; the result does not depend on their number.

    ``region``, a slice for each axis, asks for that piece of the output alone. It has the bits that it has in the
    whole. Where ``x`` is not the whole input, but what ``ir_interp.region`` says that the piece needs of it, ``whole``
    is the shape of the whole.

    Bits do not depend on the processor, on BLAS, on the number of threads, or on whether compiled loops take part.
    A float is a sum of one tap after the other: each product is rounded, then added, and the sum is rounded.

    An array of Dask becomes a lazy one of the same bits: each of its chunks is read once, and a block of the output
    takes what it needs of those under it. ``chunks`` are those of the output, as Dask takes them; by default over
    those of the input where it shrinks, and no longer than these where it grows. A DataArray of xarray keeps its names
    and attributes, and its coordinates move to the centres of the new pixels, as ``spec`` places them. Both need
    `pip install 'ir-interp[dask]'`.

    Raises SpecError for a contradictory request, ShapeError where spec and input do not fit or the result would be
    larger than ``MAX_BYTES``.
    """
    kind = _kind(x)
    if not kind:
        if chunks is not None:
            raise SpecError("chunks has no effect: x is no array of Dask")
        return executor.resize(
            x, spec, sizes=sizes, scales=scales, arithmetic=arithmetic, out=out, region=region, whole=whole
        )
    for name, given in {"out": out, "region": region, "whole": whole}.items():
        if given is not None:
            raise SpecError(f"{name} has no effect on an array of {kind}")
    shape = tuple(getattr(x, "shape", ()))
    if any(length != length for length in shape):
        raise ShapeError("the lengths of the array are not known; x.compute_chunk_sizes() finds them")
    bound = executor.planned(spec, shape, sizes=sizes, scales=scales, arithmetic=arithmetic).spec
    resized: NDArray[Any] = _resized(x, bound, chunks)  # or what is used as one
    return resized


def _kind(x: Any) -> str:
    """Return whose array it is, Dask's or xarray's; nothing where it is any other. Neither is imported for that."""
    for name, kind in (("dask.array", "Array"), ("xarray", "DataArray")):
        module = sys.modules.get(name)
        if module is not None and isinstance(x, getattr(module, kind, ())):
            return name.partition(".")[0]
    return ""


def _resized(x: Any, spec: ResizeSpec, chunks: Any) -> Any:
    """Return any array resized as a spec that is bound to its shape says."""
    match _kind(x):
        case "dask":
            from ir_interp.large import dask_blocks

            return dask_blocks.resized(x, spec, chunks)
        case "xarray":
            from ir_interp.large import labelled

            return labelled.resized(x, spec, lambda values: _resized(values, spec, chunks))
        case _:
            if chunks is not None:
                raise SpecError("chunks has no effect: x is no array of Dask")
            return executor.resize(x, spec)
