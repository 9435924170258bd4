"""Models of files with a resize in front of them: ONNX models and IRs, read and written."""

from __future__ import annotations

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
    kind = expect(source, *MODELS, *FOREIGN)
    as_ir = expect(destination, *MODELS, folders="") is FileKind.IR
    files = (destination, *([destination.with_suffix(".bin")] if as_ir else []))
    check_outputs(files, parts(source))
    with scratch() as folder, replacing(*files) as (output, *_):
        read = source
        if kind is not FileKind.ONNX:
            read = folder / f"{source.stem}.onnx"
            convert(source, read, ConvertOptions(verify=options.verify))
        image = _write_ir(read, output, request, options) if as_ir else write(read, output, request, options.name)
        if options.verify:
            prove(image, _steps(image, folder / f"steps{destination.suffix}"))
    return image.name


def _write_ir(source: Path, output: Path, request: Preprocess, options: PreprocessOptions) -> NewInput:
    with scratch() as folder:
        whole = folder / f"{output.stem}.onnx"
        image = write(source, whole, request, options.name, wide=False)
        convert(whole, output, ConvertOptions(verify=options.verify))
    keep_single(output, image.form.name, f"{LAYER}/")
    return image


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
