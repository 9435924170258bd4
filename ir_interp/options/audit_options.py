"""Options for an audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ir_interp.diagnostic_codes import Severity
from ir_interp.files.kinds import FileKind
from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import CODES, CODES_BY_FILE, PATH, SEVERITIES, SWITCH, WORD, WORDS, file, member

REPORT, RESULTS = "report", "results"
"""The places where an option has an effect: a report on all models, a file with one result for each."""
_FINDINGS, _PREPROCESSING = "Findings", "Preprocessing"


class AuditFormat(Enum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """The settings of an audit; ``ir_interp.audit`` documents the options."""

    run: bool = option(SWITCH, "Also run the installed runtimes and compare their outputs.", "--run")
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes()
    runtimes: tuple[str, ...] | None = option(
        WORDS,
        "Runtimes to predict: openvino,tensorrt; installed for those on this machine.",
        "--runtime",
        default=None,
        complete="runtimes",
    )
    select: tuple[str, ...] = option(
        CODES,
        "Report only these codes or prefixes: IRI011,IRI02.",
        "--select",
        complete="codes",
        panel=_FINDINGS,
    )
    ignore: tuple[str, ...] = option(CODES, "Codes or prefixes to ignore: IRI022,IRI023.", "--ignore", complete="codes")
    fail_on: tuple[str, ...] = shared.of_command_line(
        CODES,
        "Findings that set exit code 1: differs, refused, unknown, mistake or codes. Default: all except notes.",
        "--fail-on",
        complete="failures",
    )
    severities: Mapping[str, Severity] = shared.of_command_line(
        SEVERITIES,
        "Severity of findings about a runtime or release: tensorrt=note,tensorrt:8.6=warning (or error).",
        "--severity",
        decides=True,
        panel=_FINDINGS,
    )
    isolated: bool = shared.of_command_line(
        SWITCH, "Ignore the table tool.ir-interp of pyproject.toml.", "--isolated", panel=_FINDINGS
    )
    per_file_ignores: Mapping[str, tuple[str, ...]] = shared.of_command_line(  # of a project file alone
        CODES_BY_FILE, decides=True
    )
    style: AuditFormat | None = shared.of_command_line(
        member(AuditFormat, "AuditFormat | str", "FORMAT"),
        "text (the default), json, github or sarif.",
        "--format",
        default=None,
        panel=shared.REPORTS,
    )
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    jobs: int = shared.jobs()
    results: Path | None = shared.results(places=(RESULTS,))
    table: Path | None = shared.of_command_line(
        file("table", FileKind.CSV, FileKind.PARQUET),
        "With --results: write a table, .csv or .parquet, with one row per resize and runtime.",
        "--table",
        places=(RESULTS,),
        panel=shared.MANY_FILES,
    )
    scheduler: str | None = shared.scheduler(places=(RESULTS,))
    time_limit: int | None = shared.time_limit(places=(RESULTS,))
    html: Path | None = shared.html(places=(REPORT,))
    image: Path | None = option(
        PATH, "Image for the HTML page, or for --preprocess to resize.", "--image", panel=shared.REPORTS
    )
    preprocess: str | None = option(
        WORD,
        "Preprocessing in deployment: opencv:linear, or a pipeline as preprocessor_config.json:pil.",
        "--preprocess",
        metavar="CALL",
        complete="likes",
        panel=_PREPROCESSING,
    )
    trained: str | None = option(
        WORD,
        "Preprocessing in training: pillow:bilinear, or a pipeline. The audit measures the difference per pixel.",
        "--trained",
        metavar="CALL",
        complete="likes",
        panel=_PREPROCESSING,
    )
    progress: shared.Progress = shared.progress()
