"""Releases that pages for new readers name are those that the rules were made for."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT

NAMED = {  # by runtime, how pages name a release of it
    "onnxruntime": r"onnxruntime (\d+\.\d+)",
    "openvino": r"OpenVINO (20\d\d\.\d+)",
    "reference": r"ONNX (\d+\.\d+)",
    "tensorrt": r"TensorRT (\d+\.\d+)",
}
MENTIONS = {"docs/looking.md": set(NAMED), "README.md": set[str]()}
"""Pages, and the runtimes whose release they have to name."""


@pytest.mark.parametrize("page", MENTIONS)
def test_pages_name_the_releases_of_the_rules(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    releases = {name: set(re.findall(pattern, text)) for name, pattern in NAMED.items()}
    faults = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"(?m)^\| `(\w+)` \| [^|]+ \| ([^ ,]+)", faults))
    assert {name for name, found in releases.items() if found} >= MENTIONS[page]
    assert all(found <= {stated[name]} for name, found in releases.items()), (releases, stated)
