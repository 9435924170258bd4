"""Layers as JSON: settings of TensorRT or TFLite resizes, by the names of their own APIs (docs/layer-json.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError, closest
from ir_interp.files.frameworks import refusal
from ir_interp.files.sources import json_object
from ir_interp.resize_op import ResizeOp, read
from ir_interp.spec import AtRunTime
from ir_interp.translation.dialect import Context, Dialect, Semantics
from ir_interp.translation.grades import Translation

from . import registry

_OWN = ("name", "input")
_DTYPES = (
    "bfloat16",
    "bool",
    "float16",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "str",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
)


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return the layers of a JSON file. Raises ReadError, which names the layer and the setting."""
    document = json_object(path, "an object with a dialect and layers")
    where = path.name
    problem = next(filter(None, map(refusal, document)), None)
    if problem is not None:
        raise ReadError(problem, where)
    try:
        dialect = registry.get(_text(document, "dialect", where))
    except ReadError as error:
        raise ReadError(error.problem, f"{where}@dialect") from None
    version = document.get("version", dialect.versions[0])
    if version not in dialect.versions:
        raise ReadError(f"unknown value {version!r}; {closest('', map(str, dialect.versions))}", f"{where}@version")
    layers = document.get("layers")
    if not isinstance(layers, list):
        raise ReadError("missing; expected a list of layers", f"{where}@layers")
    return [
        _read_layer(layer, dialect, version, semantics, f"{where}:layers[{index}]")
        for index, layer in enumerate(layers)
    ]


def dump(layers: Iterable[tuple[ResizeOp, Translation]]) -> str:
    """Return translations into one dialect as the text of a JSON file, each with the name and input of its source."""
    written = list(layers)
    document = {
        "dialect": written[0][1].dialect,
        "version": written[0][1].version,
        "layers": [
            {"name": op.name, "input": {"shape": op.shape, "dtype": op.dtype}, **translation.attributes}
            for op, translation in written
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _read_layer(layer: Any, dialect: Dialect, version: int, semantics: Semantics, where: str) -> ResizeOp:
    if not isinstance(layer, dict):
        raise ReadError("not an object", where)
    known = {*_OWN, *dialect.choices(version), *(name for name, _ in dialect.numbers.values())}
    at_run_time = [dialect.number(target.value, version) for target in AtRunTime]
    for key, value in layer.items():
        if key not in known:
            raise ReadError(f"unknown setting; {closest(key, known)}", f"{where}@{key}")
        if value is None and key not in (*_OWN, *at_run_time):
            raise ReadError("null is not a value; leave the setting out", f"{where}@{key}")
    shape, dtype = _input(layer.get("input", {}), where)
    settings = {key: value for key, value in layer.items() if key not in _OWN}
    context = Context(version=version, shape=shape, dtype=dtype, semantics=semantics)
    return read(dialect, settings, context, name=str(layer.get("name", "")), where=where)


def _input(described: Any, where: str) -> tuple[tuple[int | None, ...] | None, str | None]:
    """Return the input's shape (null where dynamic) and dtype."""
    shape = described.get("shape") if isinstance(described, dict) else ()
    dtype = described.get("dtype") if isinstance(described, dict) else None
    if dtype is not None and dtype not in _DTYPES:
        raise ReadError(f"unknown dtype {dtype!r}; {closest(str(dtype), _DTYPES)}", f"{where}@input")
    if shape is None:
        return None, dtype
    if not isinstance(shape, list) or not all(n is None or (type(n) is int and n >= 0) for n in shape):
        raise ReadError("expected an object with a shape (sizes from 0, null if dynamic) and a dtype", f"{where}@input")
    return tuple(shape), dtype


def _text(document: dict[str, Any], name: str, where: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise ReadError(f"missing; {closest('', registry.names())}", where)
    return value
