"""Pipelines as source code: Python on Pillow, OpenCV or torchvision, Python on tensors, and C++ on OpenCV.

The code needs its own libraries only, and serves deployments with the preprocessing outside the model. The tests run
it, and compare its bits with the pipeline's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np

from ir_interp.errors import InexactError
from ir_interp.pipelines.pipeline import (
    CentreCrop,
    Interpolate,
    Normalise,
    PadTo,
    Pipeline,
    Place,
    Product,
    Rescale,
    Resize,
    ReverseChannels,
    Scale,
)
from ir_interp.pipelines.rules import SizeRounding, SizeRule

OPENCV = {"nearest": "INTER_NEAREST", "linear": "INTER_LINEAR", "cubic": "INTER_CUBIC", "area": "INTER_AREA"}
_IMPORTS = {
    "pillow": "from PIL import Image",
    "opencv": "import cv2",
    "torchvision": "import torch\nfrom torchvision.transforms.v2 import InterpolationMode\n"
    "from torchvision.transforms.v2 import functional",
}


def numpy(pipeline: Pipeline) -> str:
    """Return a module with a function ``preprocess`` of an image, uint8 RGB [height, width, 3].

    Raises InexactError for a resize of another library.
    """
    return _of_libraries(pipeline, _IMPORTS)


def opencv(pipeline: Pipeline) -> str:
    """Return the same module with OpenCV as the only library beside NumPy."""
    return _of_libraries(pipeline, ("opencv",))


def _of_libraries(pipeline: Pipeline, known: Collection[str]) -> str:
    libraries = dict.fromkeys(call.like.partition(":")[0].partition("@")[0] for call in pipeline.calls)
    for library in libraries:
        if library not in known:
            raise InexactError(library, "Python", reason=f"expected resizes of {', '.join(known)}")
    body = [line for step in pipeline.steps for line in lines(step)]
    body.append("return np.ascontiguousarray(x.transpose(2, 0, 1))" if pipeline.layout == "nchw" else "return x")
    imports = ["import numpy as np", *(_IMPORTS[library] for library in libraries)]
    return module_text(pipeline, imports, "uint8 RGB [height, width, 3]", body)


def module_text(pipeline: Pipeline, imports: Sequence[str], image: str, body: Sequence[str]) -> str:
    """Return a module with the function ``preprocess`` of an ``image``, whose type and shape are in words."""
    standard = ["import math", ""] if any("math." in line for line in body) else []
    title = f'"""Return the input of a model for an image, {image}."""'
    origin = f"# {' '.join(pipeline.name.split()) or 'of a pipeline'}"  # a comment, since names are untrusted text
    function = ["def preprocess(x):", *(f"    {line}" for line in (title, origin, *body))]
    return "\n".join([*standard, *imports, "", "", *function, ""])


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
class _Expressions:
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
class _Formula(_Expressions):
    """A formula as lines, of which each declares a variable with the value of a function."""

    declaration: str
    lines: list[str] = field(default_factory=list)

    def called(self, name: str, *numbers: Any) -> _Number:
        """Return the variable of a function's value."""
        variable = _Number(f"v{len(self.lines)}")
        self.lines.append(self.declaration.format(variable.text, _Expressions.called(self, name, *numbers).text))
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
_IN_PYTHON, _IN_C = _Expressions(_PYTHON), _Expressions(_C)


@singledispatch
def lines(step: object) -> Iterator[str]:
    """Yield the lines of a step."""
    raise TypeError(f"no step: {step!r}")


@lines.register
def _(step: Resize) -> Iterator[str]:
    yield from sized(step.size)
    library, _, word = step.like.partition(":")
    word, *arguments = word.split(",")
    name = library.partition("@")[0]
    if name == "pillow" and not arguments:
        yield f"x = np.asarray(Image.fromarray(x).resize((width, height), Image.Resampling.{word.upper()}))"
    elif name == "opencv" and word in OPENCV and not arguments:
        yield f"x = cv2.resize(x, (width, height), interpolation=cv2.{OPENCV[word]})"
    elif name == "torchvision" and {argument.partition("=")[0] for argument in arguments} <= {"antialias"}:
        antialias = "antialias=false" not in arguments
        mode = word.upper().replace("-", "_")
        yield "planes = torch.from_numpy(np.ascontiguousarray(x.transpose(2, 0, 1)))"
        yield f"mode = InterpolationMode.{mode}"
        yield f"planes = functional.resize(planes, [height, width], interpolation=mode, antialias={antialias})"
        yield "x = planes.numpy().transpose(1, 2, 0)"
    else:
        raise InexactError(step.like, "Python", reason="no known call has these arguments")


