"""TensorFlow and Keras models: described and run by TensorFlow, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ir_interp.array_types import Array
from ir_interp.files.kinds import FileKind
from ir_interp.files.scratch import scratch

from ...sources.framework_process import Framework
from ...sources.model_description import Description
from . import keras_config

_FORMATS = {FileKind.KERAS: "Keras model", FileKind.H5: "Keras model (HDF5)", FileKind.GRAPH: "TensorFlow graph"}
SAVED_MODEL = "saved_model.pb"
_TENSORFLOW = Framework(
    title="TensorFlow", package="tensorflow", extra="tensorflow", child=f"{__package__}.tensorflow_child"
)


def described(path: Path, frozen: Path | None = None) -> Description:
    """Return what a model holds; its graph of constants is written to ``frozen``.

    Raises ReadError for a file that is no model, UnsupportedLayerError for one that holds code, IrInterpError if
    TensorFlow is missing or dies.
    """
    _check(path)
    if frozen is None:
        with scratch() as folder:
            return described(path, folder / "frozen.pb")
    return _TENSORFLOW.described(path, label(path), str(frozen))


def function(path: Path) -> Callable[..., dict[str, Array]]:
    """Return a model as a function of its inputs, in order, to its outputs by name, which TensorFlow computes."""
    _check(path)
    return _TENSORFLOW.function(path, label(path))


def parts(path: Path) -> list[Path]:
    """Return the files of a model: those of its variables, too, if it is a SavedModel."""
    return [path, *(sorted(path.parent.glob("variables/variables.*")) if path.name == SAVED_MODEL else ())]


def format_of(path: Path) -> str:
    """Return what a file is."""
    kind = FileKind.of(path)
    return "TensorFlow SavedModel" if path.name == SAVED_MODEL or kind is None else _FORMATS[kind]


def label(path: Path) -> str:
    """Return the name of a model in messages: for a SavedModel that of its folder."""
    return path.parent.absolute().name if path.name == SAVED_MODEL else path.name


def _check(path: Path) -> None:
    if FileKind.of(path) is FileKind.KERAS:
        keras_config.check_file(path)
    _TENSORFLOW.check(path, label(path))
