"""Prior boxes: constants if the shapes of the feature map and the image are static."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...onnx.graph import Graph
from ..layer import Op

_Point = tuple[np.float32, np.float32]
_Reals = NDArray[np.float32]
_F32 = np.float32
_FIRST = np.array([True, True, False, False])  # of corners: limited from below, the others from above


def _prior_box(graph: Graph, op: Op) -> str:
    (rows, columns), (height, width) = _sizes(op)
    step, scaled = op.real("step", 0), op.flag("scale_all_sizes", True)
    smallest = _reals(op, "min_size")
    if not scaled:
        step = height / rows if step == -1 else step * height
        smallest = smallest * _F32(height)
    steps = (_F32(step), _F32(step)) if step else (_F32(width / columns), _F32(height / rows))
    centres = _centres(rows, columns, steps, 0.5 if step == 0 else op.real("offset"))
    boxes = [box for centre in centres for box in _boxes_at(op, centre, smallest, scaled)]
    image = np.array([width, height, width, height], _F32)
    # OpenVINO multiplies by the reciprocal here, and divides in PriorBoxClustered: last bits differ.
    ends = np.array([box for box, _ in boxes], _F32) * (1 / image)
    limited = np.array([flags for _, flags in boxes])[:, None]
    ends = np.where(limited & _FIRST, np.maximum(ends, 0), np.where(limited & ~_FIRST, np.minimum(ends, 1), ends))
    return _output(graph, op, (np.clip(ends, 0, 1) if op.flag("clip") else ends).astype(_F32))


def _sizes(op: Op) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return op.known_integers(0, "the size of its feature map is"), op.known_integers(1, "the size of its image is")


def _reals(op: Op, name: str) -> _Reals:
    return np.array(op.reals(name), _F32)


def _centres(rows: int, columns: int, steps: _Point, offset: float) -> Iterator[_Point]:
    for row in range(rows):
        for column in range(columns):
            yield (_F32(column) + _F32(offset)) * steps[0], (_F32(row) + _F32(offset)) * steps[1]


_Box = tuple[list[_F32], bool]


def _boxes_at(op: Op, centre: _Point, smallest: _Reals, scaled: bool) -> Iterator[_Box]:
    """Yield corners of the boxes around a point, and whether they are clipped to the image in any case."""
    yield from _fixed_boxes(op, centre)
    ratios, largest = _ratios(op), _reals(op, "max_size")
    for index, size in enumerate(smallest):
        yield _around(centre, size, size)
        square = [_around(centre, side, side) for side in np.sqrt(size * largest[index : index + 1])]
        others = (
            _stretched(centre, smallest[index if scaled else 0], ratios) if _has_ratios(scaled, index, smallest) else []
        )
        yield from [*square, *others] if op.flag("min_max_aspect_ratios_order", True) else [*others, *square]


def _has_ratios(scaled: bool, index: int, smallest: _Reals) -> bool:
    return scaled or index == len(smallest) - 1


def _stretched(centre: _Point, size: _F32, ratios: Sequence[_F32]) -> list[_Box]:
    return [_around(centre, size * np.sqrt(ratio), size / np.sqrt(ratio)) for ratio in ratios]


def _around(centre: _Point, width: _F32, height: _F32, limited: bool = False) -> _Box:
    (x, y), half = centre, _F32(0.5)
    return [x - width * half, y - height * half, x + width * half, y + height * half], limited


def _ratios(op: Op) -> list[_F32]:
    """Return the ratios other than 1, each once, and their inverses if requested."""
    ratios = [_F32(1)]
    for ratio in _reals(op, "aspect_ratio"):
        if all(abs(ratio - known) >= 1e-6 for known in ratios):  # as OpenVINO tells ratios apart
            ratios += [ratio, 1 / ratio] if op.flag("flip") else [ratio]
    return [known for known in ratios if abs(known - 1) >= 1e-6]


def _fixed_boxes(op: Op, centre: _Point) -> Iterator[_Box]:
    """Yield boxes of fixed sizes, a grid of them in the place of each."""
    fixed, densities = _reals(op, "fixed_ratio"), op.reals("density")
    for index, size in enumerate(_reals(op, "fixed_size")):
        square = [(_F32(int(size)), _F32(int(size)))] if densities and not fixed.size else []
        roots = np.sqrt(fixed if fixed.size else np.array(_ratios(op), _F32))
        for width, height in [*square, *((size * root, size / root) for root in roots)]:
            for place in _grid(centre, size, int(densities[index])):
                yield _around(place, width, height, limited=True)


def _grid(centre: _Point, size: _F32, count: int) -> Iterator[_Point]:
    """Yield the centres of a box's parts; OpenVINO rounds their distance down."""
    shift = int(size / count)
    corner = [place - int(size) // 2 + _F32(shift / 2) for place in centre]
    for row in range(count):
        for column in range(count):
            yield _F32(corner[0] + column * shift), _F32(corner[1] + row * shift)


def _prior_box_clustered(graph: Graph, op: Op) -> str:
    (rows, columns), (height, width) = _sizes(op)
    step = op.real("step", 0)
    steps = [_F32(op.real(name, 0) or step) for name in ("step_w", "step_h")]
    across, down = steps if any(steps) else (_F32(width / columns), _F32(height / rows))
    sizes = list(zip(_reals(op, "width"), _reals(op, "height"), strict=True))
    centres = _centres(rows, columns, (across, down), op.real("offset"))
    boxes = np.array([_around(centre, *size)[0] for centre in centres for size in sizes], _F32)
    boxes /= np.array([width, height, width, height], _F32)
    return _output(graph, op, np.clip(boxes, 0, 1) if op.flag("clip", True) else boxes)


def _output(graph: Graph, op: Op, boxes: _Reals) -> str:
    """Return the boxes, and a row of variances."""
    declared = op.result_shape()
    if declared is not None and declared[1] not in (None, boxes.size):
        raise op.refusal(f"its attributes call for {declared[1]} numbers and yield {boxes.size}")
    variances = np.array(op.reals("variance") or (0.1,), _F32)
    return graph.constant(np.stack([boxes.ravel(), np.resize(variances, boxes.size)]), name=op.layer.name)


TABLE = {"PriorBox": _prior_box, "PriorBoxClustered": _prior_box_clustered}
