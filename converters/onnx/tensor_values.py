"""The values of a tensor that a file holds."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.checker
from numpy.typing import NDArray
from onnx import numpy_helper

from ir_interp.errors import ReadError


def values_of(tensor: onnx.TensorProto, folder: str = "") -> NDArray[Any]:
    """Return the values of a tensor; ``folder`` holds its external data. Raises ReadError if they are missing."""
    try:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:  # loading writes the data into the tensor itself
            tensor = onnx.TensorProto.FromString(tensor.SerializeToString())
        return numpy_helper.to_array(tensor, base_dir=folder)
    except (ValueError, LookupError, OSError, TypeError, onnx.checker.ValidationError) as error:
        raise ReadError(f"the values of tensor {tensor.name!r} cannot be read: {error}") from error
