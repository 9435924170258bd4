"""Run random Interpolate layers in an earlier release of OpenVINO, and compare with what is predicted of that release.

``python -m tests.sweeps.ir_editions openvino:2021.3 PYTHON --cases 500`` runs layers of Interpolate-1, -4 and, in
releases that have it, -11, some of them behind a FakeQuantize. It does so in another interpreter, PYTHON, which has
NumPy and that release (Python 3.7 for 2021.2, 3.8 for 2021.3 to 2024.4), each layer in a process of its own. Exits with
1 where more than one prediction in a hundred is wrong, or more than three in a hundred are unknown.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ir_interp
from ir_interp import IrInterpError
from ir_interp.converters.audit.audited_resizes import found
from ir_interp.converters.predictions import LAYER_RUNTIMES, Predictor
from ir_interp.converters.runtimes.outcome import Kind, Outcome
from tests.support.ir_text import Net, attributes
from tests.support.other_interpreters import results_in

_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners")
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")
_MODES = {
    1: ("nearest", "linear", "cubic", "linear_onnx"),
    4: ("nearest", "linear", "linear_onnx", "cubic"),
    11: ("nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"),
}
_RANGE = 2.0  # of the levels, both ways
# In 8 bits, values are those of 256 levels, to which the levels of 16 belong, and those of 15 or 255 do not.
_LEVELS = (16, 100, 256, 256, 256, 65536)
_MOST_WRONG, _MOST_UNKNOWN = 0.01, 0.03


@dataclass(frozen=True, kw_only=True)
class Case:
    """A layer; ``data`` are its attributes as a file has them. ``sizes`` and ``scales`` belong to ``axes``.

    ``levels`` are those of a FakeQuantize in front of it, 0 for none.
    """

    version: int
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    scales: tuple[float, ...]
    data: dict[str, Any]
    lists_axes: bool
    levels: int = 0

    def write(self, path: Path) -> None:
        """Write an IR of nothing but the layer."""
        net = Net(11 if self.version == 11 else 10)
        x, sizes = net.parameter(self.shape), net.const(self.sizes)
        if self.levels:
            limits = [net.const(limit, "float32") for limit in (-_RANGE, _RANGE, -_RANGE, _RANGE)]
            data = attributes({"levels": self.levels, "auto_broadcast": "numpy"})
            x = net.add("FakeQuantize", data, x, *limits, shape=self.shape)
        by_scales = self.data.get("shape_calculation_mode") == "scales"
        sources = [x, sizes]
        if self.version > 1:
            scales = net.const(self.scales, "float32")
            sources = [x, sizes, scales] if self.version == 4 else [x, scales if by_scales else sizes]
            sources += [net.const(self.axes)] if self.lists_axes else []
        net.interpolate(self.version, attributes(self.data), *sources, shape=self.shape, out=self._out())
        net.write(path)

    def rounded(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the pixels that the layer reads."""
        if not self.levels:
            return x
        step = np.float64(2 * _RANGE) / (self.levels - 1)
        places = np.rint((np.clip(x.astype(np.float64), -_RANGE, _RANGE) + _RANGE) / step)
        return np.asarray(places * step - _RANGE, np.float32)

    def _out(self) -> tuple[int, ...]:
        rank = len(self.shape)
        begin, end = ((*self.data[name], *(0,) * rank)[:rank] for name in ("pads_begin", "pads_end"))
        lengths = [sum(each) for each in zip(self.shape, begin, end, strict=True)]
        axes = sorted(self.axes) if self.version == 1 else self.axes  # as OpenVINO assigns sizes to them
        return tuple((dict(enumerate(lengths)) | dict(zip(axes, self.sizes, strict=True))).values())


def drawn(rng: np.random.Generator, version: int) -> Case:
    """Return a random layer: of ranks 1 to 5, any axes, pads of each form, sizes and scales up and down."""
    rank = int(rng.choice([1, 2, 3, 4, 4, 4, 5, 5]))
    shape = tuple(
        int(rng.integers(1, 5 if axis < rank - 3 or (rank == 4 and axis < 2) else 11)) for axis in range(rank)
    )
    axes = _axes(rng, rank)
    data: dict[str, Any] = {"antialias": bool(rng.random() < 0.25)} | _pads(rng, rank, axes)
    begin, end = ((*pads, *(0,) * rank) for pads in (data["pads_begin"], data["pads_end"]))
    lengths = [shape[axis] + begin[axis] + end[axis] for axis in axes]
    ratios = tuple(_ratio(rng, length, axis, rank) for length, axis in zip(lengths, axes, strict=True))
    data |= {"mode": str(rng.choice(_MODES[version]))}
    if version == 1:
        data |= {"align_corners": bool(rng.random() < 0.4), "axes": axes}
    else:
        data |= {
            "coordinate_transformation_mode": str(rng.choice(_COORDINATES)),
            "nearest_mode": str(rng.choice(_ROUNDINGS)),
            "shape_calculation_mode": str(rng.choice(["sizes", "scales"])),
            "cube_coeff": float(rng.choice([-0.75, -0.5, -0.6])),
        }
    by_scales = data.get("shape_calculation_mode") == "scales"
    if by_scales and rng.random() < 0.5:
        ratios = tuple(ratio if ratio == 1 else ratio * rng.uniform(0.9, 1.1) for ratio in ratios)
    scales = tuple(float(np.float32(ratio)) for ratio in ratios)
    products = [
        np.float32(length) * (np.float32(scale) + np.float32(1e-6))
        for length, scale in zip(lengths, scales, strict=True)
    ]
    sizes = tuple(int(product) if by_scales else max(1, round(float(product))) for product in products)
    lists_axes = axes != tuple(range(rank)) or bool(rng.random() < 0.5)
    levels = int(rng.choice(_LEVELS)) if data["mode"] == "nearest" and rng.random() < 0.3 else 0
    return Case(
        version=version,
        shape=shape,
        axes=axes,
        sizes=sizes,
        scales=scales,
        data=data,
        lists_axes=lists_axes,
        levels=levels,
    )


