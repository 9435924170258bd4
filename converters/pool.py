"""Hand items out to processes, and take their answers as they come.

An item whose process ends is tried once more; where that ends another one, it costs only itself.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ir_interp.errors import IrInterpError
from ir_interp.scratch import scratch

from .child import started

_LENGTH = struct.Struct("<Q")  # of a pickled answer, before it
_STARTS = 3  # of a process that ends before it began an item


@dataclass(frozen=True, slots=True)
class Died:
    """What there is instead of an answer where a process ended."""

    status: int

    def __str__(self) -> str:
        return f"the processes that worked on it died, the last with status {self.status}"


def each(function: str, items: Sequence[Any], setting: Any, count: int) -> Iterator[tuple[int, Any]]:
    """Yield what ``function``, as in ``package.module:name``, makes of every item: its number, and the answer or Died.

    It is called as ``name(item, setting)`` in ``count`` processes, to which the items are dealt out like cards. Raises
    IrInterpError where processes do not even start.
    """
    answers: queue.Queue[tuple[int, Any] | BaseException | None] = queue.Queue(maxsize=64)
    with scratch() as folder, ExitStack() as stack:
        shares = [list(enumerate(items))[start::count] for start in range(min(count, len(items)))]
        crew = [_Worker(function, share, setting, folder / str(n), answers) for n, share in enumerate(shares)]
        for worker in crew:
            stack.callback(worker.stop)
            worker.start()
        left = len(crew)
        while left:
            answer = answers.get()
            if answer is None:
                left -= 1
            elif isinstance(answer, BaseException):
                raise answer
            else:
                yield answer


class _Worker(threading.Thread):
    """One process at a time that works through a share; where it ends, the next one goes on."""

    def __init__(self, function: str, share: list[tuple[int, Any]], setting: Any, place: Path, answers: Any) -> None:
        super().__init__(daemon=True)
        self._work = (function, setting)
        self._share = share
        self._place = place
        self._answers = answers
        self._stopped = False
        self._again = False
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> None:
        """Work until nothing is left."""
        try:
            self._run()
            self._say(None)
        except BaseException as error:  # of whatever kind: the other thread raises it
            self._say(error)

    def stop(self) -> None:
        """End the process, and take no more answers."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()
        while self.is_alive():
            try:
                self._answers.get(timeout=0.05)
            except queue.Empty:
                self.join(0.05)

    def _say(self, answer: Any) -> None:
        self._answers.put(answer)

    def _run(self) -> None:
        starts = 0
        while self._share and not self._stopped:
            before = len(self._share)
            status, begun = self._one_process()
            starts = 0 if begun or len(self._share) < before else starts + 1
            if begun and not self._again:
                self._again = True  # somebody else may have ended it
            elif begun:
                number, _ = self._share.pop(0)
                self._say((number, Died(status)))
                self._again = False
            elif starts == _STARTS:
                raise IrInterpError(f"a process died with status {status} before it began to work")

    def _one_process(self) -> tuple[int, bool]:
        """Work through the share in a process; return how it ended, and whether it had begun the first that is left."""
        self._place.write_bytes(pickle.dumps((*self._work, self._share)))
        begun = False
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with started("ir_interp.converters.pool", str(self._place), folder=self._place.parent, **streams) as process:
            self._process = process
            assert process.stdout is not None
            for answer in _read(process.stdout.buffer):  # type: ignore[attr-defined]
                if answer is None:
                    begun = True
                else:
                    begun = False
                    number, _ = self._share.pop(0)
                    self._again = False
                    self._say((number, answer[0]))
            return process.wait(), begun and not self._stopped


def _read(stream: BinaryIO) -> Iterator[Any]:
    """Yield answers until the other side ends, be it in the middle of one."""
    while len(head := stream.read(_LENGTH.size)) == _LENGTH.size:
        (length,) = _LENGTH.unpack(head)
        body = stream.read(length)
        if len(body) < length:
            return
        yield pickle.loads(body)


def _main(place: Path) -> None:
    """Answer for every item of a share; what others print does not come between."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        function, setting, share = pickle.loads(place.read_bytes())
        module, _, name = function.partition(":")
        call = getattr(importlib.import_module(module), name)
        for _, item in share:
            _write(answers, None)
            _write(answers, (call(item, setting),))


def _write(stream: BinaryIO, answer: Any) -> None:
    body = pickle.dumps(answer)
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
