"""Public functions on images and on one resize: ``resize``, ``spec``, ``identify``, ``preprocess``, ``explain``.

Every keyword is spelled out and checked; modules elsewhere do the work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import arguments, containers
from ir_interp.arguments import checked
from ir_interp.containers import Like, Request
from ir_interp.converters.sources import readers
from ir_interp.converters.sources.readers import Source
from ir_interp.errors import SpecError
from ir_interp.executor import resize as executor
from ir_interp.executor.missing_pixels import Missing
from ir_interp.files.kinds import FileKind
from ir_interp.files.writing import check_outputs, replacing
from ir_interp.options.declaration import settled
from ir_interp.options.resize_options import ExplainOptions, PreprocessOptions
from ir_interp.options.shared_options import Images
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.rules import Backend
from ir_interp.resize_op import ResizeOp, choose
from ir_interp.specs import Arithmetic, OwnKernel, ResizeSpec
from ir_interp.translation.dialect import Semantics

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from ir_interp.options.resize_options import PlotOptions
    from ir_interp.origins.candidates import Identified
    from ir_interp.views.explanation import Explanation, Lengths, Readings
    from ir_interp.views.figures import Picture


@checked
def resize(
    x: Any,
    spec: ResizeSpec | Sequence[int] | Mapping[Any, int] | None = None,
    like: str | ResizeSpec | None = None,
    *,
    sizes: Sequence[int] | Mapping[Any, int] | None = None,
    scales: float | Sequence[float] | Mapping[Any, float] | None = None,
    axes: Sequence[int | str] | None = None,
    kernel: OwnKernel | str | None = None,
    antialias: bool | None = None,
    arithmetic: Arithmetic | str | None = None,
    out: NDArray[Any] | None = None,
    region: Sequence[slice] | None = None,
    whole: Sequence[int] | None = None,
    chunks: Any = None,
    nodata: float | None = None,
    valid: float = 0.0,
) -> NDArray[Any]:
    """Return ``x`` resized to ``sizes``, or by ``scales``, by a spec or a library call, in the same kind of container.

    ``resize(x, (224, 224))`` interpolates between the centres of pixels, like torch's bilinear; with ``antialias`` it
    averages where it shrinks. ``kernel`` is linear (the default), cubic, area, nearest, lanczos or mode, the value that
    covers most. Integers of any width are then exact sums, rounded half to even.

    ``resize(x, (224, 224), "pillow:bicubic")`` computes the values of a library call (``like``), written as for
    ``ir-interp run --like``: integers to the byte, floats up to their last places. ``resize(x, spec)`` runs a
    ResizeSpec.

    ``x`` is a NumPy array of any rank from 1 and any dtype, or an array-like value: floats, bfloat16 (``ml_dtypes``)
    and integers for every kernel, also bool and strings for nearest, which copies values unchanged. The result has its
    dtype: float16, bfloat16 and small integers are computed in float32, 32- and 64-bit integers in float64; integers
    saturate, and are rounded as in ``spec.rounds``.

    ``sizes`` (elements) or ``scales`` (output / input; one number for every resized axis) are those of ``axes``, by
    number, or by name for a DataArray: ``resize(array, {"y": 512, "x": 512})``. They replace the target of the spec,
    with one value for each axis that it resizes. Without ``axes``, those of the spec are resized. If it has none: the
    last ones, or the first two of a library's image whose last axis has 1, 3 or 4 entries; if both are possible,
    ShapeError asks for ``axes``. If the spec lists all axes, sizes of the resized ones are enough, and vice versa.
    ``arithmetic`` replaces that of the spec. ``out``, a C-ordered array of the right shape and dtype, receives the
    result.

    Large resizes run on several threads, at most IR_INTERP_THREADS of the environment. Results do not depend on their
    number, on the processor, on BLAS, or on compiled loops, to the last bit: a float is a sum tap by tap, with each
    product rounded, then added, and the sum rounded.

    ``region``, a slice for each axis, computes only that piece of the output, with the bits that it has in the whole.
    If ``x`` is not the whole input, but the part that ``ir_interp.region`` returns for the piece, ``whole`` is the
    shape of the whole input.

    Missing pixels are those that a masked array masks, those equal to ``nodata`` (NaN too), and for a DataArray those
    equal to its ``_FillValue``. An output that lacks some of its inputs is the weighted mean of the available ones. It
    is missing if none is available, or if they have less than the share ``valid`` of the weights.

    A Dask array becomes a lazy one of the same bits: each of its chunks is read once, and a block of the output takes
    the parts that it needs. ``chunks`` are those of the output, in the form of Dask; by default aligned with those of
    the input where it shrinks, and not longer where it grows. A DataArray keeps its names and attributes, and its
    coordinates move to the centres of the new pixels, as ``spec`` places them, as does the GeoTransform of rioxarray.
    In a Dataset or a DataTree, every variable with the named dimensions is resized, and bounds of cells move, too. A
    torch tensor or a Pillow image becomes one of its kind.

    Raises SpecError for a contradictory request, ShapeError if spec and input do not fit or the result would exceed
    ``MAX_BYTES``.

    Examples:
        >>> ir_interp.resize(np.zeros((48, 64, 3), np.uint8), (24, 32), "pillow:bicubic").shape
        (24, 32, 3)

    """
    if type(x) is np.ndarray and _is_plain(spec, sizes, scales, like, axes, kernel, antialias, chunks, nodata, valid):
        plain: Any = executor.resize  # nothing is left to infer, which would take as long as a small resize
        y: NDArray[Any] = plain(
            x, spec, sizes=sizes, scales=scales, arithmetic=arithmetic, out=out, region=region, whole=whole
        )
        return y
    request = Request(
        spec=spec,
        like=call_of(like),
        sizes=sizes,
        scales=scales,
        axes=axes,
        kernel=kernel,
        antialias=antialias,
        arithmetic=arithmetic,
    )
    resized: NDArray[Any] = containers.resized(  # or a value that is used as one
        x, request, Missing.of(nodata, valid), chunks, out=out, region=region, whole=whole
    )
    return resized


def _is_plain(spec: Any, sizes: Any, scales: Any, *others: Any) -> bool:
    """Return whether it is a spec with known axes, and a list of sizes or scales for them."""
    if type(spec) is not ResizeSpec or spec.axes is None or any(other is not None for other in others[:-1]):
        return False
    return type(sizes) in _LISTS and type(scales) in _LISTS and type(others[-1]) is float and others[-1] == 0


_LISTS = (type(None), tuple, list)


def call_of(like: Any) -> Like | None:
    """Return a function that gives the spec of a call, for an element type and an image mode."""
    if like is None:
        return None
    if isinstance(like, ResizeSpec):
        return lambda dtype, mode: like
    if type(like).__module__ == "PIL.Image":  # a member of Image.Resampling
        like = f"pillow:{like.name}"
    text = arguments.word(like, "like")

    def spec(dtype: str, mode: str | None) -> ResizeSpec:
        from ir_interp.libraries import load

        return load(text, dtype=dtype, arguments={"mode": mode} if mode else None).spec

    return spec


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
    from ir_interp.libraries import get, is_call, parse

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
    from ir_interp.origins import candidates as images
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
    transformers, or transforms of torchvision or timm. ``backend`` ("pil", "torchvision") is the library that resizes,
    if the source does not specify it.

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
    from ir_interp.converters.sources import model_summary
    from ir_interp.pipelines import pipeline_source

    chosen = None if backend is None else arguments.member(Backend, backend, "backend")
    if isinstance(source, str | os.PathLike):
        return model_summary.pipeline_of_path(arguments.path(source, "source"), chosen)
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
    from ir_interp.converters.preprocess import conversion
    from ir_interp.converters.sources.model_summary import parts
    from ir_interp.converters.sources.readers import model_file

    read, written = model_file(arguments.path(source, "source")), arguments.path(destination, "destination")
    conversion.check_calls(options)
    settings = [options.config] if options.config is not None else []
    check_outputs([written], [*parts(read), *settings])
    return conversion.preprocess(read, written, options)


@checked
def explain(
    source: Source,
    layer: str | None = None,
    *,
    shape: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
) -> Explanation:
    """Return the source pixels of each output of a resize, in every reading and arithmetic.

    ``layer`` is the name of the resize, if the source has several. ``shape`` is the shape of its input, if it is
    dynamic; ``sizes`` (output sizes) or ``scales`` (output / input) replace those of the layer.

    Raises ReadError if there is no such resize, ShapeError if a required dimension is unknown.

    Examples:
        >>> for table in ir_interp.explain("layer.xml").axes:
        ...     print(table.axis, table.in_size, table.out_sizes)
        2 5 (10,)
        3 7 (14,)

    """
    options = settled(ExplainOptions, locals())
    from ir_interp.views.explanation import explanation

    op = _one(source, options.layer)
    return explanation(op, readers.readings(op, source), _lengths(options))


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
    """Return a picture of a resize, a figure of Matplotlib; it is written to ``output``, .png or .svg, unless None.

    ``what`` is shown: the sampling "positions" of the outputs of an axis, the "weights" of their inputs, the
    "kernel", or an "image" under two configurations and their difference. ``layer``, ``shape``, ``sizes`` and
    ``scales`` are those of ``explain``; ``axis`` is by default the first that changes. For an image, ``x`` is an array
    or the path of an array (.npy) or of an image, by default rings. ``against`` is the other configuration: a reading
    or an arithmetic by its name, a spec, or a source with another resize; by default a runtime that is known to
    differ, or a reading, or else exact arithmetic.

    Raises ReadError and ShapeError as ``explain`` does, IrInterpError if Matplotlib is not installed.

    Examples:
        >>> figure = ir_interp.plot("layer.xml", "up.png", axis=2)

    """
    from ir_interp.options.resize_options import PlotOptions
    from ir_interp.views import figures
    from ir_interp.views.explanation import explanation

    options = settled(PlotOptions, locals())
    place = None if output is None else _picture(arguments.path(output, "output"))
    read = [
        argument
        for argument in (source, x, against)
        if isinstance(argument, str | os.PathLike) and not isinstance(argument, bytes)
    ]
    check_outputs([place] if place else [], map(Path, read))
    op = _one(source, options.layer)
    readings, shape_and_target = readers.readings(op, source), _lengths(options)
    figure: Figure
    if options.what is figures.Picture.IMAGE:
        figure = figures.of_image(op, _other(against, op, readings), options.x, shape_and_target)
    else:
        figure = figures.of_axis(explanation(op, readings, shape_and_target), options.what, options.axis)
    if place is not None:
        with replacing(place) as (temporary,):
            figures.save(figure, temporary, FileKind.of(place) or FileKind.PICTURE)
    return figure


def _picture(path: Path) -> Path:
    if FileKind.of(path) not in (FileKind.PICTURE, FileKind.DRAWING):
        raise SpecError(f"{path.name!r} is not the name of a picture; expected .png or .svg")
    return path


def _other(
    against: Semantics | Arithmetic | ResizeSpec | Source | None, op: ResizeOp, readings: Readings
) -> tuple[str, ResizeSpec]:
    """Return the configuration to compare a resize with, and its name: by default a runtime that differs."""
    from ir_interp.converters.audit.verdicts import deviations
    from ir_interp.views import figures

    deviating = next(deviations(op), None) if against is None else None
    return deviating or figures.configuration(against, op, readings) or _configuration(against)


def _configuration(source: Source) -> tuple[str, ResizeSpec]:
    """Return the name and the spec of a source that consists of one resize."""
    return readers.name_of(source, "against"), _one(source, None, "against").spec


def _one(source: Source, layer: str | None, name: str = "source") -> ResizeOp:
    """Return the only resize of a source; ``name`` is the argument's."""
    return choose(readers.load(source, name=name), layer, readers.name_of(source))


def _lengths(options: ExplainOptions | PlotOptions) -> Lengths:
    from ir_interp.views.explanation import Lengths

    shape = options.shape.lengths if options.shape is not None else None
    return Lengths(shape=shape, sizes=options.sizes, scales=options.scales)
