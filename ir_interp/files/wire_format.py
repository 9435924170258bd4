"""Parts of protobuf's encoding, to write a message around bytes that never are in memory as a whole."""

from __future__ import annotations

from typing import Any


def field_start(message: Any, name: str, size: int) -> bytes:
    """Return the tag and length in front of a field of ``size`` bytes, of a type of message."""
    return _varint(number_of(message, name) << 3 | 2) + _varint(size)


def number_of(message: Any, name: str) -> int:
    """Return the number of a field of a type of message."""
    number: int = message.DESCRIPTOR.fields_by_name[name].number
    return number


def _varint(number: int) -> bytes:
    """Return a number in groups of 7 bits, the lowest first (protobuf's encoding page, "Base 128 Varints")."""
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + _varint(high) if high else bytes([low])
