"""Hypothesis draws anew at every run, but always the same in continuous integration: there a failure must be new."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from ir_interp.converters.verify.ready import ready

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("anew", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "anew")


@pytest.fixture(autouse=True, scope="session")
def runtimes() -> Iterator[None]:
    """Load the runtimes once for all tests of a process."""
    with ready():
        yield
