"""``ir-interp audit``: what every runtime makes of every resize, before anything is converted."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.cli import fleet, options, progress
from ir_interp.errors import IrInterpError, closest
from ir_interp.files.atomic import check_outputs
from ir_interp.rules import RULES, Severity
from ir_interp.text.names import shown
from ir_interp.views.describe import count

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Cell, Console
    from ir_interp.converters.audit.audit_report import Audit, Options
    from ir_interp.converters.audit.findings import Audited

EXAMPLES = """
Examples:

  ir-interp audit model.onnx

  ir-interp audit models/ --jobs 2 --fail-on differs --fail-on mistake

  ir-interp audit models/ --severity tensorrt=note --format sarif

  ir-interp audit zoo/ @more.txt --jobs 8 --results zoo.jsonl

  ir-interp audit model.onnx --run --shape x:1,3,640,640 --runtime openvino --html report.html --image photo.png

  ir-interp audit model.onnx --preprocess opencv:linear --trained pillow:bilinear --image photo.png
"""


class Format(Enum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def _runtimes(incomplete: str) -> list[str]:
    from ir_interp.converters.forecasts.runtimes_asked import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


def _codes(incomplete: str) -> list[str]:
    return [code for code in RULES if code.startswith(incomplete)]


def _failures(incomplete: str) -> list[str]:
    return [word for word in ("differs", "refused", "unknown", "mistake", *RULES) if word.startswith(incomplete)]


def audit(
    models: Annotated[
        list[Path], typer.Argument(help=".onnx models, IRs (.xml), .tflite files, folders of them, @list.txt.")
    ],
    run: Annotated[bool, typer.Option("--run", help="Run the installed runtimes as well, and compare.")] = False,
    shape: options.InputShapes = None,
    runtime: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these: onnxruntime, openvino, tensorrt, opencv-dnn, ...; installed: all that are.",
            autocompletion=_runtimes,
        ),
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(help="Codes to report, or their beginnings: IRI02.", autocompletion=_codes)
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Codes not to report, or their beginnings.", autocompletion=_codes)
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            help="What makes the exit code 1: differs, refused, unknown, mistake, or codes. "
            "Default: every finding but notes.",
            autocompletion=_failures,
        ),
    ] = None,
    severity: Annotated[
        list[str] | None,
        typer.Option(help="How much a runtime's verdicts matter: tensorrt=note (or warning, error)."),
    ] = None,
    style: Annotated[
        Format | None, typer.Option("--format", metavar="FORMAT", help="text (the default), json, github or sarif.")
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    jobs: Annotated[
        int, typer.Option(parser=options.positive, metavar="INTEGER", help="Processes that share the files.")
    ] = 1,
    results: options.Results = None,
    scheduler: options.Scheduler = None,
    time_limit: options.TimeLimit = None,
    html: options.Html = None,
    image: Annotated[
        Path | None,
        typer.Option("--image", help="For --html, an image that shows what changes; for --preprocess, one to resize."),
    ] = None,
    preprocess: Annotated[
        str | None, typer.Option(help="The resize before the models, as deployed: opencv:linear. With --trained.")
    ] = None,
    trained: Annotated[
        str | None, typer.Option(help="That of their training, pillow:bilinear: what the difference costs a pixel.")
    ] = None,
) -> int:
    """Say what each runtime makes of each resize, and what is likely a mistake. Exit code 1 where anything is found."""
    from ir_interp.converters.audit.audit_report import Audit
    from ir_interp.converters.audit.auditing import models as expanded

    form, severities = options.style(style, as_json, quiet), _severities(severity or [])
    Audit(rows=(), findings=()).with_severities(severities).fails(*(fail_on or ()))  # wrong words end it here
    if results is not None:
        unused = {"--html": html, "--severity": severity, "--preprocess": preprocess, "--image": image}
        fleet.refuse(unused | {f"--format {form}": form not in ("text", "json", "none")}, "with --results")
        check_outputs([results])
        setting = _setting(run, shape or [], runtime, select or (), ignore or ())
        crew = {"jobs": jobs, "scheduler": scheduler, "limit": time_limit}
        summary, is_read = fleet.run(models, setting, results, crew, form=form, quiet=quiet)
        return int(summary.fails(*(fail_on or ()))) if is_read else 2
    fleet.refuse({"--scheduler": scheduler, "--time-limit": time_limit}, "without --results")
    if html or preprocess is None:
        options.check_image(image, html)
    check_outputs([html] if html else [], [*expanded(models), *([image] if image else [])])
    with progress.bar(quiet) as report_progress:
        found = ir_interp.audit(
            models,
            run=run,
            shapes=options.shapes(shape or []),
            runtimes=runtime,
            select=select or (),
            ignore=ignore or (),
            jobs=jobs,
            preprocess=preprocess,
            trained=trained,
            image=image if preprocess else None,
            progress=report_progress,
        ).with_severities(severities)
    if html:
        from ir_interp.converters.pages import audit_page, frame
        from ir_interp.converters.pages.made import Made

        made = Made(command=options.command(), models=expanded(models), image=image)
        frame.save(audit_page.audit_page(found, made), html)
    _print(found, form)
    for error in found.errors:
        print(f"error: {shown(str(error))}", file=sys.stderr)
    return 2 if found.errors else int(found.fails(*(fail_on or ())))


def _setting(
    run: bool, shape: list[str], runtime: list[str] | None, select: Sequence[str], ignore: Sequence[str]
) -> Options:
    from ir_interp.converters.audit.audit_report import Options

    return Options(
        run=run,
        runtimes=None if runtime is None else tuple(runtime),
        select=tuple(select),
        ignore=tuple(ignore),
        shapes=options.shapes(shape),
    )


def _severities(words: Sequence[str]) -> dict[str, Severity]:
    """Return ``tensorrt=note`` and the like by runtime. Raises IrInterpError for anything else."""
    known, named = {each.value: each for each in Severity}, {}
    for word in words:
        runtime, equals, level = word.partition("=")
        if not equals or level not in known:
            problem = closest(level, known) if equals else "expected RUNTIME=SEVERITY, as in tensorrt=note"
            raise IrInterpError(f"--severity {word!r}: {problem}")
        named[runtime] = known[level]
    return named


def _print(found: Audit, form: str) -> None:
    from ir_interp.converters.audit.formats import FORMATS

    if form in FORMATS:
        print(FORMATS[form](found))
    elif form == "text":
        _show(found)


def _show(found: Audit) -> None:
    from ir_interp.cli.terminal import Console
    from ir_interp.converters.audit.findings import by_runtimes

    console = Console()
    for those in by_runtimes(found.rows):
        _show_files(console, those)
    for cost in found.preprocessing:
        if not cost.likeness.unequal:
            console.say(f"{cost.where}: {cost.text}")
    for finding in found.findings:
        console.say(f"{finding.where}: {finding.code} {finding.message}")
    codes = ", ".join(sorted({each.code for each in found.findings}))
    more = f" ({codes}; `ir-interp explain CODE` says more)" if codes else ""
    unread = f", {count(len(found.errors), 'file')} not read" if found.errors else ""
    console.say(f"{count(len(found.rows), 'resize')}, {count(len(found.findings), 'finding')}{unread}{more}")


def _show_files(console: Console, rows: Sequence[Audited]) -> None:
    """Print a table for each file; the files themselves are told once, above it."""
    ran = ["run"] if any(row.ran for row in rows) else []
    columns = ("resize", *rows[0].titles.values(), *ran)
    for label, those in groupby(rows, key=lambda row: row.label):
        cells = [(row.op.name or row.op.where, *_verdicts(row), *([row.ran] if ran else [])) for row in those]
        console.table(columns, cells, title=label)
    seen = {name for row in rows for name in row.seen}
    idle = [title for name, title in rows[0].titles.items() if name not in seen]
    if seen and idle:
        console.say(f"told, and not run: {', '.join(idle)}")


def _verdicts(row: Audited) -> Iterator[Cell]:
    from ir_interp.cli.terminal import Marked
    from ir_interp.converters.audit.formats import TONES

    for name in row.titles:
        verdict = row.verdicts[name]
        yield Marked(verdict.short, TONES[verdict.kind])