@lines.register
def _(step: CentreCrop) -> Iterator[str]:
    yield from sized(step.size)
    yield "missing = [max(height - x.shape[0], 0), max(width - x.shape[1], 0)]"
    yield f"before = [{_IN_PYTHON.rounded(step.padding, 'count / 2')} for count in missing]"
    yield from _padding("[count - first for count, first in zip(missing, before)]", step.colour)
    starts = _IN_PYTHON.rounded(step.start, "(length - size) / 2")
    yield f"top, left = ({starts} for length, size in zip(x.shape, (height, width)))"
    yield "x = x[top : top + height, left : left + width]"


@lines.register
def _(step: PadTo) -> Iterator[str]:
    yield from sized(step.size)
    yield "rest = [height - x.shape[0], width - x.shape[1]]"
    yield f"before = [{'count // 2' if step.place is Place.CENTRE else '0'} for count in rest]"
    yield from _padding("[count - first for count, first in zip(rest, before)]", step.colour)


def _padding(after: str, colour: tuple[float, ...]) -> Iterator[str]:
    yield f"after = {after}"
    yield "padded = np.empty((x.shape[0] + before[0] + after[0], x.shape[1] + before[1] + after[1], 3), x.dtype)"
    yield f"padded[:] = np.array({list(colour)}).astype(x.dtype)"
    yield "padded[before[0] : before[0] + x.shape[0], before[1] : before[1] + x.shape[1]] = x"
    yield "x = padded"


@lines.register
def _(step: ReverseChannels) -> Iterator[str]:
    del step
    yield "x = np.ascontiguousarray(x[:, :, ::-1])"


@lines.register
def _(step: Rescale) -> Iterator[str]:
    if step.product is Product.FLOAT64:
        yield f"x = (x.astype(np.float64) * {step.factor!r}).astype(np.float32)"
    elif step.product is Product.FLOAT32:
        yield f"x = x.astype(np.float32) * np.float32({step.factor!r})"
    else:
        yield f"x = x.astype(np.float32) / np.float32({1 / step.factor!r})"
    if step.offset:
        yield f"x = x + np.float32({step.offset!r})"


@lines.register
def _(step: Normalise) -> Iterator[str]:
    yield f"x = x.astype(np.float32) - np.array({list(step.mean)}, np.float32)"
    yield f"x = x / np.array({list(step.deviation)}, np.float32)"


@lines.register
def _(step: Scale) -> Iterator[str]:
    yield f"x = x.astype(np.float32) * np.array({list(step.factors)}, np.float32)"


@lines.register
def _(step: Interpolate) -> Iterator[str]:
    raise InexactError(step.text, "Python", reason="only OpenVINO resizes this way")


def sized(rule: SizeRule, shape: str = "x.shape[:2]") -> Iterator[str]:
    """Yield lines that set ``height`` and ``width`` by a rule, from the variable ``shape``."""
    if rule.fixed is not None:
        yield "height, width = {}, {}".format(*rule.fixed)
        return
    yield f"height, width = {shape}"
    formula = _Formula(_PYTHON, "{} = {}")
    sizes = rule.of(_Number("height"), _Number("width"), formula)
    yield from formula.lines
    yield "height, width = int({}), int({})".format(*map(_text, sizes))


_TORCH = "torch"
_TORCHVISION = """\
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional"""


def torch(pipeline: Pipeline) -> str:
    """Return a module with a function ``preprocess`` of an image, a uint8 tensor [3, height, width].

    Raises InexactError for a resize of another library.
    """
    body = [line for step in pipeline.steps for line in torch_lines(step)]
    body.append("return x" if pipeline.layout == "nchw" else "return x.permute(1, 2, 0)")
    imports = ["import torch", *([_TORCHVISION] if pipeline.calls else [])]
    return module_text(pipeline, imports, "a uint8 RGB tensor [3, height, width]", body)


@singledispatch
def torch_lines(step: object) -> Iterator[str]:
    """Yield the lines of a step."""
    raise TypeError(f"no step: {step!r}")


@torch_lines.register
def _(step: Resize) -> Iterator[str]:
    library, _, call = step.like.partition(":")
    mode, *arguments = call.split(",")
    if library.partition("@")[0] != "torchvision" or not {argument.partition("=")[0] for argument in arguments} <= {
        "antialias"
    }:
        raise InexactError(step.like, _TORCH, reason="expected resizes of torchvision")
    yield from sized(step.size, "x.shape[-2:]")
    yield f"mode = InterpolationMode.{mode.upper().replace('-', '_')}"
    antialias = "antialias=false" not in arguments
    yield f"x = functional.resize(x, [height, width], interpolation=mode, antialias={antialias})"


