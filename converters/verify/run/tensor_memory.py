"""The memory of a model's tensors on given inputs, by the model's own declarations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import onnx

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.shapes import Shape

from ...onnx.inference import infer, without_weights
from ...onnx.onnx_files import read_model
from .. import graphs

_BYTES_AN_ELEMENT = 8  # float32 at least, in its own and in another layout


def declared_bytes(paths: Iterable[Path], shapes: Mapping[str, Shape]) -> float:
    """Return the memory of the tensors of the largest of some models on inputs of ``shapes``, by name."""
    return max((float(_BYTES_AN_ELEMENT * sum(elements(path, shapes).values())) for path in paths), default=0.0)


def elements(path: Path, shapes: Mapping[str, Shape]) -> Mapping[str, int]:
    """Return the number of elements of the tensors of a model on inputs of ``shapes``, by name."""
    return _of_model(path, path.stat().st_mtime_ns, tuple(sorted(shapes.items())))


@lru_cache(maxsize=64)
def _of_model(path: Path, _: int, shapes: tuple[tuple[str, Shape], ...]) -> Mapping[str, int]:
    try:
        return dict(_of_onnx(path, dict(shapes)) if FileKind.of(path) is FileKind.ONNX else _of_ir(path, dict(shapes)))
    except IrInterpError:
        return {}


def _of_onnx(path: Path, shapes: Mapping[str, Shape]) -> Iterable[tuple[str, int]]:
    """Yield the number of elements of every tensor of the main graph, inferred from inputs of these shapes."""
    model = without_weights(read_model(path))
    del model.graph.value_info[:]  # of other shapes, which inference would keep
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    for value in model.graph.input:
        if value.name in shapes:
            _fix(value.type.tensor_type, shapes[value.name])
    graph = infer(model).graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        yield value.name, math.prod(max(1, dim.dim_value) for dim in value.type.tensor_type.shape.dim)


def _fix(tensor: onnx.TypeProto.Tensor, shape: Shape) -> None:
    tensor.ClearField("shape")
    for length in shape:
        tensor.shape.dim.add(dim_value=length)


def _of_ir(path: Path, shapes: Mapping[str, Shape]) -> Iterable[tuple[str, int]]:
    """Yield the number of elements of every tensor; a dynamic dimension is that of an input of the same rank."""
    graph = graphs.read(path)
    like = {len(shape): shape for shape in shapes.values()}
    for name in graph.names:
        lengths = graph.shape(name)
        if lengths is not None:
            others = like.get(len(lengths), (1,) * len(lengths))
            sizes = (other if length is None else length for length, other in zip(lengths, others, strict=True))
            yield name, math.prod(sizes)
