"""Run a model in its own runtime, by a ``Request``; ``workers.forks`` calls this in separate processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ir_interp.errors import IrInterpError

from ...runtimes.messages import reason
from .array_files import load, save
from .onnxruntime_runner import OnnxRunner
from .openvino_runner import OpenvinoRunner
from .run_request import INPUTS, LARGE, NOT_LOADED, OUTPUTS, PROBLEM, REPLACEMENTS, TENSORS, USAGE, Request, numbered


def answer(request: Request) -> int:
    """Run a request, and return the exit code; errors go to stderr."""
    try:
        _run(request)
    except IrInterpError as error:
        print(error, file=sys.stderr)
        return USAGE
    except Exception as error:  # whatever a runtime raises, of several lines
        print(reason(error), file=sys.stderr)
        return NOT_LOADED if isinstance(error, _NotLoadedError) else 1
    return 0


def try_inputs(request: Request) -> int:
    """Run a model on each of ``request.groups``, as ``Group`` describes.

    Each set of inputs has separate files, see ``numbered``; PROBLEM gets the reason if one fails. Return the exit
    code.
    """
    try:
        runner = _runner(request, {})
    except Exception as error:  # whatever a runtime raises: it will raise it again when the model is run by itself
        print(reason(error), file=sys.stderr)
        return NOT_LOADED
    for group in request.groups:
        proofs = [_proves(request, runner, number) for number in group.every]
        if not any(proofs):
            any(_proves(request, runner, number) for number in group.others)
    return 0


def _proves(request: Request, runner: OnnxRunner | OpenvinoRunner, number: int) -> bool:
    """Run a model on one set of inputs; return whether it ran, and nothing was empty."""
    names = (numbered(name, number) for name in (INPUTS, OUTPUTS, TENSORS, LARGE))
    inputs, outputs, tensors, large = (request.folder / name for name in names)
    try:
        results = runner.run(load(inputs))
        save(tensors, results[runner.count :])
        _save_as_large(runner, inputs, large)
        save(outputs, results[: runner.count])  # last: it marks this number as done
    except Exception as error:  # whatever a runtime raises, of several lines
        (request.folder / numbered(PROBLEM, number)).write_text(reason(error), encoding="utf-8")
        return False
    return all(array.size for _, array in results)


def _save_as_large(runner: OnnxRunner | OpenvinoRunner, inputs: Path, large: Path) -> None:
    if runner.limit is not None and runner.limit.is_known:
        save(large, runner.run(load(inputs), as_large=True)[: runner.count])


def _runner(request: Request, replacements: dict[str, NDArray[Any]]) -> OnnxRunner | OpenvinoRunner:
    return (OpenvinoRunner if request.in_openvino else OnnxRunner)(request, replacements)


def _run(request: Request) -> None:
    folder = request.folder
    replacements = dict(load(folder / REPLACEMENTS)) if (folder / REPLACEMENTS).exists() else {}
    try:
        runner = _runner(request, replacements)
    except Exception as error:  # whatever a runtime raises
        raise _NotLoadedError(error) from None
    results = runner.run(load(folder / INPUTS))
    save(folder / OUTPUTS, results[: runner.count])
    save(folder / TENSORS, results[runner.count :])
    _save_as_large(runner, folder / INPUTS, folder / LARGE)


class _NotLoadedError(Exception):
    """A model that its runtime does not accept, whatever the inputs."""
