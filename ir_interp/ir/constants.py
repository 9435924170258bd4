"""Constants of an IR, stored in its .bin."""

from __future__ import annotations

import tempfile
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ReadError
from ir_interp.files.memory import let_go
from ir_interp.files.paths import is_file
from ir_interp.ir import xml
from ir_interp.ir.elements import NF4, numpy_dtype
from ir_interp.ir.net import Layer

_PACKED = {"i4": 2, "u4": 2, "nf4": 2, "u1": 8}  # values per byte


class MissingBinaryError(ReadError):
    """The .bin that holds a constant is missing."""


def read_constant(layer: Layer, binary: Path) -> NDArray[Any]:
    """Return the value of a Const layer, mapped from the .bin.

    Raises ReadError if the constant exceeds the file, MissingBinaryError if there is no file.
    """
    name = layer.attributes.get("element_type", "").lower()
    dtype, shape = numpy_dtype(name, f"{layer.where}@element_type"), _shape(layer)
    offset, size = (xml.natural(layer.attributes.get(place), f"{layer.where}@{place}") for place in ("offset", "size"))
    packed = _PACKED.get(name, 0)
    if prod(shape) == 0:  # OpenVINO writes a byte for it
        return np.empty(shape, dtype)
    if size != (-(-prod(shape) // packed) if packed else prod(shape) * dtype.itemsize):
        raise ReadError(f"{size} bytes do not fit shape {list(shape)} of {dtype}", f"{layer.where}@size")
    if not is_file(binary):
        raise MissingBinaryError(f"the value is needed, but {binary.name} is missing", layer.where)
    available = binary.stat().st_size
    if offset + size > available:
        problem = f"bytes {offset} to {offset + size} lie beyond the {available} bytes of {binary.name}"
        raise ReadError(problem, f"{layer.where}@offset")
    if packed:
        held_in = dtype if name != "nf4" else np.dtype(np.uint8)
        numbers = _unpacked(np.memmap(binary, np.uint8, "r", offset, size), held_in)[: prod(shape)].reshape(shape)
        return numbers if name != "nf4" else NF4[numbers]
    return np.memmap(binary, dtype, "r", offset, shape or (1,)).reshape(shape)


def _unpacked(octets: NDArray[np.uint8], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return 4-bit numbers, the first in the low bits, or 1-bit numbers, the first in the highest bit."""
    if dtype == np.bool_:
        return np.unpackbits(octets).astype(dtype)
    whole = _room(2 * octets.size)
    for start in range(0, octets.size, _BLOCK):
        some = octets[start : start + _BLOCK]
        for half, numbers in enumerate((some & 15, some >> 4)):  # ml_dtypes stores signed ones in the low bits, too
            whole[2 * start + half : 2 * (start + len(some)) : 2] = numbers
        let_go(octets)
        let_go(whole)
    return whole.view(dtype)


def _room(count: int) -> NDArray[np.uint8]:
    """Return an array to be filled; a large one is in a temporary file, since a model may hold many."""
    if count <= _BLOCK:
        return np.empty(count, np.uint8)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, np.uint8, "w+", shape=(count,))


_BLOCK = 2**24  # bytes


def _shape(layer: Layer) -> tuple[int, ...]:
    try:
        shape = xml.integers(layer.attributes.get("shape", ""))
    except ReadError as error:
        raise ReadError(error.problem, f"{layer.where}@shape") from None
    if any(size < 0 for size in shape):
        raise ReadError(f"negative dimension in {list(shape)}", f"{layer.where}@shape")
    return shape
