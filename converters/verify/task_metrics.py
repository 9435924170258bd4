"""What a difference of outputs means for a task: how many positions change class, which boxes move.

Classes are along an axis of floats: the second axis, where ONNX has channels, or the last one of channels-last
images. Boxes are rows of a detector's output. Everything follows from the outputs of both models, on the same inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import SpecError, closest
from ir_interp.records import Record
from ir_interp.shapes import Array

ARGMAX, TOP, BOXES = "argmax", "top-k", "boxes"
NAMES = (ARGMAX, TOP, BOXES)
"""The metrics, as options name them."""
_TOP = 5  # classes whose set is compared
_IMAGE_RANK = 4
_COLOURS = (1, 3)  # channels of images, which are no classes
_BOX_COLUMNS = range(4, 8)  # of tables of boxes: corners, with score, class or image
_SCORE = 0.25  # from which a detection counts, the default of YOLO
_MOVED = 0.95  # intersection over union below which a box has moved
_CORNERS = 6  # columns of a detection: two corners, score, class


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Record):
    """How many of a number of things changed; ``name`` is that of the option, ``what`` says what was counted.

    ``is_likely`` is whether the output looks like one of the task.
    """

    KEYS = ("name", "what", "changed", "count")

    name: str
    what: str
    changed: int
    count: int
    is_likely: bool = False

    @property
    def text(self) -> str:
        """The metric in one line."""
        share = f" ({100 * self.changed / self.count:.3g} %)" if self.changed else ""
        return f"{self.name} ({self.what}): {self.changed:,} of {self.count:,} changed{share}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputComparison(Record):
    """One run of both models on files: ``relative`` is the largest difference, relative to the values of its output."""

    files: tuple[str, ...]
    relative: float
    metrics: tuple[Metric, ...]

    @property
    def rank(self) -> tuple[float, float]:
        """How bad it is: the largest share that changed, then the difference."""
        return max((metric.changed / max(metric.count, 1) for metric in self.metrics), default=0.0), self.relative

    @property
    def text(self) -> str:
        """The files and how far the outputs differ on them, in one line."""
        metrics = (metric.text for metric in self.metrics)
        return f"{', '.join(self.files)}: {'; '.join((f'relative difference {self.relative:.3g}', *metrics))}"


WORST = 5
"""The number of inputs that reports show."""


def of_output(first: Array, second: Array) -> tuple[Metric, ...]:
    """Return every metric that an output of two models has: of none for other shapes, and without a class axis."""
    if first.shape != second.shape or first.dtype.kind != "f" or second.dtype.kind != "f" or not first.size:
        return ()
    return (*_of_classes(first, second), *_of_boxes(first, second))


def _of_classes(first: Array, second: Array) -> Iterator[Metric]:
    axis, is_likely = _class_axis(first.shape)
    if axis is None:
        return
    classes = first.shape[axis]
    mine, theirs = (np.moveaxis(values, axis, -1).reshape(-1, classes) for values in (first, second))
    where = f"{classes} classes along axis {axis}"
    changed = int(np.count_nonzero(mine.argmax(-1) != theirs.argmax(-1)))
    yield Metric(name=ARGMAX, what=where, changed=changed, count=len(mine), is_likely=is_likely)
    if classes > _TOP:
        sets = (np.sort(np.argpartition(-values, _TOP - 1, -1)[:, :_TOP], -1) for values in (mine, theirs))
        moved = int((next(sets) != next(sets)).any(-1).sum())
        is_vector = is_likely and len(first.shape) < _IMAGE_RANK
        yield Metric(name=TOP, what=f"top {_TOP} of {where}", changed=moved, count=len(mine), is_likely=is_vector)


def _class_axis(shape: Sequence[int]) -> tuple[int | None, bool]:
    """Return the axis of classes, None if there is none, and whether the output looks like classes."""
    if len(shape) < 2 or shape[1] < 2:
        return (None, False) if len(shape) != _IMAGE_RANK or shape[-1] < 2 else (_IMAGE_RANK - 1, False)
    if len(shape) == 2:
        is_table = shape[0] > 1 and shape[1] in _BOX_COLUMNS
        return 1, not is_table
    if len(shape) != _IMAGE_RANK:
        return 1, False
    channels, height, width, last = shape[1], shape[2], shape[3], shape[3]
    is_first, is_last = channels < min(height, width), last < min(channels, height)
    axis = _IMAGE_RANK - 1 if is_last and not is_first else 1
    # Feature maps have more channels than rows; an output that may be either is not called classes.
    return axis, is_first != is_last and shape[axis] > 1 and shape[axis] not in _COLOURS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Detections:
    """Boxes as corners with their scores and classes; ``is_aligned`` if a place means the same box in both models."""

    corners: NDArray[np.float64]
    scores: NDArray[np.float64]
    classes: NDArray[np.int64]
    is_aligned: bool

    @property
    def kept(self) -> NDArray[np.bool_]:
        """The boxes that count."""
        return self.scores > _SCORE


def _of_boxes(first: Array, second: Array) -> Iterator[Metric]:
    mine, theirs = _detections(first), _detections(second)
    if mine is None or theirs is None:
        return
    what = f"boxes with a score over {_SCORE:g}, intersection over union from {_MOVED:g}"
    if mine.is_aligned:
        either = mine.kept | theirs.kept
        stays = mine.kept & theirs.kept & (mine.classes == theirs.classes)
        stays &= _overlap(mine.corners, theirs.corners) >= _MOVED
        yield Metric(name=BOXES, what=what, changed=int((either & ~stays).sum()), count=int(either.sum()))
        return
    pairs = _paired(mine, theirs)
    count = int(mine.kept.sum() + theirs.kept.sum()) - pairs
    yield Metric(name=BOXES, what=what, changed=count - pairs, count=count)


def _detections(output: Array) -> _Detections | None:
    """Return the boxes of a detector's output; None for one of another form.

    The forms are rows of two corners, score and class, as YOLO writes them after suppression; and for each place its
    centre and size, then the scores of all classes, along the second axis (from version 8) or, behind a score of
    the object, along the last (version 5).
    """
    values = output.astype(np.float64)
    if values.ndim == 3 and values.shape[0] == 1:
        values = values[0]
    if values.ndim != 2:
        return None
    if values.shape[1] == _CORNERS:
        corners, scores, classes = values[:, :4], values[:, 4], values[:, 5]
        is_table = bool((classes == np.rint(classes)).all()) and _are_scores(scores)
        return (
            _Detections(corners=corners, scores=scores, classes=classes.astype(int), is_aligned=False)
            if is_table
            else None
        )
    rows, columns = values.shape
    if output.ndim == 3 and 4 < rows < columns and _are_scores(values[4:]):
        return _of_places(values[:4].T, values[4:].T)
    if output.ndim == 3 and 5 < columns < rows and _are_scores(values[:, 4:]):
        return _of_places(values[:, :4], values[:, 5:] * values[:, 4:5])
    return None


def _are_scores(values: Array) -> bool:
    return bool(((values >= 0) & (values <= 1)).all())


def _of_places(boxes: Array, scores: Array) -> _Detections:
    centres, halves = boxes[:, :2], boxes[:, 2:] / 2
    corners = np.concatenate([centres - halves, centres + halves], axis=1)
    return _Detections(corners=corners, scores=scores.max(1), classes=scores.argmax(1), is_aligned=True)


def _overlap(first: Array, second: Array) -> NDArray[np.float64]:
    """Return the intersection over union of boxes, each given by two corners along the last axis."""
    low, high = np.maximum(first[..., :2], second[..., :2]), np.minimum(first[..., 2:], second[..., 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=-1)
    areas = [np.prod(np.clip(boxes[..., 2:] - boxes[..., :2], 0, None), axis=-1) for boxes in (first, second)]
    union = areas[0] + areas[1] - shared
    equal = (first == second).all(-1).astype(np.float64)  # of two boxes without an area
    return np.asarray(np.where(union > 0, shared / np.where(union > 0, union, 1), equal))


def _paired(mine: _Detections, theirs: _Detections) -> int:
    """Return how many boxes have a partner of their class in the same place, each partner once, the best first."""
    first, second = np.flatnonzero(mine.kept), np.flatnonzero(theirs.kept)
    overlaps = _overlap(mine.corners[first][:, None], theirs.corners[second][None])
    overlaps = np.where(mine.classes[first][:, None] == theirs.classes[second][None], overlaps, 0)
    pairs = 0
    while overlaps.size and overlaps.max() >= _MOVED:
        row, column = np.unravel_index(overlaps.argmax(), overlaps.shape)
        overlaps[row, :] = overlaps[:, column] = 0
        pairs += 1
    return pairs


def total(runs: Iterable[Sequence[Metric]]) -> tuple[Metric, ...]:
    """Return the metrics of an output over several inputs."""
    sums: dict[tuple[str, str], Metric] = {}
    for metric in (metric for metrics in runs for metric in metrics):
        known = sums.get((metric.name, metric.what))
        changed, count = (known.changed, known.count) if known else (0, 0)
        sums[metric.name, metric.what] = replace(metric, changed=changed + metric.changed, count=count + metric.count)
    return tuple(sums.values())


def chosen(metrics: Iterable[Metric], names: Sequence[str]) -> tuple[Metric, ...]:
    """Return the metrics that were asked for, or else those of outputs that look like the task."""
    return tuple(metric for metric in metrics if (metric.name in names if names else metric.is_likely))


def check_names(names: Sequence[str]) -> None:
    """Raise SpecError for an unknown metric."""
    for name in names:
        if name not in NAMES:
            raise SpecError(f"unknown metric {name!r}; {closest(name, NAMES)}")


_NEEDED = {
    ARGMAX: "an output of floats with an axis of classes, as [1, 21, 64, 64] or [1, 1000]",
    TOP: f"an output of floats with more than {_TOP} classes, as [1, 1000]",
    BOXES: "a detector's output, as [1, 84, 8400], [1, 25200, 85], or rows of corners, score and class, [1, 300, 6]",
}


def check_found(found: Iterable[Metric], names: Sequence[str], shapes: Sequence[Sequence[int]]) -> None:
    """Raise SpecError for a metric that no output has; ``shapes`` are those of the outputs."""
    present = {metric.name for metric in found}
    listed = ", ".join(str(list(shape)) for shape in shapes)
    for name in names:
        if name not in present:
            raise SpecError(f"--metric {name}: no output has it (shapes {listed}); expected {_NEEDED[name]}")


def by_files(runs: Sequence[InputComparison]) -> tuple[InputComparison, ...]:
    """Return runs if their files differ; else none says more than the whole."""
    return tuple(runs) if len({run.files for run in runs}) > 1 else ()
