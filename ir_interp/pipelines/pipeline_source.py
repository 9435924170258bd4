"""Pipelines from any source: configuration files, Python objects, a call with a size, or a model that holds one.

OpenVINO's PrePostProcessor writes Convert, Subtract, Divide (saved as Multiply), Transpose, Gather (reversed channels)
and Interpolate at the start of an IR, in the order of its calls. The first other layer is the start of the model.
Source: OpenVINO 2026.4, ``preprocess_steps_impl.cpp``, and the IRs that it saves. The exporter of Ultralytics writes
metadata. Source: Ultralytics 8.4, ``engine/exporter.py`` (the metadata), ``engine/predictor.py`` (``pre_transform``),
``models/rtdetr/predict.py`` (``scale_fill``) and ``data/augment.py`` (``LetterBox``, ``classify_transforms``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ir_interp.arguments import natural
from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.files.kinds import FileKind, json_object, text_of
from ir_interp.files.writing import is_file, is_folder
from ir_interp.ir.interpolates import fold, read_layer
from ir_interp.ir.ir_files import Layer, Net, nets
from ir_interp.options.shared_options import Images
from ir_interp.pipelines import huggingface, torchvision_transforms
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.rules import AlphaRule, Backend, Exactly, ShorterSide, SizeRounding
from ir_interp.pipelines.steps import (
    AXES,
    MODES,
    WRITTEN,
    CentreCrop,
    ImageStep,
    Interpolate,
    Normalise,
    Product,
    Rescale,
    Resize,
    ReverseChannels,
    Scale,
    letterbox,
)
from ir_interp.shapes import Array
from ir_interp.specs import Sizes
from ir_interp.translation.dialect import Semantics

_Entry = TypeVar("_Entry")

_ORDERS: Mapping[tuple[int, ...], tuple[str, str]] = {(0, 3, 1, 2): ("nhwc", "nchw"), (0, 2, 3, 1): ("nchw", "nhwc")}
_OTHERS = {
    "NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR", "Slice", "StridedSlice", "Pad", "Reshape", "Unsqueeze",
    "Squeeze", "Concat", "Clamp", "Round", "Add",
}  # fmt: skip
"""Further layers of PrePostProcessors and pipelines, which are not supported."""


def read_preprocessor(path: Path, name: str | None = None) -> Pipeline:
    """Return the pipeline at the start of an IR, after the input ``name`` if it has several.

    Raises ReadError, which names the layer, if there is none, or if it contains an unsupported layer.
    """
    net = next(nets(path))
    parameter = _parameter(net, name, path.name)
    layout = _layout(parameter)
    head = _Head(net=net, layer=parameter, layout=layout)
    steps = tuple(head.steps())
    if not steps:
        raise ReadError(f"no preprocessing at the start of the model: {head.end}", parameter.where)
    return Pipeline(steps=steps, name=f"PrePostProcessor of {path.name}", layout=head.layout)


def takes_images(path: Path) -> bool:
    """Return whether an IR has exactly one input, of uint8. Raises ReadError for a file that is not an IR."""
    root = next(nets(path))
    parameters = [layer for layer in root.layers.values() if layer.type.lower() == "parameter"]
    return len(parameters) == 1 and [port.dtype for port in parameters[0].outputs] == ["uint8"]


def _parameter(net: Net, name: str | None, where: str) -> Layer:
    parameters = [layer for layer in net.layers.values() if layer.type.lower() == "parameter"]
    chosen = [layer for layer in parameters if name in (None, layer.name, *_names(layer))]
    if len(chosen) != 1:
        names = ", ".join(layer.name for layer in parameters) or "none"
        raise ReadError(f"{len(parameters)} inputs; expected one, of {names}", where)
    return chosen[0]


def _names(layer: Layer) -> tuple[str, ...]:
    return layer.outputs[0].names if layer.outputs else ()


def _layout(parameter: Layer) -> str:
    """Return the layout of the images. Raises ReadError for an input other than uint8 images."""
    port = parameter.outputs[0] if parameter.outputs else None
    if port is None or port.dtype != "uint8":
        raise ReadError(f"takes {port.dtype if port else 'nothing'}; expected uint8 images", parameter.where)
    shape = port.shape or ()
    places = [layout for layout, place in (("nhwc", 3), ("nchw", 1)) if len(shape) == 4 and shape[place] == 3]
    if len(places) != 1 or shape[0] != 1:
        lengths = ["?" if length is None else length for length in shape]
        expected = "expected one image of 3 channels, [1, h, w, 3] or [1, 3, h, w]"
        raise ReadError(f"takes {lengths}; {expected}", parameter.where)
    return places[0]


@dataclass(slots=True, kw_only=True)
class _Head:
    """The chain of layers after an input: the last one that was read, and the layout of its output."""

    net: Net
    layer: Layer
    layout: str
    is_float: bool = False
    end: str = ""

    def steps(self) -> Iterator[ImageStep]:
        """Yield the steps, up to the first layer of the model."""
        while (following := self._following()) is not None:
            read_step = _READ.get(following.type)
            if read_step is None:
                if following.type in _OTHERS:
                    raise ReadError(f"{following.type} is not supported in front of a model", following.where)
                self.end = f"the first layer is {following.type}"
                return
            yield from read_step(self, following)
            self.layer = following

    def _following(self) -> Layer | None:
        readers = self.net.readers(self.layer, self.layer.outputs[0])
        if len(readers) != 1:
            self.end = f"{len(readers)} layers read its input"
            return None
        return readers[0] if readers[0].type != "Result" else None

    def constant(self, layer: Layer, place: int) -> Array:
        """Return the value of a constant input. Raises ReadError for any other input."""
        value = fold(self.net, layer, place)
        if value is None:
            raise ReadError(f"input {place} of {layer.type} is not a constant", layer.where)
        return np.asarray(value)

    def colours(self, layer: Layer) -> tuple[float, ...]:
        """Return the numbers of a constant: one, or one for each channel."""
        value = self.constant(layer, 1)
        channels = [1] * 4
        channels[3 if self.layout == "nhwc" else 1] = 3
        if value.size != 1 and list((1,) * (4 - value.ndim) + value.shape) != channels:
            raise ReadError(f"a constant of {list(value.shape)}; expected one number, or one per channel", layer.where)
        return tuple(float(number) for number in value.ravel())


def _convert(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    if layer.attributes.get("destination_type") != "f32":
        raise ReadError(f"Convert to {layer.attributes.get('destination_type')}; expected f32", layer.where)
    head.is_float = True
    yield from ()


def _subtract(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    _check_float(head, layer)
    yield Normalise(mean=head.colours(layer), deviation=(1.0,))


def _multiply(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    _check_float(head, layer)
    yield Scale(factors=head.colours(layer))


def _divide(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    _check_float(head, layer)
    yield Normalise(mean=(0.0,), deviation=head.colours(layer))


def _check_float(head: _Head, layer: Layer) -> None:
    """Raise ReadError for arithmetic in uint8, which wraps around, and for a constant as the first operand."""
    source = head.net.source(layer, 0)
    if not head.is_float or source is None or source[0].id != head.layer.id:
        raise ReadError(f"the inputs of {layer.type} are not a float32 image and a constant", layer.where)


def _transpose(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    order = tuple(int(axis) for axis in head.constant(layer, 1))
    before, after = _ORDERS.get(order, ("", ""))
    if before != head.layout:
        raise ReadError(f"Transpose by {list(order)} of an image in {head.layout}", layer.where)
    head.layout = after
    yield from ()


def _gather(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    order, axis = head.constant(layer, 1).ravel().tolist(), int(head.constant(layer, 2).ravel()[0])
    if order != [2, 1, 0] or axis != (3 if head.layout == "nhwc" else 1):
        raise ReadError(f"Gather of {order} along axis {axis}; expected reversed channels", layer.where)
    yield ReverseChannels()


def _interpolate(head: _Head, layer: Layer) -> Iterator[ImageStep]:
    op = read_layer(head.net, layer, Semantics.RUNTIME)
    stated = {name: op.attributes.get(name, value) for name, value in WRITTEN.items()}
    unlike = [name for name, value in stated.items() if _plain(value) != WRITTEN[name]]
    target = op.spec.target
    if unlike or op.attributes.get("mode") not in MODES or not isinstance(target, Sizes):
        reason = f"{unlike[0]} is {stated[unlike[0]]}" if unlike else f"mode is {op.attributes.get('mode')}"
        raise ReadError(f"Interpolate that no PrePostProcessor writes: {reason}", layer.where)
    if tuple(op.spec.axes or ()) != AXES[head.layout]:
        raise ReadError(f"Interpolate along axes {op.spec.axes} of an image in {head.layout}", layer.where)
    height, width = target.values
    yield Interpolate(
        mode=str(op.attributes["mode"]),
        height=height,
        width=width,
        version=op.version,
        layout=head.layout,
        is_float=head.is_float,
    )


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


_READ: Mapping[str, Callable[[_Head, Layer], Iterator[ImageStep]]] = {
    "Convert": _convert,
    "Subtract": _subtract,
    "Multiply": _multiply,
    "Divide": _divide,
    "Transpose": _transpose,
    "Gather": _gather,
    "Interpolate": _interpolate,
}


_GREY = 114.0
_LETTERBOXED = ("detect", "segment", "pose", "obb")
_CLASSIFY = "classify"


def read_ultralytics(metadata: Mapping[str, str]) -> Pipeline:
    """Return the pipeline of a model: letterboxed, stretched for RT-DETR, or cropped for classification.

    Images have the fixed size ``imgsz``. Raises ReadError for a model without this metadata, for an export with
    ``dynamic``, whose images have the size that the caller chooses, and for an unsupported task.
    """
    if not {"task", "imgsz", "stride"} <= metadata.keys():
        raise ReadError("no Ultralytics metadata (task, imgsz, stride)")
    task, (height, width) = metadata["task"], _size(metadata["imgsz"])
    if _value(metadata.get("args", "{}"), dict, "args", "the arguments of the export").get("dynamic"):
        problem = "exported with dynamic=True, so that the caller chooses the size of the images"
        raise ReadError(f"{problem}; export with dynamic=False, or name a --size with --like and --letterbox")
    if metadata.get("channels", "3") != "3":
        raise ReadError(f"takes images of {metadata['channels']} channels; expected 3")
    steps: tuple[ImageStep, ...]
    if task in _LETTERBOXED:
        stretched = Resize(like="opencv:linear", size=Exactly(height=height, width=width))
        steps = (stretched,) if _is_stretched(metadata) else letterbox("opencv:linear", height, width, _GREY)
    elif task == _CLASSIFY:
        frame = Exactly(height=height, width=width)
        steps = (
            Resize(like="pillow:bilinear", size=ShorterSide(size=height) if height == width else frame),
            CentreCrop(size=frame, start=SizeRounding.HALF_EVEN, padding=SizeRounding.DOWN),
        )
    else:
        raise ReadError(f"the task {task!r} is not supported; {closest(task, (*_LETTERBOXED, _CLASSIFY))}")
    rescaled = Rescale(factor=1 / 255, product=Product.QUOTIENT)
    return Pipeline(steps=(*steps, rescaled), name=f"Ultralytics {task}", alpha=AlphaRule.DROPPED)


def _is_stretched(metadata: Mapping[str, str]) -> bool:
    """Return whether a model is an RT-DETR: by its head, which older exports name in the description only.

    Raises ReadError if neither names the kind of model.
    """
    if "head" in metadata:
        return metadata["head"] == "RTDETRDecoder"
    description = metadata.get("description", "").lower()
    if "rtdetr" not in description and "yolo" not in description:
        problem = "the metadata names no head, which decides between letterboxed and stretched images"
        raise ReadError(f"{problem}; export with a newer Ultralytics")
    return "rtdetr" in description


def _size(text: str) -> tuple[int, int]:
    size = _value(text, list, "imgsz", "height and width")
    if len(size) != 2:
        raise ReadError(f"imgsz is {text[:40]!r}; expected height and width")
    return natural(size[0], "the height of imgsz"), natural(size[1], "the width of imgsz")


def _value(text: str, kind: type[_Entry], name: str, expected: str) -> _Entry:
    """Return an entry, which is written as a literal of Python. Raises ReadError for another type."""
    try:
        value: object = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        value = None
    if not isinstance(value, kind):
        raise ReadError(f"{name} is {text[:40]!r}; expected {expected}")
    return value


_LARGEST_TEXT = 2**20
_USUAL_NAMES = ("preprocessor_config.json", "processor_config.json")


def of_file(path: Path, backend: Backend | None) -> Pipeline:
    """Return the pipeline of a .json file (Hugging Face, timm, this program), or of printed torchvision transforms.

    Raises ReadError, which names the file, for content that is not supported.
    """
    if is_folder(path):
        usual = [path / name for name in _USUAL_NAMES if is_file(path / name)]
        raise ReadError(f"is a folder; {f'pass {usual[0]}' if usual else 'expected a file'}", str(path))
    try:
        if FileKind.of(path) is FileKind.JSON:
            return of_mapping(json_object(path, "an object, as a preprocessor_config.json is"), backend)
        return torchvision_transforms.read_text(text_of(path, _LARGEST_TEXT), backend)
    except (SpecError, ReadError) as error:
        text = str(error).removeprefix(f"{path}: ").removeprefix(f"{path.name}: ")
        raise ReadError(text, str(path)) from None  # the whole path, since many folders hold a file of that name


_KEYS = {
    "image_processor",
    "image_processor_type",
    "processor_class",
    "feature_extractor_type",
    "do_resize",
    "do_rescale",
    "pretrained_cfg",
    "crop_pct",
    "steps",
}
"""Keys of which every configuration has one, and no other supported JSON."""


def is_pipeline(path: Path) -> bool:
    """Return whether a file is a pipeline: .txt, or JSON with a key of a configuration. Raises ReadError otherwise."""
    if FileKind.of(path) is FileKind.TEXT:
        return True
    return FileKind.of(path) is FileKind.JSON and bool(_KEYS & json_object(path, "an object").keys())


def with_backend(text: str) -> tuple[str, Backend | None]:
    """Return the name of a configuration or class, and the backend behind its colon, if any."""
    name, _, word = text.rpartition(":")
    backend = Backend(word) if name and word in [member.value for member in Backend] else None
    return (name, backend) if backend else (text, None)


def of_mapping(document: Mapping[str, object], backend: Backend | None) -> Pipeline:
    """Return the pipeline of a configuration. Raises ReadError for an unknown key, SpecError for a value."""
    if {"version", "steps"} <= document.keys() or torchvision_transforms.is_timm(document):
        _check_unused(backend)
        return Pipeline.of_json(document) if "steps" in document else torchvision_transforms.read_timm(document)
    return huggingface.read(document, backend)


def of_object(source: Any, backend: Backend | None) -> Pipeline:
    """Return the pipeline of an image processor of transformers, or of transforms of torchvision or timm.

    Raises ReadError for another object.
    """
    module = type(source).__module__.partition(".")[0]
    if module == "transformers":
        stated = getattr(source, "backend", None)  # of transformers 5 only
        if stated not in ("pil", "torchvision"):
            return huggingface.read(source.to_dict(), backend, is_of_5=False)
        # What is saved leaves out the Pil of a class.
        document = {**source.to_dict(), "image_processor_type": type(source).__name__}
        return huggingface.read(document, Backend(stated))
    if module in ("torchvision", "torch", "timm"):
        return torchvision_transforms.read_object(source, backend)
    expected = "expected a path, a mapping, an image processor of transformers or transforms of torchvision or timm"
    raise ReadError(f"{type(source).__name__} holds no pipeline; {expected}")


def of_call(like: str, size: tuple[int, int], colour: int | None, images: Images) -> Pipeline:
    """Return the pipeline of a resize to ``size``, letterboxed if there is a ``colour``, and of ``images``."""
    steps = tuple(_steps(like, size, colour, images))
    return Pipeline(steps=steps, name=like, layout=images.layout or "nchw", alpha=AlphaRule.DROPPED)


def _steps(like: str, size: tuple[int, int], colour: int | None, images: Images) -> Iterator[ImageStep]:
    if colour is not None:
        yield from letterbox(like, *size, colour)
    else:
        yield Resize(like=like, size=Exactly(height=size[0], width=size[1]))
    if images.bgr:
        yield ReverseChannels()
    mean, scale = images.in_pixels
    if mean or scale:
        yield Normalise(mean=mean or (0.0,), deviation=scale or (1.0,))


def _check_unused(backend: Backend | None) -> None:
    if backend is not None:
        raise SpecError("--backend has no effect on this file, which specifies its resizes")
