"""The limit of the memory that the program takes beyond the files that it reads, and its enforcement.

A few bytes of a file can request any amount: a scale, a size, a Range. Code of this program that allocates by such
numbers calls ``check_bytes`` first. Allocations by ONNX's shape inference and the runtimes are stopped by the system.
A ``StoredArray`` stays in its file, from where the system reads its pages, and drops them, as it needs.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from io import BufferedReader
from math import prod
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from ir_interp.errors import IrInterpError, ShapeError
from ir_interp.files.writing import is_file
from ir_interp.plain_text import decimal_real
from ir_interp.shapes import Array

VARIABLE = "IR_INTERP_MAX_GIB"
"""The environment variable that sets another limit, in GiB."""

_DEFAULT_GIB = 2.0  # beyond the files that are read
_SHARE = 0.5  # of the free memory: the most that a model may take which declares larger tensors
_GROUPS = "/sys/fs/cgroup"
_OF_GROUP = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
_BYTES_A_CORE = 64 * 2**20  # stacks and buffers of the threads of runtimes
_COPIES = 4  # of a file: its bytes, the parsed form, the converted form, and the bytes to write
# not the names of allocators, which onnxruntime's messages of other kinds mention
_OF_MEMORY = re.compile(
    r"bad.alloc|cannot allocate|\ballocat(ed?|ing|ion)\b|MemoryError|out of memory|failed to map segment",
    re.IGNORECASE,
)
_UNCHECKED: ContextVar[bool] = ContextVar("unchecked", default=False)


def let_go(array: object) -> None:
    """Release the memory of an array that is mapped from a file; it is read again when needed."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)


