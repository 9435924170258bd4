"""Every attribute that an emitter reads changes what OpenVINO computes, in each version of its layer.

``python -m tests.sweeps.attributes --rows tests/ir/attribute_effects.json`` finds the changes, and compares
what is written then.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from ir_interp import ReadError
from ir_interp.converters.ir_to_onnx import onnx_model
from ir_interp.converters.ir_to_onnx.emitters import refused
from ir_interp.converters.ir_to_onnx.emitters.elementwise import PDPD_TYPES
from ir_interp.converters.ir_to_onnx.onnx_model import EMITTERS
from ir_interp.translation.dialect import Semantics
from tests.support.layer_types import drawn, saved
from tests.support.places import ROOT
from tests.sweeps import attributes

ROWS_FILE = Path(__file__).parent / "attribute_effects.json"
ROWS = json.loads(ROWS_FILE.read_text())
CHANGES = attributes.read_rows(ROWS_FILE)
IDLE = {tuple(key[:3]) for key in ROWS["without effect here"]}
"""Attributes that change nothing in any drawn layer: with other values, the sweep converts what OpenVINO takes."""
UNTAKEN = {tuple(key[:3]) for key in ROWS["without effect here"] if not key[3]}
"""Those of which OpenVINO takes no other value for the same inputs."""


FIXED = {
    ("binaryconvolution", "mode"): "xor",
    ("deformablepsroipooling", "mode"): "average",
    ("detectionoutput", "normalized"): "false",
    ("detectionoutput", "share_location"): "false",
    ("generateproposals", "nms_eta"): "0.5",
    ("regionyolo", "coords"): "5",
}
"""Attributes that are refused but for one value, with another that OpenVINO's inputs would have to suit."""


_ACCEPTS = "decides which shapes are accepted: 'none' equal ones; 'pdpd' is refused where OpenVINO ignores it"
_COUNTS = "the shapes of the inputs state it; other layers are drawn with other values and shapes"
REASONS = {
    ("", "auto_broadcast"): _ACCEPTS,
    ("", "hidden_size"): _COUNTS,
    ("convertpromotetypes", "promote_unsafe"): "decides which types are accepted",
    ("experimentaldetectrondetectionoutput", "class_agnostic_box_regression"): "true is refused: out-of-bounds reads",
    ("interpolate", "antialias"): "the CPU plugin ignores it: its mode linear averages whatever shrinks",
    ("lstmcell", "input_forget"): "true is refused; the CPU plugin ignores it",
    ("psroipooling", "spatial_bins_x"): _COUNTS,
    ("psroipooling", "spatial_bins_y"): _COUNTS,
    ("regionyolo", "mask"): f"only their number counts, and {_COUNTS}",
    ("regionyolo", "num"): _COUNTS,
    ("squeeze", "allow_axis_skip"): "decides which rank is inferred for dynamic dimensions",
}
"""Why an attribute has no effect in a drawn layer though OpenVINO takes other values, by layer type, or for all."""


@pytest.mark.parametrize(("kind", "attribute"), FIXED)
def test_each_other_value_is_refused(kind: str, attribute: str, tmp_path: Path) -> None:
    path, refusals = tmp_path / "x.xml", 0
    for (_, name), configuration in drawn().items():
        if name.partition("-")[0].lower() == kind:
            saved(configuration, 0, path)
            tree: Any = etree.parse(path)
            for layer in tree.getroot().iter("layer"):
                if layer.get("type", "").lower() == kind:
                    layer.find("data").set(attribute, FIXED[kind, attribute])
            tree.write(path)
            with pytest.raises((ExceptionGroup, ReadError)):
                onnx_model.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME)
            refusals += 1
    assert refusals


def test_each_attribute_has_a_row(tmp_path: Path) -> None:
    """One that changes nothing is drawn with several values, changes nothing in OpenVINO either, or is refused."""
    every, kinds, values = set(), set(), defaultdict(set)
    for configuration in drawn().values():
        for seed in range(5):
            saved(configuration, seed, tmp_path / "x.xml")
            layers: Any = etree.parse(tmp_path / "x.xml").getroot().iter("layer")
            for layer in layers:
                kind, data = layer.get("type", "").lower(), layer.find("data")
                names = [name for name in (data.attrib if data is not None else ()) if attributes.effective(kind, name)]
                every |= {(kind, layer.get("version"), name) for name in names}
                for name in names:
                    values[kind, name].add(data.get(name))
                kinds.add(kind)
    single = {(kind, name) for kind, _, name in UNTAKEN if len(values[kind, name]) == 1}
    assert single == FIXED.keys()
    shown = {change.key for change in CHANGES}
    assert every <= shown | IDLE
    assert not shown & IDLE
    assert EMITTERS.keys() - kinds == {kind.lower() for kind in refused.REASONS}, "refused whatever their attributes"


def test_each_attribute_without_effect_has_a_reason() -> None:
    taken = {(kind, name) for kind, _, name in IDLE - UNTAKEN}
    used = {key if key in REASONS else ("", key[1]) for key in taken}
    assert used == REASONS.keys()


@pytest.mark.long
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
    aligned = {change.type for change in CHANGES if change.attribute == "auto_broadcast"}
    assert aligned - {"subtract"} <= PDPD_TYPES  # 8 bits wrap around in Subtract then, without being aligned
