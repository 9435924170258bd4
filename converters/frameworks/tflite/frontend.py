"""Whole TFLite models to IR: OpenVINO's frontend reads the model, its resizes are built as LiteRT computes them.

It reads a file without its larger weights, which are inputs: it would copy these twice. Levels of 16 bits, whose
FakeQuantize the CPU plugin strips above 8 bits, become primitives.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import ClassVar

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from numpy.typing import NDArray
from openvino.frontend import NodeContext

from ir_interp.errors import ExporterError, InexactError, ReadError, UnsupportedLayerError
from ir_interp.files import memory
from ir_interp.files.memory import StoredArray, append
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape
from ir_interp.translation.translate import Grade

from ...dialects.tflite import DIALECT
from ...openvino import frontends, ir_save
from ...openvino.frontends import Built, Frontend, ResizeBuilder, check_numbers, in_order
from ...openvino.interpolate_form import Resized, RunTime, at_run_time, partial_shape, resize as build_resize, vector
from ...openvino.openvino_primitives import constant_of, element_name
from ...reports import FormPolicy
from ...runtimes import litert
from . import tflite_files
from .tflite_files import (
    BROKEN,
    DTYPES,
    KINDS,
    File,
    Operator,
    Quantisation,
    fits,
    packed,
    read_file,
    resize,
    schema,
    unpacked,
)

_FLOATS, _LEVELS = ("float16", "float32"), ("int8", "uint8")
_INT8 = np.iinfo(np.int8)


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


def _weights(model: tflite_files.Model, source: Path) -> Iterator[tuple[str, Weight]]:
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
        yield tflite_files.name_of(tensor), weight


def _weight(tensor: tflite_files.TensorTable, buffer: tflite_files.Buffer, source: Path) -> Weight | None:
    """Return a tensor as a weight; None for one that is left to the frontend."""
    dtypes = {getattr(schema().TensorType, name): dtype for dtype, name in DTYPES.items()}
    dtype, shape = dtypes.get(tensor.type, ""), tuple(map(int, _listed(tensor.shape)))
    is_whole = (
        buffer.data is not None
        and dtype in (*_FLOATS, *_LEVELS)
        and len(buffer.data) == prod(shape) * np.dtype(dtype).itemsize >= memory.LARGE
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
    ir_save.with_weights(model, floats, folder)
    ir_save.mark_halves(model, "tflite")


def _put_levels(node: ov.Node, name: str, weight: Weight, folder: Path) -> None:
    """Let the readers of an input of floats read a weight in levels, which is transposed as levels.

    The frontend does so, too, except before a Reshape.
    """
    assert weight.scales is not None
    assert weight.zeros is not None
    real: dict[tuple[int, ...], ov.Output] = {}
    shifted, zeros = _shifted(weight.stored, weight.zeros, folder), weight.zeros
    if shifted is None:
        levels = ir_save.stored_constant(weight.stored, name)
    else:
        levels, zeros = ir_save.stored_constant(shifted), np.zeros_like(zeros)
    for port in node.output(0).get_target_inputs():
        reader = port.get_node()
        order = _order(reader)
        if order not in real:
            moved = ops.transpose(levels, ops.constant(np.array(order))).output(0) if order else levels
            real[order] = _real_weights(moved, _transposed(weight.scales, order), _transposed(zeros, order))
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


def _real_weights(levels: ov.Output, scales: NDArray[np.float32], zeros: NDArray[np.float32]) -> ov.Output:
    centred = ops.convert(levels, "f32")
    if zeros.any():
        centred = ops.subtract(centred, ops.constant(zeros))
    return ops.multiply(centred, ops.constant(scales)).output(0)


def _transposed(values: NDArray[np.float32], order: tuple[int, ...]) -> NDArray[np.float32]:
    return values.transpose(order) if order and values.ndim else values


def _shifted(stored: StoredArray, zeros: NDArray[np.float32], folder: Path) -> StoredArray | None:
    """Return levels minus their zero points, as the frontend does; None if these are 0, or int8 lacks a difference."""
    levels = stored.mapped()
    if not zeros.any() or levels.min() - zeros.max() < _INT8.min or levels.max() - zeros.min() > _INT8.max:
        return None
    return append((levels - zeros.astype(np.int16)).astype(np.int8), folder / "shifted")


_MOST = 256
"""The levels of a FakeQuantize that the plugin computes; with more it fails with "FQ stripping failed", or drops it."""
_INT16 = np.iinfo(np.int16)
_STEPS = ("Multiply", "Clamp", "Round", "Divide")


def in_primitives(model: ov.Model) -> None:
    """Replace each FakeQuantize of 16 bits, whose zero point is 0 in TFLite."""
    for node in model.get_ordered_ops():
        if node.get_type_name() == "FakeQuantize" and node.get_attributes()["levels"] > _MOST:
            # A quotient by a power of two is exact, so that these are the distances of levels before and behind it.
            before, behind = (
                ops.constant(np.float32(node.input_value(port).get_node().data.item()) / np.float32(_INT16.min))
                for port in (1, 3)
            )
            levels = ops.round(ops.divide(node.input_value(0), before), "half_to_even")
            real = ops.multiply(ops.clamp(levels, float(_INT16.min), float(_INT16.max)), behind)
            for reader in node.output(0).get_target_inputs():
                reader.replace_source_output(real.output(0))


def unrounded(output: ov.Output) -> ov.Output | None:
    """Return the value that becomes ``output`` by rounding to levels of any width; None if it is not rounded."""
    node = output.get_node()
    if node.get_type_name() == "FakeQuantize":
        return node.input_value(0)
    for kind in _STEPS:
        if node.get_type_name() != kind:
            return None
        last, node = node, node.input_value(0).get_node()
    return last.input_value(0)


_WITH_BIAS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def build(source: Path, folder: Path, policy: FormPolicy | None = None) -> Built:
    """Return a TFLite model as an OpenVINO model, its inputs and outputs in the order of the file.

    Larger weights stay in the file, or are in new files in ``folder``, which holds nothing else.
    Raises an ExceptionGroup of InexactError, one for each resize without an exact form; UnsupportedLayerError if
    OpenVINO's frontend refuses the rest of the model, ReadError if it dies of it.
    """
    file = read_file(source)
    for operator in file.operators:
        if operator.type in KINDS and operator.graph:
            problem = "a resize in a branch, a loop or a second signature is not supported"
            raise UnsupportedLayerError(problem, operator.where)
        _check_bias(operator)
    check_numbers([(end.name, end.dtype) for end in (*file.inputs, *file.outputs) if end is not None], source.name)
    path = folder / source.name
    weights = write(source, path)
    frontends.check_frontend(path, "tflite")
    waiting = in_order(
        (operator.type, (resize(operator), operator.quantisation))
        for operator in file.operators
        if operator.type in KINDS
    )
    builder = _Builder(file=source.name, policy=policy or FormPolicy(), waiting=waiting)
    try:
        model = builder.read(KINDS, path)
    except ExporterError:
        _check_translated(path, file, source.name)
        raise
    put_in(model, weights, folder)
    model = _in_order(model, file, source.name)
    in_primitives(model)
    return builder.built(model)


def _check_translated(path: Path, file: File, name: str) -> None:
    """Raise ExporterError that names all operators without a translation into layers of OpenVINO, and their counts.

    The frontend names an operator by its place, and in its own message the first of them only.
    """
    places = [place for place in frontends.untranslated(path, "tflite") if place.isdecimal()]
    main = [operator for operator in file.operators if not operator.graph]
    kinds = Counter(main[int(place)].type for place in places if int(place) < len(main))
    if kinds:
        counts = ", ".join(f"{kind} ({count})" for kind, count in sorted(kinds.items()))
        total = kinds.total()
        what = f"{total} of {len(main)} operators" if total > 1 else f"1 operator of {len(main)}"
        raise ExporterError(f"OpenVINO's TFLite frontend has no translation of {what}: {counts}", name)


def _check_bias(operator: Operator) -> None:
    """Raise UnsupportedLayerError for a bias of other levels than those of the products, which LiteRT adds it to."""
    x, weights, bias = (*operator.inputs[:3], None, None, None)[:3]
    if operator.type not in _WITH_BIAS or x is None or weights is None or bias is None:
        return
    scales = [np.array(end.quantisation.scales) for end in (x, weights, bias)]
    if all(scale.size for scale in scales) and not np.allclose(scales[0] * scales[1], scales[2], rtol=1e-3, atol=0):
        problem = "its bias has the scale of another operator, which LiteRT ignores"
        raise UnsupportedLayerError(f"{problem}; convert the model again with a bias of its own", operator.where)


def _in_order(model: ov.Model, file: File, name: str) -> ov.Model:
    """Return a model with the inputs and outputs of a file, in its order and under its names."""
    inputs = {name: node for node in model.get_parameters() for name in node.output(0).get_names()}
    results = {name: node for node in model.get_results() for name in node.output(0).get_names()}
    names = [[end.name for end in those if end is not None] for those in (file.inputs, file.outputs)]
    for known, required in zip((inputs, results), names, strict=True):
        missing = [name for name in required if name not in known]
        if missing:
            raise UnsupportedLayerError(f"OpenVINO's TFLite frontend drops {missing[0]!r}, an input or output", name)
    twice = next((name for name in names[1] if names[1].count(name) > 1), None)
    if twice is not None:
        raise UnsupportedLayerError(f"{twice!r} is an output twice; expected outputs of different names", name)
    return ov.Model([results[name] for name in names[1]], [inputs[name] for name in names[0]], "tflite")


@dataclass(slots=True, kw_only=True)
class _Builder(ResizeBuilder):
    """Takes the resizes of a file in order, as the frontend does.

    ``quantisation`` is that of the current one.
    """

    frontend: ClassVar = Frontend("tflite", "TFLite")
    waiting: Mapping[str, deque[tuple[ResizeOp, Quantisation]]]
    quantisation: Quantisation = field(default_factory=Quantisation)

    def _read(self, op_type: str, node: NodeContext, x: ov.Output) -> tuple[ResizeOp, RunTime]:
        op, self.quantisation = self._next(op_type, self.waiting)
        op = replace(op, shape=partial_shape(x))  # that of the model, which may know more
        return at_run_time(op, x, lambda: vector([node.get_input(1)]))

    def _resized(self, x: ov.Output, op: ResizeOp, run_time: RunTime) -> Resized:
        """Return levels resized as integers, between the real values that the frontend expects.

        It replaces a quantised tensor by its real values where a Convert reads it.
        """
        if not self.quantisation.scales:
            return _as_litert(x, op, run_time, self.policy)
        levels = ops.convert(_levels(ops.convert(x, "f32"), self.quantisation), element_name(op.dtype or ""))
        resized = _as_litert(levels.output(0), op, run_time, self.policy)
        return replace(resized, output=_real(resized.output, self.quantisation))


def _as_litert(x: ov.Output, op: ResizeOp, run_time: RunTime, policy: FormPolicy) -> Resized:
    """Return ``x`` resized as LiteRT computes it. Raises InexactError if that is unknown."""
    outcome = litert.outcome(op)
    if outcome.spec is not None:
        return build_resize(x, op, run_time, policy)
    shape = static_shape(op.shape)
    if not litert.copies_by_fixed_steps(op) or shape is None or run_time.target is not None:
        raise InexactError(op.name, DIALECT.name, reason=f"LiteRT computes something else: {outcome.reason}")
    for axis in plan(op.spec, shape).axes:
        pixels = ops.constant(litert.fixed_pixels(axis))
        x = ops.gather(x, pixels, ops.constant(np.int64(axis.axis))).output(0)
    return Resized(output=x, form="copies of the pixels that LiteRT takes", grade=Grade.EXACT_FOR_SHAPE)


def _levels(x: ov.Node, quantisation: Quantisation) -> ov.Node:
    """Return the levels of real values; rounding removes the error of the quotient."""
    scale, zero = (np.float32(numbers[0]) for numbers in (quantisation.scales, quantisation.zeros))
    return ops.add(ops.round(ops.divide(x, ops.constant(scale)), "half_to_even"), ops.constant(zero))


def _real(levels: ov.Output, quantisation: Quantisation) -> ov.Output:
    scale, zero = (np.float32(numbers[0]) for numbers in (quantisation.scales, quantisation.zeros))
    centred = ops.subtract(ops.convert(levels, "f32"), ops.constant(zero))
    return ops.multiply(centred, ops.constant(scale)).output(0)
