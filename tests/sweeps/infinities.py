"""Resize images with NaNs, infinities, the largest and the smallest numbers, here and in a runtime; compare masks.

``python -m tests.sweeps.infinities --cases 1000 --seed 1`` draws Resize nodes of all modes, coordinates, windows and
layouts for onnxruntime, and as many Interpolates of ranks 1 to 5 with any axes for OpenVINO; a third of their axes
keep their size. Each resizes four images. It exits with 1 if a NaN or an infinity is elsewhere. These are counted by
themselves: layers that OpenVINO computes differently on finite numbers, sums that overflow in OpenVINO, three modes of
rank 5 (docs/semantics.md), and cubics along the batch or the channels of an image, which OpenVINO computes wrongly.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import openvino.opset11 as ops
from numpy.typing import NDArray
from onnx import TensorProto, helper

import ir_interp
from ir_interp.errors import IrInterpError
from tests.support.sweeps import aligned, options

_LARGEST = float(np.finfo(np.float32).max)
_INFINITE = (np.nan, np.inf, -np.inf)
_EXTREME = (*_INFINITE, _LARGEST, -_LARGEST, 1e-45, -1e-40, 0.0, -0.0)
_COORDINATES = (
    "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize",
)  # fmt: skip
_MODES = ("linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow")
_COORDINATES_OF_LAYERS = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
_KNOWN = [f"OpenVINO, rank 5, {mode}" for mode in ("linear", "bilinear_pillow", "bicubic_pillow")]
_WRONG = ", other axes than an image's"
_OVERFLOWS = 1e30  # finite numbers beyond are of ``_EXTREME``
Image = NDArray[np.float32]


def _sizes(rng: np.random.Generator) -> tuple[list[int], list[int]]:
    if rng.random() < 0.15:
        return rng.integers(20, 70, 2).tolist(), rng.integers(5, 90, 2).tolist()
    sizes, targets = rng.integers(1, 12, 2).tolist(), rng.integers(1, 15, 2).tolist()
    for axis in (0, 1):
        if rng.random() < 0.2:
            targets[axis] = sizes[axis]
    return sizes, targets


def node(rng: np.random.Generator) -> tuple[onnx.ModelProto, str]:
    """Return a model of one Resize, and its kind."""
    mode, coordinates = str(rng.choice(["nearest", "linear", "cubic"])), str(rng.choice(_COORDINATES))
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
    is_crop = coordinates == "tf_crop_and_resize"
    if mode == "nearest":
        attributes["nearest_mode"] = str(rng.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    else:
        attributes |= {"antialias": int(rng.random() < 0.5), "exclude_outside": int(rng.random() < 0.4)}
        attributes["cubic_coeff_a"] = float(rng.choice([-0.5, -0.75, -1.0]))
    if is_crop and rng.random() < 0.6:
        attributes["extrapolation_value"] = float(rng.choice([0, 3.5, -7, np.inf, np.nan]))
    starts, ends = [0.0, 0.0], [1.0, 1.0]
    if is_crop and rng.random() < 0.7:
        starts = rng.uniform(-0.3, 0.5, 2).tolist()
        ends = [start + rng.uniform(0.1, 0.9) for start in starts]
    (sizes, targets), channels = _sizes(rng), int(rng.choice([1, 3]))
    if rng.random() < 0.15:
        shape, out = [1, *sizes, channels], [1, *targets, channels]
        window = [0.0, *starts, 0.0, 1.0, *ends, 1.0]
    else:
        shape, out, window = [1, channels, *sizes], [1, channels, *targets], [0.0, 0.0, *starts, 1.0, 1.0, *ends]
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "roi", "", "sizes"], ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
        [
            helper.make_tensor("sizes", TensorProto.INT64, [4], out),
            helper.make_tensor("roi", TensorProto.FLOAT, [8], window),
        ],
    )
    kind = f"{mode}{', antialias' if attributes.get('antialias') else ''}{', crop' if is_crop else ''}"
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), kind


def image(rng: np.random.Generator, shape: Sequence[int]) -> Image:
    """Return an image with one infinity or NaN, or with some extreme values."""
    x: Image = (rng.standard_normal(shape) * rng.choice([1, 100])).astype(np.float32)
    if rng.random() < 0.4:
        x.flat[rng.integers(x.size)] = rng.choice(_EXTREME[:5])
        return x
    places = rng.random(shape) < rng.choice([0.02, 0.1, 0.5])
    x[places] = rng.choice(_EXTREME if rng.random() < 0.4 else _INFINITE, int(places.sum()))
    return x


def masks(y: Image) -> NDArray[np.int8]:
    """Return where an image is finite (0), infinite (1, -1) and NaN (2)."""
    return np.select([np.isnan(y), np.isposinf(y), np.isneginf(y)], [2, 1, -1], 0).astype(np.int8)


def layer(rng: np.random.Generator) -> tuple[ov.Model, str]:
    """Return a model of one Interpolate with any axes, and its kind."""
    rank, mode = int(rng.integers(1, 6)), str(rng.choice(_MODES))
    shape = rng.integers(1, 7, rank)
    axes = np.sort(rng.choice(rank, int(rng.integers(1, rank + 1)), replace=False))
    sizes = np.where(rng.random(len(axes)) < 0.35, shape[axes], rng.integers(1, 9, len(axes)))
    coordinates = str(rng.choice(_COORDINATES_OF_LAYERS))
    x = ops.parameter(shape.tolist(), np.float32, "x")
    settings: dict[str, Any] = {"cube_coeff": float(rng.choice([-0.5, -0.75]))}
    y = ops.interpolate(x, sizes, mode, "sizes", coordinate_transformation_mode=coordinates, axes=axes, **settings)
    # OpenVINO's cubic of images computes these from a wrong place.
    is_wrong = mode == "cubic" and 2 < rank < 5 and len(axes) > rank - 2
    is_wrong = is_wrong and bool(((sizes != shape[axes]) & (axes < rank - 2)).any())
    return ov.Model([y], [x], "m"), f"OpenVINO, rank {rank}, {mode}{_WRONG if is_wrong else ''}"


def compare_layer(rng: np.random.Generator, path: Path) -> tuple[str, str]:
    """Return the kind of a random layer, and how four images of it compare."""
    model, kind = layer(rng)
    ov.save_model(model, path, compress_to_fp16=False)
    shape = list(model.input(0).shape)
    images = [rng.standard_normal(shape).astype(np.float32), *(image(rng, shape) for _ in range(4))]
    choices: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    try:
        run = ov.Core().compile_model(path, "CPU", choices)
        finite, *theirs = [run(x)[0] for x in images]
    except RuntimeError:
        return kind, "refused by OpenVINO"
    try:
        (op,) = ir_interp.load(path)
    except IrInterpError:
        return kind, "refused here"
    if not np.allclose(op.run(images[0]), finite, atol=1e-3):
        return kind, "other values of finite numbers"
    differing = [x for x, y in zip(images[1:], theirs, strict=True) if not np.array_equal(masks(y), masks(op.run(x)))]
    if not differing:
        return kind, "same"
    is_overflow = all((np.abs(x[np.isfinite(x)]) > _OVERFLOWS).any() for x in differing)
    return kind, "known" if kind in _KNOWN or _WRONG in kind else "overflows elsewhere" if is_overflow else "DIFFERENT"


def compare(rng: np.random.Generator, path: Path) -> tuple[str, str]:
    """Return the kind of a random node, and how four images of it compare."""
    model, kind = node(rng)
    onnx.save(model, path)
    choices = onnxruntime.SessionOptions()
    choices.log_severity_level, choices.intra_op_num_threads = 4, 1
    shape = [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim]
    images = [image(rng, shape) for _ in range(4)]
    try:
        session = onnxruntime.InferenceSession(path, choices, providers=["CPUExecutionProvider"])
        theirs = [session.run(None, {"x": x})[0] for x in images]
    except Exception:  # whatever it throws
        return kind, "refused by onnxruntime"
    try:
        (op,) = ir_interp.load(path, semantics="observed")
    except IrInterpError:
        return kind, "refused here"
    differing = [x for x, y in zip(images, theirs, strict=True) if not np.array_equal(masks(y), masks(op.run(x)))]
    return kind, "DIFFERENT" if differing else "same"


def sweep(cases: int, seed: int) -> Counter[tuple[str, str]]:
    """Return how many nodes and layers of each kind compare in each way."""
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for case in range(cases):
            node_ends = compare(np.random.default_rng([seed, case]), Path(folder, "a.onnx"))
            layer_ends = compare_layer(np.random.default_rng([seed, case, 1]), Path(folder, "a.xml"))
            for kind, end in (node_ends, layer_ends):
                counts[kind, end] += 1
                if end == "DIFFERENT":
                    print(f"seed {seed}, case {case}: {kind}", flush=True)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print a table."""
    given = options(__doc__).parse_args(arguments)
    counts = sweep(given.cases, given.seed)
    print(aligned([(kind, end, str(number)) for (kind, end), number in sorted(counts.items())]))
    return 1 if any(end == "DIFFERENT" for _, end in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
