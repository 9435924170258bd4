"""Pipelines of torchvision's transforms, v1 and v2, and of timm's ``pretrained_cfg`` as ``create_transform`` reads it.

A transform is the object itself, or the text that ``print`` shows. Sources: torchvision 0.28,
``transforms/transforms.py``, ``transforms/v2`` and ``transforms/_presets.py``; for the text, ``__repr__`` and
``extra_repr`` of 0.29. timm 1.0.31, ``data/config.py`` (``resolve_data_config`` with its defaults, ``use_test_size``
off) and ``transforms_imagenet_eval``, on Pillow images; torchvision 0.28 for its crop.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir_interp.arguments import natural, real, reals
from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.rules import Backend, ByRatio, Exactly, ShorterSide, SizeRounding, SizeRule
from ir_interp.pipelines.steps import CentreCrop, ImageStep, Normalise, Product, Rescale, Resize

_LINE = re.compile(r"(\w+)\((.*)\)$")


@dataclass(frozen=True, slots=True)
class Transform:
    """A transform: the name of its class and its arguments; ``version`` is v1, v2, or empty if unknown."""

    name: str
    arguments: Mapping[str, Any]
    version: str = ""

    def take(self, *known: str) -> Mapping[str, Any]:
        """Return the arguments. Raises SpecError for one that is not among ``known``."""
        unknown = sorted(self.arguments.keys() - set(known))
        if unknown:
            raise SpecError(f"{self.name} with {unknown[0]} is not supported")
        return self.arguments


def of_text(text: str) -> Iterator[Transform]:
    """Yield printed transforms. Raises ReadError for other text."""
    lines = [line.strip().rstrip(",") for line in text.strip().splitlines()]
    if lines and lines[0] in ("Compose(", "Sequential("):
        for line in lines[1:-1]:
            yield _of_line(re.sub(r"^\(\d+\): ", "", line))
    elif len(lines) > 1 and lines[0].endswith("("):  # a preset, one argument per line
        yield _of_line(f"{lines[0]}{', '.join(lines[1:-1])})")
    elif len(lines) == 1:
        yield _of_line(lines[0])
    else:
        raise ReadError("not torchvision transforms; expected the printed text of a Compose")


def _of_line(line: str) -> Transform:
    match = _LINE.match(line)
    if not match:
        raise ReadError(f"not a torchvision transform: {line[:60]!r}; expected one a line, as in CenterCrop(size=224)")
    words = re.sub(r"InterpolationMode\.|torch\.|nearest-", lambda hit: hit[0][:-1] + "_", match[2])
    try:
        call = ast.parse(f"f({words})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ReadError(f"{line[:60]!r}: the arguments cannot be read; expected literals") from None
    if not isinstance(call, ast.Call) or call.args or not all(keyword.arg for keyword in call.keywords):
        raise ReadError(f"{line[:60]!r}: expected arguments by name")
    return Transform(match[1], {str(keyword.arg): _literal(keyword.value, line) for keyword in call.keywords})


def _literal(node: ast.expr, line: str) -> object:
    """Return a number, a list or a word: ``bilinear``, ``InterpolationMode.BILINEAR``, ``torch.float32``."""
    if isinstance(node, ast.Name):
        word = node.id.replace("torch_", "torch.")
        return word.removeprefix("InterpolationMode_").lower().replace("nearest_exact", "nearest-exact")
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise ReadError(f"{line[:60]!r}: the arguments cannot be read; expected literals") from None


ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "Resize": ("size", "interpolation", "max_size", "antialias"),
    "CenterCrop": ("size",),
    "Normalize": ("mean", "std"),
    "ConvertImageDtype": ("dtype",),
    "ToDtype": ("dtype", "scale"),
    "ImageClassification": ("crop_size", "resize_size", "mean", "std", "interpolation", "antialias"),
    "SemanticSegmentation": ("resize_size", "mean", "std", "interpolation", "antialias"),
    "ResizeKeepRatio": (
        "size", "interpolation", "longest", "random_scale_prob", "random_aspect_prob",
    ),
    "CenterCropOrPad": ("size", "fill", "padding_mode"),
}  # fmt: skip
_OF_TIMM = ("MaybeToTensor", "ResizeKeepRatio", "CenterCropOrPad")
"""Transforms of timm that its ``create_transform`` writes for evaluation."""


def of_object(transforms: Any) -> Iterator[Transform]:
    """Yield the transforms of a ``Compose``, ``Sequential``, preset or single transform.

    Raises ReadError for one of another library, which may have the same name.
    """
    name = type(transforms).__name__
    inner = getattr(transforms, "transforms", None)
    if name == "Compose" and isinstance(inner, Sequence):
        for transform in inner:
            yield from of_object(transform)
    elif name == "Sequential":
        for transform in transforms.children():
            yield from of_object(transform)
    else:
        module = type(transforms).__module__
        is_of_timm = module == "timm.data.transforms" and name in _OF_TIMM
        if module.partition(".")[0] != "torchvision" and not is_of_timm:
            raise ReadError(f"the transform {name} is {module}'s; expected transforms of torchvision")
        names, version = ATTRIBUTES.get(name, ()), "v2" if ".v2." in module else "v1"
        arguments = {key: _plain(getattr(transforms, key)) for key in names if hasattr(transforms, key)}
        yield Transform(name, arguments, version)


def _plain(value: Any) -> object:
    """Return an argument in the form of its printed text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if type(value).__name__ == "InterpolationMode":
        return value.value
    return str(value) if type(value).__name__ == "dtype" else value


