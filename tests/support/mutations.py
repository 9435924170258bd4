"""Files with something wrong in them: copies of good ones, changed at random places."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import onnx
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from lxml import etree

INTEGERS = (0, 1, -1, 2, 3, 7, 127, 4096, 2**16, 2**27, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**31), -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 1e-9, 1e-40, 1e9, 1e38, -1e38, float("inf"), float("-inf"), float("nan"))
ATTACK = '""";import os;os.system("touch PWNED");"""'
"""A text that makes a file PWNED, where a program of Python holds it without escapes."""

TEXTS = (
    "", " ", "\t1\n", "0", "-1", "1_0", "-0.7_5", "\u0661\u0662", "0x10", "1e3", "nan", "inf", "1,", ",", "1,,2", "1;2",
    "99999999999999999999999", "a" * 5000, "a" * 300, "..", "../../etc/passwd", "/dev/zero", ".", "x/y", "a\u202eb",
    "\x1b[31m", "::error::", "\u00e9\u4e2d\U0001f600", "true", "False", "None", "linear", "nearest", "cubic", "opset1",
    ATTACK, "</script><script>alert(1)</script>", "`touch PWNED`", "${HOME}$(touch PWNED)", "'''", "x\ry\nz", "\0",
    "# coding: utf-7", "](http://a.b)",
    "opset99", "f32", "i64", "u4", "string", "dynamic", "FP32",
    "Interpolate", "Resize", "Const", "Parameter",
)  # fmt: skip


def mutated(name: str, content: bytes, rng: Random) -> bytes:
    """Return a file's content with one to four changes; of a kind that is known, mostly such that it stays one."""
    change = _BY_KIND.get(Path(f"x{Path(name).name}").suffix, _bytes)  # .zarray has no suffix
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        try:
            content = (_bytes if rng.random() < 0.1 else change)(content, rng)
        except (
            ValueError,
            IndexError,
            DecodeError,
            etree.XMLSyntaxError,
            zipfile.BadZipFile,
        ):  # it is none of its kind any more
            content = _bytes(content, rng)
    return content


def text(rng: Random) -> str:
    """Return a text that nothing expects."""
    return rng.choice((rng.choice(TEXTS), str(rng.choice(INTEGERS)), str(rng.choice(FLOATS))))


def _bytes(content: bytes, rng: Random) -> bytes:
    start, length = rng.randrange(len(content) + 1), rng.choice((1, 1, 2, 8, 64))
    piece = content[start : start + length]
    return rng.choice(
        (
            content[:start],
            content[:start] + content[start + length :],
            content[:start] + piece + content[start:],
            content[:start] + bytes([rng.randrange(256)]) + content[start + 1 :],
            content[:start] + text(rng).encode() + content[start + length :],
        )
    )


# XML


def _xml(content: bytes, rng: Random) -> bytes:
    root = etree.fromstring(content)
    element = rng.choice(list(root.iter()))
    rng.choice((_attribute, _attribute, _attribute, _lost_attribute, _lost, _twice, _inner_text, _moved))(element, rng)
    return etree.tostring(root)


def _attribute(element: Any, rng: Random) -> None:
    name = rng.choice([*element.keys(), *element.keys(), "id", "shape", "axes", "mode", "version"])
    value = element.get(name, "")
    parts = value.split(",")
    parts[rng.randrange(len(parts))] = text(rng)
    element.set(name, "".join(each for each in rng.choice((text(rng), ",".join(parts))) if each.isprintable()))


def _lost_attribute(element: Any, rng: Random) -> None:
    for name in element.keys()[:1] and [rng.choice(element.keys())]:
        del element.attrib[name]


def _lost(element: Any, rng: Random) -> None:
    if element.getparent() is not None:
        element.getparent().remove(element)


def _twice(element: Any, rng: Random) -> None:
    element.append(etree.fromstring(etree.tostring(element)))
    if element.getparent() is not None and rng.random() < 0.7:
        element.getparent().append(element[-1])


def _inner_text(element: Any, rng: Random) -> None:
    element.text = "".join(each for each in text(rng) if each.isprintable())


def _moved(element: Any, rng: Random) -> None:
    other = rng.choice(list(element.getroottree().getroot().iter()))
    if element not in (other, *other.iterancestors()):
        other.append(element)


# ONNX


