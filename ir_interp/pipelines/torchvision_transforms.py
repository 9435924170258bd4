"""Pipelines of torchvision's transforms, v1 and v2: the object itself, or the text that ``print`` shows.

Source: torchvision 0.28, ``transforms/transforms.py``, ``transforms/v2`` and ``transforms/_presets.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ir_interp.arguments import natural
from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.output_size import Exactly, OutputSize, ShorterSide, SizeRounding
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.steps import CentreCrop, ImageStep, Normalise, Product, Rescale, Resize
from ir_interp.pipelines.torchvision_listing import ATTRIBUTES, Transform, of_object, of_text

_FLOAT = "torch.float32"
_NOTHING = {"ToPureTensor", "Identity", "RGB"}
"""Transforms that leave an RGB image as it is."""
_OF_TENSORS = {"ToImage", "PILToTensor", "ToTensor", "pil_to_tensor"}
"""Transforms that convert a Pillow image to a tensor, and the function of presets."""
_OF_FLOATS = {"ToDtype", "ConvertImageDtype"}
"""Transforms that convert a tensor to floats, and leave a Pillow image as it is."""
_SUMS = "whose sums round differently from processor to processor"
_OF_V2 = {"ToImage", "ToDtype", "ToPureTensor", "RGB", "Identity"}
"""Transforms that only v2 has."""
_OF_PILLOW = {"PILToTensor", "ToTensor"}
"""Transforms among them that refuse a tensor, so that the image must be Pillow's up to there."""


def read_text(text: str, backend: Backend | None = None) -> Pipeline:
    """Return the pipeline of printed transforms. Raises ReadError for other text, SpecError for a transform."""
    return _pipeline(list(of_text(text)), backend)


def read_object(transforms: Any, backend: Backend | None = None) -> Pipeline:
    """Return the pipeline of a ``Compose``, ``Sequential``, preset or single transform, v1 or v2."""
    return _pipeline(list(of_object(transforms)), backend)


def _pipeline(transforms: list[Transform], backend: Backend | None) -> Pipeline:
    return Pipeline(steps=tuple(_steps(list(_spread(transforms)), backend)), name="torchvision transforms")


def _spread(transforms: list[Transform]) -> Iterator[Transform]:
    """Yield transforms, with presets replaced by their own transforms."""
    for transform in transforms:
        if transform.name not in ("ImageClassification", "SemanticSegmentation"):
            yield transform
            continue
        arguments = transform.take(*ATTRIBUTES[transform.name])
        if arguments.get("resize_size") is not None:
            resize = {key: arguments[key] for key in ("interpolation", "antialias") if key in arguments}
            yield Transform("Resize", {"size": arguments["resize_size"], **resize}, "v1")
        if "crop_size" in arguments:
            yield Transform("CenterCrop", {"size": arguments["crop_size"]})
        yield Transform("pil_to_tensor", {})
        yield Transform("ConvertImageDtype", {"dtype": _FLOAT}, "v1")
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
        elif transform.name == "Normalize":
            arguments = transform.take("mean", "std", "inplace")
            if not is_float:
                raise SpecError(f"{transform.name} of a uint8 image; expected a conversion to floats before it")
            yield Normalise(mean=_numbers(arguments["mean"]), deviation=_numbers(arguments["std"]))
        elif transform.name == "ToTensor" and any(before.name in _OF_TENSORS for before in transforms[:place]):
            raise SpecError("ToTensor of a tensor; expected a Pillow image: remove it")
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
    if transform.name in {"ToTensor", *_OF_FLOATS}:
        arguments = transform.take("dtype", "scale")
        dtype = arguments.get("dtype", _FLOAT if transform.name == "ToTensor" else None)
        if dtype is None:
            text = f"{transform.name}({_arguments(arguments)})"
            raise SpecError(f"{text} lacks the type, which torchvision does not print; add dtype=torch.float32")
        if dtype != _FLOAT or (transform.name == "ToDtype" and arguments.get("scale") is not True):
            expected = "expected dtype=torch.float32 and, for ToDtype, scale=True"
            raise SpecError(f"{transform.name}({_arguments(arguments)}) does not give pixels from 0 to 1; {expected}")
        if transform.name == "ConvertImageDtype":
            _check_version(version)
        is_product = transform.name != "ToTensor" and version == "v2"
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


def _arguments(arguments: Mapping[str, Any]) -> str:
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


def _printed_version(arguments: Mapping[str, Any], version: str) -> str:
    """Return the version that prints such a Resize among transforms of ``version``; empty if both do, or none.

    v1 prints every argument, and the size as it was passed; v2 prints a list, and leaves out None.
    """
    if None in arguments.values():
        return "v1"
    return version if isinstance(arguments.get("size"), list) and "max_size" not in arguments else ""


def _tensor_call(mode: str, arguments: Mapping[str, Any], version: str) -> str:
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


def _size(size: Any, longest: Any) -> OutputSize:
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


def _numbers(values: Any) -> tuple[float, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, int | float) for value in values):
        raise SpecError(f"mean or std is {values!r}; expected numbers")
    return tuple(map(float, values))
