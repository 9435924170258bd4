"""A model of two resizes in a row, which runtimes compute differently."""

from __future__ import annotations

from pathlib import Path

import onnx

from tests.support.graphs import save_model

CHAIN = """g (float[1,2,8,8] x) => (float[1,2,k,l] y) <float[4] s = {1,1,0.5,0.5}, float[4] u = {1,1,2,2}> {
    [soft] one = Resize <mode = "linear", antialias = 1> (x, "", s)
    [up] y = Resize <mode = "linear", coordinate_transformation_mode = "MODE"> (one, "", u)
}"""


def chain(path: str | Path, *names: str, mode: str = "half_pixel") -> None:
    """Save the model; the resizes may have other names."""
    save_model(Path(path), CHAIN.replace("MODE", mode))
    if names:
        model = onnx.load(path)
        for node, name in zip(model.graph.node, names, strict=False):
            node.name = name
        onnx.save(model, path)
