"""What libraries only log about a damaged file, as errors: a tag that is ignored may have placed the image."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ir_interp.errors import IrInterpError, ReadError


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def reported(path: Path, kind: str, logger_name: str) -> Iterator[None]:
    """Raise ReadError for whatever a library raises or logs in the block, which reads the header of a file."""
    logger, records = logging.getLogger(logger_name), _Records()
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(records)
    try:
        yield
    except (MemoryError, IrInterpError):
        raise
    except Exception as error:  # of any kind: headers are what the file makes them
        raise ReadError(f"not a {kind} file: {error}", str(path)) from None
    finally:
        logger.removeHandler(records)
        logger.propagate = propagates
    if records.messages:
        raise ReadError(f"a damaged {kind} file: {records.messages[0]}", str(path))
