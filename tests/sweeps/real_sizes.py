"""Convert resizes of the sizes that models have in the field, and compare what OpenVINO computes with the executor.

``python -m tests.sweeps.real_sizes --cases 200 --seed 1`` draws feature maps up to 64 x 540 x 960, images up to 4K,
volumes, batches and signals, static and dynamic, with sizes and scales known or at run time, kernels and coordinates at
random; converts each to an IR, in any form or one that is asked for, or makes it portable for OpenVINO; and runs it on
1, 2 or 4 threads in a process of its own. Exits with 1 where one is wrong or refused, but for Interpolates that were
asked for where none computes the same: these are counted by what the closest form has.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov

import ir_interp
from ir_interp import Grade, InexactError, resize
from tests.support.configurations import ROUNDINGS, OnnxCase, Rng
from tests.support.runtimes import Array, Child, Crashed, Refused
from tests.support.translations import OPEN, save_onnx
from tests.support.verdicts import TOLERANCE, spec_of

LARGEST = 80_000_000  # elements of an input, and of an output
LARGEST_SOFT = 25_000_000  # of an output whose taps are all gathered at once
LARGEST_REFERENCE = 1_000_000  # of cubic volumes, which the plugin leaves to a slow reference
_STEEPEST = 3.0  # rise of a kernel within a pixel, of values as large as 1 on both sides
SECONDS = 900.0  # for one case, on a machine that has other work too

SHAPES: dict[str, tuple[tuple[int, int], ...]] = {
    "feature map": ((1, 1), (16, 64), (60, 540), (100, 960)),
    "image": ((1, 1), (1, 3), (480, 2160), (640, 3840)),
    "volume": ((1, 2), (1, 8), (16, 96), (64, 256), (64, 256)),
    "batch": ((2, 16), (3, 32), (64, 224), (64, 224)),
    "signal": ((1, 8), (1, 64), (5_000, 400_000)),
}
"""The shortest and longest of each axis."""

COORDINATES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")
_BATCH = "batch"  # the first length alone is left open
FORMS = ("any", "native", "decomposed", "portable")


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCase:
    """A node, what its model leaves to run time, the form that it is to have, and the threads that it runs on."""

    kind: str
    node: OnnxCase
    left_open: str
    form: str
    threads: int


def random_case(rng: Rng) -> RealCase:
    """Return a case, half of them with outputs beyond 2^24 elements."""
    kind = str(rng.choice(list(SHAPES)))
    while True:
        shape = tuple(_length(rng, *ends) for ends in SHAPES[kind])
        node = _node(rng, shape)
        small, large = sorted((math.prod(shape), math.prod(_lengths(node))))
        if small > 0 and large <= _largest(node) and (large > 2**24 or rng.random() < 0.3):
            break
    chosen = {
        "left_open": str(rng.choice((*OPEN, _BATCH), p=(0.1, 0.3, 0.15, 0.3, 0.15))),
        "form": str(rng.choice(FORMS)),
    }
    return RealCase(kind=kind, node=node, threads=int(rng.choice((1, 2, 4), p=(0.2, 0.6, 0.2))), **chosen)


def _largest(node: OnnxCase) -> int:
    if node.mode == "cubic" and len(node.shape) > 4:
        return LARGEST_REFERENCE
    return LARGEST_SOFT if "antialias" in node.attributes else LARGEST


def _length(rng: Rng, shortest: int, longest: int) -> int:
    return round(math.exp(rng.uniform(math.log(shortest), math.log(longest))))


def _node(rng: Rng, shape: tuple[int, ...]) -> OnnxCase:
    mode = str(rng.choice(("nearest", "linear", "cubic")))
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": str(rng.choice(COORDINATES))}
    if mode == "nearest":
        attributes["nearest_mode"] = str(rng.choice(ROUNDINGS))
    elif rng.random() < 0.4:
        attributes["antialias"] = 1
    if mode == "cubic" and rng.random() < 0.5:
        attributes["exclude_outside"] = 1
    attributes["axes"] = [int(axis) for axis in range(2, len(shape))]
    scales = [float(np.float32(math.exp(rng.uniform(math.log(0.3), math.log(4))))) for _ in attributes["axes"]]
    target: dict[str, Any] = {"scales": tuple(scales)}
    if rng.random() < 0.5:
        target = {"sizes": tuple(max(1, int(n * s)) for n, s in zip(shape[2:], scales, strict=True))}
    dtype = "uint8" if mode == "nearest" and rng.random() < 0.2 else "float32"
    return OnnxCase(op="Resize", opset=19, shape=shape, dtype=dtype, attributes=attributes, **target)


def _lengths(node: OnnxCase) -> tuple[int, ...]:
    scaled = node.sizes or [int(n * s) for n, s in zip(node.shape[2:], node.scales or (), strict=True)]
    return (*node.shape[:2], *scaled)


def check(case: RealCase) -> str:
    """Return in what the result differs from the executor's, nothing where it does not; a job for a child."""
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "x.onnx"), Path(folder, "y.onnx" if case.form == "portable" else "y.xml")
        feeds = _save(case, source)
        options: dict[str, Any] = {"target": "openvino"} if case.form == "portable" else {}
        if case.form in ("native", "decomposed"):
            options["only"] = case.form
        try:
            report = ir_interp.convert(source, result, verify=False, **options)
        except (InexactError, ExceptionGroup) as refusal:
            leaf = refusal.exceptions[0] if isinstance(refusal, ExceptionGroup) else refusal
            return f"refused: {leaf}"
        got = _run(result, feeds, case.threads)
    found = _difference(case.node, resize(feeds["x"], spec_of(case.node)), got)
    return f"as graded: {found}" if found and report.rows[0].grade is Grade.EXACT_BUT_TIES else found


