"""An audit as a whole: which models, which resizes of these, and which findings are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from ir_interp.errors import ReadError, SpecError, closest
from ir_interp.rules import RULES

from ..files import Source, as_file, shown_path
from ..forecasts.table import RUNTIMES
from ..report import Progress, silent
from .audit import Audited, Finding, models
from .jobs import in_processes
from .shapes import check


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is asked of an audit; ``ir_interp.audit`` says what each means."""

    run: bool = False
    runtimes: tuple[str, ...] | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    jobs: int = 1
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    progress: Progress = silent

    def __post_init__(self) -> None:
        for word in self.runtimes or ():
            if word not in RUNTIMES:
                raise SpecError(f"unknown runtime {word!r}; {closest(word, RUNTIMES)}")
        for word in (*self.select, *self.ignore):
            if not any(code.startswith(word) for code in RULES):
                raise SpecError(f"no code begins with {word!r}; {closest(word, RULES)}")
        if self.jobs < 1:
            raise SpecError(f"jobs is {self.jobs}; expected at least 1")

    def wants(self, code: str) -> bool:
        """Say whether a code is selected, and not ignored more precisely than it is selected."""
        chosen = max((len(each) for each in self.select or ("",) if code.startswith(each)), default=-1)
        unwanted = max((len(each) for each in self.ignore if code.startswith(each)), default=-1)
        return chosen > unwanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Every resize of some models with its verdicts, the findings that are wanted, and what could not be read."""

    rows: tuple[Audited, ...]
    findings: tuple[Finding, ...]
    errors: tuple[ReadError, ...] = ()


def audited(sources: Sequence[Source], options: Options) -> Audit:
    """Return the audit of some models, and of those in folders; see ``ir_interp.audit``."""
    with ExitStack() as stack:
        paths = [stack.enter_context(as_file(source, "models")) for source in sources]
        names = {str(path): str(shown_path(each, path)) for each, path in zip(sources, paths, strict=True)}
        files = models(paths)
        if options.shapes:
            check(files, options.shapes)
        rows, errors = in_processes(
            files,
            options.jobs,
            run=options.run,
            runtimes=options.runtimes,
            lengths=options.shapes,
            progress=options.progress,
        )
    rows = [replace(row, file=names.get(row.file, row.file)) for row in rows]
    asked = ((*row.findings, *(row.on_request if options.select else ())) for row in rows)
    findings = tuple(each for row in asked for each in row if options.wants(each.code))
    return Audit(rows=tuple(rows), findings=findings, errors=tuple(errors))
