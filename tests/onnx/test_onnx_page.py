"""``--semantics document``: ONNX's operator page to the letter, and where runtimes and reference part from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, strategies as st
from onnx.reference import ReferenceEvaluator

import ir_interp
from ir_interp import ResizeOp, ShapeError
from tests.support.commands import command
from tests.support.configurations import OnnxCase, random_node
from tests.support.onnx_page import Array, resized
from tests.support.runtimes import onnx_model, onnxruntime_resize, openvino_resize

CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
SYMMETRIC = {"coordinate_transformation_mode": "half_pixel_symmetric"}
CORNERS = {"coordinate_transformation_mode": "align_corners"}


def model_of(case: OnnxCase, dtype: str | None = None) -> onnx.ModelProto:
    inputs: dict[str, Any] = {"scales": case.scales, "sizes": case.sizes, "roi": case.roi}
    return onnx_model(case.op, case.opset, case.shape, dtype or case.dtype, case.attributes, **inputs)


def read(case: OnnxCase, semantics: str = "document") -> ResizeOp:
    (op,) = ir_interp.load(model_of(case), semantics=semantics)
    return op


def reference_run(model: onnx.ModelProto, x: Array) -> Array:
    made: Any = ReferenceEvaluator(model).run(None, {"x": x})
    return np.asarray(made[0])


def by_the_page(case: OnnxCase, x: Array) -> Array:
    return resized(x, case.attributes, scales=case.scales, sizes=case.sizes, roi=case.roi)


@given(st.integers(0, 2**32 - 1))
def test_every_node_is_as_the_page_says(seed: int) -> None:
    case = random_node(np.random.default_rng(seed))
    if case.opset < 11 or not case.has_words:  # of a page without a formula, or without the word
        return
    case = case if case.mode == "nearest" else replace(case, dtype="float32")
    x = case.array() if case.mode == "nearest" else case.array().astype(np.float64)
    op = read(case)
    if case.scales_mirrored:
        with pytest.raises(ShapeError, match="has no size that scales can multiply; use sizes"):
            op.run(x)
        return
    made = op.run(x)
    if case.mode == "nearest":
        np.testing.assert_array_equal(made, by_the_page(case, x), strict=True)
    else:
        np.testing.assert_allclose(made, by_the_page(case, x), rtol=1e-5, atol=1e-4, strict=True)


@dataclass(frozen=True, kw_only=True)
class Parting:
    """A node of which the page makes something else than onnxruntime, and than the reference, or the same."""

    id: str
    attributes: Mapping[str, Any]
    shape: tuple[int, ...] = (1, 5)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    page: list[float]
    onnxruntime: list[float] | str
    reference: list[float] | str
    note: list[str]
    mode: str = "linear"

    @property
    def case(self) -> OnnxCase:
        (target,) = (self.inputs[kind] for kind in ("sizes", "scales") if kind in self.inputs)
        attributes = {"mode": self.mode, "axes": [0, 1][-len(target) :], **self.attributes}
        return OnnxCase(op="Resize", opset=19, shape=self.shape, attributes=attributes, **self.inputs)


PARTINGS = [
    Parting(
        id="a crop's length",
        attributes=CROP,
        inputs={"scales": (2.0,), "roi": (0.0, 0.5)},
        page=[0, 0.5, 1, 1.5, 2],
        onnxruntime=[2 / 9 * i for i in range(10)],
        reference=[2 / 9 * i for i in range(10)],
        note=["IRI009"],
    ),
    Parting(
        id="fractional scales",
        attributes={},
        inputs={"scales": (0.5,)},
        page=[0.75, 3.25],
        onnxruntime=[0.5, 2.5],
        reference=[0.5, 2.5],
        note=["IRI009"],
    ),
    Parting(
        id="scales that make whole lengths",
        attributes={},
        shape=(1, 4),
        inputs={"scales": (1.5,)},
        page=[0, 0.5, 7 / 6, 11 / 6, 2.5, 3],
        onnxruntime=[0, 0.5, 7 / 6, 11 / 6, 2.5, 3],
        reference=[0, 0.5, 7 / 6, 11 / 6, 2.5, 3],
        note=[],
    ),
    Parting(
        id="half_pixel_symmetric",
        attributes=SYMMETRIC,
        inputs={"scales": (0.5,)},
        page=[1.25, 3.75],  # not in the middle: the page's scale is that of whole lengths, its output_width is not
        onnxruntime=[1, 3],
        reference=[1, 3],
        note=["IRI009"],
    ),
    Parting(
        id="corners of a fractional length",
        attributes=CORNERS,
        inputs={"scales": (0.7,)},
        page=[0, 2, 4],
        onnxruntime=[0, 2, 4],
        reference=[0, 1.6, 3.2],
        note=["IRI006"],
    ),
    Parting(
        id="an aspect policy",
        attributes={"keep_aspect_ratio_policy": "not_larger"},
        shape=(5, 4),
        inputs={"sizes": (2, 4)},  # 2/5 of 4 is 1.6, rounded 2: by the page's scale 2/4
        page=[3 + 0.5, 3 + 2.5, 13 + 0.5, 13 + 2.5],
        onnxruntime=[3 + 0.75, 3 + 3, 13 + 0.75, 13 + 3],
        reference=[3 + 0.75, 3 + 3, 13 + 0.75, 13 + 3],
        note=["IRI009"],
    ),
    Parting(
        id="antialias of nearest, which the page does not know",
        attributes={"antialias": 1},
        inputs={"sizes": (2,)},
        page=[1, 3],
        onnxruntime="anti-aliasing",
        reference="antilias",
        note=[],
        mode="nearest",
    ),
    Parting(
        id="an aspect policy beside scales",
        attributes={"keep_aspect_ratio_policy": "not_larger"},
        shape=(1, 4),
        inputs={"scales": (0.5,)},
        page=[0.5, 2.5],
        onnxruntime="keep_aspect_ratio_policy",
        reference=[0.5, 2.5],
        note=[],
    ),
]


@pytest.mark.parametrize("parting", PARTINGS, ids=lambda each: each.id)
def test_where_the_page_parts_from_what_is_computed(parting: Parting) -> None:
    case, x = parting.case, np.arange(np.prod(parting.shape), dtype=np.float32).reshape(parting.shape)
    model = model_of(case)
    np.testing.assert_allclose(by_the_page(case, x).ravel(), parting.page, atol=1e-6)
    np.testing.assert_allclose(read(case).run(x).ravel(), parting.page, atol=1e-6)
    runs: list[tuple[list[float] | str, Callable[[], Array]]] = [
        (parting.onnxruntime, lambda: onnxruntime_resize(model, {"x": x})),
        (parting.reference, lambda: reference_run(model, x)),
    ]
    for expected, run in runs:
        if isinstance(expected, str):
            with pytest.raises(Exception, match=expected):
                run()
        else:
            np.testing.assert_allclose(np.ravel(run()), expected, atol=1e-5)


@pytest.mark.parametrize("parting", PARTINGS, ids=lambda each: each.id)
def test_the_note(parting: Parting) -> None:
    """It stands where the page's numbers are others for the shape, and nowhere else."""
    assert [each.code for each in read(parting.case).diagnostics] == parting.note


