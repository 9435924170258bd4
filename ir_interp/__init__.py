"""Exact resizes: read one from an ONNX model, an OpenVINO IR or a TensorRT layer, run it, translate it to the others.

``load`` reads, ``resize`` runs, ``convert`` translates; ``audit``, ``compare``, ``explain`` and ``plot`` show what
runtimes and files make of it. ``ResizeSpec`` is what they share.

A path ends in .onnx (a model), .xml (an IR, with or without its .bin, or pasted layers) or .json (layers,
docs/layer-json.md), in any case. Wherever a ``source`` is taken, a model in memory will do as well: an
``onnx.ModelProto``, which must hold its weights itself to be run, or an ``openvino.Model``; places in it start with
its name. Every mistake in a call of these functions is a SpecError or a ReadError that names what was meant.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir_interp import arguments
from ir_interp.arguments import checked
from ir_interp.atomic import check_outputs, replacing
from ir_interp.converters import files
from ir_interp.converters.files import Source
from ir_interp.errors import (
    Difference,
    InexactError,
    IrInterpError,
    ReadError,
    ShapeError,
    SpecError,
    UnsupportedLayerError,
    VerificationError,
)
from ir_interp.executor.resize import as_array, resize
from ir_interp.kinds import FileKind
from ir_interp.op import Diagnostic, ResizeOp, choose
from ir_interp.rules import Rule, Severity
from ir_interp.spec import (
    Alpha,
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    AtRunTime,
    Between,
    Box,
    Coordinates,
    Crop,
    Cubic,
    FixedPoint,
    FloatingPoint,
    Hamming,
    Integers,
    Lanczos,
    Length,
    Linear,
    Mean,
    Nearest,
    Pad,
    Passes,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)
from ir_interp.translation.dialect import Semantics
from ir_interp.version import VERSION

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from ir_interp.converters.audit.findings import Audited, Finding
    from ir_interp.converters.audit.preprocessing import Preprocessing
    from ir_interp.converters.audit.report import Audit
    from ir_interp.converters.audit.verdicts import Verdict
    from ir_interp.converters.report import Compared, ConversionReport, Form, Row, State, StateForm, Verification
    from ir_interp.converters.runtimes.outcome import Kind
    from ir_interp.converters.verify.first_difference import FirstLayer, Located
    from ir_interp.converters.verify.images import Images
    from ir_interp.converters.verify.inputs import Inputs
    from ir_interp.converters.verify.models import HistogramBin, ModelComparison, OutputComparison, OutputValues
    from ir_interp.translation.translate import Grade
    from ir_interp.views.explain import AxisTable, Cell, Column, Explanation, Lengths, Readings
    from ir_interp.views.figures import Picture
    from ir_interp.views.origin import Candidate, Identified

__all__ = [
    "Alpha",
    "Antialias",
    "Area",
    "Arithmetic",
    "Aspect",
    "AtRunTime",
    "Audit",
    "Audited",
    "AxisTable",
    "Between",
    "Box",
    "Candidate",
    "Cell",
    "Column",
    "Compared",
    "ConversionReport",
    "Coordinates",
    "Crop",
    "Cubic",
    "Diagnostic",
    "Difference",
    "Explanation",
    "Finding",
    "FirstLayer",
    "FixedPoint",
    "FloatingPoint",
    "Form",
    "Grade",
    "Hamming",
    "HistogramBin",
    "Identified",
    "Images",
    "InexactError",
    "Integers",
    "IrInterpError",
    "Kind",
    "Lanczos",
    "Length",
    "Linear",
    "Located",
    "Mean",
    "ModelComparison",
    "Nearest",
    "OutputComparison",
    "OutputValues",
    "Pad",
    "Passes",
    "Picture",
    "Progress",
    "ReadError",
    "ResizeOp",
    "ResizeSpec",
    "Rounding",
    "Row",
    "Rule",
    "Scales",
    "Semantics",
    "Severity",
    "ShapeError",
    "Sizes",
    "Source",
    "SpecError",
    "State",
    "StateForm",
    "Step",
    "UnsupportedLayerError",
    "Verdict",
    "Verification",
    "VerificationError",
    "audit",
    "compare",
    "convert",
    "explain",
    "identify",
    "load",
    "plot",
    "preprocess",
    "resize",
    "spec",
]
__version__ = VERSION

_RESULTS = {
    "converters.audit.findings": ("Audited", "Finding"),
    "converters.audit.report": ("Audit",),
    "converters.audit.verdicts": ("Verdict",),
    "converters.report": ("Compared", "ConversionReport", "Form", "Row", "State", "StateForm", "Verification"),
    "converters.runtimes.outcome": ("Kind",),
    "converters.verify.first_difference": ("FirstLayer", "Located"),
    "converters.verify.images": ("Images",),
    "converters.verify.models": ("HistogramBin", "ModelComparison", "OutputComparison", "OutputValues"),
    "translation.translate": ("Grade",),
    "views.explain": ("AxisTable", "Cell", "Column", "Explanation"),
    "views.figures": ("Picture",),
    "views.origin": ("Candidate", "Identified"),
}
"""Types of results by their module, which is imported when one is asked for: some need ONNX and OpenVINO."""

_MODULES = {name: module for module, names in _RESULTS.items() for name in names}


if not TYPE_CHECKING:  # which would take any name then

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

Progress = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is, and of how much in all (0 where nobody knows)."""


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
def spec(library: str, *, version: int | None = None, dtype: str | None = None, **call: Any) -> ResizeSpec:
    """Return what a resize of an image library computes, byte for byte: of pillow, opencv, torch or torchvision.

    ``call`` are the arguments of the library's own: ``spec("opencv", interpolation="INTER_AREA")``. ``version`` is a
    major version of the library, by default that of the installed one, else the newest that is known; ``dtype`` the
    element type of the images, by default 8 bits. ``resize(image, spec, sizes=(height, width))`` runs it.

    Raises ReadError for what the library does not have.
    """
    from ir_interp.library import get

    wanted = arguments.optional(version, arguments.whole, "version")
    return get(arguments.word(library, "library")).spec(call, version=wanted, dtype=dtype)


