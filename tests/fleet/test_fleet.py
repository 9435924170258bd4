"""Many models: results come one by one, a model that kills its process costs only itself, and nothing is done twice."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ir_interp.converters import fleet, workers
from ir_interp.converters.fleet import Results, Summary, exporter, stamp
from ir_interp.options.model_options import AuditOptions
from tests.support.commands import command
from tests.support.graphs import save_model

UP = 'Y = Resize <mode = "linear", antialias = 1> (X, , s)'


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _zoo(count: int) -> None:
    Path("zoo/deep").mkdir(parents=True)
    for number in range(count):
        text = f"g (float[1, 1, 8, {8 + number}] X) => (float[1, 1, H, W] Y) <float[4] s = {{1, 1, 2, 2}}> {{ {UP} }}"
        save_model(Path("zoo", "deep" if number % 2 else "", f"m{number}.onnx"), text)


def _lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_results_come_by_model_and_are_not_made_twice(capsys: pytest.CaptureFixture[str]) -> None:
    _zoo(4)
    Path("zoo/broken.onnx").write_bytes(b"\x08")
    Path("list.txt").write_text("zoo/m0.onnx\nzoo\n")
    code, printed, _ = command(capsys, "audit", "@list.txt", "--jobs", "2", "--results", "r.jsonl", "--json")
    lines = _lines("r.jsonl")
    assert code == 2  # not all could be read
    assert json.loads(printed) | {"verdicts": {}, "findings": {}, "to_act": []} == {
        "schema_version": 1,
        "models": 5,
        "resizes": 4,
        "errors": 1,
        "refused": 0,
        "skipped": 0,
        "models_to_act": 5,
        "to_act": [],
        "verdicts": {},
        "findings": {},
        "exporters": {"unknown": 5},
        "grades": {},
    }
    assert {Path(line["file"]).name for line in lines} == {"m0.onnx", "m1.onnx", "m2.onnx", "m3.onnx", "broken.onnx"}
    with Path("r.jsonl").open("ab") as file:
        file.write(b'{"file": "zoo/m')  # it was killed while it wrote this
    (save_model(Path("zoo/m0.onnx"), "g (float[2] X) => (float[2] Y) { Y = Relu (X) }"))
    code, printed, errors = command(capsys, "audit", "zoo", "--results", "r.jsonl", "--quiet")
    assert (code, printed) == (2, "")
    assert [line.partition(": not ")[0] for line in errors.splitlines()] == [f"error: {Path('zoo', 'broken.onnx')}"]
    again = _lines("r.jsonl")
    assert again[:5] == lines
    assert [Path(line["file"]).name for line in again[5:]] == ["m0.onnx"]
    assert again[5]["resizes"] == []


@pytest.fixture
def question(monkeypatch: pytest.MonkeyPatch) -> workers.Question:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return workers.Question(function="answers:answer", setting=3, limit=6)


def test_what_kills_its_process_or_hangs_costs_only_itself(question: workers.Question) -> None:
    answers = dict(workers.each(question, range(7), 2))
    assert str(answers.pop(3)) == "the processes that worked on it died, the last with status -9"
    assert str(answers.pop(5)) == "it was stopped after 6 seconds"
    assert answers == {number: number * 10 for number in (0, 1, 2, 4, 6)}


def test_who_stops_asking_waits_for_nobody(question: workers.Question) -> None:
    begin = time.monotonic()
    with closing(workers.each(replace(question, limit=3600), (0, 5, 5), 2)) as answers:
        assert next(answers) == (0, 0)
    assert time.monotonic() - begin < 60


def test_folders_that_cannot_be_read_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _zoo(2)
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    for more in ((), ("--results", "r.jsonl")):
        code, _, errors = command(capsys, "audit", "zoo", *more)
        assert (code, errors) == (2, f"error: {Path('zoo/deep')}: cannot be read: Permission denied\n")


def test_a_model_that_took_too_long_is_tried_again_by_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    _zoo(2)
    paths, asked = sorted(Path("zoo").rglob("*.onnx")), []

    def each(question: workers.Question, items: list[Path], count: int) -> Any:
        assert (question.limit, count) == (5, 2)
        asked.append([path.name for path in items])
        return [(n, workers.Late(5) if path.name == "m1.onnx" else _record(path)) for n, path in enumerate(items)]

    monkeypatch.setattr(workers, "each", each)
    for _ in range(2):
        with Results(Path("r.jsonl"), "") as results:
            summary = fleet.run(paths, fleet.Auditing(options=AuditOptions()), results, fleet.Crew(jobs=2, limit=5))
        assert (summary.models, summary.errors) == (2, 1)
    assert asked == [["m1.onnx", "m0.onnx"], ["m1.onnx"]]
    assert [each["message"] for each in _lines("r.jsonl")[0]["errors"]] == ["it was stopped after 5 seconds"]


def _record(path: Path) -> dict[str, Any]:
    return {"file": str(path), "stamp": stamp(path), "exporter": "", "resizes": [], "errors": []}


@pytest.mark.parametrize("text", ["precious", '{"file": "a.onnx"}', '{"fil', '{"a": [1, 2', "[", "1\n2"])
def test_a_file_that_holds_no_results_is_left_alone(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    _zoo(1)
    Path("r.jsonl").write_text(text)
    code, printed, errors = command(capsys, "audit", "zoo", "--results", "r.jsonl", "--quiet")
    if not '{"file": "'.startswith(text):  # which may be what an interrupted run left
        problem = "error: r.jsonl: line 1 is not a result of a model; choose another name\n"
        assert (code, printed, errors) == (2, "", problem)
        assert Path("r.jsonl").read_text() == text


def test_a_file_of_results_is_of_one_run_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    _zoo(1)
    said = "error: another run is writing r.jsonl; wait until it ends, or choose another name\n"
    with Results(Path("r.jsonl"), ""):
        assert command(capsys, "audit", "zoo", "--results", "r.jsonl", "--quiet") == (2, "", said)
    assert command(capsys, "audit", "zoo", "--results", "r.jsonl", "--quiet")[0] == 1  # it has findings


def test_the_workers_of_a_cluster_share_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    from distributed import LocalCluster

    _zoo(3)
    within: dict[str, Any] = {"processes": False, "protocol": "tcp://", "dashboard_address": None}
    with LocalCluster(n_workers=1, threads_per_worker=2, local_directory=Path.cwd(), **within) as cluster:
        more = ("--results", "r.jsonl", "--json", "--scheduler", cluster.scheduler_address)
        _, printed, _ = command(capsys, "audit", "zoo", *more)
    assert json.loads(printed)["resizes"] == 3
    assert sorted(Path(line["file"]).name for line in _lines("r.jsonl")) == ["m0.onnx", "m1.onnx", "m2.onnx"]


@pytest.mark.long
def test_a_cluster_shares_the_models_though_a_worker_is_killed(capsys: pytest.CaptureFixture[str]) -> None:
    from distributed import LocalCluster

    _zoo(8)
    folder = Path.cwd()
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=folder) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        lines = folder / "r.jsonl"
        program = [sys.executable, "-m", "ir_interp", "audit", str(folder / "zoo"), "--json", "--results", str(lines)]
        with subprocess.Popen([*program, "--scheduler", cluster.scheduler_address], stdout=subprocess.PIPE) as running:
            for _ in range(6000):
                if lines.exists() and lines.read_text():
                    break
                time.sleep(0.005)
            os.kill(victim, signal.SIGKILL)
            said, _ = running.communicate(timeout=120)
    assert json.loads(said)["models"] == 8
    assert sorted(Path(line["file"]).name for line in _lines("r.jsonl")) == [f"m{i}.onnx" for i in range(8)]
    assert not any(line["errors"] for line in _lines("r.jsonl"))


def test_a_table_has_a_row_for_each_resize_and_runtime(capsys: pytest.CaptureFixture[str]) -> None:
    _zoo(2)
    Path("zoo/=broken.onnx").write_bytes(b"\x08")
    ask = ("audit", "zoo", "--results", "r.jsonl", "--table", "t.csv", "--quiet", "--runtime", "openvino")
    for _ in range(2):  # the second time nothing is audited
        assert command(capsys, *ask)[0] == 2
        with Path("t.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["file"] for row in rows] == [
            str(Path("zoo", name)) for name in ("=broken.onnx", "deep/m1.onnx", "m0.onnx")
        ]
        assert rows[0]["error"].startswith("not an ONNX model")
        (line,) = (each for each in _lines("r.jsonl") if each["file"] == rows[1]["file"])
        verdict = line["resizes"][0]["verdicts"]["openvino"]
        assert (rows[1]["runtime"], rows[1]["verdict"]) == ("openvino", verdict["verdict"])
    fleet.write_table(Path("t.csv"), [{"file": "=1+1", "exporter": "x", "resizes": [], "errors": []}])
    assert Path("t.csv").read_text(encoding="utf-8").splitlines()[1].startswith("'=1+1,x,")


def test_a_table_may_be_parquet(capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install 'ir-interp[parquet]'")
    _zoo(2)
    tables = {}
    for name in ("t.csv", "t.parquet"):
        ask = ("audit", "zoo", "--results", "r.jsonl", "--table", name, "--quiet", "--runtime", "openvino")
        assert command(capsys, *ask)[0] == 1
    with Path("t.csv").open(encoding="utf-8", newline="") as file:
        tables["t.csv"] = list(csv.DictReader(file))
    tables["t.parquet"] = parquet.read_table("t.parquet").to_pylist()
    texts = [{key: "" if value is None else str(value) for key, value in row.items()} for row in tables["t.parquet"]]
    assert texts == tables["t.csv"]


def test_a_folder_is_converted(capsys: pytest.CaptureFixture[str]) -> None:
    _zoo(2)
    code, printed, errors = command(
        capsys, "convert", "zoo", "out", "--to", "xml", "--no-verify", "--json", "--jobs", "2"
    )
    assert (code, errors) == (0, "")
    assert json.loads(printed)["grades"] == {"exact for this shape": 2}
    assert {path.as_posix() for path in Path("out").rglob("*.xml")} == {"out/m0.xml", "out/deep/m1.xml"}
    assert len(_lines("out/results.jsonl")) == 2


def test_a_folder_run_names_the_models_to_act_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Each has its first finding and the command that comes next, in every kind of run."""
    _zoo(2)
    save_model(Path("zoo/fine.onnx"), "g (float[2] X) => (float[2] Y) { Y = Relu (X) }")
    Path("zoo/broken.onnx").write_bytes(b"\x08")
    runs = (
        ("audit", "zoo", "--results", "r.jsonl"),
        ("audit", "zoo", "--results", "r.jsonl"),  # again, from the file
        ("convert", "zoo", "out", "--to", ".xml", "--no-verify"),
    )
    for run in runs:
        code, printed, _ = command(capsys, *run)
        (_, end) = printed.split("models to act on: ")
        assert (code, "zoo/fine.onnx" in end, end.count("zoo/broken.onnx: ")) == (2, False, 1), run
        assert "! zoo/m0.onnx: IRI012 " in end or run[0] == "convert"
    summary = json.loads(command(capsys, "audit", "zoo", "--results", "r.jsonl", "--json", "--fail-on", "mistake")[1])
    acts = {act["file"]: act for act in summary["to_act"]}
    assert set(acts) == {"zoo/broken.onnx", "zoo/m0.onnx", "zoo/deep/m1.onnx"}
    assert acts["zoo/broken.onnx"]["is_error"]
    assert acts["zoo/m0.onnx"]["command"] == "ir-interp fix zoo/m0.onnx zoo/m0.fixed.onnx"
    Path("zoo/broken.onnx").unlink()
    code, printed, _ = command(capsys, "audit", "zoo")
    assert (code, printed.count("models to act on: 2 of 3")) == (1, 1)
    assert command(capsys, "audit", "zoo", "--deploy", "onnxruntime", "--fail-on", "differs")[1].count("to act on") == 0


