"""Results as a flat table: a row for each resize and runtime, for spreadsheets and data frames."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ir_interp.errors import IrInterpError
from ir_interp.files.atomic import replacing
from ir_interp.files.kinds import FileKind

_OF_FILE = ("file", "exporter")
_OF_RESIZE = ("name", "where", "target", "formula")
_OF_VERDICT = ("verdict", "prediction", "run", "difference", "reason")
COLUMNS = (*_OF_FILE, *_OF_RESIZE, "runtime", *_OF_VERDICT, "codes", "error")


def write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write the records of audited models as CSV in UTF-8, or as Parquet.

    Raises OutputError if the file cannot be written, and IrInterpError for Parquet without pyarrow.
    """
    writer = _write_parquet if FileKind.of(path) is FileKind.PARQUET else _write_csv
    with replacing(path) as (temporary,):
        writer(temporary, records)


def _write_csv(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        for record in records:
            writer.writerows({name: _cell(value) for name, value in row.items()} for row in _rows(record))


def _write_parquet(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
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


def _cell(value: Any) -> Any:
    """Return a value that no spreadsheet reads as a formula, whatever the model is called."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_BEGINNINGS) else value


_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def _rows(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
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
