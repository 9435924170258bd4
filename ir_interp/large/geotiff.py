"""GeoTIFF files as chunked images, and cloud-optimised results.

A file is read band by band or pixel by pixel, as it is stored; resized levels become an image and its overviews.
Warnings that libraries log about a damaged file are raised as errors: an ignored tag may have placed the image.

Last, the files beside a GeoTIFF. GDAL may not open them: it would accept any format, and some formats name a URL. A
file that would change the image is refused by name. Statistics and overviews make no difference to a resize.
"""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from lxml import etree

from ir_interp.errors import IrInterpError, ReadError, SpecError
from ir_interp.executor.resize import planned
from ir_interp.files.kinds import check_readable, has_multiplied_colours, is_beside, name_of, opened
from ir_interp.files.memory import check_bytes
from ir_interp.files.writing import exists
from ir_interp.large.layout import Layout, Slices, Work
from ir_interp.large.zarr_arrays import reopened
from ir_interp.plan.moved_coordinates import geotransform, pixel_grid
from ir_interp.shapes import Array, Shape
from ir_interp.specs import Alpha, Mode, Nearest, ResizeSpec

if TYPE_CHECKING:
    from rasterio import DatasetReader


_DESCRIPTOR = re.compile(r"/proc/self/fd/\d+|^\d+(?=[:,] )")


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _understood(path: Path, kind: str) -> Iterator[None]:
    """Raise ReadError for whatever a library raises in the block."""
    try:
        yield
    except (MemoryError, IrInterpError):
        raise
    except Exception as error:  # of any kind: headers are what the file makes them
        raise ReadError(f"not a {kind} file: {_named(error, path)}", str(path)) from None


@contextmanager
def reported(path: Path, kind: str, logger_name: str) -> Iterator[None]:
    """Raise ReadError for whatever a library raises or logs in the block, which reads the header of a file."""
    logger, records = logging.getLogger(logger_name), _Records()
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(records)
    try:
        with _understood(path, kind):
            yield
    finally:
        logger.removeHandler(records)
        logger.propagate = propagates
    if records.messages:
        raise ReadError(f"a damaged {kind} file: {_named(records.messages[0], path)}", str(path))


def _named(problem: object, path: Path) -> str:
    """Return a problem that names a file by its path, not by its descriptor or the number of that, as GDAL does."""
    return _DESCRIPTOR.sub(lambda _: path.name, str(problem))


