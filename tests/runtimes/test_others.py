"""Other runtimes: what is told of a node, seen where they are installed; models made for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import ir_interp
from ir_interp import Crop, IrInterpError, resize
from ir_interp.converters.audit.probe import Job, run
from ir_interp.converters.predictions import RUNTIMES
from ir_interp.converters.runtimes.outcome import Kind
from tests.support.graphs import onnxruntime_outputs, save_model
from tests.support.runtimes import OTHERS, onnx_model

pytestmark = pytest.mark.usefixtures("one_worker")

OF_IMAGES = ("iree", "mnn", "ncnn", "opencv-dnn", "tvm")
"""Those whose rules are of the height and width of images alone."""
NAMES = (*OF_IMAGES[:-1], "tract", "tvm")
SHAPE = (1, 2, 5, 6)
HALF_UP = {"mode": "nearest", "nearest_mode": "round_prefer_ceil", "coordinate_transformation_mode": "asymmetric"}
CORNERS = "align_corners"
ROWS: tuple[tuple[dict[str, Any], dict[str, Any], dict[str, str]], ...] = (
    # attributes, target, and what each runtime makes of it: all others compute it
    ({"mode": "linear"}, {"sizes": (1, 2, 8, 9)}, {}),
    ({"mode": "linear"}, {"scales": (1, 1, 2, 0.5)}, {}),
    ({"mode": "linear"}, {"scales": (1, 1, 1.3, 1)}, {"opencv-dnn": "ratio", "tvm": "ratio"}),
    ({"mode": "linear"}, {"scales": (1, 1, 1.1, 2)}, {"opencv-dnn": "ratio", "tvm": "ratio", "ncnn": "copies"}),
    ({"mode": "linear"}, {"scales": (1, 1, 2.6, 1)}, {"iree": "exactly"}),
    (
        {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
        {"sizes": (1, 2, 8, 9)},
        {"ncnn": "as half_pixel"},
    ),
    (
        {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": CORNERS},
        {"sizes": (1, 2, 8, 9)},
        {"ncnn": "asymmetric", "iree": "asymmetric only"},
    ),
    (
        {"mode": "linear", "antialias": 1},
        {"sizes": (1, 2, 2, 3)},
        dict.fromkeys(OF_IMAGES, "antialias"),
    ),
    ({"mode": "cubic"}, {"sizes": (1, 2, 9, 9)}, {"mnn": "the centre of the first pixel"}),
    ({"mode": "cubic"}, {"sizes": (1, 2, 3, 4)}, {}),
    (
        {"mode": "cubic", "cubic_coeff_a": -0.5, "coordinate_transformation_mode": CORNERS},
        {"sizes": (1, 2, 9, 9)},
        {"mnn": "coefficient", "ncnn": "coefficient", "iree": "coefficient"},
    ),
    (HALF_UP, {"scales": (1, 1, 2, 2)}, {"mnn": "round_prefer_floor", "ncnn": "floor or none only"}),
    (
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
        {"sizes": (1, 2, 8, 9)},
        {"opencv-dnn": "half_pixel_symmetric", "tvm": "half_pixel_symmetric", "mnn": "half_pixel_symmetric"},
    ),
    ({"mode": "linear", "coordinate_transformation_mode": CORNERS}, {"sizes": (1, 2, 1, 9)}, {"tvm": "divides by 0"}),
    (
        {"mode": "linear", "coordinate_transformation_mode": CORNERS},
        {"scales": (1, 1, 1.3, 1.5)},
        {
            "tract": "uses scale * size",
        },
    ),
    (
        {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"},
        {"sizes": (1, 2, 1, 9)},
        {
            "mnn": "the centre of the first pixel",
            "ncnn": "as half_pixel",
            "tract": "at -1/2",
        },
    ),
    (
        {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel", "exclude_outside": 1},
        {"sizes": (1, 2, 1, 9)},
        {
            "iree": "exclude_outside is not",
            "mnn": "the centre of the first pixel",
            "ncnn": "no exclude_outside",
            "tract": "at -1/2",
        },
    ),
    (
        {"mode": "linear", "axes": [2, 3]},
        {"sizes": (8, 9)},
        dict.fromkeys([name for name in OF_IMAGES if name != "mnn"], "axes"),
    ),
    (
        {"mode": "linear"},
        {"sizes": (1, 3, 8, 9)},
        {
            "iree": "height and width only",
            "mnn": "out of bounds",
            "ncnn": "height and width only",
            "opencv-dnn": "last two axes only",
            "tvm": "last two axes only",
        },
    ),
)


def saved(place: Path, attributes: dict[str, Any], target: dict[str, Any]) -> Path:
    onnx.save(onnx_model("Resize", 19, SHAPE, "float32", attributes, **target), place / "a.onnx")
    return place / "a.onnx"


OLD_SHAPE = (1, 2, 6, 7)
OLD = (  # operator, operator set, mode, scales, and what each runtime makes of it: all others compute it
    ("Resize", 10, "linear", (2, 2), {
        "opencv-dnn": "computes Resize-10", "mnn": "computes Resize-10", "tvm": "Upsample-9", "ncnn": "Resize-10",
        "iree": "Resize-10",
    }),
    ("Resize", 10, "nearest", (0.3, 2), {
        "opencv-dnn": "computes Resize-10", "mnn": "computes Resize-10", "tvm": "Upsample-9", "ncnn": "Resize-10",
        "iree": "Resize-10",
    }),
    ("Resize", 10, "nearest", (0.7, 1.5), {
        "opencv-dnn": "computes Resize-10", "mnn": "computes Resize-10", "tvm": "Upsample-9", "ncnn": "Resize-10",
        "iree": "Resize-10", "tract": "computes Resize-10",
    }),
    ("Upsample", 7, "linear", (2, 3), {
        "opencv-dnn": "a linear Upsample is not supported", "ncnn": "computes a linear Upsample", "iree": "Upsample-7",
        "tract": "Upsample is not supported",
    }),
    ("Upsample", 8, "nearest", (2, 2), {
        "tvm": "rounds nearest positions", "iree": "Upsample-7", "tract": "Upsample is not supported",
    }),
    ("Upsample", 7, "nearest", (1.3, 2), {
        "opencv-dnn": "integral scales only", "mnn": "ratio", "tvm": "rounds nearest positions", "iree": "Upsample-7",
        "tract": "Upsample is not supported",
    }),
    ("Upsample", 9, "linear", (2, 2), {
        "opencv-dnn": "a linear Upsample is not supported", "tvm": "Upsample-9", "ncnn": "computes a linear Upsample",
        "iree": "computes a linear Upsample", "tract": "Upsample is not supported",
    }),
    ("Upsample", 9, "nearest", (2, 2), {"tvm": "Upsample-9", "tract": "Upsample is not supported"}),
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("op", "opset", "mode", "scales", "told"), OLD, ids=str)
def test_what_is_told_of_old_operator_sets_is_what_is_seen(
    name: str, op: str, opset: int, mode: str, scales: tuple[float, ...], told: dict[str, str], tmp_path: Path
) -> None:
    path, given = tmp_path / "a.onnx", (1, 1, *scales)
    onnx.save(onnx_model(op, opset, OLD_SHAPE, "float32", {"mode": mode}, scales=given), path)
    kind = agrees(path, OLD_SHAPE, name, told.get(name, ""))
    assert (kind is Kind.SAME) == (name not in told)


def agrees(path: Path, shape: tuple[int, ...], name: str, reason: str) -> Kind:
    """Return what is predicted of the only node of a model; fail where the runtime, if installed, does otherwise."""
    (row,) = ir_interp.audit(path, runtimes=[name], run=OTHERS[name].is_installed).rows
    predicted = row.predictions[name]
    assert reason in predicted.reason
    assert row.seen.get(name, predicted).kind is predicted.kind, (row.seen[name], predicted)
    return predicted.kind


def test_linear_of_a_single_row_is_no_resize_in_opencv(tmp_path: Path) -> None:
    """It reads uninitialised memory: what comes varies from run to run, and `--target` must not keep it."""
    path, made, shape = tmp_path / "a.onnx", tmp_path / "b.onnx", (1, 2, 1, 5)
    for coordinates in ("half_pixel", "align_corners", "asymmetric"):
        attributes = {"mode": "linear", "coordinate_transformation_mode": coordinates}
        onnx.save(onnx_model("Resize", 13, shape, "float32", attributes, sizes=(1, 2, 4, 9)), path)
        (row,) = ir_interp.audit(path, runtimes=["opencv-dnn"]).rows
        assert row.predictions["opencv-dnn"].kind is Kind.DIFFERS
        assert "height 1" in row.predictions["opencv-dnn"].reason
        ir_interp.convert(path, made, target="opencv-dnn", verify=False)
        assert not ir_interp.load(made)


@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "pytorch_half_pixel", "tf_half_pixel_for_nn"])
def test_ncnn_takes_the_floor_where_nearest_mode_is_left_out(coordinates: str, tmp_path: Path) -> None:
    path, attributes = tmp_path / "a.onnx", {"mode": "nearest", "coordinate_transformation_mode": coordinates}
    onnx.save(onnx_model("Resize", 11, (1, 2, 7, 6), "float32", attributes, scales=(1, 1, 1.5, 2.6)), path)
    assert agrees(path, (1, 2, 7, 6), "ncnn", "rounds down") is Kind.DIFFERS


OF_TRACT = (  # operator set, inputs after the data, constants, and what becomes of them
    (11, ("r", "s"), "same"),
    (11, ("", "s"), "crashes"),
    (11, ("", "", "z"), "crashes"),
    (11, ("", "e", "z"), "refused"),
    (11, ("r", "", "z"), "refused"),
    (11, ("e", "e", "z"), "same"),
    (13, ("", "s"), "same"),
    (13, ("", "", "z"), "same"),
    (18, ("", "e", "z"), "same"),
)


@pytest.mark.parametrize(("opset", "inputs", "becomes"), OF_TRACT, ids=str)
def test_inputs_left_out_in_tract(opset: int, inputs: tuple[str, ...], becomes: str, tmp_path: Path) -> None:
    """In operator sets 11 and 12 it finds roi and scales by their place among the inputs that are there."""
    constants = "float[0] e = {}, float[0] r = {}, float[4] s = {1, 1, 2, 2}, int64[4] z = {1, 1, 8, 9}"
    names = ", ".join(name or '""' for name in inputs)
    graph = f'g (float[1,1,4,3] x) => (float[a,b,c,d] y) <{constants}> {{ y = Resize <mode = "linear"> (x, {names}) }}'
    path = save_model(tmp_path / "a.onnx", graph, opset)
    assert agrees(path, (1, 1, 4, 3), "tract", "" if becomes == "same" else "by their position").value == becomes


OF_ANY_RANK = (
    ((3, 9, 7), {"mode": "linear", "antialias": 1}, {"sizes": (3, 4, 7)}),
    ((1, 2, 3, 5, 6), {"mode": "cubic"}, {"scales": (1, 1.5, 1, 2, 0.7)}),
    ((2, 3, 5, 6), {"mode": "nearest", "axes": [-1, 1]}, {"sizes": (9, 5)}),
    ((1, 2, 9, 8), {"mode": "linear", "axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"}, {"sizes": (4, 5)}),
)


OUT_OF_ORDER: tuple[tuple[list[int], tuple[int, ...], dict[str, Any], str], ...] = (
    # axes and sizes of an image of 4x5, and what becomes of them
    ([0, 1, 3, 2], (1, 1, 9, 8), {}, "refused"),
    ([0, 1, 3, 2], (1, 1, 5, 4), {}, "refused"),
    ([1, 0, 2, 3], (1, 1, 8, 9), {}, "same"),  # entries that are alike
    ([0, 1, 3, 2], (1, 1, 8, 8), {"mode": "linear"}, "same"),
    ([0, 1, 3, 2], (1, 1, 9, 8), {"mode": "linear", "antialias": 1}, "same"),
    ([0, 1, 3, 2], (1, 1, 9, 8), {"mode": "cubic", "cubic_coeff_a": -0.5}, "same"),
    ([0, 1, 3, 2], (1, 1, 9, 8), {"mode": "nearest", "nearest_mode": "ceil"}, "unknown"),
)


@pytest.mark.parametrize(("axes", "sizes", "attributes", "becomes"), OUT_OF_ORDER, ids=str)
def test_axes_out_of_order_in_tract(
    axes: list[int], sizes: tuple[int, ...], attributes: dict[str, Any], becomes: str, tmp_path: Path
) -> None:
    """Its optimiser takes the entries of every axis for those in order, of the nodes that it simplifies."""
    path, words = tmp_path / "a.onnx", {"mode": "cubic", **attributes, "axes": axes}
    onnx.save(onnx_model("Resize", 18, (1, 1, 4, 5), "float32", words, sizes=sizes), path)
    (row,) = ir_interp.audit(path, runtimes=["tract"], run=OTHERS["tract"].is_installed).rows
    assert row.predictions["tract"].kind.value == becomes
    if becomes != "unknown":
        assert row.seen.get("tract", row.predictions["tract"]).kind.value == becomes


CROP, WINDOW = "tf_crop_and_resize", (0, 0, 0.1, 0.2, 1, 1, 0.9, 0.75)
OF_CROPS: tuple[tuple[str, dict[str, Any], dict[str, Any], str], ...] = (
    # runtime, attributes, target of an image of 5x6, and what is told of its crop
    ("tract", {"mode": "linear"}, {"sizes": (1, 2, 8, 9)}, ""),
    ("tract", {"mode": "cubic", "cubic_coeff_a": -0.5}, {"sizes": (1, 2, 3, 9)}, ""),
    ("tract", {"mode": "nearest", "nearest_mode": "ceil"}, {"sizes": (1, 2, 8, 9)}, ""),
    ("tract", {"mode": "linear"}, {"scales": (1, 1, 2, 1.5)}, ""),
    ("tract", {"mode": "linear"}, {"scales": (1, 1, 1.3, 2)}, "crops use scale * size"),
    ("mnn", {"mode": "linear"}, {"scales": (1, 1, 2, 1.5)}, "as asymmetric, without the window"),
    ("mnn", {"mode": "nearest", "nearest_mode": "ceil"}, {"scales": (1, 1, 0.6, 2)}, "ceil and round_prefer_ceil"),
    ("mnn", {"mode": "cubic"}, {"scales": (1, 1, 1, 1)}, "as asymmetric, without the window"),
    ("mnn", {"mode": "linear"}, {"sizes": (1, 2, 8, 9)}, "the first pixel everywhere"),
    ("mnn", {"mode": "nearest"}, {"sizes": (1, 2, 5, 6)}, "the first pixel everywhere"),
)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(("name", "attributes", "target", "told"), OF_CROPS, ids=str)
def test_crops(
    name: str, attributes: dict[str, Any], target: dict[str, Any], told: str, is_known: bool, tmp_path: Path
) -> None:
    """A constant window, or one that a node computes, makes no difference: the resize is run on random pixels."""
    path, words = tmp_path / "a.onnx", {**attributes, "coordinate_transformation_mode": CROP}
    model = onnx_model("Resize", 13, SHAPE, "float32", words, **target)
    (node,) = model.graph.node
    node.input[1] = "roi"
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(WINDOW, np.float32), "roi"))
    if not is_known:
        model.graph.initializer[-1].name = "stored"
        model.graph.node.insert(0, onnx.helper.make_node("Abs", ["stored"], ["roi"]))
    onnx.save(model, path)
    (row,) = ir_interp.audit(path, runtimes=[name]).rows
    assert told in row.predictions[name].reason
    outcome = RUNTIMES[name].predict(row.op)
    if not OTHERS[name].is_installed:
        return
    x = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    (answer,) = run([Job(runtime=name, model=str(path), array=str(tmp_path / "x.npy"))])
    assert answer.output is not None
    if outcome.spec is None:
        np.testing.assert_array_equal(answer.output, np.broadcast_to(x[:, :, :1, :1], target["sizes"]))
        return
    coordinates = outcome.spec.coordinates
    if isinstance(coordinates, Crop):
        windows = tuple(zip(WINDOW[:4], WINDOW[4:], strict=True))
        spec = replace(outcome.spec, coordinates=replace(coordinates, roi=coordinates.roi or windows))
    else:
        spec = outcome.spec
    np.testing.assert_allclose(answer.output, resize(x, spec), atol=1e-5)


LEVELS = """g (float[{shape}] x) => (float[a,b,h,w] y)
<float s = {{0.03125}}, {dtype} z = {{5}}, float[4] c = {{1, 1, 2, 2}}, int64[4] n = {{{sizes}}}> {{
    q = QuantizeLinear (x, s, z)
    f = DequantizeLinear (q, s, z)
    r = Resize <mode = "nearest"> (f, , {target})
    {end}
}}"""
AGAIN, NO_MORE = "p = QuantizeLinear (r, s, z) y = DequantizeLinear (p, s, z)", "y = Identity (r)"


@pytest.mark.parametrize(
    ("dtype", "target", "end", "becomes"),
    [
        ("int8", "c", AGAIN, "same"),
        ("int8", "c", NO_MORE, "differs: its DequantizeLinear swaps"),
        ("int8", ", n", AGAIN, "refused: it swaps batch and channels"),
        ("uint8", "c", AGAIN, "differs: its DequantizeLinear reads uint8"),
        ("uint8", ", n", NO_MORE, "refused: it swaps batch and channels"),
    ],
)
def test_levels_in_mnn(dtype: str, target: str, end: str, becomes: str, tmp_path: Path) -> None:
    """What its DequantizeLinear does to the order of pixels, the resize behind it cannot undo."""
    shape, text = (1, 3, 4, 5), LEVELS.format(dtype=dtype, target=target, end=end, shape="1,3,4,5", sizes="1, 3, 7, 9")
    path = save_model(tmp_path / "a.onnx", text, 13)
    (row,) = ir_interp.audit(path, runtimes=["mnn"]).rows
    assert str(row.predictions["mnn"]).startswith(becomes)
    if not OTHERS["mnn"].is_installed:
        return
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    (answer,) = run([Job(runtime="mnn", model=str(path), array=str(tmp_path / "x.npy"))])
    (wanted,) = onnxruntime_outputs(path, {"x": x})
    is_same = answer.output is not None and np.array_equal(answer.output, wanted)
    kind = "refused" if answer.output is None else "same" if is_same else "differs"
    assert kind == row.predictions["mnn"].kind.value


@pytest.mark.parametrize("name", ["iree", "mnn"])
def test_runtimes_that_refuse_functions(name: str, tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 13, "own": 1]>
    g (float[1,1,4,4] x) => (float[1,1,h,w] y) { y = own.Twice (x) }
    <domain: "own", opset_import: ["": 13]>
    Twice (x) => (y) { s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () y = Resize (x, , s) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "a.onnx")
    assert agrees(tmp_path / "a.onnx", (1, 1, 4, 4), name, "calls local functions") is Kind.REFUSED


@pytest.mark.parametrize(
    ("dtype", "mode", "verdict"),
    [
        ("float16", "linear", "same"),
        ("uint8", "nearest", "same"),
        ("uint8", "linear", "same: but for integers"),
        ("int8", "cubic", "same: but for integers"),
        ("int32", "nearest", "unknown: no rule covers a Resize of int32"),  # beyond 2^24 its float32 holds not all
        ("float64", "linear", "unknown: no rule covers a Resize of float64"),
    ],
)
def test_element_types_in_tract(dtype: str, mode: str, verdict: str, tmp_path: Path) -> None:
    path, words = tmp_path / "a.onnx", {"mode": mode}
    onnx.save(onnx_model("Resize", 13, SHAPE, dtype, words, sizes=(1, 2, 8, 9)), path)
    (row,) = ir_interp.audit(path, runtimes=["tract"], run=OTHERS["tract"].is_installed).rows
    assert str(row.predictions["tract"]).startswith(verdict)
    if not verdict.startswith("unknown"):
        assert row.seen.get("tract", row.predictions["tract"]).kind is Kind.SAME


def test_scales_out_of_order_in_tract(tmp_path: Path) -> None:
    """Lengths that come out alike hide it: the width is resized by the scale of the height."""
    path, words = tmp_path / "a.onnx", {"mode": "linear", "axes": [1, 0]}
    onnx.save(onnx_model("Resize", 18, (3, 4), "float32", words, scales=(1.1, 1.0)), path)
    assert agrees(path, (3, 4), "tract", "in order") is Kind.DIFFERS


@pytest.mark.parametrize(("shape", "attributes", "target"), OF_ANY_RANK, ids=str)
def test_tract_resizes_any_axes(
    shape: tuple[int, ...], attributes: dict[str, Any], target: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "a.onnx"
    onnx.save(onnx_model("Resize", 18, shape, "float32", attributes, **target), path)
    assert agrees(path, shape, "tract", "") is Kind.SAME


def test_a_policy_and_align_corners_in_tract(tmp_path: Path) -> None:
    path, words = tmp_path / "a.onnx", {"mode": "linear", "coordinate_transformation_mode": CORNERS}
    policy = {"keep_aspect_ratio_policy": "not_larger", "axes": [2, 3]}
    onnx.save(onnx_model("Resize", 18, (1, 1, 8, 7), "float32", words | policy, sizes=(5, 6)), path)
    assert agrees(path, (1, 1, 8, 7), "tract", "uses scale * size") is Kind.DIFFERS


def test_dynamic_lengths_in_tract(tmp_path: Path) -> None:
    """A bicubic export of PyTorch stays: that an output is a single pixel is not known of it."""
    words = 'mode = "cubic", coordinate_transformation_mode = "pytorch_half_pixel"'
    constants = "float[4] s = {1, 1, 2, 2}"
    graph = f"g (float[n,3,h,w] x) => (float[a,b,c,d] y) <{constants}> {{ y = Resize <{words}> (x, , s) }}"
    path = save_model(tmp_path / "a.onnx", graph)
    assert agrees(path, (), "tract", "") is Kind.SAME
    (row,) = ir_interp.convert(path, tmp_path / "b.onnx", target="tract", verify=False).rows
    assert row.form.endswith("kept")


def test_nearest_of_tract_excludes_pixels(tmp_path: Path) -> None:
    """A pixel outside the image has no weight, and no other takes its place: 0 comes."""
    path, attributes = tmp_path / "a.onnx", {"mode": "nearest", "nearest_mode": "floor", "exclude_outside": 1}
    onnx.save(onnx_model("Resize", 13, SHAPE, "float32", attributes, scales=(1, 1, 2, 2)), path)
    assert agrees(path, SHAPE, "tract", "returns 0") is Kind.DIFFERS


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("attributes", "target", "told"), ROWS, ids=str)
def test_what_is_told_is_what_is_seen(
    name: str, attributes: dict[str, Any], target: dict[str, Any], told: dict[str, str], tmp_path: Path
) -> None:
    path = saved(tmp_path, attributes, target)
    (row,) = ir_interp.audit(path, runtimes=[name]).rows
    verdict = row.predictions[name]
    assert (verdict.kind.value == "same") == (name not in told)
    assert told.get(name, "") in verdict.reason
    if not OTHERS[name].is_installed or verdict.kind is Kind.UNKNOWN:
        return
    x = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    (answer,) = run([Job(runtime=name, model=str(path), array=str(tmp_path / "x.npy"))])
    if verdict.kind is not Kind.CRASHES:  # what is out of bounds may be anything
        assert (answer.output is None) == (verdict.kind is Kind.REFUSED)
    spec = RUNTIMES[name].predict(row.op).spec
    if spec is not None:
        assert answer.output is not None
        np.testing.assert_allclose(answer.output, resize(x, spec), atol=1e-5)


def test_those_that_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir_interp.converters.runtimes.runtime.find_spec", lambda name: name == "cv2" or None)
    path = saved(tmp_path, {"mode": "linear"}, {"sizes": (1, 2, 8, 9)})
    (plain,), (row,) = ir_interp.audit(path).rows, ir_interp.audit(path, runtimes=["installed"]).rows
    assert row.predictions.keys() == {*plain.predictions, "opencv-dnn"}
    (row,) = ir_interp.audit(path, runtimes=["mnn", "installed"]).rows
    assert row.predictions.keys() == {*plain.predictions, "mnn", "opencv-dnn"}


def test_ties_that_float32_decides() -> None:
    """Of 39 pixels to 27, output 13 lies on pixel 19: i * step + offset falls short of it in float32."""
    attributes = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "half_pixel"}
    model = onnx_model("Resize", 19, (1, 1, 9, 39), "float32", attributes, sizes=(1, 1, 9, 27))
    (row,) = ir_interp.audit(model, runtimes=NAMES).rows
    kinds = {name: verdict.kind.value for name, verdict in row.predictions.items()}
    assert kinds == {
        "mnn": "differs",
        "opencv-dnn": "same",
        "tvm": "same",
        "iree": "same",
        "ncnn": "differs",
        "tract": "same",
    }


def test_they_are_asked_by_name() -> None:
    """What is installed beside this program shall not change a report."""
    model = onnx_model("Resize", 19, SHAPE, "float32", {"mode": "linear"}, sizes=(1, 2, 8, 9))
    (row,) = ir_interp.audit(model).rows
    assert not {*NAMES} & row.predictions.keys()


DYNAMIC = """g (float[n,3,h,w] x, float[n,3,p,q] z) => (float[n,3,i,j] y)
<int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}> {
    a = Shape (x)
    b = Slice (a, zero, two)
    c = Shape (z)
    d = Slice (c, two, four)
    s = Concat <axis = 0> (b, d)
    y = Resize <mode = "linear"> (x, , , s)
}"""


@pytest.mark.parametrize("target", [*NAMES, "any"])
def test_sizes_that_leave_batch_and_channels(target: str, tmp_path: Path) -> None:
    """Axes that take their own length are known to stay."""
    source, made = save_model(tmp_path / "a.onnx", DYNAMIC), tmp_path / "b.onnx"
    shapes = {"x": (1, 3, 8, 9), "z": (1, 3, 5, 20)}
    if target in ("tvm", "any"):
        with pytest.raises(ExceptionGroup) as refusals:
            ir_interp.convert(source, made, target=target, shapes=shapes)
        assert "sizes at run time are not supported" in str(refusals.value.exceptions[0])
        return
    (row,) = ir_interp.convert(source, made, target=target, shapes=shapes).rows
    assert row.form.endswith("a second row for images of height 1" if target == "opencv-dnn" else "Resize-19, kept")


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", [*NAMES, "any"])
@pytest.mark.parametrize(("attributes", "size", "told"), ROWS, ids=str)
def test_a_model_made_for_them(
    target: str, attributes: dict[str, Any], size: dict[str, Any], told: dict[str, str], tmp_path: Path
) -> None:
    """What a runtime computes stays, what it does not is rewritten, into what it computes."""
    path = saved(tmp_path, attributes, size)
    if target == "ncnn" and target in told and "axes" not in attributes:  # there is no other form for it
        with pytest.raises(ExceptionGroup):
            ir_interp.convert(path, tmp_path / "b.onnx", target=target, verify=False)
        return
    (row,) = ir_interp.convert(path, tmp_path / "b.onnx", target=target, verify=False).rows
    if target in NAMES:
        assert row.form.endswith("kept") == (target not in told)
    names = [name for name in NAMES if name != "ncnn"]
    found = ir_interp.audit(tmp_path / "b.onnx", runtimes=names if target == "any" else (target,))
    assert {verdict.kind.value for each in found.rows for verdict in each.predictions.values()} <= {"same"}


def test_a_wrong_target_names_them(tmp_path: Path) -> None:
    targets = [name for name in OTHERS if OTHERS[name].accepts]
    with pytest.raises(IrInterpError, match=f"{', '.join(targets)} or any; did you mean 'opencv-dnn'"):
        ir_interp.convert(saved(tmp_path, {}, {"scales": (1, 1, 2, 2)}), tmp_path / "b.onnx", target="opencv_dnn")
