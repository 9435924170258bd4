"""The IR that stands for a model of TensorFlow: it freezes the graph, and OpenVINO reads the frozen file.

The resizes of the graph are built as TensorFlow's.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.frontend import NodeContext

from ir_interp.errors import UnsupportedLayerError
from ir_interp.options.model_options import ConvertOptions
from ir_interp.options.shared_options import NCHW
from ir_interp.plan.float_arithmetic import Factor, first_size_apart
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array

from ...intermediate import Intermediate, as_ir
from ...openvino import frontends
from ...openvino.frontends import Built, Frontend, ResizeBuilder, numpy_name, with_ends
from ...openvino.interpolate_form import Resized, RunTime, at_run_time, partial_shape, vector
from ...openvino.ir_save import mark_halves, with_weights
from ...openvino.openvino_primitives import constant_of, folded, size_formulas
from ...reports import FormPolicy
from ...sources.model_description import Description, Resize
from . import FRAMEWORK
from .reading import FROZEN, RESIZES, described, resize


def build(folder: Path, description: Description, name: str, policy: FormPolicy | None = None) -> Built:
    """Return the frozen graph of a folder as an OpenVINO model, with the ends and weights of its description.

    ``name`` is that of the source. Weights that OpenVINO's frontend moves are written to the folder.

    Raises an ExceptionGroup of InexactError, one for each resize without an exact form; UnsupportedLayerError if
    OpenVINO's frontend refuses the rest of the model, or for an operation that is no resize alone.
    """
    frozen = folder / FROZEN
    frontends.check_frontend(frozen, "tf")
    builder = _Builder(file=name, policy=policy or FormPolicy(), known=description.resizes)
    model = builder.read(RESIZES, frozen)
    with_weights(model, description.weights, folder)
    mark_halves(model, _Builder.frontend.name)
    _check_products(model, name)
    _check_formulas(model, name)
    built = builder.built(model)
    return replace(built, model=with_ends(built.model, description, name, "TensorFlow"))


def _check_products(model: ov.Model, name: str) -> None:
    """Raise UnsupportedLayerError for a product of int8 matrices: the frontend sums them in 8 bits."""
    for node in model.get_ordered_ops():
        if node.get_type_name() == "MatMul" and node.get_output_element_type(0).is_integral():
            readers = [port.get_node().get_friendly_name() for port in node.output(0).get_target_inputs()]
            operation = "".join(readers) if len(readers) == 1 else node.get_friendly_name()
            problem = "OpenVINO's TensorFlow frontend sums products of integers in 8 bits; save the model unquantised"
            raise UnsupportedLayerError(problem, f"{name}:{operation}")


def _check_formulas(model: ov.Model, name: str) -> None:
    """Raise UnsupportedLayerError for a formula of a size that TensorFlow rounds in two ways.

    TensorFlow's graph optimiser computes other steps; without it, as in eager mode, the written steps are computed.
    """
    for formula in size_formulas(model):
        dtype = numpy_name(formula.node.get_output_element_type(0))
        for factors in formula.every:
            size = first_size_apart(factors, _optimised(factors, dtype), formula.rounding, dtype)
            if size is not None:
                written = ", ".join(f"{step} {number:.9g}" for step, number in factors)
                problem = f"a size by the steps {written}: TensorFlow's optimiser multiplies by reciprocals and merges"
                other = f"constants, which changes the result for {size}; compute it from integers"
                raise UnsupportedLayerError(f"{problem} {other}", f"{name}:{formula.node.get_friendly_name()}")


def _optimised(factors: tuple[Factor, ...], dtype: str) -> tuple[Factor, ...]:
    """Return the steps of TensorFlow's graph optimiser: products and sums, and no two of either in sequence.

    A quotient is the product with the reciprocal, and constants of adjacent products, or sums, become one.
    """
    merged = list[Factor]()
    number = np.dtype(dtype).type
    for step, value in factors:
        match step:
            case "divide":
                step, value = "multiply", float(number(1) / number(value))
            case "subtract":
                step, value = "add", -value
        if merged and merged[-1][0] == step and step in ("multiply", "add"):
            before = number(merged.pop()[1])
            value = float(before * number(value) if step == "multiply" else before + number(value))
        merged.append((step, value))
    return tuple(merged)


def _constant(value: ov.Output) -> Array | None:
    """Return the value of an expression that no input changes, and no batch size; None for others.

    ``tf.image.resize`` divides sizes by those of a Shape, whose batch may be dynamic.
    """
    constant = constant_of(value)
    if constant is not None:
        return constant
    first, second = (_folded(value, batch) for batch in (1, 3))
    return first if first is not None and second is not None and np.array_equal(first, second) else None


def _folded(value: ov.Output, batch: int) -> Array | None:
    """Return a value of a model whose inputs have a batch size; None if it depends on more."""
    model = ov.Model([ops.result(value)], _parameters(value), "value").clone()
    try:
        model.reshape({port: _with_batch(port.get_partial_shape(), batch) for port in model.inputs})
    except RuntimeError:  # a model that is not for this batch
        return None
    return folded(model)


def _with_batch(shape: ov.PartialShape, batch: int) -> ov.PartialShape:
    if shape.rank.is_static and len(shape) and shape[0].is_dynamic:
        shape[0] = ov.Dimension(batch)
    return shape


def _parameters(value: ov.Output) -> list[ov.Node]:
    """Return the inputs on which a value depends."""
    seen, waiting = {}, [value.get_node()]
    while waiting:
        node = waiting.pop()
        if node.get_name() not in seen:
            seen[node.get_name()] = node
            waiting += [port.get_source_output().get_node() for port in node.inputs()]
    return [node for node in seen.values() if node.get_type_name() == "Parameter"]


@dataclass(slots=True, kw_only=True)
class _Builder(ResizeBuilder):
    """Reads the resizes of a graph as the frontend meets them; ``known`` are those that TensorFlow finds in it."""

    frontend: ClassVar = Frontend("tf", "TensorFlow")
    known: tuple[Resize, ...]

    def _read(self, op_type: str, node: NodeContext, x: ov.Output) -> tuple[ResizeOp, RunTime]:
        others = [node.get_input(index) for index in range(1, node.get_input_size())]
        values = [_constant(value) for value in others]
        attributes = {attribute: node.get_attribute(attribute) for attribute in RESIZES[op_type]}
        alike = [entry.name for entry in self.known if (entry.type, entry.attributes) == (op_type, attributes)]
        operation = Resize(
            type=op_type,
            name=" or ".join(alike) or op_type,  # the frontend does not tell which one it is
            dtype=numpy_name(x.get_element_type()),
            shape=partial_shape(x),
            inputs=tuple(None if value is None else value.ravel().tolist() for value in values),
            attributes=attributes,
        )
        return at_run_time(resize(operation, self.file), x, lambda: vector(others[:1]))

    def _resized(self, x: ov.Output, op: ResizeOp, run_time: RunTime) -> Resized:
        if op.dtype == "float32" and x.get_element_type() != ov.Type.f32:  # of integers, too, most return floats
            x = ops.convert(x, "f32").output(0)
        return ResizeBuilder._resized(self, x, op, run_time)

    def _named(self, op: ResizeOp, output: ov.Output) -> ResizeOp:
        """Return a resize with the name that its operation has in the graph."""
        names = {tensor.removesuffix(":0") for tensor in output.get_names()}
        name = next((candidate.name for candidate in self.known if candidate.name in names), op.name)
        return ResizeBuilder._named(self, replace(op, name=name, where=f"{self.file}:{name}"), output)


def intermediate(
    source: Path, destination: Path, policy: FormPolicy, options: ConvertOptions
) -> AbstractContextManager[Intermediate]:
    """Yield the IR of a model."""
    name = FRAMEWORK.label(source)

    return as_ir(
        lambda folder: build(folder, described(source, folder), name, policy),
        destination,
        name,
        moves_channels=options.layout == NCHW,
    )
