"""Writing of files such that a failure leaves nothing behind, and no input is lost."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import combinations
from pathlib import Path

from ir_interp.errors import IrInterpError
from ir_interp.files.folder_lock import locked
from ir_interp.files.paths import is_file, is_same
from ir_interp.files.scratch import is_scratch, scratch


class OutputError(IrInterpError):
    """A file that cannot or must not be written."""


def check_outputs(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Raise OutputError for an output that is also an input, is listed twice, or cannot be written.

    Links are followed: files are compared by identity, not by name.
    """
    written, read = list(outputs), list(inputs)
    for path in written:
        if problem := _problem(path):
            raise OutputError(f"{path} cannot be written: {problem}")
        if any(is_same(path, source) for source in read):
            raise OutputError(f"{path} is an input and would be overwritten; choose another name")
    for first, second in combinations(written, 2):
        if is_same(first, second):
            raise OutputError(f"{first} would be written twice; choose another name for one of the two")


def _problem(path: Path) -> str:
    """Return why a file cannot be written; an empty text if it can."""
    try:
        if not path.parent.is_dir():
            return os.strerror(errno.ENOTDIR) if path.parent.exists() else _missing(path.parent)
        if not os.access(path.parent, os.W_OK):
            return os.strerror(errno.EACCES)
        if path.is_dir():
            return os.strerror(errno.EISDIR)
        return "Not a file" if path.exists() and not path.is_file() else ""
    except OSError as error:  # for example a name that is too long
        return error.strerror or str(error)


def _missing(folder: Path) -> str:
    return f"folder {folder} does not exist; create it first"


@contextmanager
def replacing(*destinations: Path) -> Iterator[tuple[Path, ...]]:
    """Yield a temporary path for each destination; at the end all are renamed into place, after an error none.

    The temporary files are in a folder beside the destinations and keep their names, so that references by name
    between them stay valid; other files written there, such as external data, are moved too. Raises OutputError if
    the folder cannot be written.
    """
    check_outputs(destinations)
    folder = destinations[0].parent
    try:
        with scratch(folder) as inside:
            temporary = tuple(inside / path.name for path in destinations)
            yield temporary
            # Without the lock, the .xml of one program could end up beside the .bin of another.
            with nullcontext() if is_scratch(folder.absolute()) else locked(folder):
                # The destinations come last: whoever sees one finds the files that it refers to.
                for path in sorted(filter(is_file, inside.rglob("*")), key=temporary.__contains__):
                    destination = folder / path.relative_to(inside)
                    destination.parent.mkdir(parents=True, exist_ok=True)
                    path.replace(destination)
    except OSError as error:
        raise OutputError(f"{destinations[0]} cannot be written: {error.strerror or error}") from error


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, which becomes ``folder`` at the end; after an error nothing is left.

    Raises OutputError if ``folder`` exists and is not an empty folder, or cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{folder} exists and is not an empty folder; choose another name")
        if not folder.parent.exists():
            raise OutputError(f"{folder} cannot be written: {_missing(folder.parent)}")
        with scratch(folder.absolute().parent) as inside:
            unfinished = inside / folder.name
            unfinished.mkdir()
            yield unfinished
            unfinished.replace(folder)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from error
