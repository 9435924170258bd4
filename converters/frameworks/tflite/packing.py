"""TFLite files as objects of their schema, and back."""

from __future__ import annotations

import struct
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ReadError
from ir_interp.files.memory import blocks, mapped
from ir_interp.files.sources import opened

from .schema import schema

IDENTIFIER = b"TFL3"
BROKEN = (struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError, UnicodeDecodeError)
"""The errors of reading beyond the end of a flatbuffer, or in the middle of something else."""

INSIDE = 1
"""The largest offset of a buffer whose bytes are in the model itself."""

_REST = 2**26  # bytes of a model beside its buffers
_MOST = 2**31 - _REST  # bytes in the buffers of a model, whose offsets have 31 bits
_ALIGNMENT = 64  # bytes


def unpacked(path: Path) -> Any:
    """Return the model of a file; the bytes of its buffers stay there, at their ``offset``.

    Raises ReadError if it is broken.
    """
    try:
        with opened(path) as file:
            content = mapped(file)
        model = schema().ModelT.InitFromPackedBuf(content, 0)
        start = np.frombuffer(content, np.uint8).ctypes.data
        for buffer in model.buffers or ():
            if buffer.offset > INSIDE:
                buffer.data = behind(content, buffer.offset, buffer.size)
            elif buffer.data is not None:
                buffer.offset, buffer.size = buffer.data.ctypes.data - start, len(buffer.data)
    except BROKEN as error:
        raise ReadError(f"not a TFLite file, or truncated: {error}", path.name) from error
    return model


def behind(content: bytes | mmap, offset: int, size: int) -> NDArray[np.uint8]:
    """Return the bytes of a buffer behind the model. Raises ValueError if the file ends before them."""
    return np.frombuffer(content, np.uint8, size, offset)


def packed(model: Any) -> bytes:
    """Return a model as the content of a file, with the bytes of all buffers inside."""
    for buffer in model.buffers:
        buffer.offset = buffer.size = 0
    return _packed(model)


def _packed(model: Any) -> bytes:
    import flatbuffers

    # With room for the rest: it doubles when it is full, while bytes that are not written take no memory.
    builder = flatbuffers.Builder(_REST + sum(len(buffer.data) for buffer in _filled(model)))
    builder.Finish(model.Pack(builder), file_identifier=IDENTIFIER)
    return bytes(memoryview(builder.Bytes)[builder.Head() :])


def write(model: Any, path: Path) -> None:
    """Write a model as a file, with the bytes of all buffers inside; behind it if a model cannot hold them."""
    if fits(model):
        path.write_bytes(packed(model))
    else:
        write_apart(model, path)


def fits(model: Any) -> bool:
    """Return whether a model can hold the bytes of all buffers."""
    return sum(len(buffer.data) for buffer in _filled(model)) < _MOST


def write_apart(model: Any, path: Path) -> None:
    """Write a model as a file, with the bytes of all buffers behind it; they are never in memory as a whole."""
    buffers = _filled(model)
    contents = [np.asarray(buffer.data, np.uint8) for buffer in buffers]
    for buffer in buffers:
        buffer.data, buffer.offset, buffer.size = None, INSIDE + 1, 1
    with path.open("wb") as file:
        file.write(_packed(model))  # for its size: numbers have a fixed width
        for buffer, content in zip(buffers, contents, strict=True):
            file.write(bytes(-file.tell() % _ALIGNMENT))
            buffer.offset, buffer.size = file.tell(), len(content)
            file.writelines(blocks(content))
        file.seek(0)
        file.write(_packed(model))


def _filled(model: Any) -> list[Any]:
    return [buffer for buffer in model.buffers if buffer.data is not None and len(buffer.data)]
