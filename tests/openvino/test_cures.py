"""Models that OpenVINO's frontend refuses, and converts after a cure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest

import ir_interp
from tests.support.graphs import onnxruntime_outputs, openvino_outputs, save_model, values

LOOPS = {  # what stands around the body; the body's inputs, outputs and nodes
    "carried through as it came": ("w, w", "float[2] a, float[2] k", "c2, a2, k", "c2 = Identity(c) a2 = Add(a, k)"),
    "carried through by copies": (
        "w, w",
        "float[2] a, float[2] w",
        "c2, a2, w2",
        "c2 = Identity(c) w2 = Identity(w) a2 = Add(a, w)",
    ),
    "called like a tensor outside": ("w, w", "float[2] a, float[2] w", "c2, a2, w", "c2 = Identity(c) a2 = Add(a, w)"),
    "not used": ("w, w", "float[2] a, float[2] k", "c2, a2, k", "c2 = Identity(c) a2 = Add(a, a)"),
    "changed for nothing": (
        "w, w",
        "float[2] a, float[2] w",
        "c2, a2, k2",
        "c2 = Identity(c) k2 = Add(w, w) a2 = Add(a, a)",
    ),
    "its condition": ("w, w", "float[2] a, float[2] k", "c, a2, k", "a2 = Add(a, k)"),
    "swapped": ("w, v", "float[2] a, float[2] k", "c2, k, a2", "c2 = Identity(c) a2 = Add(a, k)"),
}


def model(given: str, inputs: str, outputs: str, nodes: str) -> str:
    returned = ", ".join(
        f"{'bool' if place == 0 else 'float[2]'} {name}" for place, name in enumerate(outputs.split(", "))
    )
    body = f"b (int64 i, bool c, {inputs}) => ({returned}, float[2] scan) {{ {nodes} scan = Neg(a) }}"
    constants = "<float[4] s = {1, 1, 2, 2}, int64 n = {3}, bool go = {1}>"
    return (
        "g (float[1,2,7,8] x, float[2] w, float[2] v) => "
        "(float[1,2,14,16] y, float[2] last, float[2] k2, float[q,2] all) "
        f"{constants} {{ last, kept, all = Loop (n, go, {given}) <body = {body}> k2 = Neg(kept) "
        'y = Resize <mode = "linear"> (x, , s) }'
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loop", LOOPS)
def test_loops_are_simplified(loop: str, tmp_path: Path) -> None:
    source = save_model(tmp_path / "m.onnx", model(*LOOPS[loop]))
    feeds = {"x": values(1, 2, 7, 8), "w": values(2, seed=1), "v": values(2, seed=2)}
    report = ir_interp.convert(source, tmp_path / "m.xml")
    assert report.verification is not None
    assert all(output.passes for output in report.verification.outputs)
    wanted, found = onnxruntime_outputs(source, feeds), openvino_outputs(tmp_path / "m.xml", feeds)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-5, strict=True)


def test_each_cure_has_the_message_that_it_cures(tmp_path: Path) -> None:
    source = save_model(tmp_path / "m.onnx", model(*LOOPS["carried through as it came"]))
    with pytest.raises(RuntimeError, match="loop body graph canonical inputs size"):
        ov.Core().read_model(source)


@pytest.mark.parametrize("form", ["a constant", "an initialiser"])
def test_a_branch_without_elements(form: str, tmp_path: Path) -> None:
    """As torchvision's detectors have one, for images on which there is nothing: OpenVINO's frontend makes it a 0."""
    held = "<int64[0] none = {}>" if form == "an initialiser" else ""
    nothing = "e = Identity(none)" if held else "e = Constant <value = int64[0] {}> ()"
    text = f"""
        g (float[5] x) => (float[k] y, int64[1] count) {held} {{
            outside = Constant <value = int64[0] {{}}> ()
            count = Shape(outside)
            r = ReduceSum <keepdims = 0> (x)
            zero = Constant <value = float {{0}}> ()
            few = Less(r, zero)
            chosen = If (few) <
                then_branch = t () => (int64[m] e) {{ {nothing} }},
                else_branch = f () => (int64[m] all) {{
                    places = NonZero(x)
                    flat = Constant <value = int64[1] {{-1}}> ()
                    all = Reshape(places, flat)
                }}
            >
            y = Gather(x, chosen)
        }}
    """
    source = save_model(tmp_path / "a.onnx", text, 17)
    np.save(tmp_path / "x.npy", np.full(5, -1, np.float32))
    ir_interp.convert(source, tmp_path / "a.xml", inputs={"x": tmp_path / "x.npy"})
    for sign, length in ((-1, 0), (1, 5)):
        feeds = {"x": np.full(5, sign, np.float32)}
        assert openvino_outputs(tmp_path / "a.xml", feeds)[0].shape == (length,)
        assert onnxruntime_outputs(source, feeds)[0].shape == (length,)
