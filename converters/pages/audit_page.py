"""An audit as a page: what each runtime makes of each resize, and what to know about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ir_interp.diagnostic_codes import RULES
from ir_interp.errors import ReadError
from ir_interp.options.finding_codes import FAILURES
from ir_interp.views import describe
from ir_interp.views.describe import count
from ir_interp.views.marks import OF_SEVERITY

from ..audit.audit_report import Audit
from ..audit.findings import Audited, Finding, by_runtimes
from ..audit.formats import TONES
from ..audit.verdicts import Verdict
from ..forecasts.runtimes_asked import runtimes_of
from ..runtimes.outcome import Kind
from .frame import Content, E, Element, mark, note, page, prose, section, table
from .gallery import damage, elsewhere, gallery
from .provenance import Made, making

_MEASURE = (
    "same: what the model's own runtime computes. A difference is the largest of random values from 0 to 1. What was "
    "run says so; all else is forecast by the rules for the version named."
)


def audit_page(audit: Audit, made: Made) -> Element:
    """Return a page of every resize with its verdicts, of the findings that were chosen, and what was not read."""
    rows, findings, unread = audit.rows, audit.findings, audit.errors
    files = len({row.file for row in rows})
    counts = f"{count(len(rows), 'resize')} in {count(files, 'file')}, {count(len(findings), 'finding')}"
    return page(
        "Audit of resizes",
        _sentence(audit),
        E.p(counts + (f"; {count(len(unread), 'file')} could not be read" if unread else "")),
        note(_MEASURE),
        *_unread(unread),
        *_before(audit),
        *(_runtimes(those) for those in by_runtimes(rows)),
        *_disagreements(rows),
        *(_resizes(those) for those in by_runtimes(rows)),
        *_findings(findings),
        *damage(elsewhere(row.op for row in rows), made.image),
        *gallery((Path(row.file), row.op) for row in rows),
        making(made),
    )


def _sentence(audit: Audit) -> list[Content]:
    """Return the verdict on all that was audited, in a sentence."""
    names = list(dict.fromkeys(row.label or Path(row.file).name for row in audit.rows))
    subject = names[0] if len(names) == 1 else count(len(names), "file")
    mistakes = sum(finding.code.startswith(FAILURES["mistake"]) for finding in audit.findings)
    more = f"; {count(mistakes, 'likely mistake')}" if mistakes else ""
    if any(resize.beyond for resize in audit.preprocessing):
        more += "; another resize stands before it than in training"
    more += f"; {count(len(audit.errors), 'file')} could not be read" if audit.errors else ""
    changed = [row for row in audit.rows if any(verdict.kind is not Kind.SAME for verdict in row.verdicts.values())]
    if changed:
        text = f"{len(changed)} of {count(len(audit.rows), 'resize')} will change or fail elsewhere: "
        return [mark("not portable", "bad"), f", {subject}: {text}{', '.join(_where(audit.rows))}{more}"]
    if not audit.rows:
        return [mark("nothing to audit", "plain"), f": no resize was found{more}"]
    text = f"{count(len(audit.rows), 'resize')}, the same in every runtime that was asked{more}"
    return [mark("same", "doubt" if more else "good"), f", {subject}: {text}"]


def _where(rows: Sequence[Audited]) -> Iterator[str]:
    """Yield how many resizes come to what in which runtime, but for those that stay the same."""
    counts = Counter((row.titles.get(name, name), each.kind) for row in rows for name, each in row.verdicts.items())
    for (title, kind), times in counts.items():
        if kind is not Kind.SAME:
            yield f"{title}: {times} {kind.value}"


def _unread(errors: Sequence[ReadError]) -> Iterator[Element]:
    if errors:
        yield section("Not read", E.ul(*(E.li(str(error)) for error in errors)))


def _before(audit: Audit) -> Iterator[Element]:
    """Yield what the resize before the models costs, where that was asked for."""
    if audit.preprocessing:
        rows = [
            (
                resize.where,
                resize.image,
                f"{resize.likeness.unequal} of {resize.likeness.count}",
                str(resize.beyond),
                f"{resize.likeness.largest:g}",
                f"{resize.likeness.mean:.3g}",
            )
            for resize in audit.preprocessing
        ]
        first = audit.preprocessing[0].likeness
        numbers = ("values that differ", "by more than 1", "by at most", "in the mean")
        caption = f"{first.first} in place of {first.second}"
        yield section(
            "The resize before the model", table(("input", "image", *numbers), rows, numbers=numbers, caption=caption)
        )


def _runtimes(rows: Sequence[Audited]) -> Element:
    """Return how many resizes come to which verdict in which runtime."""
    runtimes = runtimes_of(rows[0].op)
    kinds = [kind.value for kind in Kind]
    lines = []
    for name, title in rows[0].titles.items():
        counts = Counter(row.verdicts[name].kind for row in rows)
        run = sum(name in row.seen for row in rows)
        lines.append((title, runtimes[name].version, *(str(counts[kind] or "") for kind in Kind), str(run or "")))
    columns = ("runtime", "rules for", *kinds, "run")
    return section(
        f"Runtimes {_among(rows)}",
        table(columns, lines, numbers=(*kinds, "run"), caption="Resizes by runtime and verdict"),
    )


def _among(rows: Sequence[Audited]) -> str:
    return "of ONNX models" if rows[0].op.dialect == "onnx" else "of IRs"


def _disagreements(rows: Sequence[Audited]) -> Iterator[Element]:
    """Yield where an installed runtime did otherwise than was forecast, if it did so anywhere."""
    lines = [
        (row.name, row.titles[name], str(row.forecast[name]), str(seen))
        for row in rows
        for name, seen in row.seen.items()
        if seen.kind is not row.forecast[name].kind
    ]
    if lines:
        yield section("Forecast and run disagree", table(("resize", "runtime", "forecast", "run"), lines))


def _resizes(rows: Sequence[Audited]) -> Element:
    titles = rows[0].titles
    cells = ((_resize(row), *(_verdict(row.verdicts[name], name in row.seen) for name in titles)) for row in rows)
    return section(
        f"Resizes {_among(rows)}",
        table(("resize", *titles.values()), cells, caption="What each runtime makes of each resize"),
    )


def _resize(row: Audited) -> Element:
    op = row.op
    form = f"{op.dialect} {op.version}, input {describe.shape_text(op.shape)} {op.dtype or ''}"
    return E.div(E.b(row.name), E.small(form), E.small(describe.summary(op.spec)))


def _verdict(verdict: Verdict, was_run: bool) -> Element:
    details = [E.small(text) for text in (verdict.reason, "run" if was_run else "") if text]
    return E.div(mark(verdict.short, TONES[verdict.kind]), *details)


def _findings(findings: Sequence[Finding]) -> Iterator[Element]:
    """Yield the findings, and what their codes mean."""
    if not findings:
        return
    yield section(
        "Findings",
        table(("code", "severity", "where", "what"), map(_finding, findings), caption="Where, and what to do"),
    )
    codes = sorted({finding.code for finding in findings})
    yield section("What the codes mean", *(part for code in codes for part in _rule(code)))


def _finding(finding: Finding) -> tuple[Content, ...]:
    severity = finding.severity
    link = E.a(finding.code, href=f"#{finding.code}")
    what = E.div(finding.message, E.small("What to do: ", *prose(finding.rule.remedy)))
    return link, mark(severity.value, OF_SEVERITY[severity]), finding.where, what


def _rule(code: str) -> tuple[Element, ...]:
    rule = RULES[code]
    return (
        E.h3(f"{code}: {rule.summary}", id=code),
        E.p(*prose(rule.story)),
        E.p(E.b("What to do: "), *prose(rule.remedy)),
    )
