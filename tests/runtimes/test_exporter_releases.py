"""Exporters by release: changes name releases that were run, and resizes to which they apply."""

from __future__ import annotations

import pytest

from ir_interp.converters.audit.mistakes import CHANGES, RELEASES, earlier
from ir_interp.libraries import torch
from ir_interp.resize_op import read
from ir_interp.translation.dialect import Context

_DIALECT = torch.LIBRARY.dialect


def test_changes_are_of_releases_that_were_run() -> None:
    for change in CHANGES:
        assert change.verdicts.keys() < {*RELEASES[change.package]}


@pytest.mark.parametrize(
    ("call", "releases"),
    [
        ({"mode": "bilinear", "size": (1, 8)}, ["0.2.0", "0.6.2", "0.7.0"]),
        ({"mode": "bilinear", "size": (1, 8), "align_corners": True}, []),
        ({"mode": "bilinear", "size": (5, 8)}, []),
        ({"mode": "bicubic", "size": (5, 8), "antialias": True}, ["0.2.0", "0.6.2", "0.7.0"]),
        ({"mode": "nearest", "size": (1, 8)}, []),
    ],
)
def test_earlier_releases_of_dynamo(call: dict[str, object], releases: list[str]) -> None:
    plain = {"align_corners": False, "antialias": False, "rank": 4}
    op = read(_DIALECT, plain | call, Context(version=_DIALECT.versions[0], shape=(1, 2, 9, 13)), name="", where="net")
    assert [
        release for release in RELEASES["onnxscript"] if f"onnxscript {release}: " in earlier("torch-dynamo", op)
    ] == releases
    assert earlier("torch-script", op) == ""
