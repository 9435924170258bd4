"""Models: read, converted, audited, compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp import arguments
from ir_interp.arguments import checked
from ir_interp.converters import files
from ir_interp.converters.files import Source
from ir_interp.errors import SpecError
from ir_interp.face.options import Files, Progress, inputs_of, progress_of, reports_of
from ir_interp.op import ResizeOp
from ir_interp.translation.dialect import Semantics

if TYPE_CHECKING:
    from ir_interp.converters.audit.preprocessing import Preprocessing
    from ir_interp.converters.audit.report import Audit
    from ir_interp.converters.fix.files import Fixed
    from ir_interp.converters.report import ConversionReport, Form, StateForm
    from ir_interp.converters.reproduce.folder import Reproduced
    from ir_interp.converters.reproduce.kit import Kit
    from ir_interp.converters.verify.comparison import ModelComparison
    from ir_interp.converters.verify.images import Images


@checked
def load(source: Source, *, semantics: Semantics | str = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a file or of a model in memory, in order, those in subgraphs and bodies included.

    ``semantics`` chooses the reading where several exist: what the model's own runtime computes ("runtime"), what
    its operator page says ("document"), or what the operator's reference implementation does ("reference").

    Raises ReadError, which names the file and the place inside, and UnsupportedLayerError for a layer or version
    that is known but not interpreted.
    """
    return files.load(source, arguments.member(Semantics, semantics, "semantics"))


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
    ``shapes`` are lengths by input name, else it is tried which ones do. ``reports`` are further files to write, each
    by a function of the report and a path. ``progress`` is told what is being done.

    What has the name of a result is replaced. Raises ReadError for a source that cannot be read, InexactError (or an
    ExceptionGroup of several) where the target has no exact form, VerificationError where the result does not
    reproduce the source, IrInterpError where a file to be written is one that is read. Nothing is written then.
    """
    from ir_interp.converters.conversion import convert as inner
    from ir_interp.converters.conversion.options import Options
    from ir_interp.converters.report import Form, StateForm

    options = Options(
        opset=arguments.optional(opset, arguments.whole, "opset"),
        ir=arguments.optional(ir, arguments.whole, "ir"),
        interpolate=arguments.optional(interpolate, arguments.whole, "interpolate"),
        dialect=arguments.optional(dialect, arguments.word, "dialect"),
        into=None if into is None else arguments.path(into, "into"),
        semantics=arguments.member(Semantics, semantics, "semantics"),
        target=arguments.optional(target, arguments.word, "target"),
        only=Form.ANY if only is None else arguments.member(Form, only, "only"),
        strict=arguments.flag(strict, "strict"),
        fp16=arguments.flag(fp16, "fp16"),
        state=arguments.member(StateForm, state, "state"),
        verify=arguments.flag(verify, "verify"),
        inputs=inputs_of(shapes, inputs, images, seed),
        reports=reports_of(reports),
        progress=progress_of(progress),
    )
    return inner.convert(source, arguments.path(destination, "destination"), options)


@checked
def audit(
    models: Source | Iterable[Source],
    *,
    run: bool = False,
    shapes: Mapping[str, Sequence[int]] | None = None,
    runtimes: Iterable[str] | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    jobs: int = 1,
    preprocess: str | None = None,
    trained: str | None = None,
    image: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Return what each runtime makes of each resize of some models, and what is likely an exporter's mistake.

    ``models`` are .onnx and .xml files, folders of them, or models in memory; one, or several. With ``run`` the
    installed runtimes are run as well, in a child process, where the shape of a resize is known; ``shapes`` are lengths
    of inputs by name, where these are dynamic. ``runtimes`` chooses some ("onnxruntime", "openvino",
    "openvino-converted", "tensorrt", "reference"; for nodes of ONNX also "iree", "mnn", "ncnn", "opencv-dnn",
    "tvm"), ``select`` and ``ignore`` the codes of findings, or their beginnings. ``jobs`` processes share the files; a
    script that asks for more than one must be importable, as with ``multiprocessing``.

    ``preprocess`` is the resize that stands before the models ("opencv:linear"), ``trained`` that of their training
    ("pillow:bilinear"): what it costs that they differ is told for an ``image``, by default for random ones.

    Models that cannot be read are ``errors`` of the result. Raises ReadError for a path that is not there.
    """
    from ir_interp.converters.audit import report

    options = report.Options(
        run=arguments.flag(run, "run"),
        runtimes=arguments.optional(runtimes, arguments.words, "runtimes"),
        select=arguments.words(select, "select"),
        ignore=arguments.words(ignore, "ignore"),
        jobs=arguments.whole(jobs, "jobs"),
        shapes=arguments.by_name(shapes, arguments.lengths, "shapes"),
        preprocessing=_preprocessing(preprocess, trained, image),
        progress=progress_of(progress),
    )
    return report.audited(files.several(models), options)


