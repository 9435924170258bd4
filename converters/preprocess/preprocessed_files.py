"""Models of files with a resize in front of them: ONNX models and IRs, read and written."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from ir_interp.errors import SpecError
from ir_interp.files.atomic import check_outputs, replacing
from ir_interp.files.kinds import MODELS, FileKind, expect
from ir_interp.files.scratch import scratch
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.options.preprocess_options import PreprocessOptions

from ..conversion.converting import convert
from ..sources.model_summary import parts
from .preprocessed_model import Preprocess, of_config, write


def preprocess(source: Path, destination: Path, options: PreprocessOptions) -> str:
    """Write a model that takes raw images, of one that takes resized ones, and return the name of its input.

    What is or becomes an IR is converted, and run in both runtimes. Raises SpecError for an IR to be written of images
    of any lengths, beside what ``model.write`` raises.
    """
    wanted, name = resize_of(options), options.name
    kinds = expect(source, *MODELS), expect(destination, *MODELS)
    as_ir = kinds[1] is FileKind.IR
    if as_ir and wanted.image_size is None:
        found = f"{destination.name}: weights of images of any size need float64, which OpenVINO computes in float32"
        raise SpecError(f"{found}; expected image_size, as in (480, 640): they are tables then")
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
            return write(read, temporary, wanted, name)
        whole = folder / f"{destination.stem}.whole.onnx"
        image = write(read, whole, wanted, name, wide=False)
        convert(whole, destination, ConvertOptions())
        return image


def resize_of(options: PreprocessOptions) -> Preprocess:
    """Return what options ask for. Raises SpecError where they contradict, or name no resize, or no size."""
    if options.config is not None:
        if options.letterbox is not None:
            raise SpecError("letterbox has no effect with config")
        wanted = of_config(options.config)
        images = replace(options.images, mean=wanted.images.mean, scale=wanted.images.scale)
        return replace(wanted, images=images, image_size=options.image_size)
    if options.like is None or options.size is None:
        raise SpecError("like and size are needed, as in like='pillow:bicubic', size=(224, 224); or config")
    return Preprocess(
        like=options.like,
        size=options.size,
        letterbox=options.letterbox,
        image_size=options.image_size,
        images=options.images,
    )