_FLOAT = "torch.float32"
_NOTHING = {"ToPureTensor", "Identity", "RGB"}
"""Transforms that leave an RGB image as it is."""
_OF_TENSORS = {"ToImage", "PILToTensor", "ToTensor", "MaybeToTensor", "pil_to_tensor"}
"""Transforms that convert a Pillow image to a tensor, and the function of presets."""
_OF_FLOATS = {"ToDtype", "ConvertImageDtype"}
"""Transforms that convert a tensor to floats, and leave a Pillow image as it is."""
_SUMS = "whose sums round differently from processor to processor"
_OF_V2 = {"ToImage", "ToDtype", "ToPureTensor", "RGB", "Identity"}
"""Transforms that only v2 has."""
_OF_PILLOW = {"PILToTensor", "ToTensor", "MaybeToTensor"}
"""Transforms among them that refuse a tensor, so that the image must be Pillow's up to there.

timm's MaybeToTensor leaves a tensor of uint8 as it is, which Normalize refuses.
"""
_TO_FLOATS = ("ToTensor", "MaybeToTensor")


def read_text(text: str, backend: Backend | None = None) -> Pipeline:
    """Return the pipeline of printed transforms. Raises ReadError for other text, SpecError for a transform."""
    return _pipeline(list(of_text(text)), backend)


def read_object(transforms: object, backend: Backend | None = None) -> Pipeline:
    """Return the pipeline of a ``Compose``, ``Sequential``, preset or single transform, v1 or v2."""
    return _pipeline(list(of_object(transforms)), backend)


def _pipeline(transforms: list[Transform], backend: Backend | None) -> Pipeline:
    return Pipeline(steps=tuple(_steps(list(_spread(transforms)), backend)), name="torchvision transforms")


def _spread(transforms: list[Transform]) -> Iterator[Transform]:
    """Yield transforms, with presets replaced by their own transforms."""
    for transform in transforms:
        if transform.name not in ("ImageClassification", "SemanticSegmentation", "ObjectDetection"):
            yield transform
            continue
        arguments = transform.take(*ATTRIBUTES.get(transform.name, ()))
        if arguments.get("resize_size") is not None:
            resize = {key: arguments[key] for key in ("interpolation", "antialias") if key in arguments}
            yield Transform("Resize", {"size": arguments["resize_size"], **resize}, "v1")
        if "crop_size" in arguments:
            yield Transform("CenterCrop", {"size": arguments["crop_size"]})
        yield Transform("pil_to_tensor", {})
        yield Transform("ConvertImageDtype", {"dtype": _FLOAT}, "v1")
        if transform.name != "ObjectDetection":
            yield Transform("Normalize", {"mean": arguments["mean"], "std": arguments["std"]})


