"""TFLite files run in LiteRT, in a process of its own: a file of another program may crash it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array
from ir_interp.files.memory import allow_files

from ...sources.framework_process import Process
from . import FRAMEWORK

_PROCESS = Process(framework=FRAMEWORK, child="interpreter")


def outputs(path: Path, arrays: Sequence[Array], *, by_reference: bool = False) -> list[Array]:
    """Return the outputs of a file on ``arrays``, in the order of its inputs.

    ``by_reference`` selects LiteRT's reference kernels in place of those for this processor. Raises IrInterpError if
    LiteRT is missing, refuses the file or the inputs, dies or hangs.
    """
    FRAMEWORK.check_installed(path.name)
    setting = (str(path.absolute()), by_reference)
    return list(_PROCESS.answer("run", [np.asarray(array) for array in arrays], setting, path.name))


def run(arrays: Sequence[Array], setting: tuple[str, bool]) -> list[Array]:
    """Return the outputs of a file in this process."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    path, by_reference = setting
    allow_files(Path(path))
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


def reason(error: Exception) -> str:
    """Return LiteRT's message, whose lines belong together."""
    return " ".join(str(error).split()) or type(error).__name__
