"""Distribute items over the workers of a dask.distributed cluster, as ``pool`` does over its own processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ir_interp.errors import IrInterpError

from ..workers import pool

_WAITING = 4  # items that wait at a worker, for each of its threads


def each(question: pool.Question, items: Sequence[Any], address: str) -> Iterator[tuple[int, Any]]:
    """Yield the number of every item, and its answer or the failure instead.

    Every thread of a worker has its own process, as in ``pool``: an item that ends it or hangs costs only that.
    If a worker ends itself, others take over its items. Raises IrInterpError if there is no cluster.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise IrInterpError("dask.distributed is not installed: pip install 'ir-interp[dask]'") from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError, TypeError) as error:
        raise IrInterpError(f"no cluster answers at {address}: {error}") from None
    with client:
        if not client.nthreads():
            client.wait_for_workers(1)
        waiting = enumerate(items)
        count = _WAITING * sum(client.nthreads().values())
        # Calls with equal arguments are one future in dask unless they are impure; here every item has an answer.
        numbers = {client.submit(pool.answer, question, item, pure=False): n for n, item in islice(waiting, count)}
        done = as_completed(list(numbers))
        for future in done:
            number = numbers.pop(future)
            ended = future.exception()
            yield number, future.result() if ended is None else ended
            for n, item in islice(waiting, 1):
                more = client.submit(pool.answer, question, item, pure=False)
                numbers[more] = n
                done.add(more)
