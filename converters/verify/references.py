"""References: a model's outputs as something else computed them, saved, in memory, or a function that computes them.

The last part moves the channels of images, for a source with channels last and a result with channels second.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
from numpy.lib.format import read_array

from ir_interp import arguments
from ir_interp.errors import IrInterpError, ReadError, SpecError
from ir_interp.files.archives import Archive, opened_archive
from ir_interp.files.kinds import CHANNELS_LAST, FOREIGN, FileKind, expect
from ir_interp.files.memory import MemoryBoundError
from ir_interp.options.shared_options import IMAGE_RANK
from ir_interp.shapes import Array
from ir_interp.views.image_arrays import BROKEN_ARRAY, array as array_of

from ..sources.readers import declared_by, model_file, of_object
from .run_request import Named

_Outputs = TypeVar("_Outputs")

_NUMBERS = "biufc"  # kinds of NumPy's element types, to which bfloat16 does not belong
_EXPECTED = "numbers: a path, an array, a sequence or mapping of arrays, or a function of the inputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedOutputs:
    """Arrays by name, of outputs, inner tensors and inputs; the name is empty where only the order is known."""

    label: str
    arrays: tuple[tuple[str, Array], ...]

    def on(self, inputs: Sequence[Array]) -> Named:
        """Return the arrays, which are those of one set of inputs."""
        return list(self.arrays)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedOutputs:
    """A function that takes the arrays of a model's inputs, in order; a torch module gets tensors.

    ``slack`` returns by how much each output may differ on inputs, if it is rounded to levels.
    """

    label: str
    function: Callable[..., Any]
    slack: Callable[..., list[float]] | None = None

    def on(self, inputs: Sequence[Array]) -> Named:
        """Return what the function computes. Raises IrInterpError if it fails, SpecError if that is no array."""
        call = _without_gradients if _is_module(self.function) else _plainly
        try:
            outputs = call(self.function, inputs)
        except Exception as error:  # whatever a user's function raises, on inputs that may not be for it
            shapes = ", ".join(str(list(array.shape)) for array in inputs)
            raise IrInterpError(f"{self.label} fails on inputs of shape {shapes}: {error}") from error
        return _named(outputs, f"the result of {self.label}")


Reference = SavedOutputs | ComputedOutputs


def reference(value: object) -> Reference:
    """Return a reference that a user named: a path, arrays, a model in memory, or a function.

    A reference is returned as it is. Raises ReadError for a file that holds no arrays, SpecError for another value.
    """
    if isinstance(value, Reference):
        return value
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        path = model_file(arguments.path(value, "reference"))
        kind = FileKind.of(path)
        if kind and kind.framework:
            model = declared_by(kind.framework)
            label = kind.framework.label(path)
            return ComputedOutputs(label=label, function=model.function(path), slack=model.slack(path))
        return SavedOutputs(label=path.name, arrays=tuple(_read(path)))
    framework = of_object(value)
    if framework is not None:
        return ComputedOutputs(label="reference", function=declared_by(framework).function(value))
    if callable(value) and not hasattr(value, "__array__"):
        return ComputedOutputs(label="reference", function=value)
    return SavedOutputs(label="reference", arrays=tuple(_named(value, "reference")))


def _read(path: Path) -> Named:
    """Return the arrays of a file in order; that of an .npy has no name."""
    if expect(path, FileKind.ARRAYS, FileKind.ARRAY, *FOREIGN) is FileKind.ARRAY:
        return [("", array_of(path))]
    try:
        with opened_archive(path) as archive:
            archive.check_size()  # as declared, before a member is read
            return [_member(archive, name, path) for name in archive.names]
    except (MemoryBoundError, ReadError):
        raise
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
    except (*BROKEN_ARRAY, BadZipFile, zlib.error) as error:
        raise ReadError(f"not arrays as numpy.savez writes them: {error}", path.name) from error


def _member(archive: Archive, member: str, path: Path) -> tuple[str, Array]:
    name = member.removesuffix(FileKind.ARRAY.value)
    with archive.opened(member) as file, np.errstate(over="raise", invalid="raise"):  # 64 bits, by sizes
        return name, _checked(read_array(file, allow_pickle=False), f"{name} in {path.name}")


def _named(value: object, what: str) -> Named:
    """Return arrays with their names, which are empty in a sequence. Raises SpecError for other values."""
    if isinstance(value, Mapping):
        return [(str(name), _checked(array, f"{name} in {what}")) for name, array in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [("", _checked(array, f"number {place} in {what}")) for place, array in enumerate(value)]
    return [("", _checked(value, what))]


def _checked(value: object, what: str) -> Array:
    """Return a value as an array. Raises SpecError for one that does not consist of numbers."""
    tensor = value.detach().cpu() if hasattr(value, "detach") else value  # of torch
    try:
        array = np.asarray(tensor)
    except (TypeError, ValueError) as error:
        raise SpecError(f"{what} is no array: {error}") from None
    if array.dtype.kind not in _NUMBERS and array.dtype.name != "bfloat16":
        kind = array.dtype if isinstance(value, np.ndarray) else arguments.shown(value)
        raise SpecError(f"{what} is {kind}; expected {_EXPECTED}")
    return array


def _plainly(function: Callable[..., object], inputs: Sequence[Array]) -> object:
    return function(*inputs)


def _is_module(function: object) -> bool:
    """Return whether a function is a torch module; torch is not imported for others."""
    return any(base.__module__.startswith("torch.") and base.__name__ == "Module" for base in type(function).__mro__)


def _without_gradients(module: Any, inputs: Sequence[Array]) -> object:
    """Return the outputs of a torch module, on its own device. Raises SpecError for one that is being trained."""
    import torch

    if module.training:
        raise SpecError("it is in training mode, in which layers such as dropout are random; call .eval() first")
    device = next((parameter.device for parameter in module.parameters()), torch.device("cpu"))
    with torch.inference_mode():
        return module(*(torch.from_numpy(np.array(array)).to(device) for array in inputs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The reference of each output of a model, in the model's order, and arrays by the name of other tensors."""

    outputs: tuple[Array, ...]
    inner: dict[str, Array]


