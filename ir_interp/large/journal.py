"""Journals of long resizes: a line for each finished chunk, so that another call can resume."""

from __future__ import annotations

import json
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError
from ir_interp.files.locks import opened_alone


class Journal:
    """The finished chunks, one per line, after a line that identifies the resize. A truncated line is ignored."""

    def __init__(self, partial: Path, identity: dict[str, Any]) -> None:
        self.partial = partial
        self.path = partial.with_name(f"{partial.name}.done")
        self.done: set[str] = set()
        self._lock = threading.Lock()
        self._file = opened_alone(self.path)
        try:
            self._begin(json.dumps(identity))
        except BaseException:
            self._file.close()
            raise

    def _begin(self, head: str) -> None:
        """Read the finished chunks; without a complete first line there are none."""
        first, *lines = self._file.read().decode("latin-1").split("\n")
        if not lines:
            shutil.rmtree(self.partial, ignore_errors=True)
            self._file.truncate(0)
            self.add(head)
        elif first != head:
            raise IrInterpError(f"{self.path} records another, unfinished resize; remove it and {self.partial.name}")
        else:
            self.done = set(lines[:-1])  # after the last line feed there is nothing, or a truncated line
            # The next line would otherwise continue a truncated one.
            self._file.truncate(self._file.tell() - len(lines[-1]))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, line: str) -> None:
        """Record that a chunk has been written."""
        with self._lock:
            self._file.write(line.encode() + b"\n")
            self._file.flush()  # at once, so that a process that is killed has recorded its finished chunks

    def finish(self, result: Path, destination: Path) -> None:
        """Rename the result, which is the folder or a file in it, to its final name."""
        for left in self.partial.rglob("*.partial"):  # left by Zarr when it was killed
            left.unlink()
        result.replace(destination)
        shutil.rmtree(self.partial, ignore_errors=True)
        self.path.unlink()


@dataclass(frozen=True, slots=True)
class Ledger:
    """The lines of a journal for one level."""

    journal: Journal
    level: int

    def is_done(self, place: tuple[int, ...]) -> bool:
        """Return whether the chunk at a place is finished."""
        return self._line(place) in self.journal.done

    def add(self, place: tuple[int, ...]) -> None:
        """Record that the chunk at a place is finished."""
        self.journal.add(self._line(place))

    def _line(self, place: tuple[int, ...]) -> str:
        return f"{self.level}/{'.'.join(map(str, place))}"
