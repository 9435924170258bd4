"""Pipelines as C++ code that needs OpenCV only, for images that OpenCV resizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np

from ir_interp.errors import InexactError
from ir_interp.pipelines.openvino_steps import Interpolate, Scale
from ir_interp.pipelines.output_size import OutputSize, SizeRounding
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.source_code import OPENCV
from ir_interp.pipelines.steps import CentreCrop, Normalise, PadTo, Place, Product, Rescale, Resize, ReverseChannels

_TARGET = "C++"
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
_ROUNDED = {
    SizeRounding.DOWN: "std::floor({})",
    SizeRounding.UP: "std::ceil({})",
    SizeRounding.HALF_UP: "std::floor({} + 0.5)",
    SizeRounding.HALF_EVEN: "std::nearbyint({})",
}
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
    body = [f"    {line}" for step in pipeline.steps for line in ("{", *(f"    {line}" for line in lines(step)), "}")]
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


def _infix(form: str) -> Callable[[_Number, Any], _Number]:
    """Return the method of an operator, which is written as ``form``."""
    return lambda number, other: _Number(form.format(number.text, _text(other)))


@dataclass(frozen=True, slots=True, eq=False)
class _Number:
    """A float64 expression."""

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


def _variable(form: str) -> Callable[..., _Number]:
    """Return the method of a function of NumPy, whose results are variables with the value ``form``."""

    def variable(formula: _Formula, *numbers: Any) -> _Number:
        name = f"v{len(formula.lines)}"
        formula.lines.append(f"const double {name} = {form.format(*map(_text, numbers))};")
        return _Number(name)

    return variable


@dataclass(frozen=True, slots=True)
class _Formula:
    """NumPy's functions as lines of C++."""

    lines: list[str] = field(default_factory=list)

    floor = _variable("std::floor({})")
    ceil = _variable("std::ceil({})")
    rint = _variable("std::nearbyint({})")
    abs = _variable("std::abs({})")
    minimum = _variable("std::min({}, {})")
    maximum = _variable("std::max({}, {})")
    where = _variable("{} ? {} : {}")


def _sized(rule: OutputSize) -> Iterator[str]:
    """Yield lines that set ``height`` and ``width`` by a rule."""
    formula = _Formula()
    sizes = rule.of(_Number("double(x.rows)"), _Number("double(x.cols)"), formula)
    yield from formula.lines
    for name, size in zip(("height", "width"), sizes, strict=True):
        yield f"const int {name} = int({_text(size)});"


@singledispatch
def lines(step: Any) -> Iterator[str]:
    """Yield the lines of a step."""
    raise TypeError(f"no step: {step!r}")


@lines.register
def _(step: Resize) -> Iterator[str]:
    library, _, word = step.like.partition(":")
    if library.partition("@")[0] != "opencv" or word not in OPENCV:
        raise InexactError(step.like, _TARGET, reason=f"expected resizes of opencv: {', '.join(OPENCV)}")
    yield from _sized(step.size)
    yield "cv::Mat y;"
    yield f"cv::resize(x, y, cv::Size(width, height), 0, 0, cv::{OPENCV[word]});"
    yield "x = y;"


@lines.register
def _(step: CentreCrop) -> Iterator[str]:
    yield from _sized(step.size)
    yield "const int down = std::max(height - x.rows, 0), across = std::max(width - x.cols, 0);"
    halves = (_ROUNDED[step.padding].format(f"{count} / 2.0") for count in ("down", "across"))
    yield "const int above = int({}), before = int({});".format(*halves)
    yield f"x = padded(x, above, down - above, before, across - before, {_colour(step.colour)});"
    starts = (_ROUNDED[step.start].format(f"({count}) / 2.0") for count in ("x.rows - height", "x.cols - width"))
    yield "const int top = int({}), left = int({});".format(*starts)
    yield "x = x(cv::Rect(left, top, width, height)).clone();"


@lines.register
def _(step: PadTo) -> Iterator[str]:
    yield from _sized(step.size)
    yield "const int down = height - x.rows, across = width - x.cols;"
    share = " / 2" if step.place is Place.CENTRE else " * 0"
    yield f"const int above = down{share}, before = across{share};"
    yield f"x = padded(x, above, down - above, before, across - before, {_colour(step.colour)});"


def _colour(colour: tuple[float, ...]) -> str:
    return f"cv::Scalar({', '.join(map(repr, colour * 3 if len(colour) == 1 else colour))})"


@lines.register
def _(step: ReverseChannels) -> Iterator[str]:
    del step
    yield "cv::Mat y;"
    yield "cv::cvtColor(x, y, cv::COLOR_RGB2BGR);"
    yield "x = y;"


@lines.register
def _(step: Rescale) -> Iterator[str]:
    factor = {
        Product.FLOAT64: f"float(double(p) * {step.factor!r})",
        Product.FLOAT32: f"p * {_single(step.factor)}",
        Product.QUOTIENT: f"p / {_single(1 / step.factor)}",
    }[step.product]
    offset = f" + {_single(step.offset)}" if step.offset else ""
    yield f"x = each(x, [](float p, int) {{ return {factor}{offset}; }});"


@lines.register
def _(step: Normalise) -> Iterator[str]:
    yield from _tables(mean=step.mean, deviation=step.deviation)
    yield "x = each(x, [](float p, int channel) { return (p - mean[channel]) / deviation[channel]; });"


@lines.register
def _(step: Scale) -> Iterator[str]:
    yield from _tables(factor=step.factors)
    yield "x = each(x, [](float p, int channel) { return p * factor[channel]; });"


@lines.register
def _(step: Interpolate) -> Iterator[str]:
    raise InexactError(step.text, _TARGET, reason="only OpenVINO resizes this way")


def _tables(**numbers: tuple[float, ...]) -> Iterator[str]:
    for name, values in numbers.items():
        listed = ", ".join(map(_single, values * 3 if len(values) == 1 else values))
        yield f"static const float {name}[] = {{{listed}}};"


def _single(number: float) -> str:
    """Return a float32 as a literal."""
    return f"{float(np.float32(number))!r}f"
