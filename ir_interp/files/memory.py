"""How much memory the program takes beyond the files that it reads: a bound, and what sees to it.

A few bytes of a file can ask for any amount: a scale, a length, a Range. What this program sizes by such numbers asks
``check_bytes`` first. What others size by them, ONNX's shape inference and the runtimes, is stopped by the system.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ShapeError
from ir_interp.files.paths import is_file
from ir_interp.text.decimals import real

VARIABLE = "IR_INTERP_MAX_GIB"
"""The variable of the environment that holds another bound, in GiB."""

_DEFAULT_GIB = 2.0
_SHARE = 0.5  # of the memory that is free: what a model may take that declares so much
_GROUPS = "/sys/fs/cgroup"
_OF_GROUP = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
_BYTES_A_CORE = 64 * 2**20  # stacks and buffers of the threads of runtimes
_COPIES = 4  # of a file that is read: as it is, parsed, in another form, as it is written
_OF_MEMORY = re.compile("bad.alloc|allocat|MemoryError", re.IGNORECASE)
_UNCHECKED: ContextVar[bool] = ContextVar("unchecked", default=False)


def let_go(array: object) -> None:
    """Give back the memory of an array that is mapped from a file, which is read again where it is needed."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)


def blocks(array: NDArray[Any], multiple: int = 1) -> Iterator[memoryview]:
    """Yield the bytes of an array, some at a time: of one that is mapped from a file, no more lies in memory.

    All but the last hold a ``multiple`` of elements.
    """
    whole = array.reshape(-1) if array.flags.c_contiguous else array
    step = max(1, _BLOCK * len(whole) // max(1, array.nbytes) // multiple) * multiple
    for start in range(0, len(whole), step):
        yield np.ascontiguousarray(whole[start : start + step]).reshape(-1).view(np.uint8).data
        let_go(array)


_BLOCK = 2**25  # bytes


class MemoryBoundError(ShapeError):
    """What a file or a call asks for needs more memory than the program takes."""


def bound() -> int:
    """Return how many bytes may be taken beyond the files that are read. Raises IrInterpError for a wrong variable.

    The default is 2 GiB. While a model runs whose tensors take more, the bound is what they take, up to half of the
    free memory. What a file asks for without declaring it, such as a Range, gets 2 GiB at most.
    """
    text = os.environ.get(VARIABLE, "")
    try:
        wanted = real(text) if text else _DEFAULT_GIB
    except ValueError:
        wanted = 0.0
    if not 0 < wanted < 2**20:
        raise IrInterpError(f"{VARIABLE} is {text!r}; expected a number of GiB above 0")
    least = int(wanted * 2**30)
    return least if text else max(least, _Limit.allowed)


def free_bytes() -> int:
    """Return the memory that is free for this process: of the machine and of its control groups; 0 where unknown."""
    return min([*_free_of_machine(), *_free_of_groups()], default=0)


def _free_of_machine() -> Iterator[int]:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _free_of_groups() -> Iterator[int]:
    """Yield what each control group that this process is in still allows: those of version 2, then of version 1."""
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers in ("", "memory"):
            place = PurePosixPath(_GROUPS, controllers, group.lstrip("/"))
            for each in (place, *place.parents):
                for most, now in _OF_GROUP:
                    limit, used = _read(str(each / most)).strip(), _read(str(each / now)).strip()
                    if limit.isdecimal() and used.isdecimal():
                        yield max(0, int(limit) - int(used))


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="ascii")
    return ""


def check_bytes(count: float, what: str) -> None:
    """Raise MemoryBoundError where ``what`` needs more bytes than the bound."""
    if not _UNCHECKED.get() and count > bound():
        raise MemoryBoundError(f"{what} would need {count / 2**30:.3g} GiB; {bound_advice()}")


def is_of_memory(text: str) -> bool:
    """Say whether what a runtime says is that it was not given memory."""
    return _OF_MEMORY.search(text) is not None


def memory_refusal(error: MemoryError) -> str:
    """Return what to say of memory that the system did not give."""
    return f"more memory would be needed ({str(error).strip() or 'std::bad_alloc'}); {bound_advice()}"


def bound_advice() -> str:
    """Return what the bound is, where it comes from, and how to set another."""
    least = f"the bound is {bound() / 2**30:g} GiB beyond the files"
    declared = f" (its tensors take {_Limit.declared / 2**30:.3g} GiB; at most half of the free memory is allowed)"
    return f"{least}{declared if _Limit.declared > bound() else ''}, and {VARIABLE} sets another"


class unchecked:  # noqa: N801 (used like a function; a generator would cost a small resize a microsecond)
    """A context in which ``check_bytes`` passes: a user's own call of ``resize`` may be as large as the user likes."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _UNCHECKED.set(True)

    def __exit__(self, *_: object) -> None:
        _UNCHECKED.reset(self._token)


# A limit for the whole process


class _Limit:
    """What this process may hold; None before there is a limit."""

    before: int | None = None  # bytes that it held when the limit began
    largest_model = 0
    declared = 0.0  # bytes of the tensors of the models that are being run
    allowed = 0  # of these


def limit_process() -> None:
    """Let the system refuse what passes the bound from now on, where it is Linux; ``allow_files`` adds the files."""
    with suppress(OSError):
        _Limit.before = _held() + _BYTES_A_CORE * (os.cpu_count() or 1)
        _limit()


def allow_files(*paths: Path) -> None:
    """Add to the limit of this process, if it has one, the files of a model that is to be read; the largest counts."""
    if _Limit.before is not None:
        _Limit.largest_model = max(_Limit.largest_model, sum(path.stat().st_size for path in paths if is_file(path)))
        _limit()


def allow_declared(count: float) -> None:
    """Let this process take as many bytes as the tensors of a model that it runs, as far as the machine has them."""
    if count > _Limit.declared:
        _Limit.declared = count
        _Limit.allowed = max(_Limit.allowed, int(min(count, _SHARE * free_bytes())))
        _limit()


@contextmanager
def running() -> Iterator[None]:
    """Forget at the end what ``allow_declared`` allowed inside."""
    before = _Limit.declared, _Limit.allowed
    try:
        yield
    finally:
        _Limit.declared, _Limit.allowed = before
        _limit()


def _limit() -> None:
    """Tell the system what this process may hold, if it has a limit."""
    if _Limit.before is not None:
        _set(_Limit.before + bound() + _COPIES * _Limit.largest_model)


def resident_bytes() -> int:
    """Return how much memory this process has now; 0 where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * mmap.PAGESIZE
    return 0


def _held() -> int:
    """Return the bytes of data that this process has now. Raises OSError where the system does not say."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmData"))


def _set(count: int) -> None:
    with suppress(ImportError, ValueError, OSError):  # not on Windows, nor beyond the user's own limit
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (count if hard < 0 else min(count, hard), hard))
