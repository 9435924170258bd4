"""Reports on public trackers about resizes (docs/known-issues.toml): what each says, and what is known of it here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ir_interp.converters.reproduce.conformance_kit import Node
from tests.support.places import ROOT

PATH = ROOT / "docs" / "known-issues.toml"
_URL = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+)/(issues|pull)/(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One report: ``says`` in a sentence what was reported of ``node``.

    ``verdicts`` are the audit's, by runtime, as ``differs: a part of the reason``, first that of the runtime which the
    report is about; ``findings`` are the codes of what is odd about the node, ``form`` a part of what
    ``convert --target`` writes for ``target``.
    """

    url: str
    says: str
    node: Node
    verdicts: Mapping[str, str]
    findings: tuple[str, ...]
    target: str
    form: str

    @property
    def name(self) -> str:
        """The repository and the number, as in ``onnxruntime#1179``."""
        _, repository, _, number = self.place
        return f"{repository}#{number}"

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Owner, repository, kind and number, from the address. Raises ValueError for any other address."""
        found = _URL.fullmatch(self.url)
        if found is None:
            raise ValueError(f"{self.url}: expected an issue or a pull request on GitHub")
        owner, repository, kind, number = found.groups()
        return owner, repository, kind, number

    def is_of(self, runtime: str, kind: str, reason: str) -> bool:
        """Say whether it reports what a runtime does: of the same kind, and for this reason."""
        reported, verdict = next(iter(self.verdicts.items()))
        expected, _, part = verdict.partition(": ")
        return (reported, expected) == (runtime, kind) and bool(part) and part in reason


@cache
def reports() -> list[Report]:
    """Return every report, in the order of the file."""
    rows = tomllib.loads(PATH.read_text(encoding="utf-8"))["report"]
    return [_report(**row) for row in rows]


def _report(
    *,
    node: dict[str, object],
    given: dict[str, list[float]],
    url: str,
    says: str,
    verdicts: dict[str, str],
    target: str,
    form: str,
    findings: tuple[str, ...] = (),
) -> Report:
    values = {name: tuple(each) for name, each in given.items()}
    single = Node(**node | {"shape": tuple(node["shape"])}, given=values)  # type: ignore[arg-type]
    return Report(
        url=url, says=says, node=single, verdicts=verdicts, findings=tuple(findings), target=target, form=form
    )
