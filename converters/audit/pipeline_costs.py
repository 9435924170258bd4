"""The difference of two pipelines on images of usual shapes, and the share of each step in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import IrInterpError, ReadError, SpecError
from ir_interp.library_registry import is_call
from ir_interp.pipelines.alpha import CHANNELS
from ir_interp.pipelines.openvino_steps import Scale
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.steps import ImageStep, Normalise, Rescale
from ir_interp.views.describe import shape_text
from ir_interp.views.likeness import Likeness, difference

from ..sources.pipeline_files import of_text

_SLACK = 1.001  # of one level of a pixel: below that, float32 rounding
_CACHED = 16  # pipelines whose levels are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """A step of the training that the deployment does differently: how much it alone changes the training's result.

    ``problem`` is the reason why that cannot be measured, else empty.
    """

    trained: str
    deployed: str
    largest: float = 0.0
    mean: float = 0.0
    problem: str = ""

    @property
    def text(self) -> str:
        """The same as a line."""
        cost = self.problem or f"by up to {self.largest:.3g}, on average {self.mean:.3g}"
        return f"{self.deployed or 'nothing'} in place of {self.trained or 'nothing'}: {cost}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelinePair:
    """The deployed pipeline and the training's, by the names that the caller used."""

    deployed: Pipeline
    trained: Pipeline
    names: tuple[str, str]

    @property
    def is_same(self) -> bool:
        """Whether both have the same steps."""
        first, second = (replace(pipeline, name="") for pipeline in (self.deployed, self.trained))
        return first == second

    def check(self, size: tuple[int | None, ...], where: str) -> None:
        """Raise ReadError for a pipeline whose images do not fit an input's size, where None fits any."""
        for name, pipeline in zip(self.names, (self.deployed, self.trained), strict=True):
            image_size = pipeline.size or size
            if any(edge not in (None, image_edge) for edge, image_edge in zip(size, image_size, strict=True)):
                raise ReadError(f"takes {shape_text(size)}; {name} gives images of {shape_text(image_size)}", where)


def pair_of(deployed: str, trained: str) -> PipelinePair | None:
    """Return two pipelines, None for two calls of image libraries.

    Raises SpecError for a mixture of both, and the errors of reading a pipeline.
    """
    names = (deployed, trained)
    calls = [name for name in names if is_call(name)]
    if len(calls) == len(names):
        return None
    if calls:
        raise SpecError(f"{calls[0]} is a single resize, the other a pipeline; expected two pipelines, or two resizes")
    first, second = (of_text(name) for name in names)
    return PipelinePair(deployed=first, trained=second, names=names)


@lru_cache(maxsize=_CACHED)
def levels(pipeline: Pipeline) -> Array:
    """Return one level of a uint8 pixel after a pipeline: one number, or one for each channel."""
    level = np.ones(1)
    for step in pipeline.steps:
        if isinstance(step, Rescale):
            level = level * abs(step.factor)
        elif isinstance(step, Normalise):
            level = level / np.abs(step.deviation)
        elif isinstance(step, Scale):
            level = level * np.abs(step.factors)
    return level


def compared(pair: PipelinePair, x: Array) -> tuple[Likeness, int, tuple[StepCost, ...]]:
    """Return the difference of pipelines on an image: the largest, the count beyond one level, and the steps at fault.

    Raises ShapeError if either has no result for this image, or their shapes differ.
    """
    deployed, trained = pair.deployed(x), pair.trained(x)
    if deployed.shape != trained.shape:
        shapes = f"{list(deployed.shape)} and {list(trained.shape)}"
        raise SpecError(f"{pair.names[0]} and {pair.names[1]} give different shapes: {shapes}")
    level = levels(pair.trained)
    level = level[:, None, None] if pair.trained.layout == "nchw" else level
    beyond = int(np.count_nonzero(_apart(deployed, trained) > level * _SLACK))
    return difference(pair.names, deployed, trained), beyond, tuple(_steps(pair, x, trained))


def _apart(y: Array, trained: Array) -> Array:
    return np.abs(y.astype(np.float64) - trained)


def _steps(pair: PipelinePair, x: Array, trained: Array) -> Iterator[StepCost]:
    """Yield the cost of each differing run of steps, and of another rule for alpha, each put into the training."""
    rules = pair.trained.alpha, pair.deployed.alpha
    if x.shape[-1] == CHANNELS and rules[0] is not rules[1]:
        apart = _apart(replace(pair.trained, alpha=rules[1])(x), trained)
        alpha, other = (f"alpha {rule.value}" for rule in rules)
        yield StepCost(trained=alpha, deployed=other, largest=float(apart.max()), mean=float(apart.mean()))
    steps, others = pair.trained.steps, pair.deployed.steps
    for first, last, start, stop in _differing(steps, others):
        mixed = replace(pair.trained, steps=(*steps[:first], *others[start:stop], *steps[last:]))
        cost = StepCost(trained=_listed(steps[first:last]), deployed=_listed(others[start:stop]))
        try:
            y = mixed(x)
        except IrInterpError as error:
            yield replace(cost, problem=str(error))
            continue
        if y.shape != trained.shape:
            yield replace(cost, problem=f"the result has shape {list(y.shape)}")
            continue
        apart = _apart(y, trained)
        yield replace(cost, largest=float(apart.max()), mean=float(apart.mean()))


def _differing(steps: tuple[ImageStep, ...], others: tuple[ImageStep, ...]) -> Iterator[tuple[int, int, int, int]]:
    """Yield differing runs of steps, aligned by their kinds: where each begins and ends in either pipeline.

    Steps that scale pixels are one run: libraries write a product and a difference as one step or as two.
    """
    runs, other_runs = (list(_runs(those)) for those in (steps, others))
    kinds, other_kinds = ([kind for kind, _, _ in those] for those in (runs, other_runs))
    ends, other_ends = ([0, *(stop for _, _, stop in those)] for those in (runs, other_runs))
    for tag, first, last, start, stop in SequenceMatcher(None, kinds, other_kinds, autojunk=False).get_opcodes():
        pieces = zip(range(first, last), range(start, stop), strict=True) if tag == "equal" else ()
        bounds = [(place, place + 1, other, other + 1) for place, other in pieces] or [(first, last, start, stop)]
        for begin, end, other_begin, other_end in bounds:
            run = (ends[begin], ends[end], other_ends[other_begin], other_ends[other_end])
            if steps[run[0] : run[1]] != others[run[2] : run[3]]:
                yield run


def _runs(steps: tuple[ImageStep, ...]) -> Iterator[tuple[str, int, int]]:
    """Yield the kind of each run of steps, and where it begins and ends."""
    numbered = groupby(enumerate(steps), lambda item: "scale" if isinstance(item[1], _SCALING) else item[0])
    for _, those in numbered:
        run = list(those)
        kind = "scale" if isinstance(run[0][1], _SCALING) else type(run[0][1]).__name__
        yield kind, run[0][0], run[-1][0] + 1


_SCALING = (Rescale, Normalise, Scale)


def _listed(steps: tuple[ImageStep, ...]) -> str:
    return ", then ".join(step.text for step in steps)
