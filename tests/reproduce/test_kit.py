"""The conformance kit: its runner stands by itself, and sees what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from tests.support.commands import command

CASES = 287
FEW = ("--only", "linear", "--only", "crop")
OWN = """
import os
import numpy as np
def run(model, x):
    if "align_corners" in model:
        os._exit(7)
    if "asymmetric" in model:
        raise ValueError("not\\nthis one")
    print("runtimes print as well")
    return np.load(model.replace(".onnx", ".y.npy")) + ("symmetric" in model)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kit") / "kit"
    assert ir_interp.kit(folder).count == CASES
    return folder


@pytest.fixture
def kit(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "kit"))


def ran(kit: Path, *words: str, folder: Path | None = None) -> tuple[int, str, dict[str, int]]:
    """Return the exit code of the runner, what it printed, and how many cases came to what; without this project."""
    start = f"import sys, runpy; sys.modules['ir_interp'] = None; sys.argv = {['run.py', *words]}; "
    start += f"runpy.run_path({str(kit / 'run.py')!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", start],
        cwd=folder or kit,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    results: list[dict[str, Any]] = json.loads((kit / "results.json").read_text(encoding="utf-8"))
    kinds = [each["kind"] for each in results]
    return done.returncode, done.stdout + done.stderr, {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def test_onnxruntime_passes(kit: Path) -> None:
    code, printed, kinds = ran(kit, "onnxruntime")
    assert (code, set(kinds)) == (0, {"same", "refused"})
    assert kinds["refused"] == 5  # two ranks, cubics of three integers
    assert printed.splitlines()[-1].split() == ["all", str(kinds["same"]), "0", "5", "0"]


def test_what_is_wrong_is_seen(kit: Path) -> None:
    path = next((kit / "cases").glob("*linear-half_pixel-grow.y.npy"))
    wrong = np.load(path)
    wrong[0, 0, 0, 0] += 0.01
    np.save(path, wrong)
    code, printed, kinds = ran(kit, "onnxruntime", *FEW)
    assert (code, kinds["differs"]) == (1, 1)
    assert "linear-half_pixel-grow: differs by 0.01" in printed


def test_a_runtime_of_ones_own(kit: Path, tmp_path: Path) -> None:
    """What it dies of is told, and the rest is run."""
    (tmp_path / "own.py").write_text(OWN)
    code, printed, kinds = ran(kit, "own:run", "--only", "linear", folder=tmp_path)
    assert code == 1
    assert kinds == {"same": 8, "crashes": 4, "refused": 4, "differs": 4}
    assert "refused not this one" in printed
    assert "crashes status 7" in printed


def test_outputs_of_another_machine(kit: Path, tmp_path: Path) -> None:
    for path in (kit / "cases").glob("*linear-*.y.npy"):
        np.save(
            tmp_path / path.name.replace(".y.npy", ".npy"),
            np.load(path)[..., :-1] if "grow" in path.name else np.load(path),
        )
    code, printed, kinds = ran(kit, "--outputs", str(tmp_path), *FEW)
    assert code == 1
    assert kinds == {"differs": 6, "same": 16, "refused": 4}  # crops of linear among them
    assert "shape [1, 2, 8, 8], not [1, 2, 8, 9]" in printed


def test_a_runtime_that_is_none(kit: Path) -> None:
    (kit / "results.json").write_text("[]")
    code, printed, _ = ran(kit, "onnxruntme")
    assert code == 1
    expected = "or one of onnxruntime, onnxruntime-qnn, onnxruntime-webgpu, openvino, "
    assert f"unknown runtime 'onnxruntme'; expected module:function, {expected}" in printed


def test_cases_are_said_in_words(written: Path) -> None:
    """Who cannot read ONNX finds attributes, inputs and the formula."""
    records = json.loads((written / "cases.json").read_text(encoding="utf-8"))
    assert len({each["name"] for each in records}) == len(records)
    case = next(each for each in records if each["name"].endswith("linear-half_pixel-grow"))
    assert (
        case["formula"] == "linear, half_pixel: (i + 1/2) * step - 1/2, step = in / out; sizes 1, 2, 8, 9 on all axes"
    )
    assert (case["operator"], case["version"], case["given"]) == ("Resize", 19, {"sizes": [1, 2, 8, 9]})


def test_the_command(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, _ = command(capsys, "reproduce", "--kit", str(tmp_path / "kit"))
    assert code == 0
    assert printed.endswith(
        f"wrote {tmp_path / 'kit'}: {CASES} cases; python {tmp_path / 'kit/run.py'} onnxruntime runs them\n"
    )
    code, _, errors = command(capsys, "reproduce", "--kit", str(written))
    assert (code, errors) == (2, f"error: {written} exists and is not an empty folder; choose another name\n")
    for path in written.rglob("*"):  # the same files, byte for byte
        if path.is_file() and path.name != "results.json":
            assert path.read_bytes() == (tmp_path / "kit" / path.relative_to(written)).read_bytes()
