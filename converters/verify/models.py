"""Compare two models of any kinds: each in its own runtime, on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError, VerificationError
from ir_interp.kinds import MODELS, FileKind, expect
from ir_interp.scratch import scratch
from ir_interp.sources import check_regular

from ..report import Compared, Progress, silent
from . import first_difference as locate
from .differences import compare, differences, merged
from .first_difference import FirstLayer, Located
from .inputs import Inputs
from .judged import judged
from .processes import Runs, models, runs
from .ready import ready
from .runners import Named
from .tensors import is_model

_BINS = 8  # powers of ten in a histogram; what is smaller still is counted together


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputValues:
    """One output in short: the smallest, mean and largest of its finite values."""

    shape: tuple[int, ...]
    dtype: str
    smallest: float | None
    mean: float | None
    largest: float | None

    @property
    def text(self) -> tuple[str, ...]:
        """Shape with element type, and the three numbers."""
        numbers = ("none" if n is None else f"{n:.6g}" for n in (self.smallest, self.mean, self.largest))
        return ("x".join(map(str, self.shape)) + f" {self.dtype}", *numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramBin:
    """How many elements differ by at least ``lower`` and less than ``upper``; NaN and infinity have no upper end."""

    lower: float
    upper: float
    count: int

    @property
    def label(self) -> str:
        """Its ends as text."""
        if self.upper == 0:
            return "equal"
        if math.isinf(self.upper):
            return "NaN or infinite"
        return f"< {self.upper:.0e}" if self.lower == 0 else f"{self.lower:.0e} to {self.upper:.0e}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputComparison:
    """One output of both models. ``histogram`` starts with the elements that are equal: from 0 to 0.

    ``compared`` decides; ``whole`` is how the outputs themselves differ, where these were compared otherwise.
    """

    name: str
    first: OutputValues
    second: OutputValues
    compared: Compared
    histogram: tuple[HistogramBin, ...]
    whole: Compared | None = None

    @property
    def seen(self) -> Compared:
        """How the outputs themselves differ."""
        return self.whole or self.compared

    @property
    def least_tolerance(self) -> float | None:
        """The smallest tolerance under which the output would pass; None where none would do."""
        if not math.isfinite(self.seen.absolute):
            return None
        return self.seen.absolute / max(1.0, self.seen.largest)

    @property
    def verdict(self) -> str:
        """Whether it is equal, and which tolerance would pass, in one line."""
        compared, least = self.compared, self.least_tolerance
        verdict = compared.verdict
        if compared.shapes:
            return f"{verdict}: it {compared.difference}"
        if least is None:
            return f"{verdict}: NaN or infinity in one alone; no tolerance would pass"
        largest = f"largest difference {self.seen.absolute:.3g}, relative {self.seen.relative:.3g}"
        remark = f"; {compared.remark}" if compared.remark else ""
        return f"{verdict}: {largest} (allowed {compared.limit:.3g}); a tolerance of {least:.3g} would pass{remark}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """Two models, output by output, and their resizes in order where these were asked for.

    ``shapes`` are the lengths of the inputs that both ran on, by name.
    """

    first: Path
    second: Path
    outputs: tuple[OutputComparison, ...]
    resizes: tuple[Located, ...] | None = None
    first_layer: FirstLayer | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """Whether every output is equal within the tolerance, on inputs that would have shown a difference."""
        return all(each.compared.passes and each.compared.is_conclusive for each in self.outputs)

    @property
    def first_resize(self) -> Located | None:
        """The first resize whose output differs."""
        return next((each for each in self.resizes or () if each.differs), None)

    @property
    def first_difference(self) -> str:
        """The first resize whose output differs, in one line."""
        first = self.first_resize
        if first is None:
            return "no resize whose output both models show differs"
        source = "; its data differ already" if first.is_fed_otherwise else ""
        return f"the first resize that differs is {first.name!r}{source}"

    @property
    def summary(self) -> str:
        """How many outputs are equal, in one line."""
        passed = [each.compared for each in self.outputs if each.compared.passes]
        equal = sum(each.is_conclusive for each in passed)
        more = f", {len(passed) - equal} inconclusive" if equal < len(passed) else ""
        return f"{equal} of {len(self.outputs)} outputs equal within the tolerance{more}"

    def record(self) -> dict[str, Any]:
        """Return the comparison as plain values, for JSON."""
        first = self.first_resize
        return {
            "first": str(self.first),
            "second": str(self.second),
            "equal": self.passes,
            "outputs": [_output_record(each) for each in self.outputs],
            "resizes": None if self.resizes is None else [_resize_record(each) for each in self.resizes],
            "first_resize_that_differs": first and first.name,
            "first_layer_that_differs": self.first_layer and self.first_layer.name,
        }


def compare_models(
    first: Path,
    second: Path,
    inputs: Inputs,
    *,
    tolerance: float | None = None,
    per_resize: bool = False,
    per_layer: bool = False,
    progress: Progress = silent,
) -> ModelComparison:
    """Run both models in their own runtimes, in processes of their own, and compare their outputs.

    ``tolerance`` is relative to the largest value of an output, and absolute where that is below 1; by default it
    follows the element type, and what differs by more is compared stretch by stretch. Outputs are paired by name, else
    by place.
    With ``per_resize`` the resizes are compared in order: those whose tensors both models show. With ``per_layer`` the
    first layer that differs is looked for, on the inputs on which outputs do.

    Raises ReadError for what is no model, IrInterpError where one does not run, VerificationError where the models
    have different numbers of outputs.
    """
    for path in (first, second):
        _check(path)
    both = models(first, second, inputs)
    found: list[tuple[OutputComparison, ...]] = []
    shapes: dict[str, tuple[int, ...]] = {}
    located, layer = None, None
    with scratch() as folder, ready():
        for run in runs(both, folder, progress):
            if found and run.is_another and all(each.compared.is_conclusive for each in _merged(found)):
                break
            mine, theirs = _outputs(run, first, settles=True), _outputs(run, second)
            shapes = shapes or run.shapes
            outputs = tuple(_compared(*each, tolerance) for each in _paired(mine, theirs, second.name))
            found.append(outputs if tolerance is not None else _by_spread(run, first, second, outputs, mine, theirs))
            if per_resize and located is None:
                located = tuple(locate.resizes(run, first, second, tolerance))
            if per_layer and layer is None and not all(each.compared.passes for each in found[-1]):
                layer = locate.first_layer(run, first, second, tolerance)
    outputs = _merged(found)
    return ModelComparison(
        first=first, second=second, outputs=outputs, resizes=located, first_layer=layer, shapes=shapes
    )


def _by_spread(
    run: Runs, first: Path, second: Path, outputs: tuple[OutputComparison, ...], mine: Named, theirs: Named
) -> tuple[OutputComparison, ...]:
    """Return outputs that differ by what the first model's own runtime lets expect."""
    if all(each.compared.passes for each in outputs):
        return outputs
    by_name = dict(theirs)
    in_order = [(name, other) for (name, _), (_, other) in zip(mine, theirs, strict=True)]
    if by_name.keys() == dict(mine).keys():
        in_order = [(name, by_name[name]) for name, _ in mine]
    try:
        allowed = judged(run, first, second, mine, in_order).outputs
    except VerificationError:
        return outputs
    return tuple(
        replace(each, compared=compared, whole=each.compared) for each, compared in zip(outputs, allowed, strict=True)
    )


