"""Settings of audits in a project file: the table ``tool.ir-interp`` of pyproject.toml, as ruff has its own.

The file that counts is the nearest one above a model that has this table. The command line wins: ``--select`` replaces
``select`` and ``ignore`` of the file, ``--ignore`` adds to them, ``--severity`` replaces that of a runtime, and
``--fail-on`` replaces ``fail-on``, ``--runtime`` replaces ``runtime``. Other options are for the command line alone.
"""

from __future__ import annotations

import glob
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ir_interp.diagnostic_codes import Severity
from ir_interp.errors import IrInterpError, ReadError, closest
from ir_interp.files.paths import is_file, real
from ir_interp.options.audit_options import AuditOptions
from ir_interp.options.declaration import flagged
from ir_interp.options.finding_codes import check_codes, codes_of

_NAME, _TABLE = "pyproject.toml", "ir-interp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The settings of a project file; ``per_file_ignores`` are codes by pattern: of names, or of absolute paths."""

    path: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: tuple[str, ...] = ()
    runtime: tuple[str, ...] | None = None
    severity: Mapping[str, Severity] = field(default_factory=dict)
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def settings(self, options: AuditOptions) -> AuditOptions:
        """Return options in which this file stands for what the command line leaves open."""
        return replace(
            options,
            select=options.select or self.select,
            # --select starts anew, so exceptions of the file would be unexpected.
            ignore=options.ignore if options.select else (*self.ignore, *options.ignore),
            fail_on=options.fail_on or self.fail_on,
            runtimes=self.runtime if options.runtimes is None else options.runtimes,
            severities={**self.severity, **options.severities},
            per_file_ignores=self.per_file_ignores,
        )


def project_of(models: Iterable[Path]) -> Project:
    """Return the settings of the project that models belong to; empty ones where there is no project file.

    Raises IrInterpError where they belong to several projects, ReadError for a file that cannot be read, or a key that
    is unknown.
    """
    of_folder: dict[Path, Path | None] = {}
    for model in models:
        folder = real(model).parent
        of_folder[folder] = of_folder[folder] if folder in of_folder else _nearest(folder)
    files = list(dict.fromkeys(of_folder.values()))
    # One run has one set of settings.
    if len(files) > 1:
        names = " and ".join("no project file" if path is None else str(path) for path in files[:2])
        raise IrInterpError(f"the models belong to {names}; audit them one by one, or with --isolated")
    return _read(files[0]) if files and files[0] is not None else Project()


def _nearest(folder: Path) -> Path | None:
    candidates = (parent / _NAME for parent in (folder, *folder.parents))
    return next((path for path in candidates if is_file(path) and _table(path) is not None), None)


def _table(path: Path) -> Any:
    """Return the table of a project file, None where it has none. Raises ReadError where it is no TOML."""
    try:
        tools = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError) as error:  # of TOML, and of UTF-8
        raise ReadError(f"cannot be read: {error}", str(path)) from None
    return tools.get(_TABLE) if isinstance(tools, dict) else None


def _read(path: Path) -> Project:
    table = _table(path)
    try:
        if not isinstance(table, dict):
            raise ReadError("is no table")
        for key in table:
            if key not in _KEYS:
                raise ReadError(_unknown(key))
        values = {key.replace("-", "_"): _KEYS[key](value, key) for key, value in table.items()}
    except IrInterpError as error:
        raise ReadError(getattr(error, "problem", str(error)), f"{path}: [tool.{_TABLE}]") from None
    ignores = values.pop("per_file_ignores", {})
    absolute = {_pattern(path.parent, pattern): codes for pattern, codes in ignores.items()}
    return Project(path=path, per_file_ignores=absolute, **values)


def _unknown(key: str) -> str:
    flags = {flag for option in flagged(AuditOptions) for flag in option.flags}
    if f"--{key}" in flags:
        return f"{key} is set on the command line only: --{key}"
    return f"unknown key {key!r}; {closest(key, _KEYS)}"


def _codes(value: Any, key: str, check: Callable[[tuple[str, ...]], object] = check_codes) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(code, str) for code in value):
        raise ReadError(f'{key} is {value!r}; expected a list of codes, as in ["IRI022"]')
    check(tuple(value))
    return tuple(value)


def _runtimes(value: Any, key: str) -> tuple[str, ...]:
    from ir_interp.converters.audit.audit_report import check_runtime

    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise ReadError(f'{key} is {value!r}; expected a list of runtimes, as in ["openvino"]')
    for name in value:
        check_runtime(name)
    return tuple(value)


def _severities(value: Any, key: str) -> dict[str, Severity]:
    levels = {level.value: level for level in Severity}
    for level in _entries(value, key).values():
        if level not in levels:
            raise ReadError(f"{key} is {level!r}; {closest(str(level), levels)}")
    return {runtime: levels[level] for runtime, level in value.items()}


def _per_file(value: Any, key: str) -> dict[str, tuple[str, ...]]:
    for pattern in _entries(value, key):
        if pattern.startswith("!"):
            raise ReadError(f"{key} {pattern!r}: negated patterns are not supported")
    return {pattern: _codes(codes, f"{key} {pattern!r}") for pattern, codes in value.items()}


def _entries(value: Any, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReadError(f"{key} is {value!r}; expected a table")
    return value


def _pattern(folder: Path, pattern: str) -> str:
    """Return a pattern of names as it is, one of paths below the folder of its file as absolute."""
    return f"{glob.escape(folder.as_posix())}/{pattern}" if "/" in pattern else pattern


_KEYS: dict[str, Callable[[Any, str], Any]] = {
    "select": _codes,
    "ignore": _codes,
    "fail-on": partial(_codes, check=codes_of),
    "runtime": _runtimes,
    "severity": _severities,
    "per-file-ignores": _per_file,
}
