"""Every attribute that OpenVINO writes is read, or has no effect; any other is refused."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

from ir_interp.converters.ir_to_onnx import attributes, onnx_model, openvino_attributes, write
from ir_interp.converters.ir_to_onnx.emitter_table import EMITTERS
from ir_interp.converters.ir_to_onnx.emitters import refused
from ir_interp.converters.ir_to_onnx.layer import Op
from ir_interp.translation.dialect import Semantics
from tests.ir_to_onnx import test_detection, test_elementwise, test_indices, test_recurrent, test_windows
from tests.support.layer_types import drawn, saved
from tests.support.layers import Configuration, in_openvino


def test_every_attribute_is_read_or_has_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each type that is written, drawn by the tests of its family and serialised by OpenVINO."""
    written: defaultdict[str, set[str]] = defaultdict(set)
    read: defaultdict[str, set[str]] = defaultdict(set)

    def watch(op: Op) -> tuple[str, ...]:
        written[op.layer.type.lower()] |= op.layer.attributes.keys()
        read[op.layer.type.lower()] |= op.read
        return ()

    monkeypatch.setattr(onnx_model, "check_unread", watch)
    for configuration in drawn().values():
        for seed in range(4):
            saved(configuration, seed, tmp_path / "x.xml")
            write.write_model(tmp_path / "x.xml", tmp_path / "x.onnx", Semantics.RUNTIME)
    assert read.keys() == EMITTERS.keys() - {kind.lower() for kind in refused.TABLE}
    unread = {kind: written[kind] - read[kind] - attributes.may_stay_unread(kind) for kind in written}
    assert {kind: names for kind, names in unread.items() if names} == {}
    assert attributes.WITHOUT_EFFECT.keys() <= read.keys()


IDLE: dict[str, tuple[Configuration, str, str, str]] = {
    "DetectionOutput, height": (test_detection.TABLE["DetectionOutput-8"], "DetectionOutput", "input_height", "7"),
    "DetectionOutput, width": (test_detection.TABLE["DetectionOutput-8"], "DetectionOutput", "input_width", "7"),
    "DetectionOutput, score": (test_detection.TABLE["DetectionOutput-8"], "DetectionOutput", "objectness_score", "1"),
    "LSTMCell": (test_recurrent.TABLE["LSTMCell-1"], "LSTMCell", "weights_format", "fico"),
    "LSTMSequence": (test_recurrent.TABLE["LSTMSequence"], "LSTMSequence", "activations_alpha", "0.5, 0.5, 0.5"),
    "PSROIPooling, rows": (test_detection.TABLE["PSROIPooling"], "PSROIPooling", "spatial_bins_y", "3"),
    "PSROIPooling, columns": (test_detection.TABLE["PSROIPooling"], "PSROIPooling", "spatial_bins_x", "3"),
    "RegionYolo": (test_detection.TABLE["RegionYolo"], "RegionYolo", "anchors", "3, 4, 5, 6"),
    "PriorBoxClustered": (test_detection.TABLE["PriorBoxClustered"], "PriorBoxClustered", "img_h", "3"),
    "Divide": (test_elementwise.BINARY["Divide"], "Divide", "m_pythondiv", "false"),
    "TopK": (test_indices.SELECTIONS["TopK-11"], "TopK", "stable", "true"),
    "Convolution": (test_windows.CONVOLUTIONS["Convolution"], "Convolution", "output_padding", "1, 1"),
    "MaxPool": (test_windows.POOLING["MaxPool-1"], "MaxPool", "exclude-pad", "true"),
}


@pytest.mark.parametrize("name", IDLE)
def test_what_may_stay_unread_has_no_effect(name: str, tmp_path: Path) -> None:
    configuration, kind, attribute, value = IDLE[name]
    for seed in range(3):
        path = tmp_path / "x.xml"
        draw = saved(configuration, seed, path)
        before = in_openvino(ov.Core().read_model(path), draw.feeds)
        path.write_text(_stated(path.read_text(), kind, attribute, value))
        after = in_openvino(ov.Core().read_model(path), draw.feeds)
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)