def mapped(file: BufferedReader) -> bytes | mmap.mmap:
    """Return the content of an open file, mapped into memory, from where the system can drop it."""
    is_empty = os.fstat(file.fileno()).st_size == 0
    return b"" if is_empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def blocks(array: Array, multiple: int = 1) -> Iterator[memoryview]:
    """Yield the bytes of an array in blocks, so that one mapped from a file is never in memory as a whole.

    All blocks but the last hold a ``multiple`` of elements.
    """
    whole = array.reshape(-1) if array.flags.c_contiguous else array
    step = max(1, _BLOCK * len(whole) // max(1, array.nbytes) // multiple) * multiple
    for start in range(0, len(whole), step):
        yield np.ascontiguousarray(whole[start : start + step]).reshape(-1).view(np.uint8).data
        let_go(array)


_BLOCK = 2**25  # bytes


class MemoryBoundError(ShapeError):
    """A file or a call requests more memory than the limit."""


def bound() -> int:
    """Return the limit in bytes beyond the files that are read. Raises IrInterpError for an invalid variable.

    The default is 2 GiB. While a model runs whose tensors take more, the limit is their total, up to half of the
    free memory. Undeclared requests of a file, such as a Range, get 2 GiB at most.
    """
    least = default_bound()
    return least if os.environ.get(VARIABLE) else max(least, _Limit.allowed)


def default_bound() -> int:
    """Return the limit in bytes if no model declares larger tensors. Raises IrInterpError for an invalid variable."""
    text = os.environ.get(VARIABLE, "")
    try:
        gibibytes = decimal_real(text) if text else _DEFAULT_GIB
    except ValueError:
        gibibytes = 0.0
    if not 0 < gibibytes < 2**20:
        raise IrInterpError(f"{VARIABLE} is {text!r}; expected a number of GiB above 0")
    return int(gibibytes * 2**30)


def free_bytes() -> int:
    """Return the free memory for this process, in bytes: of the machine and of its control groups; 0 if unknown."""
    # The tightest of all limits decides; a group without a limit has none that is a number.
    return min([*_free_of_machine(), *_free_of_groups()], default=0)


def _free_of_machine() -> Iterator[int]:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _free_of_groups() -> Iterator[int]:
    """Yield what each control group of this process still allows, first those of version 2, then of version 1."""
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers in ("", "memory"):
            place = PurePosixPath(_GROUPS, controllers, group.lstrip("/"))
            for ancestor in (place, *place.parents):
                for most, now in _OF_GROUP:
                    limit, used = _read(str(ancestor / most)).strip(), _read(str(ancestor / now)).strip()
                    if limit.isdecimal() and used.isdecimal():
                        yield max(0, int(limit) - int(used))


def _read(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text(encoding="ascii")
    return ""


def check_bytes(count: float, what: str) -> None:
    """Raise MemoryBoundError if ``what`` needs more bytes than the limit."""
    if not _UNCHECKED.get() and count > bound():
        raise MemoryBoundError(f"{what} would need {count / 2**30:.3g} GiB; {bound_advice()}")


def is_of_memory(text: str) -> bool:
    """Return whether a runtime's error message is about memory."""
    return _OF_MEMORY.search(text) is not None


def unforeseen(error: BaseException) -> str:
    """Return the message of an unexpected error: a refusal if it, or an error that led to it, is about memory."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError) or is_of_memory(str(cause)):
            return memory_refusal(cause)
        cause = cause.__cause__ or cause.__context__
    return f"unexpected {type(error).__name__}: {error}; please report it"


def memory_refusal(error: BaseException) -> str:
    """Return the message for memory that the system refused."""
    return f"not enough memory ({str(error).strip() or 'std::bad_alloc'}); {bound_advice()}"


def bound_advice() -> str:
    """Return the limit, its origin, and how to change it."""
    least = f"the limit is {bound() / 2**30:g} GiB in addition to the input files"
    declared = f" (its tensors take {_Limit.declared / 2**30:.3g} GiB; at most half of the free memory is allowed)"
    return f"{least}{declared if _Limit.declared > bound() else ''}; set {VARIABLE} to change it"


class unchecked:  # noqa: N801 (used like a function; a generator would cost a small resize a microsecond)
    """A context in which ``check_bytes`` passes: a user's own ``resize`` call may be as large as the user likes."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _UNCHECKED.set(True)

    def __exit__(self, *_: object) -> None:
        _UNCHECKED.reset(self._token)


# A limit for the whole process


class _Limit:
    """State of the process limit; ``before`` is None until there is a limit."""

    before: int | None = None  # bytes that the process held when the limit was set
    largest_model = 0
    declared = 0.0  # bytes of the tensors of the models that are being run
    allowed = 0  # the part of these that is allowed


def limit_process() -> None:
    """Let the system refuse memory beyond the limit from now on (Linux only); ``allow_files`` adds files."""
    with suppress(OSError):
        _Limit.before = _held() + _BYTES_A_CORE * (os.cpu_count() or 1)
        _limit()


def allow_files(*paths: Path) -> None:
    """Add the files of a model that is about to be read to the limit, if there is one; the largest model counts."""
    if _Limit.before is not None:
        _Limit.largest_model = max(_Limit.largest_model, bytes_of(paths))
        _limit()


def bytes_of(paths: Iterable[Path]) -> int:
    """Return the size of those paths that are files."""
    return sum(path.stat().st_size for path in paths if is_file(path))


def allow_declared(count: float) -> None:
    """Raise the limit to the bytes of the tensors of a model that is run, as far as the machine has them."""
    if count > _Limit.declared:
        _Limit.declared = count
        _Limit.allowed = max(_Limit.allowed, int(min(count, _SHARE * free_bytes())))
        _limit()


@contextmanager
def running() -> Iterator[None]:
    """Undo at the end what ``allow_declared`` allowed inside."""
    before = _Limit.declared, _Limit.allowed
    try:
        yield
    finally:
        _Limit.declared, _Limit.allowed = before
        _limit()


def _limit() -> None:
    """Set the limit of this process in the system, if it has one."""
    if _Limit.before is not None:
        _set(_Limit.before + bound() + _COPIES * _Limit.largest_model)


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes; 0 if the system does not report it."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * mmap.PAGESIZE
    return 0


def _held() -> int:
    """Return the bytes of data that this process has now. Raises OSError if the system does not report them."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmData"))


def _set(count: int) -> None:
    with suppress(ImportError, ValueError, OSError):  # not on Windows, nor beyond the user's own limit
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (count if hard < 0 else min(count, hard), hard))


LARGE = 2**20
"""Bytes of the smallest weight that stays in a file. Frontends read smaller ones, which may be sizes."""

_ALIGNMENT = 64  # bytes: that of TensorFlow's tensors, the most that a runtime asks for


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredArray:
    """An array in a file, from the byte ``offset`` on: the NumPy name of its element type, and its shape."""

    path: Path
    offset: int
    dtype: str
    shape: tuple[int, ...]

    def mapped(self) -> Array:
        """Return the array, mapped from its file; what is written to it stays in memory."""
        return np.memmap(self.path, self.dtype, "c", self.offset, self.shape)


def append(array: Array, path: Path) -> StoredArray:
    """Write an array behind others in a file, which is new if there is none."""
    with path.open("ab") as file:
        file.write(bytes(-file.tell() % _ALIGNMENT))
        offset = file.tell()
        file.writelines(blocks(array))
    return StoredArray(path=path, offset=offset, dtype=str(array.dtype), shape=array.shape)


def created(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Return a new array in a file, mapped to be written. Raises OSError if the disk lacks the space."""
    with path.open("xb") as file:
        if hasattr(os, "posix_fallocate"):  # otherwise a full disk ends the process that writes a page
            os.posix_fallocate(file.fileno(), 0, prod(shape) * dtype.itemsize)
    return np.memmap(path, dtype, "r+", shape=shape)
