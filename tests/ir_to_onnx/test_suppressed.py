"""Layers that leave boxes out because they overlap better ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.layers import Configuration, Draw, check, configurations, constant, layer
from tests.support.runtimes import Array


def corners(draw: Draw, shape: tuple[int, ...], side: float) -> Array:
    """Return boxes of which many overlap."""
    centres, halves = draw.random.random((*shape, 2)) * side, draw.random.uniform(0.1, 0.4, (*shape, 2)) * side
    return np.concatenate([centres - halves, centres + halves], axis=-1).astype(np.float32)


def scores(draw: Draw, shape: tuple[int, ...]) -> Array:
    """Return scores of which no two are equal."""
    count = int(np.prod(shape))
    return ((draw.random.permutation(count) + 1) / (count + 1)).reshape(shape).astype(np.float32)


def generate_proposals(draw: Draw) -> Any:
    images, anchors, rows, columns = draw.integers(4, 1, 4)
    side = draw.among(20.0, 60.0)
    numbers = draw.among([side, side * 0.8, 1.0], [side, side, 2.0], [side, side * 1.2, 1.5, 1.0])
    info = np.array([numbers] * images, np.float32) + np.arange(images, dtype=np.float32)[:, None] * [
        1,
        2,
        *[0] * (len(numbers) - 2),
    ]
    stated = {
        "min_size": draw.among(0.0, 1.0, 5.0),
        "nms_threshold": draw.among(0.1, 0.3, 0.7),
        "pre_nms_count": draw.among(5, 20, 1000),
        "post_nms_count": draw.among(2, 5, 1000),
        "normalized": draw.chance(),
        "nms_eta": 1.0,
        "roi_num_type": draw.among("i32", "i64"),
    }
    inputs = [
        draw.input(info.astype(np.float32)),
        draw.either(corners(draw, (rows, columns, anchors), side)),
        draw.numbers([images, anchors * 4, rows, columns], low=-0.7, high=0.7),
        draw.input(scores(draw, (images, anchors, rows, columns))),
    ]
    return layer("GenerateProposals", 9, *inputs, **stated)


def single_image(draw: Draw) -> Any:
    anchors, rows, columns = draw.integers(3, 1, 4)
    side = draw.among(20.0, 60.0)
    most = draw.among(2, 5, 40)
    stated = {
        "min_size": 5.0 if most == 2 else 1.0,  # the scores of boxes that are too small are all 0: their order is open
        "nms_threshold": draw.among(0.1, 0.3, 0.7),
        "pre_nms_count": draw.among(5, 20, 1000),
        "post_nms_count": most,
    }
    inputs = [
        draw.input(np.array([side, side * 0.8, 1], np.float32)),
        draw.either(corners(draw, (rows * columns * anchors,), side)),
        draw.numbers([anchors * 4, rows, columns], low=-0.7, high=0.7),
        draw.input(scores(draw, (anchors, rows, columns))),
    ]
    return layer("ExperimentalDetectronGenerateProposalsSingleImage", 6, *inputs, **stated)


def detections(draw: Draw) -> Any:
    regions, classes = draw.between(1, 10), draw.between(2, 5)
    boxes = corners(draw, (regions,), draw.among(10.0, 50.0))
    if draw.chance():
        boxes[0, 2] = boxes[0, 0]  # no area
    stated = {
        "score_threshold": draw.among(0.0, 0.3),
        "nms_threshold": draw.among(0.2, 0.5),
        "num_classes": classes,
        "post_nms_count": draw.among(2, 100),
        "max_detections_per_image": draw.among(3, 10, 100),
        "class_agnostic_box_regression": False,
        "max_delta_log_wh": draw.among(0.2, 4.1),
        "deltas_weights": draw.among([1.0, 1.0, 1.0, 1.0], [10.0, 10.0, 5.0, 5.0]),
    }
    inputs = [
        draw.input(boxes, open_axes=[0] if draw.chance(0.3) else []),
        draw.numbers([regions, classes * 4], low=-0.7, high=0.7),
        draw.input(scores(draw, (regions, classes))),
        constant([[50, 50, 1]], np.float32),
    ]
    return layer("ExperimentalDetectronDetectionOutput", 6, *inputs, **stated)


def matrix_nms(draw: Draw) -> Any:
    images, classes, count = draw.between(1, 3), draw.between(1, 4), draw.between(1, 12)
    normalized = draw.chance()
    stated = {
        "sort_result_type": draw.among("classid", "score", "none"),
        "sort_result_across_batch": draw.chance(),
        "output_type": draw.among("i32", "i64"),
        "score_threshold": draw.among(0.0, 0.2),
        "nms_top_k": draw.among(-1, 3, 100),
        "keep_top_k": draw.among(-1, 4, 100),
        "background_class": draw.among(-1, 0) if classes > 1 else -1,  # without any class the plugin dies
        "decay_function": draw.among("gaussian", "linear"),
        "gaussian_sigma": draw.among(2.0, 0.5),
        "post_threshold": draw.among(0.0, 0.1),
        "normalized": normalized,
    }
    boxes = corners(draw, (images, count), 1.0 if normalized else 30.0)
    if draw.chance(0.3):
        boxes[:, -1] = boxes[:, 0]  # twice the same
        boxes[:, 0, 2] = boxes[:, 0, 0]  # no area
    return layer("MatrixNms", 8, draw.input(boxes), draw.input(scores(draw, (images, classes, count))), **stated)


TABLE: dict[str, Configuration] = {
    "GenerateProposals": generate_proposals,
    "ExperimentalDetectronGenerateProposalsSingleImage": single_image,
    "ExperimentalDetectronDetectionOutput": detections,
    "MatrixNms": matrix_nms,
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("configuration", "seed"), configurations(TABLE))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)
