"""Every attribute that OpenVINO writes is read, or has no effect; any other is refused."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest

from ir_interp import ReadError
from ir_interp.converters.ir_to_onnx import onnx_model
from ir_interp.converters.ir_to_onnx.emitters import refused
from ir_interp.converters.ir_to_onnx.layers import Op
from ir_interp.converters.ir_to_onnx.onnx_model import EMITTERS
from ir_interp.translation.dialect import Semantics
from tests.ir_to_onnx import test_detection, test_elementwise, test_indices, test_recurrent, test_windows
from tests.support.layer_types import attributes_of_openvino, drawn, saved
from tests.support.layers import Configuration, Draw, in_openvino
from tests.sweeps.attributes import differ


@pytest.mark.parametrize("size", ["0", "-1", "8"])
def test_a_state_that_the_weights_are_not_for(size: str, tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    saved(test_recurrent.TABLE["RNNSequence"], 0, path)
    path.write_text(_stated(path.read_text(), "RNNSequence", "hidden_size", size))
    with pytest.raises(ReadError, match=rf"@hidden_size: {size}, but the recurrent weights are for 3$"):
        onnx_model.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME)


REFUSED = ("deformableconvolution", 1)  # it lacks the attribute without which version 8 is refused


def test_a_version_without_an_attribute_ignores_it(tmp_path: Path) -> None:
    """OpenVINO does, so ONNX must not have what it says."""
    path = tmp_path / "x.xml"
    saved(test_windows.CONVOLUTIONS["DeformableConvolution"], 0, path)
    path.write_text(path.read_text().replace('Convolution" version="opset8"', 'Convolution" version="opset1"'))
    assert "out-of-bounds samples count as 0" in refusals(path)


def test_every_attribute_is_read_or_has_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each version of each type, drawn by the tests of its family; OpenVINO itself reports the attributes.

    An emitter that read an attribute which its version lacks would compute what OpenVINO ignores.
    """
    read: defaultdict[tuple[str, int], set[str]] = defaultdict(set)

    def watch(op: Op) -> tuple[str, ...]:
        assert op.layer.attributes.keys() <= op.read | onnx_model.may_stay_unread(op.layer.type), op.layer.where
        read[op.layer.type.lower(), op.version] |= {name.partition(".")[0] for name in op.read}
        return ()

    monkeypatch.setattr(onnx_model, "check_unread", watch)
    for configuration in drawn().values():
        for seed in range(3):
            saved(configuration, seed, tmp_path / "x.xml")
            onnx_model.write_model(tmp_path / "x.xml", tmp_path / "x.onnx", Semantics.RUNTIME)
    assert {kind for kind, _ in read} == EMITTERS.keys() - {kind.lower() for kind in refused.TABLE}
    stated = attributes_of_openvino()
    assert stated.keys() - read.keys() == {REFUSED}, "versions that nothing draws"
    unread = {key: names - read[key] - onnx_model.may_stay_unread(key[0]) for key, names in stated.items()}
    del unread[REFUSED]
    assert {key: names for key, names in unread.items() if names} == {}
    unknown = {key: names - stated[key] for key, names in read.items() if key[0] not in ("const", "interpolate")}
    assert {key: names for key, names in unknown.items() if names} == {}


@pytest.mark.parametrize("table", ["WITHOUT_EFFECT", "READ_WHERE_EFFECTIVE", "WRITTEN_OF_OLD"])
def test_the_lists_name_what_exists(table: str) -> None:
    """And no attribute twice; the Model Optimizer's are those that OpenVINO's operations lack."""
    lists: dict[str, frozenset[str]] = getattr(onnx_model, table)
    stated = attributes_of_openvino()
    for kind, names in lists.items():
        versions = [stated[key] for key in stated if key[0] == kind]
        assert versions, kind
        known = frozenset[str]().union(*versions)
        if table == "READ_WHERE_EFFECTIVE":
            assert names <= known, kind
            assert not names & onnx_model.WITHOUT_EFFECT.get(kind, frozenset()), kind
        if table == "WRITTEN_OF_OLD":
            assert not names & (known | onnx_model.may_stay_unread(kind)), kind


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


