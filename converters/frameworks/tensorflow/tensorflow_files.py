"""TensorFlow and Keras models: described and run by TensorFlow, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ir_interp.array_types import Array
from ir_interp.files.kinds import FileKind
from ir_interp.files.scratch import scratch

from ...sources.framework_process import Process
from ...sources.model_description import Description
from . import FRAMEWORK, keras_config

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


def is_saved_model(path: Path) -> bool:
    """Return whether a file is the graph of a SavedModel, not a frozen graph."""
    return path.name == FRAMEWORK.file_in_folder


def _check(path: Path) -> None:
    if FileKind.of(path) is KERAS:
        keras_config.check_file(path)
