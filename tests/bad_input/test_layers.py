"""Layers of an IR that make no sense."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.bad_input import LoadFails, net, pasted


def test_an_unknown_layer_type(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted().replace("Interpolate", "Interpolat")) == (
        "a.xml:layer[0 \"up\"]@type: layer type 'Interpolat' is not supported; "
        "expected Interpolate; did you mean 'Interpolate'?"
    )


def test_a_layer_of_another_kind(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted().replace("Interpolate", "Convolution")) == (
        "a.xml:layer[0 \"up\"]@type: layer type 'Convolution' is not supported; expected Interpolate"
    )


def test_an_unknown_mode(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted('axes="2,3" mode="linera"')) == (
        "a.xml:layer[0 \"up\"]@mode: unknown value 'linera'; "
        "expected one of area, cubic, linear, linear_onnx, nearest; did you mean 'linear'?"
    )


def test_a_mode_of_a_later_version(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted('mode="bilinear_pillow"', version="opset4")) == (
        "a.xml:layer[0 \"up\"]@mode: unknown value 'bilinear_pillow'; "
        "expected one of cubic, linear, linear_onnx, nearest"
    )


def test_an_unknown_coordinate_transformation(fails_to_load: LoadFails) -> None:
    data = 'mode="linear" coordinate_transformation_mode="half_pixl"'
    assert fails_to_load("a.xml", pasted(data, version="opset4")) == (
        "a.xml:layer[0 \"up\"]@coordinate_transformation_mode: unknown value 'half_pixl'; expected one of "
        "align_corners, asymmetric, half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn; did you mean 'half_pixel'?"
    )


def test_a_missing_mode(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted('axes="2,3"')) == (
        'a.xml:layer[0 "up"]@mode: missing; expected one of area, cubic, linear, linear_onnx, nearest'
    )


def test_missing_axes(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted('mode="linear"')) == 'a.xml:layer[0 "up"]: axes are missing'


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ("2,4", "axis 4 is out of range for an input of rank 4"),
        ("-5,3", "axis -5 is out of range for an input of rank 4"),
        ("2,2", "axes [2, 2] name an axis of an input of rank 4 twice"),
        ("2,-2", "axes [2, -2] name an axis of an input of rank 4 twice"),
        ("2;3", "'2;3' is not a list of integers"),
        ("height", "'height' is not a list of integers"),
        ("2,", "'2,' is not a list of integers"),
        ("9" * 5000, f"'{'9' * 5000}' is not a list of integers"),
    ],
    ids=["out of range", "below", "twice", "twice in two ways", "semicolon", "word", "comma", "endless"],
)
def test_axes_that_do_not_fit(axes: str, reason: str, fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted(f'axes="{axes}" mode="linear"')) == f'a.xml:layer[0 "up"]@axes: {reason}'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ('align_corners="yes"', "@align_corners: 'yes' is not a boolean; expected one of 0, 1, false, true"),
        ('pads_begin="-1,0,0,0"', ": pads must not be negative"),
        ('pads_begin="a"', "@pads_begin: 'a' is not a list of integers"),
    ],
)
def test_attributes_that_make_no_sense(data: str, reason: str, fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted(f'axes="2,3" mode="linear" {data}')) == f'a.xml:layer[0 "up"]{reason}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("half", "@cube_coeff: 'half' is not a number"),
        ("nan", ": the cubic coefficient must be finite, not nan"),
    ],
)
def test_coefficients_that_make_no_sense(text: str, reason: str, fails_to_load: LoadFails) -> None:
    layer = pasted(f'mode="cubic" cube_coeff="{text}"', version="opset4")
    assert fails_to_load("a.xml", layer) == f'a.xml:layer[0 "up"]{reason}'


def test_a_name_over_two_lines(fails_to_load: LoadFails) -> None:
    """The error stays one line whatever the file holds."""
    assert fails_to_load("a.xml", pasted('axes="2,3" mode="linera"', name="up&#10;error: down")).startswith("a.xml:")


def test_an_operation_set_of_someone_else(fails_to_load: LoadFails) -> None:
    assert fails_to_load("a.xml", pasted(version="extension")) == (
        'a.xml:layer[0 "up"]@version: not an operation set of OpenVINO\'s own'
    )


def test_a_layer_of_a_net_without_a_version(fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    text = net('axes="2,3" mode="linear"').text().replace('type="Interpolate" version="opset1"', 'type="Interpolate"')
    assert fails_to_load("a.xml", text) == 'a.xml:layer[2 "up"]@version: missing; expected opset1 and up'


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('<layer id="1"', '<layer id="0"', 'layer[0 "target"]: layer id 0 appears twice'),
        ('<layer id="1"', '<layer id="one"', "@id: 'one' is not a non-negative integer"),
        ("<dim>4</dim>", "<dim>four</dim>", 'layer[0 "x"]/port[0]: a dimension is not an integer'),
        ('from-layer="1" from-port="0"', 'from-layer="1"', "@from-port: missing"),
        (
            'from-layer="1" from-port="0"',
            'from-layer="1" from-port="5"',
            'layer[1 "target"]: an edge starts at output port 5, which does not exist',
        ),
        ('<layer id="1"', f'<layer id="{"1" * 5000}"', f"@id: '{'1' * 5000}' is not a non-negative integer"),
    ],
    ids=["id twice", "id", "dimension", "edge", "port", "endless id"],
)
def test_a_net_that_is_malformed(old: str, new: str, reason: str, fails_to_load: LoadFails, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.array([8, 12]).tobytes())
    text = net('axes="2,3" mode="linear"').text().replace(old, new, 1)
    assert fails_to_load("a.xml", text) == f"a.xml:{reason}"


@pytest.mark.parametrize(
    "text", ["-0.7_5", "\u0661", "0x1p-1", "", "1,5"], ids=["underscore", "Arabic", "hexadecimal", "none", "comma"]
)
def test_a_number_in_another_syntax(text: str, fails_to_load: LoadFails) -> None:
    """Python's own syntax knows some of these."""
    data = f'mode="cubic" shape_calculation_mode="sizes" cube_coeff="{text}"'
    reason = fails_to_load("a.xml", pasted(data, version="opset4"))
    assert reason == f'a.xml:layer[0 "up"]@cube_coeff: {text!r} is not a number'


@pytest.mark.parametrize("text", ["1_0", "\u0662", "99999999999999999999"], ids=["underscore", "Arabic", "65 bits"])
def test_an_integer_in_another_syntax(text: str, fails_to_load: LoadFails) -> None:
    reason = fails_to_load("a.xml", pasted(f'axes="2,{text}" mode="linear" align_corners="0"'))
    assert reason == f'a.xml:layer[0 "up"]@axes: {f"2,{text}"!r} is not a list of integers'


@pytest.mark.parametrize("precision", ["", "FP99", "f4,f4", "finfo"])
def test_a_precision_that_is_none(precision: str, fails_to_load: LoadFails) -> None:
    text = pasted().replace('precision="FP32"', f'precision="{precision or " "}"')
    assert fails_to_load("a.xml", text).startswith('a.xml:layer[0 "up"]: unknown precision ')
