"""Kinds of files by extension, in upper or lower case, and checks of files to read.

The kinds include models of the frameworks that each folder of ``converters/frameworks/`` declares. Files to read must
be finite, and inside the folder of their model. The tags of a TIFF file are read without decoding the image.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import pkgutil
import re
import stat
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from io import BufferedReader
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from ir_interp.errors import ReadError, closest
from ir_interp.files.memory import allow_files
from ir_interp.files.writing import is_file, is_folder, real

_FOLDER = "ir_interp.converters.frameworks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework: ``FRAMEWORK`` in the ``__init__`` of its folder, which imports nothing else.

    ``extra`` installs its ``packages``. ``extensions`` are those of its models.
    """

    folder: str
    """The package of its modules."""
    title: str
    packages: tuple[str, ...]
    extra: str
    extensions: tuple[str, ...]
    stand_in: str = ".xml"
    """Extension of the ONNX model or IR that stands for every model in its conversion; empty if not all have one."""
    has_channels_last: bool = False
    """Whether its images are NHWC by convention."""
    is_in_folders: bool = False
    """Whether folders are searched for its models; a program that is unpickled must be named."""
    has_exporters: bool = False
    """Whether ``--exporter`` chooses what writes the model that stands for one of its own."""
    file_in_folder: str = ""
    """Name of the model in a folder that stands for it."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Reasons why other files of it are refused, and remedies: by extension, or by a key of a .json."""
    in_memory: tuple[str, ...] = ()
    """The objects that are models, too, in the words of an error; ``READING`` recognises and saves them."""

    def label(self, path: Path) -> str:
        """Return the name of a model in messages: its file, or the folder that stands for it."""
        return path.parent.absolute().name if path.name == self.file_in_folder else path.name

    def check_installed(self, label: str) -> None:
        """Raise ReadError, for a model of this name, if a package is missing."""
        from importlib.util import find_spec

        if not all(map(find_spec, self.packages)):
            raise ReadError(f"needs {self.title}: pip install 'ir-interp[{self.extra}]'", label)

    def module(self, name: str) -> ModuleType:
        """Return a module of its folder."""
        return importlib.import_module(f"{self.folder}.{name}")


def _declared() -> tuple[Framework, ...]:
    """Return what each folder declares, in alphabetical order."""
    modules = pkgutil.iter_modules(importlib.import_module(_FOLDER).__path__)
    names = sorted(module.name for module in modules if module.ispkg)
    return tuple(importlib.import_module(f"{_FOLDER}.{name}").FRAMEWORK for name in names)


FRAMEWORKS = _declared()


def refusal(mark: str) -> str | None:
    """Return why a framework's file with an extension, or with a key in JSON, is refused; None for others."""
    return next((framework.refused[mark] for framework in FRAMEWORKS if mark in framework.refused), None)


class FileKind(Enum):
    """A kind of file, by its extension; one that a framework declares is ``FileKind(".pt2")``."""

    ONNX = ".onnx"
    IR = ".xml"
    JSON = ".json"
    TEXT = ".txt"
    TFLITE = ".tflite"
    PYTHON = ".py"
    ARRAY = ".npy"
    ARRAYS = ".npz"
    PICTURE = ".png"
    DRAWING = ".svg"
    PAGE = ".html"
    LINES = ".jsonl"
    CSV = ".csv"
    PARQUET = ".parquet"
    STORE = ".zarr"
    vars().update({extension: extension for framework in FRAMEWORKS for extension in framework.extensions})

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> FileKind | None:
        """Return the kind of a path; None for an unknown extension."""
        return _KINDS.get(Path(path).suffix.lower())

    @property
    def framework(self) -> Framework | None:
        """The framework that reads and runs these files, if they are models of one."""
        return _FRAMEWORK_OF.get(self)

    @property
    def stand_in(self) -> FileKind | None:
        """The kind of model that stands for one of a framework in its conversion; None if there may be none."""
        return _KINDS.get(self.framework.stand_in) if self.framework else None


