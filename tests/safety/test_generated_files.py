"""Whatever a model, a path or a runtime's message holds, generated files hold it as text and as nothing else."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np
import onnx
import pytest
from hypothesis import given, settings, strategies as st
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token
from onnx import helper, numpy_helper

import ir_interp
from ir_interp import ReadError, plain_text
from ir_interp.cli import printed_results
from ir_interp.converters import dialects
from ir_interp.converters.audit.audit_report import FORMATS, Audit
from ir_interp.converters.audit.audited_resizes import Audited, Finding
from ir_interp.converters.audit.probe import RUNNERS, Ran
from ir_interp.converters.audit.verdicts import Verdict
from ir_interp.converters.dialects.tensorrt import DIALECT
from ir_interp.converters.pages import frame
from ir_interp.converters.pages.audit_page import audit_page
from ir_interp.converters.pages.frame import Provenance
from ir_interp.converters.reproduce.conformance_kit import script
from ir_interp.converters.reproduce.reproduction import Reproduced, story
from ir_interp.converters.runtimes.outcome import Kind
from ir_interp.converters.tensorrt import python_script
from ir_interp.plain_text import printable
from ir_interp.resize_op import ResizeOp
from ir_interp.specs import Antialias, Linear, ResizeSpec, Sizes
from ir_interp.translation.translate import write
from tests.support.commands import command

Parsed = tuple[list[str], list[str]]
"""The structure of a file, and the texts in it."""

ATTACK = '""";import os;os.system("touch PWNED");"""'
FRAGMENTS = (
    *('"""', "'''", '"', "'", "\\", "\\\\", "`", "```", "\n", "\r\n", "\r", "\t", "\0", "\x1b[31m", "\x07", "\x85"),
    *("\x9b", "${HOME}", "$(touch PWNED)", "`touch PWNED`", ";", "&&", "|", ">", "#", "# coding: utf-7", "%0A", "%"),
    *("::error::", "<script>", "</script>", "</title>", "</style>", "<!--", "-->", "]]>", "&lt;", "&", "{", "}", "{{"),
    *("%s", "*", "**", "_", "__", "~~", "[a](b)", "![", "](", "<b>", "http://a.b", "|---|", "- ", "1. ", "    ", "="),
    *("\u202e", "\u2066", "\u2028", "\u200b", "\ufeff", "\U0001f600", "\u00b2", "\ufb01", "\u00a0", "\u4e2d", "up"),
    *("Up", "2", " ", "/", ",", ATTACK),
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=6).map("".join)
MARKDOWN = MarkdownIt().enable(["table", "strikethrough"])
SPEC = ResizeSpec(kernel=Linear(), axes=(2, 3), target=Sizes((8, 9)))
IN_SEVERAL_LAYERS = replace(SPEC, kernel=Linear(antialias=Antialias.SHRINKING), target=Sizes((2, 3)))


def op_of(name: str, spec: ResizeSpec = SPEC) -> ResizeOp:
    attributes = {name: name}
    return ResizeOp(
        name=name,
        where=name,
        spec=spec,
        dialect="onnx",
        version=19,
        shape=(1, 1, 4, 5),
        dtype="float32",
        attributes=attributes,
    )


# What writes a text, and how the result is read back


def python_of_reproduce(text: str) -> str:
    return script(text, RUNNERS["reference"].run, text)


def python_of_tensorrt(text: str) -> str:
    names = (text, text.upper(), text.lower(), f"0{text}")
    return python_script([op_of(text), *(op_of(name, IN_SEVERAL_LAYERS) for name in names)])[0]


def parsed_python(code: str) -> Parsed:
    """As a file, since the first lines may name another encoding; every global name is assigned once."""
    tree = ast.parse(code.encode())
    nodes = list(ast.walk(tree))
    functions = [each.name for each in tree.body if isinstance(each, ast.FunctionDef)]
    arrays = [ast.unparse(each.targets[0]) for each in tree.body if isinstance(each, ast.Assign)]
    assert len({*functions, *arrays}) == len([*functions, *arrays])
    structure = [type(each).__name__ for each in nodes]
    return structure, [each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def markdown(text: str) -> str:
    verdict = Verdict(kind=Kind.REFUSED, reason=text)
    found = Reproduced(
        folder=Path(), runtime="openvino", op=op_of(text), verdict=verdict, versions={"openvino": "2026.4"}
    )
    x = np.zeros((1, 1, 4, 5), np.float32)
    return story(found, f"OpenVINO: {text}.", x, x, Ran(refusal=f"{text}."))


def parsed_markdown(text: str) -> Parsed:
    tokens = list(flat(MARKDOWN.parse(text)))
    joined: list[str] = []
    for before, each in zip([None, *tokens], tokens, strict=False):
        if each.type == "text" and before is not None and before.type == "text":
            joined[-1] += each.content
        elif each.type == "text":
            joined.append(each.content)
    return [each.type for each in tokens if each.type != "text"], joined


def flat(tokens: Sequence[Token]) -> Iterator[Token]:
    for each in tokens:
        yield each
        yield from flat(each.children or ())


def audit_of(text: str) -> Audit:
    finding = Finding(code="IRI023", message=text, file=text, where=text, severity=ir_interp.Severity.ERROR)
    row = plain_row()
    row = replace(row, file=text, op=replace(row.op, name=text, where=text), label=text)
    return Audit(rows=(row,), findings=(finding,), errors=(ReadError(text, text),))


@cache
def plain_row() -> Audited:
    (row,) = ir_interp.audit(one_resize(), runtimes=["onnxruntime"]).rows
    return row


def one_resize(attributes: dict[str, Any] | None = None) -> onnx.ModelProto:
    sizes = numpy_helper.from_array(np.array([1, 1, 2, 3]), "sizes")
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], name="up", mode="linear")
    for name, value in (attributes or {}).items():
        node.attribute.append(helper.make_attribute(name, value))
    x = helper.make_tensor_value_info("x", 1, [1, 1, 4, 5])
    y = helper.make_tensor_value_info("y", 1, [1, 1, 2, 3])
    graph = helper.make_graph([node], "g", [x], [y], [sizes])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def page(text: str) -> str:
    root = audit_page(audit_of(text), Provenance(command=f"ir-interp {text}"))
    return "<!doctype html>\n" + etree.tostring(root, method="html", encoding="unicode")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.structure: list[str] = []
        self.texts: list[str] = [""]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.structure.append(f"{tag} {attributes}")
        self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.structure.append(f"/{tag}")
        self.texts.append("")

    def handle_comment(self, data: str) -> None:
        self.structure.append("comment")

    def handle_data(self, data: str) -> None:
        self.texts[-1] += data


