"""Options in folders: a folder gives what each of its files gives alone, byte for byte, and refuses by name."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from itertools import combinations, islice
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import ir_interp
from ir_interp.converters import fleet, workers
from ir_interp.converters.audit import auditing
from ir_interp.converters.conversion import converting
from ir_interp.converters.verify.inputs import Inputs
from ir_interp.options.declaration import Option, flagged
from ir_interp.options.model_options import FILE, FOLDER, REPORT, RESULTS, AuditOptions, ConvertOptions
from tests.support.commands import command
from tests.support.graphs import save_model

UP = """g (float[1,3,4,6] x) => (float[1,3,8,12] z) <float[4] s = {1,1,2,2}, float[3,1,1] w = {1.5,2.5,3.1}> {
    y = Mul (x, w)
    [up] z = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (y, "", s) }"""
SHRINK = """g (float[1,3,8,8] x) => (float[1,3,4,4] y) <float[4] s = {1,1,0.5,0.5}> {
    [down] y = Resize <mode = "linear", antialias = 1> (x, "", s) }"""
CONVERT = {
    "--opset": "13",
    "--ir": "10",
    "--interpolate": "4",
    "--dialect": "tflite",
    "--into": "layers.tflite",
    "--semantics": "document",
    "--target": "onnx:13",
    "--only": "decomposed",
    "--strict": None,
    "--fp16": None,
    "--state": "refuse",
    "--exporter": "openvino",
    "--layout": "nchw",
    "--preprocess": "config.json:pil",
    "--image-size": "3,4",
    "--no-verify": None,
    "--shape": "1,3,4,6",
    "--freeze": None,
    "--input": "x=photo.png",
    "--reference": "y.npz",
    "--seed": "3",
    "--mean": "127",
    "--std": "255",
    "--bgr": None,
    "--range": "0-1",
    "--format": "json",
    "--json": None,
    "--quiet": None,
    "--report": "report.json",
    "--html": "page.html",
    "--image": "photo.png",
    "--jobs": "2",
    "--results": "results.jsonl",
    "--scheduler": "tcp://127.0.0.1:1",
    "--time-limit": "60",
}
"""Every option of ``convert`` with a value that is not its default; ``--to`` is what makes it that of a folder."""
AUDIT = {
    "--run": None,
    "--shape": "x:1,3,8,8",
    "--runtime": "tensorrt",
    "--deploy": "onnxruntime",
    "--select": "IRI02",
    "--ignore": "IRI023",
    "--fail-on": "mistake",
    "--severity": "openvino=note",
    "--baseline": "base.json",
    "--write-baseline": "base.json",
    "--isolated": None,
    "--format": "json",
    "--json": None,
    "--quiet": None,
    "--jobs": "2",
    "--table": "table.csv",
    "--scheduler": "tcp://127.0.0.1:1",
    "--time-limit": "60",
    "--html": "page.html",
    "--image": "photo.png",
    "--preprocess": "opencv:linear",
    "--trained": "pillow:bilinear",
}
"""Every option of ``audit`` likewise; ``--results`` is what makes it that of many models."""
JOBS_OF_A_CLUSTER = (
    ("--jobs", "--scheduler"),
    "--jobs has no effect with --scheduler, whose workers share the files",
)
PRINTED = ("--format", "--json", "--quiet")
Outcome = tuple[int, list[str]]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, without processes."""
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (6, 4), (9, 90, 200)).save("photo.png")

    def answered(question: workers.Question, items: list[Path], _: object) -> Iterator[tuple[int, Any]]:
        return ((number, fleet.record_of(item, question.setting)) for number, item in enumerate(items))

    monkeypatch.setattr(workers, "each", answered)
    monkeypatch.setattr(fleet, "each_on_cluster", answered)


def sets(values: dict[str, str | None], part: int = 0, parts: int = 1) -> Iterator[tuple[str, ...]]:
    """Yield every option alone, and every pair, or a part of the pairs."""
    yield from combinations(values, 1)
    yield from islice(combinations(values, 2), part, None, parts)


def line(flags: tuple[str, ...], values: dict[str, str | None]) -> list[str]:
    """Return options as a command line has them."""
    return [word for flag in flags for word in (flag, values[flag]) if word is not None]


