"""Convert random Interpolates of IRs to ONNX, and compare what onnxruntime computes with OpenVINO's CPU plugin.

``python -m tests.sweeps.ir_to_onnx --cases 5000`` exits with 1 where anything differs. With ``--verified`` conversions
are verified, every dimension is dynamic, and a refusal counts as a difference.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np

from ir_interp import resize
from tests.support.configurations import IrCase, Rng, known_openvino_bug, random_ir_case, run_in_openvino
from tests.support.conversions import (
    BATCH,
    FEW,
    SECONDS,
    VERIFIED,
    Converted,
    batches,
    is_inconclusive,
    report,
    table,
)
from tests.support.runtimes import Array, Child, Crashed, Refused
from tests.support.translations import OPEN, Outcome, ir_to_onnx
from tests.support.verdicts import LAST_PLACE, TOLERANCE, Answer, left_out, magnitude, rounds, spec_of


def sweep(cases: int, seed: int, verified: bool = False) -> Iterator[Converted]:
    """Convert random layers and run them."""
    rng = np.random.default_rng(seed)
    drawn = [_draw(rng, VERIFIED if verified else OPEN) for _ in range(cases)]
    with Child() as source, Child(timeout=SECONDS) as target:
        for batch in batches(drawn, FEW if verified else BATCH):
            answers = source.map(run_in_openvino, [(case,) for case, _ in batch])
            outcomes = target.map(_convert, [(*each, verified) for each in batch])
            for (case, left_open), answer, outcome in zip(batch, answers, outcomes, strict=True):
                found = _difference(case, answer, outcome)
                yield Converted(case=case, left_open=left_open, outcome=outcome, judge="OpenVINO", difference=found)


def _draw(rng: Rng, left_open: Sequence[str]) -> tuple[IrCase, str]:
    while left_out(case := random_ir_case(rng)):
        pass
    return case, str(rng.choice(left_open))


def _convert(case: IrCase, left_open: str, verified: bool) -> Outcome:
    return ir_to_onnx(case, left_open=left_open, verify=verified)


def _difference(case: IrCase, wanted: Answer, outcome: Outcome | Refused | Crashed) -> str:
    """Return in words how an output differs: by any bit where it was copied, else by more than float32 sums do."""
    if not isinstance(wanted, np.ndarray):
        return f"OpenVINO: {wanted.text}"
    if not isinstance(outcome, Outcome):
        return outcome.text
    if outcome.output is None and is_inconclusive(outcome, lambda x: resize(x, spec_of(case)), case.array()):
        return ""
    if outcome.output is None:
        return f"refused: {outcome.form}"
    got = outcome.output
    if (wanted.dtype, wanted.shape) != (got.dtype, got.shape):
        return f"{got.dtype} {list(got.shape)}, not {wanted.dtype} {list(wanted.shape)}"
    off = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
    differing = off > _limit(case, wanted)
    if not differing.any() or _rounds_a_half(case, got):
        return ""
    return f"{differing.sum()} of {got.size}, by up to {off.max():.3g}"


def _limit(case: IrCase, wanted: Array) -> Array:
    """Return how far each element may be off."""
    if case.mode == "nearest":
        return np.zeros(wanted.shape)
    if "int" in case.dtype:  # the plugin rounds 8 bits more than once (B9)
        return np.full(wanted.shape, 1.0 if known_openvino_bug(case) == "B9" else 0.0)
    last_place = LAST_PLACE.get(case.dtype, 0.0) * np.abs(wanted.astype(np.float64))
    return np.asarray(TOLERANCE * max(1.0, magnitude(case.array())) + last_place)


def _rounds_a_half(case: IrCase, got: Array) -> bool:
    """Say whether integers were made of sums so near a half that float32 may round them either way."""
    if "int" not in case.dtype or case.mode == "nearest":
        return False
    x = case.array()
    return rounds(resize(x.astype(np.float64), spec_of(case)), got, TOLERANCE * magnitude(x))


def _kind(converted: Converted) -> tuple[str, str, str]:
    assert isinstance(converted.case, IrCase)
    outcome = converted.outcome
    form = "Resize" if isinstance(outcome, Outcome) and "onnx" in outcome.form else "primitives"
    became = form if isinstance(outcome, Outcome) else type(outcome).__name__
    return f"-{converted.case.version}", converted.left_open, became


def _table(conversions: Sequence[Converted]) -> str:
    return table(conversions, ("Interpolate", "left open", "form"), _kind)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print every difference, and a table."""
    return report(__doc__, sweep, _table, arguments, can_verify=True)


if __name__ == "__main__":
    sys.exit(main())
