"""Errors of Python name keywords where the command line names flags; both spell the same options."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from inspect import Parameter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp.arguments import checked
from ir_interp.options.declaration import declared
from ir_interp.options.model_options import AuditOptions, CompareOptions, ConvertOptions, FixOptions, ReproduceOptions
from ir_interp.options.resize_options import ExplainOptions, PlotOptions, PreprocessOptions
from ir_interp.plain_text import in_python, keyword
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.places import ROOT

OPTIONS: dict[Callable[..., Any], type[Any]] = {
    ir_interp.audit: AuditOptions,
    ir_interp.compare: CompareOptions,
    ir_interp.convert: ConvertOptions,
    ir_interp.explain: ExplainOptions,
    ir_interp.fix: FixOptions,
    ir_interp.plot: PlotOptions,
    ir_interp.preprocess: PreprocessOptions,
    ir_interp.reproduce: ReproduceOptions,
}
TWO = """g (float[1,2,8,8] x) => (float[1,2,k,l] y) <float[4] s = {1,1,0.5,0.5}> {
    [one] t = Resize <mode = "linear"> (x, "", s)
    [two] y = Resize <mode = "linear"> (t, "", s)
}"""
AT_RUN_TIME = """g (float[1,2,8,8] x, int64[4] sizes) => (float[1,2,k,l] y) {
    [up] y = Resize <mode = "linear"> (x, "", "", sizes)
}"""


def parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    return dict(inspect.signature(function).parameters)


@pytest.mark.parametrize("function", OPTIONS, ids=lambda function: function.__name__)
def test_every_flag_gives_the_keyword_that_is_declared(function: Callable[..., Any]) -> None:
    known = parameters(function)
    for option in declared(OPTIONS[function]):
        for flag in option.flags if option.is_keyword else ():
            if flag.startswith("--"):
                assert keyword(flag.removeprefix("--"), known) == option.name


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("choose with --shape", "choose with shapes"),
        ("as in --shape x:1,3,640,640; next", "as in shapes={'x': (1, 3, 640, 640)}; next"),
        ("as in --shape 'a b:1,3'", "as in shapes={'a b': (1, 3)}"),
        ("as in --input x=photo.png.", "as in inputs={'x': 'photo.png'}."),
        ("--freeze makes the sizes of --shape static", "freeze=True makes the sizes of shapes static"),
        ("x; --no-verify writes it unverified", "x; verify=False writes it unverified"),
        ("--state=inputs makes inputs", "state='inputs' makes inputs"),
        ("(--opset 17, --target onnx:17)", "(opset=17, target='onnx:17')"),
        ("choose one with --target TARGET: a", "choose one with target=TARGET: a"),
        ("`--unheard 3` stays, and a--opset", "`--unheard 3` stays, and a--opset"),
        ("no input '--shape 1,2'; the model's --shape", "no input '--shape 1,2'; the model's shapes"),
    ],
)
def test_messages(message: str, expected: str) -> None:
    assert in_python(message, parameters(ir_interp.convert)) == expected


def test_one_error_in_both_spellings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_model(tmp_path / "two.onnx", TWO)
    save_model(tmp_path / "late.onnx", AT_RUN_TIME)
    for name, problem, flags in (
        ("two.onnx", "two.onnx: 2 resizes; choose one with layer=NAME: one, two", "--layer NAME"),
        (
            "late.onnx",
            "sizes are missing: this resize takes them at run time; pass them, as in sizes=(50, 60)",
            "--sizes 50,60",
        ),
    ):
        code, _, printed = command(capsys, "explain", str(tmp_path / name))
        with pytest.raises(ir_interp.IrInterpError) as caught:
            ir_interp.explain(tmp_path / name)
        assert str(caught.value) == problem
        assert (code, flags in printed) == (2, True)
        with pytest.raises(ir_interp.IrInterpError) as caught:  # after the command as before it
            ir_interp.explain(tmp_path / name)
        assert str(caught.value) == problem


def test_a_resize_and_all_errors_of_a_group_name_keywords(tmp_path: Path) -> None:
    save_model(tmp_path / "late.onnx", AT_RUN_TIME)
    (op,) = ir_interp.load(tmp_path / "late.onnx")
    x, advice = np.zeros((1, 2, 8, 8)), r"as in sizes=\(50, 60\)$"
    with pytest.raises(ir_interp.SpecError, match=advice):
        op.run(x)
    with pytest.raises(ir_interp.SpecError, match=advice):
        ir_interp.resize(x, op.spec)
    error = ir_interp.InexactError("up", "openvino", reason="--strict refuses it; choose --shape")

    @checked
    def refuse(*, strict: bool = False, shapes: object = None) -> None:
        raise ExceptionGroup("several", [error, ir_interp.ReadError("give --shape", "a --shape 1,2.onnx")])

    with pytest.raises(ExceptionGroup) as caught:
        refuse()
    assert [str(each) for each in caught.value.exceptions] == [
        "up: no exact form in openvino; strict=True refuses it; choose shapes",
        "a --shape 1,2.onnx: give shapes",
    ]


OF_PROGRAMS = {"cli", "options", "pages", "reproduce", "runtimes"}
"""Rooms whose texts reach no caller of Python as an error, or are options of other programs."""
OF_COMMANDS = {"diagnostic_codes.py", "next_steps.py"}
"""Modules whose texts are commands."""


def test_every_flag_in_a_message_has_a_keyword() -> None:
    """A message with a flag that no function has would name it as the command line does, in Python too."""
    known = [parameters(function) for function in (*OPTIONS, ir_interp.resize)]
    unknown = [
        (path.name, flag)
        for folder in ("ir_interp", "converters")
        for path in (ROOT / folder).rglob("*.py")
        if not OF_PROGRAMS & set(path.relative_to(ROOT).parts) and path.name not in OF_COMMANDS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for flag in re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", node.value)
        if not any(keyword(flag, each) for each in known)
    ]
    assert unknown == []
