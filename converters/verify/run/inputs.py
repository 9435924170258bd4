"""Arrays for the inputs of a model: from files, else made up, of a kind that the model can work with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
from ir_interp.options.image_options import Images
from ir_interp.views.image_arrays import array as array_of

from ..graphs import Described, Graph
from . import image_inputs as images
from .chosen_lengths import Shapes, check_names, fits
from .meanings import Meaning, meanings
from .runners import Named

_BYTES_AN_ELEMENT = 8  # of a float64, from which others are made
_BRIGHTEST = 255
_WAYS = ("uniform", "normal", "pixels")
"""How floats are made up: in [0, 1); around 0; whole numbers of pixels. Others follow where one tells nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What to run models on: lengths, and files (arrays, images or folders of them) by input name; the rest is made up.

    Several files of an input make several runs; an input with one file has it in each. ``seed`` is that of what is
    made up; ``images`` says how images become arrays.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    files: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    seed: int = 0
    images: Images = field(default_factory=Images)

    @classmethod
    def of(cls, options: ConvertOptions | CompareOptions | FixOptions) -> Inputs:
        """Return the inputs that the options of a command name."""
        return cls(shapes=options.shapes, files=options.inputs, seed=options.seed, images=options.images)

    @property
    def paths(self) -> list[Path]:
        """All that is read."""
        return [path for paths in self.files.values() for path in paths]

    def samples(self) -> list[dict[str, Path]]:
        """Return the files of each run. Raises IrInterpError where inputs have different numbers of files."""
        listed = {name: _listed(name, paths) for name, paths in self.files.items()}
        counts = {name: len(paths) for name, paths in listed.items() if len(paths) > 1}
        if len(set(counts.values())) > 1:
            told = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise IrInterpError(f"inputs have different numbers of files: {told}")
        count = max(counts.values(), default=1)
        return [{name: paths[place % len(paths)] for name, paths in listed.items()} for place in range(count)]


def _listed(name: str, paths: Sequence[Path]) -> list[Path]:
    """Return files, those of folders in the order of their names."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(each for each in path.iterdir() if _is_sample(each)) if is_folder(path) else [path]
        if not inside:
            raise IrInterpError(f"{path}: no array (.npy) and no image in this folder, for input {name!r}")
        found += inside
    return found


def _is_sample(path: Path) -> bool:
    return is_file(path) and (FileKind.of(path) is FileKind.ARRAY or is_image(path))


def ways(inputs: Inputs, graph: Graph) -> tuple[str, ...]:
    """Return the ways to make up floats that differ for a model: one where every input comes from a file."""
    made = [each for each in graph.inputs if each.name not in inputs.files and each.dtype.startswith("float")]
    return _WAYS if made else _WAYS[:1]


def read_files(graph: Graph, inputs: Inputs, files: Mapping[str, Path]) -> dict[str, NDArray[Any]]:
    """Return what the files of one run hold. Raises ReadError, IrInterpError where that is no input of the model."""
    check_names(graph, files)
    return {each.name: _read(files[each.name], each, inputs) for each in graph.inputs if each.name in files}


def arrays(graph: Graph, shapes: Shapes, read: Mapping[str, NDArray[Any]], seed: int, way: str = _WAYS[0]) -> Named:
    """Return an array for each input: what was read of files, the rest made up, seeded."""
    meant, rng = meanings(graph, shapes), np.random.default_rng(seed)
    return [
        (each.name, read[each.name] if each.name in read else _made(each, shapes, meant.get(each.name), rng, way))
        for each in graph.inputs
    ]


def _made(each: Described, shapes: Shapes, meaning: Meaning | None, rng: np.random.Generator, way: str) -> NDArray[Any]:
    """Return floats as ``way`` says, integers of a pixel, or 0 and 1: larger ones may lie beyond what they index."""
    shape = shapes[each.name]
    check_bytes(_BYTES_AN_ELEMENT * math.prod(shape), f"input {each.name!r} of shape {list(shape)}")
    try:
        dtype = np.dtype(each.dtype)
    except TypeError:
        raise IrInterpError(f"input {each.name!r} holds {each.dtype or 'no tensor'}, and that is not made up") from None
    if dtype.kind in "OSU":
        raise IrInterpError(f"input {each.name!r} holds strings, and those are not made up")
    if meaning is not None:
        return np.asarray(meaning.values(rng, shape, each.dtype))
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind not in "iu":
        return _floats(rng, shape, way).astype(dtype)
    bounds = np.iinfo(dtype) if dtype.itemsize == 1 else None
    return rng.integers(bounds.min if bounds else 0, bounds.max if bounds else 1, shape, dtype, endpoint=True)


def _floats(rng: np.random.Generator, shape: tuple[int, ...], way: str) -> NDArray[np.float64]:
    if way == "normal":
        return rng.standard_normal(shape)
    return rng.random(shape) if way == "uniform" else rng.integers(0, _BRIGHTEST, shape, endpoint=True).astype(float)


def _read(file: Path, wanted: Described, inputs: Inputs) -> NDArray[Any]:
    """Return the array or image of a file. Raises ReadError, IrInterpError where it is none, or does not fit."""
    if is_image(file):
        return images.read(file, wanted, inputs.shapes.get(wanted.name), inputs.images)
    array = array_of(file)
    if not fits(array.shape, wanted.lengths) or array.dtype != wanted.dtype:
        raise IrInterpError(f"{file}: {array.dtype} of shape {list(array.shape)}; {wanted.text}")
    return array
