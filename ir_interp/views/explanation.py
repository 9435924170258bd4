"""The taps of one resize by output, under every reading and in every arithmetic, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ir_interp.errors import ShapeError
from ir_interp.executor.resize import bind
from ir_interp.files.memory import check_bytes
from ir_interp.plan.formulas import AxisPlan, positions
from ir_interp.plan.taps import Plan, Taps, axis_taps, check_rank, count, plan
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes, with_ones
from ir_interp.specs import Arithmetic, ResizeSpec, Scales, Sizes
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.meaning import listed_axes

Way = tuple[Semantics, Arithmetic]
Readings = Mapping[Semantics, ResizeSpec]

_BYTES_A_CELL, _BYTES_A_TAP = 600, 150  # in a table, with its JSON
_EXAMPLE = 20  # a length that a message gives as an example
_VISIBLE = 1e-4  # weights that differ by less look the same: they are rounding errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(Record):
    """The sample of one output: its source coordinate, and the weight of each source pixel; ``None`` extrapolates."""

    source: float
    weights: Mapping[int, float] | None

    def is_like(self, other: Cell) -> bool:
        """Say whether both weigh the same pixels by the same."""
        if self.weights is None or other.weights is None:
            return self.weights is other.weights
        pixels = self.weights.keys() | other.weights.keys()
        return all(abs(self.weights.get(pixel, 0.0) - other.weights.get(pixel, 0.0)) < _VISIBLE for pixel in pixels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Ways to compute an axis, (reading, arithmetic), that agree on every output, and a cell an output."""

    ways: tuple[Way, ...]
    scale: float
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumn(Record):
    """A column of a table, with what its ways have in common."""

    KEYS = ("names", "column.scale", "column.cells as outputs")

    names: tuple[str, ...]
    column: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisTable(Record):
    """One axis; ``in_size`` counts the pads."""

    KEYS = ("axis", "in_size as in", "differing", "named_columns as columns")

    axis: int
    in_size: int
    columns: tuple[Column, ...]

    def names(self, column: Column) -> tuple[str, ...]:
        """Return what the ways of a column have in common, as far as not all of the table has it."""
        every = {way for column in self.columns for way in column.ways}
        readings, arithmetics = ({way[part] for way in column.ways} for part in (0, 1))
        if len(column.ways) < len(readings) * len(arithmetics):
            return tuple(f"{reading.value}: {arithmetic.value}" for reading, arithmetic in column.ways)
        parts = [
            "/".join(way.value for way in kind if way in chosen)
            for kind, chosen, known in (
                (Semantics, readings, {way[0] for way in every}),
                (Arithmetic, arithmetics, {way[1] for way in every}),
            )
            if chosen != known
        ]
        return (": ".join(parts) or "all",)

    @property
    def named_columns(self) -> tuple[NamedColumn, ...]:
        """Every column with its names."""
        return tuple(NamedColumn(names=self.names(column), column=column) for column in self.columns)

    @property
    def is_copied(self) -> bool:
        """Whether every output is its own source pixel, whatever the way."""
        return all(
            len(column.cells) == self.in_size and cell.weights == {index: 1.0}
            for column in self.columns
            for index, cell in enumerate(column.cells)
        )

    @property
    def out_sizes(self) -> tuple[int, ...]:
        """The output length of every column."""
        return tuple(len(column.cells) for column in self.columns)

    def cells(self, index: int) -> tuple[Cell | None, ...]:
        """Return an output in every column; None where it is beyond the end."""
        return tuple(column.cells[index] if index < len(column.cells) else None for column in self.columns)

    @property
    def differing(self) -> tuple[int, ...]:
        """The outputs on which the columns do not agree."""
        return tuple(index for index in range(max(self.out_sizes)) if not _agree(self.cells(index)))


def _agree(cells: tuple[Cell | None, ...]) -> bool:
    first = cells[0]
    return all(cell is first or (cell is not None and first is not None and cell.is_like(first)) for cell in cells)