def _proto(content: bytes, rng: Random) -> bytes:
    model = onnx.ModelProto.FromString(content)
    messages = list(_messages(model))
    message = rng.choice(messages)
    fields = [field for field, _ in message.ListFields()] * 3 + list(message.DESCRIPTOR.fields)
    field = rng.choice(fields)
    if _is_repeated(field):
        _change_list(getattr(message, field.name), field, messages, rng)
    elif rng.random() < 0.15:
        message.ClearField(field.name)
    elif field.message_type:
        _copy(getattr(message, field.name), messages, rng)
    else:
        setattr(message, field.name, _scalar(field, rng, getattr(message, field.name)))
    return bytes(model.SerializeToString())


def _is_repeated(field: FieldDescriptor) -> bool:
    return bool(field.is_repeated)


def _messages(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if _is_repeated(field) else (value,):
                yield from _messages(inner)


def _change_list(values: Any, field: FieldDescriptor, messages: list[Message], rng: Random) -> None:
    place = rng.randrange(len(values)) if values else None
    action = rng.random()
    if place is not None and action < 0.3:
        del values[place]
    elif field.message_type:
        _copy(values[place] if place is not None and action < 0.6 else values.add(), messages, rng)
    elif place is not None and action < 0.7:
        values[place] = _scalar(field, rng, values[place])
    else:
        values.append(_scalar(field, rng, values[place] if place is not None else None))


def _copy(target: Message, messages: list[Message], rng: Random) -> None:
    same = [each for each in messages if each.DESCRIPTOR is target.DESCRIPTOR]
    if same and len(chosen := rng.choice(same).SerializeToString()) < 2**16:
        target.MergeFromString(chosen)


def _scalar(field: FieldDescriptor, rng: Random, old: Any) -> Any:
    kind = field.cpp_type
    if kind in (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE):
        return rng.choice(FLOATS)
    if kind == FieldDescriptor.CPPTYPE_STRING:
        if field.type == FieldDescriptor.TYPE_BYTES:
            return rng.choice((text(rng).encode(), b"\xff\xfe", (old or b"")[:-1], (old or b"") * 2))
        return text(rng)
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return rng.choice([each.number for each in field.enum_type.values])
    narrow = kind in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_UINT32)
    small = [each for each in INTEGERS if -(2**31) <= each < 2**31] if narrow else list(INTEGERS)
    small += list(range(26))
    if kind in (FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64):
        return abs(rng.choice(small))
    return rng.choice(small)


# TFLite


def _tflite(content: bytes, rng: Random) -> bytes:
    if not find_spec("ai_edge_litert"):  # it has the schema
        return _bytes(content, rng)
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    try:
        model = schema.ModelT.InitFromPackedBuf(content, 0)
        _change_field(model, rng)
        builder = flatbuffers.Builder(len(content))
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    except Exception as error:  # of any kind: it is broken already, or the format has no place for the value
        raise ValueError(str(error)) from None
    return bytes(builder.Output())


def _change_field(model: Any, rng: Random) -> None:
    holder, name = rng.choice(list(_fields(model)))
    old = getattr(holder, name)
    if isinstance(old, list) and old:
        old[rng.randrange(len(old))] = rng.choice((*old, None, rng.choice(INTEGERS)))
    else:
        setattr(holder, name, rng.choice((None, rng.choice(INTEGERS), rng.choice(FLOATS), text(rng).encode(), [], old)))


def _fields(holder: Any, depth: int = 6) -> Iterator[tuple[Any, str]]:
    for name, value in vars(holder).items():
        yield holder, name
        for each in value if isinstance(value, list) else (value,):
            if depth and type(each).__name__.endswith("T") and hasattr(each, "__dict__"):
                yield from _fields(each, depth - 1)


# JSON


def _json(content: bytes, rng: Random) -> bytes:
    document = json.loads(content)
    places = list(_places(document))
    holder, key = rng.choice(places)
    if rng.random() < 0.2:
        del holder[key]
    elif rng.random() < 0.2:
        holder[key] = rng.choice(places)[0]
    else:
        holder[key] = rng.choice((text(rng), rng.choice(INTEGERS), rng.choice(FLOATS), None, True, [], {}, [[]]))
    return json.dumps(document).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0):
        yield value, key
        yield from _places(value[key])


# Protocol buffers whose schema nobody has


_Fields = list[tuple[int, int, "int | bytes | _Fields"]]
"""The fields of a message in order: number, wire type, and value, of which a message is a list again."""