def _save(case: RealCase, source: Path) -> dict[str, Array]:
    if case.left_open != _BATCH:
        return save_onnx(case.node, source, case.left_open)
    feeds = save_onnx(case.node, source, "nothing")
    model = onnx.load(source)
    model.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_value")
    onnx.save(model, source)
    return feeds


def _run(model: Path, feeds: dict[str, Array], threads: int) -> Array:
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
    compiled = ov.Core().compile_model(model, "CPU", settings)
    return np.asarray(compiled(feeds, share_inputs=True)[0])


def _difference(node: OnnxCase, wanted: Array, got: Array) -> str:
    """Compare some rows at a time: double precision of all at once would be several GiB.

    Copies are the same bit for bit; sums may differ by what a coordinate does that is off by its last float32 place,
    on the longest axis.
    """
    if (wanted.shape, wanted.dtype) != (got.shape, got.dtype):
        return f"{got.dtype} {list(got.shape)}, not {wanted.dtype} {list(wanted.shape)}"
    last_place = max(node.shape) * 2.0**-23 * len(node.axes)
    limit = (TOLERANCE + _STEEPEST * last_place) * max(1.0, float(wanted.max()), -float(wanted.min()))
    limit = 0.0 if node.mode == "nearest" else limit
    rows = max(1, 2**22 // wanted.shape[-1])
    mine, theirs = wanted.reshape(-1, wanted.shape[-1]), got.reshape(-1, wanted.shape[-1])
    for start in range(0, len(mine), rows):
        apart = np.abs(mine[start : start + rows] - theirs[start : start + rows])
        if not (apart <= limit).all():
            return f"in rows from {start}: {(~(apart <= limit)).sum()} of {apart.size}, by up to {apart.max():.3g}"
    return ""


def sweep(cases: int, seed: int) -> Iterator[tuple[RealCase, str]]:
    """Check random cases."""
    rng = np.random.default_rng(seed)
    with Child(timeout=SECONDS) as child:
        for _ in range(cases):
            case = random_case(rng)
            answer = child.call(check, case)
            yield case, answer.text if isinstance(answer, Refused | Crashed) else answer


_NO_FORM = re.compile(
    r"refused: y: no exact form in openvino 11; (the closest form has .*|OpenVINO: .*|float32 decides)"
)


def no_form(case: RealCase, found: str) -> str:
    """Return why no Interpolate computes a resize that was to be one; nothing for any other refusal."""
    told = _NO_FORM.match(found) if case.form == "native" else None
    return re.sub(r" \([^()]*\)", "", told[1]) if told else ""


def is_wrong(case: RealCase, found: str) -> bool:
    """Say whether an answer speaks against the conversion: an Interpolate may not exist, or not be exact."""
    as_graded = found.startswith("as graded") and case.form == "native"
    return bool(found) and not as_graded and not no_form(case, found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print every case that is wrong, and how many of each form were right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    counts: Counter[tuple[str, str, str]] = Counter()
    start = time.monotonic()
    for number, (case, found) in enumerate(sweep(options.cases, options.seed), start=1):
        kind = "wrong" if is_wrong(case, found) else no_form(case, found) or found.partition(":")[0] or "right"
        counts[case.form, case.left_open, kind] += 1
        if kind == "wrong":
            print(f"{number}: {case}: {found}", flush=True)
        if number % 10 == 0:
            print(f"{number} of {options.cases} after {time.monotonic() - start:.0f} s", flush=True)
    for form, left_open, kind in sorted(counts):
        print(f"{form:10}  {left_open:7} left open  {counts[form, left_open, kind]:4}  {kind}")
    wrong = sum(count for (*_, kind), count in counts.items() if kind == "wrong")
    print(f"{options.cases} cases of seed {options.seed}, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
