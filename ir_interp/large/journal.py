"""What is done of a long work: a line for each chunk, so that another call goes on where one ended."""

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
    """What is done: a line for every chunk, behind one that says of what. A line that was cut short does not count."""

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
        """Read what is done; without a whole line nothing is."""
        first, *lines = self._file.read().decode("latin-1").split("\n")
        if not lines:
            shutil.rmtree(self.partial, ignore_errors=True)
            self._file.truncate(0)
            self.add(head)
        elif first != head:
            raise IrInterpError(f"{self.path} tells of another resize, not finished; remove it and {self.partial.name}")
        else:
            self.done = set(lines[:-1])  # behind the last line feed there is nothing, or what was cut short
            self._file.truncate(self._file.tell() - len(lines[-1]))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, line: str) -> None:
        """Note that a chunk is done, which is written by now."""
        with self._lock:
            self._file.write(line.encode() + b"\n")
            self._file.flush()

    def finish(self, result: Path, destination: Path) -> None:
        """Give a result its name: the whole folder, or a file in it."""
        for left in self.partial.rglob("*.partial"):  # by Zarr, when it was killed
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
        """Say whether the chunk at a place is done."""
        return self._line(place) in self.journal.done

    def add(self, place: tuple[int, ...]) -> None:
        """Note that it is."""
        self.journal.add(self._line(place))

    def _line(self, place: tuple[int, ...]) -> str:
        return f"{self.level}/{'.'.join(map(str, place))}"
