"""Orders that last bits decide: outputs that follow from nearly equal scores prove nothing about a model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array

from ..graphs import Graph, Step
from ..run.processes import Runs
from . import tolerances

_SORT = "topk"  # of ONNX and OpenVINO


def undecided(run: Runs, model: Path) -> dict[str, str]:
    """Return the outputs of a model that follow from scores too near to each other, each with that reason.

    Two scores are too near if both may be off by the tolerance of outputs, and then change places among those that a
    TopK returns, or at the end of these.
    """
    graph = run.models.read(model)
    sorts = [step for step in graph.steps if step.type == _SORT]
    if not sorts:
        return {}
    _, tensors = run(model, list(dict.fromkeys(name for step in sorts for name in (step.inputs[0], *step.outputs))))
    reasons: dict[str, str] = {}
    for step in sorts:
        scores = tensors.get(step.inputs[0])
        ranked = next((tensors[name] for name in step.outputs if name in tensors), None)
        if scores is None or ranked is None:
            continue
        apart, limit = _nearest(scores, ranked.shape, step)
        if apart <= limit:
            name = next(filter(None, step.outputs))
            reason = f"the TopK that computes {name!r} ranks scores {apart:.2g} apart, so last bits decide their order"
            reasons = dict.fromkeys(_followers(graph, step.outputs), reason) | reasons
    return {name: reasons[name] for name in graph.outputs if name in reasons}


def _nearest(scores: Array, ranked: tuple[int, ...], step: Step) -> tuple[float, float]:
    """Return the least distance of two scores in sequence, up to the first that is not returned, and the limit."""
    axis = int(step.attributes.get("axis", -1))
    is_descending = step.attributes.get("largest", 1) and step.attributes.get("mode", "max") == "max"
    wide = np.moveaxis(scores, axis, -1).astype(np.float64)
    in_order = np.sort(-wide if is_descending else wide, axis=-1)[..., : ranked[axis] + 1]
    apart = float(np.diff(in_order, axis=-1).min(initial=np.inf))
    return apart, 2 * tolerances.OUTPUT * float(np.abs(wide).max(initial=0.0))


def _followers(graph: Graph, names: Iterable[str]) -> set[str]:
    """Return the tensors that are computed from some tensors, these included."""
    followers = set(names)
    for step in graph.steps:
        if not followers.isdisjoint(step.inputs):
            followers.update(step.outputs)
    return followers
