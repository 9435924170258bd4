"""Bad input: each kind is one clear error, exit code 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ir_interp.cli.main import main
from tests.support.bad_input import SHAPE, Fails, LoadFails


@pytest.fixture
def fails(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Fails:
    """Return a check that a command line, run in the folder of its files, is refused as bad input; it returns why."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("IR_INTERP_TRACEBACK", raising=False)

    def check(*arguments: str) -> str:
        before = _contents(tmp_path)
        code = main(arguments)
        printed, errors = capfd.readouterr()
        assert (code, printed) == (2, "")
        assert _contents(tmp_path) == before
        assert errors.startswith("error: ")
        assert errors.count("\n") == 1, errors
        assert "unexpected" not in errors
        return errors.removeprefix("error: ").removesuffix("\n")

    return check


def _contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def fails_to_load(fails: Fails, tmp_path: Path) -> LoadFails:
    """Return a check that a file of this content is refused for the same reason by every verb that reads it."""

    def check(name: str, content: str | bytes) -> str:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        np.save(tmp_path / "x.npy", np.zeros(SHAPE, np.float32))
        (tmp_path / "out").mkdir()
        reason = fails("run", name, "--input", "x.npy", "--output", "out/y.npy")
        if not reason.endswith("a.bin is missing"):  # inspect shows what the .xml tells
            assert fails("inspect", name) == reason
            assert fails("inspect", name, "--json") == reason
        for end in {".xml": ("onnx", "json", "py"), ".onnx": ("xml", "json", "py"), ".json": ("xml", "onnx", "py")}[
            Path(name).suffix
        ]:
            refusal, _, _ = fails("convert", name, f"out/result.{end}").partition("; `ir-interp fix")  # beside a remedy
            assert refusal == reason
        return reason

    return check
