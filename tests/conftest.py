"""Hypothesis draws anew at every run, but always the same in continuous integration: there a failure must be new.

Resizes run in NumPy alone except where a test turns the loops on: the bits are the same, and each of the hundreds of
processes that tests start would take a second to load numba. For the same reason Python keeps compiled modules even if
the environment forbids it: compiling them doubles the time of a start.
"""

import gc
import os
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from ir_interp.converters.audit import probe
from ir_interp.converters.workers import forks
from ir_interp.executor.loop_runner import VARIABLE

os.environ.setdefault(VARIABLE, "0")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("anew", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "anew")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Return one worker more than processors, since tests often wait for other processes; None if a variable says."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker contiguous tests, so that what a module prepares is prepared once; idle workers steal some."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getoption("dist") == "load" else None


@pytest.hookimpl(tryfirst=True)  # before pytest deselects the long ones
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that compile every loop, so they are compiled for the rest; mark rows beyond a sample."""
    items.sort(key=lambda item: item.path.name != "test_golden.py")
    rows = defaultdict(list)
    for item in items:
        marker = item.get_closest_marker("sampled")
        if marker and not item.get_closest_marker("long"):
            rows[item.nodeid.partition("[")[0], marker.args[0]].append(item)
    for (_, count), of_test in rows.items():
        # By checksums of their names, rows are the same at every run, and in no step with the parameters.
        for item in sorted(of_test, key=lambda item: zlib.crc32(item.nodeid.encode()))[count:]:
            item.add_marker(pytest.mark.long)


def pytest_collection_finish() -> None:
    """Exempt modules and tests, a million objects, from the searches for garbage, a seventh of the time otherwise."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(autouse=True, scope="session")
def runtimes() -> Iterator[None]:
    """Load the runtimes once for all tests of a process."""
    with forks():
        yield


@pytest.fixture(scope="module")
def one_worker() -> Iterator[None]:
    """Run single resizes of all tests of a module in one process, which takes a second to load the runtimes."""
    with probe.one_worker():
        yield