def _steps(transforms: list[Transform], backend: Backend | None) -> Iterator[ImageStep]:
    is_tensor, is_float = backend is Backend.TORCHVISION, False
    version = "v2" if any(transform.name in _OF_V2 for transform in transforms) else ""
    for place, transform in enumerate(transforms):
        if transform.name in _NOTHING:
            transform.take()
        elif transform.name == "Resize":
            kind = _image_kind(transforms[place:], backend, is_tensor=is_tensor)
            resize = _resize(transform, kind, transform.version or version)
            if is_float and "nearest" not in resize.like:
                raise SpecError(f"Resize of floats, {_SUMS}; expected Resize before the conversion to floats")
            yield resize
        elif transform.name == "CenterCrop":
            size = _sides(transform.take("size")["size"])
            yield CentreCrop(size=size, start=SizeRounding.HALF_EVEN, padding=SizeRounding.DOWN)
        elif transform.name == "ResizeKeepRatio":
            yield _resize_by_ratio(transform, _image_kind(transforms[place:], backend, is_tensor=is_tensor))
        elif transform.name == "CenterCropOrPad":
            yield _crop_or_pad(transform)
        elif transform.name == "Normalize":
            arguments = transform.take("mean", "std", "inplace")
            if not is_float:
                raise SpecError(f"{transform.name} of a uint8 image; expected a conversion to floats before it")
            yield Normalise(mean=_numbers(arguments["mean"]), deviation=_numbers(arguments["std"]))
        elif transform.name in _TO_FLOATS and any(before.name in _OF_TENSORS for before in transforms[:place]):
            raise SpecError(f"{transform.name} of a tensor; expected a Pillow image: remove it")
        elif transform.name in _OF_FLOATS and not is_tensor and _is_pillow(transforms[place:], backend):
            raise SpecError(
                f"{transform.name} leaves a Pillow image as it is: remove it, or convert to a tensor before"
            )
        else:
            conversion = list(_conversion(transform, transform.version or version))
            yield from [] if is_float else conversion  # floats stay as they are
            is_tensor, is_float = is_tensor or transform.name in _OF_TENSORS, is_float or bool(conversion)


def _conversion(transform: Transform, version: str) -> Iterator[ImageStep]:
    """Yield the step of a transform that changes the type of an image."""
    if transform.name in {*_TO_FLOATS, *_OF_FLOATS}:
        arguments = transform.take("dtype", "scale")
        dtype = arguments.get("dtype", _FLOAT if transform.name in _TO_FLOATS else None)
        if dtype is None:
            text = f"{transform.name}({_arguments(arguments)})"
            raise SpecError(f"{text} lacks the type, which torchvision does not print; add dtype=torch.float32")
        if dtype != _FLOAT or (transform.name == "ToDtype" and arguments.get("scale") is not True):
            expected = "expected dtype=torch.float32 and, for ToDtype, scale=True"
            raise SpecError(f"{transform.name}({_arguments(arguments)}) does not give pixels from 0 to 1; {expected}")
        if transform.name == "ConvertImageDtype":
            _check_version(version)
        is_product = transform.name not in _TO_FLOATS and version == "v2"
        product = Product.FLOAT32 if is_product else Product.QUOTIENT
        yield Rescale(factor=1 / 255, product=product)
    elif transform.name in _OF_TENSORS:
        transform.take()
    else:
        known = ("Resize", "CenterCrop", "Normalize", *_OF_FLOATS, *_OF_TENSORS, *_NOTHING)
        raise ReadError(
            f"the transform {transform.name} is not supported; {closest(transform.name, known, 'docs/pipelines.md')}"
        )


def _is_pillow(following: Sequence[Transform], backend: Backend | None) -> bool:
    """Return whether an image that no transform has converted to a tensor yet may be a Pillow image."""
    return backend is Backend.PIL or any(transform.name in _OF_TENSORS for transform in following)


def _arguments(arguments: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in arguments.items())


def _image_kind(following: Sequence[Transform], backend: Backend | None, *, is_tensor: bool) -> Backend:
    """Return whether an image is a Pillow image or a tensor where it is resized."""
    if is_tensor:
        return Backend.TORCHVISION
    if any(transform.name in _OF_PILLOW for transform in following):
        return Backend.PIL
    if backend is None:
        raise SpecError("Resize accepts Pillow images and tensors; choose --backend pil or torchvision")
    return backend


