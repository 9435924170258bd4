"""A model that takes the raw image: the resize of its training, mean and scale stand in front of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ir_interp.arguments import natural, real, reals
from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.files.memory import check_bytes
from ir_interp.files.sources import is_beside, json_object
from ir_interp.library_registry import load, named
from ir_interp.options.image_options import Images
from ir_interp.resize_op import ResizeOp

from ..onnx.graph import Graph
from ..onnx.native import invalid
from ..onnx.node_walk import with_inner
from ..onnx.onnx_files import default_opset, external_files, external_files_of, load_weights, read_file
from ..onnx.onnx_primitives import NodeTensor, tensor
from ..onnx.onnx_save import LARGEST
from .any_size_resize import resized
from .any_size_weights import Size
from .fixed_size_resize import tabled
from .letterbox import letterboxed, letterboxed_table

_OLDEST = 11
_UINT8 = 2
_BRIGHTEST = 255
_TAKEN = ("float32", "float16", "float64", "uint8", "int8", "int16", "int32", "int64", "uint16")  # by inputs
_BYTES_A_PIXEL = 64.0  # of a row or a column: its place as constants of several types


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocess:
    """What was done to an image in training: resized as a call, then as ``images`` says.

    With ``letterbox`` it kept its aspect, and the rest of ``size`` is of that colour. ``image_size`` is height and
    width of all images, where these are known.
    """

    like: str
    size: tuple[int, int]
    letterbox: int | None = None
    image_size: tuple[int, int] | None = None
    images: Images = field(default_factory=Images)

    def __post_init__(self) -> None:
        if self.letterbox is not None and not 0 <= self.letterbox <= _BRIGHTEST:
            raise SpecError(f"letterbox is {self.letterbox}; expected the colour of what is left, from 0 to 255")
        if min(self.size) < 1:
            raise SpecError(f"size is {list(self.size)}; lengths of an image are at least 1")
        check_bytes(_BYTES_A_PIXEL * max(self.size), f"a resize to {self.size[0]}x{self.size[1]}")


def write(source: Path, output: Path, wanted: Preprocess, name: str | None = None, *, wide: bool = True) -> str:
    """Write a model whose input ``name`` is an image, uint8 [height, width, 3] of any lengths; return that name.

    What float32 does not hold is in float64 only where the model may be ``wide``: not for OpenVINO.

    Raises ReadError for an input that is not there or takes no image, InexactError for a call without such a form.
    """
    model = _with_weights(source)
    opset = default_opset(model, source.name)
    if opset < _OLDEST:
        newer = f"expected {_OLDEST} or newer: `convert --target onnx:17` makes one"
        raise ReadError(f"operator set {opset}; {newer}", source.name)
    given = _input(model, name, source.name)
    if _call(wanted.like).dtype == "float32" and "float" not in _dtype(given):
        raise SpecError(f"{wanted.like} makes floats; input {given.name!r} takes {_dtype(given)}")
    graph = Graph(opset=opset, layer="preprocess")
    for each in _names(model):
        graph.fresh(each)
    image = graph.fresh("image")
    y = _normalised(_resized(wanted, tensor(graph, image, "uint8"), wide=wide), wanted, given)
    graph.rename(y.value, given.name)
    graph.name_nodes(0)
    nodes = [*graph.nodes, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    lengths = wanted.image_size or ("height", "width")
    place = [each.name for each in model.graph.input].index(given.name)
    model.graph.input[place].CopyFrom(helper.make_tensor_value_info(image, _UINT8, [*lengths, 3]))
    used = {tensor for node in with_inner(graph.nodes) for tensor in node.input}
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(value, key) for key, value in graph.initialisers.items() if key in used
    )
    del model.graph.value_info[:]
    _check(model, source.name)
    output.write_bytes(model.SerializeToString(deterministic=True))
    return image


def _resized(wanted: Preprocess, x: NodeTensor, *, wide: bool) -> NodeTensor:
    op = _call(wanted.like)
    if len(op.spec.axes or ()) != 2:
        raise SpecError(f"{op.name} resizes {len(op.spec.axes or ())} axes; an image has two")
    if wanted.image_size is not None:
        if wanted.letterbox is not None:
            return letterboxed_table(op, x, wanted.image_size, wanted.size, wanted.letterbox, wide=wide)
        return tabled(op, x, wanted.image_size, wanted.size, wide=wide)
    if wanted.letterbox is not None:
        return letterboxed(op, x, wanted.size, wanted.letterbox)
    height, width = (Size.of(x.ops.graph, length) for length in wanted.size)
    return resized(op, x, (height, width))


def _call(text: str) -> ResizeOp:
    """Return a call for images of uint8; for the floats it makes of these, where a library does so (TensorFlow)."""
    try:
        return load(text, dtype="uint8", arguments={"mode": "RGB"})
    except ReadError:
        if not named(text).makes_floats:
            raise
    return load(text, dtype="float32", arguments={"mode": "RGB"})


def _with_weights(source: Path) -> onnx.ModelProto:
    """Return a model with its external data in it. Raises ReadError where these cannot be read, or are too many."""
    model, files = read_file(source), external_files(source)
    outside = [str(path) for path in files if not is_beside(path, source)]
    if outside:
        raise ReadError(f"its external data lie outside its folder: {outside[0]}", source.name)
    load_weights(model, source)
    apart = sorted(path.name for path in external_files_of(model, source.parent))
    if apart:
        raise ReadError(f"weights in {', '.join(apart)} that are not moved: of a function or a sparse one", source.name)
    if model.ByteSize() > LARGEST:
        raise ReadError("larger than 2 GiB with its external data, and one file of ONNX holds no more", source.name)
    return model


def _check(model: onnx.ModelProto, where: str) -> None:
    problem = invalid(model, full=False)
    if problem:
        raise ReadError(f"not valid ONNX: {problem}", where)


def of_config(path: Path) -> Preprocess:
    """Return what a Hugging Face ``preprocessor_config.json`` does. Raises ReadError for what has no such form."""
    held = json_object(path, "an object, as a preprocessor_config.json is")
    for name in ("do_center_crop", "do_pad"):
        if held.get(name):
            raise ReadError(f"{name} is not known here; expected a plain resize", path.name)
    try:
        size = held.get("size")
        ends: list[Any] = [size.get("height"), size.get("width")] if isinstance(size, dict) else [size, size]
        resample = natural(held.get("resample", 2), "resample")
        if resample >= len(_RESAMPLE):
            raise SpecError(f"resample is {resample}; expected a number from 0 to {len(_RESAMPLE) - 1}")
        height, width = (natural(each, f"the {name} of size") for each, name in zip(ends, _ENDS, strict=True))
        return Preprocess(like=f"pillow:{_RESAMPLE[resample]}", size=(height, width), images=_of_config(held))
    except SpecError as error:
        raise ReadError(f"no configuration that is known: {error}", path.name) from None


_ENDS = ("height", "width")
_RESAMPLE = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # numbers of Pillow


def _of_config(held: dict[str, Any]) -> Images:
    """Return what is done to pixels: they are multiplied by a factor, then (pixel - mean) / deviation is taken."""
    unit = real(held.get("rescale_factor", 1 / 255), "rescale_factor") if held.get("do_rescale", True) else 1
    if not unit:
        raise SpecError("rescale_factor is 0")
    normalises = held.get("do_normalize", True)
    mean, deviation = (reals(held.get(name) or (), name) if normalises else () for name in ("image_mean", "image_std"))
    return Images(mean=tuple(each / unit for each in mean), scale=tuple(each / unit for each in deviation or (1.0,)))


def _input(model: onnx.ModelProto, name: str | None, where: str) -> onnx.ValueInfoProto:
    constants = {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in constants]
    chosen = [each for each in inputs if name in (None, each.name)]
    if len(chosen) != 1:
        problem = f"no input {name!r}" if name is not None else f"{len(inputs)} inputs; name one"
        raise ReadError(f"{problem}; {closest(name or '', [each.name for each in inputs])}", where)
    found: onnx.ValueInfoProto = chosen[0]
    lengths, called = _lengths(found), f"{where}:input {found.name!r}"
    if len(lengths) not in (3, 4):
        raise ReadError("takes no image: expected 3 or 4 axes", called)
    if len(lengths) == 4 and lengths[0] not in (None, 1):
        raise ReadError(f"takes {lengths[0]} images at once; expected one", called)
    if _dtype(found) not in _TAKEN:
        raise ReadError(f"takes {_dtype(found) or 'no numbers'}; expected one of {', '.join(_TAKEN)}", called)
    return found


def _lengths(given: onnx.ValueInfoProto) -> list[int | None]:
    """Return the lengths of an input; None for those that run time knows, which some files write as -1."""
    return [each.dim_value if each.dim_value > 0 else None for each in given.type.tensor_type.shape.dim]


def _dtype(given: onnx.ValueInfoProto) -> str:
    """Return the name of an element type; empty for those that ONNX does not have."""
    with suppress(KeyError):
        return np.dtype(helper.tensor_dtype_to_np_dtype(given.type.tensor_type.elem_type)).name
    return ""


def _names(model: onnx.ModelProto) -> set[str]:
    ends = {end for node in with_inner(model.graph.node) for end in (*node.input, *node.output)}
    values = (*model.graph.input, *model.graph.output, *model.graph.initializer)
    return ends | {each.name for each in values}


def _check_range(numbers: Sequence[float], dtype: str) -> None:
    """Raise SpecError for a mean or a deviation that an element type holds as an infinity, or a deviation as 0."""
    with np.errstate(over="ignore", under="ignore"):
        held = np.array(numbers).astype(dtype)
    for number, value in zip(numbers, held, strict=True):
        if not np.isfinite(value) or (number and not value):
            raise SpecError(f"mean or scale {number:g} is beyond what {dtype} holds")


def _normalised(y: NodeTensor, wanted: Preprocess, given: onnx.ValueInfoProto) -> NodeTensor:
    """Return an image [height, width, 3] as the input of the model."""
    images, dtype, lengths = wanted.images, _dtype(given), _lengths(given)
    if images.bgr:
        y = y.take([2, 1, 0], 2)
    y = y.cast(dtype)
    for kind, numbers in (("Sub", images.mean), ("Div", images.scale)):
        if numbers and "float" not in dtype:
            raise SpecError(f"mean and scale have no effect on an input of {dtype}")
        if numbers:
            _check_range(numbers, dtype)
            y = y - np.array(numbers) if kind == "Sub" else y / np.array(numbers)
    last = images.layout == "nhwc" if images.layout else lengths[-1] == 3 and lengths[-3] != 3
    *expected, depth = lengths[-3:] if last else (*lengths[-2:], lengths[-3])
    if depth not in (None, 3):
        raise SpecError(f"input {given.name!r} takes {depth} channels; images have 3")
    if any(length not in (None, size) for length, size in zip(expected, wanted.size, strict=True)):
        raise SpecError(f"input {given.name!r} takes images of {expected[0]}x{expected[1]}, not of {wanted.size}")
    y = y if last else y.transposed(2, 0, 1)
    return y if len(lengths) == 3 else y.unsqueeze(0)
