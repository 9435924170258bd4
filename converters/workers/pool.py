"""Distribute items over processes, and take their answers as they come.

An item whose process ends is tried once more; if that ends another one, it costs only itself. So does an item that
exceeds its time limit.
"""

from __future__ import annotations

import atexit
import queue
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import Any

from .worker import Died, Late, Question, Worker

__all__ = ["Died", "Late", "Question", "answer", "each"]

_IDLE = 60.0  # seconds without an item, after which a process that is kept for a cluster ends


def each(question: Question, items: Sequence[Any], count: int) -> Generator[tuple[int, Any]]:
    """Yield the number of every item, and its answer or the failure instead, from ``count`` processes.

    Raises IrInterpError if processes do not even start.
    """
    crew = [Worker() for _ in range(max(1, min(count, len(items))))]
    idle = queue.SimpleQueue[Worker]()

    def ask(item: Any) -> Any:
        worker = idle.get()
        try:
            return worker.answer(question, item)
        finally:
            idle.put(worker)

    # Contexts end in reverse: workers are stopped first, so that no thread waits for an answer, and closed last.
    with ExitStack() as closed, ThreadPoolExecutor(len(crew)) as threads, ExitStack() as stopped:
        for worker in crew:
            idle.put(worker)
            closed.callback(worker.close)
            stopped.callback(worker.stop)
        pending: dict[Future[Any], int] = {}
        for number, item in enumerate(items):
            pending[threads.submit(ask, item)] = number
            if len(pending) == len(crew):
                yield from _answered(pending)
        while pending:
            yield from _answered(pending)


def _answered(pending: dict[Future[Any], int]) -> Iterator[tuple[int, Any]]:
    """Wait for an answer, and yield those that are there."""
    for future in wait(pending, return_when=FIRST_COMPLETED).done:
        yield pending.pop(future), future.result()


def answer(question: Question, item: Any) -> Any:
    """Return the answer to one item, or the failure instead, from a process that is kept for the next one.

    For threads that are not this program's own, such as those of a cluster's workers.
    """
    try:
        worker = _kept.get_nowait()
    except queue.Empty:
        worker = Worker(idle=_IDLE)
        atexit.register(worker.close)
    try:
        return worker.answer(question, item)
    finally:
        _kept.put(worker)


_kept = queue.SimpleQueue[Worker]()
