"""Fork while other threads resize: no child may hang, and each resizes to the same bytes.

``python -m tests.sweeps.forks --cases 1000 --seed 1`` exits with 1 where a child hangs or differs. ``--logging``
imports ``logging``, which has a hook of its own, before anything else.
"""

from __future__ import annotations

import sys

if "--logging" in sys.argv:
    import logging  # noqa: F401

import contextlib
import faulthandler
import os
import signal
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import Antialias, Cubic, Linear, ResizeSpec, Sizes, resize
from tests.support.sweeps import options

SPECS = (
    ResizeSpec(kernel=Cubic(a=-0.5), axes=(1, 2), target=Sizes((200, 210))),
    ResizeSpec(kernel=Linear(antialias=Antialias.SHRINKING), axes=(1, 2), target=Sizes((30, 40))),
)
DTYPES = ("float32", "uint8", "float16", "int32")
_SECONDS = 30.0
"""A child that takes longer hangs: it takes a few milliseconds, or seconds where a loop is compiled."""


def calls() -> list[tuple[NDArray[Any], ResizeSpec]]:
    """Return arrays, and resizes of them."""
    rng = np.random.default_rng(0)
    return [((rng.random((8, 100, 120)) * 100).astype(dtype), spec) for dtype in DTYPES for spec in SPECS]


def resize_for_ever(call: tuple[NDArray[Any], ResizeSpec], stopped: threading.Event) -> None:
    """Resize until it is enough."""
    while not stopped.is_set():
        resize(*call)


def fault(child: int, limit: float) -> str:
    """Return what is wrong with a child; nothing where it ends as it should."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "" if status == 0 else f"status {status}"
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hangs"


def main() -> None:
    """Fork, and print how many children hang or differ."""
    parser = options(__doc__)
    parser.add_argument("--logging", action="store_true", help="import logging first")
    arguments = parser.parse_args()
    stopped, found = threading.Event(), []
    threads = [threading.Thread(target=resize_for_ever, args=(call, stopped), daemon=True) for call in calls()[::3]]
    for thread in threads:
        thread.start()
    rng = np.random.default_rng(arguments.seed)
    digests: dict[int, bytes] = {}
    for number in range(arguments.cases):
        which = number % len(calls())
        x, spec = calls()[which]
        if number >= len(calls()):  # the first forks fall into the loading of loops
            digests.setdefault(which, resize(x, spec).tobytes())
        time.sleep(float(rng.uniform(0, 0.01)))
        child = os.fork()
        if not child:
            faulthandler.dump_traceback_later(_SECONDS / 2)
            with contextlib.suppress(BaseException):
                same = digests.get(which) in (None, resize(x, spec).tobytes())
                os._exit(0 if same else 3)
            os._exit(4)
        if wrong := fault(child, _SECONDS):
            found.append(wrong)
            print(f"fork {number}, {x.dtype}: {wrong}", flush=True)
    stopped.set()
    print(f"{arguments.cases} forks, {len(found)} wrong", flush=True)
    os._exit(bool(found))


if __name__ == "__main__":
    main()