def _preprocessing(
    deployed: str | None, trained: str | None, image: str | os.PathLike[str] | None
) -> Preprocessing | None:
    from ir_interp.converters.audit.preprocessing import Preprocessing

    given = {"preprocess": deployed, "trained": trained}
    missing = [name for name, each in given.items() if each is None]
    if len(missing) == 1:
        raise SpecError(f"{missing[0]} is missing: a resize costs something by comparison with another only")
    if deployed is None or trained is None:
        if image is not None:
            raise SpecError("image has no effect without preprocess and trained")
        return None
    return Preprocessing(
        deployed=arguments.word(deployed, "preprocess"),
        trained=arguments.word(trained, "trained"),
        image=None if image is None else arguments.path(image, "image"),
    )


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
    """Write an ONNX model without what an audit calls likely mistakes of its exporter (IRI011 to IRI015).

    ``select`` and ``ignore`` choose codes, or their beginnings, ``layers`` resizes by name; by default all. Nothing but
    the nodes of these resizes, and new constants for them, changes: the file is read again, and what was meant to
    change is undone in it, which gives the bytes of the source. Where there is nothing to mend, the file is copied.

    ``verify`` runs the model before and after in onnxruntime, on ``inputs``, ``images``, ``seed`` and ``shapes`` as for
    ``convert``, and the result tells how far they differ.

    Raises ReadError for what cannot be read, an ExceptionGroup of InexactError where a mistake cannot be mended,
    VerificationError where the result does not run. Nothing is written then.
    """
    from ir_interp.converters.audit.report import Options as Choice
    from ir_interp.converters.fix import files as inner

    options = inner.Options(
        choice=Choice(select=arguments.words(select, "select"), ignore=arguments.words(ignore, "ignore")),
        layers=arguments.words(layers, "layers"),
        verify=arguments.flag(verify, "verify"),
        inputs=inputs_of(shapes, inputs, images, seed),
        progress=progress_of(progress),
    )
    with files.as_file(source) as path:
        found = inner.fix(path, arguments.path(destination, "destination"), options)
    return replace(found, source=files.shown_path(source, path))


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
    stretch by stretch. Outputs are paired by name, else by place. With ``per_resize`` the resizes are compared in
    order, with ``per_layer`` the first layer that differs is looked for.

    Raises ReadError for what is no model, IrInterpError where one does not run, VerificationError where the models
    have different numbers of outputs.
    """
    from ir_interp.converters.verify.models import compare_models

    with files.as_file(first, "first") as mine, files.as_file(second, "second") as theirs:
        found = compare_models(
            mine,
            theirs,
            inputs_of(shapes, inputs, images, seed),
            tolerance=arguments.optional(tolerance, arguments.not_negative, "tolerance"),
            per_resize=arguments.flag(per_resize, "per_resize"),
            per_layer=arguments.flag(per_layer, "per_layer"),
            progress=progress_of(progress),
        )
    return replace(found, first=files.shown_path(first, mine), second=files.shown_path(second, theirs))


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
    """Write a folder that shows what an installed runtime does wrong with a resize, for those who can mend it.

    ``source`` is a model (.onnx; .xml for openvino), or a known fault of docs/faults.md ("mnn:nearest-ceil"), which
    names its ``runtime`` itself. Of a model it is the resize ``layer``, or the first that the runtime does not
    compute, with inputs of the lengths ``shapes``. The folder, which must not be there or be empty, gets that node
    alone in the smallest shape that shows it, an input, what is expected, what the runtime makes, a script that needs
    only NumPy and the runtime, and a README.md with formula, source and versions.

    Raises IrInterpError where the runtime is not installed, or there is nothing to show.
    """
    from ir_interp.converters.reproduce import reproduce as inner

    options = inner.Options(
        runtime=arguments.optional(runtime, arguments.word, "runtime"),
        layer=arguments.optional(layer, arguments.word, "layer"),
        shapes=arguments.by_name(shapes, arguments.lengths, "shapes"),
        progress=progress_of(progress),
    )
    return inner.reproduce(arguments.path(source, "source"), arguments.path(folder, "folder"), options)


@checked
def kit(folder: str | os.PathLike[str]) -> Kit:
    """Write a conformance kit: a few hundred models of one Resize or Upsample, with inputs and what is expected.

    Its runner needs Python, NumPy and a runtime, and none of this project: for machines that have no more (NPUs,
    phones). The folder must not be there, or be empty.
    """
    from ir_interp.converters.reproduce import kit as inner

    return inner.write(arguments.path(folder, "folder"))
