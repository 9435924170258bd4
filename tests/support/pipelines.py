"""Pipelines by the JSON that ``Pipeline.of_json`` reads."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from ir_interp import Pipeline
from ir_interp.cli.main import main


def pipeline(*steps: dict[str, Any], **more: str) -> Pipeline:
    """Return a pipeline of these steps, each a ``step``."""
    return Pipeline.of_json(json.dumps({"version": 1, "steps": steps, **more}))


def source_code(given: Pipeline, language: str, folder: Path) -> str:
    """Return what ``explain --code`` prints of a pipeline, or its error."""
    config, printed = folder / "pipeline.json", io.StringIO()
    config.write_text(given.json(), encoding="utf-8")
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        main(["explain", str(config), "--code", language])
    return printed.getvalue()


def step(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a step, or the size or the place in one."""
    return {"kind": kind, **fields}


def resize(like: str, kind: str, **fields: Any) -> dict[str, Any]:
    """Return a resize to a size of a kind."""
    return step("Resize", like=like, size=step(kind, **fields))
