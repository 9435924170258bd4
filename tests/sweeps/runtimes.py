"""Run random Resizes of images in the other runtimes: as they are, and made portable for each, and for all of them.

``python -m tests.sweeps.runtimes --cases 300 --seed 1`` runs those that are installed (``pip install
opencv-python-headless MNN apache-tvm iree-base-compiler iree-base-runtime tract ncnn``, and pnnx without
dependencies), and exits with 1 where a portable one differs, or a forecast is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import ir_interp
from ir_interp import InexactError
from ir_interp.converters.audit.probe import Job, Ran, run
from ir_interp.converters.forecasts.runtimes_asked import RUNTIMES
from ir_interp.converters.onnx.resize_nodes import nodes
from ir_interp.converters.runtimes.others import others
from ir_interp.converters.runtimes.outcome import Kind
from ir_interp.converters.runtimes.running import RUNNERS
from tests.support.runtimes import Array, onnx_model

TOLERANCE = 1e-4  # of values around 1
MOST_WRONG = 0.01  # of what is told
OPSETS = (7, 8, 9, 10, 11, 13, 18, 19)
OF_RESIZE, OF_ATTRIBUTES = 10, 11  # since when there is a Resize, and one with coordinates
COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
OF_SOME_SETS = ("tf_half_pixel_for_nn", "half_pixel_symmetric")  # which runtimes take in any
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
RATIOS = (2.0, 3.0, 0.5, 1.5, 2.6, 0.7, 1.3, 4.0, 1.0, 0.3)


def image_resize(rng: np.random.Generator) -> tuple[onnx.ModelProto, Array]:
    """Return a model of one Resize of the height and width of an image, and an image."""
    opset = int(rng.choice(OPSETS))
    if opset < OF_ATTRIBUTES:
        return old_resize(rng, opset)
    mode = str(rng.choice(["nearest", "linear", "cubic"]))
    attributes: dict[str, Any] = {"mode": mode}
    attributes["coordinate_transformation_mode"] = str(rng.choice((*COORDINATES, *OF_SOME_SETS)))
    if mode == "nearest":
        attributes["nearest_mode"] = str(rng.choice(ROUNDINGS))
    elif opset >= 18 and rng.random() < 0.25:
        attributes["antialias"] = 1
    if mode == "cubic" and rng.random() < 0.5:
        attributes["cubic_coeff_a"] = float(rng.choice([-0.5, -0.75, -0.6]))
    if mode == "cubic" and rng.random() < 0.25:
        attributes["exclude_outside"] = 1
    if rng.random() < 0.3:  # exporters leave out what is the default
        attributes.pop("nearest_mode", None)
    if attributes["coordinate_transformation_mode"] == "half_pixel" and rng.random() < 0.3:
        del attributes["coordinate_transformation_mode"]
    shape = image_shape(rng)
    ratios = [float(each) for each in rng.choice(RATIOS, 2)]
    lengths = [max(1, int(length * ratio)) for length, ratio in zip(shape[2:], ratios, strict=True)]
    given: dict[str, Any] = {"sizes": (*shape[:2], *(length + int(rng.integers(0, 2)) for length in lengths))}
    if rng.random() < 0.5 and all(length * ratio >= 1 for length, ratio in zip(shape[2:], ratios, strict=True)):
        given = {"scales": (1.0, 1.0, *ratios)}
    x = rng.standard_normal(shape).astype(np.float32)
    return onnx_model("Resize", opset, shape, "float32", attributes, **given), x


def image_shape(rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Return the shape of an image, of which some have a single row or column."""
    height, width = map(int, rng.integers(2, 40, 2))
    narrow = rng.random()
    if narrow < 0.1:
        height, width = (1, width) if narrow < 0.06 else (height, 1)
    return 1, int(rng.choice([1, 3])), height, width


def old_resize(rng: np.random.Generator, opset: int) -> tuple[onnx.ModelProto, Array]:
    """Return a model of an Upsample or a Resize-10, and an image."""
    op, shape = "Resize" if opset >= OF_RESIZE else "Upsample", image_shape(rng)
    known = RATIOS if op == "Resize" else tuple(ratio for ratio in RATIOS if ratio >= 1)
    ratios = [float(each) for each in rng.choice(known, 2)]
    ratios = [ratio if length * ratio >= 1 else 1.0 for length, ratio in zip(shape[2:], ratios, strict=True)]
    attributes = {"mode": str(rng.choice(["nearest", "linear"]))}
    x = rng.standard_normal(shape).astype(np.float32)
    return onnx_model(op, opset, shape, "float32", attributes, scales=(1.0, 1.0, *ratios)), x


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A node of a file, the image beside it, and what the node means."""

    path: Path
    wanted: Array

    @property
    def array(self) -> Path:
        """Where the image lies."""
        return self.path.with_suffix(".npy")


class Seen:
    """What models came to in a runtime; the same one is run once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.known: dict[bytes, Ran] = {}

    def of(self, models: list[Path], arrays: list[Path]) -> list[Ran]:
        """Return what becomes of models."""
        keys = [model.read_bytes() + array.read_bytes() for model, array in zip(models, arrays, strict=True)]
        new = {key: place for place, key in enumerate(keys) if key not in self.known}
        jobs = [Job(runtime=self.name, model=str(models[n]), array=str(arrays[n])) for n in new.values()]
        self.known |= zip(new, run(jobs), strict=True)
        return [self.known[key] for key in keys]


