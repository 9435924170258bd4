"""TFLite files run in LiteRT, in a process of its own: a file of another program may crash it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import IrInterpError

from ...workers.worker import Died, Late, Question, Worker
from .schema import schema

_SECONDS = 600.0  # for one run


def outputs(path: Path, arrays: Sequence[Array], *, by_reference: bool = False) -> list[Array]:
    """Return the outputs of a file on ``arrays``, in the order of its inputs.

    ``by_reference`` selects LiteRT's reference kernels in place of those for this processor. Raises IrInterpError if
    LiteRT refuses the file or the inputs, dies or hangs.
    """
    schema()  # reports a missing package
    question = Question(
        function=f"{__name__}:run", setting=(str(path.absolute()), by_reference), limit=_SECONDS, attempts=1
    )
    with closing(Worker()) as worker:
        answer = worker.answer(question, [np.asarray(array) for array in arrays])
    if isinstance(answer, Died | Late):
        raise IrInterpError(f"{path.name} does not run in LiteRT: {answer}")
    if isinstance(answer, str):
        raise IrInterpError(f"{path.name} does not run in LiteRT: {answer}")
    return list(answer)


def run(arrays: Sequence[Array], setting: tuple[str, bool]) -> list[Array] | str:
    """Return the outputs of a file in this process, or the reason why it does not run."""
    try:
        return _run(arrays, *setting)
    except Exception as error:  # whatever LiteRT raises
        return " ".join(str(error).split()) or type(error).__name__


def _run(arrays: Sequence[Array], path: str, by_reference: bool) -> list[Array]:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kernels = OpResolverType.BUILTIN_REF if by_reference else OpResolverType.AUTO
    net = Interpreter(model_path=path, num_threads=1, experimental_op_resolver_type=kernels)
    places = [detail["index"] for detail in net.get_input_details()]
    if len(places) != len(arrays):
        raise ValueError(f"{len(arrays)} inputs are given; it has {len(places)}")
    for detail, array in zip(net.get_input_details(), arrays, strict=True):
        if tuple(detail["shape"]) != array.shape:
            net.resize_tensor_input(detail["index"], array.shape, strict=True)
    net.allocate_tensors()
    for place, array in zip(places, arrays, strict=True):
        net.set_tensor(place, array)
    net.invoke()
    return [np.array(net.get_tensor(detail["index"])) for detail in net.get_output_details()]
