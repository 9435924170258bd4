"""The reading of SavedModels, Keras files and frozen graphs: TensorFlow describes and runs them, in its own process.

First the parts that a Keras file names: only those of Keras itself are loaded, others could run any code. Then the
operations that resize, and the resizes as calls of ``tf.image.resize`` and of the operations of version 1.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ir_interp.errors import ReadError, SpecError, UnsupportedLayerError
from ir_interp.files.archives import Archive, opened_archive
from ir_interp.files.kinds import FileKind, check_readable, is_beside
from ir_interp.files.writing import scratch
from ir_interp.libraries.tensorflow import LIBRARY
from ir_interp.resize_op import ResizeOp, read
from ir_interp.shapes import Array, PartialShape
from ir_interp.specs import AtRunTime, Sizes
from ir_interp.translation.dialect import Context, Semantics

from ...sources.model_description import Description, Process, Resize
from ...sources.readers import Reading
from . import FRAMEWORK

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
    with _opened(path) as archive:
        archive.check_files()
        _check_config(archive.read(_CONFIG), path.name)


def unpack(path: Path, folder: Path) -> None:
    """Write the members of a .keras file to a folder, from where Keras reads weights one by one.

    Raises as ``check_file``; MemoryBoundError if they take much more than the file.
    """
    with _opened(path) as archive:
        archive.check_size(path.stat().st_size)
        archive.unpack(folder)
    _check_config((folder / _CONFIG).read_bytes(), path.name)  # as Keras will read it


@contextmanager
def _opened(path: Path) -> Iterator[Archive]:
    try:
        with opened_archive(path) as archive:
            if _CONFIG not in archive.names:
                raise ReadError(f"not a model as Keras saves it: it holds no {_CONFIG}", path.name)
            yield archive
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
    except BadZipFile as error:
        raise ReadError(f"not a Keras file, which is a ZIP archive: {error}", path.name) from None


def _check_config(text: bytes, file: str) -> None:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReadError(f"not a model as Keras saves it: {error}", file) from error
    check(config, file)


def check(config: object, file: str) -> None:
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


def _check_files(config: object, where: str) -> None:
    named = [key for key in _FILES if isinstance(config, dict) and isinstance(config.get(key), str)]
    if named:
        raise UnsupportedLayerError(f"{named[0]} is the path of a file, which is not loaded", where)


def _is_of_keras(module: str) -> bool:
    """Return whether a module is Keras, or in one of its packages that compute."""
    first, *rest = module.split(".")
    inner = rest[1:] if rest[:1] == ["src"] else rest
    return first == "keras" and (not rest or not _PACKAGES.isdisjoint(inner[:1]))


def _objects(config: object, layer: str) -> Iterator[tuple[dict[str, object], str]]:
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


KERAS, H5, GRAPH = map(FileKind, FRAMEWORK.extensions)
_FORMATS = {KERAS: "Keras model", H5: "Keras model (HDF5)", GRAPH: "TensorFlow graph"}
FROZEN = "frozen.pb"
_PROCESS = Process(framework=FRAMEWORK, child="tensorflow_child")


def described(path: Path, folder: Path | None = None) -> Description:
    """Return what a model holds; its graph of constants, ``FROZEN``, and its weights are written to a folder.

    Raises ReadError for a file that is no model, UnsupportedLayerError for one that holds code, IrInterpError if
    TensorFlow is missing or dies.
    """
    _check(path)
    if folder is None:
        with scratch() as folder:
            return described(path, folder)
    return _PROCESS.described(path, str(folder.absolute()))


def function(path: Path) -> Callable[..., dict[str, Array]]:
    """Return a model as a function of its inputs, in order, to its outputs by name, which TensorFlow computes."""
    _check(path)
    return _PROCESS.function(path)


def format_of(path: Path) -> str:
    """Return what a file is."""
    kind = FileKind.of(path)
    return "TensorFlow SavedModel" if is_saved_model(path) or kind is None else _FORMATS[kind]


def parts(path: Path) -> list[Path]:
    """Return every file of a model."""
    return [path, *(path.parent.glob("variables/variables.*") if is_saved_model(path) else ())]


_PARTS = ("saved_model.*", "*_metadata.pb", "fingerprint.pb", "variables/**/*", "assets/**/*", "debug/**/*")


def _parts_of_saved_model(path: Path) -> Iterator[Path]:
    """Yield the files in the folder of a SavedModel that TensorFlow may read."""
    for pattern in _PARTS if is_saved_model(path) else ():
        yield from (part for part in path.parent.glob(pattern) if not part.is_dir())


def is_saved_model(path: Path) -> bool:
    """Return whether a file is the graph of a SavedModel, not a frozen graph."""
    return path.name == FRAMEWORK.file_in_folder


def _check(path: Path) -> None:
    for part in _parts_of_saved_model(path):
        if not is_beside(part, path):
            problem = f"{part.relative_to(path.parent)} points outside its folder, and is not read"
            raise ReadError(problem, FRAMEWORK.label(path))
        check_readable(part)
    if FileKind.of(path) is KERAS:
        check_file(path)


_FLAGS = ("align_corners", "half_pixel_centers")
RESIZES = {
    "ResizeBilinear": _FLAGS,
    "ResizeNearestNeighbor": _FLAGS,
    "ResizeBicubic": _FLAGS,
    "ResizeArea": ("align_corners",),
    "ScaleAndTranslate": ("kernel_type", "antialias"),
}
"""The operations that resize, and their attributes."""


_METHODS = {
    "ResizeBilinear": "bilinear",
    "ResizeNearestNeighbor": "nearest",
    "ResizeBicubic": "bicubic",
    "ResizeArea": "area",
}
_KERNELS = {
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
    "gaussian": "gaussian",
    "mitchellcubic": "mitchellcubic",
    "triangle": "bilinear",
    "keyscubic": "bicubic",
}
_PLAIN_ELSEWHERE = ("triangle", "keyscubic")  # without antialias tf.image.resize calls another operation
_IMAGE = (1, 2)


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a model. Raises UnsupportedLayerError for one that also scales or moves the image."""
    return [resize(description, FRAMEWORK.label(path), semantics) for description in described(path).resizes]


