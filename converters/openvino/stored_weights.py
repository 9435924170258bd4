"""Weights that stay in files: a frontend reads a model whose larger weights are inputs, which constants replace.

The frontends of TensorFlow, TFLite and Paddle parse weights and copy them, up to five times their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.frontend import FrontEndManager

from ir_interp.files import stored_arrays
from ir_interp.files.memory import allow_files
from ir_interp.files.stored_arrays import StoredArray, created

_MOVES = ("Reshape", "Squeeze", "Transpose", "Unsqueeze")
"""Operations on weights that frontends compute when they read a model."""


def with_weights(model: ov.Model, weights: Mapping[str, StoredArray], folder: Path) -> None:
    """Put constants in place of the inputs that bear the names of ``weights``; moved ones are written to ``folder``."""
    allow_files(*{stored.path for stored in weights.values()})  # together: each may be in a file of its own
    replace_inputs(model, {name: constant(stored, name) for name, stored in weights.items()})
    fold_moves(model, folder)  # before ``mark_halves``, which knows constants alone


def constant(stored: StoredArray, name: str | None = None) -> ov.Output:
    """Return an array as a constant, of this name if it has one, whose bytes stay in their file."""
    allow_files(stored.path)  # a limit counts what is mapped to be written
    node = ops.constant(stored.mapped(), shared_memory=True, name=name)
    node.output(0).set_names({name} if name else set())
    return node.output(0)


def replace_inputs(model: ov.Model, values: Mapping[str, ov.Output]) -> None:
    """Put values in place of the inputs that bear their names, and remove these."""
    for node in model.get_parameters():
        for name in node.output(0).get_names() & values.keys():
            node.output(0).replace(values[name])
            model.remove_parameter(node)


def fold_moves(model: ov.Model, folder: Path) -> None:
    """Compute the moves of large constants; constants of new files in ``folder`` replace the results.

    Large matrices that are second factors are transposed: OpenVINO does that in memory when it simplifies a model.
    """
    for number, node in enumerate(model.get_ordered_ops()):
        if _is_product_of_matrix(node):
            node = _transposed(node)
        sources = [value.get_node() for value in node.input_values()]
        if node.get_type_name() in _MOVES and _is_movable(sources[0]) and all(map(_is_constant, sources)):
            data = created(folder / f"moved{number}", sources[0].data.dtype, tuple(node.get_output_shape(0)))
            views = [source.get_tensor_view() for source in sources]
            node.evaluate([ov.Tensor(data, shared_memory=True)], views)
            node.output(0).replace(ops.constant(data, shared_memory=True).output(0))


def _is_product_of_matrix(node: ov.Node) -> bool:
    """Return whether a node multiplies by a large constant of a single matrix that is not transposed."""
    if node.get_type_name() != "MatMul" or node.get_attributes()["transpose_b"]:
        return False
    second = node.input_value(1)
    return _is_movable(second.get_node()) and len(second.get_shape()) > 1 and set(second.get_shape()[:-2]) <= {1}


def _transposed(product: ov.Node) -> ov.Node:
    """Let a product transpose its second factor; return the node that transposes this factor before."""
    first, second = product.input_values()
    *others, rows, columns = range(len(second.get_shape()))
    moved = ops.transpose(second, np.array([*others, columns, rows]))
    another = ops.matmul(first, moved, product.get_attributes()["transpose_a"], True)
    another.set_friendly_name(product.get_friendly_name())
    product.output(0).replace(another.output(0))
    return moved


def mark_halves(model: ov.Model, frontend: str) -> None:
    """Mark conversions of weights in half precision as a frontend does, which takes inputs for something else."""
    ends = [
        ops.result(node)
        for node in model.get_ops()
        if node.get_type_name() == "Convert" and _is_half(node.input_value(0).get_node())
    ]
    if ends:
        FrontEndManager().load_by_framework(frontend).normalize(ov.Model(ends, [], "weights in half precision"))


def _is_half(node: ov.Node) -> bool:
    return _is_constant(node) and bool(node.get_element_type() == ov.Type.f16)


def _is_movable(node: ov.Node) -> bool:
    """Return whether a node is a large constant of a type that NumPy has; bfloat16 is none."""
    return is_large(node) and bool(ov.Type(node.data.dtype) == node.get_element_type())


def is_large(node: ov.Node) -> bool:
    """Return whether a node is a constant that should stay in its file."""
    return _is_constant(node) and bool(node.get_byte_size() >= stored_arrays.LARGE)


def _is_constant(node: ov.Node) -> bool:
    return bool(node.get_type_name() == "Constant")
