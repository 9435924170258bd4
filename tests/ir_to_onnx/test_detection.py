"""What detectors end in: prior boxes, regions, suppression of boxes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from openvino import opset13 as ops

from tests.support.layers import Configuration, Draw, check, configurations, constant, layer


def shifted(draw: Draw, *priors: Any) -> list[Any]:
    """Return constants added to an input, for a model must have one."""
    return [ops.add(prior, draw.numbers([1])) for prior in priors]


def reals(draw: Draw, count: int, low: float, high: float) -> Any:
    return draw.random.uniform(low, high, count).astype(np.float32)


def sizes(draw: Draw) -> tuple[Any, Any]:
    return constant(draw.integers(2, 1, 5), np.int64), constant(draw.integers(2, 20, 90), np.int64)


def prior_box(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        count = draw.between(1, 3)
        smallest, scaled = reals(draw, count, 5, 30), draw.chance(0.7)
        stated: dict[str, Any] = {
            "min_size": smallest if scaled else smallest / 40,  # of the image's height
            "max_size": smallest * 2 if scaled and draw.chance() else np.zeros(0, np.float32),
            "aspect_ratio": np.array(draw.among([], [2], [1, 2], [2, 0.5], [1.5, 3]), np.float32),
            "flip": draw.chance(),
            "clip": draw.chance(),
            "step": draw.among(0.0, 8.0, 12.5) if scaled else draw.among(0.0, 0.2, -1.0),
            "offset": draw.among(0.0, 0.5),
            "variance": np.array(draw.among([], [0.2], [0.1, 0.1, 0.2, 0.2]), np.float32),
            "scale_all_sizes": scaled,
        }
        if draw.chance(0.3):
            none, ratio = np.zeros(0, np.float32), draw.chance()
            stated |= {"fixed_size": reals(draw, count, 4, 30), "density": reals(draw, count, 1, 4).round()}
            stated |= {"fixed_ratio": reals(draw, 1, 0.5, 2) if ratio else none, "min_size": none, "max_size": none}
            stated["aspect_ratio"] = none if ratio else stated["aspect_ratio"]
        if version == 8:
            stated["min_max_aspect_ratios_order"] = draw.chance()
        return shifted(draw, layer("PriorBox", version, *sizes(draw), **stated))

    return draw_layer


def prior_box_clustered(draw: Draw) -> Any:
    count, step = draw.between(1, 3), draw.among(0.0, 8.0)
    stated = {
        "width": reals(draw, count, 5, 40),
        "height": reals(draw, count, 5, 40),
        "clip": draw.chance(),
        "step": step,
        "step_w": draw.among(0.0, 16.0),
        "step_h": draw.among(0.0, 9.5),
        "offset": draw.among(0.0, 0.5),
        "variance": np.array(draw.among([], [0.2], [0.1, 0.1, 0.2, 0.2]), np.float32),
    }
    return shifted(draw, layer("PriorBoxClustered", 1, *sizes(draw), **stated))


def suppression(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        batch, classes, count = [*draw.integers(2, 1, 3), draw.between(1, 8)]
        boxes = draw.random.random((batch, count, 4)).astype(np.float32)
        overlap = np.array(draw.among(0, 0.1, 0.5, 2), np.float32)
        boxes = (boxes * 4).round() if overlap == 0.5 else boxes  # many overlap by just that
        scores = draw.random.random((batch, classes, count)).astype(np.float32).round(draw.among(1, 7))
        limit = np.array(draw.between(1, 5), draw.among(np.int32, np.int64)).reshape(
            draw.among([], [1]) if version > 4 else []
        )
        inputs = [draw.input(boxes), draw.input(scores), draw.either(limit)]
        inputs += [draw.either(overlap) if overlap == np.float32(0.1) else constant(overlap)]
        inputs += [draw.either(np.array(draw.among(0, 0.3), np.float32))]
        stated: dict[str, Any] = {"box_encoding": draw.among("corner", "center")}
        stated["sort_result_descending"] = draw.chance()
        if version > 1:
            stated["output_type"] = draw.among("i32", "i64")
        return layer("NonMaxSuppression", version, *inputs, **stated)

    return draw_layer


def region_yolo(draw: Draw) -> Any:
    batch, rows, columns, classes, anchors = draw.integers(5, 1, 4)
    soft = draw.chance()
    mask = [] if soft else list(range(anchors))
    stated = {"coords": 4, "classes": classes, "num": anchors + (not soft), "do_softmax": soft, "mask": mask}
    axis = draw.between(1, 3)
    stated |= {"axis": axis, "end_axis": draw.between(axis, 3), "anchors": np.ones(4, np.float32)}
    return layer("RegionYolo", 1, draw.numbers([batch, anchors * (5 + classes), rows, columns]), **stated)


def reorg_yolo(draw: Draw) -> Any:
    stride = draw.between(1, 3)
    batch, depth, rows, columns = draw.integers(4, 1, 3)
    shape = [batch, depth * stride**2, rows * stride, columns * stride]
    return ops.reorg_yolo(draw.numbers(shape), [stride])


def rois(draw: Draw, batch: int, width: float, height: float) -> tuple[Any, Any]:
    """Return corners of regions, and the images that they lie in."""
    count = draw.between(1, 5)
    corners = np.sort(draw.random.random((count, 2, 2)), axis=1).reshape(count, 4) * [width, height, width, height]
    return corners.astype(np.float32), draw.values([count], np.int32, 0, batch - 1)


def roi_pooling(draw: Draw) -> Any:
    batch, depth, rows, columns = draw.integers(4, 1, 3) + np.array([0, 0, 4, 4])
    scale = draw.among(1.0, 0.5, 0.0625)
    corners, images = rois(draw, batch, (columns - 1) / scale, (rows - 1) / scale)
    regions = np.concatenate([images[:, None].astype(np.float32), corners.round(draw.among(0, 3))], axis=1)
    stated: dict[str, Any] = {"method": "max"}
    for name in draw.among(["output_size"], ["output_roi"], ["pooled"], ["output_size", "output_roi", "pooled"]):
        height, width = draw.integers(2, 1, 3)
        stated |= {"pooled_h": height, "pooled_w": width} if name == "pooled" else {name: [height, width]}
    x = draw.numbers([int(batch), int(depth), int(rows), int(columns)])
    return layer("ROIPooling", 2, x, draw.input(regions), spatial_scale=scale, **stated)


def roi_align(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        batch, depth = draw.integers(2, 1, 3)
        rows, columns = draw.integers(2, 4, 8)
        scale = draw.among(1.0, 0.5, 0.0625)
        corners, images = rois(draw, batch, columns / scale, rows / scale)
        stated = {"pooled_h": draw.between(1, 4), "pooled_w": draw.between(1, 4), "spatial_scale": scale}
        mode = draw.among("avg", "max")
        stated |= {"sampling_ratio": draw.between(int(mode == "max"), 3), "mode": mode}
        if version == 9:
            stated["aligned_mode"] = draw.among("asymmetric", "half_pixel", "half_pixel_for_nn")
        x = draw.numbers([batch, depth, rows, columns])
        return layer("ROIAlign", version, x, draw.input(corners), draw.input(images), **stated)

    return draw_layer


def detection_output(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        images, priors, classes = draw.between(1, 3), draw.between(1, 12), draw.between(2, 4)
        encoded = draw.chance(0.3)
        reach = draw.among(0.0, 0.5)
        moves = draw.numbers([images, priors * 4], low=-reach, high=reach)
        corners = np.sort(draw.random.random((draw.among(1, images), priors, 2, 2)), axis=2).reshape(-1, 1, priors * 4)
        corners = corners if reach else (corners * 4).round() / 4  # many overlap by just 0.5
        variances = np.broadcast_to(np.tile([0.1, 0.1, 0.2, 0.2], priors), corners.shape)
        held = corners if encoded else np.concatenate([corners, variances], axis=1)
        stated = {
            "background_label_id": draw.among(0, classes - 1),
            "top_k": draw.among(-1, 3, 100),
            "keep_top_k": [draw.among(2, 5, 30)],
            "code_type": f"caffe.PriorBoxParameter.{draw.among('CORNER', 'CENTER_SIZE')}",
            "confidence_threshold": draw.among(0.0, 0.3, 2.0),
            "nms_threshold": draw.among(0.2, 0.5),
            "normalized": True,
            "share_location": True,
            "variance_encoded_in_target": encoded,
            "clip_before_nms": draw.chance(0.3),
            "clip_after_nms": draw.chance(0.3),
        }
        stated |= {"num_classes": classes} if version == 1 else {}
        scores = draw.numbers([images, priors * classes], low=0, high=1)
        return layer("DetectionOutput", version, moves, scores, draw.either(held.astype(np.float32)), **stated)

    return draw_layer


def psroi_pooling(draw: Draw) -> Any:
    images, depth, size = draw.integers(3, 1, 3)
    rows, columns = draw.integers(2, 4, 8)
    scale = draw.among(1.0, 0.5, 0.0625)
    corners, places = rois(draw, images, columns / scale, rows / scale)
    regions = np.concatenate([places[:, None].astype(np.float32), corners], axis=1)
    stated = {"output_dim": depth, "group_size": size, "spatial_bins_x": 1, "spatial_bins_y": 1, "mode": "average"}
    x = draw.numbers([images, depth * size**2, rows, columns])
    return layer("PSROIPooling", 1, x, draw.input(regions), spatial_scale=scale, **stated)


def proposal(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        rows, columns = draw.integers(2, 4, 6)  # of few boxes OpenVINO's CPU plugin dies
        ratios, scales = reals(draw, draw.between(1, 3), 0.5, 2), reals(draw, draw.between(1, 2), 1, 4)
        count = len(ratios) * len(scales)
        info = draw.among([70, 60, 1], [50, 65, 1, 1.5], [90, 90, 2])
        info = np.array(info, np.float32)
        scores = draw.numbers([1, 2 * count, rows, columns], low=0, high=1)
        moves = draw.numbers([1, 4 * count, rows, columns], low=-0.5, high=0.5)
        stated: dict[str, Any] = {
            "base_size": draw.among(16, 8),
            "pre_nms_topn": draw.among(10, 1000),
            "post_nms_topn": draw.among(3, 8, 30),
            "nms_thresh": draw.among(0.3, 0.7),
            "feat_stride": draw.among(16, 12),
            "min_size": 1,
            "ratio": ratios,
            "scale": scales,
            "clip_before_nms": draw.chance(0.7),
            "clip_after_nms": draw.chance(0.3),
            "normalize": draw.chance(0.3),
            "box_size_scale": draw.among(1.0, 2.0),
            "box_coordinate_scale": draw.among(1.0, 4.0),
            "framework": "",
        }
        if stated["post_nms_topn"] == 3:  # the scores of boxes that are too small are all 0, and their order is open
            stated["min_size"] = 6
        made = layer("Proposal", version, scores, moves, draw.either(info), **stated)
        return [made.output(0)]  # of the scores OpenVINO sets those of boxes only

    return draw_layer


def multiclass(version: int) -> Configuration:
    def draw_layer(draw: Draw) -> Any:
        images, classes, count = draw.between(1, 3), draw.between(1, 4), draw.between(1, 8)
        grouped = version > 8 and draw.chance(0.4)
        boxes = draw.random.random((classes if grouped else images, count, 2, 2))
        boxes = draw.among(boxes, np.sort(boxes, axis=2)).reshape(-1, count, 4)
        overlap = draw.among(0.0, 0.2, 0.5, 0.8)
        normalized = draw.chance(0.7)
        boxes = (boxes * 4).round() if overlap == 0.5 else boxes if normalized else boxes * 8  # many overlap by just so
        stated = {
            "sort_result_type": draw.among("classid", "score", "none"),
            "sort_result_across_batch": draw.chance(),
            "output_type": draw.among("i32", "i64"),
            "iou_threshold": overlap,
            "score_threshold": draw.among(0.0, 0.25),
            "nms_top_k": draw.among(-1, 3),
            "keep_top_k": draw.among(-1, 4),
            "background_class": draw.among(-1, 0),
            "normalized": normalized,
            "nms_eta": draw.among(1.0, 0.75),
        }
        scores = draw.numbers([classes, count] if grouped else [images, classes, count], low=0, high=1)
        inputs = [draw.input(boxes.astype(np.float32)), scores]
        if grouped:
            each = np.diff(np.sort(np.r_[0, draw.random.integers(0, count + 1, images - 1), count]))
            inputs.append(draw.input(each.astype(np.int64)))
        return layer("MulticlassNms", version, *inputs, **stated)

    return draw_layer


def prior_grid(draw: Draw) -> Any:
    rows, columns = draw.integers(2, 1, 5)
    maps = [draw.numbers([1, 2, *lengths]) for lengths in ([rows, columns], draw.integers(2, 30, 60))]
    stated: dict[str, Any] = {"flatten": draw.chance(), "h": draw.among(0, rows), "w": draw.among(0, columns)}
    stated |= {"stride_x": draw.among(0.0, 8.0), "stride_y": draw.among(0.0, 6.5)}
    return layer("ExperimentalDetectronPriorGridGenerator", 6, draw.numbers([draw.between(1, 4), 4]), *maps, **stated)


def top_regions(draw: Draw) -> Any:
    count = draw.between(1, 8)
    inputs = draw.numbers([count, 4]), draw.input(draw.distinct([count]))
    return layer("ExperimentalDetectronTopKROIs", 6, *inputs, max_rois=draw.between(1, count))


def features(draw: Draw) -> Any:
    levels, depth, side = draw.between(1, 3), draw.between(1, 3), draw.among(300.0, 900.0)
    corners, _ = rois(draw, 1, side, side)
    scales = [4 * 2**level for level in range(levels)]
    pyramid = [draw.numbers([1, depth, *(int(side // scale) for _ in range(2))]) for scale in scales]
    stated = {"output_size": draw.between(1, 4), "sampling_ratio": draw.between(0, 2), "aligned": draw.chance()}
    kind = "ExperimentalDetectronROIFeatureExtractor"
    return layer(kind, 6, draw.input(corners), *pyramid, pyramid_scales=scales, **stated)


TABLE: dict[str, Configuration] = {
    "PriorBox-1": prior_box(1),
    "PriorBox-8": prior_box(8),
    "PriorBoxClustered": prior_box_clustered,
    **{f"NonMaxSuppression-{version}": suppression(version) for version in (1, 3, 4, 5, 9)},
    "DetectionOutput-1": detection_output(1),
    "DetectionOutput-8": detection_output(8),
    "RegionYolo": region_yolo,
    "ReorgYolo": reorg_yolo,
    "Proposal-1": proposal(1),
    "Proposal-4": proposal(4),
    "MulticlassNms-8": multiclass(8),
    "MulticlassNms-9": multiclass(9),
    "ExperimentalDetectronPriorGridGenerator": prior_grid,
    "ExperimentalDetectronTopKROIs": top_regions,
    "ExperimentalDetectronROIFeatureExtractor": features,
    "ROIPooling": roi_pooling,
    "PSROIPooling": psroi_pooling,
    "ROIAlign-3": roi_align(3),
    "ROIAlign-9": roi_align(9),
}


@pytest.mark.sampled(35)
@pytest.mark.parametrize(("configuration", "seed"), configurations(TABLE))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)
