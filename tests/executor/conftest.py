"""The executor's tests run in compiled loops where numba is installed; those of every path also in NumPy alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ir_interp.executor.loop_runner import is_installed
from tests.support.loops import use_loops

_IN_BOTH = ("test_tiles", "test_libraries", "test_prepared")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if is_installed() and metafunc.module.__name__.rpartition(".")[2] in _IN_BOTH:
        metafunc.parametrize("_loops", ["0", "1"], ids=["numpy", "compiled"], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Compile nearly all loops first: numba keeps them for the other tests, which would each compile them meanwhile."""
    items.sort(key=lambda item: not item.nodeid.endswith("test_golden.py::test_loops"))


@pytest.fixture(autouse=True)
def _loops(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        use_loops(patch, getattr(request, "param", "1"))
        yield
