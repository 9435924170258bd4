"""Single nodes and layers as files, from their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Linear, ResizeSpec, Scales, Sizes

from ..onnx.resize_nodes import given_names
from ..openvino.given_layer import write_layer

_IR_VERSION = 8
_UPSAMPLE_ENDS = 10  # the operator set that renamed it to Resize
_DTYPES = {"sizes": np.int64, "scales": np.float32, "roi": np.float32}


def operator(version: int) -> str:
    """Return the name of the operator in an operator set: Upsample, or Resize."""
    return "Upsample" if version < _UPSAMPLE_ENDS else "Resize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A Resize or Upsample of ONNX: ``version`` of the operator set, ``given`` inputs after the data by name."""

    version: int = 19
    shape: tuple[int, ...] = (1, 1, 5, 6)
    dtype: str = "float32"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, tuple[float, ...]]

    suffix = ".onnx"

    def save(self, path: Path) -> None:
        """Write it as a model of nothing else."""
        values = {name: np.array(value, _DTYPES[name]) for name, value in self.given.items()}
        if self.version in (11, 12):  # required as long as a name cannot be omitted
            values = {name: np.zeros(0, np.float32) for name in ("roi", "scales")} | values
        input_names = given_names(self.version)
        scales: dict[str, Any] = {name: value.tolist() for name, value in values.items() if name not in input_names}
        values = {name: value for name, value in values.items() if name in input_names}
        names = [name if name in values else "" for name in input_names]
        names = names[: max((place for place, name in enumerate(names) if name), default=-1) + 1]
        node = helper.make_node(
            operator(self.version),
            ["x", *names],
            ["y"],
            name="resize",
            **self.attributes,
            **scales,  # for Upsample-7, where they are an attribute
        )
        element = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        x = helper.make_tensor_value_info("x", element, self.shape)
        y = helper.make_tensor_value_info("y", element, [None] * len(self.shape))
        constants = [numpy_helper.from_array(value, name) for name, value in values.items()]
        graph = helper.make_graph([node], "fault", [x], [y], constants)
        opset = helper.make_opsetid("", self.version)
        onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION), path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """An Interpolate of an IR, of a ``version``; ``given`` are its sizes or scales, and axes."""

    version: int = 11
    shape: tuple[int, ...] = (1, 1, 5, 6)
    dtype: str = "float32"
    attributes: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, tuple[float, ...]]

    suffix = ".xml"

    def save(self, path: Path) -> None:
        """Write it as an IR of nothing else."""
        stated = {"shape_calculation_mode": "sizes" if "sizes" in self.given else "scales"} if self.version > 1 else {}
        axes = self.given.get("axes")
        spec = ResizeSpec(
            kernel=Linear(),
            axes=None if axes is None else tuple(map(int, axes)),
            target=Sizes(tuple(map(int, self.given["sizes"])))
            if "sizes" in self.given
            else Scales(self.given["scales"]),
        )
        op = ResizeOp(
            name="resize",
            where="fault",
            spec=spec,
            dialect="openvino",
            version=self.version,
            shape=self.shape,
            dtype=self.dtype,
        )
        write_layer(op, {**stated, **self.attributes}, path)