def paired(reference: Named, outputs: Iterable[str], label: str) -> Paired:
    """Return which array belongs to which output: by name if every output has one, else by place.

    Raises IrInterpError if neither applies.
    """
    names, by_name = list(outputs), {name: array for name, array in reference if name}
    if set(names) <= by_name.keys():
        inner = {name: array for name, array in by_name.items() if name not in names}
        return Paired(outputs=tuple(by_name[name] for name in names), inner=inner)
    if len(names) == len(reference) and not by_name.keys() & set(names):
        return Paired(outputs=tuple(array for _, array in reference), inner={})
    known = ", ".join(name or "an array without a name" for name, _ in reference) or "nothing"
    raise IrInterpError(
        f"{label} holds {known}; expected the outputs {', '.join(names)}, or {len(names)} arrays in their order"
    )


def channels_last(arrays: Iterable[Array]) -> list[Array]:
    """Return arrays of NCHW in NHWC; those of other ranks as they are."""
    return [_moved(array, 1, -1) for array in arrays]


def channels_second(arrays: Iterable[Array]) -> list[Array]:
    """Return arrays of NHWC in NCHW; those of other ranks as they are."""
    return [_moved(array, -1, 1) for array in arrays]


def for_channels_second(value: Any) -> object:
    """Return the reference of a result with channels second; a file of a format with channels last is transposed."""
    is_path = isinstance(value, str | os.PathLike)
    if not is_path or FileKind.of(model_file(Path(value))) not in CHANNELS_LAST:
        return value
    model = reference(value)
    assert isinstance(model, ComputedOutputs)
    slack = model.slack and partial(_of_inputs, model.slack)
    return replace(model, function=partial(_outputs, model.function), slack=slack)


def _outputs(
    function: Callable[..., dict[str, Array] | Iterable[Array]], *arrays: Array
) -> dict[str, Array] | Iterable[Array]:
    outputs = _of_inputs(function, *arrays)
    if isinstance(outputs, dict):
        return dict(zip(outputs, channels_second(outputs.values()), strict=True))
    return channels_second(outputs)


def _of_inputs(function: Callable[..., _Outputs], *arrays: Array) -> _Outputs:
    return function(*channels_last(arrays))


def _moved(array: Array, source: int, destination: int) -> Array:
    return np.ascontiguousarray(np.moveaxis(array, source, destination)) if array.ndim == IMAGE_RANK else array
