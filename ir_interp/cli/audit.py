"""``ir-interp audit``: how every runtime computes every resize, before anything is converted."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.cli import fleet, json_schemas, progress
from ir_interp.cli.audit_text import show
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import check_image, command, printed_form
from ir_interp.cli.project_file import project_of
from ir_interp.errors import IrInterpError
from ir_interp.files.atomic import check_outputs
from ir_interp.files.kinds import FOREIGN, IN_FOLDERS, listed
from ir_interp.options.audit_options import REPORT, RESULTS, AuditOptions
from ir_interp.options.declaration import check_place, keywords
from ir_interp.options.finding_codes import ON_REQUEST
from ir_interp.text.names import printable

if TYPE_CHECKING:
    from ir_interp.converters.audit.audit_report import Audit

EXAMPLES = """
ir-interp audit model.onnx
ir-interp audit models/ --jobs 2 --fail-on differs,mistake
ir-interp audit models/ --severity tensorrt=note --format sarif
ir-interp audit zoo/ @more.txt --jobs 8 --results zoo.jsonl
ir-interp audit model.onnx --run --shape x:1,3,640,640 --runtime openvino --html report.html --image photo.png
ir-interp audit model.onnx --preprocess opencv:linear --trained pillow:bilinear --image photo.png
"""
_BY_NAME = [kind for kind in FOREIGN if kind not in IN_FOLDERS]


@with_options(AuditOptions)
def audit(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL",
            help=f"Files ({listed(IN_FOLDERS)}), folders of them, @list.txt; {listed(_BY_NAME)} by name.",
        ),
    ],
    options: AuditOptions,
) -> int:
    """Predict how each runtime computes each resize; find mistakes.

    Exit code 1 if there are findings; notes do not count. `ir-interp explain CODE` explains a finding.
    """
    from ir_interp.converters.audit.audit_report import check_severities
    from ir_interp.converters.audit.auditing import models as expanded

    form = printed_form(options)
    if not options.isolated:
        # The project file counts before any check, which must see the options that apply.
        options = project_of(expanded(models)).settings(options)
    check_severities(options)
    if ON_REQUEST in options.fail_on and not any(map(ON_REQUEST.startswith, options.select)):
        raise IrInterpError(f"--fail-on {ON_REQUEST} has no effect without --select {ON_REQUEST}")
    if options.preprocess is None and not options.html:
        check_image(options.image, options.html)
    if options.results is not None:
        return _audit_fleet(models, options.results, options, form)
    check_place(options, REPORT, "without --results")
    html, image = options.html, options.image
    if html or options.preprocess is None:
        check_image(image, html)
    check_outputs([html] if html else [], [*expanded(models), *([image] if image else [])])
    with progress.bar(options.quiet) as report_progress:
        # Without --preprocess, the image is for the pictures of the page.
        compared = image if options.preprocess else None
        complete = replace(options, image=compared, progress=report_progress)
        report = ir_interp.audit(models, **keywords(complete)).with_severities(options.severities)
        report = report.without(options.per_file_ignores)
    if html:
        from ir_interp.converters.pages import audit_page, frame
        from ir_interp.converters.pages.provenance import Provenance

        provenance = Provenance(command=command(), models=expanded(models), image=image)
        frame.save(audit_page.audit_page(report, provenance), html)
    _print(report, form)
    if form == "text":
        fleet.print_skipped(report.skipped)
    for error in report.errors:
        print(f"error: {printable(str(error))}", file=sys.stderr)
    return 2 if report.errors else int(report.fails(*options.fail_on))


def _audit_fleet(models: list[Path], results: Path, options: AuditOptions, form: str) -> int:
    """Write the result of each model to a file, and print what they come to."""
    from ir_interp.converters.fleet.work import Auditing

    if form not in ("text", "json", "none"):
        raise IrInterpError(f"--format {form} has no effect with --results")
    check_place(options, RESULTS, "with --results")
    check_outputs([path for path in (results, options.table) if path])
    summary, is_read = fleet.run(models, Auditing(options=options), options, results, form)
    return int(summary.fails(*options.fail_on)) if is_read else 2


def _print(report: Audit, form: str) -> None:
    from ir_interp.converters.audit.formats import FORMATS, record

    if form == "json":
        print(json_schemas.printed(record(report)))
    elif form in FORMATS:
        print(FORMATS[form](report))
    elif form == "text":
        show(report)
