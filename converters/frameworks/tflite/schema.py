"""The schema of TFLite files, from LiteRT's own package; imported on first use."""

from __future__ import annotations

from types import ModuleType

from . import FRAMEWORK

DTYPES = {
    "float32": "FLOAT32",
    "float16": "FLOAT16",
    "int8": "INT8",
    "uint8": "UINT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "bool": "BOOL",
}
"""Names of element types in NumPy, and in the schema."""


def schema() -> ModuleType:
    """Return the module of the schema. Raises ReadError if it is not installed."""
    FRAMEWORK.check_installed("a .tflite file")
    from ai_edge_litert import schema_py_generated

    module: ModuleType = schema_py_generated
    return module
