"""The exporter of a model, as recorded near the beginning of its file; nothing else of it is read."""

from __future__ import annotations

import re
from pathlib import Path

from ir_interp.files.kinds import FileKind
from ir_interp.files.sources import opened

UNKNOWN = "unknown"
"""The name for an exporter that a file does not record."""

_HEAD = 2**12  # bytes that are read: the producer stands in front of the graph
_PRODUCER, _VERSION, _GRAPH = 2, 3, 7  # fields of ONNX's ModelProto
_TEXT = 2  # the wire type of strings and messages


def exporter(path: Path) -> str:
    """Return the producer of a model and its version, of an IR the version; "unknown" if not recorded."""
    kind = FileKind.of(path)
    if kind and kind.framework:
        return UNKNOWN if kind is FileKind.TFLITE else kind.framework.title  # a .tflite records no converter
    try:
        with opened(path) as file:
            head = file.read(_HEAD)
    except OSError:
        return UNKNOWN
    if kind is FileKind.IR:
        match = re.search(rb"<net[^>]*\sversion=\"(\d+)\"", head)
        return f"OpenVINO IR v{match[1].decode()}" if match else UNKNOWN
    texts = _texts(head)
    return " ".join(filter(None, (texts.get(_PRODUCER), texts.get(_VERSION)))) or UNKNOWN


def _texts(head: bytes) -> dict[int, str]:
    """Return the strings of a protocol buffers message that stand before its graph, by field."""
    texts: dict[int, str] = {}
    at = 0
    while at < len(head):
        tag, at = _number(head, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            _, at = _number(head, at)
        elif wire == _TEXT and field != _GRAPH:
            length, at = _number(head, at)
            texts[field] = head[at : at + length].decode(errors="replace")
            at += length
        else:
            break
    return texts


def _number(head: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the place behind it."""
    value = shift = 0
    while at < len(head):
        byte = head[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            break
    return value, at
