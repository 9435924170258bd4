"""An audit as a page: what to do, and how each runtime computes each resize."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path

from ir_interp import resize_op
from ir_interp.diagnostic_codes import FAILURES, RULES, Severity
from ir_interp.errors import ReadError
from ir_interp.files.kinds import FileKind
from ir_interp.resize_op import count
from ir_interp.translation.translate import OF_SEVERITY

from ..audit.audit_report import TONES, Audit
from ..audit.audited_resizes import Audited, Finding, UnreadResize, by_runtimes
from ..audit.verdicts import Verdict, deviations
from ..conversion.next_steps import ToAct, mistaken, models_to_act, next_step
from ..predictions import runtimes_of
from ..runtimes.outcome import Kind
from .frame import (
    Content,
    E,
    Element,
    Provenance,
    code,
    details,
    folded,
    folded_section,
    grouped,
    making,
    mark,
    note,
    page,
    prose,
    section,
    table,
)
from .gallery import MOST, configuration, pictures_of

_MEASURE = (
    "same: as in the model's own runtime. A difference is the largest one on random values from 0 to 1. Cells marked "
    "run were measured; all others are predicted by the rules for the version that the table of runtimes names."
)


def audit_page(audit: Audit, provenance: Provenance, on: Sequence[str] = ()) -> Element:
    """Return a page of what to do, every resize with its verdicts, where these differ, and what was not read.

    The page of several files begins with a table of them, and the rest is folded; findings ``on`` count in it.
    """
    models = {*audit.files, *audit.empty}
    is_folder = len(models) + len(audit.errors) > 1
    content = [E.p(audit.summary), *_sections(audit, provenance)]
    if not is_folder:
        return page("Audit of resizes", _sentence(audit), *content)
    acts = list(models_to_act(audit.findings, on))
    verdict = _folder_sentence(len(acts), len(models), len(audit.errors))
    folds = [folded_section(part) if part.tag == "section" else part for part in content]
    return page("Audit of resizes", verdict, *folds, lead=_models(acts, sorted(models), audit.errors))


def _folder_sentence(acts: int, models: int, unread: int) -> list[Content]:
    """Return how many models need somebody to act."""
    more = f"; {count(unread, 'file')} could not be read" if unread else ""
    if acts:
        return [mark(f"{acts} of {count(models, 'model')} to act on", "bad"), more]
    return [mark("nothing to act on", "doubt" if unread else "good"), f" in {count(models, 'model')}{more}"]


def _models(acts: Sequence[ToAct], models: Sequence[str], errors: Sequence[ReadError]) -> list[Element]:
    """Return a table of the models to act on, and a fold of the others."""
    rows: list[tuple[str, Element]] = [
        (error.where, E.div(mark("not read", "bad"), f": {error.problem}")) for error in errors
    ]
    for act in acts:
        more = f"; {act.more} more" if act.more else ""
        rows.append((act.file, E.div(f"{act.problem}{more}", E.div(code(act.command)))))
    names = {act.file for act in acts}
    others = [name for name in models if name not in names]
    shown: list[Element] = []
    if rows:
        shown.append(table(("model", "first finding, and what to do"), rows, stacks=False))
        shown[0].set("class", "list")
    if others:
        fold = E.summary(f"{count(len(others), 'model')} with nothing to act on")
        shown.append(E.details(fold, *(E.div(name) for name in others)))
    return shown


def _sections(audit: Audit, provenance: Provenance) -> list[Element]:
    rows, findings = audit.rows, audit.findings
    return [
        *_remedies(findings),
        *_unread(audit.errors),
        *_unread_resizes(audit.unread),
        *_before(audit),
        *(_resizes(those) for those in by_runtimes(rows)),
        *_differences(rows, provenance),
        *(_runtimes(those) for those in by_runtimes(rows)),
        *_disagreements(rows),
        *_rules(findings),
        *_accepted(audit),
        making(provenance),
    ]


def _sentence(audit: Audit) -> list[Content]:
    """Return the verdict on all that was audited, in a sentence."""
    names = list(dict.fromkeys(row.label or Path(row.file).name for row in audit.rows))
    subject = names[0] if len(names) == 1 else count(len(names), "file")
    mistakes = sum(finding.code.startswith(FAILURES["mistake"]) for finding in audit.findings)
    more = f"; {count(mistakes, 'likely mistake')}" if mistakes else ""
    if any(resize.beyond for resize in audit.preprocessing):
        more += "; another resize stands before it than in training"
    more += f"; {count(len(audit.errors), 'file')} could not be read" if audit.errors else ""
    more += f"; {count(len(audit.unread), 'resize')} cannot be read" if audit.unread else ""
    changes = [kinds for row in audit.rows if (kinds := _changes(row, audit))]
    if changes:
        text = f"{len(changes)} of {count(len(audit.rows), 'resize')} will change or fail elsewhere: "
        return [mark("not portable", "bad"), f", {subject}: {text}{', '.join(_where(changes))}{more}"]
    if not audit.rows:
        return [mark("nothing to audit", "plain"), f": no resize was found{more}"]
    asked = "that you deploy to" if audit.options.deploy else "that was asked"
    text = f"{count(len(audit.rows), 'resize')}, the same in every runtime {asked}{more}"
    return [mark("same", "doubt" if more else "good"), f", {subject}: {text}"]


def _changes(row: Audited, audit: Audit) -> dict[str, Kind]:
    """Return the runtimes, by title, that do not compute a resize as it is, except those that nobody deploys to."""
    others = {
        finding.runtime
        for finding in audit.findings
        if audit.options.deploy
        and finding.severity is Severity.NOTE
        and (finding.file, finding.where) == (row.file, row.op.where)
    }
    return {
        row.titles.get(name, name): verdict.kind
        for name, verdict in row.verdicts.items()
        if verdict.kind is not Kind.SAME and name not in others
    }


def _where(changes: Sequence[Mapping[str, Kind]]) -> Iterator[str]:
    """Yield how many resizes come to what in which runtime."""
    counts = Counter(change for kinds in changes for change in kinds.items())
    for (title, kind), times in counts.items():
        yield f"{title}: {times} {kind.value}"


def _unread(errors: Sequence[ReadError]) -> Iterator[Element]:
    if errors:
        yield section("Not read", E.ul(*(E.li(str(error)) for error in errors)))


def _unread_resizes(rows: Sequence[UnreadResize]) -> Iterator[Element]:
    if rows:
        lines = [(row.name, E.span(*_observed(row)), row.problem) for row in rows]
        columns = ("resize", "runtimes that were run" if any(row.seen for row in rows) else "every runtime", "error")
        yield section("Resizes that cannot be read", table(columns, lines, sorts=True))


def _observed(row: UnreadResize) -> Iterator[Element]:
    """Yield what each runtime did with a resize that cannot be read, or that this is unknown."""
    for name, verdict in row.seen.items():
        yield E.div(f"{row.titles[name]}: ", mark(verdict.short, TONES[verdict.kind]))
    if not row.seen:
        yield mark(Kind.UNKNOWN.value, TONES[Kind.UNKNOWN])


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
        likeness = audit.preprocessing[0].likeness
        numbers = ("values that differ", "by more than 1", "by at most", "on average")
        caption = f"{likeness.first} in place of {likeness.second}"
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
        version = runtimes[name].version if name in runtimes else "none: it is run"  # an exporter
        lines.append((title, version, *(str(counts[kind] or "") for kind in Kind), str(run or "")))
    columns = ("runtime", "rules for", *kinds, "run")
    return section(
        f"Runtimes {_among(rows)}",
        table(columns, lines, numbers=(*kinds, "run"), caption="Resizes by runtime and verdict"),
    )


def _among(rows: Sequence[Audited]) -> str:
    kind = FileKind.of(rows[0].file)
    framework = kind.framework if kind else None
    if framework:
        return f"of {framework.title} models"
    return "of ONNX models" if rows[0].op.dialect == "onnx" else "of IRs"


def _disagreements(rows: Sequence[Audited]) -> Iterator[Element]:
    """Yield where an installed runtime did something else than predicted, if it did so anywhere."""
    lines = [
        (row.name, row.titles[name], str(row.predictions[name]), str(seen))
        for row in rows
        for name, seen in row.seen.items()
        if seen.kind is not row.predictions[name].kind
    ]
    if lines:
        yield section(
            "Prediction and run disagree", table(("resize", "runtime", "predicted", "run"), lines, sorts=True)
        )


def _resizes(rows: Sequence[Audited]) -> Element:
    titles, groups = rows[0].titles, grouped(rows, _identity)
    cells = [
        (_resize(group), *(_verdict(group[0].verdicts[name], name in group[0].seen) for name in titles))
        for group in groups
    ]
    verdicts = [_verdicts(group[0]) for group in groups]
    caption = "What each runtime computes; identical resizes share a row"
    return section(
        f"Resizes {_among(rows)}",
        note(_MEASURE),
        table(("resize", *titles.values()), cells, sorts=True, caption=caption, verdicts=verdicts),
    )


def _identity(row: Audited) -> tuple[Hashable, ...]:
    """Return what the row of a resize shows, except its name."""
    verdicts = tuple((str(verdict), name in row.seen) for name, verdict in row.verdicts.items())
    return (*_form(row), verdicts)


def _form(row: Audited) -> tuple[str, str]:
    op = row.op
    read = f"{op.dialect} {op.version}, input {resize_op.shape_text(op.shape)} {op.dtype or ''}"
    return read, resize_op.summary(op.spec)


def _verdicts(row: Audited) -> str:
    """Return the words that the filter finds a resize by: all but "same", which means the same everywhere."""
    kinds = dict.fromkeys(verdict.kind.value for verdict in row.verdicts.values())
    return ",".join(kind for kind in kinds if kind != Kind.SAME.value) or Kind.SAME.value


def _resize(group: Sequence[Audited]) -> Element:
    names = folded([row.name for row in group])
    return E.div(E.b(names[0]), *names[1:], *map(E.small, _form(group[0])))


def _verdict(verdict: Verdict, was_run: bool) -> Element:
    details = [E.small(text) for text in (verdict.reason, "run" if was_run else "") if text]
    return E.div(mark(verdict.short, TONES[verdict.kind]), *details)


def _differences(rows: Sequence[Audited], provenance: Provenance) -> Iterator[Element]:
    """Yield pictures of the resizes that differ or fail somewhere: each configuration once, and of many only some."""
    changed = [row for row in rows if any(verdict.kind is not Kind.SAME for verdict in row.verdicts.values())]
    # Dozens of equal resizes would be dozens of equal pictures.
    groups = grouped(changed, lambda row: (configuration(row.op), _verdicts(row)))
    parts = [_difference(group, provenance.image) for group in groups[:MOST]]
    left = len(groups) - len(parts)
    more = f"{left} more configurations are not drawn here; `ir-interp plot` draws one"
    if parts:
        yield section("Where results differ", *parts, *([E.p({"class": "note"}, *prose(more))] if left else []))


def _difference(group: Sequence[Audited], image: Path | None) -> Element:
    row = group[0]
    bad = {name: verdict for name, verdict in row.verdicts.items() if verdict.kind is not Kind.SAME}
    lines = (E.li(row.titles.get(name, name), ": ", str(verdict)) for name, verdict in bad.items())
    title = row.name + (f", and {len(group) - 1} like it" if len(group) > 1 else "")
    other = next((deviation for deviation in deviations(row.op) if deviation[0] in _deviating(row)), None)
    shown = pictures_of(Path(row.file), row.op, other, image)
    return details([title], E.p(resize_op.summary(row.op.spec)), E.ul(*lines), *shown, is_open=True,
                   verdicts=_verdicts(row))  # fmt: skip


def _deviating(row: Audited) -> set[str]:
    """Return the titles of the runtimes whose results differ."""
    return {row.titles.get(name, name) for name, verdict in row.verdicts.items() if verdict.kind is Kind.DIFFERS}


def _remedies(findings: Sequence[Finding]) -> Iterator[Element]:
    """Yield the findings, identical ones in a row, with what to do about each."""
    if findings:
        files = mistaken(findings)
        groups = grouped(findings, lambda finding: (finding.code, finding.severity, finding.message))
        columns = ("code", "severity", "what to do", "where")
        lines = (_finding(group, next_step(group[0], files)) for group in groups)
        yield section("What to do", table(columns, lines, sorts=True))


def _finding(group: Sequence[Finding], step: str) -> tuple[Content, ...]:
    finding, severity = group[0], group[0].severity
    link = E.a(finding.code, href=f"#{finding.code}")
    what = E.div(E.b(finding.message), E.div(code(step)))
    places = E.div(*folded([finding.where for finding in group]))
    return link, mark(severity.value, OF_SEVERITY[severity]), what, places


def _accepted(audit: Audit) -> Iterator[Element]:
    """Yield the findings that a baseline accepts, and what it accepts without need."""
    known = [f"{finding.where}: {finding.code} {finding.message}" for finding in audit.accepted]
    parts = [
        details([f"{count(len(lines), what)}"], E.ul(*(E.li(line) for line in lines)))
        for what, lines in (("accepted finding", known), ("outdated acceptance", [entry.text for entry in audit.gone]))
        if lines
    ]
    if parts:
        yield section("Baseline", *parts)


def _rules(findings: Sequence[Finding]) -> Iterator[Element]:
    """Yield what the codes of findings mean."""
    codes = sorted({finding.code for finding in findings})
    if codes:
        yield section("What the codes mean", *map(_rule, codes))


def _rule(code: str) -> Element:
    rule = RULES[code]
    part = details([f"{code}: {rule.summary}"], E.p(*prose(rule.story)), E.p(*prose(rule.remedy)), is_open=True)
    part.set("id", code)
    return part
