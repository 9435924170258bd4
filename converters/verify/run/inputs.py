"""Arrays for the inputs of a model: from files, else random values that suit the model."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind, is_image
from ir_interp.files.memory import check_bytes
from ir_interp.files.paths import is_file, is_folder
from ir_interp.options.compare_options import CompareOptions
from ir_interp.options.convert_options import ConvertOptions
from ir_interp.options.fix_options import FixOptions
from ir_interp.options.image_options import IMAGE_RANK, Images
from ir_interp.views.image_arrays import array as array_of

from ...reports.verification import FedImage
from ..graphs import Graph, ModelInput
from . import extremes
from . import image_inputs as images
from .array_files import Named
from .deciding_lengths import SizeHints
from .input_roles import Role, is_setting, roles
from .input_shapes import Shapes, check_names, fits

_BYTES_AN_ELEMENT = 8  # of a float64, from which others are derived
_BRIGHTEST = 255
_SETTINGS = (1, 2, 3, 8, 32, 64, 100, 224)
"""Frequent values of integers that decide shapes: flags, counts, factors, percentages, sizes."""
DISTRIBUTIONS = ("uniform", "normal", "pixels")
"""Distributions of random floats: in [0, 1); around 0; integers of pixels. The next is tried if one proves nothing."""


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


def extreme_patterns(inputs: Inputs, graph: Graph) -> tuple[str, ...]:
    """Return the patterns of extreme inputs to run besides: none if the model is not quantised, or files are given."""
    limits = extremes.limits(graph)
    free = [tensor for tensor in graph.inputs if tensor.name in limits and tensor.name not in inputs.files]
    # Random integers have all values of their type already, and random floats those from 0 to 1.
    is_wider = any(tensor.dtype.startswith("float") and limits[tensor.name] != (0, 1) for tensor in free)
    return extremes.PATTERNS[: None if is_wider else -1] if free else ()


def settings(graph: Graph, shapes: Shapes, read: Collection[str]) -> tuple[int, ...]:
    """Return values to try for inputs of a few integers, if the model runs with none of their role."""
    is_open = any(is_setting(tensor, shapes[tensor.name]) for tensor in graph.inputs if tensor.name not in read)
    return _SETTINGS if is_open else ()


def read_files(graph: Graph, inputs: Inputs, files: Mapping[str, Path]) -> dict[str, NDArray[Any]]:
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
    read: Mapping[str, NDArray[Any]],
    seed: int,
    distribution: str = DISTRIBUTIONS[0],
    setting: int | None = None,
) -> Named:
    """Return an array for each input: those that were ``read`` from files, the rest random, by the seed.

    Inputs of a few integers are all ``setting``, unless that is None. ``distribution`` may be a pattern of
    ``extremes``, which concerns the inputs that have a range and no role.
    """
    known, rng = roles(graph, shapes), np.random.default_rng(seed)
    limits = extremes.limits(graph) if distribution in extremes.PATTERNS else {}
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
) -> NDArray[Any]:
    """Return an input of a quantised model at the ends of its range, or at random between them."""
    shape, dtype = shapes[tensor.name], _dtype(tensor)
    check_bytes(_BYTES_AN_ELEMENT * math.prod(shape), f"input {tensor.name!r} of shape {list(shape)}")
    if pattern != extremes.RANGE:
        return extremes.values(pattern, shape, dtype, ends)
    if dtype.kind == "f":
        return rng.uniform(*ends, shape).astype(dtype)
    return rng.integers(int(ends[0]), int(ends[1]), shape, dtype, endpoint=True)


def _random(
    tensor: ModelInput, shapes: Shapes, role: Role | None, rng: np.random.Generator, distribution: str
) -> NDArray[Any]:
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
    return rng.standard_normal(shape) if distribution == "normal" else rng.random(shape)


def _read(file: Path, target: ModelInput, inputs: Inputs) -> NDArray[Any]:
    """Return the array or image of a file. Raises ReadError if it is neither, IrInterpError if it does not fit."""
    if is_image(file):
        return images.read(file, target, inputs.shapes.get(target.name), inputs.images)
    array = array_of(file)
    if not fits(array.shape, target.lengths) or array.dtype != target.dtype:
        raise IrInterpError(f"{file}: {array.dtype} of shape {list(array.shape)}; {target.text}")
    return array