def _merged(found: Sequence[tuple[OutputComparison, ...]]) -> tuple[OutputComparison, ...]:
    """Return each output where it differs most, over several inputs."""
    outputs = []
    for those in zip(*found, strict=True):
        worst = merged([each.compared for each in those])
        alike = (each for each in those if replace(each.compared, span=worst.span) == worst)
        outputs.append(replace(next(alike, those[0]), compared=worst))
    return tuple(outputs)


def _outputs(run: Runs, model: Path, *, settles: bool = False) -> Named:
    try:
        return run.settle(model)[0] if settles else run(model)[0]
    except VerificationError as problem:  # nothing is known to differ then
        hint = "" if settles else run.hint()
        raise IrInterpError("; ".join(filter(None, (str(problem), hint)))) from None


def _check(path: Path) -> None:
    expect(path, *MODELS)
    try:
        check_regular(path)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", path.name) from error
    if not is_model(path):
        raise ReadError("not a model, but pasted layers; expected a <net>", path.name)
    if FileKind.of(path) is FileKind.ONNX:
        from ..onnx.files import external_files

        external_files(path)  # raises where a runtime would wait for what has no end


def _paired(first: Named, second: Named, name: str) -> Iterator[tuple[str, NDArray[Any], NDArray[Any]]]:
    """Yield outputs of both models: of the same name where all have one, else in their order."""
    if len(first) != len(second):
        raise VerificationError(f"{name} has {len(second)} outputs, the first model {len(first)}")
    by_name = dict(second)
    named = by_name.keys() == dict(first).keys()
    for (output, mine), (_, theirs) in zip(first, second, strict=True):
        yield output, mine, by_name[output] if named else theirs


