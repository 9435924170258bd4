"""Find where two models begin to differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..report import Compared
from .differences import compare
from .processes import Runs
from .tensors import ResizeTensors

_PROBES = 16  # tensors that are looked at in one run


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A resize, and how its data and its output compare between two models; None where one does not show them."""

    name: str
    where: str
    data: Compared | None
    output: Compared | None

    @property
    def differs(self) -> bool:
        """Whether both models show its output, and not the same."""
        return self.output is not None and not self.output.passes

    @property
    def is_fed_otherwise(self) -> bool:
        """Whether its data differ already."""
        return self.data is not None and not self.data.passes

    @property
    def text(self) -> tuple[str, str]:
        """How its data and its output compare, as text."""
        return _told(self.data), _told(self.output)


def _told(compared: Compared | None) -> str:
    if compared is None:
        return "not shown by both"
    return compared.difference if not compared.passes else f"equal within {compared.absolute:.3g}"


def resizes(
    run: Runs, resizes_with_tensors: Sequence[ResizeTensors], first: Path, second: Path, tolerance: float | None = None
) -> list[Located]:
    """Return how each resize compares between two models that show tensors of the same names."""
    tensors = list(
        dict.fromkeys(
            name for each in resizes_with_tensors for name in (each.inputs.get("data", ""), each.output) if name
        )
    )
    (_, mine), (_, theirs) = run(first, tensors), run(second, tensors)

    def seen(name: str) -> Compared | None:
        if name not in mine or name not in theirs:
            return None
        return compare(name, mine[name], theirs[name], tolerance)

    return [
        Located(
            name=each.op.name, where=each.op.where, data=seen(each.inputs.get("data", "")), output=seen(each.output)
        )
        for each in resizes_with_tensors
    ]


def first_resize(run: Runs, resizes_with_tensors: Sequence[ResizeTensors], source: Path, result: Path) -> str:
    """Return which resize is the first whose own output differs between the two runtimes."""
    first = next((each for each in resizes(run, resizes_with_tensors, source, result) if each.differs), None)
    if first is None or first.output is None:
        return "; no resize differs, so that the difference arises elsewhere"
    return f"; the first resize that differs is {first.name!r}: it {first.output.difference}"


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
        found = f"; the first layer that differs is {probes[place]!r}: it {problem}"
        names = names[place * step : (place + 1) * step - 1]
    return found


def _tensors(model: Path) -> list[str]:
    """Return what the nodes of a model make, in their order."""
    import onnx

    graph = onnx.load(str(model), load_external_data=False).graph
    return [name for node in graph.node for name in node.output if name]


def _difference(mine: Mapping[str, NDArray[Any]], theirs: Mapping[str, NDArray[Any]], name: str) -> str:
    """Return how a tensor differs that both models show; nothing where it does not."""
    if name not in mine or name not in theirs:
        return ""
    found = compare(name, mine[name], theirs[name])
    return "" if found.passes else found.difference
