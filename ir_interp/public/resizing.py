"""``resize``: any container of pixels, by a spec or a library call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import arguments
from ir_interp.arguments import checked
from ir_interp.arrays import resizing
from ir_interp.arrays.request import Like, Request
from ir_interp.executor import resize as executor
from ir_interp.executor.missing_pixels import Missing
from ir_interp.spec import Arithmetic, ResizeSpec


@checked
def resize(
    x: Any,
    spec: ResizeSpec | Sequence[int] | Mapping[Any, int] | None = None,
    like: str | ResizeSpec | None = None,
    *,
    sizes: Sequence[int] | Mapping[Any, int] | None = None,
    scales: float | Sequence[float] | Mapping[Any, float] | None = None,
    axes: Sequence[int | str] | None = None,
    antialias: bool | None = None,
    arithmetic: Arithmetic | str | None = None,
    out: NDArray[Any] | None = None,
    region: Sequence[slice] | None = None,
    whole: Sequence[int] | None = None,
    chunks: Any = None,
    nodata: float | None = None,
    valid: float = 0.0,
) -> NDArray[Any]:
    """Return ``x`` resized to ``sizes``, or by ``scales``, by a spec or a library call, in the same kind of container.

    ``resize(x, (224, 224))`` interpolates between the centres of pixels, like torch's bilinear; with ``antialias`` it
    averages where it shrinks. ``resize(x, (224, 224), "pillow:bicubic")`` computes the values of a library call
    (``like``), written as for ``ir-interp run --like``: integers to the byte, floats up to their last places.
    ``resize(x, spec)`` runs a ResizeSpec.

    ``x`` is a NumPy array of any rank from 1 and any dtype, or an array-like value: floats, bfloat16 (``ml_dtypes``)
    and integers for every kernel, also bool and strings for nearest, which copies values unchanged. The result has its
    dtype: float16, bfloat16 and small integers are computed in float32, 32- and 64-bit integers in float64; integers
    saturate, and are rounded as in ``spec.rounds``.

    ``sizes`` (elements) or ``scales`` (output / input; one number for every resized axis) are those of ``axes``, by
    number, or by name for a DataArray: ``resize(array, {"y": 512, "x": 512})``. They replace the target of the spec,
    with one value for each axis that it resizes. Without ``axes``, those of the spec are resized. If it has none: the
    last ones, or the first two of a library's image whose last axis has 1, 3 or 4 entries; if both are possible,
    ShapeError asks for ``axes``. If the spec lists all axes, sizes of the resized ones are enough, and vice versa.
    ``arithmetic`` replaces that of the spec. ``out``, a C-ordered array of the right shape and dtype, receives the
    result.

    Large resizes run on several threads, at most IR_INTERP_THREADS of the environment. Results do not depend on their
    number, on the processor, on BLAS, or on compiled loops, to the last bit: a float is a sum tap by tap, with each
    product rounded, then added, and the sum rounded.

    ``region``, a slice for each axis, computes only that piece of the output, with the bits that it has in the whole.
    If ``x`` is not the whole input, but the part that ``ir_interp.region`` returns for the piece, ``whole`` is the
    shape of the whole input.

    Missing pixels are those that a masked array masks, those equal to ``nodata`` (NaN too), and for a DataArray those
    equal to its ``_FillValue``. An output that lacks some of its inputs is the weighted mean of the available ones. It
    is missing if none is available, or if they have less than the share ``valid`` of the weights.

    A Dask array becomes a lazy one of the same bits: each of its chunks is read once, and a block of the output takes
    the parts that it needs. ``chunks`` are those of the output, in the form of Dask; by default aligned with those of
    the input where it shrinks, and not longer where it grows. A DataArray keeps its names and attributes, and its
    coordinates move to the centres of the new pixels, as ``spec`` places them, as does the GeoTransform of rioxarray.
    In a Dataset or a DataTree, every variable with the named dimensions is resized, and bounds of cells move, too. A
    torch tensor or a Pillow image becomes one of its kind.

    Raises SpecError for a contradictory request, ShapeError if spec and input do not fit or the result would exceed
    ``MAX_BYTES``.

    Examples:
        >>> ir_interp.resize(np.zeros((48, 64, 3), np.uint8), (24, 32), "pillow:bicubic").shape
        (24, 32, 3)

    """
    if type(x) is np.ndarray and _is_plain(spec, sizes, scales, like, axes, antialias, chunks, nodata, valid):
        plain: Any = executor.resize  # nothing is left to infer, which would take as long as a small resize
        y: NDArray[Any] = plain(
            x, spec, sizes=sizes, scales=scales, arithmetic=arithmetic, out=out, region=region, whole=whole
        )
        return y
    request = Request(
        spec=spec, like=call_of(like), sizes=sizes, scales=scales, axes=axes, antialias=antialias, arithmetic=arithmetic
    )
    resized: NDArray[Any] = resizing.resized(  # or a value that is used as one
        x, request, Missing.of(nodata, valid), chunks, out=out, region=region, whole=whole
    )
    return resized


def _is_plain(spec: Any, sizes: Any, scales: Any, *others: Any) -> bool:
    """Return whether it is a spec with known axes, and a list of sizes or scales for them."""
    if type(spec) is not ResizeSpec or spec.axes is None or any(other is not None for other in others[:-1]):
        return False
    return type(sizes) in _LISTS and type(scales) in _LISTS and type(others[-1]) is float and others[-1] == 0


_LISTS = (type(None), tuple, list)


def call_of(like: Any) -> Like | None:
    """Return a function that gives the spec of a call, for an element type and an image mode."""
    if like is None:
        return None
    if isinstance(like, ResizeSpec):
        return lambda dtype, mode: like
    if type(like).__module__ == "PIL.Image":  # a member of Image.Resampling
        like = f"pillow:{like.name}"
    text = arguments.word(like, "like")

    def spec(dtype: str, mode: str | None) -> ResizeSpec:
        from ir_interp.library_registry import load

        return load(text, dtype=dtype, arguments={"mode": mode} if mode else None).spec

    return spec
