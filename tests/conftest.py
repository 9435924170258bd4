"""Hypothesis draws anew at every run, but always the same in continuous integration: there a failure must be new.

Resizes run in NumPy alone except where a test turns the loops on: the bits are the same, and each of the hundreds of
processes that tests start would take a second to load numba.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from ir_interp.converters.workers.forks import forks
from ir_interp.executor.compiled.loop_runner import VARIABLE

os.environ.setdefault(VARIABLE, "0")
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("anew", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "anew")


@pytest.fixture(autouse=True, scope="session")
def runtimes() -> Iterator[None]:
    """Load the runtimes once for all tests of a process."""
    with forks():
        yield
