"""What it costs that images reach a model through another resize than in its training: measured, pixel by pixel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import ReadError, SpecError
from ir_interp.files.memory import check_bytes
from ir_interp.library_registry import is_call, load
from ir_interp.resize_op import ResizeOp
from ir_interp.text.quoting import shell
from ir_interp.views.image_arrays import opened, pixels
from ir_interp.views.likeness import Likeness, compared

from ..verify.graphs import ModelInput, read
from ..verify.run.image_inputs import is_channel_last
from .chosen_shapes import chosen
from .findings import Finding
from .mishaps import noted

Array = NDArray[Any]
CODE = "IRI041"
_MODES = {1: "L", 3: "RGB"}  # of images, by channels
_RATIOS = (3.0, 1.5, 0.5)  # of the lengths of random images to those of the model
_BYTES_A_VALUE = 40  # of an image and what two resizes of it hold at most, in float64


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """Two calls of image libraries: the one that is deployed, that of the training; and an image to compare them on.

    Raises SpecError for calls that are one and the same resize, or that say what the model says, and
    ReadError for what is no image.
    """

    deployed: str
    trained: str
    image: Path | None = None

    def __post_init__(self) -> None:
        first, second = map(_checked, (self.deployed, self.trained))
        if self.image is not None:
            pixels(self.image)
        if first.spec == second.spec:
            raise SpecError(f"{self.deployed} and {self.trained} are the same resize; expected two that differ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """How far two resizes of an image differ where it enters a model: ``beyond`` counts values that do by more than 1.

    ``where`` is the model and its input, ``image`` what was resized.
    """

    file: str
    where: str
    image: str
    likeness: Likeness
    beyond: int

    @property
    def text(self) -> str:
        """The same as a line."""
        rounding = f"; {self.beyond} by more than 1" if self.likeness.unequal else ""
        return f"{self.image}: {self.likeness.text}{rounding}"

    @property
    def finding(self) -> Finding:
        """The same as a finding: a note where nothing differs by more than rounding does."""
        severity = Severity.WARNING if self.beyond else Severity.NOTE
        return Finding(code=CODE, message=self.text, file=self.file, where=self.where, severity=severity)

    def record(self) -> dict[str, Any]:
        """Return it as data for JSON."""
        return asdict(self)


def costs(path: Path, label: str, wanted: Preprocessing, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[Cost]:
    """Yield what two resizes make of images at each input of a model that takes some.

    Raises ReadError for a model without such an input, or one whose lengths are open.
    """
    lengths, found = chosen(path, shapes), False
    for each in read(path).inputs:
        size = _size(each, lengths.get(each.name, each.lengths), path)
        if size is None:
            continue
        found, (height, width, channels) = True, size
        for name, x in _images(wanted.image, (height, width), channels):
            likeness, (first, second) = compared(
                (wanted.deployed, wanted.trained), x, _MODES[channels], (height, width), None
            )
            yield Cost(
                file=str(path),
                where=f"{label}: input {each.name!r}, {height}x{width}",
                image=name,
                likeness=likeness,
                beyond=int(np.count_nonzero(np.abs(first.astype(np.int64) - second) > 1)),
            )
    if not found:
        raise ReadError("no input takes an image of 1 or 3 channels, so that no resize stands before it", path.name)


def _checked(text: str) -> ResizeOp:
    """Return a call. Raises SpecError where it names what the image, or the model, says."""
    if not is_call(text):
        expected = "expected the call of an image library, as in pillow:bilinear or opencv:linear"
        raise SpecError(f"{text!r} is no resize before a model; {expected}")
    op = load(text, dtype="uint8")
    if op.spec.target is not None:
        raise SpecError(f"{text} names sizes; the model's input has them")
    if op.attributes.get("mode") not in (None, "RGB", "L") and op.dialect == "pillow":
        raise SpecError(f"{text}: images of mode {op.attributes['mode']} enter no model; expected RGB or L")
    if len(op.spec.axes or ()) != 2:
        raise SpecError(f"{text} resizes {len(op.spec.axes or ())} axes; an image has two")
    return op


def _size(each: ModelInput, lengths: tuple[int | None, ...], path: Path) -> tuple[int, int, int] | None:
    """Return height, width and channels of the images that an input takes; None where it takes none."""
    if len(lengths) not in (3, 4):
        return None
    last = is_channel_last(lengths)
    height, width, channels = lengths[-3:] if last else (lengths[-2], lengths[-1], lengths[-3])
    if channels not in _MODES:
        return None
    if height is None or width is None:
        example = shell("--shape", f"{each.name}:1,3,224,224")
        raise ReadError(f"{each.text}; --preprocess needs its lengths, as in {example}", path.name)
    return height, width, channels


def _images(path: Path | None, size: tuple[int, int], channels: int) -> Iterator[tuple[str, Array]]:
    """Yield the image that is given, or random ones that are larger and smaller than a model takes."""
    mode = _MODES[channels]
    if path is not None:
        with opened(path) as found:
            x = np.asarray(found.convert(mode))
        check_bytes(x.size * _BYTES_A_VALUE, f"the resize of {path.name}")
        yield f"{path.name}, {x.shape[0]}x{x.shape[1]}", x
        return
    for ratio in _RATIOS:
        height, width = (max(1, round(length * ratio)) for length in size)
        check_bytes(height * width * channels * _BYTES_A_VALUE, f"a random image of {height}x{width}")
        shape = (height, width) if channels == 1 else (height, width, channels)
        yield f"random {height}x{width}", np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def measured(
    files: Mapping[Path, str], wanted: Preprocessing, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[list[Cost], list[ReadError]]:
    """Return what two resizes cost at the inputs of models, which have labels, and where that cannot be said."""
    found: list[Cost] = []
    errors: list[ReadError] = []
    for path, label in files.items():
        with noted(errors, path.name):
            found += costs(path, label, wanted, shapes)
    return found, errors
