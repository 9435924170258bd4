"""Calls of image libraries: the spec of one, the one that made an image, and one in front of a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ir_interp import arguments
from ir_interp.arguments import checked
from ir_interp.errors import SpecError
from ir_interp.files.atomic import check_outputs
from ir_interp.options.declaration import settled
from ir_interp.options.image_options import Images
from ir_interp.options.preprocess_options import PreprocessOptions
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.spec import ResizeSpec

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ir_interp.origins.candidates import Identified


@checked
def spec(library: str, *, version: int | None = None, dtype: str | None = None, **call: Any) -> ResizeSpec:
    """Return the spec of a resize of an image library, byte for byte: of pillow, opencv, torch or torchvision.

    ``call`` are the library's own arguments: ``spec("opencv", interpolation="INTER_AREA")``. A call may also be
    written as on the command line: ``spec("opencv:INTER_AREA")``. ``version`` is a major version of the library, by
    default that of the installed one, or else the newest supported one; ``dtype`` is the element type of the images,
    by default 8 bits. ``resize(image, spec, sizes=(height, width))`` runs it.

    Raises ReadError for arguments that the library does not have.

    Examples:
        >>> spec = ir_interp.spec("pillow", resample="BILINEAR")
        >>> ir_interp.resize(np.zeros((8, 6), np.uint8), spec, sizes=(4, 3)).shape
        (4, 3)

    """
    from ir_interp.library_registry import get, is_call, parse

    text = arguments.word(library, "library")
    if is_call(text):
        if version is not None or call:
            raise SpecError(f"{text!r} is a complete call; write its version and arguments in it, as in pillow@12:box")
        return parse(text, dtype=dtype)
    major = None if version is None else arguments.whole(version, "version")
    return get(text).spec(call, version=major, dtype=dtype)


@checked
def identify(
    pairs: Iterable[tuple[ArrayLike | str | os.PathLike[str], ArrayLike | str | os.PathLike[str]]]
    | Callable[[Any, tuple[int, int]], Any],
    *,
    dtype: str = "uint8",
    channels: int = 3,
) -> Identified:
    """Return the call of an image library that resized the first image of each pair to the second.

    Images are arrays [height, width] or [height, width, channels], or names of files; a JPEG file is judged by its
    quantisation. In the result, ``call`` is the call without its version, ``is_sure`` is whether it is certain, and
    ``candidates`` are all that were tried, with the steps around them. ``pairs`` may also be a function that takes an
    image (of ``dtype`` and with ``channels`` channels) and (height, width), and returns the resized image.

    Raises ReadError for an unreadable file, ShapeError for images that are no pairs, SpecError if there are none.

    Examples:
        >>> spec = ir_interp.spec("pillow", resample="BICUBIC")
        >>> before = np.random.default_rng(0).integers(0, 256, (40, 30, 3), np.uint8)
        >>> identified = ir_interp.identify([(before, ir_interp.resize(before, spec, sizes=(20, 12)))])
        >>> identified.call
        'pillow:BICUBIC'

    """
    from ir_interp.origins import pairs as images
    from ir_interp.origins.search import identified

    if callable(pairs):
        return identified(images.made_by(pairs, dtype, arguments.whole(channels, "channels")))
    return identified([images.pair_of(before, after) for before, after in arguments.pairs(pairs, "pairs")])


@checked
def pipeline(source: Any, *, backend: Backend | str | None = None) -> Pipeline:
    """Return the preprocessing of images in training, as data that runs, prints, and can be put in front of a model.

    ``source`` is a path: ``preprocessor_config.json`` of Hugging Face, ``config.json`` of timm, the text of printed
    torchvision transforms, a model that Ultralytics exported, an IR that starts with OpenVINO's PrePostProcessor, or
    JSON from ``Pipeline.json``. It may also be a Python object: the mapping of such a file, an image processor of
    transformers, or transforms of torchvision. ``backend`` ("pil", "torchvision") is the library that resizes, if
    the source does not specify it.

    Raises ReadError for an unsupported class, step or key, SpecError for an invalid value.

    Examples:
        >>> config = {"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 8}}
        >>> pipeline = ir_interp.pipeline(config, backend="pil")
        >>> print(pipeline.text)
        resize 8x8 (pillow:bilinear)
        divide by 255
        subtract 0.5, divide by 0.5
        channels first
        >>> pipeline(np.zeros((20, 30, 3), np.uint8)).shape
        (3, 8, 8)

    """
    from ir_interp.converters.sources import pipeline_files
    from ir_interp.pipelines import pipeline_source

    chosen = None if backend is None else arguments.member(Backend, backend, "backend")
    if isinstance(source, str | os.PathLike):
        return pipeline_files.of_path(arguments.path(source, "source"), chosen)
    read = pipeline_source.of_mapping if isinstance(source, Mapping) else pipeline_source.of_object
    return read(source, chosen)


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
    backend: Backend | str | None = None,
    pipeline: Pipeline | None = None,
    batch: int | None = None,
    channels: int = 3,
    name: str | None = None,
    verify: bool = True,
    images: Images | None = None,
) -> str:
    """Put a resize of an image library in front of a model, and return the name of its new input.

    The model is an .onnx, an .xml, or one of another framework that ``ir_interp.convert`` reads.

    The new input takes a raw image, uint8 [height, width, 3] of any size. The image is resized to ``size`` as the call
    ``like`` ("pillow:bicubic") does, byte for byte, and then converted to the values of the input ``name`` by
    ``images``. With ``letterbox`` its aspect ratio is kept: it is centred in ``size``, and padded with that colour
    (114 for YOLO). ``image_size`` is the height and width of all images, if static; more calls are then supported. A
    ``pipeline``, or the path ``config`` of one that ``ir_interp.pipeline`` reads with ``backend``, replaces ``like``,
    ``size``, ``letterbox``, mean and scale. With ``batch`` the new input takes that many images of one size, uint8
    [batch, height, width, 3] (0 for any number). Images have 3 ``channels``, or 1 (grey, repeated), or 4 (RGB and
    alpha, which the pipeline blends or drops).

    ``verify`` runs the new nodes in the runtime of the result, on random images of several sizes, before anything is
    written: they must compute what the pipeline does in NumPy. A source that is converted first is proven as
    ``ir_interp.convert`` does, a .pt2 against PyTorch, for example.

    Raises ReadError for an unreadable file, InexactError for a step that has no such form, SpecError for options that
    contradict each other, VerificationError if a proof fails.

    Examples:
        >>> ir_interp.preprocess("model.onnx", "whole.onnx", like="pillow:bilinear", size=(8, 8))
        'image'

    """
    options = settled(PreprocessOptions, locals())
    from ir_interp.converters.preprocess import preprocessed_files
    from ir_interp.converters.sources.model_summary import parts
    from ir_interp.converters.sources.readers import model_file

    read, written = model_file(arguments.path(source, "source")), arguments.path(destination, "destination")
    preprocessed_files.check_calls(options)
    settings = [options.config] if options.config is not None else []
    check_outputs([written], [*parts(read), *settings])
    return preprocessed_files.preprocess(read, written, options)
