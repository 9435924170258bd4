"""OpenCV's DNN module: it resizes by the ratio of lengths, and leaves out what it does not know (5.0)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..images import BY_RATIO, NO_ANTIALIAS, NO_SYMMETRIC, image_outcome
from . import OtherRuntime


def _run(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import cv2

    net = cv2.dnn.readNetFromONNX(model)
    net.setInput(x)
    return np.array(net.forward())


RUNTIME = OtherRuntime(
    name="opencv-dnn",
    title="OpenCV DNN",
    version="5.0",
    package="cv2",
    distribution="opencv-python-headless",
    outcome=partial(image_outcome, readings=(BY_RATIO, NO_ANTIALIAS, NO_SYMMETRIC)),
    run=_run,
)
