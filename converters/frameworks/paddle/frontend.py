"""Paddle programs to IR: OpenVINO's frontend reads the program, its resizes are built as Paddle computes them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.frontend import NodeContext

from ir_interp.errors import UnsupportedLayerError
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import AtRunTime

from ...openvino import trial
from ...openvino.builder import Built, ResizeBuilder
from ...openvino.described_ends import with_ends
from ...openvino.interpolate_subgraph import RunTime, partial_shape
from ...openvino.node_names import number_anew
from ...openvino.run_time_lengths import constant_of, narrowed
from ...reports.conversion_report import FormPolicy
from ...sources.model_description import Description, Resize
from .paddle_dialect import OPERATIONS
from .paddle_files import weights
from .paddle_resizes import connected, resize


def build(source: Path, description: Description, policy: FormPolicy | None = None) -> Built:
    """Return a program as an OpenVINO model, with the ends of its description.

    Raises an ExceptionGroup of InexactError, one for each resize without an exact form; UnsupportedLayerError if
    OpenVINO's frontend refuses the rest of the program.
    """
    trial.check_frontend(source, "paddle", weights(source))
    builder = _Builder.of(description, source.name, policy or FormPolicy())
    model = builder.read("paddle", OPERATIONS, source)
    number_anew(model)  # before nodes are identified by their names
    rows = builder.rows()
    return Built(model=with_ends(model, description, source.name, "Paddle"), rows=rows, exact=builder.nodes())


@dataclass(slots=True, kw_only=True)
class _Builder(ResizeBuilder):
    """Takes the resizes of a program in order, as the frontend does; ``waiting`` has them by operation."""

    waiting: dict[str, deque[Resize]]

    @classmethod
    def of(cls, description: Description, name: str, policy: FormPolicy) -> _Builder:
        waiting: dict[str, deque[Resize]] = {kind: deque() for kind in OPERATIONS}
        for operation in description.resizes:
            resize(operation, name)  # refuses other operations
            waiting[operation.type].append(operation)
        return cls(file=name, policy=policy, waiting=waiting)

    def _data(self, node: NodeContext) -> ov.Output:
        return node.get_input("X")

    def _outputs(self, output: ov.Output) -> dict[str, list[ov.Output]]:
        return {"Out": [output]}

    def _read(self, op_type: str, node: NodeContext, x: ov.Output) -> tuple[ResizeOp, RunTime]:
        operation = self.waiting[op_type].popleft()
        if x.get_names() and operation.attributes["input"] not in x.get_names():
            raise UnsupportedLayerError(
                f"OpenVINO's Paddle frontend reads {op_type} of another input first", f"{self.file}:{operation.name}"
            )
        operation = replace(operation, shape=partial_shape(x) or operation.shape)  # the model may know more
        name = connected(operation)
        if name is None:
            return resize(operation, self.file), RunTime()
        vector = _vector(node, name)
        known = constant_of(vector)
        op = resize(operation, self.file, target=None if known is None else known.ravel().tolist())
        if not isinstance(op.spec.target, AtRunTime):
            return op, RunTime()
        op, target = narrowed(op, x, vector)
        return op, RunTime(target=target)

    def _named(self, op: ResizeOp, output: ov.Output) -> ResizeOp:
        if output.get_node().get_type_name() == "Interpolate":
            output.get_node().set_friendly_name(op.name)
        return op


def _vector(node: NodeContext, name: str) -> ov.Output:
    """Return the sizes or scales of an operation, one tensor or a list of them, as one."""
    element = "f32" if name == "Scale" else "i64"
    parts = [node.get_input(name, place) for place in range(node.get_input_size(name))]
    flat = [ops.reshape(ops.convert(part, element), ops.constant(np.array([-1])), special_zero=False) for part in parts]
    return ops.concat(flat, 0).output(0)