def _resize(transform: Transform, kind: Backend, version: str) -> Resize:
    arguments = transform.take("size", "interpolation", "max_size", "antialias")
    mode = arguments.get("interpolation", "bilinear")
    if kind is Backend.PIL:
        like = f"pillow:{'nearest' if mode == 'nearest-exact' else mode}"
    else:
        like = _tensor_call(mode, arguments, transform.version or _printed_version(arguments, version))
    return Resize(like=like, size=_size(arguments.get("size"), arguments.get("max_size")))


def _resize_by_ratio(transform: Transform, kind: Backend) -> Resize:
    """Return timm's resize to the inside of a size, or so that it covers the size."""
    arguments = transform.take(*ATTRIBUTES["ResizeKeepRatio"])
    if kind is not Backend.PIL:
        raise SpecError("ResizeKeepRatio of a tensor is not supported; expected a Pillow image (--backend pil)")
    if arguments.get("random_scale_prob") or arguments.get("random_aspect_prob"):
        raise SpecError("ResizeKeepRatio with random sizes is not supported; expected a transform for evaluation")
    longest = arguments.get("longest")
    if longest not in (0.0, 1.0):
        raise SpecError(f"ResizeKeepRatio with longest={longest} is not supported; expected 0.0 or 1.0")
    sides = _sides(arguments.get("size"))
    like = f"pillow:{_choice(arguments.get('interpolation'), FILTERS, 'interpolation')}"
    return Resize(like=like, size=ByRatio(height=sides.height, width=sides.width, covers=longest == 0.0))


def _crop_or_pad(transform: Transform) -> CentreCrop:
    arguments = transform.take(*ATTRIBUTES["CenterCropOrPad"])
    if arguments.get("padding_mode") != "constant":
        raise SpecError(f"CenterCropOrPad with padding_mode={arguments.get('padding_mode')} is not supported")
    fill = arguments.get("fill")
    colour = _numbers(fill if isinstance(fill, list | tuple) else [fill])
    size = _sides(arguments.get("size"))
    return CentreCrop(size=size, start=SizeRounding.HALF_EVEN, padding=SizeRounding.DOWN, colour=colour)


def _printed_version(arguments: Mapping[str, object], version: str) -> str:
    """Return the version that prints such a Resize among transforms of ``version``; empty if both do, or none.

    v1 prints every argument, and the size as it was passed; v2 prints a list, and leaves out None.
    """
    if None in arguments.values():
        return "v1"
    return version if isinstance(arguments.get("size"), list) and "max_size" not in arguments else ""


def _tensor_call(mode: str, arguments: Mapping[str, object], version: str) -> str:
    _check_version(version)
    if version == "v1":
        raise SpecError(f"v1 resizes tensors in floats, {_SUMS}; use Pillow images (--backend pil)")
    antialias = arguments.get("antialias", "missing")
    if antialias not in (True, False, None):
        problem = f"antialias is {antialias!r}, which depends on the release"
        raise SpecError(f"{problem}; expected antialias=True or antialias=False")
    if mode == "lanczos" and not antialias:
        raise SpecError("torchvision has no lanczos without antialias")
    return f"torchvision:{mode},antialias={'true' if antialias else 'false'}"


def _check_version(version: str) -> None:
    """Raise SpecError if printed transforms do not show whether they are v1 or v2."""
    if not version:
        reason = "v1 and v2 print the same text but compute different values"
        raise SpecError(f"{reason}; pass the object itself, as in ir_interp.pipeline(transforms)")


def _size(size: Any, longest: Any) -> SizeRule:
    if isinstance(size, list | tuple) and len(size) == 2:
        return _sides(size)
    (side,) = size if isinstance(size, list | tuple) and len(size) == 1 else (size,)
    limit = None if longest is None else natural(longest, "max_size")
    return ShorterSide(size=natural(side, "size"), longest=limit)


def _sides(size: Any) -> Exactly:
    """Return height and width; one number sets both."""
    sides = size if isinstance(size, list | tuple) else [size]
    if len(sides) not in (1, 2):
        raise SpecError(f"size is {size!r}; expected height and width")
    height, width = (natural(side, "size") for side in (sides[0], sides[-1]))
    return Exactly(height=height, width=width)


def _numbers(values: object) -> tuple[float, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, int | float) for value in values):
        raise SpecError(f"mean or std is {values!r}; expected numbers")
    return tuple(map(float, values))


