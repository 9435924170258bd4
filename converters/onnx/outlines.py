"""ONNX models without their larger weights, which stay in the file: each refers to its own bytes there.

Parsing takes twice the bytes of a file, and a runtime that gets a changed copy of the model a third time as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader

import onnx
from onnx.external_data_helper import set_external_data

from ir_interp.files.memory import mapped
from ir_interp.files.wire_format import Data, field_start, fields, number_of

_LARGE = 2**20
"""Bytes of the smallest tensor that stays in the file. Readers take the values of smaller ones, such as sizes."""

_OF_TENSOR = 2**7  # fields; a message of more is read as a whole
_GRAPH = number_of(onnx.ModelProto, "graph")
_INITIALIZER = number_of(onnx.GraphProto, "initializer")
_RAW = number_of(onnx.TensorProto, "raw_data")
_ELSEWHERE = {number_of(onnx.TensorProto, name) for name in ("external_data", "data_location")}


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
    for number, start, value, end in fields(data, 0, len(data)):
        if number == _GRAPH:
            graph = b"".join(_outlined_graph(data, value, end, name))
            yield field_start(onnx.ModelProto, "graph", len(graph)) + graph
        else:
            yield data[start:end]


def _outlined_graph(data: Data, start: int, end: int, name: str) -> Iterator[bytes]:
    for number, first, value, last in fields(data, start, end):
        if number == _INITIALIZER and last - value >= _LARGE:
            tensor = _outlined_tensor(data, value, last, name)
            yield field_start(onnx.GraphProto, "initializer", len(tensor)) + tensor
        else:
            yield data[first:last]


def _outlined_tensor(data: Data, start: int, end: int, name: str) -> bytes:
    known = list(fields(data, start, end, _OF_TENSOR))
    raw = [field for field in known if field[0] == _RAW]
    if len(raw) != 1 or any(number in _ELSEWHERE for number, *_ in known):
        return data[start:end]
    ((_, first, value, last),) = raw
    reference = onnx.TensorProto(raw_data=b"")
    set_external_data(reference, name, value, last - value)
    reference.ClearField("raw_data")
    # Fields of a message may come in any order.
    described: bytes = reference.SerializeToString(deterministic=True)
    return data[start:first] + data[last:end] + described
