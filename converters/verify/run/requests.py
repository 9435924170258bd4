"""Requests to run a model, answered by child processes."""

from __future__ import annotations

from collections.abc import Callable

from ir_interp.errors import IrInterpError, VerificationError
from ir_interp.files.memory import allow_declared, bound_advice, is_of_memory

from ...workers.forks import Call, forks
from . import runners
from .run_request import INPUTS, NOT_LOADED, USAGE, Request

_SECONDS = 600  # for one request

MEMORY = "takes more memory than is allowed"
"""Part of the message of ``OutOfMemoryError``."""


class NotRunError(VerificationError):
    """A model does not run in its runtime, with any shapes that were tried."""


class OutOfMemoryError(NotRunError):
    """A model, or the comparison that shows its tensors, takes more memory than is allowed: it may run otherwise."""


class NotLoadedError(NotRunError):
    """A runtime does not accept a model, whatever the inputs."""


def answer(request: Request, declared: float, function: Callable[[Request], int] = runners.answer) -> None:
    """Run a request in a separate process, for a model whose tensors are of ``declared`` bytes.

    Raises NotRunError for errors in the runtime, IrInterpError for an invalid request.
    """
    model = request.model
    allow_declared(declared)
    call = Call(
        function=f"{runners.__name__}:{function.__name__}",
        argument=request,
        folder=request.folder,
        imports=("openvino",) if request.in_openvino else ("onnx", "onnxruntime"),
        seconds=_SECONDS,
        files=(model, model.with_suffix(".bin"), request.folder / INPUTS),
        declared=declared,
    )
    try:
        with forks() as processes:
            code, errors = processes.run(call)
    except TimeoutError:
        raise NotRunError(f"{model.name} did not finish in {_SECONDS} s") from None
    if code == USAGE:
        raise IrInterpError(errors.strip())
    if code:
        problem = not_run(request, (errors.strip().splitlines() or [f"it died with status {code}"])[-1])
        is_refused = code == NOT_LOADED and not isinstance(problem, OutOfMemoryError)
        raise NotLoadedError(*problem.args) if is_refused else problem


def not_run(request: Request, reason: str) -> NotRunError:
    """Return the error for a model that does not run, for a reason of its runtime."""
    if is_of_memory(reason):
        shown = " while inner tensors are compared" if request.tensors else ""
        return OutOfMemoryError(f"{request.model.name} {MEMORY}{shown}: {reason}; {bound_advice()}")
    return NotRunError(f"{request.model.name} does not run: {reason}")
