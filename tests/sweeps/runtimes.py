"""Run random Resizes of images in the other runtimes: as they are, and made portable for each, and for all of them.

``python -m tests.sweeps.runtimes --cases 300 --seed 1`` runs those that are installed (``pip install
opencv-python-headless MNN apache-tvm iree-base-compiler iree-base-runtime tract ncnn ai-edge-litert``, and pnnx without
dependencies), and exits with 1 where a portable one differs, or too many predictions are wrong or unknown.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

import ir_interp
from ir_interp import InexactError, Nearest, ResizeOp, ResizeSpec
from ir_interp.converters.audit import chosen_shapes
from ir_interp.converters.audit.probe import Job, Ran, run
from ir_interp.converters.forecasts.runtimes_asked import RUNTIMES, Runtime
from ir_interp.converters.onnx.resize_nodes import FoundNode, nodes
from ir_interp.converters.runtimes import litert
from ir_interp.converters.runtimes.others import others
from ir_interp.converters.runtimes.outcome import Kind, Outcome
from ir_interp.converters.runtimes.running import RUNNERS
from tests.support.image_nodes import ImageNode, random_image_node
from tests.support.runtimes import Array

MOST_WRONG, MOST_UNKNOWN = 0.003, 0.03  # of all nodes, and of images
VARIES = "varies from run to run"  # what a runtime makes of uninitialised memory
_BATCH = 50  # jobs of one process


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A node of a file, the image beside it, and what the node means."""

    path: Path
    node: ImageNode
    op: ResizeOp
    wanted: Array

    @property
    def array(self) -> Path:
        """Where the image lies."""
        return self.path.with_suffix(".npy")

    @property
    def tolerance(self) -> float:
        """How far outputs may differ: not at all for copies, for sums by their last digits or a rounding."""
        if isinstance(self.op.spec.kernel, Nearest):
            return 0.0
        return {"float16": 2e-2, "float32": 1e-4}.get(str(self.wanted.dtype), 1.0)

    def is_meant(self, output: Array) -> bool:
        """Say whether an output is what the node means."""
        if output.shape != self.wanted.shape or output.dtype.kind != self.wanted.dtype.kind:
            return False
        apart = np.abs(output.astype(float) - self.wanted.astype(float)).max(initial=0)
        return bool(apart <= self.tolerance)  # False of NaN

    def is_meant_by(self, spec: ResizeSpec) -> bool:
        """Say whether another resize makes the same of the image."""
        with contextlib.suppress(ir_interp.SpecError):
            return self.is_meant(self.node.meaning(replace(self.op, spec=spec)))
        return False


