"""Checks of files to read: they must be finite, and inside the folder of their model."""

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


def _decoded(text: str) -> Any:
    """Return decoded JSON. Raises ValueError for other text, and for a lone surrogate, which no file name can hold."""
    document = json.loads(text)
    if _SURROGATE.search(text):
        json.dumps(document, ensure_ascii=False).encode()
    return document
