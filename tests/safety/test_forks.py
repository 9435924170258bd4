"""A process that is forked while other threads resize, import and compile neither hangs nor differs."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ir_interp import Sizes, resize
from tests.support.loops import HAS_NUMBA, VARIABLE
from tests.support.places import ROOT
from tests.sweeps.forks import SPECS

needs_forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_forks
@pytest.mark.parametrize("arguments", [[], ["--logging"]], ids=["plain", "logging first"])
@pytest.mark.parametrize("loops", ["0", "1"] if HAS_NUMBA else ["0"])
def test_forks_while_threads_resize(loops: str, arguments: list[str]) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tests.sweeps.forks", "--cases", "10", "--seed", "7", *arguments]
    environment = os.environ | {VARIABLE: loops}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "10 forks, 0 wrong\n")


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_processes_of_every_kind(method: str) -> None:
    x = (np.random.default_rng(0).random((3, 40, 50)) * 255).astype(np.uint8)
    calls = [(x, replace(spec, target=Sizes((20, 90)))) for spec in SPECS]
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.starmap_async(resize, calls * 3).get(120)
    for result, call in zip(results, calls * 3, strict=True):
        np.testing.assert_array_equal(result, resize(*call))
