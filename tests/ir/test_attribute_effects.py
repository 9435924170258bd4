"""Every attribute that an emitter reads changes what OpenVINO computes, in each version of its layer.

``python -m tests.sweeps.attributes --rows tests/ir/attribute_effects.json`` finds the changes, and compares
what is written then.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from lxml import etree

from ir_interp.converters.ir_to_onnx.emitter_table import EMITTERS
from ir_interp.converters.ir_to_onnx.emitters import refused
from ir_interp.converters.ir_to_onnx.emitters.elementwise import PDPD_TYPES
from tests.support.layer_types import drawn, saved
from tests.support.places import ROOT
from tests.sweeps import attributes

ROWS_FILE = Path(__file__).parent / "attribute_effects.json"
ROWS = json.loads(ROWS_FILE.read_text())
CHANGES = attributes.read_rows(ROWS_FILE)
IDLE = {tuple(key[:3]) for key in ROWS["without effect here"]}
"""Attributes that change nothing in any drawn layer: most are refused but for one value, or need other inputs."""


def test_each_attribute_has_a_row(tmp_path: Path) -> None:
    every, kinds = set(), set()
    for configuration in drawn().values():
        for seed in range(2):
            saved(configuration, seed, tmp_path / "x.xml")
            for layer in etree.parse(tmp_path / "x.xml").getroot().iter("layer"):
                kind, data = layer.get("type", "").lower(), layer.find("data")
                names = [name for name in (data.attrib if data is not None else ()) if attributes.effective(kind, name)]
                every |= {(kind, layer.get("version"), name) for name in names}
                kinds.add(kind)
    shown = {change.key for change in CHANGES}
    assert every <= shown | IDLE
    assert not shown & IDLE
    assert EMITTERS.keys() - kinds == {kind.lower() for kind in refused.REASONS}, "refused whatever their attributes"


def test_each_change_shows() -> None:
    """In processes of its own: some values end OpenVINO's, or spoil its memory."""
    command = [sys.executable, "-m", "tests.sweeps.attributes", "--check", str(ROWS_FILE), "--every", "32"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


def test_pdpd_is_refused_where_it_changes_nothing() -> None:
    """OpenVINO's CPU plugin takes it there, and aligns as numpy does."""
    ignored = {kind for kind, _, name in IDLE if name == "auto_broadcast"} - {"fakequantize", "select"}
    assert not ignored & PDPD_TYPES
    assert {change.type for change in CHANGES if change.attribute == "auto_broadcast"} <= PDPD_TYPES
