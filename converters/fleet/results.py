"""A file of results, one line of JSON per model: recorded models need not be processed again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError
from ir_interp.files.locks import opened_alone

from .summary import Summary


class Results:
    """The lines of a file, and those that are added. A truncated last line is computed again.

    ``setting`` are the options that the results depend on; lines of another setting do not count as done. A record
    counts for the file that it names while that has the same size and time.
    """

    def __init__(self, path: Path, setting: str) -> None:
        self._path = path
        self._setting = setting
        self._done: dict[str, tuple[int, int]] = {}  # offset and size of a record in the file
        self._file = opened_alone(path)
        try:
            self._read()
        except BaseException:
            self._file.close()
            raise

    def _read(self) -> None:
        at = 0
        for number, line in enumerate(self._file, start=1):
            if not line.endswith(b"\n"):
                break
            try:
                record = json.loads(line)
                file_name, setting = str(record["file"]), record["setting"]
                _ = record["stamp"]
                Summary().add(record)  # as a record of this program can be
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise ReadError(
                    f"line {number} is not a result of a model; choose another name", str(self._path)
                ) from None
            if setting == self._setting:
                self._done[file_name] = (at, len(line))
            at += len(line)
        # An interrupted run may have left half a line, to which the next record would be appended.
        self._file.truncate(at)

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def done(self, paths: list[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield the files that have not changed since, with their records."""
        for path in paths:
            if str(path) in self._done:
                at, length = self._done[str(path)]
                self._file.seek(at)
                record = json.loads(self._file.read(length))
                if record["stamp"] == stamp(path):
                    yield path, record

    def add(self, record: Mapping[str, Any]) -> None:
        """Add the record of a model."""
        self._file.write(json.dumps({**record, "setting": self._setting}).encode() + b"\n")
        self._file.flush()


def stamp(path: Path) -> list[int]:
    """Return the values that change when a file does: its size and its time."""
    with suppress(OSError):
        status = path.stat()
        return [status.st_size, status.st_mtime_ns]
    return []
