"""Random resizes that were converted: what became of each, who judged it, and how they are reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16)
import numpy as np

from ir_interp import Grade, resize
from tests.support.configurations import OnnxCase, Rng, known_onnxruntime_bug, random_node, random_onnx_case
from tests.support.runtimes import Array, Crashed, Refused
from tests.support.sweeps import aligned, options
from tests.support.translations import INCONCLUSIVE, OPEN, Outcome
from tests.support.verdicts import LAST_PLACE, TOLERANCE, Answer, Case, left_out, magnifies, magnitude, spec_of

SAME_OPSETS = {7: (7, 8), 11: (11, 12), 13: (13, 14, 15, 16, 17), 19: (19, 20, 21)}
"""Operator sets between which Resize and Upsample do not change."""

VERIFIED = ("shape", "both")
"""The dimensions that verified conversions leave to run time: all of them."""

SECONDS = 300.0
"""How long one conversion may take, verification included."""

BATCH = 250
"""Conversions whose results are held at once."""

FEW = 5
"""The same of conversions that are verified, which take seconds each."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """One conversion: what was left open, what it became, who judged it, and in what it differs if it does."""

    case: Case
    left_open: str
    outcome: Outcome | Refused | Crashed
    target: str = ""
    judge: str = "nobody"
    difference: str = ""

    def __str__(self) -> str:
        said = self.outcome.form if isinstance(self.outcome, Outcome) else self.outcome.text
        target = f"for {self.target}, " if self.target else ""
        return f"{target}{self.left_open} left open, {self.judge}: {said}: {self.case}: {self.difference}"


def random_conversion(rng: Rng, left_open: Sequence[str] = OPEN) -> tuple[OnnxCase, str]:
    """Return a node, half of the time one that onnxruntime runs, and what the model leaves to run time."""
    case = random_onnx_case(rng) if rng.random() < 0.5 else random_node(rng)
    opsets = SAME_OPSETS.get(case.opset, (case.opset,))
    return replace(case, opset=int(rng.choice(opsets))), str(rng.choice(left_open))


def batches(drawn: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Yield what was drawn, ``size`` at a time."""
    return (drawn[start : start + size] for start in range(0, len(drawn), size))


def judged(converted: Converted, answer: Answer) -> Converted:
    """Return the conversion of a node with what onnxruntime's answer, or the executor, says of it."""
    case, outcome = converted.case, converted.outcome
    assert isinstance(case, OnnxCase)
    if not isinstance(outcome, Outcome):
        return replace(converted, difference=outcome.text)
    if outcome.output is None and is_inconclusive(outcome, lambda x: resize(x, spec_of(case)), case.array()):
        return converted
    if outcome.output is None:
        return replace(converted, difference=f"refused: {outcome.form}")
    rounded = len(case.axes) if case.attributes.get("antialias") else 1
    slack = float(rounded) if outcome.grade == Grade.INTEGERS_WITHIN_1.value else 0.0
    if isinstance(answer, np.ndarray) and not known_onnxruntime_bug(case) and not left_out(case):
        return replace(converted, judge="onnxruntime", difference=difference(case, answer, outcome.output, slack))
    wanted = resize(case.array(), spec_of(case))
    return replace(converted, judge="executor", difference=difference(case, wanted, outcome.output, slack))


def difference(case: OnnxCase, wanted: Array, output: Array, slack: float = 0.0) -> str:
    """Return in words how ``output`` differs: by any bit where it was copied, else by more than float32 sums do."""
    if (wanted.dtype, wanted.shape) != (output.dtype, output.shape):
        return f"{output.dtype} {list(output.shape)}, not {wanted.dtype} {list(wanted.shape)}"
    ours, theirs = output.astype(np.float64), wanted.astype(np.float64)
    limit = np.full(theirs.shape, slack)
    if "float" in case.dtype and case.mode != "nearest":
        tolerance = TOLERANCE * max(1.0, magnitude(wanted)) * (20 if magnifies(spec_of(case)) else 1)
        limit = tolerance + LAST_PLACE.get(case.dtype, 0.0) * np.abs(theirs)
    differing = np.argwhere(np.abs(ours - theirs) > limit)
    if not len(differing):
        return ""
    index = tuple(differing[0])
    largest = np.abs(ours - theirs).max()
    return f"{len(differing)} of {ours.size}, by up to {largest:.3g}, first {ours[index]}, not {theirs[index]}"


def is_inconclusive(outcome: Outcome, resized: Callable[[Array], Array], x: Array) -> bool:
    """Return whether a conversion was called INCONCLUSIVE, and rightly: its outputs are one number for any input."""
    others = (np.roll(x, 1), x[::-1], np.zeros_like(x), np.ones_like(x))
    return outcome.form == INCONCLUSIVE and len(np.unique([resized(each) for each in (x, *others)])) == 1


def table(conversions: Sequence[Converted], titles: Sequence[str], kind: Callable[[Converted], tuple[str, ...]]) -> str:
    """Return how many there are of each kind, of each first word of a kind, and of all, and who found them equal."""
    blank = ("",) * (len(titles) - 2)
    groups: dict[tuple[str, ...], list[Converted]] = {}
    for each in conversions:
        words = kind(each)
        for group in (words, (words[0], *blank, "all"), ("all", *blank, "")):
            groups.setdefault(group, []).append(each)
    judges = sorted({each.judge for each in conversions} - {"nobody"})
    rows = [[*titles, "conversions", *(f"as {judge}" for judge in judges), "differing"]]
    for group in sorted(groups, key=lambda words: (words[0] == "all", words[0], words[-1] == "all", words)):
        equal = Counter(each.judge for each in groups[group] if not each.difference)
        differing = sum(bool(each.difference) for each in groups[group])
        counts = (len(groups[group]), *(equal[judge] for judge in judges), differing)
        rows.append([*group, *map(str, counts)])
    return aligned(rows)


def report(
    doc: str | None,
    sweep: Callable[..., Iterator[Converted]],
    table_of: Callable[[list[Converted]], str],
    arguments: Sequence[str] | None,
    *,
    can_verify: bool = False,
) -> int:
    """Run a sweep as a command; print every difference and a table, and return 1 where anything differs.

    A sweep that ``can_verify`` takes an option by which every conversion is verified, and every dimension dynamic.
    """
    parser = options(doc)
    if can_verify:
        parser.add_argument("--verified", action="store_true", help="verify, with all dimensions dynamic")
    chosen = vars(parser.parse_args(arguments))
    conversions = []
    for each in sweep(**chosen):
        conversions.append(each)
        if each.difference:
            print(each, flush=True)
    print(table_of(conversions))
    return int(any(each.difference for each in conversions))
