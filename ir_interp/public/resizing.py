"""``resize``: what is at hand, as a spec or a call of a library says."""

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
    """Resize ``x`` to ``sizes``, or by ``scales``, as a spec or a call of a library says; return its like.

    ``resize(x, (224, 224))`` interpolates between the centres of pixels, as torch's bilinear does; with
    ``antialias`` it averages where it shrinks. ``resize(x, (224, 224), "pillow:bicubic")`` computes the bytes of
    a call of a library (``like``), written as in ``ir-interp run --like``. ``resize(x, spec)`` runs a ResizeSpec.

    ``x`` is a NumPy array of any rank from 1 and any dtype, or what makes one: floats, bfloat16 (``ml_dtypes``) and
    integers for every kernel, also bool and strings for nearest, which copies its values untouched. The result has its
    dtype: float16, bfloat16 and small integers are computed in float32, 32- and 64-bit integers in float64; integers
    saturate, and are rounded as ``spec.rounds`` says.

    ``sizes`` (elements) or ``scales`` (output / input; one number for height and width) are those of ``axes``, by
    number or, of a DataArray, by name: ``resize(array, {"y": 512, "x": 512})``. They replace the target of the spec.
    Without ``axes``, those of the spec are resized. Where it has none: the last ones, or the first two of an image of a
    library whose last axis has 1, 3 or 4 entries; where both may be meant, ShapeError asks for ``axes``. Where the spec
    lists all axes, lengths of those that it resizes will do, and the other way round. ``arithmetic`` replaces that of
    the spec. ``out``, a C-ordered array of the right shape and dtype, takes the result.

    Large resizes run on several threads, at most IR_INTERP_THREADS of the environment. Bits do not depend on their
    number, on the processor, on BLAS, or on whether compiled loops take part: a float is a sum of one tap after the
    other, each product rounded, then added, and the sum rounded.

    ``region``, a slice for each axis, asks for that piece of the output alone, with the bits that it has in the whole.
    Where ``x`` is not the whole input, but what ``ir_interp.region`` says that the piece needs of it, ``whole`` is the
    shape of the whole.

    Missing pixels are those that a masked array masks, those that equal ``nodata`` (NaN too), and of a DataArray those
    that equal its ``_FillValue``. An output that lacks some of its inputs is the mean of those that are there, by their
    weights; it is missing itself where these are none, or less than the share ``valid`` of the weights.

    An array of Dask becomes a lazy one of the same bits: each of its chunks is read once, and a block of the output
    takes what it needs of those under it. ``chunks`` are those of the output, as Dask takes them; by default over
    those of the input where it shrinks, and no longer than these where it grows. A DataArray keeps its names
    and attributes, and its coordinates move to the centres of the new pixels, as ``spec`` places them; so does the
    GeoTransform of rioxarray. Of a Dataset or a DataTree every variable is resized that has the named dimensions. A
    tensor of torch and an image of Pillow become one of their kind.

    Raises SpecError for a contradictory request, ShapeError where spec and input do not fit or the result would be
    larger than ``MAX_BYTES``.

    Examples:
        >>> ir_interp.resize(np.zeros((48, 64, 3), np.uint8), (24, 32), "pillow:bicubic").shape
        (24, 32, 3)

    """
    if type(x) is np.ndarray and _is_plain(spec, sizes, scales, like, axes, antialias, chunks, nodata, valid):
        plain: Any = executor.resize  # nothing is left to find out, which would take as long as a small resize
        y: NDArray[Any] = plain(
            x, spec, sizes=sizes, scales=scales, arithmetic=arithmetic, out=out, region=region, whole=whole
        )
        return y
    request = Request(
        spec=spec, like=call_of(like), sizes=sizes, scales=scales, axes=axes, antialias=antialias, arithmetic=arithmetic
    )
    resized: NDArray[Any] = resizing.resized(  # or what is used as one
        x, request, Missing.of(nodata, valid), chunks, out=out, region=region, whole=whole
    )
    return resized


def _is_plain(spec: Any, sizes: Any, scales: Any, *others: Any) -> bool:
    """Say whether it is a spec whose axes are known, and a list of lengths or factors for them."""
    if type(spec) is not ResizeSpec or spec.axes is None or any(other is not None for other in others[:-1]):
        return False
    return type(sizes) in _LISTS and type(scales) in _LISTS and type(others[-1]) is float and others[-1] == 0


_LISTS = (type(None), tuple, list)


def call_of(like: Any) -> Like | None:
    """Return what makes a spec of a call, for an element type and the mode of an image."""
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
