"""Accepted findings: a file of JSON beside the models, so that a build fails for new findings only.

A finding is accepted by its model, resize, code, runtime and the meaning of the resize. Its message and place play no
part: they change with releases and with other nodes. Several equal findings are accepted by as many entries.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from ir_interp.errors import ReadError, closest
from ir_interp.files.kinds import json_object
from ir_interp.files.writing import OutputError, exists, real, replacing
from ir_interp.records import Record

from .audited_resizes import Finding

_KEY, _VERSION, _ENTRIES = "ir_interp_baseline", 1, "accepted"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Accepted(Record):
    """An accepted finding. ``model`` is relative to the folder of the file; ``runtime`` is empty if none is meant."""

    model: str
    resize: str
    code: str
    runtime: str
    meaning: str

    @property
    def text(self) -> str:
        """Return the finding in one line."""
        return ": ".join(filter(None, (self.model, self.resize, " ".join(filter(None, (self.code, self.runtime))))))


_NAMES = tuple(field.name for field in fields(Accepted))


def accepted(finding: Finding, folder: Path) -> Accepted:
    """Return the entry by which a file in a folder accepts a finding."""
    return Accepted(
        model=_relative(finding.file, folder),
        resize=finding.resize,
        code=finding.code,
        runtime=finding.runtime or "",
        meaning=finding.meaning,
    )


def _relative(file: str, folder: Path) -> str:
    """Return a path relative to a folder, with slashes on every system; an absolute one on another drive."""
    path = real(Path(file))
    try:
        return Path(os.path.relpath(path, real(folder))).as_posix()
    except ValueError:
        return path.as_posix()


def matched(
    findings: Iterable[Finding], entries: Iterable[Accepted], folder: Path
) -> tuple[list[Finding], list[Finding], list[Accepted]]:
    """Return new findings, accepted ones, and the entries that no finding matches."""
    left = Counter(entries)
    new: list[Finding] = []
    known: list[Finding] = []
    for finding in findings:
        entry = accepted(finding, folder)
        (known if left[entry] > 0 else new).append(finding)
        left[entry] -= 1
    return new, known, sorted((+left).elements())


def read(path: Path) -> tuple[Accepted, ...]:
    """Return the entries of a file. Raises ReadError for a file that ``write`` did not write."""
    document = json_object(path, "a baseline")
    version = document.get(_KEY)
    if version is None:
        raise ReadError(f"is not a baseline: it has no key {_KEY!r}; expected a file of accepted findings", str(path))
    if version != _VERSION:
        raise ReadError(f"is a baseline of version {version!r}; expected {_VERSION}: write it anew", str(path))
    _check_keys(document, (_KEY, _ENTRIES), str(path))
    entries = document[_ENTRIES]
    if not isinstance(entries, list):
        raise ReadError("is no list of findings; write it anew", f"{path}:{_ENTRIES}")
    return tuple(_entry(value, f"{path}:{_ENTRIES}[{number}]") for number, value in enumerate(entries))


def _entry(value: object, where: str) -> Accepted:
    if not isinstance(value, dict):
        raise ReadError(f"is {value!r}; expected an object with the keys {', '.join(_NAMES)}", where)
    _check_keys(value, _NAMES, where)
    for name, text in value.items():
        if not isinstance(text, str):
            raise ReadError(f"{name} is {text!r}; expected a text", where)
    return Accepted(**value)


def _check_keys(value: Mapping[str, object], names: Sequence[str], where: str) -> None:
    for name in value:
        if name not in names:
            raise ReadError(f"unknown key {name!r}; {closest(name, names)}", where)
    for name in names:
        if name not in value:
            raise ReadError(f"the key {name!r} is missing", where)


def write(path: Path, findings: Iterable[Finding]) -> None:
    """Write the findings to accept. Raises OutputError if a file of another kind has this name."""
    if exists(path):
        try:
            read(path)
        except ReadError as error:
            raise OutputError(f"{error}; it would be overwritten: choose another name, or remove it") from None
    entries = sorted(accepted(finding, path.parent) for finding in findings)
    document = {_KEY: _VERSION, _ENTRIES: [entry.record() for entry in entries]}
    with replacing(path) as (temporary,):
        temporary.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def gone(
    entries: Iterable[Accepted], models: Iterable[str], folder: Path, is_asked: Callable[[Accepted], bool]
) -> tuple[Accepted, ...]:
    """Return the entries to remove: those of audited ``models`` if they were asked about, and of missing files."""
    audited = {_relative(model, folder) for model in models}
    return tuple(
        entry for entry in entries if (entry.model in audited and is_asked(entry)) or not exists(folder / entry.model)
    )
