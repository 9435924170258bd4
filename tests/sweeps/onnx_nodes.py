"""Convert ONNX's own tests of single operators to IR, and run both on the inputs that these tests bring.

Their authors chose what is special: ties, halves, masks that leave nothing. What differs has to be refused by
verification, which knows none of these inputs. ``python -m tests.sweeps.onnx_nodes`` takes all, ``... resize_ topk``
those with one of these in their names; exits with 1 where a model is written that differs, but for ``KNOWN``.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import openvino as ov

import ir_interp
from ir_interp.errors import IrInterpError
from tests.support.graphs import onnxruntime_outputs, openvino_outputs
from tests.support.runtimes import Array, Child

KNOWN = {
    "structural_empty": "a row of which a mask leaves nothing: NaN in OpenVINO, 0 in onnxruntime",
    "dynamicquantizelinear": "what lies right between two levels: OpenVINO multiplies by the inverse of the scale",
    "tile": "OpenVINO's CPU plugin returns garbage where run time says that all of several axes are repeated",
}
"""Operators that differ on inputs which verification does not draw, and why."""

_TOLERANCES = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-4}
_KINDS = frozenset("biuf")  # of elements that both runtimes take
_DIFFERS = "differs"


def become(model: bytes, given: Sequence[Array], folder: str) -> str:
    """Return what becomes of a test: equal, refused, not compared, or in what it differs."""
    source, result = Path(folder, "a.onnx"), Path(folder, "a.xml")
    source.write_bytes(model)
    names = [each.name for each in onnx.load(source).graph.input]
    feeds = dict(zip(names, given, strict=True))
    try:
        wanted = onnxruntime_outputs(source, feeds)
    except Exception:  # whatever it throws
        return "not compared: onnxruntime does not run it"
    try:
        ir_interp.convert(source, result, verify=False)
        found = _difference(wanted, openvino_outputs(result, _taken(result, feeds)))
        if found:
            ir_interp.convert(source, result)
    except (IrInterpError, ExceptionGroup, RuntimeError):
        return "refused"
    return f"{_DIFFERS}: {found}" if found else "equal"


def _taken(result: Path, feeds: dict[str, Array]) -> dict[str, Array]:
    """Return what an IR takes of inputs: one that is an output, too, has the name of that in its file."""
    own = [each.get_names() for each in ov.Core().read_model(result).inputs]
    if len(own) == len(feeds):
        return {min(names): each for names, each in zip(own, feeds.values(), strict=True)}
    return {name: feeds[name] for names in own for name in names & feeds.keys()}


def _difference(wanted: Sequence[Array], got: Sequence[Array]) -> str:
    for mine, theirs in zip(wanted, got, strict=True):
        if mine.shape != theirs.shape:
            return f"shape {list(theirs.shape)}, not {list(mine.shape)}"
        if _KINDS.isdisjoint(mine.dtype.kind):
            continue
        largest = np.abs(mine[np.isfinite(mine)].astype(float)).max(initial=1.0)
        tolerance = _TOLERANCES.get(mine.dtype.name, 0.0) * largest
        same = np.isclose(theirs.astype(float), mine.astype(float), rtol=0, atol=tolerance, equal_nan=True)
        if not same.all():
            place = int(np.argmin(same))
            return f"{(~same).sum()} of {same.size}, first {theirs.ravel()[place]}, not {mine.ravel()[place]}"
    return ""


def main(wanted: Sequence[str]) -> int:
    """Print what differs, and how many became what; return 1 where something differs that is not known."""
    warnings.simplefilter("ignore")  # of what the tests compute themselves
    from onnx.backend.test.loader import load_model_tests

    tests = [each for each in load_model_tests(kind="node") if any(word in each.name for word in wanted or [""])]
    counts, failed = Counter[str](), False
    with Child() as child, tempfile.TemporaryDirectory() as folder:
        for test in tests:
            assert test.model is not None
            assert test.data_sets is not None
            given = test.data_sets[0][0]
            if not all(isinstance(each, np.ndarray) and each.dtype.kind in _KINDS for each in given):
                counts["not compared: other elements"] += 1
                continue
            answer = child.call(become, test.model.SerializeToString(), given, folder)
            told = answer if isinstance(answer, str) else f"{type(answer).__name__}: {answer}"
            counts[told if told.startswith("not") else told.partition(":")[0]] += 1
            if told.startswith(_DIFFERS) or not isinstance(answer, str):
                reason = next((each for word, each in KNOWN.items() if word in test.name), "")
                failed |= not reason
                print(f"{test.name}: {told}{f' (known: {reason})' if reason else ''}", flush=True)
    print(dict(counts))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
