"""The parts that a Keras file names: only those of Keras itself are loaded, others could run any code."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ir_interp.errors import ReadError, UnsupportedLayerError
from ir_interp.files.memory import check_bytes
from ir_interp.files.sources import check_regular

_CONFIG = "config.json"
_CODE = {
    "Lambda": "a Lambda layer holds code",
    "__lambda__": "a Lambda layer holds code",
    "TFSMLayer": "a TFSMLayer loads another model",
    "TorchModuleWrapper": "a TorchModuleWrapper holds pickled code",
    "JaxLayer": "a JaxLayer holds code",
    "FlaxLayer": "a FlaxLayer holds code",
}
_FILES = ("vocabulary", "idf_weights")
"""Settings of layers that name a file if they are text."""
_PACKAGES = frozenset(
    {
        "activations", "constraints", "dtype_policies", "initializers", "layers", "losses", "metrics", "models", "ops",
        "optimizers", "quantizers", "random", "regularizers",
    }
)  # fmt: skip
"""The packages of Keras whose objects compute; functions of others, such as ``keras.utils``, load files."""
_PLAIN = ("__tuple__", "__numpy__", "__tensor__", "__bytes__", "__ellipsis__", "slice", "__typespec__")
"""Values in a configuration, which need no module."""


def check_file(path: Path) -> None:
    """Raise ReadError if a .keras file cannot be read, UnsupportedLayerError if it names code outside Keras."""
    try:
        check_regular(path)
        with zipfile.ZipFile(path) as members:
            check_bytes(members.getinfo(_CONFIG).file_size, path.name)
            config = json.loads(members.read(_CONFIG))
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
    except zipfile.BadZipFile:
        raise ReadError("not a Keras file, which is a ZIP archive", path.name) from None
    except (KeyError, ValueError, NotImplementedError, RecursionError) as error:
        raise ReadError(f"not a model as Keras saves it: {error}", path.name) from error
    check(config, path.name)


def unpack(path: Path, folder: Path) -> None:
    """Write the members of a .keras file to a folder, from where Keras reads weights one by one.

    Raises as ``check_file``; MemoryBoundError if they take much more than the file.
    """
    check_file(path)
    with zipfile.ZipFile(path) as members:
        check_bytes(sum(member.file_size for member in members.infolist()) - path.stat().st_size, path.name)
        members.extractall(folder)


def check(config: Any, file: str) -> None:
    """Raise UnsupportedLayerError for the first object of a configuration that is not of Keras itself."""
    for entry, layer in _objects(config, ""):
        kind, module, registered = (entry.get(key) for key in ("class_name", "module", "registered_name"))
        where = f"{file}:layer[{layer}]" if layer else file
        if kind in _CODE:
            raise UnsupportedLayerError(f"{_CODE[str(kind)]}, which is not loaded", where)
        _check_files(entry.get("config"), where)
        is_foreign = module is not None and not _is_of_keras(str(module))
        is_registered = isinstance(registered, str) and (">" in registered or module is None)
        if kind not in _PLAIN and (is_foreign or is_registered):
            name = registered if is_registered else f"{module}.{kind}"
            raise UnsupportedLayerError(
                f"{name} is not a part of Keras that computes, and its code is not loaded", where
            )


def _check_files(config: Any, where: str) -> None:
    named = [key for key in _FILES if isinstance(config, dict) and isinstance(config.get(key), str)]
    if named:
        raise UnsupportedLayerError(f"{named[0]} is the path of a file, which is not loaded", where)


def _is_of_keras(module: str) -> bool:
    """Return whether a module is Keras, or in one of its packages that compute."""
    first, *rest = module.split(".")
    inner = rest[1:] if rest[:1] == ["src"] else rest
    return first == "keras" and (not rest or not _PACKAGES.isdisjoint(inner[:1]))


def _objects(config: Any, layer: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the objects of a configuration, each with the name of its layer."""
    if isinstance(config, dict):
        inner = config.get("config")
        if isinstance(config.get("class_name"), str):
            name = inner.get("name") if isinstance(inner, dict) else None
            layer = name if isinstance(name, str) else layer
            yield config, layer
        for value in config.values():
            yield from _objects(value, layer)
    elif isinstance(config, list):
        for value in config:
            yield from _objects(value, layer)
