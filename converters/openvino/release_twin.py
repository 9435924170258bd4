"""An IR that today's OpenVINO computes as an earlier release computed another, so that a conversion can be verified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import openvino as ov

from ir_interp.errors import VerificationError
from ir_interp.files.scratch import scratch
from ir_interp.ir.interpolates import load
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Semantics

from .interpolate_subgraph import RunTime, resize
from .ir_save import save


@contextmanager
def as_in_release(source: Path, semantics: Semantics) -> Iterator[Path]:
    """Yield an IR whose layers mean today what those of ``source`` meant in a release: itself if these agree.

    Raises VerificationError for a layer in the body of a loop or an If, which cannot be replaced.
    """
    pairs = zip(load(source, semantics), load(source), strict=True) if semantics.dialect else ()
    changed = [read for read, today in pairs if read.spec != today.spec]
    if not changed:
        yield source
        return
    try:
        model = ov.Core().read_model(source)
    except RuntimeError:  # of a pasted layer, which is no model
        problem = f"OpenVINO does not read it, so it cannot be run as in {semantics.value}"
        raise VerificationError(f"{source.name}: {problem}; --no-verify writes the result unverified") from None
    nodes = {node.get_friendly_name(): node for node in model.get_ops()}
    for op in changed:
        if op.name not in nodes:
            problem = f"layer {op.name!r} is inside a body, where it cannot be run as in {semantics.value}"
            raise VerificationError(f"{problem}; --no-verify writes it unverified")
        _replace(nodes[op.name], op)
    with scratch() as folder:
        save(model, folder / source.name)
        yield folder / source.name


def _replace(node: ov.Node, op: ResizeOp) -> None:
    """Redirect the readers of a layer to a resize as in ``op``, under the same names."""
    output = node.output(0)
    names, takers = output.get_names(), output.get_target_inputs()
    resized = resize(node.input_value(0), op, RunTime(target=node.input_value(1))).output
    output.set_names(set())
    node.set_friendly_name(f"{op.name}/as_today")
    for taker in takers:
        taker.replace_source_output(resized)
    resized.set_names(names)
    resized.get_node().set_friendly_name(op.name)
