"""TIFF files of microscopes as chunked images, which become OME-Zarr: the first series, at full resolution."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal
from xml.etree import ElementTree

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.kinds import check_readable, is_beside, name_of, opened
from ir_interp.files.writing import exists, real
from ir_interp.large.geotiff import reported
from ir_interp.large.layout import Layout
from ir_interp.large.zarr_arrays import Image, ZarrArray, described_axes, reopened

_TIFFFILE = "pip install 'ir-interp[microscopy]'"
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

    def created(self, path: Path, layout: Layout) -> object:
        """Return the output array of a layout, created or opened from an earlier call."""
        return reopened(path, layout, dtype=self.dtype, dimension_names=self.names, zarr_format=3)

    @property
    def zarr_format(self) -> Literal[2, 3]:
        """The format of what is made from it."""
        return 3


def opened_microscopy(path: Path) -> OmeTiff:
    """Return the first series of a TIFF file, at full resolution.

    Raises ReadError for other files and for GeoTIFF, whose georeferencing Zarr would lose; IrInterpError without
    tifffile.
    """
    try:
        import tifffile
    except ImportError:
        raise IrInterpError(f"tifffile is not installed: {_TIFFFILE}") from None
    # It opens the files that an OME-TIFF names by their names, again and again while their blocks are read.
    vars(tifffile.tifffile)["open"] = _opened_by_tifffile
    check_readable(path)
    with ExitStack() as stack:
        with reported(path, "TIFF", "tifffile"):
            file = stack.enter_context(tifffile.TiffFile(path))
            _check_parts(path, file)
            image = _of_series(path, file)
        stack.pop_all()
        return image


def _opened_by_tifffile(name: str, mode: str, **settings: Any) -> IO[Any]:
    """Open a file as tifffile asks for it, by a path without links.

    One to be read is not waited for. Raises OSError if it is not regular, or by now a link.
    """
    if mode != "rb":
        return Path(name).open(mode, **settings)
    file = opened(Path(name))
    if real(Path(name_of(file))) != Path(name):
        file.close()
        raise OSError(errno.EINVAL, "Replaced by a link while it was read", name)
    return file


@dataclass(frozen=True, slots=True)
class _Part:
    """A file that tifffile has opened, to be opened again without following links; it has the form of fsspec's."""

    path: str
    mode: str = "rb"

    def open(self) -> IO[bytes]:
        """Open the file. Raises OSError if it is not regular, or by now a link."""
        return _opened_by_tifffile(self.path, self.mode)


def _fix_parts(path: Path, pages: Iterable[Any]) -> None:
    """Let files that pages come from be opened again as they are. Raises ReadError for one outside the folder."""
    for handle in {id(page.parent): page.parent.filehandle for page in pages if page is not None}.values():
        if not is_beside(Path(handle.path), path):
            raise ReadError(f"{handle.path} lies outside its folder, and is not read", str(path))
        handle._file = _Part(handle.path)


def _check_parts(path: Path, file: Any) -> None:
    """Raise ReadError if tifffile would open a further file that is outside the image's folder, or not regular."""
    if file.is_ndtiff:
        raise ReadError("an NDTiff dataset, whose index names further files; expected OME-TIFF", str(path))
    names = set[str]()
    if file.is_ome:
        root = ElementTree.fromstring(file.ome_metadata)  # noqa: S314 (as tifffile: others might see other names)
        names = {name for element in root.iter() if (name := element.get("FileName")) is not None}
    if file.is_mmstack:
        names |= {part.name for part in path.parent.glob("*_MMStack*.tif")}
    for name in sorted(names - {path.name}):
        part = path.parent / name
        if not is_beside(part, path):
            raise ReadError(f"it names {name!r}, which is outside its folder and is not read", str(path))
        if exists(part):
            check_readable(part)


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
    if file.is_ome or file.is_mmstack:
        _fix_parts(path, series.pages)
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
