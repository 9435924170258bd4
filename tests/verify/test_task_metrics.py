"""``compare --metric``: which positions change class, which top classes do, which boxes move; expected from NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper
from PIL import Image

import ir_interp
from ir_interp.converters.verify.task_metrics import Metric, of_output
from ir_interp.errors import SpecError
from tests.support.commands import command

RNG = np.random.default_rng


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def segmenter(path: str, antialias: int, classes: int = 5) -> None:
    """Write a net that shrinks an image, tells the classes of its pixels, and enlarges them again."""
    text = f"""<ir_version: 8, opset_import: ["": 18]>
    g (float[1,3,24,32] image) => (float[1,{classes},24,32] logits)
    <float[4] s = {{1,1,0.25,0.25}}, float[4] u = {{1,1,4,4}}> {{
        small = Resize <mode = "linear", antialias = {antialias}> (image, "", s)
        told = Conv (small, w, b)
        logits = Resize <mode = "linear"> (told, "", u)
    }}"""
    model = onnx.parser.parse_model(text)
    weights = RNG(1).normal(size=(classes, 3, 1, 1)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    bias = -weights.sum(axis=(1, 2, 3)) / 2  # so that pixels around grey are undecided
    model.graph.initializer.append(numpy_helper.from_array(bias, "b"))
    onnx.save(model, path)


def constant(path: str, output: np.ndarray[Any, Any]) -> None:
    """Write a net whose output are these values, whatever the input is."""
    text = f"""<ir_version: 8, opset_import: ["": 18]>
    g (float[1] x) => (float[{",".join(map(str, output.shape))}] y) {{ z = Mul (x, o) y = Add (z, c) }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.zeros(1, np.float32), "o"))
    model.graph.initializer.append(numpy_helper.from_array(output.astype(np.float32), "c"))
    onnx.save(model, path)


def metric(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], name: str) -> Metric:
    """Return one metric of two outputs."""
    (found,) = (each for each in of_output(first, second) if each.name == name)
    return found


def test_classes_of_pixels_over_a_folder_of_images(capsys: pytest.CaptureFixture[str]) -> None:
    segmenter("a.onnx", 1)
    segmenter("b.onnx", 0)
    Path("photos").mkdir()
    changed: dict[str, int] = {}
    outputs = {}
    for number in range(7):
        pixels = RNG(number).integers(0, 256, (24, 32, 3), np.uint8)
        pixels //= 1 + number  # the darker, the less of it is near the border between classes
        Image.fromarray(pixels).save(f"photos/p{number}.png")
        x = (pixels.transpose(2, 0, 1)[None] / np.float32(255)).astype(np.float32)
        for model in ("a.onnx", "b.onnx"):
            import onnxruntime  # type: ignore[import-untyped, unused-ignore]

            session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
            (outputs[model],) = session.run(None, {"image": x})
        labels = (outputs[model].argmax(axis=1) for model in ("a.onnx", "b.onnx"))
        changed[f"photos/p{number}.png"] = int((next(labels) != next(labels)).sum())
    arguments = ("compare", "a.onnx", "b.onnx", "--input", "photos", "--std", "255")
    code, out, _ = command(capsys, *arguments, "--json", "--html", "c.html")
    record = json.loads(out)
    assert code == 1
    (found,) = record["outputs"][0]["metrics"]
    assert (found["name"], found["changed"], found["count"]) == ("argmax", sum(changed.values()), 7 * 24 * 32)
    assert sum(changed.values()) > 0
    by_file = {each["files"][0]: each["metrics"][0]["changed"] for each in record["inputs"]}
    assert by_file == changed
    assert list(by_file.values()) == sorted(changed.values(), reverse=True)
    text = command(capsys, *arguments)[1]
    assert f"argmax (5 classes along axis 1): {found['changed']:,} of {found['count']:,} changed" in text
    assert text.count("photos/p") == 5 + 1  # the worst five, and what was read
    page = Path("c.html").read_text()
    assert page.count("data:image/png") == 5
    assert "The worst of 7 inputs" in page
    comparison = ir_interp.compare("a.onnx", "b.onnx", seed=1)
    assert [each.name for each in comparison.outputs[0].metrics] == ["argmax"]
    assert comparison.inputs == ()


def test_classes_along_either_axis() -> None:
    first, second = RNG(0).random((2, 1, 5, 8, 9)).astype(np.float32)
    for axis, arrays in ((1, (first, second)), (3, [np.moveaxis(each, 1, -1) for each in (first, second)])):
        found = metric(arrays[0], arrays[1], "argmax")
        assert found.changed == np.count_nonzero(first.argmax(1) != second.argmax(1))
        assert (found.count, found.what, found.is_likely) == (72, f"5 classes along axis {axis}", True)


@pytest.mark.parametrize(
    ("shape", "is_likely"),
    [
        ((1, 1000), True),
        ((16, 10), True),
        ((1, 21, 64, 64), True),
        ((1, 64, 64, 21), True),
        ((1, 3, 64, 64), False),  # an image
        ((1, 256, 16, 16), False),  # features
        ((100, 4), False),  # boxes
        ((1, 12, 768), False),  # tokens
    ],
)
def test_what_looks_like_classes(shape: tuple[int, ...], is_likely: bool) -> None:
    x = RNG(0).random(shape).astype(np.float32)
    assert any(each.is_likely for each in of_output(x, x)) == is_likely