_DEFAULTS: Mapping[str, object] = {
    "input_size": (3, 224, 224),
    "interpolation": "bicubic",
    "mean": (0.485, 0.456, 0.406),
    "std": (0.229, 0.224, 0.225),
    "crop_pct": 0.875,
    "crop_mode": "center",
}
_WITHOUT_EFFECT = {
    "url", "file", "hash_sha256", "state_dict", "source", "hf_hub_id", "hf_hub_filename", "architecture", "tag",
    "custom_load", "fixed_input_size", "min_input_size", "test_input_size", "test_crop_pct", "num_classes",
    "pool_size", "test_pool_size", "first_conv", "classifier", "license", "description", "origin_url", "paper_name",
    "paper_ids", "notes", "label_offset", "label_names", "label_descriptions",
}  # fmt: skip
"""Keys about files, layers and labels, and those that only ``use_test_size`` reads."""
KEYS = {*_DEFAULTS, *_WITHOUT_EFFECT}
FILTERS = ("nearest", "bilinear", "bicubic", "box", "hamming", "lanczos")
MODES = ("center", "squash", "border")


def is_timm(document: Mapping[str, object]) -> bool:
    """Return whether a document is timm's: a ``config.json`` of the hub, or a ``pretrained_cfg``."""
    return "pretrained_cfg" in document or {"input_size", "crop_pct"} <= document.keys()


def read_timm(document: Mapping[str, object]) -> Pipeline:
    """Return the pipeline of a configuration. Raises ReadError for an unknown key, SpecError for a value."""
    settings = document.get("pretrained_cfg", document)
    if not isinstance(settings, Mapping):
        raise ReadError("pretrained_cfg is not an object")
    unknown = sorted(settings.keys() - KEYS)
    if unknown:
        raise ReadError(f"unknown key {unknown[0]!r}, which may change the image; remove it only if it does not")
    config = {**_DEFAULTS, **{key: value for key, value in settings.items() if value}}
    return Pipeline(steps=tuple(_timm_steps(config)), name=f"timm {settings.get('architecture', 'model')}".strip())


def _timm_steps(config: Mapping[str, Any]) -> Iterator[ImageStep]:
    height, width = _timm_size(config["input_size"])
    share, mean = real(config["crop_pct"], "crop_pct"), _timm_numbers(config, "mean")
    if not share > 0:
        raise SpecError(f"crop_pct is {share:g}; expected a number above 0")
    scaled = int(height / share), int(width / share)  # positive, so that int() rounds down like math.floor
    mode = _choice(config["crop_mode"], MODES, "crop_mode")
    like = f"pillow:{_choice(config['interpolation'], FILTERS, 'interpolation')}"
    colour: tuple[float, ...] = (0.0,)
    if mode == "squash":
        yield Resize(like=like, size=Exactly(height=scaled[0], width=scaled[1]))
    elif mode == "border":
        yield Resize(like=like, size=ByRatio(height=scaled[0], width=scaled[1], covers=False))
        colour = tuple(float(round(255 * number)) for number in mean)
    elif scaled[0] == scaled[1]:
        yield Resize(like=like, size=ShorterSide(size=scaled[0]))
    else:
        yield Resize(like=like, size=ByRatio(height=scaled[0], width=scaled[1], covers=True))
    yield CentreCrop(
        size=Exactly(height=height, width=width), start=SizeRounding.HALF_EVEN, padding=SizeRounding.DOWN, colour=colour
    )
    yield Rescale(factor=1 / 255, product=Product.QUOTIENT)
    yield Normalise(mean=_single(mean), deviation=_single(_timm_numbers(config, "std")))


def _timm_size(size: object) -> tuple[int, int]:
    if not isinstance(size, list | tuple) or len(size) != 3 or size[0] != 3:
        raise SpecError(f"input_size is {size!r}; expected 3 channels, height and width")
    return natural(size[1], "the height of input_size"), natural(size[2], "the width of input_size")


def _timm_numbers(config: Mapping[str, Any], name: str) -> tuple[float, ...]:
    return reals(config[name], name)


def _single(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Return numbers rounded to float32, since timm converts them to tensors first."""
    return tuple(float(np.float32(number)) for number in numbers)


def _choice(value: object, choices: tuple[str, ...], name: str) -> str:
    if value not in choices:
        raise SpecError(f"{name} is {value!r}; {closest(str(value), choices)}")
    return str(value)
