"""Transforms of torchvision, v1 and v2, as names and arguments: from the object itself, or from what ``print`` shows.

Source: torchvision 0.29, ``__repr__`` and ``extra_repr`` of ``transforms/transforms.py`` and ``transforms/v2``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ir_interp.errors import ReadError, SpecError

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


def _literal(node: ast.expr, line: str) -> Any:
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
}


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
        if module.partition(".")[0] != "torchvision":
            raise ReadError(f"the transform {name} is {module}'s; expected transforms of torchvision")
        names, version = ATTRIBUTES.get(name, ()), "v2" if ".v2." in module else "v1"
        arguments = {key: _plain(getattr(transforms, key)) for key in names if hasattr(transforms, key)}
        yield Transform(name, arguments, version)


def _plain(value: Any) -> Any:
    """Return an argument in the form of its printed text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if type(value).__name__ == "InterpolationMode":
        return value.value
    return str(value) if type(value).__name__ == "dtype" else value
