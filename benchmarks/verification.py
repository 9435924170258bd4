"""Time the verification of dynamic models against static ones: ``python -m benchmarks.verification [MODEL.onnx ...]``.

Each model is converted with every dimension of its inputs dynamic, and with the sizes at which that verification ran.
Each conversion is a process of its own, in turn, and the least time of several rounds counts. Without models, the
samples, networks with random weights and the models of installed packages are measured.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser

from tests.support.graphs import reshaped

ROUNDS = 3
GOAL = 2.0
_SAMPLES = Path(__file__).parent.parent / "samples"


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """Seconds of one verification, those of all processors in it, and the sizes of its inputs."""

    wall: float
    processor: float
    shapes: Mapping[str, list[int]]


def main() -> int:
    """Print a row for each model and direction; return 1 if one takes longer than the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", action="append", help="a name")
    options = parser.parse_args()
    titles = ("model", "to", "dynamic, s", "static, s", "ratio", "ratio of processor time")
    print(_row(*titles), "|---|---|---:|---:|---:|---:|", sep="\n", flush=True)
    largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        models = ((path.stem, onnx.load(path)) for path in options.models) if options.models else known()
        chosen = [each for each in models if not options.only or each[0] in options.only]
        for number, (name, model) in enumerate(chosen):
            for suffix, dynamic, static in measured(model, Path(folder, str(number)), options.rounds):
                ratio = dynamic.wall / static.wall
                largest = max(largest, ratio)
                shares = f"{ratio:.2f}", f"{dynamic.processor / static.processor:.2f}"
                print(_row(name, suffix, f"{dynamic.wall:.2f}", f"{static.wall:.2f}", *shares), flush=True)
    return int(largest > GOAL)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def known() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Yield the samples, networks with random weights, and the models of installed packages."""
    from samples.exports import MODELS as EXPORTS
    from samples.fpn import build
    from tests.sweeps import real_models, whole_models

    for path in sorted(_SAMPLES.glob("*/model.onnxtxt")):
        yield path.parent.name, onnx.parser.parse_model(path.read_text(encoding="utf-8"))
    yield "fpn", build()
    with tempfile.TemporaryDirectory() as folder:
        EXPORTS["yolo"](Path(folder, "yolo.onnx"))
        yield "yolo", onnx.load(Path(folder, "yolo.onnx"))
    for name, (network, opset, shape, dynamic) in whole_models.MODELS.items():
        net = whole_models.Network(opset=opset, rng=np.random.default_rng(0))
        yield name, net.model(network(net), shape, dynamic)
    for name, path in real_models.paths().items():
        yield name, onnx.load(path)


def measured(model: onnx.ModelProto, folder: Path, rounds: int) -> Iterator[tuple[str, Time, Time]]:
    """Yield the times of a dynamic and a static model, to an IR and back."""
    folder.mkdir()
    dynamic, static = folder / "dynamic.onnx", folder / "static.onnx"
    onnx.save(reshaped(model), dynamic)
    try:
        first = _measure(dynamic, dynamic.with_suffix(".xml"))
    except subprocess.CalledProcessError as error:
        print(f"refused: {error.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return
    onnx.save(reshaped(model, first.shapes), static)
    pairs = (dynamic, static), tuple(path.with_suffix(".xml") for path in (dynamic, static))
    for source, suffix in zip(pairs, (".xml", ".back.onnx"), strict=True):
        times = [[_measure(path, path.with_suffix(suffix)) for path in source] for _ in range(rounds)]
        yield suffix.rpartition(".")[2], *(_least(each) for each in zip(*times, strict=True))


def _least(times: tuple[Time, ...]) -> Time:
    return Time(
        wall=min(each.wall for each in times),
        processor=min(each.processor for each in times),
        shapes=times[0].shapes,
    )


def _measure(source: Path, destination: Path) -> Time:
    """Convert in another process, and return the time of its verification."""
    code = "import sys; from benchmarks.verification import _convert; _convert(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(source), str(destination)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Time(**json.loads(done.stdout.splitlines()[-1]))


def _convert(source: str, destination: str) -> None:
    """Print the time of one verification."""
    import ir_interp
    from ir_interp.converters.verify import conversion

    times = []
    verify = conversion.verify

    def timed(*arguments: Any, **options: Any) -> Any:
        start, before = time.perf_counter(), os.times()
        result = verify(*arguments, **options)
        times.append((time.perf_counter() - start, sum(os.times()[:4]) - sum(before[:4])))
        return result

    conversion.verify = timed
    shapes = ir_interp.convert(source, destination).verification.shapes
    ((wall, processor),) = times
    print(json.dumps({"wall": wall, "processor": processor, "shapes": shapes}))


if __name__ == "__main__":
    sys.exit(main())