def _wire(content: bytes, rng: Random) -> bytes:
    """Change a field of a message of any schema: a SavedModel, a graph of TensorFlow or a program of Paddle."""
    fields = _parsed(content)
    holder = rng.choice(list(_lists(fields)))
    place = rng.randrange(len(holder))
    number, kind, value = holder[place]
    match rng.randrange(6):
        case 0:
            del holder[place]
        case 1:
            holder.insert(rng.randrange(len(holder)), holder[place])
        case 2:
            holder[place] = (rng.randrange(1, 20), kind, value)
        case 3:
            holder[place] = deepcopy(rng.choice(rng.choice(list(_lists(fields)))))  # else a message may hold itself
        case _ if isinstance(value, int):
            holder[place] = (number, kind, rng.choice(INTEGERS) % 2**64)
        case _ if isinstance(value, bytes):
            holder[place] = (number, kind, rng.choice((text(rng).encode(), value[:-1], value * 2, rng.randbytes(4))))
    return _written(fields)


def _parsed(content: bytes, depth: int = 0) -> _Fields:
    """Return the fields of a message within ``depth`` others. Raises ValueError or IndexError if it is none."""
    fields, place = _Fields(), 0
    while place < len(content):
        key, place = _varint(content, place)
        number, kind = key >> 3, key & 7
        if not 0 < number < 2**12 or kind not in _SIZES:
            raise ValueError
        size = _SIZES[kind]
        if kind == 0:
            value, place = _varint(content, place)
            fields.append((number, kind, value))
            continue
        if kind == 2:
            size, place = _varint(content, place)
        if place + size > len(content):
            raise ValueError
        fields.append(
            (number, kind, _inner(content[place : place + size], depth) if kind == 2 else content[place:][:size])
        )
        place += size
    return fields


_SIZES = {0: 0, 1: 8, 2: 0, 5: 4}
"""Bytes of a value by wire type, where it is of fixed size."""


_DEEPEST = 100  # messages within messages, as for protobuf's own parsers


def _inner(content: bytes, depth: int) -> bytes | _Fields:
    if depth == _DEEPEST:
        return content
    try:
        return content if content.decode("latin1").isprintable() else _parsed(content, depth + 1)
    except (ValueError, IndexError):
        return content


def _varint(content: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = content[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place


def _lists(fields: _Fields) -> Iterator[_Fields]:
    if fields:
        yield fields
    for *_, value in fields:
        if isinstance(value, list):
            yield from _lists(value)


def _written(fields: _Fields) -> bytes:
    content = bytearray()
    for number, kind, value in fields:
        content += _as_varint(number << 3 | kind)
        if isinstance(value, int):
            content += _as_varint(value)
            continue
        inner = _written(value) if isinstance(value, list) else value
        content += (_as_varint(len(inner)) if kind == 2 else b"") + inner
    return bytes(content)


def _as_varint(value: int) -> bytes:
    content = bytearray()
    while value > 127:
        content.append(value & 127 | 128)
        value >>= 7
    return bytes((*content, value))


# Archives


def _zip(content: bytes, rng: Random) -> bytes:
    """Change a member of an archive, its name, or how often it occurs."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = [(name, file.read(name)) for name in file.namelist()]
    place = rng.randrange(len(members))
    name, data = members[place]
    match rng.randrange(10):
        case 0:
            del members[place]
        case 1:
            members.append((rng.choice((name, f"./{name}", f"../{name}", f"/{name}", name.upper())), data))
        case 2:
            members[place] = (text(rng).replace("\0", ""), data)
        case _:
            members[place] = (name, mutated(name, data, rng))
    return archive(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def archive(members: Sequence[tuple[str, bytes]], method: int) -> bytes:
    """Return an archive whose members are named as they are, even twice."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a second member of a name
        for name, data in members:
            info = zipfile.ZipInfo("x")
            info.filename = info.orig_filename = name
            info.compress_type = method
            file.writestr(info, data)
    return content.getvalue()


# TIFF


def _tiff(content: bytes, rng: Random) -> bytes:
    """Change bytes, of the header more often than of pixels."""
    start = rng.randrange(min(len(content), rng.choice((300, 2000, len(content)))))
    piece = rng.choice((rng.randbytes(1), rng.randbytes(4), b"\0\0\0\0", b"\xff\xff", b""))
    return content[:start] + piece + content[start + rng.choice((len(piece), 4)) :]


_BY_KIND: dict[str, Callable[[bytes, Random], bytes]] = {
    ".onnx": _proto,
    ".xml": _xml,
    ".json": _json,
    ".tflite": _tflite,
    **dict.fromkeys((".zarray", ".zattrs", ".zgroup"), _json),
    **dict.fromkeys((".pb", ".pdmodel"), _wire),
    **dict.fromkeys((".keras", ".pt2", ".zip", ".npz"), _zip),
    ".tif": _tiff,
}