@pytest.mark.sampled(5)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A drawn layer, and the attributes that it lacks."""

    type: str
    configuration: Configuration
    seed: int
    without: tuple[str, ...] = ()

    def save(self, path: Path) -> Draw:
        """Save the model with this layer."""
        draw = saved(self.configuration, self.seed, path)
        text = path.read_text()
        for name in self.without:
            text = re.sub(rf'(type="{self.type}" version="\w+">\s*<data [^>]*?){name}="[^"]*" ?', r"\1", text)
        path.write_text(text)
        return draw


def _layers(kind: str, tables: str, seeds: tuple[int, int], others: str = "") -> tuple[Layer, Layer]:
    """Return the layers of a configuration, or of two, in which an attribute has an effect and has none."""
    configurations = {name: each for (_, name), each in drawn().items()}
    names = (tables, others or tables)
    effective, idle = (
        Layer(type=kind, configuration=configurations[name], seed=seed) for name, seed in zip(names, seeds, strict=True)
    )
    return effective, idle


_ROIS = Layer(type="ROIPooling", configuration=test_detection.TABLE["ROIPooling"], seed=0)
_DEFORMED, _PRIORS = "DeformablePSROIPooling", "PriorBox"
WHERE_EFFECTIVE: dict[tuple[str, ...], tuple[tuple[Layer, Layer], tuple[str, ...]]] = {
    ("part_size",): (_layers(_DEFORMED, _DEFORMED, (1, 0)), ("2",)),
    ("trans_std",): (_layers(_DEFORMED, _DEFORMED, (1, 0)), ("0.9",)),
    ("gaussian_sigma",): (_layers("MatrixNms", "MatrixNms", (2, 0)), ("0.3",)),
    ("axis",): (_layers("MaxPool", "MaxPool-8", (1, 0), "MaxPool rounded up"), ("2",)),
    ("eps",): (_layers("MVN", "MVN-6", (1, 0)), ("0.5",)),
    ("flip",): (_layers(_PRIORS, "PriorBox-8", (1, 3)), ("false",)),
    ("min_max_aspect_ratios_order",): (_layers(_PRIORS, "PriorBox-8", (4, 0), "PriorBox-1"), ("false",)),
    ("offset",): (_layers(_PRIORS, "PriorBox-8", (0, 1)), ("0.1",)),
    # OpenVINO checks the product of both against the channels.
    ("spatial_bins_x", "spatial_bins_y"): (
        _layers("PSROIPooling", "PSROIPooling-bilinear", (1, 0), "PSROIPooling"),
        ("1", "3"),
    ),
    ("mask",): (_layers("RegionYolo", "RegionYolo", (1, 0)), ("0, 1",)),
    ("num",): (_layers("RegionYolo", "RegionYolo", (0, 1)), ("1",)),
    ("output_size",): (
        (replace(_ROIS, without=("pooled_h", "pooled_w", "output_roi")), _ROIS),
        ("3, 3",),
    ),
    ("spatial_scale",): (_layers("ROIPooling", "ROIPooling", (0, 0), "ROIPooling-bilinear"), ("0.5",)),
    ("use_init_val",): (_layers("ScatterElementsUpdate", "ScatterElementsUpdate-12", (5, 4)), ("false",)),
}
"""For names of attributes: a layer in which other values change OpenVINO's result, one in which not, and the values."""


def test_each_attribute_that_is_read_where_effective_has_a_row() -> None:
    names = {(layers[0].type.lower(), name) for keys, (layers, _) in WHERE_EFFECTIVE.items() for name in keys}
    assert names == {(kind, name) for kind, each in onnx_model.READ_WHERE_EFFECTIVE.items() for name in each}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("names", WHERE_EFFECTIVE, ids=" and ".join)