@torch_lines.register
def _(step: CentreCrop) -> Iterator[str]:
    yield from sized(step.size, "x.shape[-2:]")
    yield "missing = [max(height - x.shape[-2], 0), max(width - x.shape[-1], 0)]"
    yield f"before = [{_IN_PYTHON.rounded(step.padding, 'count / 2')} for count in missing]"
    yield from _torch_padding("[count - first for count, first in zip(missing, before)]", step.colour)
    starts = _IN_PYTHON.rounded(step.start, "(length - size) / 2")
    yield f"top, left = ({starts} for length, size in zip(x.shape[-2:], (height, width)))"
    yield "x = x[:, top : top + height, left : left + width]"


@torch_lines.register
def _(step: PadTo) -> Iterator[str]:
    yield from sized(step.size, "x.shape[-2:]")
    yield "rest = [height - x.shape[-2], width - x.shape[-1]]"
    yield f"before = [{'count // 2' if step.place is Place.CENTRE else '0'} for count in rest]"
    yield from _torch_padding("[count - first for count, first in zip(rest, before)]", step.colour)


def _torch_padding(after: str, colour: tuple[float, ...]) -> Iterator[str]:
    yield f"after = {after}"
    yield "shape = (3, x.shape[-2] + before[0] + after[0], x.shape[-1] + before[1] + after[1])"
    yield f"padded = torch.tensor({list(colour)}).to(x.dtype).view(-1, 1, 1).expand(shape).clone()"
    yield "padded[:, before[0] : before[0] + x.shape[-2], before[1] : before[1] + x.shape[-1]] = x"
    yield "x = padded"


@torch_lines.register
def _(step: ReverseChannels) -> Iterator[str]:
    del step
    yield "x = x.flip(0)"


@torch_lines.register
def _(step: Rescale) -> Iterator[str]:
    if step.product is Product.FLOAT64:
        yield f"x = (x.double() * {step.factor!r}).float()"
    elif step.product is Product.FLOAT32:
        yield f"x = x.float() * {step.factor!r}"
    else:
        yield f"x = x.float() / torch.tensor({1 / step.factor!r})"
    if step.offset:
        yield f"x = x + {step.offset!r}"


@torch_lines.register
def _(step: Normalise) -> Iterator[str]:
    yield f"x = x.float() - torch.tensor({list(step.mean)}).view(-1, 1, 1)"
    yield f"x = x / torch.tensor({list(step.deviation)}).view(-1, 1, 1)"


@torch_lines.register
def _(step: Scale) -> Iterator[str]:
    yield f"x = x.float() * torch.tensor({list(step.factors)}).view(-1, 1, 1)"


@torch_lines.register
def _(step: Interpolate) -> Iterator[str]:
    raise InexactError(step.text, _TORCH, reason="only OpenVINO resizes this way")


_CPP = "C++"
_HEAD = """\
#include <algorithm>
#include <cmath>
#include <vector>

#include <opencv2/imgproc.hpp>

// Compile with -ffp-contract=off, so that every product is rounded.

"""
_BORDER = """\
static cv::Mat padded(const cv::Mat& x, int top, int bottom, int left, int right, const cv::Scalar& colour) {
    cv::Mat y;
    cv::copyMakeBorder(x, y, top, bottom, left, right, cv::BORDER_CONSTANT, colour);
    return y;
}

"""
_EACH = """\
template <typename Function>
static cv::Mat each(const cv::Mat& x, Function function) {
    cv::Mat y(x.rows, x.cols, CV_32FC3), f;
    x.convertTo(f, CV_32F);
    for (int row = 0; row < f.rows; ++row) {
        const float* from = f.ptr<float>(row);
        float* to = y.ptr<float>(row);
        for (int i = 0; i < f.cols * 3; ++i) to[i] = function(from[i], i % 3);
    }
    return y;
}

"""
_PLANES = """\
    cv::Mat y;
    x.convertTo(y, CV_32F);
    std::vector<float> result(3 * y.total());
    for (int row = 0; row < y.rows; ++row)
        for (int column = 0; column < y.cols; ++column)
            for (int channel = 0; channel < 3; ++channel)
                result[{place}] = y.ptr<float>(row)[column * 3 + channel];
    return result;
}}
"""
_PLACES = {
    "nchw": "(static_cast<size_t>(channel) * y.rows + row) * y.cols + column",
    "nhwc": "(static_cast<size_t>(row) * y.cols + column) * 3 + channel",
}


