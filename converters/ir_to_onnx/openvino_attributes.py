"""The attributes of an operation in the installed OpenVINO.

OpenVINO's reader of IRs asks an operation for its attributes and looks up these names alone (``visit_attributes`` of
its sources), so an attribute of any other name has no effect there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import gettempdir

from ..workers.worker import Question, Worker

_SECONDS = 60.0


@cache
def names(kind: str, version: int) -> frozenset[str] | None:
    """Return the names of the attributes of a layer type; None if OpenVINO does not report them."""
    worker = Worker(Path(gettempdir()))
    try:  # in its own process: querying some operations without inputs ends it
        answer = worker.answer(Question(function=f"{__name__}:_ask", limit=_SECONDS, attempts=1), (kind, version))
    finally:
        worker.close()
    return answer if isinstance(answer, frozenset) else None


def _ask(operation: tuple[str, int], _: object) -> frozenset[str] | None:
    from openvino.utils.node_factory import NodeFactory

    kind, version = operation
    try:
        return frozenset(NodeFactory(f"opset{version}").create(kind).get_attributes())
    except RuntimeError:  # this operation set has no such type
        return None
