"""The documents tell the truth."""

from __future__ import annotations

import importlib.util
import inspect
import io
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

import ir_interp
from tests.support import documents
from tests.support.additions import additions
from tests.support.commands import command
from tests.support.places import ROOT

_SNIPPET = re.compile(r"^```python\n([^`]*)^```\n\n```\n([^`]*)^```$", re.MULTILINE)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("script", sorted((ROOT / "docs").glob("make_*.py")), ids=lambda script: script.stem)
def test_generated_pages_are_fresh(script: Path) -> None:
    module = _loaded(script)
    assert module.PATH.read_text(encoding="utf-8") == module.text()


def test_help_that_was_shown_changes_no_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert "One of: onnx, " in command(capsys, "convert", "--help")[1]
    test_generated_pages_are_fresh(ROOT / "docs" / "make_cli.py")


def _loaded(script: Path) -> Any:
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", [each for each in PAGES if documents.blocks(each)], ids=lambda page: page.name)
def test_commands_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    """Every command of a page, in order; ``python -m tests.support.documents PAGE`` renews the outputs."""
    absent = documents.missing(page)
    if absent:
        pytest.skip(f"needs {', '.join(sorted(absent))}")
    for block, printed in documents.run(page, tmp_path):
        rest = documents.plain(printed)
        for part in map(documents.plain, (part for each in block.outputs for part in documents.excerpts(each))):
            assert part in rest, f"{block.commands} printed\n{printed}"
            rest = rest.partition(part)[2]


def test_what_is_not_shown_is_noticed() -> None:
    """The comparison is of words and numbers, not of spaces and of digits that no two machines share."""
    assert documents.plain("output 'y': largest difference 2.4e-07, relative 0.015 (allowed 0.0001)") == (
        documents.plain("output 'y': largest difference 1.2e-07, relative 0.002 (allowed 0.0001)")
    )
    assert documents.plain("│ a   │ 0.276161 │") == documents.plain("│ a │ 0.276163 │")
    assert documents.plain("differs by 0.648") != documents.plain("differs by 0.558")
    assert documents.plain("│ same │") != documents.plain("│ refused │")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_modules_that_pages_name_exist(page: Path) -> None:
    """They are named from the root, or from a package that a page is about."""
    packages = [ROOT, ROOT / "ir_interp", ROOT / "ir_interp" / "executor", ROOT / "converters"]
    named = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page.read_text(encoding="utf-8"))
    added = {name for name, place, *_ in additions(page) if not place}
    assert {path for path in named if not any((package / path).exists() for package in packages)} == added


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        text = (page.parent / target if target else page).read_text(encoding="utf-8")
        assert anchor in map(_anchor, re.findall(r"(?m)^#+ (.*)$", text)), f"{target}#{anchor}"


def _anchor(heading: str) -> str:
    """Return a heading's anchor, as GitHub forms it."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "onnx 19: mode=linear, coordinate_transformation_mode=align_corners, axes=[2, 3], sizes=[16, 28] exact"
    )


@pytest.mark.parametrize(
    "page", [page for page in PAGES if _SNIPPET.search(page.read_text("utf-8"))], ids=lambda page: page.name
)
def test_python_prints_what_is_shown(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of Python of which a page shows the output."""
    monkeypatch.chdir(tmp_path)
    for code, output in _SNIPPET.findall(page.read_text(encoding="utf-8")):
        if "import dask" in code:
            pytest.importorskip("dask")
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), {})
        assert printed.getvalue() == output


def test_every_test_that_semantics_names_exists() -> None:
    text = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)(?:\.py)?(?:::(test_\w+))?`", text))
    assert named
    sources = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    for module, function in named:
        assert module in sources or any(f"def {module}(" in source for source in sources.values()), module
        assert not function or f"def {function}(" in sources[module], function


def test_every_line_on_a_runtime_names_its_test() -> None:
    text = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("## By runtime\n")
    section, _, _ = rest.partition("\n## ")
    runtimes = [part.partition("\n") for part in section.split("### ")[1:]]
    assert [title.split()[0] for title, _, _ in runtimes] == ["onnxruntime", "OpenVINO", "ONNX's", "TensorRT", "TFLite"]
    for title, _, lines in runtimes:
        claims = [line for line in lines.splitlines() if line]
        assert claims, title
        assert [line for line in claims if not re.search(r"`test_\w+\.py", line)] == []


def test_every_page_is_in_the_navigation() -> None:
    """And nothing else is."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = re.findall(r"\b[\w-]+\.md\b", text)
    assert sorted(named) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


def test_every_public_name_is_on_one_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("api*.md")))
    assert sorted(re.findall(r"^::: ir_interp\.(\w+)$", text, re.MULTILINE)) == sorted(ir_interp.__all__)


def test_every_sweep_is_on_the_page_for_contributors() -> None:
    _, _, rest = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8").partition("\n## Sweeps\n")
    rows = [row.split("|")[2] for row in rest.partition("\n## ")[0].splitlines() if row.startswith("| ")]
    sweeps = (path.stem for path in (ROOT / "tests" / "sweeps").glob("[a-z]*.py"))
    assert sorted(re.findall(r"`(\w+)`", "".join(rows))) == sorted(sweeps)


def test_the_site_shows_examples_as_code() -> None:
    """Below "Examples:" of a docstring; "Example:" would become a box of text."""
    documented = {name: inspect.getdoc(getattr(ir_interp, name)) or "" for name in ir_interp.__all__}
    assert [name for name, text in documented.items() if re.search("^Example:$", text, re.MULTILINE)] == []