"""An axis in JSON; ``differing`` are the outputs on which the columns do not agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Record):
    """A resize on an input of ``shape``: what each reading makes of it, and a table for each axis that changes."""

    KEYS = ("op.name", "op.where", "shape", "op.formula", "codes as diagnostics", "axes")

    op: ResizeOp
    shape: PartialShape
    readings: Readings
    axes: tuple[AxisTable, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the diagnostics."""
        return tuple(diagnostic.code for diagnostic in self.op.diagnostics)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Lengths instead of those of a resize: of its input, and of its output or their ratios."""

    shape: tuple[int, ...] | None = None
    sizes: tuple[int, ...] | None = None
    scales: tuple[float, ...] | None = None


def explanation(op: ResizeOp, readings: Readings, lengths: Lengths) -> Explanation:
    """Return the tables of a resize. Raises ShapeError if the rank of its input is unknown."""
    known = lengths.shape or op.shape
    if known is None:
        raise ShapeError(f"{op.where}: the rank of its input is unknown; give its shape, as in --shape 1,3,20,30")
    axes = tables(readings, known, sizes=lengths.sizes, scales=lengths.scales)
    return Explanation(op=op, shape=known, readings=readings, axes=axes)


def tables(
    readings: Readings,
    shape: PartialShape,
    *,
    sizes: tuple[int, ...] | None = None,
    scales: tuple[float, ...] | None = None,
) -> tuple[AxisTable, ...]:
    """Return a table for each axis that changes: every reading, in every arithmetic.

    ``sizes`` or ``scales`` replace the target. Raises ShapeError where a length that is needed is not known.
    """
    bound = {reading: bind(spec, shape, sizes=sizes, scales=scales) for reading, spec in readings.items()}
    fixed = _fixed(bound.values(), shape)
    plans = {
        (reading, arithmetic): plan(replace(spec, arithmetic=arithmetic), fixed)
        for reading, spec in bound.items()
        for arithmetic in arithmetics_of(readings.values())
    }
    axes = sorted({axis.axis for bound in plans.values() for axis in bound.axes})
    _check_memory(plans.values(), axes)
    return tuple(table for table in (_table(plans, axis) for axis in axes) if not table.is_copied)


def arithmetics_of(specs: Iterable[ResizeSpec]) -> tuple[Arithmetic, ...]:
    """Return the arithmetics to compare: those of the runtimes that take any model, and the specs' own."""
    present = {spec.arithmetic for spec in specs}
    return tuple(arithmetic for arithmetic in Arithmetic if arithmetic in _COMPARED or arithmetic in present)


_COMPARED = (Arithmetic.EXACT, Arithmetic.ONNXRUNTIME, Arithmetic.OPENVINO)


def _check_memory(plans: Iterable[Plan], axes: Iterable[int]) -> None:
    """Raise MemoryBoundError where the cells of all tables would be too many."""
    bound_specs = list(plans)
    for axis in axes:
        taps = [count(bound, one) for bound in bound_specs for one in bound.axes if one.axis == axis]
        outputs = sum(bound.out_shape[axis] for bound in bound_specs)
        check_bytes(_BYTES_A_CELL * outputs + _BYTES_A_TAP * sum(taps), f"to explain {outputs} outputs of axis {axis}")


def _fixed(specs: Iterable[ResizeSpec], shape: PartialShape) -> tuple[int, ...]:
    """Return ``shape`` with 1 for dynamic dimensions that no resize changes."""
    resized: set[int] = set()
    for spec in specs:
        check_rank(spec, len(shape))
        if isinstance(spec.target, Sizes | Scales):  # else there is a better complaint than dynamic dimensions
            resized.update(resolve_axes(listed_axes(spec, shape).axes, len(shape)))
    for axis in sorted(resized):
        if shape[axis] is None:
            example = ",".join(str(size or _EXAMPLE) for size in shape)
            problem = f"the length of axis {axis} is dynamic, and the taps depend on it"
            raise ShapeError(f"{problem}; give the shape of the input, as in --shape {example}")
    return with_ones(shape)


def _table(plans: Mapping[Way, Plan], axis: int) -> AxisTable:
    columns: list[Column] = []
    for way, bound in plans.items():
        scale, cells = _cells(bound, axis)
        same = next((column for column in columns if _same(column.cells, cells)), None)
        if same is None:
            columns.append(Column(ways=(way,), scale=scale, cells=cells))
        else:
            columns[columns.index(same)] = replace(same, ways=(*same.ways, way))
    bound = next(iter(plans.values()))
    return AxisTable(axis=axis, in_size=bound.in_shape[axis] + sum(bound.padding[axis]), columns=tuple(columns))


def _same(mine: tuple[Cell, ...], theirs: tuple[Cell, ...]) -> bool:
    return len(mine) == len(theirs) and all(map(Cell.is_like, mine, theirs))


def _cells(bound: Plan, axis: int) -> tuple[float, tuple[Cell, ...]]:
    """Return the scale of an axis, and a cell for each of its outputs; an axis that stays is copied."""
    for axis_plan, taps in zip(bound.axes, axis_taps(bound), strict=True):
        if axis_plan.axis == axis:
            return float(axis_plan.scale), tuple(_weighed(axis_plan, taps))
    return 1.0, tuple(Cell(source=float(i), weights={i: 1.0}) for i in range(bound.out_shape[axis]))


def _weighed(axis: AxisPlan, taps: Taps) -> Iterator[Cell]:
    at = positions(axis)
    sources = at.floor + at.fraction if axis.before is None else axis.before.origin(at.floor + at.fraction)
    weights = np.ones(taps.indices.shape) if taps.weights is None else taps.weights
    for index, (pixels, row) in enumerate(zip(taps.indices.tolist(), weights.tolist(), strict=True)):
        source = float(sources[index])
        beyond = taps.outside is not None and bool(taps.outside[index])
        yield Cell(source=source, weights=None if beyond else _summed(pixels, row))


def _summed(pixels: list[int], weights: list[float]) -> dict[int, float]:
    """Return the weight of each pixel: several taps fall on one at an edge."""
    total: dict[int, float] = {}
    for pixel, weight in zip(pixels, weights, strict=True):
        total[pixel] = total.get(pixel, 0.0) + weight
    return {pixel: weight for pixel, weight in sorted(total.items()) if abs(weight) >= _VISIBLE}
