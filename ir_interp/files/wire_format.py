"""Parts of protobuf's encoding, to read and write a message around bytes that never are in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from mmap import mmap
from typing import Any

_MOST = 2**20
"""Fields of a message. A file of more is read as a whole, by code that takes less time for each."""
_BYTES = 2  # the wire type of messages, texts and bytes (protobuf's encoding page, "Message Structure")
_FIXED = {1: 8, 5: 4}
Field = tuple[int, int, int, int]
Data = bytes | mmap


def field_start(message: Any, name: str, size: int) -> bytes:
    """Return the tag and length in front of a field of ``size`` bytes, of a type of message."""
    return _written(number_of(message, name) << 3 | 2) + _written(size)


def number_of(message: Any, name: str) -> int:
    """Return the number of a field of a type of message."""
    number: int = message.DESCRIPTOR.fields_by_name[name].number
    return number


def _written(number: int) -> bytes:
    """Return a number in groups of 7 bits, the lowest first (protobuf's encoding page, "Base 128 Varints")."""
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + _written(high) if high else bytes([low])


def fields(data: Data, place: int, end: int, most: int = _MOST) -> Iterator[Field]:
    """Yield the fields of a message: number, start, start of the value, and end.

    Raises ValueError or IndexError if the message is broken.
    """
    count = 0
    while place < end:
        start, count = place, count + 1
        if count > most:
            raise ValueError(f"more than {most} fields")
        tag, place = _number(data, place)
        kind, value = tag & 7, place
        if kind == _BYTES:
            length, value = _number(data, place)
            place = value + length
        elif kind in _FIXED:
            place += _FIXED[kind]
        elif kind == 0:
            _, place = _number(data, place)
        else:
            raise ValueError(f"a field of wire type {kind}")
        if place > end:
            raise ValueError("a field beyond the end of its message")
        yield tag >> 3, start, value, place


def _number(data: Data, place: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):  # at most 64 bits
        byte = data[place]
        number |= (byte & 127) << shift
        place += 1
        if byte < 128:
            return number, place
    raise ValueError("a number of more than 64 bits")
