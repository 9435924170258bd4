"""The smallest shape of a resize on which a runtime still shows its fault."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import resolve_axes, static_shape
from ir_interp.spec import Sizes

from ..audit.audited_resizes import Found
from ..audit.auditing import audit
from ..audit.findings import Audited
from ..audit.runtime_results import single
from ..audit.verdicts import Verdict
from ..onnx.resize_nodes import given_names
from ..openvino.given_layer import write_layer
from ..runtimes.outcome import Kind

_VISIBLE = 0.01  # of values from 0 to 1: the least difference of a smaller resize, if the large one differs as much


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A single resize on some sizes, with target sizes if it has these; empty if they are given by scales."""

    shape: tuple[int, ...]
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The file of a case, and its outcome."""

    path: Path
    row: Audited
    verdict: Verdict

    @property
    def cost(self) -> int:
        """The number of elements before and after."""
        shape = static_shape(self.row.op.shape) or ()
        return math.prod(shape) + math.prod(plan(self.row.op.spec, shape).out_shape)


def smallest(source: Found, runtime: str, seen: Verdict, folder: Path) -> Shown | None:
    """Return the smallest case on which a runtime shows the observed fault; None if none does.

    Smaller cases are searched by predictions, which need no runs, and the last one is run. Only if that shows
    something else is each of them run.
    """
    for run in (False, True):
        whole = _shown(source, [_case(source.op)], runtime, folder, run=True)
        if not whole or not _is_like(whole[0].verdict, seen):
            return None
        # One axis smaller at a time: the cheapest of these that shows the same is the start of the next step.
        best, last = whole[0], None
        while best is not last:
            last = best
            smaller = _shown(source, list(_smaller(source, best.row)), runtime, folder, run=run)
            alike = [
                candidate for candidate in smaller if candidate.cost < best.cost and _is_like(candidate.verdict, seen)
            ]
            alike = [candidate for candidate in alike if run or _is_visible(candidate.verdict, seen)]
            best = min(alike, key=lambda candidate: candidate.cost, default=best)
        proven = _shown(source, [_case(best.row.op)], runtime, folder, run=True)
        if proven and _is_like(proven[0].verdict, seen):
            return proven[0]
    return whole[0]


def _is_like(verdict: Verdict, seen: Verdict) -> bool:
    """Return whether a runtime does the same, for the same reason."""
    return (verdict.kind, _plain(verdict.cause)) == (seen.kind, _plain(seen.cause))


def _is_visible(verdict: Verdict, seen: Verdict) -> bool:
    """Return whether a predicted difference is large enough to be seen, where that of the whole resize is."""
    least = min(_VISIBLE, seen.difference or math.inf)
    return verdict.kind is not Kind.DIFFERS or (verdict.difference or math.inf) >= least


def _plain(reason: str) -> str:
    return re.sub(r"\d+", "", reason)  # sizes and counts, which smaller shapes change


def _case(op: ResizeOp) -> Case:
    """Return a resize as it stands, its dynamic dimensions 1."""
    target = op.spec.target
    sizes = tuple(map(int, target.values)) if isinstance(target, Sizes) else ()
    return Case(shape=tuple(size or 1 for size in op.shape or ()), sizes=sizes)


def _smaller(source: Found, row: Audited) -> Iterator[Case]:
    """Yield cases with one axis smaller, before or behind the resize."""
    case = _case(row.op)
    axes = resolve_axes(source.op.spec.axes, len(case.shape))
    for axis, in_size in enumerate(case.shape):
        place = axes.index(axis) if axis in axes and case.sizes else -1
        for shorter in _shorter(in_size):
            shape = (*case.shape[:axis], shorter, *case.shape[axis + 1 :])
            if place < 0:
                yield Case(shape=shape, sizes=case.sizes)
                continue
            size = case.sizes[place]
            for other in {size, shorter, max(1, round(size * shorter / in_size))}:
                yield Case(shape=shape, sizes=_with(case.sizes, place, other))
        if place >= 0:
            for shorter in _shorter(case.sizes[place]):
                yield Case(shape=case.shape, sizes=_with(case.sizes, place, shorter))


def _with(sizes: tuple[int, ...], place: int, size: int) -> tuple[int, ...]:
    return (*sizes[:place], size, *sizes[place + 1 :])


def _shorter(size: int) -> list[int]:
    return sorted({candidate for candidate in (1, 2, 3, 4, size // 2, size - 1) if 0 < candidate < size})


def _shown(source: Found, cases: Sequence[Case], runtime: str, folder: Path, *, run: bool) -> list[Shown]:
    """Return the verdicts on cases, predicted or observed; without cases that cannot be written as a model."""
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    paths = [path for number, case in enumerate(cases) if (path := _written(source, case, folder / str(number)))]
    rows, _ = audit(paths, run=run, runtimes=[runtime])
    by_file = {row.file: row for row in rows}
    shown = (
        Shown(path=path, row=row, verdict=row.verdicts[runtime]) for path in paths if (row := by_file.get(str(path)))
    )
    return [candidate for candidate in shown if not run or runtime in candidate.row.seen]


def _written(source: Found, case: Case, path: Path) -> Path | None:
    """Write a case as a model of one node, or of one layer; None if that is impossible."""
    op = replace(source.op, shape=case.shape)
    if case.sizes:
        op = replace(op, spec=replace(op.spec, target=Sizes(case.sizes)))
    if source.layer is not None:
        ir = path.with_suffix(".xml")
        return ir if write_layer(op, source.layer.attributes, ir) else None
    assert source.node is not None
    model = single(replace(source.node, op=op, dynamic=None))
    if model is None:
        return None
    if case.sizes:
        name = model.graph.node[0].input[1 + given_names(op.version).index("sizes")]
        (constant,) = (tensor for tensor in model.graph.initializer if tensor.name == name)
        constant.CopyFrom(numpy_helper.from_array(np.array(case.sizes, np.int64), name))
    onnx.save(model, path.with_suffix(".onnx"))
    return path.with_suffix(".onnx")