def by_flag(owner: type[Any]) -> dict[str, Option]:
    return {each.flags[-1] if each.default is True else each.flag: each for each in flagged(owner)}


def places(flags: tuple[str, ...], owner: type[Any], place: str) -> list[str]:
    """Return the options without an effect in a place, in the order in which they are declared."""
    return [flag for flag, each in by_flag(owner).items() if flag in flags and each.places and place not in each.places]


def lines(errors: str) -> list[str]:
    return [each.removeprefix("error: ") for each in errors.splitlines()]


def files(folder: str) -> dict[str, bytes]:
    paths = (path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".jsonl")
    return {path.as_posix(): path.read_bytes() for path in paths}


def records(path: str) -> dict[str, dict[str, Any]]:
    rows = (json.loads(row) for row in Path(path).read_text().splitlines())
    return {row["file"]: row for row in rows}


def empty(*paths: str) -> None:
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)
        Path(path).unlink(missing_ok=True)


def test_every_option_is_in_these_tables() -> None:
    assert list(CONVERT) == [flag for flag in by_flag(ConvertOptions) if flag != "--to"]
    assert list(AUDIT) == [flag for flag in by_flag(AuditOptions) if flag != "--results"]


def test_a_folder_becomes_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    Path("zoo").mkdir()
    save_model(Path("zoo/a.onnx"), UP)
    asked = ("convert", "zoo", "out", "--to", ".xml", "--ir", "10", "--interpolate", "4")
    assert command(capsys, *asked, "--mean", "127", "--bgr") == (2, "", "error: --mean has no effect with --to\n")
    assert not Path("out").exists()
    assert command(capsys, *asked, "--quiet") == (0, "", "")
    text = Path("out/a.xml").read_text()
    assert 'version="10"' in text
    assert 'type="Interpolate" version="opset4"' in text


SUFFIXES = (".xml", ".onnx", ".json")
CHANGES = {"--only", "--interpolate", "--ir", "--freeze", "--fp16", "--semantics"}
NO_CHANGE = ("name the change", "--target NAME is missing")  # what is said of one file that has the format already


