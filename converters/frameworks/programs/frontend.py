"""Programs of PyTorch to IR: OpenVINO's frontend reads the program, its resizes are built as PyTorch computes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.frontend import ConversionExtension, NodeContext

from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import static_shape

from ...openvino.frontends import Built, Frontend, ResizeBuilder, in_order
from ...openvino.interpolate_form import Resized, RunTime, at_run_time, vector
from ...reports import FormPolicy
from .program_files import ends, silent
from .reading import AREA, calls, resizes

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_OVERLOADS = ("vec", "default")  # torch turns one into the other before the frontend reads the program


def build(program: ExportedProgram, name: str, policy: FormPolicy | None = None) -> Built:
    """Return a program as an OpenVINO model; ``name`` is that of its file.

    Areas are left to the frontend, and so are copies of nearest-exact, which torch writes as other operations for it.
    Raises an ExceptionGroup of InexactError, one for each resize without an exact form; UnsupportedLayerError if the
    frontend refuses the rest of the program.
    """
    operations = {call.node.name: call.operation for call in calls(program)}
    waiting = in_order((operations[op.name], op) for op in resizes(program, name) if op.attributes["mode"] != AREA)
    builder = _Builder(file=name, policy=policy or FormPolicy(), waiting=waiting)
    extensions = [
        ConversionExtension(overloaded, builder.converter(operation))
        for operation in waiting
        for overloaded in (f"{operation.replace('::', '.')}.{overload}" for overload in _OVERLOADS)
    ]
    shapes = [
        ov.PartialShape([-1 if length is None else length for length in shape]) for _, _, shape in ends(program)[0]
    ]
    with silent():
        model = builder.guarded(lambda: ov.convert_model(program, input=shapes, extension=extensions or None))
    _remove_shapes(model)
    for port in model.outputs:
        port.get_tensor().set_names({name.removesuffix(":0") for name in port.get_names()})
    return builder.built(model)


@dataclass(slots=True, kw_only=True)
class _Builder(ResizeBuilder):
    """Takes the resizes of a program in order, as the frontend does; ``waiting`` has them by operation."""

    frontend: ClassVar = Frontend("pytorch", "PyTorch")
    waiting: Mapping[str, deque[ResizeOp]]

    def _read(self, op_type: str, node: NodeContext, x: ov.Output) -> tuple[ResizeOp, RunTime]:
        op = self._next(op_type, self.waiting)
        return at_run_time(op, x, lambda: vector(_parts(node.get_input(1))))

    def _resized(self, x: ov.Output, op: ResizeOp, run_time: RunTime) -> Resized:
        """Return ``x`` resized; the frontend learns the shapes of inputs only when it has read the whole program."""
        shape = static_shape(op.shape)
        if shape is not None and x.get_partial_shape().is_dynamic:
            x = ops.reshape(x, ops.constant(np.array(shape)), special_zero=False).output(0)
        return ResizeBuilder._resized(self, x, op, run_time)


def _remove_shapes(model: ov.Model) -> None:
    """Remove each Reshape to the shape that its input has anyway, once the shapes of the model's inputs are known."""
    for node in model.get_ordered_ops():
        if node.get_type_name() == "Reshape" and not node.output(0).get_names():
            source = node.input_value(0)
            if source.get_partial_shape().is_static and source.get_shape() == node.get_output_shape(0):
                node.output(0).replace(source)


def _parts(sizes: ov.Output) -> list[ov.Output]:
    """Return the tensors in which the frontend has the sizes of a call."""
    if sizes.get_node().get_type_name() != "SequenceMark":
        return [sizes]
    return [port.get_source_output() for port in sizes.get_node().inputs()]
