"""The reading of Paddle programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...sources.brief import Brief, of_description
from ...sources.frameworks import Reading
from .paddle_files import described, function, weights
from .paddle_resizes import load


def _operations(path: Path) -> Iterable[str]:
    return described(path).operations


def _brief(path: Path) -> Brief:
    return of_description(described(path), "PaddlePaddle program", path, [weights(path)])


READING = Reading(
    load=load,
    operations=_operations,
    brief=_brief,
    function=function,
    parts=lambda path: [path, weights(path)],
)
