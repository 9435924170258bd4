"""TFLite files as objects of their schema, and back."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError
from ir_interp.files.memory import mapped
from ir_interp.files.sources import opened

from .schema import schema

IDENTIFIER = b"TFL3"
BROKEN = (struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError, UnicodeDecodeError)
"""The errors of reading beyond the end of a flatbuffer, or in the middle of something else."""


def unpacked(path: Path) -> Any:
    """Return the model of a file.

    Raises ReadError if it is broken, or its weights lie behind it, where they cannot be changed.
    """
    try:
        with opened(path) as file:
            model = schema().ModelT.InitFromPackedBuf(mapped(file), 0)
    except BROKEN as error:
        raise ReadError(f"not a TFLite file, or truncated: {error}", path.name) from error
    if any(buffer.offset or buffer.size for buffer in model.buffers or ()):
        raise ReadError("its weights lie behind the model, where they cannot be rewritten", path.name)
    return model


def packed(model: Any) -> bytes:
    """Return a model as the content of a file."""
    import flatbuffers

    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=IDENTIFIER)
    return bytes(builder.Output())
