"""Public functions on models: ``load``, ``convert``, ``compare``, ``audit``, ``fix``, ``reproduce``, ``kit``.

Every keyword is spelled out and checked; modules elsewhere do the work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir_interp import arguments
from ir_interp.arguments import checked
from ir_interp.converters.sources import readers
from ir_interp.converters.sources.readers import Source
from ir_interp.errors import SpecError
from ir_interp.options.declaration import settled
from ir_interp.options.model_options import (
    AuditOptions,
    CompareOptions,
    ConvertOptions,
    Exporter,
    FixOptions,
    Form,
    ReproduceOptions,
    StateForm,
)
from ir_interp.options.shared_options import Files, Images, Progress, check_needs
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Semantics

if TYPE_CHECKING:
    from ir_interp.converters.audit.audit_report import Audit
    from ir_interp.converters.fix import Fixed
    from ir_interp.converters.reports import ConversionReport
    from ir_interp.converters.reproduce.conformance_kit import Kit
    from ir_interp.converters.reproduce.reproduction import Reproduced
    from ir_interp.converters.verify.model_pairs import ModelComparison


@checked
def load(source: Source, *, semantics: Semantics | str = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a file or of a model in memory, in order, including those in subgraphs and bodies.

    ``semantics`` chooses the reading if several exist: that of the model's own runtime ("runtime"), of its operator
    page ("document"), of the operator's reference implementation ("reference"), or of a release of OpenVINO
    ("openvino-2021.2", "openvino-2021.3").

    Raises ReadError, which names the file and the place inside, and UnsupportedLayerError for a layer or version
    that is known but not supported.

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
    exporter: Exporter | str | None = None,
    layout: str | None = None,
    preprocess: str | None = None,
    image_size: Sequence[int] | None = None,
    verify: bool = True,
    shapes: Mapping[str, Sequence[int]] | None = None,
    freeze: bool = False,
    inputs: Mapping[str, Files] | None = None,
    reference: Any | None = None,
    images: Images | None = None,
    seed: int = 0,
    reports: Mapping[str | os.PathLike[str], Callable[[ConversionReport, Path], None]] | None = None,
    progress: Progress | None = None,
) -> ConversionReport:
    """Convert ``source`` to ``destination``; the extensions determine both formats.

    * .onnx to .xml: a whole model, with its .bin; to .json or .py: all its resizes
    * .xml to .onnx: a whole IR, or a pasted layer; to .json or .py: all its resizes
    * .json to .xml, .onnx: a single layer; to .py: all its layers
    * .pt2 to .onnx, .xml: a program that PyTorch exported, through the ``exporter``: torch.onnx ("dynamo" or
      "torchscript"), or OpenVINO's PyTorch frontend ("openvino"); by default each in turn, until the proof passes
    * .tflite to .onnx, .xml: a whole model, its resizes as LiteRT computes them; to .json or .py: all its resizes
    * .keras, .h5, .pb, or the folder of a SavedModel, to .onnx, .xml: a model that TensorFlow reads
    * .pdmodel to .onnx, .xml: a program of PaddlePaddle
    * .onnx to .onnx: the same model, with its resizes made portable for a ``target``; to .onnx from any other file, a
      ``target`` does so as well
    * .xml to .xml: the same IR after a change, which ``only``, ``interpolate``, ``ir``, ``freeze``, ``fp16`` or
      ``semantics`` names

    ``opset`` is ONNX's operator set, by default 21 for a model, for a layer the newest that expresses it. An .xml is an
    ``ir`` of version 11; or of 10, with layers of operation sets 1 to 7 only, for OpenVINO up to 2021.4. Its resizes
    are Interpolate-11, in version 10 Interpolate-4, or the version ``interpolate`` (11, 4, 1). ``dialect`` is that of a
    .json file to write ("tensorrt", the default, or "tflite"). From .json to .tflite, ``into`` is a model whose resizes
    of the same names are replaced by the layers; the result is the whole model. ``semantics`` chooses the
    reading of the source. For an .xml, or for a ``target`` ("onnx:11" and the like, "tensorrt", "openvino"), ``only``
    ("native", "decomposed") forces one form of the resizes, and ``strict`` refuses results that are not exact for every
    shape. ``fp16`` stores the weights of an .xml or .onnx in half precision, but never those of a resize. The ``state``
    of an IR becomes "inputs" and outputs of an ONNX model, or is a reason to "refuse" it. The ``layout`` "nchw"
    moves the channels of inputs and outputs of rank 4 from last to second if the source is a model of TFLite or
    TensorFlow. With ``preprocess``, a pipeline ("preprocessor_config.json", "CLIPImageProcessor:pil", or
    "image=preprocessor_config.json" for the input "image"), the result takes images, uint8 [height, width, 3], all of
    ``image_size`` if static; the whole is proven against the framework behind the pipeline. An option without an effect
    on these kinds of files is a SpecError.

    ``verify`` runs source and result in their own runtimes before anything is written (onnxruntime, OpenVINO on CPU
    in float32; for the target "openvino" its own ONNX frontend), on ``inputs`` by name (an array as .npy, an image, a
    folder of them; or several, in sequence), which ``images`` specifies how to read. Other inputs are random, from
    ``seed``, with sizes, indices and the like chosen such that the model accepts them. For dynamic dimensions,
    ``shapes`` are shapes by input name; by default the model runs at three extents: real, odd and small. ``freeze``
    writes the ``shapes`` into the result; its other dimensions are kept. With a ``reference`` as for ``compare``, the
    source must equal that too; a model of another framework is its own reference, which that runs. ``reports`` are
    further files to write, each by a function of the report and a path. ``progress`` is called with each step.

    Existing results are overwritten. Raises ReadError for a source that cannot be read, InexactError (or an
    ExceptionGroup of several) if the target has no exact form, VerificationError if the result does not
    reproduce the source, IrInterpError if a file to write is also an input. Nothing is written then.

    Examples:
        >>> report = ir_interp.convert("layer.xml", "layer.onnx")
        >>> [(row.name, row.exactness) for row in report.rows]
        [('up', 'exact')]

    """
    given = locals()
    readers.name_of(source)  # first: of a module without inputs, these are often passed as another argument
    options = settled(ConvertOptions, given)
    written = arguments.path(destination, "destination")
    if options.preprocess is not None:
        from ir_interp.converters.preprocess import conversion

        return conversion.convert_preprocessed(source, written, options)
    from ir_interp.converters.conversion import converting

    return converting.convert(source, written, options)


@checked
def compare(
    first: Source,
    second: Source | None = None,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    inputs: Mapping[str, Files] | None = None,
    reference: Any | None = None,
    images: Images | None = None,
    seed: int = 0,
    tolerance: float | None = None,
    metric: Iterable[str] = (),
    per_resize: bool = False,
    per_layer: bool = False,
    progress: Progress | None = None,
) -> ModelComparison:
    """Run two models (.onnx, .xml), each in its own runtime and process, and compare their outputs.

    Either may be a model of another framework that ``convert`` reads, which then runs it; both may not, but the outputs
    of one may be saved.

    Instead of a second model, ``reference`` may be what another program computes: a function that takes the arrays of
    the inputs in order and returns the outputs, such as a torch module in evaluation mode; or outputs on ``inputs``,
    as a path (.npz, .npy), an array, a sequence, or a mapping by name. A mapping or .npz may also hold the inputs
    and inner tensors by name; then the first resize that differs is located.

    They run on ``inputs``, ``images``, ``seed`` and ``shapes`` as for ``convert``; one of them may take images in
    another layout than the other, or as pixels. ``tolerance`` is relative to the largest value of each output, by
    default 1e-4 (in half precision 2^-10). By default, outputs that differ by more are compared segment by segment, and
    may differ by float32 noise where values cancel. Outputs are paired by name, or else by position. With
    ``per_resize`` the resizes are compared in order, and one that differs never passes; with ``per_layer`` the first
    layer that differs is located. ``metric`` names what is counted for a task: the positions whose class changes
    ("argmax"), whose top classes do ("top-k"), the boxes that move ("boxes"); by default, what outputs look like.

    Raises ReadError for a file that is not a model, IrInterpError if a model does not run or does not have the outputs
    of the reference, VerificationError if the models have different numbers of outputs.

    Examples:
        >>> ir_interp.compare("model.onnx", "model.onnx", seed=1).passes
        True

    """
    options = settled(CompareOptions, locals())
    check_needs(options)
    if second is None and reference is None:
        raise SpecError("second is missing: another model; or reference, outputs that another program computed")
    if second is not None and reference is not None:
        raise SpecError("second and reference exclude each other; pass one of them")
    from ir_interp.converters.verify.model_pairs import with_metrics
    from ir_interp.converters.verify.task_metrics import check_names

    check_names(options.metric)
    return with_metrics(_compared(first, second, reference, options), options.metric)


def _compared(first: Source, second: Source | None, reference: Any | None, options: CompareOptions) -> ModelComparison:
    """Return the comparison of two models, or of one and a reference."""
    from ir_interp.converters.audit.saturation import bounded, saturation
    from ir_interp.converters.verify.inputs import Inputs
    from ir_interp.converters.verify.model_pairs import compare_models, compare_program, compare_with

    if second is not None and readers.has_own_framework(first):
        first, second = second, first
    if second is not None and readers.has_own_framework(second):
        second, reference = None, second
    if readers.has_own_framework(first):
        if options.per_resize or options.per_layer:
            flag = "--per-resize" if options.per_resize else "--per-layer"
            raise SpecError(f"{flag} has no effect on a model that its own framework runs")
        with readers.as_file(first, "first") as mine:
            comparison = compare_program(mine, reference, Inputs.of(options), tolerance=options.tolerance)
        return replace(comparison, first=readers.shown_path(first, mine))
    if second is None:
        if options.per_resize or options.per_layer:
            flag = "--per-resize" if options.per_resize else "--per-layer"
            raise SpecError(f"{flag} has no effect with a reference, whose inner tensors are always compared")
        inputs_of_both = Inputs.of(options)
        with readers.as_file(first, "first") as mine:
            comparison = compare_with(
                mine, reference, inputs_of_both, tolerance=options.tolerance, progress=options.progress
            )
            comparison = replace(comparison, calls=bounded(comparison.calls, {mine: False}))
        return replace(comparison, first=readers.shown_path(first, mine))
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
        comparison = replace(comparison, calls=bounded(comparison.calls, {mine: False, theirs: False}))
        notes = [(model, saturation(path)) for model, path in ((first, mine), (second, theirs))]
    return replace(
        comparison,
        first=readers.shown_path(first, mine),
        second=readers.shown_path(second, theirs),
        notes=(
            *comparison.notes,
            *(f"{readers.name_of(model)}: {known.text}" for model, known in notes if known is not None),
        ),
    )


@checked
def audit(
    models: Source | Iterable[Source],
    *,
    run: bool = False,
    shapes: Mapping[str, Sequence[int]] | None = None,
    runtimes: Iterable[str] | None = None,
    deploy: Iterable[str] = (),
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    jobs: int = 1,
    preprocess: str | None = None,
    trained: str | None = None,
    image: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Return the verdict of each runtime on each resize of some models, and likely mistakes of exporters.

    ``models`` are .onnx and .xml files, folders of them, or models in memory; one or several. ``run`` also runs the
    installed runtimes, in a child process, if the shape of a resize is static; ``shapes`` are the shapes of dynamic
    inputs by name. ``runtimes`` chooses some ("onnxruntime", "openvino",
    "openvino-converted", "tensorrt", "reference"; others by the names in docs/faults.md, such as "mnn"; "installed"
    for the first five and the installed ones of the others). ``deploy`` are the runtimes in which the models will run,
    by the same names: findings about others become notes, and runtimes that an audit does not cover by default are
    added. ``select`` and ``ignore`` choose the codes of findings, or
    prefixes of codes. ``jobs`` processes share the files; with more than one, the calling script must be importable,
    as with ``multiprocessing``.

    ``preprocess`` is the resize in front of the models ("opencv:linear"), ``trained`` that of their training
    ("pillow:bilinear"). Both may be pipelines instead: a path that ``pipeline`` reads or a class of Hugging Face,
    followed by ":pil" or ":torchvision" if it needs a backend. ``preprocessing`` of the result is the difference of
    both at each input, for ``image`` or for random images of usual shapes, and for pipelines the cost of each step.

    Models that cannot be read are ``errors`` of the result. Raises ReadError for a missing path.

    Examples:
        >>> [row] = ir_interp.audit("model.onnx", runtimes=["openvino", "tensorrt"]).rows
        >>> for name, verdict in row.verdicts.items():
        ...     print(f"{name}: {verdict}")
        openvino: differs by 0.165: antialias dropped
        tensorrt: refused: the importer does not support antialias

    """
    options = settled(AuditOptions, locals())
    from ir_interp.converters.audit import audit_report

    return audit_report.audited(readers.several(models), options)


