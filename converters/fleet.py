"""Thousands of models: one record for each as it finishes, on processes or a cluster, and one summary at the end.

The exporter of a model is recorded near the beginning of its file; nothing else of it is read. The size of the summary
does not grow with the number of models. Results are a file with one line of JSON per model, which need not be processed
again, or a flat table with a row for each resize and runtime. Work is an audit or a conversion, on the processes of
``workers`` or those of a dask.distributed cluster.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ir_interp.diagnostic_codes import Severity, fails
from ir_interp.errors import IrInterpError, ReadError, is_refusal, leaves
from ir_interp.files.kinds import FileKind, opened
from ir_interp.files.memory import unforeseen
from ir_interp.files.writing import OutputError, opened_alone, replacing
from ir_interp.options.declaration import identity
from ir_interp.options.model_options import AuditOptions, ConvertOptions
from ir_interp.plain_text import flags_stay
from ir_interp.records import Json, Record

from . import workers
from .audit import audit_report
from .conversion.converting import convert
from .conversion.next_steps import ToAct, alone, mistaken, next_step
from .conversion.routes import check_options, conversion_kinds, has_the_form
from .reports import Progress, silent

UNKNOWN = "unknown"
"""The name for an exporter that a file does not record."""

_HEAD = 2**12  # bytes that are read: the producer stands in front of the graph
_PRODUCER, _VERSION, _GRAPH = 2, 3, 7  # fields of ONNX's ModelProto
_TEXT = 2  # the wire type of strings and messages


def exporter(path: Path) -> str:
    """Return the producer of a model and its version, of an IR the version; "unknown" if not recorded."""
    kind = FileKind.of(path)
    if kind and kind.framework:
        return UNKNOWN if kind is FileKind.TFLITE else kind.framework.title  # a .tflite records no converter
    try:
        with opened(path) as file:
            head = file.read(_HEAD)
    except OSError:
        return UNKNOWN
    if kind is FileKind.IR:
        match = re.search(rb"<net[^>]*\sversion=\"(\d+)\"", head)
        return f"OpenVINO IR v{match[1].decode()}" if match else UNKNOWN
    texts = _texts(head)
    return " ".join(filter(None, (texts.get(_PRODUCER), texts.get(_VERSION)))) or UNKNOWN


def _texts(head: bytes) -> dict[int, str]:
    """Return the strings of a protocol buffers message that stand before its graph, by field."""
    texts: dict[int, str] = {}
    at = 0
    while at < len(head):
        tag, at = _number(head, at)
        field, wire = tag >> 3, tag & 7
        if wire == 0:
            _, at = _number(head, at)
        elif wire == _TEXT and field != _GRAPH:
            length, at = _number(head, at)
            texts[field] = head[at : at + length].decode(errors="replace")
            at += length
        else:
            break
    return texts


def _number(head: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and the place behind it."""
    value = shift = 0
    while at < len(head):
        byte = head[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            break
    return value, at


@dataclass(slots=True)
class Summary(Record):
    """Counts over the records of models: by runtime and verdict, by the code of findings, by exporter, by grade.

    ``severities`` are those of the findings by code. ``errors`` are models that cannot be read, or not be converted; of
    these, ``refused`` have no exact form. ``skipped`` already have the format that was asked for. The findings ``on``
    make a model one ``to_act`` on: of these, the first by name are kept, and ``models_to_act`` is their number.
    """

    KEYS = (
        "models",
        "resizes",
        "errors",
        "refused",
        "skipped",
        "models_to_act",
        "to_act",
        "by_runtime as verdicts",
        "by_code as findings",
        "most_exporters as exporters",
        "most_grades as grades",
    )

    models: int = 0
    resizes: int = 0
    errors: int = 0
    refused: int = 0
    skipped: int = 0
    models_to_act: int = 0
    to_act: list[ToAct] = field(default_factory=list)
    on: tuple[str, ...] = ()
    verdicts: dict[str, Counter[str]] = field(default_factory=dict)
    findings: Counter[str] = field(default_factory=Counter)
    exporters: Counter[str] = field(default_factory=Counter)
    grades: Counter[str] = field(default_factory=Counter)
    severities: dict[str, set[Severity]] = field(default_factory=dict)

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one model."""
        self.models += 1
        self.errors += bool(record["errors"])
        self.refused += record.get("is_refused", False)
        self.exporters[record["exporter"]] += 1
        self.resizes += len(record["resizes"])
        for resize in record["resizes"]:
            for runtime, verdict in resize.get("verdicts", {}).items():
                self.verdicts.setdefault(runtime, Counter())[verdict["verdict"]] += 1
            if "grade" in resize:
                self.grades[resize["grade"]] += 1
        for finding in record.get("findings", ()):
            self.findings[finding["code"]] += 1
            self.severities.setdefault(finding["code"], set()).add(Severity(finding["severity"]))
        act = _to_act(record, self.on)
        if act is not None:
            self.models_to_act += 1
            self.to_act = sorted((*self.to_act, act), key=lambda each: each.file)[:_KEPT]

    def fails(self, *on: str) -> bool:
        """Return whether there is a finding that matters; ``on`` is that of ``Audit.fails``."""
        return any(fails(code, severity, on) for code, severities in self.severities.items() for severity in severities)

    @property
    def by_runtime(self) -> Mapping[str, Mapping[str, int]]:
        """The verdicts, by runtime in alphabetic order."""
        return dict(sorted(self.verdicts.items()))

    @property
    def by_code(self) -> dict[str, int]:
        """The findings in the order of their codes."""
        return dict(sorted(self.findings.items()))

    @property
    def most_exporters(self) -> dict[str, int]:
        """The exporters, the most frequent first."""
        return dict(self.exporters.most_common())

    @property
    def most_grades(self) -> dict[str, int]:
        """The grades, the most frequent first."""
        return dict(self.grades.most_common())

    def tables(self) -> Iterable[tuple[str, list[tuple[str, str]]]]:
        """Yield each kind of count as a title and rows."""
        yield "runtimes", [(name, _counted(counts)) for name, counts in sorted(self.verdicts.items())]
        yield "findings", [(code, str(count)) for code, count in self.by_code.items()]
        yield "exporters", [(name, str(count)) for name, count in self.exporters.most_common(20)]
        yield "grades", [(name, str(count)) for name, count in self.most_grades.items()]


def _to_act(record: Mapping[str, Any], on: Sequence[str]) -> ToAct | None:
    """Return what to do about a model; None if there is nothing to do."""
    findings = [
        finding for finding in record.get("findings", ()) if fails(finding["code"], Severity(finding["severity"]), on)
    ]
    if not (record["errors"] or findings):
        return None
    more = len(record["errors"]) + len(findings) - 1
    if record["errors"]:
        problem = str(record["errors"][0]["message"]).removeprefix(f"{Path(record['file']).name}: ")
        command = record.get("command", "")
        return ToAct(file=record["file"], problem=problem, more=more, command=command, is_error=True)
    first = findings[0]
    problem = f"{first['code']} {first['message']}"
    return ToAct(file=record["file"], problem=problem, more=more, command=first.get("command", ""))


_KEPT = 20  # models to act on that a summary names


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())


class Results:
    """The lines of a file, and those that are added. A truncated last line is computed again.

    ``setting`` are the options that the results depend on; lines of another setting do not count as done. A record
    counts for the file that it names while that has the same size and time.
    """

    def __init__(self, path: Path, setting: str) -> None:
        self._path = path
        self._setting = setting
        self._done: dict[str, tuple[int, int]] = {}  # offset and size of a record in the file
        self._file = opened_alone(path)
        try:
            self._read()
        except BaseException:
            self._file.close()
            raise

    def _read(self) -> None:
        at = 0
        for number, line in enumerate(self._file, start=1):
            if _is_half(line):
                break
            try:
                record = json.loads(line)
                file_name, setting = str(record["file"]), record["setting"]
                _ = record["stamp"]
                Summary().add(record)  # as a record of this program can be
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                raise ReadError(
                    f"line {number} is not a result of a model; choose another name", str(self._path)
                ) from None
            if not line.endswith(b"\n"):
                break
            if setting == self._setting:
                self._done[file_name] = (at, len(line))
            at += len(line)
        # An interrupted run may have left half a line, to which the next record would be appended.
        self._file.truncate(at)

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def done(self, paths: list[Path]) -> Iterator[tuple[Path, dict[str, object]]]:
        """Yield the files that have not changed since, with their records."""
        for path in paths:
            if str(path) in self._done:
                at, length = self._done[str(path)]
                self._file.seek(at)
                record = json.loads(self._file.read(length))
                if record["stamp"] == stamp(path):
                    yield path, record

    def add(self, record: Mapping[str, object]) -> None:
        """Add the record of a model."""
        self._file.write(json.dumps({**record, "setting": self._setting}).encode() + b"\n")
        self._file.flush()


_BEGINNING = json.dumps({"file": ""}).encode()[:-2]


def _is_half(line: bytes) -> bool:
    """Return whether a line may be a truncated record of this program; a line of any other file is not."""
    if line.endswith(b"\n") or not (line.startswith(_BEGINNING) or _BEGINNING.startswith(line)):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def stamp(path: Path) -> list[int]:
    """Return the values that change when a file does: its size and its time."""
    with suppress(OSError):
        status = path.stat()
        return [status.st_size, status.st_mtime_ns]
    return []


_OF_FILE = ("file", "exporter")
_OF_RESIZE = ("name", "where", "target", "formula")
_OF_VERDICT = ("verdict", "prediction", "run", "difference", "reason")
COLUMNS = (*_OF_FILE, *_OF_RESIZE, "runtime", *_OF_VERDICT, "codes", "error")


def write_table(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    """Write the records of audited models as CSV in UTF-8, or as Parquet.

    Raises OutputError if the file cannot be written, and IrInterpError for Parquet without pyarrow.
    """
    writer = _write_parquet if FileKind.of(path) is FileKind.PARQUET else _write_csv
    with replacing(path) as (temporary,):
        writer(temporary, records)


def _write_csv(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        for record in records:
            writer.writerows({name: _cell(value) for name, value in row.items()} for row in _rows(record))


def _write_parquet(path: Path, records: Iterable[Mapping[str, object]]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise IrInterpError("pyarrow is not installed: pip install 'ir-interp[parquet]'") from None
    types = {"run": pyarrow.bool_(), "difference": pyarrow.float64()}
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in COLUMNS])
    with parquet.ParquetWriter(path, schema) as writer:
        for record in records:
            writer.write_table(pyarrow.Table.from_pylist(list(_rows(record)), schema=schema))


def _cell(value: object) -> object:
    """Return a value that no spreadsheet reads as a formula, whatever the model is called."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_BEGINNINGS) else value


_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def _rows(record: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Yield the rows of a model; one without a resize if there are none."""
    of_file = {name: record[name] for name in _OF_FILE}
    error = "; ".join(refusal["message"] for refusal in record["errors"])
    rows = [row for resize in record["resizes"] for row in _of_resize(resize, record)]
    yield from ({**of_file, "error": error, **row} for row in rows or [{}])


def _of_resize(resize: Mapping[str, Any], record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    findings = [finding for finding in record.get("findings", ()) if finding["where"] == resize["where"]]
    for runtime, verdict in resize["verdicts"].items():
        codes = sorted({finding["code"] for finding in findings if finding["runtime"] in (runtime, None)})
        yield {
            **{name: resize[name] for name in _OF_RESIZE},
            "runtime": runtime,
            **{name: verdict[name] for name in _OF_VERDICT},
            "codes": " ".join(codes),
            **({"error": resize["error"]} if resize["error"] else {}),
        }


_WAITING = 4  # items that wait at a worker, for each of its threads


def each_on_cluster(question: workers.Question, items: Sequence[object], address: str) -> Iterator[tuple[int, object]]:
    """Yield the number of every item, and its answer or the failure instead.

    Every thread of a worker has its own process, as in ``workers``: an item that ends it or hangs costs only that.
    If a worker ends itself, others take over its items. Raises IrInterpError if there is no cluster.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise IrInterpError("dask.distributed is not installed: pip install 'ir-interp[dask]'") from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError, TypeError) as error:
        raise IrInterpError(f"no cluster answers at {address}: {error}") from None
    with client:
        if not client.nthreads():
            client.wait_for_workers(1)
        waiting = enumerate(items)
        count = _WAITING * sum(client.nthreads().values())
        # Calls with equal arguments are one future in dask unless they are impure; here every item has an answer.
        numbers = {client.submit(workers.answer, question, item, pure=False): n for n, item in islice(waiting, count)}
        done = as_completed(list(numbers))
        for future in done:
            number = numbers.pop(future)
            ended = future.exception()
            yield number, future.result() if ended is None else ended
            for n, item in islice(waiting, 1):
                more = client.submit(workers.answer, question, item, pure=False)
                numbers[more] = n
                done.add(more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditing:
    """The options that are the same for every model."""

    options: AuditOptions

    @property
    def identity(self) -> str:
        """The options that the result of a model depends on, as text."""
        runtimes = audit_report.asked_runtimes(self.options)  # "installed" stands for other runtimes on another day
        return identity(replace(self.options, runtimes=None if runtimes is None else tuple(sorted(runtimes))))

    def check(self, paths: Sequence[Path]) -> None:
        """Raise SpecError for meaningless options, before any model is read."""
        audit_report.check_options(self.options)

    def prepare(self) -> None:
        """Do nothing: an audit writes only its results."""

    def record(self, path: Path) -> dict[str, Json]:
        """Return the result of auditing one model."""
        audit = audit_report.audited([path], replace(self.options, jobs=1, progress=silent))
        audit = audit.with_severities(self.options.severities).without(self.options.per_file_ignores)
        files = mistaken(audit.findings)
        findings = [finding.record() | {"command": next_step(finding, files)} for finding in audit.findings]
        return audit.record() | {"findings": findings}

    def skips(self, path: Path) -> bool:
        """Return False: every model is audited."""
        return False

    def command(self, path: Path) -> str:
        """Return nothing: another audit would show no more."""
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """The conversion of every model: ``root`` is the folder to which its path is relative."""

    root: Path
    destination: Path
    suffix: str
    options: ConvertOptions

    @property
    def identity(self) -> str:
        """The options that the result of a model depends on, as text."""
        return repr((str(self.destination), self.suffix, identity(self.options)))

    def of(self, path: Path) -> Path:
        """Return where the result of a model goes."""
        inside = path.relative_to(self.root) if path.is_relative_to(self.root) else Path(path.name)
        return (self.destination / inside).with_suffix(self.suffix)

    def check(self, paths: Sequence[Path]) -> None:
        """Raise IrInterpError for options without an effect on any model, and for two models with one result.

        If an option has an effect on models of one kind only, those of another kind are refused one by one.
        """
        pairs = [(path, conversion_kinds(path, self.of(path))) for path in paths]
        sources = [(path, kinds) for path, kinds in pairs if kinds is not None]
        problems = list({kinds: self._problem(path, kinds) for path, kinds in sources}.values())
        # Only if no model is affected is the option a mistake of the whole call.
        if problems and problems[0] is not None and all(problems):
            raise problems[0]
        sources_of: dict[Path, Path] = {}
        for path, _ in sources:
            if self.skips(path):
                continue
            other = sources_of.setdefault(self.of(path), path)
            if other != path:
                raise IrInterpError(f"{other} and {path} would both become {self.of(path)}; convert them one by one")

    def _problem(self, path: Path, kinds: tuple[FileKind, FileKind]) -> IrInterpError | None:
        try:
            check_options(kinds, self.options, path.name)
        except IrInterpError as problem:
            return problem
        return None

    def skips(self, path: Path) -> bool:
        """Return whether a file already has the format that is asked for."""
        return has_the_form(path, self.suffix, self.options)

    def command(self, path: Path) -> str:
        """Return the command that converts one model, and describes a refusal on a page."""
        return alone(path, self.of(path))

    def prepare(self) -> None:
        """Create the folder of the results. Raises OutputError if that fails."""
        try:
            self.destination.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.destination} cannot be created: {error.strerror or error}") from None

    def record(self, path: Path) -> dict[str, object]:
        """Convert one model, and return the result."""
        destination = self.of(path)
        destination.parent.mkdir(parents=True, exist_ok=True)
        report = convert(path, destination, replace(self.options, progress=silent))
        rows = [{"name": row.name, "form": row.form, "grade": row.grade.value} for row in report.rows]
        findings = [mistake.record() for mistake in report.mistakes]
        return {"destination": str(destination), "resizes": rows, "findings": findings, "errors": []}


Work = Auditing | Conversion


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """The workers: a number of processes, or those of a cluster; and the time limit of a model in seconds."""

    jobs: int = 1
    scheduler: str | None = None
    limit: float = 1800

    def each(self, function: str, items: Sequence[object], setting: object) -> Iterator[tuple[int, object]]:
        """Yield the number of an item and its answer, as they finish."""
        question = workers.Question(function=function, setting=setting, limit=self.limit)
        if self.scheduler is not None:
            return each_on_cluster(question, items, self.scheduler)
        return workers.each(question, items, self.jobs)


def run(paths: Sequence[Path], setting: Work, results: Results, crew: Crew, progress: Progress = silent) -> Summary:
    """Add the record of every model to ``results`` unless it is there or skipped, and return the summary."""
    summary = Summary(on=setting.options.fail_on if isinstance(setting, Auditing) else ())
    waiting = dict.fromkeys(path for path in paths if not setting.skips(path))
    summary.skipped = len(dict.fromkeys(paths)) - len(waiting)
    total = len(waiting)
    for path, record in results.done(list(waiting)):
        summary.add(record)
        del waiting[path]
    left = list(waiting)
    progress("models", total - len(left), total)
    for number, answer in crew.each(f"{__name__}:record_of", left, setting) if left else ():
        record = answer if isinstance(answer, dict) else _unanswered(left[number], answer)
        if isinstance(answer, workers.Late):
            record["stamp"] = []  # with no file state: the next run tries it again
        results.add(record)
        summary.add(record)
        progress("models", summary.models, total)
    return summary


def record_of(path: Path, setting: Work) -> dict[str, Any]:
    """Return the record of one model; errors are part of it."""
    identity = {"file": str(path), "stamp": stamp(path), "exporter": exporter(path)}
    try:
        with flags_stay():  # a fleet is a command, and this process need not be the one that runs it
            return identity | setting.record(path)
    except (IrInterpError, ExceptionGroup) as error:
        errors = [{"where": str(path), "message": str(leaf)} for leaf in leaves(error)]
        refused = {"is_refused": True, "command": setting.command(path)} if is_refusal(error) else {}
        return identity | {"resizes": [], "errors": errors} | refused
    except Exception as error:  # of one model among thousands
        return _unanswered(path, unforeseen(error)) | {"exporter": identity["exporter"]}


def _unanswered(path: Path, why: object) -> dict[str, object]:
    """Return the record of a model that no process finished; this one does not read it either, having no time limit."""
    errors = [{"where": str(path), "message": str(why)}]
    return {"file": str(path), "stamp": stamp(path), "exporter": UNKNOWN, "resizes": [], "errors": errors}
