"""Options of commands on one resize: to show, run, explain or plot it, or to put it in front of a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ir_interp import arguments
from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import (
    ARRAY,
    CONFIGURATION,
    MEMORY,
    NAMES,
    NATURAL,
    NUMBER,
    PAIR,
    PATH,
    POSITIVE,
    SIZES,
    SWITCH,
    WHOLE,
    WORD,
    Kind,
    LayerShape,
    member,
    option,
)
from ir_interp.options.shared_options import Images
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.rules import Backend, CodeLanguage
from ir_interp.specs import Arithmetic, OwnKernel
from ir_interp.translation.dialect import Semantics
from ir_interp.views.figures import Picture
from ir_interp.views.image_arrays import Orientation

CALL, CALL_ON_STORE, IN_MEMORY, ON_STORE = "call", "call on a store", "array", "store"
OWN_OF_IMAGE, OWN_OF_ARRAY, OWN_ON_STORE = "own of an image", "own of an array", "own on a store"
"""The places where an option of ``run`` has an effect: a call of an image library, of an image or a store, a resize of
an array, of a store, and this program's own resize of an image, of an array, of a store."""
_STORES = (ON_STORE, CALL_ON_STORE, OWN_ON_STORE)
_ARRAYS = (IN_MEMORY, OWN_OF_ARRAY, *_STORES)
OWN_OF_FOLDER, CALL_OF_FOLDER = "own of a folder", "call of a folder"
"""The same of many images."""
_OWN = (OWN_OF_IMAGE, OWN_OF_ARRAY, OWN_ON_STORE, OWN_OF_FOLDER)
_FOLDERS = (OWN_OF_FOLDER, CALL_OF_FOLDER)
_IMAGES_OF_RUN = (CALL, OWN_OF_IMAGE, *_FOLDERS)
RESIZE, RULE, PIPELINE, SCHEMA = "resize", "rule", "pipeline", "schema"
"""The places where an option of ``explain`` has an effect: a resize of a file, a rule, a configuration, a command."""
_PHOTOS, _ZARR, _MISSING, _DEFINITION, _PIPELINES = "Photos", "Zarr stores", "Missing pixels", "Definition", "Pipelines"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectOptions:
    """How to show the resizes of a file."""

    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    semantics: Semantics = shared.semantics()


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifyOptions:
    """How to show which image library resized an image."""

    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run a resize, and on what."""

    source: Path | None = option(
        PATH, "Array (.npy), image or .zarr to resize.", "--input", places=(IN_MEMORY, ON_STORE)
    )
    like: str | None = option(
        WORD,
        "Resize FILE as a library call: pillow:bicubic, opencv@4:area, torch:bilinear.",
        "--like",
        metavar="CALL",
        complete="likes",
        places=(CALL, CALL_ON_STORE, CALL_OF_FOLDER),
    )
    kernel: OwnKernel | None = option(
        member(OwnKernel, "OwnKernel | str", "NAME"),
        "Without --like: linear, cubic, area, nearest, lanczos, mode; antialiased. Default: linear.",
        "--kernel",
        default=None,
        places=_OWN,
    )
    dims: tuple[int | str, ...] | None = option(
        NAMES,
        "Axes to resize, by name or number: y,x.",
        "--dims",
        places=(CALL_ON_STORE, OWN_OF_ARRAY, OWN_ON_STORE),
        panel=_ZARR,
    )
    layer: str | None = shared.layer(shared.LAYER, "--layer", places=(IN_MEMORY, ON_STORE))
    sizes: tuple[int, ...] | None = option(
        SIZES, "Output sizes of the resized axes or of all axes: 50,60. Default: the file's.", "--sizes", "--size"
    )
    scales: tuple[float, ...] | None = shared.scales()
    arithmetic: Arithmetic | None = option(
        member(Arithmetic, "Arithmetic | str", "NAME"),
        "Arithmetic to compute in: exact, onnxruntime, openvino, ... Default: that of the file's runtime.",
        "--arithmetic",
        default=None,
        panel=_DEFINITION,
        places=(IN_MEMORY, ON_STORE),
    )
    semantics: Semantics = shared.semantics(places=(IN_MEMORY, ON_STORE), panel=_DEFINITION)
    nodata: float | None = option(
        NUMBER, "Value of missing pixels, which get no weight: -9999, nan.", "--nodata", places=_ARRAYS, panel=_MISSING
    )
    valid: float = option(
        NUMBER,
        "Least share of the weights on valid pixels, 0 to 1; below it, the output is missing.",
        "--valid",
        default=0.0,
        places=_ARRAYS,
        panel=_MISSING,
    )
    orientation: Orientation | None = option(
        member(Orientation, "Orientation | str", "NAME"),
        "Orientation in the EXIF of a photo: keep (the default) copies it, apply turns the pixels by it first.",
        "--orientation",
        default=None,
        panel=_PHOTOS,
        places=_IMAGES_OF_RUN,
    )
    quality: int | None = option(
        POSITIVE,
        "Quality of JPEG and WebP, 1 to 100. Default: Pillow's, 75 and 80.",
        "--quality",
        panel=_PHOTOS,
        places=_IMAGES_OF_RUN,
    )
    to: str | None = shared.of_command_line(
        WORD,
        "Extension of the images of a folder: .jpg, .webp. Default: their own.",
        "--to",
        places=_FOLDERS,
        default=None,
        metavar="EXTENSION",
        panel=_PHOTOS,
    )
    jobs: int | None = shared.of_command_line(
        POSITIVE, "Number of processes. Default: one.", "--jobs", places=_FOLDERS, default=None, panel=_PHOTOS
    )
    memory: int | None = option(
        MEMORY, "Memory to use: 512MiB, 2GB. Default: 1GiB.", "--memory", metavar="BYTES", places=_STORES, panel=_ZARR
    )
    levels: int | None = option(
        POSITIVE,
        "Write a pyramid of this many levels, each computed from the previous one.",
        "--levels",
        places=_STORES,
        panel=_ZARR,
    )
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """Which resize to explain, and of which lengths; ``ir_interp.explain`` documents the options."""

    layer: str | None = shared.layer(shared.LAYER, "--layer", places=(RESIZE,))
    shape: LayerShape | None = shared.layer_shape(places=(RESIZE,))
    sizes: tuple[int, ...] | None = shared.sizes(places=(RESIZE,))
    scales: tuple[float, ...] | None = shared.scales(places=(RESIZE,))
    every: bool = shared.of_command_line(SWITCH, "Show every output pixel.", "--all", places=(RESIZE,))
    backend: Backend | None = shared.backend(is_keyword=False, places=(PIPELINE,), panel=_PIPELINES)
    code: CodeLanguage | None = shared.of_command_line(
        member(CodeLanguage, "CodeLanguage | str", "LANGUAGE"),
        "Print the pipeline as source code: numpy, opencv, cpp (OpenCV in C++) or torch.",
        "--code",
        default=None,
        panel=_PIPELINES,
        places=(PIPELINE,),
    )
    schema: bool = shared.of_command_line(
        SWITCH,
        "Print the JSON Schema of a command's --json output.",
        "--schema",
        places=(SCHEMA,),
        panel=shared.REPORTS,
    )
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()


_AXIS = tuple(picture.value for picture in Picture if picture is not Picture.IMAGE)
_IMAGE = "With --what image"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotOptions:
    """The picture to draw; ``ir_interp.plot`` documents the options."""

    what: Picture = option(
        member(Picture, "Picture | str", "PICTURE"),
        "Picture to draw: positions, weights, kernel or image.",
        "--what",
        default=Picture.POSITIONS,
    )
    layer: str | None = shared.layer(shared.LAYER, "--layer")
    axis: int | None = option(WHOLE, "Axis to show. Default: the first that changes.", "--axis", places=_AXIS)
    shape: LayerShape | None = shared.layer_shape()
    sizes: tuple[int, ...] | None = shared.sizes()
    scales: tuple[float, ...] | None = shared.scales()
    x: Any = option(ARRAY, "Array (.npy) or image to resize.", "--input", places=(Picture.IMAGE.value,), panel=_IMAGE)
    against: Any = option(
        CONFIGURATION,
        "Semantics, arithmetic or file to compare with. Default: a runtime that differs.",
        "--against",
        complete="semantics",
        places=(Picture.IMAGE.value,),
        panel=_IMAGE,
    )
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()


STATED = ("like", "size", "letterbox", "mean", "scale", "bgr", "pixel_range")
"""Options that a configuration or pipeline states as well."""
_IMAGES, _NORMALIZATION = "Images", "Normalisation"
_COLOUR = replace(NATURAL, check=arguments.whole, metavar="COLOUR")


def _pipeline(value: object, name: str) -> Pipeline:
    if not isinstance(value, Pipeline):
        raise arguments.misfit(value, name, "Pipeline")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class PreprocessOptions:
    """The preprocessing of training; ``ir_interp.preprocess`` documents the options."""

    like: str | None = option(
        WORD, "Resize used in training: pillow:bicubic, opencv:linear.", "--like", metavar="CALL", complete="likes"
    )
    size: tuple[int, int] | None = option(PAIR, "Height and width of the model's input: 224,224.", "--size")
    letterbox: int | None = option(
        _COLOUR, "Keep the aspect ratio and pad with this value: 114, as YOLO does.", "--letterbox"
    )
    image_size: tuple[int, int] | None = shared.image_size(panel=_IMAGES)
    config: Path | None = option(
        PATH,
        "Read the pipeline from a preprocessor_config.json (Hugging Face), config.json (timm), printed transforms "
        "(torchvision) or a model with metadata (Ultralytics).",
        "--config",
    )
    backend: Backend | None = shared.backend()
    pipeline: Pipeline | None = option(Kind(takes="Pipeline", check=_pipeline), default=None, takes_none=True)
    batch: int | None = option(NATURAL, "Images per batch; 0 for any number.", "--batch", panel=_IMAGES)
    channels: int = option(
        POSITIVE, "Channels: 1 (grey), 3 (RGB) or 4 (RGB and alpha).", "--channels", default=3, panel=_IMAGES
    )
    name: str | None = option(WORD, "Name of the image input, if the model has several.", "--input")
    verify: bool = option(
        SWITCH,
        "Run the new nodes, and write only if they match the pipeline.",
        "--verify",
        "--no-verify",
        default=True,
    )
    images: Images = shared.images(panel=_NORMALIZATION)
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