@checked
def identify(
    pairs: Iterable[tuple[ArrayLike, ArrayLike]] | Callable[[Any, tuple[int, int]], Any],
    *,
    dtype: str = "uint8",
    channels: int = 3,
) -> Identified:
    """Return which resizes of image libraries can have made the second image of each pair of the first.

    Images are arrays [height, width] or [height, width, channels]. In place of ``pairs`` a function will do, which
    takes an image (of ``dtype`` and so many ``channels``) and (height, width), and returns the resized image.
    """
    from ir_interp.views import origin

    if callable(pairs):
        return origin.identified(origin.made_by(pairs, dtype, arguments.whole(channels, "channels")))
    return origin.identified([(as_array(before), as_array(after)) for before, after in pairs])


@checked
def preprocess(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    like: str | None = None,
    size: Sequence[int] | None = None,
    letterbox: int | None = None,
    image_size: Sequence[int] | None = None,
    config: str | os.PathLike[str] | None = None,
    name: str | None = None,
    images: Images | None = None,
) -> str:
    """Put a resize of an image library in front of a model (.onnx, .xml), and return the name of its new input.

    That takes a raw image, uint8 [height, width, 3] of any size, which is resized to ``size`` as the call ``like``
    ("pillow:bicubic") does, to the byte, and then made into what the input ``name`` takes, as ``images`` says.
    With ``letterbox`` it keeps its aspect, in the middle of ``size``, and the rest has that colour (114 for YOLO).
    ``image_size`` is height and width of all images, where they are known: then more calls have such a form, and an IR
    can be written. ``config``, a preprocessor_config.json of Hugging Face, stands for ``like``, ``size``, mean and
    scale.

    Raises ReadError for what cannot be read, InexactError for a call that has no such form.
    """
    from ir_interp.converters.brief import parts
    from ir_interp.converters.preprocess import files as inner
    from ir_interp.converters.preprocess import model
    from ir_interp.converters.verify.images import Images

    read, written = arguments.path(source, "source"), arguments.path(destination, "destination")
    settings = [arguments.path(config, "config")] if config is not None else []
    check_outputs([written], [*parts(read), *settings])
    if settings:
        if letterbox is not None:
            raise SpecError("letterbox has no effect with config")
        wanted = model.of_config(settings[0])
        if images is not None:
            extra = replace(images, mean=wanted.images.mean, scale=wanted.images.scale)
            wanted = replace(wanted, images=extra)
    elif like is None or size is None:
        raise SpecError("like and size are needed, as in like='pillow:bicubic', size=(224, 224); or config")
    else:
        colour = arguments.optional(letterbox, arguments.whole, "letterbox")
        wanted = model.Preprocess(like=like, size=_pair(size, "size"), letterbox=colour, images=images or Images())
    if image_size is not None:
        wanted = replace(wanted, image_size=_pair(image_size, "image_size"))
    return inner.preprocess(read, written, wanted, arguments.optional(name, arguments.word, "name"))


