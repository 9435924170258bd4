"""TFLite models of a few operators, written tensor by tensor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ir_interp.converters.frameworks.tflite import tflite_files
from ir_interp.converters.frameworks.tflite.tflite_files import DTYPES, schema
from ir_interp.shapes import Array

X = (1, 6, 5, 4)
"""The shape of the input."""


class Net:
    """A model of one input, of the quantisation ``levels``, to which a test adds tensors and operators.

    ``signature`` is the shape of the input with -1 for dynamic dimensions.
    """

    def __init__(
        self,
        dtype: str = "float32",
        shape: tuple[int, ...] = X,
        signature: tuple[int, ...] | None = None,
        **levels: Any,
    ) -> None:
        of = schema()
        self.model, self.graph = of.ModelT(), of.SubGraphT()
        self.model.version, self.model.subgraphs, self.model.operatorCodes = 3, [self.graph], []
        self.model.buffers = [of.BufferT()]
        self.graph.tensors, self.graph.operators, self.graph.inputs = [], [], [0]
        self.tensor("x", dtype, shape, **levels)
        self.graph.tensors[0].shapeSignature = signature

    def tensor(self, name: str, dtype: str, shape: tuple[int, ...], values: Array | None = None, **levels: Any) -> int:
        """Add a tensor, a constant if it has ``values``; return its place. ``levels`` are its quantisation."""
        of = schema()
        tensor = of.TensorT()
        tensor.name, tensor.type, tensor.shape = name, getattr(of.TensorType, DTYPES[dtype]), list(shape)
        if values is not None:
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(of.BufferT())
            self.model.buffers[-1].data = np.frombuffer(values.tobytes(), np.uint8)
        if levels:
            tensor.quantization = of.QuantizationParametersT()
            for name, value in levels.items():
                setattr(tensor.quantization, name, value)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def operator(
        self,
        kind: str,
        inputs: list[int],
        name: str,
        options: str = "",
        levels: Mapping[str, Any] = MappingProxyType({}),
        **attributes: Any,
    ) -> int:
        """Add an operator of a single output, of int8 if it has ``levels``; return its place."""
        of = schema()
        code, operator = of.OperatorCodeT(), of.OperatorT()
        code.builtinCode = code.deprecatedBuiltinCode = getattr(of.BuiltinOperator, kind)
        code.version = 1
        operator.opcodeIndex, operator.inputs = len(self.model.operatorCodes), inputs
        operator.outputs = [self.tensor(name, "int8" if levels else "float32", (), **levels)]
        if options:
            operator.builtinOptionsType = getattr(of.BuiltinOptions, options)
            operator.builtinOptions = getattr(of, f"{options}T")()
            for attribute, value in attributes.items():
                setattr(operator.builtinOptions, attribute, value)
        self.model.operatorCodes.append(code)
        self.graph.operators.append(operator)
        self.graph.outputs = operator.outputs
        return int(operator.outputs[0])

    def save(self, path: Path) -> None:
        path.write_bytes(tflite_files.packed(self.model))
