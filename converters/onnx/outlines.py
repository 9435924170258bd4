"""ONNX models without their larger weights, which stay in the file: each refers to its own bytes there.

Parsing takes twice the bytes of a file, and a runtime that gets a changed copy of the model a third time as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from mmap import mmap

import onnx
from onnx.external_data_helper import set_external_data

from ir_interp.files.memory import mapped
from ir_interp.files.wire_format import field_start, number_of

_LARGE = 2**20
"""Bytes of the smallest tensor that stays in the file. Readers take the values of smaller ones, such as sizes."""

_MOST, _OF_TENSOR = 2**20, 2**7
"""Fields of a message. A file of more is read as a whole, by code that takes less time for each."""
_BYTES = 2  # the wire type of messages, texts and bytes (protobuf's encoding page, "Message Structure")
_FIXED = {1: 8, 5: 4}
_GRAPH = number_of(onnx.ModelProto, "graph")
_INITIALIZER = number_of(onnx.GraphProto, "initializer")
_RAW = number_of(onnx.TensorProto, "raw_data")
_ELSEWHERE = {number_of(onnx.TensorProto, name) for name in ("external_data", "data_location")}
_Field = tuple[int, int, int, int]
Data = bytes | mmap


def outline(file: BufferedReader, name: str) -> bytes:
    """Return a model as bytes, in which the larger initializers are external data of the file itself, of this name.

    Bytes that are no model are returned unchanged.
    """
    data = mapped(file)
    if len(data) >= _LARGE:
        with suppress(IndexError, ValueError):  # of a broken message, which the parser will report
            return b"".join(_outlined_model(data, name))
    return data[:]


def _outlined_model(data: Data, name: str) -> Iterator[bytes]:
    for number, start, value, end in _fields(data, 0, len(data)):
        if number == _GRAPH:
            graph = b"".join(_outlined_graph(data, value, end, name))
            yield field_start(onnx.ModelProto, "graph", len(graph)) + graph
        else:
            yield data[start:end]


def _outlined_graph(data: Data, start: int, end: int, name: str) -> Iterator[bytes]:
    for number, first, value, last in _fields(data, start, end):
        if number == _INITIALIZER and last - value >= _LARGE:
            tensor = _outlined_tensor(data, value, last, name)
            yield field_start(onnx.GraphProto, "initializer", len(tensor)) + tensor
        else:
            yield data[first:last]


def _outlined_tensor(data: Data, start: int, end: int, name: str) -> bytes:
    fields = list(_fields(data, start, end, _OF_TENSOR))
    raw = [field for field in fields if field[0] == _RAW]
    if len(raw) != 1 or any(number in _ELSEWHERE for number, *_ in fields):
        return data[start:end]
    ((_, first, value, last),) = raw
    reference = onnx.TensorProto(raw_data=b"")
    set_external_data(reference, name, value, last - value)
    reference.ClearField("raw_data")
    # Fields of a message may come in any order.
    described: bytes = reference.SerializeToString(deterministic=True)
    return data[start:first] + data[last:end] + described


def _fields(data: Data, place: int, end: int, most: int = _MOST) -> Iterator[_Field]:
    """Yield the fields of a message: number, start, start of the value, and end.

    Raises ValueError or IndexError if the message is broken.
    """
    count = 0
    while place < end:
        start, count = place, count + 1
        if count > most:
            raise ValueError(f"more than {most} fields")
        tag, place = _varint(data, place)
        kind, value = tag & 7, place
        if kind == _BYTES:
            length, value = _varint(data, place)
            place = value + length
        elif kind in _FIXED:
            place += _FIXED[kind]
        elif kind == 0:
            _, place = _varint(data, place)
        else:
            raise ValueError(f"a field of wire type {kind}")
        if place > end:
            raise ValueError("a field beyond the end of its message")
        yield tag >> 3, start, value, place


def _varint(data: Data, place: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):  # at most 64 bits
        byte = data[place]
        number |= (byte & 127) << shift
        place += 1
        if byte < 128:
            return number, place
    raise ValueError("a number of more than 64 bits")
