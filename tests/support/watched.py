"""What a program opens in a folder, and whether it connects to this machine, as the kernel sees it."""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

IN_OPEN, IN_CLOSE, IN_ISDIR = 0x20, 0x18, 0x40000000  # of <sys/inotify.h>
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name
CAN_WATCH = sys.platform == "linux"


@contextmanager
def opened_in(folder: Path) -> Iterator[set[str]]:
    """Yield a set that holds, at the end, the names of all files in a folder and below that any process opened."""
    libc, opened = ctypes.CDLL(None, use_errno=True), set[str]()
    descriptor = libc.inotify_init1(os.O_NONBLOCK)
    watched = {}
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink())):
        watched[libc.inotify_add_watch(descriptor, os.fsencode(place), IN_OPEN)] = place.relative_to(folder)
    try:
        yield opened
        opened |= {str(watched[watch] / name) for watch, mask, name in _events(descriptor) if not mask & IN_ISDIR}
    finally:
        os.close(descriptor)


def _events(descriptor: int) -> Iterator[tuple[int, int, str]]:
    """Yield the events that wait in a log: the watch, the mask, and the name of a file."""
    with suppress(BlockingIOError):
        while events := os.read(descriptor, 2**16):
            while events:
                watch, mask, _, length = _EVENT.unpack_from(events)
                yield watch, mask, os.fsdecode(events[_EVENT.size : _EVENT.size + length].rstrip(b"\0"))
                events = events[_EVENT.size + length :]


class Listener:
    """A server on this machine that counts connections."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.connections += 1
                connection.close()

    def close(self) -> None:
        """Stop listening."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@contextmanager
def listening() -> Iterator[Listener]:
    """Yield a server that counts connections."""
    listener = Listener()
    try:
        yield listener
    finally:
        listener.close()


@contextmanager
def replaced_after(count: int, used: Path, path: Path, other: Path) -> Iterator[None]:
    """Let another file take the place of one as soon as any process has opened or closed ``used`` so often."""
    libc, has_ended = ctypes.CDLL(None, use_errno=True), threading.Event()
    descriptor = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(descriptor, os.fsencode(used.parent), IN_OPEN | IN_CLOSE)

    def replace() -> None:
        uses = 0
        while uses < count and not has_ended.is_set():
            if select.select([descriptor], [], [], 0.05)[0]:
                uses += [name for _, _, name in _events(descriptor)].count(used.name)
        if uses >= count:
            other.replace(path)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
        os.close(descriptor)
