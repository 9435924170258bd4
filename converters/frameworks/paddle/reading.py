"""The reading of Paddle programs (.pdmodel, with weights in the .pdiparams beside): Paddle describes and runs them.

First the dialect of ``nearest_interp_v2``, ``linear_``, ``bilinear_``, ``trilinear_`` and ``bicubic_interp_v2`` on
CPU. Source: ``phi/kernels/cpu/interpolate_kernel.cc``, run as Paddle 3.3. Copies take float32 positions, the product
of an index and a step, as PyTorch's do. The step is 0 where an output of two axes has a size of 1: linear takes the
first pixel there, and cubic samples at -1/2.

The operations that OpenVINO's frontend converts are those of OpenVINO 2026.4, asked about each operation of Paddle 3.3
(``tests/sweeps/paddle_models.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import ReadError, SpecError, UnsupportedLayerError
from ir_interp.files.memory import StoredArray
from ir_interp.resize_op import ResizeOp, read
from ir_interp.shapes import Array
from ir_interp.specs import (
    Arithmetic,
    AtRunTime,
    Coordinates,
    Cubic,
    Kernel,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)
from ir_interp.specs.resize_spec import FLOATS
from ir_interp.translation.dialect import Attributes, Context, Dialect, Semantics, since

from ...sources.model_description import Description, Process, Resize
from ...sources.readers import Reading
from . import FRAMEWORK

_NEAREST, _BILINEAR, _CUBIC = "nearest_interp_v2", "bilinear_interp_v2", "bicubic_interp_v2"
_RESIZED = {"linear_interp_v2": 1, _BILINEAR: 2, "trilinear_interp_v2": 3, _CUBIC: 2}
OPERATIONS = (_NEAREST, *_RESIZED)
"""The operations that resize."""
_CERTAIN = 1.5  # a scale from which on only an axis of one pixel keeps its size, and all its outputs are that pixel


def read_attributes(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of an operation's attributes, and of its size or scale for each resized axis."""
    kind, corners = attributes["op"], attributes["align_corners"]
    if kind != _NEAREST and context.dtype is not None and context.dtype not in FLOATS:
        raise SpecError(f"{kind} takes tensors of {', '.join(FLOATS)}, not of {context.dtype}")
    target = _target_of_attributes(attributes)
    axes = _axes(kind, attributes["data_layout"], _rank(kind, target, context))
    lengths = [None] * len(axes) if context.shape is None else [context.shape[axis] for axis in axes]
    if kind == _CUBIC and not corners:
        _check_cubic(target, lengths)
    return ResizeSpec(
        kernel=_kernel(kind, corners=corners),
        coordinates=_coordinates(kind, corners=corners, mode=attributes["align_mode"]),
        axes=axes,
        target=target,
        step=_step(target, lengths) if isinstance(target, Scales) and not corners else Step.GIVEN,
        arithmetic=Arithmetic.TORCH,
    )


def _target_of_attributes(attributes: Attributes) -> Sizes | Scales | AtRunTime:
    sizes, scales = attributes.get("size"), attributes.get("scale")
    if sizes is not None:
        return Sizes(tuple(sizes))
    if scales is not None:
        return Scales(tuple(scales))
    return AtRunTime.SCALES if "scale" in attributes else AtRunTime.SIZES


def _rank(kind: str, target: Sizes | Scales | AtRunTime, context: Context) -> int:
    if kind in _RESIZED:
        rank = _RESIZED[kind] + 2
    elif context.shape is not None:
        rank = len(context.shape)
    elif isinstance(target, Sizes | Scales):
        rank = len(target) + 2
    else:
        raise SpecError(f"{kind} of an unknown rank")
    if (context.shape is not None and len(context.shape) != rank) or (kind == _NEAREST and rank not in (4, 5)):
        expected = "4 or 5" if kind == _NEAREST else rank
        raise SpecError(f"{kind} takes {expected} axes, not {rank if context.shape is None else len(context.shape)}")
    return rank


def _axes(kind: str, layout: str, rank: int) -> tuple[int, ...]:
    return tuple(range(2, rank) if layout == "NCHW" else range(1, rank - 1))


def _check_cubic(target: Sizes | Scales | AtRunTime, lengths: Sequence[int | None]) -> None:
    """Raise SpecError for a cubic whose output may have a size of 1, where Paddle samples at -1/2."""
    if isinstance(target, Sizes):
        is_single = any(out == 1 != length for out, length in zip(target.values, lengths, strict=False))
    elif isinstance(target, Scales):
        is_single = any(
            scale < 1 and (length is None or math.floor(length * scale) == 1)
            for scale, length in zip(target.values, lengths, strict=False)
        )
    else:
        is_single = True
    if is_single:
        raise SpecError(f"{_CUBIC} whose output may have a size of 1, where Paddle samples at -1/2")


