"""A plugin of pytest that appends skipped tests to the file that IR_INTERP_SKIPPED names: ``-p tests.support.skipped``.

``.ci/run`` runs these again where more packages are installed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append a skipped test, in the process that collects all reports."""
    path = os.environ.get("IR_INTERP_SKIPPED")
    if path and report.skipped and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid}\n")