def native(seen: Seen, drawn: list[Drawn]) -> Iterator[str]:
    """Yield what became of nodes as they stand, and whether that was told."""
    runtime = RUNTIMES[seen.name]
    for each, answer in zip(drawn, seen.of([n.path for n in drawn], [n.array for n in drawn]), strict=True):
        (found,) = nodes(each.path)
        told = runtime.of_node(found) if runtime.of_node else runtime.forecast(found.op)
        kind, came = told.kind, _kind(answer, each.wanted)
        if kind is Kind.UNKNOWN:
            yield f"{came.value}, unknown"
            continue
        if told.spec is not None:
            made = ir_interp.resize(np.load(each.array), told.spec)
            is_same = made.shape == each.wanted.shape and np.abs(made - each.wanted).max() < TOLERANCE
            kind = Kind.SAME if is_same else Kind.DIFFERS
        if came is not kind:
            print(
                f"{seen.name}: told {kind.value}, seen {came.value}: {found.op.spec}; {told.reason}; {answer.refusal}"
            )
        yield came.value if came is kind else f"{came.value}, told {kind.value}"


def portable(seen: Seen, target: str, drawn: list[Drawn]) -> Iterator[str]:
    """Yield what became of nodes that were made portable for a target."""
    made, kept = [], []
    for each in drawn:
        path = each.path.with_name(f"{each.path.stem}-{target}.onnx")
        try:
            if not path.exists():
                ir_interp.convert(each.path, path, target=target, verify=False)
        except ExceptionGroup as refusals:
            if refusals.split(InexactError)[1]:
                raise
            yield "no form"
            continue
        made.append(path)
        kept.append(each)
    for path, each, answer in zip(made, kept, seen.of(made, [each.array for each in kept]), strict=True):
        came = _kind(answer, each.wanted)
        if came is not Kind.SAME:
            print(f"{seen.name}, {target}: {came.value}: {ir_interp.load(path)}; {answer.refusal}{answer.crash}")
        yield came.value


def _kind(answer: Ran, wanted: Array) -> Kind:
    if answer.output is None:
        return Kind.CRASHES if answer.crash else Kind.REFUSED
    if answer.output.shape != wanted.shape:
        return Kind.DIFFERS
    return Kind.SAME if np.abs(answer.output - wanted).max() < TOLERANCE else Kind.DIFFERS


def main(arguments: list[str]) -> int:
    """Print how many nodes came to what in each runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300, help="nodes run as they stand, and made portable")
    parser.add_argument("--told", type=int, default=0, help="further nodes, run as they stand only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="a runtime")
    options = parser.parse_args(arguments)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        drawn = list(_saved(Path(folder), options.cases + options.told, options.seed))
        for name in options.only or [name for name in RUNTIMES if name in RUNNERS and RUNNERS[name].is_installed]:
            seen, few = Seen(name), drawn[: options.cases]
            before = Counter(native(seen, drawn))
            own = [name] if name in others() or name == "openvino" else []
            every = ["any"] if name not in others() or others()[name].takes_primitives else []
            after = {target: Counter(portable(seen, target, few)) for target in (*own, *every)}
            wrong = sum(count for kind, count in before.items() if ", told" in kind)
            differing = sum(each[kind.value] for each in after.values() for kind in Kind if kind is not Kind.SAME)
            bad += differing + (wrong > len(drawn) * MOST_WRONG)
            told = f"told wrong {wrong} of {len(drawn)}"
            print(
                RUNTIMES[name].title, dict(before), told, {each: dict(made) for each, made in after.items()}, flush=True
            )
    return int(bool(bad))


def _saved(folder: Path, cases: int, seed: int) -> Iterator[Drawn]:
    rng = np.random.default_rng(seed)
    for number in range(cases):
        model, x = image_resize(rng)
        path = folder / f"{number}.onnx"
        onnx.save(model, path)
        np.save(path.with_suffix(".npy"), x)
        (op,) = ir_interp.load(path)
        yield Drawn(path=path, wanted=op.run(x))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