_KINDS = {kind.value: kind for kind in FileKind} | {".htm": FileKind.PAGE}
_FRAMEWORK_OF = {FileKind(extension): framework for framework in FRAMEWORKS for extension in framework.extensions}
IMAGES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm", ".pgm"))
"""Extensions of images."""
_TIFF = (".tif", ".tiff")
_ZIP = ".zip"
AUDITED = "`ir-interp audit` takes folders"
"""The remedy for a folder in place of a model."""
MODELS = (FileKind.ONNX, FileKind.IR)
"""Files that may hold a whole model."""
FOREIGN = tuple(sorted(_FRAMEWORK_OF, key=lambda kind: kind.value))
"""Models that their own framework runs, which is the reference of their conversions."""
CHANNELS_LAST = tuple(kind for kind in FOREIGN if _FRAMEWORK_OF[kind].has_channels_last)
"""Models whose images are NHWC by convention."""
WITH_RESIZES = (*MODELS, FileKind.JSON, *FOREIGN)
"""Files that resizes are read from."""
IN_FOLDERS = (*MODELS, *(kind for kind in FOREIGN if _FRAMEWORK_OF[kind].is_in_folders))
"""Files of a folder that are audited or converted."""


def expect(path: str | os.PathLike[str], *kinds: FileKind, folders: str = AUDITED) -> FileKind:
    """Return which of ``kinds`` a path is. Raises ReadError, with the closest extension, for any other.

    ``folders`` is the remedy if it is a folder; empty for an output.
    """
    own_kind, path = FileKind.of(path), Path(path)
    if own_kind is not None and own_kind in kinds:
        return own_kind
    extensions = [kind.value for kind in kinds]
    check_named(path, extensions, folders)
    check_not_refused(path)
    expected = closest(path.suffix if own_kind is None else "", extensions)
    problem = f"unknown file type {path.suffix!r}" if path.suffix else "has no extension"
    raise ReadError(f"{problem}; {expected}", path.name)


def listed(kinds: Iterable[FileKind]) -> str:
    """Return the extensions of kinds of files, as in ``.onnx, .xml``."""
    return ", ".join(kind.value for kind in kinds)


def check_not_refused(path: Path) -> None:
    """Raise ReadError for a file of a framework that is refused."""
    problem = refusal(extension(path))
    if problem is not None:
        raise ReadError(problem, path.name)


def extension(path: Path) -> str:
    """Return the extension of a path in lower case, as in ``.png``."""
    return path.suffix.lower()


def is_image(path: Path) -> bool:
    """Return whether a path names an image."""
    return path.suffix.lower() in IMAGES


def is_in_store(path: Path) -> bool:
    """Return whether a path is a Zarr store, in a ZIP file too, or an array inside one."""
    return any(FileKind.of(part.lower().removesuffix(_ZIP)) is FileKind.STORE for part in path.parts)


def is_zip(path: Path) -> bool:
    """Return whether a path names a ZIP file."""
    return path.suffix.lower() == _ZIP


def is_tiff(path: Path) -> bool:
    """Return whether a path names a TIFF file."""
    return path.suffix.lower() in _TIFF


def check_named(path: Path, extensions: Iterable[str], folders: str = "") -> None:
    """Raise ReadError if a path does not name a file: standard input, or a folder."""
    expected = f"expected the name of a file that ends in {', '.join(extensions)}"
    if str(path) == "-":
        raise ReadError(f"standard input is not read; {expected}", "-")
    if is_folder(path):
        raise ReadError("; ".join(filter(None, ("is a folder", expected, folders))), str(path))