def _axes(rng: np.random.Generator, rank: int) -> tuple[int, ...]:
    kind = rng.random()
    if rank > 2 and kind < 0.5:
        return tuple(range(min(2, rank - 2), rank))
    if kind < 0.6:
        return tuple(range(rank))
    axes = [int(axis) for axis in rng.permutation(rank)[: int(rng.integers(1, min(rank, 3) + 1))]]
    return tuple(sorted(axes) if rng.random() < 0.8 else axes)


def _pads(rng: np.random.Generator, rank: int, axes: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return pads: a number for each dimension, a single one, or nothing but zeros."""
    kind = rng.random()
    if kind < 0.12:
        return {side: tuple(int(rng.integers(3)) * (axis in axes) for axis in range(rank)) for side in _SIDES}
    if kind < 0.17:
        return {side: (int(rng.integers(2)),) for side in _SIDES}
    return dict.fromkeys(_SIDES, (0,) if kind < 0.3 else (0,) * rank)


_SIDES = ("pads_begin", "pads_end")


def _ratio(rng: np.random.Generator, length: int, axis: int, rank: int) -> float:
    """Return output / input; batches and channels mostly stay."""
    if (axis < rank - 3 and rng.random() < 0.8) or (axis == 1 and rank == 4 and rng.random() < 0.6):
        return 1.0
    kind = rng.random()
    if kind < 0.3:
        return float(rng.integers(1, 4))
    size = length // int(rng.integers(1, 4)) if kind < 0.45 else int(rng.integers(1, 21))
    return max(1, size) / length


def agreement(path: Path, case: Case, result: Any, runtime: Predictor) -> tuple[Kind, Kind, Outcome]:
    """Return what is predicted of a layer, what was seen, and why."""
    (layer,) = found(path, {}).resizes
    op, x = layer.op, case.rounded(np.load(path.with_suffix(".npy")))
    outcome = runtime.of_layer(op, layer.rounded)
    kind = outcome.kind
    wanted = _run(x, op.spec)
    predicted = None if outcome.spec is None else _run(x, outcome.spec)
    if predicted is not None:
        kind = Kind.SAME if _same(predicted, wanted) else Kind.DIFFERS
    seen = Kind.CRASHES if result is None else Kind.REFUSED if isinstance(result, str) else Kind.DIFFERS
    if seen is Kind.DIFFERS and _same(result, wanted):
        seen = Kind.SAME
    if kind is seen is Kind.DIFFERS and predicted is not None and not _same(result, predicted):
        kind = Kind.SAME  # it differs, and not as predicted
    return kind, seen, outcome


def _run(x: NDArray[Any], spec: ir_interp.ResizeSpec) -> NDArray[Any] | None:
    try:
        return ir_interp.resize(x, spec)
    except IrInterpError:
        return None


def _same(y: NDArray[Any], wanted: NDArray[Any] | None) -> bool:
    if wanted is None or y.shape != wanted.shape:
        return False
    return bool(np.abs(y - wanted).max(initial=0) <= 1e-4 * max(1.0, float(np.abs(wanted).max(initial=0))))


def main(arguments: list[str]) -> int:
    """Print the predictions that are wrong, and how often each was made."""
    editions = [name for name in LAYER_RUNTIMES if name.startswith("openvino:")]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("edition", choices=editions)
    parser.add_argument("python", type=Path)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rng, runtime = np.random.default_rng(options.seed), LAYER_RUNTIMES[options.edition]
    versions = [1, 4] if options.edition < "openvino:2022" else [1, 4, 11]
    pairs: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.xml") for number in range(options.cases)]
        cases = []
        for path in paths:
            case = drawn(rng, int(rng.choice(versions)))
            cases.append(case)
            case.write(path)
            # Pixels lie on levels: halfway between two, last bits would decide.
            np.save(path.with_suffix(".npy"), case.rounded(rng.standard_normal(case.shape).astype(np.float32)))
        results = results_in(options.python, "openvino", Path(folder), options.cases)
        for path, case, result in zip(paths, cases, results, strict=True):
            kind, seen, outcome = agreement(path, case, result, runtime)
            pairs[kind.value, seen.value] += 1
            if kind not in (seen, Kind.CRASHES, Kind.UNKNOWN):  # a crash shows as anything, or not at all
                text = result if isinstance(result, str) else ""
                (op,) = ir_interp.load(path)
                what = f"{op.shape} {op.spec}; {case.levels} levels"
                print(f"predicted {kind.value}, seen {seen.value}: {what}; {outcome.reason}; {text}")
    wrong = sum(count for (kind, seen), count in pairs.items() if kind not in (seen, "crashes", "unknown"))
    unknown = sum(count for (kind, _), count in pairs.items() if kind == "unknown")
    print(f"{runtime.title}: {dict(pairs)}; of {options.cases} {wrong} predicted wrong, {unknown} unknown")
    return int(wrong > options.cases * _MOST_WRONG or unknown > options.cases * _MOST_UNKNOWN)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