def cpp(pipeline: Pipeline) -> str:
    """Return a function ``preprocess`` of an image, CV_8UC3 in the order RGB; it returns the floats of the result.

    Raises InexactError for a resize of another library.
    """
    body = [
        f"    {line}" for step in pipeline.steps for line in ("{", *(f"    {line}" for line in cpp_lines(step)), "}")
    ]
    helpers = [text for text, name in ((_BORDER, "padded("), (_EACH, "each(")) if any(name in line for line in body)]
    origin = " ".join(pipeline.name.split()) or "a pipeline"
    comment = "".join(
        letter if letter.isascii() and letter.isprintable() and letter != "\\" else "?" for letter in origin
    )
    start = f"// The input of a model for an image, CV_8UC3 in the order RGB: {comment}\n"
    start += "std::vector<float> preprocess(cv::Mat x) {\n"
    return "".join(
        [_HEAD, *helpers, start, *(f"{line}\n" for line in body), _PLANES.format(place=_PLACES[pipeline.layout])]
    )


def _sized(rule: SizeRule) -> Iterator[str]:
    """Yield lines that set ``height`` and ``width`` by a rule."""
    formula = _Formula(_C, "const double {} = {};")
    sizes = rule.of(_Number("double(x.rows)"), _Number("double(x.cols)"), formula)
    yield from formula.lines
    for name, size in zip(("height", "width"), sizes, strict=True):
        yield f"const int {name} = int({_text(size)});"


@singledispatch
def cpp_lines(step: object) -> Iterator[str]:
    """Yield the lines of a step."""
    raise TypeError(f"no step: {step!r}")


@cpp_lines.register
def _(step: Resize) -> Iterator[str]:
    library, _, word = step.like.partition(":")
    if library.partition("@")[0] != "opencv" or word not in OPENCV:
        raise InexactError(step.like, _CPP, reason=f"expected resizes of opencv: {', '.join(OPENCV)}")
    yield from _sized(step.size)
    yield "cv::Mat y;"
    yield f"cv::resize(x, y, cv::Size(width, height), 0, 0, cv::{OPENCV[word]});"
    yield "x = y;"


@cpp_lines.register
def _(step: CentreCrop) -> Iterator[str]:
    yield from _sized(step.size)
    yield "const int down = std::max(height - x.rows, 0), across = std::max(width - x.cols, 0);"
    halves = (_IN_C.rounded(step.padding, f"{count} / 2.0") for count in ("down", "across"))
    yield "const int above = int({}), before = int({});".format(*halves)
    yield f"x = padded(x, above, down - above, before, across - before, {_colour(step.colour)});"
    starts = (_IN_C.rounded(step.start, f"({count}) / 2.0") for count in ("x.rows - height", "x.cols - width"))
    yield "const int top = int({}), left = int({});".format(*starts)
    yield "x = x(cv::Rect(left, top, width, height)).clone();"


@cpp_lines.register
def _(step: PadTo) -> Iterator[str]:
    yield from _sized(step.size)
    yield "const int down = height - x.rows, across = width - x.cols;"
    share = " / 2" if step.place is Place.CENTRE else " * 0"
    yield f"const int above = down{share}, before = across{share};"
    yield f"x = padded(x, above, down - above, before, across - before, {_colour(step.colour)});"


def _colour(colour: tuple[float, ...]) -> str:
    return f"cv::Scalar({', '.join(map(repr, colour * 3 if len(colour) == 1 else colour))})"


@cpp_lines.register
def _(step: ReverseChannels) -> Iterator[str]:
    del step
    yield "cv::Mat y;"
    yield "cv::cvtColor(x, y, cv::COLOR_RGB2BGR);"
    yield "x = y;"


@cpp_lines.register
def _(step: Rescale) -> Iterator[str]:
    factor = {
        Product.FLOAT64: f"float(double(p) * {step.factor!r})",
        Product.FLOAT32: f"p * {_single(step.factor)}",
        Product.QUOTIENT: f"p / {_single(1 / step.factor)}",
    }[step.product]
    offset = f" + {_single(step.offset)}" if step.offset else ""
    yield f"x = each(x, [](float p, int) {{ return {factor}{offset}; }});"


@cpp_lines.register
def _(step: Normalise) -> Iterator[str]:
    yield from _tables(mean=step.mean, deviation=step.deviation)
    yield "x = each(x, [](float p, int channel) { return (p - mean[channel]) / deviation[channel]; });"


@cpp_lines.register
def _(step: Scale) -> Iterator[str]:
    yield from _tables(factor=step.factors)
    yield "x = each(x, [](float p, int channel) { return p * factor[channel]; });"


@cpp_lines.register
def _(step: Interpolate) -> Iterator[str]:
    raise InexactError(step.text, _CPP, reason="only OpenVINO resizes this way")


def _tables(**numbers: tuple[float, ...]) -> Iterator[str]:
    for name, values in numbers.items():
        listed = ", ".join(map(_single, values * 3 if len(values) == 1 else values))
        yield f"static const float {name}[] = {{{listed}}};"


def _single(number: float) -> str:
    """Return a float32 as a literal."""
    return f"{float(np.float32(number))!r}f"
