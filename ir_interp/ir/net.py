"""Layers of an IR, and the edges between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import ReadError
from ir_interp.shapes import PartialShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """One end of an edge; ``shape`` and ``dtype`` (a NumPy name) are None where the file does not specify them.

    ``names`` are those of the tensor, in alphabetical order: OpenVINO shows the first.
    """

    id: int
    shape: PartialShape | None
    dtype: str | None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer. ``version`` is its operation set, or None; ``attributes`` are those of <data>.

    ``output_names`` are the names that a Result shows; ``layout`` is that of a model input or output, verbatim.
    """

    id: int
    name: str
    type: str
    version: int | None
    attributes: dict[str, str]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    where: str
    output_names: tuple[str, ...] = ()
    layout: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """The layers of one net or body, by id; ``edges`` lead from (layer, input port) to (layer, output port).

    ``version`` is that of the IR; None for a snippet. ``bodies`` are the nets inside layers, by layer and tag.
    ``info`` is the file's metadata of the model, nested names joined by dots. ``folded`` caches the values that
    ``fold`` computed for output ports.
    """

    layers: dict[int, Layer]
    edges: dict[tuple[int, int], tuple[int, int]]
    binary: Path
    version: int | None = None
    is_snippet: bool = False
    name: str = ""
    info: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    bodies: dict[tuple[int, str], Body] = field(default_factory=dict)
    _readers: dict[tuple[int, int], list[Layer]] = field(default_factory=dict, compare=False, repr=False)
    folded: dict[tuple[int, int], NDArray[Any] | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def has_dynamic_ranks(self) -> bool:
        """Whether a parameter has a dynamic rank."""
        parameters = (layer for layer in self.layers.values() if layer.type.lower() == "parameter")
        return any("..." in layer.attributes.get("shape", "") for layer in parameters)

    def source(self, layer: Layer, index: int) -> tuple[Layer, Port] | None:
        """Return the layer and output port that feed an input of ``layer``; None if it is not connected."""
        if index >= len(layer.inputs):
            return None
        end = self.edges.get((layer.id, layer.inputs[index].id))
        producer = self.layers.get(end[0]) if end else None
        if end is None or producer is None:
            return None
        ports = [port for port in producer.outputs if port.id == end[1]]
        if not ports:
            raise ReadError(f"an edge starts at output port {end[1]}, which does not exist", producer.where)
        return producer, ports[0]

    def readers(self, layer: Layer, port: Port) -> list[Layer]:
        """Return the layers that an output port feeds, once for each edge."""
        if not self._readers:
            for (number, _), end in self.edges.items():
                if number in self.layers:
                    self._readers.setdefault(end, []).append(self.layers[number])
        return self._readers.get((layer.id, port.id), [])

    def with_only(self, layers: dict[int, Layer], edges: dict[tuple[int, int], tuple[int, int]]) -> Net:
        """Return a net with other layers and edges."""
        return replace(self, layers=layers, edges=edges, _readers={}, folded={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The net inside a layer; ``inputs``, ``outputs`` and ``back_edges`` are the attributes that connect them."""

    net: Net
    inputs: tuple[dict[str, str], ...]
    outputs: tuple[dict[str, str], ...]
    back_edges: tuple[dict[str, str], ...]


def tensor_name(layer: Layer, port: Port) -> str:
    """Return the name of a tensor: the first that OpenVINO shows, or else that of its layer."""
    if port.names:
        return port.names[0]
    return layer.name if len(layer.outputs) == 1 else f"{layer.name}.{layer.outputs.index(port)}"
