"""An ONNX graph under construction: nodes with readable names, constants that are stored once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike, DTypeLike
from onnx import helper

from ir_interp.array_types import Array
from ir_interp.files.memory import blocks

from .node_walk import merged, needed, with_inner
from .onnx_save import Unsaved


@dataclass(slots=True, kw_only=True)
class Graph:
    """Nodes and constants so far, in the operators of ``opset``.

    ``layer`` is the name of the layer being written: its nodes are named after it. ``exact`` are the tensors
    that resizes read, whose constants must keep their precision. ``is_inner`` marks the body of a node.
    """

    opset: int
    layer: str = ""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initialisers: dict[str, Array] = field(default_factory=dict)
    exact: set[str] = field(default_factory=set)
    is_inner: bool = False
    _tensors: dict[str, int] = field(default_factory=dict)
    _nodes: dict[str, int] = field(default_factory=dict)
    _shared: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """Return an unused tensor name: ``name``, or that with a number behind it."""
        return _unique(name, self._tensors)

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of one output and return that; see ``outputs``."""
        return self.outputs(1, kind, *inputs, **attributes)[0]

    def outputs(self, count: int, kind: str, *inputs: str, **attributes: Any) -> tuple[str, ...]:
        """Add a node and return its outputs; an attribute of None is left out, as is an empty input at the end."""
        operands = list(inputs)
        while operands and not operands[-1]:
            operands.pop()
        names = tuple(self.fresh(f"{self.layer}/{kind}") for _ in range(count))
        stated = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(kind, operands, names, **stated))
        return names

    def again(self, node: onnx.NodeProto, *inputs: str) -> str:
        """Add a node like another of one output, with other inputs, and return its output."""
        return self.node(node.op_type, *inputs, **attributes_of(node))

    def constant(self, value: ArrayLike, dtype: DTypeLike | None = None, name: str = "") -> str:
        """Return the name of a constant of this value: that of an equal one if the graph has it already."""
        array = np.asarray(value, dtype)
        # A constant may be as large as a model's weights: its digest is kept, not a second copy of its bytes.
        digest = hashlib.sha256()
        for block in blocks(array):
            digest.update(block)
        key = (array.dtype.name, array.shape, digest.digest())
        if key not in self._shared:
            self._shared[key] = self.fresh(name or f"{self.layer}/constant")
            self.initialisers[self._shared[key]] = array
        return self._shared[key]

    def ints(self, values: Iterable[int]) -> str:
        """Return a constant vector of 64-bit integers: axes, shapes, sizes."""
        return self.constant(list(values), np.int64)

    def maker(self, tensor: str) -> onnx.NodeProto | None:
        """Return the node that produces a tensor; None for inputs, constants, and outputs of nodes around a body."""
        return next((node for node in reversed(self.nodes) if tensor in node.output), None)

    def rename(self, old: str, new: str, since: int = 0) -> None:
        """Rename a tensor in the nodes from index ``since`` on."""
        for node in with_inner(self.nodes[since:]):
            for ends in (node.input, node.output):
                if old in ends:
                    ends[:] = [new if end == old else end for end in ends]

    def name_nodes(self, since: int) -> None:
        """Name the nodes from index ``since`` on: the last of them like the layer."""
        for node in self.nodes[since:-1]:
            node.name = _unique(f"{self.layer}/{node.op_type}", self._nodes)
        for node in self.nodes[since:][-1:]:
            node.name = _unique(self.layer, self._nodes)

    def inner(self) -> Graph:
        """Return a graph for the inside of a node: separate nodes, but names and constants in common with this."""
        return replace(self, nodes=[], is_inner=True)

    def proto(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
    ) -> onnx.GraphProto:
        """Return the content, each thing once, without nodes that no output depends on; constants apart."""
        result_names = [output.name for output in outputs]
        return helper.make_graph(needed(merged(self.nodes, result_names), result_names), name, inputs, outputs)

    def model(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
    ) -> Unsaved:
        """Return a model of the content, and the constants that it uses."""
        graph = self.proto(name, inputs, outputs)
        opset = helper.make_opsetid("", self.opset)
        model = helper.make_model(graph, opset_imports=[opset], producer_name="ir_interp")
        # The oldest version of the format that has the operator set: more runtimes read it.
        model.ir_version = 10 if self.opset > 20 else 9 if self.opset > 18 else 8
        used = {tensor for node in with_inner(graph.node) for tensor in node.input}
        constants = {tensor: value for tensor, value in self.initialisers.items() if tensor in used}
        return Unsaved(model=model, constants=constants)


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """Return the attributes of a node as Python values, bytes for text."""
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _unique(proposal: str, taken: dict[str, int]) -> str:
    """Return ``proposal``, or that with the next number behind it; ``taken`` has names and the last number of each."""
    name, count = proposal, taken.get(proposal, 0)
    while name in taken or not name:
        count += 1
        name = f"{proposal}_{count}"
    taken[proposal] = count
    taken.setdefault(name, 0)
    return name
