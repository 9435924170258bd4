"""Random Resizes of images as files hold them: every operator set, layout and element type, static and dynamic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ir_interp import AtRunTime, ResizeOp
from tests.support.runtimes import Array, onnx_model
from tests.support.surroundings import ALONE, Surroundings, surround

OPSETS = tuple(range(7, 27))
OF_RESIZE, OF_ATTRIBUTES, OF_ANTIALIAS = 10, 11, 18  # since when there is a Resize, with coordinates, with more
COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
OF_SOME_SETS = ("tf_half_pixel_for_nn", "half_pixel_symmetric")  # which runtimes take in any
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
RATIOS = (2.0, 3.0, 0.5, 1.5, 2.6, 0.7, 1.3, 4.0, 1.0, 0.3, 1.1)
LAYOUTS = ("channels first", "channels last", "transposed")
DTYPES = ("float32", "float16", "uint8", "int8")
DYNAMIC: tuple[tuple[int, ...], ...] = (
    (),
    (0,),
    (2, 3),
    (0, 2, 3),
    (0, 1, 2, 3),
)  # places of batch, channels, height and width
_SURROUNDED = 0.8  # of the nodes that stand alone otherwise
LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)  # orders of axes that bring the channels there


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageNode:
    """A model of one Resize, an image for it, and how both came about.

    ``sizes`` are those that the model computes at run time, None where it holds its target. In a
    model with Transposes, ``x`` has its channels last, and the node has them first.
    """

    model: onnx.ModelProto
    x: Array
    layout: str
    dynamic: tuple[int, ...]
    resizes_others: bool
    sizes: tuple[int, ...] | None
    around: Surroundings = ALONE

    @property
    def is_image(self) -> bool:
        """Whether only height and width are resized."""
        return not self.resizes_others

    def meaning(self, op: ResizeOp) -> Array:
        """Return what the model computes, as its node ``op`` is read."""
        x = self.x.transpose(FIRST) if self.layout == "transposed" else self.around.before(self.x)
        y: Array = self.around.known(op).run(x, sizes=self.sizes if op.spec.target is AtRunTime.SIZES else None)
        return y.transpose(LAST) if self.layout == "transposed" else self.around.behind(y)


def random_image_node(rng: np.random.Generator) -> ImageNode:
    """Return a random model of one Resize or Upsample of images."""
    opset, layout = int(rng.choice(OPSETS)), str(rng.choice(LAYOUTS, p=(0.7, 0.15, 0.15)))
    dtype = str(rng.choice(DTYPES, p=(0.7, 0.1, 0.1, 0.1)))
    shape, spatial = _shape(rng, layout)
    op = "Resize" if opset >= OF_RESIZE else "Upsample"
    attributes = _attributes(rng, opset)
    others = bool(rng.random() < 0.08)
    target = _target(rng, opset, shape, spatial, others=others)
    dynamic = DYNAMIC[int(rng.choice(len(DYNAMIC), p=(0.6, 0.1, 0.1, 0.1, 0.1)))]
    if "sizes" in target:  # whoever resizes a batch to a length knows how long it was
        dynamic = tuple(axis for axis in dynamic if axis in spatial or target["sizes"][axis] == shape[axis])
    axes = tuple(spatial) if opset >= OF_ANTIALIAS and not others and rng.random() < 0.2 else None
    if axes:
        attributes["axes"] = list(axes)
        target = {kind: tuple(values[axis] for axis in axes) for kind, values in target.items()}
    sizes, scales = target.get("sizes"), target.get("scales")
    model = onnx_model(op, opset, shape, dtype, attributes, sizes=sizes, scales=scales)
    computes = opset > OF_ATTRIBUTES and bool(dynamic) and "sizes" in target and not axes and rng.random() < 0.5
    if computes:
        compute_sizes(model, opset, shape, spatial, target["sizes"])
    loosen(model, dynamic)
    has_relu = layout == "transposed" and dtype == "float32" and bool(rng.random() < 0.3)
    if layout == "transposed":
        lay_between_transposes(model, has_relu=has_relu)
        shape = (shape[0], *shape[2:], shape[1])
    x = values(rng, shape, dtype)
    is_plain = layout != "transposed" and not dynamic and not computes
    around = surround(rng, model, x) if is_plain and rng.random() < _SURROUNDED else ALONE
    return ImageNode(
        model=model,
        x=np.abs(x) if has_relu else around.x(x),
        around=around,
        layout=layout,
        dynamic=dynamic,
        resizes_others=others,
        sizes=target["sizes"] if computes else None,
    )


def _shape(rng: np.random.Generator, layout: str) -> tuple[tuple[int, ...], tuple[int, int]]:
    """Return the shape of an image, of which some have a single row or column, and the axes of these."""
    height, width = map(int, rng.integers(2, 40, 2))
    narrow = rng.random()
    if narrow < 0.1:
        height, width = (1, width) if narrow < 0.06 else (height, 1)
    batch, channels = int(rng.choice([1, 2], p=(0.8, 0.2))), int(rng.choice([1, 3, 4]))
    if layout == "channels last":
        return (batch, height, width, channels), (1, 2)
    return (batch, channels, height, width), (2, 3)


def _attributes(rng: np.random.Generator, opset: int) -> dict[str, Any]:
    """Return the attributes of a node; exporters leave out some of those that are the default."""
    if opset < OF_ATTRIBUTES:
        return {"mode": str(rng.choice(["nearest", "linear"]))}
    mode = str(rng.choice(["nearest", "linear", "cubic"]))
    attributes: dict[str, Any] = {"mode": mode}
    attributes["coordinate_transformation_mode"] = str(rng.choice((*COORDINATES, *OF_SOME_SETS)))
    if mode == "nearest":
        attributes["nearest_mode"] = str(rng.choice(ROUNDINGS))
    elif opset >= OF_ANTIALIAS and rng.random() < 0.25:
        attributes["antialias"] = 1
    if mode == "cubic" and rng.random() < 0.5:
        attributes["cubic_coeff_a"] = float(rng.choice([-0.5, -0.75, -0.6]))
    if mode == "cubic" and rng.random() < 0.25:
        attributes["exclude_outside"] = 1
    if rng.random() < 0.3:
        attributes.pop("nearest_mode", None)
    if attributes["coordinate_transformation_mode"] == "half_pixel" and rng.random() < 0.3:
        del attributes["coordinate_transformation_mode"]
    return attributes


def _target(
    rng: np.random.Generator, opset: int, shape: Sequence[int], spatial: Sequence[int], *, others: bool
) -> dict[str, tuple[Any, ...]]:
    """Return scales or sizes with an entry for every axis; ``others`` are resized too, or instead."""
    known = RATIOS if opset >= OF_RESIZE else tuple(ratio for ratio in RATIOS if ratio >= 1)
    resized = set(spatial)
    if others:
        extra = {axis for axis in range(len(shape)) if axis not in spatial and rng.random() < 0.6}
        resized = (resized if rng.random() < 0.7 else set()) | (extra or {0})
    ratios = [float(rng.choice(known)) if axis in resized else 1.0 for axis in range(len(shape))]
    ratios = [ratio if length * ratio >= 1 else 1.0 for length, ratio in zip(shape, ratios, strict=True)]
    if opset < OF_ATTRIBUTES or rng.random() < 0.5:
        return {"scales": tuple(ratios)}
    more = [int(rng.integers(0, 2)) if axis in spatial and axis in resized else 0 for axis in range(len(shape))]
    pairs = zip(shape, ratios, more, strict=True)
    return {"sizes": tuple(int(length * ratio) + extra for length, ratio, extra in pairs)}


def compute_sizes(
    model: onnx.ModelProto, opset: int, shape: Sequence[int], spatial: Sequence[int], sizes: Sequence[int]
) -> None:
    """Let a model take the entries of other axes than height and width from its input's lengths, as exporters do."""
    graph = model.graph
    pieces, nodes = [], [helper.make_node("Shape", ["x"], ["lengths"])]
    for axis in range(len(shape)):
        name = f"size{axis}"
        if axis in spatial or sizes[axis] != shape[axis]:
            graph.initializer.append(numpy_helper.from_array(np.array([sizes[axis]], np.int64), name))
        else:
            ends = (f"from{axis}", f"to{axis}")
            for end, value in zip(ends, (axis, axis + 1), strict=True):
                graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), end))
            nodes.append(helper.make_node("Slice", ["lengths", *ends], [name]))
        pieces.append(name)
    (resize,) = graph.node
    kept = [each for each in graph.initializer if each.name != "sizes"]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend([*nodes, helper.make_node("Concat", pieces, ["sizes"], axis=0), resize])


