"""Rules of a pipeline: its library, the fourth channel, and the height and width that a step produces.

Each rule of sizes contains its formula once, for three kinds of numbers: float64 scalars of ``numpy``, ONNX nodes with
float64 tensors (``Functions``), and expressions of source code. Sizes are integers, which float64 represents exactly;
each division is rounded as in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Protocol, assert_never, cast, get_args

import numpy as np

from ir_interp.errors import ShapeError, SpecError
from ir_interp.shapes import Array, Exact


class Backend(Enum):
    """Pillow images or torchvision tensors: their resizes, and the order of sums, differ."""

    PIL = "pil"
    TORCHVISION = "torchvision"


class CodeLanguage(Enum):
    """Python with the pipeline's own libraries and NumPy, Python with OpenCV only, C++ with OpenCV, or torch."""

    NUMPY = "numpy"
    OPENCV = "opencv"
    CPP = "cpp"
    TORCH = "torch"


CHANNELS = 4
_WHITE = 255


class AlphaRule(Enum):
    """The treatment of alpha before the first step."""

    REFUSED = "refused"
    DROPPED = "dropped"
    OVER_WHITE = "blended over white"

    @property
    def text(self) -> str:
        """The rule in words."""
        older = ", as transformers 5 does (transformers 4 drops alpha)" if self is AlphaRule.OVER_WHITE else ""
        return f"images with alpha: {self.value}{older}"


def without_alpha(x: Array, rule: AlphaRule, name: str) -> Array:
    """Return an image, uint8 [height, width, 4], with 3 channels. Raises ShapeError if the pipeline refuses alpha."""
    if rule is AlphaRule.REFUSED:
        raise ShapeError(f"{name or 'the pipeline'} takes no images with alpha; expected uint8 [height, width, 3]")
    return blended(x[..., :3], x[..., 3:]) if rule is AlphaRule.OVER_WHITE else x[..., :3]