def _pair(lengths: Sequence[int], name: str) -> tuple[int, int]:
    found = arguments.wholes(lengths, name)
    if len(found) != 2 or min(found) < 1:
        raise SpecError(f"{name} is {arguments.shown(lengths)}; expected height and width, as in (224, 224)")
    return found[0], found[1]


@checked
def convert(
    source: Source,
    destination: str | os.PathLike[str],
    *,
    opset: int | None = None,
    dialect: str | None = None,
    semantics: Semantics | str = Semantics.RUNTIME,
    target: str | None = None,
    only: Form | str | None = None,
    strict: bool = False,
    fp16: bool = False,
    state: StateForm | str = "inputs",
    verify: bool = True,
    shapes: Mapping[str, Sequence[int]] | None = None,
    inputs: Mapping[str, _Files] | None = None,
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

    ``opset`` is ONNX's operator set, by default 21 for a model, for a layer the newest that expresses it. ``dialect``
    is that of a .json file to be written ("tensorrt", which is the default, or "tflite"). ``semantics`` chooses the
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
    from ir_interp.converters import convert as inner
    from ir_interp.converters.report import Form, StateForm

    options = inner.Options(
        opset=arguments.optional(opset, arguments.whole, "opset"),
        dialect=arguments.optional(dialect, arguments.word, "dialect"),
        semantics=arguments.member(Semantics, semantics, "semantics"),
        target=arguments.optional(target, arguments.word, "target"),
        only=Form.ANY if only is None else arguments.member(Form, only, "only"),
        strict=arguments.flag(strict, "strict"),
        fp16=arguments.flag(fp16, "fp16"),
        state=arguments.member(StateForm, state, "state"),
        verify=arguments.flag(verify, "verify"),
        inputs=_inputs(shapes, inputs, images, seed),
        reports=_reports(reports),
        progress=_progress(progress),
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
    "openvino-converted", "tensorrt", "reference"; for nodes of ONNX also "mnn", "opencv-dnn", "tvm"), ``select`` and
    ``ignore`` the codes of findings, or their beginnings. ``jobs`` processes share the files; a script that asks for
    more than one must be importable, as with ``multiprocessing``.

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
        progress=_progress(progress),
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
def compare(
    first: Source,
    second: Source,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    inputs: Mapping[str, _Files] | None = None,
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
            _inputs(shapes, inputs, images, seed),
            tolerance=arguments.optional(tolerance, arguments.not_negative, "tolerance"),
            per_resize=arguments.flag(per_resize, "per_resize"),
            per_layer=arguments.flag(per_layer, "per_layer"),
            progress=_progress(progress),
        )
    return replace(found, first=files.shown_path(first, mine), second=files.shown_path(second, theirs))


@checked
def explain(
    source: Source,
    layer: str | None = None,
    *,
    shape: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
) -> Explanation:
    """Return which source pixels make each output of a resize, in every reading and arithmetic.

    ``layer`` is the name of the resize, where the source has several. ``shape`` are the lengths of its input, where
    they are open; ``sizes`` (output lengths) or ``scales`` (output / input) replace those of the layer.

    Raises ReadError where there is no such resize, ShapeError where a length that is needed is not known.
    """
    from ir_interp.views.explain import explanation

    op = _one(source, layer)
    return explanation(op, files.readings(op, source), _lengths(shape, sizes, scales))


@checked
def plot(
    source: Source,
    output: str | os.PathLike[str] | None = None,
    *,
    what: Picture | str = "positions",
    layer: str | None = None,
    axis: int | None = None,
    shape: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    x: ArrayLike | str | os.PathLike[str] | None = None,
    against: Semantics | Arithmetic | ResizeSpec | Source | None = None,
) -> Figure:
    """Return a picture of a resize, a figure of Matplotlib; written to ``output``, .png or .svg, where that is given.

    ``what`` is shown: where the outputs of an axis sample ("positions"), what they weigh by how much ("weights"), the
    "kernel", or an "image" under two configurations and their difference. ``layer``, ``shape``, ``sizes`` and
    ``scales`` are those of ``explain``; ``axis`` is by default the first that changes. Of an image, ``x`` is an array
    or the path of one (.npy) or of an image, by default rings; ``against`` is the other configuration: a reading or
    an arithmetic by its word, a spec, or where another resize stands; by default a runtime that is known to compute
    something else, or a reading, else exact arithmetic.

    Raises ReadError and ShapeError as ``explain`` does, IrInterpError where Matplotlib is not installed.
    """
    from ir_interp.views import figures, pictures
    from ir_interp.views.explain import explanation

    chosen = arguments.member(figures.Picture, what, "what")
    wanted = arguments.optional(axis, arguments.whole, "axis")
    place = None if output is None else _picture(arguments.path(output, "output"))
    read = [
        each for each in (source, x, against) if isinstance(each, str | os.PathLike) and not isinstance(each, bytes)
    ]
    check_outputs([place] if place else [], map(Path, read))
    op = _one(source, layer)
    found = files.readings(op, source)
    given = _lengths(shape, sizes, scales)
    figure: Figure
    if chosen is figures.Picture.IMAGE:
        other = _other(against, op, found)
        values = arguments.path(x, "x") if isinstance(x, str | os.PathLike) else x
        figure = figures.of_image(op, other, values, given)
    else:
        figure = figures.of_axis(explanation(op, found, given), chosen, wanted)
    if place is not None:
        with replacing(place) as (temporary,):
            pictures.save(figure, temporary, FileKind.of(place) or FileKind.PICTURE)
    return figure


def _picture(path: Path) -> Path:
    if FileKind.of(path) not in (FileKind.PICTURE, FileKind.DRAWING):
        raise SpecError(f"{path.name!r} is no name of a picture; expected .png or .svg")
    return path


def _other(
    against: Semantics | Arithmetic | ResizeSpec | Source | None, op: ResizeOp, found: Readings
) -> tuple[str, ResizeSpec]:
    """Return what to show a resize against, and its name: by default a runtime that computes something else."""
    from ir_interp.converters.audit.verdicts import deviations
    from ir_interp.views import figures

    deviating = next(deviations(op), None) if against is None else None
    return deviating or figures.configuration(against, op, found) or _configuration(against)


def _configuration(source: Source) -> tuple[str, ResizeSpec]:
    """Return the name and the spec of a source that holds nothing but a resize."""
    return files.name_of(source, "against"), _one(source, None, "against").spec


def _one(source: Source, layer: str | None, name: str = "source") -> ResizeOp:
    """Return the resize of a source that is meant; ``name`` is the argument's."""
    chosen = arguments.optional(layer, arguments.word, "layer")
    return choose(files.load(source, name=name), chosen, files.name_of(source))


def _lengths(shape: Sequence[int] | None, sizes: Sequence[int] | None, scales: Sequence[float] | None) -> Lengths:
    from ir_interp.views.explain import Lengths

    return Lengths(
        shape=arguments.optional(shape, arguments.lengths, "shape"),
        sizes=arguments.optional(sizes, arguments.wholes, "sizes"),
        scales=arguments.optional(scales, arguments.reals, "scales"),
    )


def _inputs(
    shapes: Mapping[str, Sequence[int]] | None, inputs: Mapping[str, _Files] | None, images: Images | None, seed: int
) -> Inputs:
    from ir_interp.converters.verify.images import Images
    from ir_interp.converters.verify.inputs import Inputs

    lengths = arguments.by_name(shapes, arguments.lengths, "shapes")
    files = arguments.by_name(inputs, arguments.paths, "inputs")
    if not isinstance(images, Images | None):
        raise SpecError(f"images is {arguments.shown(images)}; expected Images")
    return Inputs(shapes=lengths, files=files, seed=arguments.natural(seed, "seed"), images=images or Images())


def _reports(
    reports: Mapping[str | os.PathLike[str], Callable[[ConversionReport, Path], None]] | None,
) -> dict[Path, Callable[[ConversionReport, Path], None]]:
    if not isinstance(reports, Mapping | None):
        raise SpecError(f"reports is {arguments.shown(reports)}; expected a mapping from paths to functions")
    named = (reports or {}).items()
    return {arguments.path(path, "a path in reports"): arguments.function(save, "a report") for path, save in named}


def _progress(progress: Progress | None) -> Progress:
    from ir_interp.converters.report import silent

    return silent if progress is None else arguments.function(progress, "progress")
