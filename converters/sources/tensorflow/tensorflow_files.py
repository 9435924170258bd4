"""TensorFlow and Keras models: described and run by TensorFlow, in a process of its own."""

from __future__ import annotations

import atexit
import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.kinds import FileKind
from ir_interp.files.scratch import scratch
from ir_interp.files.sources import check_regular

from ...workers.worker import Died, Late, Question, Worker
from . import keras_config
from .model_description import Description

Array = NDArray[Any]
_FORMATS = {FileKind.KERAS: "Keras model", FileKind.H5: "Keras model (HDF5)", FileKind.GRAPH: "TensorFlow graph"}
_SAVED_MODEL = "saved_model.pb"
_CHILD = f"{__package__}.tensorflow_child"
_SECONDS, _IDLE = 600.0, 120.0


def described(path: Path, frozen: Path | None = None) -> Description:
    """Return what a model holds; its graph of constants is written to ``frozen``.

    Raises ReadError for a file that is no model, UnsupportedLayerError for one that holds code, IrInterpError if
    TensorFlow is missing or dies.
    """
    _check(path)
    if frozen is None:
        with scratch() as folder:
            return described(path, folder / "frozen.pb")
    answer = _answer(path, "describe", str(path.absolute()), str(frozen))
    if isinstance(answer, IrInterpError):
        raise answer
    assert isinstance(answer, Description)
    return answer


def function(path: Path) -> Callable[..., dict[str, Array]]:
    """Return a model as a function of its inputs, in order, to its outputs by name, which TensorFlow computes."""
    _check(path)

    def outputs(*arrays: Array) -> dict[str, Array]:
        answer = _answer(path, "run", [np.asarray(array) for array in arrays], str(path.absolute()))
        if isinstance(answer, str):
            raise IrInterpError(f"TensorFlow: {answer}")
        return dict(answer)

    return outputs


def format_of(path: Path) -> str:
    """Return what a file is."""
    kind = FileKind.of(path)
    return "TensorFlow SavedModel" if path.name == _SAVED_MODEL or kind is None else _FORMATS[kind]


def label(path: Path) -> str:
    """Return the name of a model in messages: for a SavedModel that of its folder."""
    return path.parent.absolute().name if path.name == _SAVED_MODEL else path.name


def _check(path: Path) -> None:
    try:
        check_regular(path)
        path.open("rb").close()
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
    if FileKind.of(path) is FileKind.KERAS:
        keras_config.check_file(path)
    if importlib.util.find_spec("tensorflow") is None:
        raise IrInterpError(f"{label(path)} needs TensorFlow: pip install 'ir-interp[tensorflow]'")


def _answer(path: Path, function: str, item: Any, setting: Any) -> Any:
    question = Question(function=f"{_CHILD}:{function}", setting=setting, limit=_SECONDS, attempts=1)
    answer = _worker().answer(question, item)
    if isinstance(answer, Died | Late):
        raise IrInterpError(f"{label(path)} does not run in TensorFlow: {answer}")
    return answer


@cache
def _worker() -> Worker:
    """Return the process, which has imported TensorFlow and loaded models after its first answer."""
    worker = Worker(idle=_IDLE)
    atexit.register(worker.close)
    return worker
