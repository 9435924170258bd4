"""The attributes of resizes in each format: one file per dialect, which docs/adding-a-dialect.md describes.

Each module here is named as its dialect and has a ``DIALECT``: the vocabulary of a format, and the function that reads
its attributes as a ``ResizeSpec``. ``get`` finds them, and those that other packages provide. Then layers as JSON:
settings of TensorRT or TFLite resizes, by the names of their own APIs (docs/layer-json.md).
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType

from ir_interp.errors import ReadError, closest
from ir_interp.files.kinds import json_object, refusal
from ir_interp.resize_op import ResizeOp, read
from ir_interp.specs import AtRunTime
from ir_interp.translation.dialect import Context, Dialect, Semantics
from ir_interp.translation.translate import Translation

GROUP = "ir_interp.dialects"
"""The entry points that name modules with a ``DIALECT``, by the dialect's name."""
_IN_CORE = {"openvino": "ir_interp.ir.interpolate_dialect"}  # IRs are read without converters


def names() -> tuple[str, ...]:
    """Return the dialects' names in alphabetical order, without importing them."""
    return tuple(sorted({*own(), *_brought()}))


@cache
def get(name: str) -> Dialect:
    """Return a dialect; its module is imported on first use.

    Raises ReadError for an unknown name, and if another package provides something else than a dialect of that name.
    """
    brought = _brought().get(name, ())
    if len(brought) + (name in own()) > 1:
        several = [*(["the built-in one"] if name in own() else []), *map(_spelled, brought)]
        raise ReadError(f"{len(several)} dialects are named {name!r}: {', '.join(several)}; remove all but one")
    if not brought and name not in own():
        raise ReadError(f"unknown dialect {name!r}; {closest(name, names())}")
    built_in = _IN_CORE.get(name, f"{__name__}.{name}")
    place = _spelled(brought[0]) if brought else built_in
    try:
        module = brought[0].load() if brought else importlib.import_module(built_in)
    except Exception as error:  # whatever a foreign module raises on import
        raise ReadError(f"{place} cannot be loaded: {type(error).__name__}: {error}") from error
    return _dialect(module, name, place)


@cache
def own() -> tuple[str, ...]:
    """Return the names of the project's own dialects: the modules here, and those of the core."""
    return tuple(sorted({*_IN_CORE, *(module.name for module in pkgutil.iter_modules(__path__))}))


@cache
def _brought() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of other packages by name; a package that is found twice on the path counts once."""
    entries: dict[str, dict[str, EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        entries.setdefault(entry.name, {})[entry.value] = entry
    return MappingProxyType({name: tuple(by_value.values()) for name, by_value in entries.items()})


def _dialect(module: object, name: str, place: str) -> Dialect:
    dialect = getattr(module, "DIALECT", None)
    if not isinstance(dialect, Dialect):
        problem = (
            "has no DIALECT" if dialect is None else f"has a DIALECT of type {type(dialect).__name__}, not Dialect"
        )
        raise ReadError(f"{place} {problem}")
    if dialect.name != name:
        raise ReadError(f"{place} has a DIALECT named {dialect.name!r}; expected {name!r}")
    return dialect


def _spelled(brought: EntryPoint) -> str:
    package = f" of {brought.dist.name} {brought.dist.version}" if brought.dist else ""
    return f"entry point '{brought.name} = {brought.value}'{package}"


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


def load_layers(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return the layers of a JSON file. Raises ReadError, which names the layer and the setting."""
    document = json_object(path, "an object with a dialect and layers")
    where = path.name
    problem = next(filter(None, map(refusal, document)), None)
    if problem is not None:
        raise ReadError(problem, where)
    try:
        dialect = get(_text(document, "dialect", where))
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


def dump_layers(layers: Iterable[tuple[ResizeOp, Translation]]) -> str:
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


def _read_layer(layer: object, dialect: Dialect, version: int, semantics: Semantics, where: str) -> ResizeOp:
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


def _input(described: object, where: str) -> tuple[tuple[int | None, ...] | None, str | None]:
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


def _text(document: dict[str, object], name: str, where: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise ReadError(f"missing; {closest('', names())}", where)
    return value