@checked
def fix(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    layers: Iterable[str] = (),
    verify: bool = True,
    shapes: Mapping[str, Sequence[int]] | None = None,
    inputs: Mapping[str, Files] | None = None,
    images: Images | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Fixed:
    """Write an ONNX model without the likely exporter mistakes that an audit finds (IRI011 to IRI019, IRI027).

    ``select`` and ``ignore`` choose codes, or prefixes of codes, ``layers`` resizes by name; by default all. Only the
    nodes of these resizes, and new constants for them, change: the result is read back, and undoing the intended
    changes must give the bytes of the source. If there is nothing to fix, the file is copied.

    ``verify`` runs the model before and after in onnxruntime, on ``inputs``, ``images``, ``seed`` and ``shapes`` as for
    ``convert``, and the result contains the difference.

    Raises ReadError for an unreadable file, an ExceptionGroup of InexactError for mistakes that cannot be fixed, and
    VerificationError if the result does not run. Nothing is written then.

    Examples:
        >>> [fixed] = ir_interp.fix("model.onnx", "fixed.onnx").repaired
        >>> [remedy.text for remedy in fixed.remedies]
        ['exclude_outside=0 -> 1']

    """
    options = settled(FixOptions, locals())
    from ir_interp.converters import fix as fixed_files

    with readers.as_file(source) as path:
        fixed = fixed_files.fix(path, arguments.path(destination, "destination"), options)
    return replace(fixed, source=readers.shown_path(source, path))


@checked
def reproduce(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    runtime: str | None = None,
    layer: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    progress: Progress | None = None,
) -> Reproduced:
    """Write a folder that reproduces the fault of an installed runtime in a resize, for the runtime's developers.

    ``source`` is a model (.onnx; .xml for openvino), or a known fault of docs/faults.md ("mnn:nearest-ceil"), which
    determines its ``runtime``. For a model it is the resize ``layer``, or the first that the runtime computes
    otherwise, with inputs of the ``shapes``. The folder, which must be missing or empty, receives that node alone in
    the smallest shape that shows the fault, an input, the expected output, the runtime's output, a script that needs
    only NumPy and the runtime, and a README.md with formula, source and versions.

    Raises IrInterpError if the runtime is not installed, or if there is no fault.

    Examples:
        >>> fault = ir_interp.reproduce("openvino:antialias", "fault")
        >>> print(fault.verdict)
        differs by 0.333: antialias dropped

    """
    options = settled(ReproduceOptions, locals())
    from ir_interp.converters.reproduce import reproduction

    return reproduction.reproduce(arguments.path(source, "source"), arguments.path(folder, "folder"), options)


@checked
def kit(folder: str | os.PathLike[str]) -> Kit:
    """Write a conformance kit: a few hundred models of one Resize or Upsample, with inputs and expected outputs.

    Its runner needs Python, NumPy and a runtime, but not this project, for machines with nothing else (NPUs, phones).
    Raises IrInterpError for a folder that is neither missing nor empty.

    Examples:
        >>> ir_interp.kit("resizes").count
        287

    """
    from ir_interp.converters.reproduce import conformance_kit as inner

    return inner.write(arguments.path(folder, "folder"))