MAX_JSON_BYTES = 64 * 2**20
"""The largest JSON file that is read."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # half a character, which no UTF-8 text can hold


def check_regular(path: Path) -> None:
    """Raise OSError if a file is missing, a folder, or of unlimited size: a device, a pipe or a socket.

    Any other file is added to the memory limit, since it is about to be read.
    """
    if not path.is_file():
        path.stat()  # raises if it is missing
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise _irregular(path)
    # Pseudo-files of the Linux kernel, such as /proc/kmsg, look regular.
    if any(os.path.ismount(place) and path.stat().st_dev == Path(place).stat().st_dev for place in ("/proc", "/sys")):
        raise OSError(errno.EINVAL, "Not a file of finite size", str(path))
    allow_files(path)


def opened(path: Path) -> BufferedReader:
    """Open a regular file to read its bytes; the caller closes it. Raises OSError as ``check_regular`` does.

    Another process may replace a checked file by a pipe; opening that does not wait for a writer.
    """
    check_regular(path)
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise _irregular(path)
    return file


def bytes_of(path: Path) -> bytes:
    """Return the bytes of a regular file. Raises OSError as ``opened``."""
    with opened(path) as file:
        return file.read()


def name_of(file: BufferedReader) -> str:
    """Return a name of an open file that no other process can swap; on systems without one, its own."""
    name = f"/proc/self/fd/{file.fileno()}"
    return name if Path(name).exists() else str(file.name)


def check_readable(path: Path) -> None:
    """Raise ReadError for a file that ``opened`` does not open."""
    try:
        opened(path).close()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _irregular(path: Path) -> OSError:
    return OSError(errno.EINVAL, "Not a regular file", str(path))


def is_beside(path: Path, model: Path) -> bool:
    """Return whether a file is in its model's folder, with links of both followed, since model stores use links."""
    folders = {real(model.parent), real(model).parent}
    return any(real(path).is_relative_to(folder) for folder in folders)


def json_object(path: Path, what: str) -> dict[str, Any]:
    """Return the object in a JSON file, which should be ``what``. Raises ReadError for any other content."""
    text = text_of(path, MAX_JSON_BYTES, "JSON")
    try:
        document = _decoded(text)
    except (ValueError, RecursionError) as error:
        raise ReadError(f"not JSON: {error}", path.name) from error
    if not isinstance(document, dict):
        raise ReadError(f"not {what}", path.name)
    return document


def text_of(path: Path, most_bytes: int, kind: str = "text") -> str:
    """Return the text of a UTF-8 file; ``kind`` is the format that errors name.

    Raises ReadError for a file that cannot be read, or is larger than ``most_bytes``.
    """
    try:
        if is_file(path) and path.stat().st_size > most_bytes:
            raise ReadError(f"larger than {most_bytes / 2**20:g} MiB", path.name)
        with opened(path) as file:
            return file.read(most_bytes).decode()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", str(path)) from error
    except ValueError as error:
        raise ReadError(f"not {kind}: {error}", path.name) from error


def _decoded(text: str) -> object:
    """Return decoded JSON. Raises ValueError for other text, and for a lone surrogate, which no file name can hold."""
    document = json.loads(text)
    if _SURROGATE.search(text):
        json.dumps(document, ensure_ascii=False).encode()
    return document


_BYTE_ORDERS = {b"II": "<", b"MM": ">"}
_CLASSIC, _BIG = 42, 43  # versions of the format: TIFF 6.0 and BigTIFF
_WIDTH, _HEIGHT = 256, 257  # tags: ImageWidth, ImageLength
_EXTRA, _UNSPECIFIED, _ASSOCIATED = 338, 0, 1  # ExtraSamples: no alpha, and alpha that colours are multiplied by
_PHOTOMETRIC, _SAMPLES = 262, 277  # PhotometricInterpretation, SamplesPerPixel
_COLOURS = {0: 1, 1: 1, 2: 3}  # samples of a pixel without extra ones, of both kinds of grey and of RGB
_GEO = frozenset((33550, 33922, 34264, 34735))  # ModelPixelScale, ModelTiepoint, ModelTransformation, GeoKeyDirectory
_BITS, _FORMAT, _UNSIGNED, _BITS_OF_BYTE = 258, 339, 1, 8  # BitsPerSample, SampleFormat
_PNG, _END_OF_HEAD, _GREY = b"\x89PNG", 26, 0  # its header ends with the bits of a sample, and what samples are
_SHORT, _BYTES_OF_SHORT = 3, 2  # the type of numbers of 16 bits
_MOST_ENTRIES = 2**12  # of a directory; a damaged header may claim more than the file holds
_MOST_PIXELS = 2**30 // 4 // 3  # above which Pillow warns of a decompression bomb


