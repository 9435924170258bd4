"""Kinds of files by extension, in upper or lower case."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from ir_interp.errors import ReadError, closest
from ir_interp.files.paths import is_folder


class FileKind(Enum):
    """A kind of file, by its extension."""

    ONNX = ".onnx"
    IR = ".xml"
    JSON = ".json"
    TEXT = ".txt"
    TFLITE = ".tflite"
    PROGRAM = ".pt2"
    KERAS = ".keras"
    H5 = ".h5"
    GRAPH = ".pb"
    PADDLE = ".pdmodel"
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

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> FileKind | None:
        """Return the kind of a path; None for an unknown extension."""
        return _KINDS.get(Path(path).suffix.lower())


_KINDS = {kind.value: kind for kind in FileKind} | {".htm": FileKind.PAGE}
IMAGES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".gif", ".ppm", ".pgm"))
"""Extensions of images."""
_PICKLED = (".pt", ".pth")
_TIFF = (".tif", ".tiff")
_ZIP = ".zip"
AUDITED = "`ir-interp audit` takes folders"
"""The remedy for a folder in place of a model."""
MODELS = (FileKind.ONNX, FileKind.IR)
"""Files that may hold a whole model."""
OF_TENSORFLOW = (FileKind.KERAS, FileKind.H5, FileKind.GRAPH)
"""Models that TensorFlow reads; a SavedModel is the .pb in its folder."""
DESCRIBED = (*OF_TENSORFLOW, FileKind.PADDLE)
"""Models that a framework describes, and OpenVINO's frontend converts."""
FOREIGN = (FileKind.PROGRAM, FileKind.TFLITE, *DESCRIBED)
"""Models that their own framework runs, which is the reference of their conversions."""
CHANNELS_LAST = (FileKind.TFLITE, *OF_TENSORFLOW)
"""Models whose images are NHWC by convention."""
WITH_RESIZES = (*MODELS, FileKind.JSON, *FOREIGN)
"""Files that resizes are read from."""
IN_FOLDERS = (*MODELS, FileKind.TFLITE)
"""Files of a folder that are audited or converted; a program is unpickled, so it must be named."""


def expect(path: str | os.PathLike[str], *kinds: FileKind, folders: str = AUDITED) -> FileKind:
    """Return which of ``kinds`` a path is. Raises ReadError, with the closest extension, for any other.

    ``folders`` is the remedy if it is a folder; empty for an output.
    """
    own_kind, path = FileKind.of(path), Path(path)
    if own_kind is not None and own_kind in kinds:
        return own_kind
    extensions = [kind.value for kind in kinds]
    check_named(path, extensions, folders)
    check_not_pickled(path)
    expected = closest(path.suffix if own_kind is None else "", extensions)
    problem = f"unknown file type {path.suffix!r}" if path.suffix else "has no extension"
    raise ReadError(f"{problem}; {expected}", path.name)


def check_not_pickled(path: Path) -> None:
    """Raise ReadError for a file that only PyTorch's code can load: weights, a module, or TorchScript."""
    if path.suffix.lower() in _PICKLED:
        problem = "files of torch.save and torch.jit.save are not read; expected an exported program"
        raise ReadError(f"{problem}; save torch.export.export(module, inputs) by torch.export.save as .pt2", path.name)


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
