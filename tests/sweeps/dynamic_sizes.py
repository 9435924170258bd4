"""Convert models of dynamic height and width, and compare both results with their framework at twenty sizes.

``python -m tests.sweeps.dynamic_sizes --cases 100 --seed 1`` draws programs whose output sizes or positions nodes
compute: scale_factor in every mode, areas, adaptive pools, sizes by floats and by integers, ranges, gathers at computed
indices. Each is converted to ONNX and to IR without a proof, and both run at sizes that are small, odd, prime and
powers of 2, of either dimension alone, and those at which the rounding of a scale decides. ``--verify`` converts with
the proof instead, which then has to refuse what is wrong. Exits with 1 where a result that was written is wrong.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from ir_interp.plan.float_arithmetic import Rounding, deciding_sizes
from tests.sweeps.size_steps import LARGEST, Rng, Source, judged, random_scale, report

MODES = ("nearest", "bilinear", "bicubic", "area", "antialias", "nearest-exact")
SIZES = (2, 3, 5, 7, 8, 13, 16, 24, 31, 32, 41, 48, 60, 64, 67, 96, 97, 101, 113, 127, 128, 131, 150, 160, 199, 224)
_EXAMPLE = (1, 3, 23, 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program, in words, its function, and the scales that it computes sizes by."""

    words: str
    function: Callable[[torch.Tensor], torch.Tensor]
    scales: tuple[float, ...] = ()
    rounding: Rounding = Rounding.DOWN


class _Program(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def random_case(rng: Rng) -> Case:
    """Return a case of a random family."""
    return _FAMILIES[str(rng.choice(list(_FAMILIES)))](rng)


def _by_scale(rng: Rng) -> Case:
    scale, mode = random_scale(rng), str(rng.choice(MODES))
    options = {"mode": "bilinear", "antialias": True} if mode == "antialias" else {"mode": mode}
    recompute = bool(rng.random() < 0.2) or None
    return Case(
        words=f"{mode}, scale_factor={scale!r}, recompute={recompute}",
        function=lambda x: functional.interpolate(x, scale_factor=scale, recompute_scale_factor=recompute, **options),
        scales=(scale,),
    )


def _by_size(rng: Rng) -> Case:
    scale, mode = random_scale(rng), str(rng.choice(MODES[:4]))
    return Case(
        words=f"{mode}, size=sym_int(h * {scale!r})",
        function=lambda x: functional.interpolate(
            x, [torch.sym_int(x.shape[axis] * scale) for axis in (2, 3)], mode=mode
        ),
        scales=(scale,),
    )


def _by_integers(rng: Rng) -> Case:
    up, down, mode = int(rng.integers(1, 9)), int(rng.integers(1, 9)), str(rng.choice(MODES[:4]))
    return Case(
        words=f"{mode}, size=h * {up} // {down} + 1",
        function=lambda x: functional.interpolate(
            x, (x.shape[2] * up // down + 1, x.shape[3] * up // down + 1), mode=mode
        ),
    )


def _pool(rng: Rng) -> Case:
    down, more = int(rng.integers(2, 6)), int(rng.integers(0, 4))
    return Case(
        words=f"adaptive_avg_pool2d, h // {down} + {more}",
        function=lambda x: functional.adaptive_avg_pool2d(x, (x.shape[2] // down + more, x.shape[3] // down + more)),
    )


def _rows(rng: Rng) -> Case:
    divisor = float(rng.choice([3.0, 7.0, 10.0, 1.7, 0.3]))
    return Case(
        words=f"rows at floor(arange(h) / {divisor})",
        function=lambda x: x[:, :, (torch.arange(x.shape[2]) / divisor).floor().long().clamp(max=x.shape[2] - 1)],
    )


def _spread(rng: Rng) -> Case:
    count = int(rng.integers(2, 60))
    return Case(
        words=f"rows at arange({count}) * h / {count}",
        function=lambda x: x[:, :, (torch.arange(count) * x.shape[2] / count).floor().long()],
    )


_FAMILIES: dict[str, Callable[[Rng], Case]] = {
    "scale": _by_scale,
    "size": _by_size,
    "integers": _by_integers,
    "pool": _pool,
    "rows": _rows,
    "spread": _spread,
}


def sizes(rng: Rng, case: Case, count: int) -> Iterator[tuple[int, int]]:
    """Yield heights and widths: those at which a rounding decides first, then others, one dimension alone last."""
    deciding = [size for scale in case.scales for size in deciding_sizes(scale, LARGEST, case.rounding)]
    yield from ((size, size) for size in deciding)
    for place in range(len(deciding), count):
        height, width = (int(size) for size in rng.choice(SIZES, 2))
        yield (height, _EXAMPLE[3]) if place % 4 == 0 else (_EXAMPLE[2], width) if place % 4 == 1 else (height, width)


def judge(rng: Rng, case: Case, count: int, *, verify: bool) -> Iterator[tuple[str, str]]:
    """Yield for each kind of result how it compares, and at which size it is wrong."""
    free, example = torch.export.Dim.AUTO, torch.rand(_EXAMPLE)
    with torch.no_grad():
        program = torch.export.export(_Program(case.function).eval(), (example,), dynamic_shapes=({2: free, 3: free},))
    module = program.module()
    with tempfile.TemporaryDirectory() as folder:
        source = Source(model=program, run=lambda x: module(torch.from_numpy(x)).numpy())
        yield from judged(source, list(sizes(rng, case, count)), Path(folder), verify=verify)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sizes", type=int, default=20)
    parser.add_argument("--only", choices=list(_FAMILIES))
    parser.add_argument("--verify", action="store_true")
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    drawn = (_FAMILIES[chosen.only](rng) if chosen.only else random_case(rng) for _ in range(chosen.cases))
    report((case.words, judge(rng, case, chosen.sizes, verify=chosen.verify)) for case in drawn)


if __name__ == "__main__":
    main()
