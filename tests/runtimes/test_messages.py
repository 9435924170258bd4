"""What a runtime says is wrong, as users are told it."""

from __future__ import annotations

import pytest

from ir_interp.converters.runtimes.execution import reason


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Exception from src/core.cpp:84:\nCheck 'false' failed at src/report.cpp:151:\nFrontEnd API failed with "
            "OpConversionFailure:\nModel wasn't fully converted. Summary:\n-- No conversion rule found for "
            "operations: util::SequenceMark\n",
            "No conversion rule found for operations: util::SequenceMark",
        ),
        (
            "Exception from src/core.cpp:117:\nException from src/plugin.cpp:54:\nCheck 'm_p->isDefined()' failed at "
            "src/memory.cpp:446:\nCan not create StaticMemory object. The memory desc is undefined",
            "Can not create StaticMemory object. The memory desc is undefined",
        ),
        ("two\n  lines", "two; lines"),
        ("", "RuntimeError"),
    ],
)
def test_places_in_openvino_are_left_out(said: str, told: str) -> None:
    assert reason(RuntimeError(said)) == told