def is_raster(path: Path) -> bool:
    """Return whether a TIFF file is georeferenced, has further bands, or is larger than what Pillow opens.

    Returns False for any other file. Raises OSError if the file cannot be read.
    """
    tags = _tags_of(path)
    is_large = tags.get(_WIDTH, 0) * tags.get(_HEIGHT, 0) > _MOST_PIXELS
    return is_large or bool(_GEO & tags.keys()) or _further_bands(tags) > 0


def is_deep(path: Path) -> bool:
    """Return whether the pixels of a TIFF file are other numbers than unsigned ones of 8 bits or less.

    Returns False for any other file. Raises OSError as ``is_raster``.
    """
    tags = _tags_of(path)
    return tags.get(_BITS, 1) > _BITS_OF_BYTE or tags.get(_FORMAT, _UNSIGNED) != _UNSIGNED


def loses_bits(path: Path) -> bool:
    """Return whether Pillow would cut the colours of a file to 8 bits: those of 16 bits, in PNG and TIFF.

    Raises OSError if the file cannot be read.
    """
    with opened(path) as file:
        head = file.read(_END_OF_HEAD)
    if head.startswith(_PNG):
        return len(head) == _END_OF_HEAD and head[-2] > _BITS_OF_BYTE and head[-1] != _GREY
    tags = _tags_of(path)
    return tags.get(_BITS, 1) > _BITS_OF_BYTE and tags.get(_SAMPLES, 1) > 1


def further_bands(path: Path) -> int:
    """Return the number of bands beside the grey or RGB of a TIFF file and its alpha, such as near infrared.

    Pillow drops them. Raises OSError as ``is_raster``.
    """
    return _further_bands(_tags_of(path))


def _further_bands(tags: dict[int, int]) -> int:
    colours = _COLOURS.get(tags.get(_PHOTOMETRIC, -1))
    if colours is None:
        return 0
    extra = tags.get(_SAMPLES, 1) - colours
    has_alpha = tags.get(_EXTRA, _UNSPECIFIED) != _UNSPECIFIED
    return max(extra - has_alpha, 0)


def has_multiplied_colours(path: Path) -> bool:
    """Return whether the colours of a TIFF file are stored as products with alpha. Raises OSError as ``is_raster``."""
    return _tags_of(path).get(_EXTRA) == _ASSOCIATED


def _tags_of(path: Path) -> dict[int, int]:
    try:
        with opened(path) as file:
            return _tags(file)
    except (struct.error, OverflowError):  # a file that ends too early, or points far behind its end
        return {}


def _tags(file: BinaryIO) -> dict[int, int]:
    """Return the tags of the first directory and the first number of each (TIFF 6.0, section 2; BigTIFF)."""
    order = _BYTE_ORDERS.get(file.read(2))
    if order is None:
        return {}

    def read(form: str) -> tuple[int, ...]:
        return struct.unpack(order + form, file.read(struct.calcsize(order + form)))

    (version,) = read("H")
    if version not in (_CLASSIC, _BIG):
        return {}
    offset, count, value = ("I", "H", "I") if version == _CLASSIC else ("Q", "Q", "Q")
    if version == _BIG:
        read("HH")
    file.seek(*read(offset))
    (entries,) = read(count)
    tags = {}
    rows = [read("HH" + value * 2) for _ in range(min(entries, _MOST_ENTRIES))]
    for tag, kind, length, number in rows:
        tags[tag] = number
        if kind == _SHORT:
            field = struct.pack(order + value, number)
            if _BYTES_OF_SHORT * length > len(field):  # which then holds their place in the file
                file.seek(number)
                field = file.read(_BYTES_OF_SHORT)
            (tags[tag],) = struct.unpack(order + "H", field[:_BYTES_OF_SHORT])
    return tags
