"""Conversions with a pipeline in front: a model of any framework becomes one that takes images.

First the proof of preprocessing: its nodes, run alone, compute what the pipeline does in NumPy. Then models of files,
ONNX models and IRs, read and written with a resize in front of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from ir_interp.errors import ShapeError, SpecError, VerificationError
from ir_interp.files.kinds import FOREIGN, MODELS, FileKind, expect
from ir_interp.files.snapshots import copy_file
from ir_interp.files.writing import check_outputs, exists, replacing, scratch
from ir_interp.options.declaration import Option, declared, options_set
from ir_interp.options.model_options import ConvertOptions
from ir_interp.options.resize_options import STATED, PreprocessOptions
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.pipeline_source import of_call, with_backend
from ir_interp.shapes import Array

from ..conversion.converting import checked_kinds, convert
from ..conversion.next_steps import of_source
from ..intermediate import merged
from ..onnx.onnx_graph import save
from ..reports import ConversionReport, Operations
from ..sources.model_summary import parts, pipeline_of_path, pipeline_of_text
from ..sources.readers import Source, as_file, operations, reading, shown_path
from ..verify import model_pairs
from ..verify.graphs import read
from ..verify.inputs import Inputs
from ..verify.model_pairs import compare_with
from ..verify.references import ComputedOutputs, reference
from .preprocessed_model import LAYER, InputForm, NewInput, Preprocess, keep_single, write

_Outputs = TypeVar("_Outputs")

_SIZES = ((240, 320), (67, 45), (5, 9))
"""Heights and widths of images of any size: larger and smaller than most inputs, upright and across, odd and even."""
_SEVERAL = 2  # images, where their number is open


def prove_pipeline(image: NewInput, steps: Path) -> None:
    """Raise VerificationError if a model of the new nodes alone computes other values than the pipeline.

    It runs on random images of several sizes. Raises ShapeError if the pipeline takes none of them.
    """
    with sampled_images(image) as files:
        [output] = compare_with(steps, image.form.of_pixels, Inputs(files={image.name: files})).outputs
    if not output.compared.passes:
        pipeline = image.form.request.pipeline.name or "the pipeline"
        raise VerificationError(
            f"input {output.name!r} does not get the values of {pipeline}: it {output.compared.difference}; "
            "nothing was written"
        )


@contextmanager
def sampled_images(image: NewInput) -> Iterator[tuple[Path, ...]]:
    """Yield files of random images of several sizes. Raises ShapeError if the pipeline takes none of them."""
    with scratch() as folder:
        files = []
        for place, array in enumerate(_accepted(image)):
            files.append(folder / f"image{place}.npy")
            np.save(files[-1], array)
        yield tuple(files)


def _accepted(image: NewInput) -> Iterator[Array]:
    """Yield images that the pipeline takes. Raises its ShapeError if there are none."""
    problems: list[ShapeError] = []
    images = list(_images(image.form.request))
    for array in images:
        try:
            image.form.of_pixels(array)
        except ShapeError as problem:  # of a size that is too large to be padded, for example
            problems.append(problem)
        else:
            yield array
    if len(problems) == len(images):
        raise problems[0]


def _images(request: Preprocess) -> Iterator[Array]:
    rng = np.random.default_rng(0)
    batch = () if request.batch is None else (request.batch or _SEVERAL,)
    for size in [request.image_size] if request.image_size else _SIZES:
        yield rng.integers(0, 256, (*batch, *size, request.channels), np.uint8)


def preprocess(source: Path, destination: Path, options: PreprocessOptions) -> str:
    """Write a model that takes raw images, from one that takes resized ones, and return the name of its input.

    A source that is no .onnx, and a result that is an IR, are converted, and run in both runtimes. Raises the errors of
    ``preprocessed_model.write``, and VerificationError if the runtime computes other values than the pipeline.
    """
    request = Preprocess(
        pipeline=pipeline_of(options),
        image_size=options.image_size,
        layout=options.images.layout,
        batch=options.batch,
        channels=options.channels,
    )
    expect(source, *MODELS, *FOREIGN)
    as_ir = expect(destination, *MODELS, folders="") is FileKind.IR
    files = (destination, *([destination.with_suffix(".bin")] if as_ir else []))
    check_outputs(files, parts(source))
    conversions = ConvertOptions(verify=options.verify)
    with scratch() as folder, replacing(*files) as (output, *_):
        whole = write_onnx(
            source, folder / f"{destination.stem}.onnx", request, conversions, options.name, wide=not as_ir
        )
        save_as(whole, output, conversions)
    return whole.image.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """An ONNX model with a pipeline in front of it: its input for images, and the report of its conversion, if any."""

    path: Path
    image: NewInput
    report: ConversionReport | None


def write_onnx(
    source: Path, path: Path, request: Preprocess, options: ConvertOptions, name: str | None = None, *, wide: bool
) -> Whole:
    """Write a model with a pipeline in front of its input ``name``; one that is no .onnx is converted first.

    Numbers beyond float32 are in float64 only if the result may be ``wide``: not for OpenVINO.
    """
    with scratch() as folder:
        report = None
        if FileKind.of(source) is not FileKind.ONNX:
            report = convert(source, folder / f"{source.stem}.onnx", options)
        image = write(report.destination if report else source, path, request, name, wide=wide)
    return Whole(path=path, image=image, report=report)


def save_as(whole: Whole, output: Path, options: ConvertOptions) -> ConversionReport | None:
    """Write a model to ``output``, by a conversion to an IR, and prove the nodes in front; return the report, if any.

    Raises VerificationError if the result's runtime computes other values than the pipeline.
    """
    report = None
    if FileKind.of(output) is FileKind.IR:
        report = convert(whole.path, output, options)
        keep_single(output, whole.image.form.name, f"{LAYER}/")
    else:
        copy_file(whole.path, output)
    if options.verify:
        with scratch() as folder:
            prove_pipeline(whole.image, _steps(whole.image, folder / f"steps{output.suffix}"))
    return report


def _steps(image: NewInput, path: Path) -> Path:
    """Return ``path``, to which the new nodes alone are written, in the form that they have in the result."""
    steps = path.with_suffix(FileKind.ONNX.value)
    save(image.steps, steps)
    if path != steps:
        convert(steps, path, ConvertOptions(verify=False))
    return path


def check_calls(options: PreprocessOptions) -> None:
    """Raise SpecError for contradictory options, or where neither a configuration nor a resize and a size are given."""
    if options.config is not None and options.pipeline is not None:
        raise SpecError("--config and pipeline are both given; expected one of them")
    source = "--config" if options.config is not None else "pipeline" if options.pipeline is not None else ""
    stated = [option.flag for option in options_set(options) if option.name in STATED]
    if source and stated:
        raise SpecError(f"{source} already specifies {', '.join(stated)}")
    if options.backend is not None and options.config is None:
        raise SpecError("--backend has no effect without --config")
    if not source and options.like is None and options.size is None:
        raise SpecError("--like and --size are missing, as in --like pillow:bicubic, --size 224,224; or --config")
    if not source and options.like is None:
        raise SpecError("--like is missing: the resize used in training, as in --like pillow:bicubic")
    if not source and options.size is None:
        raise SpecError("--size is missing: height and width of the model's input, as in --size 224,224")


def pipeline_of(options: PreprocessOptions) -> Pipeline:
    """Return the pipeline of the options. Raises ReadError for a configuration, and SpecError as ``check_calls``."""
    check_calls(options)
    if options.config is not None:
        return pipeline_of_path(options.config, options.backend)
    if options.pipeline is not None:
        return options.pipeline
    assert options.like is not None
    assert options.size is not None
    return of_call(options.like, options.size, options.letterbox, options.images)


def convert_preprocessed(source: Source, destination: Path, options: ConvertOptions) -> ConversionReport:
    """Convert a model to one that takes images, which ``options.preprocess`` turns into its input.

    The model is proven as without the pipeline, the new nodes against the pipeline in NumPy, and the whole against both
    if a framework runs the model.
    """
    with as_file(source) as path:
        return replace(_converted(source, path, destination, options), source=shown_path(source, path))


def _converted(original: Source, source: Path, destination: Path, options: ConvertOptions) -> ConversionReport:
    start, end = checked_kinds(source, destination, options)
    assert options.preprocess is not None
    name, pipeline = _input_and_pipeline(options.preprocess)
    request = Preprocess(
        pipeline=pipeline_of_text(pipeline), image_size=options.image_size, layout=options.layout or ""
    )
    files = (destination.with_suffix(".bin"), destination) if end is FileKind.IR else (destination,)
    settings = Path(with_backend(pipeline)[0])
    check_outputs([*files, *options.reports], [*parts(source), *Inputs.of(options).paths, settings])
    first, last = _of_steps(options, start)
    with ExitStack() as stack:
        pages = {path: stack.enter_context(replacing(path))[0] for path in options.reports}
        output = stack.enter_context(replacing(*files))[-1]
        path = stack.enter_context(scratch()) / f"{destination.stem}.onnx"
        whole = write_onnx(source, path, request, first, name, wide=end is FileKind.ONNX)
        proof = _proof(whole, source, options) if options.verify and reading(start) is not None else ""
        report = replace(
            _merged(whole, save_as(whole, output, last), proof),
            source=source,
            destination=destination,
            mistakes=of_source(original, source),
            operations=Operations(before=operations(source), after=operations(output)),
        )
        for page, write_report in options.reports.items():
            write_report(report, pages[page])
    return report


def _input_and_pipeline(text: str) -> tuple[str | None, str]:
    """Return the input that a pipeline is for, None for the only one, and the name of the pipeline."""
    name, separator, pipeline = text.partition("=")
    is_named = separator and not exists(Path(with_backend(text)[0]))
    return (name, pipeline) if is_named else (None, text)


def _of_steps(options: ConvertOptions, start: FileKind) -> tuple[ConvertOptions, ConvertOptions]:
    """Return the options of both conversions: those that matter to the first, and the others."""
    options = replace(options, preprocess=None, image_size=None, reports={})
    if start is FileKind.ONNX:
        return options, options
    known = declared(ConvertOptions)
    of_first = [option for option in known if option.routes is None or option.routes(start, FileKind.ONNX)]
    of_last = [option for option in known if option not in of_first or option.name in _OF_BOTH]
    return _only(options, of_first), _only(options, of_last)


_OF_BOTH = ("verify", "seed", "progress")


def _only(options: ConvertOptions, kept: Sequence[Option]) -> ConvertOptions:
    """Return options of which all others have their defaults."""
    return replace(
        options, **{option.name: option.default for option in declared(ConvertOptions) if option not in kept}
    )


def _merged(whole: Whole, last: ConversionReport | None, proof: str) -> ConversionReport:
    """Return the reports of both conversions, of which one may be None, as that of one."""
    form, reports = whole.image.form, [report for report in (whole.report, last) if report is not None]
    size = ", ".join(map(str, form.request.shape))
    steps = form.request.pipeline.name or "the pipeline"
    verification = reports[-1].verification
    if verification is not None:
        verifications = [report.verification for report in reports if report.verification is not None]
        remarks = dict.fromkeys(filter(None, (*(known.note for known in verifications), proof)))
        verification = replace(verification, note="; ".join(remarks))
    return replace(
        reports[-1],
        rows=merged(reports[0].rows, reports[-1].rows),
        notes=(
            *dict.fromkeys(note for report in reports for note in report.notes),
            f"input {whole.image.name!r} takes uint8 [{size}]; {steps} computes {form.name!r}",
        ),
        states=reports[0].states,
        verification=verification,
    )


def _proof(whole: Whole, source: Path, options: ConvertOptions) -> str:
    """Return how near a model comes to its framework behind the pipeline, on random images, as a note."""
    known, image = reference(source), whole.image
    assert isinstance(known, ComputedOutputs)
    place = [tensor.name for tensor in read(whole.path).inputs].index(image.name)
    behind = replace(
        known,
        label=f"{known.label} behind {image.form.request.pipeline.name or 'the pipeline'}",
        function=_behind(image.form, place, known.function),
        slack=_behind(image.form, place, known.slack) if known.slack else None,
    )
    with sampled_images(image) as files:
        inputs = Inputs(files={image.name: files}, seed=options.seed)
        return model_pairs.proof(whole.path, whole.path, behind, inputs, options.progress)


def _behind(form: InputForm, place: int, function: Callable[..., _Outputs]) -> Callable[..., _Outputs]:
    """Return a function of a model's inputs as one that takes images at a ``place``."""

    def outputs(*arrays: Array) -> _Outputs:
        return function(*arrays[:place], form.of_pixels(arrays[place]), *arrays[place + 1 :])

    return outputs