@pytest.mark.sampled(1)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_folder_is_converted_as_its_files_are(
    suffix: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("zoo/deep").mkdir(parents=True)
    save_model(Path("zoo/a.onnx"), UP)
    ir_interp.convert("zoo/a.onnx", "zoo/deep/b.xml", verify=False)
    sources = {"zoo/a.onnx": "out/a", "zoo/deep/b.xml": "out/deep/b"}
    verified: list[Inputs] = []

    def verify(source: Path, result: Path, rows: object, inputs: Inputs, options: ConvertOptions) -> None:
        verified.append(inputs)

    monkeypatch.setattr(converting, "_verify", verify)

    def alone(flags: tuple[str, ...]) -> dict[str, tuple[Outcome, dict[str, bytes]]]:
        outcomes = {}
        for source, result in sources.items():
            empty("out")
            Path(result).parent.mkdir(parents=True)
            code, _, errors = command(capsys, "convert", source, f"{result}{suffix}", *line(flags, CONVERT))
            outcomes[source] = ((code, lines(errors)), files("out"))
        return outcomes

    # A pair of options is with one of the suffixes: what options make of each other does not depend on it.
    for flags in sets(CONVERT, SUFFIXES.index(suffix), len(SUFFIXES)):
        empty("out", "results.jsonl")
        code, _, errors = command(capsys, "convert", "zoo", "out", "--to", suffix, *line(flags, CONVERT))
        if unfit := places(flags, ConvertOptions, FOLDER):
            if "exclude each other" not in errors and "has no effect without" not in errors:
                assert (code, errors) == (2, f"error: {unfit[0]} has no effect with --to\n"), flags
            assert not Path("out").exists(), flags
            continue
        if flags == JOBS_OF_A_CLUSTER[0]:
            assert (code, lines(errors)) == (
                2,
                ["--jobs has no effect with --scheduler, whose workers share the files"],
            )
            continue
        place = "results.jsonl" if "--results" in flags else "out/results.jsonl"
        converted = records(place) if Path(place).exists() else None
        written, inputs = files("out"), list(verified)
        verified.clear()
        expected = alone(tuple(flag for flag in flags if flag not in places(flags, ConvertOptions, FILE)))
        assert inputs == verified, flags
        verified.clear()
        if converted is None:  # no file takes an option
            said = {tuple(texts) for (_, texts), _ in expected.values()}
            assert (code, written, all(bad for (bad, _), _ in expected.values())) == (2, {}, True), flags
            assert tuple(lines(errors)) in said, flags
            continue
        # A file that has the format already is skipped, unless an option names a change in it.
        skipped = {
            source
            for source, ((_, texts), _) in expected.items()
            if any(map(" ".join(texts).__contains__, NO_CHANGE)) and CHANGES.isdisjoint(flags)
        }
        for source in skipped:
            del expected[source]
        assert converted.keys() == sources.keys() - skipped, flags
        for source, ((_, texts), results) in expected.items():
            assert [each["message"] for each in converted[source]["errors"]] == texts, flags
            assert {name: written.pop(name) for name in results} == results, flags
        assert written == {}, flags
        assert code == max((bad for (bad, _), _ in expected.values()), default=0), flags


@pytest.mark.long
def test_a_folder_is_audited_as_its_files_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("zoo/deep").mkdir(parents=True)
    save_model(Path("zoo/a.onnx"), SHRINK)
    save_model(Path("b.onnx"), UP.replace("4,6", "8,8").replace("8,12", "16,16"))
    ir_interp.convert("b.onnx", "zoo/deep/b.xml", verify=False)
    monkeypatch.setattr(auditing, "seen", lambda _, audited, *__: audited)

    def alone(flags: tuple[str, ...]) -> dict[str, tuple[Outcome, dict[str, Any] | None]]:
        outcomes = {}
        for source in ("zoo/a.onnx", "zoo/deep/b.xml"):
            more = line(tuple(flag for flag in flags if flag not in PRINTED), AUDIT)
            code, printed, errors = command(capsys, "audit", source, "--json", *more)
            report = json.loads(printed) if printed else {}
            report.pop("schema_version", None)  # which a line of results does not have
            outcomes[source] = ((code, lines(errors)), report or None)
        return outcomes

    for flags in sets(AUDIT):
        empty("r.jsonl")
        code, _, errors = command(capsys, "audit", "zoo", "--results", "r.jsonl", *line(flags, AUDIT))
        if unfit := places(flags, AuditOptions, RESULTS):
            assert code == 2
            assert errors == f"error: {unfit[0]} has no effect with --results\n", flags
            continue
        if flags == JOBS_OF_A_CLUSTER[0]:
            assert (code, lines(errors)) == (
                2,
                ["--jobs has no effect with --scheduler, whose workers share the files"],
            )
            continue
        if "exclude each other" in errors:
            assert len(set(flags) & set(PRINTED)) == 2 or set(flags) == {"--runtime", "--deploy"}
            assert command(capsys, "audit", "zoo/a.onnx", *line(flags, AUDIT)) == (2, "", errors)
            continue
        expected = alone(tuple(flag for flag in flags if flag not in places(flags, AuditOptions, REPORT)))
        if not Path("r.jsonl").exists():
            assert {tuple(texts) for (_, texts), _ in expected.values()} == {tuple(lines(errors))}, flags
            assert code == 2
            continue
        audited = records("r.jsonl")
        for source, (_, report) in expected.items():
            report = {name: value for name, value in (report or {}).items() if name != "schema_version"}
            for finding in audited[source]["findings"]:
                finding.pop("command")  # the step that text has below each finding
            assert {name: audited[source][name] for name in report} == report, flags
        assert code == max(single for (single, _), _ in expected.values()), flags


def test_two_models_never_become_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("zoo").mkdir()
    save_model(Path("zoo/a.onnx"), UP)
    ir_interp.convert("zoo/a.onnx", "zoo/a.xml", verify=False)
    code, _, errors = command(capsys, "convert", "zoo", "out", "--to", "json")
    paths = (Path("zoo/a.onnx"), Path("zoo/a.xml"), Path("out/a.json"))
    said = "error: {} and {} would both become {}; convert them one by one\n".format(*paths)
    assert (code, errors, Path("out").exists()) == (2, said, False)