def loosen(model: onnx.ModelProto, dynamic: Sequence[int]) -> None:
    """Replace lengths of the input by names."""
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for axis in dynamic:
        dims[axis].dim_param = f"n{axis}"


def lay_between_transposes(model: onnx.ModelProto, *, has_relu: bool) -> None:
    """Lay the graph between two Transposes, which take images whose channels come last."""
    graph = model.graph
    inner: Mapping[str, str] = {"x": "inside", "y": "resized"}
    for node in graph.node:
        node.input[:] = [inner.get(name, name) for name in node.input]
        node.output[:] = [inner.get(name, name) for name in node.output]
    front = [helper.make_node("Transpose", ["x"], ["inside" if not has_relu else "turned"], perm=FIRST)]
    front += [helper.make_node("Relu", ["turned"], ["inside"])] if has_relu else []
    nodes = [*front, *graph.node, helper.make_node("Transpose", ["resized"], ["y"], perm=LAST)]
    del graph.node[:]
    graph.node.extend(nodes)
    dims = graph.input[0].type.tensor_type.shape.dim
    copies = [onnx.TensorShapeProto.Dimension.FromString(dims[axis].SerializeToString()) for axis in LAST]
    for dim, copy in zip(dims, copies, strict=True):
        dim.CopyFrom(copy)


def values(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> Array:
    """Return random pixels: all of an integer type's range, or values around 1."""
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