def _kernel(kind: str, *, corners: bool) -> Kernel:
    if kind == _NEAREST:
        return Nearest(rounding=Rounding.ROUND_PREFER_CEIL if corners else Rounding.FLOOR)
    return Cubic(a=-0.75) if kind == _CUBIC else Linear()


def _coordinates(kind: str, *, corners: bool, mode: int) -> Coordinates:
    if corners:
        return Coordinates.ALIGN_CORNERS
    if kind == _NEAREST or (kind != _CUBIC and mode == 1):
        return Coordinates.ASYMMETRIC
    return Coordinates.PYTORCH_HALF_PIXEL if kind == _BILINEAR else Coordinates.HALF_PIXEL


def _step(target: Scales, lengths: Sequence[int | None]) -> Step:
    """Return the step of scales, by which no image is resized whose axes all keep their sizes.

    Raises SpecError if a dynamic size decides that.
    """
    if any(scale < 1 for scale in target.values) or all(scale == 1 or scale >= _CERTAIN for scale in target.values):
        return Step.GIVEN
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths) or len(lengths) != len(target):
        raise SpecError(f"scale {list(target.values)} of dynamic sizes, which Paddle may keep; expected static ones")
    pairs = zip(known, target.values, strict=True)
    return Step.RATIO if all(math.floor(length * scale) == length for length, scale in pairs) else Step.GIVEN


DIALECT = Dialect(
    name="paddle",
    versions=(2,),
    vocabulary={
        "op": dict.fromkeys(OPERATIONS, since(2)),
        "align_corners": {False: since(2), True: since(2)},
        "align_mode": {0: since(2), 1: since(2)},
        "data_layout": {"NCHW": since(2), "NHWC": since(2)},
    },
    numbers={"sizes": ("size", since(2)), "scales": ("scale", since(2))},
    defaults={
        "align_corners": (False, since(2)),
        "align_mode": (0, since(2)),
        "data_layout": ("NCHW", since(2)),
    },
    omitted={},
    read=read_attributes,
)


_NAMES = """
    abs arg_max arg_min assign assign_value atan2 batch_norm bicubic_interp_v2 bilinear_interp bilinear_interp_v2
    bmm box_coder cast ceil clip concat conditional_block conv2d conv2d_transpose cos cumsum deformable_conv
    deformable_conv_v1 depthwise_conv2d depthwise_conv2d_transpose dequantize_linear dropout elementwise_add
    elementwise_div elementwise_floordiv elementwise_max elementwise_min elementwise_mod elementwise_mul
    elementwise_pow elementwise_sub elu equal exp expand_as_v2 expand_v2 eye feed fetch fill_any_like
    fill_constant fill_constant_batch_size_like flatten_contiguous_range flip floor gather gather_nd gelu
    generate_proposals_v2 greater_equal greater_than grid_sampler group_norm hard_sigmoid hard_swish index_select
    layer_norm leaky_relu less_equal less_than linear_interp_v2 linspace lod_array_length log logical_and
    logical_not logical_or logical_xor lookup_table_v2 matmul matmul_v2 matrix_nms max_pool2d_with_index
    max_pool3d_with_index memcpy meshgrid multiclass_nms3 nearest_interp nearest_interp_v2 not_equal one_hot_v2
    p_norm pad3d partial_concat partial_sum pool2d pool3d pow prior_box quantize_linear range reduce_all
    reduce_any reduce_max reduce_mean reduce_min reduce_prod reduce_sum relu relu6 reshape2 reverse rnn roi_align
    roll round rsqrt scale scatter scatter_nd_add select_input set_value shape share_data sigmoid silu sin slice
    softmax softplus softshrink split sqrt squeeze2 stack strided_slice sum swish take_along_axis tanh tanh_shrink
    tensor_array_to_tensor tile top_k_v2 transpose2 tril_triu trilinear_interp_v2 unique unsqueeze2 unstack where
    where_index while write_to_array yolo_box
"""
CONVERTED = frozenset(_NAMES.split())
"""None of them reaches outside a program, to files, to other machines or to code: so these alone are run."""


def first_unknown(operations: Iterable[str]) -> str | None:
    """Return the first type of operation that OpenVINO does not convert; None if it converts all."""
    return next((operation for operation in operations if operation not in CONVERTED), None)