_RASTERIO = "pip install 'ir-interp[geo]'"
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
    name: str
    """A name of the open file that no other process can swap."""
    profile: Any
    alpha: int | None
    """The number of the band that holds alpha, counted from 1; None if there is none."""
    chunks: Shape
    idle: list[DatasetReader]
    resources: ExitStack
    masks: list[DatasetReader] | None = None
    """Datasets whose first band is the mask of all bands: those of ``idle``, or of a file beside; None without one."""

    @property
    def shape(self) -> Shape:
        """The number of bands, rows and columns; a mask is one more band, the last."""
        return self.profile["count"] + self.has_mask, self.profile["height"], self.profile["width"]

    @property
    def has_mask(self) -> bool:
        """Whether a mask marks missing pixels."""
        return self.masks is not None

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
    def mode(self) -> str | None:
        """The mode in which Pillow opens such an image if its last band is alpha; None for others."""
        bands = self.profile["count"]
        return _WITH_ALPHA.get(bands) if self.alpha == bands else None

    def check(self, spec: ResizeSpec) -> None:
        """Raise ReadError for sums of indices, SpecError for sums that would mix colours of transparent pixels in."""
        if self.has_palette and not isinstance(spec.kernel, Nearest | Mode):
            remedy = "`gdal_translate -expand rgb` makes colours of them, and nearest and mode take them"
            raise ReadError(f"its pixels are indices of a palette; {remedy}", str(self.path))
        is_safe = self.alpha is None or isinstance(spec.kernel, Nearest)
        if is_safe or (spec.alpha is Alpha.PREMULTIPLIED and self.alpha == self.profile["count"]):
            return
        problem = f"band {self.alpha} is alpha, which this call does not multiply colours by: transparent pixels"
        remedy = f"if it is no alpha, mark it, as by `gdal_translate -colorinterp_{self.alpha} undefined`"
        expected = "expected a call of Pillow on uint8 LA or RGBA, as pillow:bicubic, or nearest"
        raise SpecError(f"{problem} would colour their neighbours; {expected}; {remedy}")

    @property
    def has_palette(self) -> bool:
        """Whether pixels are indices of a palette."""
        from rasterio.enums import ColorInterp

        return ColorInterp.palette in self.idle[0].colorinterp

    def read(self, piece: Slices, values: Array) -> None:
        """Fill an array with a piece. Raises ReadError for a block that cannot be decoded."""
        from rasterio.windows import Window

        bands, *window = piece
        dataset = self.idle.pop()
        try:
            numbers = list(range(bands.start + 1, min(bands.stop, self.profile["count"]) + 1))
            values[: len(numbers)] = dataset.read(numbers, window=Window.from_slices(*window))
            if len(numbers) < len(values):
                values[-1] = self._mask(dataset, Window.from_slices(*window)) != 0
        except MemoryError:
            raise
        except Exception as error:  # of any codec
            problem = _named(error.__cause__ or error, self.path)
            raise ReadError(f"a block cannot be read: {problem}", str(self.path)) from None
        finally:
            self.idle.append(dataset)

    def _mask(self, dataset: DatasetReader, window: Any) -> Array:
        """Return a piece of the mask, which is in the dataset or in a file beside it."""
        if self.masks is None or self.masks is self.idle:
            return np.asarray(dataset.read_masks(1, window=window))
        beside = self.masks.pop()
        try:
            return np.asarray(beside.read(1, window=window))
        finally:
            self.masks.append(beside)

    def close(self) -> None:
        """Close the file."""
        self.resources.close()

    def aligned(self, chunks: Shape) -> Shape:
        """Return the chunks to write."""
        return chunks

    def created(self, path: Path, layout: Layout) -> Any:
        """Return the array that holds one level until all are written, created or opened from an earlier call."""
        return reopened(path, layout, dtype=self.dtype, compressors=None, zarr_format=2)


def opened_raster(path: Path) -> Raster:
    """Return a GeoTIFF file.

    Raises ReadError for another file, and for one whose place is not a geotransform; IrInterpError without rasterio.
    """
    try:
        import rasterio
    except ImportError:
        raise IrInterpError(f"rasterio is not installed: {_RASTERIO}") from None
    with ExitStack() as stack:
        name = name_of(stack.enter_context(opened(path)))
        stack.enter_context(rasterio.Env(GDAL_CACHEMAX=_CACHE, **SETTINGS))
        with reported(path, "GeoTIFF", "rasterio"), warnings.catch_warnings():
            warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)  # an image that is only large
            idle = [stack.enter_context(_dataset(name)) for _ in range(os.cpu_count() or 1)]
            _check(idle[0], path)
            check_neighbours(path, is_placed=not idle[0].transform.is_identity)
            profile, alpha, chunks = idle[0].profile, _alpha(idle[0]), _chunks(idle[0])
            masks = idle if _has_mask(idle[0]) else _masks_beside(path, idle[0], stack)
            if masks is not None:
                _check_mask(idle[0], path)
                chunks = (idle[0].count + 1, *chunks[1:])
        return Raster(path, name, profile, alpha, chunks, idle, stack.pop_all(), masks)


def _dataset(name: str) -> DatasetReader:
    import rasterio

    # Shared, two handles would be one dataset, which GDAL does not let two threads use.
    return rasterio.open(name, driver=_DRIVER, sharing=False)


