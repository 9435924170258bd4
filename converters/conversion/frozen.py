"""Models whose inputs take the shapes of ``--shape`` for good."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import onnx

from ir_interp.files.kinds import FileKind
from ir_interp.files.scratch import scratch
from ir_interp.shapes import PartialShape

from ..onnx.onnx_files import external_files, inlined, read_file
from ..runtimes.openvino_saving import save_model
from ..runtimes.telemetry import openvino_silent
from ..verify import graphs
from ..verify.run.input_shapes import fixed, named


@contextmanager
def frozen(source: Path, chosen: Mapping[str, tuple[int, ...]]) -> Iterator[Path]:
    """Yield a model of the same name whose inputs have the ``chosen`` shapes, by input name.

    Dimensions of one name are all equal; dimensions that were not chosen stay dynamic. Raises IrInterpError for a shape
    that an input cannot have.
    """
    graph = graphs.read(source)
    shapes = fixed(graph, named(graph.inputs, chosen))
    with scratch() as folder:
        path = folder / source.name
        (_freeze_onnx if FileKind.of(source) is FileKind.ONNX else _freeze_ir)(source, path, shapes)
        yield path


def _freeze_onnx(source: Path, path: Path, shapes: Mapping[str, PartialShape]) -> None:
    model = inlined(read_file(source), source.name)
    for value in (*model.graph.value_info, *model.graph.output):  # inferred anew, from the shapes of the inputs
        for dimension in value.type.tensor_type.shape.dim:
            if not dimension.HasField("dim_value"):
                dimension.Clear()
    for value in model.graph.input:
        for dimension, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False):
            if size is not None:
                dimension.dim_value = size
    onnx.save(model, str(path))
    for data in external_files(source):  # ONNX does not read links to external data
        copy = path.parent / data.relative_to(source.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(data, copy)


def _freeze_ir(source: Path, path: Path, shapes: Mapping[str, PartialShape]) -> None:
    with openvino_silent():
        import openvino

    model = openvino.Core().read_model(source)
    model.reshape(
        {name: openvino.PartialShape([-1 if n is None else n for n in shape]) for name, shape in shapes.items()}
    )
    save_model(model, path)
