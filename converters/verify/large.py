"""A resize that finds its places at run time, run beyond the sizes from which a runtime is known to go astray.

Whole models are verified on inputs of ordinary sizes. The operations of such a resize are verified once more by
themselves, on a tensor so long that the last of four threads begins where OpenVINO's CPU plugin has gone wrong
(``runtimes.openvino_sizes``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ir_interp.errors import SpecError, VerificationError
from ir_interp.executor.resize import resize
from ir_interp.op import ResizeOp
from ir_interp.plan.geometry import plan
from ir_interp.spec import Nearest, Scales, Sizes
from ir_interp.translation.translate import Grade

from ..report import Compared, Progress, Row
from ..runtimes.openvino_sizes import LARGEST_GATHER
from .differences import TOLERANCE, check
from .inputs import Inputs
from .processes import Runs, models, runs

_THREADS = 4
ELEMENTS = int(LARGEST_GATHER.dynamic * _THREADS / (_THREADS - 1)) + 2**21
"""Of what goes in or comes out, at least: the last thread begins beyond the limit."""

_MOST = 4 * ELEMENTS  # of either: what is larger takes too much memory
_TIES = 1e-3  # the share of pixels of a nearest resize that rounding may decide


def of_run_time(rows: Sequence[Row]) -> Iterator[ResizeOp]:
    """Yield the resizes that became operations for lengths of run time, one of each kind of kernel."""
    kernels = set()
    for op in (row.source for row in rows if row.grade is Grade.DECOMPOSED):
        is_dynamic = op.shape is not None and None in op.shape and op.dtype == "float32"
        if is_dynamic and isinstance(op.spec.target, Scales | Sizes) and type(op.spec.kernel) not in kernels:
            kernels.add(type(op.spec.kernel))
            yield op


def shape(op: ResizeOp) -> tuple[int, ...] | None:
    """Return lengths of its input at which a resize handles enough elements; None where it has none."""
    assert op.shape is not None
    dynamic = [axis for axis, length in enumerate(op.shape) if length is None]
    growing = [axis for axis in dynamic if axis > 0] or dynamic
    length = 16
    while length < ELEMENTS:
        lengths = [each or 1 for each in op.shape]
        for axis in growing:
            lengths[axis] = length
        try:
            ends = math.prod(plan(op.spec, tuple(lengths)).out_shape)
        except SpecError:
            return None
        if max(ends, math.prod(lengths)) >= ELEMENTS:
            return tuple(lengths) if max(ends, math.prod(lengths)) <= _MOST else None
        length = math.ceil(length * 1.1)
    return None


def verified(
    rows: Sequence[Row], write_alone: Callable[[ResizeOp, Path], object], folder: Path, seed: int, progress: Progress
) -> list[Compared]:
    """Compare IRs of single resizes, which ``write_alone`` writes, with this program's executor, on random values.

    Raises VerificationError where one differs, or does not run.
    """
    found = []
    for number, op in enumerate(of_run_time(rows)):
        lengths = shape(op)
        if lengths is not None:
            model = folder / f"alone{number}.xml"
            write_alone(op, model)
            run = next(runs(models(model, model, Inputs(seed=seed)), folder, progress))
            found.append(_compared(run, op, model, lengths))
    return found


def _compared(run: Runs, op: ResizeOp, model: Path, lengths: tuple[int, ...]) -> Compared:
    x = np.random.default_rng(run.models.inputs.seed).random(lengths, np.float32)
    run.arrays = [(run.models.graph.inputs[0].name, x)]
    got = run(model, threads=_THREADS)[0][0][1]
    wanted = resize(x, op.spec)
    name = f"{op.name or op.where} alone, on {list(lengths)}"
    if wanted.shape != got.shape:
        raise VerificationError(f"resize {name!r} has shape {list(got.shape)}, in the source {list(wanted.shape)}")
    apart = np.abs(wanted - got)  # in float32, for it is long
    if isinstance(op.spec.kernel, Nearest) and np.count_nonzero(apart) <= _TIES * apart.size:
        apart = np.zeros(1, np.float32)
    largest, worst = float(wanted.max(initial=0.0)), float(apart.max(initial=0.0))
    limit = max(TOLERANCE, 4 * max(wanted.shape) * float(np.finfo(np.float32).eps)) * max(1.0, largest)
    found = Compared(
        kind="resize", name=name, largest=largest, absolute=worst, relative=worst / largest, limit=limit, span=largest
    )
    check(found)
    return found
