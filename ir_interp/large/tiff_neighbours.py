"""Files beside a GeoTIFF. GDAL may not open them: it would accept any format, and some formats name a URL.

A file that would change the image is refused by name. Statistics and overviews make no difference to a resize.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from ir_interp.errors import ReadError
from ir_interp.files.kinds import opened
from ir_interp.files.memory import check_bytes
from ir_interp.files.writing import exists

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
    for mask in _beside(path, _MASKS):
        raise ReadError(f"a mask marks its missing pixels, {mask.name}; expected a nodata value", str(path))
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
