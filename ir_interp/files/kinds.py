"""Kinds of files by extension, in upper or lower case."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from ir_interp.errors import ReadError, closest
from ir_interp.files.frameworks import FRAMEWORKS, Framework, refusal
from ir_interp.files.paths import is_folder


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
