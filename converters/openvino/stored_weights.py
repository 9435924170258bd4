"""Weights that stay in files: a frontend reads a model whose larger weights are inputs, which constants replace.

The frontends of TensorFlow, TFLite and Paddle parse weights and copy them, up to five times their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops

from ir_interp.files.memory import allow_files
from ir_interp.files.stored_arrays import StoredArray

LARGE = 2**20
"""Bytes of the smallest weight that is an input. A frontend reads smaller ones, which may be sizes, as they are."""

_MOVES = ("Reshape", "Squeeze", "Transpose", "Unsqueeze")
"""Operations on weights that frontends compute when they read a model."""


def with_weights(model: ov.Model, weights: Mapping[str, StoredArray], folder: Path) -> None:
    """Put constants in place of the inputs that bear the names of ``weights``; moved ones are written to ``folder``."""
    replace_inputs(model, {name: constant(stored, name) for name, stored in weights.items()})
    fold_moves(model, folder)


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
    """Compute the moves of large constants; constants of new files in ``folder`` replace the results."""
    numbers = count()
    for node in model.get_ordered_ops():
        sources = [value.get_node() for value in node.input_values()]
        if (
            node.get_type_name() in _MOVES
            and all(source.get_type_name() == "Constant" for source in sources)
            and sources[0].get_byte_size() >= LARGE
            and ov.Type(sources[0].data.dtype) == sources[0].get_element_type()  # NumPy has no bfloat16
        ):
            data = np.memmap(folder / f"moved{next(numbers)}", sources[0].data.dtype, "w+", shape=_shape(node))
            views = [source.get_tensor_view() for source in sources]
            node.evaluate([ov.Tensor(data, shared_memory=True)], views)
            node.output(0).replace(ops.constant(data, shared_memory=True).output(0))


def _shape(node: ov.Node) -> tuple[int, ...]:
    return tuple(node.get_output_shape(0))
