"""A request to run a model in a separate process: arrays in files, and the exit codes by which the process answers."""

from __future__ import annotations

import math
import mmap
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16, which its files do not name)
import numpy as np

from ir_interp.errors import IrInterpError
from ir_interp.shapes import Array

Named = list[tuple[str, Array]]
"""Arrays with their names, in the order of a model's inputs or outputs; names may repeat."""
Outcome = tuple[Named, dict[str, Array]]
"""The outputs of a model, and the requested tensors, by name."""


def has_values(outcome: Outcome) -> bool:
    """Return whether no array is empty, and no output has a NaN.

    An empty output proves nothing, nor does a resize of an empty tensor. A NaN usually shows that a model is not
    defined on its inputs.
    """
    return not is_empty(outcome) and not has_nan(outcome[0])


def is_empty(outcome: Outcome) -> bool:
    """Return whether an output or a tensor is empty."""
    outputs, tensors = outcome
    return not all(array.size for array in (*(array for _, array in outputs), *tensors.values()))


def has_nan(arrays: Named) -> bool:
    """Return whether a NaN is among floats, bfloat16 included."""
    return any(array.dtype.kind in "fV" and bool(np.isnan(array).any()) for _, array in arrays)


def save_arrays(path: Path, arrays: Named) -> None:
    """Write arrays under any names, in order. Raises IrInterpError for strings, which NumPy would pickle."""
    for name, array in arrays:
        if array.dtype.hasobject:
            raise IrInterpError(f"tensor {name!r} holds strings, which are not compared")
    names, types = ([name for name, _ in arrays], [array.dtype.name for _, array in arrays])
    with path.open("wb") as file:  # not an archive, whose checksums take longer than a resize
        for array in (np.array([names, types]), *(array for _, array in arrays)):
            np.save(file, array)


def load_arrays(path: Path) -> Named:
    """Return the arrays that ``save_arrays`` wrote."""
    with path.open("rb") as file:
        names, types = np.load(file).tolist()
        arrays = [np.load(file) for _ in names]
    return [
        (name, array.view(dtype) if array.dtype.kind == "V" else array)
        for name, dtype, array in zip(names, types, arrays, strict=True)
    ]


def load_mapped_arrays(path: Path) -> Named:
    """Return the same arrays, mapped into memory: the system reads them when they are used, and can drop them.

    Windows does not delete a mapped file, so they are read there.
    """
    if sys.platform == "win32":
        return load_arrays(path)
    with path.open("rb") as file:
        names, types = np.load(file).tolist()
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return [(name, _mapped(file, pages, np.dtype(dtype))) for name, dtype in zip(names, types, strict=True)]


def _mapped(file: BinaryIO, pages: mmap.mmap, dtype: np.dtype[Any]) -> Array:
    """Return the array at the position of a file, and move to the next."""
    np.lib.format.read_magic(file)
    shape, in_columns, _ = np.lib.format.read_array_header_1_0(file)
    start = file.tell()
    file.seek(math.prod(shape) * dtype.itemsize, 1)
    return np.ndarray(shape, dtype, pages, start, order="F" if in_columns else "C")


T = TypeVar("T")
USAGE = 3
"""The exit code for an invalid request; its message is the last line of stderr."""

NOT_LOADED = 4
"""The exit code for a model that the runtime does not accept, whatever the inputs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Generic[T]):
    """Inputs of one extent, or their numbers: all of ``every`` are run, and ``others`` until one runs if none did.

    Inputs with an empty output count as if they did not run.
    """

    every: tuple[T, ...] = ()
    others: tuple[T, ...] = ()

    def __iter__(self) -> Iterator[T]:
        return iter(self.every + self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A model to run, on the files of a ``folder``, into which its outputs go; see ``save_arrays``.

    INPUTS holds arrays by name, in the order of the model's inputs. OUTPUTS gets its outputs, and TENSORS those of
    ``tensors`` that it has. REPLACEMENTS, if present, holds inner tensors: nodes that read one read the array of the
    file, while the model still shows its own result. ``rounds_given`` rounds these once more if the model
    rounds such a tensor, so that layers are quantised as without replacements. ``in_openvino`` chooses the runtime,
    which is onnxruntime otherwise; ``optimised`` lets that rewrite the graph first. ``inner`` computes ``tensors`` and
    what they depend on, but no outputs. ``by_default`` lets a runtime multiply 8-bit integers as a plain call does: in
    8 bits between FakeQuantize layers (OpenVINO), with sums that may saturate (both). ``noise`` moves each float that a
    node computes at random: by that share of it at most, by its last bit if it is rounded once, and by the last bit of
    1 where that is added. With ``threads`` 0 it chooses their number. With ``as_large``, LARGE gets the outputs with
    resizes as for large tensors, if that differs; see ``LimitInput``. ``groups`` are numbers of sets of inputs, for
    ``try_inputs`` alone.
    """

    model: Path
    folder: Path
    tensors: tuple[str, ...] = ()
    in_openvino: bool = False
    optimised: bool = True
    inner: bool = False
    rounds_given: bool = False
    by_default: bool = False
    noise: float = 0.0
    threads: int = 0
    as_large: bool = False
    groups: tuple[Group[int], ...] = ()


def alike(request: Request) -> Request:
    """Return a request without its folder and groups: requests that one loaded model can serve are then equal."""
    return replace(request, folder=Path(), groups=())


def model_files(request: Request) -> tuple[Path, ...]:
    """Return the files of the model, as far as their names are known without reading it."""
    return request.model, request.model.with_suffix(".bin")


OFF_BY_LAST_BITS_OF_1 = frozenset(("sigmoid", "softplus"))
"""Operations, in lower case, that runtimes compute as a sum with 1 or 0.5, so that small results have its last bits."""

ROUNDED_ONCE = frozenset(("add", "sub", "subtract", "mul", "multiply", "div", "divide"))
"""Operations, in lower case, that round once, and are no sums of many terms."""

LAST_BIT = 2.0**-23
"""The share of a float32 that its last bit is at most."""

TO_INTEGERS = frozenset(("ceil", "ceiling", "floor", "round", "sign"))
"""Operations, in lower case, whose results are exact: the next step that truncates them would lose 1 to any noise."""

LAST_BIT_OF_1 = 2.0**-23
"""The last bit of a float32 of 1."""

INPUTS, OUTPUTS, TENSORS, REPLACEMENTS, LARGE = "inputs", "outputs", "tensors", "replacements", "large"
PROBLEM = "problem.txt"
"""The names of files in the folder of a request."""


def numbered(name: str, number: int) -> str:
    """Return the name of a file of one of several sets of inputs."""
    return f"{number}-{name}"
