"""Boxes that are rotated, and regions sampled between pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.layers import Configuration, Draw, check, configurations, constant, layer
from tests.support.runtimes import Array


def boxes(draw: Draw, shape: tuple[int, ...], side: float) -> Array:
    """Return centres, lengths and angles."""
    places, lengths = draw.random.random((*shape, 2)) * side, draw.random.uniform(0.1, 0.8, (*shape, 2)) * side
    angles = draw.random.uniform(-4, 4, (*shape, 1)) if draw.chance(0.8) else np.zeros((*shape, 1))
    return np.concatenate([places, lengths, angles], axis=-1).astype(np.float32)


def suppression(draw: Draw) -> Any:
    images, classes, count = draw.between(1, 3), draw.between(1, 3), draw.between(1, 12)
    rotated = boxes(draw, (images, count), draw.among(1.0, 40.0))
    if draw.chance(0.3):
        rotated[:, -1] = rotated[:, 0]  # twice the same
    places = draw.random.permutation(images * classes * count)
    scores = ((places + 1) / (len(places) + 1)).reshape(images, classes, count).astype(np.float32)
    inputs = [draw.input(rotated), draw.input(scores), constant(draw.among(1, 3, 100), np.int64)]
    inputs += [draw.either(np.array(each, np.float32)) for each in (draw.among(0.1, 0.3, 0.6), draw.among(0, 0.3))]
    stated = {
        "sort_result_descending": draw.chance(),
        "output_type": draw.among("i32", "i64"),
        "clockwise": draw.chance(),
    }
    return layer("NMSRotated", 13, *inputs, **stated)


def roi_align(draw: Draw) -> Any:
    images, depth, rows, columns = draw.integers(4, 1, 3) + np.array([0, 0, 4, 4])
    scale, count = draw.among(1.0, 0.5, 0.0625), draw.between(1, 5)
    regions = boxes(draw, (count,), float(columns / scale))
    stated = {
        "pooled_h": draw.between(1, 3),
        "pooled_w": draw.between(1, 3),
        "sampling_ratio": draw.between(0, 3),
        "spatial_scale": scale,
        "clockwise_mode": draw.chance(),
    }
    x = draw.numbers([int(images), int(depth), int(rows), int(columns)])
    return layer(
        "ROIAlignRotated",
        15,
        x,
        draw.input(regions),
        draw.either(draw.values([count], np.int64, 0, images - 1)),
        **stated,
    )


def corners(draw: Draw, images: int, width: float, height: float) -> Array:
    """Return rows of image, and corners, of which some lie outside."""
    count = draw.between(1, 5)
    ends = np.sort(draw.random.uniform(-0.2, 1.1, (count, 2, 2)), axis=1).reshape(count, 4)
    return np.concatenate(
        [draw.values([count, 1], np.int64, 0, images - 1), ends * [width, height, width, height]], axis=1
    ).astype(np.float32)


def deformable(draw: Draw) -> Any:
    images, depth, size, part = draw.integers(4, 1, 3)
    classes = draw.among(1, depth)
    rows, columns = draw.integers(2, 4, 8)
    scale = draw.among(1.0, 0.5, 0.0625)
    regions = corners(draw, images, columns / scale, rows / scale)
    if draw.chance(0.2):
        regions[-1, 0] = -1
    inputs = [draw.numbers([images, depth * size**2, rows, columns]), draw.input(regions)]
    if draw.chance(0.7):
        inputs.append(draw.numbers([len(regions), classes * 2, part, part]))
    stated = {
        "output_dim": depth,
        "group_size": size,
        "spatial_bins_x": draw.between(1, 3),
        "spatial_bins_y": draw.between(1, 3),
        "spatial_scale": scale,
        "mode": "bilinear_deformable",
        "trans_std": draw.among(1.0, 0.1),
        "part_size": part,
    }
    return layer("DeformablePSROIPooling", 1, *inputs, **stated)


def psroi_samples(draw: Draw) -> Any:
    images, depth, size, across, down = draw.integers(5, 1, 3)
    rows, columns = draw.integers(2, 4, 8)
    stated = {
        "output_dim": depth,
        "group_size": size,
        "spatial_bins_x": across,
        "spatial_bins_y": down,
        "spatial_scale": draw.among(1.0, 0.9),
        "mode": "bilinear",
    }
    x = draw.numbers([images, depth * across * down, rows, columns])
    return layer("PSROIPooling", 1, x, draw.input(corners(draw, images, 1, 1)), **stated)


def roi_samples(draw: Draw) -> Any:
    images, depth, height, width = draw.integers(4, 1, 3)
    x = draw.numbers([images, depth, *draw.integers(2, 4, 8)])
    regions = corners(draw, images, 1, 1)
    regions[0, 1:] = 0, 0, 1, 1  # the whole map, to its end
    stated = {"method": "bilinear", "pooled_h": height, "pooled_w": width}
    return layer("ROIPooling", 2, x, draw.input(regions), spatial_scale=draw.among(1.0, 0.5), **stated)


TABLE: dict[str, Configuration] = {
    "NMSRotated": suppression,
    "ROIAlignRotated": roi_align,
    "DeformablePSROIPooling": deformable,
    "PSROIPooling-bilinear": psroi_samples,
    "ROIPooling-bilinear": roi_samples,
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("configuration", "seed"), configurations(TABLE))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)
