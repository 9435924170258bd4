"""Layers of an IR that OpenVINO computes in float32 on every processor.

On processors with bfloat16, the CPU plugin computes in it by default, and loses the lower bits of integers over 256.
A layer with the mark ``precise`` keeps float32 unless the plugin replaces it by others, which lose the mark. So nodes
for an IR contain no layer that is replaced: sums instead of differences, and no Transpose in front of MatMul.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from ..decompose.tensor import Tensor
from ..onnx.graph import Graph
from ..onnx.onnx_primitives import Primitives, tensor


@dataclass(frozen=True, slots=True)
class SumPrimitives(Primitives):
    """Primitive operations, and -1 that depends on the image: OpenVINO turns a sum with x * -1 into a difference."""

    minus: str

    @staticmethod
    def of(graph: Graph, image: str, rank: int) -> SumPrimitives:
        """Return the operations of a graph; a pixel, which is not negative, clipped at 0 is 0."""
        x = tensor(graph, image, "uint8")
        for _ in range(rank):
            x = x.take(0, 0)
        return SumPrimitives(graph, (x.cast("float32").minimum(0.0) + -1.0).value)


@dataclass(frozen=True, slots=True, eq=False)
class SumTensor(Tensor[SumPrimitives]):
    """A tensor whose float32 differences are sums: a - b becomes a + b * -1, of the same bits."""

    def __sub__(self, other: Any) -> Tensor[SumPrimitives]:
        if self.dtype != "float32":
            return Tensor.__sub__(self, other)
        return self + (-other if isinstance(other, Tensor) else np.negative(other))

    def __rsub__(self, other: Any) -> Tensor[SumPrimitives]:
        return -self + other if self.dtype == "float32" else Tensor.__rsub__(self, other)

    def __neg__(self) -> Tensor[SumPrimitives]:
        return self * self.like(self.ops.minus) if self.dtype == "float32" else Tensor.__neg__(self)


_MARK = "precise"
_UNMARKED = ("Parameter", "Result")


def keep_single(path: Path, tensor: str, prefix: str) -> None:
    """Mark the layers that compute a tensor, or one whose name has a prefix, and all layers before them."""
    tree = etree.parse(path)
    layers = {str(layer.get("id")): layer for layer in tree.iterfind("./layers/layer")}
    names = {key: list(_names(layer)) for key, layer in layers.items()}
    seeds = [key for key, those in names.items() if tensor in those or any(name.startswith(prefix) for name in those)]
    for key in _with_ancestors(seeds, tree):
        for layer in (layers[key], *layers[key].iterfind(".//layer")):
            if layer.get("type") not in _UNMARKED:
                _mark(layer)
    tree.write(path)


def _names(layer: etree._Element) -> Iterator[str]:
    """Yield the names of a layer's outputs, which are joined by commas; commas in a name are escaped."""
    for port in layer.iterfind("./output/port"):
        joined = str(port.get("names", "")).replace("\\,", "\0")
        yield from (name.replace("\0", ",") for name in joined.split(","))


def _with_ancestors(seeds: Iterable[str], tree: etree._ElementTree) -> set[str]:
    sources: dict[str, list[str]] = {}
    for edge in tree.iterfind("./edges/edge"):
        sources.setdefault(str(edge.get("to-layer")), []).append(str(edge.get("from-layer")))
    reached, waiting = set[str](), list(seeds)
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            waiting += sources.get(key, [])
    return reached


def _mark(layer: etree._Element) -> None:
    notes = layer.find("rt_info")
    if notes is None:
        notes = etree.Element("rt_info")
        layer.insert(0 if layer.find("data") is None else 1, notes)
    if all(note.get("name") != _MARK for note in notes):
        etree.SubElement(notes, "attribute", name=_MARK, version="0")