def _check(dataset: DatasetReader, path: Path) -> None:
    """Raise ReadError for a raster whose pixels are not plain numbers, or whose place is not a geotransform."""
    problems = {
        "its colours are multiplied by alpha already, which a written file would not say; expected plain colours": (
            has_multiplied_colours(path)  # GDAL before 3.11 does not report it
        ),
        "its bands have several element types; expected one": len(set(dataset.dtypes)) > 1,
        "its bands have several nodata values; expected one": len({repr(value) for value in dataset.nodatavals}) > 1,
        "ground control points place it; expected a geotransform, as gdalwarp makes it": bool(dataset.gcps[0]),
        "rational polynomials place it; expected a geotransform, as gdalwarp makes it": dataset.rpcs is not None,
        "it has subdatasets; expected one image": bool(dataset.subdatasets),
        "it is OME-TIFF, whose description would no longer fit; expected --output to end in .zarr": (
            "<OME" in dataset.tags().get("TIFFTAG_IMAGEDESCRIPTION", "")
        ),
        "it names another file for its overviews, which is not read; expected none": any(
            dataset.tags(number, ns=domain)
            for domain in ("OVERVIEWS", "ProxyOverviewRequest")
            for number in range(dataset.count + 1)
        ),
    }
    for problem, holds in problems.items():
        if holds:
            raise ReadError(problem, str(path))


def _has_mask(dataset: DatasetReader) -> bool:
    from rasterio.enums import MaskFlags

    return any(MaskFlags.per_dataset in flags and MaskFlags.alpha not in flags for flags in dataset.mask_flag_enums)


def _check_mask(dataset: DatasetReader, path: Path) -> None:
    """Raise ReadError for a raster with a mask whose pixels may be missing for another reason as well."""
    if any(value is not None for value in dataset.nodatavals):
        raise ReadError("it has both a mask and a nodata value; expected one of them", str(path))
    if _alpha(dataset) is not None:
        raise ReadError("it has both a mask and alpha; expected one of them", str(path))


def _masks_beside(path: Path, dataset: DatasetReader, stack: ExitStack) -> list[DatasetReader] | None:
    """Return the datasets of a mask beside a GeoTIFF, a GeoTIFF itself; None if there is no such file."""
    masks = list(_beside(path, _MASKS))
    if not masks:
        return None
    mask = masks[0]
    if not is_beside(mask, path):
        raise ReadError(f"{mask.name} is outside its folder and is not read", str(path))
    check_readable(mask)
    name = name_of(stack.enter_context(opened(mask)))
    datasets = [stack.enter_context(_dataset(name)) for _ in range(os.cpu_count() or 1)]
    found, expected = datasets[0], (1, *dataset.shape)
    if len(masks) > 1 or (found.count, *found.shape) != expected or found.dtypes[0] != "uint8":
        expected_text = "x".join(map(str, expected))
        raise ReadError(f"{mask.name} is not one mask of its bands; expected uint8 of {expected_text}", str(path))
    return datasets


def _alpha(dataset: DatasetReader) -> int | None:
    from rasterio.enums import ColorInterp

    meanings = dataset.colorinterp
    return meanings.index(ColorInterp.alpha) + 1 if ColorInterp.alpha in meanings else None


