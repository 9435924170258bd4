"""Write files so that a failure leaves nothing behind, and nothing that was read is lost."""

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
    """A file that cannot, or must not, be written."""


def check_outputs(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Raise OutputError where a file to be written is one that is read, is to be written twice, or cannot be written.

    Links are followed: what counts is which file it is, not what it is called.
    """
    written, read = list(outputs), list(inputs)
    for path in written:
        if problem := _problem(path):
            raise OutputError(f"{path} cannot be written: {problem}")
        if any(is_same(path, each) for each in read):
            raise OutputError(f"{path} is read, and would be overwritten; choose another name")
    for first, second in combinations(written, 2):
        if is_same(first, second):
            raise OutputError(f"{first} would be written twice; choose another name for one of the two")


def _problem(path: Path) -> str:
    """Return why a file cannot be written; nothing where it can."""
    try:
        if not path.parent.is_dir():
            return os.strerror(errno.ENOTDIR if path.parent.exists() else errno.ENOENT)
        if not os.access(path.parent, os.W_OK):
            return os.strerror(errno.EACCES)
        if path.is_dir():
            return os.strerror(errno.EISDIR)
        return "Not a file" if path.exists() and not path.is_file() else ""
    except OSError as error:  # such as a name that is too long
        return error.strerror or str(error)


@contextmanager
def replacing(*destinations: Path) -> Iterator[tuple[Path, ...]]:
    """Yield a temporary path for each destination; at the end all are renamed into place, on an error none is.

    The temporary files lie in a folder beside the destinations and keep their names, so that a file which refers
    to another by name stays right; what else is written there, such as external data, is moved along. Raises
    OutputError where the folder cannot be written.
    """
    check_outputs(destinations)
    folder = destinations[0].parent
    try:
        with scratch(folder) as inside:
            temporary = tuple(inside / path.name for path in destinations)
            yield temporary
            # Else the .xml of one program could come to stand beside the .bin of another.
            with nullcontext() if is_scratch(folder.absolute()) else locked(folder):
                for path in sorted(filter(is_file, inside.rglob("*")), key=temporary.__contains__):
                    destination = folder / path.relative_to(inside)
                    destination.parent.mkdir(parents=True, exist_ok=True)
                    path.replace(destination)
    except OSError as error:
        raise OutputError(f"{destinations[0]} cannot be written: {error.strerror or error}") from error


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, which becomes ``folder`` at the end; on an error nothing is left.

    Raises OutputError where something is there already, unless it is an empty folder, or nothing can be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{folder} is there, and not an empty folder; choose another name")
        with scratch(folder.absolute().parent) as inside:
            made = inside / folder.name
            made.mkdir()
            yield made
            made.replace(folder)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from error
