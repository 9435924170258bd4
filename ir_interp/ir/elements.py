"""Element types of an IR, and their NumPy equivalents."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ir_interp.errors import UnsupportedLayerError, closest

_BITS = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "u64": np.uint64,
    "u32": np.uint32,
    "u16": np.uint16,
    "u8": np.uint8,
    "boolean": np.bool_,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "i4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
    "u1": np.bool_,
    "nf4": np.float32,
}
ELEMENT_TYPES = frozenset(np.dtype(bit).name for bit in _BITS.values())
"""NumPy names of the element types of an IR."""

NF4 = np.array(
    [
        *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
        *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
        *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
        *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
    ],
    np.float32,
)
"""The numbers for the 16 values of nf4, as in OpenVINO."""

_PRECISION = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bool": "bool", "bin": "bool"}
_AGAIN = "compress the weights to 4 or 8 bit integers instead (in nncf: CompressWeightsMode.INT4_SYM, INT8_ASYM)"
_KNOWN_TO_OPENVINO = {
    **dict.fromkeys(("f4e2m1", "f8e8m0", "u2", "u3", "u6"), _AGAIN),
    "string": "keep strings, such as those of tokenizers, outside the model",
}
"""Types of OpenVINO that are not in ``_BITS``, and what to do instead."""


def numpy_name(precision: str) -> str:
    """Return the NumPy name of an IR precision (FP32) or element type (f32)."""
    lower = precision.lower()
    if lower in _BITS and lower != "nf4":
        return str(np.dtype(_BITS[lower]).name)
    return _PRECISION.get(lower, lower.replace("i", "int", 1) if lower[:1] == "i" else lower.replace("u", "uint", 1))


def numpy_dtype(name: str, where: str) -> np.dtype[Any]:
    """Return the NumPy type of an element type, in the byte order of a .bin.

    Raises UnsupportedLayerError for types that only OpenVINO has, and for unknown ones.
    """
    if name in _KNOWN_TO_OPENVINO:
        problem = f"element type {name} is not supported; {_KNOWN_TO_OPENVINO[name]}"
        raise UnsupportedLayerError(f"{problem}; supported are {', '.join(sorted(_BITS))}", where)
    if name not in _BITS:
        raise UnsupportedLayerError(f"unknown value {name!r}; {closest(name, _BITS)}", where)
    dtype: np.dtype[Any] = np.dtype(_BITS[name])
    return dtype.newbyteorder("<")
