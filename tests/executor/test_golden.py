"""Frozen bytes: whatever the processor, its kernels of BLAS, of NumPy, of C's library and of numba, and the threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from ir_interp.executor.compiled.loop_runner import VARIABLE, is_installed
from tests.support.golden import FROZEN
from tests.support.places import ROOT

_SIMD = np.show_config(mode="dicts")["SIMD Extensions"]
_NUMPY = " ".join(_SIMD["found"])
NUMPY_ALONE = {
    "this machine": {},
    "BLAS as on Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "BLAS as on SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "BLAS as on Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "NumPy without the vectors of this processor": {"NPY_DISABLE_CPU_FEATURES": _NUMPY},
    "C's library without fused sums": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX"},
}
LOOPS = {"this machine": {}, "any processor of the kind": {"NUMBA_CPU_NAME": "generic"}}


def _check(**environment: str) -> None:
    command = [sys.executable, "-m", "tests.support.golden"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["faults"] == []
    assert result["digests"] == json.loads(FROZEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NUMPY_ALONE)
def test_numpy_alone(name: str) -> None:
    if name.endswith("SkylakeX") and not {"AVX512_SKX", "X86_V4"} & {*_SIMD["found"], *_SIMD["baseline"]}:
        pytest.skip("this processor has no such instructions")
    _check(**NUMPY_ALONE[name], **{VARIABLE: "0"})


@pytest.mark.skipif(not is_installed(), reason="numba is not installed")
@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    _check(**LOOPS[name], **{VARIABLE: "1"})
