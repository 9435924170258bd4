"""TFLite files without their larger weights, which are inputs: OpenVINO's frontend would copy these twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from numpy.typing import NDArray

from ir_interp.errors import ReadError, UnsupportedLayerError
from ir_interp.files import stored_arrays
from ir_interp.files.stored_arrays import StoredArray, append

from ...openvino import stored_weights
from ...openvino.run_time_lengths import constant_of
from .packing import BROKEN, fits, packed, unpacked
from .schema import DTYPES, schema

_FLOATS, _LEVELS = ("float16", "float32"), ("int8", "uint8")
_ENDS = np.iinfo(np.int8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """A weight that stays in its file; ``scales`` and ``zeros`` of one in levels broadcast with it."""

    stored: StoredArray
    scales: NDArray[np.float32] | None = None
    zeros: NDArray[np.float32] | None = None


def write(source: Path, path: Path) -> dict[str, Weight]:
    """Write a file to ``path`` without its larger weights; return these by the names of the inputs that they became.

    Those in levels are inputs of floats. Raises ReadError for a broken file, UnsupportedLayerError for one whose
    other constants are too large.
    """
    model = unpacked(source)
    try:
        weights = dict(_weights(model, source))
        used = {tensor.buffer for graph in model.subgraphs for tensor in graph.tensors}
        for place, buffer in enumerate(model.buffers):
            if place not in used:
                buffer.data = None
        if not fits(model):
            problem = "its integers, sparse weights and levels of 4 bits take more than 2 GiB"
            raise UnsupportedLayerError(f"{problem}, which OpenVINO's TFLite frontend does not read", source.name)
        path.write_bytes(packed(model))
    except BROKEN as error:
        raise ReadError(f"not a TFLite file, or truncated: {error}", source.name) from error
    return weights


def _weights(model: Any, source: Path) -> Iterator[tuple[str, Weight]]:
    """Make inputs of the larger weights of the first graph."""
    graph = model.subgraphs[0]
    names, ends = Counter(tensor.name for tensor in graph.tensors), {*_listed(graph.inputs), *_listed(graph.outputs)}
    for place, tensor in enumerate(graph.tensors):
        weight = _weight(tensor, model.buffers[tensor.buffer], source)
        # The frontend knows tensors by their names.
        if weight is None or names[tensor.name] > 1 or place in ends:
            continue
        if weight.scales is not None:  # the readers get floats in the end, as those of constants do
            tensor.type, tensor.quantization = schema().TensorType.FLOAT32, None
        tensor.buffer = 0
        graph.inputs = [*_listed(graph.inputs), place]
        yield tensor.name.decode(), weight


def _weight(tensor: Any, buffer: Any, source: Path) -> Weight | None:
    """Return a tensor as a weight; None for one that is left to the frontend."""
    dtypes = {getattr(schema().TensorType, name): dtype for dtype, name in DTYPES.items()}
    dtype, shape = dtypes.get(tensor.type, ""), tuple(map(int, _listed(tensor.shape)))
    is_whole = (
        buffer.data is not None
        and dtype in (*_FLOATS, *_LEVELS)
        and len(buffer.data) == prod(shape) * np.dtype(dtype).itemsize >= stored_arrays.LARGE
        and buffer.offset % np.dtype(dtype).itemsize == 0
        and tensor.sparsity is None
        and (tensor.shapeSignature is None or np.array_equal(shape, tensor.shapeSignature))
    )
    if not is_whole:
        return None
    stored = StoredArray(path=source, offset=buffer.offset, dtype=dtype, shape=shape)
    parameters = tensor.quantization
    if parameters is None or parameters.scale is None:
        return Weight(stored=stored) if dtype in _FLOATS else None
    if dtype in _FLOATS or parameters.zeroPoint is None or parameters.details is not None:
        return None
    scales, zeros = (
        np.array(values, np.float32).reshape(_along(len(values), len(shape), parameters.quantizedDimension))
        for values in (parameters.scale, parameters.zeroPoint)
    )
    return Weight(stored=stored, scales=scales, zeros=zeros)


def _along(count: int, rank: int, axis: int) -> list[int]:
    """Return the shape of ``count`` values along an axis; that of a scalar for one."""
    return [count if place == axis else 1 for place in range(rank)] if count > 1 else []


def _listed(numbers: Iterable[int] | None) -> Iterable[int]:
    """Return the numbers of a list; none for one that a file omits."""
    return () if numbers is None else numbers


def put_in(model: ov.Model, weights: Mapping[str, Weight], folder: Path) -> None:
    """Put weights in place of the inputs that bear their names; moved ones are written to ``folder``."""
    floats = {name: weight.stored for name, weight in weights.items() if weight.scales is None}
    for node in model.get_parameters():
        for name in node.output(0).get_names() & weights.keys() - floats.keys():
            _put_levels(node, name, weights[name], folder)
            model.remove_parameter(node)
    stored_weights.with_weights(model, floats, folder)
    stored_weights.mark_halves(model, "tflite")


def _put_levels(node: ov.Node, name: str, weight: Weight, folder: Path) -> None:
    """Let the readers of an input of floats read a weight in levels, which is transposed as levels.

    The frontend does so, too, except before a Reshape.
    """
    assert weight.scales is not None
    assert weight.zeros is not None
    real: dict[tuple[int, ...], ov.Output] = {}
    shifted, zeros = _shifted(weight.stored, weight.zeros, folder), weight.zeros
    if shifted is None:
        levels = stored_weights.constant(weight.stored, name)
    else:
        levels, zeros = stored_weights.constant(shifted), np.zeros_like(zeros)
    for port in node.output(0).get_target_inputs():
        reader = port.get_node()
        order = _order(reader)
        if order not in real:
            moved = ops.transpose(levels, ops.constant(np.array(order))).output(0) if order else levels
            real[order] = _real(moved, _transposed(weight.scales, order), _transposed(zeros, order))
        if order:
            reader.output(0).replace(real[order])
        else:
            port.replace_source_output(real[order])


def _order(reader: ov.Node) -> tuple[int, ...]:
    """Return the order of axes of a transposition without a Reshape behind it; none for other readers."""
    behind = [port.get_node().get_type_name() for port in reader.output(0).get_target_inputs()]
    if reader.get_type_name() != "Transpose" or "Reshape" in behind:
        return ()
    order = constant_of(reader.input_value(1))
    return () if order is None else tuple(order.tolist())


def _real(levels: ov.Output, scales: NDArray[np.float32], zeros: NDArray[np.float32]) -> ov.Output:
    centred = ops.convert(levels, "f32")
    if zeros.any():
        centred = ops.subtract(centred, ops.constant(zeros))
    return ops.multiply(centred, ops.constant(scales)).output(0)


def _transposed(values: NDArray[np.float32], order: tuple[int, ...]) -> NDArray[np.float32]:
    return values.transpose(order) if order and values.ndim else values


def _shifted(stored: StoredArray, zeros: NDArray[np.float32], folder: Path) -> StoredArray | None:
    """Return levels minus their zero points, as the frontend does; None if these are 0, or int8 lacks a difference."""
    levels = stored.mapped()
    if not zeros.any() or levels.min() - zeros.max() < _ENDS.min or levels.max() - zeros.min() > _ENDS.max:
        return None
    return append((levels - zeros.astype(np.int16)).astype(np.int8), folder / "shifted")
