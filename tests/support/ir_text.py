"""IR as text, as files hold it: absent, misspelt and contradictory where OpenVINO's own builders are right.

Attributes are given as they stand in a file (``'axes="2,3" mode="linear"'``), and a text can be changed before it is
written. dtypes are NumPy's names, and "" where a port says none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Shape = Sequence[int]
End = tuple[int, int]  # a layer and its output port
Edge = tuple[int, int, int, int]  # from a layer and its output port to a layer and its input port

ELEMENT_TYPES = {
    "float16": ("f16", "FP16"),
    "float32": ("f32", "FP32"),
    "float64": ("f64", "FP64"),
    "bfloat16": ("bf16", "BF16"),
    "int8": ("i8", "I8"),
    "uint8": ("u8", "U8"),
    "int32": ("i32", "I32"),
    "int64": ("i64", "I64"),
}
"""The names of a dtype in attributes, and on ports."""


def attributes(values: Mapping[str, Any]) -> str:
    """Return attributes as text: lists with commas, booleans in lower case, strings as they are."""
    return " ".join(f'{name}="{_text(value)}"' for name, value in values.items())


def _text(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def port(number: int, shape: Shape = (), dtype: str = "", names: str = "") -> str:
    """Return a port; a length of -1 is open, and no lengths at all say nothing in an input."""
    precision = f' precision="{ELEMENT_TYPES[dtype][1]}"' if dtype else ""
    named = f' names="{names}"' if names else ""
    return f'<port id="{number}"{precision}{named}>{"".join(f"<dim>{length}</dim>" for length in shape)}</port>'


def layer(
    kind: str,
    data: str,
    inputs: Sequence[Shape] = (),
    outputs: Sequence[Shape] = (),
    *,
    number: int = 0,
    name: str = "",
    version: str = "opset1",
    dtype: str = "float32",
) -> str:
    """Return a layer whose ports, all of one dtype, are numbered from 0, inputs first."""
    ports = [port(place, shape, dtype) for place, shape in enumerate((*inputs, *outputs))]
    return assembled(kind, data, ports[: len(inputs)], ports[len(inputs) :], number=number, name=name, version=version)


def assembled(
    kind: str,
    data: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    *,
    number: int,
    name: str,
    version: str,
    inside: str = "",
) -> str:
    """Return a layer of ports that are texts, with further text ``inside``; no ``version`` where that is empty."""
    version = f' version="{version}"' if version else ""
    sides = (("input", inputs), ("output", outputs))
    ports = "".join(f"<{side}>{''.join(those)}</{side}>" for side, those in sides if those)
    return f'<layer id="{number}" name="{name}" type="{kind}"{version}><data {data}/>{ports}{inside}</layer>'


def interpolate(
    data: str,
    *,
    version: str = "opset1",
    shape: Shape = (1, 1, 4, 6),
    out: Shape | None = (1, 1, 8, 12),
    number: int = 0,
    name: str = "up",
    dtype: str = "float32",
) -> str:
    """Return an Interpolate alone, as one pastes it from a file; ``out`` may be left out."""
    outputs = [] if out is None else [out]
    return layer("Interpolate", data, [shape], outputs, number=number, name=name, version=version, dtype=dtype)


def net(layers: Sequence[str], edges: Sequence[Edge] = (), version: int | str = 11) -> str:
    """Return a whole net."""
    return f'<?xml version="1.0"?><net name="n" version="{version}">{body(layers, edges)}</net>'


def body(layers: Sequence[str], edges: Sequence[Edge]) -> str:
    """Return what is in a net, and in the body of a loop."""
    places = ("from-layer", "from-port", "to-layer", "to-port")
    ends = (attributes(dict(zip(places, each, strict=True))) for each in edges)
    return f"<layers>{''.join(layers)}</layers><edges>{''.join(f'<edge {each}/>' for each in ends)}</edges>"


class Net:
    """A net and its weights, layer by layer; the output port of each follows its input ports, as in OpenVINO."""

    def __init__(self, version: int | str = 11) -> None:
        self.version = version
        self.layers: list[str] = []
        self.edges: list[Edge] = []
        self.weights = b""

    def add(
        self,
        kind: str,
        data: str,
        *sources: End,
        shape: Shape = (),
        dtype: str = "float32",
        version: str = "opset1",
        name: str = "",
        names: str = "",
        inputs: Sequence[Shape] = (),
        inside: str = "",
    ) -> End:
        """Add a layer that takes ``sources`` and return its output; its input ports show the shapes ``inputs``."""
        number, last = len(self.layers), len(sources)
        ends = [port(place, inputs[place] if place < len(inputs) else ()) for place in range(last)]
        out = [] if kind == "Result" else [port(last, shape, dtype, names)]
        name = name or f"{kind.lower()}{number}"
        self.layers.append(assembled(kind, data, ends, out, number=number, name=name, version=version, inside=inside))
        self.edges += [(*source, number, place) for place, source in enumerate(sources)]
        return number, last

    def parameter(self, shape: Shape, name: str = "x", dtype: str = "float32", names: str = "") -> End:
        dims = ",".join("?" if length < 0 else str(length) for length in shape)
        data = f'element_type="{ELEMENT_TYPES[dtype][0]}" shape="{dims}"'
        return self.add("Parameter", data, shape=shape, dtype=dtype, name=name, names=names)

    def const(self, values: Any, dtype: str = "int64") -> End:
        array = np.array(values, dtype)
        place = {"offset": len(self.weights), "size": array.nbytes}
        data = {"element_type": ELEMENT_TYPES[dtype][0], "shape": array.shape} | place
        self.weights += array.tobytes()
        return self.add("Const", attributes(data), shape=array.shape, dtype=dtype)

    def interpolate(self, version: int, data: str, *sources: End, shape: Shape, out: Shape, name: str = "up") -> End:
        """Add an Interpolate, and the Result y that takes it."""
        end = self.add("Interpolate", data, *sources, shape=out, version=f"opset{version}", name=name, inputs=[shape])
        self.add("Result", "", end, name="y")
        return end

    def body(self) -> str:
        return body(self.layers, self.edges)

    def text(self) -> str:
        return net(self.layers, self.edges, self.version)

    def write(self, path: Path, *, binary: bool = True) -> Path:
        """Write the net, and its weights beside it."""
        path.write_text(self.text())
        if binary:
            path.with_suffix(".bin").write_bytes(self.weights)
        return path
