"""Save models with OpenVINO, whose streams do not report why they failed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import openvino

_OF_STREAMS = "basic_ios"  # in the message of std::ios_base::failure
_PROBE = bytes(2**16)


def save_model(model: openvino.Model, path: Path, *, half: bool = False) -> None:
    """Write an IR, its constants in half precision if ``half``. Raises OSError, with its reason, for a full disk."""
    import openvino

    try:
        openvino.save_model(model, path, compress_to_fp16=half)
    except RuntimeError as error:
        if _OF_STREAMS not in str(error):
            raise
        for file in (path, path.with_suffix(".bin")):
            _write_more(file)
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path)) from error


def _write_more(path: Path) -> None:
    """Write to a file as the stream did, to get the reason. Raises OSError."""
    with path.open("ab") as file:
        file.write(_PROBE)
        file.flush()
        os.fsync(file.fileno())
