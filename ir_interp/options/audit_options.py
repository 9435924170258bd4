"""What an audit can be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ir_interp.diagnostic_codes import Severity
from ir_interp.files.kinds import FileKind
from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import PATH, SEVERITIES, SWITCH, WORD, WORDS, file, member

REPORT, RESULTS = "report", "results"
"""The places where an option has an effect: a report on all models, a file with one result for each."""


class AuditFormat(Enum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What to ask of every model; ``ir_interp.audit`` says what each option means."""

    run: bool = option(SWITCH, "Run the installed runtimes as well, and compare.", "--run")
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes()
    runtimes: tuple[str, ...] | None = option(
        WORDS,
        "Only these: onnxruntime, openvino, tensorrt, opencv-dnn, ...; installed: all that are.",
        "--runtime",
        default=None,
        complete="runtimes",
    )
    select: tuple[str, ...] = option(
        WORDS, "Codes to report, or their beginnings: IRI02.", "--select", complete="codes"
    )
    ignore: tuple[str, ...] = option(WORDS, "Codes not to report, or their beginnings.", "--ignore", complete="codes")
    fail_on: tuple[str, ...] = shared.of_command_line(
        WORDS,
        "What makes the exit code 1: differs, refused, unknown, mistake, or codes. Default: every finding but notes.",
        "--fail-on",
        complete="failures",
    )
    severities: Mapping[str, Severity] = shared.of_command_line(
        SEVERITIES,
        "How much a runtime's verdicts matter: tensorrt=note (or warning, error).",
        "--severity",
        decides=True,
    )
    style: AuditFormat | None = shared.of_command_line(
        member(AuditFormat, "AuditFormat | str", "FORMAT"),
        "text (the default), json, github or sarif.",
        "--format",
        default=None,
    )
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    jobs: int = shared.jobs("Processes that share the files.", "--jobs")
    results: Path | None = shared.results(places=(RESULTS,))
    table: Path | None = shared.of_command_line(
        file("table", FileKind.CSV, FileKind.PARQUET),
        "Also write the results as a table, .csv or .parquet, with a row for each resize and runtime.",
        "--table",
        places=(RESULTS,),
    )
    scheduler: str | None = shared.scheduler(places=(RESULTS,))
    time_limit: int | None = shared.time_limit(places=(RESULTS,))
    html: Path | None = shared.html(places=(REPORT,))
    image: Path | None = option(
        PATH, "For --html, an image that shows what changes; for --preprocess, one to resize.", "--image"
    )
    preprocess: str | None = option(
        WORD,
        "What stands before the models as deployed: opencv:linear, or a pipeline, preprocessor_config.json:pil.",
        "--preprocess",
    )
    trained: str | None = option(
        WORD,
        "What stood there in training: pillow:bilinear, or a pipeline. Reports what the difference costs a pixel.",
        "--trained",
    )
    progress: shared.Progress = shared.progress()
