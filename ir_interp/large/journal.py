"""What is done of a long work: a line for each chunk, so that another call goes on where one ended."""

from __future__ import annotations

import json
import os
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError


class Journal:
    """What is done: a line for every chunk, behind one that says of what. A line that was cut short does not count."""

    def __init__(self, partial: Path, identity: dict[str, Any]) -> None:
        self.partial = partial
        self.path = partial.with_name(f"{partial.name}.done")
        self.done: set[str] = set()
        head = json.dumps(identity)
        if self.path.exists():
            first, *lines = self.path.read_text(encoding="utf-8").split("\n")
            if first != head:
                raise IrInterpError(f"{self.path} tells of another resize, not finished; remove it and {partial.name}")
            self.done = set(lines[:-1])  # behind the last line feed there is nothing, or what was cut short
            self._cut_short(lines[-1])
        else:
            shutil.rmtree(partial, ignore_errors=True)
            self.path.write_text(head + "\n", encoding="utf-8")
        self._file = self.path.open("a", encoding="utf-8", newline="\n")
        self._lock = threading.Lock()

    def _cut_short(self, rest: str) -> None:
        if rest:
            os.truncate(self.path, self.path.stat().st_size - len(rest.encode()))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, line: str) -> None:
        """Note that a chunk is done, which is written by now."""
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()

    def finish(self, destination: Path) -> None:
        """Give what was made its name."""
        for left in self.partial.rglob("*.partial"):  # by Zarr, when it was killed
            left.unlink()
        self.partial.replace(destination)
        self.path.unlink()


@dataclass(frozen=True, slots=True)
class Ledger:
    """The lines of a journal for one level."""

    journal: Journal
    level: int

    def is_done(self, place: tuple[int, ...]) -> bool:
        """Say whether the chunk at a place is done."""
        return self._line(place) in self.journal.done

    def add(self, place: tuple[int, ...]) -> None:
        """Note that it is."""
        self.journal.add(self._line(place))

    def _line(self, place: tuple[int, ...]) -> str:
        return f"{self.level}/{'.'.join(map(str, place))}"