def blended(colours: Array, alpha: Array) -> Array:
    """Return colours over white, as ``alpha_composite`` of Pillow rounds them: weights of 7 bits more than alpha."""
    colours, alpha = colours.astype(np.int32), alpha.astype(np.int32)
    whole = over_white(colours, alpha)
    pixels: Array = ((whole // 2 + whole * 128) // 2**15).astype(np.uint8)
    return pixels


def over_white(colours: Exact, alpha: Exact) -> Exact:
    """Return 255 times the blended colours, plus 128: the sum that Pillow divides, for any kind of numbers."""
    return colours * alpha + (_WHITE - alpha) * _WHITE + 128


Number = Any
"""A float64: a scalar, or a tensor with one element."""


class Functions(Protocol):
    """The functions of NumPy that the formulas call."""

    @property
    def floor(self) -> Callable[..., Number]:
        """The largest integer that is not larger."""

    @property
    def ceil(self) -> Callable[..., Number]:
        """The smallest integer that is not smaller."""

    @property
    def rint(self) -> Callable[..., Number]:
        """The nearest integer, ties to even."""

    @property
    def abs(self) -> Callable[..., Number]:
        """The absolute value."""

    @property
    def minimum(self) -> Callable[..., Number]:
        """The smaller of two."""

    @property
    def maximum(self) -> Callable[..., Number]:
        """The larger of two."""

    @property
    def where(self) -> Callable[..., Number]:
        """The second argument if the first holds, otherwise the third."""


NUMPY = cast("Functions", np)
"""The functions for scalars."""


class SizeRounding(Enum):
    """The rounding of a size to an integer."""

    DOWN = "down"
    UP = "up"
    HALF_UP = "half_up"
    HALF_EVEN = "half_even"

    def apply(self, value: Number, functions: Functions) -> Number:
        """Return a value that is not negative, rounded."""
        match self:
            case SizeRounding.DOWN:
                return functions.floor(value)
            case SizeRounding.UP:
                return functions.ceil(value)
            case SizeRounding.HALF_UP:
                return functions.floor(value + 0.5)
            case SizeRounding.HALF_EVEN:
                return functions.rint(value)
            case _:
                assert_never(self)

    @property
    def text(self) -> str:
        """The rounding in words."""
        match self:
            case SizeRounding.DOWN:
                return "down"
            case SizeRounding.UP:
                return "up"
            case SizeRounding.HALF_UP:
                return "half up"
            case SizeRounding.HALF_EVEN:
                return "half to even"
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True)
class OutputSize:
    """A rule: the output height and width of an image. Its integers are positive; SpecError names one that is not."""

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.type == "int" and getattr(self, each.name) < 1:
                raise SpecError(f"{each.name} is {getattr(self, each.name)}; expected a positive integer")

    @property
    def text(self) -> str:
        """The rule in words."""
        raise NotImplementedError

    @property
    def fixed(self) -> tuple[int, int] | None:
        """The output size if it is the same for every image."""
        return None

    @property
    def least(self) -> int:
        """The smallest height or width that the rule produces; 0 if a narrow image may lose all pixels."""
        return 0

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Exactly(OutputSize):
    """One size for every image; the aspect ratio changes."""

    height: int
    width: int

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"{self.height}x{self.width}"

    @property
    def fixed(self) -> tuple[int, int]:
        """The output size."""
        return self.height, self.width

    @property
    def least(self) -> int:
        """The smaller side."""
        return min(self.height, self.width)

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width."""
        del height, width, functions
        return float(self.height), float(self.width)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShorterSide(OutputSize):
    """The shorter side is ``size``, the longer one keeps the aspect ratio, rounded down; ``longest`` limits it.

    Source: torchvision 0.28, ``_compute_resized_output_size``; transformers 5.23, ``get_resize_output_image_size``.
    """

    size: int
    longest: int | None = None

    def __post_init__(self) -> None:
        OutputSize.__post_init__(self)
        if self.longest is not None and self.longest <= self.size:
            raise SpecError(f"longest is {self.longest}; expected more than the shorter side, {self.size}")

    @property
    def text(self) -> str:
        """The rule in words."""
        limit = "" if self.longest is None else f", the longer at most {self.longest}"
        return f"the shorter side to {self.size}{limit}"

    @property
    def least(self) -> int:
        """The shorter side; a limit may leave a narrow image without pixels."""
        return self.size if self.longest is None else 0

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width."""
        shorter, longer = functions.minimum(height, width), functions.maximum(height, width)
        # The product before the quotient, as in int(size * long / short): the other order rounds differently.
        long = functions.floor(longer * float(self.size) / shorter)
        short: Number = float(self.size)
        if self.longest is not None:
            # By the sides as rounded already, so both are truncated a second time.
            limited = functions.floor(self.longest * short / long)
            short = functions.where(long > self.longest, limited, short)
            long = functions.minimum(long, float(self.longest))
        is_tall = width <= height
        return functions.where(is_tall, long, short), functions.where(is_tall, short, long)


@dataclass(frozen=True, slots=True, kw_only=True)
class SidesWithin(OutputSize):
    """The shorter side is ``shortest`` unless the longer one would exceed ``longest``: DETR's rule.

    Unlike ``ShorterSide`` it limits the shorter side before it rounds. Source: transformers 5.23,
    ``get_size_with_aspect_ratio``.
    """

    shortest: int
    longest: int

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"the shorter side to {self.shortest} unless the longer one would exceed {self.longest}"

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width."""
        shorter, longer = functions.minimum(height, width), functions.maximum(height, width)
        limited = longer / shorter * float(self.shortest) > self.longest
        # Not longest / (longer / shorter): that quotient would be rounded twice.
        side = functions.where(limited, shorter * float(self.longest) / longer, float(self.shortest))
        short = functions.rint(side)
        # The longer side follows from the shorter one before rounding.
        long = functions.where(short == shorter, longer, functions.floor(side * longer / shorter))
        is_tall = width < height
        return functions.where(is_tall, long, short), functions.where(is_tall, short, long)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside(OutputSize):
    """The largest size with the same aspect ratio that fits ``height`` and ``width``; smaller images grow.

    Sources: Ultralytics 8.3, ``LetterBox`` (half_even); transformers 5.23, ``get_image_size_for_max_height_width``
    (down) and SAM's ``_get_preprocess_shape`` (half_up).
    """

    height: int
    width: int
    rounding: SizeRounding

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"to fit {self.height}x{self.width}, the aspect ratio kept, rounded {self.rounding.text}"

    @property
    def least(self) -> int:
        """A narrow image may shrink to one pixel."""
        return 1

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width, at least 1."""
        scale = functions.minimum(self.height / height, self.width / width)
        tall, wide = (functions.maximum(self.rounding.apply(size * scale, functions), 1.0) for size in (height, width))
        return tall, wide


@dataclass(frozen=True, slots=True, kw_only=True)
class ByRatio(OutputSize):
    """Both sides divided by one ratio, so that the image fits ``height`` and ``width``, or ``covers`` them.

    Unlike ``Inside`` it divides by the ratio, which decides sizes near a half. Source: timm 1.0.31,
    ``ResizeKeepRatio`` with ``longest`` 1 (fits) or 0 (covers).
    """

    height: int
    width: int
    covers: bool

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"to {'cover' if self.covers else 'fit'} {self.height}x{self.width}, the aspect ratio kept"

    @property
    def least(self) -> int:
        """The smaller of both sides; a narrow image that fits may lose all pixels."""
        return min(self.height, self.width) if self.covers else 0

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width."""
        chosen = functions.minimum if self.covers else functions.maximum
        ratio = chosen(height / float(self.height), width / float(self.width))
        return functions.rint(height / ratio), functions.rint(width / ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class Multiple(OutputSize):
    """Height and width rounded to multiples of ``of_size``.

    Sources: transformers 5.23, GLPN (down) and DPT's padding (up); Ultralytics 8.3, ``LetterBox(auto=True)`` (up).
    """

    of_size: int
    rounding: SizeRounding

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"to multiples of {self.of_size}, rounded {self.rounding.text}"

    @property
    def least(self) -> int:
        """Rounded down, an image smaller than ``of_size`` has no pixels left."""
        return 0 if self.rounding is SizeRounding.DOWN else self.of_size

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width."""
        multiple = float(self.of_size)
        tall, wide = (self.rounding.apply(size / multiple, functions) * multiple for size in (height, width))
        return tall, wide


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestMultiple(OutputSize):
    """Near ``height`` and ``width``, as multiples of ``of_size``, by the scale nearer to 1: DPT's rule.

    Unless it ``keeps_ratio``, both sides have their own scale. Source: transformers 5.23,
    ``dpt.get_resize_output_image_size``.
    """

    height: int
    width: int
    of_size: int
    keeps_ratio: bool = True

    @property
    def text(self) -> str:
        """The rule in words."""
        ratio = ", the aspect ratio kept" if self.keeps_ratio else ""
        return f"near {self.height}x{self.width}{ratio}, to multiples of {self.of_size}"

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width."""
        tall, wide = self.height / height, self.width / width
        if self.keeps_ratio:
            # The scale that changes its side least, as in DPT.
            tall = wide = functions.where(functions.abs(1.0 - wide) < functions.abs(1.0 - tall), wide, tall)
        multiple = float(self.of_size)
        return functions.rint(height * tall / multiple) * multiple, functions.rint(width * wide / multiple) * multiple


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOfShorterSide(OutputSize):
    """A share of the shorter side, rounded down: Perceiver's crop.

    Source: transformers 5.23, ``center_crop``.
    """

    height: float
    width: float

    def __post_init__(self) -> None:
        for name, share in (("height", self.height), ("width", self.width)):
            if not share > 0:
                raise SpecError(f"{name} is {share}; expected a share of the shorter side, above 0")

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"{self.height:g} by {self.width:g} of the shorter side"

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width."""
        shorter = functions.minimum(height, width)
        return functions.floor(shorter * self.height), functions.floor(shorter * self.width)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedUp(OutputSize):
    """The size of another rule, rounded up to multiples of ``of_size``: MaskFormer and TextNet."""

    size: SizeRule
    of_size: int

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"{self.size.text}, then up to multiples of {self.of_size}"

    @property
    def fixed(self) -> tuple[int, int] | None:
        """The size if the other rule has one for every image."""
        if self.size.fixed is None:
            return None
        height, width = (int(size) for size in self.of(0.0, 0.0, NUMPY))
        return height, width

    @property
    def least(self) -> int:
        """One multiple, unless the other rule may leave no pixels."""
        return self.of_size if self.size.least else 0

    def of(self, height: Number, width: Number, functions: Functions) -> tuple[Number, Number]:
        """Return the output height and width."""
        multiple = Multiple(of_size=self.of_size, rounding=SizeRounding.UP)
        return multiple.of(*self.size.of(height, width, functions), functions)


SizeRule = (
    Exactly | ShorterSide | SidesWithin | Inside | ByRatio | Multiple | NearestMultiple | ShareOfShorterSide | RoundedUp
)
"""Any rule; a ``match`` over all of them fails in mypy where one is missing."""

RULES: tuple[type[SizeRule], ...] = get_args(SizeRule)
"""All rules, for readers of JSON."""


# Rules as source code: their formulas, run with expressions for numbers.


def _infix(form: str) -> Callable[[_Number, object], _Number]:
    """Return the method of an operator, which is written as ``form``."""
    return lambda number, other: _Number(form.format(number.text, _text(other)))


@dataclass(frozen=True, slots=True, eq=False)
class _Number:
    """An expression of float64, in Python or C++."""

    text: str

    __add__ = _infix("({} + {})")
    __mul__ = _infix("({} * {})")
    __rmul__ = _infix("({1} * {0})")
    __truediv__ = _infix("({} / {})")
    __rtruediv__ = _infix("({1} / {0})")
    __rsub__ = _infix("({1} - {0})")
    __lt__ = _infix("({} < {})")
    __le__ = _infix("({} <= {})")
    __gt__ = _infix("({} > {})")
    __eq__ = _infix("({} == {})")  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def _text(number: Any) -> str:
    return number.text if isinstance(number, _Number) else repr(float(number))


def _function(name: str) -> Callable[..., _Number]:
    return lambda expressions, *numbers: expressions.called(name, *numbers)


@dataclass(frozen=True, slots=True)
class Expressions:
    """NumPy's functions as expressions of a language, in the ``forms`` by name."""

    forms: Mapping[str, str]

    def called(self, name: str, *numbers: Any) -> _Number:
        """Return the value of a function."""
        return _Number(self.forms[name].format(*map(_text, numbers)))

    def rounded(self, rounding: SizeRounding, number: str) -> str:
        """Return an expression, rounded."""
        return _text(rounding.apply(_Number(number), self))

    floor, ceil, rint, abs = map(_function, ("floor", "ceil", "rint", "abs"))
    minimum, maximum, where = map(_function, ("minimum", "maximum", "where"))


@dataclass(frozen=True, slots=True)
class _Formula(Expressions):
    """A formula as lines, of which each declares a variable with the value of a function."""

    declaration: str
    lines: list[str] = field(default_factory=list)

    def called(self, name: str, *numbers: Any) -> _Number:
        """Return the variable of a function's value."""
        variable = _Number(f"v{len(self.lines)}")
        self.lines.append(self.declaration.format(variable.text, Expressions.called(self, name, *numbers).text))
        return variable


_PYTHON = {
    "floor": "math.floor({})",
    "ceil": "math.ceil({})",
    "rint": "round({})",
    "abs": "abs({})",
    "minimum": "min({}, {})",
    "maximum": "max({}, {})",
    "where": "{1} if {0} else {2}",
}
_C = {
    "floor": "std::floor({})",
    "ceil": "std::ceil({})",
    "rint": "std::nearbyint({})",
    "abs": "std::abs({})",
    "minimum": "std::min({}, {})",
    "maximum": "std::max({}, {})",
    "where": "{} ? {} : {}",
}
IN_PYTHON, IN_CPP = Expressions(_PYTHON), Expressions(_C)


def sized_in_python(rule: SizeRule, shape: str = "x.shape[:2]") -> Iterator[str]:
    """Yield lines that set ``height`` and ``width`` by a rule, from the variable ``shape``."""
    if rule.fixed is not None:
        yield "height, width = {}, {}".format(*rule.fixed)
        return
    yield f"height, width = {shape}"
    formula = _Formula(_PYTHON, "{} = {}")
    sizes = rule.of(_Number("height"), _Number("width"), formula)
    yield from formula.lines
    yield "height, width = int({}), int({})".format(*map(_text, sizes))


def sized_in_cpp(rule: SizeRule) -> Iterator[str]:
    """Yield lines of C++ that set ``height`` and ``width`` by a rule, from the image x."""
    formula = _Formula(_C, "const double {} = {};")
    sizes = rule.of(_Number("double(x.rows)"), _Number("double(x.cols)"), formula)
    yield from formula.lines
    for name, size in zip(("height", "width"), sizes, strict=True):
        yield f"const int {name} = int({_text(size)});"
