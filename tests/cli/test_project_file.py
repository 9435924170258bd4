"""Project files: the nearest table above a model; the command line wins, and unknown keys are refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ir_interp.errors import closest
from tests.support.commands import command, completed
from tests.support.graphs import save_model

NET = """g (float[1,3,8,8] x) => (float[1,3,k,l] y) <float[4] s = {1,1,0.5,0.5}> {
    [up] y = Resize <mode = "linear", antialias = 1> (x, "", s) }"""
ALL = {"IRI012", "IRI022", "IRI023"}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models/deep").mkdir(parents=True)
    save_model(Path("models/a.onnx"), NET)
    save_model(Path("models/deep/b.onnx"), NET)


def project(text: str, folder: str = ".") -> None:
    Path(folder, "pyproject.toml").write_text(f"[project]\nname = 'x'\n{text}\n")


def codes(capsys: pytest.CaptureFixture[str], *arguments: str, model: str = "models/a.onnx") -> set[str]:
    printed = command(capsys, "audit", model, "--json", *arguments)[1]
    return {each["code"] for each in json.loads(printed)["findings"]}


@pytest.mark.parametrize(
    ("settings", "arguments", "found"),
    [
        ("", (), ALL),
        ('ignore = ["IRI02"]', (), {"IRI012"}),
        ('ignore = ["IRI02"]', ("--isolated",), ALL),
        ('ignore = ["IRI02"]', ("--ignore", "IRI012"), set()),
        ('ignore = ["IRI02"]', ("--select", "IRI022"), {"IRI022"}),
        ('select = ["IRI02"]\nignore = ["IRI023"]', (), {"IRI022"}),
        ('select = ["IRI02"]', ("--select", "IRI01"), {"IRI012"}),
        ('runtime = ["onnxruntime"]', (), {"IRI012"}),
        ('runtime = ["onnxruntime"]', ("--runtime", "tensorrt"), {"IRI012", "IRI022"}),
        ('per-file-ignores = { "a.onnx" = ["IRI012"] }', (), ALL - {"IRI012"}),
        ('per-file-ignores = { "models/*" = ["IRI012"] }', ("--select", "IRI01"), set()),
        ('per-file-ignores = { "deep/*" = ["IRI012"] }', (), ALL),
    ],
)
def test_settings(
    settings: str, arguments: tuple[str, ...], found: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    project(f"[tool.ir-interp]\n{settings}")
    assert codes(capsys, *arguments) == found


@pytest.mark.parametrize(
    ("settings", "arguments", "code"),
    [
        ('fail-on = ["mistake"]\nignore = ["IRI012"]', (), 0),
        ('fail-on = ["mistake"]', (), 1),
        ('fail-on = ["IRI021"]', (), 0),
        ('fail-on = ["IRI021"]', ("--fail-on", "refused"), 1),
        ('fail-on = ["refused"]\nseverity = { tensorrt = "note" }', (), 0),
        ('fail-on = ["refused"]\nseverity = { tensorrt = "note" }', ("--severity", "tensorrt=error"), 1),
        ('per-file-ignores = { "*.onnx" = ["IRI"] }', (), 0),
        ('per-file-ignores = { "*.onnx" = ["IRI"] }', ("--results", "r.jsonl"), 0),
    ],
)
def test_exit_codes(settings: str, arguments: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    project(f"[tool.ir-interp]\n{settings}")
    assert command(capsys, "audit", "models", "-q", *arguments) == (code, "", "")


def test_the_nearest_file_counts(capsys: pytest.CaptureFixture[str]) -> None:
    project('[tool.ir-interp]\nignore = ["IRI02"]')
    project("[tool.other]\nx = 1", "models")  # without the table it does not count
    assert codes(capsys) == {"IRI012"}
    project('[tool.ir-interp]\nignore = ["IRI012"]', "models/deep")
    assert codes(capsys, model="models/deep/b.onnx") == ALL - {"IRI012"}
    first, second = Path.cwd() / "pyproject.toml", Path.cwd() / "models" / "deep" / "pyproject.toml"
    said = f"error: the models belong to {first} and {second}; audit them one by one, or with --isolated\n"
    assert command(capsys, "audit", "models") == (2, "", said)
    assert command(capsys, "audit", "models", "--isolated", "-q")[0] == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            'selects = ["IRI02"]',
            "unknown key 'selects'; expected one of deploy, fail-on, ignore, per-file-ignores, runtime, select, "
            "severity; did you mean 'select'?",
        ),
        ("jobs = 2", "jobs is set on the command line only: --jobs"),
        ('runtime = "tensorrt"', "runtime is 'tensorrt'; expected a list of runtimes, as in [\"openvino\"]"),
        (
            'runtime = ["tensort"]',
            f"unknown runtime 'tensort'; {closest('tensort', completed('audit', '--runtime')[:-1])}",
        ),
        ('select = "IRI02"', "select is 'IRI02'; expected a list of codes, as in [\"IRI022\"]"),
        ('severity = { tensorrt = "bad" }', "severity is 'bad'; expected one of error, note, warning"),
        ('per-file-ignores = ["a"]', "per-file-ignores is ['a']; expected a table"),
        ('per-file-ignores = { "!a" = ["IRI"] }', "per-file-ignores '!a': negated patterns are not supported"),
    ],
)
def test_refusals(settings: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    project(f"[tool.ir-interp]\n{settings}")
    path = Path.cwd() / "pyproject.toml"
    assert command(capsys, "audit", "models") == (2, "", f"error: {path}: [tool.ir-interp]: {said}\n")


def test_other_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path.cwd() / "pyproject.toml"
    for text, said in (
        ('[tool.ir-interp]\nignore = ["XYZ"]', f"{path}: [tool.ir-interp]: no code begins with 'XYZ'; "),
        ("[tool]\nir-interp = 3", f"{path}: [tool.ir-interp]: is no table"),
        ("[tool.ir-interp", f"{path}: cannot be read: "),
    ):
        project(text)
        code, printed, errors = command(capsys, "audit", "models")
        assert (code, printed) == (2, "")
        assert errors.startswith(f"error: {said}")
    project('[tool.ir-interp.severity]\ntensort = "note"')
    assert command(capsys, "audit", "models")[2].startswith("error: unknown runtime 'tensort'; ")


# Folders with files of other programs


def test_an_xml_of_another_program(capsys: pytest.CaptureFixture[str]) -> None:
    pom = '<?xml version="1.0"?>\n<!-- a build -->\n<project xmlns="http://maven.apache.org/POM/4.0.0"/>'
    Path("models/pom.xml").write_text(pom)
    given = ("audit", "models", "--fail-on", "IRI021")
    code, printed, errors = command(capsys, *given)
    assert (code, errors) == (0, f"note: {Path('models/pom.xml')}: neither an IR nor a layer; skipped\n")
    assert printed.endswith("2 resizes, 6 findings; `ir-interp explain CODE` explains a finding\n")
    assert json.loads(command(capsys, *given, "--json")[1])["skipped"] == [str(Path("models/pom.xml"))]
    assert command(capsys, *given, "--results", "r.jsonl")[0] == 0
    assert command(capsys, "audit", "models/pom.xml")[0] == 2  # a file that is named is no mistake of a folder
    Path("models/broken.xml").write_text("<net")
    assert command(capsys, *given)[0] == 2
