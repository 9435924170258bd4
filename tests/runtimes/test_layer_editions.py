"""OpenVINO by release: what the earlier ones made of a layer (``tests.sweeps.ir_editions`` runs it in them)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from tests.support.commands import completed
from tests.support.ir_text import End, Net, attributes, interpolate
from tests.support.runtimes import onnx_model

RELEASES = completed("audit", "--runtime", "openvino:")
OF_2021 = ("2021.2", "2021.3", "2021.4")
UP_TO_2025_3 = (*OF_2021, "2022.3", "2023.2", "2024.6", "2025.1", "2025.3")
IMAGE: dict[str, Any] = {"shape": (1, 2, 4, 6), "out": (1, 2, 8, 9)}
ROWS: list[tuple[int, str, dict[str, Any], dict[str, str]]] = [
    # version, attributes, shapes, and what releases make of the layer; all others compute it
    (4, 'mode="linear"', IMAGE, {}),
    (1, 'axes="2,3" mode="linear" align_corners="0"', IMAGE, {"2021.3": "differs: "}),
    (
        1,
        'axes="2,3" mode="cubic" align_corners="0"',
        IMAGE,
        {"2021.2": "refused: mode cubic is not supported", "2021.3": "differs: "},
    ),
    (
        1,
        'axes="2,3" mode="linear" align_corners="0" pads_begin="0,1,0,0"',
        IMAGE,
        {
            "2021.2": "differs: ",
            **dict.fromkeys(("2021.3", "2021.4"), "refused: an Interpolate-1 pads only the axes that it lists"),
        },
    ),
    (
        4,
        'mode="cubic"',
        {"shape": (1, 1, 4, 6, 5), "out": (1, 1, 4, 8, 9)},
        {
            **dict.fromkeys(("2021.2", "2021.3"), "refused: the plugin has no cubic Interpolate-4 of rank 5"),
            "2021.4": "crashes: the plugin has no cubic Interpolate-4 of rank 5",
        },
    ),
    (
        4,
        'mode="nearest"',
        {"shape": (3, 4, 6), "out": (3, 8, 9)},
        {**dict.fromkeys(UP_TO_2025_3, "refused: the plugin "), "2021.2": "refused: the plugin resizes spatial"},
    ),
    (
        4,
        'mode="linear" antialias="true"',
        {"shape": (1, 2, 8, 9), "out": (1, 2, 4, 6)},
        {"2021.2": "differs: "},
    ),
    (
        11,
        'mode="bilinear_pillow"',
        {"shape": (1, 2, 8, 9), "out": (1, 2, 4, 6)},
        dict.fromkeys((*OF_2021, "2022.3"), "refused: Interpolate-11 needs OpenVINO 2023.0 or later"),
    ),
    (
        11,
        'mode="bilinear_pillow"',
        {"shape": (8,), "out": (4,)},
        {
            **dict.fromkeys((*OF_2021, "2022.3"), "refused: Interpolate-11"),
            **dict.fromkeys(("2023.2", "2024.6", "2025.1"), "refused: the plugin has no bilinear_pillow of rank 1"),
            **dict.fromkeys(("2025.3", "2025.4", "2026.2", "2026.4"), "crashes: "),
        },
    ),
    (
        4,
        'mode="nearest"',
        IMAGE | {"dtype": "float64"},
        {name.partition(":")[2]: "refused: Interpolate does not take float64" for name in RELEASES[:-1]},
    ),
    (
        4,
        'mode="linear"',
        IMAGE | {"dtype": "uint8"},
        {
            **dict.fromkeys(OF_2021, "refused: Interpolate does not take uint8"),
            **dict.fromkeys(("2022.3", "2023.2"), "unknown: no rule covers uint8 in this release"),
        },
    ),
    (
        4,
        'mode="linear" antialias="true"',
        {"shape": (1, 1, 4, 6, 5), "out": (1, 1, 8, 9, 7)},
        dict.fromkeys((name.partition(":")[2] for name in RELEASES), "differs: the plugin narrows antialias' triangle"),
    ),
]


@pytest.mark.parametrize(("version", "data", "shapes", "predicted"), ROWS, ids=str)
def test_releases(version: int, data: str, shapes: dict[str, Any], predicted: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(interpolate(data, version=f"opset{version}", **shapes))
    (row,) = ir_interp.audit(tmp_path / "a.xml", runtimes=RELEASES).rows
    found = {name.partition(":")[2]: f"{each.kind.value}: {each.reason}" for name, each in row.predictions.items()}
    assert {name for name, text in found.items() if not text.startswith("same")} == set(predicted)
    assert all(found[name].startswith(text) for name, text in predicted.items()), found


def behind_levels(
    rank: int, between: str, *, levels: int = 256, mode: str = "nearest", channels: int = 1, **more: str
) -> Net:
    """Return a net that rounds values, computes others of them by layers of a type, and resizes the last axis."""
    net, shape = Net(11), (3, 2, 5, 6)[-rank:]
    out = (*shape[:-1], 12)

    def rounded(x: End) -> End:
        limit = (channels, *(1,) * (rank - 1)) if channels > 1 else ()
        ends = [net.const(np.full(limit, end), "float32") for end in (-2, 2, -2, 2)]
        data = attributes({"levels": levels, "auto_broadcast": "numpy"})
        return net.add("FakeQuantize", data, x, *ends, shape=shape, inputs=[shape, *[limit] * 4])

    x = net.parameter(shape)
    if between != "behind":
        x = rounded(x)
    if between == "Add":
        x = net.add("Add", 'auto_broadcast="numpy"', x, net.const(np.full((1,) * rank, 0.5), "float32"), shape=shape)
    coordinates = {"coordinate_transformation_mode": "asymmetric", "shape_calculation_mode": "sizes"}
    data = attributes({"mode": mode, **coordinates, **more})
    sources = [x, net.const([12]), net.const([2], "float32"), net.const([rank - 1])]
    y = net.add("Interpolate", data, *sources, shape=out, version="opset4", name="up", inputs=[shape])
    if between == "behind":
        shape = out
        y = rounded(y)
    net.add("Result", "", y, name="y")
    return net


IN_8_BITS = "refused: the plugin has no nearest Interpolate of rank"
NOT_KNOWN = "unknown: no rule covers a nearest Interpolate up to rank 3 of values that a FakeQuantize rounded"
UP_TO_2023_2 = (*OF_2021, "2022.3", "2023.2")
BEHIND_LEVELS: list[tuple[Net, dict[str, str]]] = [
    # a net, and what releases make of its resize; all others compute it
    (
        behind_levels(2, ""),
        {**dict.fromkeys(("2021.4", "2022.3", "2023.2"), IN_8_BITS), **dict.fromkeys(("2021.2", "2021.3"), NOT_KNOWN)},
    ),
    (
        behind_levels(3, ""),
        {
            **dict.fromkeys(("2021.4", "2022.3", "2023.2"), IN_8_BITS),
            "2021.2": "refused: the plugin has no nearest Interpolate-4 of rank 3",
            "2021.3": NOT_KNOWN,
        },
    ),
    (
        behind_levels(1, ""),
        {
            "2021.2": "refused: the plugin has no nearest Interpolate-4 of rank 1",
            "2021.3": NOT_KNOWN,
            "2023.2": IN_8_BITS,
        },
    ),
    (
        behind_levels(2, "", levels=16),
        {**dict.fromkeys(("2022.3", "2023.2"), IN_8_BITS), **dict.fromkeys(("2021.2", "2021.3"), NOT_KNOWN)},
    ),
    (behind_levels(2, "Add"), dict.fromkeys(UP_TO_2023_2, NOT_KNOWN)),
    (behind_levels(2, "", channels=5), dict.fromkeys(UP_TO_2023_2, NOT_KNOWN)),
    (behind_levels(2, "", levels=2), dict.fromkeys(UP_TO_2023_2, NOT_KNOWN)),
    (behind_levels(2, "", levels=257), {}),
    (behind_levels(2, "", coordinate_transformation_mode="align_corners"), {}),
    (behind_levels(2, "behind"), {}),
    (behind_levels(2, "", mode="linear"), {}),
    (behind_levels(4, ""), {}),
]


@pytest.mark.parametrize(("net", "predicted"), BEHIND_LEVELS)
def test_behind_levels(net: Net, predicted: dict[str, str], tmp_path: Path) -> None:
    net.write(tmp_path / "a.xml")
    (row,) = ir_interp.audit(tmp_path / "a.xml", runtimes=RELEASES).rows
    outcomes = {name.partition(":")[2]: f"{each.kind.value}: {each.reason}" for name, each in row.predictions.items()}
    assert {name for name, text in outcomes.items() if not text.startswith("same")} == set(predicted), outcomes
    assert all(outcomes[name].startswith(text) for name, text in predicted.items()), outcomes


def test_an_onnx_node_in_a_release_whose_frontend_was_not_run() -> None:
    model = onnx_model("Resize", 13, (1, 2, 8, 9), "float32", {"mode": "linear"}, sizes=(1, 2, 4, 6))
    (row,) = ir_interp.audit(model, runtimes=["openvino:2021.3"]).rows
    verdict = row.predictions["openvino:2021.3"]
    assert (verdict.kind.value, verdict.reason) == (
        "unknown",
        "no rule covers ONNX nodes in this release; convert the model to an IR first",
    )


@pytest.mark.parametrize(
    ("axes", "pads", "shape", "astray"),
    [
        # what is listed counts, not what is resized
        ("0,1,2", "0,1,0,0", (1, 4, 7, 5), False),
        ("1,2", "0,0,1,0", (1, 1, 7, 2), True),
        ("0", "1,0,0,0", (1, 4, 2, 9), True),
        ("1,2,4", "1,0,0,0,0", (1, 2, 7, 4, 2), False),  # a batch that is not listed is not moved
        ("0,3,4", "1,0,0,0,0", (1, 2, 7, 4, 2), True),
        ("0,1,2,3,4", "1,0,2,0,0", (1, 2, 7, 4, 2), False),
    ],
)
def test_pads_that_go_astray(axes: str, pads: str, shape: tuple[int, ...], astray: bool, tmp_path: Path) -> None:
    out = tuple(length + pad for length, pad in zip(shape, map(int, pads.split(",")), strict=True))
    listed = [int(axis) for axis in axes.split(",")]
    out = tuple(length + (axis == listed[-1]) for axis, length in enumerate(out))
    data = f'axes="{axes}" mode="nearest" align_corners="0" pads_begin="{pads}"'
    (tmp_path / "a.xml").write_text(interpolate(data, shape=shape, out=out))
    (row,) = ir_interp.audit(tmp_path / "a.xml", runtimes=["openvino"]).rows
    assert ("IRI008" in [each.code for each in row.findings]) == astray
    assert row.predictions["openvino"].reason.startswith("the plugin pads other axes") == astray