TYPES = [each[7:-1] for each in onnx.defs.get_schema("Resize", 19).type_constraints[0].allowed_type_strs]


@pytest.mark.parametrize("name", TYPES)
def test_nearest_of_every_type_that_the_page_allows(name: str) -> None:
    """They are copied, whatever they are."""
    element = getattr(onnx.TensorProto, name.upper())
    case = OnnxCase(op="Resize", opset=19, shape=(1, 2, 3), attributes={"mode": "nearest"}, sizes=(1, 3, 7))
    model = model_of(case, "float32")
    for end in (*model.graph.input, *model.graph.output):
        end.type.tensor_type.elem_type = element
    x = np.arange(6).reshape(case.shape).astype(onnx.helper.tensor_dtype_to_np_dtype(element))
    x = x * (1 + 2j) if name.startswith("complex") else x
    (op,) = ir_interp.load(model, semantics="document")
    page, made = by_the_page(case, x).tolist(), op.run(x)
    assert made.dtype == x.dtype
    assert made.tolist() == page
    assert (_made_by(lambda: onnxruntime_resize(model, {"x": x})) == page) == (name in ONNXRUNTIMES)
    reference = _made_by(lambda: reference_run(model, x))
    assert (reference == page) == (name not in ("bool", "string", "complex64", "complex128"))


ONNXRUNTIMES = ("float", "float16", "uint8", "int8", "int32")


def _made_by(run: Callable[[], Array]) -> list[Any] | None:
    """Return what a runtime makes; None where it refuses."""
    try:
        with warnings.catch_warnings(action="ignore"):
            made: list[Any] = run().tolist()
    except Exception:  # each has errors of its own
        return None
    return made


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "crop.onnx"
    onnx.save(model_of(PARTINGS[0].case), path)
    np.save(tmp_path / "x.npy", np.arange(5, dtype=np.float32)[None])
    source = ["--input", str(tmp_path / "x.npy"), "--output", str(tmp_path / "y.npy")]
    for semantics, length in (("runtime", 10), ("document", 5)):
        assert command(capsys, "run", str(path), *source, "--semantics", semantics)[0] == 0
        assert np.load(tmp_path / "y.npy").shape == (1, length)
    _, told, _ = command(capsys, "explain", str(path))
    assert "document" in told
    _, told, _ = command(capsys, "inspect", str(path))
    assert "IRI009" in told


WRITTEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (CROP, {"scales": (1.3, 0.6), "roi": (0.1, 0.2, 0.9, 0.8)}),
    (SYMMETRIC, {"scales": (1.3, 0.6)}),
    ({"antialias": 1}, {"scales": (0.45, 0.6)}),
    ({"keep_aspect_ratio_policy": "not_larger"}, {"sizes": (9, 5)}),
]


@pytest.mark.parametrize(("attributes", "inputs"), WRITTEN, ids=str)
def test_an_ir_computes_it_whatever_the_lengths(
    attributes: dict[str, Any], inputs: dict[str, Any], tmp_path: Path
) -> None:
    case = OnnxCase(
        op="Resize",
        opset=19,
        shape=(1, 2, 9, 11),
        attributes={"mode": "linear", "axes": [2, 3], **attributes},
        **inputs,
    )
    model, x = model_of(case), case.array()
    for dimension in model.graph.input[0].type.tensor_type.shape.dim[2:]:
        dimension.Clear()
    onnx.save(model, tmp_path / "a.onnx")
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml", semantics="document", verify=False)
    made = openvino_resize(tmp_path / "a.xml", {"x": x})
    np.testing.assert_allclose(made, by_the_page(case, x), atol=1e-4 * float(np.abs(x).max()))
