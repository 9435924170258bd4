"""Models of files with a resize in front of them: ONNX models and IRs, read and written."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from ir_interp.errors import SpecError
from ir_interp.files.atomic import check_outputs, replacing
from ir_interp.files.kinds import FOREIGN, MODELS, FileKind, expect
from ir_interp.files.scratch import scratch
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.options.declaration import options_set
from ir_interp.options.preprocess_options import STATED, PreprocessOptions
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.pipeline_source import of_call

from ..conversion.converting import convert
from ..onnx.onnx_save import save
from ..reports.conversion_report import ConversionReport
from ..sources.model_summary import parts
from ..sources.pipeline_files import of_path
from .pipeline_proof import prove
from .preprocessed_model import LAYER, NewInput, Preprocess, write
from .single_precision import keep_single


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
        shutil.copyfile(whole.path, output)
    if options.verify:
        with scratch() as folder:
            prove(whole.image, _steps(whole.image, folder / f"steps{output.suffix}"))
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
        return of_path(options.config, options.backend)
    if options.pipeline is not None:
        return options.pipeline
    assert options.like is not None
    assert options.size is not None
    return of_call(options.like, options.size, options.letterbox, options.images)
