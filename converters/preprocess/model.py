"""A model that takes the raw image: the resize of its training, mean and scale stand in front of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.library import load

from ..onnx import operators
from ..onnx.files import default_opset, read_file
from ..onnx.graph import Graph
from ..onnx.nodes import with_inner
from ..verify.images import Images
from .letterbox import letterboxed, letterboxed_table
from .numbers import Number
from .resizes import Size, resized
from .tables import tabled

_OLDEST = 11
_UINT8 = 2
_BRIGHTEST = 255


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


def write(source: Path, output: Path, wanted: Preprocess, name: str | None = None) -> str:
    """Write a model whose input ``name`` is an image, uint8 [height, width, 3] of any lengths; return that name.

    Raises ReadError for an input that is not there or takes no image, InexactError for a call without such a form.
    """
    read_file(source)
    model = onnx.load(str(source))
    opset = default_opset(model, source.name)
    if opset < _OLDEST:
        newer = f"expected {_OLDEST} or newer: `convert --target onnx:17` makes one"
        raise ReadError(f"operator set {opset}; {newer}", source.name)
    given = _input(model, name, source.name)
    graph = Graph(opset=opset, layer="preprocess")
    for each in _names(model):
        graph.fresh(each)
    image = graph.fresh("image")
    y = _normalised(_resized(wanted, Number(graph, image, "uint8")), wanted, given)
    graph.rename(y.name, given.name)
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
    onnx.checker.check_model(model)
    output.write_bytes(model.SerializeToString(deterministic=True))
    return image


def _resized(wanted: Preprocess, x: Number) -> Number:
    op = load(wanted.like, dtype="uint8", arguments={"mode": "RGB"})
    if len(op.spec.axes or ()) != 2:
        raise SpecError(f"{op.name} resizes {len(op.spec.axes or ())} axes; an image has two")
    if wanted.image_size is not None:
        if wanted.letterbox is not None:
            return letterboxed_table(op, x, wanted.image_size, wanted.size, wanted.letterbox)
        return tabled(op, x, wanted.image_size, wanted.size)
    if wanted.letterbox is not None:
        return letterboxed(op, x, wanted.size, wanted.letterbox)
    height, width = (Size.of(x.graph, length) for length in wanted.size)
    return resized(op, x, (height, width))


def of_config(path: Path) -> Preprocess:
    """Return what a Hugging Face ``preprocessor_config.json`` does. Raises ReadError for what has no such form."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        size = held["size"]
        lengths = (int(size["height"]), int(size["width"])) if isinstance(size, dict) else (int(size), int(size))
        like = f"pillow:{_RESAMPLE[int(held.get('resample', 2))]}"
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", str(path)) from error
    except (ValueError, TypeError, KeyError, IndexError) as error:
        problem = f"no configuration that is known ({type(error).__name__}: {error})"
        expected = "expected JSON with size, as height and width, and resample, from 0 to 5"
        raise ReadError(f"{problem}; {expected}", path.name) from None
    for name in ("do_center_crop", "do_pad"):
        if held.get(name):
            raise ReadError(f"{name} is not known here; expected a plain resize", path.name)
    unit = held.get("rescale_factor", 1 / 255) if held.get("do_rescale", True) else 1.0
    normalises = held.get("do_normalize", True)
    mean, deviation = (held.get(name) if normalises else None for name in ("image_mean", "image_std"))
    images = Images(
        mean=tuple(each / unit for each in mean or ()), scale=tuple(each / unit for each in deviation or (1.0,))
    )
    return Preprocess(like=like, size=lengths, images=images)


_RESAMPLE = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # numbers of Pillow


def _input(model: onnx.ModelProto, name: str | None, where: str) -> onnx.ValueInfoProto:
    constants = {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in constants]
    chosen = [each for each in inputs if name in (None, each.name)]
    if len(chosen) != 1:
        problem = f"no input {name!r}" if name is not None else f"{len(inputs)} inputs; name one"
        raise ReadError(f"{problem}; {closest(name or '', [each.name for each in inputs])}", where)
    if len(chosen[0].type.tensor_type.shape.dim) not in (3, 4):
        raise ReadError(f"input {chosen[0].name!r} takes no image: expected 3 or 4 axes", where)
    found: onnx.ValueInfoProto = chosen[0]
    return found


def _names(model: onnx.ModelProto) -> set[str]:
    ends = {end for node in with_inner(model.graph.node) for end in (*node.input, *node.output)}
    values = (*model.graph.input, *model.graph.output, *model.graph.initializer)
    return ends | {each.name for each in values}


def _normalised(y: Number, wanted: Preprocess, given: onnx.ValueInfoProto) -> Number:
    """Return an image [height, width, 3] as the input of the model."""
    images, tensor = wanted.images, given.type.tensor_type
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name
    lengths = [each.dim_value if each.HasField("dim_value") else None for each in tensor.shape.dim]
    if images.bgr:
        y = y.take([2, 1, 0], 2)
    y = y.cast(dtype)
    for kind, numbers in (("Sub", images.mean), ("Div", images.scale)):
        if numbers and "float" not in dtype:
            raise SpecError(f"mean and scale have no effect on an input of {dtype}")
        if numbers:
            y = y - np.array(numbers) if kind == "Sub" else y / np.array(numbers)
    last = images.layout == "nhwc" if images.layout else lengths[-1] == 3 and lengths[-3] != 3
    expected = (lengths[-3], lengths[-2]) if last else (lengths[-2], lengths[-1])
    if any(length not in (None, size) for length, size in zip(expected, wanted.size, strict=True)):
        raise SpecError(f"input {given.name!r} takes images of {expected[0]}x{expected[1]}, not of {wanted.size}")
    y = y if last else y.transposed(2, 0, 1)
    return y if len(lengths) == 3 else Number(y.graph, operators.unsqueeze(y.graph, y.name, (0,)), dtype)