def parsed_page(text: str) -> Parsed:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.structure, reader.texts


def json_of_layers(text: str) -> str:
    op = op_of(text)
    return dialects.dump_layers([(op, write(op.spec, DIALECT, shape=op.shape, dtype=op.dtype, name=text))])


def parsed_json(text: str) -> Parsed:
    assert text.isascii()
    places = list(leaves(json.loads(text)))
    return [place for place, _ in places], [value for _, value in places if isinstance(value, str)]


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from leaves(each, f"{place}/{key}")
    if not isinstance(value, dict | list):
        yield place, value


def parsed_sarif(text: str) -> Parsed:
    structure, texts = parsed_json(text)
    (run,) = json.loads(text)["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"[\w.~/%-]*", uri, re.ASCII)
    assert unquote_to_bytes(uri) == str(Path(run["results"][0]["message"]["text"])).encode("utf-8", "surrogateescape")
    return structure, texts


def parsed_workflow(text: str) -> Parsed:
    """As GitHub's runner reads commands."""
    structure, texts = [], []
    for line in text.split("\n"):
        found = re.fullmatch(r"::(\w+) (.*?)::(.*)", line)
        assert found, line
        given_as = dict(each.split("=", 1) for each in found[2].split(","))
        structure.append(f"{found[1]} {sorted(given_as)}")
        texts += [decoded(each) for each in (*given_as.values(), found[3])]
    return structure, texts


def decoded(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


def shell(text: str) -> str:
    return plain_text.quote_shell("ir-interp", text, f"--shape={text}")


def parsed_shell(line: str) -> Parsed:
    words = shlex.split(line)
    return [str(len(words))], words


KINDS: dict[str, tuple[Callable[[str], str], Callable[[str], Parsed], Callable[[str], str]]] = {
    "reproduce.py": (python_of_reproduce, parsed_python, str),
    "TensorRT's Python": (python_of_tensorrt, parsed_python, str),
    "README.md": (markdown, parsed_markdown, printable),
    "a page": (page, parsed_page, frame.clean),
    "layers as JSON": (json_of_layers, parsed_json, str),
    "an audit as JSON": (lambda text: printed_results.printed_json(audit_of(text)), parsed_json, str),
    "SARIF": (lambda text: FORMATS["sarif"](audit_of(text)), parsed_sarif, str),
    "GitHub's commands": (lambda text: FORMATS["github"](audit_of(text)), parsed_workflow, printable),
    "a shell's line": (shell, parsed_shell, str),
}
"""For each kind of file: what writes it, what reads it, and how it shows a text."""


@cache
def plain_structure(kind: str) -> object:
    """Return the structure of a file about a plain name."""
    writes, reads, _ = KINDS[kind]
    return reads(writes("plain"))[0]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", KINDS)
@given(text=HOSTILE)
@settings(max_examples=8)
def test_text_stays_text(kind: str, text: str) -> None:
    """The structure of a file depends on no name; its texts do, and hold the name."""
    writes, reads, shows = KINDS[kind]
    written = writes(text)
    structure, texts = reads(written.encode().decode())
    assert structure == plain_structure(kind)
    assert any(shows(text) in each for each in texts)


def test_the_script_of_a_hostile_model_runs_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(one_resize({ATTACK: 1, "<script>alert(1)</script>": 2}), "m.onnx")
    code, _, errors = command(capsys, "reproduce", "m.onnx", "out", "--runtime", "reference")
    assert (code, errors) == (0, "")
    done = subprocess.run([sys.executable, "reproduce.py"], cwd="out", capture_output=True, text=True, check=False)
    assert "touch PWNED" in done.stderr  # the runtime refuses the attribute, by its name
    assert not Path("out", "PWNED").exists()
    text = Path("out", "README.md").read_text(encoding="utf-8")
    assert "<script>" in text.replace("\\", "")
    assert "html_inline" not in parsed_markdown(text)[0]


def test_a_path_of_any_bytes_is_a_reference() -> None:
    """On Linux names of files are bytes; what is no UTF-8 is a lone surrogate in Python."""
    assert plain_text.quote_uri("a b/\udcff#?:%.onnx") == "a%20b/%FF%23%3F%3A%25.onnx"