def resize(operation: Resize, file: str, semantics: Semantics = Semantics.RUNTIME) -> ResizeOp:
    """Return an operation as a resize, with its place in ``file``."""
    where = f"{file}:{operation.name}"
    attributes, size = _attributes(operation, where), operation.inputs[0]
    dtype = operation.dtype if operation.type == "ResizeNearestNeighbor" else "float32"  # which all others return
    context = Context(version=LIBRARY.dialect.versions[0], shape=operation.shape, dtype=dtype, semantics=semantics)
    try:
        op = read(LIBRARY.dialect, attributes, context, name=operation.name, where=where)
    except SpecError as error:
        raise UnsupportedLayerError(str(error), where) from error
    target = AtRunTime.SIZES if size is None else Sizes(tuple(int(length) for length in size))
    return replace(op, spec=replace(op.spec, axes=_IMAGE, target=target))


def _attributes(operation: Resize, where: str) -> dict[str, object]:
    stated = operation.attributes
    if operation.type != "ScaleAndTranslate":
        return {
            "method": _METHODS[operation.type],
            "align_corners": stated["align_corners"],
            "half_pixel_centers": stated.get("half_pixel_centers", not stated["align_corners"]),  # ResizeArea has none
        }
    kernel, antialias = stated["kernel_type"], stated["antialias"]
    if kernel not in _KERNELS or (kernel in _PLAIN_ELSEWHERE and not antialias):
        raise UnsupportedLayerError(f"ScaleAndTranslate with kernel_type {kernel} and antialias {antialias}", where)
    _check_scales(operation, where)
    return {"method": _KERNELS[kernel], "antialias": antialias}


def _check_scales(operation: Resize, where: str) -> None:
    """Raise UnsupportedLayerError unless an operation scales by its sizes, and moves nothing."""
    size, scale, translation = operation.inputs
    if size is None or scale is None or translation is None or not _has_static_image(operation.shape):
        raise UnsupportedLayerError("ScaleAndTranslate with a size or scale that is known only at run time", where)
    assert operation.shape is not None
    lengths = np.array([operation.shape[axis] for axis in _IMAGE], np.float32)
    expected = np.array(size, np.float32) / lengths
    if any(translation) or not np.array_equal(np.array(scale, np.float32), expected):
        transform = f"scale {scale} and translation {translation}"
        raise UnsupportedLayerError(f"ScaleAndTranslate with {transform}; expected the quotient of sizes, and 0", where)


def _has_static_image(shape: PartialShape | None) -> bool:
    return shape is not None and all(shape[axis] is not None for axis in _IMAGE)


READING = Reading(load=load, describe=described, function=function, parts=parts)
