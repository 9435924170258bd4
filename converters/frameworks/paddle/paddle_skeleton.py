"""The program that OpenVINO's frontend reads in place of another one: its larger weights are inputs.

It computes the same, but the frontend would misread two parts of quantised programs: a scale without axes, which Paddle
saves for a variable of one element, and operations that only observe, which return their input.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paddle.base.proto import framework_pb2 as schema

from ir_interp.files.memory import blocks
from ir_interp.files.stored_arrays import StoredArray, append

from .paddle_files import weights
from .paddle_weights import Weight, weights_of

_QUANTISATIONS = ("quantize_linear", "dequantize_linear")


def write(source: Path, target: Path, least: int) -> dict[str, StoredArray]:
    """Write a program whose weights of ``least`` bytes or more are inputs; return these, in a file beside it.

    Those that a branch or loop reads remain weights, and those of bfloat16, which OpenVINO's Python cannot map.
    """
    program = schema.ProgramDesc.FromString(source.read_bytes())
    main, *inner = program.blocks
    inside = {
        name for block in inner for operation in block.ops for port in operation.inputs for name in port.arguments
    }
    variables = {variable.name: variable for variable in main.vars if variable.name not in inside}
    stored = {}
    with weights(target).open("wb") as rest:
        for weight in weights_of(source):
            array, variable = weight.mapped(weights(source)), variables.get(weight.name)
            if variable and weight.size >= least and weight.dtype.isbuiltin == 1:
                stored[weight.name] = append(array, target.with_suffix(".weights"))
                _feed(main, variable, weight)
            else:
                if variable and not weight.shape:
                    weight.description.dims.extend(variable.type.dense_tensor.tensor.dims)
                rest.writelines([weight.head, *blocks(array)])
    for operation in (operation for block in program.blocks for operation in block.ops):
        _pass_on(operation)
    target.write_bytes(program.SerializeToString())
    return stored


def _feed(block: Any, variable: Any, weight: Weight) -> None:
    """Turn a variable of a program from a weight into an input."""
    variable.persistable = False
    variable.type.dense_tensor.tensor.CopyFrom(weight.description)
    block.ops.add(type="feed").outputs.add(parameter="Out", arguments=[weight.name])


def _pass_on(operation: Any) -> None:
    """Turn a quantisation that only observes into an assignment."""
    observes = any(attribute.name == "only_observer" and attribute.b for attribute in operation.attrs)
    if operation.type in _QUANTISATIONS and observes:
        [x] = (port.arguments for port in operation.inputs if port.parameter == "X")
        [y] = (port.arguments for port in operation.outputs if port.parameter == "Y")
        operation.CopyFrom(schema.OpDesc(type="assign"))
        operation.inputs.add(parameter="X", arguments=x)
        operation.outputs.add(parameter="Out", arguments=y)