def test_files_that_have_the_format_are_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    _zoo(2)
    assert command(capsys, "convert", "zoo/m0.onnx", "zoo/m0.xml", "-q", "--no-verify")[0] == 0
    code, printed, errors = command(capsys, "convert", "zoo", "out", "--to", ".xml", "--no-verify", "--json")
    summary = json.loads(printed)
    assert (code, errors, summary["models"], summary["errors"], summary["skipped"]) == (0, "", 2, 0, 1)
    assert {path.as_posix() for path in Path("out").rglob("*.xml")} == {"out/m0.xml", "out/deep/m1.xml"}
    assert command(capsys, "convert", "zoo", "again", "--to", ".xml", "--no-verify")[1].count("1 file skipped") == 1
    # Where an option names a change, such a file is converted, too.
    Path("zoo/m0.onnx").unlink()
    summary = json.loads(
        command(capsys, "convert", "zoo", "half", "--to", ".xml", "--fp16", "--json", "--no-verify")[1]
    )
    assert (summary["models"], summary["skipped"]) == (2, 0)


def test_exit_codes_of_conversions(capsys: pytest.CaptureFixture[str]) -> None:
    """A model without an exact form is 1, as alone; one that cannot be read is 2, as in an audit."""
    Path("zoo").mkdir()
    save_model(
        Path("zoo/soft.onnx"),
        f"g (float[1, 1, 8, 8] X) => (float[1, 1, H, W] Y) <float[4] s = {{1, 1, 0.5, 0.5}}> {{ {UP} }}",
    )
    alone = command(capsys, "convert", "zoo/soft.onnx", "a.xml", "-q", "--only", "native")[0]
    code, printed, _ = command(capsys, "convert", "zoo", "out", "--to", ".xml", "--only", "native")
    assert (alone, code) == (1, 1)
    assert "    ir-interp convert zoo/soft.onnx out/soft.xml --html soft.html\n" in printed
    Path("zoo/broken.onnx").write_bytes(b"\x08")
    assert command(capsys, "convert", "zoo/broken.onnx", "broken.xml", "-q")[0] == 2
    assert command(capsys, "convert", "zoo", "out", "--to", ".xml", "-q")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("audit", "zoo", "--scheduler", "tcp://x:1"), "error: --scheduler has no effect without --results\n"),
        (
            ("audit", "zoo", "--results", "r.txt"),
            "--results 'r.txt' is not the name of a file of results; expected .jsonl",
        ),
        (("audit", "zoo", "--results", "r.jsonl", "--html", "a.html"), "--html has no effect with --results"),
        (("audit", "@gone.txt"), "error: gone.txt: cannot be read: "),
        (
            ("convert", "zoo", "out", "--to", "bmp"),
            "error: --to 'bmp': expected one of .json, .onnx, .py, .tflite, .xml\n",
        ),
        (
            ("convert", "zoo", "out", "--to", ".npy"),
            "error: --to '.npy': expected one of .json, .onnx, .py, .tflite, .xml\n",
        ),
        (("convert", "a.onnx", "b.xml", "--jobs", "2"), "error: --jobs has no effect without --to\n"),
    ],
)
def test_mistakes_are_named(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    _zoo(1)
    code, _, errors = command(capsys, *arguments)
    assert code == 2
    assert said in errors


def test_results_are_results(capsys: pytest.CaptureFixture[str]) -> None:
    _zoo(1)
    Path("r.jsonl").write_text('{"a": 1}\n')
    code, _, errors = command(capsys, "audit", "zoo", "--results", "r.jsonl")
    assert (code, errors) == (2, "error: r.jsonl: line 1 is not a result of a model; choose another name\n")


def test_exporters() -> None:
    Path("t.onnx").write_bytes(b"\x08\x08\x12\x07pytorch\x1a\x052.4.0\x3a\x05graph")
    assert exporter(Path("t.onnx")) == "pytorch 2.4.0"
    Path("n.xml").write_text('<?xml version="1.0"?><net name="n" version="11"></net>')
    assert exporter(Path("n.xml")) == "OpenVINO IR v11"
    Path("cut.onnx").write_bytes(b"\x08\x08\x12\xff\xff")
    assert exporter(Path("cut.onnx")) == "unknown"
    assert exporter(Path("gone.onnx")) == "unknown"
    names = ("saved_model.pb", "net.keras", "net.pdmodel", "net.pt2", "net.tflite")
    assert list(map(exporter, map(Path, names))) == ["TensorFlow", "TensorFlow", "PaddlePaddle", "PyTorch", "unknown"]


def test_a_summary_counts() -> None:
    summary, note = Summary(), {"code": "IRI024", "severity": "note", "message": "."}
    verdicts = {"openvino": {"verdict": "differs"}, "tensorrt": {"verdict": "same"}}
    for findings in ([note], [note, {**note, "code": "IRI023", "severity": "warning"}]):
        summary.add(
            {"file": "a", "exporter": "x", "resizes": [{"verdicts": verdicts}], "errors": [], "findings": findings}
        )
    assert summary.record()["verdicts"] == {"openvino": {"differs": 2}, "tensorrt": {"same": 2}}
    assert summary.record()["findings"] == {"IRI023": 1, "IRI024": 2}
    assert (summary.fails(), summary.fails("differs"), summary.fails("mistake")) == (True, True, False)