def _compared(name: str, mine: NDArray[Any], theirs: NDArray[Any], tolerance: float | None) -> OutputComparison:
    if mine.dtype.kind in "OSU" or theirs.dtype.kind in "OSU":
        raise IrInterpError(f"output {name!r} holds strings, and those are not compared")
    return OutputComparison(
        name=name,
        first=_values(mine),
        second=_values(theirs),
        compared=compare(name, mine, theirs, tolerance),
        histogram=_histogram(mine, theirs) if mine.shape == theirs.shape else (),
    )


def _values(array: NDArray[Any]) -> OutputValues:
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    known = [float(finite.min()), float(finite.mean()), float(finite.max())] if finite.size else [None] * 3
    return OutputValues(shape=array.shape, dtype=array.dtype.name, smallest=known[0], mean=known[1], largest=known[2])


def _histogram(mine: NDArray[Any], theirs: NDArray[Any]) -> tuple[HistogramBin, ...]:
    """Return how many differences lie between which powers of ten, the smallest first."""
    found = differences(mine, theirs).ravel()
    above = found[np.isfinite(found) & (found > 0)]
    bins = [HistogramBin(lower=0.0, upper=0.0, count=int((found == 0).sum()))]
    if above.size:
        powers = np.floor(np.log10(above)).astype(int)
        lowest = max(int(powers.min()), int(powers.max()) - _BINS + 1)
        counts = np.bincount(np.maximum(powers, lowest) - lowest)
        edges = [10.0 ** (lowest + place) for place in range(len(counts) + 1)]
        starts = [0.0 if powers.min() < lowest else edges[0], *edges[1:-1]]
        bins += [
            HistogramBin(lower=start, upper=end, count=int(n))
            for start, end, n in zip(starts, edges[1:], counts, strict=True)
        ]
    broken = int((~np.isfinite(found)).sum())
    return (*bins, HistogramBin(lower=math.inf, upper=math.inf, count=broken)) if broken else tuple(bins)


def _output_record(output: OutputComparison) -> dict[str, Any]:
    compared = output.compared
    return {
        "name": output.name,
        "equal": compared.passes,
        "conclusive": compared.is_conclusive,
        "first": _values_record(output.first),
        "second": _values_record(output.second),
        "absolute": _number(output.seen.absolute),
        "relative": _number(output.seen.relative),
        "limit": compared.limit,
        "least_tolerance": output.least_tolerance,
        "histogram": [
            {"lower": _number(each.lower), "upper": _number(each.upper), "count": each.count}
            for each in output.histogram
        ],
    }


def _values_record(values: OutputValues) -> dict[str, Any]:
    return {
        "shape": list(values.shape),
        "dtype": values.dtype,
        "min": values.smallest,
        "mean": values.mean,
        "max": values.largest,
    }


def _resize_record(each: Located) -> dict[str, Any]:
    return {
        "name": each.name,
        "where": each.where,
        "data": None if each.data is None else _number(each.data.absolute),
        "output": None if each.output is None else _number(each.output.absolute),
        "equal": None if each.output is None else each.output.passes,
    }


def _number(value: float) -> float | None:
    """Return a number that JSON can hold: None for infinity and NaN."""
    return value if math.isfinite(value) else None
