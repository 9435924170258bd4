"""The IR that stands for a program of Paddle.

OpenVINO's frontend reads the program, its resizes are built as Paddle computes them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import openvino as ov
from openvino.frontend import NodeContext
from openvino.frontend.paddle import ConversionExtension

from ir_interp.errors import UnsupportedLayerError
from ir_interp.files import memory
from ir_interp.options.model_options import ConvertOptions
from ir_interp.plan.float_arithmetic import SizeScale
from ir_interp.resize_op import ResizeOp

from ...intermediate import Intermediate, as_ir
from ...openvino import frontends, ir_save
from ...openvino.frontends import Built, Frontend, ResizeBuilder, in_order, with_ends
from ...openvino.interpolate_form import RunTime, at_run_time, partial_shape, vector
from ...openvino.openvino_primitives import constant_of
from ...reports import FormPolicy
from ...sources.model_description import Description, Resize
from .reading import OPERATIONS, connected, described, first_unknown, resize, weights, write_skeleton


def build(source: Path, description: Description, folder: Path, policy: FormPolicy | None = None) -> Built:
    """Return a program as an OpenVINO model, with the ends of its description; larger weights are in ``folder``.

    Raises an ExceptionGroup of InexactError, one for each resize without an exact form; UnsupportedLayerError if
    OpenVINO's frontend refuses the rest of the program.
    """
    program = folder / source.name
    large = write_skeleton(source, program, memory.LARGE)
    frontends.check_frontend(program, "paddle", weights(program))
    for operation in description.resizes:
        resize(operation, source.name)  # refuses other operations
    waiting = in_order((operation.type, operation) for operation in description.resizes)
    builder = _Builder(file=source.name, policy=policy or FormPolicy(), waiting=waiting)
    model = builder.read(OPERATIONS, program)
    ir_save.with_weights(model, large, folder)
    built = builder.built(model)
    return replace(built, model=with_ends(built.model, description, source.name, "Paddle"))


@dataclass(slots=True, kw_only=True)
class _Builder(ResizeBuilder):
    """Takes the resizes of a program in order, as the frontend does; ``waiting`` has them by operation."""

    frontend: ClassVar = Frontend("paddle", "Paddle", ConversionExtension)
    waiting: Mapping[str, deque[Resize]]

    def _data(self, node: NodeContext) -> ov.Output:
        return node.get_input("X")

    def _outputs(self, output: ov.Output) -> dict[str, list[ov.Output]]:
        return {"Out": [output]}

    def _read(self, op_type: str, node: NodeContext, x: ov.Output) -> tuple[ResizeOp, RunTime]:
        operation = self._next(op_type, self.waiting)
        if x.get_names() and operation.attributes["input"] not in x.get_names():
            raise UnsupportedLayerError(
                f"OpenVINO's Paddle frontend reads {op_type} of another input first", f"{self.file}:{operation.name}"
            )
        operation = replace(operation, shape=partial_shape(x) or operation.shape)  # the model may know more
        name = connected(operation)
        if name is None:
            return resize(operation, self.file), RunTime()
        parts = (node.get_input(name, place) for place in range(node.get_input_size(name)))
        target = vector(parts, "f32" if name == "Scale" else "i64")
        known = constant_of(target)
        op = resize(operation, self.file, target=None if known is None else known.ravel().tolist())
        return at_run_time(op, x, lambda: target)


@contextmanager
def intermediate(source: Path, destination: Path, policy: FormPolicy, _: ConvertOptions) -> Iterator[Intermediate]:
    """Yield the IR of a program. Raises UnsupportedLayerError for an operation that OpenVINO does not convert."""
    description = described(source)
    unknown = first_unknown(description.operations)
    if unknown:
        problem = f"OpenVINO's Paddle frontend does not convert operation {unknown}, and it is not run"
        raise UnsupportedLayerError(problem, source.name)

    with as_ir(lambda folder: build(source, description, folder, policy), destination, source.name) as between:
        scales = dict.fromkeys((*_scales(description), *between.hints.scales))
        yield replace(between, hints=replace(between.hints, scales=tuple(scales)))


def _scales(description: Description) -> Iterator[SizeScale]:
    """Yield the scales of a program, whose IR holds parts of them."""
    scales = (scale for resize in description.resizes for scale in resize.attributes.get("scale", ()))
    yield from (SizeScale(scale=float(scale)) for scale in scales if scale > 0 and scale % 1)
