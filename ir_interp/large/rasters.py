"""GeoTIFF files as chunked images, band by band or pixel by pixel, as they are stored."""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError, SpecError
from ir_interp.files.sources import check_regular
from ir_interp.files.tiff_header import has_multiplied_colours
from ir_interp.large.damage import reported
from ir_interp.large.layout import Layout, Slices
from ir_interp.large.zarr_arrays import reopened
from ir_interp.shapes import Shape
from ir_interp.spec import Alpha, Nearest, ResizeSpec

_ADVICE = "pip install 'ir-interp[geo]'"
_STRIPS = 2**20  # elements of a row of blocks that are read at once, where blocks are rows of pixels
_CACHE = 2**26  # bytes of GDAL's block cache
_WITH_ALPHA = {2: "LA", 4: "RGBA"}  # modes of Pillow, by the number of bands
_DRIVER = "GTiff"  # the only one that opens a file: a .tif that holds a VRT could name any other file


@dataclass(frozen=True, slots=True)
class Raster:
    """A GeoTIFF file [bands, rows, columns] that is read piece by piece, from any number of threads.

    ``profile`` holds what rasterio reports of it; ``idle`` holds one dataset a processor, of which each serves one
    thread at a time, since GDAL does not share them.
    """

    path: Path
    profile: Any
    chunks: Shape
    idle: list[Any]
    resources: ExitStack

    @property
    def shape(self) -> Shape:
        """The number of bands, rows and columns."""
        return self.profile["count"], self.profile["height"], self.profile["width"]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type of all bands."""
        dtype: np.dtype[Any] = np.dtype(self.profile["dtype"])
        return dtype

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its axes, as rioxarray gives them."""
        return "band", "y", "x"

    @property
    def nodata(self) -> float | None:
        """The value of missing pixels, if there is one."""
        value = self.profile["nodata"]
        return None if value is None else float(value)

    @property
    def alpha(self) -> int | None:
        """The number of the band that holds alpha, counted from 1; None if there is none."""
        from rasterio.enums import ColorInterp

        meanings = self.idle[0].colorinterp
        return meanings.index(ColorInterp.alpha) + 1 if ColorInterp.alpha in meanings else None

    @property
    def mode(self) -> str | None:
        """The mode in which Pillow opens such an image if its last band is alpha; None for others."""
        bands = self.profile["count"]
        return _WITH_ALPHA.get(bands) if self.alpha == bands else None

    def check(self, spec: ResizeSpec) -> None:
        """Raise SpecError for sums that would mix colours of transparent pixels into others."""
        is_safe = self.alpha is None or isinstance(spec.kernel, Nearest)
        if is_safe or (spec.alpha is Alpha.PREMULTIPLIED and self.alpha == self.profile["count"]):
            return
        problem = f"band {self.alpha} is alpha, which this call does not multiply colours by: transparent pixels"
        remedy = f"if it is no alpha, mark it, as by `gdal_translate -colorinterp_{self.alpha} undefined`"
        expected = "expected a call of Pillow on uint8 LA or RGBA, as pillow:bicubic, or nearest"
        raise SpecError(f"{problem} would colour their neighbours; {expected}; {remedy}")

    def read(self, piece: Slices, values: NDArray[Any]) -> None:
        """Fill an array with a piece. Raises ReadError for a block that cannot be decoded."""
        from rasterio.windows import Window

        bands, *window = piece
        dataset = self.idle.pop()
        try:
            numbers = list(range(bands.start + 1, bands.stop + 1))
            values[...] = dataset.read(numbers, window=Window.from_slices(*window))
        except MemoryError:
            raise
        except Exception as error:  # of any codec
            raise ReadError(f"a block cannot be read: {error.__cause__ or error}", str(self.path)) from None
        finally:
            self.idle.append(dataset)

    def close(self) -> None:
        """Close the file."""
        self.resources.close()

    def aligned(self, chunks: Shape) -> Shape:
        """Return the chunks to write."""
        return chunks

    def created(self, path: Path, layout: Layout) -> Any:
        """Return the array that holds one level until all are written, created or opened from an earlier call."""
        return reopened(path, layout, dtype=self.dtype, compressors=None, zarr_format=2)


def opened(path: Path) -> Raster:
    """Return a GeoTIFF file.

    Raises ReadError for another file, and for rasters whose pixels are not numbers to be averaged: indices of a
    palette, or values beside a mask; IrInterpError without rasterio.
    """
    try:
        import rasterio
    except ImportError:
        raise IrInterpError(f"rasterio is not installed: {_ADVICE}") from None
    check_regular(path)
    with ExitStack() as stack:
        stack.enter_context(rasterio.Env(GDAL_CACHEMAX=_CACHE))
        with reported(path, "GeoTIFF", "rasterio"), warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)  # an image that is only large
            idle = [stack.enter_context(_dataset(path)) for _ in range(os.cpu_count() or 1)]
            _check(idle[0], path)
            profile, chunks = idle[0].profile, _chunks(idle[0])
        return Raster(path, profile, chunks, idle, stack.pop_all())


def _dataset(path: Path) -> Any:
    import rasterio

    # Shared, two handles would be one dataset, which GDAL does not let two threads use.
    return rasterio.open(path, driver=_DRIVER, sharing=False)


def _check(dataset: Any, path: Path) -> None:
    """Raise ReadError for a raster whose pixels are not plain numbers, or whose place is not a geotransform."""
    from rasterio.enums import ColorInterp, MaskFlags

    problems = {
        "its pixels are indices of a palette; `gdal_translate -expand rgb` makes colours of them": (
            ColorInterp.palette in dataset.colorinterp
        ),
        "a mask marks its missing pixels; expected a nodata value": any(
            MaskFlags.per_dataset in flags and MaskFlags.alpha not in flags for flags in dataset.mask_flag_enums
        ),
        "its colours are multiplied by alpha already, which a written file would not say; expected plain colours": (
            has_multiplied_colours(path)  # GDAL before 3.11 does not report it
        ),
        "its bands have several element types; expected one": len(set(dataset.dtypes)) > 1,
        "its bands have several nodata values; expected one": len({repr(value) for value in dataset.nodatavals}) > 1,
        "ground control points place it; expected a geotransform, as gdalwarp makes it": bool(dataset.gcps[0]),
        "rational polynomials place it; expected a geotransform, as gdalwarp makes it": dataset.rpcs is not None,
        "it has subdatasets; expected one image": bool(dataset.subdatasets),
    }
    for problem, holds in problems.items():
        if holds:
            raise ReadError(problem, str(path))


def _chunks(dataset: Any) -> Shape:
    """Return what is read at once: a tile, or as many strips as are worth a call, of all bands that lie together."""
    rows, columns = dataset.block_shapes[0]
    if columns == dataset.width:
        rows = min(rows * max(1, _STRIPS // (rows * columns)), dataset.height)
    bands = dataset.count if dataset.profile.get("interleave") == "pixel" else 1
    return bands, rows, columns
