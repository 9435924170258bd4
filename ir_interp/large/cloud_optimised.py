"""Cloud-optimised GeoTIFF files from resized levels, which become the image and its overviews."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from ir_interp.arrays.moved_transforms import geotransform
from ir_interp.errors import IrInterpError
from ir_interp.executor.resize import planned
from ir_interp.files.kinds import is_tiff
from ir_interp.large.layout import Work
from ir_interp.large.rasters import Raster
from ir_interp.plan.axes.pixel_grid import pixel_grid

_LOSSLESS = ("LZW", "DEFLATE", "ZSTD", "LERC_DEFLATE", "LERC_ZSTD")
_PREDICTORS = {"2": "STANDARD", "3": "FLOATING_POINT"}  # of TIFF, as GDAL's driver names them
_STALE = "STATISTICS_"  # tags that describe the pixels before the resize


def write(destination: Path, source: Raster, levels: Sequence[Path], works: Sequence[Work]) -> None:
    """Write arrays as one GeoTIFF file: the first is the image, the others are its overviews.

    They are Zarr arrays; the first may be the source itself. Compression and predictor are those of the source, unless
    that is lossy: then DEFLATE. Raises IrInterpError where GDAL cannot write it.
    """
    import rasterio
    import rasterio.shutil

    profile = source.profile
    compression = str(profile.get("compress", "none")).upper()
    # A lossy codec would lose more each time an image is resized.
    is_lossy = compression not in (*_LOSSLESS, "NONE")
    predictor = source.idle[0].tags(ns="IMAGE_STRUCTURE").get("PREDICTOR", "1")
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
    image.write_bytes(_virtual(source, levels, works))
    try:
        rasterio.shutil.copy(image, destination, driver="COG", **options)
    except MemoryError:
        raise
    except Exception as error:  # of GDAL, whose classes rasterio does not publish
        raise IrInterpError(f"no GeoTIFF file can be written: {error}") from None


def _virtual(source: Raster, levels: Sequence[Path], works: Sequence[Work]) -> bytes:
    """Return a virtual dataset of GDAL: its bands and their overviews are Zarr arrays.

    Source: gdal.org/drivers/raster/vrt.html, elements SRS, GeoTransform, VRTRasterBand and Overview.
    """
    dataset = source.idle[0]
    bands, rows, columns = works[0].out_shape
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
        _add_pixels(band, number, levels)
    return bytes(etree.tostring(root))


def _add_pixels(band: Any, number: int, levels: Sequence[Path]) -> None:
    for level, path in enumerate(levels):
        parent = etree.SubElement(band, "Overview" if level else "SimpleSource")
        # Both name their driver: GDAL would otherwise choose it by the content of an untrusted file.
        name = f"GTIFF_DIR:1:{path.absolute()}" if is_tiff(path) else f'ZARR:"{path.absolute()}"'
        etree.SubElement(parent, "SourceFilename", relativeToVRT="0").text = name
        etree.SubElement(parent, "SourceBand").text = str(number)


_TYPES = {  # of GDAL, by element type
    "uint8": "Byte", "int8": "Int8", "uint16": "UInt16", "int16": "Int16", "uint32": "UInt32", "int32": "Int32",
    "uint64": "UInt64", "int64": "Int64", "float32": "Float32", "float64": "Float64",
}  # fmt: skip


def _describe(band: Any, dataset: Any, number: int) -> None:
    """Add what a file holds about one of its bands."""
    etree.SubElement(band, "ColorInterp").text = dataset.colorinterp[number - 1].name.capitalize()
    texts = {"Description": dataset.descriptions[number - 1], "UnitType": dataset.units[number - 1]}
    for name, text in texts.items():
        if text:
            etree.SubElement(band, name).text = text
    etree.SubElement(band, "Offset").text = repr(dataset.offsets[number - 1])
    etree.SubElement(band, "Scale").text = repr(dataset.scales[number - 1])
    _add_tags(band, dataset.tags(number))


def _add_tags(parent: Any, tags: dict[str, str]) -> None:
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
