"""Errors of one file among many, each with its place, so that no file ends an audit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ir_interp.errors import IrInterpError, ReadError, leaves
from ir_interp.files.memory import memory_refusal


@contextmanager
def noted(errors: list[ReadError], where: str) -> Iterator[None]:
    """Add any exception raised inside to ``errors``, under ``where`` if it names no place itself."""
    try:
        yield
    except Exception as error:
        errors += [_mishap(leaf, where) for leaf in leaves(error)]


def _mishap(error: BaseException, where: str) -> ReadError:
    if isinstance(error, ReadError):
        return error
    if isinstance(error, IrInterpError):
        return ReadError(str(error), where)
    if isinstance(error, MemoryError):
        return ReadError(memory_refusal(error), where)
    return ReadError(f"unexpected {type(error).__name__}: {error}; please report it", where)
