"""Pipelines as source code: Python on Pillow, OpenCV or torchvision, Python on tensors, and C++ on OpenCV.

The code needs its own libraries only, and serves deployments with the preprocessing outside the model. The tests run
it, and compare its bits with the pipeline's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ir_interp.errors import InexactError
from ir_interp.pipelines.pipeline import Pipeline

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
    body = [line for step in pipeline.steps for line in step.numpy_lines()]
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


_TORCHVISION = """\
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional"""


def torch(pipeline: Pipeline) -> str:
    """Return a module with a function ``preprocess`` of an image, a uint8 tensor [3, height, width].

    Raises InexactError for a resize of another library.
    """
    body = [line for step in pipeline.steps for line in step.torch_lines()]
    body.append("return x" if pipeline.layout == "nchw" else "return x.permute(1, 2, 0)")
    imports = ["import torch", *([_TORCHVISION] if pipeline.calls else [])]
    return module_text(pipeline, imports, "a uint8 RGB tensor [3, height, width]", body)


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
        f"    {line}" for step in pipeline.steps for line in ("{", *(f"    {line}" for line in step.cpp_lines()), "}")
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
