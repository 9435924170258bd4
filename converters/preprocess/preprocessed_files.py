"""Models of files with a resize in front of them: ONNX models and IRs, read and written."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from ir_interp.errors import SpecError
from ir_interp.files.atomic import check_outputs, replacing
from ir_interp.files.kinds import MODELS, FileKind, expect
from ir_interp.files.scratch import scratch
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.options.declaration import options_set
from ir_interp.options.preprocess_options import STATED, PreprocessOptions
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.pipeline_source import of_call

from ..conversion.converting import convert
from ..sources.model_summary import parts
from ..sources.pipeline_files import of_path
from .preprocessed_model import LAYER, Preprocess, write
from .single_precision import keep_single


def preprocess(source: Path, destination: Path, options: PreprocessOptions) -> str:
    """Write a model that takes raw images, from one that takes resized ones, and return the name of its input.

    A source or result that is an IR is converted, and run in both runtimes. Raises the errors of
    ``preprocessed_model.write``.
    """
    pipeline, name = pipeline_of(options), options.name
    wanted = Preprocess(
        pipeline=pipeline,
        image_size=options.image_size,
        layout=options.images.layout,
        batch=options.batch,
        channels=options.channels,
    )
    kinds = expect(source, *MODELS), expect(destination, *MODELS)
    as_ir = kinds[1] is FileKind.IR
    check_outputs([destination, *([destination.with_suffix(".bin")] if as_ir else [])], parts(source))
    with ExitStack() as stack:
        folder = stack.enter_context(scratch())
        if kinds[0] is FileKind.IR:
            read = folder / f"{source.stem}.onnx"
            convert(source, read, ConvertOptions())
        else:
            read = source
        if not as_ir:
            (temporary,) = stack.enter_context(replacing(destination))
            return write(read, temporary, wanted, name).name
        whole, ir = folder / f"{destination.stem}.whole.onnx", folder / destination.with_suffix(".xml").name
        image = write(read, whole, wanted, name, wide=False)
        convert(whole, ir, ConvertOptions())
        keep_single(ir, image.model_input, f"{LAYER}/")
        written = stack.enter_context(replacing(destination, destination.with_suffix(".bin")))
        for path, temporary in zip((ir, ir.with_suffix(".bin")), written, strict=True):
            path.replace(temporary)
        return image.name


def check_calls(options: PreprocessOptions) -> None:
    """Raise SpecError for contradictory options, or where neither a configuration nor a resize and a size are given."""
    if options.channels == 4 and options.like is None:
        raise SpecError("image processors blend alpha over white, which has no form in nodes; expected 1 or 3 channels")
    if options.config is not None and options.pipeline is not None:
        raise SpecError("--config and pipeline are both given; expected one of them")
    source = "--config" if options.config is not None else "pipeline" if options.pipeline is not None else ""
    stated = [each.flag for each in options_set(options) if each.name in STATED]
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
