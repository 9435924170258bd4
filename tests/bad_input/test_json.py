"""Layers as JSON that make no sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from tests.support.bad_input import SHAPE, Fails, LoadFails


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"resize_mode": "LINEAL"},
            "@resize_mode: unknown value 'LINEAL'; expected one of CUBIC, LINEAR, NEAREST; did you mean 'LINEAR'?",
        ),
        ({"scales": [1, 1, 2, 2]}, ": shape and scales are both given"),
        ({"cubic_coeff": None}, "@cubic_coeff: null is not a value; leave the setting out"),
        ({"shape": "8,12"}, "@shape: '8,12' is not a list of integers"),
        ({"shape": [1, 1, 8]}, ": sizes [1, 1, 8] do not fit 4 axes"),
        ({"shape": [1, 1, 8.5, 12]}, None),
        ({"shape": 8}, None),
        ({"shape": [1, 1, -8, 12]}, ": sizes must be non-negative 64-bit integers: [1, 1, -8, 12]"),
        ({"cubic_coeff": [1, 2], "resize_mode": "CUBIC"}, None),
        ({"input": {"shape": [1, 1, 4, 6], "dtype": "float99"}}, None),
        ({"input": {"shape": [1, 1, 4, 6], "dtype": 7}}, None),
        (
            {"input": {"shape": [1, 1, -4, 6]}},
            "@input: expected an object with a shape (sizes from 0, null if dynamic) and a dtype",
        ),
        ({"input": "x"}, "@input: expected an object with a shape (sizes from 0, null if dynamic) and a dtype"),
    ],
    ids=[
        "mode",
        "shape and scales",
        "coefficient null",
        "shape text",
        "rank",
        "shape fraction",
        "shape number",
        "negative shape",
        "coefficient list",
        "dtype",
        "dtype number",
        "negative length",
        "input text",
    ],
)
def test_a_json_layer_that_is_malformed(changes: dict[str, Any], reason: str | None, fails_to_load: LoadFails) -> None:
    layer = {
        "name": "up",
        "input": {"shape": [1, 1, 4, 6], "dtype": "float32"},
        "resize_mode": "LINEAR",
        "shape": [1, 1, 8, 12],
    } | changes
    said = fails_to_load("a.json", json.dumps({"dialect": "tensorrt", "version": 10, "layers": [layer]}))
    assert said.startswith("a.json:layers[0]")
    assert reason is None or said == f"a.json:layers[0]{reason}"


@pytest.mark.parametrize("end", ["xml", "onnx"])
def test_a_json_layer_of_an_unknown_input(end: str, fails: Fails, tmp_path: Path) -> None:
    layer = {"name": "up", "resize_mode": "LINEAR", "scales": [1, 1, 2, 2]}
    (tmp_path / "a.json").write_text(json.dumps({"dialect": "tensorrt", "layers": [layer]}))
    assert ir_interp.load("a.json")[0].run(np.zeros(SHAPE)).shape == (1, 1, 8, 12)
    assert "rank" in fails("convert", "a.json", f"b.{end}")


@pytest.mark.parametrize("text", ["NaN", "0", "-1", "Infinity"])
def test_json_scales_that_make_no_sense(text: str, fails_to_load: LoadFails) -> None:
    said = str(float(text))
    layer = f'{{"input": {{"shape": [1, 1, 4, 6]}}, "scales": [1, 1, 2, {text}]}}'
    assert fails_to_load("a.json", f'{{"dialect": "tensorrt", "layers": [{layer}]}}') == (
        f"a.json:layers[0]: scales must be finite and greater than 0 as float32: [1.0, 1.0, 2.0, {said}]"
    )


@pytest.mark.parametrize("name", ["\\ud800", "up\\udc80", "\\uDFFF"])
def test_a_name_that_is_no_text(name: str, fails_to_load: LoadFails) -> None:
    text = f'{{"dialect": "tensorrt", "layers": [{{"name": "{name}"}}]}}'
    assert fails_to_load("a.json", text).startswith("a.json: not JSON: 'utf-8' codec can't encode character ")


def test_a_pair_of_surrogates_is_one_character(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    layer = '{"name": "\\ud83d\\ude00", "input": {"shape": [4]}, "scales": [2]}'
    path.write_text(f'{{"dialect": "tensorrt", "layers": [{layer}]}}')
    assert ir_interp.load(path)[0].name == "\U0001f600"
