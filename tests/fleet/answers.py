"""What processes of ``pool`` are asked in tests; it imports nothing that takes long."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def answer(item: int, deadly: int) -> int:
    """Return ten times the item; ``deadly`` ends its process, 4 does once, and 5 hangs."""
    if item == deadly or (item == 4 and not Path("seen").exists()):
        Path("seen").touch()
        os.kill(os.getpid(), signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
    if item == 5:
        time.sleep(3600)
    print("what runtimes print is no answer", flush=True)
    os.write(1, b"neither this")
    return item * 10
