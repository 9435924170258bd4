"""The functions of Python, the commands and their refusals say what the declarations of options say."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import typer

import ir_interp
from ir_interp import Images, SpecError
from ir_interp.cli.main import app
from ir_interp.files.kinds import FOREIGN, FRAMEWORKS
from ir_interp.options.declaration import declared, flagged, identity, keywords, options_set, settled
from ir_interp.options.model_options import AuditOptions, CompareOptions, ConvertOptions, FixOptions, ReproduceOptions
from ir_interp.options.resize_options import ExplainOptions, PlotOptions, PreprocessOptions
from tests.support.graphs import save_model
from tests.support.places import ROOT

FUNCTIONS: dict[Callable[..., Any], type[Any]] = {
    ir_interp.convert: ConvertOptions,
    ir_interp.audit: AuditOptions,
    ir_interp.compare: CompareOptions,
    ir_interp.fix: FixOptions,
    ir_interp.reproduce: ReproduceOptions,
    ir_interp.preprocess: PreprocessOptions,
    ir_interp.explain: ExplainOptions,
    ir_interp.plot: PlotOptions,
}
PLACES = {"source", "destination", "models", "first", "second", "folder", "output"}
PROGRAM: Any = typer.main.get_command(app)
COMMANDS = {name: each.callback for name, each in PROGRAM.commands.items()}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: str(each.__name__))
def test_a_signature_equals_the_declaration(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    options = {each.name: each for each in declared(FUNCTIONS[function]) if each.is_keyword}
    assert parameters.keys() - PLACES == options.keys()
    for name, option in options.items():
        hint = f"{option.kind.takes} | None" if option.takes_none else option.kind.takes
        parts = set(str(parameters[name].annotation).split(" | "))
        assert parts == set(hint.split(" | ")), name
        default = parameters[name].default
        assert default is None if option.takes_none else default in (option.default, _word(option.default)), name


def _word(value: object) -> object:
    return getattr(value, "value", value)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: str(each.__name__))
def test_a_command_has_the_flags_of_the_declaration(function: Callable[..., Any]) -> None:
    owner = FUNCTIONS[function]
    parameters = inspect.signature(COMMANDS[function.__name__]).parameters
    assert {each.name for each in flagged(owner)} == parameters.keys() - PLACES - {"model", "file", "subject"}
    assert [each.name for each in flagged(owner) if not (each.help and each.flags)] == []
    assert {each.name for each in fields(owner)} == {each.name for each in declared(owner)}


def test_options_are_the_same_after_a_round_trip() -> None:
    given: dict[str, Any] = {"only": None, "shapes": {"x": [1, 2]}, "inputs": {"x": "x.npy"}, "progress": None}
    names = (each.name for each in declared(ConvertOptions) if each.is_keyword)
    defaults = keywords(ConvertOptions())
    options = settled(ConvertOptions, {name: given.get(name, defaults[name]) for name in names})
    assert (options.shapes, options.inputs) == ({"x": (1, 2)}, {"x": (Path("x.npy"),)})
    assert settled(ConvertOptions, keywords(options)) == options
    assert [each.name for each in options_set(options)] == ["shapes", "inputs"]
    assert [each.flag for each in options_set(replace(options, images=Images(bgr=True)))][-1] == "--bgr"


def test_what_decides_over_a_result() -> None:
    plain = AuditOptions()
    assert identity(replace(plain, jobs=3, quiet=True, results=Path("r.jsonl"), time_limit=9)) == identity(plain)
    for other in (replace(plain, run=True), replace(plain, shapes={"x": (1,)}), replace(plain, trained="a:b")):
        assert identity(other) != identity(plain)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"verify": False, "seed": 3}, "seed has no effect without verification"),
        ({"images": Images(mean=(3,))}, "images has no effect without an image among the inputs"),
        (
            {"images": Images(bgr=True), "inputs": {"x": "x.npy"}},
            "images has no effect without an image among the inputs",
        ),
    ],
)
def test_options_without_what_they_need(
    given: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_model(Path("a.onnx"), "g (float[1,3,4,4] x) => (float[1,3,4,4] y) { y = Relu (x) }")
    for function, result in ((ir_interp.convert, "b.xml"), (ir_interp.fix, "b.onnx")):
        with pytest.raises(SpecError, match=f"^{said}$"):
            function("a.onnx", result, **given)
    assert [path.name for path in Path().iterdir()] == ["a.onnx"]


# Frameworks


def test_each_extension_of_a_framework_has_one_folder() -> None:
    extensions = sorted(extension for framework in FRAMEWORKS for extension in framework.extensions)
    assert extensions == [kind.value for kind in FOREIGN]


def test_each_framework_has_an_extra_with_its_packages() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for framework in FRAMEWORKS:
        for package in framework.packages:
            assert package.replace("_", "-") in " ".join(extras[framework.extra])
