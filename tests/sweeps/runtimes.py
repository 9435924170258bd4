"""Run random Resizes of images in the other runtimes: as they are, and made portable for each, and for all of them.

``python -m tests.sweeps.runtimes --seed 1`` predicts and runs 1,000 nodes in each runtime that is installed (``pip
install opencv-python-headless MNN apache-tvm iree-base-compiler iree-base-runtime tract ncnn ai-edge-litert``, and pnnx
without dependencies), each in a process of its own. ``--only NAME`` chooses runtimes, ``--skip 500 --cases 500`` a part
of the nodes. With ``--portable`` the nodes are converted by ``--target NAME`` and ``--target any`` instead, and run.

It exits with 1 where a portable one differs, or too many predictions are wrong or unknown.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
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
from ir_interp.converters.audit import audited_resizes
from ir_interp.converters.audit.probe import ALL, RUNNERS, Job, Ran, run
from ir_interp.converters.onnx.resize_nodes import ResizeNode, nodes
from ir_interp.converters.predictions import RUNTIMES, Predictor
from ir_interp.converters.runtimes.outcome import Kind, Outcome
from tests.support.image_nodes import ImageNode, random_image_node
from tests.support.runtimes import OTHERS, Array

MOST_WRONG, MOST_UNKNOWN = 0.003, 0.03  # of all nodes, and of images
VARIES = "varies from run to run"  # what a runtime makes of uninitialised memory
LITERT = "litert"  # which reads files of its own
# Refused by IREE and by tract, where the resize is not.
_OTHER_NODE = re.compile(r'"onnx\.(?!Resize|Upsample|Loop)\w+"|" If ToTypedTranslator')
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

    def __str__(self) -> str:
        op = self.op
        lengths = f"{list(self.node.x.shape)} -> {list(self.wanted.shape)}"
        where = f"{self.path.stem}: {self.node.around.name}"
        return f"{where} {op.dialect} {op.version}, {op.dtype} {op.shape}, {lengths}, {op.attributes}"

    def is_meant(self, output: Array) -> bool:
        """Say whether an output is what the node means."""
        if output.shape != self.wanted.shape or output.dtype.kind != self.wanted.dtype.kind:
            return False
        apart = np.abs(output.astype(float) - self.wanted.astype(float)).max(initial=0)
        return bool(apart <= self.tolerance)  # False of NaN

    def is_equal(self, output: Array) -> bool:
        """Say whether an output is what the node means, its integers to the last bit."""
        return self.is_meant(output) and (output.dtype.kind == "f" or np.array_equal(output, self.wanted))

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
        if answer.lacks:
            yield each, LACKS
            continue
        predicted, came = prediction(runtime, each), _kind(answer, each)
        kind = predicted.kind
        is_of_other = _OTHER_NODE.search(answer.refusal) is not None
        if kind is Kind.UNKNOWN and not is_of_other:
            yield each, f"{came.value}, unknown"
            continue
        if predicted.spec is not None:
            kind = Kind.SAME if each.is_meant_by(predicted.spec) else Kind.DIFFERS
        is_right = came is kind or kind is Kind.CRASHES or VARIES in predicted.reason
        is_right = is_right or is_of_other
        if came is Kind.SAME and kind is Kind.DIFFERS and answer.output is not None:
            is_right = is_right or not each.is_equal(answer.output)  # off by 1: a difference, and within the tolerance
        if not is_right:
            told = f"predicted {kind.value} ({predicted}), seen {came.value} {answer.refusal}{answer.crash}"
            print(f"{seen.name}: {told}: {each}")
        yield each, came.value if is_right else f"{came.value}, predicted {kind.value}"


def prediction(runtime: Predictor, drawn: Drawn) -> Outcome:
    """Return what is predicted of a model; with the lengths of its image where it is dynamic and they decide."""
    (found,) = nodes(drawn.path)
    outcome = _asked(runtime, found)
    if outcome.condition:
        (found,), _, _ = audited_resizes.chosen_nodes(drawn.path, {"x": drawn.node.x.shape})
        outcome = _asked(runtime, replace(found, op=drawn.node.around.known(found.op)))
        assert not outcome.condition, outcome
    return outcome


def _asked(runtime: Predictor, found: ResizeNode) -> Outcome:
    alone = runtime.of_node(found) if runtime.of_node else runtime.predict(found.op)
    return runtime.among_others(found) or alone


def portable(seen: Seen, target: str, drawn: list[Drawn]) -> Iterator[str]:
    """Yield what became of nodes that were made portable for a target: refused, or what they come to."""
    made: list[tuple[Drawn, Path]] = []
    for each in drawn:
        path = each.path.with_name(f"{each.path.stem}-{target}.onnx")
        try:
            ir_interp.convert(each.path, path, target=target, verify=False)
        except ExceptionGroup as refusals:
            if refusals.split(InexactError)[1]:
                raise
            yield "no form"
            continue
        made.append((each, path))
    answers = seen.of([path for _, path in made], [each.array for each, _ in made])
    for (each, _), answer in zip(made, answers, strict=True):
        came = _kind(answer, each)
        if came is not Kind.SAME:
            print(f"{seen.name}, {target}: {came.value} {answer.refusal}{answer.crash}: {each}")
        yield came.value


LACKS = "not run: the machine lacks something"


def _kind(answer: Ran, drawn: Drawn) -> Kind:
    if answer.output is None:
        return Kind.CRASHES if answer.crash else Kind.REFUSED
    return Kind.SAME if drawn.is_meant(answer.output) else Kind.DIFFERS


def predictions(name: str, drawn: list[Drawn]) -> bool:
    """Print how many nodes came to what in a runtime, and how many not as predicted; say whether these are too many."""
    came = list(native(Seen(name), drawn))
    wrong = sum("predicted" in each for _, each in came)
    unknown = sum("unknown" in each for drawn, each in came if drawn.node.is_image)
    images = sum(each.node.is_image for each in drawn)
    told = f"wrong {wrong} of {len(drawn)}, unknown {unknown} of {images} images"
    print(RUNTIMES[name].title, dict(Counter(each for _, each in came)), told, flush=True)
    return wrong > MOST_WRONG * len(drawn) or unknown > MOST_UNKNOWN * images


def conversions(name: str, drawn: list[Drawn]) -> bool:
    """Print what became of nodes that were converted for a runtime; say whether any differs there."""
    own = [name] if name in OTHERS or name == "openvino" else []
    accepts = OTHERS[name].accepts if name in OTHERS else None
    every = ["any"] if accepts is None or accepts.primitives else []
    after = {target: Counter(portable(Seen(name), target, drawn)) for target in (*own, *every)}
    print(RUNTIMES[name].title, {target: dict(counts) for target, counts in after.items()}, flush=True)
    return any(counts[kind.value] for counts in after.values() for kind in Kind if kind is not Kind.SAME)


def of_litert(cases: int, seed: int) -> bool:
    """Print how many operators LiteRT computes otherwise than predicted: it is to compute all of them."""
    from tests.sources.test_tflite import different  # which skips where it is not installed

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        wrong = different(cases, seed)
    print(*wrong, f"LiteRT: wrong {len(wrong)} of {cases}, unknown 0", sep="\n", flush=True)
    return len(wrong) > MOST_WRONG * cases


def of_runtime(name: str, options: argparse.Namespace) -> bool:
    """Run what the options choose in a runtime; say whether too much is wrong."""
    if name == LITERT:
        return not options.portable and of_litert(options.cases, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        drawn = list(saved(Path(folder), options.cases, options.seed, options.skip))
        return conversions(name, drawn) if options.portable else predictions(name, drawn)


def each_alone(names: list[str], arguments: list[str]) -> bool:
    """Run every runtime in a process of its own: one that takes its process along does not end the others."""
    command = [sys.executable, "-m", "tests.sweeps.runtimes", *arguments]
    codes = {name: subprocess.run([*command, "--only", name], check=False).returncode for name in names}
    died = [f"{name}: ended with status {code}" for name, code in codes.items() if code not in (0, 1)]
    print(*died, sep="\n", end="\n" if died else "", flush=True)
    return any(codes.values())


def main(arguments: list[str]) -> int:
    """Print how many nodes came to what in each runtime."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000, help="how many nodes")
    parser.add_argument("--skip", type=int, default=0, help="how many nodes of the seed to leave out first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--portable", action="store_true", help="convert the nodes for the runtime before they are run")
    parser.add_argument("--only", action="append", choices=[*RUNTIMES, LITERT], help="a runtime")
    options = parser.parse_args(arguments)
    installed = [name for name in RUNTIMES if name in RUNNERS and RUNNERS[name].is_installed]
    chosen = options.only or [*installed, *([LITERT] if ALL[LITERT].is_installed else [])]
    if len(chosen) == 1:
        return int(of_runtime(chosen[0], options))
    return int(each_alone(chosen, _without_only(arguments)))


def _without_only(arguments: list[str]) -> list[str]:
    flags = [place for place, text in enumerate(arguments) if text == "--only"]
    return [text for place, text in enumerate(arguments) if place not in flags and place - 1 not in flags]


def saved(folder: Path, cases: int, seed: int, skip: int = 0) -> Iterator[Drawn]:
    """Write random nodes and images; yield them, without the first ones of the seed that are skipped."""
    rng = np.random.default_rng(seed)
    for number in range(skip + cases):
        node, path = random_image_node(rng), folder / f"{number}.onnx"
        if number < skip:
            continue
        onnx.save(node.model, path)
        np.save(path.with_suffix(".npy"), node.x)
        (op,) = ir_interp.load(path)
        yield Drawn(path=path, node=node, op=op, wanted=node.meaning(op))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
