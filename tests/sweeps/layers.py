"""Convert random configurations of every layer type to ONNX, and compare what both runtimes compute.

``python -m tests.sweeps.layers --configurations 20 --opsets 13 17 21`` exits with 1 where anything differs, or where a
layer type of OpenVINO is neither drawn nor refused with a reason.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import openvino

from ir_interp.converters.ir_to_onnx import onnx_model
from ir_interp.converters.ir_to_onnx.emitters import refused
from ir_interp.ir.ir_files import nets
from ir_interp.translation.dialect import Semantics
from tests.support.layer_types import drawn, listed, saved
from tests.support.layers import assert_equal, in_onnxruntime, in_openvino
from tests.support.runtimes import Array, Child, Crashed, Refused

EQUAL, TOO_OLD, TOO_NEW = "equal", "needs a newer operator set", "only in older operator sets"
_TELLS = {"needs operator set": TOO_OLD, "of operator sets up to": TOO_NEW}
_TOLERANCE = 1e-5
_ENDS = ("parameter", "result", "const")

Found = tuple[list[str], dict[int, str]]
"""The layer types of a configuration, and what became of it in each operator set."""


def become(key: tuple[str, str], seed: int, opsets: Sequence[int]) -> Found:
    """Draw a configuration, and return what becomes of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "one.xml")
        draw = saved(drawn()[key], seed, path)
        types = sorted({layer.type for net in nets(path) for layer in net.layers.values()})
        wanted = in_openvino(openvino.Core().read_model(path), draw.feeds)
        return types, {opset: _in(opset, path, draw.feeds, wanted) for opset in opsets}


def _in(opset: int, path: Path, feeds: dict[str, Array], wanted: list[Array]) -> str:
    made = path.with_suffix(f".{opset}.onnx")
    try:
        onnx_model.write_model(path, made, Semantics.RUNTIME, opset)
    except ExceptionGroup as refusals:
        text = str(refusals.exceptions[0])
        return next((kind for tell, kind in _TELLS.items() if tell in text), f"refused: {text}")
    try:
        for mine, theirs in zip(wanted, in_onnxruntime(made, feeds), strict=True):
            assert_equal(theirs, mine, _TOLERANCE)
    except Exception as error:
        return f"differs: {str(error).strip().splitlines()[:6]}"
    return EQUAL


def _sweep(
    configurations: int, opsets: Sequence[int], only: str
) -> Iterator[tuple[str, int, Found | Refused | Crashed]]:
    keys = [key for key in drawn() if only.lower() in key[1].lower()]
    with Child() as child:
        for number, key in enumerate(keys, 1):
            print(f"{number} of {len(keys)}: {key[1]}", file=sys.stderr, flush=True)
            jobs = [(key, seed, opsets) for seed in range(configurations)]
            for seed, found in enumerate(child.map(become, jobs)):
                yield f"{key[0]} {key[1]}", seed, found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweep; print what is not equal, a row for each layer type, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configurations", type=int, default=20)
    parser.add_argument("--opsets", type=int, nargs="+", default=[13, 17, 21])
    parser.add_argument("--only", default="", help="configurations with this in their names")
    options = parser.parse_args(arguments)
    by_type: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sums: Counter[str] = Counter()
    problems = []
    for name, seed, found in _sweep(options.configurations, options.opsets, options.only):
        if isinstance(found, Refused | Crashed):
            sums["not run in OpenVINO"] += 1
            print(f"{name} {seed}: {type(found).__name__}: {found.text.splitlines()[-1:]}", flush=True)
            continue
        for opset, text in found[1].items():
            kind = text.partition(":")[0]
            sums[kind] += 1
            for each in found[0]:
                by_type[each][kind] += 1
            if ":" in text:
                problems.append(f"{name} {seed}, operator set {opset}: {text}")
                print(problems[-1], flush=True)
    kinds = sorted(sums)
    print(f"| layer | {' | '.join(kinds)} |", f"|---|{'---:|' * len(kinds)}", sep="\n")
    for each in sorted(by_type):
        print(f"| {each} | {' | '.join(str(by_type[each][kind]) for kind in kinds)} |")
    reasons = {kind.lower() for kind in refused.REASONS}
    missing = listed().keys() - {each.lower() for each in by_type} - reasons - set(_ENDS)
    print(dict(sums), f"{len(by_type)} layer types drawn")
    print(f"of the {len(listed())} layer types of OpenVINO neither drawn nor refused: {sorted(missing)}")
    return 1 if problems or (missing and not options.only) else 0


if __name__ == "__main__":
    sys.exit(main())
