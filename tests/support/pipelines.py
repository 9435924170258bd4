"""Pipelines by the JSON that ``Pipeline.of_json`` reads."""

from __future__ import annotations

import json
from typing import Any

from ir_interp import Pipeline


def pipeline(*steps: dict[str, Any]) -> Pipeline:
    """Return a pipeline of these steps, each a ``step``."""
    return Pipeline.of_json(json.dumps({"version": 1, "steps": steps}))


def step(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a step, or the size or the place in one."""
    return {"kind": kind, **fields}


def resize(like: str, kind: str, **fields: Any) -> dict[str, Any]:
    """Return a resize to a size of a kind."""
    return step("Resize", like=like, size=step(kind, **fields))
