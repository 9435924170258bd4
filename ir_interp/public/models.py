"""Models: read, converted, compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp import arguments
from ir_interp.arguments import checked
from ir_interp.converters.sources import readers
from ir_interp.converters.sources.readers import Source
from ir_interp.options.compare_options import CompareOptions
from ir_interp.options.convert_options import ConvertOptions, Form, StateForm
from ir_interp.options.declaration import settled
from ir_interp.options.image_options import Images
from ir_interp.options.shared_options import Files, Progress, check_needs
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Semantics

if TYPE_CHECKING:
    from ir_interp.converters.report import ConversionReport
    from ir_interp.converters.verify.comparison import ModelComparison


@checked
def load(source: Source, *, semantics: Semantics | str = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a file or of a model in memory, in order, those in subgraphs and bodies included.

    ``semantics`` chooses the reading where several exist: what the model's own runtime computes ("runtime"), what
    its operator page says ("document"), what the operator's reference implementation does ("reference"), or what a
    release of OpenVINO computed ("openvino-2021.2", "openvino-2021.3").

    Raises ReadError, which names the file and the place inside, and UnsupportedLayerError for a layer or version
    that is known but not interpreted.

    Examples:
        >>> [op] = ir_interp.load("layer.xml")
        >>> print(op.spec)
        nearest, asymmetric: floor(i * step), step = in / out; sizes 1, 3, 10, 14 on all axes

    """
    return readers.load(source, arguments.member(Semantics, semantics, "semantics"))


@checked
def convert(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    opset: int | None = None,
    ir: int | None = None,
    interpolate: int | None = None,
    dialect: str | None = None,
    into: str | os.PathLike[str] | None = None,
    semantics: Semantics | str = Semantics.RUNTIME,
    target: str | None = None,
    only: Form | str | None = None,
    strict: bool = False,
    fp16: bool = False,
    state: StateForm | str = "inputs",
    verify: bool = True,
    shapes: Mapping[str, Sequence[int]] | None = None,
    freeze: bool = False,
    inputs: Mapping[str, Files] | None = None,
    images: Images | None = None,
    seed: int = 0,
    reports: Mapping[str | os.PathLike[str], Callable[[ConversionReport, Path], None]] | None = None,
    progress: Progress | None = None,
) -> ConversionReport:
    """Translate ``source`` into ``destination``; what both are, their extensions say.

    * .onnx to .xml: a whole model, with its .bin; to .json or .py: all its resizes
    * .xml to .onnx: a whole IR, or a pasted layer; to .json or .py: all its resizes
    * .json to .xml, .onnx: a single layer; to .py: all its layers
    * .onnx to .onnx: the same model, its resizes made portable for a ``target``

    ``opset`` is ONNX's operator set, by default 21 for a model, for a layer the newest that expresses it. An .xml is an
    ``ir`` of version 11; or of 10, with layers of operation sets 1 to 7 alone, for OpenVINO up to 2021.4. Its resizes
    are Interpolate-11, in version 10 Interpolate-4, or as ``interpolate`` says (11, 4, 1). ``dialect`` is that of a
    .json file to be written ("tensorrt", which is the default, or "tflite"). Of .json to .tflite, ``into`` is a model
    whose resizes of the same names are to be as the layers say; the result is all of it. ``semantics`` chooses the
    reading of the source. Of an .xml, or for a ``target`` ("onnx:11" and the like, "tensorrt", "openvino"), ``only``
    ("native", "decomposed") forces one form of the resizes, and ``strict`` refuses what is not exact for every shape.
    ``fp16`` stores the weights of an .xml or .onnx in half precision, but never those of a resize. What an IR keeps
    between inferences become ``state`` "inputs" and outputs of an ONNX model, or a reason to "refuse" it. What would do
    nothing for these kinds of files is a SpecError.

    ``verify`` runs source and result in their own runtimes before anything is written (onnxruntime, OpenVINO on CPU
    in float32; for the target "openvino" its own ONNX frontend), on ``inputs`` by name (an array as .npy, an image, a
    folder of them; or several, one after another), which ``images`` says how to read. The rest is made up from
    ``seed``: sizes, indices and the like such that the model can work with them. Where it has dynamic dimensions,
    ``shapes`` are lengths by input name, else it runs at three extents: real, odd and small. ``freeze`` writes the
    ``shapes`` into the result, whose other dimensions stay as they are. ``reports`` are further files to write, each
    by a function of the report and a path. ``progress`` is told what is being done.

    What has the name of a result is replaced. Raises ReadError for a source that cannot be read, InexactError (or an
    ExceptionGroup of several) where the target has no exact form, VerificationError where the result does not
    reproduce the source, IrInterpError where a file to be written is one that is read. Nothing is written then.

    Examples:
        >>> report = ir_interp.convert("layer.xml", "layer.onnx")
        >>> [(row.name, row.exactness) for row in report.rows]
        [('up', 'exact')]

    """
    options = settled(ConvertOptions, locals())
    from ir_interp.converters.conversion import converting

    return converting.convert(source, arguments.path(destination, "destination"), options)


@checked
def compare(
    first: Source,
    second: Source,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    inputs: Mapping[str, Files] | None = None,
    images: Images | None = None,
    seed: int = 0,
    tolerance: float | None = None,
    per_resize: bool = False,
    per_layer: bool = False,
    progress: Progress | None = None,
) -> ModelComparison:
    """Run two models (.onnx, .xml), each in its own runtime in a process of its own, and compare their outputs.

    They run on ``inputs``, ``images``, ``seed`` and ``shapes`` as for ``convert``; one of them may take images in
    another layout than the other, or as pixels. ``tolerance`` is relative to the largest value of an output, and
    absolute where that is below 1; by default 1e-4 (in half precision 2^-10), and what differs by more is compared
    segment by segment. Outputs are paired by name, else by place. With ``per_resize`` the resizes are compared in
    order, with ``per_layer`` the first layer that differs is looked for.

    Raises ReadError for what is no model, IrInterpError where one does not run, VerificationError where the models
    have different numbers of outputs.

    Examples:
        >>> ir_interp.compare("model.onnx", "model.onnx", seed=1).passes
        True

    """
    options = settled(CompareOptions, locals())
    check_needs(options)
    from ir_interp.converters.verify.model_pairs import compare_models
    from ir_interp.converters.verify.run.inputs import Inputs

    with readers.as_file(first, "first") as mine, readers.as_file(second, "second") as theirs:
        comparison = compare_models(
            mine,
            theirs,
            Inputs.of(options),
            tolerance=options.tolerance,
            per_resize=options.per_resize,
            per_layer=options.per_layer,
            progress=options.progress,
        )
    return replace(comparison, first=readers.shown_path(first, mine), second=readers.shown_path(second, theirs))
