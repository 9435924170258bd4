"""A clone, an editable install and a wheel, each beside a user's own ``converters``."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support.places import ROOT

OWN = ("ir_interp", "converters")
LAYER = ROOT / "samples" / "interpolate1_corners" / "layer.xml"
USERS = {  # what may be called converters beside a script
    "a module": "converters.py",
    "a package": "converters/__init__.py",
    "a folder": "converters/files.py",
}
ORDERS = {
    "ours first": "import ir_interp, converters",
    "theirs first": "import converters, ir_interp",
}
SCRIPT = """
LAYER = {layer!r}
{order}
if hasattr(converters, "files"):
    from converters import files
theirs = converters if hasattr(converters, "MINE") else __import__("converters.files").files
assert theirs.MINE == 1, theirs
assert len(ir_interp.load(LAYER)) == 1
report = ir_interp.convert(LAYER, "layers.json", dialect="openvino")
assert report.rows[0].grade is ir_interp.Grade.EXACT
print(ir_interp.__file__)
"""
CHILDREN = """
import converters, ir_interp
verification = ir_interp.convert({layer!r}, "layer.onnx").verification
assert verification.outputs[0].passes
(row,) = ir_interp.audit("layer.onnx", run=True, runtimes=["onnxruntime"]).rows
assert [*row.seen] == ["onnxruntime"], row
print(ir_interp.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


Installed = tuple[Path, dict[str, str]]


@pytest.fixture(scope="module", params=["a clone", "an editable install", "a wheel"])
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Return where the package comes from, and the environment that finds it there."""
    folder = tmp_path_factory.mktemp("place")
    if request.param == "a wheel":
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
        return folder, _environment(folder)
    for name in OWN:
        (folder / name).symlink_to(ROOT / name)
    if request.param == "a clone":
        return folder, _environment(folder)
    site = _without_this_project(tmp_path_factory.mktemp("site"))
    (site / "_ir_interp.pth").write_text(str(folder))  # what pip leaves, so that the project's folder comes last
    return folder, _environment(site)


def _without_this_project(site: Path) -> Path:
    """Make ``site`` a folder of packages like the one that Python has, but for this project where that is in it."""
    code = "import site, sys; sys.path[:] = [each for each in sys.path if each != ROOT]; site.addsitedir(SITE)"
    (site / "sitecustomize.py").write_text(f"ROOT, SITE = {str(ROOT)!r}, {str(site)!r}\n{code}\n")
    return site


def _environment(path: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(path)}


@pytest.fixture(params=USERS.values(), ids=list(USERS))
def user(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the folder of a user who has a ``converters`` there."""
    path = tmp_path / str(request.param)
    path.parent.mkdir(exist_ok=True)
    path.write_text("MINE = 1\n")
    return tmp_path


def run(code: str, folder: Path, environment: dict[str, str]) -> str:
    """Run a script in the folder that it stands in; return what it printed."""
    (folder / "script.py").write_text(code.replace("{layer!r}", repr(str(LAYER))))
    command = [sys.executable, "script.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("order", ORDERS.values(), ids=list(ORDERS))
def test_beside_a_users_own_converters(order: str, user: Path, installed: Installed) -> None:
    place, environment = installed
    printed = run(SCRIPT.replace("{order}", order), user, environment)
    assert Path(printed) == place / "ir_interp" / "__init__.py"


def test_child_processes_find_ours(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "converters.py").write_text("MINE = 1\n")
    place, environment = installed
    printed = run(CHILDREN, tmp_path, environment)
    assert Path(printed) == place / "ir_interp" / "__init__.py"


def test_child_processes_find_what_a_script_put_on_its_path(tmp_path: Path) -> None:
    for name in ("site", "clone", "script"):
        (tmp_path / name).mkdir()
    for name in OWN:
        (tmp_path / "clone" / name).symlink_to(ROOT / name)
    (tmp_path / "script" / "converters.py").write_text("MINE = 1\n")
    code = f"import sys; sys.path.insert(1, {str(tmp_path / 'clone')!r})\n{CHILDREN}"
    printed = run(code, tmp_path / "script", _environment(_without_this_project(tmp_path / "site")))
    assert Path(printed) == tmp_path / "clone" / "ir_interp" / "__init__.py"


def test_in_the_folder_of_a_clone(tmp_path: Path) -> None:
    """As ``python -c`` and a prompt have it: the current folder comes first, a user's folder after it."""
    (tmp_path / "converters.py").write_text("MINE = 1\n")
    code = f"import ir_interp, converters; assert converters.MINE == 1; print(len(ir_interp.load({str(LAYER)!r})))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=_environment(tmp_path), capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    wanted = {str(path.relative_to(ROOT)) for name in OWN for path in (ROOT / name).rglob("*.py")}
    wanted = {f"ir_interp/{name}" if name.startswith("converters/") else name for name in wanted}
    wanted |= {"ir_interp/py.typed", "ir_interp_program.py"}
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert "ir_interp/converters/conversion/converting.py" in names
    assert "ir_interp/converters.py" in names
    metadata = {name.partition("/")[2] for name in names if ".dist-info/" in name}
    assert metadata == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