def test_no_classes() -> None:
    x = np.zeros((1, 5), np.float32)
    assert of_output(x, x.astype(np.int64)) == ()
    assert of_output(x, x[:, :4]) == ()
    assert of_output(x[0], x[0]) == ()
    assert of_output(x[:0], x[:0]) == ()


def test_the_top_classes() -> None:
    first = np.array([[9, 8, 7, 6, 5, 4, 0], [9, 8, 7, 6, 5, 4, 0], [9, 8, 7, 6, 5, 4, 0]], np.float32)
    second = np.array([[8, 9, 7, 6, 5, 4, 0], [9, 8, 7, 6, 4, 5, 0], [9, 8, 7, 6, 5, 4, 1]], np.float32)
    assert metric(first, second, "argmax").changed == 1  # two classes change places
    assert metric(first, second, "top-k").changed == 1  # another class is among five
    assert metric(first, second, "top-k").count == 3


def rows(*boxes: tuple[float, ...]) -> np.ndarray[Any, Any]:
    """Return boxes as a table of corners, score, class."""
    return np.array([boxes], np.float32)


BOX, FAR, FAINT = (10, 10, 30, 30, 0.9, 1), (50, 50, 90, 70, 0.8, 2), (0, 0, 5, 5, 0.1, 1)


@pytest.mark.parametrize(
    ("second", "changed", "count"),
    [
        (rows(BOX, FAR, FAINT), 0, 2),
        (rows(FAR, BOX, FAINT), 0, 2),  # in another order
        (rows(BOX, FAR, (0, 0, 6, 5, 0.2, 3)), 0, 2),  # no score counts
        (rows((10, 10, 30, 30.5, 0.9, 1), FAR, FAINT), 0, 2),  # 400 of 410
        (rows((10, 10, 30, 32, 0.9, 1), FAR, FAINT), 2, 3),  # 400 of 440: one goes, one comes
        (rows((*BOX[:5], 7), FAR, FAINT), 2, 3),
        (rows(BOX, FAINT, FAINT), 1, 2),
        (rows(BOX, BOX, FAR), 1, 3),
    ],
)
def test_boxes_in_a_table(second: np.ndarray[Any, Any], changed: int, count: int) -> None:
    found = metric(rows(BOX, FAR, FAINT), second, "boxes")
    assert (found.changed, found.count) == (changed, count)


@pytest.mark.parametrize("version", [5, 8])
def test_boxes_by_place(version: int) -> None:
    """Centres and sizes with the scores of classes, as YOLO writes them before suppression."""
    boxes = np.concatenate([RNG(0).uniform(50, 99, (200, 2)), RNG(1).uniform(10, 40, (200, 2))], 1)
    scores = np.zeros((200, 3))
    scores[:10, 1] = 0.9
    moved, others = boxes.copy(), scores.copy()
    moved[0, 0] += boxes[0, 2] / 2  # half of it is elsewhere
    moved[20] += 99  # nobody looks there
    others[1] = [0.9, 0, 0]  # another class
    others[2, 1] = 0.1  # gone
    others[30, 2] = 0.9  # new
    outputs = []
    for corners, told in ((boxes, scores), (moved, others)):
        if version == 5:
            outputs.append(np.concatenate([corners, np.ones((200, 1)), told], 1)[None])
        else:
            outputs.append(np.concatenate([corners, told], 1).T[None])
    mine, theirs = (each.astype(np.float32) for each in outputs)
    found = metric(mine, theirs, "boxes")
    assert (found.changed, found.count) == (4, 11)


def test_a_chosen_metric(capsys: pytest.CaptureFixture[str]) -> None:
    constant("a.onnx", rows(BOX, FAR, FAINT))
    constant("b.onnx", rows(BOX, (50, 50, 90, 90, 0.8, 2), FAINT))
    plain = ir_interp.compare("a.onnx", "b.onnx")
    assert plain.outputs[0].metrics == ()
    asked = ir_interp.compare("a.onnx", "b.onnx", metric=["boxes"])
    assert [(each.name, each.changed, each.count) for each in asked.outputs[0].metrics] == [("boxes", 2, 3)]
    assert command(capsys, "compare", "a.onnx", "b.onnx", "--metric", "boxes")[1].count(": 2 of 3 changed") == 1
    with pytest.raises(SpecError, match="no output has it"):
        ir_interp.compare("a.onnx", "b.onnx", metric=["top-k"])
    code, _, err = command(capsys, "compare", "a.onnx", "b.onnx", "--metric", "argmx")
    assert (code, err) == (
        2,
        "error: unknown metric 'argmx'; expected one of argmax, boxes, top-k; did you mean 'argmax'?\n",
    )


def test_against_saved_outputs() -> None:
    segmenter("a.onnx", 1)
    x = RNG(0).random((1, 3, 24, 32)).astype(np.float32)
    np.savez("saved.npz", image=x, logits=np.zeros((1, 5, 24, 32), np.float32))
    comparison = ir_interp.compare("a.onnx", reference="saved.npz", metric=["argmax"])
    (found,) = comparison.outputs[0].metrics
    assert found.count == 24 * 32
    assert found.changed > 0