def _stated(text: str, kind: str, attribute: str, value: str) -> str:
    """Return an IR in which every layer of a type has an attribute of this value."""

    def state(data: re.Match[str]) -> str:
        return f'{data[1]}{attribute}="{value}" ' + re.sub(rf'(?<= ){attribute}="[^"]*" ?', "", " " + data[2])[1:]

    stated, count = re.subn(rf'(type="{kind}" version="\w+">\s*<data )([^>]*>)', state, text)
    assert count
    return stated


@pytest.mark.parametrize(
    ("configuration", "kind", "attribute", "value", "note"),
    [
        (test_detection.TABLE["PriorBoxClustered"], "PriorBoxClustered", "stepw", "3", "; did you mean 'step_w'?"),
        (test_detection.TABLE["PriorBoxClustered"], "PriorBoxClustered", "flip", "1", "; did you mean 'clip'?"),
        (test_elementwise.UNARY["Elu"], "Elu", "alfa", "1", "; did you mean 'alpha'?"),
        (test_elementwise.UNARY["Abs"], "Abs", "a", "1", ""),
    ],
)
def test_an_attribute_that_openvino_does_not_have_is_noted(
    configuration: Configuration, kind: str, attribute: str, value: str, note: str, tmp_path: Path
) -> None:
    """The Model Optimizer wrote some that its operations no longer have."""
    path = tmp_path / "x.xml"
    draw = saved(configuration, 0, path)
    before = in_openvino(ov.Core().read_model(path), draw.feeds)
    text = path.read_text()
    has_data = re.search(rf'type="{kind}" version="\w+">\s*<data ', text)
    layer = f'type="{kind}" version="opset1">'
    path.write_text(
        _stated(text, kind, attribute, value) if has_data else text.replace(layer, f'{layer}<data {attribute}="1"/>')
    )
    for one, other in zip(before, in_openvino(ov.Core().read_model(path), draw.feeds), strict=True):
        np.testing.assert_array_equal(one, other)
    (found,) = write.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME).notes
    assert found.endswith(f"@{attribute}: OpenVINO has no such attribute and ignores it{note}")


def test_an_attribute_that_openvino_has_and_nothing_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.xml"
    saved(test_elementwise.UNARY["Elu"], 0, path)
    path.write_text(_stated(path.read_text(), "Elu", "beta", "1"))
    monkeypatch.setattr(openvino_attributes, "names", lambda kind, version: frozenset(("alpha", "beta")))
    assert "@beta: unknown attribute; expected one of alpha" in refusals(path)


def test_an_operation_that_does_not_say_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.xml"
    saved(test_elementwise.UNARY["Elu"], 0, path)
    path.write_text(_stated(path.read_text(), "Elu", "alfa", "1"))
    monkeypatch.setattr(openvino_attributes, "names", lambda kind, version: None)
    assert "@alfa: unknown attribute; expected one of alpha; did you mean 'alpha'?" in refusals(path)


def test_the_process_that_asks_may_die() -> None:
    assert openvino_attributes.names("ReadValue", 6) is None
    assert openvino_attributes.names("NoSuchLayer", 1) is None
    assert openvino_attributes.names("OneHot", 16) == frozenset(("axis", "negative_indices_mode"))


def test_an_attribute_of_a_resize(tmp_path: Path) -> None:
    """OpenVINO tolerates it, and ``load`` does."""
    x, sizes = ov.opset13.parameter([1, 1, 4, 6], np.float32), np.array([8, 12], np.int64)
    attributes: dict[str, Any] = {"mode": "nearest", "shape_calculation_mode": "sizes"}
    path = tmp_path / "x.xml"
    made = ov.opset13.interpolate(x, sizes, axes=np.array([2, 3], np.int64), **attributes)
    ov.save_model(ov.Model([ov.opset13.result(made)], [x]), path)
    path.write_text(_stated(path.read_text(), "Interpolate", "nearest_mod", "floor"))
    (note,) = write.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME).notes
    assert note.endswith("@nearest_mod: OpenVINO has no such attribute and ignores it; did you mean 'nearest_mode'?")


def refusals(path: Path) -> str:
    """Return why an IR is not written."""
    with pytest.raises(ExceptionGroup) as caught:
        write.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME)
    (error,) = caught.value.exceptions
    return str(error)
