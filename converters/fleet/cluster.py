"""Hand items out to the workers of a dask.distributed cluster, as ``pool`` does to processes of its own."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ir_interp.errors import IrInterpError

_WAITING = 4  # items that wait at a worker, for each of its threads


def each(function: str, items: Sequence[Any], setting: Any, address: str) -> Iterator[tuple[int, Any]]:
    """Yield what ``function``, as in ``package.module:name``, makes of every item: its number, and the answer.

    Where a worker ends, others take its items over; an item that has ended several is answered by that error. Raises
    IrInterpError where there is no cluster.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise IrInterpError("dask.distributed is not installed: pip install 'ir-interp[dask]'") from None
    module, _, name = function.partition(":")
    call = getattr(importlib.import_module(module), name)
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError, TypeError) as error:
        raise IrInterpError(f"no cluster answers at {address}: {error}") from None
    with client:
        if not client.nthreads():
            client.wait_for_workers(1)
        waiting = enumerate(items)
        count = _WAITING * sum(client.nthreads().values())
        numbers = {client.submit(call, item, setting, pure=False): n for n, item in islice(waiting, count)}
        done = as_completed(list(numbers))
        for future in done:
            number = numbers.pop(future)
            ended = future.exception()
            yield number, future.result() if ended is None else ended
            for n, item in islice(waiting, 1):
                more = client.submit(call, item, setting, pure=False)
                numbers[more] = n
                done.add(more)
