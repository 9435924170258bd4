"""Arrays for the inputs of a model: from files, else random values that suit the model.

Random values follow from the roles of inputs, which the steps that consume them show: sizes, scales, windows, indices,
lengths, counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind, is_image
from ir_interp.files.memory import check_bytes
from ir_interp.files.writing import is_file, is_folder
from ir_interp.options.model_options import CompareOptions, ConvertOptions, FixOptions
from ir_interp.options.shared_options import IMAGE_RANK, Images
from ir_interp.shapes import Array, PartialShape
from ir_interp.views.image_arrays import array as array_of

from ..reports import FedImage
from . import graphs, graphs as images
from .graphs import Graph, ModelInput, Step
from .input_shapes import Shapes, SizeHints, check_names, fits, integers, resized_axes
from .run_request import Named

_GROWTH = 1.5  # the factor by which a resize with sizes as an input enlarges its image
_UNKNOWN = 64  # the size of an axis that the model does not specify
_BRIGHTEST = 255  # of 8 bits: a resize of 0 and 1 alone would prove little
_COUNT = 3  # of things, where any number will do
_OF_RESIZE_10 = 2  # inputs: its data and its scales
_MAX_STEPS = 24  # from an input to the step that consumes it
_PASSES = {
    *("cast", "convert", "convertlike", "identity", "squeeze", "unsqueeze", "reshape", "flatten", "transpose"),
    *("slice", "stridedslice", "gather", "split", "variadicsplit", "concat"),
    *("mul", "multiply", "div", "divide", "add", "sub", "subtract", "ceil", "ceiling", "floor", "round"),
    *("clip", "clamp", "max", "maximum", "min", "minimum"),
}
"""Steps that keep the role of a number: a size, an index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """The values that an input may have: those of ``vector``, repeated; else random ones from ``low`` to ``high``."""

    vector: tuple[float, ...] = ()
    low: float = 0
    high: float = 1

    def values(self, rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> NDArray[np.generic]:
        """Return an array of such values."""
        if self.vector:
            vector = np.array(self.vector)
            vector = np.rint(vector) if np.dtype(dtype).kind in "iu" else vector
            return np.resize(vector, shape).astype(dtype)
        if np.dtype(dtype).kind in "iu":
            return rng.integers(int(self.low), int(self.high), shape, endpoint=True).astype(dtype)
        return rng.uniform(self.low, self.high, shape).astype(dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arithmetic:
    """A step of arithmetic with a constant, which is its first or its second ``operand``."""

    type: str
    constant: Array
    operand: int

    def undone(self, result: Array) -> Array:
        """Return the other operand, with which the step gives ``result``; ``result`` itself if there is none."""
        with np.errstate(all="ignore"):
            other = _INVERSES[self.type, self.operand](result, self.constant)
        is_vector = other.shape == result.shape and np.isfinite(other).all()
        return other if is_vector else result

    @classmethod
    def of(cls, graph: Graph, step: Step, place: int) -> tuple[_Arithmetic, ...]:
        """Return the effect of a step on its input at a place; empty if it leaves values unchanged."""
        operand = 1 - place
        if (step.type, operand) not in _INVERSES:
            return ()
        constant = graph.value(step.inputs[operand])
        return () if constant is None else (cls(type=step.type, constant=constant.astype(float), operand=operand),)


_INVERSES: dict[tuple[str, int], Callable[[Array, Array], Array]] = {
    (name, operand): inverse
    for names, operands, inverse in (
        ("add", (0, 1), lambda result, constant: result - constant),
        ("mul multiply", (0, 1), lambda result, constant: result / constant),
        ("sub subtract", (1,), lambda result, constant: result + constant),
        ("sub subtract", (0,), lambda result, constant: constant - result),
        ("div divide", (1,), lambda result, constant: result * constant),
        ("div divide", (0,), lambda result, constant: constant / result),
    )
    for name in names.split()
    for operand in operands
}
"""By a step and the place of its constant: the other operand, from the result and the constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """An input as a step consumes it: its place, and the first element of it in the step's operand.

    ``tensor`` is the name of the input, and ``path`` leads from the step back to it.
    """

    graph: Graph
    tensor: str
    step: Step
    place: int
    start: int
    path: tuple[_Arithmetic, ...]
    shapes: Mapping[str, tuple[int, ...]]

    @property
    def kind(self) -> str:
        """The kind of the elements of the input, as NumPy has it."""
        dtypes = (tensor.dtype for tensor in self.graph.inputs if tensor.name == self.tensor)
        return np.dtype(next(dtypes, "") or "V").kind

    def lengths(self, place: int) -> PartialShape:
        """Return the shape of another input of the step, empty if unknown."""
        name = self.step.inputs[place] if place < len(self.step.inputs) else ""
        return self.shapes.get(name) or self.graph.shape(name) or ()

    def vector(self, values: tuple[float, ...]) -> Role:
        """Return the role of an input that is to become ``values`` where the step consumes it."""
        vector = np.array(values[self.start :] or values or (1.0,))
        for arithmetic in self.path:
            vector = arithmetic.undone(vector)
        return Role(vector=tuple(vector.tolist()))

    def number(self, place: int, attribute: str, default: int) -> int:
        """Return an axis or the like: a constant input of an IR's layer, an attribute of a node."""
        if attribute in self.step.attributes:
            return int(self.step.attributes[attribute])
        value = self.graph.value(self.step.inputs[place]) if place < len(self.step.inputs) else None
        return default if value is None or not value.size else int(value.ravel()[0])


def roles(graph: Graph, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Role]:
    """Return the roles of inputs, as far as they can be inferred; ``shapes`` are those of all inputs."""
    readers = graph.readers()
    roles = {}
    for tensor in graph.inputs:
        uses = _uses(graph, tensor.name, shapes, readers)
        role = next(filter(None, (_CONSUMERS[use.step.type, use.place](use) for use in uses)), None)
        role = role or _by_name(tensor, graph, shapes)
        if role is not None:
            roles[tensor.name] = role
    return roles


def _uses(
    graph: Graph, name: str, shapes: Mapping[str, tuple[int, ...]], readers: Mapping[str, list[tuple[Step, int]]]
) -> Iterator[_Use]:
    """Yield the uses of a tensor that reveal its role, the nearest first."""
    tensors: list[tuple[str, int, tuple[_Arithmetic, ...]]] = [(name, 0, ())]
    visited = {name}
    for _ in range(_MAX_STEPS):
        behind = []
        for tensor, start, path in tensors:
            for step, place in readers.get(tensor, ()):
                if (step.type, place) in _CONSUMERS:
                    yield _Use(graph=graph, tensor=name, step=step, place=place, start=start, path=path, shapes=shapes)
                elif step.type in _PASSES and not visited & set(step.outputs):
                    visited |= set(step.outputs)
                    nearer = (*_Arithmetic.of(graph, step, place), *path)
                    behind += [(output, start + _before(graph, step, place), nearer) for output in step.outputs]
        tensors = behind


def _before(graph: Graph, step: Step, place: int) -> int:
    """Return the number of elements in front of an input of a Concat."""
    if step.type != "concat":
        return 0
    return sum((graph.shape(name) or (1,))[0] or 1 for name in step.inputs[:place])


def _sizes(use: _Use) -> Role | None:
    if use.step.type == "interpolate" and use.step.attributes.get("shape_calculation_mode") == "scales":
        return _scales(use)  # also of Interpolate-4, which ignores its sizes then
    lengths, axes = use.lengths(0), _resized(use)
    # An unknown rank gives no sizes, so the usual four axes are assumed with unknown ones.
    before = {axis: lengths[axis] if axis < len(lengths) else None for axis in axes}
    pads = _pads(use.step)  # one row of a padded axis might be a pad, and prove nothing
    return use.vector(tuple(_grown(length, axis, len(lengths), pads.get(axis, 0)) for axis, length in before.items()))


def _pads(step: Step) -> dict[int, int]:
    """Return how far an Interpolate pads each axis."""
    sums: dict[int, int] = {}
    for name in ("pads_begin", "pads_end"):
        listed = step.attributes.get(name, ())
        for axis, pad in enumerate(integers(listed.split(",") if isinstance(listed, str) else listed)):
            sums[axis] = sums.get(axis, 0) + pad
    return sums


def _resized(use: _Use) -> list[int]:
    return resized_axes(use.graph, use.step, len(use.lengths(0)) or 4)


def _grows(axis: int, rank: int) -> bool:
    return axis >= (rank or 4) - (2 if rank != 3 else 1)


def _grown(length: int | None, axis: int, rank: int, pads: int) -> float:
    if not _grows(axis, rank):
        return float((length or 1) + pads)
    return float(max(2, round(_GROWTH * length)) if length else _GROWTH * _UNKNOWN)


def _scales(use: _Use) -> Role:
    rank = len(use.lengths(0))
    return use.vector(tuple(_GROWTH if _grows(axis, rank) else 1.0 for axis in _resized(use)))


def _pixels(use: _Use) -> Role | None:
    """Return integers of pixels; floats may be random."""
    return Role(high=_BRIGHTEST) if use.kind in ("i", "u") else None


def _window(use: _Use) -> Role:
    if len(use.step.inputs) == _OF_RESIZE_10:
        return _scales(use)
    count = len(_resized(use))
    return use.vector((0.0,) * count + (1.0,) * count)


def _indices(use: _Use) -> Role | None:
    lengths = use.lengths(0)
    if use.step.type == "gathernd":
        return Role(high=min((length or _COUNT for length in lengths), default=1) - 1)
    axis = use.number(2 if use.step.type == "gather" else 3, "axis", 0)
    length = lengths[axis] if -len(lengths) <= axis < len(lengths) else None
    return Role(high=length - 1) if length else None


def _classes(use: _Use) -> Role:
    return Role(high=use.number(1, "", 2) - 1)


def _lengths_of_data(use: _Use) -> Role:
    lengths = tuple(float(size or _UNKNOWN) for size in use.lengths(0))
    return use.vector(lengths)


def _steps_of_sequence(use: _Use) -> Role:
    place = 0 if use.step.type in ("lstm", "gru", "rnn") else 1  # ONNX puts time first, IR the batch
    lengths = use.lengths(0)
    return Role(vector=(float(lengths[place] or _UNKNOWN),) if len(lengths) > place else (1.0,))


def _always(*vector: float) -> Callable[[_Use], Role]:
    return lambda _: Role(vector=vector)


_CONSUMERS: dict[tuple[str, int], Callable[[_Use], Role | None]] = {
    (step, int(place)): rule
    for rule, places in {
        _pixels: "resize 0, upsample 0, interpolate 0",
        _window: "resize 1",
        _sizes: "resize 3, interpolate 1",
        _scales: "resize 2, upsample 1",
        lambda use: _scales(use) if use.kind == "f" else None: "interpolate 2",  # integers are its axes
        _indices: "gather 1, gatherelements 1, gathernd 1, scatterelements 1, scatterelementsupdate 1",
        _classes: "onehot 0",
        _lengths_of_data: "reshape 1, expand 1, broadcast 1",
        _steps_of_sequence: "lstm 4, gru 4, rnn 4, lstmsequence 3, grusequence 2, rnnsequence 2",
        _always(_COUNT): "constantofshape 0, topk 1, loop 0",
        _always(0): "scatternd 1, range 0, slice 1, roialign 2, cumsum 1",
        _always(0.1): "nonmaxsuppression 4",  # its threshold of scores
        _always(0.5): "nonmaxsuppression 3",  # its threshold of overlaps
        _always(1): "tile 1, range 2, slice 4, pad 1",
        _always(2): "slice 2",
        _always(8): "range 1",
        _always(10): "nonmaxsuppression 2",  # boxes of each class
        _always(0, 0, 8, 8): "roialign 1",
        lambda _: Role(low=-1, high=1): "gridsample 1",
    }.items()
    for step, place in (words.split() for words in places.split(", "))
}
"""By steps and the places of their inputs: the role of a number that is read there."""

_SIZE_NAMES = re.compile(r"(im|image|img|orig|origin|target).*(size|shape|hw)s?$|^sizes?$", re.IGNORECASE)
_SCALE_NAMES = re.compile(r"scale(_?factor)?s?$", re.IGNORECASE)
_LENGTH_NAMES = re.compile(r"len(gth)?s?$", re.IGNORECASE)
_FEW = 8  # elements, up to which an input holds settings rather than data


def is_setting(tensor: ModelInput, shape: tuple[int, ...]) -> bool:
    """Return whether an input holds a few integers, which may decide whether the model runs at all."""
    return int(np.prod(shape)) <= _FEW and bool(tensor.dtype) and np.dtype(tensor.dtype).kind in "iu"


def _by_name(tensor: ModelInput, graph: Graph, shapes: Mapping[str, tuple[int, ...]]) -> Role | None:
    """Return the role that the name of a short input suggests: image sizes in pixels, factors, lengths of sequences."""
    shape = shapes[tensor.name]
    if int(np.prod(shape)) > _FEW or len(shape) > 2 or not tensor.dtype or np.dtype(tensor.dtype).kind not in "iuf":
        return None
    # The largest input is taken for the data that a setting describes.
    others = [shapes[other.name] for other in graph.inputs if len(shapes[other.name]) > len(shape)]
    largest = max(others, key=lambda shape: int(np.prod(shape)), default=())
    if _SIZE_NAMES.search(tensor.name) and len(largest) >= 3:
        return Role(vector=tuple(map(float, largest[-2:])))
    if _LENGTH_NAMES.search(tensor.name) and len(largest) >= 2:
        return Role(vector=(float(max(largest[1:])),))
    return Role(vector=(1.0,)) if _SCALE_NAMES.search(tensor.name) and tensor.dtype.startswith("float") else None


_BYTES_AN_ELEMENT = 8  # of a float64, from which others are derived
_SETTINGS = (1, 2, 3, 8, 32, 64, 100, 224)
"""Frequent values of integers that decide shapes: flags, counts, factors, percentages, sizes."""
DISTRIBUTIONS = ("uniform", "normal", "pixels")
"""Distributions of random floats: in [0, 1); around 0; integers of pixels. The next is tried if one proves nothing."""
_POSITIVE, _ASCENDING, _DESCENDING = "small positive", "ascending scalar", "descending scalar"
_SMALL = (0.001, 0.1)
_LEAST_SCALAR, _NEXT_SCALAR = 10, 10  # the lower end of the lowest range of a scalar, and the factor to the next one


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The inputs of runs: shapes, and files (arrays, images or folders of them) by input name; the rest is random.

    Several files of an input make several runs; an input with one file has it in each. ``seed`` is that of random
    values; ``images`` specifies how images become arrays. ``hints`` are sizes that a source has.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    files: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    seed: int = 0
    images: Images = field(default_factory=Images)
    hints: SizeHints = field(default_factory=SizeHints)

    @classmethod
    def of(cls, options: ConvertOptions | CompareOptions | FixOptions) -> Inputs:
        """Return the inputs that the options of a command name."""
        return cls(shapes=options.shapes, files=options.inputs, seed=options.seed, images=options.images)

    @property
    def paths(self) -> list[Path]:
        """All files that are read."""
        return [path for paths in self.files.values() for path in paths]

    def samples(self) -> list[dict[str, Path]]:
        """Return the files of each run. Raises IrInterpError if inputs have different numbers of files."""
        listed = {name: _listed(name, paths) for name, paths in self.files.items()}
        counts = {name: len(paths) for name, paths in listed.items() if len(paths) > 1}
        if len(set(counts.values())) > 1:
            text = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise IrInterpError(f"inputs have different numbers of files: {text}")
        count = max(counts.values(), default=1)
        return [{name: paths[place % len(paths)] for name, paths in listed.items()} for place in range(count)]


def _listed(name: str, paths: Sequence[Path]) -> list[Path]:
    """Return files, those of folders in the order of their names."""
    files: list[Path] = []
    for path in paths:
        inside = sorted(file for file in path.iterdir() if _is_sample(file)) if is_folder(path) else [path]
        if not inside:
            raise IrInterpError(f"{path}: no array (.npy) and no image in this folder, for input {name!r}")
        files += inside
    return files


def _is_sample(path: Path) -> bool:
    return is_file(path) and (FileKind.of(path) is FileKind.ARRAY or is_image(path))


def distributions(inputs: Inputs, graph: Graph) -> tuple[str, ...]:
    """Return the distributions that make a difference for a model: one if no random floats are needed."""
    is_random = any(tensor.name not in inputs.files and tensor.dtype.startswith("float") for tensor in graph.inputs)
    return DISTRIBUTIONS if is_random else DISTRIBUTIONS[:1]


def domains(inputs: Inputs, graph: Graph) -> tuple[str, ...]:
    """Return more distributions, for a source that is undefined on the usual ones, as log(x - 1) is below 1.

    Floats are small and positive; or scalars lie in separate ranges, in the order of the inputs or against it, since
    one may have to be less than another.
    """
    if len(distributions(inputs, graph)) == 1:
        return ()
    scalars = [name for name in _scalars(graph) if name not in inputs.files]
    return _POSITIVE, *(_ASCENDING, _DESCENDING)[: len(scalars)]


def _scalars(graph: Graph) -> list[str]:
    """Return the float inputs of one element."""
    return [
        tensor.name
        for tensor in graph.inputs
        if tensor.dtype.startswith("float") and all(length == 1 for length in tensor.lengths)
    ]


def _scalar_roles(graph: Graph, distribution: str) -> dict[str, Role]:
    """Return a range for each scalar, if the distribution has separate ones."""
    if distribution not in (_ASCENDING, _DESCENDING):
        return {}
    names = _scalars(graph)[:: 1 if distribution == _ASCENDING else -1]
    lowest = (float(_LEAST_SCALAR * _NEXT_SCALAR**place) for place in range(len(names)))
    return {name: Role(low=low, high=2 * low) for name, low in zip(names, lowest, strict=True)}


def extreme_patterns(inputs: Inputs, graph: Graph) -> tuple[str, ...]:
    """Return the patterns of extreme inputs to run besides: none if the model is not quantised, or files are given."""
    limits = graphs.extreme_limits(graph)
    free = [tensor for tensor in graph.inputs if tensor.name in limits and tensor.name not in inputs.files]
    # Random integers have all values of their type already, and random floats those from 0 to 1.
    is_wider = any(tensor.dtype.startswith("float") and limits[tensor.name] != (0, 1) for tensor in free)
    return graphs.PATTERNS[: None if is_wider else -1] if free else ()


def settings(graph: Graph, shapes: Shapes, read: Collection[str]) -> tuple[int, ...]:
    """Return values to try for inputs of a few integers, if the model runs with none of their role."""
    is_open = any(is_setting(tensor, shapes[tensor.name]) for tensor in graph.inputs if tensor.name not in read)
    return _SETTINGS if is_open else ()


def read_files(graph: Graph, inputs: Inputs, files: Mapping[str, Path]) -> dict[str, Array]:
    """Return the arrays of one run's files. Raises ReadError, or IrInterpError for one that fits no input."""
    check_names(graph, files)
    return {tensor.name: _read(files[tensor.name], tensor, inputs) for tensor in graph.inputs if tensor.name in files}


def images_fed(graph: Graph, inputs: Inputs) -> tuple[FedImage, ...]:
    """Return the images among the files of all runs, each with the size at which its input takes it."""
    return tuple(
        images.fed(path, tensor, inputs.shapes.get(tensor.name), inputs.images)
        for tensor in graph.inputs
        for path in _listed(tensor.name, inputs.files.get(tensor.name, ()))
        if is_image(path)
    )


def arrays(
    graph: Graph,
    shapes: Shapes,
    read: Mapping[str, Array],
    seed: int,
    distribution: str = DISTRIBUTIONS[0],
    setting: int | None = None,
) -> Named:
    """Return an array for each input: those that were ``read`` from files, the rest random, by the seed.

    Inputs of a few integers are all ``setting``, unless that is None. ``distribution`` may be a pattern of
    ``extremes``, which concerns the inputs that have a range and no role.
    """
    known, rng = _scalar_roles(graph, distribution) | roles(graph, shapes), np.random.default_rng(seed)
    limits = graphs.extreme_limits(graph) if distribution in graphs.PATTERNS else {}
    if setting is not None:
        settings = (tensor.name for tensor in graph.inputs if is_setting(tensor, shapes[tensor.name]))
        known |= dict.fromkeys(settings, Role(vector=(float(setting),)))
    return [
        (
            tensor.name,
            read[tensor.name]
            if tensor.name in read
            else _extreme(tensor, shapes, limits[tensor.name], rng, distribution)
            if tensor.name in limits and tensor.name not in known
            else _random(tensor, shapes, known.get(tensor.name), rng, distribution),
        )
        for tensor in graph.inputs
    ]


def _extreme(
    tensor: ModelInput, shapes: Shapes, ends: tuple[float, float], rng: np.random.Generator, pattern: str
) -> Array:
    """Return an input of a quantised model at the ends of its range, or at random between them."""
    shape, dtype = shapes[tensor.name], _dtype(tensor)
    check_bytes(_BYTES_AN_ELEMENT * math.prod(shape), f"input {tensor.name!r} of shape {list(shape)}")
    if pattern != graphs.RANGE:
        return graphs.values(pattern, shape, dtype, ends)
    if dtype.kind == "f":
        return rng.uniform(*ends, shape).astype(dtype)
    return rng.integers(int(ends[0]), int(ends[1]), shape, dtype, endpoint=True)


def _random(
    tensor: ModelInput, shapes: Shapes, role: Role | None, rng: np.random.Generator, distribution: str
) -> Array:
    """Return floats of a distribution, integers of pixels, or 0 and 1: larger ones may be out of range as indices."""
    shape = shapes[tensor.name]
    check_bytes(_BYTES_AN_ELEMENT * math.prod(shape), f"input {tensor.name!r} of shape {list(shape)}")
    dtype = _dtype(tensor)
    if role is not None:
        return np.asarray(role.values(rng, shape, tensor.dtype))
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind not in "iu":
        return _floats(rng, shape, distribution).astype(dtype)
    low, high = _bounds(dtype, len(shape))
    return rng.integers(low, high, shape, dtype, endpoint=True)


def _bounds(dtype: np.dtype[Any], rank: int) -> tuple[int, int]:
    """Return the integers of inputs without a role: 8 bits, and images of 16, are pixels; others may be indices."""
    is_image = rank >= IMAGE_RANK
    if dtype.itemsize == 1 or (dtype.itemsize == 2 and is_image):
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return (0, _BRIGHTEST) if is_image else (0, 1)


def _dtype(tensor: ModelInput) -> np.dtype[Any]:
    """Return the element type of random values. Raises IrInterpError if it has no random values."""
    try:
        dtype = np.dtype(tensor.dtype)
    except TypeError:
        kind = tensor.dtype or "no tensor"
        raise IrInterpError(
            f"input {tensor.name!r} is {kind}, which has no random values; pass a file for it"
        ) from None
    if dtype.kind in "OSU":
        raise IrInterpError(f"input {tensor.name!r} holds strings, which are not supported")
    return dtype


def _floats(rng: np.random.Generator, shape: tuple[int, ...], distribution: str) -> NDArray[np.float64]:
    if distribution == "pixels":
        return rng.integers(0, _BRIGHTEST, shape, endpoint=True).astype(float)
    if distribution == _POSITIVE:
        return rng.uniform(*_SMALL, shape)
    return rng.standard_normal(shape) if distribution == "normal" else rng.random(shape)


def _read(file: Path, target: ModelInput, inputs: Inputs) -> Array:
    """Return the array or image of a file. Raises ReadError if it is neither, IrInterpError if it does not fit."""
    if is_image(file):
        return images.read_image(file, target, inputs.shapes.get(target.name), inputs.images)
    array = array_of(file)
    if not fits(array.shape, target.lengths) or array.dtype != target.dtype:
        raise IrInterpError(f"{file}: {array.dtype} of shape {list(array.shape)}; {target.text}")
    return array
