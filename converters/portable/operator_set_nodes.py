"""A node of a model that is to mean the same in another operator set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ..onnx.graph import Graph
from ..onnx.values import Values


class UnsaidError(Exception):
    """The reason why a node has no form in a set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Old:
    """A node of operator set ``opset``, the known values of its inputs, and the graph for its new form."""

    node: onnx.NodeProto
    values: Values
    opset: int
    graph: Graph

    def input(self, place: int) -> str:
        """Return the name of an input; empty if it is left out."""
        return str(self.node.input[place]) if place < len(self.node.input) else ""

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute's value, text as such."""
        value = next(
            (helper.get_attribute_value(attribute) for attribute in self.node.attribute if attribute.name == name),
            default,
        )
        return value.decode() if isinstance(value, bytes) else value

    def array(self, name: str, place: int) -> np.ndarray[Any, Any] | None:
        """Return the value of an attribute, or of an input; None if neither is present."""
        stated = self.attribute(name, None)
        if stated is not None:
            return np.asarray(stated)
        tensor = self.input(place)
        value = self.values.value(tensor) if tensor else None
        if tensor and value is None:
            raise UnsaidError(f"its {name} are known only at run time")
        return value

    def ints(self, name: str, place: int) -> list[int] | None:
        """Return the integers of an attribute, or of an input; None if neither is present."""
        values = self.array(name, place)
        return None if values is None else [int(number) for number in values.ravel()]

    def rank(self, place: int = 0) -> int:
        """Return the rank of an input."""
        shape = self.values.shape(self.input(place))
        if shape is None:
            raise UnsaidError("the rank of its input is unknown")
        return len(shape)

    def dtype(self) -> str:
        """Return the element type of the first input."""
        dtype = self.values.dtype(self.input(0))
        if dtype is None:
            raise UnsaidError("the element type of its input is unknown")
        return dtype

    def axes(self, name: str, place: int, more: int = 0) -> list[int] | None:
        """Return axes, counted from the first if the set requires it; ``more`` axes are added to the input's."""
        axes = self.ints(name, place)
        if self.graph.opset >= 11 or axes is None or min(axes, default=0) >= 0:  # negative ones came with set 11
            return axes
        return [axis % (self.rank() + more) for axis in axes]