class Seen:
    """What models came to in a runtime; the same one is run once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.known: dict[bytes, Ran] = {}

    def of(self, models: list[Path], arrays: list[Path]) -> list[Ran]:
        """Return what becomes of models. One that dies is run again, alone: the one before may have been the cause."""
        keys = [model.read_bytes() + array.read_bytes() for model, array in zip(models, arrays, strict=True)]
        new = {key: place for place, key in enumerate(keys) if key not in self.known}
        jobs = [Job(runtime=self.name, model=str(models[n]), array=str(arrays[n])) for n in new.values()]
        answers = [each for start in range(0, len(jobs), _BATCH) for each in run(jobs[start : start + _BATCH])]
        for key, job, answer in zip(new, jobs, answers, strict=True):
            self.known[key] = run([job])[0] if answer.crash else answer
        return [self.known[key] for key in keys]


def native(seen: Seen, drawn: list[Drawn]) -> Iterator[tuple[Drawn, str]]:
    """Yield nodes as they stand, with what became of them and whether that was predicted."""
    runtime = RUNTIMES[seen.name]
    for each, answer in zip(drawn, seen.of([n.path for n in drawn], [n.array for n in drawn]), strict=True):
        predicted, came = prediction(runtime, each), _kind(answer, each)
        kind = predicted.kind
        if kind is Kind.UNKNOWN:
            yield each, f"{came.value}, unknown"
            continue
        if predicted.spec is not None:
            kind = Kind.SAME if each.is_meant_by(predicted.spec) else Kind.DIFFERS
        is_right = came is kind or kind is Kind.CRASHES or VARIES in predicted.reason
        if not is_right:
            print(f"{seen.name}: predicted {kind.value} ({predicted}), seen {came.value} {answer.refusal}: {each.op}")
        yield each, came.value if is_right else f"{came.value}, predicted {kind.value}"


def prediction(runtime: Runtime, drawn: Drawn) -> Outcome:
    """Return what is predicted of a model; with the lengths of its image where it is dynamic and they decide."""
    (found,) = nodes(drawn.path)
    outcome = _asked(runtime, found)
    if outcome.condition:
        (found,) = chosen_shapes.nodes(drawn.path, {"x": drawn.node.x.shape})
        outcome = _asked(runtime, found)
        assert not outcome.condition, outcome
    return outcome


def _asked(runtime: Runtime, found: FoundNode) -> Outcome:
    alone = runtime.of_node(found) if runtime.of_node else runtime.forecast(found.op)
    return runtime.among_others(found) or alone


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
    for each, answer in zip(kept, seen.of(made, [each.array for each in kept]), strict=True):
        came = _kind(answer, each)
        if came is not Kind.SAME:
            print(f"{seen.name}, {target}: {came.value} {answer.refusal}{answer.crash}: {each.op}")
        yield came.value


def _kind(answer: Ran, drawn: Drawn) -> Kind:
    if answer.output is None:
        return Kind.CRASHES if answer.crash else Kind.REFUSED
    return Kind.SAME if drawn.is_meant(answer.output) else Kind.DIFFERS


def of_runtime(name: str, drawn: list[Drawn], converted: int) -> bool:
    """Print how many nodes came to what in a runtime; say whether that is too much."""
    seen, few = Seen(name), drawn[:converted]
    came = list(native(seen, drawn))
    wrong = sum("predicted" in each for _, each in came)
    unknown = sum("unknown" in each for drawn, each in came if drawn.node.is_image)
    images = sum(each.node.is_image for each in drawn)
    own = [name] if name in others() or name == "openvino" else []
    every = ["any"] if name not in others() or others()[name].takes_primitives else []
    after = {target: Counter(portable(seen, target, few)) for target in (*own, *every)}
    differing = sum(each[kind.value] for each in after.values() for kind in Kind if kind is not Kind.SAME)
    told = f"wrong {wrong} of {len(drawn)}, unknown {unknown} of {images} images"
    print(RUNTIMES[name].title, dict(Counter(each for _, each in came)), told, after, flush=True)
    return bool(differing) or wrong > MOST_WRONG * len(drawn) or unknown > MOST_UNKNOWN * images


def of_litert(cases: int, seed: int) -> bool:
    """Print how many operators LiteRT computes otherwise than predicted: it is to compute all of them."""
    from tests.sources.test_tflite import different  # which skips where it is not installed

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        wrong = different(cases, seed)
    print(*wrong, f"LiteRT: wrong {len(wrong)} of {cases}, unknown 0", sep="\n", flush=True)
    return len(wrong) > MOST_WRONG * cases


def main(arguments: list[str]) -> int:
    """Print how many nodes came to what in each runtime."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300, help="nodes run as they stand, and made portable")
    parser.add_argument("--further", type=int, default=0, help="further nodes, run as they stand only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="a runtime")
    options = parser.parse_args(arguments)
    installed = [name for name in RUNTIMES if name in RUNNERS and RUNNERS[name].is_installed]
    chosen = options.only or [*installed, *(["litert"] if litert.RUNNER.is_installed else [])]
    cases = options.cases + options.further
    bad = [of_litert(cases, options.seed)] if "litert" in chosen else []
    with tempfile.TemporaryDirectory() as folder:
        drawn = list(saved(Path(folder), cases, options.seed))
        bad += [of_runtime(name, drawn, options.cases) for name in chosen if name != "litert"]
    return int(any(bad))


def saved(folder: Path, cases: int, seed: int) -> Iterator[Drawn]:
    """Write random nodes and images; yield them."""
    rng = np.random.default_rng(seed)
    for number in range(cases):
        node, path = random_image_node(rng), folder / f"{number}.onnx"
        onnx.save(node.model, path)
        np.save(path.with_suffix(".npy"), node.x)
        (op,) = ir_interp.load(path)
        yield Drawn(path=path, node=node, op=op, wanted=node.meaning(op))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