def _chunks(dataset: DatasetReader) -> Shape:
    """Return what is read at once: a tile, or as many strips as are worth a call, of all bands that lie together."""
    rows, columns = dataset.block_shapes[0]
    if columns == dataset.width:
        rows = min(rows * max(1, _STRIPS // (rows * columns)), dataset.height)
    bands = dataset.count if dataset.profile.get("interleave") == "pixel" else 1
    return bands, rows, columns


_LOSSLESS = ("LZW", "DEFLATE", "ZSTD", "LERC_DEFLATE", "LERC_ZSTD")
_PREDICTORS = {"2": "STANDARD", "3": "FLOATING_POINT"}  # of TIFF, as GDAL's driver names them
_STALE = "STATISTICS_"  # tags that describe the pixels before the resize


def write_cloud_optimised(destination: Path, source: Raster, levels: Sequence[Path], works: Sequence[Work]) -> None:
    """Write arrays as one GeoTIFF file: the first is the image, the others are its overviews.

    They are Zarr arrays; the first may be the source itself. Compression and predictor are those of the source, unless
    that is lossy: then DEFLATE. Raises ReadError if the source is damaged, IrInterpError if GDAL cannot write the file.
    """
    import rasterio
    import rasterio.shutil

    profile = source.profile
    compression = str(profile.get("compress", "none")).upper()
    # A lossy codec would lose more each time an image is resized.
    is_lossy = compression not in (*_LOSSLESS, "NONE")
    with _understood(source.path, "GeoTIFF"):
        predictor = source.idle[0].tags(ns="IMAGE_STRUCTURE").get("PREDICTOR", "1")
        virtual = _virtual(source, levels, works)
    options = {
        "COMPRESS": "DEFLATE" if is_lossy else compression,
        "PREDICTOR": "NO" if is_lossy else _PREDICTORS.get(predictor, "NO"),
        "BLOCKSIZE": str(profile["blockxsize"] if profile.get("tiled") else 512),
        "OVERVIEWS": "FORCE_USE_EXISTING" if len(levels) > 1 else "NONE",
        # Classic TIFF ends at 4 GiB, and the compressed size is unknown beforehand.
        "BIGTIFF": "IF_SAFER",
        "NUM_THREADS": "ALL_CPUS",
    }
    image = destination.with_suffix(".vrt")
    image.write_bytes(virtual)
    try:
        rasterio.shutil.copy(image, destination, driver="COG", **options)
    except MemoryError:
        raise
    except Exception as error:  # of GDAL, whose classes rasterio does not publish
        raise IrInterpError(f"no GeoTIFF file can be written: {_named(error, source.path)}") from None


def _virtual(source: Raster, levels: Sequence[Path], works: Sequence[Work]) -> bytes:
    """Return a virtual dataset of GDAL: its bands and their overviews are Zarr arrays.

    Source: gdal.org/drivers/raster/vrt.html, elements SRS, GeoTransform, VRTRasterBand and Overview.
    """
    dataset = source.idle[0]
    # Each names its driver: GDAL would otherwise choose it by the content of an untrusted file.
    sources = [
        f"GTIFF_DIR:1:{source.name}" if level == source.path else f'ZARR:"{level.absolute()}"' for level in levels
    ]
    bands, rows, columns = works[0].out_shape
    bands -= source.has_mask
    root = etree.Element("VRTDataset", rasterXSize=str(columns), rasterYSize=str(rows))
    if dataset.crs is not None:
        etree.SubElement(root, "SRS").text = dataset.crs.to_wkt()
    if not dataset.transform.is_identity:
        moved = _transform(dataset.transform.to_gdal(), works[0])
        etree.SubElement(root, "GeoTransform").text = ", ".join(map(repr, moved))
    _add_tags(root, dataset.tags())
    for number in range(1, bands + 1):
        band = etree.SubElement(root, "VRTRasterBand", dataType=_TYPES[source.dtype.name], band=str(number))
        if source.nodata is not None:
            etree.SubElement(band, "NoDataValue").text = repr(source.nodata)
        if bands == dataset.count:  # else a resize mixes them
            _describe(band, dataset, number)
        _add_pixels(band, number, sources)
    if source.has_mask:
        mask = etree.SubElement(etree.SubElement(root, "MaskBand"), "VRTRasterBand", dataType="Byte")
        _add_pixels(mask, bands + 1, sources)
    return bytes(etree.tostring(root))


def _add_pixels(band: etree._Element, number: int, sources: Sequence[str]) -> None:
    for level, name in enumerate(sources):
        parent = etree.SubElement(band, "Overview" if level else "SimpleSource")
        etree.SubElement(parent, "SourceFilename", relativeToVRT="0").text = name
        etree.SubElement(parent, "SourceBand").text = str(number)


_TYPES = {  # of GDAL, by element type
    "uint8": "Byte", "int8": "Int8", "uint16": "UInt16", "int16": "Int16", "uint32": "UInt32", "int32": "Int32",
    "uint64": "UInt64", "int64": "Int64", "float32": "Float32", "float64": "Float64",
}  # fmt: skip


def _describe(band: etree._Element, dataset: DatasetReader, number: int) -> None:
    """Add what a file holds about one of its bands."""
    meaning = dataset.colorinterp[number - 1].name
    etree.SubElement(band, "ColorInterp").text = meaning.capitalize()
    if meaning == "palette":
        table = etree.SubElement(band, "ColorTable")
        for _, colour in sorted(dataset.colormap(number).items()):
            entry = etree.SubElement(table, "Entry")
            for place, part in enumerate(colour, start=1):
                entry.set(f"c{place}", str(part))
    texts = {"Description": dataset.descriptions[number - 1], "UnitType": dataset.units[number - 1]}
    for name, text in texts.items():
        if text:
            etree.SubElement(band, name).text = text
    etree.SubElement(band, "Offset").text = repr(dataset.offsets[number - 1])
    etree.SubElement(band, "Scale").text = repr(dataset.scales[number - 1])
    _add_tags(band, dataset.tags(number))


def _add_tags(parent: etree._Element, tags: dict[str, str]) -> None:
    metadata = etree.SubElement(parent, "Metadata")
    for key, value in tags.items():
        if not key.startswith(_STALE):
            etree.SubElement(metadata, "MDI", key=key).text = value


def _transform(numbers: tuple[float, ...], work: Work) -> tuple[float, ...]:
    """Return GDAL's geotransform for the output of a work: its pixels keep their places."""
    bound = planned(work.spec, work.shape)
    plans = {plan.axis: plan for plan in bound.axes}
    along_y, along_x = (pixel_grid(plans.get(axis), work.spec.kernel).behind(bound.padding[axis][0]) for axis in (1, 2))
    return geotransform(numbers, along_x, along_y)


SETTINGS = {"GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR", "GDAL_PAM_ENABLED": "NO"}
"""Settings under which GDAL opens only the file that it is given."""

_REMEDY = "`gdal_translate` writes one file that holds all"
_MASKS = ("{name}.msk",)
_PLACES = ("{stem}.tfw", "{stem}.tifw", "{stem}.tiffw", "{stem}.wld", "{stem}.tab")
_POLYNOMIALS = ("{stem}.rpb", "{stem}.rpc", "{stem}_rpc.txt")
_AUXILIARY = "{name}.aux.xml"
_SAME = frozenset(("Metadata", "Histograms", "PAMRasterBand", "PAMDataset"))  # Metadata only if all of it is statistics
_STATISTICS = "STATISTICS_"


def check_neighbours(path: Path, *, is_placed: bool) -> None:
    """Raise ReadError if GDAL would take a file beside a GeoTIFF for a part of it, and that would change the image.

    ``is_placed`` is whether the GeoTIFF itself has a geotransform, which GDAL prefers to that of another file.
    """
    for polynomials in _beside(path, _POLYNOMIALS):
        problem = "rational polynomials place it; expected a geotransform, as gdalwarp makes it"
        raise ReadError(f"{polynomials.name}: {problem}", str(path))
    if not is_placed:
        for place in _beside(path, _PLACES):
            raise ReadError(f"{place.name} places it, which is not read; {_REMEDY}", str(path))
    for auxiliary in _beside(path, (_AUXILIARY,)):
        element = _important(auxiliary, path)
        if element:
            raise ReadError(f"{auxiliary.name} holds {element}, which is not read; {_REMEDY}", str(path))


def _beside(path: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    """Yield the existing files of these names, in lower or upper case, as GDAL looks for them."""
    for pattern in patterns:
        for form in (str.lower, str.upper):
            ending = form(pattern.partition("}")[2])
            beside = path.with_name(path.name + ending if "{name}" in pattern else path.stem + ending)
            if exists(beside):
                yield beside


def _important(auxiliary: Path, path: Path) -> str:
    """Return the first element of GDAL's auxiliary file that may change an image; empty if there is none."""
    try:
        with opened(auxiliary) as file:
            check_bytes(auxiliary.stat().st_size, auxiliary.name)
            root = etree.parse(file, etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    except OSError as error:
        raise ReadError(f"{auxiliary.name} cannot be read: {error.strerror or error}", str(path)) from error
    except etree.XMLSyntaxError as error:
        raise ReadError(f"{auxiliary.name} is not XML: {error}", str(path)) from error
    for element in (root, *root.iter("PAMRasterBand")):
        for part in element:
            if not isinstance(part.tag, str) or (part.tag in _SAME and _is_statistics(part)):
                continue
            return part.tag
    return ""


def _is_statistics(part: etree._Element) -> bool:
    """Return whether all metadata in an element are statistics of the pixels; True for other elements."""
    return all(item.get("key", "").startswith(_STATISTICS) for item in part.iter("MDI"))
