"""TIFF files of microscopes as chunked images, which become OME-Zarr."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.sources import check_regular
from ir_interp.large.damage import reported
from ir_interp.large.layout import Layout
from ir_interp.large.pyramid import Image, described_axes
from ir_interp.large.zarr_arrays import ZarrArray, reopened

_ADVICE = "pip install 'ir-interp[microscopy]'"
_GEO_TAG = 34735  # GeoKeyDirectoryTag
_SIZES = {"x": "PhysicalSizeX", "y": "PhysicalSizeY", "z": "PhysicalSizeZ", "t": "TimeIncrement"}
_UNITS = {  # of OME-XML, whose defaults come first, as OME-Zarr writes them
    "µm": "micrometer", "nm": "nanometer", "mm": "millimeter", "cm": "centimeter", "m": "meter", "pm": "picometer",
    "Å": "angstrom", "in": "inch", "s": "second", "ms": "millisecond", "µs": "microsecond", "min": "minute",
    "h": "hour",
}  # fmt: skip
_DEFAULTS = {"t": "s"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OmeTiff(ZarrArray):
    """A series of a TIFF ``file``, which tifffile presents as a Zarr array; it becomes Zarr 3."""

    file: Any

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def created(self, path: Path, layout: Layout) -> Any:
        """Return the output array of a layout, created or opened from an earlier call."""
        return reopened(path, layout, dtype=self.dtype, dimension_names=self.names, zarr_format=3)

    @property
    def zarr_format(self) -> Literal[2, 3]:
        """The format of what is made from it."""
        return 3


def opened(path: Path) -> OmeTiff:
    """Return the first series of a TIFF file, at full resolution.

    Raises ReadError for other files and for GeoTIFF, whose georeferencing Zarr would lose; IrInterpError without
    tifffile.
    """
    try:
        import tifffile
    except ImportError:
        raise IrInterpError(f"tifffile is not installed: {_ADVICE}") from None
    check_regular(path)
    with ExitStack() as stack:
        with reported(path, "TIFF", "tifffile"):
            file = stack.enter_context(tifffile.TiffFile(path))
            image = _of_series(path, file)
        stack.pop_all()
        return image


def _of_series(path: Path, file: Any) -> OmeTiff:
    import zarr

    series = file.series[0]
    if _GEO_TAG in series.pages[0].tags:
        raise ReadError(
            "a GeoTIFF file, whose georeferencing Zarr would lose; expected --output to end in .tif", str(path)
        )
    # No option chooses one of several images.
    if len(file.series) > 1:
        raise ReadError(f"{len(file.series)} images; expected one", str(path))
    names = tuple(name.lower() for name in series.axes)
    if "s" in names:  # samples of a pixel are channels
        names = tuple("c" if name == "s" else name for name in names)
    array = zarr.open_array(series.aszarr(level=0), mode="r")
    return OmeTiff(file=file, array=array, label=str(path), names=names, image=_image(file, names))


def _image(file: Any, names: tuple[str, ...]) -> Image:
    """Return where pixels lie by OME-XML, with its units; without it pixels are the unit."""
    import tifffile

    pixels: dict[str, Any] = {}
    if file.is_ome:
        images = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]
        pixels = (images[0] if isinstance(images, list) else images)["Pixels"]
    axes, scale = described_axes(names), []
    for axis in axes:
        name = _SIZES.get(axis["name"], "")
        size = pixels.get(name)
        scale.append(1.0 if size is None else float(size))
        if size is not None:
            unit = pixels.get(f"{name}Unit", _DEFAULTS.get(axis["name"], "µm"))
            if unit not in _UNITS:
                raise ReadError(f"{name} has the unit {unit!r}; expected one of {', '.join(_UNITS)}", file.filename)
            axis["unit"] = _UNITS[unit]
    return Image(axes=axes, scale=scale, translation=[0.0] * len(names), others={})
