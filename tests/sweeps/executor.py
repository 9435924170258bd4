"""Compare random resizes with onnxruntime, OpenVINO's CPU plugin and the exact oracle, and explain every difference.

``python -m tests.sweeps.executor --cases 5000 --seed 1`` exits with 1 where a difference has no explanation. The
property tests are the same comparison over fewer cases.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ir_interp import Arithmetic, Nearest, ResizeSpec, SpecError, resize
from ir_interp.translation.dialect import Semantics
from tests.support.configurations import (
    IrCase,
    OnnxCase,
    Rng,
    random_ir_case,
    random_onnx_case,
    run_in_onnxruntime,
    run_in_openvino,
)
from tests.support.oracle import expected, stored
from tests.support.runtimes import Array, Child
from tests.support.sweeps import aligned, options
from tests.support.verdicts import (
    DOUBLE_TOLERANCE,
    EXPLANATIONS,
    LAST_PLACE,
    TOLERANCE,
    UNEXPLAINED,
    Case,
    Outcome,
    Verdict,
    compare,
    first_difference,
    magnitude,
    rounds,
    spec_of,
)


def sweep_onnxruntime(cases: int, seed: int) -> Iterator[Verdict]:
    """Compare random nodes with onnxruntime."""
    return _sweep(random_onnx_case, run_in_onnxruntime, cases, seed)


def sweep_openvino(cases: int, seed: int) -> Iterator[Verdict]:
    """Compare random Interpolate layers with OpenVINO's CPU plugin."""
    return _sweep(random_ir_case, run_in_openvino, cases, seed)


def _sweep(draw: Callable[[Rng], Case], run: Callable[..., Array], count: int, seed: int) -> Iterator[Verdict]:
    rng = np.random.default_rng(seed)
    cases = [draw(rng) for _ in range(count)]
    with Child() as child:
        yield from map(compare, cases, child.map(run, [(case,) for case in cases]))


def sweep_oracle(cases: int, seed: int) -> Iterator[Verdict]:
    """Compare every reading of random nodes and layers, in exact arithmetic, with the oracle."""
    rng = np.random.default_rng(seed)
    for number in range(cases):
        case = random_onnx_case(rng) if number % 2 else _maybe_area(random_ir_case(rng), rng)
        readings = [Semantics.RUNTIME, Semantics.DOCUMENT]
        if isinstance(case, OnnxCase):
            by_page = case.has_words and not case.scales_mirrored
            readings = [Semantics.RUNTIME, Semantics.REFERENCE, *[Semantics.DOCUMENT] * by_page]
        yield compare_with_oracle(case, readings[int(rng.integers(len(readings)))])


def _maybe_area(case: IrCase, rng: Rng) -> IrCase:
    """Turn some Interpolate-1 into those of mode area, which no runtime computes."""
    if case.version != 1 or rng.random() < 0.7:
        return case
    return replace(case, attributes={**case.attributes, "mode": "area"})


def compare_with_oracle(case: Case, semantics: Semantics) -> Verdict:
    """Compare the product with the oracle, on a case read in one way."""
    x = case.array()
    try:
        spec = replace(spec_of(case, semantics), arithmetic=Arithmetic.EXACT, integers=None)
        ours = resize(x, spec)
    except SpecError as error:
        return Verdict(case=case, outcome=Outcome.REFUSED, reason="SpecError", evidence=str(error))
    theirs = expected(x, spec)
    if agree_with_oracle(x, spec, ours, theirs):
        return Verdict(case=case, outcome=Outcome.EQUAL)
    evidence = f"as {semantics.value}: {first_difference(spec, x, ours, stored(theirs, x.dtype))}"
    return Verdict(case=case, outcome=Outcome.DIFFERS, reason=UNEXPLAINED, evidence=evidence)


def agree_with_oracle(x: Array, spec: ResizeSpec, ours: Array, theirs: Array) -> bool:
    """Tell whether ``ours`` is what the oracle computed: bit for bit if copied, else rounded from about the same."""
    if ours.dtype != x.dtype or ours.shape != theirs.shape:
        return False
    if isinstance(spec.kernel, Nearest):
        return ours.tobytes() == theirs.tobytes()
    double = x.dtype.name in ("float64", "int32", "int64", "uint32", "uint64")
    tolerance = (DOUBLE_TOLERANCE if double else TOLERANCE) * magnitude(x)
    if x.dtype.kind in "iu":
        return rounds(theirs, ours, tolerance)
    last_place = LAST_PLACE.get(x.dtype.name, 0.0) * np.abs(theirs)
    return bool((np.abs(ours.astype(np.float64) - theirs) <= tolerance + last_place).all())


# The report

SWEEPS: dict[str, Callable[[int, int], Iterator[Verdict]]] = {
    "onnxruntime": sweep_onnxruntime,
    "openvino": sweep_openvino,
    "exact oracle": sweep_oracle,
}


def unexplained(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return those verdicts that speak against the product, or against the cases it was tried on."""
    return [v for v in verdicts if v.reason == UNEXPLAINED or v.outcome is Outcome.REFUSED]


def table(verdicts: dict[str, list[Verdict]]) -> str:
    """Return what each runtime said, one line per mode."""
    rows = [("runtime", "mode", "compared", "equal", "differing", "refused", "left out")]
    for runtime, those in verdicts.items():
        for mode in [*sorted({v.case.mode for v in those}), "all"]:
            rows.append((runtime, mode, *_row([v for v in those if mode in (v.case.mode, "all")])))
    return aligned(rows)


def _row(verdicts: Sequence[Verdict]) -> tuple[str, str, str, str, str]:
    count = Counter(v.outcome for v in verdicts)
    compared = count[Outcome.EQUAL] + count[Outcome.DIFFERS]
    left, refused = count[Outcome.LEFT_OUT], count[Outcome.REFUSED]
    return (
        str(compared),
        str(count[Outcome.EQUAL]),
        f"{count[Outcome.DIFFERS]}{_reasons(verdicts, Outcome.DIFFERS)}",
        str(refused),
        f"{left}{_reasons(verdicts, Outcome.LEFT_OUT)}",
    )


def _reasons(verdicts: Sequence[Verdict], outcome: Outcome) -> str:
    reasons = Counter(v.reason for v in verdicts if v.outcome is outcome)
    return f" ({', '.join(f'{reason} {number}' for reason, number in sorted(reasons.items()))})" if reasons else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweeps; print every difference, a table, and what its abbreviations mean."""
    parser = options(__doc__)
    parser.add_argument("--only", choices=SWEEPS, help="one sweep instead of all")
    chosen = parser.parse_args(arguments)
    names = [chosen.only] if chosen.only else list(SWEEPS)
    verdicts = {name: list(SWEEPS[name](chosen.cases, chosen.seed)) for name in names}
    for name, those in verdicts.items():
        for verdict in those:
            if verdict.outcome in (Outcome.DIFFERS, Outcome.REFUSED):
                print(f"{name}: {verdict}")
    print(table(verdicts))
    for reason, text in EXPLANATIONS.items():
        print(f"{reason}: {text}")
    wrong = sum(len(unexplained(those)) for those in verdicts.values())
    print(f"{wrong} unexplained or refused" if wrong else "every difference is explained")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
