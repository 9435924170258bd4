"""Find where two models begin to differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from converters.child import Runs
from converters.comparison import TOLERANCE, passed
from ir_interp.errors import VerificationError
from ir_interp.op import ResizeOp

_PROBES = 16  # tensors that are looked at in one run


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """A resize of a model with the names of its tensors; ``inputs`` holds data, and sizes, scales, roi if given."""

    op: ResizeOp
    inputs: Mapping[str, str]
    output: str


def first_resize(run: Runs, wired: list[Wired], source: Path, result: Path) -> str:
    """Return which resize is the first whose own output differs between the two runtimes."""
    tensors = [each.output for each in wired]
    (_, mine), (_, theirs) = run(source, tensors), run(result, tensors)
    for each in wired:
        problem = _difference(mine, theirs, each.output)
        if problem:
            return f"; the first resize that differs is {each.op.name!r}: it{problem}"
    return "; no resize differs, so that the difference arises elsewhere"


def first_layer(run: Runs, source: Path, result: Path) -> str:
    """Return which tensor of an ONNX model is the first that differs from its namesake in the IR."""
    names, found = _tensors(result), ""
    while names:
        step = -(-len(names) // _PROBES)
        probes = [names[min(end, len(names)) - 1] for end in range(step, len(names) + step, step)]
        (_, mine), (_, theirs) = run(source, probes), run(result, probes)
        problems = ((place, _difference(mine, theirs, name)) for place, name in enumerate(probes))
        place, problem = next((each for each in problems if each[1]), (0, ""))
        if not problem:
            break
        found = f"; the first layer that differs is {probes[place]!r}: it{problem}"
        names = names[place * step : (place + 1) * step - 1]
    return found


def _tensors(model: Path) -> list[str]:
    """Return what the nodes of a model make, in their order."""
    import onnx

    graph = onnx.load(str(model), load_external_data=False).graph
    return [name for node in graph.node for name in node.output if name]


def _difference(mine: Mapping[str, NDArray[Any]], theirs: Mapping[str, NDArray[Any]], name: str) -> str:
    """Return how a tensor differs that both models show; nothing where it does not."""
    if name in mine and name in theirs:
        try:
            passed("", mine[name], theirs[name], TOLERANCE)
        except VerificationError as problem:
            return str(problem)
    return ""