_PROCESS = Process(framework=FRAMEWORK, child="paddle_child")


def weights(path: Path) -> Path:
    """Return the file of a program's weights."""
    return path.with_suffix(".pdiparams")


def described(path: Path) -> Description:
    """Return what a program holds.

    Raises ReadError for a file that is no program, or without Paddle, IrInterpError if that dies.
    """
    return _PROCESS.described(path)


def function(path: Path) -> Callable[..., dict[str, Array]]:
    """Return a program as a function of its inputs, in order, to its outputs by name, which Paddle computes."""
    return _PROCESS.function(path)


def write_skeleton(path: Path, target: Path, least: int) -> dict[str, StoredArray]:
    """Write a program to ``target`` whose weights of ``least`` bytes or more are inputs; return these.

    Raises as ``described``.
    """
    stored = _PROCESS.answer("write_skeleton", str(path.absolute()), (str(target.absolute()), least), path.name)
    return dict(stored)


def write_resize(operation: Resize, array: Array, path: Path) -> Array:
    """Write an operation on images like ``array`` as a program of its own; return what Paddle computes.

    Raises ReadError without Paddle, IrInterpError if that refuses it.
    """
    FRAMEWORK.check_installed(path.name)
    return np.asarray(_PROCESS.answer("write_resize", array, (operation, str(path.absolute())), path.name))


_LENGTHS = ("out_d", "out_h", "out_w")
ATTRIBUTES: Mapping[str, type] = {
    "align_corners": bool,
    "align_mode": int,
    "data_layout": str,
    "scale": list,
    **dict.fromkeys(_LENGTHS, int),
}
"""The attributes of a resize, and the types of their values; ``scale`` is a list of floats."""
INPUTS = ("SizeTensor", "OutSize", "Scale")
"""The inputs of a resize behind the image, of which one may be connected."""


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a program. Raises ReadError for one that no spec holds."""
    return [resize(description, path.name, semantics) for description in described(path).resizes]


def resize(
    operation: Resize,
    file: str,
    semantics: Semantics = Semantics.RUNTIME,
    target: Sequence[float] | None = None,
) -> ResizeOp:
    """Return an operation as a resize; ``target`` is the value of its connected input, if that is a constant."""
    where = f"{file}:{operation.name}"
    if operation.type not in OPERATIONS:
        raise UnsupportedLayerError(f"operation {operation.type} is not supported; expected its version 2", where)
    if operation.attributes["block"]:
        raise UnsupportedLayerError("a resize in a branch or loop is not supported", where)
    _check_types(operation, where)
    attributes = {name: operation.attributes[name] for name in ("align_corners", "align_mode", "data_layout")}
    attributes |= {"op": operation.type, **_target_attributes(operation, target, where)}
    context = Context(version=DIALECT.versions[0], shape=operation.shape, dtype=operation.dtype, semantics=semantics)
    op = read(DIALECT, attributes, context, name=operation.name, where=where)
    return replace(op, spec=op.spec.of_floats()) if "float" in operation.dtype else op


def _check_types(operation: Resize, where: str) -> None:
    """Raise ReadError for an attribute that is missing, or of a type that Paddle does not save."""
    for name, expected in ATTRIBUTES.items():
        value = operation.attributes.get(name)
        items = value if isinstance(value, list) else ()
        if type(value) is not expected or any(not isinstance(item, float) for item in items):
            kind = "a list of floats" if expected is list else f"of type {expected.__name__}"
            raise ReadError(f"its attribute {name!r} is {value!r}; expected {kind}; save the program again", where)


def connected(operation: Resize) -> str | None:
    """Return the name of the input that holds the size or scale of a resize; None if attributes do."""
    return next(iter(operation.attributes["connected"]), None)


def _target_attributes(operation: Resize, target: Sequence[float] | None, where: str) -> Mapping[str, Any]:
    stated, name = operation.attributes, connected(operation)
    scales = [float(np.float32(scale)) for scale in stated["scale"]]
    if len(stated["connected"]) > 1 or (name and scales):
        raise UnsupportedLayerError("several sizes or scales are connected; expected one", where)
    if name is None and scales:
        return {"scale": scales}
    if name is None:
        axes = len(operation.shape or ()) - 2
        return {"size": [stated[name] for name in _LENGTHS[-axes:]]}
    if name != "Scale":
        return {"size": None if target is None else [int(length) for length in target]}
    return {"scale": None if target is None else [float(np.float32(scale)) for scale in target]}


READING = Reading(load=load, describe=described, function=function, parts=lambda path: [path, weights(path)])
