"""Pipelines of torchvision's transforms, v1 and v2: the object itself, or the text that ``print`` shows.

Source: torchvision 0.28, ``transforms/transforms.py``, ``transforms/v2`` and ``transforms/_presets.py``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ir_interp.arguments import natural
from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.pipelines.backends import Backend
from ir_interp.pipelines.output_size import Exactly, OutputSize, ShorterSide, SizeRounding
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.steps import CentreCrop, ImageStep, Normalise, Product, Rescale, Resize

_FLOAT = "torch.float32"
_LINE = re.compile(r"(\w+)\((.*)\)$")
_NOTHING = {"ToPureTensor", "Identity", "RGB"}
"""Transforms that leave an RGB image as it is."""
_OF_TENSORS = {"ToImage", "PILToTensor", "ToTensor"}
"""Transforms that convert a Pillow image to a tensor."""
_OF_V2 = {"ToImage", "ToDtype", "ToPureTensor", "RGB", "Identity"}
"""Transforms that only v2 has."""
_OF_PILLOW = {"PILToTensor", "ToTensor"}
"""Transforms among them that refuse a tensor, so that the image must be Pillow's up to there."""


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


def read_text(text: str, backend: Backend | None = None) -> Pipeline:
    """Return the pipeline of printed transforms. Raises ReadError for other text, SpecError for a transform."""
    return _pipeline(list(_of_text(text)), backend)


def read_object(transforms: Any, backend: Backend | None = None) -> Pipeline:
    """Return the pipeline of a ``Compose``, ``Sequential``, preset or single transform, v1 or v2."""
    return _pipeline(list(_of_object(transforms)), backend)


def _of_text(text: str) -> Iterator[Transform]:
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


def _literal(node: ast.expr, line: str) -> Any:
    """Return a number, a list or a word: ``bilinear``, ``InterpolationMode.BILINEAR``, ``torch.float32``."""
    if isinstance(node, ast.Name):
        word = node.id.replace("torch_", "torch.")
        return word.removeprefix("InterpolationMode_").lower().replace("nearest_exact", "nearest-exact")
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise ReadError(f"{line[:60]!r}: the arguments cannot be read; expected literals") from None


_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "Resize": ("size", "interpolation", "max_size", "antialias"),
    "CenterCrop": ("size",),
    "Normalize": ("mean", "std"),
    "ConvertImageDtype": ("dtype",),
    "ToDtype": ("dtype", "scale"),
    "ImageClassification": ("crop_size", "resize_size", "mean", "std", "interpolation", "antialias"),
    "SemanticSegmentation": ("resize_size", "mean", "std", "interpolation", "antialias"),
}


def _of_object(transforms: Any) -> Iterator[Transform]:
    name = type(transforms).__name__
    inner = getattr(transforms, "transforms", None)
    if name == "Compose" and isinstance(inner, Sequence):
        for transform in inner:
            yield from _of_object(transform)
    elif name == "Sequential":
        for transform in transforms.children():
            yield from _of_object(transform)
    else:
        names = _ATTRIBUTES.get(name, ())
        version = "v2" if ".v2." in type(transforms).__module__ else "v1"
        arguments = {key: _plain(getattr(transforms, key)) for key in names if hasattr(transforms, key)}
        yield Transform(name, arguments, version)


def _plain(value: Any) -> Any:
    """Return an argument in the form of its printed text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if type(value).__name__ == "InterpolationMode":
        return value.value
    return str(value) if type(value).__name__ == "dtype" else value


def _pipeline(transforms: list[Transform], backend: Backend | None) -> Pipeline:
    return Pipeline(steps=tuple(_steps(list(_spread(transforms)), backend)), name="torchvision transforms")


def _spread(transforms: list[Transform]) -> Iterator[Transform]:
    """Yield transforms, with presets replaced by their own transforms."""
    for transform in transforms:
        if transform.name not in ("ImageClassification", "SemanticSegmentation"):
            yield transform
            continue
        arguments = transform.take(*_ATTRIBUTES[transform.name])
        if arguments.get("resize_size") is not None:
            resize = {key: arguments[key] for key in ("interpolation", "antialias") if key in arguments}
            yield Transform("Resize", {"size": arguments["resize_size"], **resize}, "v1")
        if "crop_size" in arguments:
            yield Transform("CenterCrop", {"size": arguments["crop_size"]})
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
            yield _resize(transform, kind, transform.version or version)
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
        else:
            conversion = list(_conversion(transform, transform.version or version))
            yield from [] if is_float else conversion  # floats stay as they are
            is_tensor, is_float = is_tensor or transform.name in _OF_TENSORS, is_float or bool(conversion)


def _conversion(transform: Transform, version: str) -> Iterator[ImageStep]:
    """Yield the step of a transform that changes the type of an image."""
    if transform.name in ("ToTensor", "ConvertImageDtype", "ToDtype"):
        arguments = transform.take("dtype", "scale")
        dtype = arguments.get("dtype", _FLOAT if transform.name == "ToTensor" else None)
        if dtype != _FLOAT or (transform.name == "ToDtype" and arguments.get("scale") is not True):
            expected = "expected dtype=torch.float32 and, for ToDtype, scale=True"
            raise SpecError(f"{transform.name}({_arguments(arguments)}) does not give pixels from 0 to 1; {expected}")
        if transform.name == "ConvertImageDtype":
            _check_version(version)
        is_product = transform.name != "ToTensor" and version == "v2"
        product = Product.FLOAT32 if is_product else Product.QUOTIENT
        yield Rescale(factor=1 / 255, product=product)
    elif transform.name in ("ToImage", "PILToTensor"):
        transform.take()
    else:
        known = ("Resize", "CenterCrop", "Normalize", "ToDtype", "ConvertImageDtype", *_OF_TENSORS, *_NOTHING)
        raise ReadError(
            f"the transform {transform.name} is not supported; {closest(transform.name, known, 'docs/pipelines.md')}"
        )


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
        like = _tensor_call(mode, "true" if arguments.get("antialias", True) else "false", version)
    return Resize(like=like, size=_size(arguments.get("size"), arguments.get("max_size")))


def _tensor_call(mode: str, antialias: str, version: str) -> str:
    _check_version(version)
    if version == "v1":
        reason = "v1 resizes tensors in floats, whose sums round differently from processor to processor"
        raise SpecError(f"{reason}; use Pillow images (--backend pil)")
    if mode == "lanczos" and antialias == "false":
        raise SpecError("torchvision has no lanczos without antialias")
    return f"torchvision:{mode},antialias={antialias}"


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
