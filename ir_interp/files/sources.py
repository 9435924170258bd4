"""Which files are read: those that have an end, and lie where they are said to."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError
from ir_interp.files.memory import allow_files
from ir_interp.files.paths import is_file, real

MAX_JSON_BYTES = 64 * 2**20
"""The largest JSON file that is read."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def check_regular(path: Path) -> None:
    """Raise OSError where there is no file, or what has no end: a folder, a device, a pipe or a socket.

    Memory is allowed for any other: it is about to be read.
    """
    if not path.is_file():
        path.stat()  # raises where there is nothing
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise _irregular(path)
    if _is_of_the_kernel(path):
        raise OSError(errno.EINVAL, "Not a file that ends", str(path))
    allow_files(path)


def opened(path: Path) -> BufferedReader:
    """Open a regular file to read its bytes; the caller closes it. Raises OSError as ``check_regular`` does.

    Another process may put a pipe in the place of a file that was checked: opening it does not wait for a writer.
    """
    check_regular(path)
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise _irregular(path)
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _irregular(path: Path) -> OSError:
    return OSError(errno.EINVAL, "Not a regular file", str(path))


def _is_of_the_kernel(path: Path) -> bool:
    """Say whether what looks like a file is none, but something that Linux shows, as /proc/kmsg is."""
    return any(
        os.path.ismount(place) and path.stat().st_dev == Path(place).stat().st_dev for place in ("/proc", "/sys")
    )


def is_beside(path: Path, model: Path) -> bool:
    """Say whether a file lies where its model does, links of both followed: in stores of models both are links."""
    folders = {real(model.parent), real(model).parent}
    return any(real(path).is_relative_to(folder) for folder in folders)


def json_object(path: Path, what: str) -> dict[str, Any]:
    """Return the object that a JSON file holds, which should be ``what``. Raises ReadError where it is none."""
    text = text_of(path, MAX_JSON_BYTES, "JSON")
    try:
        document = _decoded(text)
    except (ValueError, RecursionError) as error:
        raise ReadError(f"not JSON: {error}", path.name) from error
    if not isinstance(document, dict):
        raise ReadError(f"not {what}", path.name)
    return document


def text_of(path: Path, most_bytes: int, kind: str = "text") -> str:
    """Return the text of a file, UTF-8, of a ``kind`` that errors name.

    Raises ReadError for a file that cannot be read, or is larger.
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


def _decoded(text: str) -> Any:
    """Return what JSON holds. Raises ValueError where it is none, or holds half a character, which no file can name."""
    document = json.loads(text)
    if _SURROGATE.search(text):
        json.dumps(document, ensure_ascii=False).encode()
    return document
