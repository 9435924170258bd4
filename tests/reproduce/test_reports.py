"""Reports on public trackers: what the audit says of the reporter's node, and what a conversion makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import ir_interp
from ir_interp import Audited, Kind
from tests.support.commands import completed
from tests.support.reports import Report, reports

pytestmark = pytest.mark.usefixtures("one_worker")

REPORTS = reports()
CODES = {"IRI011", "IRI012", "IRI013", "IRI014", "IRI015", "IRI016", "IRI018", "IRI019", "IRI027"}
"""What ``fix`` repairs."""
RUNTIMES = completed("audit", "--runtime")
OF_EXPORTERS = [report for report in REPORTS if {*report.findings} & {*CODES}]
NAMED = {
    *("openvino#35893", "openvino#36223", "tvm#19570", "tvm#19500", "TensorRT#3560", "TensorRT#4476"),
    *("onnxruntime#7216", "onnxruntime#12302", "pytorch#183546", "iree#24264"),
}
"""Those that every edition of the table has."""


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Audited]:
    """Return what the audit says of every report's node, the installed runtimes run, by the report's name."""
    folder = tmp_path_factory.mktemp("reports")
    for number, report in enumerate(REPORTS):
        report.node.save(folder / f"{number:03}.onnx")
    asked = sorted({runtime for report in REPORTS for runtime in report.verdicts})
    found = ir_interp.audit(folder, runtimes=asked, run=True)
    assert not found.errors
    return dict(zip((report.name for report in REPORTS), found.rows, strict=True))


@pytest.mark.sampled(14)
@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_what_the_audit_says(report: Report, audited: Mapping[str, Audited]) -> None:
    """It is also what the runtime does, where that is installed; what corrupts memory may look like anything."""
    row = audited[report.name]
    for runtime, expected in report.verdicts.items():
        verdict = row.predictions[runtime]
        told = f"{verdict.kind.value}: {verdict.reason}" if verdict.reason else verdict.kind.value
        assert told == expected if expected == Kind.SAME.value else told.startswith(expected), runtime
        assert row.seen.get(runtime, verdict).kind is verdict.kind or verdict.kind is Kind.CRASHES, row.seen[runtime]
    assert {code for code, _ in row.mistakes} | {each.code for each in row.op.diagnostics} >= set(report.findings)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_what_a_conversion_makes(report: Report, tmp_path: Path) -> None:
    """What is written for a target, that target computes: no resize is left, or one that the audit calls the same."""
    report.node.save(tmp_path / "a.onnx")
    (row,) = ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.onnx", target=report.target, verify=False).rows
    assert report.form in row.form
    if report.target not in RUNTIMES:
        return
    for left in ir_interp.audit(tmp_path / "b.onnx", runtimes=[report.target]).rows:
        assert left.predictions[report.target].kind is Kind.SAME


@pytest.mark.parametrize(
    "report", [each for each in REPORTS if {*each.findings} & {*CODES}], ids=lambda each: each.name
)
def test_what_a_fix_makes(report: Report, tmp_path: Path) -> None:
    """What is likely an exporter's mistake is fixed, and nothing of it is left."""
    report.node.save(tmp_path / "a.onnx")
    fixed = ir_interp.fix(tmp_path / "a.onnx", tmp_path / "b.onnx", verify=False)
    assert {each.code for found in fixed.repaired for each in found.remedies} >= {*report.findings} & {*CODES}
    (row,) = ir_interp.audit(tmp_path / "b.onnx").rows
    assert not {code for code, _ in row.mistakes}


def test_the_table() -> None:
    """Every report is there once, under an address of its own, and says what of whom."""
    assert len({report.place for report in REPORTS}) == len(REPORTS) >= 40
    assert {report.name for report in REPORTS} >= NAMED
    assert all(
        report.says.endswith(".") and report.verdicts and report.verdicts.keys() <= {*RUNTIMES} for report in REPORTS
    )
