"""Frozen bytes: whatever the processor, its kernels of BLAS, of NumPy, of C's library and of numba, and the threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from ir_interp import Arithmetic, resize
from tests.support.golden import FROZEN, KERNELS, cases
from tests.support.loops import HAS_NUMBA, VARIABLE
from tests.support.oracle import expected
from tests.support.places import ROOT

_SIMD = np.show_config(mode="dicts")["SIMD Extensions"]
_FOUND = _SIMD.get("found", [])  # beyond the baseline; absent if there are none
_NUMPY = " ".join(_FOUND)
NUMPY_ALONE = {
    "this machine": {},
    "BLAS as on Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "BLAS as on SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "BLAS as on Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "NumPy without the vectors of this processor": {"NPY_DISABLE_CPU_FEATURES": _NUMPY},
    "C's library without fused sums": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX"},
}


def _computed(*arguments: str, **environment: str) -> dict[str, str]:
    """Return the digests of resizes in a new process, whose pieces and threads agree."""
    command = [sys.executable, "-m", "tests.support.golden", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["faults"] == []
    digests: dict[str, str] = result["digests"]
    return digests


def _frozen() -> dict[str, str]:
    digests: dict[str, str] = json.loads(FROZEN.read_text(encoding="utf-8"))
    return digests


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", NUMPY_ALONE)
def test_numpy_alone(name: str) -> None:
    if name.endswith("SkylakeX") and not {"AVX512_SKX", "X86_V4"} & {*_FOUND, *_SIMD["baseline"]}:
        pytest.skip("this processor has no such instructions")
    assert _computed(**NUMPY_ALONE[name], **{VARIABLE: "0"}) == _frozen()


def test_what_is_frozen_is_right() -> None:
    """A digest alone would keep an error as faithfully as a result."""
    exact = [case for case in cases() if case[1].dtype == np.float64 and case[2].arithmetic is Arithmetic.EXACT]
    assert {type(spec.kernel) for _, _, spec in exact} == {type(kernel) for kernel in KERNELS.values()}
    for name, x, spec in exact:
        np.testing.assert_allclose(resize(x, spec), expected(x, spec), rtol=0, atol=1e-13, err_msg=name)


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_loops() -> None:
    assert _computed(**{VARIABLE: "1"}) == _frozen()


@pytest.mark.long
@pytest.mark.skipif(not HAS_NUMBA, reason="numba is not installed")
def test_loops_of_any_processor_of_the_kind() -> None:
    """Compiling takes half a second for each loop and set of types, so not all of those above are compiled again."""
    digests = _computed("--each-loop-once", NUMBA_CPU_NAME="generic", **{VARIABLE: "1"})
    assert len(digests) > 10
    assert digests.items() <= _frozen().items()