def test_an_attribute_is_read_where_it_changes_the_result(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers, values = WHERE_EFFECTIVE[names]
    stated = dict(zip(names, values, strict=True))
    assert [_effect(layer, stated, tmp_path / "x.xml") for layer in layers] == [True, False]
    read = [_read(layer, tmp_path / "x.xml", monkeypatch) for layer in layers]
    assert set(names) <= read[0]
    assert not set(names) & read[1]


def _effect(layer: Layer, values: Mapping[str, str], path: Path) -> bool:
    """Return whether other values of attributes change what OpenVINO computes."""
    draw = layer.save(path)
    before = in_openvino(ov.Core().read_model(path), draw.feeds)
    text = path.read_text()
    for name, value in values.items():
        text = _stated(text, layer.type, name, value)
    assert text != path.read_text(), "the values that it has"
    path.write_text(text)
    return differ(before, in_openvino(ov.Core().read_model(path), draw.feeds))


def _read(layer: Layer, path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the attributes of a layer that its emitter reads."""
    names: set[str] = set()

    def watch(op: Op) -> tuple[str, ...]:
        if op.layer.type == layer.type:
            names.update(name.partition(".")[0] for name in op.read)
        return ()

    monkeypatch.setattr(onnx_model, "check_unread", watch)
    layer.save(path)
    onnx_model.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME)
    return names


def _stated(text: str, kind: str, attribute: str, value: str) -> str:
    """Return an IR in which every layer of a type has an attribute of this value."""

    def state(data: re.Match[str]) -> str:
        return f'{data[1]}{attribute}="{value}" ' + re.sub(rf'(?<= ){attribute}="[^"]*" ?', "", " " + data[2])[1:]

    stated, count = re.subn(rf'(type="{kind}" version="\w+">\s*<data )([^>]*>)', state, text)
    assert count
    return stated


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("configuration", "kind", "attribute", "value", "note"),
    [
        (test_detection.TABLE["PriorBoxClustered"], "PriorBoxClustered", "stepw", "3", "; did you mean 'step_w'?"),
        (test_detection.TABLE["PriorBoxClustered"], "PriorBoxClustered", "clips", "1", "; did you mean 'clip'?"),
        (test_windows.POOLING["AvgPool-14"], "AvgPool", "dilations", "2", ""),
        (test_indices.SELECTIONS["OneHot"], "OneHot", "negative_indices_mode", "normalize", ""),
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
    (found,) = onnx_model.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME).notes
    assert found.endswith(f"@{attribute}: OpenVINO has no such attribute and ignores it{note}")


@pytest.mark.parametrize(
    ("name", "kind", "attribute"),
    [("PriorBox-1", "PriorBox", "step_h"), ("PriorBoxClustered", "PriorBoxClustered", "flip")],
)
def test_what_the_model_optimizer_wrote_is_noted(name: str, kind: str, attribute: str, tmp_path: Path) -> None:
    path = tmp_path / "x.xml"
    saved(test_detection.TABLE[name], 0, path)
    path.write_text(_stated(path.read_text(), kind, attribute, "3"))
    notes = onnx_model.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME).notes
    known = f"@{attribute}: the Model Optimizer wrote it, and no release of OpenVINO reads it"
    assert [note[note.index("@") :] for note in notes] == [known]


def test_an_attribute_that_openvino_has_and_nothing_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.xml"
    saved(test_elementwise.UNARY["Elu"], 0, path)
    path.write_text(_stated(path.read_text(), "Elu", "beta", "1"))
    monkeypatch.setattr(onnx_model, "effective_attributes", lambda kind, version: frozenset(("alpha", "beta")))
    assert "@beta: unknown attribute; expected alpha" in refusals(path)


def test_an_operation_that_does_not_say_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.xml"
    saved(test_elementwise.UNARY["Elu"], 0, path)
    path.write_text(_stated(path.read_text(), "Elu", "alfa", "1"))
    monkeypatch.setattr(onnx_model, "effective_attributes", lambda kind, version: None)
    assert "@alfa: unknown attribute; expected alpha; did you mean 'alpha'?" in refusals(path)


def test_the_process_that_asks_may_die() -> None:
    assert onnx_model.effective_attributes("ReadValue", 6) is None
    assert onnx_model.effective_attributes("NoSuchLayer", 1) is None
    assert onnx_model.effective_attributes("OneHot", 16) == frozenset(("axis", "negative_indices_mode"))


def test_an_attribute_of_a_resize(tmp_path: Path) -> None:
    """OpenVINO tolerates it, and ``load`` does."""
    x, sizes = ov.opset13.parameter([1, 1, 4, 6], np.float32), np.array([8, 12], np.int64)
    attributes: dict[str, Any] = {"mode": "nearest", "shape_calculation_mode": "sizes"}
    path = tmp_path / "x.xml"
    made = ov.opset13.interpolate(x, sizes, axes=np.array([2, 3], np.int64), **attributes)
    ov.save_model(ov.Model([ov.opset13.result(made)], [x]), path)
    path.write_text(_stated(path.read_text(), "Interpolate", "nearest_mod", "floor"))
    (note,) = onnx_model.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME).notes
    assert note.endswith("@nearest_mod: OpenVINO has no such attribute and ignores it; did you mean 'nearest_mode'?")


def refusals(path: Path) -> str:
    """Return why an IR is not written."""
    with pytest.raises(ExceptionGroup) as caught:
        onnx_model.write_model(path, path.with_suffix(".onnx"), Semantics.RUNTIME)
    (error,) = caught.value.exceptions
    return str(error)
